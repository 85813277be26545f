"""Checks of the arguments of a run: numbers, names, times. A message names the argument that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ArgumentError, ModelError
from appell.jets import expression
from appell.loop.methods.gauss_legendre import CONSERVING
from appell.loop.methods.stiff import STIFF
from appell.loop.methods.tableaux import TABLEAUX
from appell.reading import as_array, finite, name_in, reals, shown, within_ends
from appell.spelling import did_you_mean

Array = NDArray[np.float64]


def in_order(start: Any, until: Any, caller: str) -> None:
    """Refuses a call with arguments in another order than (system, start, until, parameters)."""
    if isinstance(until, Mapping) or (isinstance(start, int | float) and not isinstance(until, int | float)):
        raise ArgumentError(f"the order is {caller}(system, start, until, parameters), as in (ball, {{x: 1}}, 10.0, {{m: 2}})")


def number(value: Any, name: str) -> float:
    """A finite number."""
    if name == "until" and isinstance(value, list | tuple) and len(value) == 2:
        raise ModelError(f"until= is a time: since={shown(value[0])}, until={shown(value[1])} instead of {shown(value)}")
    return finite(value, f"{name}=")


def positive(value: Any, name: str) -> float:
    """A positive number; infinity is allowed."""
    result = finite(value, f"{name}=", infinite=True)
    if not result > 0:
        raise ModelError(f"{name}= must be positive, not {shown(value)}")
    return result


def relative(rtol: Any) -> float:
    """A relative tolerance, between 0 and 1."""
    result = positive(rtol, "rtol")
    if result >= 1:
        raise ModelError(f"rtol= is a relative error and lies between 0 and 1, not {shown(rtol)}")
    return result


def count(value: Any, name: str) -> int:
    """A positive whole number; infinity becomes a very large one."""
    if type(value) is int and 0 < value < 2**62:
        return value
    result = positive(value, name)
    if result < 1 or (isfinite(result) and result != round(result)):
        raise ModelError(f"{name}= must be a whole number, not {shown(value)}")
    return int(min(result, 2.0**62))


def fitting(atol: Any, nz: int, state: int | None = None) -> Any:
    """A tolerance with as many entries as z has, or one.

    state: entries of (q, v), nz by default; what z carries besides, work among it, has the least of their tolerances."""
    if type(atol) is float:
        return atol
    state = nz if state is None else state
    if np.ndim(atol) and len(atol) not in (1, nz, state):
        raise ModelError(f"atol= has {len(atol)} entries, but the state (q, v) has {state}: give one number, or one for each")
    if np.ndim(atol) and len(atol) == state < nz:
        return np.append(atol, np.full(nz - state, np.min(atol)))
    return atol


LEAST_TOLERANCE = 1e-150
"""Least absolute tolerance: the square of an error beside it must be a float64."""


def absolute(atol: Any) -> float:
    """An absolute tolerance: a positive number whose square is one."""
    result = positive(atol, "atol")
    if result < LEAST_TOLERANCE:
        raise ModelError(
            f"atol= is {result:g}: errors are measured in it, and below {LEAST_TOLERANCE:g} their squares are beyond float64;"
            " give the error that does not matter"
        )
    return result


def tolerance(atol: Any) -> Any:
    """A positive number, or one for each entry of the state."""
    if type(atol) is float:
        return absolute(atol)
    values = as_array(atol, "atol=")
    if values.ndim == 0:
        return absolute(atol)
    if not values.size:
        raise ModelError("atol= is empty: give one number, or one for each entry of the state")
    return np.array([absolute(value) for value in reals(values, "atol=").ravel()])


SAME_METHOD = {"dopri5": ("RK45", "ode45"), "dop853": ("DOP853", "Vern8"), "radau": ("LSODA", "BDF", "ode15s", "stiff")}
"""Method → names of similar methods in other libraries."""


def known_option(value: Any, known: Sequence[str], name: str) -> None:
    """One of the allowed names."""
    if not isinstance(value, str) or value not in known:
        if name == "method":
            hint = did_you_mean(value, known, also=SAME_METHOD)
            raise ModelError(f"there is no method {shown(value)}; choose one of {', '.join(known)}{hint}")
        raise ModelError(f"{name}= is one of {', '.join(known)}, not {shown(value)}{did_you_mean(value, known)}")


def fixed(step: Any, method: str) -> float | None:
    """The fixed step size, for runs without error control."""
    if step is None:
        if method in CONSERVING:
            raise ModelError(f"method={shown(method)} takes steps of a fixed size: give step= in seconds")
        return None
    if method in STIFF:
        raise ModelError(f"method={shown(method)} chooses its own steps; step= works with {', '.join(TABLEAUX)}")
    if not number(step, "step") > 0:
        raise ModelError(f"step= must be positive, not {shown(step)}")
    return float(step)


def within_budget(step: float | None, span: float, max_steps: int) -> None:
    """Refuses at once a run whose number of fixed steps exceeds `max_steps`."""
    if step is not None and abs(span) / step > 1.000001 * max_steps:  # the last step may be shorter
        raise ModelError(
            f"{abs(span) / step:.6g} steps of {step:g} s lie between since= and until=, and max_steps= allows {max_steps}:"
            " take longer steps, an earlier end, or raise max_steps="
        )


def times_between(times: Any, t0: float, t1: float) -> Array:
    """Requested times in the order of the run, (k,)."""
    if times is None:
        return np.zeros(0)
    array = np.atleast_1d(reals(times, "times="))
    if np.ndim(times) == 0 and not min(t0, t1) <= within_ends(array, t0, t1)[0] <= max(t0, t1):
        count = shown(times)
        example = f"np.linspace({t0:g}, {t1:g}, {count})"
        raise ModelError(f"times= lists times between since = {t0:g} and until = {t1:g}; for {count} of them give {example}")
    direction, array = 1.0 if t1 >= t0 else -1.0, within_ends(array, t0, t1)
    if array.ndim != 1 or not np.isfinite(array).all() or (np.diff(array) * direction < 0).any():
        raise ModelError("times= must be finite and in the order of the run")
    if len(array) and ((array[0] - t0) * direction < 0 or (t1 - array[-1]) * direction < 0):
        raise ModelError(f"times= must lie between since = {t0:g} and until = {t1:g}")
    return array


COARSE_RTOL = 1e-4
"""rtol above which steps of order 5 need less work than those of order 8."""


def method_for(method: str, rtol: float) -> str:
    """Order 8 unless the tolerance is coarse."""
    return method if method != "auto" else "dopri5" if rtol > COARSE_RTOL else "dop853"


def pseudo_velocities(pseudo: Any) -> dict[str, Any] | None:
    """Name → expression."""
    if pseudo is None:
        return None
    if not isinstance(pseudo, Mapping) or not pseudo:
        raise ModelError(f"pseudo= maps names to expressions in the velocities, {{'omega': phi.d}}, not {shown(pseudo)}")
    return {name_in(name): expression(value, f"pseudo-velocity '{name_in(name)}'") for name, value in pseudo.items()}


def checked_progress(progress: Any) -> bool | Callable[[float], None]:
    """The progress argument: a flag or a function of the time reached."""
    if isinstance(progress, bool | np.bool_):
        return bool(progress)
    if callable(progress):
        return progress  # pyright: ignore[reportReturnType]
    raise ModelError(f"progress= is True, False or a function of the time reached, not {shown(progress)}")
