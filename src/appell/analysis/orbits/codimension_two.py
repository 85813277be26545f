"""Points of codimension two on a curve of special orbits: where a second condition holds.

    fold               cusp: both parameters turn back         fold–flip: det(P + 1) = 0       1:1 resonance: a second μ = 1
    period doubling    fold–flip: a μ = 1                      1:2 resonance: a second μ = −1
    Neimark–Sacker     resonances of the pair e^{±iθ}:         1:1, 1:2, 1:3, 1:4 at cos θ = 1, −1, −1/2, 0

and beside a complex pair on the circle fold–Neimark–Sacker and flip–Neimark–Sacker (Yu. A. Kuznetsov, Elements of Applied
Bifurcation Theory, 3rd edition 2004, section 9.5). Beyond 1:1 and 1:2 there is no pair on the circle: the curve ends there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

SECOND_LOOKS = 25
SECOND_CLOSED = 1e-10
"""Residual at which a second condition is met, and distance at which two points of a curve are the same."""
SECOND_MULTIPLIER = 1e-2
"""Distance from 1 or −1 within which a second multiplier is there too: the root of the accuracy of a product."""
RESONANCES = {"1:1 resonance": 1.0, "1:2 resonance": -1.0, "1:3 resonance": -0.5, "1:4 resonance": 0.0}
"""Strong resonances → cos θ of their multipliers e^{±iθ}."""
ENDS = ("1:1 resonance", "1:2 resonance")
"""Resonances at which a Neimark–Sacker curve ends."""


class CodimensionTwo(NamedTuple):
    """A point of a curve at which a second condition holds: its kind, the two parameters, its residual."""

    kind: str
    values: Array
    residual: float


class CurveStep(NamedTuple):
    """A point of a curve: scaled unknowns, tangent, the orbit or equilibrium, |ψ|."""

    x: Array
    tangent: Array
    record: Any
    psi: float


SecondTest = Callable[[CurveStep], float]


def _multipliers(step: CurveStep) -> Complex:
    return step.record.closing


def _reciprocal_pair(mu: Complex) -> tuple[int, int]:
    """The two multipliers whose product is nearest to 1."""
    couples = [(i, j) for i in range(len(mu)) for j in range(i)]
    return min(couples, key=lambda ij: abs(mu[ij[0]] * mu[ij[1]] - 1))


def cosine(step: CurveStep) -> float:
    """cos θ of the pair e^{±iθ}; beyond ±1 where it is real."""
    mu = _multipliers(step)
    i, j = _reciprocal_pair(mu)
    return float((mu[i] + mu[j]).real / 2)


def _product_without_pair(step: CurveStep, number: float) -> float:
    """Π (μ − number) over the multipliers except the pair."""
    mu = _multipliers(step)
    return float(np.prod(np.delete(mu, list(_reciprocal_pair(mu))) - number).real)


def _product_without_defining(step: CurveStep, defining: float, number: float) -> float:
    """Π (μ − number) without the multiplier that defines the curve."""
    mu = _multipliers(step)
    return float(np.prod(np.delete(mu, int(np.argmin(np.abs(mu - defining)))) - number).real)


def _pairs_without_defining(step: CurveStep, defining: float) -> float:
    """Π_{i<j} (μ_i μ_j − 1) over the multipliers except the one that defines the curve."""
    mu = _multipliers(step)
    mu = np.delete(mu, int(np.argmin(np.abs(mu - defining))))
    return float(np.prod([mu[i] * mu[j] - 1 for i in range(len(mu)) for j in range(i)]).real)


def cusp_along(tangent: Array) -> SecondTest:
    """The test that both parameters turn back, starting from a point with a tangent."""
    direction = tangent[-2:] / max(float(np.linalg.norm(tangent[-2:])), 1e-300)
    return lambda step: float(step.tangent[-2:] @ direction)


def tests_along(kind: str, tangent: Array) -> dict[str, SecondTest]:
    """Tests of the second conditions on a curve of a kind, starting from a point with a tangent."""
    if kind == "Neimark–Sacker":
        tests: dict[str, SecondTest] = {name: lambda step, c=c: cosine(step) - c for name, c in RESONANCES.items()}
        tests["fold–Neimark–Sacker"] = lambda step: _product_without_pair(step, 1.0)
        tests["flip–Neimark–Sacker"] = lambda step: _product_without_pair(step, -1.0)
        return tests
    if kind == "fold":
        return {
            "cusp": cusp_along(tangent),
            "fold–flip": lambda step: _product_without_defining(step, 1.0, -1.0),
            "1:1 resonance": lambda step: _product_without_defining(step, 1.0, 1.0),
            "fold–Neimark–Sacker": lambda step: _pairs_without_defining(step, 1.0),
        }
    if kind == "period doubling":
        return {
            "fold–flip": lambda step: _product_without_defining(step, -1.0, 1.0),
            "1:2 resonance": lambda step: _product_without_defining(step, -1.0, -1.0),
            "flip–Neimark–Sacker": lambda step: _pairs_without_defining(step, -1.0),
        }
    return {}


def is_genuine(name: str, step: CurveStep) -> bool:
    """Whether a pair with product 1 is complex; two real multipliers are not a bifurcation."""
    if not name.endswith("–Neimark–Sacker"):
        return True
    mu = _multipliers(step)
    return bool(((np.abs(mu.imag) > 1e-3) & (np.abs(np.abs(mu) - 1) < SECOND_MULTIPLIER)).any())


def second_between(
    tests: Mapping[str, SecondTest], meant: Callable[[str, CurveStep], bool],
    correct: Callable[[Array, Array], CurveStep], here: CurveStep, there: CurveStep, units: Any,
) -> list[tuple[CodimensionTwo, CurveStep]]:  # fmt: skip
    """The points of codimension two between two points of a curve, in its order; units: of the two parameters."""
    points = []
    for name, test in tests.items():
        fa, fb = test(here), test(there)
        if not (np.isfinite(fa) and np.isfinite(fb)) or not fa * fb < 0:
            continue
        at, residual = _refined(correct, test, here, there, fa, fb)
        if meant(name, at):
            points.append((CodimensionTwo(name, at.x[-2:] * units, residual), at))
    return sorted(points, key=lambda entry: float(entry[1].x @ (there.x - here.x)))


def _refined(
    correct: Callable[[Array, Array], CurveStep], test: SecondTest, a: CurveStep, b: CurveStep, fa: float, fb: float
) -> tuple[CurveStep, float]:  # fmt: skip
    """Refines by false position (Illinois) and bisection along the chord."""
    ga, gb = fa, fb
    for k in range(SECOND_LOOKS):
        chord = b.x - a.x
        size = float(np.linalg.norm(chord))
        if size < SECOND_CLOSED:
            break
        share = ga / (ga - gb) if k % 4 != 3 else 0.5
        middle = correct(a.x + share * chord, chord / size)
        f = test(middle)
        if abs(f) <= SECOND_CLOSED:
            return middle, abs(f)
        if f * fa > 0:
            a, fa, ga, gb = middle, f, f, gb / 2
        else:
            b, fb, gb, ga = middle, f, f, ga / 2
    return (a, abs(fa)) if abs(fa) < abs(fb) else (b, abs(fb))


__all__ = ["ENDS", "CodimensionTwo", "CurveStep", "SecondTest", "cusp_along", "is_genuine", "second_between", "tests_along"]
