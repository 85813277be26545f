"""A system with some of its faces closed: their functions are constraints, f(t, q) = 0, under the names of the faces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from appell.model.constraint import Constraint
from appell.model.unilateral import Unilateral


def closing(system: Any, closed: Iterable[int]) -> tuple[dict[int, Constraint], list[Any]]:
    """Number → constraint of each closed face, and the unilateral constraints that stay open; of a `Between` with one closed
    stop, the other stop stays as one of its own."""
    rows = {i: Constraint(system.unilateral[i].function, system.unilateral[i].name) for i in sorted(closed)}
    split = {system.unilateral[i].source for i in rows}
    open_faces = [(i, face) for i, face in enumerate(system.unilateral) if i not in rows]
    still_open = [Unilateral(f.function, f.name, f.restitution) if f.source in split else f.source for _, f in open_faces]
    return rows, list(dict.fromkeys(still_open))


def with_closed_faces(system: Any, closed: Iterable[int]) -> Any:
    """The system with some faces as constraints, the last ones; itself if there are none."""
    rows, unilateral = closing(system, closed)
    if not rows:
        return system
    name = f"{system.name} (on {', '.join(row.name for row in rows.values())})"
    symbolic = system.symbolic()
    return symbolic.replace(constraints=[*symbolic.constraints, *rows.values(), *unilateral, *symbolic.resets], name=name)


__all__ = ["closing", "with_closed_faces"]
