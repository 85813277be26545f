"""Commands that take a model file, as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from appell.report.command import main


@pytest.fixture
def file(tmp_path, capsys):
    path = tmp_path / "spring.toml"
    assert main(["new", str(path)]) == 0
    capsys.readouterr()
    return path


def test_a_new_file_is_whole_and_is_not_written_over(file, capsys):
    assert main(["check", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] and not found["dimensions"] and "2 degrees of freedom" in found["diagnosis"]
    assert main(["new", str(file)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_the_equations_of_a_file(file, capsys):
    assert main(["derive", str(file), "--form", "lagrange"]) == 0
    assert "r̈" in capsys.readouterr().out
    assert main(["derive", str(file), "--latex"]) == 0
    assert r"\ddot{\varphi}" in (page := capsys.readouterr().out) or r"\ddot{\phi}" in page
    assert main(["derive", str(file), "--python"]) == 0
    assert "r.dd" in capsys.readouterr().out
    assert main(["derive", str(file), "--form", "kanes"]) == 2
    assert "did you mean 'kane'?" in capsys.readouterr().err


def test_a_file_runs(file, tmp_path):
    """In a process of its own, with its output in a pipe."""
    table = tmp_path / "motion.csv"
    command = [sys.executable, "-m", "appell", "run", str(file), "--json", "-o", str(table)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["ok"] and found["t"] == 10.0 and set(found["final"]) == {"r", "phi"}
    assert table.read_text().splitlines()[0].startswith("t,r,phi,r_d,phi_d") and "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (("r'^2", "rr'^2"), 2, "line 4, column 15: kinetic: unknown name 'rr'"),
        (("m*g*r*cos(phi)", "m*g*cos(phi)"), 1, "potential"),
        (("[forces]", "[forze]"), 2, "did you mean 'forces'?"),
    ],
)
def test_a_wrong_file_is_named_and_has_its_exit_code(file, change, code, said, capsys):
    file.write_text(file.read_text().replace(*change))
    assert main(["check", str(file)]) == code
    shown = capsys.readouterr()
    assert said in shown.out + shown.err


def test_outputs_have_kinds_that_are_known(file, tmp_path, capsys):
    assert main(["run", str(file), "-o", str(tmp_path / "motion.xyz")]) == 2
    assert "report (.html), a table (.csv) or a dataset (.nc)" in capsys.readouterr().err
    assert main(["sweep", str(file), "-o", str(tmp_path / "runs.nc")]) == 2
    assert "says nothing to vary" in capsys.readouterr().err
    assert main(["run", str(tmp_path / "none.toml")]) == 2
    assert "there is no file 'none.toml'" in capsys.readouterr().err
