"""`Averaged`: the slow equations of a vibro-impact system, as formulas and in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray
from sympy import Eq, Expr, Symbol, cos, sin

from appell.analysis.free_motion import FreeMotion
from appell.analysis.regime_search import WITHIN, RegimeSearch
from appell.analysis.smooth_motion import SmoothOscillator
from appell.delegates import delegate
from appell.errors import ModelError
from appell.forms.fold.fold import Fold
from appell.jets import Coordinate, t
from appell.letters.displayed_equations import DisplayedEquations
from appell.model import System
from appell.model.values import bound
from appell.motion.result_frame import Result
from appell.numeric_functions import numeric_function
from appell.reading import reals_together

Array = NDArray[np.float64]

ORDERS = {1: "first", 2: "second"}
AT_GIVEN = "ap.resonance finds its roots at given parameters"


@dataclass(frozen=True, eq=False)
class Averaged(DisplayedEquations, Result):
    """The slow motion of an oscillator, smooth or with impacts, ṙ and θ̇ in r, θ, from `ap.averaged`.

    Attributes
    ----------
    system, small: the averaged system, and the small parameters.
    resonance: (n, m) of m ω = n ν; None for the motion far from resonances, where θ is the phase φ itself.
    r, theta: the slow variables; r is the amplitude (`free.meaning`), θ = m ωt − n (ν/Ω) φ.
    omega: the frequency of the forcing, None where nothing depends on time.
    r_rate, theta_rate: the right sides of (20).
    folded, free: the fold, or the smooth oscillator, and the motion that averaging starts from.
    order: of the means in the small parameters; 2 where those of first order vanish.
    """

    system: System
    small: tuple[Symbol, ...]
    resonance: tuple[int, int] | None
    r: Coordinate
    theta: Coordinate
    omega: Expr | None
    r_rate: Expr
    theta_rate: Expr
    folded: Fold | SmoothOscillator
    free: FreeMotion
    order: int = 1

    @property
    def ok(self) -> bool:
        """Whether there are averaged equations: always, since what cannot be averaged is refused."""
        return True

    @property
    def message(self) -> str:
        """What was averaged, and near which resonance."""
        place = "far from resonances" if self.resonance is None else "near {1} ω = {0} ν".format(*self.resonance)
        return f"'{self.system.name}' averaged to the {ORDERS[self.order]} order in {', '.join(map(str, self.small))}, {place}"

    @property
    def equations(self) -> tuple[Eq, ...]:
        """ṙ = …, θ̇ = … (20)."""
        return Eq(self.r.d, self.r_rate, evaluate=False), Eq(self.theta.d, self.theta_rate, evaluate=False)  # type: ignore[return-value]

    def __str__(self) -> str:
        rows = "\n".join(f"    {e.lhs} = {e.rhs}" for e in self.equations)
        place = "far from resonances" if self.resonance is None else "near {1} ω = {0} ν".format(*self.resonance)
        order = f"{ORDERS[self.order]} order in {', '.join(map(str, self.small))}"
        return f"'{self.system.name}' averaged {place}, {order}:\n{rows}"

    @cached_property
    def jacobian(self) -> sympy.Matrix:
        """∂(ṙ, θ̇)/∂(r, θ), (2, 2): its eigenvalues at a stationary regime determine stability."""
        return sympy.Matrix([self.r_rate, self.theta_rate]).jacobian([self.r, self.theta])

    @cached_property
    def characteristic(self) -> Expr:
        """The characteristic polynomial λ² − tr λ + det of the linearization at a regime, in r, θ and the symbol lambda."""
        lam, J = Symbol("lambda"), self.jacobian
        return lam**2 - J.trace() * lam + J.det()

    @cached_property
    def harmonics(self) -> tuple[tuple[Expr, Expr, Expr], ...] | None:
        """((A, B, C) of ṙ, of θ̇) with rate = A + B cos θ + C sin θ in r; None where higher harmonics of θ occur."""
        coefficients = []
        for rate in (self.r_rate, self.theta_rate):
            expanded = sympy.expand(sympy.expand_trig(rate))
            B, C = expanded.coeff(cos(self.theta), 1), expanded.coeff(sin(self.theta), 1)
            A = sympy.expand(expanded - B * cos(self.theta) - C * sin(self.theta))
            if any(c.has(self.theta) for c in (A, B, C)):
                return None
            coefficients.append((A, B, C))
        return tuple(coefficients)

    @cached_property
    def stationary(self) -> Expr:
        """G(r) whose zeros are the stationary amplitudes: cos² θ + sin² θ = 1 with both from ṙ = θ̇ = 0 (21).

        Numerator of (A₁C₂ − A₂C₁)² + (A₂B₁ − A₁B₂)² − (B₁C₂ − B₂C₁)².
        """
        if self.harmonics is None:
            raise ModelError("the slow equations contain higher harmonics of θ: there is no one equation for r")
        (A1, B1, C1), (A2, B2, C2) = self.harmonics
        G = (A1 * C2 - A2 * C1) ** 2 + (A2 * B1 - A1 * B2) ** 2 - (B1 * C2 - B2 * C1) ** 2
        numerator = sympy.numer(sympy.together(sympy.expand(G)))
        factors = [f for f, _ in sympy.factor_list(numerator)[1] if f.has(self.r)]
        return sympy.expand(sympy.Mul(*factors)) if factors else sympy.expand(numerator)

    @cached_property
    def existence(self) -> Any:
        """When a stationary regime with r > 0 exists, in the parameters; a SymPy condition.

        For P r² + 2Q r + R = 0 with P > 0: Q² − PR >= 0 and (R < 0 or Q < 0). With one wall this is, corrected, the condition
        after (21), ε²/(4k² − 1)² >= Ω⁴Δ²h²/(h² + 4χ²), and r₀ > 0.
        """
        G = sympy.Poly(self._without_roots(self.stationary), self.r)
        if G.degree() != 2:
            raise ModelError(f"the equation for r is of degree {G.degree()}, not 2; {AT_GIVEN}")
        P, twice_Q, R = G.all_coeffs()  # P is a sum of squares of the derivatives of both rates in r
        discriminant = sympy.factor(twice_Q**2 / 4 - P * R)
        return sympy.And(_positive_part(discriminant) >= 0, sympy.Or(_positive_part(R) < 0, _positive_part(twice_Q) < 0))

    def _without_roots(self, G: Expr) -> Expr:
        if not G.is_polynomial(self.r):
            raise ModelError(f"the equation for r is not a polynomial: {G} = 0; {AT_GIVEN}")
        return G

    def variables(self) -> Mapping[str, Any]:
        """The rates as text, `r_rate` and `theta_rate` (attribute `latex`)."""
        rates = {"r_rate": (self.r_rate, "rate of the amplitude"), "theta_rate": (self.theta_rate, "rate of the slow phase")}
        attributes = lambda rate, meaning: {"units": "SI/s", "long_name": meaning, "latex": sympy.latex(rate)}
        return {name: ((), str(rate), attributes(rate, meaning)) for name, (rate, meaning) in rates.items()}

    def attributes(self) -> Mapping[str, Any]:
        place = "far from resonances" if self.resonance is None else "{1} omega = {0} nu".format(*self.resonance)
        return {**super().attributes(), "small": ", ".join(map(str, self.small)), "r": self.free.meaning, "resonance": place}

    def regimes(self, parameters: Mapping[Any, Any] | None = None) -> list[tuple[float, float, Array]]:
        """(r, θ, eigenvalues) of the stationary regimes at given parameters, the largest r first; see `ap.resonance`."""
        return RegimeSearch(self, WITHIN)(self.values(parameters))

    def plot(self, parameters: Mapping[Any, Any] | None = None, *, largest: float | None = None, ax: Any = None) -> Any:
        """The slow flow at given parameters in the plane (r cos θ, r sin θ), with its stationary regimes; far from resonances
        ṙ over r. `largest`: the largest amplitude drawn. Returns the figure."""
        self.values(parameters)
        return delegate("Averaged.plot")(self, parameters, largest, ax)

    def report(self, path: Any, parameters: Mapping[Any, Any] | None = None, *, title: str | None = None) -> Any:
        """Writes one self-contained page, and returns its path: the slow equations, their flow at given parameters, the model.

        path: of the page, ending with .html. title: of the page.
        """
        return delegate("Result.report")(self, path, title=title, drawn_with=(parameters,))

    # -- in numbers ----------------------------------------------------------------------------------------------------

    @cached_property
    def _lambdified(self) -> Any:
        arguments = [self.r, self.theta, *self.system.parameters]
        return numeric_function(arguments, [self.r_rate, self.theta_rate], "numpy", cse=True)

    def values(self, parameters: Mapping[Any, Any] | None) -> tuple[float, ...]:
        """The values of the parameters in the order of the system; missing or unknown ones raise."""
        values = bound(self.system.parameters, parameters, self.system.name)
        return tuple(values[p] for p in self.system.parameters)

    def rates(self, r: ArrayLike, theta: ArrayLike, parameters: Mapping[Any, Any] | None = None) -> tuple[Array, Array]:
        """(ṙ, θ̇) at r and θ (numbers or arrays of one shape), with values of the system's parameters; 1/s."""
        r, theta = reals_together(r=r, theta=theta)
        values = self._lambdified(r, theta, *self.values(parameters))
        return tuple(np.broadcast_to(np.asarray(rate, float), r.shape).copy()[()] for rate in values)  # type: ignore[return-value]

    def coordinate(self, t: ArrayLike, r: ArrayLike, theta: ArrayLike, parameters: Mapping[Any, Any] | None = None) -> Array:
        """The folded coordinate of the system at the times t, s: x = X(φ, r) with φ from θ (19), and q of it; (k,).

        For the oscillator with a wall s = Δ − r |cos((ωt − θ)/2k)|. Far from resonances θ is φ itself.
        """
        t, r, theta = reals_together(t=t, r=r, theta=theta)
        values = self.values(parameters)
        phase = theta
        if self.resonance is not None:
            n, m = self.resonance
            omega = float(numeric_function(self.system.parameters, self.omega)(*values))
            phase = (m * omega * t - theta) / (n * self.free.turns)
        folded_phase = np.mod(phase + np.pi / 2, 2 * np.pi) - np.pi / 2
        sheets = [fn(t, folded_phase, r, *values) + 0 * t for fn in self._sides]
        return np.where(folded_phase <= np.pi / 2, *sheets)

    @cached_property
    def _sides(self) -> list[Any]:
        """q(t, φ, r) on both sheets."""
        q = self.folded.recover[self.folded.chart.coordinate]
        arguments = [t, self.free.phi, self.free.r, *self.system.parameters]
        on = lambda piece: {self.folded.sigma: sympy.Integer(piece.sigma), self.folded.x: piece.X}
        return [numeric_function(arguments, q.xreplace(on(piece)), "numpy") for piece in self.free.pieces]


__all__ = ["Averaged"]


def _positive_part(expr: Expr) -> Expr:
    """The expression without factors known to be positive."""
    return sympy.Mul(*(factor for factor in sympy.Mul.make_args(sympy.factor(expr)) if not factor.is_positive))
