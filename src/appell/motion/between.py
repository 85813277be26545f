"""A motion that was read from a file, between its samples: polynomials through values and rates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ModelError
from appell.motion.record import Array
from appell.notes import Note
from appell.reading import reals

if TYPE_CHECKING:
    from appell.motion.storage import LoadedMotion


def interpolated(motion: LoadedMotion, times: Any) -> Any:
    """The motion at other times; see `LoadedMotion.at`."""
    from xarray import Variable

    t, wanted = motion.t, np.atleast_1d(reals(times, "times of a motion"))
    way = 1.0 if t[-1] >= t[0] else -1.0
    outside = ~((wanted * way >= t[0] * way) & (wanted * way <= t[-1] * way))
    if outside.any():
        raise ModelError(f"t = {wanted[outside][0]:.17g} is outside the samples from {t[0]:.17g} to {t[-1]:.17g} s")
    i = np.clip(np.searchsorted(t * way, wanted * way, side="right") - 1, 0, len(t) - 2)  # of two samples at t, the later
    h = t[i + 1] - t[i]
    theta = np.divide(wanted - t[i], h, out=np.zeros_like(wanted), where=h != 0)
    place, apart = _IntervalPoints(i, h, theta), 0.0
    symbols = {str(x.attrs["symbol"]): x.values for x in motion.dataset.variables.values() if "symbol" in x.attrs}
    found: dict[str, Any] = {"t": Variable("t", wanted, motion.dataset["t"].attrs)}
    for name, variable in motion.dataset.variables.items():
        if variable.dims != ("t",) or name == "t":
            continue
        jet = str(variable.attrs.get("symbol", ""))
        rates = [symbols[key] for key in (f"{jet}.d", f"{jet}.dd") if key in symbols]
        rates += [symbols[f"{jet}d"]] if not rates and f"{jet}d" in symbols else []
        values = place.polynomial([variable.values, *rates])
        if len(rates) == 2:
            apart = max(apart, float(np.abs(values - place.polynomial([variable.values, rates[0]])).max(initial=0.0)))
        found[str(name)] = Variable("t", values, variable.attrs)
    rest = {str(name): x for name, x in motion.dataset.variables.items() if x.dims != ("t",)}
    note = Note(f"between the samples of a file by polynomials: degrees 3 and 5 are {apart:.1e} apart", kind="interpolated")
    notes = [{"text": str(one), **one.record()} for one in (*motion.notes, note)]
    dataset = type(motion.dataset)({**found, **rest}, attrs={**motion.dataset.attrs, "notes": json.dumps(notes)})
    return type(motion)(dataset.set_coords("t"))


class _IntervalPoints:
    """Places θ in the intervals i of length h, (k,) each."""

    def __init__(self, i: Any, h: Array, theta: Array):
        self.i, self.h, self.theta = i, h, theta

    def polynomial(self, jets: list[Array]) -> Array:
        """Through values and their rates at both ends of each interval: degree 1, 3 or 5 for none, one or two rates."""
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
