"""Changes of mode in compiled code and in Python: the same events, contacts and states."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin
from tests.contact.fuzz import boxes, in_wedge, piles

import appell as ap
from appell.loop.header import header
from appell.modes.endings import Ending
from appell.nonsmooth import journey
from appell.nonsmooth.contact.face_loop import FaceLoop
from appell.nonsmooth.transitions import TRANSITIONS

x, y = ap.coordinates("x y")
A, w, e = ap.parameters("A w e")


def test_one_table_says_what_follows_every_ending():
    """Faces and frictions, in Python and in the numbers of C."""
    assert set(TRANSITIONS) == set(Ending)
    assert all(f"GUARD_{ending.name} = {ending.value}" in header() for ending in Ending)


def test_faces_without_friction_are_faces_with_a_coefficient_of_zero():
    """A bead on a vibrating table beside a spring lands, is lifted and leaves: two laws of contact, one course, one motion."""
    table = ap.Unilateral(y - A * sin(w * ap.t), "table", e)
    smooth = ap.Friction(x.d, normal=table, coefficient=0, name="sole")
    kinetic = (x.d**2 + y.d**2) / 2 + x.d * y.d / 4
    one, two = (
        ap.simulate(
            ap.System([x, y], kinetic, 9.81 * y + 3 * x**2, constraints=walls), {x: 0.1, y: 0.02, x.d: 0.3}, 0.3,
            {A: 0.02, w: 25.0, e: 0.0}, backend="vm",
        )
        for walls in ([table], [table, smooth])
    )  # fmt: skip
    kinds = [i.kind for i in one.impacts]
    assert kinds == [i.kind for i in two.impacts] and {"impact", "landing", "leaving"} <= set(kinds)
    assert [faces for _, faces in one.contacts] == [faces for _, faces in two.contacts]
    np.testing.assert_allclose([t for t, _ in one.contacts], [t for t, _ in two.contacts], atol=1e-11)
    for s in (x, y, x.d, y.d):
        assert float(one.final[s]) == pytest.approx(float(two.final[s]), abs=1e-11)


def both(monkeypatch, system, start, until, values, **options):
    """(motion, how often Python was asked) with changes of mode in compiled code, and the motion with all of them in Python."""
    asked = []
    change = journey.change
    run = ap.compile(system, values, backend="c")
    monkeypatch.setattr(journey, "change", lambda course, ending: asked.append(ending) or change(course, ending))
    one = ap.simulate(run, start, until, **options)
    count = len(asked)
    monkeypatch.setattr(FaceLoop, "inside", False)
    two = ap.simulate(run, start, until, **options)
    monkeypatch.undo()
    assert len(asked) - count >= sum(c != d for (_, c), (_, d) in zip(two.contacts, two.contacts[1:], strict=False))
    return one, count, two


def agree(one, two, tolerance):
    """Everything that is told of two motions."""
    assert (one.status, one.doubts, one.ok) == (two.status, two.doubts, two.ok)
    assert [str(note) for note in one.notes] == [str(note) for note in two.notes]
    assert [faces for _, faces in one.contacts] == [faces for _, faces in two.contacts]
    assert [(i.constraint, i.kind) for i in one.impacts] == [(i.constraint, i.kind) for i in two.impacts]
    numbers = lambda motion: [(i.time, i.before, i.after, i.impulse) for i in motion.impacts]
    np.testing.assert_allclose(numbers(one), numbers(two), atol=tolerance)
    np.testing.assert_allclose([t for t, _ in one.contacts], [t for t, _ in two.contacts], atol=tolerance)
    for s in (*one.system.coordinates, *one.system.velocities):
        assert float(one.final[s]) == pytest.approx(float(two.final[s]), abs=tolerance)
    assert np.abs(one.energy_error).max() < 1e-8 and np.abs(two.energy_error).max() < 1e-8


def test_a_bead_on_a_vibrating_table(monkeypatch):
    """It leaves where the table falls faster than it and lands again, period after period: Python is never asked."""
    table = ap.Unilateral(y - A * sin(w * ap.t), "table", e)
    bead = ap.System([y], y.d**2 / 2, 9.81 * y, constraints=[table])
    for restitution in (0.0, 0.3):
        values = {A: 0.02, w: 25.0, e: restitution}
        one, asked, two = both(monkeypatch, bead, {y.d: 0.5}, 5.0, values)
        agree(one, two, 1e-8)
        kinds = [i.kind for i in one.impacts]
        assert asked == 0 and kinds.count("leaving") > 10 and kinds.count("landing") > 10


@pytest.mark.parametrize(("family", "size"), [(in_wedge, {"corners": 3}), (boxes, {}), (piles, {"n": 2})])
def test_random_bodies(monkeypatch, family, size):
    """They fall and come to rest; what depends on each other is decided in Python, the rest in compiled code."""
    for seed in (3, 4):
        case = family(np.random.default_rng(seed), **size)
        one, asked, two = both(monkeypatch, case.system, case.start, 1.0, case.values, rtol=1e-10)
        agree(one, two, 1e-6)
        assert asked <= len(two.contacts)


def test_a_bead_in_a_box_at_requested_times(monkeypatch):
    """Square walls: corners are blows on faces that do not feel each other. Requested times at an event are after it."""
    walls = {"left": x, "right": 1 - x, "floor": y, "roof": 1 - y}
    faces = [ap.Unilateral(f, name, 0.5) for name, f in walls.items()]
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, constraints=faces, forces={x: cos(3 * ap.t), y: -1 + 2 * sin(ap.t)})
    start = {x: 0.5, y: 0.5, x.d: 1.0, y.d: 1.0}
    times = np.sort([*np.linspace(0, 8, 33), *(i.time for i in ap.simulate(system, start, 8.0, backend="c").impacts)])
    one, asked, two = both(monkeypatch, system, start, 8.0, {}, times=times)
    agree(one, two, 1e-7)
    assert asked == 0
    for s in (x, y, x.d, y.d):
        np.testing.assert_allclose(one[s], two[s], atol=1e-7)
