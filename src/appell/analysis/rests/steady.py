"""Steady motions: independent velocities are constant, ignorable coordinates change uniformly.

    M a + h = Q + WΛ,    A a + a0 = 0,    f0 = 0,    f1 = 0,    a_i = 0 for the independent velocities,
    v_i = 0 for coordinates that T, V or Q contain,      and values fixed by the user: of coordinates, velocities, momenta

    Newton's method of least norm from many starts; solutions that agree to 1e-7 are the same. There is no proof that all are
    found: narrow `within=` and raise `attempts=` to look closer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.linear import linearize
from appell.analysis.linear_probe import pivots, varying_columns
from appell.analysis.linearization import Linearization
from appell.analysis.rests.found_states import FoundStates
from appell.analysis.rests.search_intervals import ATTEMPTS, middle_of, search_intervals, whole_attempts
from appell.compiled.compiling import compile_near
from appell.compiled.run import Run
from appell.errors import AppellError, ModelError
from appell.graph import make_fn
from appell.graph.algebra import Value, column, depends, derivative_along, jacobian, take
from appell.jets import Jet, expression
from appell.model import System
from appell.model.described import system_of
from appell.model.first_order import refuse_first_order
from appell.model.friction import refuse_friction
from appell.model.values import finite
from appell.normal_form.manifold import normalise
from appell.reading import text_of
from appell.rows import NEWTON_LOST, least_squares
from appell.spelling import checked_keywords

Array = NDArray[np.float64]

STEPS_TO_SEE_STEADY = 12
"""Steps along a motion in which it is checked to be steady."""


@dataclass(frozen=True, eq=False)
class SteadyMotion:
    """A motion with constant independent velocities.

    q (nq,), v (nv,), multipliers (rows,): at t = 0, SI. residual: largest residual of the equations, relative to their terms.
    """

    system: System
    parameters: Mapping[Any, float]
    q: Array
    v: Array
    multipliers: Array
    residual: float
    independent: tuple[Any, ...]
    """Velocities that are constant."""

    @property
    def start(self) -> dict[Any, float]:
        """symbol → value: a start for `ap.simulate`."""
        symbols = (*self.system.positions, *self.system.velocities)
        return dict(zip(symbols, map(float, (*self.q, *self.v)), strict=True))

    def __getitem__(self, key: Any) -> float:
        """The value of a coordinate, a velocity, or an expression in them."""
        named = {str(s): x for s, x in self.start.items()}
        if text_of(key) in named:
            return named[text_of(key)]
        values = {**self.start, **self.parameters}
        return float(expression(key, "what is read from a steady motion").xreplace(values))  # type: ignore[arg-type]

    @cached_property
    def linear(self) -> Linearization:
        """The linearization about it."""
        return linearize(self.system, at=self.start, parameters=self.parameters, independent=self.independent)

    @property
    def stable(self) -> bool:
        """Whether no small motion grows."""
        return self.linear.stable

    def __repr__(self) -> str:
        least = 1e-14 * max(map(abs, self.start.values()), default=0.0)  # smaller values are rounding
        values = ", ".join(f"{s} = {x:.6g}" for s, x in self.start.items() if abs(x) > least)
        return f"<SteadyMotion of {self.system.name}: {values or 'rest'}>"


@checked_keywords(starts="attempts")
def steady_motions(
    system: System,
    parameters: Mapping[Any, Any] | None = None,
    *,
    fixed: Mapping[Any, float] | None = None,
    within: Mapping[Any, tuple[float, float]] | None = None,
    attempts: int = ATTEMPTS,
) -> FoundStates[SteadyMotion]:
    """The steady motions found by a search, those with the smallest velocities first.

    Parameters
    ----------
    fixed: coordinate, velocity or expression in them → value. As many as there are ignorable velocities make the motions
        isolated: {theta: 0.5, phi.d + psi.d*cos(theta): 40} for a top.
    within: coordinate or velocity → (lowest, highest) of random starts; (−π, π) and (−10, 10) by default.
    attempts: number of starts.
    """
    system = system_of(system, "ap.steady_motions")
    refuse_friction(system, "ap.steady_motions")
    refuse_first_order(system, "ap.steady_motions")
    near = {**middle_of(within), **{key: value for key, value in (fixed or {}).items() if isinstance(key, str | Jet)}}
    run = compile_near(system, near, parameters, backend="vm")
    system = run.system
    problem = _SteadyProblem(run, fixed or {})
    found: list[tuple[Array, Array, Array, float]] = []
    for q, v in _drawn(system, problem, within, whole_attempts(attempts)):
        solution = problem.solve(q, v)
        if solution is None:
            continue
        solution = (problem.upper_end(solution[0]), *solution[1:])
        if any(_same(solution, other, problem.angles) for other in found):
            continue
        if problem.allowed(solution[0]) and problem.lasts(*solution[:2]):
            found.append(solution)
    found.sort(key=lambda s: (round(float(np.abs(s[1]).max(initial=0.0)), 9), *np.round(s[0], 9)))
    constant = tuple(system.velocities[i] for i in problem.free)
    motions = (SteadyMotion(system, run.parameters, q, v, lam, residual, constant) for q, v, lam, residual in found)
    return FoundStates(motions, system, "steady motion", attempts)


def _same(one: tuple, other: tuple, angles: NDArray[np.bool_]) -> bool:
    """Whether two solutions are the same; angles are compared modulo 2π."""
    x, y = (np.concatenate(s[:2]) for s in (one, other))
    apart = x - y
    turns = np.flatnonzero(angles)
    apart[turns] -= 2 * np.pi * np.round(apart[turns] / (2 * np.pi))
    return bool(np.abs(apart).max() < 1e-7 * (1 + np.abs(x).max()))


def _drawn(system: System, problem: _SteadyProblem, within: Mapping[Any, Any] | None, count: int) -> Iterable[tuple]:
    rng = np.random.default_rng(0)
    default = [(-np.pi, np.pi)] * system.nq + [(-10.0, 10.0)] * system.nv
    bounds = search_intervals((*system.positions, *system.velocities), within, default, system.name)
    for k in range(count):
        x = rng.uniform(bounds[:, 0], bounds[:, 1]) * (1.0 if k % 3 else 0.1)
        q = np.where(problem.turning, [s.start for s in system.positions], x[: system.nq])
        yield normalise(problem.form, q), x[system.nq :]


class _SteadyProblem:
    """The equations of steady motions in (ζ, v, a, Λ), δq = N ζ, with their derivatives."""

    def __init__(self, run: Run, fixed: Mapping[Any, float]):
        self.run, self.form = run, run.form
        form, system = self.form, run.system
        form.require_known_forces("the search for steady motions")
        parts = [form[name].reshape((-1, 1)) for name in ("M", "h", "Q", "W", "A", "a0", "r", "f0", "f1", "N", "n0")]
        if depends(column(*parts), form.inputs["t"]):
            raise ModelError(f"{system.name} depends on time, so it has no steady motion; fix the time by a parameter")
        q, v, a, lam = (form.inputs[x] for x in ("q", "v", "a", "lam"))
        self.turning = self._ignorable()
        still, free = self._velocities(system)
        self.free = free
        linear, curved = ([row.index for row in form.rows if row.linear is kind] for kind in (True, False))
        balance = form["M"] @ a + form["h"] - form["Q"] - form["W"] @ take(lam, linear) - form["r_a"].T @ take(lam, curved)
        rows = column(form["A"] @ a + form["a0"], form["r"])
        if not isinstance(fixed, Mapping):
            raise ModelError(f"fixed= maps coordinates, velocities or expressions to values, not {type(fixed).__name__}")
        wanted = [
            form.lower(system.in_velocities(_expression(system, key))) - finite(x, f"the value of {key} in fixed=")
            for key, x in fixed.items()
        ]
        # with body rates the balance depends on q while q̇ is not zero: it must also hold along q̇
        lasting = [] if form.rows or system.holonomic_speeds else [derivative_along(balance, [q], [form["qd"]])]
        steady: list[Value] = [*(v[i] for i in still), *(a[i] for i in free), *lasting]
        parts: list[Value] = [balance, rows, form["f0"], form["f1"], *steady, *wanted]
        F = column(*parts)
        J = [jacobian(F, q) @ form["N"], jacobian(F, v), jacobian(F, a), jacobian(F, lam)]
        inputs = {name: (x, (x.numel(),)) for name, x in (("q", q), ("v", v), ("p", form.inputs["p"]), ("a", a), ("lam", lam))}
        outputs = {"F": (F, (F.numel(),)), "N": (form["N"], form["N"].shape)}
        outputs |= {name: (x, x.shape) for name, x in zip(("q_", "v_", "a_", "l_"), J, strict=True)}
        self.fn = make_fn("steady", {"t": (form.inputs["t"], ()), **inputs}, outputs)
        self.sizes = (form.nv, form.nv, form.nv, len(form.rows))

    def _ignorable(self) -> NDArray[np.bool_]:
        """The coordinates of which T, V and Q are independent, so that they may change, (nq,).

        Coordinates that occur but cancel (the spin angle of an axisymmetric body) are found numerically.
        """
        t, q, v, p = (self.form.inputs[x] for x in ("t", "q", "v", "p"))
        outputs = {name: self.form[name].reshape((-1, 1)) for name in ("T", "V", "Q")}
        outputs |= {f"{name}_q": jacobian(value, q) for name, value in outputs.items()}
        inputs = {"t": (t, ()), "q": (q, (q.numel(),)), "v": (v, (v.numel(),)), "p": (p, (p.numel(),))}
        fn = make_fn("ignorable", inputs, {name: (value, value.shape) for name, value in outputs.items()})
        free, rng = np.ones(self.form.nq, dtype=bool), np.random.default_rng(3)
        for _ in range(4):
            q_ = normalise(self.form, rng.uniform(0.2, 1.2, self.form.nq))
            out = fn(0.0, q_, rng.uniform(0.2, 1.2, self.form.nv), self.run.p)
            for name in ("T", "V", "Q"):
                slopes = np.nan_to_num(np.abs(out[f"{name}_q"]).max(axis=0, initial=0.0), nan=0.0)
                free &= slopes <= 1e-11 * (np.nanmax(np.abs(out[name]), initial=0.0) + slopes.max(initial=0.0))
        return free

    def _velocities(self, system: System) -> tuple[list[int], list[int]]:
        """Velocities that vanish, and independent ones that are constant."""
        own = {v: i for i, v in enumerate(system.velocities)}
        still = [own[q.d] for i, q in enumerate(system.positions) if not self.turning[i] and q.d in own]
        if not self.form.rows:
            return still, list(range(self.form.nv))
        fn = self.form.select("A1", "M")
        rng = np.random.default_rng(1)
        draw = lambda: fn(0.0, rng.uniform(0.2, 1, self.form.nq), rng.uniform(0.2, 1, self.form.nv), self.run.p)
        out = draw()
        varying = varying_columns(self.form)
        kept = np.isin(np.arange(self.form.nv), still)
        dependent = pivots(out["A1"], [varying & ~kept, ~varying & ~kept, kept])
        return still, [i for i in range(self.form.nv) if i not in dependent]

    def allowed(self, q: Array) -> bool:
        """Whether a configuration satisfies all unilateral constraints."""
        if not self.run.system.unilateral:
            return True
        out = self.form.select("g", "g_scale")(0.0, q, np.zeros(self.form.nv), self.run.p)
        return bool((out["g"] >= -1e-9 * (out["g_scale"] + np.abs(q).max(initial=0.0))).all())

    def lasts(self, q: Array, v: Array) -> bool:
        """Whether the independent velocities stay constant over some steps along the motion, a tenth of a turn in total.

        Momentarily vanishing accelerations are not a steady motion; those of the body rates of a leaning top vanish four times
        a turn.
        """
        before, qd = v[self.free], self.form.select("qd")
        speed = max(np.abs(v).max(initial=0.0), np.abs(qd(0.0, q, v, self.run.p)["qd"]).max(initial=0.0))
        if not speed:
            return True
        slope = lambda q, v: (qd(0.0, q, v, self.run.p)["qd"], self.run.acceleration(0.0, q, v)[0])
        try:
            for _ in range(STEPS_TO_SEE_STEADY):
                q, v = _runge_kutta(slope, q, v, 0.5 / (STEPS_TO_SEE_STEADY * speed))
        except AppellError:
            return False
        return bool((np.abs(v[self.free] - before) < 1e-6 * speed).all())

    def solve(self, q: Array, v: Array) -> tuple[Array, Array, Array, float] | None:
        """(q, v, Λ, residual) near a start; None if Newton's method does not converge."""
        a, lam = np.zeros(self.sizes[2]), np.zeros(self.sizes[3])
        ends = np.cumsum(self.sizes)
        for _ in range(60):
            out = self.fn(0.0, q, v, self.run.p, a, lam)
            if not all(np.isfinite(x).all() for x in out.values()):
                return None
            J, F = np.hstack([out["q_"], out["v_"], out["a_"], out["l_"]]), out["F"]
            x = np.concatenate([np.ones(self.sizes[0]), v, a, lam])
            size = np.abs(F) / (np.abs(J) @ (np.abs(x) + 1e-6) + 1e-300)
            if size.max(initial=0.0) < 1e-12:
                return q, v, lam, float(size.max(initial=0.0))
            turning = np.concatenate([self.turning_velocities, np.zeros(sum(self.sizes[1:]), dtype=bool)])
            J = np.where(turning, 0.0, J)
            rows = np.abs(J) @ (np.abs(x) + 1e-6)
            J, F = J / np.where(rows > 0, rows, 1.0)[:, None], F / np.where(rows > 0, rows, 1.0)
            scale = np.linalg.norm(J, axis=0)
            scale[scale == 0] = np.inf
            step = least_squares(J / scale, -F, NEWTON_LOST) / scale
            step *= min(1.0, 1.0 / max(np.abs(step[: self.sizes[0]]).max(initial=0.0), 1e-300))
            zeta, dv, da, dlam = np.split(step, ends[:-1])
            q, v, a, lam = normalise(self.form, q + out["N"] @ zeta), v + dv, a + da, lam + dlam
        return None

    @cached_property
    def angles(self) -> NDArray[np.bool_]:
        """Coordinates in which the equations have period 2π, checked at random states, (nq,)."""
        rng, same = np.random.default_rng(4), np.ones(self.form.nq, dtype=bool)
        for _ in range(3):
            q, v = rng.uniform(0.2, 1.2, self.form.nq), rng.uniform(0.2, 1.2, self.form.nv)
            others = [rng.uniform(0.2, 1.2, size) for size in self.sizes[2:]]
            here = self.fn(0.0, q, v, self.run.p, *others)
            for i in np.flatnonzero(same):
                there = self.fn(0.0, q + 2 * np.pi * np.eye(self.form.nq)[i], v, self.run.p, *others)
                size = {k: 1 + np.abs(value).max(initial=0.0) for k, value in here.items()}
                same[i] = all(np.abs(there[k] - here[k]).max(initial=0.0) < 1e-9 * size[k] for k in here)
        return same

    def upper_end(self, q: Array) -> Array:
        """Angles at −π written as π."""
        return np.where(self.angles & (np.abs(q + np.pi) < 1e-9), q + 2 * np.pi, q)

    @cached_property
    def turning_velocities(self) -> NDArray[np.bool_]:
        """Velocities of ignorable coordinates that change: these coordinates keep their start values."""
        system = self.run.system
        turning = {q.d for q, turns in zip(system.positions, self.turning, strict=True) if turns}
        return np.array([v in turning for v in system.velocities])


def _runge_kutta(slope: Callable[[Array, Array], tuple[Array, Array]], q: Array, v: Array, h: float) -> tuple[Array, Array]:
    """One step of the classical Runge–Kutta method."""
    a = slope(q, v)
    b = slope(q + h / 2 * a[0], v + h / 2 * a[1])
    c = slope(q + h / 2 * b[0], v + h / 2 * b[1])
    d = slope(q + h * c[0], v + h * c[1])
    return tuple(x + h / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i]) for i, x in enumerate((q, v)))  # type: ignore[return-value]


def _expression(system: System, key: Any) -> Any:
    named = {str(s): s for s in (*system.positions, *system.velocities)}
    if isinstance(key, str):
        if key not in named:
            raise ModelError(f"fixed= names '{text_of(key)}', which is not a coordinate or velocity of {system.name}")
        return named[key]
    expr = system.in_velocities(expression(key, "fixed="))
    known = {*named.values(), *system.parameters}
    strange = sorted((s for s in expr.free_symbols if s not in known), key=str)
    if strange:
        raise ModelError(f"fixed= contains {strange[0]}, which is not a coordinate, velocity or parameter of {system.name}")
    return expr
