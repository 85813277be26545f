"""A motion as labelled arrays.

One variable over t for every coordinate, velocity, acceleration, input and reaction, and for energy, work, balance and
residual. The attributes of a variable describe it: `symbol` ("x.d") or `constraint` ("blade"), `latex`, `units`,
`long_name`. Data of the run are attributes of the dataset, with mappings as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.jets import Jet
from appell.motion.impact_data import impact_variables
from appell.motion.record import QUANTITIES, ReactionName, Series, reaction_latex
from appell.motion.reset_data import reset_variables
from appell.version import __version__

if TYPE_CHECKING:
    import xarray as xr

    from appell.motion.motion import Motion

MOTION_FORMAT = 1
"""Version of the file format; increased when an older reader would misread the files."""


def to_dataset(motion: Motion) -> xr.Dataset:
    """The motion as a `Dataset` over t (s)."""
    import xarray as xr  # takes half a second, so not imported with the library

    names, variables = UniqueNames(), dict[str, Any]()
    for symbol in (*motion.symbols, *(motion.pseudo or {})):
        attrs = {"symbol": str(symbol), **_identity(motion, symbol)}
        variables[names(str(symbol))] = _variable(motion.series(symbol), attrs)
    for i, name in enumerate(motion.input_names):
        attrs = {"symbol": name, "kind": "input", "role": "input", "column": i}
        variables[names(name)] = _variable(motion.series(name), attrs)
    for i, c in enumerate(motion.system.constraints):
        attrs = {"constraint": c.name, "row": i, "order": c.order, "redundant": int(c.name in motion.redundant)}
        attrs |= {"undetermined": 1} if c.name in motion.undetermined else {}
        variables[names(f"reaction_{c.name}")] = _variable(motion.series(c), attrs)
    for k, name in enumerate(motion.contact_names):
        variables[names(f"reaction_{name}")] = _variable(motion.series(ReactionName(name)), {"contact": name, "number": k})
    for i, fr in enumerate(motion.system.frictions):
        force = motion.reaction(fr).reshape(len(motion.t), -1)
        for k in range(fr.parts):
            text = fr.name if fr.parts == 1 else f"{fr.name} {k + 1}"
            series = Series(text, reaction_latex(text, i), "SI", f"friction force of {text}", force[:, k])
            variables[names(f"reaction_{text}")] = _variable(series, {"friction": fr.name, "part": k})
    for quantity in ("energy", "work", "balance", "residual", *(["dissipated"] if motion.system.frictions else [])):
        latex, units, meaning = QUANTITIES[quantity]
        series = Series(quantity, latex, units, meaning, getattr(motion, quantity))
        variables[names(quantity)] = _variable(series, {"quantity": quantity})
    faces = [face.name for face in motion.system.unilateral]
    variables.update({names(name): values for name, values in impact_variables(motion.events, faces).items()})
    variables.update({names(name): values for name, values in reset_variables(motion.resets).items()})
    time = xr.Variable("t", motion.t, {"units": "s", "long_name": "time", "latex": "t", "symbol": "t"})
    return xr.Dataset(variables, {"t": time}, _run_attributes(motion))


class UniqueNames:
    """Turns texts into unique names that NetCDF, Zarr and `dataset.x_d` accept."""

    def __init__(self) -> None:
        self.used = {"t"}

    @staticmethod
    def cleaned(text: str) -> str:
        """Letters, digits and single underscores."""
        return re.sub(r"\W+", "_", text).strip("_") or "value"

    def __call__(self, text: str) -> str:
        name = self.cleaned(text)
        while name in self.used:
            name += "_"
        self.used.add(name)
        return name


def _variable(series: Series, attrs: Mapping[str, Any]) -> xr.Variable:
    import xarray as xr

    labels = {"units": series.units, "long_name": series.meaning, "latex": series.latex}
    return xr.Variable("t", series.values, {**labels, **attrs})


def _identity(motion: Motion, symbol: Any) -> dict[str, Any]:
    """What a reader needs to recreate the symbol, and its role in the state."""
    if not isinstance(symbol, Jet):
        return {"kind": "pseudo", "role": "pseudo"}
    roles = {"q": "coordinate", "v": "velocity", "qd": "rate", "acceleration": "acceleration"}
    kind = {"kind": type(symbol).__name__, "letter": symbol.letter, "dots": symbol.order}
    array, column = motion.symbols[symbol]
    return {**kind, "role": roles[array], "column": column}


def _run_attributes(motion: Motion) -> dict[str, Any]:
    drift = motion.drift
    return {
        "title": f"Motion of {motion.name}",
        "system": motion.name,
        "parameters": json_text({str(key): float(value) for key, value in motion.parameters.items()}),
        "method": motion.method,
        "tolerances": json_text(motion.tolerances),
        "statistics": json_text(motion.statistics),
        "pseudo": json_text({name: str(e) for name, e in (motion.pseudo or {}).items()}),
        "status": motion.status.name,
        "message": motion.message,
        "energy_scale": motion.energy_scale,
        "drift": json_text({"position": drift.position, "velocity": drift.velocity, "before": drift.before}),
        "redundant": json_text(motion.redundant),
        "undetermined": json_text(motion.undetermined),
        **({"phases": json_text([list(phase) for phase in motion.phases])} if motion.system.frictions else {}),
        "notes": json_text([{"text": str(note), **note.record()} for note in motion.notes]),
        "doubts": json_text(motion.doubts),
        **({"reduced": json_text(motion.reduced)} if motion.reduced else {}),
        "appell_version": version(),
        "appell_format": MOTION_FORMAT,
    }


def json_text(value: Any) -> str:
    """A mapping, sequence or number as JSON; arrays become lists, everything else text."""
    plain: Callable[[Any], Any] = lambda x: x.tolist() if isinstance(x, np.ndarray | np.generic) else str(x)
    return json.dumps(dict(value) if isinstance(value, Mapping) else value, default=plain, ensure_ascii=False)


def version() -> str:
    """The version of this package."""
    return __version__


__all__ = ["MOTION_FORMAT", "UniqueNames", "json_text", "to_dataset", "version"]
