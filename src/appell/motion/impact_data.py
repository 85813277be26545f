"""Impacts of a motion as arrays over a dimension of their own, and back.

    impact_time, impact_before, impact_after, impact_impulse        floats
    impact_constraint, impact_kind                                  numbers into the lists in their attribute `names`
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.contact.events import KINDS, Impact

if TYPE_CHECKING:
    import xarray as xr

NUMBERS = {
    "time": ("s", "time of the impact"),
    "before": ("SI", "rate of f before"),
    "after": ("SI", "rate of f after"),
    "impulse": ("SI", "impulse P, the reaction integrated over the impact"),
}
LISTED = ("constraint", "kind")


def impact_variables(impacts: Sequence[Impact]) -> dict[str, xr.Variable]:
    """Variables over the dimension `impact`; none where there is no impact."""
    import xarray as xr

    if not impacts:
        return {}
    found: dict[str, xr.Variable] = {}
    for name, (units, meaning) in NUMBERS.items():
        values = np.array([getattr(i, name) for i in impacts], dtype=float)
        found[f"impact_{name}"] = xr.Variable("impact", values, {"units": units, "long_name": meaning})
    names = {"constraint": sorted({i.constraint for i in impacts}), "kind": list(KINDS)}
    for name in LISTED:
        numbers = np.array([names[name].index(getattr(i, name)) for i in impacts], dtype=np.int32)
        found[f"impact_{name}"] = xr.Variable("impact", numbers, {"names": json.dumps(names[name], ensure_ascii=False)})
    return found


def read_impacts(dataset: xr.Dataset) -> tuple[Impact, ...]:
    """The impacts that `impact_variables` wrote."""
    if "impact_time" not in dataset:
        return ()
    columns: dict[str, list[Any]] = {name: dataset[f"impact_{name}"].values.tolist() for name in NUMBERS}
    for name in LISTED:
        variable = dataset[f"impact_{name}"]
        names = json.loads(variable.attrs["names"])
        columns[name] = [names[k] for k in variable.values]
    return tuple(Impact(*values) for values in zip(*(columns[name] for name in Impact._fields), strict=True))
