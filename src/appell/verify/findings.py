"""The findings of `diagnose`, as sentences."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import sympy

from appell.reading import name_in
from appell.spelling import checked_keywords


@dataclass(frozen=True)
class Finding:
    """One sentence about one subject: a constraint by its name, a coordinate, or the system.

    expression: the integral F(t, q) or the momentum I(t, q, v) that stays constant, if the sentence is about one:
    `motion[finding.expression]` evaluates it along a motion.
    """

    kind: str
    subject: str
    sentence: str
    expression: sympy.Expr | None = None

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Diagnosis:
    """The findings of `ap.diagnose`, in the order of its checks. Prints as text and in notebooks."""

    system: str
    findings: tuple[Finding, ...]

    @checked_keywords()
    def of(self, kind: str) -> tuple[Finding, ...]:
        """The findings of one kind: constraint, integrability, redundancy, rank, contradiction, freedom, cyclic, conserved,
        pseudo-velocities, unilateral, inputs, size, start."""
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def about(self, subject: Any) -> tuple[Finding, ...]:
        """The findings about a constraint or a coordinate, by the object or its name."""
        name = name_in(subject)
        return tuple(finding for finding in self.findings if finding.subject == name)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __str__(self) -> str:
        width = max(len(finding.kind) for finding in self.findings)
        lines = [f"  {finding.kind.ljust(width)}  {finding.sentence}" for finding in self.findings]
        return "\n".join([f"diagnosis of {self.system}", *lines])

    def _repr_html_(self) -> str:
        cell = lambda text: f"<td style='text-align:left'>{html.escape(text)}</td>"
        body = "".join(f"<tr>{cell(f.kind)}{cell(f.sentence)}</tr>" for f in self.findings)
        return f"<table><caption>diagnosis of {html.escape(self.system)}</caption>{body}</table>"


def listed(names: Iterable[str]) -> str:
    """Names in quotation marks for a sentence."""
    return ", ".join(f"'{name}'" for name in names)
