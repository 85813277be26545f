"""appell: the dynamics of constrained mechanical systems.

Write a system once, read its equations in any classical form, trust them because independent derivations are compared, and
run them at the speed of the hardware.

    import appell as ap

Names for writing a model are loaded at once; all others on first use (`LATER`), and with them CasADi and SciPy.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from appell.delegates import offer
from appell.errors import (
    AppellError,
    BackendUnavailable,
    ConstraintError,
    FormNotApplicable,
    ModelError,
    SimulationError,
    SingularConfiguration,
    Status,
)
from appell.former_names import PUBLIC, install
from appell.jets import coordinates, parameters, prescribed, speeds, states, t, total_derivative
from appell.model import (
    Between,
    Constraint,
    Damper,
    Force,
    Friction,
    Particle,
    Reset,
    RigidBody,
    Spring,
    System,
    Torque,
    Unilateral,
    euler,
    quaternion,
    sampled,
)
from appell.spelling import did_you_mean
from appell.version import __version__ as __version__

if TYPE_CHECKING:  # the same names as in LATER, for editors and type checkers
    from appell import (  # noqa: F401
        analysis,
        backends,
        files,
        forms,
        graph,
        motion,
        nonsmooth,
        normal_form,
        report,
        scene,
        show,
        tree,
        verify,
        zoo,
    )
    from appell.analysis import (
        averaged,
        basin,
        bifurcation_diagram,
        continue_curve,
        continue_equilibrium,
        continue_orbit,
        equilibria,
        equilibrium,
        frequency_response,
        linearize,
        lyapunov,
        lyapunov_field,
        periodic_orbit,
        poincare,
        resonance,
        steady_motions,
        variations,
    )
    from appell.backends import AppellWarning, clear_cache
    from appell.compiled.compiling import compile
    from appell.compiled.run import Run
    from appell.ensembles import outer, reduce, simulate_many, sweep
    from appell.files import read_model, write_model
    from appell.model.stops import falling, rising
    from appell.model.sympy_mechanics import from_sympy
    from appell.motion.motion import Motion
    from appell.motion.storage import load
    from appell.optimize import at, fit, free, integral, optimize
    from appell.report.sheet import handout
    from appell.report.studio_page import studio
    from appell.scene import Scene
    from appell.simulate.simulate import simulate
    from appell.simulate.start import consistent
    from appell.tree import Chain, Tree, rolling
    from appell.verify import agree, diagnose, geometry, integral_slopes, momentum_equation, principle

LATER = {
    "appell": "analysis backends files forms graph motion nonsmooth normal_form report scene show tree verify zoo",
    "appell.analysis": "averaged basin bifurcation_diagram continue_curve continue_equilibrium continue_orbit equilibria"
    " equilibrium frequency_response linearize lyapunov lyapunov_field periodic_orbit poincare resonance steady_motions"
    " variations",
    "appell.backends": "AppellWarning clear_cache",
    "appell.compiled.compiling": "compile",
    "appell.compiled.run": "Run",
    "appell.ensembles": "outer reduce simulate_many sweep",
    "appell.files": "read_model write_model",
    "appell.model.stops": "falling rising",
    "appell.model.sympy_mechanics": "from_sympy",
    "appell.motion.motion": "Motion",
    "appell.motion.storage": "load",
    "appell.optimize": "at fit free integral optimize",
    "appell.report.sheet": "handout",
    "appell.report.studio_page": "studio",
    "appell.scene": "Scene",
    "appell.simulate.simulate": "simulate",
    "appell.simulate.start": "consistent",
    "appell.tree": "Chain Tree rolling",
    "appell.verify": "agree diagnose geometry integral_slopes momentum_equation principle",
}
"""Module → the public names loaded from it on first use."""

_HOME = {name: module for module, names in LATER.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(_unknown(name))
    home = _HOME[name]
    value = import_module(f"appell.{name}") if home == "appell" else getattr(import_module(home), name)
    globals()[name] = value
    return value


def _unknown(name: str) -> str:
    """The message for an unknown name in the package."""
    if name in PUBLIC:
        return f"ap.{name} is now {PUBLIC[name]}"
    if not name.startswith("_"):
        import sympy

        if name in _ELSEWHERE:
            return f"appell has no {name}; write {_ELSEWHERE[name]}"
        if name.lower() in import_module("appell.forms").FORMS:
            return f"appell has no {name}; the classical forms are in ap.forms: ap.forms.{name.lower()}(system)"
        if isinstance(getattr(sympy, name, None), sympy.FunctionClass) or name in _OF_SYMPY:
            return f"appell has no {name}; it is SymPy's: from sympy import {name}"
    return f"appell has no attribute {name!r}{did_you_mean(name, __all__)}"


_OF_SYMPY = ("sqrt", "pi", "Matrix", "symbols", "Symbol", "diff", "simplify", "Rational", "Eq", "lambdify", "latex")
_ELSEWHERE = {
    **dict.fromkeys(("solve_ivp", "odeint", "integrate", "solve", "run"), "ap.simulate(system, start, until, parameters)"),
    **{name: f"motion.{name}(…) with motion = ap.simulate(…)" for name in ("plot", "animate", "reaction", "energy")},
    **dict.fromkeys(("Simulation", "Simulator", "Solver"), "ap.simulate(system, start, until, parameters)"),
    **dict.fromkeys(("time", "T"), "ap.t"),
    **dict.fromkeys(("dynamicsymbols", "coords"), 'q = ap.coordinates("q"), whose derivatives are q.d and q.dd'),
    **dict.fromkeys(("PointMass", "Point", "Mass"), "ap.Particle(mass, position)"),
    **dict.fromkeys(("Lagrangian", "LagrangesMethod", "KanesMethod"), "ap.System([q], kinetic=T, potential=V) and ap.forms"),
    "Body": "ap.RigidBody(…) or ap.Particle(…)",
    "from_urdf": "ap.Tree.from_urdf(path)",
    "from_mjcf": "ap.Tree.from_mjcf(path)",
}
"""Names often looked for in the package that are elsewhere."""


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Python binds each submodule in its package when it is loaded, and `appell.simulate` is also the name of a function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and _HOME.get(name, "appell") != "appell"):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
install()

for _room in ("simulate", "show", "report"):  # they register their delegates for lower packages; nothing else is loaded
    import_module(f"appell.{_room}")
offer(
    {
        "MotionPlan.again": "appell.optimize.again:plan_again",
        "MotionPlan.sensitivity": "appell.optimize.plan_sensitivity:plan_sensitivity",
        "System.generic": "appell.model.prescription:generic",
        "System.judge": "appell.normal_form.model_check:judge",
    }
)

__all__ = [
    "AppellError",
    "AppellWarning",
    "BackendUnavailable",
    "Between",
    "Chain",
    "Constraint",
    "ConstraintError",
    "Damper",
    "Force",
    "FormNotApplicable",
    "Friction",
    "ModelError",
    "Motion",
    "Particle",
    "Reset",
    "RigidBody",
    "Run",
    "Scene",
    "SimulationError",
    "SingularConfiguration",
    "Spring",
    "Status",
    "System",
    "Torque",
    "Tree",
    "Unilateral",
    "agree",
    "at",
    "averaged",
    "basin",
    "bifurcation_diagram",
    "clear_cache",
    "compile",
    "consistent",
    "continue_curve",
    "continue_equilibrium",
    "continue_orbit",
    "coordinates",
    "diagnose",
    "equilibria",
    "equilibrium",
    "euler",
    "falling",
    "fit",
    "forms",
    "free",
    "frequency_response",
    "from_sympy",
    "geometry",
    "handout",
    "integral",
    "integral_slopes",
    "linearize",
    "load",
    "lyapunov",
    "lyapunov_field",
    "momentum_equation",
    "optimize",
    "outer",
    "parameters",
    "periodic_orbit",
    "poincare",
    "prescribed",
    "principle",
    "quaternion",
    "read_model",
    "reduce",
    "resonance",
    "rising",
    "rolling",
    "sampled",
    "scene",
    "simulate",
    "simulate_many",
    "speeds",
    "states",
    "steady_motions",
    "studio",
    "sweep",
    "t",
    "total_derivative",
    "variations",
    "write_model",
    "zoo",
]
