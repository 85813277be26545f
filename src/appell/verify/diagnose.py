"""Diagnosis of constraints: their kinds, and what follows from them.

    order, linearity        of each constraint f(t, q, v, a) = 0
    integrability           is it holonomic in disguise? (Frobenius, `appell.verify.frobenius`)
    redundancy, rank        rank A and the number of rows; states with λᵀA = 0, |λ| = 1, where the rank drops
    freedom                 nv − rank A velocities, dim D_∞ configurations
    cyclic, conserved       coordinates absent from T, V and Q; momenta (`conserved`) and energy (`energy_integral`)
    pseudo-velocities       those with the smallest condition number of Φ = ∂(π̇, f)/∂q̇
    start                   |f|/(1 + Σ|∂f/∂z·z|) of a given state

Ranks and conserved quantities are evaluated at random states on the constraints: generic statements, one sentence each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from appell.compiled.compiling import bind, compile
from appell.errors import ConstraintError
from appell.jets import DerivedJet, Prescribed, jets_of, t
from appell.model import System
from appell.model.described import system_of
from appell.model.placed import placed, require_placed
from appell.model.prescription import HIGHEST_DERIVATIVE, driven, stand_in
from appell.model.unilateral import ChartChoice
from appell.model.values import finite
from appell.normal_form.manifold import GAP_PARTS, faces_crossed, residuals
from appell.reading import table_of, text_of
from appell.rows import rank
from appell.simulate.start import START_RESIDUAL, read
from appell.spelling import checked_keywords
from appell.verify import conserved, ranks
from appell.verify.accessibility import reach_of
from appell.verify.case import CASE_STATES, Case
from appell.verify.energy_integral import energy
from appell.verify.findings import Diagnosis, Finding, listed
from appell.verify.frobenius import State, affine_rows, flag
from appell.verify.gauge_momenta import gauge_momenta
from appell.verify.in_numbers import energy_in_numbers, too_large
from appell.verify.integrability import integrability
from appell.verify.suggestion import pseudo_velocities

Array = NDArray[np.float64]

RANK_SEARCH_SIZE = 16
"""Number of coordinates and velocities up to which states of lower rank are searched for."""


@checked_keywords()
def diagnose(
    system: System,
    start: Mapping[Any, Any] | None = None,
    parameters: Mapping[Any, Any] | None = None,
    *,
    inputs: Iterable[Any] | None = None,
    since: float = 0.0,
) -> Diagnosis:
    """Order, integrability, redundancy, freedom, conserved quantities and pseudo-velocities of a system, in plain sentences.

    start: symbol → value, a state to be checked at the time `since`, s; every parameter then needs a value.
    parameters: by symbol or name; those not given are random, so that ranks are generic.
    inputs: parameters in forces; adds a finding on what they and their brackets with the drift span (`verify.accessibility`).

    For a tree too large for symbols only the numeric part is given: ranks, redundancy, freedom, integrability, energy.
    """
    system = system_of(system, "ap.diagnose")
    time = finite(since, "since=")
    span, unknown = (time - 1.0, time + 2.0), [f for f in system.prescribed if not _has_value(f, parameters)]
    system, parameters = driven(system, parameters, span)
    system = placed(system, start, parameters)
    require_placed(system)
    identities, values, large = [], table_of(parameters, "parameters="), too_large(system)
    if large is None:
        identities, system = list(_identities(system)), system.symbolic()
    state = None
    if start is not None:
        bind(system, values)  # raises if a value is missing
        state = (time, *read(system, start))
    case = Case.of(system, values, state)
    findings = [*_kinds(system), *identities, *_unilateral(system), *_resets(system), *([] if large is None else [large])]
    if not case.states or ranks.lose_their_slope(case.form, case.p, case.states):
        flat = list(_without_slope(case))
        findings += flat or ([] if case.states else _contradiction(case))
        case = replace(case, states=[] if flat else case.states)
    if case.states and large is not None:
        findings += [*integrability(case), *_rows(case), *_freedom(case), *energy_in_numbers(case)]
    elif case.states:
        findings += [*integrability(case), *_rows(case), *_freedom(case)]
        momenta = [] if system.frictions or system.resets else _conserved(case)
        findings += [*_frictions(case), *momenta, *pseudo_velocities(case)]
    if inputs is not None and case.states:
        findings += reach_of(case, inputs)
    findings += _start(case, state) if state is not None else ()
    return Diagnosis(system.name, tuple(_in_own_letters(finding, unknown, span) for finding in findings))


def _has_value(f: Prescribed, parameters: Any) -> bool:
    """Whether a prescribed function has a value."""
    return any(text_of(key) == str(f) for key in (parameters if isinstance(parameters, Mapping) else ()))


def _in_own_letters(finding: Finding, functions: list[Prescribed], span: tuple[float, float]) -> Finding:
    """The finding with f, f.d, f.dd restored where functions of time without a value were replaced by others."""
    sentence, expression = finding.sentence, finding.expression
    for f, order in ((f, order) for f in functions for order in reversed(range(HIGHEST_DERIVATIVE + 1))):
        substitute, original = stand_in(f, span, order), Prescribed(f.letter, order)
        sentence = sentence.replace(str(substitute), str(original))
        expression = None if expression is None else expression.xreplace({substitute: original})
    return replace(finding, sentence=sentence, expression=expression)


# -- each constraint by itself -----------------------------------------------------------------------------------------


def _kinds(system: System) -> Iterator[Finding]:
    """The kind of each constraint."""
    if not system.constraints:
        yield Finding("constraint", system.name, "there are no bilateral constraints")
    for c, f, W in zip(system.constraints, system.residuals, system.reactions, strict=True):
        sentence = f"constraint '{c.name}' is {_kind_of(system, c, f)}"
        sentence += "; it contains time" if t in f.free_symbols else ""
        sentence += "; its reaction has a direction of its own, so it need not be ideal" if W is not None else ""
        yield Finding("constraint", c.name, sentence)


def _identities(system: System) -> Iterator[Finding]:
    """The rows of a tree that its joints satisfy identically, and that are therefore missing in the symbolic system."""
    present = {c.name for c in system.symbolic().constraints}
    for c in system.constraints:
        if c.name not in present:
            sentence = f"constraint '{c.name}' is redundant: the joints keep it by themselves, whatever their positions;"
            yield Finding("redundancy", c.name, f"{sentence} drop it, or choose a loop with fewer rows")


def _kind_of(system: System, c: Any, f: Any) -> str:
    if c.order == 0:
        return "holonomic (order 0): it restricts positions, and through them velocities and accelerations"
    if c.order == 2:
        how = "linear" if c.linear else "nonlinear (Gauss's minimum decides)"
        return f"of second order, {how} in the accelerations; it restricts no start"
    if not c.linear:
        return "of first order, nonlinear in the velocities; a reaction along ∂f/∂q̇ is Chetaev's rule, an assumption"
    moving = [*system.velocities, *(s for s in jets_of(f) if isinstance(s, DerivedJet) and s.level == 1)]
    free = sympy.expand(f.xreplace(dict.fromkeys(moving, sympy.Integer(0))))
    how = "linear in the velocities" if free == 0 else f"affine in the velocities (free term {free})"
    return f"of first order, {how}"


def _unilateral(system: System) -> Iterator[Finding]:
    for face in system.unilateral:
        chart = face.chart
        how = "the chart is found when it is needed"
        if isinstance(chart, ChartChoice):
            how = f"its chart replaces {chart.coordinate}" + (f" by {chart.inverse}" if chart.inverse is not None else "")
        elif chart is not None:
            how = "impacts reflect the momenta, without a chart"
        sentence = f"constraint '{face.name}' is unilateral, {face.function} >= 0, with restitution {face.restitution}; {how}"
        yield Finding("unilateral", face.name, sentence)


def _resets(system: System) -> Iterator[Finding]:
    for reset in system.resets:
        unchanged = [str(s) for s in (*system.positions, *system.velocities) if s not in reset.map]
        note = f"; {', '.join(unchanged)} keep their values" if unchanged else ""
        yield Finding("reset", reset.name, f"reset '{reset.name}' maps the state where {reset.guard} falls through zero{note}")


def _frictions(case: Case) -> Iterator[Finding]:
    """Findings on frictions: whether their slip is free of the bilateral constraints."""
    system, form = case.system, case.form
    for fr, normal in zip(system.frictions, system.normals, strict=True):
        slip = sympy.Matrix(fr.slip).jacobian(system.velocities)
        rows = [form.lowered(e) for e in slip]
        free = False
        for state in case.states:
            D = np.array([float(fn(*state, case.p)["value"]) for fn in rows]).reshape(slip.shape)
            A = form.select("A1")(*state, case.p)["A1"]
            free = free or bool(rank(np.vstack([A, D])) > rank(A))
        normals = fr.normal if isinstance(fr.normal, tuple) else (fr.normal,)
        pressing = " and ".join(f"'{getattr(contact, 'name', contact)}'" for contact in normals)
        by = f"limit {fr.limit}" if normal is None else f"normal {pressing}"
        can = "can slide" if free else "cannot slide: the bilateral constraints determine its slip"
        yield Finding("friction", fr.name, f"friction '{fr.name}' ({by}) {can}; energy is lost while it does")


# -- the rows together -------------------------------------------------------------------------------------------------


def _rows(case: Case) -> Iterator[Finding]:
    """Redundant rows, and states where the others lose rank."""
    form, system = case.form, case.system
    if not form.m:
        return
    names = [row.constraint.name for row in form.rows if row.linear]
    basis, dependent = ranks.independent(ranks.values(form, case.p, case.states, "A"))
    for i, support in dependent.items():
        if not support:  # zero gradient on the constraints: its multiplier has no effect there
            sentence = f"constraint '{names[i]}' is redundant: where the others hold it has no slope,"
            yield Finding("redundancy", names[i], f"{sentence} as a square of another row has none; drop it")
            continue
        sentence = f"constraint '{names[i]}' is redundant: it follows from {listed(names[j] for j in support)};"
        yield Finding("redundancy", names[i], f"{sentence} accelerations stay unique, of the multipliers only W Λ is")
    if system.nq + system.nv > RANK_SEARCH_SIZE:
        return
    for state, weights in ranks.rank_losses(form, case.p, case.states, basis)[:1]:
        involved = [names[i] for i, w in zip(basis, weights, strict=True) if abs(w) > 1e-3]
        symbols = set().union(*(system.residuals[system.constraint(name)].free_symbols for name in involved))
        pairs = zip((*system.positions, *system.velocities), (*state[1], *state[2]), strict=True)
        at = ", ".join(f"{s} = {x:.4g}" for s, x in pairs if s in symbols)
        sentence = f"the rows of {listed(involved)} lose rank at some states, for example {at}:"
        subject = involved[0] if len(involved) == 1 else system.name
        yield Finding("rank", subject, f"{sentence} accelerations or reactions are not determined there")


def _without_slope(case: Case) -> Iterator[Finding]:
    """Rows whose gradient vanishes where they are satisfied: no multiplier can enforce them."""
    for i in ranks.flat_rows(case.form, case.p):
        c = case.form.rows[i].constraint
        base = ranks.base_of_power(case.system.residuals[case.system.constraint(c.name)])
        advice = "it is a square or a sum of squares: write what is squared, one constraint each"
        if base is not None:
            advice = f"it is a power: write {base}"
        sentence = f"constraint '{c.name}' has no slope where it is satisfied, so that no reaction can keep it; {advice}"
        yield Finding("rank", c.name, sentence)


def _contradiction(case: Case) -> Iterator[Finding]:
    values = ", ".join(f"{s} = {x:.4g}" for s, x in case.values.items())
    names = listed(c.name for c in case.system.constraints)
    sentence = (
        f"no state that satisfies {names} was found from {2 * CASE_STATES} random starts"
        f"{' with ' * bool(values)}{values}:"
    )
    reason = "the constraints contradict each other, or other parameters= (or a start=) are needed"
    yield Finding("contradiction", case.system.name, f"{sentence} {reason}")


def _freedom(case: Case) -> Iterator[Finding]:
    system, form = case.system, case.form
    rank_of = lambda name: max(map(ranks.rank, ranks.values(form, case.p, case.states, name)), default=0)
    apparent, accelerations = system.nv - rank_of("A1"), system.nv - rank_of("A") - sum(not row.linear for row in form.rows)
    holonomic = any(c.order == 0 for c in system.constraints)
    units = ranks.state_units(form, case.p, case.states) if holonomic else None
    moves = [ranks.movable_dimensions(form, case.p, state, units) for state in case.states[:4]] if units else []
    stuck = min((free - moving for free, moving in moves), default=0)  # first-order motions that cannot be continued
    velocities, accelerations = apparent - stuck, accelerations - stuck
    reached = flag(system, affine_rows(system), case.states[:3], case.p).ranks[-1] - 1 - stuck
    count = lambda n, noun: f"{n} {noun}{'' if n == 1 else 's'}"
    sentence = f"{count(velocities, 'degree')} of freedom in the velocities;"
    sentence += f" from a start {count(reached, 'dimension')} of positions can be reached"
    if stuck:
        directions = count(apparent, "velocity direction")
        sentence += f" (the rows leave {directions}, along which the positions cannot go on: rank is lost)"
    if any(c.order == 1 and not c.linear for c in system.constraints):
        sentence += " (as far as constraints affine in the velocities decide)"
    if accelerations != velocities:
        sentence += f"; second-order constraints leave {count(accelerations, 'free acceleration')}"
    yield Finding("freedom", system.name, sentence)


# -- what is conserved --------------------------------------------------------------------------------------------------


def _conserved(case: Case) -> Iterator[Finding]:
    system = case.system
    for q, acting in conserved.cyclic(system).items():
        does = "its momentum is conserved" if not acting else f"only the reaction of {listed(acting)} acts on its momentum"
        yield Finding("cyclic", str(q), f"{q} is cyclic (T, V and the forces do not contain it): {does}")
    try:
        batch = conserved.StateBatch.of(compile(system, case.values, backend="vm", ready=False), case.states)
    except ConstraintError as error:
        yield Finding("redundancy", system.name, str(error))
        return
    if not len(batch.t):
        return
    yield Finding("conserved", system.name, energy(system, batch, case.given_values)[1])
    if system.nv > RANK_SEARCH_SIZE:
        return
    for momentum in (*conserved.conserved_momenta(batch, case.given_values), *gauge_momenta(batch, case.given_values)):
        sentence = f"the momentum {momentum.expression} is conserved ({momentum.symmetry})"
        yield Finding("conserved", system.name, sentence, momentum.expression)


# -- the start ---------------------------------------------------------------------------------------------------------


def _start(case: Case, state: State) -> Iterator[Finding]:
    form, system = case.form, case.system
    gaps = residuals(form, *state, case.p)
    names = [[row.constraint.name for row in form.rows if row.linear and row.level < top] for top in (1, 2)]
    levels = zip(names, (gaps.f0, gaps.f1), (gaps.f0_scale, gaps.f1_scale), ("", " at the level of velocities"), strict=True)
    violated = [
        (name, level, f)
        for rows, residual, scale, level in levels
        for name, f, size in zip(rows, residual, scale, strict=True)
        if not abs(f) <= START_RESIDUAL * size
    ]
    for name, level, f in violated:
        sentence = f"the start is not on constraint '{name}'{level}: its residual is {f:.6g};"
        yield Finding("start", name, f"{sentence} ap.consistent(system, start, parameters) mends it")
    crossed = faces_crossed(form.select(*GAP_PARTS)(*state, case.p), *state[1:], START_RESIDUAL, 0.0)
    crossed_faces = [face.name for face, is_behind in zip(system.unilateral, crossed, strict=True) if is_behind]
    for name in crossed_faces:
        yield Finding("start", name, f"the start is on the wrong side of unilateral constraint '{name}'")
    if violated or crossed_faces:
        return
    yield Finding("start", system.name, "the start satisfies every constraint")
    units = ranks.state_units(form, case.p, [state, *case.states])
    rank_at = lambda states: max(map(ranks.rank, ranks.values(form, case.p, states, "A", units)), default=0)
    rank_here, largest = rank_at([state]), rank_at(case.states)
    if rank_here < largest:
        sentence = f"at the start the constraint rows have rank {rank_here}, elsewhere {largest}: it is singular"
        yield Finding("start", system.name, sentence)
