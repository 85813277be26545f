"""Pseudo-velocities: π̇ = F q̇ + f_0 beside the constraints, and their inverse q̇ = h π̇ + h_0 (Gantmacher (5), (6)).

Pseudo-velocities and constraints together make a square system. At the level of accelerations, where constraints of
every order are linear,

    Φ a + φ_0 = (π̈, 0),        Φ = ∂(π̇, f)/∂q̇,        Φ⁻¹ = (h | g) = ∂q̇/∂(π̇, f),

and h spans the virtual displacements: A h = 0. Where pseudo-velocities and constraints are affine in the velocities,
q̇ = h π̇ + h_0 too, and everything can be written in π̇. For nonlinear ones only the Jacobians h, g are explicit
(implicit functions), and for second-order constraints the pseudo-velocities may be given in q̈.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Matrix, Symbol

from appell.errors import FormNotApplicable, ModelError
from appell.jets import Jet, Speed, expression, jets_of, t, total_derivative
from appell.model import System
from appell.model.constraint import is_linear

TOLERANCE = 1e-9
"""Share of the largest singular value below which a row counts as dependent."""


class PseudoAcceleration(Jet):
    """A combination of accelerations that is not the derivative of a pseudo-velocity."""

    __slots__ = ()
    base_level = 2


# -- constraints as rows -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rows:
    """Constraints at the level of velocities, f1 = 0 (orders 0 and 1), and of accelerations, A a + a0 = 0 (all)."""

    system: System
    indices: tuple[int, ...]

    @cached_property
    def first(self) -> tuple[Expr, ...]:
        """ḟ for order 0, f for order 1; f itself, in the accelerations, for order 2."""
        system = self.system
        lift = lambda i: (
            system.total_derivative(system.residuals[i]) if system.constraints[i].order == 0 else system.residuals[i]
        )
        return tuple(lift(i) for i in self.indices)

    def at(self, i: int) -> tuple[Symbol, ...]:
        """The symbols that row i is differentiated by: velocities, or accelerations for order 2."""
        second = self.system.constraints[self.indices[i]].order == 2
        return self.system.accelerations if second else self.system.velocities

    @cached_property
    def A(self) -> Matrix:
        """∂ḟ/∂q̇, ∂f/∂q̇, ∂f/∂q̈ by the order of the constraint, (k, nv)."""
        entries = [[sympy.diff(f, s) for s in self.at(i)] for i, f in enumerate(self.first)]
        return Matrix(len(entries), self.system.nv, [e for row in entries for e in row])

    @cached_property
    def second(self) -> tuple[Expr, ...]:
        """A a + a0 in the accelerations: f̈, ḟ, f."""
        lift = lambda i, f: f if self.at(i) == self.system.accelerations else self.system.total_derivative(f)
        return tuple(lift(i, f) for i, f in enumerate(self.first))

    @property
    def affine(self) -> bool:
        """Whether every row is of order 0 or 1 and affine in the velocities."""
        chosen = [self.system.constraints[i] for i in self.indices]
        return all(c.order == 0 or (c.order == 1 and c.linear) for c in chosen)


def refusal(system: System, form: str) -> str | None:
    """Why a form without multipliers cannot be written: a given reaction direction, or rows nonlinear in q̈."""
    for c, W in zip(system.constraints, system.reactions, strict=True):
        if W is not None:
            return (
                f"constraint '{c.name}' has a reaction direction of its own, so {form} cannot drop the reaction by"
                " virtual displacements; use ap.forms.lagrange"
            )
        if c.order == 2 and not c.linear:
            return f"constraint '{c.name}' is nonlinear in the accelerations; use ap.forms.gauss"
    return None


def independent_rows(system: System) -> Rows:
    """The constraints without redundant rows, found at random states."""
    rows = Rows(system, tuple(range(len(system.constraints))))
    if len(rows.indices) < 2:
        return rows
    keep = pivots(samples(rows.A), len(rows.indices))
    return rows if len(keep) == len(rows.indices) else Rows(system, tuple(sorted(keep)))


# -- random states -----------------------------------------------------------------------------------------------------


def samples(matrix: Matrix, count: int = 3, seed: int = 0) -> list[np.ndarray]:
    """The matrix at random states and parameter values where it is finite; fewer where it seldom is."""
    symbols = sorted(matrix.free_symbols, key=str)
    shape = matrix.shape
    if not symbols:
        return [np.array(matrix.tolist(), dtype=float).reshape(shape)]
    fn = sympy.lambdify(symbols, list(matrix), modules="numpy", cse=True)
    rng, found = np.random.default_rng(seed), []
    for _ in range(8 * count):
        sizes = rng.uniform(0.3, 1.5, len(symbols))
        signs = [1.0 if s.is_positive else rng.choice([-1.0, 1.0]) for s in symbols]
        with np.errstate(all="ignore"):
            value = np.array(fn(*(sizes * signs)), dtype=complex).reshape(shape)
        if np.isfinite(value).all() and not value.imag.any():
            found.append(value.real)
        if len(found) == count:
            break
    return found


def pivots(matrices: Sequence[np.ndarray], limit: int) -> list[int]:
    """Up to `limit` independent rows, best conditioned first over all samples (Gram–Schmidt with pivoting)."""
    if not matrices:
        return list(range(limit))
    left = [m / (np.linalg.norm(m, axis=1, keepdims=True) + 1e-300) for m in matrices]
    chosen: list[int] = []
    while len(chosen) < limit:
        size = np.max([np.linalg.norm(m, axis=1) for m in left], axis=0)
        mean = np.exp(np.mean([np.log(np.linalg.norm(m, axis=1) + 1e-30) for m in left], axis=0))
        mean[chosen] = 0
        best = int(np.argmax(np.round(mean, 9)))
        if size[best] < 1e-7 or best in chosen:
            break
        chosen.append(best)
        for k, m in enumerate(left):
            u = m[best] / (np.linalg.norm(m[best]) + 1e-300)
            left[k] = m - np.outer(m @ u, u)
    return chosen


# -- the inverse of a matrix of expressions ----------------------------------------------------------------------------


def inverse(Phi: Matrix) -> Matrix:
    """Φ⁻¹ by blocks: a permutation makes Φ block triangular, and each block is inverted by its adjugate.

    No pivot is divided by that could vanish where det Φ does not, as long as the blocks have at most three rows or
    a constant pivot. Nothing is expanded but the determinants of the blocks, where sin² + cos² = 1 is used.
    """
    n = Phi.shape[0]
    match = _matching(Phi)  # column of each row
    edges = [(i, k) for i in range(n) for k in range(n) if i != k and Phi[i, match[k]] != 0]
    blocks = sympy.utilities.iterables.strongly_connected_components((list(range(n)), edges))
    X: dict[int, list[Expr]] = {}  # column of Φ → row of the inverse
    for block in blocks:  # each block needs only those before it
        block = sorted(block)
        columns = [match[i] for i in block]
        rest = [(j, X[j]) for j in X]
        right = [[_add([_delta(i, k)] + [-Phi[i, j] * x[k] for j, x in rest if Phi[i, j] != 0 and x[k] != 0])
                  for k in range(n)] for i in block]  # fmt: skip
        D = _block_inverse(Phi.extract(block, columns))
        for a, j in enumerate(columns):
            X[j] = [_add([D[a, b] * right[b][k] for b in range(len(block))]) for k in range(n)]
    return Matrix(n, n, [e for j in range(n) for e in X[j]])


def _delta(i: int, k: int) -> Expr:
    return sympy.Integer(int(i == k))


def _add(terms: list[Expr]) -> Expr:
    return sympy.Add(*terms)


def _matching(Phi: Matrix) -> list[int]:
    """A column for each row with a nonzero entry there (augmenting paths, constant entries first)."""
    n = Phi.shape[0]
    order = [sorted((j for j in range(n) if Phi[i, j] != 0), key=lambda j: len(Phi[i, j].free_symbols)) for i in range(n)]
    owner: dict[int, int] = {}

    def place(i: int, seen: set[int]) -> bool:
        for j in order[i]:
            if j not in seen:
                seen.add(j)
                if j not in owner or place(owner[j], seen):
                    owner[j] = i
                    return True
        return False

    if not all(place(i, set()) for i in range(n)):
        raise ZeroDivisionError("structurally singular")
    row_of = {i: j for j, i in owner.items()}
    return [row_of[i] for i in range(n)]


def _block_inverse(D: Matrix) -> Matrix:
    n = D.shape[0]
    if n == 1:
        return Matrix([[1 / D[0, 0]]])
    if n <= 3:
        det = trig_reduced(D.det(method="berkowitz") if n == 3 else D[0, 0] * D[1, 1] - D[0, 1] * D[1, 0])
        return D.adjugate(method="berkowitz") / det if n == 3 else Matrix([[D[1, 1], -D[0, 1]], [-D[1, 0], D[0, 0]]]) / det
    p, q = _pivot(D)
    rows, columns = [i for i in range(n) if i != p], [j for j in range(n) if j != q]
    d, u, v, E = D[p, q], D.extract([p], columns), D.extract(rows, [q]), D.extract(rows, columns)
    S = inverse(E - v * u / d)  # Schur's complement
    out = sympy.zeros(n, n)
    top, side = -u * S / d, -S * v / d
    for a, j in enumerate(columns):
        for b, i in enumerate(rows):
            out[j, i] = S[a, b]
        out[j, p] = side[a, 0]
    for b, i in enumerate(rows):
        out[q, i] = top[0, b]
    out[q, p] = 1 / d + (u * S * v)[0, 0] / d**2
    return out


def _pivot(D: Matrix) -> tuple[int, int]:
    """An entry that never vanishes if there is one, else the largest at random states."""
    n = D.shape[0]
    sizes = np.min([np.abs(m) for m in samples(D)] or [np.ones((n, n))], axis=0)
    constant = np.array([[all(not isinstance(s, Jet) for s in D[i, j].free_symbols) for j in range(n)] for i in range(n)])
    sizes = np.where(constant & (sizes > 0), sizes + 1e3, sizes)
    return divmod(int(np.argmax(sizes)), n)  # type: ignore[return-value]


def trig_reduced(expr: Expr) -> Expr:
    """A short polynomial in sines and cosines with sin² + cos² = 1 used, where that makes it shorter."""
    angles = {a.args[0] for a in expr.atoms(sympy.sin, sympy.cos)}
    if not angles or sympy.count_ops(expr) > 200:
        return expr
    short = sympy.expand(expr)
    for angle in sorted(angles, key=str):
        s, c = sympy.sin(angle), sympy.cos(angle)
        for a, b in ((s, c), (c, s)):
            try:
                other = sympy.rem(short, a**2 + b**2 - 1, a)
            except sympy.PolynomialError:
                continue
            short = min(short, other, key=sympy.count_ops)
    short = sympy.factor_terms(short)
    return min(expr, short, key=sympy.count_ops)


# -- the noun ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PseudoVelocities:
    """n pseudo-velocities that, with k independent constraints, determine all nv velocities.

    Attributes
    ----------
    speeds, accelerations: π̇_s and π̈_s, (n,); for definitions in q̈ the speeds are empty.
    definitions: π̇_s in the velocities, (5), or π̈_s in the accelerations.
    rows: the independent constraints. Phi: ∂(π̇, f)/∂q̇, (nv, nv).
    """

    system: System
    speeds: tuple[Symbol, ...]
    accelerations: tuple[Symbol, ...]
    definitions: tuple[Expr, ...]
    rows: Rows
    Phi: Matrix

    @staticmethod
    def of(system: System, pseudo: Mapping[str, Any]) -> PseudoVelocities:
        """Pseudo-velocities from name → expression in q̇ (or all in q̈), checked to be complete and independent."""
        if not isinstance(pseudo, Mapping):
            raise ModelError('pseudo= maps names to expressions, for example {"pi": x.d*cos(phi) + y.d*sin(phi)}')
        definitions = tuple(_definition(system, name, value) for name, value in pseudo.items())
        levels = {max((s.level for s in jets_of(e)), default=0) for e in definitions}
        if len(levels) > 1:
            raise ModelError("pseudo-velocities are all given in velocities, or all in accelerations; these are mixed")
        kind = PseudoAcceleration if levels == {2} else Speed
        symbols = tuple(kind(str(name)) for name in pseudo)
        _check_names(system, symbols)
        speeds = () if kind is PseudoAcceleration else symbols
        return _make(system, speeds, tuple(s.d for s in speeds) or symbols, definitions)

    @staticmethod
    def independent(system: System, independent: Iterable[Any]) -> PseudoVelocities:
        """Some of the velocities themselves as pseudo-velocities (Gantmacher's remark 1)."""
        chosen = velocities_of(system, independent)
        return _make(system, chosen, tuple(v.d for v in chosen), chosen)

    @cached_property
    def affine(self) -> bool:
        """Whether (6) exists: speeds and constraints affine in the velocities."""
        linear = all(is_linear(e, [s for s in jets_of(e) if s.level == 1]) for e in self.definitions)
        return self.rows.affine and linear and len(self.speeds) == len(self.definitions)

    @cached_property
    def inverse(self) -> Matrix:
        """Φ⁻¹ = (h | g), (nv, nv)."""
        return inverse(self.Phi)

    @property
    def n(self) -> int:
        """Degrees of freedom."""
        return len(self.definitions)

    @property
    def h(self) -> Matrix:
        """∂q̇/∂π̇, (nv, n): the virtual displacements δq = h δπ (6')."""
        return self.inverse[:, : self.n]

    @property
    def g(self) -> Matrix:
        """∂q̇/∂f, (nv, k): displacements that break one constraint each."""
        return self.inverse[:, self.n :]

    @cached_property
    def h0(self) -> Matrix:
        """The free terms of (6), (nv, 1)."""
        at_rest = dict.fromkeys(self.system.velocities, sympy.Integer(0))
        free = Matrix([-e.xreplace(at_rest) for e in (*self.definitions, *self.rows.first)])
        return sympy.Matrix(self.system.nv, 1, [row_times(self.inverse, i, free) for i in range(self.system.nv)])

    @cached_property
    def velocities(self) -> dict[Symbol, Expr]:
        """v → (h π̇ + h_0)_v, formula (6)."""
        h, speeds = self.h, Matrix(self.speeds) if self.speeds else sympy.zeros(0, 1)
        return {v: row_times(h, i, speeds) + self.h0[i] for i, v in enumerate(self.system.velocities)}

    @cached_property
    def rates(self) -> dict[Symbol, Expr]:
        """coordinate → its rate in t, q, π̇."""
        return {q: rate.xreplace(self.velocities) for q, rate in self.system.rates.items()}

    @cached_property
    def lifted(self) -> dict[Symbol, Expr]:
        """a → its value in π̈: d/dt of (6), or Φ⁻¹ ((π̈, 0) − φ_0) in the velocities where (6) does not exist."""
        a = self.system.accelerations
        if self.affine:
            return {v.d: total_derivative(e, self.rates) for v, e in self.velocities.items()}
        right = [p - f for p, f in zip(self.accelerations, self.free[: self.n], strict=True)]
        right = Matrix(right + [-f for f in self.free[self.n :]])
        return {s: row_times(self.inverse, i, right) for i, s in enumerate(a)}

    @cached_property
    def second(self) -> tuple[Expr, ...]:
        """(π̈, f) in the accelerations, (nv,)."""
        lift = self.system.total_derivative
        own = [lift(e) for e in self.definitions] if self.speeds else list(self.definitions)
        return (*own, *self.rows.second)

    @cached_property
    def free(self) -> tuple[Expr, ...]:
        """φ_0: (π̈, f) at zero acceleration, (nv,)."""
        at_rest = dict.fromkeys(self.system.accelerations, sympy.Integer(0))
        return tuple(e.xreplace(at_rest) for e in self.second)


def row_times(matrix: Matrix, i: int, column: Matrix) -> Expr:
    """(M x)_i, zero terms skipped."""
    n = matrix.shape[1]
    return sympy.Add(*(matrix[i, j] * column[j] for j in range(n) if matrix[i, j] != 0 and column[j] != 0))


def velocities_of(system: System, given: Iterable[Any]) -> tuple[Symbol, ...]:
    """The velocities that a list of coordinates, velocities or speeds stands for."""
    given = [given] if isinstance(given, Symbol) else list(given)
    chosen = tuple(system.velocities[system.velocity_of(key, "independent=")] for key in given)
    if len(set(chosen)) < len(chosen):
        raise ModelError("independent= names a velocity twice")
    return chosen


def _definition(system: System, name: Any, value: Any) -> Expr:
    where = f"pseudo-velocity '{name}'"
    expr = system.in_velocities(expression(value, where))
    for s in sorted(expr.free_symbols, key=str):
        known = (*system.coordinates, *system.velocities, *system.accelerations, *system.parameters, t)
        if s not in known and isinstance(s, Jet):
            raise ModelError(f"{where} contains {s}, which does not belong to the system")
    if not any(s.level for s in jets_of(expr)):
        raise ModelError(f"{where} contains no velocity: {expr}")
    return expr


def _check_names(system: System, symbols: Sequence[Jet]) -> None:
    taken = {str(s) for s in (*system.coordinates, *system.velocities, *system.accelerations, *system.parameters, t)}
    for s in symbols:
        if not s.letter.isidentifier():
            raise ModelError(f"'{s.letter}' cannot be the name of a pseudo-velocity; use letters, digits, underscores")
        if s.name in taken:
            raise ModelError(f"the name '{s.name}' of a pseudo-velocity is already taken by the system; rename it")


def _make(system: System, speeds, accelerations, definitions) -> PseudoVelocities:
    rows = independent_rows(system)
    n, k = len(definitions), len(rows.indices)
    if n + k != system.nv:
        raise FormNotApplicable(
            f"{system.nv} velocities and {k} independent constraints leave {system.nv - k} degrees of freedom, but"
            f" {n} pseudo-velocities (or independent velocities) were given"
        )
    at = system.velocities if speeds or not n else system.accelerations
    top = [sympy.diff(e, s) for e in definitions for s in at]
    Phi = Matrix(system.nv, system.nv, [*top, *rows.A])
    names = [*(f"'{s}'" for s in (speeds or accelerations)), *(f"constraint '{system.constraints[i].name}'" for i in rows.indices)]
    dependent = _dependence(Phi, names)
    if dependent:
        raise FormNotApplicable(f"the pseudo-velocities do not span the motion: {dependent}")
    return PseudoVelocities(system, tuple(speeds), tuple(accelerations), tuple(definitions), rows, Phi)


def _dependence(Phi: Matrix, names: Sequence[str]) -> str | None:
    """None where det Φ ≠ 0 at some random state; else the combination of rows that vanishes, in words."""
    if not Phi.free_symbols:
        values = samples(Phi)
    else:
        values = samples(Phi, count=4)
    null = None
    for m in values:
        m = m / (np.linalg.norm(m, axis=1, keepdims=True) + 1e-300)
        U, sizes, _ = np.linalg.svd(m)
        if len(sizes) == 0 or sizes[-1] > TOLERANCE * sizes[0]:
            return None
        null = U[:, -1] if null is None else null
    if null is None:
        return None
    support = [i for i in range(len(names)) if abs(null[i]) > 1e-7]
    return _combination(Phi, support, names)


def _combination(Phi: Matrix, support: list[int], names: Sequence[str]) -> str:
    vectors = Phi.extract(support, list(range(Phi.shape[1]))).T.nullspace(simplify=True) if len(support) <= 4 else []
    listed = ", ".join(names[i] for i in support)
    if not vectors:
        return f"{listed} are linearly dependent in the velocities"
    terms = [f"({c})·[{names[i]}]" for c, i in zip(sympy.simplify(vectors[0]), support, strict=True) if c != 0]
    return f"{listed} are linearly dependent: {' + '.join(terms)} contains no velocity"


def suggest(system: System) -> dict[str, Expr]:
    """Velocities that serve as pseudo-velocities: the complement of the constraint rows, pivoted at random states."""
    rows = independent_rows(system)
    k = len(rows.indices)
    columns = [m.T for m in samples(rows.A)] if k else []
    dependent = dependent_velocities(columns, system.nv, k)
    return {f"pi_{v.letter}": v for i, v in enumerate(system.velocities) if i not in dependent}


def dependent_velocities(columns: Sequence[np.ndarray], nv: int, k: int) -> list[int]:
    """k velocities for which the rows can be solved, those with the largest pivots: columns are (nv, k) samples."""
    return pivots(columns, k) if k and columns else list(range(nv - k, nv))
