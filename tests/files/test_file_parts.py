"""Model files made of others, robots and scenes in files, their schema, and the commands that take them."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import appell as ap
from appell.files import read_model
from appell.files.keys import model_schema
from appell.report.command import main

ROOT = Path(__file__).parents[2]
PENDULUM = """\
name = "pendulum"
coordinates = ["phi"]
kinetic = "m*l^2*phi'^2/2"
potential = "-m*g*l*cos(phi)"

[parameters]
m = "2 kg"
l = "50 cm"
g = "9.81 m/s^2"

[start]
phi = "30 deg"

[run]
until = "1 s"
"""
SCENE = """
view = "flat"

[report]
title = "A pendulum"
forms = ["lagrange", "hamilton"]

[[scene]]
kind = "link"
places = [[0, 0], ["l*sin(phi)", "-l*cos(phi)"]]

[[scene]]
kind = "point"
at = ["l*sin(phi)", "-l*cos(phi)"]
radius = "l/10"
colour = "#0072B2"
"""
DRAWN = PENDULUM.replace("\n[parameters]", 'view = "flat"\n\n[parameters]') + SCENE.replace('view = "flat"\n', "")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "base.toml").write_text(PENDULUM, encoding="utf-8")
    return tmp_path


def variant(folder, text, name="variant.toml"):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_variant_is_an_include_and_what_differs(folder):
    changes = '[parameters]\nl = "2 m"\nc = 0.1\n[forces]\nphi = "-c*phi\'"\n'
    path = variant(folder, 'include = "base.toml"\nname = "longer"\n' + changes)
    model = read_model(path)
    values = {str(s): x for s, x in model.parameters.items()}
    assert model.system.name == "longer" and values["l"] == 2.0 and values["m"] == 2.0 and model.until == 1.0
    assert str(model.system.forces[0]) == "-c*phi.d"


def test_walls_of_included_files_come_first_and_errors_name_the_file(folder):
    one = '[[walls]]\nname = "left"\ngap = "phi + 1"\n'
    (folder / "wall.toml").write_text(one, encoding="utf-8")
    path = variant(folder, 'include = ["base.toml", "wall.toml"]\n[[walls]]\nname = "right"\ngap = "1 - phi"\n')
    assert [face.name for face in read_model(path).system.unilateral] == ["left", "right"]
    (folder / "wall.toml").write_text("\n\n" + one.replace("phi", "fi"), encoding="utf-8")
    with pytest.raises(ap.ModelError, match=r"line 5, column 8: wall.toml: walls.gap: unknown name 'fi'; did you mean 'phi'"):
        read_model(path)
    path.write_text(path.read_text(encoding="utf-8").replace("1 - phi", "1 - psi"), encoding="utf-8")
    (folder / "wall.toml").write_text(one, encoding="utf-8")
    with pytest.raises(ap.ModelError, match=r"line 4, column 12: walls.gap: unknown name 'psi'"):
        read_model(path)


@pytest.mark.parametrize(
    ("named", "said"),
    [("../base.toml", "not below"), ("/etc/hostname", "not below"), ("none.toml", "no file"), (3, "named by a text"),
     ("variant.toml", "includes itself")],
)  # fmt: skip
def test_includes_stay_below_their_folder(folder, named, said):
    with pytest.raises(ap.ModelError, match=said):
        read_model(variant(folder, f"include = [{json.dumps(named)}]\n"))


def test_includes_do_not_go_on_for_ever(folder):
    for i in range(20):
        (folder / f"f{i}.toml").write_text(f'include = ["f{i + 1}.toml", "f{i + 1}.toml"]\n', encoding="utf-8")
    with pytest.raises(ap.ModelError, match="too deep, or has too many"):
        read_model(folder / "f0.toml")
    with pytest.raises(ap.ModelError, match="a text has no folder"):
        read_model('include = "base.toml"\n')


def test_a_robot_with_a_wall(folder):
    source = (ROOT / "src" / "appell" / "zoo" / "four_bar.urdf").read_text(encoding="utf-8")
    (folder / "arm.urdf").write_text(source, encoding="utf-8")
    tree = ap.Tree.from_urdf(folder / "arm.urdf")
    joint = str(tree.system().positions[0])
    text = f'name = "arm"\n[robot]\nfile = "arm.urdf"\n[[walls]]\nname = "stop"\ngap = "1.5 - {joint}"\n'
    text += f"[start]\n{joint} = 0.1\n"
    model = read_model(variant(folder, text))
    assert model.system.nq == tree.nq and "stop" in [face.name for face in model.system.unilateral]
    assert list(model.start.values()) == [0.1] and model.check_units() == []
    with pytest.raises(ap.ModelError, match=f"'3 m' has m and {joint} has no unit"):
        read_model(variant(folder, text.replace("= 0.1", "= '3 m'")))
    for bad, said in (('kinetic = "1"\n', "leave kinetic out"), ('coordinates = ["z"]\n', "leave coordinates out")):
        with pytest.raises(ap.ModelError, match=said):
            read_model(variant(folder, bad + text))
    wrong = {'file = "../arm.urdf"': "not below", "floating = true": "file= names", 'file = "arm.urdf"\nlimits = 1': "true or"}
    for bad, said in wrong.items():
        with pytest.raises(ap.ModelError, match=said):
            read_model(variant(folder, text.replace('file = "arm.urdf"', bad)))


def test_scene_and_report(tmp_path):
    model = read_model(DRAWN)
    assert len(model.scene.items) == 2 and model.page == {"title": "A pendulum", "forms": ["lagrange", "hamilton"]}
    text = model.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>A pendulum</h1>" in text and "hamilton" in text.lower()
    for old, new, said in (
        ('kind = "link"', 'kind = "lnik"', "did you mean 'link'"), ("radius =", "radus =", "unknown key 'radus'"),
        ('"hamilton"]', '"hamiltn"]', "there is no form 'hamiltn'"), ('title = "A pendulum"', "title = 3", "a title is a text"),
        ("places = [[0, 0], ", "places = [", "two places or more"), ("l*sin(phi)", "l*sin(psi)", "unknown name 'psi'"),
    ):  # fmt: skip
        with pytest.raises(ap.ModelError, match=said):
            read_model(DRAWN.replace(old, new, 1))


def test_the_schema_takes_every_file_of_the_zoo_and_refuses_what_the_reader_refuses():
    jsonschema = pytest.importorskip("jsonschema")
    judge = jsonschema.Draft202012Validator(model_schema())
    judge.check_schema(model_schema())
    files = sorted((ROOT / "examples" / "models").glob("*.toml"))
    assert len(files) > 40
    for path in files:
        assert not list(judge.iter_errors(tomllib.loads(path.read_text(encoding="utf-8")))), path.name
    assert not list(judge.iter_errors(tomllib.loads(DRAWN)))
    for bad in ({"cordinates": ["x"]}, {"walls": [{"gab": "x"}]}, {"run": {"untill": 3}}, {"kinetic": ["x"]}):
        assert list(judge.iter_errors(bad))


def test_commands(folder, capsys):
    base = str(folder / "base.toml")
    assert main(["schema", "-o", str(folder / "schema.json")]) == 0
    assert json.loads((folder / "schema.json").read_text(encoding="utf-8")) == model_schema()
    assert main(["export", base, "-o", str(folder / "sheet.tex")]) == 0 and (folder / "sheet.tex").exists()
    assert main(["export", base, "-o", str(folder / "motion.py")]) == 0
    compile((folder / "motion.py").read_text(encoding="utf-8"), "motion.py", "exec")
    assert main(["export", base, "-o", str(folder / "model.doc")]) == 2
    assert main(["bench", base, "--json"]) == 0
    times = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert times["steps"] > 0 and all(times[name] > 0 for name in ("compile", "one acceleration", "run again"))


def test_completion_in_a_process_of_its_own():
    pytest.importorskip("shtab")
    found = subprocess.run([sys.executable, "-m", "appell", "completion", "bash"], capture_output=True, text=True, check=True)
    assert "derive" in found.stdout and "complete" in found.stdout


def test_the_studio_opens_a_model_file(folder):
    from appell.report.studio_page import example_of

    example = example_of(str(folder / "base.toml"))
    assert example.name == "pendulum" and example.until == 1.0 and len(example.parameters) == 3
