"""Theorems about every system, checked on random ones.

Tolerances: M has a condition number below 1e3 by construction and the terms are of size one, so sums that vanish do so
to about 1e3 · 1e-16 · (number of terms); 1e-10 leaves room for the rows that happen to be nearly parallel.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import assume, given
from tests.reference.random_systems import HOMOGENEOUS, SECOND, WORKING, few, systems

from appell.compiled.compiling import compile
from appell.errors import ConstraintError
from appell.jets import partial
from appell.jets import t as time
from appell.model import Constraint
from appell.normal_form import normal_form
from appell.simulate.start import consistent

FEW = few(20)


def on_the_constraints(drawn):
    """A state with f = 0 and ḟ = 0 near the first random one."""
    t, q, v = next(drawn.states())
    start = dict(zip((*drawn.system.coordinates, *drawn.system.velocities), (*q, *v), strict=True))
    try:
        state = list(consistent(drawn.system, start, drawn.values, since=t).values())
    except ConstraintError:
        assume(False)
    return t, np.array(state[: drawn.system.nq]), np.array(state[drawn.system.nq :])


def lambdified(drawn, *exprs):
    """Values of SymPy expressions at (t, q, v): the route that knows nothing of the graph."""
    s = drawn.system
    fn = sympy.lambdify([time, s.coordinates, s.velocities, s.parameters], exprs, "numpy")
    return lambda t, q, v: np.array(fn(t, q, v, drawn.p), dtype=float)


def evaluate(drawn, names, t, q, v):
    return normal_form(drawn.system).select(*names)(t, q, v, drawn.p)


def well_conditioned(drawn, t, q, v) -> bool:
    """Whether the rows are independent at a state: two random ones may happen to be parallel."""
    out = evaluate(drawn, ("M", "A"), t, q, v)
    A = out["A"]
    if not len(A):
        return True
    G = A @ np.linalg.solve(out["M"], A.T)
    size = np.sqrt(np.diag(G))
    return np.linalg.cond(G / np.outer(size, size)) < 1e4


@FEW
@given(systems())
def test_half_v_M_v_is_the_quadratic_part_of_T(drawn):
    """T(λv) = λ² T2 + λ T1 + T0, so T2 = ½ (T(v) + T(−v)) − T(0): no derivative is taken."""
    T = lambdified(drawn, drawn.system.kinetic)
    for t, q, v in drawn.states():
        M = evaluate(drawn, ("M",), t, q, v)["M"]
        quadratic = (T(t, q, v) + T(t, q, -v)) / 2 - T(t, q, 0 * v)
        assert v @ M @ v / 2 == pytest.approx(quadratic[0], rel=1e-12, abs=1e-13)
        assert np.array_equal(M, M.T)
        assert np.linalg.eigvalsh(M).min() > 0


@FEW
@given(systems(count=(1, 2)))
def test_rows_and_balance(drawn):
    """A a + a0 = 0 and M a + h = Q + W Λ, with W = Aᵀ."""
    run = compile(drawn.system, drawn.values, backend="vm")
    for t, q, v in drawn.states():
        assume(well_conditioned(drawn, t, q, v))
        a, lam = run.acceleration(t, q, v)
        out = evaluate(drawn, ("M", "h", "Q", "W", "A", "a0"), t, q, v)
        size = 1 + np.abs(a).max() + np.abs(lam).max()
        assert np.abs(out["A"] @ a + out["a0"]).max() < 1e-11 * size
        assert np.abs(out["M"] @ a + out["h"] - out["Q"] - out["W"] @ lam).max() < 1e-11 * size
        assert np.array_equal(out["W"], out["A"].T)


@FEW
@given(systems(kinds=HOMOGENEOUS, count=(1, 2)))
def test_reactions_of_homogeneous_constraints_do_no_work(drawn):
    t, q, v = on_the_constraints(drawn)
    assume(well_conditioned(drawn, t, q, v))
    _, lam = compile(drawn.system, drawn.values, backend="vm").acceleration(t, q, v)
    power = lam @ (evaluate(drawn, ("A",), t, q, v)["A"] @ v)
    assert abs(power) < 1e-11 * (1 + np.abs(lam).max())  # residuals of the start are at 1e-15, cond below 1e4


@FEW
@given(systems(kinds=WORKING, count=(1, 1)))
def test_reactions_of_other_constraints_do_the_work_that_their_free_term_says(drawn):
    """Euler: v·f_v = f − f|_{v=0} for f affine, = 2 (f − f|_{v=0}) for f quadratic in v, and f = 0 on the constraint."""
    t, q, v = on_the_constraints(drawn)
    assume(well_conditioned(drawn, t, q, v))
    system = drawn.system
    _, lam = compile(system, drawn.values, backend="vm").acceleration(t, q, v)
    A = evaluate(drawn, ("A",), t, q, v)["A"]
    f, degree = system.residuals[0], {"rheonomic": 0, "affine": 1, "speed": 2}[drawn.kinds[0]]
    rest = partial(f, time) if degree == 0 else f.xreplace(dict.fromkeys(system.velocities, sympy.Integer(0)))
    expected = -max(degree, 1) * lambdified(drawn, rest)(t, q, v)[0]
    assert (A @ v)[0] == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert abs(expected) > 1e-3 or drawn.kinds == ("rheonomic",)
    assert lam[0] * (A @ v)[0] == pytest.approx(lam[0] * expected, rel=1e-10, abs=1e-11)


def energy_rate(drawn, t, q, v, a):
    """dH/dt = H_t + H_q·v + H_v·a with H = T2 − T0 + V, differentiated in SymPy from its definition."""
    s = drawn.system
    factor = sympy.Symbol("factor")
    scaled = s.kinetic.xreplace({x: factor * x for x in s.velocities})
    T2, T0 = scaled.diff(factor, 2).subs(factor, 0) / 2, scaled.subs(factor, 0)
    H = T2 - T0 + s.potential
    slopes = [partial(H, x) for x in (time, *s.coordinates, *s.velocities)]
    values = lambdified(drawn, H, *slopes, partial(s.kinetic, time), partial(s.potential, time), *s.forces)(t, q, v)
    rate = values[1:].take(range(1 + 2 * s.nv)) @ np.concatenate([[1.0], v, a])
    H_value, T_t, V_t, forces = values[0], values[2 + 2 * s.nv], values[3 + 2 * s.nv], values[4 + 2 * s.nv :]
    return H_value, rate, T_t, V_t, forces


@FEW
@given(systems(kinds=(*HOMOGENEOUS, *WORKING, *SECOND)))
def test_energy_changes_by_forces_reactions_and_explicit_time(drawn):
    """dH/dt = Q_forces·v + Λ·(A v) − ∂T/∂t + ∂V/∂t, and the output `power` is the same on the constraints."""
    t, q, v = on_the_constraints(drawn)
    assume(well_conditioned(drawn, t, q, v))
    a, lam = compile(drawn.system, drawn.values, backend="vm").acceleration(t, q, v)
    H, rate, T_t, V_t, forces = energy_rate(drawn, t, q, v, a)
    A = evaluate(drawn, ("A",), t, q, v)["A"]
    size = 1 + np.abs(forces @ v) + np.abs(lam * (A @ v)).sum() + abs(T_t) + abs(V_t) + np.abs(a).max()
    assert rate == pytest.approx(forces @ v + lam @ (A @ v) - T_t + V_t, abs=1e-11 * size)
    fn = normal_form(drawn.system).select("H", "power")
    known = {"t": t, "q": q, "v": v, "p": drawn.p, "a": a, "lam": lam}
    out = fn(*(known[port.name] for port in fn.inputs))
    assert out["H"] == pytest.approx(H, rel=1e-12, abs=1e-13)
    assert out["power"] == pytest.approx(rate, abs=1e-11 * size)


@FEW
@given(systems(kinds=("holonomic", "linear", "quadratic"), rheonomic=False, forces=False))
def test_energy_is_conserved_without_forces_and_time(drawn):
    t, q, v = on_the_constraints(drawn)
    assume(well_conditioned(drawn, t, q, v))
    a, lam = compile(drawn.system, drawn.values, backend="vm").acceleration(t, q, v)
    _, rate, *_ = energy_rate(drawn, t, q, v, a)
    assert abs(rate) < 1e-11 * (1 + np.abs(a).max() + np.abs(lam).max(initial=0))


@FEW
@given(systems(count=(1, 2)))
def test_scaling_a_residual_scales_its_multiplier(drawn):
    """f → c f leaves a and gives Λ/c."""
    scaled = drawn.system.replace(constraints=[Constraint(-3 * c.residual, c.name) for c in drawn.system.constraints])
    t, q, v = next(drawn.states())
    assume(well_conditioned(drawn, t, q, v))
    a, lam = compile(drawn.system, drawn.values, backend="vm").acceleration(t, q, v)
    a3, lam3 = compile(scaled, drawn.values, backend="vm").acceleration(t, q, v)
    size = 1 + np.abs(a).max() + np.abs(lam).max()
    assert np.abs(a - a3).max() < 1e-11 * size
    assert np.abs(lam + 3 * lam3).max() < 1e-11 * size
