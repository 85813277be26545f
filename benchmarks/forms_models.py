"""The systems of `benchmarks.forms`, once for appell and once as SymPy's `KanesMethod` and `LagrangesMethod` take them.

Both sides start from coordinates, bodies and forces; the names of coordinates are the same, speeds are their rates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import sympy.physics.mechanics as mechanics
from sympy import cos, sin

import appell as ap
from benchmarks.pendulum import kane

Derived = tuple[Any, Any]  # K and b of K x = b, whose first unknowns are accelerations


@dataclass(frozen=True)
class Peer:
    """SymPy's side: `kane()` and `lagrange()` derive (K, b); `order` names the accelerations that Kane's K is for."""

    q: list[Any]
    u: list[Any]
    p: list[Any]
    order: Sequence[str]
    kane: Callable[[], Derived]
    lagrange: Callable[[], Derived]


@dataclass(frozen=True)
class Case:
    """A system on both sides, made afresh by each call."""

    name: str
    example: Callable[[], ap.zoo.Example]
    peer: Callable[[], Peer]


def bicycle_like_chain() -> ap.zoo.Example:
    """A wheel, a frame that leans with it, and a fork hinged to the frame: three bodies, two hinges, two rows.

    x, y: contact of the wheel (m); ψ: heading, φ: lean, θ: turn of the wheel, δ: steer (rad). With R = R_z(ψ) R_x(φ),

        wheel:  (x, y, 0) + R (0, 0, r),             R R_y(θ)
        frame:  (x, y, 0) + R (a, 0, h),             R
        fork:   (x, y, 0) + R (b, 0, h) + R R_z(δ) (d, 0, 0),     R R_z(δ)
        rolling:  ẋ cos ψ + ẏ sin ψ = r θ̇            blade:  ẏ cos ψ − ẋ sin ψ = 0
    """
    x, y, psi, phi, theta, delta = ap.coordinates("x y psi phi theta delta")
    r, a, h, b, d, g = (ap.parameters(name, positive=True) for name in "r a h b d g".split())
    m, J = ([ap.parameters(f"{letter}{k}", positive=True) for k in "123"] for letter in "mJ")
    R = ap.euler([psi, phi, 0]).rotation
    F = ap.euler([psi, phi, delta])
    contact = sympy.Matrix([x, y, 0])
    places = [contact + R[:, 2] * r, contact + R[:, 0] * a + R[:, 2] * h]
    places.append(contact + R[:, 0] * b + R[:, 2] * h + F.rotation[:, 0] * d)
    turns = [ap.euler([psi, phi, theta], "zxy"), ap.euler([psi, phi, 0]), F]
    shapes = [[J[0], 2 * J[0], J[0]], [J[1], 2 * J[1], 3 * J[1]], [J[2], 2 * J[2], 3 * J[2]]]
    system = ap.System(
        coordinates=[x, y, psi, phi, theta, delta],
        bodies=[ap.RigidBody(*four, name=f"body {k}") for k, four in enumerate(zip(m, shapes, places, turns, strict=True))],
        potential=sympy.Add(*(m_k * g * place[2] for m_k, place in zip(m, places, strict=True))),
        constraints=[
            ap.Constraint(x.d * cos(psi) + y.d * sin(psi) - r * theta.d, name="rolling"),
            ap.Constraint(y.d * cos(psi) - x.d * sin(psi), name="blade"),
        ],
        name="bicycle-like chain",
    )
    values = {r: 0.3, a: 0.4, h: 0.9, b: 1.0, d: 0.1, g: 9.81, **dict(zip(m, (2.0, 80.0, 4.0), strict=True))}
    return ap.zoo.Example(
        system=system,
        parameters={**values, **dict(zip(J, (0.08, 4.0, 0.06), strict=True))},
        start={},
        pseudo={"omega_z": psi.d, "omega_x": phi.d, "Omega": theta.d, "nu": delta.d},
        until=1.0,
        reference="a bicycle without its front wheel",
    )


def _function(name: str) -> Any:
    """A function of time."""
    return mechanics.dynamicsymbols(name)


def _dynamic(names: str) -> tuple[list[Any], list[Any], list[Any]]:
    """q, q̇ and speeds u."""
    q = [_function(name) for name in names.split()]
    return q, [s.diff() for s in q], [_function(f"u_{name}") for name in names.split()]


def _full(method: Any) -> Derived:
    """The rows of q̈ and λ of a `LagrangesMethod`."""
    method.form_lagranges_equations()
    n = len(method.q)
    return method.mass_matrix_full[n:, n:], method.forcing_full[n:, :]


def _kane_derived(method: Any, bodies: Sequence[Any], loads: Sequence[Any]) -> Derived:
    method.kanes_equations(bodies, loads)
    return method.mass_matrix, method.forcing


def disc_peer() -> Peer:
    """The disc of `zoo.rolling_disc`: its centre, heading, lean and spin."""
    q, qd, u = _dynamic("x y z psi theta phi")
    m, g, r = p = list(sympy.symbols("m g r", positive=True))

    def bodies(rates: list[Any]) -> tuple[Any, list[Any], list[Any]]:
        N = mechanics.ReferenceFrame("N")
        A = N.orientnew("A", "Axis", [q[3], N.z])
        B = A.orientnew("B", "Axis", [q[4], A.x])
        W = B.orientnew("W", "Axis", [q[5], B.y])
        B.set_ang_vel(N, rates[3] * A.z + rates[4] * A.x)
        W.set_ang_vel(B, rates[5] * B.y)
        centre = mechanics.Point("C")
        centre.set_vel(N, rates[0] * N.x + rates[1] * N.y + rates[2] * N.z)
        central = mechanics.inertia(B, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4)
        return N, [mechanics.RigidBody("disc", centre, W, m, (central, centre))], [(centre, -m * g * N.z)]

    def rows(rates: list[Any]) -> list[Any]:
        xd, yd, _, psid, thetad, phid = rates
        along, across = xd * cos(q[3]) + yd * sin(q[3]), yd * cos(q[3]) - xd * sin(q[3])
        return [along - r * (phid + psid * sin(q[4])), across + r * thetad * cos(q[4])]

    height = q[2] - r * cos(q[4])

    def by_kane() -> Derived:
        N, body, loads = bodies(u)
        method = mechanics.KanesMethod(
            N, q_ind=[*q[:2], *q[3:]], q_dependent=[q[2]], u_ind=u[3:], u_dependent=u[:3],
            kd_eqs=[a - b for a, b in zip(qd, u, strict=True)], configuration_constraints=[height],
            velocity_constraints=[*rows(u), u[2] + r * u[4] * sin(q[4])],
        )  # fmt: skip
        return _kane_derived(method, body, loads)

    def by_lagrange() -> Derived:
        N, body, _ = bodies(qd)
        L = body[0].kinetic_energy(N) - m * g * q[2]
        return _full(mechanics.LagrangesMethod(L, q, hol_coneqs=[height], nonhol_coneqs=rows(qd)))

    return Peer(q, u, p, "psi theta phi x y z".split(), by_kane, by_lagrange)


def _chain_bodies(q: list[Any], rates: list[Any], p: list[Any]) -> tuple[Any, list[Any], list[Any]]:
    """Inertial frame, bodies and weights of `bicycle_like_chain`, with speeds `rates`."""
    r, a, h, b, d, g, *rest = p
    m, J = rest[:3], rest[3:]
    N = mechanics.ReferenceFrame("N")
    A = N.orientnew("A", "Axis", [q[2], N.z])
    B = A.orientnew("B", "Axis", [q[3], A.x])
    W, F = B.orientnew("W", "Axis", [q[4], B.y]), B.orientnew("F", "Axis", [q[5], B.z])
    B.set_ang_vel(N, rates[2] * A.z + rates[3] * A.x)
    W.set_ang_vel(B, rates[4] * B.y)
    F.set_ang_vel(B, rates[5] * B.z)
    contact = mechanics.Point("P")
    contact.set_vel(N, rates[0] * N.x + rates[1] * N.y)
    wheel, frame = contact.locatenew("C", r * B.z), contact.locatenew("G", a * B.x + h * B.z)
    hinge = contact.locatenew("H", b * B.x + h * B.z)
    fork = hinge.locatenew("K", d * F.x)
    for point in (wheel, frame, hinge):
        point.v2pt_theory(contact, N, B)
    fork.v2pt_theory(hinge, N, F)
    shapes = [mechanics.inertia(B, J[0], 2 * J[0], J[0])]
    shapes += [mechanics.inertia(X, J_k, 2 * J_k, 3 * J_k) for X, J_k in ((B, J[1]), (F, J[2]))]
    parts = zip("wheel frame fork".split(), (wheel, frame, fork), (W, B, F), m, shapes, strict=True)
    found = [mechanics.RigidBody(name, c, X, m_k, (I, c)) for name, c, X, m_k, I in parts]
    return N, found, [(body.masscenter, -body.mass * g * N.z) for body in found]


def chain_peer() -> Peer:
    """`bicycle_like_chain` with frames and points."""
    q, qd, u = _dynamic("x y psi phi theta delta")
    p = list(sympy.symbols("r a h b d g m1 m2 m3 J1 J2 J3", positive=True))
    r, _, h, _, d, g, *m = p[:9]

    def rows(rates: list[Any]) -> list[Any]:
        along = rates[0] * cos(q[2]) + rates[1] * sin(q[2])
        return [along - r * rates[4], rates[1] * cos(q[2]) - rates[0] * sin(q[2])]

    def by_kane() -> Derived:
        N, parts, loads = _chain_bodies(q, u, p)
        method = mechanics.KanesMethod(
            N, q_ind=q, u_ind=u[2:], u_dependent=u[:2], kd_eqs=[a - b for a, b in zip(qd, u, strict=True)],
            velocity_constraints=rows(u),
        )  # fmt: skip
        return _kane_derived(method, parts, loads)

    def by_lagrange() -> Derived:
        N, parts, _ = _chain_bodies(q, qd, p)
        V = g * cos(q[3]) * (m[0] * r + (m[1] + m[2]) * h) + m[2] * g * d * sin(q[3]) * sin(q[5])
        L = sum((body.kinetic_energy(N) for body in parts), sympy.Integer(0)) - V
        return _full(mechanics.LagrangesMethod(L, q, nonhol_coneqs=rows(qd)))

    return Peer(q, u, p, "psi phi theta delta x y".split(), by_kane, by_lagrange)


def pendulum_peer(n: int) -> Peer:
    """Kane on velocities in inertial components (`benchmarks.pendulum`), Lagrange from T − V."""
    names = [f"theta{k}" for k in range(1, n + 1)]
    q, u = ([_function(f"{letter}{k}") for k in range(n)] for letter in "qu")
    m, l = sympy.symbols(f"m:{n}", positive=True), sympy.symbols(f"l:{n}", positive=True)
    g = sympy.Symbol("g", positive=True)

    def by_lagrange() -> Derived:
        vx = vy = y = L = sympy.Integer(0)
        for k in range(n):
            vx, vy = vx + l[k] * q[k].diff() * cos(q[k]), vy + l[k] * q[k].diff() * sin(q[k])
            y = y - l[k] * cos(q[k])
            L += m[k] * (vx**2 + vy**2) / 2 - m[k] * g * y
        return _full(mechanics.LagrangesMethod(L, q))

    return Peer(q, u, [g, *l, *m], names, lambda: kane(n)[:2], by_lagrange)


def cases(quick: bool) -> list[Case]:
    links = (2,) if quick else (3, 5, 8)
    return [
        Case("rolling disc", ap.zoo.rolling_disc, disc_peer),
        *([] if quick else [Case("3-body chain", bicycle_like_chain, chain_peer)]),
        *(Case(f"{n} links", lambda n=n: ap.zoo.n_pendulum(n), lambda n=n: pendulum_peer(n)) for n in links),
    ]
