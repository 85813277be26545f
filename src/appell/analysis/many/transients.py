"""Slow transients: motions that still decay or grow, as distinct from attractors without a period.

    s_k² = Σ_j w_j |z_j − z̄_k|²,    z̄_k = Σ_j w_j z_j,    H_k = Σ_j w_j H(z_j)        in the k-th of `PARTS_OF_DRIFT` parts

with Hann's window w, in which the phase of an oscillation at the ends of a part hardly counts. On an attractor the spreads s_k,
and without explicit time the energies H_k, fluctuate about a value. What only falls, or only rises, through all parts is a
transient: of independent numbers, that has the probability 2/8!.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.analysis.forcing import explicit_time
from appell.compiled.run import Run

Array = NDArray[np.float64]

PARTS_OF_DRIFT = 8
"""Parts of a motion that are compared."""
LEAST_DRIFT = 1e-3
"""Smallest change of a spread or energy, from the first part to the last, as a fraction of it: less is the rest of a fast
transient, or an oscillation at the ends of the parts."""


def drifts(run: Run, since: float, states: Array, sizes: Array) -> bool:
    """Whether some motions, (n, k, nz), sampled once a period, all decay or all grow; spreads below `sizes`, (nz,), do not
    count, unless all are: then the motions are at a point, which is no attractor without a period."""
    n, k, nz = states.shape
    w = np.hanning(k // PARTS_OF_DRIFT + 2)[1:-1]
    w /= w.sum()
    parts = states[:, k - PARTS_OF_DRIFT * len(w) :].reshape(n, PARTS_OF_DRIFT, len(w), nz)
    deviation = parts - np.einsum("j,npjz->npz", w, parts)[:, :, None]
    s = np.sqrt(np.einsum("j,npjz->npz", w, deviation**2))
    counts = (s > sizes).any(axis=(0, 1))
    if not counts.any():
        return True
    series = [(s[:, :, i], s[:, :, i].max()) for i in np.flatnonzero(counts)]
    series.append((np.sqrt(((s / s.max(axis=(0, 1), where=counts, initial=1e-300))[:, :, counts] ** 2).sum(axis=2)), 1.0))
    if not explicit_time(run):
        flat = parts.reshape(-1, nz)
        energies = run.evaluate(np.full(len(flat), since), flat[:, : run.form.nq], flat[:, run.form.nq :], ("T", "H"))
        H, T = (np.asarray(energies[name], float).reshape(n, PARTS_OF_DRIFT, len(w)) for name in ("H", "T"))
        series.append((H @ w, float(np.abs(T).max())))
    return any(_monotone(values, float(size)) for values, size in series)


def _monotone(values: Array, size: float) -> bool:
    """Whether all rows of values, (n, parts), fall, or all rise, by more than a fraction of a size."""
    steps = np.diff(values, axis=1)
    enough = np.abs(values[:, -1] - values[:, 0]).min() > LEAST_DRIFT * size
    return bool(enough and ((steps < 0).all() or (steps > 0).all()))


__all__ = ["drifts"]
