"""The text of the emitted C."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
import pytest

from appell.backends import c_function, compile_c, emit, vm_function
from appell.backends.text.dialect import c_literal
from appell.backends.text.function_chunks import split
from appell.graph.fn import make_fn


@pytest.mark.parametrize("value", [0.1, -0.1, -0.0, 1e22, 5e-324, 2.0**60, -1.5e-300, 3.0])
def test_literals_read_back_exactly(value):
    text = c_literal(value)
    assert float(text.strip("()")).hex() == value.hex()
    assert re.search(r"[.e]", text), "an integer literal would divide as an integer"


def test_constants_that_are_not_finite_survive():
    x = ca.SX.sym("x")
    fn = make_fn("constants", {"x": x}, {"y": ca.vertcat(x - np.inf, -np.inf, np.inf, np.nan, x * -2.5)})
    (y,) = c_function(compile_c([fn], optimise="exact"), fn)(2.0)
    np.testing.assert_array_equal(y, vm_function(fn)(2.0)[0])
    assert y[0] == y[1] == -np.inf and y[2] == np.inf and np.isnan(y[3]) and y[4] == -5.0


def test_sines_and_cosines_are_evaluated_together():
    """One call for three independent arguments, another for the one that depends on them."""
    x = ca.SX.sym("x", 3)
    late = ca.sin(x[0]) * x[1] + ca.exp(x[1]) * ca.sin(x[2])
    text = emit(make_fn("f", {"x": x}, {"y": late * ca.cos(x[0]) + ca.cos(x[1] * x[2]) + ca.sin(late)}))
    assert re.findall(r"appell_sincos(\d)_any", text) == ["4", "2"]
    assert not re.search(r"\b(sin|cos)\(", text)


def test_each_input_is_loaded_once_and_unused_ones_never():
    x = ca.SX.sym("x", 3)
    text = emit(make_fn("f", {"x": x}, {"y": x[0] * x[1] + ca.sin(x[0]) + x[0]}))
    assert len(re.findall(r"x\)?\[0\]", text)) == len(re.findall(r"x\)?\[1\]", text)) == 1
    assert not re.search(r"x\)?\[2\]", text)


def test_awkward_port_names_compile():
    """Names of C keywords, of functions the body calls, of values, and the same name on both sides."""
    names = ["sin", "double", "w1", "work", "n", "q", "restrict", "_Bool"]
    symbols = {name: ca.SX.sym(name) for name in names}
    total = ca.sin(sum(symbols.values()))
    fn = make_fn("awkward", symbols, {"q": total, "pow": total * total})
    out = c_function(compile_c([fn]), fn)(*range(8))
    assert out[0] == pytest.approx(np.sin(28.0)) and out[1] == pytest.approx(np.sin(28.0) ** 2)


def test_no_piece_is_longer_than_asked_and_slots_are_reused(random_fn):
    fn = random_fn(5, 3000, ("add", "mul", "sub"))
    plan = split(fn.instructions, 100)
    assert max(map(len, plan.pieces)) <= 100 and len(plan.pieces) > 10
    assert sum(map(len, plan.pieces)) == sum(item.op not in ("input", "const") for item in fn.instructions)
    assert 0 < plan.work < len(plan.slot)
    assert set(plan.slot.values()) == set(range(plan.work))


def test_a_function_without_instructions_is_still_a_function():
    fn = make_fn("nothing", {"x": (ca.SX.sym("x", 0), (0,))}, {"A": (ca.SX(0, 3), (0, 3))})
    library = compile_c([fn])
    for call in (c_function(library, fn), vm_function(fn)):
        assert call(np.empty(0))[0].shape == (0, 3)
        assert call.batch(np.empty((5, 0)))[0].shape == (5, 0, 3)
