"""Every message of model files and of the command: what it says, and that none is left without a case."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import sympy
from tests.files.message_sites import message_sites, raised_at

import appell as ap
from appell.files import model_text, read_model, write_model
from appell.files.printed import write_expression
from appell.files.written import read_expression
from appell.model.dimension_check import wrong_dimensions
from appell.model.prescription import with_values
from appell.model.units import dimensions_of, in_si
from appell.report import command

x, y, phi = ap.coordinates("x y phi")
m, g = ap.parameters("m g", positive=True)
f = ap.prescribed("f")
LETTERS = {"x": x, "y": y, "phi": phi, "m": m}
T = m * (x.d**2 + y.d**2) / 2
LEFT = ap.Unilateral(x, "left")

EXPRESSIONS = {
    "zz": "unknown name 'zz'",
    "x +": "ends too early",
    "x)": "does not belong here",
    "x = y": "the character '=' has no meaning",
    "x'''": "does not belong here",
    "m'": "m has no time derivative",
    "sin(x, y)": "sin takes one argument, not 2",
    "sine(x)": "unknown function 'sine'",
    "sin + 1": "sin is a function; write sin(…)",
    "x^2000": "a power of 2000",
    "exp(1e300)": "exp of this number is too large",
    "1e999": "beyond what a float64 can hold",
    "1/0": "a division by zero",
    "0^-1": "a division by zero",
    "sqrt(-1)": "not a real number",
    "log(0)": "no finite value",
    "x < 1": "a condition is given where",
    "x*(y < 1)": "a condition is given where a number is expected",
    "not x": "a number stands where a condition",
    "": "an empty expression",
    "piecewise(1, x)": "piecewise is written",
    "piecewise(1, piecewise(1, x < 1, 2) > x, 2)": "a condition cannot contain piecewise",
    "piecewise(x < 1, x > 1, 2)": "piecewise is written",
    "9^999": "a thousand digits",
    "9^(7/99999999)": "a thousand digits",
    "multiplier(left)": "in forces and limits of friction only",
    "9" * 400: "a number of 400 characters",
    "mod(1, 0)": "it has no",
    "multiplier(x + 1)": "multiplier takes the name of a constraint",
    'sin("x")': "a text in quotation marks may stand in",
    'multiplier("a\\q")': "a backslash is written twice",
    "x" * 100_001: "100000 are read at most",
    "(" * 80 + "x": "more than 60 brackets",
    "-" * 20 + "x": "a chain of signs",
    "not " * 200 + "x": "nested too deeply",
    "heaviside(x, 1, 2)": "one or two arguments",
    "1e200^9.5": "no finite real value",
    "max(" + ",".join(f"{i}*x" for i in range(120)) + ")": "more than 2000 different functions",
}
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
"""
AFTER = {
    "T = '3 foo'": "'foo' is not a unit",
    "T = '3 !'": "'!' is not a unit",
    "T = '20 degC'": "write kelvins",
    "T = 'soon'": "is not a number with a unit",
    "T = '1e999 m'": "beyond what a float64 can hold",
    "T = '1e-320 nm'": "smaller than a float64 can hold",
    "T = 1e-400": "smaller than a float64 can hold",
    "T = true": "a number is wanted, or a text such as '9.81 m/s^2', not True",
    "T = {value = '3 m', unit = 'm'}": "two units, in the value and in unit=",
    "T = {positive = 3}": "assumptions are true or false",
    "T = {positve = true}": "unknown key 'positve'; did you mean 'positive'?",
    "'a b' = 3": "'a b' is not one name",
    "x = 3": "'x' is declared twice",
    "pi = 3": "'pi' is the number π; choose another name",
    "[run]\nuntil = '3 kg'": "'3 kg' has kg and should have s",
    "[run]\nmethod = 3": "a method is named by a text",
    "[start]\nx = '3 kg'": "'3 kg' has kg and x has m",
    "[start]\nzz = 1": "unknown name 'zz'",
    '[start]\n"m\'" = 1': "is no velocity",
    "[report]\ntitle = 3": "a title is a text, not 3",
    "[report]\nforms = ['kan']": "there is no form 'kan'",
    "[sweep]\ng = 3": "a list of values, or {from",
    "[sweep]\ng = {from = 1}": "from, to and a number of points",
    "[[walls]]\nname = 'a'": "gap= is missing",
    "[walls]\ngap = 'x'": "[[walls]] in double brackets",
    "[[friction]]\nlimit = 1": "slip= is missing",
    "[[resets]]\nguard = 'x'": "map= says",
    "[[bodies]]\nname = 3\nmass = 1": "a text is wanted, not 3",
    "[[bodies]]\nmass = 1\ninertia = 1\nquaternion = 'q'": "no quaternion is called 'q'",
    "[[bodies]]\nmass = 1\nname = 'a'\n[[bodies]]\nmass = 1\nname = 'a'": "two bodies are called 'a'",
    "[[loads]]\nkind = 'rope'": "kind is force, torque",
    "[[scene]]\nkind = 'lnik'": "did you mean 'link'?",
    "[[scene]]\nkind = 'link'\nplaces = 3": "a list of places is wanted, not 3",
    "[forces]\nx = 'multiplier(zz)'": "no constraint is called 'zz'",
    "[forces]\nx = [1]": "an expression is wanted, not [1]",
    "[robot]\nfloating = true": "file= names a robot's description",
    "[prescribed]\nf = {hold = 'zero'}": "table= names a CSV file",
    "[prescribed]\nf = {table = 3}": "table= is a text, not 3",
    "[prescribed]\nf = {table = 'a.csv'}": "a text has no folder",
    "[pseudo]\n" + "a.b" * 30 + " = 1": "a key with more than 8 dots",
    "a = {": "is not valid TOML",
    "a = " + "[" * 5000: "is not readable TOML",
    "[unitz]\na = 1": "unknown key 'unitz'; did you mean 'units'?",
    "# " + "x" * 5_000_001: "a model file has 5000000 at most",
}
BEFORE = {
    "format = 7": "format 7 is not known; this version reads 1",
    "quaternions = ['q', 'q']": "a quaternion is declared twice",
    "reference = 3": "a text is wanted",
    "order = ['a']": "it names every constraint, wall",
    "states = [3]": "a list of names is wanted",
    "forces = 3": "[forces] is a table",
    "run = 3": "a table is wanted",
    "states = " + repr([f"s{i}" for i in range(1001)]): "1001 entries; 1000 are read at most",
    "include = 'a.toml'": "a text has no folder",
    "include = 3": "a list of model files",
}
UNITS = {
    "y = 'm'": {
        "zz = 'm'": "units.zz: unknown name 'zz'",
        "y = 3": "a unit is a text, not 3",
        "y = 'm'\nm = 's'": "'m' has kg here and s in [units]",
    }
}


def in_folder(folder: Path) -> dict[str, tuple]:
    """Files that name others: contents, and what is said."""
    (folder / "one.csv").write_text("t,F\n0,1\n")
    (folder / "bad.csv").write_text("t,F\n0,1\n1,b\n")
    (folder / "units.csv").write_text("t [kg],F [N]\n0,1\n1,2\n")
    (folder / "line.csv").write_text("t" * 1_000_001)
    with (folder / "large.csv").open("wb") as large:
        large.truncate(200_000_001)
    (folder / "arm.urdf").write_text((Path(__file__).parents[2] / "src" / "appell" / "zoo" / "four_bar.urdf").read_text())
    (folder / "twice.csv").write_text("t,G,G\n0,1,2\n1,2,3\n")
    table = lambda rest: f"{BLOCK}[prescribed]\nf = {{{rest}}}\n"
    robot = lambda rest: f"[robot]\nfile = 'arm.urdf'\n{rest}\n"
    return {
        "a": (table("table = 'none.csv'"), "there is no file 'none.csv' beside the model file"),
        "b": (table("table = '../one.csv'"), "is not below the folder"),
        "c": (table("table = 'a\\u0000'".replace("'", '"')), "is not a path"),
        "d": (table("table = 'one.csv'"), "two lines of numbers at least"),
        "e": (table("table = 'bad.csv'"), "line 3 of the table is not two numbers"),
        "f": (table("table = 'bad.csv', value = 'G'"), "the table has no column 'G'"),
        "g": (table("table = 'units.csv'"), "the times of the table have kg and should have s"),
        "h": (table("table = 'line.csv'"), "is no table: a line has more than"),
        "i": (table("table = 'units.csv', unit = 'N', time_unit = 's'"), "two units of one column"),
        "j": (table("table = 'large.csv'"), "has more than 200000000 bytes"),
        "k": ("include = [3]\n", "a model file is named by a text, not by 3"),
        "l": ("include = ['l.toml']\n", "the include includes itself"),
        "m": (robot("limits = 3"), "true or false"),
        "n": ("kinetic = '1'\n" + robot(""), "leave kinetic out"),
        "o": (table("table = 'twice.csv', value = 'G'"), "the table has 2 columns 'G'"),
        "p": (table("table = 'twice.csv', time = 't', value = 't'"), "times and values are two columns of the table"),
    }


def unreadable(folder: Path) -> dict[object, str]:
    (folder / "latin.toml").write_bytes(b"name = '\xff'\n")
    with (folder / "large.toml").open("wb") as large:
        large.truncate(5_000_001)
    return {
        3: "a model file is a path or a text of several lines, not 3",
        folder / "none.toml": "there is no file 'none.toml'",
        folder: "is not a file",
        folder / "latin.toml": "is not UTF-8 text",
        folder / "large.toml": "has 5000001 bytes",
        folder / ("a" * 5000): "cannot be read",
        "a\0b/c": "there is no file",
    }


def writing(folder: Path) -> list[tuple]:
    """What no file can say."""
    system = lambda **more: ap.System([x, y], T, **more)
    record = ap.sampled([0, 1], [0, 1])
    moved = ap.Particle(m * (2 + sympy.sin(ap.t)), [x, 0, 0], name="bucket", carried=[1, 0, 0])
    spring = ap.Spring(([0, 0, 0], [x, y, 0]), 3, 1)
    ball = ap.quaternion("ball", axes="space")
    spun = ap.System([ball], bodies=[ap.RigidBody(1, sympy.eye(3), [0, 0, 0], ball)])
    odd = ap.parameters("a", nonpositive=True)
    texts = [
        (system(constraints=[ap.Unilateral(x, "left", chart="reflection")]), {}, "the chart of 'left' cannot be written"),
        (system(constraints=[ap.Constraint(x, "row", reaction=[1, 0])]), {}, "the reaction of 'row' is a list"),
        (system(forces={x: f}), {}, "the prescribed function f has no value"),
        (system(forces={x: odd}), {}, "the assumption nonpositive of 'a'"),
        (system(forces={x: f}), {"parameters": {f: record}}, "goes into a table beside the file"),
        (system(forces={x: f}), {"parameters": {f: ([0, 1], [0, 1])}}, "samples are written as f: ap.sampled(times, values)"),
        (system(forces={x: record}), {}, "is part of an expression"),
        (system(bodies=[moved]), {}, "carried= of 'bucket'"),
        (system(bodies=[ap.Particle(1, [x, 0, 0]), ap.Particle(2, [0, x, 0])]), {}, "two bodies are called 'particle'"),
        (spun, {}, "axes= and rates= of quaternion 'ball'"),
        (system(loads=[spring]), {}, "a spring or damper between two points"),
        (system(forces={x: ap.parameters("pi")}), {}, "'pi' is the number π in a model file"),
        ("no system", {}, "its energies are not expressions"),
        (with_values(system(forces={x: f}), ((f, sympy.sin(ap.t)),)), {}, "a system with prescribed functions written in"),
    ]
    acts = [(lambda s=s, k=k: model_text(s, **k), said) for s, k, said in texts]
    acts.append((lambda: write_model(folder / "no" / "such.toml", system()), "cannot be written in"))
    odd_ones = {
        sympy.besselj(0, x): "the function besselj cannot be written",
        sympy.Float("1.00000000000000000001", 30): "more digits than a float64",
        sympy.Piecewise((1, x < 0), (2, x > 3)): "without a value for all other cases",
        sympy.Add(x, x, evaluate=False): "would be read as another",
        x**2000: "cannot be written in a model file: a power of 2000",
        sympy.Xor(x < 1, y < 1): "cannot be written",
        sympy.Symbol("a`b"): "the name 'a`b' cannot",
        object(): "a object cannot be written",
        x.dd.d: "x.ddd cannot be written",
    }
    return acts + [(lambda e=e: write_expression(e), said) for e, said in odd_ones.items()]


def commands(folder: Path) -> dict[tuple[str, ...], str]:
    file = folder / "block.toml"
    file.write_text(BLOCK)
    a, no = str(file), str(folder / "no" / "file")
    return {
        ("new", a): "exists already; it is not written over",
        ("new", no): "cannot be written",
        ("derive", a, "--form", "kanes"): "did you mean 'kane'?",
        ("sweep", a, "-o", "a.txt"): "the output of a sweep is a dataset, .nc",
        ("sweep", a, "-o", "a.nc"): "says nothing to vary",
        ("export", a, "-o", "a.doc"): "a handout (.html, .tex) or a Python script (.py)",
        ("export", a, "-o", no + ".py"): "cannot be written",
        ("run", a, "-o", str(folder / "a.xyz")): "a report (.html), a table (.csv) or a dataset (.nc)",
        ("completion", "bash"): "the package shtab",
    }


def every_case(folder: Path) -> list[tuple]:
    """(what is tried, what is said)."""
    cases = [(lambda e=e: read_expression(e, LETTERS), said) for e, said in EXPRESSIONS.items()]
    cases += [(lambda a=a: read_model(f"{BLOCK}{a}\n"), said) for a, said in AFTER.items()]
    cases += [(lambda b=b: read_model(f"{b}\n{BLOCK}"), said) for b, said in BEFORE.items()]
    cases += [(lambda a=a: read_model(BLOCK.replace('y = "m"', a)), said) for old in UNITS.values() for a, said in old.items()]
    for name, (text, said) in in_folder(folder).items():
        (folder / f"{name}.toml").write_text(text)
        cases.append((lambda name=name: read_model(folder / f"{name}.toml"), said))
    cases += [(lambda path=path: read_model(path), said) for path, said in unreadable(folder).items()]
    units = {x: (("m", 1),), y: (("s", 1),)}
    wrong = {x + y: "the other terms", sympy.sin(x): "V: x, the argument of sin, has m and should have no unit"}
    cases += [(lambda e=e: dimensions_of(e, units.get, "V"), said) for e, said in wrong.items()]
    odd = SimpleNamespace(to=None, magnitude=1, dimensionality={"[money]": 1}, units="")
    cases.append((lambda: in_si(odd, "start of x"), "start of x: namespace(to=None"))
    run = lambda line: command.COMMANDS[line[0]](command._parser().parse_args(list(line)))
    cases += [(lambda line=line: run(line), said) for line, said in commands(folder).items()]
    return [*cases, *writing(folder), (lambda: command.main(3), "the command takes a list of texts, not 3")]


def no_device():
    raise OSError(5, "no device")


def test_every_message_says_what_is_wrong_and_none_is_left_without_a_case(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    seen: set[tuple[str, int]] = set()
    other = []
    for act, said in every_case(tmp_path):
        try:
            act()
            other.append(f"not refused: {said}")
        except ap.AppellError as error:
            seen |= raised_at(error)
            other += [] if said in str(error) and len(str(error)) < 1000 else [f"{said} → {str(error)[:200]}"]
    assert not other
    with monkeypatch.context() as broken, pytest.raises(ap.AppellError, match="cannot be read: no device") as caught:
        (tmp_path / "p.toml").write_text(BLOCK + "[prescribed]\nf = {table = 'bad.csv'}\n")
        whole = Path.open
        broken.setattr(Path, "open", lambda path, *a, **k: no_device() if path.suffix == ".csv" else whole(path, *a, **k))
        read_model(tmp_path / "p.toml")
    seen |= raised_at(caught.value)
    left = [
        site
        for site in message_sites()
        if not any(file == site.file and site.first <= line <= site.last for file, line in seen)
    ]
    assert not left, "no case for " + ", ".join(f"{Path(s.file).name}:{s.first}" for s in left)


LENGTH, KG = (("m", 1),), (("kg", 1),)
WRONG = {
    "potential": ({"potential": m * y}, "potential: it has kg·m, and an energy has kg·m²/s²"),
    "term": ({"potential": m * g * y + m * g}, "potential: g*m has kg·m/s², the other terms kg·m²/s²"),
    "argument": ({"potential": m * g * y * sympy.cos(y)}, "y, the argument of cos, has m and should have no unit"),
    "power": ({"potential": m * g * y * 2**y}, "y, a power, has m and should have no unit"),
    "base": ({"potential": m * g * y * y ** (x / y)}, "y, the base of a power that is no number, has m"),
    "condition": (
        {"forces": {x: sympy.Piecewise((m * g, x < ap.t), (0, True))}},
        "the force for x.d: x has m, the other terms s",
    ),
    "force": ({"forces": {x: m * x}}, "the force for x.d: it has kg·m and should have kg·m/s²"),
    "row": ({"constraints": [ap.Constraint(x - y**2, "row")]}, "constraint 'row': "),
    "wall": ({"constraints": [ap.Unilateral(y - m, "wall")]}, "wall 'wall': "),
    "restitution": (
        {"constraints": [ap.Unilateral(y, "wall", m)]},
        "the restitution of wall 'wall': it has kg and should have no unit",
    ),
    "slip": ({"constraints": [ap.Friction(x.d - x, limit=m * g, name="rub")]}, "the slip of friction 'rub': "),
    "slips": ({"constraints": [ap.Friction([x.d, y * y.d], limit=m * g, name="rub")]}, "one part has m/s, another m²/s"),
    "limit": (
        {"constraints": [ap.Friction(x.d, limit=m, name="rub")]},
        "the limit of friction 'rub': it has kg and should have kg·m/s²",
    ),
    "coefficient": (
        {"constraints": [LEFT, ap.Friction(y.d, normal=LEFT, coefficient=m, name="rub")]},
        "the coefficient of friction 'rub': it has kg",
    ),
    "multiplier": (
        {"constraints": [LEFT], "forces": {y: m * LEFT.multiplier}},
        "the force for y.d: it has kg²·m/s² and should have kg·m/s²",
    ),
    "reset": ({"constraints": [ap.Reset(x, {x.d: x}, "jump")]}, "reset 'jump', the value of x.d: it has m and should have m/s"),
    "mass": ({"bodies": [ap.Particle(g, [x, y, 0], name="bob")]}, "the mass of 'bob': it has m/s² and should have kg"),
    "load": ({"loads": [ap.Force([m, 0, 0], at=[x, y, 0])]}, "a force: it has kg and should have kg·m/s²"),
}


@pytest.mark.parametrize("name", WRONG)
def test_dimensions_of_every_part_are_checked(name):
    """Units at the edge are SI; the right system has no finding, and the wrong part is named."""
    more, said = WRONG[name]
    units = {"x": (("m", 1),), "y": (("m", 1),), "m": (("kg", 1),), "g": (("m", 1), ("s", -2)), "phi": ()}
    assert wrong_dimensions(ap.System([x, y], T, m * g * y, forces={x: m * g}), units, {}) == []
    system = ap.System([x, y], T, **{"potential": m * g * y, **more})
    assert any(said in line for line in wrong_dimensions(system, units, {})), wrong_dimensions(system, units, {})
