"""Rank of the constraint rows A of A a + a0 = 0: which rows are redundant, and at which states rank is lost.

    row i is redundant            rank A_{1…i} = rank A_{1…i−1} at every state tried
    rank drops                    λᵀA(t, q, v) = 0,  |λ| = 1,  f0 = 0,  f1 = 0        for the independent rows

The second is solved by least squares in (q, v, λ) from states on the constraints.

Ranks are those *on* the constraints. Where the rows lose rank on all of f = 0, as for three parallel cranks on a coupler, f
vanishes there to second order: a state with |f| ~ 1e-13 may be 1e-6 off the manifold, and a singular value of that size is
zero. So rows are evaluated twice, at the state and at one perturbed by `PERTURBATION`: a small singular value that changes by
more than half counts as zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
import sympy
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.graph import Fn
from appell.graph.algebra import depends
from appell.jets import jets_of
from appell.normal_form import NormalForm
from appell.normal_form.manifold import normalise
from appell.normal_form.nearest import nearest
from appell.normal_form.sampling import random_state, random_time
from appell.rows import RANK_LOST, least_squares, singular, singular_values, unit_rows

Array = NDArray[np.float64]
State = tuple[float, Array, Array]

MOTION_SHARE = 0.1
"""A step along ker A0 is a real motion if at least this fraction remains after projection back onto the constraints."""

PERTURBATION = 1e-5
"""Relative perturbation of a state under which a small singular value must persist."""

RANK_STARTS = 8
"""Start states of the search for a loss of rank."""

LEAST_REDUCTION = 1e-4
"""The search stops when a step reduces the sum of squares by less than this fraction; near a zero each step gains more. A
smaller bound, 1e-15, found no further states in valleys, corners and zeros of high order (`tests/verify/test_lost_rank.py`)
nor in the zoo, and took longer."""

USUAL_QUANTILE = 0.8
"""Quantile of the states that defines the usual size of an entry, so that states near poles do not count."""

LIMIT_STATE = 50.0
"""A loss of rank with a larger coordinate or velocity, in the units of states, is only a limit at infinity."""

ORDINARY_SIZE = 1e3
"""Coordinates that are usually within this factor of 1 are measured in 1."""

EXPLAINED_SHARE = 1e-3
"""Fraction of the terms of a row that coordinates must explain, |∂f/∂q·q|, for their sizes to count."""

Units = tuple[Array, Array]


class Sample(NamedTuple):
    """Rows at a state, (m, n), and at the state perturbed by `PERTURBATION`."""

    rows: Array
    perturbed_rows: Array

    def restricted_to(self, chosen: Sequence[int]) -> Sample:
        """Some of the rows."""
        return Sample(self.rows[list(chosen)], self.perturbed_rows[list(chosen)])


def rank(sample: Sample) -> int:
    """Rank of the rows scaled to unit length; singular values that change with the perturbation count as zero."""
    if not sample.rows.size:
        return 0
    return _certain_rank(sample, np.maximum(np.linalg.norm(sample.rows, axis=1, keepdims=True), 1e-300))


def _certain_rank(sample: Sample, size: Array) -> int:
    """Rank of rows divided by their sizes, (m, 1) or (m, n)."""
    s, perturbed = (singular_values(rows / size) for rows in sample)
    certain = (s > np.sqrt(PERTURBATION)) | (np.abs(s - perturbed) < s / 2)
    return int(((s > RANK_LOST) & certain).sum())


def state_units(form: NormalForm, p: Array, states: Sequence[State]) -> Units:
    """Units of coordinates and of velocities, (nq,) and (nv,): usual sizes at states on the constraints, such as 1e-6 for a rod
    of a micrometre; 1 for ordinary sizes, and for velocities, whose sizes are those of random states.

    A coordinate that is pinned near zero has no size of its own: it is measured by the others, by inertia. Where the terms of
    the rows are larger than coordinates explain (cos q − 1 at q = 1e-8), their sizes are rounding and do not count.
    """
    ones = np.ones(form.nq), np.ones(form.nv)
    sizes = np.median(np.abs([q for _, q, _ in states]), axis=0)
    if form.nq != form.nv or not ((sizes > 0) & ((sizes < 1 / ORDINARY_SIZE) | (sizes > ORDINARY_SIZE))).any():
        return ones
    out = form.select("M", "A0", "f0_scale")(*states[0], p)
    if not (np.abs(out["A0"]) @ np.abs(states[0][1]) > EXPLAINED_SHARE * out["f0_scale"]).all():
        return ones
    inertia = out["M"].diagonal()
    root = np.sqrt(np.where(inertia > 0, inertia, inertia.max(initial=0.0) or 1.0))
    usual = np.maximum(sizes, np.minimum((root * sizes).max(initial=0.0) / root, sizes.max(initial=0.0)))
    return np.where((usual <= 0) | ((usual > 1 / ORDINARY_SIZE) & (usual < ORDINARY_SIZE)), 1.0, usual), ones[1]


def perturbed_state(form: NormalForm, state: State, units: Units | None = None) -> State:
    """A perturbed state, deterministic."""
    t, q, v = state
    rng = np.random.default_rng(len(q))
    move = lambda z, unit: (
        z + PERTURBATION * (unit + np.abs(z)) * rng.uniform(0.5, 1.0, len(z)) * rng.choice([-1.0, 1.0], len(z))
    )
    of_q, of_v = (np.ones(len(q)), np.ones(len(v))) if units is None else units
    return t, normalise(form, move(q, of_q)), move(v, of_v)


def values(
    form: NormalForm, p: Array, states: Sequence[State], name: str, units: Units | None = None, *, as_given: bool = False
) -> list[Sample]:  # fmt: skip
    """Rows of the normal form at the states, where they are finite, in kinetic units of the velocities, A_ij/√M_jj, or as
    given; units: by default those of these states."""
    fn, units = form.select(name, "M"), units or (state_units(form, p, states) if len(states) else None)
    size = lambda out: 1.0 if as_given else _kinetic(out["M"])
    rows = lambda at: (lambda out: out[name] / size(out))(fn(*at, p))
    samples = [Sample(rows(state), rows(perturbed_state(form, state, units))) for state in states]
    return [sample for sample in samples if np.isfinite(sample.rows).all() and np.isfinite(sample.perturbed_rows).all()]


def _kinetic(M: Array) -> Array:
    """√M_jj, (nv,); for velocities without inertia that of the largest."""
    diagonal = np.abs(np.diag(M))
    return np.sqrt(np.where(diagonal > 0, diagonal, diagonal.max(initial=0.0) or 1.0))


def independent(samples: Sequence[Sample]) -> tuple[list[int], dict[int, list[int]]]:
    """The generically independent rows of samples (m, n), and each dependent row with those that imply it."""
    basis: list[int] = []
    dependent: dict[int, list[int]] = {}
    usual = [A for A in samples if rank(A) == max(map(rank, samples))]
    for i in range(len(samples[0].rows)):
        if 2 * sum(rank(A.restricted_to([*basis, i])) > rank(A.restricted_to(basis)) for A in usual) > len(usual):
            basis.append(i)
        else:
            A = usual[0].rows
            K = least_squares(A[basis].T, A[i], np.sqrt(PERTURBATION))
            dependent[i] = [j for j, k in zip(basis, K, strict=True) if abs(k) > np.sqrt(PERTURBATION)]
    return basis, dependent


def movable_dimensions(form: NormalForm, p: Array, state: State, units: Units) -> tuple[int, int]:
    """The dimension of ker A0 at a state, and of its part along which positions can really move: 1 and 0 for a stretched chain.

    A step ε along ker A0 is projected back to f = 0; from an isolated state it returns to where it began.
    """
    t, q, v = state
    out, unit = form.select("A0", "N")(t, q, v, p), units[0]
    (sample,) = values(form, p, [state], "A0", units, as_given=True)
    free = singular(unit_rows(sample.rows)).Vt[rank(sample) :]
    ways = [d / (np.abs(d / unit).max() or 1.0 if (unit != 1).any() else 1.0) for d in (out["N"] @ u for u in free)]
    moves = [nearest(form, t, q + 1e-2 * d, v, p)[0] - q for d in ways]
    moves = [move / unit / 1e-2 for move in moves if np.isfinite(move).all()]
    return len(free), int((singular_values(np.array(moves)) > MOTION_SHARE).sum()) if moves else 0


def rank_losses(form: NormalForm, p: Array, states: Sequence[State], rows: Sequence[int]) -> list[tuple[State, Array]]:
    """States where the rows lose rank, each with λ; those with the most zeros first. Small values are rounded to zero."""
    if not rows or not any(depends(form["A"], form.inputs[x]) for x in ("q", "v")):
        return []
    sizes = _usual_sizes([A.rows[rows] for A in values(form, p, states, "A", as_given=True)])
    defect = _Defect(form, p, list(rows), *sizes, state_units(form, p, states))
    candidates = []
    for number, (time, q, v) in enumerate(states[:RANK_STARTS]):
        z = np.concatenate([q / defect.units[0], v / defect.units[1], defect.weights(time, q, v)])
        with np.errstate(all="ignore"):
            tolerances = {"max_nfev": 200, "xtol": 1e-15, "ftol": LEAST_REDUCTION, "gtol": None}
            slopes: Any = defect.slopes
            best = scipy.optimize.least_squares(defect, z, slopes, args=(time,), **tolerances)
        z = np.where(np.abs(best.x) < 1e-6, 0.0, best.x)
        q, v, w = defect.split(z)
        if np.abs(defect(z, time)).max() < 1e-5 and np.abs(z).max() < LIMIT_STATE and defect.loses_rank((time, q, v)):
            candidates.append((np.count_nonzero(z), number, (time, q, v), w))
    return [(state, w) for _, _, state, w in sorted(candidates, key=lambda candidate: candidate[:2])]


def _usual_sizes(samples: Sequence[Array]) -> tuple[Array, Array]:
    """Sizes r (m,), c (n,) of rows and columns: A_ij/(r_i c_j) is about one at usual states, in any units."""
    usual = np.quantile(np.abs(samples), USUAL_QUANTILE, axis=0)
    positive = lambda x: np.where(x > 0, x, 1.0)
    r = positive(usual.max(axis=1))
    return r, positive((usual / r[:, None]).max(axis=0))


class _Defect:
    """(λᵀÂ, f0, f1, |quaternion|² − 1, |λ|² − 1) as a function of z = (q, v, λ), Â_ij = A_ij/(r_i c_j), in units of q and v."""

    def __init__(self, form: NormalForm, p: Array, rows: list[int], r: Array, c: Array, units: Units):
        self.form, self.p, self.rows, self._entry_units, self.units = form, p, rows, np.outer(r, c), units
        self.fn = form.select("A", "f0", "f1")
        self._batch = vm_function(self.fn).batch
        ordinary = all((unit == 1).all() for unit in units)
        self._f0_sizes, self._f1_sizes = (np.ones(1), np.ones(1)) if ordinary else self._row_sizes()

    def _row_sizes(self) -> tuple[Array, Array]:
        """Sizes of f0 and f1 over the units of q and v: their rows at a state of that size."""
        ones = self.units[0], self.units[1]
        out = self.form.select("A0", "A1", "N")(0.0, normalise(self.form, ones[0].copy()), ones[1], self.p)
        q_rates = np.abs(out["N"]).T @ ones[0]
        f0, f1 = (np.maximum(x, 1e-300) for x in (np.abs(out["A0"]) @ q_rates, np.abs(out["A1"]) @ ones[1]))
        return f0, f1

    def split(self, z: Array) -> tuple[Array, Array, Array]:
        nq, nv = self.form.nq, self.form.nv
        return z[:nq] * self.units[0], z[nq : nq + nv] * self.units[1], z[nq + nv :]

    def weights(self, time: float, q: Array, v: Array) -> Array:
        """λ with the smallest |λᵀA| at a state."""
        return singular(self.fn(time, q, v, self.p)["A"][self.rows] / self._entry_units).U[:, -1]

    def loses_rank(self, state: State) -> bool:
        """Whether the rows in usual units do lose rank there: a smallest singular value of 1e-6 is no zero."""
        samples = values(self.form, self.p, [state], "A", self.units, as_given=True)
        return any(_certain_rank(A.restricted_to(self.rows), self._entry_units) < len(self.rows) for A in samples)

    def __call__(self, z: Array, time: float) -> Array:
        q, v, w = self.split(z)
        out = self.fn(time, q, v, self.p)
        unit = [q[list(group)] @ q[list(group)] - 1 for group in self.form.quaternions]
        f0, f1 = out["f0"] / self._f0_sizes, out["f1"] / self._f1_sizes
        residuals = [w @ (out["A"][self.rows] / self._entry_units), f0, f1, unit, [w @ w - 1]]
        return np.nan_to_num(np.concatenate(residuals), nan=1e3, posinf=1e3, neginf=-1e3)

    def slopes(self, z: Array, time: float) -> Array:
        """∂/∂z, (residuals, len(z)): by differences in q and v, in one batch, and exactly in λ."""
        q, v, w = self.split(z)
        n, units = len(q) + len(v), np.concatenate(self.units)
        steps = np.sqrt(np.finfo(float).eps) * np.maximum(1.0, np.abs(z[:n]))
        shifted = np.vstack([z[:n], z[:n] + np.diag(steps)]) * units
        out = self._batch(np.full(n + 1, time), shifted[:, : len(q)], shifted[:, len(q) :], np.tile(self.p, (n + 1, 1)))
        shapes = [(n + 1, *port.shape) for port in self.fn.outputs]
        A, f0, f1 = (np.asarray(x).reshape(shape) for x, shape in zip(out, shapes, strict=True))
        rows = A[:, self.rows] / self._entry_units
        unit = [(shifted[:, list(group)] ** 2).sum(axis=1) - 1 for group in self.form.quaternions]
        residuals = [np.einsum("i,kij->kj", w, rows), f0 / self._f0_sizes, f1 / self._f1_sizes, *(x[:, None] for x in unit)]
        values = np.concatenate([*residuals, np.zeros((n + 1, 1))], axis=1)
        by_state = (values[1:] - values[0]).T / steps
        by_weight = np.zeros((values.shape[1], len(w)))
        by_weight[: rows.shape[2]], by_weight[-1] = rows[0].T, 2 * w
        return np.nan_to_num(np.hstack([by_state, by_weight]), nan=0.0, posinf=1e9, neginf=-1e9)


# -- rows without a slope ----------------------------------------------------------------------------------------------

SLOPE_GROWTH = 1e3
"""Factor by which the gradient of a row grows beside its zero, a `PERTURBATION` away, if it vanishes there."""

FLAT_ROW = 1e-6
"""A row is flat at its zero if its gradient there is below this fraction of the gradient at the start of Newton's method."""

STEPS_TO_ROW = 300
"""Newton steps towards a row; for a k-th power each reduces the distance only by the factor 1 − 1/k."""


def lose_their_slope(form: NormalForm, p: Array, states: Sequence[State]) -> bool:
    """Whether an independent row has almost no gradient at any of these states on the constraints, but has one next to them."""
    samples = values(form, p, states, "A") if form.m else []
    if not samples:
        return False
    at_state, nearby = (np.array([np.linalg.norm(rows, axis=1) for rows in pair]) for pair in zip(*samples, strict=True))
    vanishing = np.all(nearby > SLOPE_GROWTH * at_state, axis=0)
    return bool(vanishing.any() and vanishing[independent(samples)[0]].any())


def flat_rows(form: NormalForm, p: Array, seed: int = 0) -> list[int]:
    """The rows of order 0 and 1 whose gradient vanishes where Newton's method satisfies them: squares, sums of squares."""
    rng, kinematic = np.random.default_rng(seed), [i for i, row in enumerate(form.rows) if row.linear and row.level < 2]
    holonomic = [i for i in kinematic if form.rows[i].level == 0]
    flat = []
    for i in kinematic:
        level = form.rows[i].level
        fn, index = form.select(f"A{level}", f"f{level}", "N"), (holonomic, kinematic)[level].index(i)
        starts = [(random_time(rng, form.around), *random_state(form.nq, form.nv, rng, form.around)) for _ in range(4)]
        if any(_goes_flat(form, fn, index, level, state, p) for state in starts):
            flat.append(i)
    return flat


def _goes_flat(form: NormalForm, fn: Fn, index: int, level: int, state: State, p: Array) -> bool:
    t, q, v = state
    initial, previous, f, slope = np.inf, np.inf, np.inf, np.inf
    for k in range(STEPS_TO_ROW):
        with np.errstate(all="ignore"):
            out = fn(t, q, v, p)
            A, f = out[f"A{level}"][index], float(out[f"f{level}"][index])
            slope = float(np.linalg.norm(A))
            initial = slope if k == 0 else initial
            if not np.isfinite(f) or not np.isfinite(slope) or not slope or abs(f) < 1e-3 * FLAT_ROW**2 * initial:
                break
            step, previous = -A * f / slope**2, abs(f)
        q, v = (normalise(form, q + out["N"] @ step), v) if level == 0 else (q, v + step)
    return bool(np.isfinite(previous) and slope < FLAT_ROW * initial and abs(f) <= FLAT_ROW * initial)


def base_of_power(f: Any) -> Any:
    """u of f = c u^k, k > 1; None where f is not a power, or is too long to be factored."""
    if sympy.count_ops(f) > 60:
        return None
    factors: Any = sympy.factor_list(f)[1]
    powers = [(base, k) for base, k in factors if jets_of(base)]
    return powers[0][0] if len(powers) == 1 and powers[0][1] > 1 else None
