"""Which reactions are unique beside redundant rows: those of rows without which the rank is lower, the same with and without
redundant ones."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap

q = ap.coordinates("x0:6")


def machine(seed: int) -> tuple[ap.System, np.ndarray]:
    """Six masses under constant forces on rows A q = 0: some at random, and others in other units that follow from a few."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(3 + seed % 2, 6))
    chosen = rng.permutation(len(own))[: 2 + seed % 2]
    followers = [rng.normal(size=len(chosen)) @ own[chosen] * 10.0 ** rng.integers(-3, 4) for _ in range(1 + seed % 2)]
    A = rng.permutation(np.vstack([own, *followers]))
    rows = [ap.Constraint(sum(float(a) * x for a, x in zip(row, q, strict=True)), f"row {i}") for i, row in enumerate(A)]
    kinetic = sum(float(m) * x.d**2 / 2 for m, x in zip(rng.uniform(0.5, 2, 6), q, strict=True))
    return ap.System(q, kinetic, forces={x: float(F) for x, F in zip(q, rng.normal(size=6), strict=True)}, constraints=rows), A


@pytest.mark.parametrize("seed", range(4))
def test_reactions_that_are_not_unique_are_named(seed, tmp_path):
    system, A = machine(seed)
    unit = A / np.linalg.norm(A, axis=1, keepdims=True)
    rank = np.linalg.matrix_rank
    loose = [f"row {i}" for i in range(len(A)) if rank(np.delete(unit, i, 0), 1e-9) == rank(unit, 1e-9)]
    motion = ap.simulate(system, {}, 0.1, backend="vm")
    assert motion.redundant and list(motion.undetermined) == loose
    less = system.replace(constraints=[c for c in system.constraints if c.name not in motion.redundant])
    alone = ap.simulate(less, {}, 0.1, backend="vm")
    assert alone.undetermined == ()
    for name in (c.name for c in system.constraints if c.name not in loose):
        np.testing.assert_allclose(motion.reaction(name), alone.reaction(name)[0], rtol=1e-9)
    assert f"reactions of {', '.join(loose[:6])}" in dict(motion.verify().rows)["redundant rows"]
    again = ap.load(motion.save(tmp_path / "m.nc"))
    assert again.undetermined == motion.undetermined and again.verify().rows == motion.verify().rows
