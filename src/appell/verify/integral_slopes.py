"""Drift of first integrals along a motion: what a method does not enforce may drift.

    I(t_k) ≈ I_0 + s t_k        s by least squares over the means of equal parts of the run, with its standard error

Means of parts, because the residual after removing the drift oscillates with the motion: errors of neighbouring samples are not
independent, while those of parts much longer than the period nearly are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.errors import ModelError
from appell.loop.methods.gauss_legendre import CONSERVING
from appell.motion.motion import Motion
from appell.normal_form.kept_momenta import kept_momenta, momenta_function
from appell.normal_form.nearest import states_on
from appell.reading import items_of, shown
from appell.rows import least_squares
from appell.tree.tree_system import TreeSystem
from appell.verify.conserved import StateBatch, conserved_momenta
from appell.verify.energy_integral import energy
from appell.verify.gauge_momenta import gauge_momenta

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

MEAN_PARTS = 16
"""Parts of a run whose means are compared."""
COMBINED_SHARE = 1e-9
"""Relative residual below which an integral is a combination of others."""
ROUNDINGS_ALLOWED = 300.0
"""Multiple of the rounding of an integral by which a run may change it: its terms are larger than itself, and there are many
steps."""
MOMENTUM_STATES = 40
"""Random states for the search for momenta."""


@dataclass(frozen=True)
class IntegralSlope:
    """A first integral along a motion.

    expression: of t, coordinates and velocities, None for a momentum of a tree; start: its first value; slope: its change, 1/s;
    error: the standard error of that; wander: the largest distance from its first value; enforced: whether the method keeps it
    at each step.
    """

    name: str
    expression: Any
    start: float
    slope: float
    error: float
    wander: float
    enforced: bool

    @property
    def drifts(self) -> bool:
        """Whether the slope differs from zero by more than three standard errors and by more than rounding."""
        return abs(self.slope) > 3 * self.error


@dataclass(frozen=True)
class IntegralSlopes:
    """Slopes of the first integrals of a motion, in the order in which they were found."""

    rows: tuple[IntegralSlope, ...]
    t: Array
    values: Array  # (integrals, samples)

    @property
    def ok(self) -> bool:
        """Whether no integral drifts."""
        return not any(row.drifts for row in self.rows)

    @property
    def message(self) -> str:
        """Which of them drift."""
        if not self.rows:
            return "no first integral is known"
        drifting = [f"{row.name} by {row.slope:.1e} 1/s" for row in self.rows if row.drifts]
        return f"drifting: {', '.join(drifting)}" if drifting else "no first integral drifts by more than its scatter"

    def __getitem__(self, name: str) -> IntegralSlope:
        try:
            return next(row for row in self.rows if row.name == name)
        except StopIteration:
            raise ModelError(f"there is no integral '{name}'; there are {', '.join(row.name for row in self.rows)}") from None

    def __str__(self) -> str:
        head = f"{'integral':<32} {'at the start':>13} {'slope, 1/s':>11} {'± error':>9} {'wanders':>9}  enforced"
        lines = [
            f"{row.name[:32]:<32} {row.start:>13.6g} {row.slope:>11.1e} {row.error:>9.1e} {row.wander:>9.1e}"
            f"  {'yes' if row.enforced else 'no'}"
            for row in self.rows
        ]
        return "\n".join([head, *lines, self.message])

    @property
    def dataset(self) -> xr.Dataset:
        """`change` (integral, t): values minus the first one; `slope`, `error`, `wander`, `enforced` (integral)."""
        import xarray as xr

        keys = ("slope", "error", "wander", "enforced")
        columns = {key: ("integral", [getattr(row, key) for row in self.rows]) for key in keys}
        change = self.values - self.values[:, :1]
        names = [row.name for row in self.rows]
        return xr.Dataset({"change": (("integral", "t"), change), **columns}, {"integral": names, "t": self.t})

    def plot(self, ax: Any = None) -> Any:
        """A matplotlib figure: |I − I₀| of each integral over time."""
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots() if ax is None else (ax.figure, ax)
        for row, values in zip(self.rows, self.values, strict=True):
            change = np.abs(values - values[0])
            ax.semilogy(self.t, np.where(change > 0, change, np.nan), label=row.name)
        ax.set(xlabel="t, s", ylabel="change since the start")
        ax.legend()
        return figure


def integral_slopes(motion: Motion, integrals: Iterable[Any] | None = None) -> IntegralSlopes:
    """The drift of first integrals along a motion: I(t) ≈ I₀ + s t.

    Parameters
    ----------
    motion: what `ap.simulate` returned, with at least 32 samples.
    integrals: expressions of t, coordinates and velocities; or name → expression. None: the energy, if it is conserved, and all
    linear and angular momenta that `ap.diagnose` finds conserved with these parameters; for a tree, whose kinetic energy is not
    symbolic, those that conserving methods keep.
    """
    if not isinstance(motion, Motion):
        raise ModelError("ap.integral_slopes takes a motion, what ap.simulate returns")
    if len(motion.t) < 2 * MEAN_PARTS:
        raise ModelError(f"this motion has {len(motion.t)} samples, too few for a slope: give times= ({2 * MEAN_PARTS})")
    if integrals is None:
        named = _conserved_quantities(motion)
    elif isinstance(integrals, dict):
        named = {str(key): e for key, e in integrals.items()}
    else:
        named = {shown(e): e for e in items_of(integrals, "integrals=")}
    conserving = motion.method in CONSERVING
    energies = {"energy": motion.energy} if "energy" in named and isinstance(named["energy"], str) else {}
    values = [energies[name] if name in energies else np.asarray(motion[e], dtype=float) for name, e in named.items()]
    is_enforced = _enforced(motion) if conserving else lambda e: False
    enforced = [conserving if name in energies else is_enforced(e) for name, e in named.items()]
    if integrals is None and isinstance(motion.run.system, TreeSystem):
        for name, momentum in _momenta_of_tree(motion).items():
            named[name] = None
            values.append(momentum)
            enforced.append(conserving and not motion.run.system.unilateral)
    rows = tuple(_slope(*item, motion.t, v, fixed) for item, v, fixed in zip(named.items(), values, enforced, strict=True))
    return IntegralSlopes(rows, motion.t, np.array(values).reshape(len(rows), len(motion.t)))


def _conserved_quantities(motion: Motion) -> dict[str, Any]:
    """The energy, if it is conserved, and the conserved momenta."""
    run, integrals = motion.run, dict[str, Any]()
    batch = StateBatch.of(run, list(states_on(run.form, run.p, MOMENTUM_STATES, 0)))
    if not len(batch.t):
        return integrals
    if energy(run.system, batch, run.parameters)[0]:
        integrals["energy"] = "energy"
    if isinstance(run.system, TreeSystem):
        return integrals
    momenta = (*conserved_momenta(batch, run.parameters), *gauge_momenta(batch, run.parameters))
    return integrals | {shown(m.expression): m.expression for m in momenta}


def _momenta_of_tree(motion: Motion) -> dict[str, Array]:
    """Momenta that no force changes, by name, along a motion, (samples,) each."""
    run = motion.run
    form, system = run.numeric_form, run.system
    coefficients = kept_momenta(form, run.policies, run.p)
    if not coefficients:
        return {}
    p = np.broadcast_to(run.p, (len(motion.t), len(run.p)))
    (table,) = vm_function(momenta_function(form, coefficients)).batch(motion.t, motion.q, motion.v, p)
    names = [_momentum_name(c, [shown(v) for v in system.velocities]) for c in coefficients]
    return {name: table[:, k] for k, name in enumerate(names)}


def _momentum_name(coefficients: tuple[float, ...], velocities: list[str]) -> str:
    """Σ c_i p_i with the names of the velocities; one with angular momenta is named by its first terms."""
    terms = [(c, velocities[i]) for i, c in enumerate(coefficients[: len(velocities)]) if c]
    summands = [f"p[{name}]" if c == 1 else f"{c:.4g} p[{name}]" for c, name in terms]
    return " + ".join([*summands, *(["moments"] if any(coefficients[len(velocities) :]) else [])])


def _enforced(motion: Motion) -> Callable[[Any], bool]:
    """Whether an expression is a combination of the momenta that a conserving method enforces, at random states."""
    run = motion.run
    form, walls = run.numeric_form, bool(run.system.unilateral)
    coefficients = () if walls else kept_momenta(form, run.policies, run.p)
    states = states_on(form, run.p, MOMENTUM_STATES, 1)
    if not coefficients or not states:
        return lambda e: False
    momenta = momenta_function(form, coefficients)
    table = np.array([momenta(*state, run.p)["I"] for state in states])
    t, q, v = (np.array([state[i] for state in states]) for i in range(3))

    def check(e: Any) -> bool:
        values = np.asarray(run.values(e, t, q, v), dtype=float)
        misfit = values - table @ least_squares(table, values, COMBINED_SHARE)
        return bool(np.abs(misfit).max() <= COMBINED_SHARE * np.abs(values).max())

    return check


def _slope(name: str, e: Any, t: Array, values: Array, enforced: bool) -> IntegralSlope:
    edges = np.linspace(0, len(t), MEAN_PARTS + 1).astype(int)
    at, means = (np.array([x[a:b].mean() for a, b in pairwise(edges)]) for x in (t, values))
    x, y = at - at.mean(), means - means.mean()
    slope = float(x @ y / (x @ x))
    residual = y - slope * x
    rounding = ROUNDINGS_ALLOWED * np.finfo(float).eps * float(np.abs(values).max()) / float(np.ptp(t))
    error = float(np.sqrt(residual @ residual / (MEAN_PARTS - 2) / (x @ x)) + rounding)
    return IntegralSlope(name, e, float(values[0]), slope, error, float(np.abs(values - values[0]).max()), enforced)


__all__ = ["IntegralSlope", "IntegralSlopes", "integral_slopes"]
