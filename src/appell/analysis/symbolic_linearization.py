"""A symbolic linearization: matrices, characteristic polynomial, frequencies and modes as formulas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy
from sympy import Expr, Matrix

from appell.errors import ModelError
from appell.jets import t
from appell.model import System

LONGEST_SIMPLIFIED = 400
"""Longer entries are not simplified: SymPy would take seconds."""

s = sympy.Symbol("s")
"""The unknown of the characteristic polynomial; motions are eˢᵗ."""
square = sympy.Symbol("w")
"""ω²."""


@dataclass(frozen=True, eq=False)
class SymbolicLinearization:
    """M u̇ + (D + G) u + (K + N) z = 0 in symbols.

    Attributes
    ----------
    at: coordinate or velocity → its value, an expression in the parameters.
    velocities: the independent velocities of u, (nu,).
    coordinates: the coordinates of z, (nz,), as in `Linearization`.
    M, D, G, K, N: SymPy matrices, (nu, nu): inertia, damping, gyroscopic, stiffness, circulatory. follow: (nu, nz − nu).
    A: (nz + nu, nz + nu), of (z, u)˙ = A (z, u).
    multipliers: name of a constraint → Λ of the motion.
    """

    system: System
    at: Mapping[Any, Expr]
    velocities: tuple[Any, ...]
    coordinates: tuple[Any, ...]
    M: Matrix
    D: Matrix
    G: Matrix
    K: Matrix
    N: Matrix
    follow: Matrix
    A: Matrix
    multipliers: Mapping[str, Expr] = field(default_factory=dict)

    @cached_property
    def characteristic(self) -> Expr:
        """The characteristic polynomial in `s`; its roots give motions eˢᵗ.

        det(M s² + (D + G) s + K + N) where every velocity is that of a coordinate; else det(s − A) without the powers of s of
        coordinates on which nothing depends.
        """
        nu, nz = len(self.velocities), len(self.coordinates)
        if nu == nz and self.A[:nz, :] == Matrix.hstack(sympy.zeros(nu), sympy.eye(nu)):
            pencil = self.M * s**2 + (self.D + self.G) * s + self.K + self.N
            polynomial = pencil.det(method="berkowitz")
        elif not (core := self._influential_states):
            return sympy.Integer(1)
        else:
            polynomial = (s * sympy.eye(len(core)) - self.A.extract(core, core)).det(method="berkowitz")
        return sympy.factor(sympy.fraction(sympy.together(polynomial))[0])

    @cached_property
    def _influential_states(self) -> list[int]:
        """States on which others depend."""
        core = list(range(self.A.rows))
        while idle := [j for j in core if all(self.A[i, j] == 0 for i in core)]:
            core = [j for j in core if j not in idle]
        return core

    @cached_property
    def eigenvalues(self) -> tuple[Expr, ...]:
        """The roots of the characteristic polynomial, 1/s; raises where a factor has a degree above two in s (above four if it
        is even)."""
        self._require_constant()
        roots: list[Expr] = []
        for factor, power in _factors(self.characteristic, s):
            for root in _roots(factor, s):
                roots += [root] * power
        return tuple(roots)

    @cached_property
    def frequencies(self) -> tuple[Expr, ...]:
        """ω of the motions cos ωt, rad/s, with multiplicity: roots of the characteristic polynomial with s² = −ω², for
        systems without damping and circulatory forces. A negative ω² (an unstable equilibrium) gives an imaginary ω."""
        if not (self.D.is_zero_matrix and self.N.is_zero_matrix and self.follow.is_zero_matrix):
            raise ModelError(f"small motions of {self.system.name} are damped or circulatory; ask for .eigenvalues")
        self._require_constant()
        squares = [root for f, power in self._square_factors for root in _roots(f, square) * power]
        return tuple(sympy.sqrt(shortest_way(root)) for root in squares)

    @cached_property
    def _square_factors(self) -> list[tuple[sympy.Poly, int]]:
        """Factors of the characteristic polynomial in ω², with their powers."""
        even = sympy.Poly(sympy.expand(self.characteristic), s)
        if any(power % 2 for (power,) in even.monoms()):
            raise ModelError(f"the characteristic polynomial of {self.system.name} has odd powers of s; ask for .eigenvalues")
        return _factors(sympy.Add(*(c * (-square) ** (power // 2) for (power,), c in even.terms())), square)

    @cached_property
    def modes(self) -> Matrix:
        """(nu, modes): amplitudes of `velocities` in the motion of each of `frequencies`, the first nonzero one normalized to
        1; without gyroscopic forces, and for distinct frequencies."""
        if not self.G.is_zero_matrix:
            raise ModelError(f"gyroscopic forces shift the phases of {self.system.name}; the numeric linearization has modes")
        if not self.frequencies:
            return Matrix(0, 0, [])
        if any(power > 1 for _, power in self._square_factors):
            raise ModelError(f"two frequencies of {self.system.name} are equal: every combination of their modes is one")
        return Matrix.hstack(*(mode for f, _ in self._square_factors for mode in _modes(self.K, self.M, f)))

    def _require_constant(self) -> None:
        if self.A.has(t):
            raise ModelError(f"A of {self.system.name} changes with time: its eigenvalues say nothing; use linearization.A")

    @property
    def ok(self) -> bool:
        """Always True: formulas that differ from the numeric linearization raise on construction."""
        return True

    @property
    def message(self) -> str:
        """What was linearized, and where."""
        return str(self).partition("\n")[0]

    def _nonzero(self) -> Iterator[tuple[str, Matrix]]:
        for name in ("M", "D", "G", "K", "N"):
            if name == "M" or not getattr(self, name).is_zero_matrix:
                yield name, getattr(self, name)

    def latex(self) -> str:
        """The nonzero matrices, and the frequencies if there are formulas, as one aligned environment."""
        lines = [rf"{name} &= {sympy.latex(matrix)}" for name, matrix in self._nonzero()]
        with suppress(ModelError):  # damped, or of too high a degree: only the matrices are shown
            lines += [rf"\omega_{{{k}}}^2 &= {sympy.latex(shortest_way(w**2))}" for k, w in enumerate(self.frequencies, 1)]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __str__(self) -> str:
        state = ", ".join(f"{key} = {value}" for key, value in self.at.items() if value != 0) or "rest at zero"
        lines = [f"{self.system.name} linearised in {', '.join(map(str, self.velocities))} about {state}"]
        lines += [f"  {name} = {matrix.tolist()}" for name, matrix in self._nonzero()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<SymbolicLinearization of {self.system.name} in {', '.join(map(str, self.velocities))}>"


# -- formulas of roots and modes ------------------------------------------------------------------------------------------


def _factors(polynomial: Expr, unknown: Any) -> list[tuple[sympy.Poly, int]]:
    """Factors that contain the unknown, with their powers."""
    factors = sympy.factor_list(sympy.fraction(sympy.together(polynomial))[0])[1]
    return [(sympy.Poly(f, unknown), int(power)) for f, power in factors if f.has(unknown)]


def _roots(factor: sympy.Poly, unknown: Any) -> list[Expr]:
    """The roots of a factor of degree one or two, or of four with only even powers."""
    coefficients = [shortest_way(c) for c in factor.all_coeffs()]
    if factor.degree() == 1:
        return [shortest_way(-coefficients[1] / coefficients[0])]
    if factor.degree() == 2:
        a, b, c = coefficients
        root = sympy.sqrt(sympy.factor(sympy.expand(b**2 - 4 * a * c)))
        return [shortest_way((-b - root) / (2 * a)), shortest_way((-b + root) / (2 * a))]
    if factor.degree() == 4 and coefficients[1] == coefficients[3] == 0:
        squares = _roots(sympy.Poly([coefficients[0], coefficients[2], coefficients[4]], unknown), unknown)
        return [sign * sympy.sqrt(square) for square in squares for sign in (1, -1)]
    raise ModelError(
        f"a factor of degree {factor.degree()} of the characteristic polynomial has no short formula for its roots;"
        " .characteristic is the polynomial, and ap.linearize without symbolic=True has the numbers"
    )


def _modes(K: Matrix, M: Matrix, factor: sympy.Poly) -> list[Matrix]:
    """(K − ω²M) a = 0 for the roots ω² of an irreducible factor of the determinant, the first nonzero amplitude normalized to
    1.

    A column of the adjugate, with its entries reduced modulo the factor: zeros at the roots are detected exactly, and roots are
    substituted only at the end.
    """
    adjugate = (K - square * M).adjugate()
    reduced = lambda e: sympy.rem(sympy.Poly(sympy.expand(e), square), factor)
    columns = ([reduced(e) for e in adjugate[:, k]] for k in range(adjugate.cols))
    column = next((c for c in columns if any(not e.is_zero for e in c)), None)
    if column is None:
        raise ModelError("two frequencies are equal: every combination of their modes is one")
    one_over = sympy.invert(next(e for e in column if not e.is_zero), factor)
    ratios = [reduced((e * one_over).as_expr()).as_expr() for e in column]
    return [Matrix([shortest_way(e.xreplace({square: root})) for e in ratios]) for root in _roots(factor, square)]


def shortest_way(expr: Any) -> Expr:
    """The shortest of several forms of an expression."""
    if expr.is_Number or expr.is_Symbol:
        return expr
    forms = [expr, sympy.factor_terms(expr)]
    if sympy.count_ops(expr) <= LONGEST_SIMPLIFIED:
        forms += [sympy.factor(expr), sympy.simplify(expr)]
    return min(forms, key=lambda form: sympy.count_ops(form))
