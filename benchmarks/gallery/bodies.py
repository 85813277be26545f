"""A person of opty's gallery, of seven rigid segments (Winter's, 75 kg and 1.8 m), on a rigid floor.

opty's floor and seat are springs of 5e7 N/m³, with friction that turns within 0.01 m/s; here they are walls that rub.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import fsolve
from sympy import Matrix, cos, sin

import appell as ap
from benchmarks.gallery.published import PI, problem

THIGH, SHANK, ANKLE, DEGREE = 0.441, 0.4428, 0.07, PI / 180
"""Lengths and the height of the ankle, m."""
SEAT = ANKLE + SHANK
FEET = "heel", "toe", "grip"
"""Contacts of feet that stand and do not slip."""


def turned(angle: Any, x: float, y: float) -> Any:
    return column(x * cos(angle) - y * sin(angle), x * sin(angle) + y * cos(angle))


def person(seat: Any = None) -> Any:
    """x, y of the hip; angles against the vertical of trunk a, thighs b, shanks c and feet d; both legs move alike."""
    q, torques = ap.coordinates("x y a b c d"), ap.parameters("B C D")
    (a, b, c, d), v, hip = q[2:], Matrix([s.d for s in q]), column(*q[:2])
    knee = hip + turned(b, 0, -THIGH)
    ankle = knee + turned(c, 0, -SHANK)
    parts = [(50.85, 3.1777, hip + turned(a, 0, 0.3155), a), (15, 0.3044, hip + turned(b, 0, -0.191), b)]
    parts += [(6.975, 0.1248, knee + turned(c, 0, -0.1917), c), (2.175, 0.0368, ankle + turned(d, 0.0768, -0.0351), d)]
    touch = {"heel": ankle + turned(d, -0.06, -ANKLE), "toe": ankle + turned(d, 0.15, -ANKLE)} | ({"hip": hip} if seat else {})
    walls = {name: ap.Unilateral(p[1] - (seat if name == "hip" else 0), name=name, restitution=0) for name, p in touch.items()}
    grips = [ap.Friction((touch[at].jacobian(q) * v)[0], normal=walls[at], coefficient=1, name=name)
             for at, name in (("toe", "grip"), ("hip", "cloth")) if at in touch]  # fmt: skip
    energy = sum(m * (w := at.jacobian(q) * v).dot(w) / 2 + J * s.d**2 / 2 for m, J, at, s in parts)
    work: Any = 2 * sum(T * (lower - upper) for T, upper, lower in zip(torques, (a, b, c), (b, c, d), strict=True))
    push = {s: work.diff(s) for s in q}
    weight = 9.81 * sum(m * at[1] for m, _, at, _ in parts)
    return ap.System(q, energy, weight, push, [*walls.values(), *grips], name="person"), q, torques


def column(x: Any, y: Any) -> Any:
    return Matrix([x, y])


def limits(q: Any, rate: float) -> dict[Any, Any]:
    """Bounds of the joints between trunk, thighs, shanks and feet, and of their rates."""
    found: dict[Any, Any] = {q[2].d: (-rate, rate)}
    for k, (low, high) in enumerate(((-60, 150), (-150, 0), (-30, 30))):
        found |= {q[k + 3] - q[k + 2]: (low * DEGREE, high * DEGREE), q[k + 3].d - q[k + 2].d: (-rate, rate)}
    return found


def reaching(hip: Any, ankle: Any, near: Any) -> Any:
    """Angles of thighs and shanks between places of hip and ankle, (k, 2)."""
    found = [near]
    for (x, y), (u, v) in zip(hip, ankle, strict=True):
        miss = lambda z, dx=u - x, dy=v - y: [
            THIGH * np.sin(z[0]) + SHANK * np.sin(z[1]) - dx,
            THIGH * np.cos(z[0]) + SHANK * np.cos(z[1]) + dy,
        ]
        found.append(fsolve(miss, found[-1]))
    return np.array(found[1:])


@problem(
    "sit to stand", "advanced/plot_sit_to_stand", None, "objective",
    "floor and seat are rigid, both legs move alike, the feet stand where the plan puts them and stay there, in 1.2 s (the"
    " longer, the cheaper); opty's feet begin below the knees and end there, after a step",
    1e-3, model=person,
)  # fmt: skip
def sit_to_stand(tolerance: float) -> Any:
    system, (x, y, a, b, c, d), torques = person(SEAT)
    q = (x, y, a, b, c, d)
    s = np.linspace(0, 1, 49)
    up = np.clip(2 * s - 1, 0, 1)
    rise = up - np.sin(2 * PI * up) / (2 * PI)
    hip = np.stack([0.241 * rise, SEAT + (THIGH - 1e-4) * rise], axis=1)
    legs = reaching(hip, [(0.241, ANKLE)] * len(s), (1.46, -0.46))
    guess: dict[Any, Any] = {"t": 1.2 * s, a: -0.7 * np.sin(PI * s), b: legs[:, 0], c: legs[:, 1], x: hip[:, 0], y: hip[:, 1]}
    guess |= {w.d: np.gradient(guess[w], guess["t"]) for w in (x, y, a, b, c)}
    end = {y: SEAT + THIGH} | {w: 0 for w in (a, b, c, d)} | {w.d: 0 for w in q}
    return ap.optimize(
        system, ap.integral(2 * sum(T**2 for T in torques)), torques, {y: SEAT, b: ap.free, c: ap.free}, 1.2, end=end,
        bounds={a: (-60 * DEGREE, 90 * DEGREE)} | limits(q, 400 * DEGREE), guess=guess, tolerance=tolerance,
        phases=[("hip", "cloth", *FEET), FEET],
    )  # fmt: skip
