"""Code never comes from data: text in numbers is refused everywhere, and the source has no other way in."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
import sympy
from tests.hostile.tripwire import CODE, tripwire

import appell as ap
from appell.errors import ModelError
from appell.numeric_functions import numeric_function
from appell.reading import symbolic

SOURCE = Path(ap.__file__).parent
m = ap.parameters("m", positive=True)
x, y = ap.coordinates("x y")

FORBIDDEN = set(
    "sympify _sympify parse_expr eval exec lambdify pickle dill cloudpickle joblib marshal shelve literal_eval yaml".split()
)
"""Names by which text or bytes become code, or objects that run it."""

ALLOWED = {
    ("reading.py", "_sympify"),  # of what is no text
    ("reading.py", "sympify"),  # the module that it comes from
    ("numeric_functions.py", "lambdify"),  # of names that are arguments
    ("tabulated.py", "lambdify"),  # implemented_function: of tables, by names made of their digest
    ("backends/calls/crossing.py", "pickle"),  # copyreg.pickle: how functions of ours are written; nothing is read
}


def names_used(tree: ast.AST) -> set[str]:
    """Names that are called or imported, attributes that are asked for, and `S(…)` of SymPy."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found |= {"sympify"} if ast.unparse(node.func) in ("S", "sympy.S") else set()
            found |= {node.func.id} if isinstance(node.func, ast.Name) else set()
            found |= {"pickle" for word in node.keywords if word.arg == "allow_pickle" and ast.unparse(word.value) != "False"}
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            found |= {part for name in modules for part in name.split(".")}
    return found


def test_nothing_but_the_reader_turns_text_into_code():
    for path in sorted(SOURCE.rglob("*.py")):
        place, text = path.relative_to(SOURCE).as_posix(), path.read_text(encoding="utf-8")
        if not any(word in text for word in (*FORBIDDEN, "S(")):
            continue
        tree = ast.parse(text)
        own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}  # `eval` of a sympy.Function
        used = (names_used(tree) & FORBIDDEN) - own
        assert {(place, name) for name in used} <= ALLOWED, place


def test_the_list_of_exceptions_is_no_longer_than_it_must_be():
    for place, name in ALLOWED:
        assert name in names_used(ast.parse((SOURCE / place).read_text(encoding="utf-8"))), (place, name)


@pytest.mark.parametrize("value", [CODE, CODE.encode(), (CODE,), [CODE], {CODE}, {CODE: 1}, np.str_(CODE), np.array(CODE)])
def test_text_is_refused_by_the_name_of_the_argument(value):
    with tripwire() as executed, pytest.raises(ModelError, match="the mass of the bob must be"):
        symbolic(value, "the mass of the bob")
    assert executed == []


def test_a_name_that_is_no_argument_never_stands_in_code():
    evil = sympy.Function("__import__('os').getpid")
    for expr in (evil(x), sympy.Symbol(CODE) + x, sympy.Sum(x, (sympy.Symbol("i in [1] for j"), 1, 2)), x + sympy.Symbol("os")):
        with pytest.raises(ModelError):
            numeric_function([x], expr)
    assert numeric_function([x], 2 * x)(3) == 6


def values_in_messages(tree: ast.AST) -> list[str]:
    """What stands as `{value!r}` in the text of an error; `AttributeError`s name attributes, which are names."""
    raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    errors = [call for call in raised if ast.unparse(call.func) != "AttributeError"]
    shown = [node for call in errors for node in ast.walk(call) if isinstance(node, ast.FormattedValue)]
    return [text for node in shown if node.conversion == ord("r") and not (text := ast.unparse(node.value)).isupper()]


def test_values_in_messages_are_shortened():
    """An array of 10⁶ numbers, or a whole number of 10⁶ digits, never stands in a message whole: `shown` writes all of them."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "!r" in text:
            assert values_in_messages(ast.parse(text)) == [], path.relative_to(SOURCE)
