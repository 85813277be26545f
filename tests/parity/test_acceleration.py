"""The same accelerations and reactions on every back end and through every saddle: 1e-12 of their size (cond < 1e3)."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin, sqrt

from appell import zoo
from appell.backends.compiler.build import reason_against_c
from appell.compiled.compiling import compile
from appell.errors import SingularConfiguration
from appell.jets import coordinates, parameters
from appell.jets import t as time
from appell.model import Constraint, System
from appell.normal_form import solved as solved_module
from appell.normal_form.flow import acceleration
from appell.normal_form.solved import Solved
from appell.rows import CHOLESKY, LU, RANK
from appell.simulate.simulate import simulate
from appell.simulate.start import consistent

x, y, z, phi = coordinates("x y z phi")
m, g = parameters("m g", positive=True)

T = m * (x.d**2 + y.d**2 + z.d**2 * (2 + cos(x))) / 2 + m * phi.d**2 / 4
V = m * g * y + sin(z * x)
BLADE = Constraint(x.d * sin(phi) - y.d * cos(phi), name="blade")
SURFACE = Constraint(z - x**2 - y * sin(time), name="surface")


def independent() -> System:
    return System([x, y, z, phi], T, V, {phi: -phi.d}, [BLADE, SURFACE])


def redundant() -> System:
    both = Constraint(2 * BLADE.residual * (1 + x**2), name="blade again")
    return System([x, y, z, phi], T, V, {phi: -phi.d}, [BLADE, SURFACE, both])


def servo() -> System:
    servo = Constraint(x.d + y.d - sin(time), name="servo", reaction={x: 1, y: 1, phi: 2})
    return System([x, y, z, phi], T, V, {phi: -phi.d}, [SURFACE, servo])


def massless() -> System:
    """A massless slider z between a mass and the ground: z follows from the rows alone."""
    rows = [Constraint(z.d - x.d * y - phi.d, name="slider"), BLADE]
    return System([x, y, z, phi], m * (x.d**2 + y.d**2) / 2 + m * phi.d**2 / 4, V, {z: -z}, rows)


SYSTEMS = {"independent": independent, "redundant": redundant, "servo": servo, "massless": massless}
KIND = {"independent": CHOLESKY, "redundant": RANK, "servo": LU, "massless": CHOLESKY}
VALUES = {m: 1.3, g: 9.81}


def states(count: int, nv: int = 4, seed: int = 0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 1, count), rng.uniform(-1, 1, (count, 4)), rng.uniform(-1, 1, (count, nv))


def on_the_constraints(system, t, q, v):
    start = dict(zip((*system.coordinates, *system.velocities), (*q, *v), strict=True))
    values = list(consistent(system, start, VALUES, since=t).values())
    return np.array(values[:4]), np.array(values[4:])


def reference(system, t, q, v):
    """(a, Λ) by the pseudo-inverse of the whole matrix; Λ of least norm."""
    out = compile(system, VALUES, backend="vm", ready=False).form.select("M", "h", "Q", "A", "a0", "W")(
        t, q, v, [9.81, 1.3]
    )
    M, A, W, r = out["M"], out["A"], out["W"], out["Q"] - out["h"]
    K = np.block([[M, -W], [A, np.zeros((len(A), len(A)))]])
    a = (np.linalg.pinv(K, rcond=1e-11) @ np.concatenate([r, -out["a0"]]))[: len(M)]
    return a, np.linalg.pinv(W, rcond=1e-11) @ (M @ a - r)


def require(backend: str) -> None:
    if backend == "c" and (reason := reason_against_c()):
        pytest.skip(reason)


@pytest.mark.parametrize("unroll", [14, 0], ids=["unrolled", "routine"])
@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("backend", ["vm", "c"])
def test_every_saddle_on_every_back_end(monkeypatch, backend, name, unroll):
    require(backend)
    monkeypatch.setattr(solved_module, "UNROLL", unroll)
    system = SYSTEMS[name]()
    run = compile(system, VALUES, backend=backend)
    assert run.policies.acceleration.kind == KIND[name]
    assert (run.policies.acceleration.gamma > 0) == (name == "massless")
    assert isinstance(acceleration(run.form, run.policies), Solved) == (unroll == 0 or KIND[name] != CHOLESKY)
    for t, q, v in zip(*states(5), strict=True):
        q, v = on_the_constraints(system, t, q, v)  # elsewhere redundant rows need not agree
        a, lam = run.acceleration(t, q, v)
        a_ref, lam_ref = reference(system, t, q, v)
        size = 1 + np.abs(a_ref).max() + np.abs(lam_ref).max()
        assert a.shape == (4,) and lam.shape == (len(system.constraints),)
        assert np.abs(a - a_ref).max() < 1e-11 * size and np.abs(lam - lam_ref).max() < 1e-11 * size


@pytest.mark.parametrize("name", SYSTEMS)
def test_vm_is_c(name):
    require("c")
    system = SYSTEMS[name]()
    vm, c = (compile(system, VALUES, backend=backend) for backend in ("vm", "c"))
    for t, q, v in zip(*states(10, seed=1), strict=True):
        q, v = on_the_constraints(system, t, q, v)
        (a, lam), (b, mu) = vm.acceleration(t, q, v), c.acceleration(t, q, v)
        size = 1 + np.abs(a).max() + np.abs(lam).max()
        assert np.abs(a - b).max() < 1e-12 * size and np.abs(lam - mu).max() < 1e-12 * size


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("backend", ["vm", "c"])
def test_batch_is_single(backend, name):
    require(backend)
    run = compile(SYSTEMS[name](), VALUES, backend=backend)
    t, q, v = states(7, seed=2)
    t = np.full(7, t[0])
    q, v = (np.array(x) for x in zip(*(on_the_constraints(run.system, t[0], *z) for z in zip(q, v, strict=True)), strict=True))
    a, lam = run.acceleration(t, q, v)
    for k in range(7):
        one, mu = run.acceleration(t[k], q[k], v[k])
        assert np.array_equal(a[k], one) and np.array_equal(lam[k], mu)  # the same code on the same numbers
    fixed, _ = run.acceleration(t[0], q, v)
    assert np.array_equal(fixed[0], a[0]) and fixed.shape == (7, 4)
    none, no_lam = run.acceleration(0.0, np.zeros((0, 4)), np.zeros((0, 4)))
    assert none.shape == (0, 4) and no_lam.shape == (0, lam.shape[1])


@pytest.mark.parametrize("backend", ["vm", "c"])
def test_batch_names_the_bad_state(backend):
    require(backend)
    system = System([x, y], (x.d**2 + y.d**2) / 2, constraints=[Constraint(x**2 + y**2 - 1, name="circle")])
    run = compile(system, backend=backend)
    q = np.array([[1.0, 0], [0, 0], [0, 1.0], [0, 0]])
    with pytest.raises(SingularConfiguration, match=r"state 1 of the batch, and 1 more.*x = 0") as caught:
        run.acceleration(np.arange(4.0), q, np.ones((4, 2)))
    assert caught.value.time == 1.0 and caught.value.state == {"x": 0.0, "y": 0.0, "x.d": 1.0, "y.d": 1.0}


@pytest.mark.parametrize("unroll", [14, 0], ids=["unrolled", "routine"])
@pytest.mark.parametrize("backend", ["vm", "c"])
@pytest.mark.parametrize("where", ["force", "mass", "row"])
def test_no_nan_leaves_silently(monkeypatch, backend, unroll, where):
    """√x at x < 0 in a force, the inertia or a row."""
    require(backend)
    monkeypatch.setattr(solved_module, "UNROLL", unroll)
    root = sqrt(x)
    system = System(
        [x, y],
        (1 + root * int(where == "mass")) * (x.d**2 + y.d**2) / 2,
        forces={y: root * int(where == "force")},
        constraints=[Constraint(x.d + (1 + root * int(where == "row")) * y.d, name="row")],
    )
    run = compile(system, backend=backend)
    said = "not finite|singular"  # pivoting may meet the NaN as a missing pivot
    with pytest.raises(SingularConfiguration, match=said):
        run.acceleration(0.0, [-0.5, 0.3], [1.0, 1.0])
    with pytest.raises(SingularConfiguration, match=said):
        run.acceleration(0.0, np.array([[0.5, 0.3], [-0.5, 0.3]]), np.ones((2, 2)))


@pytest.mark.parametrize("name", ["rolling_disc", "four_bar", "heavy_top_quaternion", "snakeboard"])
def test_forced_routine_is_the_unrolled_one_in_a_motion(monkeypatch, name):
    """Loop, projection and saddle in C with and without the routine: 0.2 s at rtol 1e-11."""
    require("c")
    example = zoo.ALL[name]()
    arguments = (example.system, example.start, 0.2, example.parameters)
    times = np.linspace(0, 0.2, 5)
    one = simulate(*arguments, rtol=1e-11, times=times, backend="c")
    monkeypatch.setattr(solved_module, "UNROLL", 0)
    two = simulate(*arguments, rtol=1e-11, times=times, backend="c")
    python = simulate(*arguments, rtol=1e-11, times=times, backend="vm")
    scale = 1 + np.abs(one.q).max()
    assert np.abs(one.q - two.q).max() < 1e-9 * scale  # the step sequences may differ in the last digits
    assert np.abs(one.q - python.q).max() < 1e-9 * scale
    assert max(two.drift.position, two.drift.velocity) < 1e-10


@pytest.mark.parametrize("name", ["redundant", "servo", "massless"])
def test_motion_of_every_saddle_is_the_same_in_c_and_in_python(name):
    require("c")
    system = SYSTEMS[name]()
    start = {phi: 0.4, phi.d: 1.0}
    if name == "servo":
        start |= {x.d: 0.2, y.d: -0.2}
    else:
        start |= {x.d: np.cos(0.4), y.d: np.sin(0.4)}
    if name == "massless":
        start |= {z.d: 1.0}
    times = np.linspace(0, 0.3, 4)
    c, python = (
        simulate(system, start, 0.3, VALUES, times=times, backend=backend, rtol=1e-11) for backend in ("c", "vm")
    )
    assert c.ok and python.ok
    assert np.abs(c.q - python.q).max() < 1e-9 and np.abs(c.v - python.v).max() < 1e-9
    assert np.abs(c.multipliers - python.multipliers).max() < 1e-7
    assert max(c.drift.position, c.drift.velocity) < 1e-11
    assert np.abs(c.energy_error).max() < 1e-9
