"""The same values with fewer operations, never less accurately."""

import casadi as ca
import mpmath
import numpy as np
import pytest
import sympy
from sympy import cos, sin

import appell as ap
from appell.graph import Fn, make_fn
from appell.graph.elimination import eliminated
from appell.graph.shorter import shorter
from appell.normal_form.flow import flow, short_blocks

COUNTS = {  # operations and divisions of ż; before: 119 and 3, 178 and 17, 33 and 3, 258 and 15, 169 and 6, 366 and 18
    "n_pendulum": (45, 1),
    "rolling_disc": (143, 7),
    "skate": (27, 1),
    "differential_drive": (65, 1),
    "heavy_top": (112, 2),
    "heavy_top_quaternion": (104, 4),
}


def as_fn(values, inputs) -> Fn:
    return make_fn("f", {f"x{k}": x for k, x in enumerate(inputs)}, {f"y{k}": ca.densify(v) for k, v in enumerate(values)})


def exactly(fn: Fn, arrays) -> list:
    """The outputs in 50 digits."""
    value, out = {}, []
    for item in fn.instructions:
        x = [value[arg] for arg in item.args]
        if item.op == "output":
            out.append(x[0])
        elif item.op == "input":
            value[item.out] = mpmath.mpf(float(np.atleast_1d(arrays[item.port])[item.index]))
        elif item.op == "const":
            value[item.out] = mpmath.mpf(item.value)
        else:
            value[item.out] = EXACT[item.op](*x)
    return out


EXACT = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "neg": lambda a: -a, "twice": lambda a: 2 * a, "sq": lambda a: a * a, "inv": lambda a: 1 / a,
    "sin": mpmath.sin, "cos": mpmath.cos, "sqrt": mpmath.sqrt,
}  # fmt: skip


def test_counts():
    for name, (operations, divisions) in COUNTS.items():
        example = getattr(ap.zoo, name)()
        run = ap.compile(example.system, example.parameters, backend="vm")
        rhs = flow(run.form, run.policies, work=False).rhs
        assert isinstance(rhs, Fn)
        assert rhs.operations <= operations, (name, rhs.operations)
        assert sum(item.op in ("div", "inv") for item in rhs.instructions) <= divisions, name


def random_chain(seed: int) -> ap.System:
    """Points on a random chain of turning and sliding links in the plane or in space, with springs and weight."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 4))
    q = ap.coordinates(" ".join(f"q{i}" for i in range(n)))
    p = ap.parameters("m l k g", positive=True)
    R, r, T, V = sympy.eye(3), sympy.zeros(3, 1), sympy.S(0), sympy.S(0)
    for i in range(n):
        axis = random.choice(3, p=[0.2, 0.2, 0.6])
        c, s = cos(q[i]), sin(q[i])
        turn = [[[1, 0, 0], [0, c, -s], [0, s, c]], [[c, 0, s], [0, 1, 0], [-s, 0, c]], [[c, -s, 0], [s, c, 0], [0, 0, 1]]][
            axis
        ]
        R = sympy.eye(3) * sympy.Matrix(turn) if random.random() < 0.5 else R * sympy.Matrix(turn)
        r = r + p[1] * int(random.integers(1, 3)) * R[:, int(random.integers(3))]
        v = r.jacobian(q) * sympy.Matrix([x.d for x in q])
        T, V = T + p[0] * v.dot(v) / 2 + p[0] * q[i].d ** 2 / 7, V + p[0] * p[3] * r[2] + p[2] * (q[i] - 3) ** 2 / 2
    return ap.System(list(q), T, V)


@pytest.mark.parametrize("seed", range(6))
def test_random_chains_against_fifty_digits(seed):
    system = random_chain(seed)
    run = ap.compile(system, dict.fromkeys(system.parameters, 1.0), backend="vm")
    form = run.form
    inputs = [form.inputs[name] for name in ("t", "q", "v", "p")]
    short = short_blocks(form)
    old, new = as_fn([form["M"], form["Q"] - form["h"]], inputs), as_fn([short.M, short.r], inputs)
    assert new.operations < old.operations
    random = np.random.default_rng(seed)
    for _ in range(4):
        at = [0.0, *(random.normal(size=x.numel()) for x in inputs[1:3]), random.uniform(0.2, 3, inputs[3].numel())]
        with mpmath.workdps(50):
            one, other = exactly(old, at), exactly(new, at)
        size = max(float(abs(x)) for x in one)
        assert max(float(abs(a - b)) for a, b in zip(one, other, strict=True)) < 1e-40 * size
        got, before = (np.concatenate([x.ravel() for x in fn(*at).values()]) for fn in (new, old))
        error, allowed = (np.abs([float(x - y) for x, y in zip(values, one, strict=True)]) for values in (got, before))
        assert error.max() <= 2 * allowed.max() + 1e-15 * size


def test_differences_of_large_numbers_are_not_taken_apart():
    x, y, p = ca.SX.sym("x"), ca.SX.sym("y"), ca.SX.sym("p")
    values = [(x - 1e4) ** 2 + p * (x - 1e4), (x + y) ** 2 * p + (x + y), ca.sin(x - 1e4) ** 2 * p + ca.cos(x - 1e4) ** 2 * p]
    found = shorter(values, [x, y, p], [False, False, True])
    fn = as_fn(found, [x, y, p])
    got = [float(v) for v in fn(1e4 + 1e-9, -1.0, 1.0).values()]
    d = (1e4 + 1e-9) - 1e4
    assert got[0] == pytest.approx(d**2 + d, rel=1e-15)
    assert fn(1 / 3, -1 / 3 + 1e-9, 2.0)["y1"] == pytest.approx(
        float(as_fn(values, [x, y, p])(1 / 3, -1 / 3 + 1e-9, 2.0)["y1"]), rel=1e-14
    )
    assert got[2] == 1.0


def test_powers_of_a_difference_are_not_taken_apart():
    """A force that is a cubic about 5.8 s is as smooth near it in code as on paper: expanded it was off by 1e-5."""
    t, c, p = ca.SX.sym("t"), ca.SX.sym("c"), ca.SX.sym("p", 3)
    s = t - c
    cubic = p[0] + p[1] * s + p[2] * s**3
    plain, number = as_fn([cubic], [t, c, p]), ca.substitute(cubic, ca.vertcat(c, p), ca.DM([5.79161343, -20.0, 2.46, 5.6e8]))
    at = 5.79161343 + 4e-5
    want = float(plain(at, 5.79161343, [-20.0, 2.46, 5.6e8])["y0"])
    letters = as_fn(shorter([cubic], [t, c, p], [False, True, True]), [t, c, p])
    assert float(letters(at, 5.79161343, [-20.0, 2.46, 5.6e8])["y0"]) == pytest.approx(want, rel=1e-14)
    assert float(as_fn(shorter([number], [t], [False]), [t])(at)["y0"]) == pytest.approx(want, rel=1e-14)


def test_angles_that_occur_as_differences_are_not_turned_alone():
    a, b, k = ca.SX.sym("a"), ca.SX.sym("b"), ca.SX.sym("k")
    values = [k * (ca.sin(a) * ca.sin(b) + ca.cos(a) * ca.cos(b)), ca.sin(a) * ca.cos(b) - ca.cos(a) * ca.sin(b)]
    fn = as_fn(shorter(values, [a, b, k], [False, False, True]), [a, b, k])
    assert fn.operations == 4  # a − b, sine, cosine, a product
    out = fn(1.2, 0.5, 3.0)
    assert out["y0"] == pytest.approx(3 * np.cos(0.7), rel=1e-15) and out["y1"] == pytest.approx(np.sin(0.7), rel=1e-15)


def test_a_singular_factor_is_not_cancelled():
    """x/x stays: it is no number at 0."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    fn = as_fn(shorter([(y * x + x) / x + y * x + x * 3 * y], [x, y], [False, False]), [x, y])
    assert np.isnan(fn(0.0, 1.0)["y0"])


@pytest.mark.parametrize("n, m, columns", [(1, 0, 1), (2, 0, 1), (3, 0, 2), (5, 0, 1), (4, 2, 1), (3, 1, 3), (6, 3, 1)])
def test_elimination(n, m, columns):
    """Against NumPy, with structural zeros; pivots have the signs of those of an L D Lᵀ."""
    random = np.random.default_rng(n + 10 * m)
    B = random.normal(size=(n, n)) * (random.random((n, n)) < 0.7) + np.eye(n)
    M, A = B @ B.T, random.normal(size=(m, n)) * (random.random((m, n)) < 0.8) + np.eye(m, n)
    K = np.block([[M, A.T], [A, np.zeros((m, m))]])
    right = random.normal(size=(n + m, columns))
    entries = ca.SX.sym("k", int((np.tril(K) != 0).sum()))
    value = ca.SX(n + m, n + m)
    for k, (i, j) in enumerate(zip(*np.nonzero(np.tril(K)), strict=True)):
        value[i, j] = value[j, i] = entries[k]
    b = ca.SX.sym("b", *right.shape)
    x, pivots = eliminated(value, b, range(n))
    f = ca.Function("f", [entries, b], [x, ca.vertcat(*(p.value for p in pivots)), ca.vertcat(*(p.size for p in pivots))])
    got, left, size = (np.asarray(y) for y in f(K[np.nonzero(np.tril(K))], right))
    np.testing.assert_allclose(got, np.linalg.solve(K, right), rtol=1e-9, atol=1e-11)
    assert (left > 0).all() and (left <= size * (1 + 1e-12)).all()
    G = A @ np.linalg.solve(M, A.T)
    np.testing.assert_allclose(size[n:, 0], np.diag(G), rtol=1e-9)
    f = ca.Function("f", [entries, b], [x])
    assert sum(f.instruction_id(k) in (ca.OP_DIV, ca.OP_INV) for k in range(f.n_instructions())) <= (n + 1) // 2 + n % 2 + m
