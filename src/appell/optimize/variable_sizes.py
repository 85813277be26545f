"""Sizes of the variables of a plan, in any units of length, time and mass.

States have the sizes of the guess, of their ends and bounds; those that have none, the size that their inertia gives them
beside the others. States of first order have no inertia: one that stays at zero up to rounding has the size to which the terms
of its rate, which cancel, would bring it. Whatever else has no size of its own (inputs without bounds, multipliers, slacks,
impulses) is as large as the equations allow: with the smallest size s_k at which it balances the known terms of an equation,

    s_k = min_i  max_j |g_ij| s_j / |g_ik|        g_ij = ∂g_i/∂w_j at the guess, over the equations i of a node, j of known size
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.graph.node_program import NodeFunction
from appell.optimize.state_sizes import by_inertia, inertia_roots
from appell.optimize.transcription import PlannedMotion, Transcription
from appell.rows import left_inverse

Array = NDArray[np.float64]
Bounds = tuple[Array, Array]

SOLVER_ROUNDING = 1e-9
"""Fraction of a size by inertia below which a guess does not determine the scale of a variable."""
NO_BOUND = 1e8
"""A bound this many times larger than the variable otherwise is counts as none."""
FAR_REACTION = 1e3
"""Multipliers of a guess count up to this multiple of the size that the equations suggest: a guess may be nearly singular."""
SAMPLED_NODES, SHAKEN = 5, 0.3
"""Nodes at which equations are differentiated; variables there are also moved by this fraction of their size, because
derivatives may vanish at the guess itself."""
SIZING_ROUNDS = 3
"""Rounds in which variables get sizes by equations: one that has got a size may give one to another."""


@dataclass(frozen=True, eq=False)
class VariableSizes:
    """Scales of the variables of a program, (n,), the roots of the inertias of the states, (nz,), and guesses of the integrals,
    none of them 0: a root of an integral has no derivative there."""

    scales: Array
    roots: Array
    integrals: Array


def variable_sizes(transcription: Transcription, guess: PlannedMotion, bounds: Bounds, numbers: Array) -> VariableSizes:
    """The sizes of x on a mesh; numbers: p of the program."""
    model, scales, T = transcription.model, np.zeros(transcription.n), guess.duration
    x = transcription.packed(guess)
    shared = np.array([_size(x[k], bounds[0][k], bounds[1][k]) for k in range(transcription.shared)])
    roots, phases = _roots(transcription, guess, numbers), range(len(model.phases))
    columns = [
        np.concatenate([np.append(transcription.node_places(k)[:, i], transcription.start_places(k)[i]) for k in phases])
        for i in range(model.phases[0].graph.nz)
    ]
    states = _state_sizes(x, bounds, columns, roots, _kinematics(transcription, guess, numbers), T)
    a = np.max([np.abs(x[transcription.part(k, "a")]).max(axis=0, initial=0.0) for k in phases], axis=0)
    known = _GuessData(x, bounds, shared, states, roots, a, T)
    for phase, functions in enumerate(model.phases):
        places, start = transcription.node_places(phase), transcription.start_places(phase)
        sizes, shared = _phase_sizes(transcription, phase, replace(known, shared=shared), numbers)
        sizes = np.where(sizes > 0, sizes, _default_sizes(model.request, functions.graph, T))
        scales[places], scales[start] = sizes, sizes[: functions.graph.nz]
    scales[: transcription.shared] = np.where(shared > 0, shared, 1.0)
    for k in range(len(model.junctions)):
        scales[transcription.impulse_places(k)] = _impulse_sizes(transcription, k, x, scales, numbers)
    count = len(model.integrals)
    integrals = x[transcription.shared - count : transcription.shared]
    if count and not integrals.all():
        integrals = np.where(integrals != 0, integrals, _integrals(transcription, x, scales, numbers))
        scales[transcription.shared - count : transcription.shared] = np.abs(integrals)
    return VariableSizes(scales, roots, integrals)


@dataclass(frozen=True, eq=False)
class _GuessData:
    """The guess x, its bounds, sizes of the shared variables and of the states, the roots of their inertias, its accelerations,
    and the duration, s."""

    x: Array
    bounds: Bounds
    shared: Array
    states: Array
    roots: Array
    accelerations: Array
    T: float


def _phase_sizes(transcription: Transcription, phase: int, known: _GuessData, numbers: Array) -> tuple[Array, Array]:
    """Sizes of a node of a phase, 0 where nothing determines one, and those of the shared variables."""
    graph, x, T = transcription.model.phases[phase].graph, known.x, known.T
    inputs = list(graph.indices("u"))
    by_equations = lambda sizes, shared: _by_equations(transcription, phase, sizes, shared, x, numbers)
    sizes, input_places = np.zeros(graph.nw), transcription.part(phase, "u").T
    sizes[: graph.nz], sizes[inputs] = known.states, [_size(x[at], *_bounds_at(known.bounds, at)) for at in input_places]
    reached = _sizes_by_rates(transcription, phase, sizes, known.shared, known, numbers)
    sizes[: graph.nz] = np.where(known.states > SOLVER_ROUNDING * reached, known.states, 0.0)
    sizes[inputs] = 0.0
    sizes = _with_accelerations(graph, sizes, known.accelerations, T)
    if not sizes.any():  # nothing but inputs has a size: they move what is at rest
        sizes[inputs] = [_size(x[at], *_bounds_at(known.bounds, at)) for at in input_places]
        sizes = _with_accelerations(graph, sizes, by_equations(sizes, known.shared)[0][list(graph.indices("a"))], T)
    natural = by_equations(sizes, known.shared)[0][inputs]
    sizes[inputs] = [_size(x[at], *_bounds_at(known.bounds, at), s) for at, s in zip(input_places, natural, strict=True)]
    sizes[inputs] = np.where(sizes[inputs] > SOLVER_ROUNDING * natural, sizes[inputs], natural)
    sizes, shared = by_equations(sizes, known.shared)
    sizes[: graph.nz] += np.where(
        sizes[: graph.nz] > 0, 0.0, _sizes_by_rates(transcription, phase, sizes, shared, known, numbers)
    )
    lam = list(graph.indices("lam"))
    guessed = np.abs(x[transcription.part(phase, "lam")]).max(axis=0, initial=0.0)
    sizes[lam] = np.clip(guessed, sizes[lam], FAR_REACTION * sizes[lam])
    return sizes, shared


def _default_sizes(request: Any, graph: Any, T: float) -> Array:
    """Sizes of what has none: 1, rates by the duration."""
    sizes = np.ones(graph.nw)
    sizes[graph.form.nq : graph.nz], sizes[list(graph.indices("a"))] = 1 / T, 1 / T**2
    rated = {s for c, s in zip(graph.inputs, request.steered.controls, strict=True) if c is not s}
    sizes[list(graph.indices("u"))] = [1 / T if s in rated else 1.0 for s in graph.inputs]
    return sizes


def _impulse_sizes(transcription: Transcription, k: int, x: Array, scales: Array, numbers: Array) -> Array:
    """Sizes of the impulses between two phases."""
    before, after = transcription.node_places(k)[-1], transcription.start_places(k + 1)
    at = transcription.impulse_places(k)
    w = x[np.concatenate([before, after, at])]
    sizes = np.concatenate([scales[before], scales[after], np.zeros(len(at)), scales[: transcription.shared]])
    function = transcription.model.junctions[k].function
    balanced = _balanced(function, w[None], x[: transcription.shared], np.zeros((1, 1)), numbers, sizes, None)
    impulses = balanced[len(before) + len(after) : len(w)]
    return np.where(impulses > 0, impulses, 1.0)


def _integrals(transcription: Transcription, x: Array, scales: Array, numbers: Array) -> Array:
    """The integrals near the guess, its variables moved by a part of their sizes; 1 where they vanish there too."""
    rng, totals = np.random.default_rng(0), np.zeros(len(transcription.model.integrals))
    for phase, functions in enumerate(transcription.model.phases):
        places, theta = transcription.node_places(phase), x[: transcription.shared]
        w = x[places] + SHAKEN * scales[places] * rng.uniform(-1, 1, places.shape)
        columns = [np.repeat(np.asarray(value)[:, None], len(w), axis=1) for value in (theta, numbers)]
        g = np.array(functions.node.values.map(len(w))(w.T, columns[0], transcription.node_data(phase).T, columns[1])[0])
        totals += g[len(g) - functions.integrals :].sum(axis=1)
    return np.where(np.isfinite(totals) & (totals != 0), totals, 1.0)


def _bounds_at(bounds: Bounds, at: Any) -> Bounds:
    return bounds[0][at], bounds[1][at]


def _size(x: Any, low: Any, high: Any, other_size: float = 0.0) -> float:
    """The largest of some numbers and of those bounds that are not far beyond them, nor beyond another size."""
    reference = max(float(np.abs(x).max(initial=0.0)), other_size)
    limits = np.abs(np.concatenate([np.ravel(low), np.ravel(high)]))
    limits = limits[np.isfinite(limits) & (limits < (NO_BOUND * reference or np.inf))]
    return max(float(np.abs(x).max(initial=0.0)), float(limits.max(initial=0.0)))


def _numbers(transcription: Transcription, guess: PlannedMotion, numbers: Array) -> Array:
    """The parameters of the first phase's system, with the unknown ones of a guess."""
    model = transcription.model
    table = dict(zip(model.shared.names, numbers, strict=False)) | dict(zip(model.shared.unknown, guess.unknown, strict=True))
    return np.array([table[s] for s in model.phases[0].graph.system.parameters], dtype=float)


def _sampled_nodes(count: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, count - 1, SAMPLED_NODES).astype(np.intp))


def _roots(transcription: Transcription, guess: PlannedMotion, numbers: Array) -> Array:
    graph, t0, states = transcription.model.phases[0].graph, float(numbers[len(transcription.model.shared.names)]), []
    for phase in guess.phases:
        nodes = phase.nodes.reshape(-1, phase.nodes.shape[-1])
        states += [
            (t0 + float(phase.tau.ravel()[k]) * phase.duration, nodes[k, : graph.nz]) for k in _sampled_nodes(len(nodes))
        ]
        t0 += phase.duration
    return inertia_roots(graph.form, states, _numbers(transcription, guess, numbers))


def _kinematics(transcription: Transcription, guess: PlannedMotion, numbers: Array) -> tuple[Array, Array]:
    """|N| and |N⁺| at the start."""
    graph, z = transcription.model.phases[0].graph, guess.phases[0].first
    t0 = float(numbers[len(transcription.model.shared.names)])
    N = graph.form.select("N")(t0, z[: graph.form.nq], z[graph.form.nq :], _numbers(transcription, guess, numbers))["N"]
    if not np.isfinite(N).all():
        return np.ones(N.shape), np.ones(N.T.shape)
    return np.abs(N), np.abs(left_inverse(N))


def _state_sizes(
    x: Array, bounds: Bounds, columns: list[Any], roots: Array, kinematics: tuple[Array, Array], T: float
) -> Array:  # fmt: skip
    """Sizes of the states, (nz,); 0 where nothing determines one. kinematics: |N| and |N⁺|."""
    N, N_plus = kinematics
    nq = len(N)
    unbounded = np.full(2, np.inf)
    guessed = np.array([_size(x[at], unbounded, unbounded) for at in columns])
    natural = by_inertia(guessed, roots, nq)
    sizes = np.array([_size(x[at], *_bounds_at(bounds, at), b) for at, b in zip(columns, natural, strict=True)])
    typical = by_inertia(sizes, roots, nq)
    sizes = np.where(sizes > SOLVER_ROUNDING * typical, sizes, typical)
    q, v = sizes[:nq], np.maximum(sizes[nq:], N_plus @ sizes[:nq] / T)
    v = np.where(v > 0, v, by_inertia(np.concatenate([q, v]), roots, nq)[nq:])
    return np.concatenate([np.where(q > 0, q, N @ v * T), v])


def _with_accelerations(graph: Any, sizes: Array, a: Array, T: float) -> Array:
    """Sizes with those of accelerations, from velocities; where no state has a size, states from accelerations."""
    sizes, nq, nv = sizes.copy(), graph.form.nq, graph.form.nv
    if not sizes[: graph.nz].any() and a.any():
        sizes[nq : graph.nz] = a * T
        if nq == nv:
            sizes[:nq] = a * T**2
    sizes[list(graph.indices("a"))] = sizes[nq : graph.nz] / T
    return sizes


def _by_equations(
    transcription: Transcription, phase: int, node_sizes: Array, shared: Array, x: Array, numbers: Array
) -> tuple[Array, Array]:
    """Sizes of a node and of the shared variables, with those that the equations of a node determine."""
    functions = transcription.model.phases[phase]
    places = transcription.node_places(phase)
    at = _sampled_nodes(len(places))
    d = transcription.node_data(phase)[at]
    for _ in range(SIZING_ROUNDS):
        sizes = np.concatenate([node_sizes, shared])
        balanced = _balanced(functions.node, x[places[at]], x[: len(shared)], d, numbers, sizes, functions)
        if (balanced == sizes).all():
            break
        node_sizes, shared = balanced[: len(node_sizes)], balanced[len(node_sizes) :]
    return node_sizes, shared


def _sizes_by_rates(
    transcription: Transcription, phase: int, node_sizes: Array, shared: Array, known: _GuessData, numbers: Array
) -> Array:  # fmt: skip
    """The distance that the rates of states of first order move them, T max_j |∂ż_i/∂w_j| s_j over all other variables, (nz,);
    0 for states with an inertia, and where nothing that a rate contains has a size."""
    functions, first_order = transcription.model.phases[phase], known.roots == 0
    nz = len(first_order)
    if not first_order.any():
        return np.zeros(nz)
    places = transcription.node_places(phase)
    at = _sampled_nodes(len(places))
    d = transcription.node_data(phase)[at]
    sizes = np.concatenate([np.where(first_order, 0.0, node_sizes[:nz]), node_sizes[nz:], shared])
    J = _slopes_near(functions.node, known.x[places[at]], known.x[: len(shared)], d, numbers, sizes)
    rows = (J[:, :nz] * sizes).max(axis=2) / np.tile(d[:, 1], 2)[:, None]  # defects contain h T ż
    return np.where(first_order, rows.max(axis=0), 0.0)


def _slopes_near(function: NodeFunction, w: Array, theta: Array, d: Array, numbers: Array, sizes: Array) -> Array:
    """|∂g/∂(w, θ)| at some nodes w (k, nw) and near them, (2 k, ng, nw + nθ)."""
    rng = np.random.default_rng(0)
    perturbed = w + SHAKEN * sizes[: w.shape[1]] * rng.uniform(-1, 1, w.shape)
    points, data = np.vstack([w, perturbed]), np.vstack([d, d])
    repeated = lambda value: np.repeat(np.asarray(value)[:, None], len(points), axis=1)
    entries = np.array(function.slopes.map(len(points))(points.T, repeated(theta), data.T, repeated(numbers)))
    i, j = function.slope_places
    J = np.zeros((len(points), function.g.numel(), len(sizes)))
    J[:, i, j] = np.abs(np.where(np.isfinite(entries), entries, 0.0)).T
    return J


def _balanced(function: NodeFunction, w: Array, theta: Array, d: Array, numbers: Array, sizes: Array, node: Any) -> Array:
    """Sizes of (w, θ) with those filled in that balance the known terms of the equations at some nodes w (k, nw).

    node: of a phase; its first rows are defects, whose other side are the states; its relations and integrals are no
    equations.
    """
    if (sizes > 0).all():
        return sizes
    J = _slopes_near(function, w, theta, d, numbers, sizes)
    known = (J * sizes).max(axis=2)  # (k, ng)
    if node is not None:
        nz = node.graph.nz
        known[:, :nz] = np.maximum(known[:, :nz], np.tile(d[:, 1], 2)[:, None] * sizes[:nz])
        relations_end = J.shape[1] - node.integrals
        J[:, relations_end - len(node.path_rows) :] = 0.0
    with np.errstate(all="ignore"):
        balance = np.where((J > 0) & (known > 0)[:, :, None], known[:, :, None] / J, np.inf).min(axis=1)
    filled = sizes.copy()
    for k in np.flatnonzero(sizes == 0):
        candidates = balance[np.isfinite(balance[:, k]), k]
        if len(candidates):
            filled[k] = float(np.median(candidates))
    return filled


__all__ = ["VariableSizes", "variable_sizes"]
