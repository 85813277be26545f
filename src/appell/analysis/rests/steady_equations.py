"""The equations of steady motions, in sizes that belong to the model, and Newton's method for them; see `steady`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.analysis.linear_probe import pivots, varying_columns
from appell.analysis.rests.balance import divisors
from appell.analysis.rests.natural_sizes import natural_rate, reference_of
from appell.analysis.rests.rest_state import GAP_CLOSED_AT_REST, gaps_at
from appell.analysis.rests.search_intervals import search_intervals
from appell.compiled.run import Run
from appell.errors import AppellError, ModelError
from appell.graph import make_fn
from appell.graph.algebra import Value, column, depends, derivative_along, jacobian, take
from appell.jets import expression
from appell.model import System
from appell.model.values import finite
from appell.normal_form.manifold import normalise, relative
from appell.normal_form.move_sizes import in_metric, metric_roots, moves_of
from appell.reading import text_of
from appell.rows import NEWTON_LOST, least_squares

Array = NDArray[np.float64]

STEPS_TO_SEE_STEADY = 12
"""Steps along a motion in which it is checked to be steady."""
STEADY_RESIDUAL = 1e-12
"""Residual of a solution, relative to the sizes of its terms; further steps are taken while it becomes smaller."""
SMALL_TERM = 1e-6
"""Fraction of the natural velocities, accelerations and reactions that always counts in the size of an equation."""


class SteadySolution(NamedTuple):
    """q, v, Λ, the residual, and the natural velocities there, (nv,)."""

    q: Array
    v: Array
    lam: Array
    residual: float
    speeds: Array


class SteadyProblem:
    """The equations of steady motions in (ζ, v, a, Λ), δq = N ζ, with their derivatives."""

    def __init__(self, run: Run, fixed: Mapping[Any, float], within: Mapping[Any, Any] | None):
        self.run, self.form = run, run.form
        form, system = self.form, run.system
        form.require_known_forces("the search for steady motions")
        parts = [form[name].reshape((-1, 1)) for name in ("M", "h", "Q", "W", "A", "a0", "r", "f0", "f1", "N", "n0")]
        if depends(column(*parts), form.inputs["t"]):
            raise ModelError(f"{system.name} depends on time, so it has no steady motion; fix the time by a parameter")
        q, v, a, lam = (form.inputs[x] for x in ("q", "v", "a", "lam"))
        self._set_intervals(within)
        self.turning = self._ignorable()
        vanishing, free = self._velocities(system)
        self.free = free
        linear, curved = ([row.index for row in form.rows if row.linear is kind] for kind in (True, False))
        balance = form["M"] @ a + form["h"] - form["Q"] - form["W"] @ take(lam, linear) - form["r_a"].T @ take(lam, curved)
        rows = column(form["A"] @ a + form["a0"], form["r"])
        if not isinstance(fixed, Mapping):
            raise ModelError(f"fixed= maps coordinates, velocities or expressions to values, not {type(fixed).__name__}")
        conditions = [
            form.lower(system.in_velocities(_expression(system, key))) - finite(x, f"the value of {key} in fixed=")
            for key, x in fixed.items()
        ]
        # with body rates the balance depends on q while q̇ is not zero: it must also hold along q̇
        lasting = [] if form.rows or system.holonomic_speeds else [derivative_along(balance, [q], [form["qd"]])]
        steady: list[Value] = [*(v[i] for i in vanishing), *(a[i] for i in free), *lasting]
        parts: list[Value] = [balance, rows, form["f0"], form["f1"], *steady, *conditions]
        F = column(*parts)
        J = [jacobian(F, q) @ form["N"], jacobian(F, v), jacobian(F, a), jacobian(F, lam)]
        inputs = {name: (x, (x.numel(),)) for name, x in (("q", q), ("v", v), ("p", form.inputs["p"]), ("a", a), ("lam", lam))}
        outputs = {"F": (F, (F.numel(),)), "N": (form["N"], form["N"].shape)}
        outputs |= {name: (x, x.shape) for name, x in zip(("q_", "v_", "a_", "l_"), J, strict=True)}
        self.fn = make_fn("steady", {"t": (form.inputs["t"], ()), **inputs}, outputs)
        self.sizes = (form.nv, form.nv, form.nv, len(form.rows))

    def _set_intervals(self, within: Mapping[Any, Any] | None) -> None:
        """The intervals of the search, half of those of the coordinates, and the velocities that the forces give there."""
        system, form, p = self.run.system, self.form, self.run.p
        default = [(-np.pi, np.pi)] * system.nq + [(-10.0, 10.0)] * system.nv
        self.bounds = search_intervals((*system.positions, *system.velocities), within, default, system.name)
        names = {text_of(key) for key in within or {}}
        self.has_interval = np.array([str(s) in names for s in (*system.positions, *system.velocities)], dtype=bool)
        low, high = self.bounds[: form.nq].T
        self.half_ranges = np.where(self.has_interval[: form.nq], (high - low) / 2, 1.0)
        q = self.random_configuration(np.random.default_rng(2))
        with np.errstate(all="ignore"):
            reference = reference_of(form, p, 0.0, q, np.zeros(form.nv))
            steps = moves_of(form.select("N")(0.0, q, np.zeros(form.nv), p)["N"], self.half_ranges)
            self.speeds = natural_rate(reference, steps) * steps
        units = 1e6 ** np.round(np.log10(np.where(self.speeds > 0, self.speeds, 1.0)) / 6)
        self.bounds[form.nq :] *= np.where(self.has_interval[form.nq :], 1.0, units)[:, None]

    def random_configuration(self, rng: np.random.Generator) -> Array:
        """A configuration within the intervals of the user, otherwise between 0.2 and 1.2."""
        share, (low, high) = rng.uniform(0.2, 1.2, self.form.nq), self.bounds[: self.form.nq].T
        return normalise(self.form, np.where(self.has_interval[: self.form.nq], low + (high - low) * (share - 0.2), share))

    @cached_property
    def reach(self) -> Array:
        """Sizes of the coordinates, (nq,): 1 for angles, and half the interval otherwise."""
        return np.where(self.angles, 1.0, self.half_ranges)

    def steps(self, q: Array) -> Array:
        """Sizes of displacements, (nv,); those of ignorable coordinates without an interval from the metric of the inertia."""
        out = self.form.select("M", "N")(0.0, q, np.zeros(self.form.nv), self.run.p)
        steps, turning = moves_of(out["N"], self.reach), self.turning_velocities & ~self.has_interval[self.form.nq :]
        shared = in_metric(metric_roots(out["M"]), np.where(turning, 0.0, steps))
        return np.where(turning & (shared > 0), shared, steps)

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
            q_ = self.random_configuration(rng)
            out = fn(0.0, q_, self.speeds * rng.uniform(0.2, 1.2, self.form.nv), self.run.p)
            steps = moves_of(self.form.select("N")(0.0, q_, np.zeros(self.form.nv), self.run.p)["N"], self.half_ranges)
            for name in ("T", "V", "Q"):
                work = steps[:, None] if name == "Q" else 1.0
                slopes = np.nan_to_num(np.abs(out[f"{name}_q"] * work).max(axis=0, initial=0.0), nan=0.0) * self.half_ranges
                free &= slopes <= 1e-11 * (np.nanmax(np.abs(out[name] * work), initial=0.0) + slopes.max(initial=0.0))
        return free

    def _velocities(self, system: System) -> tuple[list[int], list[int]]:
        """Velocities that vanish, and independent ones that are constant."""
        index_of = {v: i for i, v in enumerate(system.velocities)}
        still = [index_of[q.d] for i, q in enumerate(system.positions) if not self.turning[i] and q.d in index_of]
        if not self.form.rows:
            return still, list(range(self.form.nv))
        fn = self.form.select("A1", "M")
        rng = np.random.default_rng(1)
        out = fn(0.0, self.random_configuration(rng), self.speeds * rng.uniform(0.2, 1, self.form.nv), self.run.p)
        varying = varying_columns(self.form)
        vanishing = np.isin(np.arange(self.form.nv), still)
        dependent = pivots(out["A1"], [varying & ~vanishing, ~varying & ~vanishing, vanishing])
        return still, [i for i in range(self.form.nv) if i not in dependent]

    def allowed(self, q: Array) -> bool:
        """Whether a configuration satisfies all unilateral constraints."""
        if not self.run.system.unilateral:
            return True
        return bool((gaps_at(self.run.system, self.run.p, q, self.reach).relative >= -GAP_CLOSED_AT_REST).all())

    def lasts(self, q: Array, v: Array) -> bool:
        """Whether the independent velocities stay constant over some steps along the motion, a tenth of a turn in total.

        Momentarily vanishing accelerations are not a steady motion; those of the body rates of a leaning top vanish four times
        a turn.
        """
        v_before, qd, steps = v[self.free], self.form.select("qd"), self.steps(q)
        rate = float((np.abs(v) / steps).max(initial=0.0))
        if not rate:
            return True
        slope = lambda q, v: (qd(0.0, q, v, self.run.p)["qd"], self.run.acceleration(0.0, q, v)[0])
        try:
            for _ in range(STEPS_TO_SEE_STEADY):
                q, v = _runge_kutta(slope, q, v, 0.5 / (STEPS_TO_SEE_STEADY * rate))
        except AppellError:
            return False
        return bool((np.abs(v[self.free] - v_before) < 1e-6 * rate * steps[self.free]).all())

    def _natural_velocities(
        self, steps: Array, out: dict[str, Array], v: Array, a: Array, lam: Array
    ) -> tuple[Array, Array, Array]:
        """Velocities, accelerations and Λ that the forces give over some displacements, (nv,), (nv,), (rows,)."""
        nv = self.form.nv
        q_, v_, a_, l_ = (np.abs(out[name][:nv]) for name in ("q_", "v_", "a_", "l_"))
        with np.errstate(over="ignore"):
            centripetal = steps * np.square((np.abs(v) / steps).max(initial=0.0))
        roots, forces = metric_roots(a_), q_ @ steps + v_ @ np.abs(v) + a_ @ (np.abs(a) + centripetal) + l_ @ np.abs(lam)
        most = float((forces / roots).max(initial=0.0))
        speeds = np.sqrt(most * float((roots * steps).max(initial=0.0))) / roots
        return speeds, most / roots, l_.T @ forces / divisors((l_**2).sum(axis=0))

    def solve(self, q: Array, v: Array) -> SteadySolution | None:
        """The solution near a start, to rounding; None if Newton's method does not converge."""
        best: SteadySolution | None = None
        a, lam = np.zeros(self.sizes[2]), np.zeros(self.sizes[3])
        ends = np.cumsum(self.sizes)
        for _ in range(60):
            out = self.fn(0.0, q, v, self.run.p, a, lam)
            if not all(np.isfinite(x).all() for x in out.values()):
                return best
            J, F = np.hstack([out["q_"], out["v_"], out["a_"], out["l_"]]), out["F"]
            steps = self.steps(q)
            natural = self._natural_velocities(steps, out, v, a, lam)
            small = (np.abs(x) + SMALL_TERM * size for x, size in zip((v, a, lam), natural, strict=True))
            sizes = np.concatenate([steps, *small])
            residual = float(relative(F, np.abs(J) @ sizes).max(initial=0.0))
            if best is not None and not residual < best.residual / 2:
                return best
            if residual < STEADY_RESIDUAL:
                best = SteadySolution(q, v, lam, residual, natural[0])
                if not residual:
                    return best
            turning = np.concatenate([self.turning_velocities, np.zeros(sum(self.sizes[1:]), dtype=bool)])
            J = np.where(turning, 0.0, J)
            rows = np.abs(J) @ sizes
            J, F = J / np.where(rows > 0, rows, 1.0)[:, None], F / np.where(rows > 0, rows, 1.0)
            scale = np.linalg.norm(J, axis=0)
            scale[scale == 0] = np.inf
            step = least_squares(J / scale, -F, NEWTON_LOST) / scale
            step /= max(1.0, float((np.abs(step[: self.sizes[0]]) / sizes[: self.sizes[0]]).max(initial=0.0)))
            zeta, dv, da, dlam = np.split(step, ends[:-1])
            q, v, a, lam = normalise(self.form, q + out["N"] @ zeta), v + dv, a + da, lam + dlam
        return best

    @cached_property
    def angles(self) -> NDArray[np.bool_]:
        """Coordinates in which the equations have period 2π, checked at random states, (nq,): in a length of 1e11 m a change by
        2π is rounding, but no more than one by 2."""
        rng, periodic = np.random.default_rng(4), np.ones(self.form.nq, dtype=bool)
        for _ in range(3):
            q, v = self.random_configuration(rng), self.speeds * rng.uniform(0.2, 1.2, self.form.nv)
            at = self._in_sizes(q, v, rng)
            at_q = at(q)
            for i in np.flatnonzero(periodic):
                by_turn, by_two = (np.abs(at(q + by * np.eye(self.form.nq)[i]) - at_q).max() for by in (2 * np.pi, 2.0))
                periodic[i] = bool(by_turn < 1e-9 and (by_turn <= 1e-3 * by_two or by_two < 1e-14))
        return periodic

    def _in_sizes(self, q: Array, v: Array, rng: np.random.Generator) -> Callable[[Array], Array]:
        """q → the equations and their derivatives with random accelerations and Λ, in units of their sizes at a state."""
        a_lam = [np.zeros(size) for size in self.sizes[2:]]
        out = self.fn(0.0, q, v, self.run.p, *a_lam)
        steps = moves_of(out["N"], self.half_ranges)
        natural = self._natural_velocities(steps, out, v, *a_lam)
        a_lam = [x * rng.uniform(0.2, 1.2, len(x)) for x in natural[1:]]
        J = lambda out: np.hstack([out[name] for name in ("q_", "v_", "a_", "l_")]) * np.concatenate([steps, *natural])
        rows = divisors(np.abs(J(self.fn(0.0, q, v, self.run.p, *a_lam))).sum(axis=1))

        def at(q: Array) -> Array:
            out = self.fn(0.0, q, v, self.run.p, *a_lam)
            turns = out["N"] * steps / self.half_ranges[:, None]
            return np.hstack([out["F"] / rows, (J(out) / rows[:, None]).ravel(), turns.ravel()])

        return at

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
    by_name = {str(s): s for s in (*system.positions, *system.velocities)}
    if isinstance(key, str):
        if key not in by_name:
            raise ModelError(f"fixed= names '{text_of(key)}', which is not a coordinate or velocity of {system.name}")
        return by_name[key]
    expr = system.in_velocities(expression(key, "fixed="))
    known = {*by_name.values(), *system.parameters}
    unknown = sorted((s for s in expr.free_symbols if s not in known), key=str)
    if unknown:
        raise ModelError(f"fixed= contains {unknown[0]}, which is not a coordinate, velocity or parameter of {system.name}")
    return expr


__all__ = ["SteadyProblem", "SteadySolution"]
