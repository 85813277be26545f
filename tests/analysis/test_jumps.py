"""Derivatives of motions where forces jump, where a blow lifts a contact, and where only asked times were kept."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Abs, Heaviside, Mod, Piecewise, acot, atan, atan2, floor, frac, sign, sin
from tests.measures import extrapolated_slope

import appell as ap
from appell.analysis.orbits.force_jumps import surfaces

x, y = ap.coordinates("x y")
a, c, e0, g, k, om = ap.parameters("a c e0 g k om", positive=True)
TIGHT = {"rtol": 1e-12, "atol": 1e-14}


def end(system, z, until, parameters):
    start = dict(zip((*system.coordinates, *system.velocities), map(float, z), strict=True))
    motion = ap.simulate(system, start, until, parameters, times=[until], rtol=1e-13, atol=1e-15)
    return np.concatenate([motion.q[-1], motion.v[-1]])


def compare(system, start, until, parameters, tolerance=2e-7, motion=None):
    """Φ and Ψ at the end against extrapolated differences of motions."""
    found = ap.variations(motion, **TIGHT) if motion else ap.variations(system, start, until, parameters, **TIGHT)
    assert found.ok, found.message
    z = np.array([float(start.get(s, 0)) for s in (*system.coordinates, *system.velocities)])
    named = {str(p): v for p, v in parameters.items()}
    for j, d in enumerate(found.state[0].T):
        column = extrapolated_slope(lambda h, d=d: end(system, z + h * d, until, parameters), 5e-5)
        assert np.abs(found.monodromy[:, j] - column).max() < tolerance * max(1, np.abs(column).max()), j
    for j, name in enumerate(found.parameter_names):
        column = extrapolated_slope(lambda h, n=name: end(system, z, until, {**named, n: named[n] + h}), 5e-5)
        assert np.abs(found.parameters[-1][:, j] - column).max() < tolerance * max(1, np.abs(column).max()), name
    return found


def test_forces_that_jump():
    """One motion over a kink of V and jumps of six kinds, by place, velocity and time."""
    pushes = [-a * Heaviside(x), -a * sign(x.d), a * Heaviside(sin(om * ap.t)), c * floor(2 * x), c * Mod(ap.t, k)]
    pushes += [Piecewise((a, x + y.d > 0.3), (-c, True))]
    V = x**2 / 2 + y**2 + c * Abs(x - 0.2)
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, V, {x: sum(pushes), y: x}, name="jumping")
    assert len(surfaces(system)) == 7
    compare(system, {x: 1.3, x.d: -0.2, y: 0.3}, 3.0, {a: 0.1, c: 0.15, k: 1.3, om: 2.0}, tolerance=1e-6)


def test_saws_and_pulses_that_repeat():
    """A sawtooth, and a pulse whose condition jumps at the end of each period: the instants move with the period k."""
    force = a * frac(ap.t / k) ** 2 + c * Heaviside(Mod(ap.t, k) - e0)
    system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: force}, name="pulses")
    compare(system, {x: 0.3}, 2.5, {a: 2.0, c: 1.5, k: 0.9, e0: 0.2})


def test_jumps_that_no_switch_says():
    """The cut of atan2 behind the origin, acot at zero, atan at a pole: runs take small steps there, derivatives jump."""
    force = a * atan2(y, x) + c * acot(x - 0.1) + k * atan(1 / (y + 0.2))
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, (x**2 + y**2) / 2, {x: force, y: -a * atan2(y, x)}, name="cuts")
    compare(system, {x: 1.0, y.d: 1.1}, 4.2, {a: 0.2, c: 0.1, k: 0.05}, tolerance=3e-6)


def test_a_jump_at_the_wall_itself_is_seen_from_inside():
    force = -a * Heaviside(x) * x.d**2
    system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: force}, [ap.Unilateral(x, "wall", restitution=e0)])
    found = compare(system, {x: 1.0, x.d: -0.2}, 4.0, {a: 0.2, e0: 0.8})
    assert len(found.motion.impacts) == 1


def test_a_start_on_a_jump_has_no_derivative():
    system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: -a * sign(x.d)})
    found = ap.variations(system, {x: 3.0}, 1.0, {a: 0.3})
    assert not found.ok and "x.d = 0" in found.message


TWO = ap.System(
    [x, y], (x.d**2 + y.d**2 + a * x.d * y.d) / 2, g * y - k * x, {},
    [ap.Unilateral(y, "floor", restitution=0), ap.Unilateral(1 - x, "stop", restitution=e0)], name="on the floor",
)  # fmt: skip


def test_a_blow_that_lifts_a_contact():
    """A body on the floor is thrown up by a blow on the stop: the floor bears no impulse then."""
    found = compare(TWO, {x: 0.0, y: 0.3, x.d: 0.6}, 1.5, {g: 9.0, k: 2.0, a: 0.5, e0: 0.7})
    assert [i.kind for i in found.motion.impacts] == ["impact", "landing", "impact", "leaving", "impact", "landing"]


def test_release_from_a_state_that_is_zero_but_for_rounding():
    system = ap.System([x], x.d**2 / 2, g * x, {x: a * ap.t**2}, [ap.Unilateral(x, "floor", restitution=0)])
    found = compare(system, {x: 0.3}, 2.0, {g: 3.0, a: 2.0})
    assert [i.kind for i in found.motion.impacts] == ["impact", "landing", "leaving"]


def test_a_motion_of_which_only_asked_times_were_kept():
    ball = ap.System([x], x.d**2 / 2, g * x, {x: -c * x.d}, [ap.Unilateral(x - a * sin(om * ap.t), "floor", restitution=e0)])
    values = {g: 9.81, a: 0.05, e0: 0.8, c: 0.1, om: 7.0}
    whole = ap.simulate(ball, {x: 1.0}, 1.5, values, **TIGHT)
    for times in ([0.0, whole.impacts[1].time, 1.5], np.linspace(0, 1.5, 7)):
        asked = ap.simulate(ball, {x: 1.0}, 1.5, values, times=times, **TIGHT)
        found = ap.variations(asked)
        assert found.t == pytest.approx(asked.t)
        assert found.monodromy == pytest.approx(ap.variations(whole).monodromy, abs=1e-9)


@pytest.mark.parametrize("backend", ["c", "vm"])
def test_the_first_step_from_almost_nothing(backend):
    """A state of the size of rounding says nothing about time: the first step must not be chosen by it."""
    fall = ap.System([x], x.d**2 / 2, x)
    assert ap.simulate(fall, {x: 5e-17}, 3.0, since=1.2, backend=backend).ok
