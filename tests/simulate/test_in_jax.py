"""Accelerations and motions in JAX: against equations written in JAX by hand, closed forms, `simulate`, and differences."""

from __future__ import annotations

import importlib.util
from functools import partial

import numpy as np
import pytest
from sympy import Heaviside, Piecewise, cos, sign, sin

import appell as ap
from appell import zoo
from appell.backends.calls import in_jax
from appell.errors import ModelError

if importlib.util.find_spec("jax") is None:
    pytest.skip("JAX is not installed: pip install 'appell[jax]'", allow_module_level=True)

import jax
import jax.numpy as jnp

x, y, phi = ap.coordinates("x y phi")
k, m = ap.parameters("k m", positive=True)


@pytest.fixture(autouse=True)
def doubles():
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def pendulum():
    """Two links."""
    example = zoo.n_pendulum()
    return ap.compile(example.system, example.parameters)


def by_hand(q, v, p):
    """Two links: l1 (m1 + m2) a1 + m2 l2 c a2 = r1, l1 c a1 + l2 a2 = r2; parameters g, l1, l2, m1, m2."""
    g, l1, l2, m1, m2 = p
    s, c = jnp.sin(q[0] - q[1]), jnp.cos(q[0] - q[1])
    r1 = -m2 * l2 * v[1] ** 2 * s - (m1 + m2) * g * jnp.sin(q[0])
    r2 = l1 * v[0] ** 2 * s - g * jnp.sin(q[1])
    free = m1 + m2 * s * s
    return jnp.stack([(r1 - m2 * c * r2) / (l1 * free), ((m1 + m2) * r2 - c * r1) / (l2 * free)])


def test_as_written_by_hand(pendulum):
    assert [str(s) for s in pendulum.system.parameters] == ["g", "l1", "l2", "m1", "m2"]
    f, rng = pendulum.jax(), np.random.default_rng(1)
    state = rng.normal(size=2), rng.normal(size=2), pendulum.p * rng.uniform(0.5, 2, 5)

    @partial(jax.jit, static_argnums=0)
    def everything(a, state, many):
        q, v, p = state
        total = lambda q, p: jnp.sum(a(q, v, p) ** 2)
        some = jax.vmap(jax.vmap(lambda q: a(q, v, p)))(many)  # one v and one p for all
        slopes = jax.jacfwd(a, (0, 1, 2))(*state), jax.jacrev(a, (0, 1, 2))(*state)
        return a(*state), some, slopes, jax.hessian(total, 1)(q, p)

    many = rng.normal(size=(in_jax.BATCH_WORTH_VECTORS, 3, 2))  # on vectors
    found = everything(lambda q, v, p: f.acceleration(0.0, q, v, p), state, many)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-11, atol=1e-11), found, everything(by_hand, state, many))


def test_the_program_calls_machine_code(pendulum):
    f = pendulum.jax()
    text = jax.jit(jax.grad(lambda q: f(0.0, q, q)[0])).lower(np.ones(2)).as_text()
    assert "@appell_" in text and "callback" not in text


def given_reaction(backend="vm"):
    """A given reaction, which a routine solves for."""
    blade = ap.Constraint(x.d * sin(phi) - y.d * cos(phi) - k * x, reaction=[sin(phi) + x / 5, -cos(phi), y / 3])
    T = m * (x.d**2 + y.d**2) + k * phi.d**2 / 2 + x * phi.d**2 / 9
    return ap.compile(ap.System([x, y, phi], T, k * y, constraints=[blade]), {k: 1.2, m: 0.7}, backend=backend)


def rolling():
    """One graph."""
    T = m * (x.d**2 + y.d**2) + k * phi.d**2 / 2 + x * phi.d**2 / 9
    system = ap.System([x, y, phi], T, k * y, constraints=[x.d * sin(phi) - y.d * cos(phi)])
    return ap.compile(system, {k: 1.2, m: 0.7}, backend="vm")


ACCELERATION = lambda f, q, v, p, h: f(h, q, v, p)
MOTION = lambda f, q, v, p, h: f.motion(q, v, p, step=h, steps=2)[0]


@pytest.mark.parametrize("make, what", [(given_reaction, ACCELERATION), (rolling, MOTION)])
def test_second_derivatives(make, what):
    """∂²/∂x² forward over reverse and reverse over reverse, along a direction, against differences of the first."""
    run = make()
    f, at = run.jax(), (np.array([0.3, 0.2, 0.5]), np.array([0.1, 0.4, 0.3]), run.p, np.array(0.1))
    np.testing.assert_allclose(f(0.0, *at[:2]), run.acceleration(0.0, *at[:2])[0], rtol=1e-13)
    slope = jax.grad(lambda q, v, p, h: jnp.sum(jnp.sin(what(f, q, v, p, h))), (0, 1, 2, 3))
    way = tuple(np.random.default_rng(0).normal(size=x.shape) for x in at)

    @jax.jit
    def both(at):
        value, back = jax.vjp(slope, *at)
        return value, jax.jvp(slope, at, way)[1], back(way)

    _, forward, reverse = both(at)
    moved = lambda h: both(tuple(x + h * d for x, d in zip(at, way, strict=True)))[0]
    near, far = (jax.tree.map(np.subtract, moved(h), moved(-h)) for h in (1e-3, 2e-3))
    wanted = jax.tree.map(lambda a, b: (8 * a - b) / 12e-3, near, far)
    jax.tree.map(partial(np.testing.assert_allclose, atol=1e-8), forward, wanted)
    jax.tree.map(partial(np.testing.assert_allclose, atol=1e-12), forward, reverse)


def test_a_routine_in_c():
    slopes = []
    for backend in ("vm", "c"):
        f = given_reaction(backend).jax()
        slopes.append(jax.jit(jax.jacrev(lambda q, f=f: f(0.0, q, [0.1, 0.4, 0.3])))(np.array([0.3, 0.2, 0.5])))
    np.testing.assert_allclose(*slopes, rtol=1e-13, atol=1e-14)


def test_a_motion_as_simulated(pendulum):
    """The end of a motion and its derivative by the parameters, against `simulate` and its differences."""
    f, start, i = pendulum.jax(), {"theta1": 0.5, "theta2": -0.3}, 2
    q, v = np.array([0.5, -0.3]), np.zeros(2)
    names = [str(s) for s in pendulum.system.parameters]
    end = lambda p: ap.simulate(pendulum.system, start, 1.0, dict(zip(names, p, strict=True)), rtol=1e-12, atol=1e-13).q[-1]
    ours = jax.jit(lambda p: f.motion(q, v, p, step=1 / 400, steps=400)[0])
    np.testing.assert_allclose(ours(pendulum.p), end(pendulum.p), atol=1e-9)
    h = 1e-3 * np.eye(5)[i]
    slope = (8 * (end(pendulum.p + h) - end(pendulum.p - h)) - end(pendulum.p + 2 * h) + end(pendulum.p - 2 * h)) / 12e-3
    np.testing.assert_allclose(jax.jacfwd(ours)(pendulum.p)[:, i], slope, atol=1e-8)


def test_in_closed_form():
    spring = ap.System([x], m * x.d**2 / 2, k * x**2 / 2)
    run = ap.compile(spring, {k: 4.0, m: 1.0})
    f, i, w, t = run.jax(), [str(s) for s in spring.parameters].index("k"), 2.0, 0.5
    end = jax.jit(lambda p: f.motion([1.0], [0.5], p, step=0.01, steps=50)[0][0])
    np.testing.assert_allclose(end(run.p), np.cos(w * t) + 0.5 / w * np.sin(w * t), rtol=1e-8)
    by_w = -t * np.sin(w * t) - 0.5 / w**2 * np.sin(w * t) + 0.5 / w * t * np.cos(w * t)
    np.testing.assert_allclose(jax.grad(end)(run.p)[i], by_w / (2 * w), rtol=1e-7)


def test_floats_singular_states_and_refusals(pendulum):
    f, q = pendulum.jax(), np.array([0.3, 0.5])
    jax.config.update("jax_enable_x64", False)
    single = f(0.0, q, q)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, pendulum.acceleration(0.0, q.astype(np.float32), q.astype(np.float32))[0], rtol=1e-6)
    jax.config.update("jax_enable_x64", True)
    nowhere = ap.compile(ap.System([x], x**2 * x.d**2 / 2, x), {}).jax()
    found = jax.value_and_grad(lambda q: nowhere(0.0, q, np.ones(1))[0])(np.zeros(1))
    assert np.isnan(found[0]) and np.isnan(found[1]).all() and np.isnan(nowhere.motion([0.0], [1.0], step=0.1, steps=2)[0])
    for wrong, said in (
        (lambda: f(0.0, [1.0], q), r"'q' has shape \(1,\), expected \(2,\)"),
        (lambda: f([0.0], q, q), "'t' is a real number"),
        (lambda: f(0.0, q + 0j, q), "float64 or float32"),
        (lambda: f.motion(q, q, step=0.1, steps=-1), "is a whole number"),
        (lambda: f.motion(q, q, step=[0.1], steps=1), "'step' is a real number"),
    ):
        with pytest.raises(ModelError, match=said):
            wrong()


def test_without_the_header(monkeypatch, tmp_path):
    """The same numbers through a callback, and a word about it."""
    monkeypatch.setattr(jax.ffi, "include_dir", lambda: str(tmp_path))
    monkeypatch.setattr(in_jax, "_registered", in_jax._registered.__wrapped__)  # type: ignore[attr-defined]
    monkeypatch.setattr("appell.backends.notice._heard", set())
    run = ap.compile(ap.System([x], m * x.d**2 / 2, k * x**4 / 7), {k: 2.0, m: 3.0})
    f = run.jax()
    with pytest.warns(ap.backends.AppellWarning, match="callbacks"):
        slope = jax.jacfwd(lambda q: f(0.0, q, [0.0]))(np.ones(1))
    np.testing.assert_allclose(slope, [[-12 * 2 / 7 / 3]], rtol=1e-14)


def test_walls_are_refused():
    wall = ap.Unilateral(x, "floor", 0.5)
    ball = ap.compile(ap.System([x], x.d**2 / 2, 9.81 * x, constraints=[wall], name="ball"))
    f = ball.jax()
    np.testing.assert_allclose(f.acceleration(0.0, [1.0], [0.0]), [-9.81])
    with pytest.raises(ModelError, match=r"ignores walls, and 'ball' has 'floor'.*ap\.simulate"):
        f.motion([1.0], [0.0], step=0.01, steps=200)


def test_jumps_are_refused():
    """Fixed steps would cross the edge of a push, or of a region."""
    for force in (Heaviside(ap.t - 1), Piecewise((1, x > 1), (0, True)), -sign(x.d)):
        f = ap.compile(ap.System([x], x.d**2 / 2, forces={x: force}, name="pushed"), backend="vm").jax()
        with pytest.raises(ModelError, match=r"'pushed' jumps or has a kink.*ap\.simulate"):
            f.motion(np.zeros(1), np.zeros(1), step=0.1, steps=3)
