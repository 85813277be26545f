"""The surfaces of a system (`appell.model.sides`) along a motion: their guards, and the first crossing, by interval bounds.

guard(t, q, v, p) >= 0 on the side that holds        z(s) = (q, v), −1 <= s <= 1: the polynomials of some steps
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.compiled.run import Run
from appell.graph import Fn, make_fn
from appell.graph.algebra import column, jacobian, row_major, used
from appell.graph.sizes import sizes
from appell.model.sides import SwitchSurface, sided
from appell.modes.contact_thresholds import GAP_FLOOR, GAP_ROUNDING
from appell.normal_form import NormalForm, normal_form
from appell.remember import remembered
from appell.roots.guard import bracketed, guard_function
from appell.roots.isolate import isolated

Array = NDArray[np.float64]

STEP_STATES = 10
"""Number of states that determine the polynomial of a step: one more than the highest degree of a dense output, dop853's 7, and
one to spare; series of higher order are represented as accurately as their own error control requires."""
POLYNOMIAL_ERROR = 2e-14
"""Relative error with which a polynomial reproduces its states: ε times the condition number of its nodes."""
ON_SURFACE = 64.0
"""Multiple of the noise of a guard below which a state lies on its surface."""
GUARD_CHANGED = 4.0
"""Multiple of the noise by which a guard has certainly changed."""
LEAVING_TIMES: Array = 0.5 ** np.arange(46.0, -1.0, -1.0)
"""Fractions of a step, the smallest first, at which it is tested to which side a motion leaves a surface."""


@dataclass(frozen=True, eq=False)
class SideRun:
    """`run`: that of the system with sides, which are at `places` among its parameters."""

    run: Run
    surfaces: tuple[SwitchSurface, ...]

    @cached_property
    def places(self) -> dict[Any, int]:
        """side → its index among the parameters, each once."""
        index = {s: k for k, s in enumerate(self.run.system.parameters)}
        return {surface.side: index[surface.side] for surface in self.surfaces}

    def parameters(self, p: Array, sides: Array) -> Array:
        """Parameters of the system with sides, (np + n,); sides: (n,) in the order of `places`."""
        p_with_sides, of_sides = np.empty(len(p) + len(self.places)), list(self.places.values())
        of_system = np.ones(len(p_with_sides), dtype=bool)
        of_system[of_sides] = False
        p_with_sides[of_system], p_with_sides[of_sides] = p, sides
        return p_with_sides

    @cached_property
    def number(self) -> Array:
        """(surfaces,) the number of the side of each surface."""
        order = list(self.places)
        return np.array([order.index(surface.side) for surface in self.surfaces])

    @cached_property
    def made_of_others(self) -> list[int]:
        """Numbers of the sides whose surfaces depend on other sides, each after those that it depends on."""
        order, all_sides = list(self.places), set(self.places)
        dependent = {surface.side for surface in self.surfaces if (surface.first.free_symbols & all_sides) - {surface.side}}
        return [k for k, side in enumerate(order) if side in dependent]

    @cached_property
    def has_edges(self) -> bool:
        """Whether the gap of a wall depends on a side."""
        form, side_indices = self.run.form, set(self.places.values())
        return bool(self.run.system.unilateral) and not side_indices.isdisjoint(used(form["g_v"], form.inputs["p"]))

    @cached_property
    def guards(self) -> SurfaceGuards:
        """Functions of the surfaces."""
        return _guards(self.run.form, self.run.system, self.surfaces)


def side_run(run: Run) -> SideRun | None:
    """The run with sides; None if there is no condition."""
    sides_of_system = sided(run.system)
    if sides_of_system is None:
        return None
    system = sides_of_system.system
    sides = {surface.side for surface in sides_of_system.surfaces}
    others = [i for i, s in enumerate(system.parameters) if s not in sides]
    p = np.ones(len(system.parameters))
    p[others] = run.p
    values = dict(zip(system.parameters, map(float, p), strict=True))
    fold = tuple(others[i] for i in run.fold)
    run_with_sides = Run(system, normal_form(system), values, p, run.backend, run.policies, fold=fold)
    return SideRun(run_with_sides, sides_of_system.surfaces)


class StatesInside(NamedTuple):
    """States z (k, nq + nv) and their rates zd in s at times t (k,) in steps of half lengths h (k,)."""

    t: Array
    h: Array
    z: Array
    zd: Array

    @property
    def speed(self) -> Array:
        """|ż|, (k, nq + nv)."""
        return np.abs(self.zd / self.h[:, None])


class StepPolynomials(NamedTuple):
    """Steps in powers of s, −1 <= s <= 1: c (degree + 1, nq + nv, k); t, h (k,): middles and half lengths, time = t + h s."""

    c: Array
    t: Array
    h: Array
    early: Array  # (degree + 1, nq + nv) the first step in powers of (s + 1)/2, accurate at its beginning

    @staticmethod
    def through(states: Array, first: Array, last: Array) -> StepPolynomials:
        """The polynomials through states at NODES_AT between two times, (k, STEP_STATES, nq + nv)."""
        c: Any = np.einsum("ij,kjn->ink", _INVERSE, states)
        c[0] += states[:, 0].T - np.einsum("ink,i->nk", c, (-1.0) ** np.arange(STEP_STATES))  # exact at the beginning
        return StepPolynomials(c, (first + last) / 2, (last - first) / 2, _EARLY @ states[0])

    def inside(self, k: NDArray[np.intp], s: Array) -> StatesInside:
        """States inside some of the steps."""
        c, powers = self.c[:, :, k], np.arange(len(self.c))
        z = np.einsum("ink,ik->kn", c, s[None] ** powers[:, None])
        zd = np.einsum("ink,ik->kn", c[1:], powers[1:, None] * s[None] ** powers[:-1, None])
        return StatesInside(self.t[k] + s * self.h[k], self.h[k], z, zd)

    def rounding(self, k: NDArray[np.intp]) -> Array:
        """Rounding error of the states of some of the steps, (len(k), nq + nv)."""
        return POLYNOMIAL_ERROR * np.abs(self.c).sum(axis=0).T[k]

    def ends(self) -> StatesInside:
        """States at the beginnings and ends of the steps."""
        k = np.arange(len(self.t))
        return self.inside(np.tile(k, 2), np.repeat([-1.0, 1.0], len(k)))


NODES_AT = -np.cos(np.pi * np.arange(STEP_STATES) / (STEP_STATES - 1))
_INVERSE = np.linalg.inv(np.vander(NODES_AT, increasing=True))
_EARLY = np.linalg.inv(np.vander((1 + NODES_AT) / 2, increasing=True))


class CrossedSurface(NamedTuple):
    """A surface that is crossed in a step, at a time; rate: of its guard, 1/s. beyond: the step begins on its other side."""

    surface: int
    time: float
    rate: float
    step: int
    beyond: bool


@dataclass(frozen=True, eq=False)
class SurfaceGuards:
    """terms: (t, q, v, p) → the guards c (n,), the sizes of their terms, their derivatives by (q, v), (n, nq + nv); first: the
    sides of a state off all surfaces, (n,); along_step: each guard for bounds, (t, z, p, td, zd) → (c, ċ)."""

    terms: Fn
    first: Fn
    along_step: tuple[Fn, ...]
    nq: int

    def values(self, t: Any, z: Array, p: Array) -> Array:
        """c at states z = (q, v), (k, n)."""
        return vm_function(self.terms).batch(t, z[:, : self.nq], z[:, self.nq :], p)[0]

    def noise(self, t: Array, z: Array, p: Array, atol: Array, speed: Array, rounding: Any = 0.0) -> Array:
        """Noise of c at states, (k, n): rounding of its terms and of the time, plus the effect of atol.

        speed: |ż| of q and v, (k, nq + nv); rounding: of q and v, as polynomials have it."""
        _, size, slope = vm_function(self.terms).batch(t, z[:, : self.nq], z[:, self.nq :], p)
        slope = np.abs(slope)
        rate = np.einsum("kij,kj->ki", slope, speed)
        by_atol = np.einsum("kij,kj->ki", slope, GAP_FLOOR * atol + rounding + 0 * z)
        return GAP_ROUNDING * (size + np.abs(t)[:, None] * rate) + by_atol

    def first_crossed(self, steps: StepPolynomials, p: Array, level: Array, atol: Array) -> CrossedSurface | None:
        """The first guard that falls below its level, by more than its noise."""
        ends = steps.ends()
        rounding = steps.rounding(np.tile(np.arange(len(steps.t)), 2))
        noise = self.noise(ends.t, ends.z, p, atol, ends.speed, rounding).min(axis=0)
        crossings: list[CrossedSurface] = []
        for i in range(len(self.along_step)):
            crossed = self._crossed(i, steps, p, float(level[i]), float(noise[i]), atol)
            crossings += [] if crossed is None else [crossed]
        direction = 1.0 if not len(steps.h) or steps.h[0] > 0 else -1.0
        return min(crossings, key=lambda crossing: direction * crossing.time) if crossings else None

    def _crossed(
        self, i: int, steps: StepPolynomials, p: Array, level: float, noise: float, atol: Array
    ) -> CrossedSurface | None:
        """The first fall of one guard below its level; None if there is none."""
        fn = self.along_step[i]
        parts = isolated(fn, steps.c, steps.t, steps.h, p, noise=noise, below=True).in_order()
        if not len(parts.step):
            return None
        ends, noises = [], []
        for s in (parts.a, parts.b):
            states = steps.inside(parts.step, s)
            ends.append(self._values_along(fn, states, p)[0] - level)
            noises.append(self.noise(states.t, states.z, p, atol, states.speed, steps.rounding(parts.step))[:, i])
        below = np.flatnonzero((np.array(ends) < -np.minimum(*noises)).any(axis=0))
        if not len(below):
            return None
        m = below[0]
        k, a, b = parts.step[m : m + 1], float(parts.a[m]), float(parts.b[m])
        guard_at = lambda s: self._values_along(fn, steps.inside(k, np.array([s])), p)[:, 0]
        value = lambda theta: float(guard_at(2 * theta - 1)[0]) - level
        bracket = ends[0][m] > 0 > ends[1][m]
        s = 2 * bracketed(value, (1 + a) / 2, (1 + b) / 2) - 1 if bracket else a
        t, h = float(steps.t[k[0]]), float(steps.h[k[0]])
        beyond = bool(a == -1 and ends[0][m] < -ON_SURFACE * noises[0][m])
        return CrossedSurface(i, t + s * h, float(guard_at(s)[1]) / h, int(k[0]), beyond)

    def _values_along(self, fn: Fn, states: StatesInside, p: Array) -> Any:
        """c and its rate in s at points inside steps, (2, k)."""
        return (
            vm_function(fn)
            .batch(states.t[:, None], states.z, np.broadcast_to(p, (len(states.t), len(p))), states.h[:, None], states.zd)[0]
            .T
        )

    def leaving(self, steps: StepPolynomials, p: Array, noise: Array) -> Array:
        """How each guard changes at the beginning of the first step: 1 rises, −1 falls, 0 neither in the whole step, (n,)."""
        z, begin = LEAVING_TIMES[:, None] ** np.arange(STEP_STATES) @ steps.early, steps.t[:1] - steps.h[:1]
        change = self.values(begin + 2 * steps.h[0] * LEAVING_TIMES, z, p) - self.values(begin, steps.early[:1], p)
        clear = np.abs(change) > GUARD_CHANGED * noise
        index = np.argmax(clear, axis=0)
        return np.where(clear.any(axis=0), np.sign(change[index, np.arange(len(noise))]), 0.0)


def both_push(surface: str) -> str:
    """A sentence that says why a motion ends on a surface."""
    return (
        f"both sides push onto {surface} = 0, where a force jumps: the motion stays there, and neither value of the force"
        " describes that; use ap.Friction for dry friction, ap.Unilateral for a wall, or tanh(x/w) with a small w in place of"
        " sign(x)"
    )


def unresolved(step: float, surface: str) -> str:
    """A sentence that says why a run with a fixed step ends."""
    return (
        f"the step of {step:g} s does not resolve the motion near {surface} = 0, where a force changes: shorter steps go"
        " another way; shorten step=, or use rtol=, which shows whether the motion ends here"
    )


@remembered
def _guards(form: NormalForm, system: Any, surfaces: tuple[SwitchSurface, ...]) -> SurfaceGuards:
    lower = lambda expr: form.lower(system.in_velocities(expr))
    t, q, v, p = (form.inputs[x] for x in "tqvp")
    c, z = column(*(lower(surface.guard) for surface in surfaces)), column(q, v)
    n, nz = len(surfaces), z.numel()
    inputs = {"t": (t, ()), "q": (q, (q.numel(),)), "v": (v, (v.numel(),)), "p": (p, (p.numel(),))}
    (size,) = sizes([c], [t, q, v, p])
    outputs = {"c": (c, (n,)), "size": (size, (n,)), "slope": (row_major(jacobian(c, z)), (n, nz))}
    sides = list(dict.fromkeys(surface.side for surface in surfaces))
    firsts = {surface.side: lower(surface.first) for surface in surfaces}
    first = make_fn("sides", inputs, {"first": (column(*(firsts[side] for side in sides)), (len(sides),))})
    along = tuple(guard_function(f"surface_{i}", c[i], t, z, p) for i in range(n))
    return SurfaceGuards(make_fn("surfaces", inputs, outputs), first, along, q.numel())


__all__ = [
    "NODES_AT",
    "ON_SURFACE",
    "CrossedSurface",
    "SideRun",
    "StatesInside",
    "StepPolynomials",
    "SurfaceGuards",
    "both_push",
    "side_run",
    "unresolved",
]
