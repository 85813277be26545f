"""Repeats some steps of a run, for states inside them; requested times change no step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError
from appell.loop.task import Loop, Task
from appell.loop.trace import Trace

Array = NDArray[np.float64]


def repeated(loop: Loop, task: Task, start: Trace, times: Array, most: int) -> Array:
    """States at times inside completed steps, in the order of the run, (k, nz), starting from the state of `start`.

    most: largest number of steps of the whole run.
    """
    trace = start.without_past(len(times))
    try:
        for _ in loop.run(replace(task, times=times, keep_steps=False, max_steps=most), trace) if len(times) else ():
            if trace.passed == len(times):
                break
    except AppellError:  # errors beyond these steps do not matter here
        if trace.passed < len(times):
            raise
    if trace.passed < len(times):  # cannot happen: the steps are the same
        raise AppellError(f"the run could not be repeated between t = {times[0]:.6g} and {times[-1]:.6g}")
    return trace.z_times


__all__ = ["repeated"]
