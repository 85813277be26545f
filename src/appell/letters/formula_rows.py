"""Formulas as rows of an `aligned` environment that fit a page: long sums and products continue on the next row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from appell.errors import ModelError
from appell.letters import MeasuredLatex, Printer
from appell.reading import shown
from appell.typeset import ROW_WIDTH, width

EQUAL, QUAD = 16.0, 12.0
"""Widths of a sign = with its spaces and of the indentation (pt)."""

HEIGHT, LINE_HEIGHT = 500.0, 16.0
"""Heights of a page and of a line with its distance to the next (pt)."""

ENVIRONMENTS = ("aligned", "align*")
"""`aligned` is used inside math mode and does not break; `align*` is a display of its own and may break across pages."""

Side = Any
"""An expression, or LaTeX."""


@dataclass(frozen=True)
class Statement:
    """left = right, or another relation."""

    left: Side
    right: Side
    relation: str = "="


def aligned(statements: Sequence[Statement], environment: str = "aligned") -> str:
    """The environment: left &= right where the left sides are short, else both sides on separate rows."""
    if environment not in ENVIRONMENTS:
        raise ModelError(f"environment is one of {', '.join(map(repr, ENVIRONMENTS))}; not {shown(environment)}")
    text = _environment(rows_of(statements), environment)
    return text if environment == "aligned" else f"{{\\allowdisplaybreaks\n{text}}}"


def displayed(statements: Sequence[Statement]) -> str:
    """The notebook display: one `aligned`, or several if it is higher than a page, since it does not break."""
    blocks: list[list[str]] = [[]]
    for row in rows_of(statements):
        if blocks[-1] and sum(map(_height, [*blocks[-1], row])) > HEIGHT:
            blocks.append([])
        blocks[-1].append(row)
    return "\n\n".join(f"$\\displaystyle {_environment(rows, 'aligned')}$" for rows in blocks)


def _environment(rows: Sequence[str], name: str) -> str:
    body = " \\\\\n".join(rows)
    return f"\\begin{{{name}}}\n{body}\n\\end{{{name}}}"


def _height(row: str) -> float:
    """Approximate height of a row (pt), with nested fractions and stacked cases."""
    nested = re.search(r"\\frac\{[^{}]*(\{[^{}]*\}[^{}]*)*\\frac", row)
    return LINE_HEIGHT * (1 + (r"\frac" in row) + bool(nested) + row.count(r"\\"))


def rows_of(statements: Sequence[Statement]) -> list[str]:
    """Rows no wider than a page, as few as possible."""
    printer = Printer()
    measured = lambda side: _Unbroken(side) if isinstance(side, str) else MeasuredLatex.of(side, printer=printer)
    sides = [(measured(s.left), s.relation, measured(s.right)) for s in statements]
    columns = sorted({left.width for left, _, _ in sides if left.width <= ROW_WIDTH - 2 * EQUAL} | {0.0}, reverse=True)
    layouts = [_layout(sides, column) for column in columns]
    return min(layouts, key=lambda layout: (layout[0] > ROW_WIDTH, len(layout[1])))[1]


class _Unbroken:
    """LaTeX that does not break."""

    parts: tuple[Any, ...] = ()

    def __init__(self, latex: str):
        self.latex, self.width = latex, width(latex)


def _layout(sides: Iterable[tuple[Any, str, Any]], column: float) -> tuple[float, list[str]]:
    """(width of the widest row, rows) with left sides up to `column` pt in a separate column."""
    widest, rows, room = 0.0, [], ROW_WIDTH - column - QUAD
    for left, relation, right in sides:
        if left.width <= column:
            wide, lines = filled(right, room - EQUAL)
            rows += [f"{left.latex} &{relation} {lines[0]}", *(rf"&\quad {line}" for line in lines[1:])]
        else:
            wide_left, first = filled(left, room)
            wide, second = filled(right, room - EQUAL)
            if len(first) == len(second) == 1 and wide_left + wide <= room:
                rows.append(f"& {first[0]} {relation} {second[0]}")
                wide += wide_left
            else:
                rows += [f"& {first[0]}", *(rf"&\quad {line}" for line in first[1:])]
                rows += [rf"&\quad {relation} {second[0]}", *(rf"&\quad {line}" for line in second[1:])]
                wide = max(wide, wide_left - EQUAL)
        widest = max(widest, column + QUAD + EQUAL + wide)
    return widest, rows


def filled(piece: Any, room: float) -> tuple[float, list[str]]:
    """(width of the widest row, rows) of at most `room` pt each, if the piece can be broken so."""
    lines, widths = [""], [0.0]
    parts = [piece]
    while parts:
        part = parts.pop()
        if part.width > room and part.parts:
            parts += reversed(part.parts)
            continue
        if lines[-1] and widths[-1] + part.width > room:
            lines, widths = [*lines, "{}"], [*widths, 0.0]
        lines[-1], widths[-1] = f"{lines[-1]} {part.latex}", widths[-1] + part.width
    return max(widths), [line.strip() for line in lines]
