"""A system in one of its modes is an ordinary system: its forms, and the accelerations of runs with friction."""

import numpy as np
import pytest
from sympy import Rational, cos, sin

import appell as ap

x, y = ap.coordinates("x y")
m, g, mu = ap.parameters("m g mu", positive=True)
VALUES = {m: 1.5, g: 10, mu: 0.3}


def hill():
    """A block on a rough wave, with a brake."""
    floor = ap.Unilateral(y - sin(x), name="floor", restitution=0)
    sole = ap.Friction((x.d + cos(x) * y.d), normal=floor, coefficient=mu, name="sole")
    return ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, constraints=[floor, sole], name="hill")


def test_forms_agree_in_each_mode():
    table = ap.agree(hill(), forms=["lagrange", "appell", "chaplygin"], states=2)
    assert table.ok and {line.form.split("(")[-1] for line in table.lines} >= {"sole: stick)", "sole: slip+)", "sole: slip-)"}
    shown = str(ap.forms.lagrange(hill().in_mode({"sole": "slip+"})).equations)
    assert "mu" in shown and "Lambda_floor" in shown
    assert "Lambda_sole" in str(ap.forms.lagrange(hill().in_mode({"sole": "stick"})).equations)


def test_runs_have_the_accelerations_of_their_modes():
    """Forces with multipliers and rows that stick go another way through the library than the columns of a run."""
    motion = ap.simulate(hill(), {x.d: 3, y.d: 3}, until=1.5, parameters=VALUES)
    assert len(motion.phases) > 1
    for phase in motion.phases:
        word = {"slip": "slip+" if phase.direction == 1 else "slip-"}.get(phase.state, phase.state)
        run = ap.compile(hill().in_mode({"sole": word}), VALUES, backend="vm")
        inside = (motion.t > phase.start) & (motion.t < phase.end)
        a, lam = run.acceleration(motion.t[inside], motion.q[inside], motion.v[inside])
        assert np.abs(a - motion.acceleration[inside]).max() < 1e-9
        assert np.abs(lam[:, 0] - motion.reaction("floor")[inside]).max() < 1e-9


def test_pairs_and_bilateral_normals_have_modes_too():
    z = ap.coordinates("z")
    rail = ap.Constraint(z, name="rail")
    rub = ap.Friction((x.d, y.d), normal=rail, coefficient=Rational(1, 5), name="rub")
    system = ap.System([x, y, z], (x.d**2 + y.d**2 + z.d**2) / 2, 10 * z, constraints=[rail, rub])
    a, _ = ap.compile(system.in_mode({rub: "slip"}), backend="vm").acceleration(0, [0, 0, 0], [3, 4, 0])
    assert a == pytest.approx([-1.2, -1.6, 0])
    a, _ = ap.compile(system.in_mode({rub: "slip"}, {rub: -1}), backend="vm").acceleration(0, [0, 0, 0], [3, 4, 0])
    assert a == pytest.approx([1.2, 1.6, 0])
    for mode, text in (({}, "says nothing"), ({rub: "slip+"}, "one of stick, slip"), ({"other": "slip"}, "not a friction")):
        with pytest.raises(ap.ModelError, match=text):
            system.in_mode(mode)


def test_files_keep_what_friction_did(tmp_path):
    motion = ap.simulate(hill(), {x.d: 3, y.d: 3}, until=1.5, parameters=VALUES, backend="vm")
    loaded = ap.load(motion.save(tmp_path / "hill.nc"))
    assert loaded.phases == motion.phases
    assert np.array_equal(loaded.dissipated, motion.dissipated)
    assert np.array_equal(loaded.reaction("sole"), motion.reaction("sole"))
