"""The lecture runs from its first cell to its handouts, and its LaTeX is compiled where there is one."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import matplotlib
import pytest

DOCS = Path(__file__).parents[2] / "docs"


def lecture():
    made = importlib.util.spec_from_file_location("lecture_handouts", DOCS / "lecture_handouts.py")
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def handouts(tmp_path_factory):
    matplotlib.use("Agg")
    folder, names = tmp_path_factory.mktemp("lecture"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for k, block in enumerate(lecture().CELL.findall((DOCS / "lecture.md").read_text(encoding="utf-8"))):
            exec(compile(block, f"lecture.md, cell {k + 1}", "exec"), names)
    assert names["agreement"].ok and names["motion"].ok
    return folder


def test_its_claims(handouts):
    """The handouts are there; exercises have no answers, and the worked ones begin after what is given."""
    worked, exercise = ((handouts / f"sleigh-{name}.tex").read_text() for name in ("worked", "exercise"))
    answer = r"m a \omega^{2}"
    assert answer in worked and answer not in exercise and r"F^{*}_{r}" in worked
    assert r"1. Derivatives by the velocities" in worked and "What is given" not in worked
    pages = [(handouts / f"sleigh-{name}.html").read_text() for name in ("worked", "exercise")]
    assert pages[0].index("Equations of motion") < pages[0].index("<h2>Motion</h2>") and "steps room" in pages[1]


@pytest.mark.parametrize("name", ["worked", "exercise"])
def test_its_latex_is_compiled(handouts, name):
    made = lecture().compiled(handouts / f"sleigh-{name}.tex")
    if made is None:
        pytest.skip("no LaTeX is installed")
    assert made.read_bytes().startswith(b"%PDF")
