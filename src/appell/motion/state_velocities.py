"""Velocities v from the states that a loop integrates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.compiled.run import Run
from appell.normal_form.flow import Flow

Array = NDArray[np.float64]


def velocities(run: Run, flow: Flow, t: Array, z: Array) -> Array:
    """v of states z, (k, nv)."""
    if not flow.minimal:
        return z[:, flow.nq : flow.nq + flow.nu].copy()
    _, v = vm_function(flow.expand).batch(t, z, run.p_at(t))
    return v


__all__ = ["velocities"]
