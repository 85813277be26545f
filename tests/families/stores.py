"""Stores of sweeps: another model is never taken for the one that a store was begun with, damage is noticed and mended."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from tests.families.family import family

import appell as ap
from appell.errors import ModelError

x, y, phi = ap.coordinates("x y phi")
k, m, mu = ap.parameters("k m mu", positive=True)
FLOOR = ap.Unilateral(y, "floor", restitution=0.5)
QUICK = {"backend": "vm", "step": 0.01, "method": "rk4"}
EVENTS = {"backend": "vm", "rtol": 1e-4}


def sliding(**changes: Any) -> ap.System:
    """A block on a floor with friction."""
    law: dict[str, Any] = {"coefficient": 0.2, "static": 0.3, "name": "sole", **changes}
    rows = [FLOOR, ap.Friction(x.d, normal=FLOOR, **law)]
    return ap.System([x, y], m * (x.d**2 + y.d**2) / 2, 9.81 * m * y, constraints=rows, sample={y: 1.0})


def spring(stiffness: Any = 0.1, **options: Any) -> ap.System:
    return ap.System([x], m * x.d**2 / 2, stiffness * x**2, **options)


def walled(**changes: Any) -> ap.System:
    return ap.System([x], m * x.d**2 / 2, 0, constraints=[ap.Unilateral(x + 3, "wall", **changes)])


def braked(limit: float) -> ap.System:
    return ap.System([x], m * x.d**2 / 2, 0, constraints=[ap.Friction(x.d, limit=limit, name="brake")])


def guided(direction: dict[Any, Any] | None, name: str = "guide") -> ap.System:
    return ap.System([x, y], m * (x.d**2 + y.d**2) / 2, constraints=[ap.Constraint(x - y, name, reaction=direction)])


def driven(last: float) -> dict[Any, Any]:
    times = np.linspace(0.0, 1.0, 9)
    return {ap.prescribed("u"): (times, np.append(np.sin(times)[:-1], last))}


ULP = math.nextafter(0.1, 1)
PAIRS: list[tuple[Callable[[], Any], Callable[[], Any], dict[str, Any]]] = [
    (lambda: sliding(), lambda: sliding(static=0.4), EVENTS),
    (lambda: sliding(), lambda: sliding(law="poisson"), EVENTS),
    (lambda: sliding(), lambda: sliding(regularise=1e-3), EVENTS),
    (lambda: sliding(regularise=1e-3), lambda: sliding(regularise=math.nextafter(1e-3, 1)), EVENTS),
    (lambda: sliding(), lambda: sliding(coefficient=math.nextafter(0.2, 1)), EVENTS),
    (lambda: braked(1.0), lambda: braked(math.nextafter(1.0, 2)), EVENTS),
    (lambda: spring(0.1), lambda: spring(ULP), QUICK),
    (lambda: spring(sympy.Rational(1, 10)), lambda: spring(sympy.Rational(10**17 + 1, 10**18)), QUICK),
    (lambda: walled(restitution=0.9), lambda: walled(restitution=math.nextafter(0.9, 1)), QUICK),
    (lambda: walled(), lambda: ap.System([x], m * x.d**2 / 2, constraints=[ap.Unilateral(x + 3, "stop")]), QUICK),
    (lambda: guided({x: 1.0, y: -1.0}), lambda: guided({x: 1.0, y: -0.5}), QUICK),
    (lambda: guided(None, "guide"), lambda: guided(None, "rail"), QUICK),
    (lambda: (spring(forces={x: sympy.sin(ap.prescribed("u"))}), driven(0.5)),
     lambda: (spring(forces={x: sympy.sin(ap.prescribed("u"))}), driven(math.nextafter(0.5, 1))), QUICK),
    (lambda: ap.System([x], bodies=[ap.Particle(m, [x, 0.1])], potential=x), lambda: ap.System([x], m * x.d**2 / 2, x), QUICK),
]  # fmt: skip


def swept(given: Any, store: Path, **options: Any) -> Any:
    system, values = given if isinstance(given, tuple) else (given, {})
    start = {"x": 0.5, **({"y": 1.0} if system.nq == 2 and system.unilateral else {"y": 0.5} if system.nq == 2 else {})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ap.AppellWarning)
        return ap.sweep(system, {m: [1.0, 2.0]}, start, 0.1, values, store=store, chunk=1, threads=1, **options)


@family(count=len(PAIRS), sample=(0, 6))
def another_model_is_refused(seed: int) -> None:
    """Two models that differ in one field, or in the last digit of a number: a store takes the one it was begun with."""
    pytest.importorskip("zarr")
    one, another, options = PAIRS[seed]
    with tempfile.TemporaryDirectory() as folder:
        swept(one(), Path(folder) / "store", **options)
        with pytest.raises(ModelError, match="another model"):
            swept(another(), Path(folder) / "store", **options)
        swept(one(), Path(folder) / "store", **options)


SPRING = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, name="spring")


def study(store: Path) -> Any:
    """Ten runs in five chunks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ap.AppellWarning)
        return ap.sweep(SPRING, {k: np.linspace(1, 3, 10)}, {x: 1.0}, 0.5, {m: 1.0}, store=store, chunk=2, threads=1, **QUICK)


def files_of(store: Path) -> list[Path]:
    """All files of a store but its lock, in a fixed order."""
    return sorted(p for p in store.rglob("*") if p.is_file() and p.name != "lock")


def flip(file: Path, rng: np.random.Generator) -> None:
    data = bytearray(file.read_bytes())
    if data:
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    file.write_bytes(bytes(data))


def cut(file: Path, rng: np.random.Generator) -> None:
    file.write_bytes(file.read_bytes()[: int(rng.integers(max(1, file.stat().st_size)))])


def lose(file: Path, rng: np.random.Generator) -> None:
    file.unlink()


def empty(file: Path, rng: np.random.Generator) -> None:
    file.write_bytes(b"")


def replace_by_link(file: Path, rng: np.random.Generator) -> None:
    away = file.with_name(file.name + ".away")
    file.rename(away)
    file.symlink_to(away)


def replace_by_pipe(file: Path, rng: np.random.Generator) -> None:
    file.unlink()
    os.mkfifo(file)


def fill(file: Path, rng: np.random.Generator) -> None:
    file.write_bytes(rng.bytes(file.stat().st_size))


DAMAGES = (flip, lose, cut, empty, fill, replace_by_link, replace_by_pipe)


def same_numbers(found: Any, clean: Any) -> bool:
    names = list(clean.dataset.variables)
    return all(found.dataset[n].values.tobytes() == clean.dataset[n].values.tobytes() for n in names if n != "message") and (
        found.dataset["message"].values.tolist() == clean.dataset["message"].values.tolist()
    )


@family(count=36, sample=(0, 1, 6))
def damage_is_noticed_and_mended(seed: int) -> None:
    """Whatever happens to one file of a store, or to a whole array: the answer is that of an undamaged one."""
    pytest.importorskip("zarr")
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        store, original = Path(folder) / "store", Path(folder) / "original"
        clean = study(store)
        shutil.copytree(store, original)
        if seed == 1:  # a whole array
            shutil.rmtree(store / "status")
        else:
            files = files_of(store)
            damage = DAMAGES[0] if seed == 0 else DAMAGES[seed % len(DAMAGES)]
            damage(files[int(rng.integers(len(files)))], rng)
        found = study(store)
        assert same_numbers(found, clean)
        again = study(store)
        assert same_numbers(again, clean) and "repaired" not in again.attrs
        if seed == 1:
            assert "chunks 0, 1, 2, 3, 4" in found.attrs["repaired"] and "status/zarr.json" in found.attrs["repaired"]
