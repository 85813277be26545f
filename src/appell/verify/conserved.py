"""Cyclic coordinates and conserved momenta; the energy integral: `energy_integral`.

    ∂T/∂q = ∂V/∂q = 0, Q_q = 0:  d/dt ∂T/∂q̇ = (W Λ)_q                 a cyclic coordinate under constraints
    dI/dt = I_t + I_q q̇ + I_v a,  I = Σ c_k I_k, c of parameters
    I_k: p_i = ∂T/∂v_i, q_i p_j ∓ q_j p_i;  Σ m ṙ, Σ m r × ṙ + R Jω over all bodies; R Jω and Jω of each
    ΔI = I_v Δv,  M Δv = n + W λ,  A Δv = 0                                       at a face f = 0 with the normal n = ∂f/∂q

A momentum is reported as conserved if dI/dt vanishes at random states on the constraints, with the accelerations of the normal
form and different parameter values at each state; if ΔI vanishes at states on every face; and if dI/dt vanishes in 50 digits
with the accelerations of Lagrange's form.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Expr

from appell.backends import vm_function
from appell.compiled.run import Run
from appell.errors import AppellError
from appell.forms import lagrange
from appell.forms.engine.constrained_states import Projection
from appell.forms.engine.derivation import gradient, time_derivation
from appell.forms.engine.display import simplified
from appell.forms.engine.evaluation import Tape, arithmetic
from appell.forms.engine.system_terms import directions
from appell.graph import Fn
from appell.jets import Coordinate
from appell.model import RigidBody, System
from appell.normal_form import normal_form
from appell.normal_form.nearest import states_on
from appell.numeric_functions import numeric_function
from appell.reading import text_of
from appell.rows import null_space, rank, response
from appell.verify.exact import exact_parameters, exact_state
from appell.verify.pfaffian_integrals import ECHELON_ZERO, rational, reduced

Array = NDArray[np.float64]
State = tuple[float, Array, Array]

RATE_ROUNDING = 1e-9
"""A rate below this fraction of the size of its quantity counts as zero."""

VANISHING_MOMENTUM = 1e-13
"""A momentum below this fraction of its size at free velocities vanishes by the constraints."""

ROTATED_COORDINATES = 6
"""Number of coordinates up to which rotations q_i p_j − q_j p_i are tried."""

SHEARED_COORDINATES = 4
"""Number of coordinates up to which shears q_i p_j + q_j p_i are tried: hyperbolic rotations."""

MOST_SPINNING_BODIES = 4
"""Number of bodies up to which their own angular momenta are tried."""

MOST_UNKNOWNS = 140
"""Largest number of momenta times monomials of parameters as coefficients."""

INVOLVED_COMPONENT = 1e-6
"""A momentum with a smaller component in a unit vector of coefficients is not involved: rounding of the null space."""

CONFIRMATION_DIGITS = 50
"""Digits in which a momentum is confirmed."""


@dataclass(frozen=True)
class StateBatch:
    """States of one system: times (k,), q (k, nq), v (k, nv), accelerations (k, nv), Λ (k, rows), parameters (k, np)."""

    run: Run
    t: Array
    q: Array
    v: Array
    a: Array
    lam: Array
    p: Array

    @staticmethod
    def of(run: Run, states: Sequence[State], parameters: Sequence[Array] | None = None) -> StateBatch:
        """The states at which the accelerations are determined, each with its own parameters if given."""
        runs = [run] * len(states) if parameters is None else [replace(run, p=p) for p in parameters]
        solved_states = [(instance, state, _solved(instance, state)) for instance, state in zip(runs, states, strict=True)]
        determined = [(*state, *solved, instance.p) for instance, state, solved in solved_states if solved is not None]
        widths = (run.system.nq, run.system.nv, run.system.nv, len(run.system.constraints), len(run.p))
        columns = [np.array([row[k + 1] for row in determined]).reshape(len(determined), n) for k, n in enumerate(widths)]
        return StateBatch(run, np.array([row[0] for row in determined]), *columns)

    def values(self, expr: Expr) -> Array:
        """An expression in t, q, v, a at the states, (k,)."""
        return self._evaluated(self.run.form.lowered(self.run.system.in_velocities(expr)))["value"]

    def table(self, exprs: Sequence[Expr]) -> Array:
        """Expressions at the states, (k, number of them)."""
        return np.array([self.values(e) for e in exprs]).reshape(len(exprs), len(self.t)).T

    def outputs(self, *names: str) -> dict[str, Array]:
        """Outputs of the normal form at the states."""
        return self._evaluated(self.run.form.select(*names))

    def _evaluated(self, fn: Fn) -> dict[str, Array]:
        inputs = {"t": self.t, "q": self.q, "v": self.v, "p": self.p, "a": self.a, "lam": self.lam}
        outputs = vm_function(fn).batch(*(inputs[port.name] for port in fn.inputs))
        return dict(zip((port.name for port in fn.outputs), outputs, strict=True))


def _solved(run: Run, state: State) -> tuple[Array, Array] | None:
    try:
        a, lam = run.acceleration(*state)
    except AppellError:
        return None
    return (a, lam) if np.isfinite(a).all() and np.isfinite(lam).all() else None


def cyclic(system: System) -> dict[Coordinate, tuple[str, ...]]:
    """Coordinates absent from T, V and the forces, without a generalized force → the constraints and faces that act on them."""
    occurring = set().union(*(e.free_symbols for e in (system.kinetic, system.potential, *system.forces)))
    W = directions(system)
    constraints_on = {}
    for i, v in enumerate(system.velocities):
        q = next((q for q in system.coordinates if q.d == v), None)
        if q is not None and q not in occurring and system.forces[i] == 0:
            rows = [c.name for c, row in zip(system.constraints, W, strict=True) if row[i] != 0]
            constraints_on[q] = (*rows, *(face.name for face in system.unilateral if q in face.function.free_symbols))
    return constraints_on


# -- momenta -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConservedMomentum:
    """A conserved momentum, and a description of its symmetry."""

    expression: Expr
    symmetry: str


def conserved_momenta(batch: StateBatch, given: Mapping[Any, Any]) -> list[ConservedMomentum]:
    """Conserved combinations of linear and angular momenta with their symmetries; trivial ones (zero) are left out.

    batch: states with one set of parameters; given: fixed values, by symbol or name; other parameters are free.
    """
    system = batch.run.system
    named = _involved(batch, _independent(batch, [*_of_coordinates(system), *_of_bodies(system)]))
    if not named:
        return []
    candidates = [m.expression for m in named]
    names = {text_of(key) for key in given}
    free = [p for p in system.parameters if str(p) not in names]
    values, conserved, spanned = batch.table(candidates), [], np.zeros((len(batch.t), 0))
    confirm: Callable[[Expr], bool] | None = None
    for degree in range(3 if free else 1):
        coefficients = _monomials(free, degree)
        if degree and len(candidates) * len(coefficients) > MOST_UNKNOWNS:
            break
        for exact in _null_vectors(batch, candidates, coefficients, given, limit=12 if not given else 1000):
            at_p = numeric_function(system.parameters, exact, "numpy")(*batch.run.p)
            value = values @ np.array(at_p, dtype=float)
            grown = np.column_stack([spanned, value / max(np.abs(value).max(), 1e-300)])
            terms = np.abs(values) @ np.abs(np.array(at_p, dtype=float))
            if np.abs(value).max() > RATE_ROUNDING * terms.max() and rank(grown.T) > spanned.shape[1]:
                momentum = sympy.Add(*(c * e for c, e in zip(exact, candidates, strict=True)))
                confirm = confirm or confirmation(system, given)  # this derives Lagrange's equations
                if confirm(momentum):
                    spanned = grown
                    symmetries = [m.symmetry for c, m in zip(exact, named, strict=True) if c != 0]
                    conserved.append(ConservedMomentum(simplified(momentum, 0.3), " with ".join(dict.fromkeys(symmetries))))
    return conserved


def _of_coordinates(system: System) -> Iterator[ConservedMomentum]:
    """p_i for every velocity, and q_i p_j − q_j p_i for coordinates whose velocities are their derivatives.

    Without constraints also q_i p_j + q_j p_i for few coordinates, and the coordinates themselves where T has terms linear in
    velocities: m ẋ − b y of a charge, whose p_x is m ẋ − b y/2.
    """
    p = dict(zip(system.velocities, gradient(system.kinetic, system.velocities), strict=True))
    for v, momentum in p.items():
        own = next((q for q in system.coordinates if q.d == v), None)
        yield ConservedMomentum(momentum, f"a shift of {own}" if own is not None else f"motion by {v} alone")
    own = [q for q in system.coordinates if q.d in p]
    for a, b in itertools.combinations(own, 2) if len(own) <= ROTATED_COORDINATES else ():
        yield ConservedMomentum(a * p[b.d] - b * p[a.d], f"a turn of ({a}, {b})")
    if system.constraints:
        return  # for a coin with constant rates φ ψ̇ − ψ φ̇ is constant, without a symmetry
    for a, b in itertools.combinations(own, 2) if len(own) <= SHEARED_COORDINATES else ():
        yield ConservedMomentum(a * p[b.d] + b * p[a.d], f"a shear of ({a}, {b})")
    at_rest = dict.fromkeys(system.velocities, sympy.Integer(0))
    if any(e.xreplace(at_rest).free_symbols & set(own) for e in p.values()):
        yield from (ConservedMomentum(q, "T changed by a total derivative") for q in own)


def _of_bodies(system: System) -> Iterator[ConservedMomentum]:
    """Linear and angular momentum of all bodies, and angular momenta of each about its centre of mass, if T comes from
    bodies."""
    if not system.bodies or system.kinetic_given != 0 or len(system.bodies) > MOST_SPINNING_BODIES:
        return
    origin = sympy.zeros(3, 1)
    total, moment, single = origin, origin, []
    for body in system.bodies:
        v: Any = body.velocity(system.rates)
        total, moment = total + body.mass * v, moment + body.mass * body.position.cross(v)
        if isinstance(body, RigidBody):
            spin = body.inertia * body.omega(system.rates)
            moment = moment + body.orientation.rotation * spin
            in_space = zip("xyz", body.orientation.rotation * spin, strict=True)
            single += [(f"a turn of {body.name} about {axis} through its centre", e) for axis, e in in_space]
            single += [(f"a turn of {body.name} about its own {axis} axis", e) for axis, e in zip("xyz", spin, strict=True)]
    totals = [(f"a translation along {axis}", e) for axis, e in zip("xyz", total, strict=True)]
    totals += [(f"a rotation about {axis}", e) for axis, e in zip("xyz", moment, strict=True)]
    for symmetry, value in (*totals, *single):
        if value != 0:
            yield ConservedMomentum(system.in_velocities(value), symmetry)


def _independent(batch: StateBatch, named: Iterable[ConservedMomentum]) -> list[ConservedMomentum]:
    """Those momenta that are not combinations of the ones before them, at the states of the batch."""
    independent: list[ConservedMomentum] = []
    table, free = np.zeros((len(batch.t), 0)), _unrestricted(batch)
    for m in named:
        value = batch.table([m.expression])
        size, usual = (np.abs(x).max(initial=0.0) for x in (value, free.table([m.expression])))
        grown = np.column_stack([table, value / size]) if size > VANISHING_MOMENTUM * usual else table
        if grown.shape[1] > table.shape[1] and (len(independent) >= len(batch.t) or rank(grown.T) > len(independent)):
            independent, table = [*independent, m], grown
    return independent


def _unrestricted(batch: StateBatch) -> StateBatch:
    """The states with velocities that no constraint restricts, as large as the largest in the kinetic metric: what vanishes by
    the constraints has its usual size there."""
    n, nv = batch.v.shape
    diagonal = np.abs(np.diagonal(batch.outputs("M")["M"].reshape(n, nv, nv), axis1=1, axis2=2)).max(axis=0, initial=0.0)
    weight = np.sqrt(np.where(diagonal > 0, diagonal, diagonal.max(initial=0.0) or 1.0))
    fastest = (np.abs(batch.v) * weight).max(initial=0.0) / weight
    return replace(batch, v=fastest * np.random.default_rng(5).uniform(-1, 1, (n, nv)))


def _involved(batch: StateBatch, named: list[ConservedMomentum]) -> list[ConservedMomentum]:
    """The momenta in conserved combinations with the parameters of the batch; only these can occur in a symbolic one."""
    run, count = batch.run, len(named) + 10
    sample = batch if len(batch.t) >= count else StateBatch.of(run, list(states_on(run.form, run.p, count, 7)))
    if len(sample.t) < len(named) + 2:
        return named
    rates, size = _rates(sample, [m.expression for m in named], [sympy.Integer(1)])
    kernel = null_space(rates / np.where(size > 0, size, 1.0), as_given=True)
    return [m for m, row in zip(named, kernel, strict=True) if np.abs(row).max(initial=0.0) > INVOLVED_COMPONENT]


def _monomials(symbols: Sequence[Any], degree: int) -> list[Expr]:
    """1, the symbols, their products, … up to a degree."""
    powers = (itertools.combinations_with_replacement(symbols, d) for d in range(degree + 1))
    return [sympy.Mul(*factors) for factors in itertools.chain.from_iterable(powers)]


def _null_vectors(
    batch: StateBatch, candidates: Sequence[Expr], coefficients: Sequence[Expr], given: Mapping[Any, Any], limit: int
) -> list[list[Expr]]:
    """c_k = Σ r_kj × coefficient_j with rational r for which Σ c_k I_k has zero rate and no jump, simplest first."""
    unknowns = len(candidates) * len(coefficients)
    scatter = len(coefficients) > 1 or len(batch.t) < unknowns + 2
    sample = scattered(batch, given, unknowns + 10) if scatter else batch
    rates, size = _rates(sample, candidates, coefficients)
    keep = [k for k in range(unknowns) if size[k] > 0]
    if len(sample.t) < len(keep) + 2:
        return []
    relative = rates[:, keep] / size[keep]
    unit_vectors = np.eye(len(keep))[np.abs(relative).max(axis=0, initial=0.0) < RATE_ROUNDING]
    combinations = reduced(null_space(relative, as_given=True).T)
    lead = [int(np.argmax(np.abs(row) > ECHELON_ZERO)) for row in combinations]  # where it is 1
    combinations = combinations / size[keep] * size[keep][lead][:, None]
    vectors = []
    for c in (*unit_vectors, *sorted(combinations, key=lambda c: np.count_nonzero(np.abs(c) > 1e-7))):
        exact = rational(c, limit)
        # coefficients of a null vector that are no simple fractions belong to no symbolic momentum
        if all(abs(float(r) - x) < 1e-6 * max(1, abs(x)) for r, x in zip(exact, c, strict=True)):
            coefficient_of = dict(zip(keep, exact, strict=True))
            indices = [(k * len(coefficients) + j, k, e) for k in range(len(candidates)) for j, e in enumerate(coefficients)]
            terms = [(k, coefficient_of.get(index, 0) * e) for index, k, e in indices]
            vectors.append([sympy.Add(*(term for owner, term in terms if owner == k)) for k in range(len(candidates))])
    return vectors


def _rates(batch: StateBatch, candidates: Sequence[Expr], coefficients: Sequence[Expr]) -> tuple[Array, Array]:
    """(states and faces, unknowns): rates and jumps of coefficient × momentum; (unknowns,): its size."""
    unknowns, system = len(candidates) * len(coefficients), batch.run.system
    times = lambda table, states: np.einsum("ki,kj->kij", table, states.table(coefficients)).reshape(len(table), unknowns)
    d_dt = time_derivation(system.rates)
    rates = times(batch.table([d_dt(e) for e in candidates]), batch)
    size = np.abs(times(batch.table(candidates), batch)).max(axis=0, initial=0.0) + np.abs(rates).max(axis=0, initial=0.0)
    for i in range(len(system.unilateral)):
        rates = np.vstack([rates, *(times(_jumps(on_face, i, candidates), on_face) for on_face in [_on_face(batch, i)])])
    return rates, size


def scattered(batch: StateBatch, given: Mapping[Any, Any], count: int) -> StateBatch:
    """`count` states, each with its own values of the parameters that are not given."""
    run, states, parameters = batch.run, [], []
    for k in range(count):
        drawn = exact_parameters(run.system, given, 1000 + k)
        p = np.array([float(drawn[s]) for s in run.system.parameters])
        for state in states_on(run.form, p, 1, k):
            states.append(state)
            parameters.append(p)
    return StateBatch.of(run, states, parameters)


def _on_face(batch: StateBatch, face: int) -> StateBatch:
    """The states of a batch moved onto a face, without accelerations."""
    form = normal_form(batch.run.system, (face,))
    states = [(k, state) for k, p in enumerate(batch.p) for state in states_on(form, p, 1, k)][: len(batch.t)]
    pick = lambda i, n: np.array([state[i] for _, state in states]).reshape(len(states), n)
    at = [k for k, _ in states]
    tqv = (np.array([state[0] for _, state in states]), pick(1, form.nq), pick(2, form.nv))
    return StateBatch(batch.run, *tqv, np.zeros((len(at), form.nv)), batch.lam[at] * 0, batch.p[at])


def _jumps(batch: StateBatch, face: int, exprs: Sequence[Expr]) -> Array:
    """ΔI of quantities affine in v under a unit impulse at a face, at states on it, (k, number of them)."""
    form = normal_form(batch.run.system, (face,))
    blocks = vm_function(form.select("M", "A", "W")).batch(batch.t, batch.q, batch.v, batch.p)
    dv = np.array([_velocity_jump(M, A, W) for M, A, W in zip(*blocks, strict=True)]).reshape(batch.v.shape)
    return replace(batch, v=batch.v + dv).table(exprs) - batch.table(exprs)


def _velocity_jump(M: Array, A: Array, W: Array) -> Array:
    """Δv of M Δv = n + W λ, A Δv = 0, with the normal n as the last row of A."""
    return response(M, A[:-1], W[:, :-1], A[-1][:, None])[:, 0]


def confirmation(system: System, given: Mapping[Any, Any]) -> Callable[[Expr], bool]:
    """A test whether dI/dt vanishes in many digits, which separates small from zero. True where it cannot be evaluated."""
    numbers, d_dt = arithmetic(CONFIRMATION_DIGITS), time_derivation(system.rates)
    states = []
    try:
        equations, project = lagrange(system), Projection(system)
        for seed in range(6):
            parameters: Any = exact_parameters(system, given, 2000 + seed)
            p = np.array([float(parameters[s]) for s in system.parameters])
            for start in states_on(normal_form(system), p, 1, seed):
                state = project(exact_state(system, *start, parameters, numbers), numbers)
                if state is not None and len(states) < 3:
                    a, _ = equations.evaluate(state, CONFIRMATION_DIGITS)
                    states.append(state | dict(zip(system.accelerations, a, strict=True)))
    except AppellError:
        return lambda momentum: True

    def confirm(momentum: Expr) -> bool:
        tape = Tape([momentum, system.in_velocities(d_dt(momentum))])
        results = [tape(state, numbers) for state in states]
        largest = max((abs(value) for value, _ in results), default=0)
        return all(abs(rate) <= 10.0 ** (20 - CONFIRMATION_DIGITS) * largest for _, rate in results)

    return confirm
