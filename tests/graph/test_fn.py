"""Fn: ports, shapes, row-major memory, the instruction stream."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest

from appell.errors import ModelError
from appell.graph.fn import Port, make_fn


def replay(fn, *arrays):
    """The instruction stream executed in Python, for the operations used here."""
    operations = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
        "neg": lambda a: -a, "sq": lambda a: a * a, "twice": lambda a: 2 * a, "inv": lambda a: 1 / a,
        "sin": np.sin, "cos": np.cos,
    }  # fmt: skip
    flat = [np.ravel(array) for array in arrays]
    out = {port.name: np.full(port.size, np.nan) for port in fn.outputs}
    value = []
    for item in fn.instructions:
        if item.op == "output":
            out[fn.outputs[item.port].name][item.index] = value[item.args[0]]
            continue
        assert item.out == len(value), "values are numbered in order, without gaps"
        if item.op == "input":
            value.append(flat[item.port][item.index])
        elif item.op == "const":
            value.append(item.value)
        else:
            value.append(operations[item.op](*(value[k] for k in item.args)))
    return {port.name: out[port.name].reshape(port.shape) for port in fn.outputs}


def example():
    t, q, A = ca.SX.sym("t"), ca.SX.sym("q", 3), ca.SX.sym("A", 2, 3)
    outputs = {"y": A @ q / t, "C": A.T @ A + ca.diag(ca.sin(q) * ca.cos(q)), "zero": ca.SX(2, 3), "k": t * q[0] + 2}
    return make_fn("example", {"t": t, "q": q, "A": A}, outputs)


ARGUMENTS = (0.5, np.array([1.0, -2.0, 0.3]), np.arange(6.0).reshape(2, 3))


def test_evaluation_in_numpy_layout():
    t, q, A = ARGUMENTS
    out = example()(*ARGUMENTS)
    np.testing.assert_allclose(out["y"], A @ q / t, rtol=1e-15)
    np.testing.assert_allclose(out["C"], A.T @ A + np.diag(np.sin(q) * np.cos(q)), rtol=1e-15)
    np.testing.assert_array_equal(out["zero"], np.zeros((2, 3)))
    assert out["k"].shape == () and out["k"] == 2.5


def test_the_instructions_are_the_function():
    fn = example()
    expected, found = fn(*ARGUMENTS), replay(fn, *ARGUMENTS)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def test_shapes_are_inferred_or_given():
    x = ca.SX.sym("x", 6)
    fn = make_fn(
        "f", {"x": (x, (2, 3)), "s": (ca.SX.sym("s"), (1,))}, {"row": x[:3].T, "M": (x, (3, 2)), "one": (x[0], (1, 1))}
    )
    assert [port.shape for port in fn.inputs] == [(2, 3), (1,)]
    assert [port.shape for port in fn.outputs] == [(1, 3), (3, 2), (1, 1)]
    matrix = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(fn(matrix, [0.0])["M"], matrix.reshape(3, 2))
    with pytest.raises(ModelError, match=r"'M' is a 6×1 expression.*\(4,\)"):
        make_fn("f", {"x": x}, {"M": (x, (4,))})
    with pytest.raises(ModelError, match="'M' is a 2×3"):
        make_fn("f", {"x": x}, {"M": (ca.reshape(x, 2, 3), (3, 2))})


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_empty_things_keep_their_shape(shape):
    e, x = ca.SX.sym("e", 0), ca.SX.sym("x")
    fn = make_fn("f", {"e": (e, shape), "x": x}, {"nothing": (ca.SX(0, 1), shape), "y": 2 * x})
    out = fn(np.empty(shape), 3.0)
    assert out["nothing"].shape == shape and out["y"] == 6.0
    assert fn.operations == 1


def test_no_inputs_and_no_outputs():
    assert make_fn("f", {}, {"c": ca.SX(3.0)})()["c"] == 3.0
    assert make_fn("f", {"x": ca.SX.sym("x")}, {})(1.0) == {}


def test_wrong_arguments_are_named():
    fn = example()
    t, q, A = ARGUMENTS
    with pytest.raises(ModelError, match=r"'q' has shape \(\), expected \(3,\)"):
        fn(t, 1.0, A)
    with pytest.raises(ModelError, match="'A' has shape"):
        fn(t, q, A.T)
    with pytest.raises(ModelError, match=r"takes 3 arrays \(t, q, A\), got 2"):
        fn(t, q)
    with pytest.raises(ModelError, match="'q' is an array of complex128"):
        fn(t, q + 0j, A)


def test_strangers_and_bad_names_are_refused():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    with pytest.raises(ModelError, match="contains y, not among"):
        make_fn("f", {"x": x}, {"z": x * y})
    with pytest.raises(ModelError, match="'2f'"):
        make_fn("2f", {"x": x}, {"z": x})
    with pytest.raises(ModelError, match="'a b'"):
        Port("a b")
    with pytest.raises(ModelError, match="shape"):
        Port("a", (1, 2, 3))


def test_common_subexpressions_are_shared_across_outputs():
    x = ca.SX.sym("x", 2)

    def energy():
        return ca.sin(x[0] * x[1]) + ca.exp(x[0] * x[1])

    assert make_fn("f", {"x": x}, {"a": energy(), "b": energy()}).operations == 4
    assert make_fn("f", {"x": x}, {"a": x[0] * x[1] + 1, "b": x[1] * x[0] + 1}).operations == 2


def test_an_operation_nobody_can_write_is_named():
    x = ca.SX.sym("x")
    fn = make_fn("f", {"x": x}, {"y": ca.SX.binary(ca.OP_PRINTME, x, ca.SX(1))})
    with pytest.raises(ModelError, match="OP_PRINTME"):
        _ = fn.instructions


def test_digest_is_stable_and_sensitive():
    x = ca.SX.sym("x")

    def digest(y, port="x", shape=()):
        return make_fn("f", {port: (x, shape)}, {"y": y}).digest

    assert digest(2.5 * x) == digest(2.5 * x)
    assert pickle.loads(pickle.dumps(example())).digest == example().digest
    others = {digest(2.5 * x), digest(2.5 * x + 1), digest(2.5 * x, "z"), digest(2.5 * x, "x", (1,)), digest(-x)}
    assert len(others) == 5


def test_buffers_of_two_evaluators_are_independent():
    fn = example()
    first, second = fn.buffers(), fn.buffers()
    for work, t in ((first, 1.0), (second, 2.0)):
        for memory, value in zip(work.inputs, (t, *ARGUMENTS[1:]), strict=True):
            memory[...] = value
    first.run()
    second.run()
    np.testing.assert_array_equal(first.outputs[0], 2 * second.outputs[0])
    first.inputs[0][...] = 4.0
    first.run()
    np.testing.assert_array_equal(2 * first.outputs[0], second.outputs[0])


def test_what_no_output_needs_is_dropped():
    """lift(x, guess) is x: the guess, and all that led to it, is dead."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    fn = make_fn("f", {"x": x, "y": y}, {"z": 2 * ca.SX.binary(ca.OP_LIFT, x, ca.sin(y))})
    assert [item.op for item in fn.instructions] == ["input", "twice", "output"]
    assert fn(3.0, 1.0)["z"] == 6.0
