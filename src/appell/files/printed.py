"""Writes expressions that `written.read_expression` reads back unchanged."""

from __future__ import annotations

import json
import re
from typing import Any

import sympy
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.str import StrPrinter

from appell.errors import ModelError, NotationError
from appell.files.written import FUNCTIONS, SPECIAL_FUNCTIONS, read_expression
from appell.jets import Jet
from appell.model.measured import MeasuredLetter
from appell.model.multiplier import Multiplier
from appell.reading import shown

PLAIN_NAME = re.compile(r"[^\W\d]\w*")
NAMES = {function: name for name, (function, _) in FUNCTIONS.items() if name != "sqrt"}
RELATION_MARKS = {sympy.Lt: "<", sympy.Le: "<=", sympy.Gt: ">", sympy.Ge: ">=", sympy.Eq: "==", sympy.Ne: "!="}
RESERVED = {*FUNCTIONS, *SPECIAL_FUNCTIONS, "t", "pi", "and", "or", "not"}


def write_expression(expr: Any) -> str:
    """The text of an expression in the notation of model files, which reads back as the same expression."""
    text = _Printer().doprint(expr)
    try:
        same = read_expression(text, _letters(expr), Multiplier) == expr
    except NotationError as error:
        raise ModelError(f"{shown(text)} cannot be written in a model file: {error.what}") from None
    if not same:
        raise ModelError(f"{shown(text)} would be read as another expression; evaluate it first, .doit(), to write it")
    return text


def _letters(expr: Any) -> dict[str, Any]:
    """The letters in an expression by their names, without dots."""
    plain = [type(s)(s.letter) if isinstance(s, Jet) else s for s in expr.free_symbols if not isinstance(s, Multiplier)]
    return {getattr(s, "letter", s.name): s for s in plain if str(s) != "t"}


def write_name(name: str) -> str:
    """A name in an expression: in `` ` `` if it is not a plain word, or is already used by the notation."""
    if name == "pi":
        raise ModelError("'pi' is the number π in a model file; give the letter another name")
    if PLAIN_NAME.fullmatch(name) and name not in RESERVED:
        return name
    if "`" in name or "\n" in name or not 0 < len(name) <= 200:
        raise ModelError(f"the name {shown(name[:60])} cannot be written in a model file")
    return f"`{name}`"


class _Printer(StrPrinter):
    printmethod = "_in_a_model_file"  # so that no object overrides the printing

    def _print_Symbol(self, expr: Any) -> str:
        if isinstance(expr, Multiplier):
            return f"multiplier({json.dumps(expr.label, ensure_ascii=False)})"
        if isinstance(expr, MeasuredLetter):
            raise ModelError(
                f"the record '{expr.record.name}' is part of an expression, which a model file cannot hold: declare a function,"
                " ap.prescribed('f'), and give the record as its value in parameters="
            )
        if isinstance(expr, Jet):
            return write_name(expr.letter) + ("'" * expr.order if expr.order < 3 else self._refused(expr))
        return str(expr) if str(expr) == "t" else write_name(expr.name)

    def _refused(self, expr: Any) -> str:
        raise ModelError(f"{expr} cannot be written in a model file")

    def _print_Float(self, expr: Any) -> str:
        if sympy.Float(float(expr)) != expr:
            reason = "is smaller than a float64 can be" if float(expr) == 0 else "has more digits than a float64"
            raise ModelError(f"{shown(str(expr))} {reason} and cannot be written in a model file")
        return repr(float(expr))

    def _print_Mul(self, expr: Any) -> str:
        """Factor by factor, without merging: 5 (k² + 2) would otherwise be read as 5 k² + 10."""
        sign, numerator, denominator = "", [], []
        for factor in expr.as_ordered_factors():
            if factor.is_Rational:
                sign = "-" if factor < 0 else sign
                numerator += [str(abs(factor.p))] if abs(factor.p) != 1 else []
                denominator += [str(factor.q)] if factor.q != 1 else []
            elif factor.is_Pow and factor.exp.is_Rational and factor.exp < 0 and factor.base != sympy.E:
                denominator.append(self.parenthesize(sympy.Pow(factor.base, -factor.exp), PRECEDENCE["Pow"], strict=True))
            else:
                numerator.append(self.parenthesize(factor, PRECEDENCE["Mul"], strict=False))
        return sign + "*".join(numerator or ["1"]) + "".join(f"/{divisor}" for divisor in denominator)

    def _print_Exp1(self, expr: Any) -> str:
        return "exp(1)"

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base, exponent = expr.as_base_exp() if expr.base == sympy.E else (expr.base, expr.exp)
        if exponent == sympy.Rational(1, 2):
            return f"sqrt({self._print(base)})"
        if exponent == -sympy.Rational(1, 2):
            return f"1/sqrt({self._print(base)})"
        if exponent == -1:
            return f"1/{self.parenthesize(base, PRECEDENCE['Pow'])}"
        return f"{self.parenthesize(base, PRECEDENCE['Pow'])}^{self.parenthesize(exponent, PRECEDENCE['Pow'])}"

    def _print_Function(self, expr: Any) -> str:
        name = NAMES.get(expr.func) or ("heaviside" if expr.func is sympy.Heaviside else None)
        if name is None:
            raise ModelError(f"the function {expr.func.__name__} cannot be written in a model file")
        return f"{name}({', '.join(map(self._print, expr.args))})"

    _print_Abs = _print_Max = _print_Min = _print_Mod = _print_Heaviside = _print_sign = _print_Function

    def _print_ExpBase(self, expr: Any) -> str:
        return f"exp({self._print(expr.args[0])})"

    _print_exp = _print_ExpBase

    def _print_Piecewise(self, expr: Any) -> str:
        *cases, (otherwise, last) = expr.args
        if last != sympy.true:
            raise ModelError(f"a Piecewise without a value for all other cases cannot be written in a model file: {expr}")
        pieces = [piece for value, when in cases for piece in (self._print(value), self._print(when))]
        return f"piecewise({', '.join([*pieces, self._print(otherwise)])})"

    def _print_Relational(self, expr: Any) -> str:
        return f"{self._print(expr.lhs)} {RELATION_MARKS[expr.func]} {self._print(expr.rhs)}"

    def _print_And(self, expr: Any) -> str:
        return " and ".join(map(self._inner, expr.args))

    def _print_Or(self, expr: Any) -> str:
        return " or ".join(map(self._inner, expr.args))

    def _print_Not(self, expr: Any) -> str:
        return f"not {self._inner(expr.args[0])}"

    def _inner(self, expr: Any) -> str:
        return self._print(expr) if expr.is_Relational else f"({self._print(expr)})"

    def _print_BooleanAtom(self, expr: Any) -> str:
        return self._refused(expr)

    _print_ITE = _print_BooleanFunction = _print_Xor = _print_BooleanAtom
    _print_BooleanTrue = _print_BooleanFalse = _print_BooleanAtom  # type: ignore[assignment]

    def emptyPrinter(self, expr: Any) -> str:
        raise ModelError(f"a {type(expr).__name__} cannot be written in a model file")


__all__ = ["write_expression", "write_name"]
