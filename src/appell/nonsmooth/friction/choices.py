"""Enumeration of the modes that are possible at an instant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from appell.modes.mode import OFF, SLIP, STICK, FrictionState, Mode
from appell.nonsmooth.friction.friction_layout import FrictionLayout

CHOICES_SORTED = 1e5
"""Largest number of choices that are sorted."""


def choices(
    layout: FrictionLayout, faces: Sequence[int], resting: Sequence[int], slipping: dict[int, tuple[float, ...]]
) -> Iterator[Mode]:
    """Every mode: `faces` closed or open, `resting` frictions sticking or sliding either way, the others `slipping`.

    Modes with the most contacts and the most sticking frictions come first.
    """
    pressed = sorted({row for row in layout.normals if row is not None and row < layout.m})
    for closed in sorted(_subsets(faces), key=lambda c: -len(c)):
        options: list[list[FrictionState]] = []
        for i in range(layout.count):
            face, row = layout.face_of(i), layout.normals[i]
            signs = (1, -1) if row in pressed else (1,)
            if face is not None and face not in closed:
                options.append([FrictionState(OFF)])
            elif layout.smooth[i]:
                options.append([FrictionState(SLIP, (0.0,) * layout.parts[i], s) for s in signs])
            elif i in resting and layout.parts[i] == 1:
                options.append([FrictionState(STICK), *(FrictionState(SLIP, (u,), s) for s in signs for u in (1.0, -1.0))])
            elif i in resting:
                options.append([FrictionState(STICK), *(FrictionState(SLIP, (0.0,) * layout.parts[i], s, True) for s in signs)])
            else:
                options.append([FrictionState(SLIP, slipping[i], s) for s in signs])
        for frictions in _most_sticking_first(options):
            if _one_sign(layout, frictions):
                yield Mode(tuple(sorted(closed)), frictions)


def _one_sign(layout: FrictionLayout, frictions: Sequence[FrictionState]) -> bool:
    """Whether sliding frictions under the same normal reaction agree about its sign."""
    signs: dict[int | None, int] = {}
    sliding = [(layout.normals[i], friction.sign) for i, friction in enumerate(frictions) if friction.state == SLIP]
    return all(signs.setdefault(row, sign) == sign for row, sign in sliding)


def _most_sticking_first(options: Sequence[Sequence[FrictionState]]) -> Iterator[tuple[FrictionState, ...]]:
    """Every choice, with the most sticking frictions first.

    Where there are too many to sort, they come in their natural order, which begins with all sticking.
    """
    all_choices = product(*options)
    if np.prod([float(len(alternatives)) for alternatives in options]) > CHOICES_SORTED:
        return all_choices
    return iter(sorted(all_choices, key=lambda frictions: -sum(friction.state == STICK for friction in frictions)))


def _subsets(items: Sequence[int]) -> list[tuple[int, ...]]:
    return [tuple(x for x, k in zip(items, flags, strict=True) if k) for flags in product((True, False), repeat=len(items))]


__all__ = ["choices"]
