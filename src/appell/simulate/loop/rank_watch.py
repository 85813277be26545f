"""Which loops watch the rank of the rows, and how: one decision for single runs and for the runs of an ensemble."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.loop.methods.stiff import STIFF
from appell.loop.task import Loop
from appell.normal_form import NormalForm
from appell.normal_form.flow import Flow
from appell.simulate.loop.break_loop import BreakLoop
from appell.simulate.loop.guarded import RankedLoop
from appell.simulate.loop.resetting import ResetLoop

Array = NDArray[np.float64]


def can_watch_ranks(flow: Flow, method: str) -> bool:
    """Whether rows of a flow may lose rank, and the steps of the method can be examined; with walls, too."""
    return flow.guarded is not None and method not in STIFF


def watching_ranks(loop: Loop, form: NormalForm, flow: Flow, sizes: Array) -> Loop:
    """The loop that passes a loss of rank along the smooth branch, or stops there; sizes: scales of the rows, (m,)."""
    return loop.ranked(sizes) if isinstance(loop, BreakLoop | ResetLoop) else RankedLoop(loop, form, flow, sizes)


__all__ = ["can_watch_ranks", "watching_ranks"]
