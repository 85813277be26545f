"""The person of opty's gallery who runs: seven rigid segments (Winter's, 75 kg and 1.8 m) on a rigid floor."""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Eq, Matrix, sin

import appell as ap
from benchmarks.gallery.bodies import ANKLE, DEGREE, FEET, SHANK, THIGH, column, reaching, turned
from benchmarks.gallery.published import PI, problem

SPEED = 3.0
"""Mean speed, m/s."""


def runner() -> Any:
    """x, y of the hip; angles against the vertical of trunk a, thighs b, e, shanks c, f and feet d, g, right and left."""
    q, torques = ap.coordinates("x y a b c d e f g"), ap.parameters("B C D E F G")
    a, hip, v, walls, work = q[2], column(*q[:2]), Matrix([s.d for s in q]), [], 0
    parts = [(50.85, 3.1777, hip + turned(a, 0, 0.3155), a)]
    for side, (b, c, d), T in (("right", q[3:6], torques[:3]), ("left", q[6:], torques[3:])):
        ankle = (knee := hip + turned(b, 0, -THIGH)) + turned(c, 0, -SHANK)
        parts += [(7.5, 0.1522, hip + turned(b, 0, -0.191), b), (3.4875, 0.0624, knee + turned(c, 0, -0.1917), c)]
        parts += [(1.0875, 0.0184, ankle + turned(d, 0.0768, -0.0351), d)]
        heel, toe = (ankle + turned(d, at, -ANKLE) for at in (-0.06, 0.15))
        walls += [ap.Unilateral(p[1], name=f"{side} {at}", restitution=0) for p, at in ((heel, "heel"), (toe, "toe"))]
        walls += [ap.Friction((toe.jacobian(q) * v)[0], normal=walls[-1], coefficient=1, name=f"{side} grip")]
        work += T[0] * (b - a) + T[1] * (c - b) + T[2] * (d - c)
    energy = sum(m * (w := at.jacobian(q) * v).dot(w) / 2 + J * s.d**2 / 2 for m, J, at, s in parts)
    push, weight = {s: work.diff(s) for s in q}, 9.81 * sum(m * at[1] for m, _, at, _ in parts)
    return ap.System(q, energy, weight, push, walls, name="runner"), q, torques


def _stride(q: Any, duration: float) -> dict[Any, Any]:
    """A guess: the hip at a steady speed and height, a third of the time on the right foot, in the air, on the left foot."""
    s = np.linspace(0, 1, 49)
    hip = np.stack([SPEED * duration * s, np.full(len(s), 0.91)], axis=1)
    found: dict[Any, Any] = {"t": duration * s, q[0]: hip[:, 0], q[1]: hip[:, 1], q[2]: np.full(len(s), -0.05)}
    right, left, third = np.clip(1.5 * s - 0.5, 0, 1), np.clip(1.5 * s, 0, 1), SPEED * duration / 3
    ahead = np.where(s <= 1 / 3, -3 * s, right - 1), np.where(s <= 2 / 3, left, 3 - 3 * s)
    for (b, c), x, lift, near in ((q[3:5], ahead[0], right, (0.3, -0.4)), (q[6:8], ahead[1], 1 - left, (0.5, -0.5))):
        ankle = np.stack([hip[:, 0] + third * x, ANKLE + 0.07 * lift], axis=1)
        found |= dict(zip((b, c), reaching(hip, ankle, near).T, strict=True))
    return found | {w.d: np.gradient(found[w], duration * s) for w in q if w in found}


def _ranges(q: Any, torques: Any) -> dict[Any, Any]:
    """opty's bounds, of torques as well."""
    rate = 400 * DEGREE
    found: dict[Any, Any] = {T: (-MOST, MOST) for T in torques} | {q[1]: (0.5, 1.5), q[2]: (-PI / 3, PI / 3)}
    found |= {q[0].d: (0, 10), q[2].d: (-rate, rate)}
    for leg in (q[3:6], q[6:]):
        for upper, lower, (low, high) in zip((q[2], *leg), leg, ((-40, 40), (-60, 0), (-30, 30)), strict=False):
            found |= {lower - upper: (low * DEGREE, high * DEGREE), lower.d - upper.d: (-rate, rate)}
    return found


MOST = 300.0
"""Largest torque of a joint, N m."""


@problem(
    "human gait", "advanced/plot_human_gait", None, "objective",
    "the floor is rigid, and feet land and stay flat; half a period from mid-stance to mid-stance, with a flight between; the"
    " goal is per metre, since per half period steps become as short as allowed; torques up to 300 N m in place of 100",
    1e-3, model=runner,
)  # fmt: skip
def human_gait(tolerance: float) -> Any:
    system, q, torques = runner()
    b, c, d, e, f, g = q[3:]
    same = {q[2]: q[2], b: e, c: f, d: g, e: b, f: c}  # y and g follow, since the left foot is flat
    again = [Eq(ap.at(s, "end"), ap.at(w, "start")) for s, w in same.items()]
    again += [Eq(ap.at(s.d, "end"), ap.at(w.d, "start")) for s, w in same.items()]
    again += [Eq(ap.at(q[0], "end"), SPEED * ap.at(ap.t, "end")), Eq(ap.at(THIGH * sin(b) + SHANK * sin(c), "start"), 0)]
    start = {s: ap.free for s in q[1:]} | {s.d: ap.free for s in q}
    effort = ap.integral(sum(T**2 for T in torques)) / ap.at(q[0], "end")
    return ap.optimize(
        system, effort, torques, start, (0.15, 0.6), bounds=_ranges(q, torques), subject_to=again, guess=_stride(q, 0.24),
        tolerance=tolerance, phases=[[f"right {at}" for at in FEET], (), [f"left {at}" for at in FEET]],
    )  # fmt: skip
