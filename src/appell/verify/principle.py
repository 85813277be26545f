"""The vector principle of Soltakhanov, Shugaylo and Yushkov (2018), of which all differential principles are special readings:

    (M W − Y − R)·δx = 0                                                             (4.1), (4.2)

with the inertia M W_σ = d/dt ∂T/∂q̇^σ − ∂T/∂q^σ and the forces Y_σ = Q_σ (1.2), both covectors, in the metric of the mass
matrix ∂²T/∂q̇² (their M g_στ; M is the total mass there). The constraints, brought to the accelerations (1.3)–(1.5), give

    ε^κ = ∂f_2/∂q̈ = ∂f_1/∂q̇ = ∂f_0/∂q       (1.7)        W·ε^κ = χ^κ                 (1.8)

and split the tangent space into the reaction subspace spanned by ε^κ and its orthogonal complement, which contains δx:

    M W^K = Y^K + R^K,   M W_L = Y_L + R_L   (1.9)        R^K = Λ_κ ε^κ   (1.10)        R_L = 0 if ideal   (1.11)
    ε^κ·δx = 0               (2.2)        δx^σ = ∂x^σ/∂x_*^λ δx_*^λ                        (2.1), (2.4), (2.5)

In coordinates, with the rows A of A a + a0 = 0: ε^κ = A_κ, the projector on the reaction subspace is P = Aᵀ(A M⁻¹Aᵀ)⁻¹A M⁻¹
for covectors, Pᵀ for vectors, and M W = M a + h, Y = Q, R = W Λ of the normal form.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import sympy
from numpy.typing import ArrayLike, NDArray
from sympy import Matrix

from appell.compiled.compiling import compile
from appell.errors import FormNotApplicable, SingularConfiguration
from appell.forms.engine.constraint_rows import ConstraintRows, independent_rows
from appell.forms.engine.derivation import gradient
from appell.forms.engine.display import simplified
from appell.forms.engine.matrices import samples
from appell.forms.engine.pseudo import PseudoVelocities, suggest
from appell.forms.engine.system_terms import directions, generalized_forces, multiplier_symbols, nonlinear_rows
from appell.forms.lagrange import Lagrange
from appell.letters import letter
from appell.letters import text as _text
from appell.model import System
from appell.model.described import system_of
from appell.model.friction import refuse_friction
from appell.normal_form import normal_form
from appell.reading import finite, reals
from appell.rows import null_space, range_of_projection, regular

Array = NDArray[np.float64]

PROJECTOR_VELOCITIES = 4
"""Number of velocities up to which projectors are written in symbols."""

PRINTED_OPERATIONS = 150
"""Operations up to which an equation is printed."""

COMPONENT_ROUNDING = 1e-9
"""A component below this fraction of the size of its terms counts as zero."""


@dataclass(frozen=True)
class Reading:
    """The meaning of δx: displacements δq, velocities δ′q̇ (t, q fixed) or accelerations δ″q̈ (t, q, q̇ fixed).

    `order`: 0, 1, 2, the highest order of constraints that it can be read with; `reason`: why it does not apply, or empty.
    """

    name: str
    author: str
    order: int
    variation: str
    reason: str = ""

    @property
    def applies(self) -> bool:
        return not self.reason


_READINGS = (
    Reading("displacement", "d'Alembert and Lagrange", 0, "δ{q}"),
    Reading("velocity", "Suslov and Jourdain", 1, "δ′{v}"),
    Reading("acceleration", "Gauss", 2, "δ″{a}"),
)


@dataclass(frozen=True, eq=False)
class Principle:
    """(M W − Y − R)·δx = 0 of a system, in symbols; `at` gives the decomposition in numbers. Prints with equation numbers.

    A constraint that is not ideal has a part R_L of its reaction outside the span of ε. There are two ways to describe it:

    - R_L is known by itself (viscous friction, a servo force): it belongs to `forces=`, as the source puts it into Y.
    - R_L is proportional to Λ: `Constraint(f, reaction=W)` with the generalized force W per unit of Λ in place of ∂f/∂q.
      Coulomb's friction of a block on a plane y = 0 that slides along x, R = Λ (e_y − μ sign(ẋ) e_x), is

          ap.Constraint(y, name="plane", reaction={y.d: 1, x.d: -mu*sign(x.d)})

      W may contain t, q and q̇, not Λ. Where the normal force can have either sign, −μ|Λ| sign(ẋ) is −μ s Λ sign(ẋ) with a
      parameter s = ±1: the motion with s = 1 is valid as long as Λ > 0, the one with s = −1 as long as Λ < 0
      (`motion.release` gives the time of the change). For large μ both or neither may hold: Painlevé's paradox. sign(0) = 0,
      so a body at rest feels no friction; sticking is another constraint.
    """

    system: System

    # -- in symbols ----------------------------------------------------------------------------------------------------

    @cached_property
    def metric(self) -> Matrix:
        """∂²T/∂v², (nv, nv)."""
        v = self.system.velocities
        return Matrix([gradient(p, v) for p in gradient(self.system.kinetic, v)])

    @cached_property
    def epsilon(self) -> Matrix:
        """ε^κ of (1.7) as rows, (rows, nv)."""
        return ConstraintRows(self.system, tuple(range(len(self.system.constraints)))).A

    @cached_property
    def reaction(self) -> Matrix:
        """R = Σ Λ_κ W_κ, (nv, 1): W_κ = ε^κ for ideal constraints."""
        W, lam = directions(self.system), multiplier_symbols(self.system)
        return Matrix([sympy.Add(*(x * w[i] for x, w in zip(lam, W, strict=True))) for i in range(self.system.nv)])

    @property
    def ideal(self) -> bool:
        """Whether every constraint reacts along its ε: R_L = 0 (1.11)."""
        return all(W is None for W in self.system.reactions)

    @cached_property
    def complement(self) -> Matrix:
        """∂x/∂x_*^λ of (2.5), (nv, l): a basis of the admissible δx, with x_* some of the velocities."""
        return PseudoVelocities.independent(self.system, suggest(self.system).values()).h

    @cached_property
    def projector(self) -> Matrix:
        """P = Aᵀ(A M⁻¹Aᵀ)⁻¹A M⁻¹, (nv, nv): the part of a covector in the reaction subspace. Small systems only."""
        A, n = independent_rows(self.system).A, self.system.nv
        if n > PROJECTOR_VELOCITIES:
            limit = f"up to {PROJECTOR_VELOCITIES} velocities, not {n}"
            raise FormNotApplicable(f"projectors are written for {limit}; use principle.at(t, q, v)")
        if not A.rows:
            return sympy.zeros(n, n)
        if not any(regular(M) for M in samples(self.metric)):
            raise FormNotApplicable("the mass matrix is singular, so the metric has no inverse; use principle.at(t, q, v)")
        inverse = self.metric.inv(method="ADJ")
        P = A.T * (A * inverse * A.T).inv(method="ADJ") * A * inverse
        return P.applyfunc(lambda x: simplified(x, 0.5))

    @cached_property
    def outside(self) -> Matrix:
        """R_L = (1 − P) R of (1.9), (nv, 1): zero for ideal constraints. Small systems only."""
        if self.ideal:
            return sympy.zeros(self.system.nv, 1)
        return ((sympy.eye(self.system.nv) - self.projector) * self.reaction).applyfunc(lambda x: simplified(x, 0.5))

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """The three readings of δx, with the reason where a constraint is of too high an order for one."""
        readings = []
        for r in _READINGS:
            high = [c for c in self.system.constraints if c.order > r.order]
            reason = f"constraint '{high[0].name}' is of order {high[0].order}" if high else ""
            readings.append(Reading(r.name, r.author, r.order, r.variation, reason))
        return tuple(readings)

    @property
    def reading(self) -> Reading:
        """The reading by the highest order of the constraints."""
        return next(r for r in self.readings if r.applies)

    # -- in numbers ----------------------------------------------------------------------------------------------------

    def at(self, time: float, q: ArrayLike, v: ArrayLike, parameters: Mapping[Any, float] | None = None) -> Decomposition:
        """The decomposition at a state: time, s; q (nq,), v (nv,). The state should satisfy the constraints."""
        time, q, v = finite(time, "time="), reals(q, "q"), reals(v, "v")
        run, form = compile(self.system, parameters, backend="vm", ready=False), normal_form(self.system)
        form.require_known_forces("the decomposition of the reactions")
        a, lam = run.acceleration(time, q, v)
        M, h, Q, A, W = (form.select(name)(time, q, v, run.p)[name] for name in ("M", "h", "Q", "A", "W"))
        linear = np.array([row.linear for row in form.rows], dtype=bool)
        epsilon, directions_ = np.zeros((len(linear), form.nv)), np.zeros((form.nv, len(linear)))
        epsilon[linear], directions_[:, linear] = A, W
        if form.gauss:
            fn = form.select("r_a")
            r_a = fn(time, q, v, run.p, *([a] if len(fn.inputs) > 4 else []))["r_a"]
            epsilon[~linear], directions_[:, ~linear] = r_a, r_a.T
        return Decomposition(a, lam, M, epsilon, M @ a + h, Q, directions_ @ lam)

    # -- display -------------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        heading = f"principle of {self.system.name}: (M W − Y − R)·δx = 0  (4.2)"
        return unicodedata.normalize("NFC", "\n".join([heading, *(f"  {line}" for line in _lines(self))]))

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def __repr__(self) -> str:
        return f"<Principle of {self.system.name}: δx is a variation of {self.reading.name}>"


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The tangent space at a state, split by the constraints.

    a: accelerations, (nv,); lam: Λ, (rows,); M: the metric, (nv, nv); epsilon: ε^κ as rows, (rows, nv).
    MW, Y, R: inertia M a + h, forces Q and reaction W Λ as covectors, (nv,), N or N m.
    """

    a: Array
    lam: Array
    M: Array
    epsilon: Array
    MW: Array
    Y: Array
    R: Array

    @cached_property
    def complement(self) -> Array:
        """ε_λ, (nv, l): vectors with ε^κ·ε_λ = 0, orthonormal in the metric, that δx is made of (2.4)."""
        Z = _kernel(self.epsilon)
        try:
            L = np.linalg.cholesky(Z.T @ self.M @ Z)
        except np.linalg.LinAlgError:
            raise SingularConfiguration("the mass matrix is singular on what the constraints allow") from None
        return scipy.linalg.solve_triangular(L, Z.T, lower=True).T if Z.size else Z

    @cached_property
    def projector(self) -> Array:
        """P, (nv, nv): the part of a covector in the reaction subspace, 1 − M Z Zᵀ with Z the complement; Pᵀ for vectors."""
        return np.eye(len(self.M)) - self.M @ self.complement @ self.complement.T

    @cached_property
    def reaction_basis(self) -> Array:
        """An orthonormal basis of the reaction subspace as vectors, (nv, nv − l); orthogonal to `complement` in the metric.

        Where massless coordinates make the metric singular there, vectors are normalized in the coordinates.
        """
        basis = range_of_projection(self.projector.T)
        gram = basis.T @ self.M @ basis
        if not basis.size or np.linalg.eigvalsh(gram).min() < 1e-12 * np.trace(gram):
            return basis
        return scipy.linalg.solve_triangular(np.linalg.cholesky(gram), basis.T, lower=True).T

    def split(self, covector: ArrayLike) -> tuple[Array, Array]:
        """(K, L): the parts of a covector (nv,) in the reaction subspace and in its complement."""
        K = self.projector @ np.asarray(covector, dtype=float)
        return K, np.asarray(covector, dtype=float) - K

    @property
    def R_K(self) -> Array:
        """R^K of (1.10), (nv,)."""
        return self.split(self.R)[0]

    @property
    def R_L(self) -> Array:
        """R_L of (1.9), (nv,): zero for ideal constraints (1.11)."""
        return self.split(self.R)[1]

    @property
    def chi(self) -> Array:
        """χ^κ = W·ε^κ of (1.8), (rows,), in the metric: A M⁻¹(M a + h)."""
        return self.epsilon @ np.linalg.solve(self.M, self.MW)

    @property
    def ideal(self) -> bool:
        """Whether R_L vanishes up to rounding."""
        return bool(np.abs(self.R_L).max(initial=0.0) <= COMPONENT_ROUNDING * (1 + np.abs(self.R).max(initial=0.0)))

    @property
    def orthogonality(self) -> float:
        """max |ε^κ·ε_λ| and |R^K·ε_λ| relative to the size of ε and R: zero up to rounding."""
        size = 1 + max(np.abs(self.epsilon).max(initial=0.0), np.abs(self.R).max(initial=0.0))
        products = np.vstack([self.epsilon, self.R_K]) @ self.complement
        return float(np.abs(products).max(initial=0.0) / size)

    @property
    def residual(self) -> float:
        """max |(M W − Y − R_L)·ε_λ| relative to the forces: the principle (3.3), without R^K."""
        size = 1 + max(np.abs(x).max(initial=0.0) for x in (self.MW, self.Y, self.R))
        return float(np.abs((self.MW - self.Y - self.R_L) @ self.complement).max(initial=0.0) / size)

    def __str__(self) -> str:
        show = lambda x: np.array2string(x, precision=6, suppress_small=True)
        rows = {"M W": self.MW, "Y": self.Y, "R^K": self.R_K, "R_L": self.R_L, "Λ": self.lam}
        lines = [f"  {name.ljust(4)} {show(x)}" for name, x in rows.items()]
        return "\n".join([f"orthogonality {self.orthogonality:.1e}, (M W − Y − R_L)·δx {self.residual:.1e}", *lines])


def _kernel(A: Array) -> Array:
    """An orthonormal basis of {z : A z = 0}, (nv, l)."""
    return null_space(A)


def principle(system: System) -> Principle:
    """(M W − Y − R)·δx = 0 (Soltakhanov, Shugaylo, Yushkov (4.2)): d'Alembert–Lagrange, Suslov–Jourdain and Gauss in one.

    Prints the three readings of δx; `.at(t, q, v, parameters)` splits the tangent space at a state.
    """
    system = system_of(system, "ap.principle")
    refuse_friction(system, "ap.principle")
    return Principle(system.symbolic())


# -- the text ----------------------------------------------------------------------------------------------------------


def _lines(p: Principle) -> Iterator[str]:
    system, lam = p.system, multiplier_symbols(p.system)
    names = [letter(x).removeprefix("Λ_") for x in lam]
    row = lambda values: f"({', '.join(_text(simplified(x, 0.1)) for x in values)})"
    slope = {0: "∂f/∂q", 1: "∂f/∂q̇", 2: "∂f/∂q̈"}
    yield f"(1.2)   Y = {row(generalized_forces(system))}"
    yield "(1.6)   M W = Y + R" + ("" if system.constraints else ",  R = 0: there are no constraints")
    for i, (c, name) in enumerate(zip(system.constraints, names, strict=True)):
        yield f"(1.7)   ε^{name} = {slope[c.order]} = {row(p.epsilon.row(i))}"
    if system.constraints:
        yield "(1.8)   W·ε = χ: " + ", ".join(f"{c.name}{('¨', '˙', '')[c.order]} = 0" for c in system.constraints)
        yield "(1.9)   M W^K = Y^K + R^K,  M W_L = Y_L + R_L"
        yield "(1.10)  R^K = " + " + ".join(f"Λ_{name} ε^{name}" for name in names)
        yield from _outside(p)
    yield from _variations(p, names)
    yield from _motion(p)
    yield "(3.3)   (M W − Y)·δx = 0" + ("" if p.ideal else " with R_L among the forces Y")
    if names:
        yield "(3.4)   " + " + ".join(f"Λ_{name} ε^{name}·δx" for name in names) + " = 0"
    for r in p.readings:
        mark = r.variation.format(q="q", v="q̇", a="q̈")
        condition = f", {slope[r.order]}·{mark} = 0 (2.2)" if names else ""
        verdict = f"δx = {mark} (2.1){condition}" if r.applies else f"not here: {r.reason}"
        yield f"read as {r.name.ljust(12)} ({r.author}): {verdict}"


def _outside(p: Principle) -> Iterator[str]:
    if p.ideal:
        yield "(1.11)  R_L = 0: every constraint is ideal"
        return
    names = ", ".join(f"'{c.name}'" for c, W in zip(p.system.constraints, p.system.reactions, strict=True) if W is not None)
    try:
        values = f"({', '.join(_text(x) for x in p.outside)})"
    except FormNotApplicable:
        values = "(1 − P) R, in numbers by .at(t, q, v)"
    yield f"(1.11)  R_L = {values}: {names} given a reaction direction"


def _variations(p: Principle, names: list[str]) -> Iterator[str]:
    """(2.1), (2.2), (2.5) in the reading of the system, and (3.4)."""
    system, r = p.system, p.reading
    if not system.holonomic_speeds and r.order == 0:
        r = p.readings[1]
    marks = [r.variation.format(q=letter(s), v=letter(s), a=letter(s)) for s in _varied(system, r.order)]
    yield f"(2.1)   δx = ({', '.join(marks)})"
    for i, name in enumerate(names):
        yield f"(2.2)   ε^{name}·δx = {_sum(p.epsilon.row(i), marks)} = 0"
    if names and system.nv <= PROJECTOR_VELOCITIES + 2 and not nonlinear_rows(system):
        free = [marks[system.velocities.index(v)] for v in suggest(system).values()]
        for mark, h in zip(marks, p.complement.tolist(), strict=True):
            if mark not in free:
                yield f"(2.5)   {mark} = {_sum(h, free)}"


def _sum(coefficients: Iterable[Any], marks: list[str]) -> str:
    """c₁ δx¹ + c₂ δx² + … in Unicode."""
    factor = lambda c: "" if c == 1 else f"{_text(c)} " if c.is_Symbol or (c.is_number and c > 0) else f"({_text(c)}) "
    terms = [f"{factor(simplified(c, 0.1))}{mark}" for c, mark in zip(coefficients, marks, strict=True) if c != 0]
    return " + ".join(terms) or "0"


def _varied(system: System, order: int) -> tuple[Any, ...]:
    return (system.coordinates, system.velocities, system.accelerations)[order]


def _motion(p: Principle) -> Iterator[str]:
    """(3.2), by Lagrange's operator where it applies and the system is small enough to read."""
    if p.system.nv > PROJECTOR_VELOCITIES + 2 or Lagrange().reason_against(p.system) is not None:
        yield "(3.2)   M W − Y − Σ Λ ∂f/∂x = 0"
        return
    for e, v in zip(Lagrange()(p.system).equations, p.system.velocities, strict=True):
        difference = simplified(sympy.Add(e.lhs, -e.rhs), 0.3)  # type: ignore[arg-type]
        long = sympy.count_ops(difference) > PRINTED_OPERATIONS
        yield "(3.2)   " + (f"along {letter(v)}: see ap.forms.lagrange(system)" if long else f"{_text(difference)} = 0")
