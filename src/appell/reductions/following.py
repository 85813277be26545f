"""Reductions along one run, in one course or leg by leg: accumulated numbers, and the results made of them.

    numbers = followed_along(course, reductions, numbers)      of each leg in turn, {} before the first
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from appell.compiled.run import Run
from appell.loop.methods.taylor import SERIES
from appell.loop.trace import Trace
from appell.normal_form.flow import Flow
from appell.reductions.course import ROUNDING_ALONG, Course
from appell.reductions.kinds import ACCUMULATORS, finished, parts_of
from appell.reductions.reduce import Reduction

Array = NDArray[np.float64]

Carried = Mapping[str, Sequence[Array]]
"""Name of a reduction → the accumulated numbers of each of its parts."""

DENSE_STATES = 9
"""Number of states that determine the dense output of a step: polynomials of degree 7 (dop853) or less."""


def course_of(
    run: Run, flow: Flow, trace: Trace, method: str, states: Callable[[Array], Array], tolerances: tuple[float, float],
    since: float,
) -> Course:  # fmt: skip
    """The steps of a trace with states inside them.

    states: times (k,) in the order of the run → z there, (k, nz), by the same steps; fewer if the run ended before.
    tolerances: rtol and atol of the run. since: when it began, s.
    """
    t, z = trace.t_steps, trace.z_steps
    moving = np.flatnonzero(np.diff(t) != 0)
    count = SERIES[method].fitted(flow).order + 2 if method in SERIES else DENSE_STATES
    nodes = t[moving, None] + np.diff(t)[moving, None] * Course.nodes(count)
    inner = states(nodes[:, 1:-1].ravel())
    moving = moving[: len(inner) // (count - 2)]
    inner_states = inner[: len(moving) * (count - 2)].reshape(len(moving), count - 2, z.shape[1])
    all_states = np.concatenate([z[moving, None], inner_states, z[moving + 1, None]], axis=1)
    return Course(run, trace, t[moving], t[moving + 1] - t[moving], all_states, *tolerances, since)


def followed_along(course: Course, reductions: Mapping[str, Reduction], before: Carried) -> dict[str, list[Array]]:
    """The accumulated numbers of all parts after a course, from those before it."""
    accumulated: dict[str, list[Array]] = {}
    for name, reduction in reductions.items():
        earlier: Sequence[Array | None] = before.get(name) or [None] * len(parts_of(reduction))
        pairs = zip(parts_of(reduction), earlier, strict=True)
        accumulated[name] = [ACCUMULATORS[part.accumulator].follow(course, part, numbers) for part, numbers in pairs]
    return accumulated


def reduced_values(carried: Carried, reductions: Mapping[str, Reduction], duration: float, origin: float) -> dict[str, float]:
    """The results of the reductions of a run; origin: the time from which its times are counted, s."""
    values = dict[str, float]()
    for name, reduction in reductions.items():
        if name not in carried:
            continue
        results = list[Array]()
        for part, numbers in zip(parts_of(reduction), carried[name], strict=True):
            accumulator = ACCUMULATORS[part.accumulator]
            results.append(accumulator.result(numbers[None]) + origin * accumulator.is_time)
        values[name] = float(finished(reduction, results, np.array([duration]))[0])
    return values


def missed_tolerance(carried: Carried, reductions: Mapping[str, Reduction], rtol: float, atol: float) -> list[str]:
    """The names of the reductions that missed the tolerance; rtol, atol: of the run."""
    names = list[str]()
    for name, reduction in reductions.items():
        for part, numbers in zip(parts_of(reduction), carried.get(name, ()), strict=False):
            acc = ACCUMULATORS[part.accumulator]
            if acc.followed and acc.lost(numbers[None], part.way, rtol + ROUNDING_ALONG, atol)[0] and name not in names:
                names.append(name)
    return names


def doubt_of(names: Sequence[str]) -> str:
    """The doubt about reductions that missed the tolerance of a run."""
    return f"{', '.join(names)} could not be held to the tolerance: the expression is singular, or varies too fast, on the way"


__all__ = ["Carried", "course_of", "doubt_of", "followed_along", "missed_tolerance", "reduced_values"]
