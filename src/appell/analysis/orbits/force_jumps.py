"""Jumps of forces along a motion, and their effect on its derivatives.

    s(t, q, v, p) = 0:    z⁺ = z⁻        δz⁺ = δz⁻ + (f⁻ − f⁺) δt*        δt* = −(s_z δz + s_p δp)/ṡ⁻

`sign`, `Heaviside`, `Piecewise`, `floor` … in forces, kinks of energies and constraints: accelerations jump where the argument
passes zero, and the time of this depends on the start. The derivative of the force itself does not show that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from appell.graph import Fn, make_fn
from appell.graph.algebra import column, jacobian
from appell.jets import jets_of, t
from appell.model import System
from appell.model.jumps import KINKED
from appell.motion.motion import Motion
from appell.motion.zeros import CROSSED, edges_of, motion_zeros
from appell.normal_form import NormalForm
from appell.reading import symbolic
from appell.remember import remembered
from appell.tree.tree_system import TreeSystem

Array = NDArray[np.float64]

_CUT = (sympy.atan2, sympy.acot)
"""Functions of a first argument at whose zero they may jump."""
_LEVELLING = (sympy.atan, sympy.tanh, sympy.erf)
"""Functions that have limits at −∞ and ∞, and so jump at a pole of their argument."""
ASIDE = 1e-6
"""Distance at which both sides of a surface are evaluated, as a fraction of the size of the state."""


@dataclass(frozen=True)
class Jump:
    """The crossing of a surface, by its index, at an instant."""

    time: float
    surface: int


def surfaces(system: System) -> tuple[Any, ...]:
    """The expressions at whose zeros the system switches to another piece."""
    expressions = [*system.forces, *system.residuals, *(face.function for face in system.unilateral), *system.rates.values()]
    expressions += [system.potential] if isinstance(system, TreeSystem) else [system.potential, system.kinetic]
    kinds = (*KINKED, *_CUT, *_LEVELLING)
    atoms = {atom for expr in expressions for atom in symbolic(expr, "a part of the system").atoms(*kinds)}
    arguments = {s for atom in sorted(atoms, key=str) for s in _arguments(atom)}
    return tuple(sorted((s for s in arguments if s.has(t) or jets_of(s)), key=str))


def _arguments(atom: Any) -> Iterator[Any]:
    """The functions that vanish where an atom switches to another piece."""
    args: Any = atom.args
    if isinstance(atom, sympy.Piecewise):
        conditions = {c for _, when in args for c in when.atoms(sympy.core.relational.Relational)}
        yield from (c.lhs - c.rhs for c in conditions)
    elif isinstance(atom, sympy.Max | sympy.Min):
        yield from (a - b for i, a in enumerate(args) for b in args[:i])
    elif isinstance(atom, sympy.floor | sympy.ceiling | sympy.frac):
        yield sympy.sin(sympy.pi * atom.args[0])
    elif isinstance(atom, sympy.Mod):
        yield sympy.sin(sympy.pi * atom.args[0] / atom.args[1])
    elif isinstance(atom, _LEVELLING):
        yield from _poles(atom.args[0])
    else:
        yield atom.args[0]


def _poles(expr: Any) -> Iterator[Any]:
    """The functions that vanish where an expression may pass from −∞ to ∞."""
    yield from (
        factor.base for factor in expr.atoms(sympy.Pow) if factor.exp.could_extract_minus_sign() and not factor.base.is_nonzero
    )
    yield from (sympy.cos(factor.args[0]) for factor in expr.atoms(sympy.tan, sympy.sec))
    yield from (sympy.sin(factor.args[0]) for factor in expr.atoms(sympy.cot, sympy.csc))


@remembered
def surface_slopes(form: NormalForm, system: System, surface: Any) -> Fn:
    """(t, q, v, p) → s, and s_x (1, …) by (t, q, v, p)."""
    s = form.lower(system.in_velocities(surface))
    x = column(*(form.inputs[name] for name in ("t", "q", "v", "p")))
    inputs = {"t": (form.inputs["t"], ()), **{n: (form.inputs[n], (form.inputs[n].numel(),)) for n in ("q", "v", "p")}}
    return make_fn("surface", inputs, {"s": (s, ()), "s_x": (jacobian(s, x), (1, x.numel()))})


def jumps_between(motion: Motion, expressions: tuple[Any, ...], t0: float, t1: float) -> list[Jump]:
    """Crossings of the surfaces strictly between two instants without an impact in between, in the order of the run.

    They are found by a bound along the steps (`appell.motion.zeros`). A surface that itself jumps over zero (Mod(t, T) − c at
    t = T) is not crossed there: the instant is that of the jump inside it, whose own surface is among the others.
    """
    if not expressions or t1 == t0:
        return []
    sign = 1.0 if t1 > t0 else -1.0
    times = np.unique(sign * edges_of(motion))
    inside = times[(times > sign * t0) & (times < sign * t1)]
    edges = sign * np.concatenate([[sign * t0], inside, [sign * t1]])
    jumps = []
    for k, s in enumerate(expressions):
        zeros = motion_zeros(motion, s, edges)
        jumps += [Jump(float(time), k) for time in zeros.time[zeros.kind == CROSSED] if time not in (t0, t1)]
    return sorted(jumps, key=lambda jump: sign * jump.time)


def sides(flow: Any, s_x: Array, at: float, z: Array, size: Array) -> tuple[Array, Array]:
    """f(t, z) below and above a surface with the gradient s_x by (t, z), extrapolated from two points on each side; size: of
    (t, z) along the motion."""
    x = np.concatenate([[at], z])
    step = s_x * size**2
    step = ASIDE * step / max(np.abs(step / size).max(initial=0.0), np.finfo(float).tiny)
    extrapolated = lambda share: flow((x + share * step)[0], (x + share * step)[1:])
    return 2 * extrapolated(-1) - extrapolated(-2), 2 * extrapolated(1) - extrapolated(2)


__all__ = ["Jump", "jumps_between", "sides", "surface_slopes", "surfaces"]
