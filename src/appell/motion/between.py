"""A motion loaded from a file, between its samples: polynomials through values and rates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.backends.notice import warn
from appell.errors import ModelError
from appell.motion.record import Array
from appell.notes import Note
from appell.reading import reals

if TYPE_CHECKING:
    from appell.motion.loaded_motion import LoadedMotion

INTERPOLATION_APART = 1e-3
"""Share of a coordinate's size by which degrees 3 and 5 may differ: velocities, of degree 3, have an error of about that."""
NO_SIZE_OF_COLUMN = np.finfo(float).tiny
"""Stands for the size of a column of zeros."""


def interpolated(motion: LoadedMotion, times: Any) -> Any:
    """The motion at other times; see `LoadedMotion.at`."""
    from xarray import Variable

    t, requested = motion.t, np.atleast_1d(reals(times, "times of a motion"))
    sign = 1.0 if t[-1] >= t[0] else -1.0
    outside = ~((requested * sign >= t[0] * sign) & (requested * sign <= t[-1] * sign))
    if outside.any():
        raise ModelError(f"t = {requested[outside][0]:.17g} is outside the samples from {t[0]:.17g} to {t[-1]:.17g} s")
    i = np.clip(np.searchsorted(t * sign, requested * sign, side="right") - 1, 0, len(t) - 2)  # the later of two samples at t
    h = t[i + 1] - t[i]
    theta = np.divide(requested - t[i], h, out=np.ones_like(requested), where=h != 0)  # an event at the end
    _refuse_events(motion, i, theta)
    points, difference, share = _IntervalPoints(i, h, theta), 0.0, 0.0
    symbols = {str(x.attrs["symbol"]): x.values for x in motion.dataset.variables.values() if "symbol" in x.attrs}
    variables: dict[str, Any] = {"t": Variable("t", requested, motion.dataset["t"].attrs)}
    for name, variable in motion.dataset.variables.items():
        if variable.dims != ("t",) or name == "t":
            continue
        jet = str(variable.attrs.get("symbol", ""))
        rates = [symbols[key] for key in (f"{jet}.d", f"{jet}.dd") if key in symbols]
        rates += [symbols[f"{jet}d"]] if not rates and f"{jet}d" in symbols else []
        values = points.polynomial([variable.values, *rates])
        if len(rates) == 2:
            deviation = float(np.abs(values - points.polynomial([variable.values, rates[0]])).max(initial=0.0))
            difference, share = (
                max(difference, deviation),
                max(share, deviation / max(np.abs(variable.values).max(initial=0.0), NO_SIZE_OF_COLUMN)),
            )
        variables[str(name)] = Variable("t", values, variable.attrs)
    others = {str(name): x for name, x in motion.dataset.variables.items() if x.dims != ("t",)}
    note = Note(
        f"between the samples of a file by polynomials: degrees 3 and 5 are {difference:.1e} apart", kind="interpolated"
    )
    notes = [{"text": str(entry), **entry.record()} for entry in (*motion.notes, note)]
    doubts = [*motion.doubts, *_doubts(share)]
    attributes = {"notes": json.dumps(notes), "doubts": json.dumps(doubts)}
    dataset = type(motion.dataset)({**variables, **others}, attrs={**motion.dataset.attrs, **attributes})
    return type(motion)(dataset.set_coords("t"))


def _refuse_events(motion: LoadedMotion, i: Any, theta: Array) -> None:
    """No polynomial passes through an impact or a reset: one inside an interval that is asked for is refused."""
    impacts = [event for event in motion.impacts if event.impulse != 0]  # a landing after the last of many impacts has none
    times = np.sort([event.time for event in (*impacts, *motion.resets)])
    if not len(times):
        return
    i = i[theta > 0]
    begin, end = np.minimum(motion.t[i], motion.t[i + 1]), np.maximum(motion.t[i], motion.t[i + 1])
    next_event = np.searchsorted(times, begin, side="right")
    inside = next_event < np.searchsorted(times, end, side="left")
    if inside.any():
        k = int(np.flatnonzero(inside)[0])
        raise ModelError(
            f"there is an impact or a reset at t = {times[next_event[k]]:.9g} between the samples at {begin[k]:.9g} and"
            f" {end[k]:.9g} s of this file, and it has no equations to pass it;"
            " save the motion with its steps, without keep= and times="
        )


def _doubts(share: float) -> list[str]:
    if share <= INTERPOLATION_APART:
        return []
    doubt = f"its samples are too far apart: polynomials of degrees 3 and 5 differ by {share:.1e} of the coordinates"
    warn(f"this motion is doubtful: {doubt}; save more samples")
    return [doubt]


class _IntervalPoints:
    """Positions θ in the intervals i of length h, (k,) each."""

    def __init__(self, i: Any, h: Array, theta: Array):
        self.i, self.h, self.theta = i, h, theta

    def polynomial(self, jets: list[Array]) -> Array:
        """The polynomial through values and rates at both ends of each interval; degree 1, 3 or 5 with 0, 1 or 2 rates."""
        i, h, x = self.i, self.h, self.theta
        a, b = ([jet[k] * h**n for n, jet in enumerate(jets)] for k in (i, i + 1))
        if len(jets) == 1:
            return a[0] + x * (b[0] - a[0])
        y = 1 - x
        if len(jets) == 2:
            return y**2 * ((1 + 2 * x) * a[0] + x * a[1]) + x**2 * ((1 + 2 * y) * b[0] - y * b[1])
        left = (1 + 3 * x + 6 * x**2) * a[0] + (x + 3 * x**2) * a[1] + x**2 / 2 * a[2]
        right = (1 + 3 * y + 6 * y**2) * b[0] - (y + 3 * y**2) * b[1] + y**2 / 2 * b[2]
        return y**3 * left + x**3 * right


__all__ = ["interpolated"]
