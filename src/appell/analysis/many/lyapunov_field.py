"""Finite-time Lyapunov exponents on a plane of starts: the growth of perturbations within a given time.

    λ(z₀) = 1/|t₁ − t₀| log σ_max(∂z(t₁)/∂z(t₀))

The derivatives are central differences of motions that run side by side in lanes, with steps h and 2h along every coordinate
and velocity, extrapolated to order 4; their difference from order 2 is the error estimate. Where motions graze, or are not
differentiable for another reason, one-sided differences disagree, and the starts are marked. Ridges of the field separate
regions of different behaviour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.analysis.forcing import atol_near
from appell.analysis.natural_scales import kinetic_weights, scales
from appell.analysis.requests import axis, given_once, model_of, state_column, state_names
from appell.backends import silence
from appell.compiled.compiling import compile_near
from appell.compiled.run import Run
from appell.delegates import delegate
from appell.ensembles import simulate_many
from appell.ensembles.ensemble_result import doubtful
from appell.errors import ModelError, Status
from appell.model import System
from appell.motion.result_frame import Result
from appell.reading import finite, refuse_many, table_of
from appell.simulate.start import read
from appell.tree import Tree

Array = NDArray[np.float64]

FIELD_ATOL = 1e-13
"""Default atol, as a fraction of the smallest scale of a motion."""
OFFSETS = np.arange(-2.0, 3.0)
WEIGHTS = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / 12
"""Weights of f(−2h) … f(2h) in h f' to order 4."""
NARROW = np.array([0.0, -0.5, 0.0, 0.5, 0.0])
"""The same to order 2."""
KINK = np.array([-0.5, 2.0, -3.0, 2.0, -0.5])
"""Weights of the right minus the left derivative, with steps h and 2h, extrapolated to h = 0."""


@dataclass(frozen=True, eq=False, repr=False)
class LyapunovField(Result):
    """Finite-time Lyapunov exponents on a plane of starts, from `ap.lyapunov_field`.

    Attributes
    ----------
    names, axes: the two coordinates or velocities, and their values, (m,) and (n,).
    exponent: λ, (m, n), 1/s; nan where the motion does not reach the end, is doubtful, or is not differentiable.
    error: (m, n) difference of the exponents of order 4 and of order 2, 1/s.
    since, until: s. ok, message: whether every start has an exponent, and if not, how many have none and why.
    """

    system: System
    names: tuple[str, str]
    axes: tuple[Array, Array]
    exponent: Array
    error: Array
    since: float
    until: float
    ok: bool
    message: str

    @property
    def _dims(self) -> tuple[str, str]:
        return self.names[0].replace(".", "_"), self.names[1].replace(".", "_")

    def variables(self) -> Mapping[str, Any]:
        """`exponent` and `error` over the plane."""
        return {
            "exponent": (self._dims, self.exponent, {"units": "1/s", "long_name": "finite-time Lyapunov exponent"}),
            "error": (self._dims, self.error, {"units": "1/s", "long_name": "error of the exponent"}),
        }

    def coords(self) -> Mapping[str, Any]:
        pairs = zip(self._dims, self.axes, self.names, strict=True)
        return {name: (name, values, {"units": "SI", "symbol": symbol}) for name, values, symbol in pairs}

    def plot(self, ax: Any = None) -> Any:
        """Plots the exponents as shades over the plane of starts; returns the figure."""
        return delegate("LyapunovField.plot")(self, ax)

    def __str__(self) -> str:
        m, n = self.exponent.shape
        span = f"{self.since:g} to {self.until:g} s"
        return f"finite-time Lyapunov exponents of '{self.system.name}' on {m} × {n} starts, {span}; {self.message}"


def lyapunov_field(
    system: System | Tree | Run,
    over: Mapping[Any, ArrayLike],
    start: Mapping[Any, Any] | None = None,
    until: float | None = None,
    parameters: Mapping[Any, Any] | None = None,
    *,
    since: float = 0.0,
    step: float = 1e-5,
    tolerance: float = 1e-3,
    rtol: float = 1e-11,
    atol: float | None = None,
    **options: Any,
) -> LyapunovField:
    """The largest finite-time Lyapunov exponent of each start on a plane of starts, in the norm of (q, v) in SI units.

    Parameters
    ----------
    over: {coordinate or velocity: values, another: values}.
    start: the other initial values, 0 by default. parameters: values of the parameters.
    until, since: end, which may be before the start, and start, s.
    step: of the differences, as a fraction of the extent of the plane, or of the other values of a start.
    tolerance: differences may disagree by this fraction of the largest growth; beyond it a start has no exponent.
    atol: 1e-13 of the smallest scale of the motion from the middle of the plane by default.
    rtol, atol and other options (backend, threads, progress, …) are those of `ap.simulate_many`.

    Systems with constraints, whose starts cannot be perturbed freely, raise; use `ap.variations` for single starts.
    """
    (x, xs), (y, ys) = axis(over, "over=", 2)
    model = model_of(system, "lyapunov_field")
    columns = [state_column(model, name) for name in (x, y)]
    given_once(start, (x, y), "start=", "over=")
    if model.constraints or model.quaternions:
        raise ModelError(
            f"starts of '{model.name}' cannot be moved freely, since it has constraints or quaternions: take"
            " ap.variations of one motion after another"
        )
    begin, end = finite(since, "since="), finite(until, "until=")
    if begin == end:
        raise ModelError(f"until = {end:g} must differ from since = {begin:g}")
    h, largest_difference = finite(step, "step="), finite(tolerance, "tolerance=")
    if not (0 < h < 0.1 and 0 < largest_difference < 1):
        raise ModelError(f"step = {h:g} must be between 0 and 0.1, and tolerance = {largest_difference:g} between 0 and 1")
    nz = model.nq + model.nv
    refuse_many(len(xs) * len(ys) * nz * len(OFFSETS), f"{len(xs)} × {len(ys)} starts with their neighbours", width=nz)
    centre = np.concatenate(read(model, dict(table_of(start, "start="))))
    z = np.tile(centre, (len(xs) * len(ys), 1))
    z[:, columns] = np.stack(np.meshgrid(xs, ys, indexing="ij"), axis=-1).reshape(-1, 2)
    middle = dict(zip((*model.positions, *model.velocities), map(float, z[len(z) // 2]), strict=True))
    run = system if isinstance(system, Run) else compile_near(model, middle, parameters)
    steps = h * _extent(run, centre, columns, (xs, ys), begin, end)
    if atol is None:
        atol = atol_near(run, middle, begin, end - begin, FIELD_ATOL, {"rtol": rtol})
    final_states, reason = _ends(system, model, z, steps, end, parameters, since=begin, rtol=rtol, atol=atol, **options)
    return _field(model, (x, y), (xs, ys), final_states, steps, begin, end, largest_difference, reason)


def _extent(run: Run, centre: Array, columns: list[int], axes: tuple[Array, Array], begin: float, end: float) -> Array:
    """The size of each coordinate and velocity, (nz,); of those that are zero, the largest of the others."""
    size = np.abs(centre)
    for column, values in zip(columns, axes, strict=True):
        size[column] = np.ptp(values) or abs(values[0])
    large = scales(size, kinetic_weights(run, begin, centre), run.form.nq, end - begin, 1.0)
    return np.where(size > 0, size, large)


def _ends(
    system: Any, model: System, z: Array, steps: Array, end: float, parameters: Any, **options: Any
) -> tuple[Array, str]:  # fmt: skip
    """Final states of the neighbours of each start, (starts, nz, 5, nz), nan where there is none, and the reason for the
    first."""
    nz = z.shape[1]
    neighbours = z[:, None, None, :] + OFFSETS[:, None] * (np.eye(nz) * steps)[:, None, :]
    with silence():  # runs that ended early or are doubtful are marked and reported
        results = simulate_many(system, neighbours.reshape(-1, nz), end, parameters, **options).dataset
    names = [name.replace(".", "_") for name in state_names(model)]
    final_states = np.stack([np.asarray(results[name].values, float) for name in names], axis=-1)
    messages = results.message.values
    doubtful_runs = np.flatnonzero((results.status.values != Status.OK) | doubtful(messages))
    final_states[doubtful_runs] = np.nan
    return final_states.reshape(len(z), nz, len(OFFSETS), nz), str(messages[doubtful_runs[0]]) if len(doubtful_runs) else ""


def _field(
    model: System, names: tuple[str, str], axes: tuple[Array, Array], finals: Array, steps: Array, begin: float, end: float,
    largest_difference: float, reason: str,
) -> LyapunovField:  # fmt: skip
    Phi, plain, kink = (np.einsum("k,sjki->sij", weights, finals) / steps for weights in (WEIGHTS, NARROW, KINK))
    alive = np.isfinite(Phi).all(axis=(1, 2)) & np.isfinite(plain).all(axis=(1, 2))
    growth = [np.full(len(Phi), np.nan) for _ in range(2)]
    for norms, matrices in zip(growth, (Phi, plain), strict=True):
        norms[alive] = np.linalg.norm(matrices[alive], 2, axis=(1, 2))
    with np.errstate(all="ignore"):
        difference = np.maximum(np.abs(Phi - plain), np.abs(kink)).max(axis=(1, 2)) / growth[0]
        smooth = alive & (difference <= largest_difference)
        values = [np.where(smooth, np.log(norm) / abs(end - begin), np.nan) for norm in growth]
    shape = len(axes[0]), len(axes[1])
    text = []
    if (without_motion := int((~alive).sum())) > 0:
        text.append(
            f"{without_motion} starts have neighbours without a motion to the end, or with a doubtful one, the first: {reason}"
        )
    if (not_smooth := int((alive & ~smooth).sum())) > 0:
        text.append(
            f"at {not_smooth} starts differences to both sides, or with two steps, disagree: a smaller step=, or no derivative"
        )
    message = "; ".join(text)
    return LyapunovField(
        model, names, axes, values[0].reshape(shape), np.abs(values[0] - values[1]).reshape(shape), begin, end, not message,
        message or "complete",
    )  # fmt: skip


__all__ = ["LyapunovField", "lyapunov_field"]
