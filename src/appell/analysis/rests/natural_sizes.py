"""Sizes of displacements that belong to a model, whatever the units in which it is written.

    √M_ii δ_i         comparable for coordinates of any unit: angles beside lengths
    F(δ) − F(0)       over which δ the forces keep the law that they have near 0, and where they reach a given load

The size of a coordinate is its value. Where that is zero, it is the displacement at which a force or a constraint begins to
follow another law (1 rad in sin θ, l in x − x³/l²) or balances the load (m g/k). Only where nothing distinguishes a
displacement is the size 1. Scales of whole motions are in `natural_scales`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.normal_form import NormalForm
from appell.normal_form.manifold import normalise
from appell.normal_form.move_sizes import in_metric, metric_roots, moves_of

Array = NDArray[np.float64]
Force = Callable[[Array], Array]

NO_SIZE = 1e-9
"""A coordinate below this fraction of the others, in the metric of the inertia, has no size of its own."""
ZERO_CONFIGURATION = 1e-15
"""A configuration whose coordinates are all below this, m or rad, is zero up to the rounding of a computation in SI units."""
OTHER_LAW = 0.4
"""Change of |F(2δ) − 2F(δ) + F(0)|/|F(2δ) − F(0)| that shows another law: for a power of δ it is the same for every δ."""
SAME_LAW = 0.05
"""Change of it over three displacements, each twice the last, that counts as none; for rounding it is near 1, or arbitrary."""
SMALL_BESIDE_OTHERS = 1e-3
"""Rows that change by less than this fraction of the others in their group are ignored: their changes are mostly rounding."""
RESOLVED_CHANGE = 1e-6
"""A change of a force above this fraction of its terms is not rounding."""
FAR_ABOVE_OWN = 1e3
"""Largest ratio of a step in the metric to the size that a coordinate has by itself."""
DOUBLINGS_OF_LENGTH = 60
"""Powers of two, below and above 1, among which a length is sought."""


class ReferenceConfiguration(NamedTuple):
    """A configuration from which displacements δ, (moves,), are measured.

    force: δ → forces and conditions; terms: sizes of their terms; units: in which changes of one group (forces, conditions)
    are comparable; groups: the number of rows in each. roots: √M_ii, 0 for states of first order; own: sizes of the coordinates
    along each δ.
    """

    force: Force
    terms: Array
    units: Array
    groups: tuple[int, ...]
    roots: Array
    sizes: Array


def reference_of(form: NormalForm, p: Array, t: float, q: Array, v: Array) -> ReferenceConfiguration:
    """Forces, holonomic rows and gaps by displacements from a state."""
    terms_at = form.select("M", "N", "Q", "h", "f0", "f0_scale", "g", "g_scale")

    def force(dpi: Array) -> Array:
        out = terms_at(t, normalise(form, q + N @ dpi), v, p)
        return np.concatenate([out["Q"] - out["h"], out["f0"], out["g"]])

    terms_here = terms_at(t, q, v, p)
    N = terms_here["N"]
    sizes, roots = np.concatenate([terms_here["f0_scale"], terms_here["g_scale"]]), metric_roots(terms_here["M"])
    terms = np.concatenate([np.abs(terms_here["Q"]) + np.abs(terms_here["h"]), sizes])
    return ReferenceConfiguration(force, terms, np.concatenate([roots, sizes]), (form.nv, len(sizes)), roots, moves_of(N, q))


def natural_rate(reference: ReferenceConfiguration, steps: Array) -> float:
    """√(F/M δ), 1/s: the rate of motions of the size of given steps under the forces near a state; 1 without forces."""
    nv = len(reference.roots)
    forces = [np.nan_to_num(np.abs(reference.force(share * steps))[:nv]) for share in (0.0, 0.5, -0.5)]
    most = float((np.max(forces, axis=0) / reference.roots).max(initial=0.0))
    return float(np.sqrt(most / (reference.roots * steps).max())) if most > 0 and len(steps) else 1.0


def natural_steps(reference: ReferenceConfiguration, load: Array | None = None) -> Array:
    """The size of displacements along each direction, (moves,).

    load: changes of the forces that displacements must balance (those of a parameter over its range). With one, the laws of
    forces come first, since a branch may begin anywhere; otherwise the sizes of the coordinates.
    """
    own = reference.sizes if reference.sizes.max(initial=0.0) > ZERO_CONFIGURATION else np.zeros(len(reference.sizes))
    shared = in_metric(reference.roots, own)
    sizes = np.where(own > NO_SIZE * shared, own, 0.0)
    against = np.abs(reference.force(np.zeros(len(sizes)))) if load is None else load
    steps = np.zeros(len(sizes))
    for i, e in enumerate(np.eye(len(sizes))):
        by_forces = load is not None or not sizes[i]
        law = _length(reference, e, against, shared[i]) if by_forces else 0.0
        if load is not None and law:
            steps[i] = law
        else:
            most = FAR_ABOVE_OWN * max(sizes[i], law) or np.inf
            steps[i] = min(max(shared[i], sizes[i]), most) if shared[i] else law
    remaining = in_metric(reference.roots, steps)
    return np.where(steps > 0, steps, np.where(remaining > 0, remaining, 1.0))


def reach_of(N: Array, steps: Array, quaternions: Iterable[tuple[int, ...]]) -> Array:
    """Sizes of changes of coordinates, (nq,), by some steps δ; 1 for the parts of a quaternion."""
    reach = (np.abs(N) * steps).max(axis=1, initial=0.0)
    for group in quaternions:
        reach[list(group)] = 1.0
    return np.where(reach > 0, reach, 1.0)


def _significant(reference: ReferenceConfiguration, change: Array) -> NDArray[np.bool_]:
    """The rows whose changes are neither rounding nor small beside others of their group."""
    sizes = np.divide(np.abs(change), reference.units, out=np.zeros(len(change)), where=reference.units > 0)
    most = np.concatenate([np.full(len(x), x.max(initial=0.0)) for x in np.split(sizes, np.cumsum(reference.groups)[:-1])])
    return (np.abs(change) > RESOLVED_CHANGE * reference.terms) & (sizes > SMALL_BESIDE_OTHERS * most)


def _length(reference: ReferenceConfiguration, e: Array, load: Array, about: float) -> float:
    """The displacement along e at which a force balances a load, or from which on it follows another law, the larger; 0 if
    none does.

    Where the forces have no value beyond, the last displacement at which they have one.
    """
    force = lambda s: reference.force(s * e)
    at_zero, balanced, deviating, loaded = force(0.0), 0.0, 0.0, _significant(reference, load)
    law, last, one_before = (np.full(len(at_zero), np.nan) for _ in range(3))
    middle, half = (int(np.log2(about)), DOUBLINGS_OF_LENGTH // 2) if about > 0 else (0, DOUBLINGS_OF_LENGTH)
    previous = force(2.0 ** (middle - half)) - at_zero
    for k in range(middle - half, middle + half):
        change = force(2.0 ** (k + 1)) - at_zero
        if not np.isfinite(change).all():
            return max(balanced, deviating) or 2.0**k
        resolved = _significant(reference, change)
        ratio = np.where(resolved, np.abs(change - 2 * previous) / np.where(resolved, np.abs(change), 1.0), np.nan)
        steady = (np.abs(ratio - last) < SAME_LAW) & (np.abs(last - one_before) < SAME_LAW) & (ratio < 1 - SAME_LAW)
        law, last, one_before = np.where(np.isnan(law) & steady, ratio, law), ratio, last
        if not balanced and (loaded & (np.abs(previous) >= load)).any():
            balanced = 2.0**k
        if not deviating and (np.abs(ratio - law) > OTHER_LAW).any():
            deviating = 2.0**k
        if deviating and (balanced or not loaded.any()):
            break
        previous = change
    return max(balanced, deviating)


__all__ = ["ReferenceConfiguration", "natural_rate", "natural_steps", "reach_of", "reference_of"]
