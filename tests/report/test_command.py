"""The command `appell`, driven as a user drives it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

import appell as ap
from appell.report import command
from appell.report.command import main

ROOT = Path(__file__).parents[2]


def test_the_installed_module_prints_its_version():
    done = subprocess.run([sys.executable, "-m", "appell", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"appell {ap.__version__}\n"


def test_a_bare_command_prints_a_first_page(capsys):
    assert main([]) == 0
    page = capsys.readouterr().out
    assert page.startswith(f"appell {ap.__version__}") and all(word in page for word in ("studio", "zoo", "doctor", "--help"))
    lines = [line.strip() for line in page.partition("In Python:")[2].strip().splitlines()]
    namespace: dict = {}
    exec("\n".join(lines[:3]), namespace)  # what the page shows runs
    assert "∂S/∂" in capsys.readouterr().out


def test_doctor_names_back_ends_and_extras(capsys):
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["back end vm"] == "works" and {"extra [show]", "extra [gpu]", "casadi"} <= set(found)


def test_the_zoo_is_listed_with_one_line_each(capsys):
    assert main(["zoo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("skate ") for line in lines) and all(len(line.split(None, 1)) == 2 for line in lines)


def test_mistakes_end_with_a_line_and_a_code(capsys):
    assert main(["studio", "skte"]) == 2
    assert "did you mean 'skate'?" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main(["fly"])
    assert stopped.value.code == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("command", ["", "zoo", "doctor --json"])
def test_an_output_that_cannot_be_written_ends_with_a_line(command):
    words = [sys.executable, "-m", "appell", *command.split()]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("the output cannot be written: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_file_that_cannot_be_used_ends_with_a_line(monkeypatch, capsys):
    """Also where the output is no file: `capsys` replaces it."""

    def refused(given):
        raise PermissionError(13, "Permission denied", "model.toml")

    monkeypatch.setitem(command.COMMANDS, "doctor", refused)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert main(["doctor"]) == 2
    assert capsys.readouterr().err == "'model.toml' cannot be used: Permission denied\n"


@pytest.mark.skipif(sys.platform == "win32", reason="closes an output as shells of Unix do")
def test_a_command_runs_with_its_output_closed():
    done = subprocess.run(["sh", "-c", f"'{sys.executable}' -m appell zoo >&-"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_version_stands_in_one_place():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"] and project["tool"]["hatch"]["version"]["path"] == "src/appell/version.py"
    assert f"version: {ap.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"{{{ap.__version__}}}" in (ROOT / "docs" / "citing.md").read_text()
