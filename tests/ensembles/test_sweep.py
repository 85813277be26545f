"""Sweeps: the grid, what survives a kill, who may write, what is refused."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import appell as ap
from appell.disk.sealed import seal
from appell.ensembles.store import Store
from appell.errors import ModelError, SimulationError, Status

zarr = pytest.importorskip("zarr", reason="zarr is not installed: pip install 'appell[distributed]'")
pytestmark = pytest.mark.compiler
x = ap.coordinates("x")
k, m = ap.parameters("k m", positive=True)
SPRING = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, name="spring")
OVER = {k: np.linspace(1, 4, 6), m: np.array([1.0, 2.0, 3.0, 4.0])}


def study(store: Path, **options):
    return ap.sweep(SPRING, OVER, {x: 1.0}, 2.0, store=store, chunk=2, threads=1, **options).dataset


def test_the_grid_has_its_closed_form(tmp_path):
    found = study(tmp_path / "a.zarr")
    assert found.x.dims == ("k", "m") and (found.status == Status.OK).all() and (found.message == "finished").all()
    w = np.sqrt(OVER[k][:, None] / OVER[m])
    np.testing.assert_allclose(found.x, np.cos(2 * w), atol=1e-9)
    stored = xr.open_zarr(tmp_path / "a.zarr", consolidated=False)
    assert stored.x.dims == ("run",) and (stored.x.values == found.x.values.ravel()).all()
    options = {"parameters": {k: 1, m: 1}, "keep": {"top": ap.reduce.max(x)}}
    starts = ap.sweep(SPRING, {x: [1.0, 2.0]}, {x.d: [0.0, 1.0, 2.0]}, 9.0, store=tmp_path / "b.zarr", **options).dataset
    assert starts.top.dims == ("x_start", "start")
    np.testing.assert_allclose(starts.top, np.hypot([[1.0], [2.0]], [0.0, 1.0, 2.0]), rtol=1e-8)


def test_what_is_done_is_not_done_again(tmp_path, monkeypatch):
    first = study(tmp_path / "a.zarr")
    made = []
    real = inspect.unwrap(ap.sweep).__globals__["_chunk_of"]
    monkeypatch.setitem(inspect.unwrap(ap.sweep).__globals__, "_chunk_of", lambda *a: made.append(a) or real(*a))
    again = study(tmp_path / "a.zarr")
    assert not made and again.identical(first.assign_attrs(again.attrs))
    (tmp_path / "a.zarr" / "appell" / "done" / "000003").unlink()
    study(tmp_path / "a.zarr")
    assert [first for _, _, first, _ in made] == [6]


CHILD = """
import sys
sys.path.insert(0, {root!r})
from tests.ensembles.test_sweep import study
study({store!r})
"""


def test_kills_lose_nothing(tmp_path):
    store, clean = tmp_path / "killed.zarr", tmp_path / "clean.zarr"
    root = str(Path(__file__).parents[2])
    marks, rng = store / "appell" / "done", np.random.default_rng(os.getpid())
    done = lambda: [p for p in marks.iterdir() if p.name.isdigit()] if marks.exists() else []
    for least in (2, 7):
        child = subprocess.Popen([sys.executable, "-c", CHILD.format(root=root, store=str(store))])
        while child.poll() is None and len(done()) < least:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.01))
        child.send_signal(signal.SIGKILL)
        child.wait()
    before = {p.name: p.stat().st_mtime_ns for p in done()}
    assert len(before) >= 7
    study(store)
    study(clean)
    assert all((marks / name).stat().st_mtime_ns == then for name, then in before.items())
    arrays = [p for p in clean.rglob("*") if p.is_file() and "appell" not in p.relative_to(clean).parts]
    assert len(arrays) > 12 * 3
    for file in arrays:
        assert file.read_bytes() == (store / file.relative_to(clean)).read_bytes()


def test_one_owner_at_a_time(tmp_path):
    study(tmp_path / "a.zarr")
    manifest = json.loads((tmp_path / "a.zarr" / "appell" / "manifest.json").read_text())
    with Store(tmp_path / "a.zarr", manifest, {}), pytest.raises(ModelError, match=f"process {os.getpid()} on"):
        study(tmp_path / "a.zarr")


def test_another_model_or_question_is_refused(tmp_path):
    study(tmp_path / "a.zarr")
    other = ap.System([x], m * x.d**2 / 2, k * x**4 / 2, name="spring")
    with pytest.raises(ModelError, match="another model"):
        ap.sweep(other, OVER, {x: 1.0}, 2.0, store=tmp_path / "a.zarr", chunk=2)
    with pytest.raises(ModelError, match="another question"):
        study(tmp_path / "a.zarr", rtol=1e-6)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    with pytest.raises(ModelError, match="something else"):
        study(tmp_path / "full")
    for over, words in (({}, "over= maps"), ({"z": [1.0]}, "neither a parameter"), ({k: [np.nan]}, "finite numbers")):
        with pytest.raises(ModelError, match=words):
            ap.sweep(SPRING, over, {x: 1.0}, 2.0, store=tmp_path / "b.zarr")
    one = {m: 1.0}
    bad = {"until": ({}, [1.0, 2.0], one), "maps symbols": (np.ones(2), 1.0, one), "parameter m": ({}, 1.0, {m: "one"})}
    for words, (starts, until, values) in bad.items():
        with pytest.raises(ModelError, match=words):
            ap.sweep(SPRING, {k: [1.0]}, starts, until, store=tmp_path / "b.zarr", parameters=values)
    with pytest.raises(ModelError, match="the same inputs in all its runs"):
        ap.sweep(SPRING, {k: [1.0, 2.0]}, {}, 1.0, store=tmp_path / "b.zarr", inputs={m: np.ones((2, 4))}, rate=4.0)
    with pytest.raises(ModelError, match="give it in one place"):
        ap.sweep(SPRING, {k: [1.0]}, {}, 2.0, store=tmp_path / "b.zarr", parameters={k: 1.0, m: 1.0})
    assert not (tmp_path / "b.zarr").exists()


def test_the_order_of_options_is_no_part_of_the_question(tmp_path):
    made, keep = [], {"top": ap.reduce.max(x)}
    ask = lambda **options: ap.sweep(SPRING, OVER, {x: 1.0}, 2.0, store=tmp_path / "a.zarr", chunk=8, **options).dataset
    first = ask(method="dopri5", rtol=1e-8, keep=keep)
    again = ask(threads=1, keep=keep, rtol=1e-8, method="dopri5", progress=made.append)
    assert set(made) <= {first.top.size} and first.drop_attrs().identical(again.drop_attrs())


def test_a_chunk_in_which_no_run_can_begin(tmp_path):
    ball = ap.System([x], x.d**2 / 2, 9.81 * x, constraints=[ap.Unilateral(x, "floor")], name="ball")
    heights = np.array([-2.0, -1.0, 1.0, 2.0, -3.0])
    found = ap.sweep(ball, {x: heights}, {}, 0.1, store=tmp_path / "a.zarr", chunk=2)
    assert found["status"].values.tolist() == [Status.REFUSED, Status.REFUSED, Status.OK, Status.OK, Status.REFUSED]
    np.testing.assert_allclose(found["x"][2:4], heights[2:4] - 9.81 * 0.1**2 / 2)
    assert not found.ok and "floor" in str(found["message"].values[4])


def test_a_full_disk(tmp_path, monkeypatch):
    from appell.ensembles import store as module

    real, count = module.write_whole, []

    def full(file, text):
        count.append(file)
        if len(count) == 9:  # the manifest, five files of Zarr, two marks, and then
            raise OSError(28, "No space left on device")
        return real(file, text)

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_whole", full)
        with pytest.raises(SimulationError, match=r"No space left.* 2 of 12 chunks are safe"):
            study(tmp_path / "a.zarr")
    found = study(tmp_path / "a.zarr")
    assert (found.status == Status.OK).all() and "repaired" not in found.attrs
    assert found.identical(study(tmp_path / "b.zarr").assign_attrs(found.attrs))


def test_stopping_returns_what_is_done(tmp_path):
    def stop(done: float) -> None:
        if done >= 6:
            raise KeyboardInterrupt

    with pytest.warns(ap.AppellWarning, match="6 of 24 runs are done"):
        found = study(tmp_path / "a.zarr", progress=stop)
    assert int((found.status == Status.OK).sum()) == 6 and int((found.status == Status.CANCELLED).sum()) == 18
    assert (study(tmp_path / "a.zarr").status == Status.OK).all()


def test_workers_that_die(tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'appell[distributed]'")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        victim = next(iter(cluster.workers.values())).pid
        found = study(tmp_path / "a.zarr", client=client, progress=lambda done: os.kill(victim, 9) if done == 2 else None)
    assert found.identical(study(tmp_path / "b.zarr").assign_attrs(found.attrs))


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in the file system there")
def test_a_store_that_is_no_folder_is_refused_and_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("pipe", "file", "loop", "dangling", "file/below", "x" * 300):
        with pytest.raises(ModelError, match=r"no folder|cannot be made"):
            study(tmp_path / name)
    with pytest.raises(ModelError, match=r"cannot be made"):
        study("~nobody-has-this-name/store")
    (tmp_path / "a" / "appell").mkdir(parents=True)
    os.mkfifo(tmp_path / "a" / "appell" / "lock")
    with pytest.raises(ModelError, match="no file"):
        study(tmp_path / "a")


def test_a_store_of_an_earlier_format_or_other_versions_says_what_to_do(tmp_path):
    study(tmp_path / "a.zarr")
    file = tmp_path / "a.zarr" / "appell" / "manifest.json"
    known = json.loads(file.read_text())
    del known["sha256"], known["format"], known["files"]
    file.write_text(json.dumps(known))
    with pytest.raises(ModelError, match=r"earlier appell.*open_zarr.*new folder"):
        study(tmp_path / "a.zarr")
    others = {**known["versions"], "casadi": "1.0"}
    for change, words in (({"versions": others}, r"casadi 1\.0, here"), ({"format": 99}, "newer")):
        file.write_text(seal({**known, "format": 2, "files": {}, **change}))
        with pytest.raises(ModelError, match=words):
            study(tmp_path / "a.zarr")
