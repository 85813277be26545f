"""Lists of names as users write them: "x y", "q1:4", ["x", "y"]."""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import sympy
from sympy import Symbol

from appell.errors import ModelError
from appell.reading import items_of, name_in, shown

SYMBOLS_PER_CALL = 10_000
"""Largest number of symbols created by one call."""


def listed_names(text: str | Iterable[str], more: tuple[Any, ...], maker: str) -> list[str]:
    """Names written as one text, "x y q1:4", or as a list; anything else raises. `maker`: the calling function."""
    if any(not isinstance(name, str | Symbol) for name in more):
        raise ModelError(f"{maker} takes names alone; values, and given functions of time, come with the run: parameters={{…}}")
    if more:
        joined = " ".join(name_in(name) for name in (text, *more))
        raise ModelError(f"give all names in one text: {maker}({shown(joined)})")
    if not isinstance(text, str | Iterable):
        raise ModelError(f"names are given as text, 'x y phi', or as a list of texts; not as {type(text).__name__}")
    entries = text.replace(",", " ").split() if isinstance(text, str) else [name_in(name) for name in items_of(text, "names")]
    names = [name for entry in entries for name in _range(entry)]
    if not names:
        raise ModelError("no name given; write for example coordinates('x y phi')")
    for name in names:
        if keyword.iskeyword(name) and name != "lambda":  # lambda is a Greek letter first
            raise ModelError(f"'{name}' is a word of the Python language, not a name; write '{name}_' or '{name[:3]}'")
        if not name.isidentifier():
            raise ModelError(f"'{name}' cannot be the name of a symbol; use letters, digits and underscores")
        if name == "t":
            raise ModelError("'t' is time (ap.t); choose another name")
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise ModelError(f"the name '{twice}' is given twice")
    return names


def _range(name: str) -> list[str]:
    """The names in a range: q1:4 → q1, q2, q3."""
    count = 1
    for low, high in re.findall(r"(\d*):(\d+)", name[:200]):
        count *= max(int(high) - int(low or 0), 1)
    count *= 26 ** len(re.findall(r":[a-zA-Z]", name[:200]))  # a:d is a range of letters
    if count > SYMBOLS_PER_CALL or len(name) > 200:
        reason = f"stands for {count} names" if count > SYMBOLS_PER_CALL else f"has {len(name)} letters"
        raise ModelError(f"'{name[:60]}' {reason}; {SYMBOLS_PER_CALL} symbols of up to 200 letters are made at once")
    try:
        return [str(s) for s in sympy.symbols(name, seq=True)] if ":" in name else [name]
    except Exception as error:  # SymPy's range syntax may raise anything
        raise ModelError(f"'{name}' is not a range of names, as q1:4 is: {error}") from None
