"""The table of `agree`: one line for each form."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.delegates import delegate
from appell.errors import UnknownKey
from appell.reading import finite, name_in

AGREEMENT = 1e-9
"""Largest difference that counts as agreement: float64 at the best conditioned states, with six digits to spare."""


@dataclass(frozen=True)
class AgreementLine:
    """One form: its difference from the other forms (50 digits) and from the normal form (float64), or why it does not apply.

    `a`, `force`: largest disagreement of accelerations and constraint forces with the other forms; `judge_a`, `judge_force`:
    with the normal form; `shown`: residual of its values in its kinematics, relative to their terms, and in the displayed
    equations if the values were not found by solving these. NaN where there is nothing to compare. `states`: the number of
    states at which it has a value. `seconds`: time to derive it. `missing`: what its displayed equations do not determine.
    """

    form: str
    provenance: str = ""
    a: float = float("nan")
    force: float = float("nan")
    judge_a: float = float("nan")
    judge_force: float = float("nan")
    shown: float = float("nan")
    states: int = 0
    seconds: float = 0.0
    reason: str = ""
    missing: str = ""

    @property
    def applies(self) -> bool:
        return not self.reason

    @property
    def worst(self) -> float:
        """The largest disagreement; infinite where an equation is missing, or the form was compared at no state.

        Forms are compared with each other in 50 digits, where 1e-9 would be a large error: those differences count by their
        square roots, so that one tolerance serves both.
        """
        if self.missing or not self.states or np.isnan(self.judge_a) or np.isnan(self.judge_force):
            return float("inf")
        exact = [x**0.5 for x in (self.a, self.force, self.shown) if not np.isnan(x)]
        return max(self.judge_a, self.judge_force, *exact)


@dataclass(frozen=True)
class Agreement:
    """The table of `agree`: one line for each form. `ok` says whether all agree; prints as text and in notebooks."""

    system: str
    states: int
    lines: tuple[AgreementLine, ...]
    resets: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[AgreementLine, ...]:
        """The lines of the table."""
        return self.lines

    @property
    def worst(self) -> float:
        """The largest disagreement of any form that applies (`AgreementLine.worst`); infinite where none does."""
        return max((line.worst for line in self.lines if line.applies), default=float("inf"))

    @property
    def ok(self) -> bool:
        """Whether every form that applies agrees, `within(1e-9)`."""
        return self.within(AGREEMENT)

    def within(self, tolerance: float) -> bool:
        """Whether every form that applies agrees with the normal form to `tolerance`, and with the others to tolerance².

        The second is stricter because forms are compared with each other in 50 digits. A form that could not be evaluated at
        any state, or no form at all, is not agreement. The same as `worst <= tolerance`.
        """
        return self.worst <= finite(tolerance, "the tolerance", infinite=True)

    @property
    def message(self) -> str:
        """The verdict in a sentence, which names the forms that do not agree."""
        applying = [line for line in self.lines if line.applies]
        wrong = [line.form + f" ({line.missing})" * bool(line.missing) for line in applying if not line.worst <= AGREEMENT]
        if not applying:
            return "no form applies, so nothing was compared"
        if not wrong:
            return f"all forms that apply agree: largest disagreement {self.worst:.1e} at {self.states} states{self._between}"
        largest = f"largest disagreement {self.worst:.1e} at {self.states} states"
        return f"these forms do not agree: {', '.join(wrong)}; {largest}{self._between}"

    @property
    def _between(self) -> str:
        names = ", ".join(f"'{name}'" for name in self.resets)
        return f", between resets ({names}), which no form contains" if names else ""

    def __getitem__(self, form: str) -> AgreementLine:
        for line in self.lines:
            if isinstance(form, str) and line.form == form:
                return line
        raise UnknownKey(f"no line '{name_in(form)}'; there are {[line.form for line in self.lines]}")

    def __iter__(self) -> Iterator[AgreementLine]:
        return iter(self.lines)

    def __str__(self) -> str:
        cells = [_HEADINGS, *(_cells(line) for line in self.lines)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(_HEADINGS) - 1)]
        text = ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]]).rstrip() for row in cells]
        return "\n".join([f"{self.system}: {self.message}", *text])

    def report(self, path: Any, *, title: str | None = None) -> Any:
        """Writes the table to a page (.html), and returns its path."""
        return delegate("Agreement.report")(self, path, title=title)

    def _repr_html_(self) -> str:
        cell = lambda tag, row: "".join(f"<{tag} style='text-align:left'>{html.escape(c)}</{tag}>" for c in row)
        body = "".join(f"<tr>{cell('td', _cells(line))}</tr>" for line in self.lines)
        return f"<table><caption>{html.escape(self.system)}</caption><tr>{cell('th', _HEADINGS)}</tr>{body}</table>"


_HEADINGS = ["form", "a", "W Λ", "a, judge", "W Λ, judge", "states", "derived in", "from"]


def _cells(line: AgreementLine) -> list[str]:
    if not line.applies:
        return [line.form, "–", "–", "–", "–", "–", "–", f"does not apply: {line.reason}"]
    number = lambda x: "–" if np.isnan(x) else f"{x:.1e}"
    values = [number(x) for x in (line.a, line.force, line.judge_a, line.judge_force)]
    origin = f"{line.missing}; " * bool(line.missing) + line.provenance
    return [line.form, *values, str(line.states), f"{line.seconds:.2f} s", origin]
