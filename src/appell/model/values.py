"""Numbers for parameters, checked: every symbol has one, none is unknown, and no assumption is violated."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sympy import isprime

from appell.errors import ModelError
from appell.model.measured import letters_of
from appell.reading import finite as finite
from appell.reading import name_in
from appell.reading import reals as reals
from appell.spelling import did_you_mean

RULES: tuple[tuple[str, Callable[[float], bool]], ...] = (
    ("positive", lambda x: x > 0),
    ("negative", lambda x: x < 0),
    ("nonnegative", lambda x: x >= 0),
    ("nonpositive", lambda x: x <= 0),
    ("nonzero", lambda x: x != 0),
    ("integer", lambda x: x == int(x)),
    ("noninteger", lambda x: x != int(x)),
    ("even", lambda x: x % 2 == 0),
    ("odd", lambda x: x % 2 == 1),
    ("prime", lambda x: isprime(int(x))),
    ("composite", lambda x: x > 1 and not isprime(int(x))),
)
"""Assumption → whether a number satisfies it. SymPy simplifies by them: (−1)ⁿ is 1 for an even n."""


def bound(
    symbols: Iterable[Any],
    given: Mapping[Any, Any] | None,
    owner: str,
    *,
    hint: str = "parameters={…}",
    optional: Iterable[Any] = (),
) -> dict[Any, float]:
    """Symbol → value for all symbols of the owner, given by symbol or name; `optional` ones only if given.

    Unknown, missing and duplicate names raise, and so do values that are not finite or violate an assumption.
    """
    symbols = tuple(symbols)
    recorded = letters_of(symbols)  # a run supplies their numbers
    by_name = {str(s): s for s in symbols if s not in recorded}
    recorded_names = {str(s) for s in recorded}
    table = {key: value for key, value in as_table(by_name, given).items() if name_in(key) not in recorded_names}
    names = [name_in(key) for key in table]
    values = dict(zip(names, table.values(), strict=True))
    twice = [name for name in values if names.count(name) > 1]
    if twice:
        raise ModelError(f"the value of parameter '{twice[0]}' is given twice, by symbol and by name")
    unknown = [name for name in values if name not in by_name]
    if unknown:
        listed = f"it has {', '.join(by_name) or 'no parameters'}{did_you_mean(unknown[0], by_name)}"
        raise ModelError(f"{owner} has no parameter '{unknown[0]}'; {listed}")
    free = set(map(str, optional))
    missing = [name for name in by_name if name not in values and name not in free]
    if missing:
        raise ModelError(f"no value for the parameter{'s' * (len(missing) > 1)} {', '.join(missing)}; give {hint}")
    values_by_symbol = {symbol: checked(symbol, values[name]) for name, symbol in by_name.items() if name in values}
    return {s: math.nan if s in recorded else values_by_symbol[s] for s in symbols if s in recorded or s in values_by_symbol}


def as_table(symbols: Iterable[Any], given: Mapping[Any, Any] | None) -> Mapping[Any, Any]:
    """The given values as a mapping; raises for anything else."""
    if given is None or isinstance(given, Mapping):
        return given or {}
    example = ", ".join(f"'{s}': …" for s in list(symbols)[:2]) or "'m': …"
    raise ModelError(f"values of parameters are given by name or symbol, {{{example}}}, not as {type(given).__name__}")


def checked(symbol: Any, value: Any) -> float:
    """`value` as a finite number that satisfies the symbol's assumptions."""
    number = finite(value, f"the value of parameter '{symbol}'")
    assumptions = symbol.assumptions0  # a new dictionary at each access
    for rule, holds in RULES:
        if assumptions.get(rule) and not holds(number):
            raise ModelError(f"parameter '{symbol}' was declared {rule}, but its value is {number:g}")
    return number
