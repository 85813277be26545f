"""The check of a plan: `simulate` with its inputs.

Inputs are polynomials on each interval of the mesh. They are passed as records, so that the compiled code does not depend on
their numbers and every step ends at their breaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from appell.backends import silence
from appell.compiled.run import Run
from appell.jets import t as time
from appell.model import System
from appell.model.measured import MeasuredRecord
from appell.model.prescription import recorded
from appell.motion.motion import Motion
from appell.normal_form.manifold import project
from appell.optimize.plan_model import PlanModel
from appell.optimize.state_sizes import StateSizes
from appell.optimize.transcription import PlannedMotion
from appell.simulate.arguments import LEAST_TOLERANCE
from appell.simulate.simulate import simulate

Array = NDArray[np.float64]


START_NOISE = 1e-8
"""Fraction of the solver noise (`StateSizes.least`, 1e-5 of a state) below which a start value is zero."""


def input_records(model: PlanModel, planned: PlannedMotion) -> dict[Any, Any]:
    """Input → its polynomials in time, as an expression of records."""
    request = model.request
    return {s: _polynomials(str(s), k, model, planned) for k, s in enumerate(request.steered.inputs)}


def _polynomials(name: str, k: int, model: PlanModel, planned: PlannedMotion) -> Any:
    knots, rows, t0 = [], [], model.request.since
    for functions, phase in zip(model.phases, planned.phases, strict=True):
        times = t0 + phase.breaks * phase.duration
        values = phase.nodes[:, :, functions.graph.indices("u")[k]]
        powers = np.diff(times)[:, None] ** np.arange(phase.table.s)
        rows.append(np.column_stack([values @ phase.table.powers.T / powers, times[:-1]]))
        knots.append(times[:-1])
        t0 = float(times[-1])
    degree = planned.phases[0].table.s - 1
    if not degree:
        return MeasuredRecord(name, "zero", np.append(np.concatenate(knots), t0), np.vstack(rows)[:, :1]).letter(0)
    record = MeasuredRecord(name, "polynomial", np.append(np.concatenate(knots), t0), np.vstack(rows))
    s = time - record.letter(degree + 1)
    return sympy.Add(*(record.letter(j) * s**j for j in range(degree + 1)))


def driven_system(model: PlanModel, planned: PlannedMotion) -> tuple[System, dict[Any, float]]:
    """The system with the inputs of a plan substituted, and the values of its other parameters."""
    request = model.request
    system = request.system
    if request.steered.inputs:
        system = recorded(system, tuple(input_records(model, planned).items()))
    values = dict(request.parameters) | dict(zip(request.unknown, map(float, planned.unknown), strict=True))
    return system, {s: values[s] for s in system.parameters if s in values}


@dataclass(frozen=True, eq=False)
class PlanSampler:
    """times (k,) → (q, v, work): the polynomials of a plan, projected onto the rows; work is that of the simulated motion."""

    run: Run
    planned: PlannedMotion
    since: float
    work: tuple[Array, Array]

    def __call__(self, times: Array) -> tuple[Array, Array, Array]:
        z = states_at(self.planned, self.since, times)
        form, nq = self.run.form, self.run.form.nq
        if form.rows or form.quaternions:
            for k, t in enumerate(times):
                q, v = project(form, float(t), z[k, :nq].copy(), z[k, nq:].copy(), self.run.p_at(float(t)))
                z[k] = np.concatenate([q, v])
        return z[:, :nq], z[:, nq:], np.interp(times, *self.work)


def states_at(planned: PlannedMotion, since: float, times: Array) -> Array:
    """z of a plan at times, (k, nz)."""
    ends = since + np.cumsum([0.0, *(phase.duration for phase in planned.phases)])
    phase_index = np.clip(np.searchsorted(ends, times, side="left") - 1, 0, len(planned.phases) - 1)
    z = np.zeros((len(times), planned.phases[0].nz))
    for k, phase in enumerate(planned.phases):
        inside = phase_index == k
        if inside.any():
            z[inside] = phase.states_at(np.clip((times[inside] - ends[k]) / phase.duration, 0.0, 1.0))
    return z


def node_times(planned: PlannedMotion, since: float) -> Array:
    """Start and nodes, s, increasing."""
    times, t0 = [np.array([since])], since
    for phase in planned.phases:
        times.append(t0 + phase.tau.ravel() * phase.duration)
        t0 += phase.duration
    return np.concatenate(times)


@dataclass(frozen=True, eq=False)
class Replay:
    """The motion by `simulate` with the inputs, the plan's own at its nodes, and their difference.

    error: max |z_plan − z_simulated| / size of z over nodes, coordinates and velocities; infinite where the run ends before the
    plan. sizes: the largest |z| of each along the motion, at least a thousandth of that by its inertia.
    """

    simulated: Motion
    motion: Motion
    error: float
    worst: str

    def against(self, tolerance: float) -> str:
        """The objection to a plan on the finest mesh, if any."""
        if not self.error <= tolerance:
            return f"the simulated motion is {self.error:.2g} from the plan ({self.worst}), more than tolerance={tolerance:g}"
        return "the objective still changes from mesh to mesh"


def replay(
    model: PlanModel, planned: PlannedMotion, tolerance: float, options: Mapping[str, Any], states: StateSizes
) -> Replay:
    """Simulates the inputs of a plan."""
    request = model.request
    system, values = driven_system(model, planned)
    times = node_times(planned, request.since)
    z = states_at(planned, request.since, times)
    nq = system.nq
    z0 = planned.phases[0].first
    z0 = np.where(np.abs(z0) < START_NOISE * states.least, 0.0, z0)  # solver noise is no start off the rows
    start = dict(zip((*system.positions, *system.velocities), z0, strict=True))
    strict = min(1e-9, tolerance * 1e-3)  # the error of the simulation itself must not count
    absolute = np.maximum(strict * 1e-3 * states.over([z]), LEAST_TOLERANCE)  # of each state, in its own units
    simulated = _quietly(
        system, start, float(times[-1]), values, since=request.since, times=times, rtol=strict, atol=absolute, **options
    )
    error, worst = distance(request.states, simulated, times, z, states, _struck(model, planned, times))
    work = (simulated.t, simulated.work) if len(simulated.t) > 1 else (times, np.zeros(len(times)))
    sampler = PlanSampler(simulated.run, planned, request.since, work)
    motion = _motion(simulated, times, z, nq, sampler)
    return Replay(simulated, motion, error, worst)


def _quietly(*arguments: Any, **options: Any) -> Motion:
    """`simulate` without warnings; the plan's message contains them."""
    with silence():
        return simulate(*arguments, **options)


def _struck(model: PlanModel, planned: PlannedMotion, times: Array) -> NDArray[np.bool_]:
    """Whether each node is at an impact, where a velocity has two values, (k,)."""
    counts = [phase.nodes.shape[0] * phase.nodes.shape[1] for phase in planned.phases]
    struck = np.zeros(len(times), dtype=bool)
    struck[[node for node, junction in zip(np.cumsum(counts), model.junctions, strict=False) if junction.impulses]] = True
    return struck


def distance(
    states: tuple[Any, ...], simulated: Motion, times: Array, z: Array, sizes: StateSizes, struck: NDArray[np.bool_]
) -> tuple[float, str]:
    """The error of a plan, and the state in which it is largest."""
    if len(simulated.t) < len(times) or simulated.t[-1] < times[-1] - 1e-9 * abs(times[-1] - times[0]):
        return np.inf, simulated.message
    z_simulated = np.hstack([simulated.q, simulated.v])[: len(times)]
    differences = np.abs(z_simulated - z) / sizes.over([z, z_simulated])
    differences[np.ix_(struck, np.arange(len(states)) >= sizes.nq)] = 0.0
    largest = differences.max(axis=0)
    return float(largest.max(initial=0.0)), str(states[int(largest.argmax())])


def _motion(simulated: Motion, times: Array, z: Array, nq: int, sampler: PlanSampler) -> Motion:
    """The plan's own motion: states of the plan, with the events of the simulated one."""
    work = np.interp(times, *sampler.work)
    statistics = {"largest_defect": 0.0, "seconds": simulated.statistics.get("seconds", 0.0)}
    return replace(
        simulated, t=times, q=z[:, :nq], v=z[:, nq:], work=work, method="collocation at Radau's points", statistics=statistics,
        sampler=sampler, origin=None, span=(float(times[0]), float(times[-1])), doubts=(),
    )  # fmt: skip


__all__ = ["Replay", "driven_system", "input_records", "node_times", "replay", "states_at"]
