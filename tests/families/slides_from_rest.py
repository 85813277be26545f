"""Where derivatives with friction and resets do not exist, or do though it does not look like it: starts at rest that slide at
once, maps that lead there, guards that are only touched."""

from __future__ import annotations

import numpy as np
from sympy import cos
from tests.families.family import family
from tests.families.stick_slip import SIXTH

import appell as ap

x, y, phi = ap.coordinates("x y phi")
k, F, c, mu, g = ap.parameters("k F c mu g", positive=True)


def released(kind: int, rng: np.random.Generator):
    """A body without slip on something rough, pulled by more than friction bears: system, start, parameters, its slip."""
    values = {k: rng.uniform(3, 6), F: rng.uniform(0.5, 1.5), c: rng.uniform(0.2, 0.5), mu: 0.1, g: 10.0}
    wire = ap.Constraint(y, "wire")
    laws = [
        lambda: ap.System([x], x.d**2 / 2, k * x**2 / 2, constraints=[ap.Friction(x.d, limit=F, name="rub")]),
        lambda: ap.System([x], x.d**2 / 2, k * x**2 / 2, constraints=[ap.Friction(x.d - c, limit=F, name="rub")]),
        lambda: ap.System(
            [x, y], kinetic=(x.d**2 + y.d**2) / 2, potential=k * x**2 / 2 + g * y,
            constraints=[wire, ap.Friction(x.d, normal=wire, coefficient=mu, name="rub")],
        ),
        lambda: ap.System(
            [x, phi], kinetic=(x.d**2 + phi.d**2) / 2, potential=k * (x - phi) ** 2 / 2 + k * x**2,
            constraints=[ap.Friction(x.d, limit=F, name="rub"), ap.Friction(phi.d - c * cos(ap.t), limit=F, name="pin")],
        ),
    ]  # fmt: skip
    system = laws[kind % 4]()
    start = {x: rng.uniform(1.5, 2.0), **({x.d: values[c]} if kind % 4 == 1 else {})}
    return system, start, {p: values[p] for p in values if p in system.parameters}


@family(sample=(0,))
def a_start_that_slides_from_rest_has_two_derivatives(seed: int) -> None:
    """The differences of both sides are not the same, and `variations` says so; an orbit is found from such a guess."""
    rng = np.random.default_rng(seed)
    system, start, values = released(seed, rng)
    found = ap.variations(system, start, 0.4, values, backend=("vm", "c")[seed // 8])
    assert not found.ok and "'rub' begins to slide from rest at the start" in found.message
    ends = [
        ap.simulate(system, {**start, x.d: start.get(x.d, 0.0) + h}, 0.4, values, rtol=1e-11, atol=1e-13, backend="vm").v[-1]
        for h in (-1e-4, 0.0, 1e-4)
    ]
    assert np.abs((ends[1] - ends[0]) - (ends[2] - ends[1])).max() > 1e-6


@family(sample=(0,))
def a_map_to_rest_is_followed(seed: int) -> None:
    """Neighbours that begin at rest at their own instants all slide to one side: derivatives exist, as differences show."""
    rng = np.random.default_rng(seed)
    system = ap.System(
        [x], kinetic=x.d**2 / 2, potential=k * x**2 / 2,
        constraints=[ap.Friction(x.d - (c if seed % 2 else 0), limit=F, name="rub"),
                     ap.Reset(x - 1, {x.d: c if seed % 2 else 0, x: x + 1}, name="back")],
    )  # fmt: skip
    values = {k: rng.uniform(3, 5), F: rng.uniform(0.5, 1.5), c: 0.3}
    values = {p: values[p] for p in system.parameters}
    start, options = {x: 2.0, x.d: rng.uniform(-2, -1)}, {"rtol": 1e-13, "atol": 1e-15, "backend": "vm"}
    found = ap.variations(system, start, 1.0, values, **options)
    assert found.ok and found.motion.resets, found.message
    h, way, by = 2e-5, rng.uniform(-1, 1, 2), rng.uniform(-1, 1, len(values))

    def end(i: int) -> np.ndarray:
        moved = {s: v + i * h * d for (s, v), d in zip(values.items(), by, strict=True)}
        begin = {x: start[x] + i * h * way[0], x.d: start[x.d] + i * h * way[1]}
        motion = ap.simulate(system, begin, 1.0, moved, **options)
        return np.concatenate([motion.q[-1], motion.v[-1]])

    difference = SIXTH @ np.array([end(i) for i in (-3, -2, -1, 1, 2, 3)]) / h
    slope = found.monodromy @ way + found.parameters[-1] @ by
    assert np.allclose(difference, slope, atol=1e-8 * max(1.0, np.abs(slope).max()))


@family(sample=(0,))
def a_guard_that_is_only_touched_has_no_derivative(seed: int) -> None:
    """The motion turns back where its guard is zero, whatever its scale, or passes it with a rate."""
    rng = np.random.default_rng(seed)
    size, touch = (2.0, 1e-3, 50.0)[seed % 3], seed % 4 != 3
    level = size if touch else 0.9 * size
    system = ap.System(
        [x], kinetic=x.d**2 / 2, potential=k * x**2 / 2, constraints=[ap.Reset(x + level, {x.d: size}, name="kick")]
    )
    stiff = 1.0 if seed == 0 else rng.uniform(0.5, 30)
    found = ap.variations(system, {x: size}, 4.0 / np.sqrt(stiff), {k: stiff}, backend="vm")
    if touch and found.motion.resets:
        assert not found.ok and "'kick' only touches zero" in found.message
    elif not touch:
        assert found.ok and len(found.motion.resets) > 0
