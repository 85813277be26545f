"""Quantities of pint in starts, times and parameters: SI at the edge, dimensions checked, units carried by the motion."""

from __future__ import annotations

import numpy as np
import pint
import pytest
from sympy import cos

import appell as ap
from appell.files import read_model
from appell.model.units import unit_of

Q_ = pint.UnitRegistry().Quantity
phi = ap.coordinates("phi")
m, g, l = ap.parameters("m g l", positive=True)
PENDULUM = ap.System([phi], m * l**2 * phi.d**2 / 2, -m * g * l * cos(phi), name="pendulum")
GIVEN = {m: Q_(2000, "g"), g: Q_(9.81, "m/s^2"), l: Q_(40, "cm")}


@pytest.fixture(scope="module")
def motion():
    return ap.simulate(PENDULUM, {phi: Q_(30, "deg")}, Q_(0.01, "min"), GIVEN)


def test_quantities_are_numbers_in_si(motion):
    plain = ap.simulate(PENDULUM, {phi: np.pi / 6}, 0.6, {m: 2.0, g: 9.81, l: 0.4})
    assert motion.t[-1] == plain.t[-1] == 0.6
    np.testing.assert_allclose(motion.q[-1], plain.q[-1], rtol=1e-14)
    assert plain.units == {}
    np.testing.assert_allclose(motion.run.p, plain.run.p, rtol=1e-15)


def test_a_registry_with_other_base_units_gives_the_same():
    Q = pint.UnitRegistry(system="cgs").Quantity
    found = ap.simulate(PENDULUM, {phi: 0.1}, 0.1, {m: Q(2, "kg"), g: Q(981, "cm/s^2"), l: Q(40, "cm")})
    np.testing.assert_allclose(found.run.p, [9.81, 0.4, 2.0], rtol=1e-14)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"parameters": {**GIVEN, g: Q_(9.81, "m/s")}}, "potential: it has kg·m²/s, and an energy has kg·m²/s²"),
        ({"until": Q_(3, "kg")}, "until is a time: <Quantity(3, 'kilogram')> has kg and should have s"),
        ({"start": {phi: Q_(3, "m")}}, "phi, the argument of cos, has m and should have no unit"),
        ({"start": {phi: Q_(3, "deg"), phi.d: Q_(3, "m/s")}}, "the unit of phi.d, m/s, does not fit that of phi, no unit"),
        ({"rtol": Q_(3, "kg")}, "rtol= must be a number"),
        ({"parameters": {**GIVEN, m: "2 kg"}}, "not the text '2 kg'"),
        ({"parameters": {**GIVEN, m: Q_(-2, "kg")}}, "was declared positive, but its value is -2"),
    ],
)
def test_units_that_do_not_fit_are_named(change, said):
    with pytest.raises(ap.ModelError) as caught:
        ap.simulate(PENDULUM, **{"start": {phi: 0.1}, "until": 1.0, "parameters": GIVEN, **change})
    assert said in str(caught.value)


def test_joints_of_a_tree_have_units():
    body = ap.tree.Inertia.at_centre(1.0, [0.1, 0, 0], np.eye(3))
    slide = ap.tree.Joint("slide", "prismatic", axis=[1, 0, 0], body=body, limits=ap.tree.Limits(-1, 1), damping=0.3)
    arm = ap.Tree([slide, ap.tree.Joint("arm", "revolute", "slide", axis=[0, 1, 0], body=body)], backend="vm")
    c = ap.parameters("c")
    system = arm.system(arm.stops(), forces={"arm": -c * arm.joint("arm").d})
    found = ap.simulate(system, {"slide": Q_(3, "cm"), "arm": Q_(30, "deg")}, Q_(20, "ms"), {c: Q_(5, "N*cm*s")}, backend="vm")
    plain = ap.simulate(system, {"slide": 0.03, "arm": np.pi / 6}, 0.02, {c: 0.05}, backend="vm")
    np.testing.assert_allclose(found.q[-1], plain.q[-1], rtol=1e-14)
    with pytest.raises(ap.ModelError, match="slide is given with no unit, and is in m"):
        ap.simulate(system, {"slide": Q_(3, "deg")}, 0.02, {c: 0.05})


def test_the_motion_carries_the_units(motion):
    assert motion.series(m * l * phi.dd).units == "kg·m/s²" and motion.series(phi.d).units == "rad/s"
    assert motion.dataset["phi_d"].attrs["units"] == "rad/s"


def test_so_does_that_of_a_file():
    text = "coordinates = ['x']\nkinetic = \"m*x'^2/2\"\n[parameters]\nm = '2 kg'\n[units]\nx = 'mm'\n[start]\n\"x'\" = 1\n"
    wall = "[[walls]]\nname = 'stop'\ngap = '3 - x/L'\n[run]\nuntil = 0.5\n"
    found = read_model(text.replace("m = '2 kg'", "m = '2 kg'\nL = '1 m'") + wall).simulate()
    units = {name: values.attrs.get("units") for name, values in found.dataset.variables.items()}
    assert (units["x"], units["x_d"], units["x_dd"], units["reaction_stop"]) == ("m", "m/s", "m/s²", "kg·m²/s²")


@pytest.mark.parametrize("hold", ["zero", "linear", "cubic"])
def test_a_record_is_a_table_beside_the_file(hold, tmp_path):
    """Samples come back; of a spline the last one to rounding, since its polynomials are kept and not its samples."""
    x, f = ap.coordinates("x"), ap.prescribed("f")
    system = ap.System([x], x.d**2 / 2, forces={x: f})
    record = ap.sampled([0, 0.5, 1, 2.5], [0, 1, 0, 3.3], hold=hold)
    model = read_model(ap.write_model(tmp_path / "pushed.toml", system, parameters={f: record}))
    lines = (tmp_path / "pushed.f.csv").read_text(encoding="utf-8").splitlines()
    assert lines[:3] == ["t,f", "0.0,0.0", "0.5,1.0"] and float(lines[-1].split(",")[1]) == pytest.approx(3.3, rel=1e-15)
    assert hold == "cubic" or model.parameters[f] == record


@pytest.mark.parametrize(
    ("given", "factor", "same"),
    [("Nm", 1, "N*m"), ("kNm/deg", 180e3 / np.pi, "N*m"), ("Nms", 1, "N*m*s"), ("mPas", 1e-3, "Pa*s"), ("rads/s", 1, "rad/s")],
)
def test_units_as_they_are_written_in_mechanics(given, factor, same):
    found, dimensions = unit_of(given)
    assert found == pytest.approx(factor, rel=1e-14) and dimensions == unit_of(same)[1]


@pytest.mark.parametrize("named", ["time = 't'", "value = 'F'", "time = 't', value = 'F'"])
def test_the_other_column_of_a_table(named, tmp_path):
    """Where one of two columns is named, the other one is not the same."""
    (tmp_path / "push.csv").write_text("F,t\n3,0\n4,1\n", encoding="utf-8")
    text = "coordinates = ['x']\nkinetic = \"x'^2/2\"\n[prescribed]\nF = {table = 'push.csv', NAMED}\n[forces]\nx = 'F'\n"
    (tmp_path / "model.toml").write_text(text.replace("NAMED", named), encoding="utf-8")
    (record,) = read_model(tmp_path / "model.toml").parameters.values()
    assert record == ap.sampled([0, 1], [3, 4])
    (tmp_path / "model.toml").write_text(text.replace("NAMED", "time = 't', value = 't'"), encoding="utf-8")
    with pytest.raises(ap.ModelError, match="times and values are two columns"):
        read_model(tmp_path / "model.toml")


def test_units_in_the_line_of_names(tmp_path):
    (tmp_path / "push.csv").write_text("t [ms],F [kN]\n0,0\n1000,2\n", encoding="utf-8")
    text = "coordinates = ['x']\nkinetic = \"x'^2/2\"\n[prescribed]\nF = {table = 'push.csv'}\n[forces]\nx = 'F'\n"
    (tmp_path / "model.toml").write_text(text, encoding="utf-8")
    (record,) = read_model(tmp_path / "model.toml").parameters.values()
    assert record == ap.sampled([0, 1], [0, 2000])
