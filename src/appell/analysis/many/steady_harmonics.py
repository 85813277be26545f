"""Harmonics of a function over one period, from samples or piece by piece.

    c_k = 2/N Σ_j y(t_j) e^{−ikωt_j}          exact to rounding for a smooth function and enough samples
    c_k = 2/T Σ ∫ y e^{−ikωt} dt              over the steps of a motion                                (c_0: half of that)

An impact is a jump of the velocities, between two steps. The error of the first formula is then that of a rectangle beside the
jump, 1/N; the second does not see it. Steps are halved until Lobatto's formula on a step and on its halves agree, so that
jumps and corners of y itself (a sign, an absolute value) are taken, too; those beside an end as well, since the ends are nodes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_LEGENDRE = np.polynomial.legendre.Legendre.basis(8)
LOBATTO_NODES: Array = np.concatenate([[-1.0], np.sort(_LEGENDRE.deriv().roots().real), [1.0]])
LOBATTO_WEIGHTS: Array = 2 / (72 * _LEGENDRE(LOBATTO_NODES) ** 2)
"""Weights of the Gauss–Lobatto rule with nine nodes, exact to degree 15."""
INSIDE_STEP = 1 - 1e-10
"""The outer nodes, as a fraction of the half step: at an event itself the state is that after it."""
HARMONIC_ERROR = 1e-10
"""Error of the integral over one step, as a fraction of the integral of |y|."""
MOST_HALVINGS = 48
"""Halvings of a step: a jump is then between neighbouring numbers."""
HIGHEST_SHARE = 3
"""The highest third of the harmonics of samples shows what the samples do not resolve."""


def sampled_harmonics(y: Array, times: Array, T: Array, count: int) -> Complex:
    """c_k, (n, count + 1), of samples over one period."""
    turns = np.exp(-2j * np.pi * np.arange(count + 1) * (times / T[:, None])[:, :, None])
    c = 2 * (y[:, :, None] * turns).mean(axis=1)
    c[:, 0] /= 2
    return c


def unresolved_share(y: Array) -> Array:
    """The largest of the highest harmonics of samples y, (n, N), as a fraction of the largest of all, (n,)."""
    with np.errstate(invalid="ignore"):
        sizes = np.abs(np.fft.rfft(y, axis=1))
    high = sizes[:, -max(1, sizes.shape[1] // HIGHEST_SHARE) :].max(axis=1)
    return high / np.maximum(sizes.max(axis=1), 1e-300)


def piecewise_harmonics(y: Callable[[Array], Array], steps: Array, count: int) -> tuple[Complex, float]:
    """c_k, (count + 1,), and the error of the largest, of a function y(t) over steps, (m,), whose length is one period."""
    T = float(steps[-1] - steps[0])
    edges = np.unique(np.concatenate([steps, np.linspace(steps[0], steps[-1], 2 * count + 1)]))  # a wave has four parts

    def integral(a: Array, b: Array) -> tuple[Complex, Array]:
        t = (a + b)[:, None] / 2 + (b - a)[:, None] / 2 * np.clip(LOBATTO_NODES, -INSIDE_STEP, INSIDE_STEP)
        t = np.clip(t, np.nextafter(a, b)[:, None], np.nextafter(b, a)[:, None])
        values = y(t.ravel()).reshape(t.shape) * LOBATTO_WEIGHTS * (b - a)[:, None] / 2
        turns = np.exp(-2j * np.pi / T * np.arange(count + 1) * t[:, :, None])
        return (values[:, :, None] * turns).sum(axis=1), np.abs(values).sum(axis=1)

    a, b = edges[:-1], edges[1:]
    on_step, sizes = integral(a, b)
    total: Complex = np.zeros(count + 1, dtype=complex)
    size, error = float(sizes.sum()), 0.0
    for level in range(MOST_HALVINGS):
        middle = (a + b) / 2
        on_left, on_right = integral(a, middle)[0], integral(middle, b)[0]
        difference = np.abs(on_left + on_right - on_step).max(axis=1)
        settled = (difference <= HARMONIC_ERROR * size) | (level == MOST_HALVINGS - 1)
        total += (on_left + on_right)[settled].sum(axis=0)
        error += float(difference[settled].sum())
        if settled.all():
            break
        a, b = np.concatenate([a[~settled], middle[~settled]]), np.concatenate([middle[~settled], b[~settled]])
        on_step = np.concatenate([on_left[~settled], on_right[~settled]])
    total *= 2 / T
    total[0] /= 2
    return total, 2 * error / T


__all__ = ["piecewise_harmonics", "sampled_harmonics", "unresolved_share"]
