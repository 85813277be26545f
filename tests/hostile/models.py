"""Small models, made once, and what the fuzzer knows of a callable."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import appell as ap
from appell.tree import Inertia, Joint, place

x, y, phi = ap.coordinates("x y phi")
u = ap.speeds("u")
m, k, l, c = ap.parameters("m k l c", positive=True)
t = ap.t


@dataclass(frozen=True)
class Target:
    """A callable with arguments that it takes; `weight` says how often it is tried: cheap refusals more often than runs."""

    call: Callable[..., Any]
    arguments: Mapping[str, Any]
    weight: float = 1.0


@cache
def oscillator() -> ap.System:
    return ap.System([x], m * x.d**2 / 2, k * x**2 / 2, {x: -c * x.d}, name="oscillator")


@cache
def ball() -> Any:
    return ap.System([x], m * x.d**2 / 2, m * x, constraints=[ap.Unilateral(x, "floor", restitution=0.5)], name="ball")


@cache
def skate() -> ap.System:
    return ap.zoo.sleigh().system


@cache
def run() -> Any:
    return ap.compile(oscillator(), VALUES, backend="vm")


@cache
def motion() -> Any:
    return ap.simulate(run(), {x: 1.0}, 1.0)


@cache
def arm() -> ap.Tree:
    body = Inertia.at_centre(1.0, (0.1, 0.0, 0.0), np.eye(3))
    return ap.Tree([Joint("a", body=body), Joint("b", parent="a", placement=place((1, 0, 0)), body=body)], backend="vm")


@cache
def bounced() -> Any:
    return ap.simulate(ball(), {x: 1.0}, 0.5, {m: 1.0}, backend="vm")


@cache
def saved() -> Path:
    return bounced().save(folder() / "saved.nc")


@cache
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="appell-fuzz-"))


for _name in ("xarray", "zarr", "fsspec", "h5netcdf", "matplotlib.pyplot", "mujoco", "pandas", "lark", "pint"):
    with suppress(ImportError):  # Ctrl-C in the middle of an import leaves half a module: they are loaded before the calls
        import_module(_name)

VALUES = {"m": 1.0, "k": 4.0, "c": 0.1}
START = {x: 1.0, x.d: 0.0}
J3 = [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]
