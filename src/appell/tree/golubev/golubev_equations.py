"""Golubev's equations of chains and trees of hinged bodies, from Appell's function, in the corrected version.

Vectors are on axes that translate with the base (or are at rest). Body ν has its inbound hinge at P_ν, mass m, centre
of mass c_ν from P_ν, inertia J_ν about P_ν, and the hinge axis e_ν fixed in its predecessor. With the angular
accelerations (3.2), (4.1), the accelerations w_ν of P_ν (3.3) and σ_ν of the centres of mass (3.5),

    Σ m σ = Σ m g                                                                          (3.10) with (3.6)
    Σ_μ [P_A P_μ × m σ + c × m w + J Ω̇ + Ω × J Ω] = Σ_μ m (P_A P_μ + c_μ) × g              (3.12) with (3.7)
    e_ν · Σ_{μ behind ν} [P_ν P_μ × m σ + c × m w + J Ω̇ + Ω × J Ω] = M_ν + Q_ν              (3.14), (4.3)

The same code serves numbers and symbols: `let` either returns its value, or names it and records the definition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from appell.tree.spatial import Scalar, Vector, cross

# (letter, index, number of the defining equation, value) -> the value, or symbols for it
Let = Callable[[str, str, str, list[Scalar]], list[Scalar]]


@dataclass(frozen=True, eq=False)
class Body:
    """One body: `parent` −1 is the ground. r, R0 place the hinge on the predecessor; c, J are on the body's axes.

    `e` None marks a floating base: w_A, ω are then free. `armature` and `damping` belong to the hinge: armature·ω̇ + damping·ω
    is subtracted from its torque. All entries are numbers or expressions.
    """

    parent: int
    r: Sequence[Any]
    R0: Sequence[Sequence[Any]]
    e: Sequence[Any] | None
    m: Any
    c: Sequence[Any]
    J: Sequence[Sequence[Any]]
    armature: Any = 0
    damping: Any = 0


@dataclass(frozen=True, eq=False)
class Base:
    """Motion of a floating base: Rodrigues–Hamilton parameters (q0, q), ω, ω̇ and w_A on translating axes."""

    quaternion: Sequence[Any]
    w: Sequence[Any]
    wd: Sequence[Any]
    wA: Sequence[Any]


@dataclass(frozen=True, eq=False)
class Hinge:
    """cos and sin of the angle φ_ν, rate ω_ν, acceleration ω̇_ν and torque M_ν of one hinge."""

    cosine: Any
    sine: Any
    rate: Any
    acceleration: Any
    torque: Any


@dataclass(frozen=True, eq=False)
class ChainState:
    """`hinges[n]` belongs to body n (None for a floating base).

    `together`: the axes are parallel, and cosine and sine are those of the sums ψ_ν (5.3), measured from the base.
    """

    base: Base | None
    hinges: Sequence[Hinge | None]
    g: Sequence[Any]
    together: bool = False


@dataclass(frozen=True, eq=False)
class Kin:
    """The motion of one body on translating axes: rotation A, Ω, Ω̇, position P and acceleration w of the hinge, c, σ, axis e.

    `L` is the body's own bracket c × m w + J Ω̇ + Ω × K*, K* = J Ω.
    """

    A: list[list[Scalar]]
    Om: Vector
    Omd: Vector
    P: Vector
    w: Vector
    c: Vector
    sigma: Vector
    L: Vector
    e: Vector | None


def plain(letter: str, index: str, number: str, value: list[Scalar]) -> list[Scalar]:
    """`let` for numbers."""
    return value


def turned(p: Scalar, theta: Sequence[Scalar], x: Sequence[Scalar]) -> Vector:
    """x + 2 p θ × x + 2 θ × (θ × x): the rotation by the Rodrigues–Hamilton parameters (p, θ), (5.4) and after."""
    t = cross(theta, x)
    tt = cross(theta, t)
    return [x[n] + 2 * p * t[n] + 2 * tt[n] for n in range(3)]


def turned_about(e: Sequence[Scalar], cosine: Scalar, sine: Scalar, x: Sequence[Scalar]) -> Vector:
    """(5.4) by an angle about a unit axis: 2 p θ × x = sin φ e × x, 2 θ × (θ × x) = (1 − cos φ) e × (e × x)."""
    t = cross(e, x)
    tt = cross(e, t)
    return [x[n] + sine * t[n] + (1 - cosine) * tt[n] for n in range(3)]


def quaternion_rate(quaternion: Sequence[Scalar], w: Sequence[Scalar]) -> list[Scalar]:
    """(5.5) for ω on TRANSLATING axes: q̇0 = −q·ω/2, q̇ = (q0 ω + ω × q)/2. The printed signs hold on body axes."""
    q0, q = quaternion[0], list(quaternion[1:])
    t = cross(w, q)
    return [-dot(q, w) / 2, *((q0 * w[n] + t[n]) / 2 for n in range(3))]


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def apply(A: Sequence[Sequence[Scalar]], x: Sequence[Scalar]) -> Vector:
    return [dot(row, x) for row in A]


def apply_transposed(A: Sequence[Sequence[Scalar]], x: Sequence[Scalar]) -> Vector:
    return [dot([row[n] for row in A], x) for n in range(3)]


def plus(*vectors: Sequence[Scalar]) -> Vector:
    return [added(parts) for parts in zip(*vectors, strict=True)]


def added(parts: Sequence[Scalar]) -> Scalar:
    """The sum by halves, because adding one term costs SymPy the length of the sum."""
    half = len(parts) // 2
    return added(parts[:half]) + added(parts[half:]) if half else parts[0]


def times(k: Scalar, x: Sequence[Scalar]) -> Vector:
    return [k * y for y in x]


def centripetal(Om: Vector, Omd: Vector, r: Vector) -> Vector:
    """Ω̇ × r + Ω × (Ω × r)."""
    return plus(cross(Omd, r), cross(Om, cross(Om, r)))


def appell_function(m: Scalar, c: Vector, J: Sequence[Sequence[Scalar]], w: Vector, Om: Vector, Omd: Vector) -> Scalar:
    """(1.5), S of one body about a point A with acceleration w, centre of mass c from A, inertia J about A; K* = J Ω:

        S = ½ m w² + m w·(Ω̇ × c) + m w·[Ω × (Ω × c)] + ½ Ω̇·J Ω̇ + Ω̇·(Ω × K*)

    With c = 0 it is (1.4). All vectors and J are on the same axes, whichever they are.
    """
    linear = m * dot(w, w) / 2 + m * dot(w, cross(Omd, c)) + m * dot(w, cross(Om, cross(Om, c)))
    return linear + dot(Omd, apply(J, Omd)) / 2 + dot(Omd, cross(Om, apply(J, Om)))


def force(m: Scalar, c: Vector, w: Vector, Om: Vector, Omd: Vector) -> Vector:
    """∂S/∂w = m {w + Ω̇ × c + Ω × (Ω × c)}, the left side of (2.3); m w of (2.1) with c = 0."""
    return times(m, plus(w, centripetal(Om, Omd, c)))


def moment(m: Scalar, c: Vector, J: Sequence[Sequence[Scalar]], w: Vector, Om: Vector, Omd: Vector) -> Vector:
    """∂S/∂Ω̇ = m c × w + J Ω̇ + Ω × K*, the left side of (2.3); of (2.1) with c = 0."""
    return plus(times(m, cross(c, w)), apply(J, Omd), cross(Om, apply(J, Om)))


def steiner(m: Scalar, c: Vector, J_c: Sequence[Sequence[Scalar]]) -> list[Vector]:
    """J_A = J_c + m (c² 1 − c cᵀ)."""
    square = dot(c, c)
    return [[J_c[i][k] + m * ((square if i == k else 0) - c[i] * c[k]) for k in range(3)] for i in range(3)]


def kinematics(bodies: Sequence[Body], state: ChainState, let: Let = plain) -> list[Kin]:
    """(3.1)–(3.3), (3.5) or (4.1), outwards."""
    ground = Kin([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0] * 3, [0] * 3, [0] * 3, [0] * 3, [0] * 3, [0] * 3, [0] * 3, None)
    result: list[Kin] = []
    for n, body in enumerate(bodies):
        before = ground if body.parent < 0 else result[body.parent]
        root = ground if not result or bodies[0].e is not None else result[0]
        turned_from = root if state.together else before
        result.append(_base(n, body, state, let) if body.e is None else _hinged(n, body, before, turned_from, state, let))
    return result


def _base(n: int, body: Body, state: ChainState, let: Let) -> Kin:
    base = state.base
    assert base is not None
    q0, q = base.quaternion[0], base.quaternion[1:]
    columns = [turned(q0, q, unit) for unit in ([1, 0, 0], [0, 1, 0], [0, 0, 1])]
    A = _matrix(n, list(zip(*columns, strict=True)), let)
    Om, Omd, w = list(base.w), list(base.wd), list(base.wA)
    return _finished(n, body, A, Om, Omd, [0] * 3, w, None, let)


def _hinged(n: int, body: Body, before: Kin, turned_from: Kin, state: ChainState, let: Let) -> Kin:
    hinge, axis = state.hinges[n], body.e
    assert hinge is not None and axis is not None
    joint = [apply(turned_from.A, column) for column in zip(*body.R0, strict=True)]  # columns of A R0
    J_ = list(zip(*joint, strict=True))
    turned_unit = lambda unit: turned_about(axis, hinge.cosine, hinge.sine, unit)
    columns = [apply(J_, turned_unit(unit)) for unit in ([1, 0, 0], [0, 1, 0], [0, 0, 1])]
    A = _matrix(n, list(zip(*columns, strict=True)), let)
    e = let("e", f"{n + 1}", "4.1", apply(J_, axis))
    index = f"{n}" if body.parent == n - 1 else f"{body.parent + 1}_{n + 1}"  # a body of a tree may have several r
    r = let("r", index, "5.4", apply(before.A, body.r))
    Om = let("Omega", f"{n + 1}", "4.1", plus(before.Om, times(hinge.rate, e)))
    turn = plus(times(hinge.acceleration, e), times(hinge.rate, cross(before.Om, e)))
    Omd = let("Omegadot", f"{n + 1}", "4.1", plus(before.Omd, turn))
    w = let("w", f"{n + 1}", "3.3", plus(before.w, centripetal(before.Om, before.Omd, r)))
    P = let("P", f"{n + 1}", "3.7", plus(before.P, r))
    return _finished(n, body, A, Om, Omd, P, w, e, let)


def _matrix(n: int, rows: Sequence[Sequence[Scalar]], let: Let) -> list[list[Scalar]]:
    return [let("A", f"{n + 1}{'xyz'[i]}", "5.4", list(row)) for i, row in enumerate(rows)]


def _finished(
    n: int, body: Body, A: list[list[Scalar]], Om: Vector, Omd: Vector, P: Vector, w: Vector, e: Vector | None, let: Let
) -> Kin:
    c = let("c", f"{n + 1}", "5.4", apply(A, body.c))
    sigma = let("sigma", f"{n + 1}", "3.5", plus(w, centripetal(Om, Omd, c)))
    J = lambda x: apply(A, apply(body.J, apply_transposed(A, x)))
    K = let("K", f"{n + 1}", "3.4", J(Om))
    L = let("L", f"{n + 1}", "3.12", plus(times(body.m, cross(c, w)), J(Omd), cross(Om, K)))
    return Kin(A, Om, Omd, P, w, c, sigma, L, e)


def behind(bodies: Sequence[Body], n: int) -> list[int]:
    """n and every body behind it, μ >= ν in a chain."""
    carried = {n}
    for k in range(n + 1, len(bodies)):
        if bodies[k].parent in carried:
            carried.add(k)
    return sorted(carried)


def lever(kins: Sequence[Kin], n: int, k: int) -> Vector:
    """Σ_{τ=ν}^{μ−1} r_τ = P_ν P_μ."""
    return plus(kins[k].P, times(-1, kins[n].P))


def inertia_moment(bodies: Sequence[Body], kins: Sequence[Kin], n: int) -> Vector:
    """Σ_{μ behind ν} [P_ν P_μ × m σ + c × m w + J Ω̇ + Ω × K*], the left side of (3.12), and before e· of (3.14), (4.3)."""
    moments = [plus(cross(lever(kins, n, k), times(bodies[k].m, kins[k].sigma)), kins[k].L) for k in behind(bodies, n)]
    return plus(*moments)


def first_moment(bodies: Sequence[Body], kins: Sequence[Kin], n: int) -> Vector:
    """Σ_{μ behind ν} m (P_ν P_μ + c_μ)."""
    return plus(*(times(bodies[k].m, plus(lever(kins, n, k), kins[k].c)) for k in behind(bodies, n)))


def gravity_moment(bodies: Sequence[Body], kins: Sequence[Kin], n: int, g: Sequence[Scalar]) -> Vector:
    """Σ_{μ behind ν} m (P_ν P_μ + c_μ) × g: (3.7), and before e· of (3.8) and of the corrected (4.2)."""
    return cross(first_moment(bodies, kins, n), g)


def tail_force(bodies: Sequence[Body], kins: Sequence[Kin], n: int) -> Vector:
    """Σ_{μ behind ν, μ≠ν} m σ."""
    tail = [times(bodies[k].m, kins[k].sigma) for k in behind(bodies, n) if k != n]
    return plus(*tail) if tail else [0, 0, 0]


def momentum_equation(bodies: Sequence[Body], kins: Sequence[Kin], g: Sequence[Scalar]) -> tuple[Vector, Vector]:
    """(3.10): Σ m σ = Σ m g, both sides."""
    left = plus(*(times(body.m, kin.sigma) for body, kin in zip(bodies, kins, strict=True)))
    return left, times(sum((body.m for body in bodies[1:]), bodies[0].m), g)


def base_equation(bodies: Sequence[Body], kins: Sequence[Kin], g: Sequence[Scalar]) -> tuple[Vector, Vector]:
    """(3.12) with (3.7), both sides."""
    return inertia_moment(bodies, kins, 0), gravity_moment(bodies, kins, 0, g)


def gravity_torque(bodies: Sequence[Body], kins: Sequence[Kin], state: ChainState, n: int) -> Scalar:
    """Q_ν, (3.8) or the corrected (4.2), as (g × e)·Σ m (P_ν P_μ + c_μ): the long sum is multiplied only once."""
    e = kins[n].e
    assert e is not None
    return dot(cross(state.g, e), first_moment(bodies, kins, n))


def loads(bodies: Sequence[Body], kins: Sequence[Kin], state: ChainState) -> list[Scalar]:
    """M_ν + Q_ν of every hinge; 0 for a floating base."""
    hinges = enumerate(state.hinges)
    return [0 if hinge is None else hinge.torque + gravity_torque(bodies, kins, state, n) for n, hinge in hinges]


Loads = Sequence[Scalar] | None
"""M_ν + Q_ν, if already known."""


def hinge_equation(
    bodies: Sequence[Body], kins: Sequence[Kin], state: ChainState, n: int, known: Loads = None
) -> tuple[Scalar, Scalar]:
    """(3.14) for parallel, (4.3) for any axes, both sides."""
    e, right = kins[n].e, known or loads(bodies, kins, state)
    assert e is not None
    return dot(e, inertia_moment(bodies, kins, n)), right[n]


def difference_equation(
    bodies: Sequence[Body], kins: Sequence[Kin], state: ChainState, n: int, known: Loads = None
) -> tuple[Scalar, Scalar]:
    """(5.1), chains with parallel axes: e·(J Ω̇ + Ω × K* + c × m w + r × Σ_{μ>ν} m σ) = M_ν + Q_ν − M_{ν+1} − Q_{ν+1}."""
    e, right = kins[n].e, [*(known or loads(bodies, kins, state)), 0]
    assert e is not None
    left = kins[n].L
    if n + 1 < len(bodies):
        left = plus(left, cross(lever(kins, n, n + 1), tail_force(bodies, kins, n)))
    return dot(e, left), right[n] - right[n + 1]


def plane_equation(
    bodies: Sequence[Body], kins: Sequence[Kin], state: ChainState, n: int, known: Loads = None
) -> tuple[Scalar, Scalar]:
    """(5.2), plane motion: J_e Ω̇ + r·(Σ_{μ>ν} m σ × e) + c·(m w × e) = M_ν + Q_ν − M_{ν+1} − Q_{ν+1} (Ω̇, not Ω)."""
    e, right = kins[n].e, [*(known or loads(bodies, kins, state)), 0]
    assert e is not None
    body, kin = bodies[n], kins[n]
    moment_of_inertia = dot(e, apply(kin.A, apply(body.J, apply_transposed(kin.A, e))))
    left = moment_of_inertia * dot(kin.Omd, e) + body.m * dot(kin.c, cross(kin.w, e))
    if n + 1 < len(bodies):
        left = left + dot(lever(kins, n, n + 1), cross(tail_force(bodies, kins, n), e))
    return left, right[n] - right[n + 1]
