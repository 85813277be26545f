"""The command `appell`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import metadata

import appell as ap  # subpackages are loaded when a command needs them
from appell.errors import AppellError, ModelError
from appell.reading import shown
from appell.report.model_commands import (
    add_commands,
    bench_file,
    check_file,
    derive_file,
    export_file,
    new_file,
    run_file,
    schema_file,
    sweep_file,
)
from appell.report.terminal import RED, coloured, say
from appell.version import __version__

FIRST_PAGE = f"""\
appell {__version__}: the dynamics of constrained mechanical systems

  appell studio [name]   a local page: sliders, equations, animation, curves
  appell new FILE        a commented model file to start from
  appell check FILE      diagnosis, agreement of the forms, dimensions
  appell derive FILE     equations of motion: --form kane --latex
  appell run FILE        a motion: -o report.html, .csv or .nc
  appell sweep FILE      all values of its [sweep]: -o runs.nc
  appell bench FILE      how fast it is derived, compiled and run on this machine
  appell export FILE     a handout or a Python script: -o sheet.html, .tex, .py
  appell schema          the JSON Schema of model files, for editors
  appell completion bash shell completion for this command
  appell zoo             the classical systems that come with the library
  appell doctor          what is installed: compiler, back ends, extras
  appell --help          all commands and their options

In Python:

  import appell as ap
  example = ap.zoo.skate()
  print(ap.forms.appell(example.system))
  ap.simulate(example.system, example.start, example.until, example.parameters).report("skate.html")
"""
EXIT_CODES = (
    "0 done; 1 done, and something is wrong with the model or the run; 2 a mistake, explained in one line; 130 interrupted;"
    " 141 the output was closed"
)
EXTRAS = {
    "compiler": ("ziglang",), "gpu": ("cupy-cuda12x",), "show": ("imageio-ffmpeg", "latex2mathml", "nicegui"), "jax": ("jax",),
    "torch": ("torch",), "distributed": ("dask", "distributed", "zarr"), "mujoco": ("mujoco",), "completion": ("shtab",),
}  # fmt: skip
"""Extra → its packages."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; the return value is one of `EXIT_CODES`."""
    if arguments is not None and not (
        isinstance(arguments, list | tuple) and all(isinstance(argument, str) for argument in arguments)
    ):
        raise ModelError(f"the command takes a list of texts, not {shown(arguments)}")
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        code = (_first_page if options.command is None else COMMANDS[options.command])(options) or 0
        if sys.stdout is not None:  # None: closed before the start, as with `>&-`
            sys.stdout.flush()
        return code
    except AppellError as error:
        print(coloured(str(error), RED, sys.stderr), file=sys.stderr)  # unencodable characters are escaped
        return 2
    except KeyboardInterrupt:
        return 0 if options.command == "studio" else 130  # the normal way to end a studio
    except BrokenPipeError:  # the reader has gone, as with `| head`
        _discard_output()
        return 141
    except OSError as error:  # a full disk
        subject = "the output cannot be written" if error.filename is None else f"{shown(str(error.filename))} cannot be used"
        print(coloured(f"{subject}: {error.strerror or error}", RED, sys.stderr), file=sys.stderr)
        _discard_output()
        return 2


def _discard_output() -> None:
    """Sends the rest of the output nowhere, so that Python does not try again to write it when it ends."""
    with suppress(AttributeError, OSError):  # closed before the start, or replaced by an object that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _first_page(options: argparse.Namespace) -> None:
    print(FIRST_PAGE, end="")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="appell", description="The dynamics of constrained mechanical systems.", epilog=f"Exit codes: {EXIT_CODES}."
    )
    parser.add_argument("--version", action="version", version=f"appell {__version__}")
    commands = parser.add_subparsers(dest="command")
    studio = commands.add_parser("studio", help="a local page: sliders, equations, animation, curves")
    studio.add_argument("name", nargs="?", help="a model file (.toml), or a system of the zoo, for example skate")
    studio.add_argument("--port", type=int, default=0, help="0 takes any that is free")
    studio.add_argument("--no-open", action="store_true", help="print the address only")
    for name, description in (("zoo", "the classical systems that come with the library"), ("doctor", "what is installed")):
        commands.add_parser(name, help=description).add_argument("--json", action="store_true", help="for programs")
    add_commands(commands)
    return parser


def _studio(options: argparse.Namespace) -> None:
    ap.studio(options.name, port=options.port, open=not options.no_open)


def _zoo(options: argparse.Namespace) -> None:
    zoo = ap.zoo
    makers = {**zoo.ALL, **zoo.FRICTION, **zoo.WALKERS, **zoo.ROBOTS}
    _print({name: (make.__doc__ or "").strip().partition("\n")[0] for name, make in sorted(makers.items())}, options.json)


def _doctor(options: argparse.Namespace) -> None:
    _print(installed_features(), options.json)


def installed_features() -> dict[str, str]:
    """The features of this installation, by part."""
    features = {
        "appell": __version__,
        "Python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        **{name: _installed(name) for name in ("numpy", "scipy", "sympy", "casadi", "xarray", "matplotlib")},
    }
    for name, backend in ap.backends.BACKENDS.items():
        features[f"back end {name}"] = backend.reason_against() or "works"
    for extra, packages in EXTRAS.items():
        missing = [name for name in packages if _installed(name) == "not installed"]
        remedy = f"not installed ({', '.join(missing)}); pip install 'appell[{extra}]'"
        features[f"extra [{extra}]"] = remedy if missing else "installed"
    return features


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _print(lines: Mapping[str, str], as_json: bool) -> None:
    if as_json:
        say(json.dumps(dict(lines), indent=2))
        return
    width = max(map(len, lines))
    say(*(f"{name:<{width}}  {text}" for name, text in lines.items()))


def _completion(options: argparse.Namespace) -> None:
    try:
        import shtab  # type: ignore[import-not-found]  # writes shell completions for argparse
    except ImportError:
        raise ModelError("completions are written by the package shtab: pip install 'appell[completion]'") from None
    print(shtab.complete(_parser(), options.shell))


COMMANDS: dict[str, Callable[[argparse.Namespace], int | None]] = {
    "studio": _studio, "zoo": _zoo, "doctor": _doctor, "new": new_file, "check": check_file, "derive": derive_file,
    "run": run_file, "sweep": sweep_file, "bench": bench_file, "export": export_file, "schema": schema_file,
    "completion": _completion,
}  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
