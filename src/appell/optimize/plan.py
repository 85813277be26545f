"""The result of `ap.optimize`: a motion with its controls, and the evidence for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.delegates import delegate
from appell.errors import ModelError, UnknownKey
from appell.motion.motion import Motion
from appell.notes import Note
from appell.reading import name_in, reals
from appell.spelling import did_you_mean

if TYPE_CHECKING:
    import xarray as xr

    from appell.optimize.plan_sensitivity import PlanSensitivity

Array = NDArray[np.float64]


class MeshStep(NamedTuple):
    """One mesh of a search: intervals, objective, relative error between the nodes, iterations and IPOPT's exit status."""

    intervals: int
    objective: float
    error: float
    iterations: int
    status: str


class Attempt(NamedTuple):
    """The result of one attempt: whether it succeeded, its objective, and a message."""

    ok: bool
    objective: float
    message: str


class ControlTable(Mapping[Any, Array]):
    """Control → values (k,), by symbol or name."""

    def __init__(self, values: Mapping[Any, Array]):
        self._values = dict(values)
        self._names = {str(s): s for s in values}

    def __getitem__(self, key: Any) -> Array:
        control = self._names.get(name_in(key))
        if control is None:
            hint = did_you_mean(name_in(key), self._names)
            raise UnknownKey(f"{name_in(key)} is not a control; there are {', '.join(self._names) or 'none'}{hint}")
        return self._values[control]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name}: ({len(self[name])},)' for name in self._names)}}}"


@dataclass(frozen=True, eq=False, repr=False)
class MotionPlan:
    """A planned motion; the best result so far if it is not `ok`.

    Attributes
    ----------
    ok: whether the search ended at a minimum, and `simulate` with the controls gives the same motion within the tolerance.
    The minimum is a local one; `attempts` lists the others.
    message: how it ended.
    objective: the minimised value.
    t: (k,) start and nodes, s; motion: the states there, and between them by the polynomials of the plan, projected onto the
    constraints; simulated: the motion by `simulate` with the controls.
    controls: control → values (k,) at t, of the polynomials on each interval; `control_at(times)` between them.
    values: unknown parameter → its value.
    error: the largest difference of `motion` and `simulated` over all nodes, coordinates and velocities, each relative to its
    largest value along the motion (at least a thousandth of the largest one of its kind).
    multipliers: constraint → Λ (k,) at the nodes; meshes: one `MeshStep` for each mesh.
    doubts: messages on bounds that are violated between nodes by more than the tolerance: of inputs that jump, and what depends
    on them. Bounds of states and relations between states hold there too, or the plan is not ok.
    """

    system: Any
    ok: bool
    message: str
    objective: float
    duration: float
    motion: Motion | None
    simulated: Motion | None
    controls: ControlTable
    values: Mapping[Any, float]
    error: float
    meshes: tuple[MeshStep, ...]
    attempts: tuple[Attempt, ...]
    t: Array
    session: Any = field(default=None)
    doubts: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """All but the solver with its mesh, which cannot be pickled: `again`, `control_at` and `sensitivity` need it."""
        return {**self.__dict__, "session": None}

    @property
    def iterations(self) -> int:
        """Iterations of IPOPT on all meshes."""
        return sum(mesh.iterations for mesh in self.meshes)

    def control_at(self, times: Any) -> dict[Any, Array]:
        """Control → values (k,) at times of the plan, s."""
        instants, (begin, end) = np.atleast_1d(reals(times, "the times of control_at", infinite=False)), self.t[[0, -1]]
        if instants.ndim > 1:
            raise ModelError(f"control_at takes a time or a list of times, not an array of shape {instants.shape}")
        slack = 1e-9 * max(abs(begin), abs(end), end - begin)  # times that a user computes are rounded
        for t in instants[(instants < begin - slack) | (instants > end + slack)].ravel()[:1]:
            raise ModelError(f"control_at: t = {t:g} s is outside of the plan, which lasts from {begin:g} s to {end:g} s")
        return self._mesh.controls_at(instants)

    def again(
        self, start: Any = None, parameters: Any = None, *, since: Any = None, until: Any = None, judge: bool = False
    ) -> MotionPlan:
        """Plans again from another start by one warm solve on the same mesh, for feedback control.

        start: state → value; other states start as before. parameters: symbol → value, of those given before.
        A start or end value that the rows imply has to agree with the given one.
        since, until: another horizon, s, for plans of one phase without ap.at(…, time); the end, or its interval, does not
        change unless until= is given.
        judge: whether to check by `simulate`; without it `error` is NaN, and `ok` only means a minimum on the mesh, which was
        made for the first plan.
        """
        assert self._mesh is not None
        return delegate("MotionPlan.again")(self, start, parameters, since, until, judge)

    def sensitivity(self, by: Any) -> PlanSensitivity:
        """Derivatives of the optimum with respect to parameters and given start values, exact on the mesh; see
        `PlanSensitivity`.

        by: one or several given parameters, and states with given start values.
        """
        assert self._mesh is not None
        return delegate("MotionPlan.sensitivity")(self, by)

    @property
    def _mesh(self) -> Any:
        """The program behind the plan."""
        if self.session is None:
            raise ModelError(
                "this plan has no mesh: it is a design with phases='any', or it was loaded from a pickle; call ap.optimize"
                " again, with guess=plan"
            )
        return self.session

    @cached_property
    def dataset(self) -> xr.Dataset:
        """The motion at the nodes with its controls, as an xarray `Dataset` over t."""
        import xarray as xr

        attributes = {"system": self.system.name, "message": self.message, "objective": self.objective, "error": self.error}
        dataset = self.motion.dataset if self.motion is not None else xr.Dataset(coords={"t": self.t})
        table = {
            str(s): ("t", x, {"units": "SI", "symbol": str(s), "long_name": f"control {s}"}) for s, x in self.controls.items()
        }
        return dataset.assign(table).assign_attrs(attributes | {f"value of {s}": x for s, x in self.values.items()})

    def plot(self, *what: Any) -> Any:
        """Plots the controls over time above the coordinates, or the named quantities; returns a matplotlib figure."""
        return delegate("MotionPlan.plot")(self, *what)

    def report(self, path: Any, **options: Any) -> Path:
        """Writes the page of the motion, see `Motion.report`, with the plan's own notes."""
        if self.motion is None:
            raise ModelError(f"there is no motion to report: {self.message}")
        notes = [Note(self.message, kind="plan"), Note(f"objective {self.objective:.9g}", kind="plan")]
        notes.append(Note(f"the simulated motion is {self.error:.2g} from the plan", kind="plan"))
        return replace(self.motion, notes=(*notes, *self.motion.notes)).report(path, **options)

    def __str__(self) -> str:
        rows = [
            f"{self.system.name}: {self.message}",
            f"objective  {self.objective:.10g}",
            f"duration   {self.duration:.10g} s",
        ]
        rows += [f"{s} = {x:.10g}" for s, x in self.values.items()]
        rows += [f"error      {self.error:.2g} (simulated motion)"]
        rows += [
            f"mesh {k + 1}     {m.intervals} intervals, objective {m.objective:.10g}, error {m.error:.1e}, {m.iterations} steps"
            for k, m in enumerate(self.meshes)
        ]
        return "\n".join([*rows, *(f"doubt: {doubt}" for doubt in self.doubts)])

    def __repr__(self) -> str:
        ok = "ok" if self.ok else "not ok"
        return f"<Plan of {self.system.name}: {ok}, objective {self.objective:.8g}, {self.duration:.6g} s>"


__all__ = ["Attempt", "ControlTable", "MeshStep", "MotionPlan"]
