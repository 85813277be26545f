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


@pytest.mark.parametrize("kind", [ap.Constraint, ap.Unilateral])
def test_a_rest_on_four_legs_names_what_it_cannot_know(kind):
    """z + x_i α + y_i β on four legs: one too many; a guide beside them carries what it must."""
    x, z, alpha, beta = ap.coordinates("x z alpha beta")
    legs = [kind(z + i * alpha + k * beta, f"leg {i} {k}") for i in (1, -1) for k in (1, -1)]
    guide = ap.Constraint(x - 2, "guide")
    kinetic = (x.d**2 + z.d**2 + (alpha.d**2 + beta.d**2) / 3) / 2
    table = ap.System([x, z, alpha, beta], kinetic, 9.81 * z, {x: 3.0}, [guide, *legs], name="table")
    rest = ap.equilibrium(table, {x: 2.0})
    assert rest.undetermined == tuple(leg.name for leg in legs)
    assert sum(rest.reaction(leg) for leg in legs) == pytest.approx(9.81) and rest.reaction(guide) == pytest.approx(-3.0)
    assert "not unique, one of many possibilities: Λ of 'leg 1 1'" in str(rest)
    three = table.replace(constraints=[guide, *(ap.Constraint(leg.function if kind is ap.Unilateral else leg.residual, leg.name)
                                                for leg in legs[:3])])  # fmt: skip
    assert ap.equilibrium(three, {x: 2.0}).undetermined == ()
