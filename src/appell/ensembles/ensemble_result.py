"""The runs of an ensemble as one `Dataset` over `run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.ensembles.inputs import Inputs
from appell.ensembles.order import Order
from appell.errors import AS_ASKED, STATUS_TEXT, Status
from appell.letters.plain_latex import latex
from appell.model import System
from appell.model.units import Dimensions, derived, unit_text
from appell.motion.dataset import UniqueNames, json_text, version
from appell.reductions.kinds import KINDS

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]


def reached(status: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Which runs reached their end, or a requested stop."""
    if not status.any():  # all are OK, the usual case
        return np.ones(len(status), dtype=bool)
    return np.logical_or.reduce([status == int(asked) for asked in AS_ASKED])


FINISHED_BUT = "finished, but "
"""Begins the part of a message that says why a finished run is doubtful."""


def doubted(message: str, doubts: Sequence[str]) -> str:
    """The message of a finished run with the reasons to doubt it."""
    text = FINISHED_BUT + "; ".join(doubts)
    return text if message == STATUS_TEXT[Status.OK] else f"{message}; {text}"


def doubtful(messages: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Which runs are doubtful by their messages, (runs,)."""
    if messages.size and not any(messages.strides):  # one text for all
        return np.full(messages.size, FINISHED_BUT in str(messages.flat[0]))
    return np.array([FINISHED_BUT in str(text) for text in messages.ravel()], dtype=bool)


class Results:
    """Memory for the results of all runs: z (runs, nq + nv), rows (runs, k, nq + nv), and so on."""

    def __init__(self, runs: int, order: Order, nz: int):
        kept = order.kept
        several_states = kept.times is not None or kept.section is not None
        self.status = np.full(runs, int(Status.CANCELLED), np.int32)
        # one text for all until one differs: an object for each run would cost more than all numbers of a short run
        self._message = np.broadcast_to(np.array(STATUS_TEXT[Status.OK], dtype=object), runs)
        self._message_lock = Lock()
        self.t, self.z = np.full(runs, np.nan), np.full((runs, nz), np.nan)
        self.rows = np.full((runs, kept.rows if several_states else 0, nz), np.nan)
        self.row_times = np.full((runs, kept.rows if kept.section else 0), np.nan)
        self.values = {name: np.full(runs, np.nan) for name in kept.reductions}

    @property
    def message(self) -> NDArray[np.object_]:
        """(runs,) the message of each run."""
        return self._message

    def set_message(self, runs: Any, text: str) -> None:
        """Sets the message of one or several runs."""
        with self._message_lock:
            if not self._message.flags.writeable:
                self._message = self._message.copy()
            self._message[runs] = text

    @property
    def as_requested(self) -> NDArray[np.bool_]:
        """(runs,) whether each reached its end, or a requested stop."""
        return reached(self.status)

    def on_the_clock(self, counted: Order, order: Order, made: NDArray[np.int64]) -> None:
        """Replaces the times of the finished runs, counted from an origin, by those of the order."""
        if counted.origin == order.origin:
            return
        ends = np.broadcast_to(order.ends, self.t.shape)[made]
        at_end = self.t[made] == np.broadcast_to(counted.ends, self.t.shape)[made]
        self.t[made] = np.where(at_end, ends, self.t[made] + counted.origin)
        self.row_times[made] += counted.origin

    @staticmethod
    def size(runs: int, order: Order, nz: int) -> int:
        """Bytes of results and initial states during the runs: those of the lanes and those of the final arrays."""
        kept = order.kept
        states = 1 + (kept.rows if kept.times is not None or kept.section else 0)
        return runs * (16 * states * (nz + 1) + 16 * len(kept.reductions) + 16 * nz + 110)


def dataset(run: Run, inputs: Inputs, order: Order, results: Results, facts: Mapping[str, Any]) -> xr.Dataset:
    """See `simulate_many`."""
    import pandas as pd
    import xarray as xr

    names, kept = UniqueNames(), order.kept
    for reserved in ("run", "status", "message"):
        names(reserved)
    dims, states, time = _layout(order, results)
    variables: dict[str, Any] = {}
    if not kept.reductions:
        symbols = (*run.system.positions, *run.system.velocities)
        for i, symbol in enumerate(symbols):
            level = min(symbol.level, 1)
            role = ("coordinate", "velocity")[level]
            attrs = _labels(symbol, f"{role} {symbol}", role)
            variables[names(str(symbol))] = (dims, states[..., i], {**attrs, "latex": latex(symbol)})
    for name, reduction in kept.reductions.items():
        attrs = {"reduction": reduction.kind, "long_name": reduction.meaning, "units": KINDS[reduction.kind].units}
        variables[names(name)] = ("run", results.values[name], attrs)
    flags = {"flag_values": [int(s) for s in Status], "flag_meanings": " ".join(s.name for s in Status), "long_name": "status"}
    variables["status"] = ("run", results.status, flags)
    # fastpath: the objects are already text and need not be inspected one by one
    variables["message"] = xr.Variable(("run",), results.message, {"long_name": "what happened"}, fastpath=True)
    coordinates: dict[str, Any] = {"run": pd.RangeIndex(inputs.runs, name="run"), "t": time}
    for name, value in inputs.varied_parameters.items():
        coordinates[names(name)] = ("run", value, _labels(name, f"parameter {name}", "parameter"))
    for name, value in inputs.varied_starts.items():
        coordinates[names(f"{name}_start")] = ("run", value, _labels(name, f"start of {name}", "start"))
    return xr.Dataset(variables, coordinates, _attributes(run, inputs, order, facts))


def with_units(found: xr.Dataset, system: System, units: Mapping[str, Dimensions]) -> xr.Dataset:
    """The dataset with the units that follow from the given ones, in place of "SI"."""
    symbols = {str(s): s for s in (*system.positions, *system.velocities, *system.parameters)}
    for variable in found.variables.values():
        symbol = symbols.get(variable.attrs.get("symbol", ""))
        unit = None if symbol is None else derived(symbol, units)
        if unit is not None and variable.attrs.get("units") == "SI":
            variable.attrs["units"] = unit_text(unit) if unit else "1"
    return found


def _labels(symbol: Any, meaning: str, role: str) -> dict[str, str]:
    """The attributes of a variable."""
    return {"symbol": str(symbol), "units": "SI", "long_name": meaning, "role": role}


def _layout(order: Order, results: Results) -> tuple[tuple[str, ...], Array, Any]:
    """Dimensions and values of the states, and the variable of time."""
    kept, label = order.kept, {"units": "s", "long_name": "time", "latex": "t", "symbol": "t"}
    if kept.section is not None:
        return ("run", "point"), results.rows, (("run", "point"), results.row_times, label)
    if kept.times is None:
        return ("run",), results.z, ("run", results.t, label)
    if kept.times.ndim == 1:
        return ("run", "t"), results.rows, ("t", kept.times, label)
    return ("run", "sample"), results.rows, (("run", "sample"), kept.times, label)


def _attributes(run: Run, inputs: Inputs, order: Order, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of the dataset; among the parameters, those that are the same in all runs."""
    fixed = {} if inputs.p.ndim == 2 else dict(zip(map(str, run.system.parameters), map(float, inputs.p), strict=True))
    if inputs.p.ndim == 2:
        common = [s for s in map(str, run.system.parameters) if s not in inputs.varied_parameters]
        fixed = {s: float(inputs.p[0, i]) for i, s in enumerate(map(str, run.system.parameters)) if s in common}
    accuracy = {"step": order.step} if order.step is not None else {"rtol": order.rtol, "atol": order.atol}
    return {
        "title": f"{inputs.runs} motions of {run.system.name}", "system": run.system.name, "parameters": json_text(fixed),
        "method": order.method, "tolerances": json_text(accuracy), "since": order.t0, "appell_version": version(),
        **{key: value if isinstance(value, str | int | float) else json_text(value) for key, value in facts.items()},
    }  # fmt: skip


__all__ = ["FINISHED_BUT", "Results", "dataset", "doubted", "doubtful", "reached"]
