"""Initial states: values by symbol, checked against the constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ConstraintError, FormNotApplicable, ModelError
from appell.graph import Fn, make_fn
from appell.graph.algebra import column, depends, jacobian, row_major
from appell.jets import Jet
from appell.model import System
from appell.model.described import system_of
from appell.model.measured import schedule_of
from appell.model.placed import placed
from appell.model.prescription import settled
from appell.model.unilateral import Between, Face
from appell.model.values import bound, finite
from appell.normal_form import NormalForm, normal_form
from appell.normal_form.kept_momenta import momenta_function
from appell.normal_form.manifold import (
    GAP_PARTS,
    RESIDUAL_PARTS,
    Residuals,
    faces_crossed,
    project,
    residuals,
    residuals_from,
)
from appell.normal_form.move_sizes import metric_roots
from appell.normal_form.nearest import nearest
from appell.reading import items_of, name_in, text_of
from appell.remember import remembered
from appell.rows import rank, rows_of_dependencies
from appell.spelling import checked_keywords, did_you_mean

if TYPE_CHECKING:
    from appell.compiled.run import Run
    from appell.normal_form.flow import Flow

Array = NDArray[np.float64]

START_RESIDUAL = 1e-9
"""A start whose residuals are within this fraction of the size of their terms is projected; one further off is refused."""

START_OUTPUTS = ("M", "N", "A0", "f0", "f0_scale", "A1", "f1", "f1_scale")
"""Outputs of the normal form that determine the state on the constraints."""


def read(system: System, start: Mapping[Any, Any]) -> tuple[Array, Array]:
    """(q, v) of a start; values not named are 0, and the identity for a quaternion."""
    if not isinstance(start, Mapping):
        example = ", ".join(f"'{s}': {s.start:g}" for s in (*system.positions[:2], *system.velocities[:1]))
        raise ModelError(
            f"a start is {{coordinate or velocity: value}}, not {type(start).__name__}: start={{{example}}}, or"
            " dict(zip((*system.positions, *system.velocities), (*q, *v)))"
        )
    index_of, names, state = _states_of(system)
    named, state = set[int](), state.copy()
    for key, value in start.items():
        index = index_of.get(key)
        if index is None and (index := index_of.get(name_in(key))) is None:
            raise ModelError(_unknown_message(system, key))
        if index in named:
            raise ModelError(f"the start value of {text_of(key)} is given twice, by symbol and by name")
        named.add(index)
        state[index] = finite(value, names[index])
    return state[: system.nq], state[system.nq :]


@remembered
def _states_of(system: System) -> tuple[Mapping[Any, int], tuple[str, ...], Array]:
    """Index of each coordinate and velocity in the state, by symbol and by name; the name of its value in messages; and the
    default values, (nq + nv,). Cached, since printing a symbol takes microseconds."""
    symbols = (*system.positions, *system.velocities)
    index_of = {key: i for i, s in enumerate(symbols) for key in (s, str(s))}
    return index_of, tuple(f"the start value of {s}" for s in symbols), np.array([s.start for s in symbols], dtype=float)


def _unknown_message(system: System, key: Any) -> str:
    """The message for a start that names something that is no state."""
    names = ", ".join(map(str, (*system.positions, *system.velocities)))
    rates = [q for q in system.positions if name_in(key) == f"{q}.d"]
    if rates:
        return f"start names {name_in(key)}, but the rate of {rates[0]} follows from the speeds; name those: {names}"
    if name_in(key) in map(str, system.parameters):
        return f"start names {name_in(key)}, a parameter of {system.name}; give it in parameters=, behind start and until"
    hint = did_you_mean(name_in(key), names.split(", "))
    return f"start names {name_in(key)}, which is not a state of {system.name}; its states are {names}{hint}"


def check(
    system: System, form: NormalForm, p: Array, t: float, q: Array, v: Array, atol: float = 0.0
) -> tuple[Array, Array, float]:  # fmt: skip
    """(q, v) on the constraints and how far they moved; `ConstraintError` where that would be more than rounding. Behind a wall
    by `atol` is on it."""
    _refuse_outside(system, form, p, t, q, v, atol)
    for ball, group in zip(system.quaternions, form.quaternions, strict=True):
        size = float(np.linalg.norm(q[list(group)]))
        if not abs(size - 1) <= START_RESIDUAL:
            raise ConstraintError(
                f"the start of quaternion '{ball.name}' is not unit: its norm is {size:.6g}. Use"
                " start=ap.consistent(system, start, parameters=…) to take the nearest state that is"
            )
    if not form.rows and not form.quaternions:
        return q, v, 0.0
    blocks = form.select(*RESIDUAL_PARTS)(t, q, v, p)
    if not form.quaternions and not blocks["f0"].any() and not blocks["f1"].any():
        return q, v, 0.0
    violations = residuals_from(form, blocks, q, v)
    if not violations.relative <= START_RESIDUAL:
        raise ConstraintError(_violation_message(form, violations))
    q_new, v_new = project(form, t, q, v, p)
    moved = float(np.abs(np.concatenate([q_new - q, v_new - v])).max(initial=0.0))
    return q_new, v_new, moved


def _refuse_outside(system: System, form: NormalForm, p: Array, t: float, q: Array, v: Array, atol: float) -> None:
    """Refuses a start behind a wall, or where a wall has no normal."""
    if not system.unilateral:
        return
    gaps = form.select("g", "g_v")(t, q, v, p)
    if (gaps["g"] >= 0).all() and np.isfinite(gaps["g_v"]).all():
        return
    blocks = form.select(*GAP_PARTS)(t, q, v, p)
    crossed = faces_crossed(blocks, q, v, START_RESIDUAL, atol)
    if system.frictions:  # they need the slopes of all faces
        crossed |= ~np.isfinite(blocks["g_v"]).all(axis=1)
    for face, g, is_behind in zip(system.unilateral, blocks["g"], crossed, strict=True):
        if is_behind:
            stops = list(system.faces(face.source))
            if len(stops) == 2 and not (width := float(blocks["g"][stops].sum())) > 0:
                name = face.source.name
                raise ConstraintError(f"the bounds of unilateral constraint '{name}' are crossed: upper − lower is {width:.6g}")
            if g >= 0:
                raise ConstraintError(
                    f"the start is where '{face.name}' has no normal: {face.function} is {g:.6g} there, but a derivative of it"
                    " is not finite; start elsewhere, or write the function without a tip or a root there"
                )
            raise ConstraintError(
                f"the start violates '{face.name}': {face.function} >= 0 does not hold, it is {g:.6g}; {_remedy(face, g)}"
            )


def _remedy(face: Face, g: float) -> str:
    """The remedy for a start outside a face; for a pair of numeric stops, their values."""
    source = face.source
    if not isinstance(source, Between) or not (source.lower.is_number and source.upper.is_number):
        return "start on the other side"
    lower, upper = float(source.lower), float(source.upper)
    value = lower + g if face.function == source.function - source.lower else upper - g
    return (
        f"{source.function} starts at {value:.6g}, outside its limits {lower:.6g} … {upper:.6g}: give it a value between them"
    )


def _violation_message(form: NormalForm, violations: Residuals) -> str:
    """The message for a start off the constraints: the row that it misses most."""
    linear = [row for row in form.rows if row.linear]
    rows = [("position", row, f) for row, f in zip([r for r in linear if r.level == 0], violations.f0, strict=True)]
    rows += [("velocity", row, f) for row, f in zip([r for r in linear if r.level < 2], violations.f1, strict=True)]
    worst = max(rows, key=lambda item: abs(item[2]) if np.isfinite(item[2]) else np.inf)
    quantity = "its time derivative" if worst[0] == "velocity" and worst[1].level == 0 else "its residual"
    return (
        f"the start is not on constraint '{worst[1].constraint.name}': {quantity} is {worst[2]:.6g}, not 0. Use"
        " start=ap.consistent(system, start, parameters=…) to take the nearest state that is"
    )


def _values(system: System, form: NormalForm, parameters: Mapping[Any, Any] | None, since: float) -> Array:
    """p, (np,); NaN for parameters that are not given and occur in no constraint and no inertia, such as inputs."""
    p = form.inputs["p"]
    graphs = [form[name] for name in START_OUTPUTS if depends(form[name], p)]
    idle = [s for k, s in enumerate(system.parameters) if not any(depends(graph, p[k]) for graph in graphs)]
    values = bound(system.parameters, parameters, system.name, optional=idle)
    p_given = np.array([values.get(s, np.nan) for s in system.parameters], dtype=float)
    schedule = schedule_of(system.parameters)
    return p_given if schedule is None else schedule.put(p_given, since)


@checked_keywords()
def consistent(
    system: System,
    start: Mapping[Any, Any],
    parameters: Mapping[Any, Any] | None = None,
    *,
    since: float = 0.0,
    hold: Iterable[Any] = (),
) -> dict[Any, float]:
    """The state on the constraints that is nearest to `start` in the metric of its kinetic energy.

        q with the least (q − q₀)ᵀM(q − q₀) and f = 0,        v with the least (v − v₀)ᵀM(v − v₀) and ḟ = 0, f(t, q, v) = 0

    M is that of the start for q and that of the q found for v (q − q₀ = N δ with δᵀMδ where q̇ = N v). It is a local
    minimum found from the start: damped steps onto the constraints, then along them until q − q₀ is normal to them
    (`appell.normal_form.nearest`).

    Parameters
    ----------
    start: symbol → value; values not named are 0.
    parameters: symbol → value, for those in constraints and inertia; others may be left out.
    since: time, s.
    hold: coordinates and velocities that must keep their values; the others give way.

    Returns
    -------
    symbol → value for every coordinate and velocity: a `start=` for `ap.simulate`.
    """
    system = system_of(system, "ap.consistent")
    since = finite(since, "since=")
    system, parameters = settled(system, parameters, (since, since))
    system = placed(system, start, parameters)
    form = normal_form(system)
    p = _values(system, form, parameters, since)
    q, v = read(system, start)
    listed = [] if hold is None else [hold] if isinstance(hold, str | Jet) else items_of(hold, "hold=")
    fixed = [name_in(key) for key in listed]
    states = {str(s) for s in (*system.positions, *system.velocities)}
    if set(fixed) - states:
        raise ModelError(f"hold= names {sorted(set(fixed) - states)[0]}, which is not a state of {system.name}")
    fixed_q = np.array([str(s) in fixed for s in system.positions], dtype=bool)
    fixed_v = np.array([str(s) in fixed for s in system.velocities], dtype=bool)
    with np.errstate(all="ignore"):
        q, v = nearest(form, since, q, v, p, fixed_q=fixed_q, fixed_v=fixed_v)
    violations = residuals(form, since, q, v, p)
    if not violations.relative <= START_RESIDUAL:
        condition = f" while holding {', '.join(fixed)}" if fixed else ""
        raise ConstraintError(
            f"no state on the constraints was found near this start{condition}:"
            f" {_violation_message(form, violations).split('. Use')[0]}. Start closer to one, or hold fewer values"
        )
    return dict(zip((*system.positions, *system.velocities), map(float, (*q, *v)), strict=True))


def refuse_dependent(run: Run, t: float, q: Array, v: Array, pseudo: Mapping[str, Any]) -> None:
    """Refuses pseudo-velocities that, beside the constraints, do not determine the velocities at a start."""
    form, p = run.form, run.p_at(t)
    slopes = pseudo_slopes(form, run.system, tuple(pseudo.items()))(t, q, v, p)["F"]
    blocks = form.select("A1", "M")(t, q, v, p)
    rows = np.vstack([slopes, blocks["A1"]])
    # in the units given, or by the inertia: nanometres beside angles, and a probe beside a planet, are lost in one of them
    if not np.isfinite(rows).all() or any(rank(rows / units) == form.nv for units in (1.0, metric_roots(blocks["M"]))):
        return
    names = [f"'{name}'" for name in pseudo]
    names += [f"constraint '{row.constraint.name}'" for row in form.rows if row.level < 2]
    members = [names[i] for i in rows_of_dependencies(rows)]
    fault = "are linearly dependent" if len(members) > 1 else "contains no velocity"
    raise FormNotApplicable(
        f"the pseudo-velocities do not span the motion: {', '.join(members)} {fault} at the start, t = {t:g}; give others, or"
        " omit pseudo="
    )


@remembered
def pseudo_slopes(form: NormalForm, system: System, pseudo: tuple[tuple[str, Any], ...]) -> Fn:
    """(t, q, v, p) → F = ∂π/∂v, (k, nv)."""
    inputs = {name: (form.inputs[name], () if name == "t" else (form.inputs[name].numel(),)) for name in "tqvp"}
    F = jacobian(column(*form.lowered_values(dict(pseudo), system).values()), form.inputs["v"])
    return make_fn("pseudo_slopes", inputs, {"F": (row_major(F), (len(pseudo), form.nv))})


def packed(run: Run, flow: Flow, t: float, q: Array, v: Array, pseudo: Mapping[str, Any] | None = None) -> Array:
    """z = (q, v or π, 0 …, w) at a start, (nz,); w is 0, or for a conserving method the momenta and the energy H."""
    u = v
    if pseudo is not None:
        u = np.array([run.values(e, [t], q[None], v[None])[0] for e in pseudo.values()], dtype=float)
    w = np.zeros(flow.extra + flow.has_work)
    if flow.energy is not None:
        w[-1] = run.form.select("H")(t, q, v, run.p_at(t))["H"]
    if flow.momenta:
        w[:-1] = momenta_function(run.form, flow.momenta)(t, q, v, run.p_at(t))["I"]
    return np.concatenate([q, u, w])
