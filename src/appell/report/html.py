"""Pieces of HTML; all user text is escaped here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import count
from typing import Any

from appell.letters import latex
from appell.show.mathml import mathml

_numbers = count(1)


def formula(source: str) -> str:
    """A displayed formula."""
    return f'<div class="formula">{mathml(source, block=True)}</div>'


def inline(what: Any) -> str:
    """An inline expression."""
    return mathml(what if isinstance(what, str) else latex(what), block=False)


def equation_block(lines: Sequence[str]) -> str:
    """LaTeX equations, one per line, with a button that copies all of them."""
    source = "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"
    key = f"latex-{next(_numbers)}"
    formulas = "".join(formula(line.replace("&", "")) for line in lines)
    text = f'<details><summary>LaTeX</summary><pre id="{key}">{escape(source)}</pre></details>'
    return folded(f'{formulas}<p><button type="button" class="copy" data-of="{key}">Copy LaTeX</button></p>{text}', lines)


LONG_LINES, LONG_SOURCE = 12, 4000
"""Equations, and characters of their LaTeX, up to which they are shown unfolded: about one screen."""


def folded(shown: str, lines: Sequence[str]) -> str:
    """Equations that fill more than a screen are folded behind a line with their number and length."""
    size = sum(map(len, lines))
    if len(lines) <= LONG_LINES and size <= LONG_SOURCE:
        return shown
    count = f"{len(lines)} equations" if len(lines) > 1 else "one expression"
    return f'<details class="long"><summary>{count}, {size:,} characters of LaTeX</summary>{shown}</details>'


def split_lines(source: str) -> list[str]:
    """The lines of an `aligned` environment."""
    body = re.sub(r"\\(begin|end)\{(aligned|align\*?)\}", "", source).strip()
    return [line.strip() for line in re.split(r"\\\\\n|\\\\(?=\s*$)", body) if line.strip()]


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """An HTML table; cells are already HTML."""
    top = f"<thead><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr></thead>" if head else ""
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{top}<tbody>{body}</tbody></table>"


def section(title: str, *content: str) -> str:
    """A heading and its content; empty if there is no content."""
    inside = "\n".join(part for part in content if part)
    return f"<section><h2>{escape(title)}</h2>\n{inside}\n</section>" if inside else ""


def missing(text: str) -> str:
    """A sentence on what is missing, and why."""
    return f'<p class="missing">{escape(text)}</p>'


def without_style(html: str) -> str:
    """HTML of a notebook display without the style attributes, which a strict policy forbids."""
    return re.sub(r"\sstyle=('[^']*'|\"[^\"]*\")", "", html)


def caution(text: str) -> str:
    """A warning to the reader."""
    return f'<p class="doubt">{escape(text)}</p>'


__all__ = ["caution", "equation_block", "formula", "inline", "missing", "section", "split_lines", "table", "without_style"]
