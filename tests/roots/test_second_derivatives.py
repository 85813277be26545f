"""The bound of a guard by its second derivative: it holds for random functions along random steps, in NumPy and in C, and a
lift-off with g = ġ = g̈ = 0 takes a few intervals."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from tests.roots.test_enclosures import BINARY, UNARY

from appell.backends.compiler.build import build, reason_against_c
from appell.backends.text.dialect import SCALAR_C
from appell.graph import make_fn
from appell.roots.guard import GuardAlong, GuardInterval, RateBounds, StepPolynomial, Terms, guard_function, second_function
from appell.roots.interval_text import GuardShape, finder_text, interval_text

DEGREE, LOOKS = 5, 30
T, Z, P = ca.SX.sym("t"), ca.SX.sym("z", 2), ca.SX.sym("p", 1)
ANY = RateBounds(-np.inf, np.inf)
ENTRY = """
void bent(const double *c, const double *p, double t, double h, double a, double b, double *y)
{
    RootStep r = {p, t, h, %d, 0};
    RootTerms g = {0, 1e-15, 1e-12, 0, 1, 0, 1000, NAN, NAN, NAN, NAN};
    Interval rate = iv_make(-INFINITY, INFINITY);
    for (int k = 0; k <= r.degree; k++) for (int n = 0; n < 2; n++) r.c[k][n] = c[2*k + n], r.off[n] = r.off_d[n] = 0;
    root_whole(&r, NULL);
    y[0] = root_bent(&r, 0, &g, a, b, root_value(&r, 0, &g, 0.5*(a + b)), &rate), y[1] = rate.lo, y[2] = rate.hi;
    (void) root_clear, (void) root_first;
}
"""


def functions(g):
    return guard_function("g", g, T, Z, P), second_function("g_second", g, T, Z, P)


def random_guard(seed: int):
    """A guard of random operations, smooth and other ones, and a generator."""
    rng = np.random.default_rng(seed)
    pool = [T, Z[0], Z[1], P, Z[0] - Z[1]]
    for _ in range(rng.integers(2, 7)):
        if rng.random() < 0.4:
            pool.append(UNARY[rng.integers(len(UNARY))](pool[rng.integers(len(pool))]))
        else:
            pool.append(BINARY[rng.integers(len(BINARY))](*(pool[k] for k in rng.integers(len(pool), size=2))))
    return rng, pool[-1] + 0.5 * pool[-2] + 0.1 * Z[0] + 0.01 * T


def random_steps(rng: np.random.Generator, count: int = 12):
    """Polynomials in θ with t, h and p, and an interval inside each."""
    for _ in range(count):
        c = rng.normal(size=(DEGREE + 1, 2)) * 0.5 ** np.arange(DEGREE + 1)[:, None]
        a = 0.0 if rng.random() < 0.3 else rng.random()
        b = a + (1 - a) * 10.0 ** rng.uniform(-5, 0)
        yield StepPolynomial(c, float(rng.normal()), 10.0 ** rng.uniform(-2, 0)), rng.normal(size=1), a, b


def held(guard: GuardAlong, a: float, b: float, low: float, rate: RateBounds) -> bool:
    """Asserts that samples stay inside; whether there is a bound at all."""
    values = []
    for theta in np.linspace(a, b, 41):
        z, at = guard.step.at(theta), guard.step
        k = np.arange(1, len(at.c))
        zd = (k * theta ** (k - 1)) @ at.c[1:]
        values.append(guard.fn([at.t + theta * at.h], z, guard.p, [at.h], zd)["y"])
    y = np.array(values)
    good, size = np.isfinite(y).all(axis=1), 1e-13 * (1 + np.abs(y).max(axis=0))
    assert (y[good, 0] >= low - size[0]).all()
    assert (y[good, 1] >= rate.lo - size[1]).all() and (y[good, 1] <= rate.hi + size[1]).all()
    return low > -np.inf


@pytest.mark.parametrize("seed", range(12))
def test_samples_of_random_guards_stay_inside(seed):
    rng, g = random_guard(seed)
    for step, p, a, b in random_steps(rng):
        guard = GuardAlong(*functions(g), step, p)
        with np.errstate(all="ignore"):
            look = GuardInterval(a, b, guard.value((a + b) / 2), 0.0)
            held(guard, a, b, *guard.second_order_bound(Terms(0.0, 1e-15, 1e-12), look, ANY))


@pytest.mark.skipif(reason_against_c() is not None, reason="no C compiler")
@pytest.mark.parametrize("seed", range(4))
def test_samples_stay_inside_compiled_bounds(seed):
    rng, g = random_guard(seed)
    x, xd, xdd = ca.vertcat(T, Z, P), ca.SX.sym("xd", 4), ca.SX.sym("xdd", 4)
    rate = ca.jtimes(g, x, xd)
    second = ca.jtimes(rate, ca.vertcat(x, xd), ca.vertcat(xd, xdd))
    ports = {"x": (x, (4,)), "xd": (xd, (4,)), "xdd": (xdd, (4,)), "c": (ca.SX.sym("c", 0), (0,))}
    fn = make_fn("f", {k: v for k, v in ports.items() if k != "xdd"}, {"y": (ca.vertcat(g, rate), (2,))})
    shape = GuardShape(
        fn, make_fn("f2", ports, {"y": (ca.vertcat(g, rate, second), (3,))}), np.zeros(1, np.int32),
        np.arange(4, dtype=np.int32)[None], np.zeros((1, 0)),
    )  # fmt: skip
    text = "\n".join([SCALAR_C, interval_text(), finder_text([shape], 2, DEGREE), ENTRY % DEGREE])
    library = build(text, "void bent(double *c, double *p, double t, double h, double a, double b, double *y);")
    ffi, bounded = library.ffi, 0
    for step, p, a, b in random_steps(rng, 60):
        y, c = np.zeros(3), np.ascontiguousarray(step.c)
        pointers = [ffi.cast("double *", one.ctypes.data) for one in (c, p, y)]
        library.lib.bent(pointers[0], pointers[1], step.t, step.h, a, b, pointers[2])
        with np.errstate(all="ignore"):
            bounded += held(GuardAlong(*functions(g), step, p), a, b, float(y[0]), RateBounds(*y[1:].tolist()))
    assert bounded > 10


def test_a_lift_off_takes_a_few_intervals():
    """z − c sin ωt from where g = c ω² sin ωt on, in free fall: a bound on ġ alone takes hundreds."""
    c, omega, gravity, h = 0.02, 25.0, 9.81, 0.04
    t = float(np.arcsin(gravity / (c * omega**2)) / omega)
    step = StepPolynomial(np.zeros((3, 2)), t, h)
    step.c[:, 0] = c * np.sin(omega * t), h * c * omega * np.cos(omega * t), -gravity * h**2 / 2
    guard = GuardAlong(*functions(Z[0] - P * ca.sin(omega * T)), step, np.array([c]))
    for order in (1, 2):
        if order == 1:
            object.__setattr__(guard, "second_order_bound", lambda g, look, rate: (-np.inf, rate))
        else:
            del guard.__dict__["second_order_bound"]
        found = guard.first_root(Terms(0.0, 1e-16, 1e-12, risen=False, leaves=True, start=0.0, looks=LOOKS))
        assert found.lost == (order == 1) and found.theta is None
