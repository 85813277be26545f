"""Conserving methods over many steps: energy below 1e-10 of itself, rows at rounding, for every kind of system."""

from __future__ import annotations

import numpy as np
from tests.families.family import family

import appell as ap

SYSTEMS = (
    "n_pendulum", "rolling_disc", "sleigh", "heavy_top_quaternion", "four_bar", "suslov", "paraboloid", "snakeboard",
    "rolling_coin", "homogeneous_ball", "pendulum", "heavy_top",
)  # fmt: skip


@family(count=24, sample=(0,))
def energy_does_not_drift(seed: int) -> None:
    """Member k: system k of the list, 100,000 steps of the orders 4, 2 and 6 in turn; 2,000 long ones of the first one."""
    example = ap.zoo.ALL[SYSTEMS[seed % 12]]()
    method, count = ("conserving", "conserving2", "conserving6")[seed % 3], 2_000 if seed == 0 else 100_000
    step = 0.04 if seed == 0 else (0.005, 0.002)[seed // 12]  # a long one: order 4 by itself keeps 1e-12 at 0.005
    times = np.linspace(0, count * step, 101)
    motion = ap.simulate(example.system, example.start, count * step, example.parameters, method=method, step=step, times=times)
    assert motion.status == 0 and np.abs(motion.energy_error).max() < 1e-10 * motion.energy_scale, motion.message
    large = 1 + np.abs(motion.q).max() * (1 + np.abs(motion.v).max())  # the sine of a large angle has a large rounding
    assert max(motion.drift.position, motion.drift.velocity) < 1e-12 * large, motion.drift
