"""A rigid body whose corners meet fixed planes, by events: contact on contact, written with NumPy and SciPy alone.

    flight     v̇ = M⁻¹(F + Σ n_j Λ_j),  0 <= Λ ⟂ g̈ >= 0 on the faces at rest          (all sets tried, one that holds is taken)
    blow       on the face i that is met: ġ_i⁺ = −e_i ġ_i⁻,  0 <= P ⟂ ġ⁺ >= 0 on those at rest
    together   on faces that are met at one instant, where the order of blows matters: 0 <= P ⟂ ġ⁺ + e ġ⁻ >= 0, e = 0 at rest
    rest       a face whose rate after a blow is below `slow` rests from then on

A face is a corner and a plane: g = n·(r + R s) − d. `Planar` has z = (x, y, φ, ẋ, ẏ, φ̇), `Spatial` z = (r, unit quaternion
w x y z, ṙ, ω in the body). Nothing is shared with the library: no graph, no projection, distances by the rotation itself,
events by samples of SciPy's dense output and Brent's method.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, permutations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq


class GaveUp(RuntimeError):
    """So many events before the end that they are not followed one by one."""


@dataclass
class Planar:
    """m, J, corners (k, 2) in the body, planes (normal (2,), d), a force (2,), restitutions (planes,)."""

    mass: float
    inertia: float
    corners: np.ndarray
    planes: list
    force: np.ndarray
    restitution: list

    nq, nv = 3, 3

    def __post_init__(self):
        self.faces = [(s, np.asarray(n, float), d, e) for (n, d), e in zip(self.planes, self.restitution, strict=True)
                      for s in np.atleast_2d(self.corners)]
        self.e = np.array([face[3] for face in self.faces])
        self.M = np.diag([self.mass, self.mass, self.inertia])

    def forces(self, z):
        return np.array([*self.force, 0.0])

    def qd(self, z):
        return z[3:]

    def rows(self, z):
        """g, normals (faces, 3), g̈ without accelerations."""
        c, s, w = np.cos(z[2]), np.sin(z[2]), z[5]
        R, dR = np.array([[c, -s], [s, c]]), np.array([[-s, -c], [c, -s]])
        g = [n @ (z[:2] + R @ r) - d for r, n, d, _ in self.faces]
        N = [[*n, n @ dR @ r] for r, n, _, _ in self.faces]
        return np.array(g), np.array(N), np.array([-w * w * (n @ R @ r) for r, n, _, _ in self.faces])


@dataclass
class Spatial:
    """The same in space: principal inertias (3,), corners (k, 3)."""

    mass: float
    inertia: np.ndarray
    corners: np.ndarray
    planes: list
    force: np.ndarray
    restitution: list

    nq, nv = 7, 6

    def __post_init__(self):
        self.faces = [(s, np.asarray(n, float), d, e) for (n, d), e in zip(self.planes, self.restitution, strict=True)
                      for s in np.atleast_2d(self.corners)]
        self.e = np.array([face[3] for face in self.faces])
        self.M = np.diag([self.mass] * 3 + list(self.inertia))

    def forces(self, z):
        J, w = np.asarray(self.inertia), z[10:]
        return np.concatenate([self.force, -np.cross(w, J * w)])

    def qd(self, z):
        a, b, c, d = z[3:7]
        N = 0.5 * np.array([[-b, -c, -d], [a, -d, c], [d, a, -b], [-c, b, a]])
        return np.concatenate([z[7:10], N @ z[10:]])

    def rows(self, z):
        a, b, c, d = z[3:7] / np.linalg.norm(z[3:7])
        R = np.array([
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d],
        ])
        w = z[10:]
        g = [n @ (z[:3] + R @ s) - d for s, n, d, _ in self.faces]
        N = [np.concatenate([n, np.cross(s, R.T @ n)]) for s, n, _, _ in self.faces]
        return np.array(g), np.array(N), np.array([n @ R @ np.cross(w, np.cross(w, s)) for s, n, _, _ in self.faces])


@dataclass
class Record:
    """Blows (time, face, rate before, rate after), contacts from a time on, and solutions of the pieces."""

    blows: list = field(default_factory=list)
    contacts: list = field(default_factory=list)
    pieces: list = field(default_factory=list)
    z: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def __call__(self, t):
        """z at a time, after a blow at that time."""
        k = max((k for k, s in enumerate(self.pieces) if s.t_min <= t), default=0)
        return self.pieces[k](t)


def _smallest_set(G, c, small):
    """Λ of 0 <= Λ ⟂ G Λ + c >= 0 by trying all sets, small ones first."""
    for size in range(len(c) + 1):
        for held in combinations(range(len(c)), size):
            h = list(held)
            lam = np.zeros(len(c))
            if h:
                block = G[np.ix_(h, h)]
                if np.linalg.matrix_rank(block, tol=1e-10 * np.trace(block)) < size:
                    continue  # redundant: a smaller set holds the same
                lam[h] = np.linalg.solve(block, -c[h])
            if (lam >= -1e-12 * (1 + np.abs(lam).max(initial=0))).all() and (G @ lam + c >= -small).all():
                return lam
    raise RuntimeError("no set of faces holds")


def _blow(body, z, i, resting, e):
    """The velocities after a blow on one face while resting on others, by trying all sets of those that press."""
    _, N, _ = body.rows(z)
    K, v = np.linalg.inv(body.M), z[body.nq :]
    rate = N @ v
    for size in range(len(resting) + 1):
        for held in combinations(resting, size):
            rows = N[[i, *held]]
            G = rows @ K @ rows.T
            if np.linalg.matrix_rank(G, tol=1e-10 * np.trace(G)) < len(G):
                continue
            P = np.linalg.solve(G, np.array([-(1 + e) * rate[i], *(-rate[j] for j in held)]))
            after = rate + N @ K @ rows.T @ P
            if (P[1:] >= 0).all() and all(after[j] >= -1e-12 * abs(rate[i]) for j in resting):
                return np.concatenate([z[: body.nq], v + K @ rows.T @ P])
    raise RuntimeError("no impulses hold")


def _one_by_one(body, z, order, resting, slow):
    """The state after blows on the faces of an order, always on the first that is approached, until none is."""
    for _ in range(200):
        rate = body.rows(z)[1] @ z[body.nq :]
        i = next((j for j in order if rate[j] < -slow), None)
        if i is None:
            return z
        z = _blow(body, z, i, resting, body.e[i])
    return z


def _strike(body, z, met, resting, slow):
    """The state after the faces `met` are hit at one instant: in any order where that makes no difference, else together."""
    if len(met) == 1:
        return _blow(body, z, met[0], resting, body.e[met[0]])
    ends = [_one_by_one(body, z, order, resting, slow) for order in permutations(met)]
    if all(np.abs(end - ends[0]).max() < 1e-6 for end in ends):
        return ends[0]
    faces = [*met, *resting]
    _, N, _ = body.rows(z)
    K, v = np.linalg.inv(body.M), z[body.nq :]
    rates = N[faces] @ v
    e = np.array([*body.e[met], *np.zeros(len(resting))])
    P = _smallest_set(N[faces] @ K @ N[faces].T, (1 + e) * rates, 1e-10 * np.abs(rates).max())
    return np.concatenate([z[: body.nq], v + K @ N[faces].T @ P])


def _contacts(body, z, resting):
    """Of the faces at rest, those that press, and others that stay at rest with them and have independent normals."""
    _, N, second = body.rows(z)
    K = np.linalg.inv(body.M)
    free = N @ K @ body.forces(z) + second
    r, small = list(resting), 1e-9 * (1 + np.abs(free).max())
    lam = _smallest_set(N[r] @ K @ N[r].T, free[r], small)
    held = [j for j, x in zip(r, lam, strict=True) if x > 1e-9 * (1 + np.abs(lam).max())]
    bend = free[r] + N[r] @ K @ N[r].T @ lam
    for j, x in zip(r, bend, strict=True):
        if j not in held and held and abs(x) <= small and not _depends(body, N, held, j):
            held.append(j)
    return sorted(held)


def _depends(body, N, held, j):
    """Whether the normal of a face is a combination of those of others, in the kinetic metric."""
    rows = N[[*held, j]]
    G = rows @ np.linalg.inv(body.M) @ rows.T
    return np.linalg.matrix_rank(G, tol=1e-10 * np.trace(G)) < len(G)


def _accelerations(body, z, held):
    _, N, second = body.rows(z)
    K = np.linalg.inv(body.M)
    a = K @ body.forces(z)
    if not held:
        return a, np.zeros(0)
    rows = N[held]
    lam = np.linalg.solve(rows @ K @ rows.T, -(rows @ a + second[held]))
    return a + K @ rows.T @ lam, lam


def fall(body, z, until, *, slow=3e-7, on=1e-9, tolerance=1e-11, most=4000, max_step=0.02):
    """The motion from z to a time; `slow`: the rate, m/s, below which a face that is met rests; `on`: a distance of none, m."""
    record, t, z = Record(), 0.0, np.array(z, float)
    held, quiet = [], {}
    z, held = _meet(body, z, held, record, t, slow, on, quiet)
    for _ in range(most):
        record.contacts.append((t, tuple(held)))
        t, z, event = _piece(body, t, z, until, held, quiet, record, tolerance, max_step)
        if event is None:
            record.z = z
            return record
        kind, face = event
        quiet = {}
        if kind == "leave":
            held = [j for j in held if j != face]
            held = _again(body, z, held, face)
            quiet = {face: t + 1e-4}
        else:
            z, held = _meet(body, z, held, record, t, slow, on, quiet, face)
    raise GaveUp(f"more than {most} events before {until}; at {t}")


def _again(body, z, held, left):
    g, N, _ = body.rows(z)
    resting = [j for j in range(len(g)) if j != left and abs(g[j]) < 1e-9 and abs(N[j] @ z[body.nq :]) < 1e-7]
    return _contacts(body, z, resting)


def _meet(body, z, held, record, t, slow, on, quiet, face=None):
    """Blows while a face is approached, then what rests."""
    for _ in range(10_000):
        g, N, _ = body.rows(z)
        rate = N @ z[body.nq :]
        near = [j for j in range(len(g)) if abs(g[j]) < on or j == face or j in held]
        met = [j for j in near if rate[j] < -slow]
        if not met:
            break
        resting = [j for j in near if j not in met and abs(rate[j]) <= slow]
        z = _strike(body, z, met, resting, slow)
        after = body.rows(z)[1] @ z[body.nq :]
        record.blows += [(t, i, rate[i], after[i]) for i in met]
    else:
        raise RuntimeError("blows without end")
    resting = [j for j in near if abs(rate[j]) <= slow]
    pressing = _contacts(body, z, resting)
    if pressing:  # what is left of their rates is taken away
        rows, K = N[pressing], np.linalg.inv(body.M)
        z = z.copy()
        z[body.nq :] -= K @ rows.T @ np.linalg.solve(rows @ K @ rows.T, rows @ z[body.nq :])
    for j in near:
        if j not in pressing:
            quiet[j] = t  # on the plane, on its way up
    return z, pressing


def _piece(body, t, z, until, held, quiet, record, tolerance, max_step):
    right = lambda s, y: np.concatenate([body.qd(y), _accelerations(body, y, held)[0]])
    sol = solve_ivp(right, (t, min(t + 10 * max_step, until)), z, "DOP853", rtol=tolerance, atol=tolerance * 1e-2,
                    max_step=max_step, dense_output=True)
    distances = lambda s: body.rows(sol.sol(s))[0]
    g, N, _ = body.rows(z)
    still = (np.abs(g) < 1e-9) & (np.abs(N @ z[body.nq :]) < 1e-7)
    lying = [j for j in np.flatnonzero(still) if held and j not in held and _depends(body, N, held, j)]
    first = None
    for a, b in zip(sol.t[:-1], sol.t[1:], strict=True):
        grid = np.linspace(a, b, 9)
        values = np.array([distances(s) for s in grid])
        for j in range(values.shape[1]):
            if j in held or j in lying:
                continue
            for k in range(8):
                low, high = grid[k], grid[k + 1]
                if values[k + 1, j] < 0 and (root := _root(lambda s, j=j: distances(s)[j], low, high, t, quiet.get(j))):
                    first = min(first, (root, "meet", j)) if first else (root, "meet", j)
                    break
        for k, j in enumerate(held):
            lam = lambda s, k=k: _accelerations(body, sol.sol(s), held)[1][k]
            if lam(b) < -1e-9 * body.mass:  # below rounding, for those that bear nothing
                root = a if lam(a) <= 0 else brentq(lam, a, b, xtol=1e-15)
                first = min(first, (root, "leave", j)) if first else (root, "leave", j)
        if first:
            break
    end = first[0] if first else sol.t[-1]
    record.pieces.append(sol.sol)
    if first:
        return end, sol.sol(end), first[1:]
    if end < until:
        return _piece(body, end, sol.y[:, -1], until, held, {}, record, tolerance, max_step)
    return end, sol.y[:, -1], None


def _root(f, low, high, start, quiet):
    """The first zero of a distance that is negative at `high`; a face that it starts on must first rise above rounding."""
    if quiet is None or low > start:
        return brentq(f, low, high, xtol=1e-15) if f(low) > 0 else low
    if quiet > start and high < quiet:
        return None
    for share in 0.5 ** np.arange(1, 40):
        if f(start + share * (high - start)) > 1e-15:
            return brentq(f, start + share * (high - start), high, xtol=1e-15)
    return start if quiet <= start else None
