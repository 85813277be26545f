"""Constraints as rows A a + a0 = 0, each with its lower levels.

    level 0   f(t, q)          ḟ = f_q q̇ + f_t        A = ∂ḟ/∂v        a0 = ḟ_q q̇ + ḟ_t
    level 1   f(t, q, v)                              A = ∂f/∂v        a0 = f_q q̇ + f_t
    level 2   f(t, q, v, a)                           A = ∂f/∂a        a0 = f(t, q, v, 0)          linear in a
    level 2   f(t, q, v, a)    kept as r(t, q, v, a) with r_a, r_aa                                nonlinear in a

The reaction is W Λ with W = Aᵀ (d'Alembert–Lagrange, Chetaev, Gauss) unless the constraint gives its own direction.
Its power is Λ·Wᵀv; for an ideal row linear in v, A v = f − f|_{v=0}, which on the constraint is −f|_{v=0}: zero,
structurally, for constraints homogeneous in the velocities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from appell.errors import ConstraintError
from appell.graph.algebra import Value, column, hessian, jacobian, scatter, substitute, symbols, take, zeros
from appell.graph.sizes import sizes
from appell.model import Constraint, System
from appell.normal_form.kinematic_map import Kinematics


@dataclass(frozen=True)
class ConstraintsInForce:
    """The constraints in force: those of the system, and the closed faces, f = 0."""

    constraints: tuple[Constraint, ...]
    residuals: tuple[Any, ...]
    reactions: tuple[Any, ...]

    @staticmethod
    def of(system: System, contacts: tuple[int, ...] = ()) -> ConstraintsInForce:
        faces = [system.unilateral[i] for i in contacts]
        return ConstraintsInForce(
            (*system.constraints, *(Constraint(face.function, face.name) for face in faces)),
            (*system.residuals, *(face.function for face in faces)),
            (*system.reactions, *(None for _ in faces)),
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows of a system on the graph. `lam` are the multipliers of all constraints in order, inputs of `power`."""

    A: Value
    a0: Value
    W: Value
    f0: Value
    f0_scale: Value
    f1: Value
    f1_scale: Value
    A0: Value
    A1: Value
    r: Value
    r_a: Value
    r_aa: Value
    lam: Value
    power: Value

    def outputs(self, nv: int) -> dict[str, tuple[Value, tuple[int, ...]]]:
        """All levels as named, shaped outputs."""
        m0, m1, m2 = self.f0.numel(), self.f1.numel(), self.r.numel()
        return {
            "f0": (self.f0, (m0,)),
            "f0_scale": (self.f0_scale, (m0,)),
            "f1": (self.f1, (m1,)),
            "f1_scale": (self.f1_scale, (m1,)),
            "A0": (self.A0, (m0, nv)),
            "A1": (self.A1, (m1, nv)),
            "r": (self.r, (m2,)),
            "r_a": (self.r_a, (m2, nv)),
            "r_aa": (self.r_aa, (m2, nv * nv)),
        }

    @staticmethod
    def of(in_force: ConstraintsInForce, kin: Kinematics) -> Rows:
        f = kin.lower.column(in_force.residuals)
        order = [c.order for c in in_force.constraints]
        linear = [i for i, c in enumerate(in_force.constraints) if c.order < 2 or c.linear]
        at = lambda level: [i for i in linear if order[i] == level]
        free = [i for i in range(len(order)) if i not in linear]
        _refuse_given_directions(in_force, free)

        f0 = take(f, at(0))
        f0_d = kin.drift(f0)
        second = take(f, at(2))
        f1_rows = [i for i in linear if order[i] < 2]
        f1 = scatter([(_places(at(0), f1_rows), f0_d), (_places(at(1), f1_rows), take(f, at(1)))], len(f1_rows), 1)
        A1, A2 = jacobian(f1, kin.v), jacobian(second, kin.a)
        m, nv = len(linear), kin.v.numel()
        A = scatter([(_places(f1_rows, linear), A1), (_places(at(2), linear), A2)], m, nv)
        second_free = substitute(second, [kin.a], [zeros(nv)])
        a0 = scatter([(_places(f1_rows, linear), kin.drift(f1)), (_places(at(2), linear), second_free)], m, 1)
        W = _directions(in_force, kin, linear, A)
        r = take(f, free)
        lam = symbols("lam", len(order))
        r_a = jacobian(r, kin.a)
        f0_size, f1_size = sizes([f0, f1], [kin.t, kin.q, kin.v, kin.p])
        linear_power = take(lam, linear).T @ _row_rates(in_force, kin, linear, W, f1, f1_rows)
        return Rows(
            A=A, a0=a0, W=W, f0=f0, f0_scale=f0_size, f1=f1, f1_scale=f1_size,
            A0=jacobian(f0_d, kin.v), A1=A1, r=r, r_a=r_a, r_aa=_hessians(r, kin.a),
            lam=lam, power=linear_power + take(lam, free).T @ (r_a @ kin.v),
        )  # fmt: skip


def _places(rows: list[int], among: list[int]) -> list[int]:
    return [among.index(i) for i in rows]


def scale(f: Value, z: Value) -> Value:
    """Σ_j |∂f_i/∂z_j z_j|: the size of the terms that cancel in f_i = 0."""
    J = jacobian(f, z)
    terms = [[abs(J[i, j] * z[j]) for j in range(z.numel())] for i in range(f.numel())]
    return column(*[sum(row, Value(0)) for row in terms]) if terms else zeros(0)


def _hessians(r: Value, a: Value) -> Value:
    nv = a.numel()
    blocks = [(hessian(r[i], a).T).reshape((1, nv * nv)) for i in range(r.numel())]
    return column(*blocks) if blocks else zeros(0, nv * nv)


def _refuse_given_directions(in_force: ConstraintsInForce, free: list[int]) -> None:
    """Raises for a given reaction beside a row nonlinear in the accelerations: Gauss's minimum has Aᵀλ + r_aᵀμ alone."""
    names = [c.name for c in in_force.constraints if c.reaction is not None]
    if not (free and names):
        return
    name = in_force.constraints[free[0]].name
    which = "it" if names == [name] else f"constraint '{names[0]}'"
    raise ConstraintError(
        f"constraint '{name}' is nonlinear in the accelerations, and {which} has a reaction direction of its own (reaction=):"
        " Gauss's minimum is that of ideal constraints; leave reaction= out"
    )


def _directions(in_force: ConstraintsInForce, kin: Kinematics, linear: list[int], A: Value) -> Value:
    directed = [(k, in_force.reactions[i]) for k, i in enumerate(linear) if in_force.reactions[i] is not None]
    W_t = scatter([([k], kin.lower.column(W or ()).T) for k, W in directed], *A.shape)
    ideal = [k for k in range(len(linear)) if k not in {k for k, _ in directed}]
    return (W_t + scatter([([k], A[k, :]) for k in ideal], *A.shape)).T


def _row_rates(
    in_force: ConstraintsInForce, kin: Kinematics, linear: list[int], W: Value, f1: Value, f1_rows: list[int]
) -> Value:
    """(Wᵀv)_k, written as −f|_{v=0} where the two agree on the constraint."""
    rates = W.T @ kin.v
    at_rest = substitute(f1, [kin.v], [zeros(kin.v.numel())])
    for k, i in enumerate(linear):
        c = in_force.constraints[i]
        if c.reaction is None and i in f1_rows and (c.order == 0 or c.linear):
            rates[k] = -at_rest[f1_rows.index(i)]
    return rates
