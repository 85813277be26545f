"""Runs kept in a folder: another run is never taken for the one that was kept, damage is noticed and made again."""

from __future__ import annotations

import json
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from tests.families.family import family
from tests.families.stores import cut, empty, fill, flip, lose, replace_by_pipe

import appell as ap
from appell.disk.sealed import seal
from appell.simulate.loop import keeping

x = ap.coordinates("x")
SWING = ap.System([x], x.d**2 / 2, -sympy.cos(x), {x: sympy.sin(ap.t) / 10}, name="swing")
HOW: tuple[dict[str, Any], ...] = (
    {"backend": "vm"}, {"backend": "vm", "method": "dop853", "step": 0.05}, {"backend": "vm", "method": "dopri5", "rtol": 1e-6},
)  # fmt: skip


@contextmanager
def often() -> Iterator[None]:
    """Pieces are written as often as the loop can."""
    usual = keeping.SECONDS_BETWEEN_WRITINGS, keeping.LEG
    keeping.SECONDS_BETWEEN_WRITINGS, keeping.LEG = -1.0, 50
    try:
        yield
    finally:
        keeping.SECONDS_BETWEEN_WRITINGS, keeping.LEG = usual


def kept(folder: Path, **how: Any) -> Any:
    """A run of some hundred steps in several pieces."""
    with often(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ap.AppellWarning)
        return ap.simulate(SWING, {x: 1.0}, 120.0, keep=(folder, 3), **(how or HOW[0]))


def link_elsewhere(file: Path, rng: np.random.Generator) -> None:
    away = file.parent.parent / "away"
    file.rename(away)
    file.symlink_to(away)


def swap(file: Path, rng: np.random.Generator) -> None:
    """Two pieces of one kind change places."""
    others = sorted(p for p in file.parent.glob(f"*{file.suffix}") if p.name != file.name)
    other = others[int(rng.integers(len(others)))]
    one, two = file.read_bytes(), other.read_bytes()
    file.write_bytes(two), other.write_bytes(one)


DAMAGES = (flip, lose, cut, empty, fill, replace_by_pipe, link_elsewhere, swap)


@family(count=36, sample=(0, 7))
def damage_is_noticed_and_made_again(seed: int) -> None:
    """Whatever happens to one file of a kept run, the run called again is the undamaged one."""
    rng, how = np.random.default_rng(seed), HOW[seed % len(HOW)]
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "run"
        clean = kept(folder, **how)
        files = sorted(p for p in folder.iterdir() if p.name != "lock")
        assert len(files) >= 4, "too few pieces to say anything"
        damage = flip if seed == 0 else DAMAGES[seed % len(DAMAGES)]
        damage(files[int(rng.integers(len(files)))], rng)
        found = kept(folder, **how)
        again = kept(folder, **how)
        for one in (found, again):
            assert one.ok and one.t[0] == 0 and (np.diff(one.t) > 0).all()
            assert np.array_equal(one.t, clean.t) and np.array_equal(one.q, clean.q) and np.array_equal(one.v, clean.v)


@family(count=12, sample=(0,))
def interrupts_anywhere_lose_nothing(seed: int) -> None:
    """Ctrl-C at any instruction of the loop in Python, again and again: the run that goes on is the undisturbed one."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("there are no timers here")
    rng, how = np.random.default_rng(seed), HOW[seed % len(HOW)]
    with tempfile.TemporaryDirectory() as top:
        clean, folder = kept(Path(top) / "clean", **how), Path(top) / "run"
        for _ in range(1000):
            before = signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(0.02, 0.3)))
            try:
                found = kept(folder, **how)
                break
            except KeyboardInterrupt:
                continue
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
        assert np.array_equal(found.t, clean.t) and np.array_equal(found.q, clean.q) and np.array_equal(found.v, clean.v)


FORGED: tuple[dict[str, Any], ...] = (
    {"t": "nan"}, {"rows": 10**15}, {"rows": -1}, {"z": ["0x1p+0"]}, {"z": "text"}, {"statistics": {}}, {"statistics": [1]},
    {"notes": [["text", {"time": "soon", "kind": [], "constraints": None}]]}, {"notes": 7}, {"status": 99}, {"next_step": {}},
    {"number": 1e400}, {"checksum": ["x"]}, {"count": "__import__('os').getpid()"}, {"t": "0x1p+99999"}, {"implicit": None},
    {"before": [[]]}, {"sigma": True},
)  # fmt: skip


@family(count=len(FORGED), sample=(0,))
def forged_pieces_are_not_believed(seed: int) -> None:
    """A foreign state, sealed as ours are, with an entry that no run has written: refused, or the run is made again."""
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "run"
        clean = kept(folder)
        file = folder / "state-000000.json"
        file.write_text(seal({**json.loads(file.read_text(encoding="utf-8")), **FORGED[seed]}), encoding="utf-8")
        found = kept(folder)
        assert np.array_equal(found.t, clean.t) and np.array_equal(found.q, clean.q)
