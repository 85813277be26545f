"""A motion read from a file: everything comes from its dataset."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ModelError, Status
from appell.jets import Coordinate, Jet, QuaternionComponent, Speed, StateVariable
from appell.modes.events import Impact
from appell.modes.mode import Phase
from appell.motion.between import interpolated
from appell.motion.impact_data import read_impacts
from appell.motion.record import QUANTITIES, Array, Drift, ReactionName, Record, Series, unknown_name
from appell.motion.reset_data import ResetEvent, read_reset_events
from appell.notes import Note
from appell.reading import shown, text_of
from appell.typeset import harmless

if TYPE_CHECKING:
    import xarray as xr

CHECKED_WHEN_READ = (
    "t name parameters method statistics tolerances status message redundant undetermined notes doubts reduced drift energy"
    " work balance residual energy_scale multipliers coordinate_names velocity_names input_names reaction_names"
    " contact_names dissipated phases impacts final"
).split()
"""Attributes of a loaded motion that are checked when it is read."""

JETS: Mapping[str, type[Jet]] = {kind.__name__: kind for kind in (Coordinate, Speed, QuaternionComponent, StateVariable)}


@dataclass(frozen=True, eq=False, repr=False)
class LoadedMotion(Record):
    """A motion read from a file. It has no equations, so quantities that are not in `dataset` cannot be computed."""

    dataset: xr.Dataset

    def __getitem__(self, key: Any) -> Array:
        """Values (k,), SI, of a coordinate, velocity, acceleration, speed, pseudo-velocity or input, by symbol or name."""
        if isinstance(key, tuple | list):
            return np.stack([self[k] for k in key], axis=-1)
        return self._variable("symbol", key).values.copy()

    def at(self, times: Any) -> LoadedMotion:
        """The motion at other times between its samples, s; one time or several, in any order.

        Without equations, coordinates and velocities are interpolated by polynomials of degree 5 and 3 through values and rates
        at the neighbouring samples, and everything else linearly. A note gives the difference between degrees 3 and 5; if it is
        too large, there is a doubt. Times between two samples that enclose an impact or a reset are refused.
        """
        return interpolated(self, times)

    def reaction(self, constraint: Any) -> Array:
        """Λ(t) of a constraint, by the object or its name, (k,), SI."""
        name = getattr(constraint, "name", constraint)
        forces = [x for x in self.dataset.variables.values() if x.attrs.get("friction") == name]
        if forces:
            components = np.stack([x.values for x in sorted(forces, key=lambda x: x.attrs["part"])], axis=1)
            return components[:, 0] if components.shape[1] == 1 else components
        return self._variable("contact" if name in self._table("contact") else "constraint", name).values.copy()

    def series(self, key: Any) -> Series:
        """Values (k,) with their name, LaTeX, unit and meaning, by symbol, name, constraint, or a name of `QUANTITIES`."""
        if isinstance(key, str) and key == "energy_error" and key not in self._table("symbol"):
            return Series(key, *QUANTITIES[key], self.energy_error)
        rows = ("constraint", "contact")
        reaction = isinstance(key, ReactionName) or hasattr(key, "residual") or hasattr(key, "restitution")
        for attribute in rows if reaction else ("symbol", *rows, "quantity"):
            variable = self._table(attribute).get(name := str(getattr(key, "name", key)))
            if variable is not None:
                latex, units, meaning = (str(variable.attrs.get(label, "")) for label in ("latex", "units", "long_name"))
                return Series(name, harmless(latex, name), units, meaning, variable.values)
        raise self._unknown("symbol", key)

    def _table(self, attribute: str) -> dict[str, xr.Variable]:
        return {x.attrs[attribute]: x for x in self.dataset.variables.values() if attribute in x.attrs}

    def _variable(self, attribute: str, key: Any) -> xr.Variable:
        table = self._table(attribute)
        if text_of(key) not in table:
            raise self._unknown(attribute, key)
        return table[text_of(key)]

    def _unknown(self, attribute: str, key: Any) -> ModelError:
        hint = "" if getattr(key, "is_Symbol", True) else "; expressions need the system: compute it from its symbols"
        return ModelError(f"the loaded motion of {unknown_name(text_of(key), self.name, self._table(attribute))}{hint}")

    def _quantity(self, name: str) -> Array:
        return self._variable("quantity", name).values

    def _json(self, name: str) -> Any:
        return json.loads(self.dataset.attrs[name])

    def refuse_broken(self, path: Path) -> None:
        """Reads every attribute once, so that a file with a missing or invalid one is refused, with its name."""
        for name in CHECKED_WHEN_READ:
            try:
                value = getattr(self, name)
                assert not isinstance(value, str) or type(value) is str
            except Exception as error:  # invalid JSON, attributes of another type, arrays of other shapes
                reason = f"{type(error).__name__}: {error}"
                raise ModelError(f"{path} is incomplete or damaged: its {name} cannot be read ({shown(reason)})") from None

    def _role(self, role: str) -> list[xr.Variable]:
        variables = [x for x in self.dataset.variables.values() if x.attrs.get("role") == role]
        return sorted(variables, key=lambda x: x.attrs["column"])  # a store may list its variables in any order

    @property
    def t(self) -> Array:
        """Times of the samples, (k,), s."""
        return self.dataset["t"].values

    @property
    def name(self) -> str:
        """The name of the system."""
        return self.dataset.attrs["system"]

    @property
    def parameters(self) -> dict[str, float]:
        """Name → value, SI; without the inputs that a control gave."""
        return self._json("parameters")

    @property
    def method(self) -> str:
        """The method of integration."""
        return self.dataset.attrs["method"]

    @property
    def statistics(self) -> Mapping[str, Any]:
        """Steps, rejected, evaluations, largest_defect (before projection), seconds."""
        return self._json("statistics")

    @property
    def tolerances(self) -> Mapping[str, Any]:
        """rtol, atol and other settings that determined the accuracy."""
        return self._json("tolerances")

    @property
    def status(self) -> Status:
        """How the run ended."""
        return Status[self.dataset.attrs["status"]]

    @property
    def message(self) -> str:
        """How the run ended, in a sentence."""
        return self.dataset.attrs["message"]

    @property
    def redundant(self) -> tuple[str, ...]:
        """Names of constraints that follow from the others."""
        return tuple(self._json("redundant"))

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Names of constraints whose reactions are not unique; in files that do not say it, all where some are redundant."""
        stored = self.dataset.attrs.get("undetermined")
        return tuple(json.loads(stored)) if stored is not None else self.reaction_names if self.redundant else ()

    @property
    def notes(self) -> tuple[Note, ...]:
        """Remarks for the reader: sentences with .time, .kind, .constraints."""
        records = json.loads(self.dataset.attrs.get("notes", "[]"))
        return tuple(Note(note.pop("text"), **note) for note in records)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons not to trust the motion."""
        return tuple(json.loads(self.dataset.attrs.get("doubts", "[]")))

    @property
    def reduced(self) -> dict[str, float]:
        """Values of the reductions of `keep=`, name → value, SI."""
        return {str(name): float(value) for name, value in json.loads(self.dataset.attrs.get("reduced", "{}")).items()}

    @property
    def drift(self) -> Drift:
        """Largest |f| of positions and of velocities over all samples, and the largest before projection, SI; see `Drift`."""
        return Drift(**self._json("drift"))

    @property
    def energy(self) -> Array:
        """T + V, (k,), J."""
        return self._quantity("energy")

    @property
    def work(self) -> Array:
        """∫ power dt, (k,), J."""
        return self._quantity("work")

    @property
    def balance(self) -> Array:
        """H(t) − H(0) − ∫ power dt, (k,), J."""
        return self._quantity("balance")

    @property
    def energy_scale(self) -> float:
        """E = max (|T| + |V − V(0)| + |work|), J."""
        return float(self.dataset.attrs["energy_scale"])

    @property
    def residual(self) -> Array:
        """Largest |f| at each sample, (k,), SI."""
        return self._quantity("residual")

    @cached_property
    def multipliers(self) -> Array:
        """Λ, (k, rows), SI, in the order of the constraints."""
        columns = [self.reaction(name) for name in self.reaction_names]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self), 0))

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates, in the order of q."""
        return tuple(x.attrs["symbol"] for x in self._role("coordinate"))

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the velocities, in the order of v."""
        return tuple(x.attrs["symbol"] for x in self._role("velocity"))

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs that a control gave."""
        return tuple(x.attrs["symbol"] for x in self._role("input"))

    @property
    def reaction_names(self) -> tuple[str, ...]:
        """Names of the columns of `multipliers`."""
        return tuple(sorted(self._table("constraint"), key=lambda name: self._table("constraint")[name].attrs["row"]))

    @property
    def dissipated(self) -> Array:
        """Work that friction has dissipated, (k,), J."""
        return self._quantity("dissipated") if "dissipated" in self._table("quantity") else np.zeros(len(self.t))

    @property
    def phases(self) -> tuple[Phase, ...]:
        """When frictions stick, slip or are off: see `Motion.phases`."""
        rows = json.loads(self.dataset.attrs.get("phases", "[]"))
        direction = lambda value: tuple(value) if isinstance(value, list) else value
        return tuple(Phase(start, end, name, kind, direction(u)) for start, end, name, kind, u in rows)

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the unilateral constraints."""
        return tuple(sorted(self._table("contact"), key=lambda name: self._table("contact")[name].attrs["number"]))

    @cached_property
    def impacts(self) -> tuple[Impact, ...]:
        """Impacts, touches, landings and leavings in the order of time."""
        return read_impacts(self.dataset)

    @cached_property
    def resets(self) -> tuple[ResetEvent, ...]:
        """Resets in the order of time."""
        return read_reset_events(self.dataset, {str(s): s for s in self.final})

    @property
    def final(self) -> dict[Any, float]:
        """The last state, symbol → value, SI, for `simulate(…, start=motion.final)`."""
        state = [*self._role("coordinate"), *self._role("velocity")]
        return {JETS[x.attrs["kind"]](x.attrs["letter"], int(x.attrs["dots"])): float(x.values[-1]) for x in state}
