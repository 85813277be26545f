"""The benchmarks run, and both sides of every ratio compute the same (they raise `Disagreement` otherwise)."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from benchmarks.__main__ import NAMES, main
from benchmarks.measure import Disagreement, agree, interleaved
from benchmarks.pendulum import _ldl_solve

from appell.backends import reason_against_c

needs_c = pytest.mark.skipif(reason_against_c() is not None, reason="the compiled side needs a C compiler")


@needs_c
@pytest.mark.compiler
@pytest.mark.parametrize("name", NAMES)
def test_quick_run(name, tmp_path, capsys):
    if name in ("trajectory", "ensembles"):
        pytest.importorskip("heyoka")
    if name == "ensembles":
        pytest.importorskip("mujoco")
    if name == "trees":
        pytest.importorskip("pinocchio")
    if name == "player":
        pytest.importorskip("k3d")
    if name == "studio":
        pytest.importorskip("playwright")
        if shutil.which("chromium") is None:
            pytest.skip("there is no Chromium")
    tables = main([name, "--quick", "--results", str(tmp_path)])
    stored = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert stored["benchmark"] == name
    assert [table["title"] for table in stored["tables"]] == [table.title for table in tables]
    for table in tables:
        assert table.rows and all(len(row) == len(table.columns) for row in table.rows)
        assert table.title in " ".join(capsys.readouterr().out.split()) or len(tables) > 1


def test_disagreement_is_refused():
    assert agree("the same", [1.0, 2.0], [1.0, 2.0 + 1e-12], 1e-11) < 1e-11
    with pytest.raises(Disagreement, match="not the same"):
        agree("not the same", [1.0], [1.1], 1e-9)
    with pytest.raises(Disagreement):
        agree("not a number", [np.nan], [1.0], 1e-9)


def test_each_call_takes_its_turn():
    seen = []
    times = interleaved({"a": lambda: seen.append("a"), "b": lambda: 0.25}, seconds=0.0, least=2)
    assert seen == ["a", "a"]
    assert times["b"] == 0.25  # its own clock


def test_the_peers_solve():
    M = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
    x = _ldl_solve(M.tolist(), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(M @ x, [1.0, 2.0, 3.0], rtol=1e-14)
