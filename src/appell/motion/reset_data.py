"""Resets of a motion: as a user reads them, and as arrays over a dimension of their own.

    reset_time, reset_work                  (resets,), s and J
    reset_before, reset_after               (resets, states), SI
    reset_name                              numbers into the list in its attribute `names`
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import xarray as xr


class ResetEvent(NamedTuple):
    """One reset of a motion: time, s; the name of the reset; its work H⁺ − H⁻, J; symbol → value before and after it, SI."""

    time: float
    reset: str
    work: float
    before: Mapping[Any, float]
    after: Mapping[Any, float]


def reset_events(system: Any, states: Iterable[Any]) -> tuple[ResetEvent, ...]:
    """Resets by their names and symbols, from `ResetState`s."""
    symbols = (*system.positions, *system.velocities)
    values = lambda z: dict(zip(symbols, map(float, z), strict=True))
    names = [reset.name for reset in system.resets]
    return tuple(
        ResetEvent(state.time, names[state.number], state.work, values(state.before), values(state.after)) for state in states
    )


def reset_variables(events: Iterable[ResetEvent]) -> dict[str, xr.Variable]:
    """Variables over the dimension `reset`; none where there is no reset."""
    import xarray as xr

    events = list(events)
    if not events:
        return {}
    names = list(dict.fromkeys(event.reset for event in events))
    symbols = json.dumps([str(s) for s in events[0].before], ensure_ascii=False)
    states = lambda which: np.array([list(getattr(event, which).values()) for event in events])
    attributes = lambda units, meaning: {"units": units, "long_name": meaning}
    numbers = np.array([names.index(event.reset) for event in events], dtype=np.int32)
    return {
        "reset_time": xr.Variable("reset", np.array([e.time for e in events]), attributes("s", "time of the reset")),
        "reset_work": xr.Variable("reset", np.array([e.work for e in events]), attributes("J", "work of the reset")),
        "reset_name": xr.Variable("reset", numbers, {"names": json.dumps(names, ensure_ascii=False)}),
        **{
            f"reset_{which}": xr.Variable(
                ("reset", "reset_state"), states(which), {**attributes("SI", f"state {which} the reset"), "symbols": symbols}
            )
            for which in ("before", "after")
        },
    }


def read_reset_events(dataset: xr.Dataset, symbols: Mapping[str, Any]) -> tuple[ResetEvent, ...]:
    """The resets that `reset_variables` wrote; symbols: by name."""
    if "reset_time" not in dataset:
        return ()
    names = json.loads(dataset["reset_name"].attrs["names"])
    keys = [symbols.get(name, name) for name in json.loads(dataset["reset_before"].attrs["symbols"])]
    columns = [dataset[f"reset_{column}"].values for column in ("time", "name", "work", "before", "after")]
    state = lambda row: dict(zip(keys, map(float, row), strict=True))
    return tuple(
        ResetEvent(float(time), names[int(k)], float(work), state(before), state(after))
        for time, k, work, before, after in zip(*columns, strict=True)
    )


__all__ = ["ResetEvent", "read_reset_events", "reset_events", "reset_variables"]
