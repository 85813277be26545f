"""A disc of opty's gallery that pushes another one to a point, by striking it.

A guess without contact has no gradient towards one. The guess here is a simulated motion: the full force turns as in `TURNS`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Matrix, cos, sin, sqrt, tanh

import appell as ap
from benchmarks.gallery.published import problem

TURNS = (3.10, 3.25, 3.09, 2.66, 2.05, 0.72, 0.55, 0.17, 0.58, 1.10, 0.53, 0.46, 0.05)
"""Direction of the force every 0.2 s, rad. An evolution strategy on the distance from the goal found them."""


def two_discs() -> Any:
    """Centres x, y and angles a of two discs with a particle of 1 kg on each rim; f, g push the first one."""
    q = x1, y1, a1, x2, y2, a2 = ap.coordinates("x1 y1 a1 x2 y2 a2")
    f, g = ap.parameters("f g")
    way = Matrix([x2 - x1, y2 - y1])
    gap, n = sqrt(way.dot(way)) - 2.25, way / sqrt(way.dot(way))
    slip = (x1.d - x2.d) * n[1] - (y1.d - y2.d) * n[0] - 1.25 * a1.d - a2.d  # of the rims, along n × z
    press, rub = 500 * gap * (1 - tanh(50 * gap)), -slip / 4
    push = {x1: f + press * n[0] + rub * n[1], y1: g + press * n[1] - rub * n[0], a1: -1.25 * rub}
    push |= {x2: -press * n[0] - rub * n[1], y2: -press * n[1] + rub * n[0], a2: -rub}
    energy = 0
    for (x, y, a), m, r in (((x1, y1, a1), 1.56, 1.25), ((x2, y2, a2), 1.0, 1.0)):
        rim = Matrix([x.d - r * a.d * cos(a), y.d - r * a.d * sin(a)])
        energy += m * (x.d**2 + y.d**2) / 2 + m * r**2 * a.d**2 / 4 + rim.dot(rim) / 2
        push |= {s: push[s] - 0.25 * 9.81 * m * tanh(50 * s.d) for s in (x, y)}
    return ap.System(q, energy, 0, push, name="two discs"), (x1, x2, y2), (f, g)


@problem(
    "disc that pushes a disc", "beginner/plot_disc_pushing_disc", 1542.79, "objective",
    "from the last of opty's twelve starts, x = 8.75 m; two strikes in place of opty's three", 1e-3, model=two_discs,
)  # fmt: skip
def pushed_disc(tolerance: float) -> Any:
    system, (x1, x2, y2), (f, g) = two_discs()
    start = {x1: 8.75, x2: 5, y2: 5}

    def turning(t: float, q: Any, v: Any) -> dict[Any, float]:
        angle, size = np.interp(t + 0.01, 0.2 * np.arange(len(TURNS)), TURNS), 25.0 * (t < 2.49)
        return {f: size * np.cos(angle), g: size * np.sin(angle)}

    guess = ap.simulate(system, start, 3.0, control=turning, rate=50)
    return ap.optimize(
        system, ap.integral(f**2 + g**2), [f, g], start, 3.0, end={x2: 10, y2: 10}, bounds={f: (-25, 25), g: (-25, 25)},
        subject_to=[f**2 + g**2 <= 625], guess=guess, tolerance=tolerance,
    )  # fmt: skip
