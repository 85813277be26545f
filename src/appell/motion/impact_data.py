"""Impacts of a motion as arrays over a dimension of their own, and back.

    impact_time, impact_before, impact_after, impact_impulse        floats
    impact_constraint, impact_kind                                  numbers into the lists in their attribute `names`
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.modes.events import EVENT_KINDS, Impact

if TYPE_CHECKING:
    import xarray as xr

IMPACT_NUMBERS = {
    "time": ("s", "time of the impact"),
    "before": ("SI", "rate of f before"),
    "after": ("SI", "rate of f after"),
    "impulse": ("SI", "impulse P, the reaction integrated over the impact"),
}
LISTED = ("constraint", "kind")


def impact_variables(events: NDArray[Any], faces: Sequence[str]) -> dict[str, xr.Variable]:
    """Variables over the dimension `impact`, from events of dtype `EVENT` and the names of faces; empty without events."""
    import xarray as xr

    if not len(events):
        return {}
    variables: dict[str, xr.Variable] = {}
    for name, (units, meaning) in IMPACT_NUMBERS.items():
        variables[f"impact_{name}"] = xr.Variable("impact", events[name].copy(), {"units": units, "long_name": meaning})
    listed = {"constraint": (events["face"], list(faces)), "kind": (events["kind"], list(EVENT_KINDS))}
    for name, (numbers, names) in listed.items():
        attrs = {"names": json.dumps(names, ensure_ascii=False)}
        variables[f"impact_{name}"] = xr.Variable("impact", numbers.astype(np.int32), attrs)
    return variables


def read_impacts(dataset: xr.Dataset) -> tuple[Impact, ...]:
    """The impacts that `impact_variables` wrote."""
    if "impact_time" not in dataset:
        return ()
    columns: dict[str, list[Any]] = {name: dataset[f"impact_{name}"].values.tolist() for name in IMPACT_NUMBERS}
    for name in LISTED:
        variable = dataset[f"impact_{name}"]
        names = json.loads(variable.attrs["names"])
        columns[name] = [names[k] for k in variable.values]
    return tuple(Impact(*values) for values in zip(*(columns[name] for name in Impact._fields), strict=True))
