"""The unit of mass decides nothing: bodies of 1e-9 kg and of 1e12 kg take the steps of one of 1 kg."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.families.family import family

import appell as ap

MASSES = (1e6, 1e12, 1e-9, 3e8)


def _system(kind: int, m: float, seed: int) -> tuple[ap.System, dict[Any, float]]:
    """Forces that do no work in sum, free, beside a wall or from rest, and a row that is nonlinear in the velocities."""
    q = x, y, z = ap.coordinates("x y z")
    rng = np.random.default_rng(seed)
    B, T = rng.uniform(0.2, 0.8, 3), m * (x.d**2 + y.d**2 + z.d**2) / 2
    push = {s: m * (q[i - 2].d * B[i - 1] - q[i - 1].d * B[i - 2]) for i, s in enumerate(q)}
    start = {x.d: 10.0, y.d: -7.0, z.d: 3.0}
    if kind == 0:
        return ap.System(q, T, 0, push), start
    if kind == 1:
        return ap.System(q, T, 0, push, [ap.Unilateral(x + 5, restitution=0.7, name="wall")]), start
    if kind == 2:
        return ap.System(q, T, 9.81 * m * z, push), {}
    slope = float(rng.uniform(1.5, 3.0))
    row = x.d**2 + y.d**2 - slope**2 * z.d**2
    return ap.System(q, T, m * z, constraints=[row]), {x.d: slope * 0.6, y.d: slope * 0.8, z.d: 1.0}


@family(count=16, sample=(0, 3))
def steps_do_not_depend_on_the_mass(seed: int) -> None:
    """The same motion in about as many steps."""
    ours, plain = (_system(seed % 4, m, seed) for m in (MASSES[seed // 4], 1.0))
    found, expected = (ap.simulate(*one, 2.0, max_steps=20_000) for one in (ours, plain))
    assert found.ok and expected.ok, (found.message, expected.message)
    assert np.allclose(found.q[-1], expected.q[-1], rtol=1e-7, atol=1e-9), (found.q[-1], expected.q[-1])
    assert len(found.t) <= 2 * len(expected.t) + 10, (len(found.t), len(expected.t))


@family(sample=(1,))
def energies_of_a_higher_degree_are_refused(seed: int) -> None:
    """A kinetic energy that is not quadratic in the velocities is refused, whatever the mass."""
    x, y = ap.coordinates("x y")
    m, share = 10.0 ** (-3 * seed), float(np.random.default_rng(seed).uniform(0.1, 1.0))
    with pytest.raises(ap.ModelError, match="degree at most 2"):
        ap.simulate(ap.System([x, y], m * (x.d**2 + y.d**2 + share * x.d**4) / 2), {x.d: 0.5}, 1.0)
