"""All sign changes of a quantity along a motion, however fast it is.

A quantity may vary much faster than the states: a force −sin 50t across a bead that glides slowly does not make the integrator
take shorter steps, and its signs at the ends of steps miss most crossings. So the quantity itself decides where it is sampled:
an interval is divided until the cubic through its neighbours predicts the values inside it, at points incommensurate with any
period, and until no minimum of |value| between two values of one sign comes near zero.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

FIRST_INTERVALS = 200
"""Number of initial intervals of the whole span, besides those of the samples."""

CROSSING_READINGS = 400_000
"""Number of evaluations after which no interval is divided further."""

LOOKS_INSIDE = (0.3819660113, 0.7320508076)
"""Points inside an interval at which the prediction is checked, as fractions of it."""

PREDICTED_WITHIN = 0.02
"""Largest difference from the cubic, relative to the range of the values nearby, that counts as predicted."""

CROSSING_NOISE = 1e-12
"""Fraction of the largest value below which the sign of a value counts as zero."""


def crossings(value: Callable[[Array], Array], times: Array) -> Array:
    """Times, (n,), at which `value` changes its sign between the first and the last of `times`, in order."""
    # shorter intervals are not divided: the rounding of times would decide what is in them
    shortest = max(1e-10 * float(times[-1] - times[0]), 8 * float(np.spacing(np.abs(times).max())))
    t = _separated(np.unique(np.concatenate([times, np.linspace(times[0], times[-1], FIRST_INTERVALS + 1)])), shortest)
    if len(t) < 2:
        return np.zeros(0)
    t, f = _resolved(value, t, value(t), shortest)
    clear = np.flatnonzero(np.abs(f) > CROSSING_NOISE * np.abs(f[np.isfinite(f)]).max(initial=0.0))
    changes = np.flatnonzero(np.diff(np.sign(f[clear])) != 0)
    left, right = clear[changes], clear[changes + 1]
    return _roots(value, t[left], t[right], f[left], f[right])


def _separated(t: Array, shortest: float) -> Array:
    """The times without those closely followed by another one: a sample and a grid point may differ by rounding only, and
    extrapolation from both would be meaningless."""
    separate = np.append(np.diff(t) > shortest, True)
    separate[0] = True
    return t[separate]


def _resolved(value: Callable[[Array], Array], t: Array, f: Array, shortest: float) -> tuple[Array, Array]:
    """(t, f) with points added until every interval is resolved."""
    open_ = np.diff(t) > shortest
    while open_.any() and len(t) < CROSSING_READINGS:
        at = np.flatnonzero(open_)
        width = t[at + 1] - t[at]
        new = np.concatenate([t[at] + share * width for share in LOOKS_INSIDE])
        values = value(new)
        surprised = ~(np.abs(values - _cubic(t, f, np.tile(at, 2), new)) <= PREDICTED_WITHIN * np.tile(_range(f, at), 2))
        unresolved = surprised.reshape(2, -1).any(axis=0)
        order = np.argsort(np.concatenate([t, new]), kind="stable")
        inside = np.concatenate([np.zeros(len(t), bool), np.ones(len(new), bool)])[order]
        owner = np.cumsum(~inside) - 1  # the old interval that a point begins or lies in
        t, f = np.concatenate([t, new])[order], np.concatenate([f, values])[order]
        marked = np.zeros(len(open_) + 1, bool)
        marked[at] = unresolved
        open_ = marked[owner[:-1]] | _dips(f)
        open_ &= np.diff(t) > shortest
    return t, f


def _cubic(t: Array, f: Array, at: NDArray[np.intp], x: Array) -> Array:
    """Value at x, inside the intervals `at`, of the cubic through the two points before and the two after."""
    nodes = np.clip(at[:, None] + np.arange(-1, 3), 0, len(t) - 1)
    if len(t) < 4:
        return np.interp(x, t, f)
    shift = np.where(nodes[:, 0] == nodes[:, 1], 1, 0) - np.where(nodes[:, 2] == nodes[:, 3], 1, 0)
    nodes = np.clip(at + shift, 1, len(t) - 3)[:, None] + np.arange(-1, 3)
    T, F, total = t[nodes], f[nodes], np.zeros(len(x))
    for i in range(4):
        weight = np.ones(len(x))
        for j in range(4):
            if j != i:
                weight *= (x - T[:, j]) / (T[:, i] - T[:, j])
        total += weight * F[:, i]
    return total


def _range(f: Array, at: NDArray[np.intp]) -> Array:
    """Largest |value| of the neighbours of the intervals, at least the size of rounding."""
    nodes = np.clip(at[:, None] + np.arange(-1, 3), 0, len(f) - 1)
    size = np.abs(f[np.isfinite(f)]).max(initial=0.0)
    return np.maximum(np.ptp(f[nodes], axis=1), 1e-9 * size + 1e-300)


def _dips(f: Array) -> Bools:
    """Intervals beside a local minimum of |value| among values of one sign, where the parabola through them reaches zero."""
    dips = np.zeros(len(f) - 1, bool)
    previous, middle, following = (np.abs(f[i : len(f) - 2 + i]) for i in range(3))
    one_sign = (np.sign(f[:-2]) == np.sign(f[1:-1])) & (np.sign(f[1:-1]) == np.sign(f[2:]))
    bend = previous - 2 * middle + following
    with np.errstate(all="ignore"):
        bottom = middle - (following - previous) ** 2 / (8 * bend)
    reaches_zero = (
        one_sign
        & (middle <= previous)
        & (middle <= following)
        & (bend > 0)
        & (bottom < 0.02 * np.maximum(previous, following))
        & (middle > 0)
    )
    reaches_zero &= np.minimum(previous, following) > 1e-9 * np.abs(f[np.isfinite(f)]).max(initial=0.0)
    dips[:-1] |= reaches_zero
    dips[1:] |= reaches_zero
    return dips


def _roots(value: Callable[[Array], Array], a: Array, b: Array, fa: Array, fb: Array) -> Array:
    """Roots in all brackets at once by the Illinois method; a jump over zero is found by bisection."""
    for k in range(100):
        width = b - a
        if not (wide := width > 4 * np.spacing(np.maximum(np.abs(a), np.abs(b)))).any():
            break
        with np.errstate(all="ignore"):
            c = np.where(k % 4 == 3, (a + b) / 2, (a * fb - b * fa) / (fb - fa))
        c = np.where(np.isfinite(c) & (c > a) & (c < b), c, (a + b) / 2)
        fc = np.where(wide, value(c), 0.0)
        keep_right = wide & (np.sign(fc) == np.sign(fa))
        keep_left = wide & ~keep_right
        fb = np.where(keep_right & (k % 4 != 3), fb / 2, fb)
        fa = np.where(keep_left & (k % 4 != 3), fa / 2, fa)
        a, fa = np.where(keep_right, c, a), np.where(keep_right, fc, fa)
        b, fb = np.where(keep_left, c, b), np.where(keep_left, fc, fb)
        exact = wide & (fc == 0)
        a, b = np.where(exact, c, a), np.where(exact, c, b)
    return (a + b) / 2
