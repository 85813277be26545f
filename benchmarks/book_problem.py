"""A problem of a book: its system, and the equations that the book prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import appell as ap


@dataclass(frozen=True)
class Problem:
    """A problem and the page of its book.

    form, options: how the book writes it, `ap.forms.<form>(system, **options)`.
    book: the equations of the book as (lhs, rhs) in t, q, q̇, q̈ and `names`; empty where no book prints them as such.
    names: symbol → what it stands for in t, q, q̇, q̈, for the letters that the book introduces.
    printed: those of the names whose definitions the book prints beside its equations; their text counts, too.
    source: author, work.
    """

    name: str
    system: ap.System
    form: str
    options: Mapping[str, Any] = field(default_factory=dict)
    book: tuple[tuple[Any, Any], ...] = ()
    names: Mapping[Any, Any] = field(default_factory=dict)
    source: str = ""
    printed: tuple[Any, ...] = ()

    @property
    def solved(self) -> bool:
        """Whether the book gives the accelerations."""
        return self.form.startswith("solution of ")

    def derive(self) -> Any:
        """The equations in the form of the book."""
        return getattr(ap.forms, self.form.removeprefix("solution of "))(self.system, **self.options)
