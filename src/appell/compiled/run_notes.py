"""Remarks about a system for the reader of its results, known before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appell.model.jumps import dry_friction
from appell.model.measured import records_of
from appell.model.prescription import tables
from appell.model.sides import unlocated_jumps
from appell.normal_form.flow import acceleration
from appell.normal_form.manifold import find
from appell.normal_form.solved import GaussSolved
from appell.notes import Note

if TYPE_CHECKING:
    from appell.compiled.run import Run


def run_notes(run: Run) -> tuple[Note, ...]:
    """See `Run.notes`."""
    tabulated = [*tables(run.system), *records_of(run.system.parameters)]
    notes = [Note(record.description, kind="table") for record in tabulated]
    if run.policies.redundant:
        names = ", ".join(f"'{name}'" for name in run.policies.redundant)
        text = f"redundant constraints ({names}): accelerations are unique, multipliers are those of least norm"
        notes.append(Note(text, kind="redundant", constraints=run.policies.redundant))
    if isinstance(fn := acceleration(run.form, run.policies), GaussSolved):
        states = find(run.form, run._some_p, seed=1, tries=3)
        if not all(fn.minimum(*state, run._some_p).proven for state in states):
            rows = [row.constraint.name for row in run.form.rows if not row.linear]
            text = "Gauss's minimum was sought from many starts: it is not proven to be the global one"
            notes.append(Note(text, kind="minimum", constraints=rows))
    for jump in (dry_friction(run.system.forces), unlocated_jumps(run.system)):
        notes += [Note(jump, kind="jump")] if jump else []
    return tuple(notes)


__all__ = ["run_notes"]
