"""Model files, robots as texts and the command `appell`, as the fuzzer calls them."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

from tests.hostile.models import VALUES, Target, folder, m, oscillator, skate, x
from tests.hostile.whole_files import MJCF, SDF

import appell as ap
from appell.report.command import main
from appell.report.model_commands import TEMPLATE

SHORT = TEMPLATE.replace('until = "10 s"', 'until = "0.1 s"\nstep = 0.05')
SWEPT = SHORT + '[sweep]\nk = {from = "200 N/m", to = "300 N/m", points = 2}\n'


def said_by_command(arguments: Any) -> int:
    """`appell` with a list of arguments; a usage error and a refusal are raised with what it printed."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        try:
            code = main(arguments)
        except SystemExit as end:
            code = end.code
    if code == 2:
        raise ap.ModelError(error.getvalue()[-4000:])
    return int(code or 0)


@cache
def model_file() -> Path:
    (folder() / "record.csv").write_text("t,f\n0,0\n0.5,1\n1,0\n", encoding="utf-8")
    path = folder() / "model.toml"
    path.write_text(SWEPT, encoding="utf-8")
    return path


@cache
def model() -> Any:
    return ap.read_model(SWEPT)


def written_out(**lines: Any) -> Any:
    """A file with these entries: texts as TOML writes them, other things as Python shows them."""
    said = "\n".join(f"{key} = {_toml(value)}" for key, value in lines.items())
    path = folder() / "spelled.toml"
    path.write_text(f'name = "n"\ncoordinates = ["x", "y"]\n{said}\n', "utf-8", "replace")
    return ap.read_model(path)


def _text(first: Any, second: Any) -> Any:
    return ap.read_model(f"{_raw(first)}\n{_raw(second)}\n")


def _raw(value: Any) -> str:
    return value if isinstance(value, str) else _toml(value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else _toml(key)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    try:
        return str(value)
    except Exception:  # a text that raises is none that a file could hold
        return "true"


def _commands() -> dict[str, Target]:
    path = str(model_file())
    out = str(folder() / "o.nc")
    calls = {
        "new": ["new", str(folder() / "new.toml")],
        "check": ["check", "--json", path],
        "derive": ["derive", "--form", "lagrange", "--latex", path],
        "run": ["run", "-o", str(folder() / "o.csv"), "--json", path],
        "sweep": ["sweep", "-o", out, path],
        "zoo": ["zoo", "--json"],
    }
    weight = {"new": 0.5, "zoo": 0.3, "derive": 0.05, "check": 0.03, "run": 0.05, "sweep": 0.05}
    return {f"appell {name}": Target(said_by_command, {"arguments": list(c)}, weight[name]) for name, c in calls.items()}


def _models() -> dict[str, Target]:
    spelled = {
        "kinetic": "m*(x'^2 + y'^2)/2",
        "potential": "k*x^2/2",
        "parameters": {"m": 1.0, "k": "250 N/m"},
        "units": {"x": "m"},
        "forces": {"x": "-x'"},
        "start": {"x": "45 cm"},
        "run": {"until": "1 s", "rtol": 1e-6},
        "sweep": {"k": [1.0, 2.0]},
    }
    path = folder() / "written.toml"
    return {
        "read_model": Target(ap.read_model, {"source": model_file()}, 0.5),
        "read_model of a text": Target(_text, {"first": 'coordinates = ["x"]', "second": 'kinetic = "x\'^2"'}, 0.5),
        "model file": Target(written_out, spelled, 0.7),
        "model file with walls": Target(
            written_out,
            {
                "kinetic": "x'^2/2 + y'^2",
                "constraints": [{"name": "row", "row": "x' - t*y'"}],
                "walls": [{"name": "floor", "gap": "x", "restitution": 0.5}],
                "friction": [{"name": "rub", "slip": "y'", "normal": "row", "coefficient": 0.3}],
                "sample": {"x": 0.1},
            },
            0.5,
        ),
        "model file of bodies": Target(
            written_out,
            {
                "bodies": [{"mass": 2.0, "position": ["x", "y", 0], "name": "b"}],
                "loads": [{"kind": "spring", "between": "x", "stiffness": 2.0}],
                "prescribed": {
                    "f": {"table": "record.csv", "time": "t", "value": "f", "hold": "linear", "unit": "N"},
                    "g": "t^2",
                },
                "forces": {"x": "f + g"},
                "pseudo": {"w": "2*x'"},
            },
            0.5,
        ),
        "write_model": Target(
            ap.write_model,
            {
                "path": path,
                "system": oscillator(),
                "parameters": VALUES,
                "start": {x: 1.0},
                "until": 1.0,
                "pseudo": {"w": x.d},
                "reference": "r",
            },
            0.5,
        ),
        "write_model of rows": Target(
            ap.write_model, {"path": path, "system": skate(), "parameters": {m: 1.0}, "start": {"x": 0.0}}, 0.2
        ),
        "model.simulate": Target(model().simulate, {"until": 0.05, "backend": "vm", "rtol": 1e-6, "step": None}, 0.1),
        "model.sweep": Target(model().sweep, {"store": None, "backend": "vm", "step": 0.05, "chunk": 1}, 0.03),
    }


def _robot_texts() -> dict[str, Target]:
    """Readers of robots with their options."""
    sdf = {"path": SDF, "model": "m", **dict.fromkeys(("limits", "damping", "friction", "mimic"), True), "gravity": [0, 0, -9]}
    words = ("limits", "damping", "friction", "equality", "actuators")
    mjcf = {"path": MJCF.replace('<compiler meshdir="."/>', ""), **dict.fromkeys(words, True), "gravity": None}
    return {
        "Tree.from_sdf": Target(ap.Tree.from_sdf, {**sdf, "backend": "vm"}, 0.5),
        "Tree.from_mjcf, whole": Target(ap.Tree.from_mjcf, {**mjcf, "backend": "vm"}, 0.2),
        "Tree.from_file with options": Target(
            ap.Tree.from_file, {"path": SDF, "kind": "sdf", "gravity": None, "limits": True}, 0.3
        ),
    }


def file_targets() -> dict[str, Any]:
    return {**_commands(), **_models(), **_robot_texts()}
