"""Notes and doubts of a motion: where they come from, what they change, and that files and pickles keep them."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from sympy import cos, sin

import appell as ap
from appell.notes import Note

x, y, phi = ap.coordinates("x y phi")
ROD = ap.Constraint(x**2 + y**2 - 1, name="rod")
AGAIN = ap.Constraint(2 * x**2 + 2 * y**2 - 2, name="again")


@pytest.fixture(scope="module")
def motion():
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[ROD, AGAIN], name="twice")
    return ap.simulate(system, {x: 1.0}, 0.5, backend="vm")


def test_a_note_is_a_sentence_that_knows_its_subject():
    note = Note("rows lose rank", time=1.5, kind="rank", constraints=["a", "b"])
    assert note == "rows lose rank" and isinstance(note, str)
    assert (note.time, note.kind, note.constraints) == (1.5, "rank", ("a", "b"))
    again = pickle.loads(pickle.dumps(note))
    assert type(again) is Note and again == note and again.record() == note.record()


def test_notes_of_the_run_come_first(motion):
    assert motion.notes and motion.notes == motion.run.notes
    assert motion.notes[0].kind == "redundant" and motion.notes[0].time is None and motion.notes[0].constraints
    assert motion.ok and "redundant constraints" in str(motion.verify())


def test_a_doubtful_motion_is_not_ok(motion):
    doubtful = replace(motion, doubts=("the energy balance is off by 40 %",))
    assert doubtful.status is ap.Status.OK and not doubtful.ok
    assert "doubtful" in repr(doubtful) and "off by 40 %" in str(doubtful.verify())
    assert doubtful.at(0.1).doubts == doubtful.doubts and not doubtful.at(0.1).ok


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_files_keep_them(motion, tmp_path, suffix):
    late = Note("the rows lose rank", time=0.25, kind="rank", constraints=("rod",))
    motion = replace(motion, notes=(*motion.notes, late), doubts=("off by 40 %",))
    loaded = ap.load(motion.save(tmp_path / f"motion{suffix}"))
    assert loaded.notes == motion.notes and [n.record() for n in loaded.notes] == [n.record() for n in motion.notes]
    assert loaded.doubts == motion.doubts and not loaded.ok


def test_a_plain_motion_has_neither():
    motion = ap.simulate(ap.System([phi], phi.d**2 / 2, -cos(phi), {phi: sin(ap.t)}), {phi: 1.0}, 0.1, backend="vm")
    assert motion.notes == () and motion.doubts == () and motion.ok
