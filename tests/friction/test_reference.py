"""Random mechanisms with friction against an event-driven reference and Moreau's time-stepping (`make sweep` has more)."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.friction import Contact, EventDriven, Mechanism
from tests.reference.friction_families import FAMILIES, for_appell, letters, mechanism
from tests.reference.friction_sweep import UNTIL, broken, compared
from tests.reference.moreau import moreau

import appell as ap


@pytest.mark.parametrize(("name", "seed"), [*((name, 3) for name in FAMILIES), ("chain", 36), ("chain", 235)])
def test_random_mechanism(name: str, seed: int) -> None:
    """States to 1e-9 (1e-6 after impacts that accumulate), cones and reactions, the work lost, the balance of energy.
    In chain 3 a blow lifts another contact, in chain 36 it ends sticking, in 235 two contacts lift off within 1 ms;
    there steps are compiled ones."""
    m = mechanism(name, seed)
    motion, gap = compared(m, backend="c" if name == "chain" else "vm")
    assert gap < (1e-9 if len(motion.impacts) < 20 else 1e-6)
    assert broken(m, motion) == []


@pytest.mark.parametrize(("name", "seed"), [("ladder", 2), ("dragging_pendulum", 2), ("cart", 0)])
def test_moreau_arrives_at_the_same_motion(name: str, seed: int) -> None:
    """First order, with a factor that depends on where events fall in a step: a quarter of the step, less than 0.4 of it."""
    m = mechanism(name, seed)
    system, start, parameters = for_appell(m)
    motion = ap.simulate(system, start, UNTIL, parameters=parameters, rtol=1e-10, backend="vm")
    mine = np.array([motion.final[x] for x in (*system.coordinates, *system.velocities)])
    off, less = (np.abs(moreau(m, UNTIL, steps) - mine).max() for steps in (200, 800))
    assert off < 0.05 and less < 0.4 * off


def test_the_reference_slides_and_stops() -> None:
    """A block thrown on a floor: v0²/(2μg) to the stop, then for ever."""
    q, v = letters("x y")
    block = Mechanism(q, v, (v[0] ** 2 + v[1] ** 2) / 2, 10 * q[1], (0, 0), (Contact(q[1], v[0], 0.2),), start=(0, 0, 1, 0))
    engine = EventDriven(block)
    assert engine.run(1.0)[-1] == pytest.approx([0.25, 0, 0, 0], abs=1e-12)
    assert [(event.kind, event.time) for event in engine.events] == [("stop", pytest.approx(0.5, abs=1e-12))]
