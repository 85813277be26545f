"""The walk of docs/design.md, from the page's own trace: one pass from the model to the motion."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

from appell.backends import reason_against_c

PAGE = Path(__file__).parents[2] / "docs" / "design.md"
ORDER = ["model", "normal form", "C text", "machine code", "loop", "motion"]


@pytest.fixture(scope="module")
def walks() -> dict:
    if reason_against_c() is not None:
        pytest.skip("the walk leads through the C compiler")
    (code,) = re.findall(r"^```\{code-cell\} ipython3\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names: dict = {}
    with contextlib.redirect_stdout(io.StringIO()) as drawn:
        exec(re.sub(r"^:\w+:.*\n", "", code, flags=re.MULTILINE), names)
    assert drawn.getvalue().count("█") > 20
    return names["walks"]


@pytest.mark.parametrize("motion", ["skate", "ball"])
def test_stations_are_entered_in_order(walks, motion):
    seen, _ = walks[motion]
    assert all(seen.values()) and list(seen) == ORDER
    first = [calls[0] for calls in seen.values()]
    assert first == sorted(first)


@pytest.mark.parametrize("motion", ["skate", "ball"])
def test_one_text_one_object_one_loop(walks, motion):
    """All C is written before the only object is built, which is there before the loop begins, which ends before the motion."""
    seen, _ = walks[motion]
    assert len(seen["machine code"]) == 1
    assert seen["C text"][-1] < seen["machine code"][0] < seen["loop"][0]
    assert seen["loop"][-1] < seen["motion"][0]


def test_a_smooth_run_visits_no_walls():
    """Its rooms are those of the loop alone, and every climb is a decorator's."""
    script = runpy.run_path(str(PAGE.parent / "walk.py"))
    run = script["smooth"]()
    run()
    walk = script["walked"](run)
    assert {"loop", "motion"} <= set(walk.rooms) and not {"nonsmooth", "modes", "ensembles", "show"} & set(walk.rooms)
    assert {low for low, _ in walk.climbs} <= {"spelling", "remember"}
