"""Unilateral constraints by events: SciPy's solve_ivp with terminal events, an impact map, restarts.

    free       M a = F                          until f_i = 0 with ḟ_i < 0
    impact     v⁺ = v⁻ − (1 + e) M⁻¹n (n·v⁻ + f_t)/(n·M⁻¹n),        n = ∂f/∂q, simultaneous ones one after another;
               a face in contact into which that would lead answers with an impulse of its own, ḟ⁺ = 0
    contact    M a = F + nᵀΛ, n a + γ = 0       until the least Λ is zero and falls, or another f_i = 0

Written without `appell.graph`, `appell.normal_form` and `appell.simulate`: M, F, n, f_t and γ are differentiated here with
SymPy and lambdified. Bilateral constraints are taken as rows at the acceleration level, without projection.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import sympy
from scipy.integrate import solve_ivp

time = sympy.Symbol("t", real=True)


def partial(expr, s):
    """∂/∂s, time included: SymPy's `diff` by time is along the motion where there are coordinates."""
    held = sympy.Dummy()
    return sympy.diff(expr.xreplace({s: held}), held).xreplace({held: s})

REST = 1e-7
"""ḟ below this (times the speed of the motion) at an impact is contact, not a bounce."""


@dataclass
class Impact:
    time: float
    face: int
    before: float
    after: float
    kind: str  # "impact", "landing", "leaving"


@dataclass
class Events:
    """Impacts in order, and the state (q, v) at the end of every piece: pieces[k] = (t, z, contacts from there on)."""

    impacts: list[Impact] = field(default_factory=list)
    pieces: list[tuple[float, np.ndarray, tuple[int, ...]]] = field(default_factory=list)
    solutions: list = field(default_factory=list)

    @property
    def times(self) -> np.ndarray:
        """Times of the impacts that reverse a velocity."""
        return np.array([i.time for i in self.impacts if i.kind == "impact"])

    def __call__(self, t: float) -> np.ndarray:
        """z = (q, v) at a time, after an impact at that time."""
        last = max((k for k, s in enumerate(self.solutions) if s.t_min <= t), default=0)
        return self.solutions[last](t)

    @property
    def end(self) -> np.ndarray:
        return self.pieces[-1][1]


class Mechanics:
    """M, F, the rows of faces (n, f_t, γ) and of bilateral constraints of a system with q̇ as velocities."""

    def __init__(self, system, parameters):
        q, v = list(system.coordinates), list(system.velocities)
        self.n = len(q)
        values = {s: sympy.Float(parameters[s]) for s in system.parameters}
        T, V = (sympy.sympify(e).xreplace(values) for e in (system.kinetic, system.potential))
        along = lambda e: partial(e, time) + sum(sympy.diff(e, x) * u for x, u in zip(q, v, strict=True))
        M = sympy.hessian(T, v)
        F = [
            Q.xreplace(values) + sympy.diff(T, x) - sympy.diff(V, x) - along(sympy.diff(T, u))
            for x, u, Q in zip(q, v, system.forces, strict=True)
        ]  # along() omits the accelerations: what is left of d/dt ∂T/∂q̇ without M a
        f = [sympy.sympify(face.function).xreplace(values) for face in system.unilateral]
        rate = [along(e) for e in f]
        n = [[sympy.diff(e, x) for x in q] for e in f]
        gamma = [along(e) for e in rate]
        rows, free = self._bilateral(system, values, along, v)
        make = lambda e: sympy.lambdify([time, q, v], e, "numpy", cse=True)
        self._M, self._F, self._f, self._rate = make(M), make(F), make(f), make(rate)
        self._n, self._gamma, self._rows, self._free = make(n), make(gamma), make(rows), make(free)
        self.e = [float(sympy.sympify(face.restitution).xreplace(values)) for face in system.unilateral]
        self.faces, self.bilateral = len(f), len(rows)

    @staticmethod
    def _bilateral(system, values, along, v):
        """A and a0 of A a + a0 = 0 for constraints of order 0 and 1."""
        rows, free = [], []
        for c, r in zip(system.constraints, system.residuals, strict=True):
            r = r.xreplace(values)
            assert c.order < 2, "second-order constraints have no impacts here"
            r = along(r) if c.order == 0 else r
            rows.append([sympy.diff(r, u) for u in v])
            free.append(along(r))
        return rows, free

    def f(self, t, z):
        return np.array(self._f(t, z[: self.n], z[self.n :]), float)

    def rate(self, t, z):
        return np.array(self._rate(t, z[: self.n], z[self.n :]), float)

    def M(self, t, z):
        return np.array(self._M(t, z[: self.n], z[self.n :]), float)

    def normals(self, t, z):
        return np.array(self._n(t, z[: self.n], z[self.n :]), float).reshape(self.faces, self.n)

    def rows(self, t, z, contacts):
        """A and −a0 of bilateral rows and of the faces in contact."""
        q, v = z[: self.n], z[self.n :]
        A = np.array(self._rows(t, q, v), float).reshape(self.bilateral, self.n)
        a0 = np.array(self._free(t, q, v), float)
        k = list(contacts)
        return np.vstack([A, self.normals(t, z)[k]]), -np.concatenate([a0, np.array(self._gamma(t, q, v), float)[k]])

    def acceleration(self, t, z, contacts=()):
        """(a, Λ of the contacts)."""
        M, F = self.M(t, z), np.array(self._F(t, z[: self.n], z[self.n :]), float)
        A, s = self.rows(t, z, contacts)
        m = len(A)
        K = np.block([[M, -A.T], [A, np.zeros((m, m))]])
        x = np.linalg.solve(K, np.concatenate([F, s]))
        return x[: self.n], x[self.n + self.bilateral :]

    def second(self, t, z, contacts=()):
        """f̈ of every face."""
        a, _ = self.acceleration(t, z, contacts)
        return self.normals(t, z) @ a + np.array(self._gamma(t, z[: self.n], z[self.n :]), float)

    def impact(self, t, z, i, held=()):
        """The impact map of face i; bilateral rows and the faces held answer with impulses of their own."""
        A = self.rows(t, z, ())[0]
        B = np.vstack([A, self.normals(t, z)[list(held)], self.normals(t, z)[i]])
        K = np.block([[self.M(t, z), -B.T], [B, np.zeros((len(B), len(B)))]])
        jump = np.zeros(self.n + len(B))
        jump[-1] = -(1 + self.e[i]) * self.rate(t, z)[i]
        return np.concatenate([z[: self.n], z[self.n :] + np.linalg.solve(K, jump)[: self.n]])


def simulate_events(
    system, start, until, parameters, rtol=1e-11, atol=1e-13, since=0.0, most=100_000, max_step=0.05
) -> Events:
    """The motion by events. `start` maps coordinates and velocities to values, what is not named is 0.

    A dip below zero and back within one step is not seen: `max_step` bounds the step.
    """
    mech, record = Mechanics(system, parameters), Events()
    z = np.array([float(start.get(s, 0.0)) for s in (*system.coordinates, *system.velocities)])
    contacts, z = _settle(mech, float(since), z, (), record)
    now = _Now(float(since), z, contacts, {})
    for _ in range(most):
        done = _piece(mech, now, until, record, {"rtol": rtol, "atol": atol, "max_step": max_step})
        record.pieces.append((now.t, now.z.copy(), now.contacts))
        if done:
            return record
    raise RuntimeError(f"more than {most} events before {until}; at {now.t}")


@dataclass
class _Now:
    """The state between pieces; `quiet` maps a face just left to the time until which it cannot be reached again."""

    t: float
    z: np.ndarray
    contacts: tuple[int, ...]
    quiet: dict[int, float]


def _piece(mech, now, until, record, options):
    """Integrate to the next event or the end, and apply the event."""
    now.quiet = {i: end for i, end in now.quiet.items() if end > now.t}
    stop = min([until, *now.quiet.values()])
    free = [i for i in range(mech.faces) if i not in now.contacts and i not in now.quiet]
    contacts = now.contacts

    def right(t, z):
        return np.concatenate([z[mech.n :], mech.acceleration(t, z, contacts)[0]])

    events = [_event(lambda t, z, i=i: mech.f(t, z)[i]) for i in free]
    events += [_event(lambda t, z, k=k: mech.acceleration(t, z, contacts)[1][k]) for k in range(len(contacts))]
    sol = solve_ivp(right, (now.t, stop), now.z, "DOP853", events=events, dense_output=True, **options)
    assert sol.success, sol.message
    record.solutions.append(sol.sol)
    now.t, now.z = float(sol.t[-1]), sol.y[:, -1].copy()
    hit = [k for k, times in enumerate(sol.t_events or []) if len(times)]
    if not hit:
        return stop == until
    now.z = sol.y_events[hit[0]][-1].copy()
    if hit[0] < len(free):
        _bounce(mech, now, free[hit[0]], record, options["max_step"])
    else:
        left = contacts[hit[0] - len(free)]
        now.contacts = tuple(i for i in contacts if i != left)
        now.quiet[left] = now.t + 1e-3  # f starts like τ³: rounding must not look like a return
        record.impacts.append(Impact(now.t, left, 0.0, 0.0, "leaving"))
    return now.t >= until


def _event(fn):
    """A terminal event on a falling zero."""
    fn.terminal, fn.direction = True, -1
    return fn


def _bounce(mech, now, i, record, longest):
    """The impact map, then contact or flight; a flight of f̈ < 0 lasts about 2 ḟ/|f̈|, and for a quarter of it f > 0."""
    assert len(now.contacts) < 2, "two contacts at an impact: not the business of this reference"
    before = float(mech.rate(now.t, now.z)[i])
    alone = mech.impact(now.t, now.z, i)
    pushed = tuple(j for j in now.contacts if mech.rate(now.t, alone)[j] < 0)
    now.z = mech.impact(now.t, now.z, i, pushed) if pushed else alone
    after = float(mech.rate(now.t, now.z)[i])
    record.impacts.append(Impact(now.t, i, before, after, "impact"))
    speed = 1 + np.abs(now.z[mech.n :]).max()
    now.contacts = tuple(k for k in now.contacts if mech.rate(now.t, now.z)[k] <= REST * speed)
    if now.contacts and mech.acceleration(now.t, now.z, now.contacts)[1][0] <= 0:  # it does not press any more
        now.quiet[now.contacts[0]] = now.t + 1e-3
        now.contacts = ()
    now.contacts, now.z = _settle(mech, now.t, now.z, now.contacts, record)
    second = mech.second(now.t, now.z, now.contacts)[i]
    if i not in now.contacts and second < 0:
        now.quiet[i] = now.t + min(after / (2 * abs(second)), longest)


def _settle(mech, t, z, contacts, record):
    """Faces with f = 0 and ḟ = 0 that press become contacts; those that pull are left alone. ḟ is made zero exactly."""
    speed = 1 + np.abs(z[mech.n :]).max()
    for i in range(mech.faces):
        f, rate = mech.f(t, z)[i], mech.rate(t, z)[i]
        if i in contacts or abs(f) > 1e-9 or abs(rate) > REST * speed:
            continue
        _, lam = mech.acceleration(t, z, (*contacts, i))
        if lam[-1] <= 0:
            continue
        contacts = (*contacts, i)
        M, n = mech.M(t, z), mech.normals(t, z)[i]
        Kn = np.linalg.solve(M, n)
        z[mech.n :] -= Kn * rate / (n @ Kn)
        record.impacts.append(Impact(t, i, float(rate), 0.0, "landing"))
    return contacts, z
