"""Linkages in numbers, and their motion in minimal coordinates: independent of the library, by complex steps and SVD.

A bar hangs on its parent by a hinge or a slide; bars are closed to rings by joints of any kind. With C the derivative of the
closure and Z a basis of its kernel,

    M = Σ Jᵀ I J        h = Ṁ v − ½ ∂(vᵀMv)/∂q        Q = −∂V/∂q
    v̇ = p + Z u̇        C p = −Ċ v        ZᵀM(Z u̇ + p) = Zᵀ(Q − h)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.integrate import solve_ivp

import appell as ap
from appell.tree import Inertia, Joint, loop, place

STEP = 1e-30
DEPENDENT = 1e-6


def rotation(axis, angle):
    """About a unit axis; complex angles are taken."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)


def rpy(angles):
    """R_z R_y R_x."""
    return rotation((0, 0, 1), angles[2]) @ rotation((0, 1, 0), angles[1]) @ rotation((1, 0, 0), angles[0])


def angles_of(R):
    """The angles of `rpy`."""
    return np.arctan2(R[2, 1], R[2, 2]), np.arctan2(-R[2, 0], np.hypot(R[2, 1], R[2, 2])), np.arctan2(R[1, 0], R[0, 0])


def frame(R=None, p=(0, 0, 0)):
    """A homogeneous matrix."""
    R = np.eye(3) if R is None else R
    T = np.eye(4, dtype=np.result_type(R, np.asarray(p, dtype=complex if np.iscomplexobj(p) else float)))
    T[:3, :3], T[:3, 3] = R, p
    return T


@dataclass(frozen=True)
class Bar:
    """kind: "revolute" or "prismatic"; parent: a number, −1 for the ground; place (4, 4); inertia at the centre (3, 3)."""

    kind: str
    parent: int
    place: np.ndarray
    axis: np.ndarray
    mass: float
    centre: np.ndarray
    inertia: np.ndarray


@dataclass(frozen=True)
class Linkage:
    """Bars, and closures ((bar, frame in it), (bar, frame in it), kind of `appell.tree.loop`)."""

    bars: tuple[Bar, ...]
    closures: tuple = ()
    gravity: tuple = (0.3, -2.0, -9.81)

    def frames(self, q):
        """Of the bars, (4, 4) each."""
        T = []
        for bar, x in zip(self.bars, q, strict=True):
            move = frame(rotation(bar.axis, x)) if bar.kind == "revolute" else frame(p=bar.axis * x)
            T.append((np.eye(4) if bar.parent < 0 else T[bar.parent]) @ bar.place @ move)
        return T

    def closure(self, q):
        """What vanishes, more equations than are needed."""
        T, rows = self.frames(q), []
        for (a, in_a), (b, in_b), kind in self.closures:
            A, B = (F if k < 0 else T[k] @ F for k, F in ((a, in_a), (b, in_b)))
            d, turn = B[:3, 3] - A[:3, 3], A[:3, :3].T @ B[:3, :3]
            local, parallel, upright = A[:3, :3].T @ d, list(np.cross(A[:3, 2], B[:3, 2])), [turn[0, 1], turn[1, 0]]
            rows += {
                "pin": [local[0], local[1]],
                "planar": [local[2], *parallel],
                "spherical": [*d],
                "universal": [*d, A[:3, 2] @ B[:3, 0]],
                "cylindrical": [local[0], local[1], *parallel],
                "revolute": [*d, *parallel],
                "prismatic": [local[0], local[1], *parallel, *upright],
                "fixed": [*d, *parallel, *upright],
            }[kind]
        return np.array(rows)

    def mass(self, q):
        """M, (n, n)."""
        n, T = len(q), self.frames(q)
        M = np.zeros((n, n), dtype=np.asarray(q).dtype)
        for k, bar in enumerate(self.bars):
            shift, turn = np.zeros((3, n), dtype=M.dtype), np.zeros((3, n), dtype=M.dtype)
            centre, i = (T[k] @ np.append(bar.centre, 1))[:3], k
            while i >= 0:
                axis = T[i][:3, :3] @ self.bars[i].axis
                if self.bars[i].kind == "revolute":
                    shift[:, i], turn[:, i] = np.cross(axis, centre - T[i][:3, 3]), axis
                else:
                    shift[:, i] = axis
                i = self.bars[i].parent
            R = T[k][:3, :3]
            M = M + bar.mass * shift.T @ shift + turn.T @ R @ bar.inertia @ R.T @ turn
        return M

    def potential(self, q):
        centres = [(T @ np.append(bar.centre, 1))[:3] for T, bar in zip(self.frames(q), self.bars, strict=True)]
        return -sum(bar.mass * (np.array(self.gravity) @ c) for bar, c in zip(self.bars, centres, strict=True))

    def rows(self, q):
        """C, (k, n)."""
        return np.array([_along(self.closure, q, e) for e in np.eye(len(q))]).T

    def accelerations(self, q, v):
        """v̇ of a state on the closure."""
        n, M = len(q), self.mass(q)
        each = np.eye(n)
        h = _along(self.mass, q, v) @ v - 0.5 * np.array([_along(lambda x: v @ self.mass(x) @ v, q, e) for e in each])
        Q, step = -np.array([_along(self.potential, q, e) for e in each]), 1e-5
        rate = lambda s: _along(self.closure, q + s * step * v, v)
        bend = (8 * (rate(1) - rate(-1)) - (rate(2) - rate(-2))) / (12 * step)
        U, sigma, Vt = np.linalg.svd(self.rows(q))
        r = int((sigma > DEPENDENT * sigma[0]).sum())
        Z, p = Vt[r:].T, -Vt[:r].T @ ((U[:, :r].T @ bend) / sigma[:r])
        return p + Z @ np.linalg.solve(Z.T @ M @ Z, Z.T @ (Q - h - M @ p))

    def rank(self, q):
        sigma = np.linalg.svd(self.rows(q), compute_uv=False)
        return int((sigma > DEPENDENT * sigma[0]).sum())

    def onto(self, q, v, rank):
        """The state on the closure near (q, v)."""
        for _ in range(30):
            U, sigma, Vt = np.linalg.svd(self.rows(q), full_matrices=False)
            step = Vt[:rank].T @ ((U[:, :rank].T @ self.closure(q)) / sigma[:rank])
            q = q - step
            if np.abs(step).max() < 1e-15:
                break
        V = np.linalg.svd(self.rows(q), full_matrices=False)[2][:rank]
        return q, v - V.T @ (V @ v)

    def motion(self, q, v, until):
        """(q, v) at `until`."""
        n, rank = len(q), self.rank(q)

        def rates(t, z):
            x, u = self.onto(z[:n], z[n:], rank)
            return np.concatenate([u, self.accelerations(x, u)])

        z = solve_ivp(rates, (0, until), np.concatenate([q, v]), method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
        return self.onto(z[:n], z[n:], rank)

    def closed(self, rng, tries=300):
        """A regular state of the ring, found from random ones by damped steps."""
        n = len(self.bars)
        for _ in range(tries):
            q = rng.uniform(-np.pi, np.pi, n)
            for _ in range(200):
                f, C = self.closure(q), self.rows(q)
                q = q - np.linalg.solve(C.T @ C + (1e-14 + 1e-4 * min(1, np.linalg.norm(f))) * np.eye(n), C.T @ f)
                if np.linalg.norm(f) < 1e-13:
                    break
            sigma = np.linalg.svd(self.rows(q), compute_uv=False)
            kept = sigma > 1e-5 * sigma[0]
            if np.linalg.norm(self.closure(q)) < 1e-12 and kept.sum() < n and sigma[kept].min() > 0.02:
                return q
        raise AssertionError("no state of the ring was found")

    def system(self):
        """The same by the library: a tree, closed by loops."""
        joints = [
            Joint(
                f"j{k}", bar.kind, *([f"j{bar.parent}"] if bar.parent >= 0 else []), axis=tuple(bar.axis),
                placement=place(bar.place[:3, 3], angles_of(bar.place[:3, :3])),
                body=Inertia.at_centre(bar.mass, tuple(bar.centre), bar.inertia),
            )
            for k, bar in enumerate(self.bars)
        ]  # fmt: skip
        tree = ap.Tree(joints, gravity=tuple(self.gravity))
        on = lambda k, F: tree.frame("world" if k < 0 else f"j{k}").at(tuple(F[:3, 3]), angles_of(F[:3, :3]))
        rows = [row for i, (a, b, kind) in enumerate(self.closures) for row in loop(on(*a), on(*b), kind, name=f"c{i}")]
        return tree.system(rows)

    def scaled(self, length, mass):
        """Lengths and masses in other units; accelerations of slides and gravity go with the lengths."""
        grow = lambda T: frame(T[:3, :3], T[:3, 3] * length)
        bars = [
            replace(b, place=grow(b.place), mass=b.mass * mass, centre=b.centre * length, inertia=b.inertia * mass * length**2)
            for b in self.bars
        ]
        closures = tuple(((a, grow(F)), (b, grow(G)), kind) for (a, F), (b, G), kind in self.closures)
        return Linkage(tuple(bars), closures, tuple(np.array(self.gravity) * length))


def _along(f, q, v):
    """df/dt along v by a complex step."""
    return np.imag(f(q + 1j * STEP * v)) / STEP


# -- families ----------------------------------------------------------------------------------------------------------

ROWS = {"pin": 2, "planar": 3, "spherical": 3, "universal": 4, "cylindrical": 4, "revolute": 5, "prismatic": 5, "fixed": 6}


def bar(rng, parent, where, axis=(0, 0, 1), kind="revolute", size=1.0):
    """A bar with a random body of this size."""
    m, B = rng.uniform(0.5, 2), rng.uniform(-1, 1, (3, 3))
    inertia = 0.05 * m * size**2 * (2 * np.eye(3) + B @ B.T / np.trace(B @ B.T))
    return Bar(kind, parent, where, np.array(axis, float), m, rng.uniform(-0.5, 0.5, 3) * size, inertia)


def turned(rng):
    """A random rotation, or one by right angles, which rounding does not take for them."""
    return rpy(rng.uniform(-np.pi, np.pi, 3) if rng.random() < 0.7 else rng.choice([0, np.pi / 2, np.pi], 3))


def with_z(z, rng):
    """A random rotation with this third axis."""
    z = z / np.linalg.norm(z)
    x = rng.standard_normal(3)
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def plane(rng, kind):
    """A chain of parallel hinges, anyhow in space, closed to a ring of one degree of freedom; and a state."""
    n = 4 if kind == "fixed" else 3
    lengths = rng.uniform(0.8, 1.6, n)
    where = lambda k: frame(turned(rng), rng.uniform(-1, 1, 3)) if k == 0 else frame(p=(0, lengths[k - 1], 0))
    chain, q = Linkage(tuple(bar(rng, k - 1, where(k), (1, 0, 0)) for k in range(n))), rng.uniform(0.3, 1.2, n)
    last = chain.frames(q)[-1]
    tip = last @ frame(p=(0, lengths[-1], 0))
    z = tip[:3, :3] @ (np.array([0, np.cos(0.4), np.sin(0.4)]) if kind == "prismatic" else np.array([1.0, 0, 0]))
    ground = frame(with_z(z, rng), tip[:3, 3])
    return replace(chain, closures=(((-1, ground), (n - 1, np.linalg.inv(last) @ ground), kind),)), q


def spatial(rng, kind):
    """A chain of hinges and slides in any directions closed to a ring of one degree of freedom; and a state."""
    n = ROWS[kind] + 1
    sort = lambda: "revolute" if rng.random() < 0.85 else "prismatic"
    bars = [bar(rng, k - 1, frame(turned(rng), rng.uniform(-1, 1, 3)), kind=sort()) for k in range(n)]
    q, tip = rng.uniform(-1, 1, n), frame(turned(rng), rng.uniform(-1, 1, 3))
    chain = Linkage(tuple(bars))
    return replace(chain, closures=(((-1, chain.frames(q)[-1] @ tip), (n - 1, tip), kind),)), q


def ring(rng, lengths, twists):
    """Hinges in a ring by Denavit and Hartenberg: a turn about z, a length along x, a twist about x."""
    link = [frame(rotation((1, 0, 0), alpha), (a, 0, 0)) for a, alpha in zip(lengths, twists, strict=True)]
    n = len(link)
    bars = [bar(rng, k - 1, np.eye(4) if k == 0 else link[k - 1], size=0.5) for k in range(n - 1)]
    return Linkage(tuple(bars), (((-1, np.linalg.inv(link[-1])), (n - 2, link[-2]), "revolute"),))


def bennett(rng):
    """Four hinges: opposite lengths and twists are equal, a/sin α = b/sin β."""
    alpha, beta = 0.7, 1.2
    b = np.sin(beta) / np.sin(alpha)
    return ring(rng, [1, b, 1, b], [alpha, beta, alpha, beta])


def goldberg(rng):
    """Five hinges: two of Bennett's with a common link, lengths and twists of two others added."""
    alpha, beta, gamma = 0.7, 1.2, 0.5
    b, c = np.sin(beta) / np.sin(alpha), np.sin(gamma) / np.sin(alpha)
    return ring(rng, [1, c, 1, b, b + c], [alpha, gamma, alpha, beta, beta + gamma])


def bricard(rng):
    """Six hinges at right angles (trihedral): a₁² + a₃² + a₅² = a₂² + a₄² + a₆²."""
    square = 0.0
    while square < 0.3:  # of the last length, which there must be
        a = rng.uniform(0.8, 1.2, 5)
        square = a[0] ** 2 + a[2] ** 2 + a[4] ** 2 - a[1] ** 2 - a[3] ** 2
    return ring(rng, [*a, np.sqrt(square)], [np.pi / 2, 3 * np.pi / 2] * 3)


def sarrus(rng):
    """A platform on two plane chains at right angles: it goes up and down."""
    x, y, up = (1, 0, 0), (0, 1, 0), frame(p=(0, 0, 1))
    bars = [bar(rng, -1, frame(p=(0, -0.5, 0)), x, size=0.3), bar(rng, 0, up, x, size=0.3), bar(rng, 1, up, x, size=0.3)]
    bars += [bar(rng, -1, frame(p=(-0.5, 0, 0)), y, size=0.3), bar(rng, 3, up, y, size=0.3)]
    hinge = frame(rpy((-np.pi / 2, 0, 0)))
    return Linkage(tuple(bars), (((2, frame(p=(-0.5, 0.5, 0)) @ hinge), (4, up @ hinge), "revolute"),))


def arm_with_gripper(rng):
    """Six hinges as a UR5 has them, and two fingers on parallelograms, each closed by a spatial hinge; and a state."""
    lengths, twists = (0, -0.425, -0.392, 0, 0, 0), (np.pi / 2, 0, 0, np.pi / 2, -np.pi / 2, 0)
    offsets = (0.089, 0, 0, 0.109, 0.095, 0.082)
    link = [frame(rotation((1, 0, 0), t), (a, 0, d)) for a, t, d in zip(lengths, twists, offsets, strict=True)]
    bars = [bar(rng, k - 1, np.eye(4) if k == 0 else link[k - 1], size=0.2) for k in range(6)]
    closures, hinge, q = [], frame(rpy((0, np.pi / 2, 0))), [0.3, -0.8, 1.1, 0.4, 0.7, -0.2]
    for side in (-1, 1):
        k = len(bars)
        foot, up, over = frame(p=(0, side * 0.05, 0.1)), frame(p=(0, 0, 0.08)), frame(p=(0, side * 0.04, 0))
        bars += [bar(rng, 5, foot, (1, 0, 0), size=0.05), bar(rng, k, up, (1, 0, 0), size=0.05)]
        bars += [bar(rng, 5, foot @ over, (1, 0, 0), size=0.05)]
        closures.append(((k + 1, over @ hinge), (k + 2, up @ hinge), "revolute"))
        q += [side * 0.4, -side * 0.4, side * 0.4]
    return Linkage(tuple(bars), tuple(closures)), np.array(q)
