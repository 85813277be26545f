"""A control and unilateral constraints: contacts go on through the readings, impacts are those of the held inputs."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap

x, u = ap.coordinates("x"), ap.parameters("u")
MASS = 2.0


def against_a_wall(restitution, **options) -> ap.Motion:
    """Pushed against a wall at x = 1 by 8 + t_k N, and drawn away from the reading at t = 3 on."""
    wall = ap.Unilateral(1 - x, name="wall", restitution=restitution)
    system = ap.System([x], MASS * x.d**2 / 2, 0, {x: u}, constraints=[wall], name="pushed")
    return ap.simulate(system, until=4.0, control=lambda t, q, v: {u: 8.0 + t if t < 2.99 else -1.0}, rate=10, **options)


@pytest.mark.parametrize("restitution", [0, 0.3])
@pytest.mark.parametrize("options", [{}, {"times": np.linspace(0, 4, 81)}, {"backend": "vm"}], ids=["steps", "times", "vm"])
def test_contact_goes_on_through_the_readings(restitution, options):
    motion = against_a_wall(restitution, **options)
    kinds = [impact.kind for impact in motion.impacts]
    assert kinds.count("landing") == kinds.count("leaving") == 1 and kinds[0] == "impact" and kinds[-1] == "leaving"
    landed = next(impact.time for impact in motion.impacts if impact.kind == "landing")
    assert motion.impacts[-1].time == 3.0 and landed < 2.99
    assert [faces for _, faces in motion.contacts] == [(), (0,), ()]
    middle = np.linspace(landed + 1e-6, 2.9999, 40)
    pressed = motion.at(middle)
    assert pressed[x] == pytest.approx(np.ones(40), abs=1e-12)
    assert pressed.reaction("wall") == pytest.approx(pressed[u]) and pressed[u] == pytest.approx(8 + np.floor(middle * 10) / 10)
    gone = motion.at([3.5, 4.0])
    assert gone[x] == pytest.approx(1 - np.array([0.5, 1.0]) ** 2 / 4, abs=1e-11) and np.all(gone.reaction("wall") == 0)
    assert motion.reaction("wall").min() >= 0 and np.abs(motion.energy_error).max() < 1e-11
    assert motion.dataset.sizes["impact"] == len(motion.impacts) and "impact" in str(motion.verify())


def test_impacts_are_those_of_the_held_inputs():
    """Flights of constant acceleration, from reading to reading, in closed form."""
    times, speeds, e = [], [], 0.3
    position, speed = 0.0, 0.0
    for k in range(40):
        now, left, a = k / 10, 0.1, (8.0 + k / 10 if k < 30 else -1.0) / MASS
        while len(times) < 5:
            disc = speed**2 + 2 * a * (1 - position)
            hit = (np.sqrt(disc) - speed) / a if disc >= 0 else np.inf
            if not 1e-9 < hit <= left:
                break
            speed, position, now, left = speed + a * hit, 1.0, now + hit, left - hit
            times.append(now)
            speeds.append(speed)
            speed *= -e
        position, speed = position + speed * left + a * left**2 / 2, speed + a * left
    blows = [impact for impact in against_a_wall(0.3).impacts if impact.kind == "impact"][:5]
    assert [blow.time for blow in blows] == pytest.approx(times, abs=1e-11)
    assert [-blow.before for blow in blows] == pytest.approx(speeds, abs=1e-10)
    assert len(against_a_wall(0.3).plot().axes) == 4  # coordinates, inputs, reactions, energy error


def test_a_redundant_floor_lands_once_under_control():
    """One floor written three times: each lands once and leaves when the push at t = 1 lifts the body."""
    y, push = ap.coordinates("y"), ap.parameters("push")
    floors = [ap.Unilateral(y, "floor", 0.5), ap.Unilateral(y, "again", 0.5), ap.Unilateral(2 * y, "twice", 0.5)]
    system = ap.System([y], y.d**2 / 2, 9.81 * y, {y: push}, floors, name="floors")
    motion = ap.simulate(system, {y: 0.1}, 1.5, control=lambda t, q, v: {push: 20.0 if t >= 1 else 0.0}, rate=20.0)
    told = [(event.kind, event.constraint) for event in motion.impacts if event.kind != "impact"]
    assert told == [(kind, floor.name) for kind in ("landing", "leaving") for floor in floors]
