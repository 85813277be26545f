"""Public names and modules of earlier versions: each raises with its new name.

    import appell.simulate.run        ModuleNotFoundError: appell.simulate.run is now appell.compiled.run
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

PUBLIC = {
    "contact": "ap.nonsmooth.contact; models are written with ap.Unilateral, ap.Between and ap.Friction",
    "friction": "ap.nonsmooth.friction; models are written with ap.Unilateral, ap.Between and ap.Friction",
}
"""Attribute of the package → its new name."""

MODULES: dict[str, str] = {
    line.partition(" ")[0]: line.partition(" ")[2]
    for line in """\
analysis.along analysis.orbits.fundamental_matrix
analysis.attractors analysis.many.attractors
analysis.balance analysis.rests.balance
analysis.basin analysis.many.basin
analysis.box analysis.rests.search_intervals
analysis.continuation analysis.orbits.continuation
analysis.diagram analysis.many.diagram
analysis.doubling analysis.orbits.doubling
analysis.edges analysis.rests.nonsmooth_states
analysis.ensemble analysis.many.periodic_runs
analysis.equilibria analysis.rests.equilibria
analysis.equilibrium analysis.rests.equilibrium
analysis.jumps analysis.orbits.force_jumps
analysis.lyapunov analysis.many.lyapunov
analysis.orbit analysis.orbits.orbit
analysis.result analysis.requests
analysis.sections analysis.many.sections
analysis.shooting analysis.orbits.shooting
analysis.soft analysis.rests.unheld_directions
analysis.steady analysis.rests.steady
analysis.variations analysis.orbits.variations
backends.cuda.limbs backends.cuda.limb_warps
backends.cuda.text backends.cuda.cuda_text
backends.lanes.rows backends.lanes.lane_layout
backends.text.order backends.text.instruction_order
backends.text.pieces backends.text.function_chunks
contact nonsmooth.contact
contact.bent nonsmooth.contact.nonlinear_impact
contact.contact nonsmooth.contact.contact
contact.events modes.events
contact.instant nonsmooth.contact.instant
contact.loop_switch nonsmooth.contact.loop_switch
contact.metric nonsmooth.contact.metric
contact.numbers modes.contact_thresholds
contact.redundant nonsmooth.contact.redundant
contact.sight nonsmooth.contact.step_guards
contact.text nonsmooth.contact.contact_text
ensembles.accelerations reductions.accelerations
ensembles.course reductions.course
ensembles.followed reductions.followed
ensembles.function_digest reductions.function_digest
ensembles.kinds reductions.kinds
ensembles.program ensembles.lane_program
ensembles.quadrature reductions.quadrature
ensembles.reduce reductions.reduce
ensembles.result ensembles.ensemble_result
files.places files.toml_positions
forms.absolute forms.engine.absolute
forms.derivation forms.engine.derivation
forms.display forms.engine.display
forms.effort forms.engine.work_budget
forms.expanded forms.engine.expanded
forms.fold.algebra forms.fold.small_matrices
forms.fold.functions forms.fold.triangle_wave
forms.given forms.engine.numeric_arguments
forms.laws forms.engine.multiplier_forces
forms.linear forms.engine.linear_solve
forms.manifold forms.engine.constrained_states
forms.mass forms.engine.kinetic_degrees
forms.matrices forms.engine.matrices
forms.multipliers forms.engine.multipliers
forms.names forms.engine.shared_names
forms.numbers forms.engine.evaluation
forms.parts forms.engine.system_terms
forms.pseudo forms.engine.pseudo
forms.secular forms.engine.secular
forms.stationary forms.engine.stationary
friction nonsmooth.friction
friction.along nonsmooth.friction.sampled_accelerations
friction.choices nonsmooth.friction.choices
friction.cones nonsmooth.friction.cones
friction.decide nonsmooth.friction.decide
friction.deepest nonsmooth.friction.cone_program
friction.directions nonsmooth.friction.directions
friction.flow nonsmooth.friction.friction_flow
friction.functions nonsmooth.friction.friction_functions
friction.guards nonsmooth.friction.guards
friction.impact nonsmooth.friction.impact
friction.layout nonsmooth.friction.friction_layout
friction.lemke nonsmooth.friction.lemke
friction.locate nonsmooth.friction.locate
friction.mode modes.mode
friction.pieces nonsmooth.friction.friction_terms
friction.problem nonsmooth.friction.problem
friction.programme nonsmooth.friction.nonunique_reactions
friction.steps nonsmooth.friction.steps
graph.sharing graph.horner
graph.taylor graph.taylor_series
letters.rows letters.formula_rows
model.kinematics model.stated_kinematics
model.shown model.system_display
motion.names motion.column_names
motion.sampler simulate.sampler
nonsmooth.contact.contact_thresholds modes.contact_thresholds
nonsmooth.contact.events modes.events
nonsmooth.contact.held_loop nonsmooth.contact.contact_loop
nonsmooth.contact.nonlinear_blow nonsmooth.contact.nonlinear_impact
nonsmooth.criterion_text backends.text.criterion_text
nonsmooth.endings modes.endings
nonsmooth.mode modes.mode
normal_form.door normal_form.mechanics_table
normal_form.gauss normal_form.least_constraint
normal_form.inertia normal_form.inertia_terms
normal_form.judge normal_form.model_check
normal_form.kinematics normal_form.kinematic_map
normal_form.laws normal_form.reaction_laws
normal_form.numbered normal_form.substituted_parameters
normal_form.parts normal_form.coupled_blocks
normal_form.rank rows.row_space
normal_form.thin normal_form.sparse_rows
report.desk report.studio_page
report.model report.model_page
scene.robots scene.tree_scenes
simulate.control.held loop.held_inputs
simulate.control.held_inputs loop.held_inputs
simulate.control.reader simulate.control.control_values
simulate.in_casadi compiled.in_casadi
simulate.in_jax compiled.jax_motions
simulate.jacobian compiled.jacobian
simulate.jax_motions compiled.jax_motions
simulate.loop.branching compiled.branching
simulate.loop.broken simulate.loop.break_loop
simulate.loop.crossed simulate.loop.side_loop
simulate.loop.edges simulate.loop.wall_edges
simulate.loop.header loop.header
simulate.loop.in_c loop.in_c
simulate.loop.in_python loop.in_python
simulate.loop.jumped simulate.loop.jump_sentence
simulate.loop.rank loop.rank
simulate.loop.task loop.task
simulate.loop.trace loop.trace
simulate.methods.gauss_legendre loop.methods.gauss_legendre
simulate.methods.method_table loop.methods.method_table
simulate.methods.radau loop.methods.radau
simulate.methods.runge_kutta loop.methods.runge_kutta
simulate.methods.stiff loop.methods.stiff
simulate.methods.tableaux loop.methods.tableaux
simulate.methods.taylor loop.methods.taylor
simulate.ranks simulate.rank_survey
simulate.run compiled.run
simulate.stops model.stops
tree.answers tree.compiled_methods
tree.equations tree.golubev.numbered_equations
tree.exact tree.symbols.exact_scalars
tree.exact_tree tree.symbols.exact_tree
tree.frame_symbols tree.symbols.frame_symbols
tree.free_body tree.golubev.free_body
tree.functions tree.tree_functions
tree.lowering tree.symbols.lowering
tree.names tree.symbols.joint_symbols
tree.plane tree.golubev.plane
tree.script tree.golubev.vector_letters
tree.shown tree.tree_display
tree.symbolic tree.symbols.symbolic_tree
tree.system tree.tree_system
tree.urdf tree.readers.urdf
tree.words tree.placement_steps
tree.xml tree.readers.xml
zoo.friction zoo.dry_friction
zoo.unilateral zoo.walls_and_stops
""".splitlines()
}
"""Module below `appell` → the new location of its contents."""


def renamed_module(name: str) -> str:
    """The new location of a module of an earlier version; "" if it never existed or still exists."""
    head, _, tail = name.partition(".")
    if head != "appell":
        return ""
    path = tail.split(".")
    for k in range(len(path), 0, -1):  # the whole package may have moved
        if (new := MODULES.get(".".join(path[:k]))) is not None:
            return ".".join(["appell", new, *path[k:]])
    return ""


class FormerNames:
    """An import finder in last place: it finds nothing, but reports the new location of a module of an earlier version."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """None, or ModuleNotFoundError with the new name."""
        if new := renamed_module(name):
            raise ModuleNotFoundError(f"{name} is now {new}")  # without name=: `from appell.simulate import run` shows it too
        return None


def install() -> None:
    """Installs the finder, once per process."""
    if not any(finder is FormerNames for finder in sys.meta_path):
        sys.meta_path.append(FormerNames)  # type: ignore[arg-type]


__all__ = ["MODULES", "PUBLIC", "FormerNames", "install", "renamed_module"]
