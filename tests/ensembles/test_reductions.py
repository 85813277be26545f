"""Reductions: closed forms where steps are long, walls that are held, switches, names, and what is said of a pole."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Heaviside, exp, sin

import appell as ap
from appell.errors import ModelError
from appell.reductions.quadrature import GAUSS, KRONROD, NODES

x, y = ap.coordinates("x y")
g = ap.parameters("g", positive=True)
FREE = ap.System([x], x.d**2 / 2, name="free")
BALL = ap.System([y], y.d**2 / 2, g * y, {}, [ap.Unilateral(y, "floor", 0.5)], name="ball")
BOTH = [pytest.param("auto", marks=pytest.mark.compiler), "vm"]


def test_the_rules_have_their_degrees():
    for degree in range(23):
        assert abs(KRONROD @ NODES**degree - 1 / (degree + 1)) < 1e-15
        assert degree > 13 or abs(GAUSS @ NODES**degree - 1 / (degree + 1)) < 1e-15
    assert abs(GAUSS @ NODES**14 - 1 / 15) > 1e-10


@pytest.mark.parametrize("backend", BOTH)
def test_inside_one_long_step(backend):
    """x = −10 + t: the whole flight is a step or two, and everything happens inside."""
    bell, hill, wave = exp(-400 * x**2), 1 / (x**2 + 0.001), sin(30 * ap.t)
    keep = {"low": ap.reduce.min(bell), "top": ap.reduce.max(bell), "area": ap.reduce.integral(hill),
            "wave": ap.reduce.max(wave), "zeros": ap.reduce.crossings(wave), "late": ap.reduce.first_crossing(x - 9.5),
            "share": ap.reduce.mean(Heaviside(x - 0.3))}  # fmt: skip
    found = ap.simulate_many(FREE, {x: [-10.0, -3.3], x.d: 1.0}, 20.0, {}, keep=keep, backend=backend)
    assert ((found["low"] >= 0) & (found["low"] < 1e-300)).all() and (abs(found["top"] - 1) < 1e-9).all()
    root = np.sqrt(0.001)
    start = np.array([-10.0, -3.3])
    np.testing.assert_allclose(found["area"], (np.arctan((start + 20) / root) - np.arctan(start / root)) / root, rtol=1e-9)
    assert (abs(found["wave"] - 1) < 1e-12).all() and (found["zeros"] == 190).all()
    np.testing.assert_allclose(found["late"], 9.5 - start, rtol=1e-12)
    np.testing.assert_allclose(found["share"], (start + 20 - 0.3) / 20, atol=1e-9)


@pytest.mark.parametrize("backend", BOTH)
def test_a_ball_at_rest_has_no_acceleration(backend):
    keep = {"last": ap.reduce.final(y.dd), "sum": ap.reduce.integral(y.dd), "top": ap.reduce.max(y.dd),
            "low": ap.reduce.min(y.dd)}  # fmt: skip
    found = ap.simulate_many(BALL, {y: [0.0, 1.0]}, 10.0, {g: 9.81}, keep=keep, backend=backend)
    np.testing.assert_allclose(found["last"], 0, atol=1e-12)
    np.testing.assert_allclose(found["sum"], [0, -9.81 * 3 * np.sqrt(2 / 9.81)], atol=1e-6)  # until it rests: 3 times the fall
    np.testing.assert_allclose(found["low"], [0, -9.81], atol=1e-12)
    np.testing.assert_allclose(found["top"], 0, atol=1e-12)


def test_a_motion_reads_accelerations_of_its_mode_in_expressions():
    motion = ap.simulate(BALL, {y: 1.0}, 10.0, {g: 9.81})
    np.testing.assert_allclose(motion.at([0.1, 9.0])[y.dd + 1], [-8.81, 1.0], atol=1e-9)


@pytest.mark.parametrize("backend", BOTH)
def test_a_pole_on_the_way_is_said(backend):
    keep = {"area": ap.reduce.integral(1 / x), "top": ap.reduce.max(1 / x), "way": ap.reduce.integral(x.d)}
    found = ap.simulate_many(FREE, {x: [-1.1, 0.5], x.d: 1.0}, 2.0, {}, keep=keep, backend=backend)
    said = [str(text) for text in found["message"].values]
    assert "area, top could not be held to the tolerance" in said[0] and said[1] == "finished"
    np.testing.assert_allclose(found["area"][1], np.log(5), rtol=1e-9)


def test_a_multiplier_is_refused_on_every_path():
    circle = ap.Constraint(x**2 + y**2 - 1, name="circle")
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, constraints=[circle])
    keep = {"pull": ap.reduce.max(circle.multiplier)}
    for backend in ("auto", "vm"):
        with pytest.raises(ModelError, match="contains a multiplier"):
            ap.simulate_many(system, {x: 1.0, y.d: 1.0}, 1.0, {}, keep=keep, backend=backend)


@pytest.mark.parametrize("which", ["floor", "rub"])
def test_a_multiplier_of_a_face_or_a_friction_is_refused_with_the_same_sentence(which):
    floor = ap.Unilateral(y, name="floor")
    rub = ap.Friction(x.d - 1, normal=floor, coefficient=0.2, name="rub")
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 10 * y + x**2, constraints=[floor, rub])
    force = {"floor": floor, "rub": rub}[which].multiplier
    motion = ap.simulate(system, {}, 1.0)
    for ask in (
        lambda: ap.simulate_many(system, {x: [0.0, 0.1]}, 0.5, keep={"pull": ap.reduce.max(force)}),
        lambda: motion.crossings(force - 1),
        lambda: motion.run.values(force, motion.t, motion.q, motion.v),
    ):
        with pytest.raises(ModelError, match="contains a multiplier"):
            ask()
