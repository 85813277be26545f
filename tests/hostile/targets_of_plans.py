"""Best motions, fits and resets, as the fuzzer calls them."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.hostile.models import START, VALUES, Target, m, motion, oscillator, x

import appell as ap

TIMES = np.linspace(0.0, 1.0, 12)


def _measured() -> dict[Any, Any]:
    return {"t": TIMES.tolist(), x: ap.simulate(oscillator(), START, 1.0, VALUES, times=TIMES, backend="vm")[x].tolist()}


def plan_targets() -> dict[str, Any]:
    F = ap.parameters("F")
    block = ap.System([x], m * x.d**2 / 2, 0, {x: F}, name="block")
    planned = {
        "system": block, "minimize": ap.integral(F**2), "controls": [F], "start": {x: 0.0}, "end": {x: 1.0, x.d: 0.0},
        "until": 1.0, "parameters": {m: 1.0}, "bounds": {F: (-9.0, 9.0)}, "rates": {F: (-90.0, 90.0)},
        "subject_to": [x + 9 >= 0], "guess": None, "attempts": 1, "tolerance": 1e-4, "since": 0.0, "seed": 0, "backend": "vm",
    }  # fmt: skip
    fitted = {
        "system": oscillator(), "data": _measured(), "unknown": ["k", x], "start": {x: 0.9}, "parameters": {**VALUES, "k": 3.0},
        "since": 0.0, "bounds": {"k": (1.0, 9.0)}, "noise": {x: 0.1}, "loss": "linear", "held_out": 0.0, "attempts": 1,
        "seed": 0, "backend": "vm",
    }  # fmt: skip
    return {
        "integral": Target(ap.integral, {"expr": F**2 + x}, 0.5),
        "at": Target(ap.at, {"expr": x, "instant": 0.5}, 0.5),
        "optimize": Target(ap.optimize, planned, 0.15),
        "fit": Target(ap.fit, fitted, 0.15),
        "Reset": Target(ap.Reset, {"guard": x - 1, "map": {x.d: -m * x.d}, "name": "kick"}, 1),
        "simulate with a reset": Target(
            lambda guard, map: ap.simulate(
                oscillator().replace(constraints=[ap.Reset(guard, map)]), START, 0.5, VALUES, backend="vm", rtol=1e-5
            ),
            {"guard": x - 0.9, "map": {x.d: -x.d / 2}},
            0.3,
        ),
        "integral_slopes": Target(ap.integral_slopes, {"motion": motion().fine(40), "integrals": [x.d**2 + 4 * x**2]}, 0.2),
    }
