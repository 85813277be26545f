"""C made of Python expressions: a function called with names of C instead of numbers returns the C expression that it computes.

    root(x) * y <= larger(x, y)          in Python: numbers or arrays; for CText("x"), CText("y"): the text of the same in C

A `CDialect` says how numbers, truth values and functions are spelt: for one run, for vector lanes, for one lane of a vector.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class CDialect(NamedTuple):
    """How a criterion is spelt in C: types of numbers and truth values, literals, `and`, `or`, and the names of functions."""

    number: str
    truth: str
    literal: str
    both: str
    either: str
    functions: dict[str, str]
    head: str = "static inline"
    suffix: str = ""  # of the names of the functions


SCALAR = CDialect(
    "double", "int", "{}", "&&", "||",
    {"sqrt": "sqrt", "fabs": "fabs", "fmax": "fmax", "fmin": "fmin", "ceil": "ceil", "finite_or": "finite_or"},
)  # fmt: skip
LANES = CDialect(
    "V", "I", "(T) {}", "&", "|",
    {"sqrt": "lanes_sqrt", "fabs": "lanes_fabs", "fmax": "lanes_max", "finite_or": "lanes_finite_or"}, "static",
)  # fmt: skip
ONE_LANE = SCALAR._replace(functions={"fmax": "iv_most"}, suffix="_one")
"""A single lane of a vector, in double precision."""


@dataclass(frozen=True)
class CText:
    """A C expression, built by Python's operators."""

    text: str
    dialect: CDialect
    is_truth: bool = False

    def _with(self, op: str, other: Any, *, swapped: bool = False, truth: bool = False) -> CText:
        right = other.text if isinstance(other, CText) else self.dialect.literal.format(repr(float(other)))
        a, b = (right, self.text) if swapped else (self.text, right)
        return CText(f"({a} {op} {b})", self.dialect, truth)

    def __add__(self, other: Any) -> CText:
        return self._with("+", other)

    def __radd__(self, other: Any) -> CText:
        return self._with("+", other, swapped=True)

    def __sub__(self, other: Any) -> CText:
        return self._with("-", other)

    def __rsub__(self, other: Any) -> CText:
        return self._with("-", other, swapped=True)

    def __mul__(self, other: Any) -> CText:
        return self._with("*", other)

    def __rmul__(self, other: Any) -> CText:
        return self._with("*", other, swapped=True)

    def __truediv__(self, other: Any) -> CText:
        return self._with("/", other)

    def __lt__(self, other: Any) -> CText:
        return self._with("<", other, truth=True)

    def __le__(self, other: Any) -> CText:
        return self._with("<=", other, truth=True)

    def __gt__(self, other: Any) -> CText:
        return self._with(">", other, truth=True)

    def __ge__(self, other: Any) -> CText:
        return self._with(">=", other, truth=True)

    def __and__(self, other: Any) -> CText:
        return self._with(self.dialect.both, other, truth=True)

    def __or__(self, other: Any) -> CText:
        return self._with(self.dialect.either, other, truth=True)

    def called(self, name: str, *others: Any) -> CText:
        """A call of a C function with this expression as its first argument."""
        other_texts = [x.text if isinstance(x, CText) else self.dialect.literal.format(repr(float(x))) for x in others]
        return CText(f"{self.dialect.functions[name]}({', '.join([self.text, *other_texts])})", self.dialect)


def _function(name: str, numeric: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *rest: x.called(name, *rest) if isinstance(x, CText) else numeric(x, *rest)


root, size, larger, smaller, rounded_up = (
    _function("sqrt", np.sqrt), _function("fabs", np.abs), _function("fmax", np.maximum), _function("fmin", np.minimum),
    _function("ceil", np.ceil),
)  # fmt: skip
finite_or = _function("finite_or", lambda x, instead: np.where(np.isfinite(x), x, instead))


def function_text(name: str, function: Callable[..., Any], dialect: CDialect = SCALAR) -> str:
    """A C function of that name, which computes what the Python function does."""
    arguments = list(inspect.signature(function).parameters)
    value = function(*(CText(argument, dialect) for argument in arguments))
    kind = dialect.truth if value.is_truth else dialect.number
    parameters = ", ".join(f"{dialect.number} {argument}" for argument in arguments)
    return f"{dialect.head} {kind} {name}{dialect.suffix}({parameters}) {{ return {value.text}; }}"
