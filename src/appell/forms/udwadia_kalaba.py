"""The explicit equations of motion of Udwadia and Kalaba.

    a = a_f + M⁻¹ᐟ² (A M⁻¹ᐟ²)⁺ (b − A a_f),        a_f = M⁻¹ F,        A a = b

A and b are the constraints at the level of accelerations, F = Q − h contains no accelerations, ⁺ is the Moore–Penrose inverse,
so that dependent rows are allowed (Udwadia and Kalaba 1992). The constraint force is M¹ᐟ² (A M⁻¹ᐟ²)⁺ (b − A a_f) = AᵀΛ
with

    Λ = (A M⁻¹ Aᵀ)⁺ (b − A a_f).

Where M⁻¹ is long, a = a_f + a_c is written with names: M a_f = F, M a_c = AᵀΛ, A a = b.
Numbers are computed by the formula: by the eigenvectors of M and of A M⁻¹ Aᵀ, with no equations solved for accelerations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy
from sympy import Matrix

from appell.forms.base import Equations, Form, Values
from appell.forms.engine import multiplier_forces
from appell.forms.engine.added_names import with_stem
from appell.forms.engine.derivation import gradient, partial, restricted
from appell.forms.engine.evaluation import FLOAT, Arithmetic, Tape, arithmetic
from appell.forms.engine.kinetic_degrees import Quadratic, is_short
from appell.forms.engine.linear_solve import Undetermined, solve_linear
from appell.forms.engine.matrices import row_times
from appell.forms.engine.pseudo import PseudoAcceleration, needs_coordinates
from appell.forms.engine.system_terms import (
    acceleration_rows,
    equation,
    generalized_forces,
    kinematics_of,
    multiplier_symbols,
    nonlinear_rows,
)
from appell.forms.engine.worked_steps import LeftSide, Line, Stage
from appell.jets import t
from appell.model import System
from appell.spelling import checked_keywords


class UdwadiaKalaba(Form):
    """a = a_f + M⁻¹ᐟ² (A M⁻¹ᐟ²)⁺ (b − A a_f), for a regular mass matrix and ideal constraints of every order."""

    name = "udwadia_kalaba"
    source = "Udwadia and Kalaba (1992)"

    def reason_against(self, system: System, **options: Any) -> str | None:
        not_ideal = [c.name for c in system.constraints if c.reaction is not None]
        if not_ideal:
            return f"constraint '{not_ideal[0]}' is not ideal (reaction= is given); use ap.forms.lagrange"
        if nonlinear_rows(system):
            return "a constraint is nonlinear in the accelerations, and A a = b is not; use ap.forms.gauss"
        if needs_coordinates(system):
            return needs_coordinates(system)
        if not Quadratic.of(system.kinetic, system.velocities).regular():
            return "its mass matrix is singular, so that a_f = M⁻¹F does not exist; use ap.forms.lagrange"
        return multiplier_forces.refusal(system)

    def worked(self, equations: Equations) -> Iterator[Stage]:
        objects = equations.objects
        matrices = [(name, objects[name]) for name in ("M", "A")] + [(x, sympy.Matrix(objects[x])) for x in ("F", "b")]
        lines = tuple(Line(LeftSide(name, name), value) for name, value in matrices if len(value))
        rule = LeftSide(r"M a = F + A^T\Lambda,\quad A a = b", "M a = F + AᵀΛ, A a = b")
        yield Stage("Matrices of the equations", rule, lines)

    def derive(self, system: System, **options: Any) -> Equations:
        inverse = Quadratic.of(system.kinetic, system.velocities).written_inverse()
        return _explicit(self, system, inverse) if is_short(inverse) else _with_free(self, system)

    def solve_at(self, equations: Equations, values: Values, numbers: Arithmetic) -> Values:
        n, k = equations.system.nv, len(equations.system.constraints)
        flat = equations.objects["blocks"](values, numbers)
        M = [flat[i * n : (i + 1) * n] for i in range(n)]
        F, tail = flat[n * n : n * n + n], flat[n * n + n :]
        A, b = [tail[i * n : (i + 1) * n] for i in range(k)], tail[k * n :]
        a, lam, rank = explicit(M, F, A, b, numbers)
        if rank < k and k - rank > equations._usual_nullity(values):
            raise Undetermined("the constraint rows lose rank here, so the motion is not determined")
        return dict(zip(equations.unknowns, [*a, *_named(equations, a, M, F, numbers), *lam], strict=True))


def _named(equations: Equations, a: list[Any], M: list[list[Any]], F: list[Any], numbers: Arithmetic) -> list[Any]:
    """a_f and a_c = a − a_f, if they are unknowns of the equations."""
    n = len(a)
    names = list(map(str, equations.unknowns[n : 2 * n]))
    if equations.unknowns[n : 2 * n] != equations.objects["free"] or not n:
        return []
    free = solve_linear(M, F, [True] * n, numbers.tolerance, names)
    return [*free, *((x - f for x, f in zip(a, free, strict=True)) if equations.system.constraints else ())]


@checked_keywords()
def udwadia_kalaba(system: System) -> Equations:
    """The explicit accelerations a_f + M⁻¹ᐟ²(A M⁻¹ᐟ²)⁺(b − A a_f) (Udwadia, Kalaba 1992). Objects: M, A, b, F, free."""
    return UdwadiaKalaba()(system)


def _explicit(form: Form, system: System, inverse: Any) -> Equations:
    """a = M⁻¹(F + AᵀΛ), A M⁻¹Aᵀ Λ = b − A a_f, with M⁻¹ written out."""
    M, F, A, b = blocks(system)
    n, k, lam = system.nv, len(b), multiplier_symbols(system)
    force = Matrix([F[i] + sympy.Add(*(lam[j] * A[j, i] for j in range(k))) for i in range(n)])
    free: Any = Matrix([row_times(inverse, i, Matrix(F)) for i in range(n)])
    columns = [Matrix([row_times(inverse, i, A[j, :].T) for i in range(n)]) for j in range(k)]
    gram = [[row_times(A, i, columns[j]) for j in range(k)] for i in range(k)]
    sums = [sympy.Add(*(gram[i][j] * lam[j] for j in range(k))) for i in range(k)]
    return Equations(
        route=form,
        system=system,
        provenance=f"a = a_f + M⁻¹ᐟ²(A M⁻¹ᐟ²)⁺(b − A a_f) with M, A, b by differentiation; {form.source}",
        equations=tuple(equation(a, row_times(inverse, i, force)) for i, a in enumerate(system.accelerations)),
        rows=tuple(equation(sums[i], b[i] - row_times(A, i, free)) for i in range(k)),
        unknowns=(*system.accelerations, *lam),
        multipliers=lam,
        kinematics=kinematics_of(system),
        objects=_objects(M, A, b, F, tuple(free)),
    )


def _with_free(form: Form, system: System) -> Equations:
    """a = a_f + a_c, M a_f = F, M a_c = AᵀΛ, A a = b: the same with names for M⁻¹F and M⁻¹AᵀΛ, where M⁻¹ is long."""
    M, F, A, b = blocks(system)
    k, lam, a = len(b), multiplier_symbols(system), system.accelerations
    letters = [q.letter for q in system.coordinates]
    free, pulled = (tuple(map(PseudoAcceleration, with_stem(system, stem, letters))) for stem in ("a", "c"))
    pulled = pulled if k else ()
    times = lambda table, x: [row_times(table, i, Matrix(x)) for i in range(table.shape[0])] if x else []
    rows = [*zip(times(M, free), F, strict=True), *zip(times(M, pulled), times(A.T, lam), strict=True)]
    sums = [sympy.Add(*terms) for terms in (zip(free, pulled, strict=True) if k else zip(free, strict=True))]
    return Equations(
        route=form,
        system=system,
        provenance=f"a = a_f + M⁻¹ᐟ²(A M⁻¹ᐟ²)⁺(b − A a_f), M a_f = F, with M, A, b by differentiation; {form.source}",
        equations=tuple(equation(a_i, e) for a_i, e in zip(a, sums, strict=True)),
        rows=tuple(equation(lhs, rhs) for lhs, rhs in (*rows, *zip(times(A, a), b, strict=True))),
        unknowns=(*a, *free, *pulled, *lam),
        multipliers=lam,
        kinematics=kinematics_of(system),
        objects={**_objects(M, A, b, F, free), "names": (*free, *pulled)},
    )


def _objects(M: Any, A: Any, b: list[Any], F: list[Any], free: tuple[Any, ...]) -> dict[str, Any]:
    return {"M": M, "A": A, "b": tuple(b), "F": tuple(F), "free": free, "blocks": Tape([*M, *F, *A, *b])}


def blocks(system: System) -> tuple[Any, list[Any], Any, list[Any]]:
    """M (n, n), F = Q − h (n,), A (k, n), b (k,): h = ∂²T/∂q̇∂q q̇ + ∂²T/∂q̇∂t − ∂T/∂q."""
    T, v, a = system.kinetic, system.velocities, system.accelerations
    p, T_q, Q = gradient(T, v), gradient(T, system.coordinates), generalized_forces(system)
    M = Matrix(len(v), len(v), [slope for p_i in p for slope in gradient(p_i, v)])
    d_t = partial(t)
    q = system.coordinates
    along_q = lambda e: sympy.Add(d_t(e), *(slope * s.d for slope, s in zip(gradient(e, q), q, strict=True)))
    F = [Q_i - along_q(p_i) + slope for Q_i, p_i, slope in zip(Q, p, T_q, strict=True)]
    rows = acceleration_rows(system)
    A = Matrix(len(rows), len(v), [slope for r in rows for slope in gradient(r, a)])
    zero = dict.fromkeys(a, sympy.Integer(0))
    return M, F, A, [-restricted(r, zero) for r in rows]


def explicit(
    M: list[list[Any]], F: list[Any], A: list[list[Any]], b: list[Any], numbers: Arithmetic
) -> tuple[list[Any], list[Any], int]:
    """(a, Λ, rank of A) by the formula; rows of A are scaled to unit length in the metric of M⁻¹, which changes no motion.

    M a = F + AᵀΛ holds in the metric of M⁻¹: B Bᵀ (l Λ) = B z with B = A M⁻¹ᐟ²/l and a = a_f + M⁻¹ᐟ² z. So a row with a
    negligible component in a direction (cos π/2 = 6e-17) does not have to account for rounding errors there.
    """
    work = arithmetic(30) if numbers is FLOAT else numbers
    M, A = ([[work.number(x) for x in row] for row in table] for table in (M, A))
    F, b = ([work.number(x) for x in vector] for vector in (F, b))
    size = [1 / work.functions["sqrt"](abs(row[i])) if row[i] else work.number(1) for i, row in enumerate(M)]
    values, U = work.eigenvectors([[x * size[i] * size[j] for j, x in enumerate(row)] for i, row in enumerate(M)])
    if not min(values) > work.tolerance * max(values):
        raise Undetermined("the mass matrix is not positive here, so that it has no root")
    roots = [1 / work.functions["sqrt"](value) for value in values]
    # R = M⁻¹ᐟ² up to a rotation, M⁻¹ = R Rᵀ: the formula does not depend on the choice of root
    R = [[size[i] * U[i][j] * roots[j] for j in range(len(M))] for i in range(len(M))]
    B = [[_dot(row, [R[i][j] for i in range(len(M))]) for j in range(len(M))] for row in A]
    length = [work.functions["sqrt"](_dot(row, row)) or work.number(1) for row in B]
    B = [[x / s for x in row] for row, s in zip(B, length, strict=True)]
    free = _times(R, _times(list(map(list, zip(*R, strict=True))), F))
    gap = [(b_i - _dot(row, free)) / s for b_i, row, s in zip(b, A, length, strict=True)]
    z, rank = _pseudo_inverse(B, gap, work, FLOAT.tolerance if numbers is FLOAT else work.tolerance)
    a = [x + y for x, y in zip(free, _times(R, z), strict=True)]
    gram = [[_dot(row, other) * s for other, s in zip(B, length, strict=True)] for row in B]
    small = 1e-6 if numbers is FLOAT else numbers.tolerance
    lam = solve_linear(gram, [_dot(row, z) for row in B], [False] * len(B), small, [""] * len(B)) if B else []
    return [numbers.number(x) for x in a], [numbers.number(x) for x in lam], rank


def _pseudo_inverse(B: list[list[Any]], gap: list[Any], numbers: Arithmetic, tolerance: float) -> tuple[list[Any], int]:
    """B⁺ gap = Bᵀ (B Bᵀ)⁺ gap, and the rank of B."""
    if not B:
        return [], 0
    values, V = numbers.eigenvectors([[_dot(x, y) for y in B] for x in B])
    kept = [j for j, value in enumerate(values) if value > tolerance * len(B)]
    parts = [sum((V[i][j] * gap[i] for i in range(len(B))), 0) for j in range(len(B))]
    size = max((abs(g) for g in gap), default=0)
    if any(abs(parts[j]) > numbers.functions["sqrt"](numbers.number(tolerance)) * size for j in range(len(B)) if j not in kept):
        raise Undetermined("redundant constraint rows contradict each other at this state")
    y = [sum((V[i][j] * parts[j] / values[j] for j in kept), 0) for i in range(len(B))]
    return [sum((B[i][j] * y[i] for i in range(len(B))), 0) for j in range(len(B[0]))], len(kept)


def _dot(a: list[Any], b: list[Any]) -> Any:
    return sum((x * y for x, y in zip(a, b, strict=True)), 0)


def _times(A: list[list[Any]], x: list[Any]) -> list[Any]:
    return [_dot(row, x) for row in A] if x else [0] * len(A)
