"""Frames that are joined without a turn between them agree: half a turn about any axis does not count as joined."""

from __future__ import annotations

import numpy as np
from tests.families.family import family

import appell as ap
from appell.tree import Inertia, Joint, Tree, loop

LENGTHS = (1.0, 1e-3, 30.0)
KINDS = ("fixed", "prismatic")


@family(sample=(0,))
def starts_that_are_half_a_turn_off(seed: int) -> None:
    """From random turns, those near half a turn among them, `ap.consistent` finds frames that agree, or says that it does not;
    along a prismatic joint they may be apart. Member 0: a ball in a socket that is welded to the ground, turned over."""
    rng, size, kind = np.random.default_rng(seed), LENGTHS[seed % 3], KINDS[seed // 3 % 2]
    body = Inertia.at_centre(1.0, np.zeros(3), size**2 * np.diag([0.02, 0.03, 0.025]))
    tree = Tree([Joint("free", "floating", body=body)], backend="vm")
    ground = tree.frame("world").at((size * rng.normal(size=3)).tolist(), rng.uniform(-1, 1, 3).tolist())
    system = tree.system(loop(ground, tree.frame("free").at((0.3 * size, 0, 0)), kind, name="weld"))
    axis = rng.normal(size=3)
    half = 0.5 * (np.pi - 0.2 if seed % 2 == 0 else rng.uniform(0, np.pi))
    turn = np.append(np.sin(half) * axis / np.linalg.norm(axis), np.cos(half))
    try:
        found = ap.consistent(system, dict(zip(system.coordinates, [*(size * rng.normal(size=3)), *turn], strict=True)))
    except ap.ConstraintError as error:
        assert "no state on the constraints was found near this start" in str(error), error
        return
    q = np.array([float(found[x]) for x in system.coordinates])
    R, _ = tree.placement("free", q)
    wanted, _ = tree.placement(ground, q)
    assert np.abs(R - wanted).max() < 1e-8, (R, wanted)
