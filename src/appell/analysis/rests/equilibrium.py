"""Statics with reactions: equilibria, and the forces that maintain them.

    Q(q) − h(q) + W(q) Λ = 0,        f0(q) = 0,        at v = 0, a = 0        (Soltakhanov et al. (4.3): (Y + Λ∇f)·δx = 0)

h at rest is zero except in moving frames (−∂T0/∂q, the centrifugal force): the equilibrium is then relative. Constraints of
first and second order enter by their reactions, and have to hold at rest: f1(q, 0) = 0, f2(q, 0, 0) = 0. Newton's method takes
the step of least norm, since equilibria need not be isolated (a sleigh can rest anywhere) and Λ need not be unique (redundant
rows).

Small motions δq = N z about rest, z in the kernel of the holonomic rows and ż in the kernel Z of all rows, satisfy

    Lᵀ M Z u̇ = Lᵀ ∂(Q − h + WΛ)/∂q N z + Lᵀ ∂(Q − h + WΛ)/∂v Z u,        ż = Z u,        Lᵀ W = 0,

whose eigenvalues determine stability as far as a linearization can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.rests.balance import Array, Balance, divisors
from appell.analysis.rests.friction_rest import rest_with_friction
from appell.analysis.rests.newton import settled_rest
from appell.analysis.rests.nonsmooth_states import edge
from appell.analysis.rests.rest_state import (
    GAP_CLOSED_AT_REST,
    NO_LOAD,
    RIGID,
    Equilibrium,
    contact_sets,
    gaps_at,
    may_part,
)
from appell.analysis.rests.strong_places import StrongPlaces
from appell.analysis.rests.unheld_directions import connected, soft_directions
from appell.compiled.compiling import bind
from appell.errors import AppellError, ConstraintError, ModelError
from appell.jets import t as time_symbol
from appell.model import System
from appell.model.described import system_of
from appell.model.friction import refuse_friction
from appell.model.placed import placed, require_placed
from appell.model.prescription import settled
from appell.model.values import finite
from appell.normal_form import normal_form
from appell.normal_form.manifold import normalise
from appell.normal_form.move_sizes import metric_roots
from appell.rows import RANK_LOST, left_inverse, null_space
from appell.simulate.start import read
from appell.spelling import checked_keywords
from appell.tree import Tree
from appell.tree.tree_system import TreeSystem


@checked_keywords()
def equilibrium(
    system: System | Tree,
    start: Mapping[Any, Any],
    parameters: Mapping[Any, Any] | None = None,
    *,
    tolerance: float = 1e-10,
) -> Equilibrium:
    """The equilibrium nearest to a start, with its reactions: Q + W Λ = 0, f = 0 (Soltakhanov et al. (4.3)).

    With unilateral constraints, Q + W Λ + Σ Λ_j ∂g_j/∂q = 0 with g >= 0, Λ_j >= 0, g_j Λ_j = 0: sets of faces in contact are
    tried, the empty one first, then by size and by distance from the start.

    With friction, contacts without slip stick within their cones, |λ| <= μ_s|Λ_N|. Such equilibria fill regions: a start that
    is one is returned, else the nearest one in the kinetic metric. Stability is not determined. See `friction_rest`.

    Parameters
    ----------
    system: the system, or a tree (`tree.system()` is then used).
    start: coordinate → value, near the equilibrium; values not named are 0, and velocities are ignored.
    parameters: symbol (or name) → value.
    tolerance: residual relative to the size of its terms that counts as equilibrium.

    Raises
    ------
    ModelError where the system depends on time; AppellError where no equilibrium is found near the start, with the unbalanced
    force; ConstraintError where every equilibrium found violates a unilateral constraint, or would need it to pull.
    """
    if system_of(system, "ap.equilibrium").frictions:
        model, values = with_values(system, parameters, "ap.equilibrium", start)
        return rest_with_friction(model, values, read(model, start)[0])
    search = RestSearch.of(system, parameters, "ap.equilibrium", start)
    return search(read(search.system, start)[0], tolerance=finite(tolerance, "tolerance="))


class RestSearch:
    """Equilibria of one system at given parameters, from any number of starts."""

    def __init__(self, system: System, values: Mapping[Any, float]):
        self.system, self.values = system, values
        self.p = np.array([values[s] for s in system.parameters], dtype=float)
        self._balances: dict[tuple[int, ...], Balance] = {}

    @staticmethod
    def of(system: Any, parameters: Mapping[Any, Any] | None, caller: str, near: Any) -> RestSearch:
        """The search in a system or tree, with checked arguments; near: coordinate → value, near which it is checked if
        necessary."""
        refuse_friction(system_of(system, caller), caller)
        return RestSearch(*with_values(system, parameters, caller, near))

    def __call__(self, q0: Array, reach: Array | None = None, tolerance: float = 1e-10, turn: int = 0) -> Equilibrium:
        """The equilibrium nearest to q0; with `reach` (nq,), the scale of displacements in a region, one to which q0 leads.

        turn: the set of contacts tried first, the first one by default; all others follow in turn.
        """
        nearest = reach is None
        reach = self._balance(()).usual_reach(normalise(normal_form(self.system), q0)) if reach is None else reach
        errors: list[AppellError] = []
        sets = list(contact_sets(self.system, self.p, q0))
        for contacts in sets[turn % len(sets) :] + sets[: turn % len(sets)]:
            try:
                balance = self._balance(contacts).scaled_near(q0, reach)
                return _rest(self.system, self.values, balance, q0, contacts, tolerance, nearest)
            except AppellError as error:
                errors.append(error)
        raise next((error for error in errors if isinstance(error, ConstraintError)), errors[0])

    def _balance(self, contacts: tuple[int, ...]) -> Balance:
        if contacts not in self._balances:
            self._balances[contacts] = Balance(normal_form(self.system, contacts), self.p)
        return self._balances[contacts]

    def strong_places(self, low: Array, high: Array) -> StrongPlaces:
        """Places between two configurations with forces far above the usual ones."""
        return StrongPlaces(self._balance(()), low, high)

    def connected(self, one: Equilibrium, other: Equilibrium, reach: Array) -> bool:
        """Whether two equilibria with the same contacts belong to one family, or are one whose position is not resolved by
        rounding."""
        if one.contacts != other.contacts:
            return False
        names = [face.name for face in self.system.unilateral]
        balance = self._balances[tuple(names.index(name) for name in one.contacts)].scaled_near(one.q + reach / 3, reach)
        return connected(balance, one.q, other.q)


def with_values(
    system: Any, parameters: Mapping[Any, Any] | None, caller: str, near: Any
) -> tuple[System, Mapping[Any, float]]:  # fmt: skip
    """A time-independent system, checked near a state if necessary, and the values of its parameters."""
    system, parameters = settled(system_of(system, caller), parameters)
    values = bind(system, parameters)
    _refuse_time(system)
    system = placed(system, near, values)
    require_placed(system)
    return system, values


def _rest(
    system: System, values: Mapping[Any, float], balance: Balance, q0: Array, contacts: tuple[int, ...], tolerance: float,
    nearest: bool,
) -> Equilibrium:  # fmt: skip
    """The equilibrium in contact with some faces; raises if there is none, or if other faces or the signs of reactions forbid
    it."""
    projected, lam = balance.projected_start(normalise(balance.form, q0))
    if not balance.has_values(projected):
        raise AppellError(
            f"the forces or constraints of {system.name} have no finite value at this start; begin where their roots and"
            " logarithms are real"
        )
    balance, q, lam = settled_rest(balance, projected, lam, tolerance, nearest=nearest)
    plain = np.where(np.abs(q) < 1e-15 * balance.reach, 0.0, q)  # 0 instead of 1e-46 from Newton's method
    q = plain if balance.size(plain, lam) <= 1e-13 else q
    size = balance.size(q, lam)
    if not size <= tolerance:
        raise AppellError(_unbalanced(system, balance, q, lam))
    rows, pushes = lam[: len(system.constraints)], lam[len(system.constraints) :]
    faces = np.zeros(len(system.unilateral))
    faces[list(contacts)] = pushes
    _check_faces(system, balance, q, contacts)
    most = balance.largest_push(q, lam)[len(rows) :]
    for j, push, largest in zip(contacts, pushes, most, strict=True):
        if push < -NO_LOAD * largest:
            name = system.unilateral[j].name
            raise ConstraintError(f"no rest was found: in contact with '{name}' it would have to pull, Λ = {push:.4g} < 0")
    soft = soft_directions(balance, q, lam, tolerance)
    eigenvalues, reason = eigenvalues_at(balance, q, lam, soft.directions)
    if idle := _without_load(system, balance, q, contacts, pushes / divisors(most)):
        eigenvalues, reason = np.zeros(0, dtype=complex), f"'{idle}' is touched without a load"
    if atom := edge(system, balance.form, balance.p, 0.0, q, np.zeros(balance.form.nv)):
        eigenvalues, reason = np.zeros(0, dtype=complex), f"{atom} jumps or has a kink here"
    names = tuple(system.unilateral[j].name for j in contacts)
    pushed = np.maximum(faces, 0.0)
    return Equilibrium(system, values, q, rows, size, eigenvalues, reason, pushed, names, soft.family, soft.flat)


def _refuse_time(system: System) -> None:
    """Raises for a system that depends on time."""
    expressions: dict[str, Any] = {f"the force for {v}": e for v, e in zip(system.velocities, system.forces, strict=True)}
    expressions["potential"] = system.potential
    if not isinstance(system, TreeSystem):
        expressions["kinetic"] = system.kinetic
    expressions |= {f"constraint '{c.name}'": e for c, e in zip(system.constraints, system.residuals, strict=True)}
    expressions |= {f"unilateral constraint '{face.name}'": face.function for face in system.unilateral}
    expressions |= {f"the rate of {q}": e for q, e in system.rates.items()}
    expressions |= {f"friction '{fr.name}'": e for fr in system.frictions for e in fr.expressions}
    for what, expr in expressions.items():
        if time_symbol in expr.free_symbols:
            raise ModelError(f"{what} contains time, so {system.name} has no equilibrium; fix the time by a parameter")


def _unbalanced(system: System, balance: Balance, q: Array, lam: Array) -> str:
    out = balance(q, lam)
    broken = np.abs(out["conditions"]).max(initial=0.0)
    i = int(np.argmax(np.abs(out["load"])))
    configuration = ", ".join(f"{s} = {x:.4g}" for s, x in zip(system.positions, q, strict=True))
    return (
        f"no equilibrium of {system.name} was found near this start: at {configuration} a force {out['load'][i]:.4g} along"
        f" {system.velocities[i]} is left, and the constraints are off by {broken:.2g}. Start nearer, or add what holds it"
    )


def _check_faces(system: System, balance: Balance, q: Array, contacts: tuple[int, ...]) -> None:
    """Raises unless g >= 0 on the faces not in contact."""
    if len(contacts) == len(system.unilateral):
        return
    gaps = gaps_at(system, balance.p, q, balance.reach)
    for j, face in enumerate(system.unilateral):
        if j not in contacts and not gaps.relative[j] >= -GAP_CLOSED_AT_REST:
            raise ConstraintError(
                f"the equilibrium lies behind unilateral constraint '{face.name}': {face.function} = {gaps.g[j]:.4g} < 0"
            )


def _without_load(system: System, balance: Balance, q: Array, contacts: tuple[int, ...], pushes: Array) -> str:
    """The name of a face that is touched and does not press, beside which there is no linear motion; "" without one. pushes:
    Λ of the contacts as fractions of the largest."""
    if not system.unilateral:
        return ""
    touched = np.abs(gaps_at(system, balance.p, q, balance.reach).relative) <= GAP_CLOSED_AT_REST
    pressed = [j for j, push in zip(contacts, pushes, strict=True) if push > NO_LOAD]
    unloaded = [j for j in np.flatnonzero(touched) if j not in pressed]
    if not unloaded:
        return ""
    form = normal_form(system, tuple(pressed))
    out = form.select("A0", "g_v", "M")(0.0, q, np.zeros(form.nv), balance.p)
    may_open = may_part(out["A0"], out["g_v"][unloaded], metric_roots(out["M"]))
    return next((system.unilateral[j].name for j, free in zip(unloaded, may_open, strict=True) if free), "")


# -- small motions -----------------------------------------------------------------------------------------------------


def _singular(inertia: Array) -> bool:
    """Whether a matrix is singular, independent of the units of its rows and columns."""
    for axis in (1, 0):
        inertia = inertia / divisors(np.abs(inertia).max(axis=axis, keepdims=True))
    return not (np.isfinite(inertia).all() and np.linalg.cond(inertia) <= 1e12)  # four digits are left


def _turns(out: dict[str, Array], first_order: list[int]) -> bool:
    """Whether the velocities of rows of first order change with the configuration, compared with the rates of small motions."""
    rate = max(np.sqrt(np.abs(out["load_q"]).max(initial=0.0)), np.abs(out["load_v"]).max(initial=0.0))
    change, row = (np.abs(out[name][first_order]).max(axis=1, initial=0.0) for name in ("f1_q", "A1"))
    return bool((change > RANK_LOST * rate * row).any())


def eigenvalues_at(
    balance: Balance, q: Array, lam: Array, soft: Array | None = None
) -> tuple[NDArray[np.complex128], str]:
    """Eigenvalues of the linearization, or the reason why there are none; soft: displacements without stiffness, (nv, k)."""
    nothing = np.zeros(0, dtype=complex)
    out = balance.in_metric(q, lam)
    if balance.second_order:
        return nothing, "a constraint of second order is not linearised"
    first_order = [i for i, row in enumerate([r for r in balance.form.rows if r.level < 2]) if row.level == 1]
    if _turns(out, first_order):
        return nothing, "a constraint of first order changes its velocities from place to place"
    Z0, Z, L = null_space(out["A0"]), null_space(out["A1"]), null_space(out["W"].T)
    inertia = L.T @ out["M"] @ Z
    if not inertia.size:
        return nothing, RIGID if not Z.size else "the inertia is singular on what the constraints allow"
    if inertia.shape[0] != inertia.shape[1] or _singular(inertia):
        return nothing, "the inertia is singular on what the constraints allow"
    stiffness = np.linalg.solve(inertia, L.T @ out["load_q"] @ Z0)
    if soft is not None and soft.size:
        soft_z = Z0.T @ (soft / balance.units(q, lam)[:, None])
        reduced = stiffness - stiffness @ soft_z @ left_inverse(soft_z)
        stiffness = np.where(np.abs(reduced) > 1e-12 * np.abs(stiffness).max(), reduced, 0.0)
    damping = np.linalg.solve(inertia, L.T @ out["load_v"] @ Z)
    moving = np.vstack([Z, np.zeros((balance.form.states, Z.shape[1]))])
    top = np.hstack([np.zeros((Z0.shape[1], Z0.shape[1])), Z0.T @ moving])
    if balance.form.states:  # ṡ along admissible displacements and velocities
        change = np.vstack([np.zeros((balance.form.nv, len(Z0))), out["rate_q"]]) @ Z0
        drive = np.vstack([np.zeros_like(Z), out["rate_v"] @ Z])
        top += Z0.T @ np.hstack([change, drive])
    J = np.block([[top], [stiffness, damping]])
    if not np.isfinite(J).all():
        return nothing, "the linearised forces overflow"
    values = np.asarray(np.linalg.eigvals(J) if J.size else nothing, dtype=np.complex128)
    return values[np.argsort(-values.real, kind="stable")], ""
