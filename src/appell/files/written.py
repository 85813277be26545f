"""Expressions in ordinary notation, parsed by a grammar.

    m*(x'^2 + y'^2)/2 - k*max(x - l, 0)^2*cos(phi - pi/6) + multiplier(floor)

x' and x'' (or dot(x), ddot(x)) are derivatives, ^ and ** powers. Nothing is executed: the text is parsed into a tree of the
rules below, and the tree is converted to SymPy's sums, products, powers and the functions of one table. Short texts with huge
results (towers of powers, numbers with thousands of digits, deep nesting) raise before SymPy sees them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import sympy
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from sympy import Expr

from appell.errors import NotationError
from appell.jets import Jet, t
from appell.reading import out_of_range, shown
from appell.spelling import did_you_mean

GRAMMAR = r"""
    ?start: either
    ?sum: product | product (PLUSMINUS product)+ -> sum
    ?product: unary | unary (TIMESOVER unary)+  -> product
    ?unary: PLUSMINUS unary                     -> signed
          | power
    ?power: atom | atom POWER unary             -> power
    ?atom: NUMBER                               -> number
         | NAME PRIMES?                         -> name
         | QUOTED PRIMES?                       -> name
         | NAME "(" [argument ("," argument)*] ")" -> call
         | "(" either ")"
    ?argument: either | TEXT -> text
    ?either: both | both (OR both)+             -> either
    ?both: refused | refused (AND refused)+     -> both
    ?refused: NOT refused                       -> refused
            | relation
    ?relation: sum | sum RELATION sum           -> relation
    OR.2: /or\b/
    AND.2: /and\b/
    NOT.2: /not\b/
    PLUSMINUS: "+" | "-" | "\u2212"
    TIMESOVER: "*" | "/" | "\u00b7"
    POWER: "^" | "**"
    RELATION: "<=" | ">=" | "==" | "!=" | "<" | ">"
    PRIMES: /'{1,2}/
    NUMBER: /(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?/
    NAME: /[^\W\d]\w*/
    QUOTED: /`[^`\n]{1,200}`/
    TEXT: /"(?:[^"\\\n]|\\.){0,2000}"/
    %ignore /[ \t\r\n]+/
"""
EXPRESSION_CHARACTERS, DEEPEST_NESTING, MOST_DIGITS, LARGEST_WRITTEN_POWER = 100_000, 60, 330, 1_000
"""Limits of an expression: characters, nesting, digits of a number (float64 ends at 309), and the largest power."""
MOST_CALLS = 2_000
"""Different calls of functions and relations in one expression, at about a millisecond of SymPy each; min, max, and, or of n
arguments, which are compared in pairs, count as n²/5."""

FUNCTIONS: dict[str, tuple[Callable[..., Any], int | None]] = {
    **{name: (getattr(sympy, name), 1) for name in "sin cos tan asin acos atan exp log sqrt".split()},
    **{name: (getattr(sympy, name), 1) for name in "sinh cosh tanh asinh acosh atanh".split()},
    **{name: (getattr(sympy, name), 1) for name in "cot sec csc acot coth sech csch sinc erf frac".split()},
    "atan2": (sympy.atan2, 2), "abs": (sympy.Abs, 1), "sign": (sympy.sign, 1), "floor": (sympy.floor, 1),
    "ceil": (sympy.ceiling, 1), "mod": (sympy.Mod, 2), "min": (sympy.Min, None), "max": (sympy.Max, None),
}  # fmt: skip
"""Name → SymPy's function and its number of arguments (None: two or more)."""
PAIRWISE = (sympy.Max, sympy.Min, sympy.And, sympy.Or, sympy.Piecewise)
"""Functions that compare their arguments in pairs."""
SPECIAL_FUNCTIONS = ("dot", "ddot", "heaviside", "piecewise", "multiplier")
RELATIONS = {"<": sympy.Lt, "<=": sympy.Le, ">": sympy.Gt, ">=": sympy.Ge, "==": sympy.Eq, "!=": sympy.Ne}
SOUNDS_LIKE = {
    "fi": "phi",
    "teta": "theta",
    "ksi": "xi",
    "lamda": "lambda",
    "hi": "chi",
    "omiga": "omega",
    "ro": "rho",
    "niu": "nu",
}
"""Greek letters spelled by ear."""
OVERFLOWING = {name: getattr(math, name) for name in ("exp", "sinh", "cosh")}
"""Functions that may overflow; for numbers they are tried in floating point first."""


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def read_expression(text: str, names: Mapping[str, Any], multipliers: Callable[[str], Any] | None = None) -> Expr:
    """The expression of a text. `names`: symbols by name; `multipliers(name)`: Λ of a constraint, where allowed.

    `NotationError` has line and column within the text.
    """
    return _TextReader(text, names, multipliers).expression()


class _TextReader:
    """Converts one text to an expression."""

    def __init__(self, text: str, names: Mapping[str, Any], multipliers: Callable[[str], Any] | None):
        self._text, self._names, self._multipliers = text, names, multipliers
        self._called: dict[Any, Any] = {}
        self._work = 0

    def expression(self) -> Expr:
        self._refuse_bombs()
        try:
            expr = self._value(self._tree())
        except NotationError:
            raise
        except RecursionError:  # pragma: no cover - the nesting is bounded before SymPy sees it
            raise NotationError("nested too deeply", 1, 1) from None
        except Exception as error:  # SymPy evaluates numbers, mod(1, 0), and may raise anything
            raise NotationError(f"it has no value ({str(error)[:80]})", 1, 1) from None
        if not isinstance(expr, Expr):
            raise NotationError("a condition is given where an expression is expected", 1, 1)
        return expr

    def _refuse_bombs(self) -> None:
        text = self._text
        if len(text) > EXPRESSION_CHARACTERS:
            raise NotationError(f"an expression of {len(text)} characters; {EXPRESSION_CHARACTERS} are read at most", 1, 1)
        depth = 0
        for i, c in enumerate(text):
            depth += (c in "(") - (c in ")")
            if depth > DEEPEST_NESTING:
                raise self._error(i, f"more than {DEEPEST_NESTING} brackets inside each other")
        run = 0
        for i, c in enumerate(text):
            run = run + 1 if c in "+-−^*" else run if c.isspace() else 0
            if run > 8:
                raise self._error(i, "a chain of signs")

    def _error(self, position: int, what: str) -> NotationError:
        preceding = self._text[:position]
        return NotationError(what, preceding.count("\n") + 1, position - (preceding.rfind("\n") + 1) + 1)

    def _tree(self) -> Any:
        if not self._text.strip():
            raise NotationError("an empty expression", 1, 1)
        try:
            return _parser().parse(self._text)
        except UnexpectedToken as error:
            if error.token.type == "$END":
                raise self._error(len(self._text), "the expression ends too early") from None
            raise NotationError(f"'{str(error.token)[:30]}' does not belong here", error.line, error.column) from None
        except UnexpectedCharacters as error:
            raise NotationError(f"the character {shown(error.char)} has no meaning here", error.line, error.column) from None
        except UnexpectedInput as error:  # pragma: no cover - Lark has no others
            raise NotationError("not understood", error.line, error.column) from None

    def _value(self, node: Any, depth: int = 0) -> Any:
        if depth > 3 * DEEPEST_NESTING:
            raise NotationError("nested too deeply", 1, 1)
        children = node.children
        values = lambda: [self._value(child, depth + 1) for child in children if isinstance(child, Tree)]
        kind = node.data
        if kind == "sum":
            signs = ["+", *(str(c) for c in children if isinstance(c, Token))]
            terms = zip(signs, self._numbers(node, values()), strict=True)
            return sympy.Add(*(x if s == "+" else _scaled(-1, x) for s, x in terms))
        if kind == "product":
            return self._product(node, depth)
        if kind == "signed":
            (x,) = self._numbers(node, values())
            return x if str(children[0]) == "+" else _scaled(-1, x)
        if kind == "power":
            return self._power(node, *self._numbers(node, values()))
        if kind in ("number", "name", "call", "text"):
            return getattr(self, f"_read_{kind}")(node, depth)
        return self._condition(node, kind, values())

    def _numbers(self, node: Any, values: list[Any]) -> list[Any]:
        for x in values:
            if not isinstance(x, Expr):
                raise self._error_at(node, "a condition is given where a number is expected")
        return values

    def _error_at(self, node: Any, what: str) -> NotationError:
        meta = node.meta if isinstance(node, Tree) else node
        return NotationError(what, getattr(meta, "line", 1), getattr(meta, "column", 1))

    def _product(self, node: Any, depth: int) -> Expr:
        """All factors at once, including a leading sign."""
        marks = ["*", *(str(c) for c in node.children if isinstance(c, Token))]
        operands, sign = [c for c in node.children if isinstance(c, Tree)], 1
        while operands[0].data == "signed":
            sign = sign if str(operands[0].children[0]) == "+" else -sign
            operands[0] = operands[0].children[1]
        factors: list[Any] = [sympy.Integer(sign)]
        for mark, x in zip(marks, self._numbers(node, [self._value(operand, depth + 1) for operand in operands]), strict=True):
            if mark == "/" and x.is_zero:
                raise self._error_at(node, "a division by zero")
            factors.append(x if mark != "/" else sympy.Pow(x, -1))
        numbers, symbolic = [x for x in factors if x.is_Number], [x for x in factors if not x.is_Number]
        return self._finite(node, _scaled(sympy.Mul(*numbers), sympy.Mul(*symbolic)))

    def _power(self, node: Any, base: Any, exponent: Any) -> Expr:
        fixed = exponent if exponent.is_number else exponent.as_coeff_Add()[0]  # with m + 999 SymPy may split off the power 999
        if fixed != 0:
            size = abs(float(fixed)) if fixed.is_Rational or fixed.is_Float else abs(complex(fixed.evalf(15)))
            if size > LARGEST_WRITTEN_POWER:
                raise self._error_at(node, f"a power of {size:.4g}; {LARGEST_WRITTEN_POWER} is the largest")
        if base.is_zero and exponent.is_negative:
            raise self._error_at(node, "a division by zero")
        if base.is_Rational and exponent.is_Rational:  # SymPy writes both b**7 and b**(1/7) with powers up to the seventh
            bits, order = base.p.bit_length() + base.q.bit_length(), max(int(exponent.p), 1 if exponent.q == 1 else exponent.q)
            if bits * order > 4_000:
                raise self._error_at(node, "a number of more than a thousand digits")
        if base.is_number and exponent.is_number and (base.is_Float or exponent.is_Float):
            try:
                math.pow(float(base), float(exponent))
            except (OverflowError, ValueError, TypeError):
                raise self._error_at(node, "it has no finite real value") from None
        return self._finite(node, sympy.Pow(base, exponent))

    def _finite(self, node: Any, value: Any) -> Any:
        if value.has(sympy.zoo, sympy.oo, -sympy.oo, sympy.nan):
            raise self._error_at(node, "it has no finite value")
        if value.is_number and value.is_real is False:
            raise self._error_at(node, "it is not a real number")
        return value

    def _read_number(self, node: Any, depth: int) -> Expr:
        text = str(node.children[0])
        if len(text) > MOST_DIGITS:
            raise self._error_at(node, f"a number of {len(text)} characters; {MOST_DIGITS} are read at most")
        if text.isdigit():
            return sympy.Integer(int(text))
        value = float(text)
        if reason := out_of_range(text, value):
            raise self._error_at(node, f"{text} {reason}")
        return sympy.Float(value)

    def _read_name(self, node: Any, depth: int) -> Expr:
        name = str(node.children[0])
        plain = name[1:-1] if name.startswith("`") else name
        dots = len(str(node.children[1])) if len(node.children) > 1 else 0
        return self._dotted(node, self._symbol_named(node, plain), dots)

    def _symbol_named(self, node: Any, name: str) -> Any:
        if name in self._names:
            return self._names[name]
        if name in ("t", "pi"):
            return t if name == "t" else sympy.pi
        if name in FUNCTIONS or name in SPECIAL_FUNCTIONS:
            raise self._error_at(node, f"{name} is a function; write {name}(…)")
        meant = SOUNDS_LIKE.get(name)
        hint = (
            f"; did you mean '{meant}'?"
            if meant in self._names
            else did_you_mean(name, [*self._names, *FUNCTIONS, *SPECIAL_FUNCTIONS])
        )
        raise self._error_at(node, f"unknown name '{name}'{hint}")

    def _dotted(self, node: Any, symbol: Any, dots: int) -> Any:
        for _ in range(dots):
            if not isinstance(symbol, Jet):
                raise self._error_at(node, f"{symbol} has no time derivative: it is no coordinate")
            symbol = symbol.d
        return symbol

    def _read_call(self, node: Any, depth: int) -> Any:
        name, arguments = str(node.children[0]), node.children[1:]
        if name in ("dot", "ddot"):
            self._count(node, name, arguments, 1)
            return self._dotted(node, self._value(arguments[0], depth + 1), 1 + (name == "ddot"))
        if name == "multiplier":
            return self._multiplier(node, arguments)
        if name not in FUNCTIONS and name not in SPECIAL_FUNCTIONS:
            raise self._error_at(node, f"unknown function '{name}'{did_you_mean(name, [*FUNCTIONS, *SPECIAL_FUNCTIONS])}")
        values = [self._value(x, depth + 1) for x in arguments]
        if name == "piecewise":
            return self._piecewise(node, values)
        self._numbers(node, values)
        if name == "heaviside":
            if len(values) not in (1, 2):
                raise self._error_at(node, f"heaviside takes one or two arguments, not {len(values)}")
            return self._computed_once(node, sympy.Heaviside, values)
        function, count = FUNCTIONS[name]
        self._count(node, name, values, count)
        if name in OVERFLOWING and values[0].is_number:
            try:
                OVERFLOWING[name](float(values[0]))
            except (OverflowError, TypeError):
                raise self._error_at(node, f"{name} of this number is too large") from None
        return self._finite(node, self._computed_once(node, function, values))

    def _computed_once(self, node: Any, function: Callable[..., Any], values: list[Any], kind: Any = None) -> Any:
        """The result of a function for these values, computed once; excessive work raises before it is done."""
        key = (kind or function, *values)
        if key not in self._called:
            size = sum(len(x.args) if isinstance(x, PAIRWISE) else 1 for x in values)
            self._work += 1 + (size**2 // 5 if function in PAIRWISE else 0)
            if self._work > MOST_CALLS:
                too_many = f"more than {MOST_CALLS} different functions in one expression; min and max count more"
                raise self._error_at(node, too_many)
            self._called[key] = function(*values)
        return self._called[key]

    def _count(self, node: Any, name: str, arguments: list[Any], count: int | None) -> None:
        if (count is None and len(arguments) < 2) or (count is not None and len(arguments) != count):
            expected = {None: "two arguments or more", 1: "one argument", 2: "two arguments"}[count]
            raise self._error_at(node, f"{name} takes {expected}, not {len(arguments)}")

    def _multiplier(self, node: Any, arguments: list[Any]) -> Any:
        self._count(node, "multiplier", arguments, 1)
        if arguments[0].data not in ("name", "text"):
            examples = 'multiplier(floor) or multiplier("left wall")'
            raise self._error_at(node, f"multiplier takes the name of a constraint, {examples}")
        name = self._label(arguments[0])
        if self._multipliers is None:
            raise self._error_at(node, f"multiplier({name}) may stand in forces and limits of friction only")
        return self._multipliers(name)

    def _label(self, node: Any) -> str:
        """The name of a constraint: a word, text in `` ` ``, or a JSON string."""
        written = str(node.children[0])
        try:
            return written[1:-1] if written.startswith("`") else json.loads(written) if node.data == "text" else written
        except ValueError:
            raise self._error_at(node, f"{shown(written)} is no text; a backslash is written twice") from None

    def _read_text(self, node: Any, depth: int) -> Any:
        raise self._error_at(node, "a text in quotation marks may stand in multiplier(…) only")

    def _condition(self, node: Any, kind: str, values: list[Any]) -> Any:
        if kind == "relation":
            marks = [str(c) for c in node.children if isinstance(c, Token)]
            if any(x.has(sympy.Piecewise) for x in self._numbers(node, values)):  # SymPy would try to solve it
                raise self._error_at(node, "a condition cannot contain piecewise; write its cases as those of the outer one")
            return self._computed_once(node, lambda a, b: _compared(marks[0], a, b), values, RELATIONS[marks[0]])
        for x in values:
            if isinstance(x, Expr):
                raise self._error_at(node, "a number stands where a condition is wanted")
        return self._computed_once(node, {"either": sympy.Or, "both": sympy.And, "refused": sympy.Not}[kind], values)

    def _piecewise(self, node: Any, values: list[Any]) -> Any:
        if len(values) < 3 or len(values) % 2 == 0:
            raise self._error_at(node, "piecewise is written piecewise(value, condition, …, otherwise)")
        pairs = list(zip(values[:-1:2], values[1:-1:2], strict=True))
        for value, when in pairs:
            if not isinstance(value, Expr) or isinstance(when, Expr):
                raise self._error_at(node, "piecewise is written piecewise(value, condition, …, otherwise)")
        self._numbers(node, [values[-1]])
        return self._computed_once(node, sympy.Piecewise, [*pairs, (values[-1], True)])


def _compared(mark: str, a: Any, b: Any) -> Any:
    """a < b and the like; irrational numbers in float64, as in a run, because SymPy may compute digits forever."""
    if a.is_number and b.is_number and not (a.is_Rational and b.is_Rational):
        a, b = sympy.Float(float(a)), sympy.Float(float(b))
    return RELATIONS[mark](a, b)


def _scaled(number: Any, x: Any) -> Any:
    """number · x, keeping a sum in brackets: SymPy would expand 2 (x + 1) to 2 x + 2."""
    coefficient, rest = x.as_coeff_Mul()
    number = sympy.Mul(number, coefficient)
    return sympy.Mul(number, rest, evaluate=False) if rest.is_Add and number not in (0, 1) else sympy.Mul(number, rest)


__all__ = ["read_expression"]
