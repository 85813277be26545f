"""Motions in space of opty's gallery: in a tube, by four propellers, on a disc that turns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Eq, Matrix, cos, exp, sin, sqrt, tanh

import appell as ap
from benchmarks.gallery.published import PI, problem


def helix() -> Any:
    """A particle in a tube around a helix: r along it, n and b across it."""
    r, n, b = ap.coordinates("r n b")
    F = ap.parameters("F1 F2 F3")
    turn, rise = 2 * PI * r, 5 / (2 * PI)
    axis, inward = Matrix([5 * sin(turn), 5 * cos(turn), 5 * r]), Matrix([-sin(turn), -cos(turn), 0])
    across = Matrix([rise * cos(turn), -rise * sin(turn), -5]) / sqrt(25 + rise**2)
    X = axis + n * inward + b * across
    J = X.jacobian([r, n, b])
    v = J * Matrix([r.d, n.d, b.d])
    push = dict(zip((r, n, b), J.T * (Matrix(F) - 0.06 * v), strict=True))
    return ap.System([r, n, b], v.dot(v).simplify(), 19.62 * X[2], push, name="particle"), (r, n, b), F


@problem(
    "particle in a tube with a gate", "advanced/plot_particle_in_tube", None, "objective",
    "the edges of the gate become steep in three plans, each the guess of the next", 1e-4, model=helix,
)  # fmt: skip
def tube(tolerance: float) -> Any:
    particle, (r, n, b), F = helix()
    bounds = {f: (-100, 100) for f in F} | {r: (0, 3), r.d: (0, None), n: (-1, 1), b: (-1, 1)}
    plan = None
    for steep in (5, 15, 50):
        gate = (tanh(steep * (r - 0.75)) - tanh(steep * (r - 1.25))) / 2
        plan = ap.optimize(
            particle, ap.integral(sum(f**2 for f in F)), F, {}, 5.0, end={r: 2.4, n: 0, b: 0, r.d: 0, n.d: 0, b.d: 0},
            bounds=bounds, subject_to=[n**2 + b**2 <= (1 - 0.75 * gate) ** 2], guess=plan,
            tolerance=tolerance if steep == 50 else 1e-3,
        )  # fmt: skip
    return plan


@problem("drone, tilted by 90° half way", "intermediate/plot_drone", tolerance=1e-4)
def drone(tolerance: float) -> Any:
    x, y, z = ap.coordinates("x y z")
    turn, F = ap.quaternion("q"), ap.parameters("F1 F2 F3 F4")
    frame = ap.RigidBody(2, [2 * 0.26 / 12, 2 * 1.01 / 12, 2 * 1.25 / 12], [x, y, z], turn, name="frame")
    thrust, (w1, w2, w3) = sum(F), turn.rates
    push: dict[Any, Any] = {q: turn.rotation[k, 2] * thrust - 0.06 * q.d for k, q in enumerate((x, y, z))}
    push |= {w1: (F[0] + F[1] - F[2] - F[3]) / 4, w2: (-F[0] + F[1] - F[2] + F[3]) / 2}
    system = ap.System([x, y, z, turn], potential=19.62 * z, forces=push, bodies=[frame], name="drone")
    qx, qy, qz, qw = turn.coordinates
    tilted = [Eq(ap.at(qx, 5.0), np.sqrt(0.5)), Eq(ap.at(qy, 5.0), 0), Eq(ap.at(qz, 5.0), 0)]
    end = {x: 10, y: 10, z: 10, qx: 0, qy: 0, qz: 0, qw: 1} | {s: 0 for s in (x.d, y.d, z.d, w1, w2, w3)}
    t = np.linspace(0, 10, 41)
    half = np.clip(1 - np.abs(t - 5) / 2, 0, 1) * PI / 4
    guess = {"t": t, x: t, y: t, z: t, qx: np.sin(half), qw: np.cos(half)} | {f: 4.9 for f in F}
    return ap.optimize(
        system, ap.integral(sum(f**2 for f in F)), F, {qw: 1}, 10.0, end=end, bounds={f: (-100, 100) for f in F},
        subject_to=tilted, guess=guess, tolerance=tolerance,
    )  # fmt: skip


@problem(
    "ball on a disc that begins to turn", "advanced/plot_ball_rolling_on_spinning_disc", 249 * 0.016244599294, "duration",
    "opty's disc turns at dT/dt = 0.03 of the speed that its page names, so at 0.3 rad/s here; its rows of rolling hold in the"
    " axes of the ball, ours in those of the disc", 1e-4,
)  # fmt: skip
def ball(tolerance: float) -> Any:
    """x, y on the disc, whose axes have turned by s; a torque on the axes of the ball, an observer of 1 kg on its skin."""
    x, y = ap.coordinates("x y")
    turn, T, s = ap.quaternion("b"), ap.parameters("T1 T2 T3"), 0.3 * ap.t + 0.6 * (exp(-ap.t / 2) - 1)
    at = [x * cos(s) - y * sin(s), x * sin(s) + y * cos(s), 1]
    body = ap.RigidBody(5, [2, 2, 2], at, turn, name="body")
    observer = ap.Particle(1, [at[i] + turn.rotation[i, 0] for i in range(3)], name="observer")
    v, w, spin = body.velocity(), turn.rotation * Matrix(turn.rates), s.diff(ap.t)
    rows = [ap.Constraint(v[0] - w[1] + spin * at[1], name="x"), ap.Constraint(v[1] + w[0] - spin * at[0], name="y")]
    push, up = dict[Any, Any](zip(turn.rates, T, strict=True)), Matrix([[0, 0, 9.81]])
    system = ap.System([x, y, turn], 0, (up * turn.rotation)[0], push, rows, bodies=[body, observer], name="ball on a disc")
    cost = ap.integral(sum(u**2 for u in T)) + 2.5e5 / 249 * ap.at(ap.t, "end")
    t = np.linspace(0, 4, 41)
    guess = {"t": t, x: 7 * (1 - t / 4), y: 7 * (1 - t / 4)}
    return ap.optimize(
        system, cost, T, {x: 7, y: 7}, (1, 10), end={x: 0, y: 0, x.d: 0, y.d: 0}, bounds={u: (-10, 10) for u in T}, guess=guess,
        tolerance=tolerance,
    )  # fmt: skip
