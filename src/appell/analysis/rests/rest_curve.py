"""The equations of a curve of special equilibria in x = (q, Λ, a, b), of branch points in x = (q, Λ, η, a, b).

    Q − h + W Λ = 0,  f(q) = 0,        ψ(q, Λ, a, b) = 0

    fold               Π λ_i                            λ: eigenvalues of the linearization, without those always 0
    Hopf               (λ₁ + λ₂)/2 of the pair that is on the imaginary axis
    branch point       `orbits.bordered`

Points of codimension two (Yu. A. Kuznetsov, Elements of Applied Bifurcation Theory, 3rd edition 2004, chapter 8): the cusp of a
curve of folds; Bogdanov–Takens, where the frequency of a Hopf point, or a second eigenvalue of a fold, is zero, and beyond
which there is no Hopf point; fold–Hopf and double Hopf. Sign changes of the first Lyapunov coefficient of a Hopf point are not
detected.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.bordered import Borders, borders_of, branch_point_tests, refuse_dissolved
from appell.analysis.orbits.codimension_two import CurveStep, SecondTest, cusp_along
from appell.analysis.orbits.curve_walk import CurveState, ranges_of
from appell.analysis.rests.equilibrium import Equilibrium, eigenvalues_at
from appell.analysis.rests.rest_equations import RestEquations
from appell.errors import ModelError
from appell.rows import left_inverse

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

REST_CURVES = ("fold", "branch point", "Hopf")
"""Kinds of special equilibria that can be continued."""
SIZES_WITHIN = 1e-2
"""Distance, in units of the unknowns, over which rows of F are scaled."""
ON_AXIS_TOO = 1e-6
"""Real part, as a fraction of the largest eigenvalue, up to which a second pair is on the axis."""
BT = "Bogdanov–Takens"


def _opposite_pair(values: Complex, square: float) -> tuple[int, int]:
    """The two eigenvalues, a complex pair or both real, whose product is nearest to the square of a frequency and whose sum is
    nearest to zero."""
    size = max(float(np.abs(values).max(initial=0.0)), 1e-300)
    couples = [(i, j) for i in range(len(values)) for j in range(i)
               if abs((values[i] + values[j]).imag) <= 1e-9 * size]  # fmt: skip
    if not couples:
        raise ModelError("the rest has no pair of eigenvalues: it is no Hopf point")
    mismatch = lambda ij: abs(values[ij[0]] * values[ij[1]] - square) + size * abs(values[ij[0]] + values[ij[1]])
    return min(couples, key=mismatch)


class RestCurve:
    """The equations of one kind of special equilibria, in units of `scale`; frequency: of a Hopf point, if known, rad/s."""

    def __init__(self, kind: str, rest: Equilibrium, names: tuple[str, str], to: float, frequency: float = np.nan):
        self.kind, self.names, self.to, self.system = kind, names, to, rest.system
        a, b = (next(float(v) for s, v in rest.parameters.items() if str(s) == name) for name in names)
        self.equations = RestEquations(rest.system, rest, names, ranges_of(a, b, to, names[1]))
        start, scale = self.equations.start, self.equations.scale
        self.eta = len(start) - 2 if kind == "branch point" else None
        eta_entry = ([0.0], [1.0]) if self.eta is not None else ([], [])
        self.x0 = np.concatenate([start[:-2], eta_entry[0], start[-2:]])
        self.scale = np.concatenate([scale[:-2], eta_entry[1], scale[-2:]])
        self.passive = () if self.eta is None else (self.eta,)
        self.borders: Borders | None = None
        sizes = self.equations.sizes_near(start, SIZES_WITHIN)
        self.rows = np.flatnonzero(sizes > 0)  # the others do not depend on x
        self.sizes = np.where(sizes > 0, sizes, 1.0)
        values = self._eigenvalues(start)
        if not len(values):
            raise ModelError(f"small motions of the rest are not known: {rest.reason or 'it has none'}")
        self.size = max(float(np.abs(values).max()), 1e-300)
        self.idle = max(rest.free - (kind == "fold") - (kind == "branch point"), 0)
        self.square = self._first_square(values) if np.isnan(frequency) else frequency**2

    def _first_square(self, values: Complex) -> float:
        pairs = values[values.imag > 1e-9 * self.size]
        return float(np.abs(pairs[np.argmin(np.abs(pairs.real))]) ** 2) if len(pairs) else 0.0

    def _plain(self, x: Array) -> Array:
        """x without η."""
        return x if self.eta is None else np.delete(x, self.eta)

    def _eigenvalues(self, x: Array) -> Complex:
        q, lam, p = self.equations.unscaled(x)
        return eigenvalues_at(self.equations.balance.with_parameters(p), q, lam)[0]

    def evaluate(self, x: Array) -> CurveState:
        plain = self._plain(x)
        F, J, lift = self.equations.rows(plain, self.sizes)
        F, J = F[self.rows], J[self.rows]
        size = float(np.abs(F).max(initial=0.0))
        psi, eta_column = self._psi(plain, J)
        inverse = left_inverse(lift)
        full = np.vstack([J @ inverse, np.eye(len(plain)) - lift @ inverse])
        if self.eta is not None:
            full = np.insert(full, self.eta, np.append(eta_column, np.zeros(len(full) - len(F))), axis=1)
            F = F + eta_column * x[self.eta]
        return CurveState(F, full, psi, size)

    def _psi(self, plain: Array, J: Array) -> tuple[Array, Array]:
        if self.kind == "branch point":
            M = J[:, :-2]
            if M.shape[0] != M.shape[1]:
                raise ModelError("curves of branch points are not followed where rows depend on each other or have no force")
            self.borders = borders_of(M) if self.borders is None else self.borders
            return branch_point_tests(M, J[:, -2], self.borders), self.borders.phi
        values = self._eigenvalues(plain) / self.size
        if self.kind == "fold":
            return np.array([float(np.prod(values[np.argsort(np.abs(values))][self.idle :]).real)]), np.zeros(0)
        i, j = _opposite_pair(values, self.square / self.size**2)
        return np.array([float((values[i] + values[j]).real) / 2]), np.zeros(0)

    def record(self, x: Array, state: CurveState) -> Equilibrium:
        if self.eta is not None:
            refuse_dissolved(x[self.eta], self.names[1])
        rest = self.equations.rest_at(self._plain(x), state.source)
        if self.kind == "Hopf":
            i, j = _opposite_pair(rest.eigenvalues, self.square)
            self.square = float((rest.eigenvalues[i] * rest.eigenvalues[j]).real)
        return rest

    def lost(self, step: CurveStep) -> str:
        return ""

    def projected(self, x: Array) -> Array:
        return self.equations.projected(x)

    # -- codimension two -----------------------------------------------------------------------------------------------

    def _other_eigenvalues(self, step: CurveStep) -> Complex:
        """Eigenvalues except those that define the curve, in units of the first."""
        values = step.record.eigenvalues / self.size
        if self.kind == "Hopf":
            return np.delete(values, list(_opposite_pair(values, self.square / self.size**2)))
        return values[np.argsort(np.abs(values))][self.idle + 1 :]

    def _sums(self, step: CurveStep) -> float:
        """Π_{i<j} (λ_i + λ_j) over the eigenvalues except those that define the curve: smooth where pairs become real."""
        others = self._other_eigenvalues(step)
        sums = [others[i] + others[j] for i in range(len(others)) for j in range(i)]
        return float(np.prod(sums).real) if sums else np.nan

    def tests(self, tangent: Array) -> Mapping[str, SecondTest]:
        zero = lambda step: float(np.prod(self._other_eigenvalues(step)).real)
        if self.kind == "Hopf":
            square = lambda step: float(
                np.prod(step.record.eigenvalues[list(_opposite_pair(step.record.eigenvalues, self.square))]).real
            )
            return {BT: lambda step: square(step) / self.size**2, "fold–Hopf": zero, "double Hopf": self._sums}
        return {"cusp": cusp_along(tangent), BT: zero, "fold–Hopf": self._sums} if self.kind == "fold" else {}

    def is_genuine(self, name: str, step: CurveStep) -> bool:
        """Whether a second pair is on the axis, and not two real eigenvalues λ, −λ."""
        if name != "double Hopf" and (name != "fold–Hopf" or self.kind == "Hopf"):
            return True
        others = self._other_eigenvalues(step)
        return bool((np.abs(others[others.imag > ON_AXIS_TOO].real) <= ON_AXIS_TOO).any())

    def ended(self, step: CurveStep, second: str) -> str:
        if self.kind == "Hopf" and second == BT:
            return "it ends in a Bogdanov–Takens point: behind it no pair is on the imaginary axis"
        return ""


__all__ = ["REST_CURVES", "RestCurve"]
