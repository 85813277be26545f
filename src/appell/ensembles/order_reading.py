"""Arguments of `simulate_many`, read and checked: ends, steps, tolerances, precision and threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.ensembles.inputs import Inputs
from appell.ensembles.kept import read_keep
from appell.ensembles.methods import fixed_methods
from appell.ensembles.order import Order
from appell.ensembles.pool import cores
from appell.errors import ModelError
from appell.loop.methods.gauss_legendre import CONSERVING
from appell.loop.methods.method_table import methods
from appell.loop.task import DEFAULT_ATOL, DEFAULT_RTOL
from appell.model import System
from appell.model.values import finite, reals
from appell.reading import shown, whole
from appell.simulate.arguments import COARSE_RTOL, absolute, fixed, positive, relative
from appell.simulate.arguments import count as whole_count

Array = NDArray[np.float64]


def span(since: Any, until: ArrayLike) -> tuple[float, float]:
    """The earliest and the latest time of all runs, s."""
    times = np.append(_ends(until), finite(since, "since="))
    return float(times.min()), float(times.max())


def method_of_least_time(model: System, step: Any, rtol: Any, keep: Any) -> str:
    """The fastest method: dopri8, unless states inside steps are needed, which would cost it ten more stages."""
    if step is not None:
        return "rk4"
    inside_steps = model.unilateral or model.frictions or not (isinstance(keep, str) and keep == "final")
    return "dopri5" if rtol is not None and relative(rtol) > COARSE_RTOL else "dop853" if inside_steps else "dopri8"


def read_order(
    inputs: Inputs, until: Any, step: Any, rtol: Any, atol: Any, method: str, since: Any, keep: Any, dtype: Any,
    max_step: Any, max_steps: Any, corner: str, gpu: bool,
) -> Order:  # fmt: skip
    """The request for all runs, checked."""
    t0, ends = finite(since, "since="), _ends(until)
    if len(ends) not in (1, inputs.runs):
        raise ModelError(f"until= has the shape {ends.shape}; give one time, or {inputs.runs}, one for each run")
    if step is not None and (rtol is not None or atol is not None):
        raise ModelError("give step= (a fixed step) or rtol= (error control), not both")
    adaptive = tuple(name for name in methods() if name not in ("auto", *CONSERVING))
    allowed = (*fixed_methods(), *CONSERVING) if step is not None else adaptive
    if method not in allowed:
        hint = f"; method={shown(method)} goes with step=" if method in ("rk4", *CONSERVING) and step is None else ""
        option = "step=" if step is not None else "rtol="
        raise ModelError(f"there is no method {shown(method)} with {option}; choose one of auto, {', '.join(allowed)}{hint}")
    step = fixed(step, method)
    return Order(
        t0=t0, ends=ends, step=step, method=method, scalar=_scalar(dtype, step), corner=corner, gpu=gpu,
        rtol=DEFAULT_RTOL if rtol is None else relative(rtol), atol=DEFAULT_ATOL if atol is None else absolute(atol),
        max_step=positive(max_step, "max_step"), max_steps=whole_count(max_steps, "max_steps"),
        kept=read_keep(keep, inputs.runs, t0, ends, step),
    )  # fmt: skip


def _ends(until: Any) -> Array:
    """Ends of all runs, (1,) or (runs,)."""
    try:
        ends = np.atleast_1d(reals(until))
    except (TypeError, ValueError):
        raise ModelError(f"until= must be a time or one for each run, not {shown(until)}") from None
    if ends.ndim != 1 or not len(ends):
        raise ModelError(f"until= has the shape {ends.shape}; give one time, or one for each run")
    if not np.isfinite(ends).all():
        raise ModelError("until= must be finite")
    return ends


def _scalar(dtype: Any, step: float | None) -> str:
    """"double" or "float"."""
    try:
        number_type = np.dtype(dtype)
    except Exception:  # NumPy evaluates strings, lists and attributes of any object here
        raise ModelError(f"dtype= is float64 or float32, not {shown(dtype)}") from None
    if number_type == np.float64:
        return "double"
    if number_type != np.float32:
        raise ModelError(f"dtype= is float64 or float32, not {number_type}")
    if step is None:
        raise ModelError("dtype=float32 has seven digits, too few for an error control; give step=")
    return "float"


MOST_THREADS = 256
"""Most threads of one call; more threads than cores would only wait for each other."""


def thread_count(threads: Any) -> int:
    """Number of threads of a call; all cores by default."""
    if threads is None:
        return cores()
    return min(whole(threads, "threads=", 1), max(MOST_THREADS, cores()))


__all__ = ["method_of_least_time", "read_order", "span", "thread_count"]
