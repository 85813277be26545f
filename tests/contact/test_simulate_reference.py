"""Impacts against an event-driven reference that shares no code with the library (`tests/reference/events.py`).

Both sides run at rtol 1e-12 or less. Impact times must agree to 1e-9 and states to 1e-8; the cases with a hundred impacts
are regular motions, whose errors grow no faster than linearly with time.
"""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Rational, cos, sin, sqrt
from tests.reference.events import simulate_events

import appell as ap
from appell import zoo
from appell.backends import reason_against_c

x, y, phi = ap.coordinates("x y phi")
TIGHT = {"rtol": 1e-12, "atol": 1e-14}
BACKENDS = ["vm"] if reason_against_c() else ["c", "vm"]


def compared(system, start, until, parameters, *, max_step=0.2, rtol=1e-12, faster=0.0, **options):
    """(motion, reference, largest difference of impact times, of final states); impacts `faster` than this are compared."""
    motion = ap.simulate(system, start, until, parameters, rtol=rtol, atol=rtol / 100, **options)
    assert motion.ok, motion.message
    reference = simulate_events(system, start, until, parameters, max_step=max_step, **TIGHT)
    ours = [i for i in motion.impacts if i.kind == "impact" and abs(i.before) > faster]
    theirs = [i for i in reference.impacts if i.kind == "impact" and abs(i.before) > faster]
    names = [face.name for face in system.unilateral]
    both = list(zip(ours, theirs, strict=False))
    assert [i.constraint for i, _ in both] == [names[j.face] for _, j in both]
    late = max((abs(i.time - j.time) for i, j in both), default=0.0)
    off = float(np.abs(np.concatenate([motion.q[-1], motion.v[-1]]) - reference.end).max())
    return motion, (len(ours), len(theirs)), late, off


@pytest.mark.parametrize(
    "name",
    "thread_pendulum bouncing_ball oscillator_with_wall oscillator_between_stops double_pendulum_with_wall ball_in_corner"
    " impact_pair arm_with_joint_stops bead_in_circle".split(),
)
def test_zoo(name):
    example = getattr(zoo, name)()
    motion, (ours, theirs), late, off = compared(example.system, example.start, example.until, example.parameters)
    assert ours == theirs > 1
    assert late < 1e-9 and off < 1e-8
    assert np.abs(motion.energy_error).max() < 1e-11


@pytest.mark.parametrize("name", ["block_on_vibrating_table", "bead_on_pulley_thread"])
def test_chattering_zoo(name):
    """The two sides stop bouncing at different heights, so only the impacts that both have are compared, and the end."""
    example = getattr(zoo, name)()
    until = 0.6 if name.startswith("block") else example.until
    motion, (ours, theirs), late, off = compared(example.system, example.start, until, example.parameters, faster=1e-6)
    assert ours == theirs and ours > 20
    assert late < 1e-9 and off < 1e-8
    assert {i.kind for i in motion.impacts} >= {"impact", "landing"}


def oscillator(e=1, h=0.0, force=0, wall=None, **more):
    """ẍ + h ẋ + x = force with x >= −0.3 (or another wall)."""
    return ap.System(
        [x], x.d**2 / 2, x**2 / 2, {x: -h * x.d + force},
        [wall if wall is not None else ap.Unilateral(x + Rational(3, 10), "wall", e)], **more,
    )  # fmt: skip


HUNDRED = {
    "ball, e = 1": (zoo.bouncing_ball().system, {"z": 1.0}, 91.5, {"m": 1.0, "g": 9.81}, 0.5),
    "oscillator, e = 1": (oscillator(wall=ap.Unilateral(x - 0.5, "wall")), {x: 1.0}, 212.0, {}, 0.1),
    "driven, e = 0.9": (oscillator(0.9, 0.1, cos(2 * ap.t)), {x: 0.5}, 320.0, {}, 0.2),
    "driven, e = 1/2": (oscillator(Rational(1, 2), 0.1, cos(2 * ap.t)), {x: 0.5}, 320.0, {}, 0.2),
    "corner": (zoo.ball_in_corner().system, {"x": 0.7, "y": 1.0, "x.d": -0.5}, 42.0, {"m": 1.0, "g": 9.81, "k": 20.0}, 0.5),
    "moving wall": (
        oscillator(h=0.1, force=cos(2 * ap.t), wall=ap.Unilateral(x + 0.3 - 0.1 * sin(2 * ap.t), "wall", 0.9)),
        {x: 0.5}, 320.0, {}, 0.2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HUNDRED)
def test_a_hundred_impacts(name):
    system, start, until, parameters, max_step = HUNDRED[name]
    known = {str(k): k for k in (*system.coordinates, *system.velocities, *system.parameters)}
    start = {known[str(k)]: value for k, value in start.items()}
    parameters = {known[str(k)]: value for k, value in parameters.items()}
    _, (ours, theirs), late, off = compared(system, start, until, parameters, max_step=max_step, rtol=1e-13)
    assert ours == theirs >= 100
    assert late < 1e-9 and off < 1e-8


def coupled(e):
    """b ≠ 0: two coordinates that share inertia, one of them with a stop."""
    T = (2 + cos(y)) * x.d**2 / 2 + x.d * y.d * (1 + sin(x) / 2) / 2 + y.d**2
    V = x**2 / 2 + 3 * y**2 / 2 + x * y / 2
    return ap.System([x, y], T, V, {y: -0.1 * y.d}, [ap.Unilateral(x + y / 3 + 0.1 + 0.05 * sin(ap.t), "wall", e)])


@pytest.mark.parametrize("e", [1, 0.9, 0.5, 0])
@pytest.mark.parametrize("backend", BACKENDS)
def test_restitution_with_inertial_coupling(e, backend):
    until = 4.0 if backend == "vm" else 12.0
    motion, (ours, theirs), late, off = compared(coupled(e), {x: 0.8, y: 0.4, x.d: -0.3}, until, {}, backend=backend)
    assert ours == theirs >= 1
    assert late < 1e-9 and off < 1e-8
    assert np.abs(motion.energy_error).max() < 1e-10
    for i in motion.impacts:
        assert i.kind != "impact" or (i.impulse > 0 and abs(i.after + float(e) * i.before) < 1e-12 * (1 + abs(i.before)))


def rod(e):
    """Holonomic row: a bob on a rod in Cartesian coordinates between two walls."""
    length = ap.Constraint(x**2 + y**2 - 1, name="rod")
    return ap.System(
        [x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[length, ap.Between(-0.3, x, 0.4, "walls", e)], name="rod"
    )


def skate(e):
    """Nonholonomic row: a sleigh between two walls."""
    blade = ap.Constraint(x.d * sin(phi) - y.d * cos(phi), name="blade")
    T = x.d**2 + y.d**2 + phi.d**2 / 4
    return ap.System([x, y, phi], T, 0.3 * y**2, constraints=[blade, ap.Between(-1, y, 0.5, "walls", e)], name="skate")


HANGING = {x: 0.2, y: -sqrt(0.96), x.d: 1.2 * sqrt(0.96), y.d: 1.2 * 0.2}
GLIDING = {phi: 0.9, x.d: cos(0.9), y.d: sin(0.9), phi.d: 0.4}


@pytest.mark.parametrize("e", [1, 0.9, 0.5])
@pytest.mark.parametrize("make, start", [(rod, HANGING), (skate, GLIDING)], ids=["holonomic", "nonholonomic"])
def test_together_with_bilateral_constraints(make, start, e):
    start = {k: float(v) for k, v in start.items()}
    motion, (ours, theirs), late, off = compared(make(e), start, 8.0 if make is skate else 4.0, {}, max_step=0.1)
    assert ours == theirs >= 1
    assert late < 1e-9 and off < 1e-8
    assert motion.drift.position < 1e-12 and motion.drift.velocity < 1e-11
    assert np.abs(motion.energy_error).max() < 1e-10


def test_back_ends_agree():
    """The compiled loop and its Python twin: the same events in the same order."""
    example = zoo.arm_with_joint_stops()
    runs = [ap.simulate(example.system, example.start, 5.0, example.parameters, backend=b, **TIGHT) for b in BACKENDS]
    for other in runs[1:]:
        assert [i.kind for i in other.impacts] == [i.kind for i in runs[0].impacts]
        times = [[i.time for i in run.impacts] for run in (runs[0], other)]
        np.testing.assert_allclose(*times, atol=1e-10)
        np.testing.assert_allclose(other.v[-1], runs[0].v[-1], atol=1e-9)


@pytest.mark.compiler
@pytest.mark.parametrize(
    "name, until", [("bouncing_ball", 9100.0), ("ball_in_corner", 4000.0), ("bead_in_circle", 5000.0)]
)
def test_energy_over_ten_thousand_impacts(name, until):
    """Conservative: to 1e-10 relative at rtol 1e-13 (the rounding of ten thousand impacts and the steps between them)."""
    if reason_against_c():
        pytest.skip("needs a C compiler")
    example = getattr(zoo, name)()
    motion = ap.simulate(example.system, example.start, until, example.parameters, rtol=1e-13, atol=1e-15)
    assert motion.ok and sum(i.kind == "impact" for i in motion.impacts) >= 10_000
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-10 * abs(motion.energy[0])
