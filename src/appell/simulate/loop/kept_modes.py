"""The modes, breaks, resets and stops of a trace as a JSON record and back; a stored run resumes from it.

Modes, breaks and resets only accumulate: a record holds those since the previous record, and `WrittenSoFar` counts them.
Everything else is what the loops read from a trace when they resume from its state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.loop.trace import Trace
from appell.modes.events import EVENT
from appell.modes.mode import OFF, SLIP, STICK, FrictionState, Mode
from appell.reading import shown
from appell.simulate.loop.reset_maps import ResetState

Array = NDArray[np.float64]

EVENT_COLUMNS = tuple(EVENT.names or ())
"""Columns of a numeric table of events; all values are exact in 64 bits."""


class WrittenSoFar(NamedTuple):
    """How many events, modes, breaks and resets of a trace have been written."""

    events: int = 0
    modes: int = 0
    breaks: int = 0
    resets: int = 0

    @staticmethod
    def of(trace: Trace) -> WrittenSoFar:
        return WrittenSoFar(len(trace.events), len(trace.modes), len(trace.breaks), len(trace.resets))


def events_since(trace: Trace, since: WrittenSoFar) -> Array:
    """New events, (n, 6), in the order of `EVENT_COLUMNS`."""
    fresh = trace.events.joined(since.events)
    return np.column_stack([fresh[name].astype(float) for name in EVENT_COLUMNS]).reshape(len(fresh), len(EVENT_COLUMNS))


def add_events(trace: Trace, table: Array) -> None:
    """Appends a table made by `events_since`."""
    for row in table:
        trace.events.append(tuple(row))


def record_since(trace: Trace, since: WrittenSoFar) -> dict[str, Any]:
    """For JSON; floats with all their digits."""
    return {
        "modes": [[_hex(time), *_mode_record(mode)] for time, mode in trace.modes[since.modes :]],
        "breaks": [_hex(time) for time in trace.breaks[since.breaks :]],
        "resets": [
            [_hex(reset.time), int(reset.number), _hex_list(reset.before), _hex_list(reset.after), _hex(reset.work),
             _hex_list(reset.loop_state)]
            for reset in trace.resets[since.resets :]
        ],
        "begun": trace.modes_before_reset, "stalled": int(trace.stalled), "switched": _hex(trace.switched),
        "decided_with": _hex_list(trace.decided_with), "touching": sorted(map(int, trace.touching)),
        "counting": [int(x) for x in trace.counting[:3]] + [_hex(x) for x in trace.counting[3:]],
        "broken": _hex_list(trace.p_before_jump), "branch_time": None if trace.branch_time is None else _hex(trace.branch_time),
        "sides": _hex_list(trace.sides), "signs": {name: _hex(sign) for name, sign in trace.signs.items()},
        "reached": {name: _hex(sign) for name, sign in trace.reached.items()}, "stopped": trace.stopped,
        "reduced": {name: [_hex_list(numbers) for numbers in parts] for name, parts in trace.reduced.items()},
    }  # fmt: skip


def restore(trace: Trace, record: Mapping[str, Any]) -> None:
    """Appends the new parts of a record to a trace, and sets everything else; `ValueError`, `TypeError`, `KeyError` or
    `IndexError` if the record is invalid."""
    trace.modes += [(_time(time), _mode(*mode)) for time, *mode in record["modes"]]
    trace.breaks += [_time(time) for time in record["breaks"]]
    trace.resets += [
        ResetState(_time(time), _integer(number), _numbers(before), _numbers(after), _time(work), _numbers(whole))
        for time, number, before, after, work, whole in record["resets"]
    ]
    trace.modes_before_reset, trace.stalled = _integer(record["begun"]), _integer(record["stalled"])
    trace.switched = _time(record["switched"])
    trace.touching, counting = set(map(_integer, record["touching"])), record["counting"]
    trace.counting = (*map(_integer, counting[:3]), *map(float.fromhex, counting[3:]))
    if len(trace.counting) not in (0, 6):
        raise ValueError("a count of impacts that no run has")
    trace.decided_with, trace.p_before_jump, trace.sides = (
        None if record[key] is None else _numbers(record[key]) for key in ("decided_with", "broken", "sides")
    )
    trace.branch_time = None if record["branch_time"] is None else _time(record["branch_time"])
    trace.signs = {str(name): float.fromhex(sign) for name, sign in record["signs"].items()}
    trace.reached = {str(name): float.fromhex(sign) for name, sign in record["reached"].items()}
    trace.stopped = str(record["stopped"])
    trace.reduced = {str(name): [_numbers(numbers) for numbers in parts] for name, parts in record["reduced"].items()}


# -- parts ---------------------------------------------------------------------------------------------------------------


def _mode_record(mode: Mode) -> list[Any]:
    frictions = [[f.state, [_hex(x) for x in f.u], int(f.sign), bool(f.fixed)] for f in mode.frictions]
    integers: Callable[[Any], list[int]] = lambda numbers: [int(n) for n in numbers]
    return [integers(mode.closed), frictions, integers(mode.idle), integers(mode.asleep)]


def _mode(closed: list[int], frictions: list[list[Any]], idle: list[int], asleep: list[int]) -> Mode:
    states = tuple(
        FrictionState(_state(state), tuple(map(float.fromhex, u)), _integer(sign), bool(fixed))
        for state, u, sign, fixed in frictions
    )
    return Mode(tuple(map(_integer, closed)), states, tuple(map(_integer, idle)), tuple(map(_integer, asleep)))


def _state(text: str) -> str:
    if text not in (OFF, STICK, SLIP):
        raise ValueError("a friction in an unknown state")
    return text


def _hex(x: float) -> str:
    return float(x).hex()


def _hex_list(numbers: Any) -> list[str] | None:
    return None if numbers is None else [_hex(x) for x in np.asarray(numbers, dtype=float)]


def _numbers(texts: list[str]) -> Array:
    return np.array([float.fromhex(text) for text in texts], dtype=float)


def _time(text: str) -> float:
    """A time or a work from its record; infinity is allowed."""
    if isnan(time := float.fromhex(text)):
        raise ValueError("a time that no run has")
    return time


def _integer(number: Any) -> int:
    """A whole number from its record."""
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{shown(number)} is not a whole number")
    return number


__all__ = ["EVENT_COLUMNS", "WrittenSoFar", "add_events", "events_since", "record_since", "restore"]
