"""The base class of all symbols of a model; common mistakes raise with what to write instead."""

from __future__ import annotations

from typing import Any

from sympy import Symbol

from appell.errors import ModelError
from appell.reading import shown

FUNCTIONS = ("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "absolute")
"""Methods that NumPy calls on object arguments."""
VELOCITIES = ("dot", "v", "vel", "velocity", "speed", "prime", "dt", "qd")
HIGHER = ("ddd", "dddd", "dddot", "jerk")
ACCELERATIONS = ("ddot", "acc", "a", "acceleration", "dot2", "ddt", "qdd")


def _missing(symbol: Symbol, name: str) -> Any:
    """The response of a symbol to an unknown attribute."""
    if name in FUNCTIONS:
        return _refused_function(symbol, name)
    if name in VELOCITIES and hasattr(type(symbol), "d"):
        raise AttributeError(f"'{symbol}' has no {name}; its time derivative is {symbol}.d")
    if name in ACCELERATIONS and hasattr(type(symbol), "d"):
        raise AttributeError(f"'{symbol}' has no {name}; its second time derivative is {symbol}.dd")
    if name in HIGHER:
        raise AttributeError(f"'{symbol}' has no {name}; a model contains derivatives up to the second, {symbol}.dd")
    if name in ("d", "dd"):  # a symbol without derivatives
        raise AttributeError(f"'{symbol}' is constant and has no {name}; a given function of time is ap.prescribed('{symbol}')")
    raise AttributeError(f"{type(symbol).__name__} '{symbol}' has no attribute {name!r}")


def _refused_function(symbol: Symbol, name: str) -> Any:
    def refuse(*_: Any) -> Any:
        proper = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "absolute": "Abs"}.get(name, name)
        raise ModelError(f"np.{name} takes numbers, and '{symbol}' is a symbol; in a model write: from sympy import {proper}")

    return refuse


class ModelSymbol(Symbol):
    """A symbol of a model. Mistakes in its use raise with what to write instead."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # queried by Python and SymPy all the time
            raise AttributeError(name)
        return _missing(self, name)

    def __str__(self) -> str:  # as SymPy prints it, without a printer: names are needed in every call
        return self.name

    def __float__(self) -> float:
        raise TypeError(f"'{self}' is a symbol and no number; math.sin takes numbers, in a model write: from sympy import sin")

    def __xor__(self, other: Any) -> Any:
        raise ModelError(f"powers are written {self}**{shown(other)}; ^ is not a power in Python")

    __rxor__ = __xor__
