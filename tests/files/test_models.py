"""Model files: read, written, refused with line and column; the zoo comes back to the digest."""

from __future__ import annotations

import contextlib
import runpy
from pathlib import Path

import numpy as np
import pytest
import sympy
from tests.files.fuzz_models import attempt
from tests.files.random_models import round_trip

import appell as ap
from appell.files import model_text, read_model, write_model
from appell.model.fingerprint import fingerprint

MODELS = Path(__file__).parents[2] / "examples" / "models"
BLOCK = """\
name = "block"
coordinates = ["x", "y"]
kinetic = "m*(x'^2 + y'^2)/2"
potential = "m*g*y"

[units]
x = "m"
y = "m"

[parameters]
m = "2 kg"
g = "9.81 m/s^2"
mu = 0.3
e = 0.5

[[walls]]
name = "floor"
gap = "y"
restitution = "e"

[[friction]]
name = "sole"
slip = "x'"
normal = "floor"
coefficient = "mu"

[start]
y = "50 cm"
"x'" = "7.2 km/h"

[run]
until = "1500 ms"
"""


ZOO = {**ap.zoo.ALL, **ap.zoo.FRICTION, **ap.zoo.WALKERS, **ap.zoo.LARGE}


@pytest.mark.parametrize("name", sorted(ZOO))
def test_the_zoo_comes_back(name):
    example = ZOO[name]()
    model = read_model(MODELS / f"{name}.toml")
    assert fingerprint(model.system) == fingerprint(example.system)
    assert {str(s): v for s, v in model.parameters.items()} == {str(s): v for s, v in example.parameters.items()}
    assert {str(s): v for s, v in model.start.items()} == {str(s): float(v) for s, v in example.start.items()}
    assert model.until == example.until


def test_the_files_are_those_that_are_written_now():
    for name, text in runpy.run_path(str(MODELS / "write.py"))["texts"]().items():
        assert (MODELS / f"{name}.toml").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("seed", [11, 14, 38, 46])
def test_random_models_come_back(seed):
    """Some members; `make models-round-trip` runs 10,000."""
    assert round_trip(seed) == "same"


def test_an_order_of_rows_that_names_not_all_of_them_is_refused():
    with pytest.raises(ap.ModelError, match="order: it names every constraint, wall, stop, friction and reset once"):
        read_model(BLOCK.replace("potential", 'order = ["sole"]\npotential', 1))
    turned = read_model(BLOCK.replace("potential", 'order = ["sole", "floor"]\npotential', 1)).system
    assert [row.name for row in turned.said_one_way()["constraints"]] == ["sole", "floor"]


def test_a_number_of_more_digits_than_a_float_is_refused():
    x = ap.coordinates("x")
    with pytest.raises(ap.ModelError, match="more digits than a float64"):
        model_text(ap.System([x], sympy.Float("1.000000000000000000001", 30) * x.d**2))


def test_units_become_si_and_the_motion_is_the_same():
    model = read_model(BLOCK)
    x, y = model.system.coordinates
    assert model.start == {y: 0.5, x.d: 2.0} and model.until == 1.5
    assert [model.parameters[p] for p in model.system.parameters] == [0.5, 9.81, 2.0, 0.3]
    assert model.check_units() == []
    landing = np.sqrt(2 * 0.5 / 9.81)
    assert model.simulate(until=0.9 * landing)[y][-1] == pytest.approx(0.5 * (1 - 0.81), rel=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("y'^2", "yy'^2", "line 3, column 22: kinetic: unknown name 'yy'; did you mean 'y'?"),
        ("m*g*y", "m*g*y +", "line 4, column 21: potential: the expression ends too early"),
        ("mu = 0.3", "mu = '3 foo'", "line 13, column 7: parameters.mu: 'foo' is not a unit"),
        ("mu = 0.3", "mu = true", "line 13, column 6: parameters.mu: a number is wanted"),
        ("mu = 0.3", "mu = {value = 1, positve = true}", "unknown key 'positve'; did you mean 'positive'?"),
        ("[units]", "[unitz]", "line 6, column 1: unitz: unknown key 'unitz'; did you mean 'units'?"),
        ("coordinates", "coordnates", "line 2, column 14: coordnates: unknown key 'coordnates'; did you mean 'coordinates'?"),
        ('normal = "floor"', 'normal = "flor"', "normal= of friction 'sole' is 'flor'"),
        ('restitution = "e"', "restitution = 3", "walls.gap: the restitution of unilateral constraint 'floor' is 3"),
        ('gap = "y"', "", "walls: gap= is missing"),
        ("\"x'\" =", "\"z'\" =", "start.z': unknown name \"z'\""),
        ('"x", "y"', '"x", "x"', "coordinates: 'x' is declared twice"),
        ("format", "format", None),
        ('name = "block"', "format = 7", "format 7 is not known; this version reads 1"),
        ('name = "block"', 'name = "block', "is not valid TOML"),
    ],
)  # fmt: skip
def test_mistakes_have_a_line_and_a_column(old, new, said):
    if said is None:
        read_model(BLOCK)
        return
    with pytest.raises(ap.ModelError) as caught:
        read_model(BLOCK.replace(old, new, 1))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("m*g*y", "m*y", "potential: it has kg·m, and an energy has kg·m²/s²"),
        ("m*g*y", "m*g*y + m*g", "potential: g*m has kg·m/s², the other terms kg·m²/s²"),
        ('gap = "y"', 'gap = "y + 1"', "wall 'floor': "),
        ("slip = \"x'\"", "slip = \"x' + mu*x\"", "the slip of friction 'sole': "),
        ("m*g*y", "m*g*y*cos(y)", "y, the argument of cos, has m and should have no unit"),
    ],
)
def test_dimensions_that_do_not_fit_are_named(old, new, said):
    old_units = BLOCK.replace("mu = 0.3", 'mu = "0.3 rad"')
    assert any(said in line for line in read_model(old_units.replace(old, new, 1)).check_units())


def test_tables_lie_below_the_folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "push.csv").write_text("time,F\n0,0\n1,2\n2,2\n")
    (tmp_path / "secret.csv").write_text("time,F\n0,0\n1,2\n")
    (tmp_path / "in" / "link.csv").symlink_to(tmp_path / "secret.csv")
    text = """\
coordinates = ["x"]
kinetic = "x'^2/2"
[prescribed]
F = {table = "TABLE", hold = "linear"}
[forces]
x = "F"
[run]
until = 1
"""
    file = tmp_path / "in" / "model.toml"
    file.write_text(text.replace("TABLE", "push.csv"))
    model = read_model(file)
    assert model.simulate()[model.system.coordinates[0]][-1] == pytest.approx(1 / 3, rel=1e-8)  # ẍ = 2t
    for outside in ("../secret.csv", "link.csv", "/etc/passwd", str(tmp_path / "secret.csv")):
        file.write_text(text.replace("TABLE", outside))
        with pytest.raises(ap.ModelError, match="not below the folder"):
            read_model(file)
    file.write_text(text.replace("TABLE", "none.csv"))
    with pytest.raises(ap.ModelError, match="there is no file 'none\\.csv' beside"):
        read_model(file)
    (tmp_path / "in" / "push.csv").write_text("time,F\n0,0\n1,abc\n")
    file.write_text(text.replace("TABLE", "push.csv"))
    with pytest.raises(ap.ModelError, match="line 3 of the table is not two numbers"):
        read_model(file)


def test_a_system_that_a_file_cannot_say_is_refused(tmp_path):
    x = ap.coordinates("x")
    system = ap.System([x], x.d**2 / 2, constraints=[ap.Unilateral(x, "wall", chart="reflection")])
    with pytest.raises(ap.ModelError, match="the chart of 'wall' cannot be written"):
        model_text(system)
    push = ap.parameters("push", nonpositive=True)
    with pytest.raises(ap.ModelError, match="the assumption nonpositive of 'push' cannot be written"):
        model_text(ap.System([x], x.d**2 / 2, forces={x: push}))
    plain = ap.System([x], x.d**2 / 2)
    path = write_model(tmp_path / "free.toml", plain, start={x.d: 2.0}, until=3.0)
    again = read_model(path)
    assert fingerprint(again.system) == fingerprint(plain) and again.start == {x.d: 2.0} and again.until == 3.0
    with pytest.raises(ap.errors.FileError, match="cannot be written"):
        write_model(tmp_path / "no" / "such" / "folder.toml", plain)


@pytest.mark.parametrize("source", ["/no/such/file.toml", ".", 3, None, "a\0b", "/dev/null/x"])
def test_what_is_no_file_is_refused(source):
    with pytest.raises(ap.AppellError):
        read_model(source)


def test_damaged_files_give_errors_of_the_library_only():
    rng = np.random.default_rng(5)
    for _ in range(150):
        data = bytearray(BLOCK.encode())
        for _ in range(rng.integers(1, 4)):
            data[rng.integers(len(data))] = rng.integers(32, 127)
        with contextlib.suppress(ap.AppellError):
            read_model(data.decode())


def test_a_sweep_of_a_file():
    text = BLOCK.split("[[walls]]")[0].replace("mu = 0.3\ne = 0.5\n", "")
    swept = '[sweep]\ng = {from = "1 m/s^2", to = 9, points = 3}\n"x\'" = [0, 1]\n'
    model = read_model(f"{text}{swept}[run]\nuntil = 1\nstep = 0.25\n")
    result = model.sweep()
    assert result.attrs["tolerances"] == '{"step": 0.25}'  # the settings of [run] hold for sweeps, too
    assert result.ok and result["y"].shape[:2] == (3, 2)
    np.testing.assert_allclose(result["y"].values[:, 0], [-0.5, -2.5, -4.5], rtol=1e-9)


def test_a_sample_of_the_fuzzer():
    """Two hundred inputs one after the other, and some more of the kinds that are rare among them."""
    for number in (*range(900_000, 900_200), *(901_000 + 100 * i + kind for i in range(12) for kind in (0, 94, 97, 99))):
        attempt(number)


def test_the_reaction_of_one_side_of_a_stop_in_a_force(tmp_path):
    x, y = ap.coordinates("x y")
    stop = ap.Between(-1, y, 1, "guide", 0)
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9 * y, {x: -stop.faces[0].multiplier * x.d / 10}, [stop])
    model = read_model(ap.write_model(tmp_path / "pressed.toml", system, start={x.d: 1, y: -1}, until=0.5))
    assert model.simulate(backend="vm")["x"][-1] == pytest.approx((1 - np.exp(-0.45)) / 0.9, rel=1e-9)
    text = (tmp_path / "pressed.toml").read_text(encoding="utf-8").replace("guide:lower", "guide")
    with pytest.raises(ap.ModelError, match="no constraint is called 'guide'; did you mean 'guide:"):
        read_model(text)


LOADED = """coordinates = ["x"]
quaternions = ["b"]
[[bodies]]
name = "A"
mass = 2
position = ["x", 0, 0]
inertia = [1, 2, 2]
quaternion = "b"
[[loads]]
kind = "force"
vector = [1, 0, 0]
at = "A"
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('at = "A"', 'at = "A"\nframe = "body"', "unknown key 'frame'"),
        ('at = "A"', 'at = "A"\non = "A"', "unknown key 'on'"),
        ('at = "A"', "", "at= is missing"),
        ('"force"\nvector = [1, 0, 0]\nat = "A"', '"spring"\nbetween = "x"\nstiffness = 3\ndamping = 1', "key 'damping'"),
        ('quaternion = "b"', 'quaternion = "b"\nangle = "x"', "unknown key 'angle'"),
        ('quaternion = "b"', 'quaternion = "b"\naxes = "zxz"', "unknown key 'axes'"),
        ('quaternion = "b"', 'quaternion = "b"\ncarried = [0, 0, 0]', "unknown key 'carried'"),
        ("inertia = [1, 2, 2]\n", "", "inertia= is missing"),
    ],
)
def test_nothing_stated_of_a_body_or_a_load_is_left_out(old, new, said):
    assert read_model(LOADED).system.nv == 4
    with pytest.raises(ap.ModelError, match=said):
        read_model(LOADED.replace(old, new))
