"""The normal form: every system, however described, in one form.

    q̇ = N v + n0            M a + h = Q + W Λ            A a + a0 = 0            a = v̇

h contains only inertia, Q = −NᵀV_q + forces, W = Aᵀ for ideal constraints. Each constraint becomes a row A a + a0 = 0 after as
many differentiations as it needs, and keeps its lower levels (f, ḟ), which drift projection, consistent starts and impacts
need. Rows nonlinear in the accelerations, r(t, q, v, a) = 0, are kept unchanged and solved by Gauss's principle.

A `NormalForm` is one graph with named, shaped outputs. `select("M", "h")` gives a function of only those, with common
subexpressions shared. Nothing is differentiated in SymPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import FormNotApplicable, ModelError
from appell.graph import Fn, Lowering, make_fn
from appell.graph.algebra import Value, block_matrix, column, depends, is_zero, take, zeros
from appell.graph.sizes import sizes
from appell.model import Constraint, System
from appell.normal_form.faces import Faces
from appell.normal_form.mechanics_table import mechanics
from appell.normal_form.reaction_laws import Law, OpenForces, OpenLaw, split_forces
from appell.normal_form.rows import ConstraintsInForce, Rows
from appell.normal_form.sampling import Around, place_of
from appell.reading import name_in, shown, symbolic, table_of
from appell.remember import remembered

if TYPE_CHECKING:
    from appell.normal_form.solved import Blocks

Indices = NDArray[np.intp]

OUTPUTS = {
    "M": "mass matrix, (nv, nv)",
    "h": "inertia forces at a = 0, (nv,)",
    "Q": "generalized forces −NᵀV_q + forces, (nv,); those at Λ = 0 where they are affine in Λ, without the law where not",
    "forces": "generalized forces without the potential, (nv,)",
    "A": "constraint rows, (m, nv)",
    "a0": "their free terms, (m,)",
    "W": "reaction directions, (nv, m), with ∂Q/∂Λ of forces affine in Λ",
    "N": "q̇ = N v + n0, (nq, nv)",
    "n0": "(nq,)",
    "qd": "q̇, (nq,)",
    "f0": "residuals of the holonomic rows, (m0,)",
    "f0_scale": "size of the terms in them, (m0,)",
    "f1": "velocity residuals ḟ of level 0 rows and f of level 1 rows, (m1,)",
    "f1_scale": "size of the terms in them, (m1,)",
    "A_size": "size of the terms in A, (m, nv)",
    "A0": "rows of level 0, (m0, nv)",
    "A1": "rows of levels 0 and 1, (m1, nv)",
    "r": "rows nonlinear in a, (m2,)",
    "r_a": "their ∂r/∂a, (m2, nv)",
    "r_aa": "their ∂²r/∂a², flattened, (m2, nv·nv)",
    "g": "functions of the faces, f(t, q) >= 0, (faces,)",
    "g_scale": "Σ|terms of f| + Σ|∂f/∂q·q| + |∂f/∂t·t| of those, (faces,)",
    "g_d": "their rates ḟ, (faces,)",
    "g_v": "their normals ∂ḟ/∂v, (faces, nv)",
    "g_w": "directions of their reactions, (nv, faces): nᵀ, with ∂Q/∂Λ of forces that contain them",
    "g_dd0": "f̈ at a = 0, (faces,)",
    "restitution": "of the faces, (faces,)",
    "T": "kinetic energy, ()",
    "V": "potential energy, ()",
    "H": "T2 − T0 + V, ()",
    "power": "dH/dt by the forces, the reactions and explicit time, ()",
}


class Outputs(Mapping[str, tuple[Value, tuple[int, ...]]]):
    """Output → (value, shape); a value given as a function is formed on first use."""

    def __init__(self, given: Mapping[str, tuple[Value | Callable[[], Value], tuple[int, ...]]]):
        self._given = dict(given)

    def __getitem__(self, name: str) -> tuple[Value, tuple[int, ...]]:
        value, shape = self._given[name]
        formed = value if isinstance(value, Value) else value()
        self._given[name] = formed, shape
        return formed, shape

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def changed(self, change: Callable[[str, Value], Value]) -> Outputs:
        """The outputs with change(name, value) in place of each value, formed on first use."""
        formed_later = lambda name: lambda: change(name, self[name][0])
        return Outputs({name: (formed_later(name), shape) for name, (_, shape) in self._given.items()})


@dataclass(frozen=True)
class Row:
    """A constraint as a row of the normal form: its level (0, 1, 2), whether it is linear in a, and its index."""

    constraint: Constraint
    level: int
    linear: bool
    index: int


@dataclass(frozen=True, eq=False)
class NormalForm:
    """One graph in t, q, v, p (and a, lam where an output needs them) with the outputs of `OUTPUTS`."""

    inputs: Mapping[str, Value]
    outputs: Outputs
    rows: tuple[Row, ...]
    ideal: bool
    route: str  # source of M and h: "T", "bodies" or "tree"
    quaternions: tuple[tuple[int, ...], ...]  # indices in q of the unit quaternions
    lower: Lowering
    around: Around = None  # {"q": …, "v": …} near which the system is checked, if given
    free: Value | None = None  # a of M a = Q − h without rows, if available without M: articulated bodies
    law: Law | None = None  # forces that contain multipliers of the rows
    face_law: OpenLaw | None = None  # forces with multipliers of open faces
    friction_law: OpenLaw | None = None  # forces with multipliers of frictions
    open_forces: OpenForces | None = None  # all of them together, where they are not affine
    states: int = 0  # of first order: the last entries of q
    short: Blocks | None = None  # M, A, W, Q − h, −a0, if already shortened

    @property
    def nq(self) -> int:
        return self.inputs["q"].numel()

    @property
    def nv(self) -> int:
        return self.inputs["v"].numel()

    @property
    def moves(self) -> Value:
        """(nq, nv + states): the possible changes of q, by displacements N δ and by values of states."""
        coordinates = self.nq - self.states
        return block_matrix([[self["N"], column(zeros(coordinates, self.states), Value.eye(self.states))]])

    @property
    def state_rates(self) -> Value:
        """ṡ of the states of first order, (states, 1)."""
        return take(self["qd"], range(self.nq - self.states, self.nq))

    @property
    def m(self) -> int:
        """Number of rows linear in the accelerations."""
        return sum(row.linear for row in self.rows)

    @property
    def gauss(self) -> bool:
        """Whether some row is nonlinear in the accelerations."""
        return any(not row.linear for row in self.rows)

    @property
    def levels(self) -> Indices:
        """The level of each linear row, (m,): rows of A with level 0 are A0, those below 2 are A1."""
        return np.array([row.level for row in self.rows if row.linear], dtype=np.intp)

    def __getitem__(self, name: str) -> Value:
        """The graph value of an output."""
        return self._output(name)[0]

    def _output(self, name: str) -> tuple[Value, tuple[int, ...]]:
        return self._row_sizes if name == "A_size" else self.outputs[name]

    @cached_property
    def _row_sizes(self) -> tuple[Value, tuple[int, ...]]:
        inputs = [self.inputs[x] for x in ("t", "q", "v", "p")]
        return sizes([self["A"]], inputs)[0], (self.m, self.nv)

    def require_known_forces(self, what: str) -> None:
        """Raises for forces nonlinear in the multipliers, on behalf of code that needs M a + h = Q + W Λ."""
        if self.law is not None and not self.law.affine:
            raise FormNotApplicable(f"{what} takes forces that are affine in the multipliers, and one is not")

    def select(self, *names: str) -> Fn:
        """A function (t, q, v, p[, a][, lam]) → the named outputs; `OUTPUTS` lists them."""
        return _select(self, names)

    def lowered(self, expression: Any) -> Fn:
        """A function (t, q, v, p[, a]) → value of a SymPy expression in the symbols of the system."""
        return make_fn("expression", _inputs(self, [value := self.lower(expression)]), {"value": (value, ())})

    def lowered_table(self, table: Any) -> Fn:
        """A function (t, q, v, p[, a]) → value of a SymPy matrix in the symbols of the system."""
        rows, columns = table.shape
        value = self.lower.column(table.T).reshape((rows, columns)) if rows * columns else zeros(rows, columns)  # by columns
        return make_fn("table", _inputs(self, [value]), {"value": (value, (rows, columns))})

    def lowered_values(self, expressions: Mapping[str, Any], system: System) -> dict[str, Value]:
        """Graph values of named expressions, with q̇ replaced by the velocities v."""
        by_name = {name_in(name): e for name, e in table_of(expressions, "pseudo=").items()}
        return {name: self.lower(system.in_velocities(symbolic(e, f"pseudo-velocity '{name}'"))) for name, e in by_name.items()}


def _inputs(form: NormalForm, values: Sequence[Value]) -> dict[str, tuple[Value, tuple[int, ...]]]:
    """t, q, v, p, and a and lam if the values contain them."""
    extra = [x for x in ("a", "lam") if any(depends(value, form.inputs[x]) for value in values)]
    vectors = {x: (form.inputs[x], (form.inputs[x].numel(),)) for x in ("q", "v", "p", *extra)}
    return {"t": (form.inputs["t"], ()), **vectors}


@remembered
def _select(form: NormalForm, names: tuple[str, ...]) -> Fn:
    unknown = [name for name in names if not isinstance(name, str) or name not in OUTPUTS]
    if unknown:
        raise ModelError(f"the normal form has no output {shown(unknown)}; it has {sorted(OUTPUTS)}")
    chosen = {name: form._output(name) for name in names}
    inputs = _inputs(form, [value for value, _ in chosen.values()])
    return make_fn("nf_" + "_".join(name.replace("_", "") for name in names), inputs, chosen)


def normal_form(system: System, contacts: tuple[int, ...] = ()) -> NormalForm:
    """The normal form of a system, derived once; with the faces `contacts` closed, whose rows come last."""
    return _derive(system, contacts)


@remembered
def _derive(system: System, contacts: tuple[int, ...]) -> NormalForm:
    if system.prescribed:
        f = system.prescribed[0]
        raise ModelError(f"the prescribed function '{f}' of {system.name} has no value yet; give parameters={{{f}: …}}")
    mech = mechanics(system)
    kin = mech.kinematics()
    in_force = ConstraintsInForce.of(system, contacts)
    rows = Rows.of(in_force, kin)
    faces = Faces.of(system, kin)
    inertia = mech.inertia(kin)
    nv, nq, m = system.nv, system.nq, rows.A.shape[0]
    forces, face_law, friction_law, open_forces = split_forces(system, in_force, kin, rows.lam, lambda: mech.forces(kin))
    law = Law.of(forces, in_force, rows, kin)
    V = mech.potential(kin)
    free = None if in_force.constraints else mech.free(kin, forces)
    explicit_time = inertia.power + kin.partial_t(V)
    if not is_zero(kin.n0):
        explicit_time += kin.slope(V).T @ kin.n0
    power = forces.T @ kin.v + rows.power + explicit_time
    outputs = Outputs({
        "M": (lambda: inertia.formed[0], (nv, nv)),
        "h": (lambda: inertia.formed[1], (nv,)),
        "Q": (lambda: (forces if law is None else law.rest) + mech.pull(kin), (nv,)),
        "forces": (forces, (nv,)),
        "A": (rows.A, (m, nv)),
        "a0": (rows.a0, (m,)),
        "W": (rows.W if law is None else rows.W + law.slope, (nv, m)),
        "N": (kin.N, (nq, nv)),
        "n0": (kin.n0, (nq,)),
        "qd": (kin.qd, (nq,)),
        **rows.outputs(nv),
        **faces.outputs(nv),
        "g_w": (faces.g_v.T if face_law is None else faces.g_v.T + face_law.slope, (nv, len(system.unilateral))),
        "T": (inertia.T, ()),
        "V": (V, ()),
        "H": (inertia.H + V, ()),
        "power": (power, ()),
    })  # fmt: skip
    inputs = {"t": kin.t, "q": kin.q, "v": kin.v, "p": kin.p, "a": kin.a, "lam": rows.lam}
    table = tuple(
        Row(c, c.order, c.linear or c.order < 2, i) for i, c in enumerate(in_force.constraints)
    )  # fmt: skip
    quaternions = tuple(tuple(system.coordinates.index(q) for q in ball.coordinates) for ball in system.quaternions)
    ideal = law is None and all(c.reaction is None for c in in_force.constraints)
    laws = (law, face_law, friction_law, open_forces)
    return NormalForm(inputs, outputs, table, ideal, inertia.route, quaternions, kin.lower, place_of(system), free, *laws,
                      states=len(system.states))  # fmt: skip
