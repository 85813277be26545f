"""The `keep=` argument, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.ensembles.free_memory import free_memory
from appell.errors import ModelError
from appell.model import System
from appell.model.values import reals
from appell.motion.dataset import UniqueNames
from appell.reading import finite, refuse_large, shown, within_ends
from appell.reductions.named import named_reductions
from appell.reductions.reduce import Reduction

Array = NDArray[np.float64]

KEEP_MANY_USAGE = (
    'keep= is "final", a number k (every k-th step of a fixed step), times (k,) or (runs, k), {name: ap.reduce.…}, or'
    " ap.reduce.section(…)"
)


@dataclass(frozen=True)
class Kept:
    """What is kept: times, (k,) or (runs, k); named reductions; or a section. Without any, the final states."""

    times: Array | None = None
    reductions: Mapping[str, Reduction] = field(default_factory=dict)
    section: Reduction | None = None

    @property
    def named(self) -> Mapping[str, Reduction]:
        """The reductions, or the section, by name."""
        return self.reductions if self.section is None else {"section": self.section}

    @property
    def all_reductions(self) -> list[Reduction]:
        """The reductions, or the section."""
        return list(self.named.values())

    @property
    def rows(self) -> int:
        """Number of states kept of each run."""
        if self.section is not None:
            return self.section.count
        return 1 if self.times is None else self.times.shape[-1]


def read_keep(keep: Any, runs: int, t0: float, ends: Array, step: float | None) -> Kept:
    """`keep=` of `simulate_many`; ends: (runs,) or (1,)."""
    if isinstance(keep, str | bool | np.bool_):
        if keep != "final":
            raise ModelError(f"{KEEP_MANY_USAGE}, not {shown(keep)}")
        return Kept()
    if isinstance(keep, Reduction):
        if keep.kind != "section":
            raise ModelError(f"a single reduction needs a name, keep={{'{keep.kind}': ap.reduce.{keep.kind}(…)}}")
        return Kept(section=keep)
    if isinstance(keep, Mapping):
        return Kept(reductions=named_reductions(keep, KEEP_MANY_USAGE))
    if isinstance(keep, int | np.integer) and not isinstance(keep, bool | np.timedelta64):
        return Kept(times=_step_times(int(finite(keep, "keep=")), t0, ends, step))
    return Kept(times=_times(keep, runs, t0, ends))


def refuse_names(kept: Kept, system: System) -> None:
    """Raises `ModelError` if two reductions, or a reduction and a quantity of the system, would share a name in the result.

    Names are reduced to letters, digits and underscores there, so "a b" and "a_b" are the same.
    """
    owners = {name: "the result itself" for name in ("run", "t", "status", "message", "sample", "point", "start")}
    states = [*system.positions, *system.velocities]
    owners |= {UniqueNames.cleaned(str(s)): f"{s} of the system" for s in (*system.parameters, *states)}
    owners |= {UniqueNames.cleaned(f"{s}_start"): f"the start of {s}" for s in states}
    for name in kept.reductions:
        clean = UniqueNames.cleaned(name)
        if clean in owners:
            conflict = f"is called {clean!r} in the result, which" if clean != name else "is a name that"
            raise ModelError(f"the reduction {shown(name)} {conflict} belongs to {owners[clean]}; choose another name")
        owners[clean] = f"the reduction {name!r}"


def _step_times(k: int, t0: float, ends: Array, step: float | None) -> Array:
    """The times of every k-th fixed step, (k,)."""
    if step is None:
        raise ModelError(
            f"keep={k} means every {k}-th step, which needs step=; with rtol= every run has steps of its own: give times"
        )
    if k < 1:
        raise ModelError(f"keep={k}: every k-th step needs k >= 1")
    if (ends != ends[0]).any():
        raise ModelError("keep=k needs one `until` for all runs; give times instead")
    direction = np.sign(ends[0] - t0)
    count, free = np.floor(abs(ends[0] - t0) / (k * step) * (1 + 1e-12)), free_memory() or np.inf
    if not 16 * count < free:
        raise ModelError(
            f"keep={k} with step={step:g} means {count:.3g} states of each run, more than fit into {free / 1e9:.3g} GB:"
            " keep fewer of them, the final states, or reductions (keep={'top': ap.reduce.max(x)})"
        )
    return t0 + direction * k * step * np.arange(int(count) + 1)


def _times(keep: Any, runs: int, t0: float, ends: Array) -> Array:
    """Times to keep, checked, (k,) or (runs, k)."""
    refuse_large(keep, "keep=")
    try:
        times = np.atleast_1d(reals(keep))
    except (TypeError, ValueError):
        raise ModelError(f"{KEEP_MANY_USAGE}, not {shown(keep)}") from None
    if times.ndim > 2 or times.shape[-1] == 0 or (times.ndim == 2 and len(times) != runs):
        raise ModelError(f"times to keep have the shape (k,), or ({runs}, k) for each run its own, not {times.shape}")
    times = within_ends(times, t0, ends[:, None] if times.ndim == 2 else ends[np.abs(ends - t0).argmin()])
    direction = np.where(ends >= t0, 1.0, -1.0)[:, None]
    steps = np.diff(times, axis=-1) * (direction if times.ndim == 2 else direction[0, 0])
    if not np.isfinite(times).all() or (steps < 0).any():
        raise ModelError("times to keep must be finite and in the order of the run")
    from_start, to_end = (times[..., 0] - t0) * direction[:, 0], (ends - times[..., -1]) * direction[:, 0]
    if (from_start < 0).any() or (to_end < 0).any():
        end_text = f"{ends[0]:g}" if len(ends) == 1 else "that of their run"
        raise ModelError(f"times to keep must lie between since = {t0:g} and until = {end_text}")
    return times


__all__ = ["Kept", "read_keep", "refuse_names"]
