"""Every form of the equations against the others and against the normal form.

Each form is derived by its own route and evaluated at random states that satisfy the constraints to 50 digits. Compared are

    the accelerations a,  |a − a*|/(1 + |a*|),      and the forces of the constraints W Λ,  |WΛ − (WΛ)*|_i / s_i

(Λ itself is not unique for redundant rows). States are drawn of size 1, so that 1 is an acceleration's own scale in any units;
that of a force is s_i = Σ_j |M_ij| (1 + |a*|) + |h_i| + |Q_i| + |WΛ|_i. The values are compared in 50 digits with the form a*
that most others agree with, and in float64 with the normal form, which shares no derivation with any of them. A form that finds
its values by more than its equations (Gauss's minimum, a pseudo-inverse) has these put into the equations that it shows, too.
"""

from __future__ import annotations

import html
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError, FormNotApplicable, ModelError, SingularConfiguration, Status
from appell.forms import FORMS
from appell.forms.base import Equations, Form, directions
from appell.forms.manifold import Projection, State
from appell.forms.numbers import FLOAT, Arithmetic, Tape, arithmetic, magnitude
from appell.jets import t
from appell.model import System
from appell.model.friction_modes import modes
from appell.model.prescription import driven, moments
from appell.normal_form import NormalForm, normal_form
from appell.normal_form.flow import acceleration
from appell.normal_form.gauss import solve as solve_gauss
from appell.normal_form.manifold import find
from appell.normal_form.policy import choose
from appell.normal_form.saddle import Policy
from appell.normal_form.saddle import solve as solve_saddle
from appell.normal_form.sampling import finite_samples
from appell.verify.exact import exact, exact_parameters, exact_state, exact_system

Array = NDArray[np.float64]

DIGITS = 50
NOTHING_LEFT = 10.0 ** (-DIGITS // 2)
"""A sum whose terms are all as small as this is rounding: 0 = 0."""


@dataclass(frozen=True)
class Line:
    """One form: how far it is from the other forms (50 digits) and from the normal form (float64), or why it does not apply.

    `a`, `force`: largest disagreement of accelerations and constraint forces with the other forms; `judge_a`, `judge_force`:
    with the normal form; `shown`: what its values leave over in the equations that it shows, over their terms, where
    the values were not found by solving these. NaN where there is nothing to compare. `states`: where it has a value.
    `seconds`: to derive.
    """

    form: str
    provenance: str = ""
    a: float = float("nan")
    force: float = float("nan")
    judge_a: float = float("nan")
    judge_force: float = float("nan")
    shown: float = float("nan")
    states: int = 0
    seconds: float = 0.0
    reason: str = ""

    @property
    def applies(self) -> bool:
        return not self.reason

    @property
    def worst(self) -> float:
        """The largest of its disagreements."""
        gaps = (self.a, self.force, self.judge_a, self.judge_force, self.shown)
        return max((x for x in gaps if not np.isnan(x)), default=0.0)


@dataclass(frozen=True)
class Agreement:
    """The table of `agree`: one line a form. `ok()` says whether all agree; prints as text and in notebooks."""

    system: str
    states: int
    lines: tuple[Line, ...]

    @property
    def rows(self) -> tuple[Line, ...]:
        """The lines of the table."""
        return self.lines

    @property
    def worst(self) -> float:
        """The largest disagreement of any form that applies."""
        return max((line.worst for line in self.lines if line.applies), default=0.0)

    def ok(self, tolerance: float = 1e-9) -> bool:
        """Whether every form that applies agrees with the normal form to `tolerance`, and with the others to tolerance².

        The second is asked because forms are compared with each other in 50 digits. A form that could be evaluated at no
        state, or no form at all, is not agreement.
        """
        applying = [line for line in self.lines if line.applies]
        exact = all(not x > tolerance**2 for line in applying for x in (line.a, line.force, line.shown))
        judged = all(x <= tolerance for line in applying for x in (line.judge_a, line.judge_force))
        return bool(applying) and all(line.states for line in applying) and exact and judged

    def __getitem__(self, form: str) -> Line:
        for line in self.lines:
            if line.form == form:
                return line
        raise KeyError(f"no line '{form}'; there are {[line.form for line in self.lines]}")

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    def __str__(self) -> str:
        cells = [_HEADINGS, *(_cells(line) for line in self.lines)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(_HEADINGS) - 1)]
        text = ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]]).rstrip() for row in cells]
        verdict = f"largest disagreement {self.worst:.1e} at {self.states} states"
        return "\n".join([f"{self.system}: {verdict}", *text])

    def report(self, path: Any, *, title: str | None = None) -> Any:
        """Writes the table to a page (.html), and returns its path."""
        from appell.report.report import agreement_report  # composes; loaded when a page is written

        return agreement_report(self, path, title=title)

    def _repr_html_(self) -> str:
        cell = lambda tag, row: "".join(f"<{tag} style='text-align:left'>{html.escape(c)}</{tag}>" for c in row)
        body = "".join(f"<tr>{cell('td', _cells(line))}</tr>" for line in self.lines)
        return f"<table><caption>{html.escape(self.system)}</caption><tr>{cell('th', _HEADINGS)}</tr>{body}</table>"


_HEADINGS = ["form", "a", "W Λ", "a, judge", "W Λ, judge", "states", "derived in", "from"]


def _cells(line: Line) -> list[str]:
    if not line.applies:
        return [line.form, "–", "–", "–", "–", "–", "–", f"does not apply: {line.reason}"]
    number = lambda x: "–" if np.isnan(x) else f"{x:.1e}"
    values = [number(x) for x in (line.a, line.force, line.judge_a, line.judge_force)]
    return [line.form, *values, str(line.states), f"{line.seconds:.2f} s", line.provenance]


# -- the comparison ----------------------------------------------------------------------------------------------------


def agree(
    system: System,
    states: int = 5,
    parameters: Mapping[Any, Any] | None = None,
    seed: int = 0,
    forms: Iterable[str | Form] | None = None,
    pseudo: Mapping[str, Any] | None = None,
    independent: Sequence[Any] | None = None,
) -> Agreement:
    """Derive every form that applies, and compare them with each other and with the normal form at random states.

    parameters: values by symbol or name; those not given are random. forms: names (or `Form` objects), all by default.
    pseudo, independent: for the forms that need them; suitable ones are chosen where not given.

    A system with friction is compared in each of its modes, `system.in_mode`, up to `MODES` of them; the mode stands behind the
    form.
    """
    if not isinstance(system, System):
        raise ModelError(f"ap.agree takes a System, not {type(system).__name__}")
    if system.frictions:
        options = {"states": states, "parameters": parameters, "seed": seed, "forms": forms, "pseudo": pseudo}
        return _in_each_mode(system, {**options, "independent": independent})
    said, system = system, exact_system(system.symbolic())
    judged_by = system if said.symbolic() is said else said  # a tree judges by its own recursions
    judged_by, parameters = driven(judged_by, parameters)  # forms are derived with f, f.d, f.dd in symbols
    chosen = [_form(f) for f in (FORMS.values() if forms is None else forms)]
    values = _parameters(judged_by, parameters or {}, seed)
    judge = _Judge(system, judged_by, values, states, seed)
    given = {key: value for key, value in (("pseudo", pseudo), ("independent", independent)) if value is not None}
    trials = [_try(form, names, system, given, judge) for form in chosen for names in form.variants]
    return Agreement(system.name, len(judge.states), _compare(trials, judge))


MODES = 9
"""Modes of friction in which forms are compared."""


def _in_each_mode(system: System, options: Mapping[str, Any]) -> Agreement:
    lines: list[Line] = []
    for mode in islice(modes(system.symbolic()), MODES):
        words = ", ".join(f"{name}: {word}" for name, word in mode.items())
        lines += [replace(line, form=f"{line.form} ({words})") for line in agree(system.in_mode(mode), **options).lines]
    return Agreement(system.name, options["states"], tuple(lines))


def _parameters(system: System, given: Mapping[Any, Any], seed: int) -> dict[Any, Any]:
    """Values by symbol; those not given are drawn until the mass matrix is positive: moments of inertia are not free."""
    fn = normal_form(system).select("M")
    for attempt in range(20):
        values = exact_parameters(system, given, seed + 1000 * attempt)
        p = np.array([float(values[s]) for s in system.parameters])
        masses = [out["M"] for _, out in finite_samples(fn, count=3, parameters=p)]
        if all(np.linalg.eigvalsh(M).min(initial=0) >= -1e-9 * np.abs(M).max(initial=0) for M in masses):
            return values
    return exact_parameters(system, given, seed)


def _form(form: str | Form) -> Form:
    if isinstance(form, Form):
        return form
    if form not in FORMS:
        raise ModelError(f"there is no form '{form}'; there are {', '.join(FORMS)}")
    return FORMS[form]


Value = tuple[list[Any], list[Any]]


@dataclass(frozen=True)
class _Trial:
    """A form and its accelerations and constraint forces at each state, None where it has no value."""

    line: Line
    values: list[Value | None]


def _try(form: Form, names: tuple[str, ...], system: System, given: Mapping[str, Any], judge: _Judge) -> _Trial:
    label = form.name if not names else f"{form.name} ({', '.join(names)})"
    none: list[Value | None] = [None] * len(judge.states)
    begin = time.perf_counter()
    try:
        reason = form.accepts(system)
        if reason is not None:
            return _Trial(Line(label, reason=reason), none)
        options = {name: given[name] if name in given else form.default(system, name) for name in names}
        reason = form.accepts(system, **options)
        if reason is not None:
            return _Trial(Line(label, reason=reason), none)
        equations = form.derived(system, **options)
        seconds = time.perf_counter() - begin
        values = [judge.value(equations, state) for state in judge.states]
        left = judge.left_over(equations)
    except FormNotApplicable as error:
        return _Trial(Line(label, reason=str(error)), none)
    found = sum(value is not None for value in values)
    return _Trial(Line(label, equations.provenance, states=found, seconds=seconds, shown=left), values)


class _Judge:
    """Exact states, the forces of the constraints at them, and what the normal form says in float64."""

    def __init__(self, system: System, said: System, parameters: Mapping[Any, Any], count: int, seed: int):
        self.system, self.numbers = system, arithmetic(DIGITS)
        self.form = normal_form(said)
        p = np.array([float(parameters[s]) for s in said.parameters])
        project, driving = Projection(system), _Driving(said.prescription)
        candidates = []
        for time_, q, v in find(self.form, p, seed, tries=3 * count):
            state = driving(exact_state(system, time_, q, v, parameters, self.numbers), self.numbers)
            state = project(state, self.numbers)
            verdict = None if state is None else _verdict(self.form, system, state, p)
            if state is not None and verdict is not None:
                candidates.append((verdict[0], len(candidates), state, verdict[1:]))
        candidates.sort(key=lambda c: c[:2])  # the best conditioned, so that float64 can judge
        self.states: list[State] = [c[2] for c in candidates[:count]]
        self.answers: list[tuple[Array, Array, Array]] = [c[3] for c in candidates[:count]]
        if not self.states:
            raise AppellError(
                f"no state of '{system.name}' was found on its constraints; give parameters= that allow one, or"
                " System(…, sample={…}), a state near which to look where its sizes are far from 1"
            )
        self._W = Tape([w for row in directions(system) for w in row])

    def value(self, equations: Equations, state: State) -> Value | None:
        """Accelerations and constraint forces by a form; None where it is singular (a chart, a choice of velocities)."""
        try:
            a, lam = equations.evaluate(state, DIGITS)
            W = self._W({**state, **dict(zip(self.system.accelerations, a, strict=True))}, self.numbers)
        except SingularConfiguration:
            return None
        n = self.system.nv
        return a, [sum((x * W[k * n + i] for k, x in enumerate(lam)), self.numbers.number(0)) for i in range(n)]


    def left_over(self, equations: Equations) -> float:
        """max |lhs − rhs| of the equations shown, over the size of their terms, at the values that the form found otherwise."""
        if type(equations.route).solve_at is Form.solve_at:
            return float("nan")
        tape = Tape([e for residual in equations.residuals for e in (residual, magnitude(residual))])
        faces = Tape([face.function for face in self.system.unilateral])
        worst = [float("nan")]
        for state in self.states:
            if any(value < 0 for value in faces(state, self.numbers)):
                continue  # |x| and sgn x of Routh's form mean nothing behind a wall
            try:
                found = tape(equations.solution(state, DIGITS), self.numbers)
            except SingularConfiguration:
                continue
            worst += [float(abs(r) / (size + NOTHING_LEFT)) for r, size in zip(found[::2], found[1::2], strict=True)]
        return float(np.nanmax(worst)) if len(worst) > 1 else float("nan")


class _Driving:
    """The values of prescribed functions and their derivatives at the time of a state."""

    def __init__(self, values: Mapping[Any, Any]):
        self.symbols, formulas = moments(exact(values))
        self._tape = Tape(formulas)

    def __call__(self, state: State, numbers: Arithmetic) -> State:
        return state | dict(zip(self.symbols, self._tape(state, numbers), strict=True))


def _verdict(form: NormalForm, system: System, state: State, p: Array) -> tuple[float, Array, Array, Array] | None:
    """(condition number, a, W Λ, scale of W Λ) of the normal form in float64; None where it has no unique answer."""
    vector = lambda symbols: np.array([float(state[s]) for s in symbols])
    inputs = float(state[t]), vector(system.coordinates), vector(system.velocities), p
    out = form.select("M", "h", "Q", "A", "a0", "W")(*inputs)
    M, A, W, b = out["M"], out["A"], out["W"], out["Q"] - out["h"]
    size = np.abs(out["Q"]) + np.abs(out["h"])

    def scale(a: Array, force: Array) -> Array:
        own = size + np.abs(M).sum(axis=1) * (1 + np.abs(a).max()) + np.abs(force)
        return own + _passed_on(own, np.abs(W))

    if not all(np.isfinite(x).all() for x in out.values()):
        return None
    if form.law is not None:
        return _verdict_of_law(form, system, state, inputs, scale)
    if form.gauss:
        rows = lambda name: lambda a: form.select(name)(*_with_a(form, name, inputs, a))[name]
        found = solve_gauss(M, b, A, out["a0"], rows("r"), rows("r_a"), rows("r_aa"))
        if found.status != Status.OK:
            return None
        force = W @ found.lam_linear + rows("r_a")(found.a).T @ found.lam_nonlinear
        return 1.0, found.a, force, scale(found.a, force)
    policy: Policy = choose(form, p).acceleration
    a, lam, status = solve_saddle(M, A, W, b, -out["a0"], policy)
    if status != Status.OK:
        return None
    return _condition(M, A, policy.rank), a, W @ lam, scale(a, W @ lam)


def _passed_on(own: Array, W: Array) -> Array:
    """What rounding of each Λ, made of the forces it balances, may do to every force, (nv,): all that massless ones have."""
    real = W * (own > 0)[:, None]
    square = (real**2).sum(axis=0)
    return W @ ((real * own[:, None]).sum(axis=0) / np.where(square > 0, square, np.inf))


def _verdict_of_law(form: NormalForm, system: System, state: State, inputs: tuple, scale: Any) -> Any:
    """Of forces that contain multipliers: W Λ is the reaction alone, the law being a force."""
    a, lam, margin = acceleration(form, choose(form, inputs[-1]))(*inputs).values()
    if not margin > 0:
        return None
    values = {s: float(x) for s, x in state.items()}
    values |= dict(zip(system.accelerations, a.tolist(), strict=True))
    W = np.array(Tape([w for row in directions(system) for w in row])(values, FLOAT)).reshape(len(lam), len(a)).T
    A = form.select("A", "M")(*inputs)
    return _condition(A["M"], A["A"], len(lam)), a, W @ lam, scale(a, W @ lam)


def _with_a(form: NormalForm, name: str, inputs: tuple, a: Array) -> list[Any]:
    """The inputs that an output of the normal form takes: with the accelerations where it depends on them."""
    takes = [port.name for port in form.select(name).inputs]
    return [*inputs, *([a] if "a" in takes else [])]


def _condition(M: Array, A: Array, rank: int) -> float:
    """Condition of the scaled saddle matrix on its independent rows."""
    scale = 1 / np.sqrt(np.where(np.abs(np.diag(M)) > 0, np.abs(np.diag(M)), 1))
    A = A * scale
    length = np.linalg.norm(A, axis=1)
    A = A / np.where(length > 0, length, 1)[:, None]
    K = np.block([[M * np.outer(scale, scale), A.T], [A, np.zeros((len(A), len(A)))]])
    sizes = np.linalg.svd(K, compute_uv=False)
    return float(sizes[0] / max(sizes[len(M) + rank - 1], 1e-300))


def _compare(trials: list[_Trial], judge: _Judge) -> tuple[Line, ...]:
    applying = [trial for trial in trials if trial.line.applies]
    scales = [answer[2].tolist() for answer in judge.answers]
    reference = _consensus(applying, scales)
    lines = []
    for trial in trials:
        if not trial.line.applies:
            lines.append(trial.line)
            continue
        others = [_gap(mine, theirs, s) for mine, theirs, s in zip(trial.values, reference, scales, strict=True)]
        judged = [_float_gap(mine, answer) for mine, answer in zip(trial.values, judge.answers, strict=True)]
        alone = len(applying) < 2
        a, force = (float("nan"),) * 2 if alone else _largest(others)
        judge_a, judge_force = _largest(judged)
        lines.append(Line(**{**vars(trial.line), "a": a, "force": force, "judge_a": judge_a, "judge_force": judge_force}))
    return tuple(lines)


def _consensus(trials: list[_Trial], scales: list[list[float]]) -> list[Value | None]:
    """At each state the values of the form with the least median distance to the others."""
    count = len(trials[0].values) if trials else 0
    chosen: list[Value | None] = []
    for k in range(count):
        values = [value for trial in trials if (value := trial.values[k]) is not None]
        medians = [float(np.median([max(_gap(x, y, scales[k])) for y in values])) for x in values]
        chosen.append(values[int(np.argmin(medians))] if values else None)
    return chosen


Gap = tuple[float, float]
NOTHING: Gap = (float("nan"), float("nan"))


def _gap(mine: Value | None, theirs: Value | None, scale: Sequence[float]) -> Gap:
    if mine is None or theirs is None:
        return NOTHING
    return _distance(mine[0], theirs[0]), _relative(mine[1], theirs[1], scale)


def _float_gap(mine: Value | None, answer: tuple[Array, Array, Array]) -> Gap:
    a, force, scale = (x.tolist() for x in answer)
    return _gap(mine, (a, force), scale)


def _distance(x: Sequence[Any], y: Sequence[Any]) -> float:
    size = 1 + max((abs(b) for b in y), default=0)
    return float(max((abs(a - b) for a, b in zip(x, y, strict=True)), default=0) / size)


def _relative(x: Sequence[Any], y: Sequence[Any], scale: Sequence[float]) -> float:
    """max |x_i − y_i|/s_i; no difference counts as none where s_i = 0."""
    gaps = [(abs(a - b), s) for a, b, s in zip(x, y, scale, strict=True)]
    return float(max((gap / s if s else float("inf") for gap, s in gaps if gap), default=0))


def _largest(gaps: list[Gap]) -> Gap:
    present = [gap for gap in gaps if not np.isnan(gap[0])]
    return (max(g[0] for g in present), max(g[1] for g in present)) if present else NOTHING
