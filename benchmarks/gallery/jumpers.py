"""The person of opty's gallery who turns a somersault from standing: four rigid segments (Winter's, 75 kg and 1.8 m)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator
from sympy import Matrix, lambdify

import appell as ap
from benchmarks.gallery.bodies import ANKLE, DEGREE, FEET, SHANK, THIGH, column, turned
from benchmarks.gallery.published import PI, problem

STIFFNESS, DAMPING = 1000.0, 50.0
"""Of each joint about the angle that it is set to, N m/rad and N m s/rad."""
MOST, FASTEST = 500.0, 1000 * DEGREE
"""The largest torque of a joint, N m, and the largest rates of the trunk and of joints, rad/s."""
TOES = "toe", "grip"
"""Contacts of feet that stand on their toes."""


def jumper() -> Any:
    """x, y of the centre of mass; angles against the vertical of trunk a, thighs b, shanks c, feet d; B, C, D: set angles."""
    q, sets = ap.coordinates("x y a b c d"), ap.parameters("B C D")
    (a, b, c, d), v = q[2:], Matrix([s.d for s in q])
    ankle = (knee := turned(b, 0, -THIGH)) + turned(c, 0, -SHANK)
    parts = [(50.85, 3.1777, turned(a, 0, 0.3155), a), (15, 0.3044, turned(b, 0, -0.191), b)]
    parts += [(6.975, 0.1248, knee + turned(c, 0, -0.1917), c), (2.175, 0.0368, ankle + turned(d, 0.0768, -0.0351), d)]
    hip = column(*q[:2]) - sum((m * at for m, _, at, _ in parts), column(0, 0)) / 75
    joints = {b - a: sets[0], c - b: sets[1], d - c: sets[2]}
    torques = [STIFFNESS * (s - w) - DAMPING * ap.total_derivative(w) for w, s in joints.items()]
    feet = {"heel": hip + ankle + turned(d, -0.06, -ANKLE), "toe": hip + ankle + turned(d, 0.15, -ANKLE)}
    walls = [ap.Unilateral(at[1], name=name, restitution=0.1 * (name == "heel")) for name, at in feet.items()]
    walls += [ap.Friction((feet["toe"].jacobian(q) * v)[0], normal=walls[1], coefficient=1, name="grip")]
    energy = sum(m * (w := (hip + at).jacobian(q) * v).dot(w) / 2 + J * s.d**2 / 2 for m, J, at, s in parts)
    push = {s: 2 * sum(T * w.diff(s) for T, w in zip(torques, joints, strict=True)) for s in q}
    return ap.System(q, energy, 75 * 9.81 * q[1], push, walls, name="jumper"), q, joints, torques, feet


SKETCH = [
    (0.0, 0, 0, 0, 0), (0.4, 18, -27, -1, 0), (0.6, 32, -51, -1, 0), (0.74, 32, -56, -1, 0), (0.776, 27, -50, -3, 0),
    (0.83, 10, -17, -30, -7), (0.874, -15, 20, -34, -24), (0.95, -68, 89, -73, -21), (1.0, -103, 131, -119, -60),
    (1.1, -184, 149, -149, -154), (1.2, -268, 144, -149, -263), (1.25, -302, 116, -146, -304), (1.3, -320, 70, -114, -380),
    (1.35, -325, 21, -65, -379), (1.4065, -332, -19, -9, -372), (1.45, -335, -21, -2, -360), (1.6, -349, -5, -7, -360),
    (1.8, -359, 7, -15, -360), (2.0, -360, 0, 0, -360),
]  # fmt: skip
"""Times, s, and angles of trunk, hips, knees and feet (against the vertical), degrees."""
ENDS = 0.776, 0.874, 1.4065, 1.45
"""Times at which heels rise, toes rise, toes touch down and heels touch down in the sketch, s."""


def _sketched(q: Any, joints: Any, feet: Any) -> dict[Any, Any]:
    """The sketch as arrays: the toes stay where they are on the ground, and the centre of mass follows a parabola in flight."""
    x, y, a, b, c, d = q
    t, rows = np.linspace(0, 2, 401), np.array(SKETCH)
    trunk, hips, knees, foot = (PchipInterpolator(rows[:, 0], column)(t) * DEGREE for column in rows[:, 1:].T)
    found: dict[Any, Any] = {"t": t, "phases": ENDS, a: trunk, b: trunk + hips, c: trunk + hips + knees, d: foot}
    toe = np.array(lambdify([(a, b, c, d)], list(feet["toe"].subs({x: 0, y: 0})))([found[s] for s in (a, b, c, d)])).T
    at = toe[0, 0] - toe[:, 0], -toe[:, 1]
    off, down = np.searchsorted(t, ENDS[1:3])
    share = (t[off : down + 1] - t[off]) / (t[down] - t[off])
    at[0][down:] += at[0][off] - at[0][down] + 0.1
    for values in at:
        values[off : down + 1] = values[off] + (values[down] - values[off]) * share
    at[1][off : down + 1] += 9.81 / 2 * (t[down] - t[off]) ** 2 * share * (1 - share)
    found |= {x: at[0], y: at[1]} | dict(zip(joints.values(), (hips, knees, foot - found[c]), strict=True))
    return found | {s.d: np.gradient(found[s], t) for s in q}


@problem(
    "standing flip", "advanced/plot_standing_flips", None, "objective",
    "the floor is rigid, both legs move alike, 2 s; a joint is driven by the angle that it is set to, as a spring and damper"
    " of 1000 N m/rad and 50 N m s/rad, since errors grow a thousandfold before take-off if torques are given; the torque"
    " counts, up to 500 N m; trunk and joints turn by up to 1000°/s in place of 600°/s; toes land"
    " first, and heels touch down at no speed, since after a blow on both a motion has several ways to go on; opty stores no"
    " solution",
    3e-2, model=jumper,
)  # fmt: skip
def standing_flip(tolerance: float) -> Any:
    system, q, joints, torques, feet = jumper()
    guess = _sketched(q, joints, feet)
    bounds: dict[Any, Any] = {q[2].d: (-FASTEST, FASTEST)} | {T: (-MOST, MOST) for T in torques}
    for w, (low, high) in zip(joints, ((-60, 150), (-150, 0), (-30, 30)), strict=True):
        bounds |= {w: (low * DEGREE, high * DEGREE), ap.total_derivative(w): (-FASTEST, FASTEST)}
    end = {s: -2 * PI for s in q[2:]} | {s.d: 0 for s in q}
    return ap.optimize(
        system, ap.integral(2 * sum(T**2 for T in torques)), list(joints.values()), {q[1]: float(guess[q[1]][0])}, 2.0, end=end,
        bounds=bounds, guess=guess, tolerance=tolerance, phases=[FEET, TOES, (), TOES, FEET],
    )  # fmt: skip
