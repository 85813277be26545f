"""The case for a diagnosis: parameter values and random states on the constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.compiled.compiling import bind
from appell.model import System
from appell.normal_form import NormalForm, normal_form
from appell.normal_form.manifold import project, residuals
from appell.normal_form.nearest import states_on
from appell.simulate.start import START_RESIDUAL
from appell.verify import ranks
from appell.verify.exact import exact_parameters
from appell.verify.frobenius import State

Array = NDArray[np.float64]

CASE_STATES = 40
"""Random states on the constraints at which ranks and rates are computed."""


@dataclass(frozen=True)
class Case:
    """A system with parameter values p, states on its constraints (none where none was found), the start among them."""

    system: System
    form: NormalForm
    values: dict[Any, float]
    p: Array
    states: list[State]
    given_values: Mapping[Any, Any]
    start: State | None = None

    @staticmethod
    def of(system: System, parameters: Mapping[Any, Any], start: State | None = None, seed: int = 0) -> Case:
        """Parameters not given are random, drawn again where they admit no state; a state near the start comes first."""
        form = normal_form(system)
        for attempt in range(5 if len(parameters) < len(system.parameters) else 1):
            values = {s: float(x) for s, x in exact_parameters(system, parameters, seed + attempt).items()}
            p = np.array([values[s] for s in system.parameters], dtype=float)
            states, begin = states_on(form, p, CASE_STATES, seed), None
            if start is not None:
                projected = project(form, start[0], start[1], start[2], p)
                if residuals(form, start[0], *projected, p).relative < START_RESIDUAL:
                    begin = (start[0], *projected)
                    states = [begin, *states]
            if states:
                states = _generic_first(form, p, states)
                break
        return Case(system, form, bind(system, values), p, states, dict(parameters), begin)


def _generic_first(form: NormalForm, p: Array, states: list[State]) -> list[State]:
    """The states in order, with those of less than generic rank last."""
    units = ranks.state_units(form, p, states)
    rank_of = [max((ranks.rank(A) for A in ranks.values(form, p, [state], "A1", units)), default=-1) for state in states]
    return [state for _, state in sorted(zip(rank_of, states, strict=True), key=lambda pair: -pair[0])]
