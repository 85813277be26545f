"""Commands that take a model file: `appell new | check | derive | run | sweep`."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import appell as ap  # subpackages are loaded when a command needs them
from appell.errors import FileError, ModelError
from appell.motion.storage import save
from appell.reading import shown
from appell.report.terminal import GREEN, RED, YELLOW, coloured, is_terminal, say
from appell.spelling import did_you_mean

TEMPLATE = """\
# A model file. Expressions are written as on paper: x' is a velocity, x'' an acceleration, ^ a power.
name = "pendulum on a spring"
coordinates = ["r", "phi"]
kinetic = "m*(r'^2 + r^2*phi'^2)/2"
potential = "k*(r - l)^2/2 - m*g*r*cos(phi)"

[units]
r = "m"
phi = "rad"

[parameters]
m = "2 kg"
k = "250 N/m"
l = "40 cm"
g = "9.81 m/s^2"
c = "0.1 N*s/m"

[forces]
r = "-c*r'"

# Constraints, walls and friction come in double brackets, one for each:
# [[constraints]]
# name = "rod"
# row = "r - l"
#
# [[walls]]
# name = "stop"
# gap = "0.6 - r"
# restitution = 0.8

[start]
r = "45 cm"
phi = "30 deg"

[run]
until = "10 s"

# What `appell sweep` varies:
# [sweep]
# k = {from = "200 N/m", to = "300 N/m", points = 11}
"""


def add_commands(commands: Any) -> None:
    """Adds the parsers."""
    new = commands.add_parser("new", help="writes a commented model file to start from")
    new.add_argument("file", type=Path)
    check = commands.add_parser(
        "check", help="reads a model file: diagnosis, agreement of the forms, dimensions; 1: something is wrong"
    )
    derive = commands.add_parser("derive", help="prints the equations of motion of a model file in one form")
    derive.add_argument("--form", default="lagrange", help="lagrange, appell, kane, maggi, hamilton …")
    style = derive.add_mutually_exclusive_group()
    style.add_argument("--text", action="store_true", help="as text, the default")
    style.add_argument("--latex", action="store_true", help="as LaTeX")
    style.add_argument("--python", action="store_true", help="as SymPy expressions")
    run = commands.add_parser("run", help="simulates a model file")
    run.add_argument("-o", "--output", type=Path, help="a report (.html), a table (.csv) or a dataset (.nc)")
    sweep = commands.add_parser("sweep", help="simulates a model file for all values of its [sweep]")
    sweep.add_argument("-o", "--output", type=Path, required=True, help="the dataset, .nc")
    bench = commands.add_parser("bench", help="how fast a model file is derived, compiled, evaluated and run on this machine")
    sheet = commands.add_parser("export", help="writes a model file as a handout (.html, .tex) or as a Python script (.py)")
    sheet.add_argument("-o", "--output", type=Path, required=True, help="the file to write")
    schema = commands.add_parser("schema", help="the JSON Schema of model files, for editors")
    schema.add_argument("-o", "--output", type=Path, help="a file; printed by default")
    completion = commands.add_parser("completion", help="shell completion for this command")
    completion.add_argument("shell", choices=["bash", "zsh", "tcsh"])
    for parser in (check, derive, run, sweep, bench, sheet):
        parser.add_argument("file", type=Path, help="a model file, TOML")
    for parser in (check, derive, run, sweep, bench):
        parser.add_argument("--json", action="store_true", help="for programs")


def _model(options: argparse.Namespace) -> Any:
    """The model in the file given to a command."""
    return ap.read_model(options.file)


def new_file(given: argparse.Namespace) -> int:
    """`appell new`; an existing file is not overwritten."""
    try:
        with given.file.open("x", encoding="utf-8") as target:
            target.write(TEMPLATE)
    except FileExistsError:
        raise FileError(f"{shown(_label(given.file))} exists already; it is not written over") from None
    except (OSError, ValueError) as error:  # a name with a null character
        raise FileError(f"{shown(_label(given.file))} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    print(f"{given.file}: written; try appell check {given.file}")
    return 0


def check_file(given: argparse.Namespace) -> int:
    """`appell check`: 0 if all checks pass, 1 otherwise."""
    model = _model(given)
    dimension_errors = model.check_units()
    system = model.system
    findings = str(ap.diagnose(system))
    agreement = ap.agree(system)
    text, agrees = str(agreement), bool(agreement.ok)
    notes = [f"nothing in the model contains the parameter '{name}'" for name in model.unused]
    if given.json:
        result = {
            "ok": not dimension_errors and agrees, "dimensions": dimension_errors, "diagnosis": findings, "agreement": text,
            "notes": notes,
        }  # fmt: skip
        say(json.dumps(result))
    else:
        shades = [coloured(line, RED, sys.stdout) for line in dimension_errors] or [
            coloured("dimensions: nothing wrong was found", GREEN, sys.stdout)
        ]
        blocks = [findings, text if agrees else coloured(text, RED, sys.stdout), *shades]
        say("\n\n".join([*blocks, *(coloured(line, YELLOW, sys.stdout) for line in notes)]))
    return int(bool(dimension_errors) or not agrees)


def derive_file(given: argparse.Namespace) -> int:
    """`appell derive`."""
    forms = ap.forms
    if given.form not in forms.FORMS:
        raise ModelError(
            f"there is no form '{given.form}'{did_you_mean(given.form, forms.FORMS)}; there are {', '.join(forms.FORMS)}"
        )
    model = _model(given)
    form = forms.FORMS[given.form]
    takes_pseudo = model.pseudo is not None and ("pseudo",) in form.variants
    equations = form(model.system, **({"pseudo": model.pseudo} if takes_pseudo else {}))
    if given.python:
        text = "\n".join(f"{e.lhs} - ({e.rhs})" for e in equations.equations)
        text = re.sub(r"\blambda\b", "lambda_", text)  # a Python keyword
    else:
        text = equations.latex() if given.latex else equations.text()
    say(json.dumps({"form": given.form, "text": text}) if given.json else text)
    return 0


def run_file(given: argparse.Namespace) -> int:
    """`appell run`: 0 if the motion is complete and without doubts, 1 otherwise."""
    if given.output is not None and given.output.suffix not in OUTPUTS:
        raise ModelError(f"{shown(given.output.name)}: the output is a report (.html), a table (.csv) or a dataset (.nc)")
    model = _model(given)
    motion = model.simulate(progress=is_terminal(sys.stderr))
    if given.output is not None:
        _save(model, motion, given.output)
    summary = {"ok": bool(motion.ok), "status": motion.status.name, "message": motion.message, "t": float(motion.t[-1])}
    summary |= {"doubts": list(motion.doubts), "final": {str(s): float(motion[s][-1]) for s in motion.system.coordinates}}
    if given.json:
        say(json.dumps(summary))
    else:
        final = ", ".join(f"{name} = {value:.9g}" for name, value in summary["final"].items())
        ended = coloured(motion.message, GREEN if motion.ok else RED, sys.stdout)
        say(f"{ended} at t = {summary['t']:g} s: {final}", *(coloured(doubt, YELLOW, sys.stdout) for doubt in motion.doubts))
    return int(not motion.ok)


OUTPUTS = (".html", ".csv", ".nc")
"""File formats for a motion."""


def _save(model: Any, motion: Any, path: Path) -> None:
    kinds = {".html": lambda target: model.report(target, motion), ".csv": motion.to_csv, ".nc": motion.save}
    kinds[path.suffix](path)
    print(f"{path}: written", file=sys.stderr)


def sweep_file(given: argparse.Namespace) -> int:
    """`appell sweep`: 0 if every run is complete, 1 otherwise."""
    if given.output.suffix != ".nc":
        raise ModelError(f"{shown(given.output.name)}: the output of a sweep is a dataset, .nc")
    result = _model(given).sweep(progress=is_terminal(sys.stderr))
    save(result.dataset, given.output)
    summary = {"ok": bool(result.ok), "message": result.message, "output": str(given.output)}
    say(json.dumps(summary) if given.json else f"{given.output}: {result.message}")
    return int(not result.ok)


def bench_file(given: argparse.Namespace) -> int:
    """`appell bench`: timings on this machine, s."""
    def timed(act: Any, duration: float = 0.0) -> tuple[Any, float]:
        """The result, and the time of one call, repeated for at least `duration` seconds."""
        began, count = perf_counter(), 0
        while True:
            result, count = act(), count + 1
            if (spent := perf_counter() - began) >= duration:
                return result, spent / count

    model = _model(given)
    times = {"equations of Lagrange": timed(lambda: ap.forms.lagrange(model.system))[1]} if not model.system.frictions else {}
    run, times["compile"] = timed(lambda: ap.compile(model.system, model.parameters))
    motion, times["first run"] = timed(lambda: model.simulate())
    q, v = motion.q[0], motion.v[0]
    run.acceleration(float(motion.t[0]), q, v)
    times["one acceleration"] = timed(lambda: run.acceleration(float(motion.t[0]), q, v), 0.2)[1]
    times["run again"] = timed(lambda: model.simulate(), 0.5)[1]
    if given.json:
        say(json.dumps({**times, "steps": int(motion.statistics["steps"]), "backend": run.backend}))
        return 0
    width = max(map(len, times))
    print(*(f"{name:<{width}}  {seconds:.3g} s" for name, seconds in times.items()), sep="\n")
    print(f"{motion.statistics['steps']} steps over {motion.t[-1] - motion.t[0]:g} s of motion, back end {run.backend}")
    return 0


def export_file(given: argparse.Namespace) -> int:
    """`appell export`: writes a handout, or a script that reads the file."""
    model = _model(given)
    if given.output.suffix in (".html", ".tex"):
        ap.handout(model.system, given.output, forms=model.page.get("forms", ("lagrange",)), title=model.page.get("title"))
    elif given.output.suffix == ".py":
        _write(given.output, SCRIPT.format(file=str(given.file)))
    else:
        raise ModelError(f"{shown(given.output.name)}: a handout (.html, .tex) or a Python script (.py) can be written")
    print(f"{given.output}: written", file=sys.stderr)
    return 0


SCRIPT = """\
import appell as ap

model = ap.read_model({file!r})
print(ap.forms.lagrange(model.system))
motion = model.simulate()
print(motion)
motion.plot().savefig("motion.png")
"""


def _label(path: Path) -> str:
    """A path in messages: its last part; "." has none."""
    return path.name or str(path)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(f"{shown(_label(path))} cannot be written: {error.strerror or error}") from None


def schema_file(given: argparse.Namespace) -> int:
    """`appell schema`."""
    text = json.dumps(ap.files.model_schema(), indent=2, ensure_ascii=False) + "\n"
    if given.output is None:
        print(text, end="")
    else:
        _write(given.output, text)
    return 0


__all__ = [
    "add_commands", "bench_file", "check_file", "derive_file", "export_file", "new_file", "run_file", "schema_file",
    "sweep_file",
]  # fmt: skip
