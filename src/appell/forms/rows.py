"""Equations as rows of an `aligned` environment that fit a page: long sums and products go on in the next row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from appell.letters import Piece
from appell.typeset import PAGE

EQUAL, QUAD = 16.0, 12.0
"""Widths of the sign = with its spaces and of the indentation (pt)."""


def aligned(equations: Sequence[Any]) -> str:
    """The environment: lhs &= rhs where the left sides are short, else both sides one below the other."""
    sides = [(Piece.of(e.lhs), Piece.of(e.rhs)) for e in equations]
    columns = sorted({left.width for left, _ in sides if left.width <= PAGE - 2 * EQUAL} | {0.0}, reverse=True)
    layouts = [_layout(sides, column) for column in columns]
    _, rows = min(layouts, key=lambda layout: (layout[0] > PAGE, len(layout[1])))
    body = " \\\\\n".join(rows)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


def _layout(sides: Iterable[tuple[Piece, Piece]], column: float) -> tuple[float, list[str]]:
    """(width of the widest row, rows) with left sides up to `column` pt in a column of their own."""
    widest, rows, room = 0.0, [], PAGE - column - QUAD
    for left, right in sides:
        if left.width <= column:
            wide, lines = filled(right, room - EQUAL)
            rows += [f"{left.latex} &= {lines[0]}", *(rf"&\quad {line}" for line in lines[1:])]
        else:
            wide_left, first = filled(left, room)
            wide, second = filled(right, room - EQUAL)
            if len(first) == len(second) == 1 and wide_left + wide <= room:
                rows.append(f"& {first[0]} = {second[0]}")
                wide += wide_left
            else:
                rows += [f"& {first[0]}", *(rf"&\quad {line}" for line in first[1:])]
                rows += [rf"&\quad = {second[0]}", *(rf"&\quad {line}" for line in second[1:])]
                wide = max(wide, wide_left - EQUAL)
        widest = max(widest, column + QUAD + EQUAL + wide)
    return widest, rows


def filled(piece: Piece, room: float) -> tuple[float, list[str]]:
    """(width of the widest row, rows) of at most `room` pt each, where the piece can be parted so."""
    lines, widths = [""], [0.0]
    waiting = [piece]
    while waiting:
        now = waiting.pop(0)
        if lines[-1] and widths[-1] + now.width > room:
            if now.width > room and now.parts:
                waiting = [*now.parts, *waiting]
                continue
            lines, widths = [*lines, "{}"], [*widths, 0.0]
        elif now.width > room and now.parts:
            waiting = [*now.parts, *waiting]
            continue
        lines[-1], widths[-1] = f"{lines[-1]} {now.latex}", widths[-1] + now.width
    return max(widths), [line.strip() for line in lines]
