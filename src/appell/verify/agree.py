"""Compares every form of the equations with the others and with the normal form.

Each form is derived by its own route and evaluated at random states that satisfy the constraints to 50 digits. Compared are

    the accelerations a,  |a − a*|/(1 + |a*|),      and the forces of the constraints W Λ,  |WΛ − (WΛ)*|_i / s_i

(Λ itself is not unique for redundant rows). Random states are of size 1, so that 1 is the scale of an acceleration in any
units; that of a force is s_i = Σ_j |M_ij| (1 + |a*|) + |h_i| + |Q_i| + |WΛ|_i. The values are compared in 50 digits with the
form a* that most others agree with, and in float64 with the normal form, which shares no derivation with any of them. They are
also substituted into the displayed equations that the form does not solve: its kinematics (q̇ = ∂H/∂p), and all equations of a
form that finds its values in another way (Gauss's minimum, a pseudo-inverse). The displayed equations have to
determine the motion: a missing equation is reported.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from appell.errors import FormNotApplicable, ModelError
from appell.forms import FORMS
from appell.forms.base import Form
from appell.model import System
from appell.model.described import system_of
from appell.model.friction_modes import modes
from appell.model.jumps import KINKED
from appell.model.prescription import driven
from appell.normal_form import normal_form
from appell.normal_form.sampling import finite_samples
from appell.reading import items_of, name_in, shown, table_of
from appell.spelling import checked_keywords
from appell.verify.agreement import Agreement, AgreementLine
from appell.verify.exact import exact_parameters, exact_system
from appell.verify.judge import Array, Judge, Value


@checked_keywords()
def agree(
    system: System,
    parameters: Mapping[Any, Any] | None = None,
    *,
    states: int = 5,
    seed: int = 0,
    forms: str | Form | Iterable[str | Form] | None = None,
    pseudo: Mapping[str, Any] | None = None,
    independent: Sequence[Any] | None = None,
) -> Agreement:
    """Derives every form that applies, and compares them with each other and with the normal form at random states.

    parameters: values by symbol or name; those not given are random.
    states: number of states; at least `STATES_WITH_CASES` if the system has functions with cases (`sign`, `Abs`, …).
    forms: one or more names or `Form` objects; all by default.
    pseudo, independent: for the forms that need them; chosen automatically if not given.

    A system with friction is compared in each of its modes, `system.in_mode`, up to `MOST_MODES` of them; the table shows the
    mode after the form.
    """
    system = system_of(system, "ap.agree")
    states, seed = _whole_number("states", states, 1), _whole_number("seed", seed, 0)
    if system.frictions:
        options = {"states": states, "parameters": parameters, "seed": seed, "forms": forms, "pseudo": pseudo}
        return _in_each_mode(system, {**options, "independent": independent})
    original, system = system, exact_system(system.symbolic())
    judged_by = system if original.symbolic() is original else original  # a tree is judged by its own recursions
    judged_by, parameters = driven(judged_by, parameters)  # forms are derived with f, f.d, f.dd in symbols
    chosen = _chosen(forms)
    values = _parameters(judged_by, table_of(parameters, "parameters="), seed)
    expressions = (*system._expressions(), *system.residuals, *system.rates.values())
    states = max(states, STATES_WITH_CASES) if any(expression.has(*KINKED) for expression in expressions) else states
    judge = Judge(system, judged_by, values, states, seed)
    stated = {key: value for key, value in (("pseudo", pseudo), ("independent", independent)) if value is not None}
    trials = [_trial(form, names, system, stated, judge) for form in chosen for names in form.variants]
    resets = tuple(reset.name for reset in system.resets)
    return Agreement(system.name, len(judge.states), _compare(trials, judge), resets)


def _whole_number(name: str, value: Any, least: int) -> int:
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)
    if not is_whole or not least <= value <= LARGEST_SEED:
        raise ModelError(f"{name}= of ap.agree is a whole number of at least {least}, not {shown(value)}")
    return int(value)


LARGEST_SEED = 2**53
"""Largest seed or number of states: larger integers are not exact as floats."""
STATES_WITH_CASES = 8
"""States at which functions with cases are compared, so that each of two cases occurs."""
MOST_MODES = 9
"""Largest number of friction modes in which forms are compared."""


def _in_each_mode(system: System, options: Mapping[str, Any]) -> Agreement:
    lines: list[AgreementLine] = []
    for mode in islice(modes(system.symbolic()), MOST_MODES):
        mode_text = ", ".join(f"{name}: {contact}" for name, contact in mode.items())
        lines += [replace(line, form=f"{line.form} ({mode_text})") for line in agree(system.in_mode(mode), **options).lines]
    return Agreement(system.name, options["states"], tuple(lines), tuple(reset.name for reset in system.resets))


def _parameters(system: System, stated: Mapping[Any, Any], seed: int) -> dict[Any, Any]:
    """Values by symbol; those not given are drawn until the mass matrix is positive: moments of inertia are not free."""
    form = normal_form(system)
    fn = form.select("M")
    for attempt in range(20):
        values = exact_parameters(system, stated, seed + 1000 * attempt)
        p = np.array([float(values[s]) for s in system.parameters])
        masses = [out["M"] for _, out in finite_samples(fn, count=3, parameters=p, around=form.around)]
        # an eigenvalue is zero, up to rounding, where a coordinate has no mass
        if all(np.linalg.eigvalsh(M).min(initial=0) >= -1e-9 * np.abs(M).max(initial=0) for M in masses):
            return values
    return exact_parameters(system, stated, seed)


def _chosen(forms: Any) -> list[Form]:
    """The requested forms, one or more; all by default."""
    if forms is None:
        return list(FORMS.values())
    if not isinstance(forms, str | Form | Iterable):
        raise ModelError(f"forms= of ap.agree takes names of forms, ['lagrange', 'appell'], not {type(forms).__name__}")
    chosen = [_form(form) for form in ([forms] if isinstance(forms, str | Form) else items_of(forms, "forms="))]
    if not chosen:
        raise ModelError("forms= of ap.agree is empty, so there is nothing to compare; leave it out for all of them")
    return chosen


def _form(form: Any) -> Form:
    if isinstance(form, Form):
        return form
    if not isinstance(form, str) or form not in FORMS:
        raise ModelError(f"there is no form '{name_in(form)}'; there are {', '.join(FORMS)}")
    return FORMS[form]


@dataclass(frozen=True)
class _Trial:
    """A form and its accelerations and constraint forces at each state, None where it has no value."""

    line: AgreementLine
    values: list[Value | None]


def _trial(form: Form, names: tuple[str, ...], system: System, stated: Mapping[str, Any], judge: Judge) -> _Trial:
    label = form.name if not names else f"{form.name} ({', '.join(names)})"
    undefined: list[Value | None] = [None] * len(judge.states)
    begin = time.perf_counter()
    try:
        reason = form.reason_against(system)
        if reason is not None:
            return _Trial(AgreementLine(label, reason=reason), undefined)
        options = {name: stated[name] if name in stated else form.default(system, name) for name in names}
        reason = form.reason_against(system, **options)
        if reason is not None:
            return _Trial(AgreementLine(label, reason=reason), undefined)
        equations = form.derived(system, **options)
        seconds = time.perf_counter() - begin
        solutions = [judge.solution(equations, state) for state in judge.states]
        values = [judge.value(equations, solution) for solution in solutions]
        left, lacks = judge.shown_residual(equations, solutions), judge.not_determined(equations, solutions)
    except FormNotApplicable as error:
        return _Trial(AgreementLine(label, reason=str(error)), undefined)
    count = sum(value is not None for value in values)
    return _Trial(AgreementLine(label, equations.provenance, states=count, seconds=seconds, shown=left, missing=lacks), values)


def _compare(trials: list[_Trial], judge: Judge) -> tuple[AgreementLine, ...]:
    applying = [trial for trial in trials if trial.line.applies]
    scales = [answer[2].tolist() for answer in judge.references]
    reference = _consensus(applying, scales)
    lines = []
    for trial in trials:
        if not trial.line.applies:
            lines.append(trial.line)
            continue
        gaps = [_gap(mine, theirs, s) for mine, theirs, s in zip(trial.values, reference, scales, strict=True)]
        judged = [_float_gap(mine, answer) for mine, answer in zip(trial.values, judge.references, strict=True)]
        alone = len(applying) < 2
        a, force = (float("nan"),) * 2 if alone else _largest(gaps)
        judge_a, judge_force = _largest(judged)
        worst = {"a": a, "force": force, "judge_a": judge_a, "judge_force": judge_force}
        lines.append(AgreementLine(**{**vars(trial.line), **worst}))
    return tuple(lines)


def _consensus(trials: list[_Trial], scales: list[list[float]]) -> list[Value | None]:
    """At each state, the values of the form with the smallest median distance to the others."""
    count = len(trials[0].values) if trials else 0
    chosen: list[Value | None] = []
    for k in range(count):
        values = [value for trial in trials if (value := trial.values[k]) is not None]
        medians = [float(np.median([max(_gap(x, y, scales[k])) for y in values])) for x in values]
        chosen.append(values[int(np.argmin(medians))] if values else None)
    return chosen


Gap = tuple[float, float]
NOT_COMPARED: Gap = (float("nan"), float("nan"))


def _gap(mine: Value | None, theirs: Value | None, scale: Sequence[float]) -> Gap:
    if mine is None or theirs is None:
        return NOT_COMPARED
    return _distance(mine[0], theirs[0]), _relative(mine[1], theirs[1], scale)


def _float_gap(mine: Value | None, answer: tuple[Array, Array, Array]) -> Gap:
    a, force, scale = (x.tolist() for x in answer)
    return _gap(mine, (a, force), scale)


def _distance(x: Sequence[Any], y: Sequence[Any]) -> float:
    size = 1 + max((abs(b) for b in y), default=0)
    return float(max((abs(a - b) for a, b in zip(x, y, strict=True)), default=0) / size)


def _relative(x: Sequence[Any], y: Sequence[Any], scale: Sequence[float]) -> float:
    """max |x_i − y_i|/s_i; 0/0 counts as 0."""
    gaps = [(abs(a - b), s) for a, b, s in zip(x, y, scale, strict=True)]
    return float(max((gap / s if s else float("inf") for gap, s in gaps if gap), default=0))


def _largest(gaps: list[Gap]) -> Gap:
    present = [gap for gap in gaps if not np.isnan(gap[0])]
    return (max(g[0] for g in present), max(g[1] for g in present)) if present else NOT_COMPARED
