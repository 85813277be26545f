"""All zeros of an expression along a motion, by interval bounds.

    g(t, q, v, a, p) = 0        between samples g is a function of polynomials (`motion.dense`); interval bounds exclude zeros,
                                isolate them (`roots.isolate`), or report that they can do neither

A zero is a change of sign. A value that cannot be distinguished from zero, given the rounding of the states, counts as zero and
keeps the sign before it: an expression that is zero at the start does not change sign when it leaves zero, and touching zero is
not a change. Where g jumps over zero (a velocity at an impact, a floor, a pole), the sign changes without a zero; where an
impact reverses g at zero (a distance), there is a zero without a change. `kind` distinguishes these cases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.graph import Fn, make_fn
from appell.graph.algebra import column, symbols, used
from appell.loop.methods.stiff import STIFF
from appell.model.multiplier import of_states
from appell.modes.contact_thresholds import GAP_FLOOR, HIT_TOGETHER
from appell.motion.dense import DENSE_NODES, DenseSteps, dense_steps
from appell.normal_form import NormalForm
from appell.remember import remembered
from appell.roots.enclosure import Interval, enclosure
from appell.roots.guard import guard_function
from appell.roots.isolate import isolated

if TYPE_CHECKING:
    from appell.motion.motion import Motion

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

POLYNOMIAL_ROUNDING = 64 * float(np.finfo(float).eps)
"""Rounding error of each quantity from evaluating its polynomial, as a fraction of its size along the motion."""
JUMP_LEFT = 1e-3
"""Fraction of its nearby values that an expression has at both ends of the narrowest interval if it jumps."""
NOISE_OF_STIFF = 100.0
"""Multiple of rtol by which states of a stiff method, which restarts at each output time, deviate from a smooth motion."""
BESIDE_ZERO = 1e-11
"""Fraction of half a step beside an exact zero at which a jump shows: sign(x) is zero where it jumps."""
TRANSVERSAL = 1e-4
"""Fraction of its values in a step that an expression has a thousandth of the step before a transversal zero."""
STRAIGHT_STEP = 0.1
"""Fraction of its change in a step by which an expression deviates from a straight line in a step that is very short."""
NEAR_ROUNDING = 1e-9
"""Fraction of its largest value below which an expression may be zero up to rounding."""
STEP_MISMATCH = 1e-6
"""Fraction of the largest value in two adjacent steps by which their polynomials may differ where they meet."""


@dataclass(frozen=True, eq=False)
class ExpressionAlong:
    """An expression as a function of quantities along a motion.

    columns: (name, index) of each quantity z among the inputs of the normal form ("q", "v", "a"); guard: from `guard_function`;
    value: (t, z, p) → the expression.
    """

    columns: tuple[tuple[str, int], ...]
    guard: Fn
    value: Fn

    def at(self, t: Array, z: Array, p: Array) -> Array:
        """Values at times (k,), quantities (k, m), parameters (np,) or (k, np)."""
        p = np.broadcast_to(p, (len(t), p.shape[-1]))
        with np.errstate(all="ignore"):
            return np.ravel(vm_function(self.value).batch(t, z, p)[0])

    def sign(self, t: Array, z: Array, p: Array, noise: Array) -> Array:
        """1 or −1 where the sign holds for all z within their noise (k, m) and t within its rounding, otherwise 0; (k,)."""
        low, high = self.bounds(t, z, p, noise)
        return np.where(low > 0, 1.0, np.where(high < 0, -1.0, 0.0))

    def bounds(self, t: Array, z: Array, p: Array, noise: Array) -> tuple[Array, Array]:
        """Bounds of the values for all z within their noise (k, m) and t within its rounding, (k,) each."""
        late, p = POLYNOMIAL_ROUNDING * np.abs(t), p[:, None] if p.ndim == 1 else p.T
        still = np.zeros((1, len(t))), np.zeros_like(z.T)
        inputs = Interval((t - late)[None], (t + late)[None]), Interval((z - noise).T, (z + noise).T), Interval(p, p)
        y, _ = enclosure(self.guard)(*inputs, *(Interval(x, x) for x in still))
        return y.lo[0], y.hi[0]


@remembered
def expression_along(form: NormalForm, expression: Any) -> ExpressionAlong:
    """The expression, in the velocities of the form, along a motion."""
    g = form.lower(of_states(expression))
    columns = tuple((name, i) for name in ("q", "v", "a") for i in used(g, form.inputs[name]))
    z = column(*(form.inputs[name][i] for name, i in columns)) if columns else symbols("z", 0)
    t, p = form.inputs["t"], form.inputs["p"]
    ports = {"t": (t, ()), "z": (z, (z.numel(),)), "p": (p, (p.numel(),))}
    return ExpressionAlong(columns, guard_function("zero_guard", g, t, z, p), make_fn("along", ports, {"value": (g, ())}))


CROSSED, JUMPED, REBOUND = "crossed", "jumped", "rebound"
"""Kinds of zeros: passed through, jumped over, or reversed by an impact or a reset."""


class Zeros(NamedTuple):
    """Zeros in the order of the run, (k,) each: time, s; direction ±1; their `kind`; the step and the position s in it.

    unbounded: times, s, near which the bounds were inconclusive, (n,). sign: the last one. pending: whether the last step ends
    at zero, so that the next one decides; reached: the sign from which it does so at a rate, otherwise 0.
    """

    time: Array
    direction: Array
    kind: NDArray[np.object_]
    step: Ints
    s: Array
    unbounded: Array
    sign: float
    pending: bool
    reached: float


def sign_before(zeros: Zeros, time: float) -> float:
    """The sign of an expression just before a time in the order of the run; 0 if it is not known."""
    changes = zeros.kind != REBOUND
    times, directions = zeros.time[changes], zeros.direction[changes]
    if not len(times):
        return zeros.sign
    earlier = int(np.searchsorted(times, time))
    return float(directions[earlier - 1] if earlier else -directions[0])


def zeros_along(
    expression: ExpressionAlong, steps: DenseSteps, p: Array, floor: float | Array, before: float = 0.0, reached: float = 0.0
) -> Zeros:
    """All changes of sign along some steps of the quantities `expression.columns`; p (np,) or (steps, np).

    floor: error of each quantity besides its rounding, SI, one or (m,). before: the sign before the steps, 0 if unknown;
    reached: that of the steps before them (`Zeros.reached`).
    """
    if not len(steps.begin):
        empty = np.zeros(0)
        return Zeros(empty, empty, np.zeros(0, dtype=object), np.zeros(0, dtype=np.intp), empty, empty, before, False, reached)
    search = _ZeroSearch(expression, steps, np.asarray(p, float), floor)
    return search.changes(*search.isolating_points(), before, reached)


class _ZeroSearch:
    """One expression along some steps."""

    def __init__(self, expression: ExpressionAlong, steps: DenseSteps, p: Array, floor: float | Array):
        self.expression, self.steps, self.p = expression, steps, p
        size = np.abs(steps.values).max(axis=(0, 1), initial=0.0)
        self.noise = floor + POLYNOMIAL_ROUNDING * size + steps.moved  # (steps, m)

    def _inputs(self, step: Ints, s: Array) -> tuple[Array, Array, Array]:
        return self.steps.time(step, s), self.steps.at(step, s), self.p if self.p.ndim == 1 else self.p[step]

    def values(self, step: Ints, s: Array) -> Array:
        """The expression inside some steps, (k,)."""
        return self.expression.at(*self._inputs(step, s))

    def signs(self, step: Ints, s: Array) -> Array:
        """Its signs, 0 where it cannot be distinguished from zero or has no value, (k,)."""
        inputs = self._inputs(step, s)
        return np.where(np.isnan(self.expression.at(*inputs)), 0.0, self.expression.sign(*inputs, self.noise[step]))

    def isolating_points(self) -> tuple[Ints, Array, Ints]:
        """Steps and positions (k,), in order, between which the sign changes at most once; and steps for which the bounds are
        inconclusive."""
        steps, n = self.steps, len(self.steps.begin)
        signs = self.signs(np.repeat(np.arange(n), len(DENSE_NODES)), np.tile(DENSE_NODES, n)).reshape(n, len(DENSE_NODES))
        varying = np.flatnonzero(signs.any(axis=1))  # an expression that vanishes throughout changes no sign
        p = self.p if self.p.ndim == 1 else self.p.T
        brackets = isolated(self.expression.guard, steps.powers, steps.middle, steps.half, p, varying)
        step = np.concatenate([np.repeat(np.arange(n), 2), brackets.step, brackets.step])
        s = np.concatenate([np.tile([-1.0, 1.0], n), brackets.a, brackets.b])
        order = np.lexsort((s, step))
        step, s = step[order], s[order]
        new = np.append(True, (np.diff(step) != 0) | (np.diff(s) != 0))
        open_ = np.union1d(brackets.step[~brackets.bounded], varying[~steps.exact[varying]])
        return step[new], s[new], open_

    def changes(self, step: Ints, s: Array, open_: Ints, earlier: float, reached: float) -> Zeros:
        """Changes of sign between positions at which the sign is known; earlier: the sign before the first of them; reached:
        the one from which zero was reached there."""
        g, sign = self.values(step, s), self.signs(step, s)
        last = np.maximum.accumulate(np.where(sign != 0, np.arange(len(g)), -1))
        previous = np.append(-1, last[:-1])
        sign_so_far = np.where(previous >= 0, sign[previous], earlier)
        change = np.flatnonzero((sign != 0) & (sign_so_far != 0) & (sign != sign_so_far))
        inside = (change > 0) & (step[change] == step[change - 1])
        a, b = np.where(inside, s[change - 1], -1.0), s[change]  # at the start, if the step begins with the other sign
        zero, jump = self._narrowed(step[change], a, b, np.where(inside, g[change - 1], 0.0), g[change])
        edge = np.flatnonzero(~inside)
        if len(edge):
            k = change[edge]
            size = np.maximum(self._largest(step[k]), self._largest(step[np.maximum(k - 1, 0)]))
            jump[edge] = np.maximum(np.abs(g[k]), np.abs(g[np.maximum(k - 1, 0)])) > STEP_MISMATCH * size
        # where the sign is not known although the value is not small, the rounding of the time decides between two pieces
        nearest = np.maximum(change - 1, 0)
        largest = np.maximum(np.abs(g[change]), np.abs(g[np.maximum(previous[change], 0)]))
        jump |= (sign[nearest] == 0) & ~(np.abs(g[nearest]) <= JUMP_LEFT * largest)
        # between two events at almost one time, and at multiple zeros, both comparisons are with values that are rounding
        rounding = NEAR_ROUNDING * np.abs(g).max(initial=0.0)
        tiny = np.flatnonzero(jump & (np.abs(g[nearest]) <= rounding))
        ahead, behind = step[change[tiny]], step[np.maximum(previous[change[tiny]], 0)]
        jump[tiny] = np.where(ahead == behind, largest[tiny] > rounding, ~self._goes_on(behind, ahead, sign[change[tiny]]))
        pending = bool(sign[-1] == 0 and sign[step == step[-1]].any())
        sign_at_end = float(sign[last[-1]]) if last[-1] >= 0 else earlier
        rebounding, directions_back = self._rebounds(step, s, sign)
        at_end = np.ones(len(rebounding))
        if reached and self._turns_back(step[:1], sign[:1], np.array([reached]))[0]:
            rebounding, directions_back, at_end = (
                np.append(0, rebounding),
                np.append(-reached, directions_back),
                np.append(-1.0, at_end),
            )
        steps, places = np.concatenate([step[change], rebounding]), np.concatenate([zero, at_end])
        kind = np.concatenate([np.where(jump, JUMPED, CROSSED), np.full(len(rebounding), REBOUND)]).astype(object)
        order = np.lexsort((places, steps))
        directions = np.concatenate([sign[change], directions_back])[order]
        times = self.steps.time(steps, places)[order]
        reached_at_end = float(self._sign_reached_from(step[-1:], sign[-1:])[0])
        return Zeros(
            times,
            directions,
            kind[order],
            steps[order],
            places[order],
            self.steps.begin[open_],
            sign_at_end,
            pending,
            reached_at_end,
        )

    def _rebounds(self, step: Ints, s: Array, sign: Array) -> tuple[Ints, Array]:
        """Steps that reach zero at a rate that the next one does not continue (an impact), or whose end a reset reverses; and
        the direction in which they reach it."""
        at = np.flatnonzero((s[:-1] == 1) & self._near_zero(step[:-1], s[:-1]))
        k = step[at]
        came_from = self._sign_reached_from(k, sign[at])
        rebounds = (came_from != 0) & self._turns_back(k + 1, sign[at + 1], came_from)
        return k[rebounds], -came_from[rebounds]

    def _sign_reached_from(self, step: Ints, sign: Array) -> Array:
        """The sign from which steps that end with these signs reach zero at a rate, 0 if they do not."""
        came_from = -self._tendency(step, 1.0)
        return np.where(self._near_zero(step, np.ones(len(step))) & (sign != -came_from), came_from, 0.0)

    def _turns_back(self, step: Ints, sign: Array, came_from: Array) -> Bools:
        """Whether steps that begin with these signs do not pass through the zero that the steps before them reached."""
        at_zero = self._near_zero(step, np.full(len(step), -1.0))
        return np.where(at_zero, self._tendency(step, -1.0) != -came_from, sign == came_from) & (sign != -came_from)

    def _goes_on(self, before: Ints, after: Ints, direction: Array) -> Bools:
        """Whether the expression is zero up to rounding between two steps and changes in this direction on both sides."""
        at_zero = self._near_zero(before, np.ones(len(before))) & self._near_zero(after, -np.ones(len(after)))
        return at_zero & (self._tendency(before, 1.0) == direction) & (self._tendency(after, -1.0) == direction)

    def _near_zero(self, step: Ints, s: Array) -> Bools:
        """Whether an impact there counts as one at zero, (k,): faces as near as this are hit together, not exactly at zero."""
        low, high = self.expression.bounds(*self._inputs(step, s), HIT_TOGETHER * self.noise[step])
        return ~((low > 0) | (high < 0))

    def _tendency(self, step: Ints, end: float) -> Array:
        """The sign of the rate at this end of each step (−1 or 1); 0 if it is rounding, or if a step ends with none.

        The rate is taken over a thousandth of the step. Between two events at almost one time, where that is rounding, it is
        taken over the whole step, along which the expression is then a straight line."""
        at = lambda s: self.values(step, np.full(len(step), s))
        at_begin, at_middle, at_end = at(-1.0), at(0.0), at(1.0)
        change = at(-0.999) - at_begin if end < 0 else at_end - at(0.999)
        low, high = self.expression.bounds(*self._inputs(step, np.full(len(step), end)), self.noise[step])
        rounding, total = (high - low) / 2, at_end - at_begin
        straight = (np.abs(at_begin - 2 * at_middle + at_end) <= STRAIGHT_STEP * np.abs(total)) & (np.abs(total) > rounding)
        transversal = (end < 0) | (np.abs(change) > TRANSVERSAL * self._largest(step))
        return np.where(np.abs(change) > rounding, np.sign(change) * transversal, np.sign(total) * straight)

    def _largest(self, step: Ints) -> Array:
        s = np.linspace(-1, 1, 9)
        g = np.abs(self.values(np.repeat(step, len(s)), np.tile(s, len(step))))
        return g.reshape(len(step), len(s)).max(axis=1, initial=0.0)

    def _narrowed(self, step: Ints, a: Array, b: Array, ga: Array, gb: Array) -> tuple[Array, Bools]:
        """Positions between a and b where the sign becomes that of g(b), by the Illinois method with every fourth step a
        bisection; and whether g jumps there. If g(a) is zero to rounding, the sign changes at a."""
        at_once = np.sign(ga) * np.sign(gb) >= 0
        largest = np.maximum(np.abs(ga), np.abs(gb))
        a, b, ga, gb = a.copy(), np.where(at_once, a, b), ga.copy(), gb.copy()
        sa, sb, g_a, g_b = ga.copy(), gb.copy(), ga.copy(), gb.copy()  # weights of the secant; values at a and b
        exact = np.zeros(len(step), dtype=bool)
        for k in range(100):
            open_ = b - a > 2 * np.spacing(1.0)
            if not open_.any():
                break
            with np.errstate(all="ignore"):
                x = (a + b) / 2 if k % 4 == 3 else (a * sb - b * sa) / (sb - sa)
            x = np.where(np.isfinite(x) & (x > a) & (x < b), x, (a + b) / 2)
            g = self.values(step, x)
            same_sign = np.sign(g) == np.sign(gb)
            up, down = open_ & same_sign, open_ & ~same_sign
            half = 1.0 if k % 4 == 3 else 0.5
            b, g_b = np.where(up, x, b), np.where(up, g, g_b)
            a, g_a = np.where(down, x, a), np.where(down, g, g_a)
            sa, sb = np.where(down, g, np.where(up, half * sa, sa)), np.where(up, g, np.where(down, half * sb, sb))
            zero = down & (g == 0)
            b, g_b, exact = np.where(zero, x, b), np.where(zero, 0.0, g_b), exact | zero
        jump = ~at_once & (np.maximum(np.abs(g_a), np.abs(g_b)) > JUMP_LEFT * largest)
        k, at = step[exact], b[exact]
        values_beside = (np.abs(self.values(k, np.clip(at + side * BESIDE_ZERO, -1.0, 1.0))) for side in (-1.0, 1.0))
        jump[exact] = np.maximum(*values_beside) > JUMP_LEFT * self._largest(k)
        return b, jump


# -- of motions -----------------------------------------------------------------------------------------------------------


def motion_zeros(
    motion: Motion, expression: Any, edges: Array, again: Callable[[Array], Motion] | None = None, before: Zeros | None = None
) -> Zeros:
    """The zeros of an expression between edges, times in the order of the run.

    again: times in that order → the motion there, `motion.at` by default. before: those of the motion that this one continues.
    """
    quantities = expression_along(motion.run.form, motion.system.in_velocities(expression))
    noise = NOISE_OF_STIFF * motion.tolerances.get("rtol", 0.0) if motion.method in STIFF else 0.0
    steps = dense_steps(edges, lambda times: numbers_of((again or motion.at)(times), quantities), noise)
    p = motion.run.p_at(steps.middle) if motion.readings is None else motion.readings.parameters_at(steps.middle)
    signs = () if before is None else (before.sign, before.reached)
    return zeros_along(quantities, steps, p, GAP_FLOOR * motion.tolerances.get("atol", 0.0), *signs)


def edges_of(motion: Motion) -> Array:
    """Times between which a motion is known to be smooth, in the order of the run: samples, impacts, changes of mode, breaks,
    readings of a control."""
    first, last = motion.span or (float(motion.t[0]), float(motion.t[-1]))
    sign = 1.0 if last >= first else -1.0
    changes = [time for time, _ in (*motion.contacts, *motion.modes)]
    sources = [motion.t, motion.events["time"], motion.breaks, np.array(changes, dtype=float)]
    sources += [motion.run.schedule.knots] if motion.run.schedule is not None else []
    sources += [getattr(motion.sampler, "t", np.zeros(0)), np.array([first, last])]
    times = np.unique(sign * np.concatenate(sources))
    return sign * times[(times >= sign * first) & (times <= sign * last)]


def numbers_of(motion: Motion, along: ExpressionAlong) -> Array:
    """The quantities on which an expression depends, (k, m)."""
    values = {"q": lambda: motion.q, "v": lambda: motion.v, "a": lambda: motion.acceleration}
    arrays = {name: values[name]() for name in {name for name, _ in along.columns}}
    return (
        np.stack([arrays[name][:, i] for name, i in along.columns], axis=1) if along.columns else np.zeros((len(motion.t), 0))
    )


__all__ = [
    "CROSSED",
    "JUMPED",
    "POLYNOMIAL_ROUNDING",
    "REBOUND",
    "ExpressionAlong",
    "Zeros",
    "edges_of",
    "expression_along",
    "motion_zeros",
    "numbers_of",
    "sign_before",
    "zeros_along",
]
