"""The installed command at a terminal and in a pipe: colours and bars for people, plain text and JSON for programs."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from appell.report.command import EXIT_CODES, main
from appell.report.model_commands import TEMPLATE
from appell.report.terminal import RED, coloured, say

INSTALLED = Path(sys.executable).with_name("appell")
COMMAND = [str(INSTALLED)] if INSTALLED.exists() else [sys.executable, "-m", "appell"]
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
INHERITED = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CI")}
ENVIRONMENT = {**INHERITED, "TERM": "xterm-256color", "COLUMNS": "120"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "spring.toml"
    path.write_text(TEMPLATE, encoding="utf-8")
    return path


def at_a_terminal(*arguments: str, environment: dict[str, str] = ENVIRONMENT) -> tuple[int, str]:
    """(exit code, everything that a person sees)."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # the terminal is closed when the command ends
        while select.select([ours], [], [], 120)[0] and (part := os.read(ours, 65536)):
            seen += part
    os.close(ours)
    return process.wait(), seen.decode()


def in_a_pipe(*arguments: str, environment: dict[str, str] = ENVIRONMENT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, env=environment, check=False)


def test_a_terminal_has_a_bar_and_colours(file):
    code, seen = at_a_terminal("run", str(file))
    assert code == 0 and "simulating" in seen and "100%" in seen
    assert "\x1b[32mfinished\x1b[0m at t = 10 s: r = " in seen


def test_a_pipe_has_neither(file):
    done = in_a_pipe("run", str(file), "--json")
    assert done.returncode == 0 and not done.stderr and not ESCAPE.search(done.stdout)
    assert json.loads(done.stdout)["ok"]


def test_mistakes_are_red_at_a_terminal_alone(file):
    file.write_text(TEMPLATE.replace("k*(r - l)", "k*(rr - l)"), encoding="utf-8")
    said = "line 5, column 17: potential: unknown name 'rr'; did you mean 'r'?"
    code, seen = at_a_terminal("check", str(file))
    assert code == 2 and f"{RED}{said}" in seen
    done = in_a_pipe("check", str(file))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{said}\n")


def test_no_color_is_respected(file):
    code, seen = at_a_terminal("zoo", environment={**ENVIRONMENT, "NO_COLOR": "1"})
    assert code == 0 and not ESCAPE.search(seen)


def test_nobody_reads_any_more():
    command = subprocess.Popen([*COMMAND, "zoo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    assert command.stdout is not None and command.stderr is not None
    command.stdout.close()
    assert command.wait() == 141 and command.stderr.read() == b""
    command.stderr.close()


def test_a_terminal_without_these_letters(file):
    done = in_a_pipe("derive", str(file), environment={**ENVIRONMENT, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 0 and "Traceback" not in done.stderr and "\\u" in done.stdout


def test_colours_belong_to_terminals(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert coloured("a", RED, Terminal()) == f"{RED}a\x1b[0m" and coloured("a", RED, io.StringIO()) == "a"
    monkeypatch.setenv("TERM", "dumb")
    assert coloured("a", RED, Terminal()) == "a"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured("a", RED, Terminal()) == "a"
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    say("φ")
    narrow.flush()
    assert narrow.buffer.getvalue() == b"\\u03c6\n"


def test_exit_codes_are_documented(file, capsys, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "model_files.md").read_text(encoding="utf-8")
    for code in re.findall(r"\b(\d+) ", EXIT_CODES):
        assert f"| {code} |" in page
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "Exit codes: 0 done" in capsys.readouterr().out

    def interrupted(given):
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules["appell.report.command"].COMMANDS, "zoo", interrupted)
    assert main(["zoo"]) == 130


def test_parameters_that_nothing_contains_are_noted(file, capsys):
    text = TEMPLATE.replace('m = "2 kg"', 'm = "2 kg"\nspare = 3')
    file.write_text(text, encoding="utf-8")
    assert main(["check", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == ["nothing in the model contains the parameter 'spare'"]
    assert main(["derive", str(file), "--text", "--json"]) == 0
    assert "r̈" in json.loads(capsys.readouterr().out)["text"]
