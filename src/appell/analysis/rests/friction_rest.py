"""Equilibrium with dry friction: the state nearest to a start at which all contacts without slip stick within their cones.

    Q − h + W Λ + Σ D_iᵀ λ_i = 0,   f0 = 0,   g >= 0, Λ_j >= 0, g_j Λ_j = 0,   |λ_i| <= μ_s |Λ_N| (or <= F)        at v = 0
    where the slip of a friction is not zero at rest (a belt running under a body), λ_i = −μ |Λ_N| s/|s|

Such equilibria fill regions, so the nearest one is computed: smallest Δqᵀ M Δq in the kinetic metric of the start. A start that
is an equilibrium is returned unchanged. Otherwise a sequence of quadratic programs is solved (SLSQP, Kraft 1988), and its
result is corrected by Newton's method; cones are satisfied with the margin `INSIDE_CONE`, so that a run from there stays at
rest. The result is checked by the same complementarity problem as every instant of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from appell.analysis.rests.natural_sizes import natural_steps, reference_of
from appell.analysis.rests.rest_state import Equilibrium, contact_sets, gaps_at
from appell.errors import AppellError, ModelError
from appell.model import System
from appell.modes.mode import OFF, SLIP, STICK, FrictionState, Mode
from appell.nonsmooth.friction.friction_functions import FrictionFunctions, friction_functions
from appell.nonsmooth.friction.problem import Answer, Problem
from appell.normal_form import NormalForm, normal_form
from appell.normal_form.manifold import normalise
from appell.normal_form.move_sizes import in_metric, metric_roots, moves_of
from appell.rows import NEWTON_LOST, least_change, least_squares

Array = NDArray[np.float64]

START_ON_FACE = 1e-9
"""A start is on a face within this fraction of its terms."""
NO_SLIP = 1e-11
"""A slip at rest below this fraction of its terms is zero."""
INSIDE_CONE = 1e-7
"""Margin of a friction at the edge of its cone, as a fraction of its bound."""
DIFFERENCE_STEP = 1e-6
"""Step of differences of the equations, in units of the start; the error of central ones is its square."""
REST_CORRECTIONS, FRICTION_CONTACT_SETS = 25, 16
"""Newton steps onto the equations, and sets of faces in contact that are tried."""
HELD_REST = "held by dry friction, so are neighbouring states; linearize(system.in_mode({…: 'stick'})) has its small motions"
SLIDES_BELOW = "friction slides below what rests; linearize(system.in_mode({…: 'slip+'})) has its small motions"
"""Why there are no eigenvalues."""


@dataclass(frozen=True, eq=False)
class Standing:
    """A system at rest in contact with some faces, near a configuration."""

    system: System
    p: Array
    contacts: tuple[int, ...]

    @cached_property
    def form(self) -> NormalForm:
        return normal_form(self.system)

    @cached_property
    def functions(self) -> FrictionFunctions:
        return friction_functions(self.system, self.form)

    def problem(self, q: Array) -> tuple[Problem, dict[str, Array]]:
        problem, out = self.functions.problem(0.0, q, np.zeros(self.form.nv), self.p)
        if not all(np.isfinite(x).all() for x in out.values()):
            raise AppellError(f"{self.system.name} has no finite forces at the start")
        return problem, out

    def mode(self, out: dict[str, Array]) -> Mode:
        """The mode at rest: frictions without slip stick, others slide, frictions on open faces are off."""
        layout, frictions = self.functions.layout, []
        for i in range(layout.count):
            face, s = layout.face_of(i), out["s"][layout.columns(i)]
            size = float(np.linalg.norm(s))
            if face is not None and face not in self.contacts:
                frictions.append(FrictionState(OFF))
            elif layout.smooth[i]:
                frictions.append(FrictionState(SLIP, (0.0,) * layout.parts[i]))
            elif size <= NO_SLIP * float(out["s_size"][layout.columns(i)].max()):
                frictions.append(FrictionState(STICK))
            else:
                frictions.append(FrictionState(SLIP, tuple((s / size).tolist())))
        return Mode(self.contacts, tuple(frictions))

    def rests(self, q: Array) -> tuple[list[Answer], Array]:
        """Solutions without acceleration, those farthest inside their cones first, and Q − h, (nv,)."""
        problem, out = self.problem(q)
        mode, layout, answers = self.mode(out), self.functions.layout, []
        for signed in _signed(mode, layout):
            answer = problem.checked(problem.solve(signed), (), list(self.contacts))
            at_rest = float(answer.x @ problem.M @ answer.x) <= 1e-18 * problem.scale[2]  # squares: 1e-9 of the scale
            if answer.consistent and at_rest:
                answers.append(answer)
        return sorted(answers, key=lambda answer: -answer.slack), problem.r

    def rows(self, q: Array, steps: Array | None = None) -> tuple[Array, Array]:
        """f0 and g of the contacts, and the sizes of their terms; steps (nv,): of displacements, by default those of q."""
        out = self.form.select("f0", "f0_scale", "A0", "g", "g_scale", "g_v", "M", "N")(0.0, q, np.zeros(self.form.nv), self.p)
        touching = list(self.contacts)
        steps = in_metric(metric_roots(out["M"]), moves_of(out["N"], q)) if steps is None else steps
        values = np.concatenate([out["f0"], out["g"][touching]])
        slopes = np.vstack([out["A0"], out["g_v"][touching]])
        return values, np.concatenate([out["f0_scale"], out["g_scale"][touching]]) + np.abs(slopes) @ steps

    def distances(self, q: Array) -> Array:
        """|f0| and |g| of the contacts over the sizes of their terms."""
        values, sizes = self.rows(q)
        return np.divide(np.abs(values), sizes, out=np.where(values == 0, 0.0, np.inf), where=sizes > 0)


def _signed(mode: Mode, layout: Any) -> Iterator[Mode]:
    """The mode with either sign of each constraint that is the only normal force of a sliding friction."""
    sliding = (layout.normals[i] for i, friction in enumerate(mode.frictions) if friction.state == SLIP)
    rows = sorted({row for row in sliding if row is not None and row < layout.m})
    for choice in range(2 ** len(rows)):
        sign = {row: -1 if choice >> k & 1 else 1 for k, row in enumerate(rows)}
        frictions = tuple(friction._replace(sign=sign.get(layout.normals[i], 1)) if friction.state == SLIP else friction
                     for i, friction in enumerate(mode.frictions))  # fmt: skip
        yield Mode(mode.closed, frictions)


@dataclass(frozen=True, eq=False)
class Nearest:
    """The program for one mode: unknowns y = (π, λ) in units of the start, q = q0 + N π."""

    standing: Standing
    q0: Array
    mode: Mode
    units: Array  # (nv + held,)
    inertia: Array  # (nv, nv), M of the start in units of π
    force: Array  # (nv,) units of forces
    lengths: Array  # units of rows and faces
    multipliers: Array  # (rows,) units of all multipliers, those of the start: linear conditions stay linear

    @staticmethod
    def of(standing: Standing, q0: Array, mode: Mode) -> Nearest:
        problem, _ = standing.problem(q0)
        inertia = np.where(np.diag(problem.M) > 0, np.diag(problem.M), np.mean(np.diag(problem.M)))
        with np.errstate(all="ignore"):
            D = natural_steps(reference_of(standing.form, standing.p, 0.0, q0, np.zeros(standing.form.nv)))
        M = problem.M * np.outer(D, D) / (inertia * D**2).max() + 1e-9 * np.eye(len(D))  # massless directions count a little
        rows = mode.rows(standing.functions.layout)
        units = np.concatenate([D, problem.scale[0][rows]])
        return Nearest(standing, q0, mode, units, M, np.sqrt(problem.scale[2] * inertia), standing.rows(q0, D)[1],
                       problem.scale[0])  # fmt: skip

    def q(self, y: Array) -> Array:
        form, nv = self.standing.form, self.standing.form.nv
        N = form.select("N")(0.0, self.q0, np.zeros(nv), self.standing.p)["N"]
        return normalise(form, self.q0 + N @ (y[:nv] * self.units[:nv]))

    def lam(self, y: Array) -> Array:
        layout = self.standing.functions.layout
        lam, nv = np.zeros(layout.rows), self.standing.form.nv
        lam[self.mode.rows(layout)] = y[nv:] * self.units[nv:]
        return lam

    def _problem_at(self, y: Array) -> tuple[Problem, Array]:
        return self.standing.problem(self.q(y))[0], self.lam(y)

    def equations(self, y: Array) -> Array:
        """Unbalanced forces, and distances from rows and closed faces."""
        (problem, lam), layout = self._problem_at(y), self.standing.functions.layout
        rows = self.mode.rows(layout)
        unbalanced = problem.r + problem.W[:, rows] @ lam[rows]
        for i, friction in enumerate(self.mode.frictions):
            if friction.state == SLIP and not layout.smooth[i]:
                direction = problem.W[:, layout.own_rows(i)] @ np.array(friction.u)
                unbalanced = unbalanced - problem.bound(i, lam, friction.sign, static=False) * direction
        return np.concatenate([unbalanced / self.force, self.standing.rows(self.q(y))[0] / self.lengths])

    def inside(self, y: Array) -> Array:
        """Nonnegative within the cones: bound ± λ of sticking frictions along a line, bound² − |λ|² of others, Λ of the
        contacts, σΛ of the normal forces of sliding ones, and g of the other faces."""
        (problem, lam), layout, unit = self._problem_at(y), self.standing.functions.layout, self.multipliers
        margins = [lam[layout.m + f] / unit[layout.m + f] for f in self.mode.closed]
        for i, friction in enumerate(self.mode.frictions):
            rows, normal = layout.own_rows(i), layout.normals[i]
            if friction.state == STICK:
                sign = float(np.sign(lam[normal]) or 1.0) if normal is not None and normal < layout.m else 1.0
                bound = (1 - INSIDE_CONE) * problem.bound(i, lam, sign, static=True)
                if len(rows) == 1:
                    margins += [(bound - lam[rows[0]]) / unit[rows[0]], (bound + lam[rows[0]]) / unit[rows[0]]]
                else:
                    margins.append((bound * abs(bound) - float(lam[rows] @ lam[rows])) / unit[rows[0]] ** 2)
            elif friction.state == SLIP and normal is not None and normal < layout.m:
                margins.append(friction.sign * lam[normal] / unit[normal])
        free = [f for f in range(layout.faces) if f not in self.mode.closed]
        if free:
            standing = self.standing
            out = standing.form.select("g", "g_v")(0.0, self.q(y), np.zeros(standing.form.nv), standing.p)
            sizes = np.abs(out["g_v"]) @ self.units[: standing.form.nv]
            margins += (out["g"] / np.where(sizes > 0, sizes, 1.0))[free].tolist()
        return np.array(margins)

    def solve(self) -> Array | None:
        """q of the nearest equilibrium, or None."""
        nv = self.standing.form.nv
        problem, _ = self.standing.problem(self.q0)
        forces = problem.solve(self.mode).lam[self.mode.rows(self.standing.functions.layout)]
        start = np.nan_to_num(np.concatenate([np.zeros(nv), forces / self.units[nv:]]))
        cost = lambda y: float(y[:nv] @ self.inertia @ y[:nv]) / 2
        slope = lambda y: np.append(self.inertia @ y[:nv], np.zeros(len(y) - nv))
        rules = [{"type": "eq", "fun": self.equations, "jac": lambda y: self._slopes(self.equations, y)}]
        if len(self.inside(start)):
            rules.append({"type": "ineq", "fun": self.inside, "jac": lambda y: self._slopes(self.inside, y)})
        with np.errstate(all="ignore"):
            result = minimize(
                cost, start, jac=slope, constraints=rules, method="SLSQP", options={"maxiter": 300, "ftol": 1e-14}
            )
        y = self._corrected(np.asarray(result.x)) if np.isfinite(result.x).all() else None
        return None if y is None else self.q(y)

    def _slopes(self, f: Any, y: Array) -> Array:
        h = DIFFERENCE_STEP
        return np.column_stack([(f(y + h * e) - f(y - h * e)) / (2 * h) for e in np.eye(len(y))])

    def _corrected(self, y: Array) -> Array | None:
        """The unknowns corrected onto the equations, with active bounds held; None if that fails."""
        active = np.flatnonzero(self.inside(y) < 1e-6)
        bounded = lambda x: np.concatenate([self.equations(x), self.inside(x)[active]])
        for _ in range(REST_CORRECTIONS):
            residual = bounded(y)
            if not np.isfinite(residual).all():
                return None
            if np.abs(residual).max(initial=0.0) <= 1e-13:
                break
            y = y - least_squares(self._slopes(bounded, y), residual, NEWTON_LOST)
        return y if np.abs(self.equations(y)).max(initial=0.0) <= 1e-10 else None


def rest_with_friction(system: System, values: Mapping[Any, float], q0: Array) -> Equilibrium:
    """See `equilibrium`."""
    p = np.array([values[s] for s in system.parameters], dtype=float)
    form = normal_form(system)
    if friction_functions(system, form).law is not None:
        raise ModelError("ap.equilibrium with friction takes no forces that are nonlinear in the multipliers")
    best: tuple[float, Array, Standing] | None = None
    q0 = normalise(form, q0)
    first_standing: Standing | None = None
    for contacts in _contacts(system, form, p, q0):
        standing = Standing(system, p, contacts)
        first_standing = first_standing or standing
        for q in _candidates(standing, q0):
            if not standing.rests(q)[0] or (standing.distances(q) > 1e-9).any():
                continue
            M, N = (form.select("M", "N")(0.0, q0, np.zeros(form.nv), p)[name] for name in ("M", "N"))
            displacement = least_squares(N, q - q0, NEWTON_LOST)
            change = float(displacement @ M @ displacement)
            if best is None or change < best[0]:
                best = change, q, standing
        if best is not None and best[0] == 0.0:
            break
    if best is None:
        assert first_standing is not None
        raise AppellError(_not_held(first_standing, _onto_rows(first_standing, q0)))
    return _equilibrium(best[2], best[1], values)


def _contacts(system: System, form: NormalForm, p: Array, q0: Array) -> Iterator[tuple[int, ...]]:
    """Sets of faces in contact to try: those touched at the start, then other sets."""
    at_start = tuple(np.flatnonzero(np.abs(gaps_at(system, p, q0).relative) <= START_ON_FACE).tolist())
    yield at_start
    further = (contacts for contacts in contact_sets(system, p, q0) if contacts != at_start)
    yield from (contacts for contacts, _ in zip(further, range(FRICTION_CONTACT_SETS), strict=False))


def _candidates(standing: Standing, q0: Array) -> Iterator[Array]:
    """Configurations that may be the equilibrium: the start if it is on its rows and faces, then results of the program."""
    q = _onto_rows(standing, q0)
    if (standing.distances(q) <= 1e-9).all():
        yield q
        if np.array_equal(q, q0) and standing.rests(q)[0]:
            return
    _, out = standing.problem(q0)
    for mode in _signed(standing.mode(out), standing.functions.layout):
        nearest = Nearest.of(standing, q0, mode).solve()
        if nearest is not None:
            yield nearest


def _onto_rows(standing: Standing, q: Array) -> Array:
    """The configuration nearest to q on the holonomic rows and the faces in contact; q itself if it is there."""
    form, touching = standing.form, list(standing.contacts)
    for _ in range(REST_CORRECTIONS):
        if standing.distances(q).max(initial=0.0) <= 1e-13:
            break
        out = form.select("M", "N", "A0", "f0", "g_v", "g")(0.0, q, np.zeros(form.nv), standing.p)
        J = np.vstack([out["A0"], out["g_v"][touching]])
        corrections = -np.concatenate([out["f0"], out["g"][touching]])
        q = normalise(form, q + out["N"] @ least_change(out["M"], J, corrections))
    return q


def _equilibrium(standing: Standing, q: Array, values: Mapping[Any, float]) -> Equilibrium:
    system, (answers, _) = standing.system, standing.rests(q)
    answer, layout = answers[0], standing.functions.layout
    problem, _ = standing.problem(q)
    lam = np.append(answer.lam[: layout.m + layout.faces], answer.force)
    inertia = np.maximum(np.diag(problem.M), 0.0)
    size = np.abs(problem.W) @ np.abs(lam) + np.abs(problem.r) + np.sqrt(problem.scale[2] * inertia)  # one may be all rounding
    residual = float(np.max(np.abs(problem.r + problem.W @ lam) / np.where(size > 0, size, 1.0), initial=0.0))
    faces = np.maximum(answer.lam[layout.m : layout.m + layout.faces], 0.0)
    sticking = tuple(system.frictions[i].name for i, friction in enumerate(answer.mode.frictions) if friction.state == STICK)
    names = tuple(system.unilateral[j].name for j in standing.contacts)
    return Equilibrium(
        system, values, q, answer.lam[: layout.m], residual, reason=HELD_REST if sticking else SLIDES_BELOW, faces=faces,
        contacts=names,
        frictions=answer.force, sticking=sticking,
    )  # fmt: skip


def _not_held(standing: Standing, q: Array) -> str:
    """The force that the start would need, and the friction that cannot provide it."""
    problem, out = standing.problem(q)
    layout, system = standing.functions.layout, standing.system
    answer = problem.solve(standing.mode(out))
    overloaded = []
    for i, friction in enumerate(answer.mode.frictions):
        n = layout.normals[i]
        sign = float(np.sign(answer.lam[n]) or 1.0) if n is not None and n < layout.m else 1.0
        bound = max(problem.bound(i, answer.lam, sign, static=True), 0.0)
        force = float(np.linalg.norm(answer.lam[layout.own_rows(i)]))
        if friction.state == STICK and force > bound:
            overloaded.append(f"'{system.frictions[i].name}' would have to bear {force:.4g} of at most {bound:.4g}")
    acceleration = float(np.abs(answer.x).max(initial=0.0))
    reason = "; ".join(overloaded) or f"with all that sticks it accelerates by {acceleration:.4g}, which no friction holds"
    return f"no rest of {system.name} with friction was found near this start: {reason}. Start nearer, or add what holds it"


__all__ = ["rest_with_friction"]
