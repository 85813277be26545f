"""`ap.optimize`: the best motion of a system, by direct collocation on its normal form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ArgumentError, ModelError
from appell.model import System
from appell.model.described import system_of
from appell.model.friction import refuse_friction
from appell.model.measured import records_of
from appell.model.prescription import settled
from appell.optimize.contact_phases import ContactPhase, one_phase, phases_of_motion, read_durations, read_phases
from appell.optimize.design import DesignSearch
from appell.optimize.first_guess import ends_of_phases
from appell.optimize.plan import MotionPlan
from appell.optimize.plan_search import PlanSearch
from appell.optimize.plan_setting import PlanSetting
from appell.optimize.steering_request import read_request
from appell.reading import finite, items_of, shown, whole
from appell.spelling import checked_keywords
from appell.tree import Tree

Array = NDArray[np.float64]


@checked_keywords()
def optimize(
    system: System | Tree,
    minimize: Any,
    controls: Sequence[Any] = (),
    start: Mapping[Any, Any] | None = None,
    until: Any = 1.0,
    parameters: Mapping[Any, Any] | None = None,
    *,
    end: Mapping[Any, Any] | None = None,
    bounds: Mapping[Any, Any] | None = None,
    rates: Mapping[Any, Any] | None = None,
    subject_to: Any = (),
    unknown: Sequence[Any] = (),
    phases: Any = None,
    durations: Sequence[Any] = (),
    guess: Any = None,
    attempts: int = 1,
    tolerance: float = 1e-6,
    since: float = 0.0,
    seed: int = 0,
    progress: bool | Callable[[int, float], None] = False,
    backend: str = "auto",
) -> MotionPlan:
    """The motion from start to end that minimises an objective, with the controls that drive it.

        min φ(q, v at instants) + ∫ F(t, q, v, a, u, Λ) dt        M a + h = Q + W Λ,  A a + a0 = 0,  rows, bounds, relations

    Direct collocation at Radau points with exact sparse derivatives, solved by IPOPT; meshes are refined until the error of the
    polynomials between nodes is below the tolerance and the objective has converged. Then `ap.simulate` checks the controls.

    Parameters
    ----------
    system: a `System` or a `Tree`. The plan keeps clear of its walls, unless phases= says otherwise.
    minimize: "time", or an expression of `ap.integral(F)`, `ap.at(x, "end")` and parameters.
    controls: parameters that the plan chooses as functions of time, in forces, potentials, rates or constraints; a control in a
        constraint (a steering angle) is continuous, and its rate is chosen.
    start, end: state → value; a pair (lower, upper) bounds it, `ap.free` leaves it to the plan. States not named in start=
        are 0; those that end= does not name are free.
    until: the end, s; a pair (earliest, latest) leaves it to the plan.
    parameters: symbol → value; for unknown ones the first guess.
    bounds: state, velocity, acceleration, control, multiplier (`floor.multiplier`, `sole.multipliers[0]`), unknown, or an
        expression of them → (lower, upper). They hold at the nodes, those of states between nodes as well, to the
        tolerance; `plan.doubts` names others that are exceeded there.
    rates: control → (lower, upper) of its rate, 1/s; such a control is continuous.
    subject_to: relations of SymPy in t, q, v, a, controls and multipliers, which hold at the nodes; with `ap.at` and
        `ap.integral`, relations between instants.
    unknown: parameters that the plan chooses once: masses, lengths, stiffnesses.
    phases: the sequence of contacts, sticking and sliding: [("floor", "sole"), (), ("floor", "sole+")], see
        docs/steering.md; "auto" takes it from a motion as guess=; "any", for unknown= without controls, simulates whatever
        happens.
    durations: bounds of the durations of phases=, s: (shortest, longest), None for an open side, or None for each of them.
    guess: None (a straight line), a motion, a plan with its mesh and unknowns, or {"t": times, x: values, u: values}; with
        several phases also "phases": the times at which all but the last one end (equal durations by default). With
        phases="any" a motion or a plan: the search begins with its start and its unknowns.
    attempts: number of guesses to try, the later ones perturbed at random (`seed`); the best plan is returned.
    tolerance: allowed difference of the simulated motion, as a fraction of the size of the states.
    progress: True for a line for each mesh, or a function (iteration, objective).
    backend: for the simulation that checks the plan.

    Returns
    -------
    `MotionPlan`. Ctrl-C ends the search; the plan then holds the best result so far, and is not `ok`.
    """
    system = system_of(system, "ap.optimize")
    if isinstance(until, Mapping):
        order = "(system, minimize, controls, start, until, parameters, end=…)"
        raise ArgumentError(f"until= is a time, not the states at the end: the order is ap.optimize{order}")
    t0 = finite(since, "since=")
    latest = until[1] if isinstance(until, tuple | list) and len(until) == 2 else until
    system, parameters = settled(system, parameters, (t0, finite(latest, "until=")))
    _refuse_records(system)
    if phases is None:
        refuse_friction(system, "ap.optimize without phases=")
    if not isinstance(progress, bool) and not callable(progress):
        raise ModelError(f"progress= is True, False or a function of (iteration, objective), not {shown(progress)}")
    tol = finite(tolerance, "tolerance=")
    if not 1e-12 <= tol < 1:
        raise ModelError(f"tolerance= is a share between 1e-12 and 1, not {shown(tolerance)}")
    request = read_request(
        system, minimize, controls, start, end, since, until, parameters,
        bounds=bounds, rates=rates, subject_to=subject_to, unknown=unknown,
    )  # fmt: skip
    if not request.steered.inputs and not request.unknown and not _free_start(request):
        raise ModelError("nothing can be chosen: give controls=, unknown= or a start with ap.free")
    if isinstance(phases, str) and phases == "any":
        if items_of(durations, "durations="):
            raise ModelError("durations= is for phases that are named; with phases='any' the motion decides")
        search = DesignSearch(request, guess, tol, progress, {"backend": backend})
        return search.plan(whole(attempts, "attempts=", 1, 10_000), whole(seed, "seed=", 0))
    contact_phases, ends = _phases(request.system, phases, guess)
    request = replace(request, phase_durations=read_durations(durations, contact_phases, request.duration))
    setting = PlanSetting(request, guess, tol, contact_phases, ends)
    search = PlanSearch(setting, whole(seed, "seed=", 0), progress, {"backend": backend})
    return search.plan(whole(attempts, "attempts=", 1, 10_000))


def _phases(system: System, phases: Any, guess: Any) -> tuple[tuple[ContactPhase, ...], tuple[float, ...]]:
    """The phases of a plan, and the fractions of the guess at which they end, if known."""
    if phases is None:
        return one_phase(system), ends_of_phases(guess, 1)
    if isinstance(phases, str) and phases == "auto":
        return phases_of_motion(system, getattr(guess, "simulated", guess))
    contact_phases = read_phases(system, phases)
    return contact_phases, ends_of_phases(guess, len(contact_phases))


def _refuse_records(system: System) -> None:
    """Raises for records in the system: only time loops can read samples, and a plan differentiates with respect to time."""
    records = records_of(system.parameters)
    if records:
        raise ModelError(
            f"the record '{records[0].name}' is read by simulations alone; for a plan write it as w = ap.prescribed(…), with"
            " parameters={w: (times, values)}, which is a smooth function of time"
        )


def _free_start(request: Any) -> bool:
    return bool((~request.start.fixed).any()) or request.duration[0] < request.duration[1]


__all__ = ["optimize"]
