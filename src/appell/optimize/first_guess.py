"""The first guess of a plan: a straight line from start to end, a motion, or arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.motion.motion import Motion
from appell.normal_form import NormalForm
from appell.normal_form.manifold import project, residuals
from appell.optimize.phase_graph import PhaseGraph
from appell.optimize.plan import MotionPlan
from appell.optimize.radau_points import radau
from appell.optimize.steering_request import SteeringRequest
from appell.optimize.transcription import PlannedPhase
from appell.reading import name_in, reals, shown
from appell.rows import RANK_LOST, least_squares, left_inverse, null_space

Array = NDArray[np.float64]

GUESSED_TIMES = 200
"""Times at which a motion is read as a guess."""
UNRESOLVED, MOST_FIRST = 0.05, 64
"""A first mesh is finer where its polynomials miss a guess by more than this fraction of the range of a state, up to so many
intervals."""


@dataclass(frozen=True, eq=False)
class GuessedMotion:
    """Times (k,) from 0 to the duration, states (k, nz) and inputs (k, nu) at them; linear in between."""

    times: Array
    states: Array
    inputs: Array

    @property
    def duration(self) -> float:
        return float(self.times[-1] - self.times[0])

    def at(self, share: Array) -> tuple[Array, Array]:
        t = self.times[0] + share * self.duration
        columns = lambda table: (
            np.stack([np.interp(t, self.times, y) for y in table.T], axis=1) if table.shape[1] else np.zeros((len(t), 0))
        )
        return columns(self.states), columns(self.inputs)


def guessed(request: SteeringRequest, guess: Any, start: Array, end: Array, form: NormalForm, p: Array) -> GuessedMotion:
    """The given guess, or the straight line from start to end."""
    if guess is None:
        return _line(request, start, end, form, p)
    motion = getattr(guess, "motion", guess)  # a plan is used by its motion
    if isinstance(motion, Motion):
        return _from_motion(request, guess, motion)
    if isinstance(guess, Mapping):
        return _from_arrays(request, guess, _line(request, start, end, form, p))
    if isinstance(guess, MotionPlan):
        return _from_mesh(request, guess)
    raise ModelError(f"guess= is None, a motion, a plan, or {{'t': times, x: values, …}}, not {shown(guess)}")


def _duration(request: SteeringRequest) -> float:
    """The geometric mean of the bounds of the duration, s; a quarter of the upper one where the lower one hardly bounds it."""
    low, high = request.duration
    return low if low == high else float(np.sqrt(low * high)) if low > 1e-4 * high else high / 4


def input_limits(request: SteeringRequest) -> Array:
    """Bounds of the inputs, (nu, 2)."""
    return np.array([request.bounds.get(s, (-np.inf, np.inf)) for s in request.steered.inputs]).reshape(-1, 2)


def inside(low: Array, high: Array) -> Array:
    """0 where the bounds allow it; else the middle of finite bounds, or the nearest bound."""
    nearest = np.clip(0.0, low, high)
    bounded = np.isfinite(low) & np.isfinite(high) & ((low > 0) | (high < 0))
    return np.where(bounded, np.where(bounded, low, 0) / 2 + np.where(bounded, high, 0) / 2, nearest)


def _line(request: SteeringRequest, start: Array, end: Array, form: NormalForm, p: Array) -> GuessedMotion:
    T, nq = _duration(request), form.nq
    share = np.linspace(0, 1, 33)[:, None]
    z = start + share * (end - start)
    for group in form.quaternions:
        z[:, list(group)] = _great_circle(start[list(group)], end[list(group)], share)
    path = _path_on_rows(form, request.since, start, end[:nq], p) if form["f0"].numel() else None
    if path is not None:
        z[:, :nq] = path
        N = left_inverse(form.select("N")(request.since, start[:nq], start[nq:], p)["N"])
        z[1:-1, nq:] = np.gradient(path, T / 32, axis=0)[1:-1] @ N.T
        u = inside(*input_limits(request).T) if request.steered.inputs else np.zeros(0)
        return GuessedMotion(share[:, 0] * T, z, np.tile(u, (len(z), 1)))
    N = left_inverse(form.select("N")(request.since, start[:nq], start[nq:], p)["N"])
    slope = N @ (end[:nq] - start[:nq]) / T
    if np.isfinite(slope).all() and np.any(end[:nq] != start[:nq]):
        z[1:-1, nq:] = slope  # the ends keep their velocities
    u = inside(*input_limits(request).T) if request.steered.inputs else np.zeros(0)
    return GuessedMotion(share[:, 0] * T, z, np.tile(u, (len(z), 1)))


def _great_circle(start: Array, end: Array, share: Array) -> Array:
    """Quaternions on the great circle from one to another, (k, 4); an arbitrary one where they are opposite (a full turn)."""
    start, end = start / np.linalg.norm(start), end / np.linalg.norm(end)
    angle = float(np.arccos(np.clip(start @ end, -1.0, 1.0)))
    across = end - (start @ end) * start
    if np.linalg.norm(across) < 1e-6:  # equal or opposite: every great circle through one contains the other
        across = start[[1, 0, 3, 2]] * np.array([-1.0, 1.0, -1.0, 1.0])  # orthogonal to it
    return np.cos(share * angle) * start + np.sin(share * angle) * across / np.linalg.norm(across)


def _path_on_rows(form: NormalForm, t: float, start: Array, goal: Array, p: Array) -> Array | None:
    """33 equidistant configurations on the rows from start to goal, by steps along the rows towards the goal.

    From a start where no direction leads nearer (the opposite point of a circle) the first step is random. None if the goal
    is not reached.
    """
    nq, rng = form.nq, np.random.default_rng(0)
    q, v = start[:nq].copy(), start[nq:]
    blocks, path = form.select("N", "A0"), [start[:nq]]
    distance = float(np.linalg.norm(goal - q))
    if not distance > 0:
        return None
    with np.errstate(all="ignore"):
        for _ in range(400):
            matrices, to_goal = blocks(t, q, v, p), goal - q
            N, Z = matrices["N"], null_space(matrices["A0"])
            step = N @ (Z @ (Z.T @ (left_inverse(N) @ to_goal)))
            # the goal is orthogonal to the rows: any direction will do
            if np.linalg.norm(step) < 0.02 * np.linalg.norm(to_goal):
                kick = N @ (Z @ rng.normal(size=Z.shape[1]))
                step = step + 0.3 * np.linalg.norm(to_goal) * kick / max(np.linalg.norm(kick), 1e-300)
            # short steps: the rows may be curved, and the path is a guess to be followed
            step *= min(1.0, 0.03 * distance / max(np.linalg.norm(step), 1e-300))
            try:
                q = project(form, t, q + step, v, p)[0]
            except np.linalg.LinAlgError:
                return None
            path.append(q)
            if np.linalg.norm(goal - q) < 1e-3 * distance:
                break
    if not np.isfinite(path[-1]).all() or np.linalg.norm(goal - path[-1]) > 1e-2 * distance:
        return None
    points = np.array([*path, goal])
    length = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)))
    return np.stack([np.interp(np.linspace(0, length[-1], 33), length, x) for x in points.T], axis=1)


def _from_mesh(request: SteeringRequest, plan: MotionPlan) -> GuessedMotion:
    """A plan that was not simulated, by the polynomials of its mesh."""
    if plan.session is None:
        raise ModelError("guess= is a plan without a motion or a mesh: it was not simulated, and came from a pickle")
    times = np.union1d(plan.t, np.linspace(plan.t[0], plan.t[-1], GUESSED_TIMES))
    names = [str(s) for s in plan.session.model.request.states]
    _refuse_strange(request, names, plan.system.name)
    z = plan.session.states_at(times)
    columns = [z[:, names.index(str(s))] if str(s) in names else np.zeros(len(times)) for s in request.states]
    u = np.tile(inside(*input_limits(request).T), (len(times), 1)) if request.steered.inputs else np.zeros((len(times), 0))
    controls = plan.control_at(times)
    for k, (c, s) in enumerate(zip(request.steered.controls, request.steered.inputs, strict=True)):
        if c in controls and c is s:
            u[:, k] = controls[c]
        elif c in controls and str(request.steered.values[c]) not in names:
            columns[request.states.index(request.steered.values[c])] = controls[c]
    return GuessedMotion(times - times[0], np.stack(columns, axis=1), u)


def _refuse_strange(request: SteeringRequest, states: Collection[str], name: str) -> None:
    """Raises for a guess that has none of the states of the request."""
    if not any(str(s) in states for s in request.states):
        raise ModelError(
            f"guess= is a motion of '{name}', which has none of the states of '{request.original.name}':"
            f" {', '.join(map(str, request.states))}"
        )


def _from_motion(request: SteeringRequest, guess: Any, motion: Motion) -> GuessedMotion:
    state_names, states = {str(s) for s in (*motion.system.positions, *motion.system.velocities)}, request.states
    swapped = {str(s): c for c, s in request.steered.values.items()}
    controls = getattr(guess, "controls", {})
    _refuse_strange(request, state_names, motion.system.name)
    fine = motion.fine(GUESSED_TIMES)
    columns = []
    for s in states:
        if str(s) in state_names:
            columns.append(fine[str(s)])
        elif str(s) in swapped and swapped[str(s)] in controls:
            columns.append(np.interp(fine.t, guess.t, controls[swapped[str(s)]]))
        else:
            columns.append(np.zeros(len(fine.t)))
    u = np.tile(inside(*input_limits(request).T), (len(fine.t), 1)) if request.steered.inputs else np.zeros((len(fine.t), 0))
    for k, (c, s) in enumerate(zip(request.steered.controls, request.steered.inputs, strict=True)):
        if c is s and c in controls:
            u[:, k] = np.interp(fine.t, guess.t, controls[c])
        elif c is s and str(c) in motion.input_names:
            u[:, k] = fine[str(c)]
    return GuessedMotion(fine.t - fine.t[0], np.stack(columns, axis=1), u)


def _from_arrays(request: SteeringRequest, guess: Mapping[Any, Any], line: GuessedMotion) -> GuessedMotion:
    entries = {name_in(key): value for key, value in guess.items() if name_in(key) != "phases"}
    times = reals(entries.pop("t", line.times), "the times of guess=", infinite=False)
    if times.ndim != 1 or len(times) < 2 or not (np.diff(times) > 0).all():
        raise ModelError("the times of guess= are two or more numbers that increase")
    share = (times - times[0]) / (times[-1] - times[0])
    states, inputs = line.at(share)
    names = {str(s): ("z", i) for i, s in enumerate(request.states)}
    for k, (c, s) in enumerate(zip(request.steered.controls, request.steered.inputs, strict=True)):
        names |= {str(s): ("u", k)} | ({str(c): ("u", k)} if c is s else {})
    for name, value in entries.items():
        if name not in names:
            raise ModelError(
                f"guess= names {name}, which is neither a state nor a control; there are {', '.join(names)}, and 't'"
            )
        values = reals(value, f"the guess of {name}", infinite=False)
        if values.shape not in ((), times.shape):
            raise ModelError(f"the guess of {name} has shape {values.shape}, and there are {len(times)} times")
        kind, i = names[name]
        (states if kind == "z" else inputs)[:, i] = values
    return GuessedMotion(times - times[0], states, inputs)


def ends_of_phases(guess: Any, count: int) -> tuple[float, ...]:
    """Fractions of a guess at which its phases end, if it is given as arrays with the times of these ends; () otherwise.

    guess["phases"]: the times at which all phases but the last one end, (count − 1,), s.
    """
    entries = {name_in(key): value for key, value in guess.items()} if isinstance(guess, Mapping) else {}
    if "phases" not in entries:
        return ()
    ends = reals(entries["phases"], "the ends of phases in guess=", infinite=False)
    times = reals(entries.get("t", ()), "the times of guess=", infinite=False)
    if times.ndim != 1 or len(times) < 2:
        raise ModelError("guess= tells when phases end, and needs 't': the times of its arrays")
    if ends.shape != (count - 1,) or not (np.diff([times[0], *ends, times[-1]]) > 0).all():
        raise ModelError(
            f"guess= tells when phases end by {shown(entries['phases'])}: there are {count} phases, so {count - 1} times that"
            f" increase between {shown(float(times[0]))} and {shown(float(times[-1]))} s are needed"
        )
    return (*((ends - times[0]) / (times[-1] - times[0])), 1.0)


def resolving(breaks: Array, guess: GuessedMotion, span: tuple[float, float], s: int) -> Array:
    """Breaks of a mesh whose polynomials follow a guess; `span`: the fractions of the guess that this phase covers."""
    table, x = radau(s), (np.arange(12) + 0.5) / 12
    size = np.ptp(guess.states, axis=0)
    size = np.where(size > 0, size, 1.0)
    at = lambda a, h, points: guess.at(span[0] + (a + h * points) * (span[1] - span[0]))[0] / size
    while True:
        pairs = list(zip(breaks[:-1], np.diff(breaks), strict=True))
        missed = np.array([np.abs(table.states(x) @ at(a, h, table.knots) - at(a, h, x)).max() for a, h in pairs])
        unresolved = np.flatnonzero(missed > UNRESOLVED)
        if not len(unresolved) or len(pairs) + len(unresolved) > MOST_FIRST:
            return breaks
        breaks = np.sort(np.append(breaks, breaks[unresolved] + np.diff(breaks)[unresolved] / 2))


def guessed_phase(
    graph: PhaseGraph,
    guess: GuessedMotion,
    breaks: Array,
    s: int,
    duration: float,
    span: tuple[float, float],
    p: Array,
    t0: float,
) -> PlannedPhase:
    """A guess on a mesh, with its states projected onto the rows; `span`: the fractions of the guess that this phase covers."""
    table = radau(s)
    tau = np.append(0.0, (breaks[:-1, None] + np.diff(breaks)[:, None] * table.nodes).ravel())
    states, inputs = guess.at(span[0] + tau * (span[1] - span[0]))
    if graph.form.rows or graph.form.quaternions:
        states = np.array([near_rows(graph.form, z, t0 + x * duration, p) for z, x in zip(states, tau, strict=True)])
    nodes = np.zeros((len(tau) - 1, graph.nw))
    nodes[:, : graph.nz] = states[1:]
    nodes[:, list(graph.indices("u"))] = inputs[1:]
    input_places = [graph.system.parameters.index(x) for x in graph.inputs]
    for k, w in enumerate(nodes):
        p = p.copy()
        p[input_places] = inputs[k + 1]
        a, lam = _accelerations(graph, t0 + tau[k + 1] * duration, w[: graph.nz], p)
        w[list(graph.indices("a"))], w[list(graph.indices("lam"))] = a, lam
    return PlannedPhase(breaks, states[0], nodes.reshape(len(breaks) - 1, s, -1), duration, table)


def _accelerations(graph: PhaseGraph, t: float, z: Array, p: Array) -> tuple[Array, Array]:
    """a and Λ of the independent rows, by the normal form at a state; 0 where it has no solution.

    (M  −W) (a)   (Q − h)
    (A   0) (Λ) = (−a0  )
    """
    form, nq, nv = graph.form, graph.form.nq, graph.form.nv
    linear = [row.index for row in form.rows if row.linear]
    rows, kept = (
        [k for k, i in enumerate(linear) if i in graph.independent_rows],
        [form.rows[i].linear for i in graph.independent_rows],
    )
    blocks = form.select("M", "h", "Q", "W", "A", "a0")(t, z[:nq], z[nq:], p)
    A, W = blocks["A"][rows], blocks["W"][:, rows]
    saddle = np.block([[blocks["M"], -W], [A, np.zeros((len(rows), len(rows)))]])
    right_side = np.concatenate([blocks["Q"] - blocks["h"], -blocks["a0"][rows]])
    lam = np.zeros(len(graph.independent_rows))
    if not (np.isfinite(saddle).all() and np.isfinite(right_side).all()):
        return np.zeros(nv), lam
    solution = least_squares(saddle, right_side, RANK_LOST)
    lam[kept] = solution[nv:]
    return solution[:nv], lam


def near_rows(form: NormalForm, z: Array, t: float, p: Array) -> Array:
    """The state on the rows nearest to z; z itself if none is found."""
    nq = form.nq
    with np.errstate(all="ignore"):
        try:
            q, v = project(form, t, z[:nq].copy(), z[nq:].copy(), p)
            on_rows = residuals(form, t, q, v, p).relative < 1e-6
        except np.linalg.LinAlgError:
            return z
    state = np.concatenate([q, v])
    close = np.abs(state - z).max() <= 10 * (1 + np.abs(z).max())
    return state if on_rows and close and np.isfinite(state).all() else z


def shaken(
    guess: GuessedMotion, rng: np.random.Generator, duration: tuple[float, float], limits: Array, sizes: tuple[Array, Array]
) -> GuessedMotion:
    """A perturbed guess: waves added to every state between the ends, inputs within their bounds, another duration if it is
    free. sizes: of the states, (nz,), and of the inputs, (nu,)."""
    x = np.linspace(0, 1, len(guess.times))[:, None]
    size = np.maximum(np.abs(guess.states).max(axis=0), 0.3 * sizes[0])
    waves = sum(rng.normal(size=guess.states.shape[1]) * np.sin(np.pi * k * x) / k for k in (1, 2, 3))
    span = np.where(np.isfinite(limits).all(axis=1), limits[:, 1] - limits[:, 0], 2 * sizes[1]) if len(limits) else np.zeros(0)
    beats = sum(rng.normal(size=len(span)) * np.cos(np.pi * k * x) / (k + 1) for k in (0, 1, 2)) * span / 4
    inputs = np.clip(guess.inputs + beats, limits[:, 0], limits[:, 1]) if len(limits) else guess.inputs
    T = guess.duration * float(np.exp(rng.normal() * 0.5)) if duration[0] < duration[1] else guess.duration
    T = float(np.clip(T, *duration))
    return replace(guess, times=guess.times / guess.duration * T, states=guess.states + waves * size, inputs=inputs)


__all__ = [
    "GuessedMotion", "ends_of_phases", "guessed", "guessed_phase", "input_limits", "inside", "near_rows", "resolving", "shaken",
]  # fmt: skip
