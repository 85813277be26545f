"""Reaction laws: forces that contain multipliers, solved together with the rows.

    M a + h = Q + F(t, q, v, Λ) + W Λ            A a + a0 = 0

Soltakhanov, Shugaylo and Yushkov (1.11): a constraint may have any R_L in addition to the ideal reaction, and here R_L = F may
depend on the reaction itself: sliding friction −μΛ, creep of a wheel on a rail, a bearing whose drag grows with its load.

Elimination. The rows without the law give a = x̄, Λ = λ̄; an additional unit force e_i gives x_i, λ_i. With X = (x_i) and
C = (λ_i)

    Λ = λ̄ + C F(Λ)            a = x̄ + X F(Λ)                                                                            (1)

so that only the multipliers which F contains are unknown. F affine in Λ: one solve with I − C ∂F/∂Λ; where that is singular
(Painlevé), no reaction or infinitely many satisfy the law. Otherwise Newton's iteration, `LAW_ITERATIONS` steps written into
the graph, so that every back end and Taylor series can run it; it starts from the ideal reaction λ̄. A second iteration starts
from −λ̄: laws in |Λ| have two solutions, or none, where I − C ∂F/∂Λ has changed its sign. If an iteration does not converge, or
the two converge to different reactions, the status is `Status.REACTION`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from appell.errors import ModelError, Status
from appell.graph.algebra import (
    Value,
    column,
    depends,
    general_solve,
    jacobian,
    largest,
    pattern,
    row_major,
    substitute,
    substitute_all,
    symbols,
    take,
    used,
    where,
    zeros,
)

if TYPE_CHECKING:
    from appell.model import System
    from appell.normal_form.kinematic_map import Kinematics
    from appell.normal_form.rows import ConstraintsInForce, Rows

LAW_ITERATIONS = 9
"""Newton steps: from a guess with one correct digit, about six reach full precision by doubling the digits."""

LAW_SETTLED = 1e-8
"""The last step has to be below this fraction of the terms of (1); the remaining error is of the order of its square."""

APART = 1e-6
"""Two reactions are different if they differ by more than this fraction of the terms of (1)."""


@dataclass(frozen=True, eq=False)
class OpenLaw:
    """How the forces depend on the multipliers λ of faces that are not among the rows, or of frictions: `slope` = ∂Q/∂λ at
    λ = 0, (nv, faces) or (nv, parts), and whether they are affine in them."""

    slope: Value
    affine: bool


@dataclass(frozen=True, eq=False)
class OpenForces:
    """Forces (nv,) with the multipliers `lam` of all constraints, faces and parts of frictions in them, not affine in these."""

    forces: Value
    lam: Value


class ForceSplit(NamedTuple):
    """The forces with Λ of the rows only, their dependence on the multipliers of open faces and of frictions, and all forces
    together where this dependence is not affine."""

    forces: Value
    faces: OpenLaw | None
    frictions: OpenLaw | None
    open_forces: OpenForces | None


def split_forces(
    system: System, in_force: ConstraintsInForce, kin: Kinematics, lam: Value, forces: Callable[[], Value]
) -> ForceSplit:
    """`forces`: lowers them; called once the multipliers have their values."""
    multipliers = [x for fr in system.frictions for x in fr.multipliers]
    open_, tangential = symbols("lam_face", len(system.unilateral)), symbols("lam_friction", len(multipliers))
    kin.lower.bind({face.multiplier: open_[i] for i, face in enumerate(system.unilateral)})
    kin.lower.bind({x: tangential[i] for i, x in enumerate(multipliers)})
    kin.lower.bind({c.multiplier: lam[i] for i, c in enumerate(in_force.constraints)})
    all_forces, open_lam = forces(), column(open_, tangential)
    all_lam = column(lam, open_lam)
    bent = depends(all_forces, all_lam) and depends(jacobian(all_forces, all_lam), all_lam)
    nonlinear = OpenForces(all_forces, all_lam) if bent else None
    if not depends(all_forces, open_lam):
        return ForceSplit(all_forces, None, None, nonlinear)
    nothing = zeros(open_lam.numel())

    def law(lam_of_kind: Value) -> OpenLaw | None:
        slope = jacobian(all_forces, lam_of_kind)
        affine = not depends(slope, column(open_lam, lam))
        return OpenLaw(substitute(slope, [open_lam], [nothing]), affine) if depends(all_forces, lam_of_kind) else None

    return ForceSplit(substitute(all_forces, [open_lam], [nothing]), law(open_), law(tangential), nonlinear)


@dataclass(frozen=True, eq=False)
class Law:
    """Forces that contain multipliers: Q + W Λ with `rest` and `slope` where they are affine in them, else `rest` and F(Λ).

    F has as many entries as velocities that it acts on, `places`; `used` are the multipliers in it, by row of A.
    """

    lam: Value  # of all constraints
    used: tuple[int, ...]
    places: tuple[int, ...]
    F: Value  # (places,), all of the forces there
    affine: bool
    rest: Value  # (nv,) forces without the law; for an affine one those at Λ = 0
    slope: Value  # (nv, m) ∂F/∂Λ of an affine law
    given: bool  # whether some constraint has a given reaction direction

    @staticmethod
    def of(forces: Value, in_force: ConstraintsInForce, rows: Rows, kin: Kinematics) -> Law | None:
        """The law contained in the forces, if any."""
        if not depends(forces, rows.lam):
            return None
        free = [c.name for c in in_force.constraints if c.order == 2 and not c.linear]
        if free:
            raise ModelError(
                f"constraint '{free[0]}' is nonlinear in the accelerations, and forces contain multipliers: Gauss's minimum"
                " takes forces that do not depend on the reactions"
            )
        lam = rows.lam
        slope = jacobian(forces, lam)
        places = tuple(sorted({i for i, _ in pattern(slope)}))
        affine = not depends(slope, lam)
        if affine:
            rest = substitute(forces, [lam], [zeros(lam.numel())])
        else:
            rest = column(*(Value(0) if i in places else forces[i] for i in range(forces.numel())))
            slope = zeros(*slope.shape)
        directed = any(c.reaction is not None for c in in_force.constraints)
        F = take(forces, places)
        return Law(lam, tuple(used(F, lam)), places, F, affine, rest, slope, directed)

    def restricted(self, restrict: Any) -> Law:
        """The law with its velocities expressed in another state."""
        F, rest, slope = restrict(self.F, self.rest, self.slope)
        return replace(self, F=F, rest=rest, slope=slope)

    @property
    def matrix(self) -> Value:
        """E of the force E F, (nv, places)."""
        E = zeros(self.rest.numel(), len(self.places))
        for k, i in enumerate(self.places):
            E[i, k] = 1
        return E

    def solve(self, bar: Value, C: Value) -> tuple[Value, Value]:
        """(F, margin) from λ̄ (m,) and C (m, places): (1) solved. An affine law has its constant part in λ̄ already."""
        bar, C = take(bar, self.used), C[list(self.used), :]
        if self.affine:
            F_lam = self.slope[list(self.places), list(self.used)]
            inverse = general_solve(Value.eye(len(self.used)) - C @ F_lam, Value.eye(len(self.used)))
            digits_lost = _largest(inverse) * (1 + _largest(abs(C) @ abs(F_lam)))
            return F_lam @ (inverse @ bar), where(digits_lost < LAW_DIGITS_LOST, 1.0, -float(Status.REACTION))
        lam, step, terms = self._newton(bar, bar, C)
        other_lam, other_step, _ = self._newton(bar, -bar, C)
        twice = where(largest(other_step) <= LAW_SETTLED * terms, largest(other_lam - lam) > APART * terms, 0)
        one_solution = where(twice, -float(Status.REACTION), 1.0)
        margin = where(largest(step) <= LAW_SETTLED * terms, one_solution, -float(Status.REACTION))
        return substitute(self.F, [take(self.lam, self.used)], [lam]), margin

    def _newton(self, bar: Value, start: Value, C: Value) -> tuple[Value, Value, Value]:
        """The used Λ, the last step and the size of the terms of (1)."""
        unknown, identity = take(self.lam, self.used), Value.eye(len(self.used))
        J = jacobian(self.F, unknown)
        lam, step, terms = start, zeros(len(self.used)), Value(0)
        for _ in range(LAW_ITERATIONS):
            F, F_lam = substitute_all([self.F, J], [unknown], [lam])
            terms = largest(bar) + largest(abs(C) @ abs(F)) + LAW_FLOOR
            step = general_solve(identity - C @ F_lam, lam - bar - C @ F)
            lam = lam - step
        return lam, step, terms


LAW_DIGITS_LOST = 1e12
"""Factor by which I − C ∂F/∂Λ may lose digits."""

LAW_FLOOR = 1e-140
"""Floor of the terms, so that a law without load, 0 = 0, has converged."""


def _largest(matrix: Value) -> Value:
    """max |entry|."""
    return largest(row_major(matrix))
