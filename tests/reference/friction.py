"""Plane mechanisms with dry friction, from event to event with SciPy.

Written from the equations; nothing of appell is used. A mechanism is said in SymPy symbols,

    M a = b + Σ_j f_jᵀ λ_j + Σ_i n_iᵀ Λ_i + D_iᵀ τ_i      n_i a + ν_i = g̈_i,   D_i a + δ_i = ṡ_i,   joints f̈_j = 0

    open    Λ = τ = 0,  g >= 0              stick  g̈ = 0, ṡ = 0, Λ >= 0, |τ| <= μΛ         slip  g̈ = 0, τ = −μΛ u, u = sign s

with Λ of either sign and μ|Λ| where the normal is two-sided. `EventDriven` integrates one mode with DOP853 (rtol 1e-12), finds
the guards' zeros by brentq on its dense output, and enumerates all modes at an event. `tests/reference/moreau.py` solves the
impulses of steps of fixed length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import linprog

Array = NDArray[np.float64]
TIME = sympy.Symbol("t")


@dataclass(frozen=True)
class Contact:
    """gap >= 0 (or = 0 where two-sided), slip s(t, q, v), coefficient of friction and restitution, numbers or symbols."""

    gap: Any
    slip: Any
    mu: Any
    e: Any = 0.0
    two_sided: bool = False


@dataclass(frozen=True)
class Mechanism:
    """T(q, v), V(q), forces Q(t, q, v) and joints f(t, q) = 0 in plain SymPy symbols; `values` of those that are parameters."""

    q: tuple[Any, ...]
    v: tuple[Any, ...]
    T: Any
    V: Any
    Q: tuple[Any, ...]
    contacts: tuple[Contact, ...]
    joints: tuple[Any, ...] = ()
    start: tuple[float, ...] = field(default=(), compare=False)  # q, v
    values: dict[Any, float] = field(default_factory=dict, compare=False)

    def value(self, e: Any) -> float:
        """A number, or the value of a parameter."""
        return float(sympy.sympify(e).xreplace(self.values))

    @cached_property
    def numbers(self) -> Callable[[float, Array, Array], Numbers]:
        """(t, q, v) → everything in numbers."""
        fn, p = _lambdified(self), list(self.values.values())
        shape = (len(self.joints) + 2 * len(self.contacts), len(self.v))

        def numbers(t: float, q: Array, v: Array) -> Numbers:
            M, b, gaps, speeds, rows, bends = (np.array(x, dtype=float) for x in fn(t, [*q, *v], p))
            return Numbers(M, b, gaps, speeds, rows.reshape(shape), bends)

        return numbers


@lru_cache(maxsize=64)
def _lambdified(m: Mechanism) -> Callable[..., Any]:
    """Equal for mechanisms that differ in their values alone."""
    q, v = m.q, m.v
    along = lambda f: sum((sympy.diff(f, x) * y for x, y in zip(q, v, strict=True)), sympy.diff(f, TIME))
    momenta = [sympy.diff(m.T, y) for y in v]
    M = [[sympy.diff(p, y) for y in v] for p in momenta]
    b = [Q - sympy.diff(m.V, x) + sympy.diff(m.T, x) - along(p) for Q, x, p in zip(m.Q, q, momenta, strict=True)]
    gaps = [*m.joints, *(c.gap for c in m.contacts)]
    speeds = [*(along(g) for g in gaps), *(c.slip for c in m.contacts)]
    rows = [[sympy.diff(s, y) for y in v] for s in speeds]
    bends = [along(s) for s in speeds]
    return sympy.lambdify([TIME, [*q, *v], list(m.values)], [M, b, gaps, speeds, rows, bends], "numpy", cse=True)


class Numbers(NamedTuple):
    """M, b, gaps (joints, contacts), speeds (rates of gaps, slips), their rows and free accelerations."""

    M: Array
    b: Array
    gaps: Array
    speeds: Array
    rows: Array
    bends: Array


class State(NamedTuple):
    """Of one contact: closed?, direction of slip (0: sticks), sign of Λ."""

    closed: bool
    u: int = 0
    sign: int = 1


Mode = tuple[State, ...]
OPEN = State(False)


class Ambiguous(Exception):
    """No mode, or several with different accelerations."""


class Event(NamedTuple):
    time: float
    contact: int
    kind: str


class Solved(NamedTuple):
    """Accelerations, Λ and τ of the contacts, g̈ and ṡ."""

    a: Array
    normal: Array
    tangent: Array
    gap_dd: Array
    slip_d: Array


class EventDriven:
    """The motion of a mechanism from one event to the next; a guard that dips below zero inside one `max_step` is missed."""

    def __init__(self, mechanism: Mechanism, rtol: float = 1e-12, max_step: float = 0.005):
        self.m, self.rtol, self.max_step = mechanism, rtol, max_step
        self.n, self.j, self.k = len(mechanism.q), len(mechanism.joints), len(mechanism.contacts)
        self.mu = np.array([mechanism.value(c.mu) for c in mechanism.contacts])
        self.e = np.array([mechanism.value(c.e) for c in mechanism.contacts])
        self.events: list[Event] = []
        self.modes: list[tuple[float, Mode]] = []
        self._last: tuple[Any, Array] = (None, np.zeros((0, 2)))

    # -- one mode ------------------------------------------------------------------------------------------------------

    def at(self, t: float, z: Array) -> Numbers:
        return self.m.numbers(t, z[: self.n], z[self.n :])

    def columns(self, x: Numbers, mode: Mode) -> tuple[list[int], Array]:
        """Rows that hold, and the direction of the force of each."""
        rows = list(range(self.j))
        columns = [x.rows[i] for i in rows]
        for i, one in enumerate(mode):
            if one.closed:
                n, D = x.rows[self.j + i], x.rows[self.j + self.k + i]
                rows.append(self.j + i)
                columns.append(n - one.sign * one.u * self.mu[i] * D)
        for i, one in enumerate(mode):
            if one.closed and one.u == 0:
                rows.append(self.j + self.k + i)
                columns.append(x.rows[self.j + self.k + i])
        return rows, np.array(columns).reshape(len(rows), self.n).T

    def solve(self, x: Numbers, mode: Mode) -> Solved:
        """a and the reactions; those of least norm where they are not unique."""
        rows, W = self.columns(x, mode)
        r = len(rows)
        K = np.block([[x.M, -W], [x.rows[rows], np.zeros((r, r))]])
        right = np.concatenate([x.b, -x.bends[rows]])
        try:
            y = np.linalg.solve(K, right)
            if not np.abs(K @ y - right).max() < 1e-7 * (1 + np.abs(right).max()) or np.linalg.cond(K) > 1e11:
                raise np.linalg.LinAlgError
        except np.linalg.LinAlgError:
            y = np.linalg.lstsq(K, right, rcond=1e-11)[0]
            if np.abs(K @ y - right).max() > 1e-7 * (1 + np.abs(right).max()):
                raise Ambiguous("rows contradict each other") from None
        a, force = y[: self.n], dict(zip(rows, y[self.n :], strict=True))
        normal = np.array([force.get(self.j + i, 0.0) for i in range(self.k)])
        slide = np.array([-one.sign * one.u * self.mu[i] if one.closed else 0.0 for i, one in enumerate(mode)])
        tangent = np.array([force.get(self.j + self.k + i, 0.0) for i in range(self.k)]) + slide * normal
        moved = x.rows @ a + x.bends
        return Solved(a, normal, tangent, moved[self.j : self.j + self.k], moved[self.j + self.k :])

    def margin(self, x: Numbers, mode: Mode) -> float | None:
        """How far reactions that are not unique can be inside the cones, by a linear programme; None where they are unique."""
        rows, W = self.columns(x, mode)
        if len(rows) == 0 or np.linalg.matrix_rank(W, tol=1e-9) == W.shape[1]:
            return None
        a = self.solve(x, mode).a
        lead = len(rows)
        A_ub, b_ub = [], []
        for i, one in enumerate(mode):
            if not one.closed:
                continue
            N = rows.index(self.j + i)
            if not self.m.contacts[i].two_sided:
                A_ub.append(_row(lead, {N: -1.0, lead: 1.0}))
                b_ub.append(0.0)
            if one.u == 0:
                T = rows.index(self.j + self.k + i)
                for sign in (1.0, -1.0):
                    A_ub.append(_row(lead, {T: sign, N: -one.sign * self.mu[i], lead: 1.0}))
                    b_ub.append(0.0)
        cost = _row(lead, {lead: -1.0})
        A_eq = np.hstack([W, np.zeros((self.n, 1))])
        found = linprog(cost, A_ub, b_ub, A_eq, x.M @ a - x.b, bounds=[(None, None)] * lead + [(None, 1e3)])
        return float(found.x[lead]) if found.status == 0 else -np.inf

    def guards(self, t: float, z: Array, mode: Mode) -> Array:
        """Each falls through zero where the mode ends, (k, 2); remembered, since SciPy asks for them one by one."""
        key = (t, z.tobytes(), mode)
        if self._last[0] != key:
            self._last = key, self._guards(t, z, mode)
        return self._last[1]

    def _guards(self, t: float, z: Array, mode: Mode) -> Array:
        x = self.at(t, z)
        s = self.solve(x, mode)
        spread = self.margin(x, mode)
        out = np.ones((self.k, 2))
        for i, one in enumerate(mode):
            if not one.closed:
                out[i, 0] = x.gaps[self.j + i]
                continue
            held = spread is not None
            if not self.m.contacts[i].two_sided:
                out[i, 0] = spread if held else s.normal[i]
            elif one.u or self.mu[i]:
                out[i, 0] = one.sign * s.normal[i]
            if one.u:
                out[i, 1] = one.u * x.speeds[self.j + self.k + i]
            else:
                out[i, 1] = spread if held else self.mu[i] * one.sign * s.normal[i] - abs(s.tangent[i])
        return out

    # -- from one mode to the next -------------------------------------------------------------------------------------

    def consistent(self, x: Numbers, mode: Mode, resting: Sequence[bool], size: float) -> bool:
        try:
            s = self.solve(x, mode)
            spread = self.margin(x, mode)
        except Ambiguous:
            return False
        if spread is not None and spread < -1e-8 * size:
            return False
        for i, one in enumerate(mode):
            two_sided = self.m.contacts[i].two_sided
            if not one.closed:
                if x.gaps[self.j + i] < 1e-8 and abs(x.speeds[self.j + i]) < 1e-8 and s.gap_dd[i] < -1e-8 * size:
                    return False
                continue
            if spread is None:
                N = s.normal[i]
                if (one.sign * N if two_sided else N) < -1e-8 * size:
                    return False
                if one.u == 0 and abs(s.tangent[i]) > self.mu[i] * one.sign * N + 1e-8 * size:
                    return False
            if one.u and resting[i] and one.u * s.slip_d[i] < -1e-8 * size:
                return False
        return True

    def options(self, t: float, z: Array, sticking: Sequence[bool]) -> Iterator[list[State]]:
        x = self.at(t, z)
        for i, c in enumerate(self.m.contacts):
            signs = (1, -1) if c.two_sided else (1,)
            touches = c.two_sided or (x.gaps[self.j + i] < 1e-8 and x.speeds[self.j + i] < 1e-8)
            slides = (0, 1, -1) if sticking[i] else (int(np.sign(x.speeds[self.j + self.k + i])),)
            closed = [State(True, u, sign) for u in slides for sign in signs]
            yield ([] if c.two_sided else [OPEN]) if not touches else closed + ([] if c.two_sided else [OPEN])

    def choose(self, t: float, z: Array, sticking: Sequence[bool], before: Mode | None) -> Mode:
        x = self.at(t, z)
        size = 1 + np.abs(x.b).max()
        found = [m for m in product(*self.options(t, z, sticking)) if self.consistent(x, m, sticking, size)]
        for h in (1e-3, 1e-4, 1e-5, 1e-6):  # the mode that follows may itself end soon: a shorter time then tells
            if len(found) > 1 and (later := [m for m in found if self.stays(t, z, m, size, h)]):
                found = later
                break
        if not found:
            raise Ambiguous(f"no mode at t = {t}")
        held = lambda m: (sum(one.closed for one in m), sum(one.u == 0 for one in m if one.closed), m == before)
        first = max(found, key=held)
        a = self.solve(x, first).a
        for m in found:
            if np.abs(self.solve(x, m).a - a).max() > 1e-6 * (1 + np.abs(a).max()):
                raise Ambiguous(f"several modes at t = {t}: {found}")
        return first

    def stays(self, t: float, z: Array, mode: Mode, size: float, h: float) -> bool:
        """Whether the mode is consistent a time h later."""
        f = lambda s, y: self.slope(s, y, mode)
        try:
            k1 = f(t, z)
            k2 = f(t + h / 2, z + h / 2 * k1)
            k3 = f(t + h / 2, z + h / 2 * k2)
            k4 = f(t + h, z + h * k3)
            later = self.guards(t + h, z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), mode)
        except Ambiguous:
            return False
        force = np.array([[one.closed, one.closed and one.u == 0] for one in mode])
        return bool((later >= np.where(force, -1e-8 * size, -1e-12)).all())

    def slope(self, t: float, z: Array, mode: Mode) -> Array:
        return np.concatenate([z[self.n :], self.solve(self.at(t, z), mode).a])

    def tidied(self, t: float, z: Array, mode: Mode) -> Array:
        """Speeds that are zero in this mode, exactly; gaps by one Newton step."""
        rows, _ = self.columns(self.at(t, z), mode)
        held = [r for r in rows if r < self.j + self.k]
        for wanted in ("gap", "speed"):
            x = self.at(t, z)
            chosen = held if wanted == "gap" else rows
            if not chosen:
                continue
            left = x.gaps[chosen] if wanted == "gap" else x.speeds[chosen]
            J = x.rows[chosen]
            step = np.linalg.solve(x.M, J.T) @ np.linalg.lstsq(J @ np.linalg.solve(x.M, J.T), -left, rcond=1e-12)[0]
            z = z.copy()
            z[: self.n] += step if wanted == "gap" else 0
            z[self.n :] += 0 if wanted == "gap" else step
        return z

    def impact(self, t: float, z: Array, hits: Sequence[int]) -> Array:
        """Newton's restitution on the contacts hit, Coulomb's law for the impulses, others at rest hold or let go."""
        x = self.at(t, z)
        near = [i for i in range(self.k) if self.m.contacts[i].two_sided or x.gaps[self.j + i] < 1e-8]
        found = []
        for choice in product(*([*((1, u) for u in (0, 1, -1)), (0, 0)] for _ in near)):
            mode = [OPEN] * self.k
            for i, (on, u) in zip(near, choice, strict=True):
                mode[i] = State(bool(on), u)
            if any(not mode[i].closed for i in hits):
                continue
            rows, W = self.columns(x, tuple(mode))
            want = np.array([-self.rest(x, r, hits) - x.speeds[r] for r in rows])
            G = x.rows[rows] @ np.linalg.solve(x.M, W)
            if np.linalg.matrix_rank(G, tol=1e-10) < len(rows):
                continue
            P = np.linalg.solve(G, want)
            v = z[self.n :] + np.linalg.solve(x.M, W @ P)
            impulse = dict(zip(rows, P, strict=True))
            after = self.at(t, np.concatenate([z[: self.n], v]))
            if self.fits(impulse, after, mode, near):
                found.append((sum(one.closed and one.u == 0 for one in mode), v))
        if not found:
            raise Ambiguous(f"no impact at t = {t}")
        best = max(found, key=lambda pair: pair[0])[1]
        if any(np.abs(v - best).max() > 1e-8 * (1 + np.abs(best).max()) for _, v in found):
            raise Ambiguous(f"several impacts at t = {t}")
        return np.concatenate([z[: self.n], best])

    def rest(self, x: Numbers, row: int, hits: Sequence[int]) -> float:
        """e ġ⁻ of a row that is hit, else 0: the speed after it is minus that."""
        i = row - self.j
        return self.e[i] * x.speeds[row] if 0 <= i < self.k and i in hits else 0.0

    def fits(self, impulse: dict[int, float], after: Numbers, mode: Sequence[State], near: Sequence[int]) -> bool:
        for i in near:
            one, N = mode[i], impulse.get(self.j + i, 0.0)
            slip = after.speeds[self.j + self.k + i]
            if not one.closed and after.speeds[self.j + i] < -1e-10:
                return False
            if one.closed and N < -1e-10:
                return False
            if one.closed and one.u == 0 and abs(impulse[self.j + self.k + i]) > self.mu[i] * N + 1e-10:
                return False
            if one.closed and one.u and one.u * slip < -1e-10:
                return False
        return True

    # -- the whole motion ----------------------------------------------------------------------------------------------

    def run(self, until: float, times: Sequence[float] = (), most: int = 200) -> Array:
        """States at the times, (k, 2n); the last one is that at `until`."""
        t, z = 0.0, np.array(self.m.start, dtype=float)
        wanted, kept = [*times, until], []
        rest = self.resting(t, z)
        mode = self.choose(t, z, rest, None)
        self.modes.append((t, mode))
        for _ in range(most):
            z = self.tidied(t, z, mode)
            check = [self._event(mode, i, j, t, z) for i in range(self.k) for j in range(2)]
            path = solve_ivp(
                lambda s, y, mode=mode: self.slope(s, y, mode), (t, until), z, "DOP853", rtol=self.rtol, atol=1e-13,
                dense_output=True, events=check, max_step=self.max_step,
            )  # fmt: skip
            while len(kept) < len(wanted) and wanted[len(kept)] <= path.t[-1]:
                kept.append(path.sol(wanted[len(kept)]))
            t, z = float(path.t[-1]), path.y[:, -1]
            if path.status == 0:
                break
            which = [(n // 2, n % 2) for n, hit in enumerate(path.t_events) if len(hit)]
            t, z, mode = self._pass(t, z, mode, which)
        else:
            raise Ambiguous(f"more than {most} events, at t = {t}")
        return np.array(kept)

    def _event(self, mode: Mode, i: int, j: int, t0: float, z0: Array) -> Callable[[float, Array], float]:
        """The guard; one that starts at zero and rises is divided by t − t0, which has the same zeros but that one."""
        one, x = mode[i], self.at(t0, z0)
        rise = x.speeds[self.j + i] if not one.closed else one.u * self.solve(x, mode).slip_d[i]
        moving = j == 0 if not one.closed else j == 1 and one.u != 0
        if moving and abs(self.guards(t0, z0, mode)[i, j]) < 1e-12 and rise > 1e-9:
            guard = lambda t, z: float(self.guards(t, z, mode)[i, j] / (t - t0) if t > t0 else rise)
        else:
            guard = lambda t, z: float(self.guards(t, z, mode)[i, j])
        guard.terminal, guard.direction = True, -1  # type: ignore[attr-defined]
        return guard

    def _pass(self, t: float, z: Array, mode: Mode, which: list[tuple[int, int]]) -> tuple[float, Array, Mode]:
        x = self.at(t, z)
        hits = [i for i, j in which if j == 0 and not mode[i].closed and x.speeds[self.j + i] < -1e-9]
        for i, j in which:
            kind = "hit" if i in hits else "leave" if j == 0 else "stop" if mode[i].u else "break"
            self.events.append(Event(t, i, kind))
        if hits:
            z = self.impact(t, z, hits)
        stopped = {i for i, j in which if j == 1} | {i for i, one in enumerate(mode) if one.closed and one.u == 0 and not hits}
        rest = [i in stopped or still for i, still in enumerate(self.resting(t, z))]
        chosen = self.choose(t, z, rest, mode)
        self.modes.append((t, chosen))
        return t, z, chosen

    def resting(self, t: float, z: Array) -> list[bool]:
        x = self.at(t, z)
        return [bool(abs(x.speeds[self.j + self.k + i]) < 1e-9) for i in range(self.k)]


def _row(lead: int, entries: dict[int, float]) -> Array:
    row = np.zeros(lead + 1)
    for i, value in entries.items():
        row[i] += value
    return row
