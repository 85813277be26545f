"""Test functions of periodic orbits along a branch, and the residuals of the special orbits they define.

    fold                  dp/ds
    period doubling       Π (μ_i + 1)                          μ: Floquet multipliers, without the 1 of an autonomous orbit
    Neimark–Sacker        Π_{i<j} (μ_i μ_j − 1)                where a complex pair is on the unit circle
    branch point          Π (μ_i − 1), where dp/ds keeps its sign

A product keeps its sign where two multipliers pass at once. The number of multipliers outside the circle says so
(`axis_crossings`); the step is then halved until they are apart, or at one place.

For a symmetric orbit they are those of S and a part of the period: at −1 the symmetry breaks, a branch point.

Orbits of conservative and of reversible systems have μ and 1/μ together: these products are 1 along the whole branch and are
not tested.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from appell.analysis.orbits.axis_crossings import AS_PAIR, AT_FLIP, AT_ZERO, MEET, AxisCrossing, Spectra, Structure
from appell.analysis.orbits.refining import Change, CurvePoint, Test

Complex = NDArray[np.complex128]

RECIPROCAL_PAIR = 1e-6
"""Difference from 1 within which the product of two multipliers is identically 1."""
MULTIPLIER_STEP = 0.6
"""Change of log μ in one step along a branch, for multipliers near the unit circle, that is too large: a tenth of a turn."""
NEAR_CIRCLE = 1.5
"""|log |μ|| within which a multiplier is near the unit circle."""


def _multipliers(point: CurvePoint) -> Complex:
    return point.record.closing


def _product_of_differences(number: float) -> Test:
    return lambda point: float(np.prod(_multipliers(point) - number).real) if len(_multipliers(point)) else 1.0


def fold(point: CurvePoint) -> float:
    """dp/ds, which vanishes at a fold."""
    return float(point.tangent[-1])


period_doubling, branch_point = _product_of_differences(-1.0), _product_of_differences(1.0)

SMOOTH: dict[str, Test] = {"period doubling": period_doubling, "branch point": branch_point}
"""Tests that may dip to zero between two orbits and return: narrow tongues."""


def _pair_products(mu: Complex) -> Complex:
    return np.array([mu[i] * mu[j] - 1 for i in range(len(mu)) for j in range(i)], dtype=complex)


def neimark_sacker(here: CurvePoint, there: CurvePoint) -> Test:
    """The test between two orbits, without the products that are 1 at both of them."""
    fixed = min(int((np.abs(_pair_products(_multipliers(point))) < RECIPROCAL_PAIR).sum()) for point in (here, there))

    def test(point: CurvePoint) -> float:
        products = _pair_products(_multipliers(point))
        varying = products[np.argsort(np.abs(products))][fixed:]
        return float(np.prod(varying).real) if len(varying) else 1.0

    return test


PLACES = {AT_ZERO: "branch point", AT_FLIP: "period doubling", AS_PAIR: "Neimark–Sacker"}
"""The kind of special orbit where multipliers pass the unit circle at a place."""


def _products(here: CurvePoint, there: CurvePoint) -> dict[str, Test]:
    """Products that change sign between two orbits."""
    tests = {"fold": fold, "period doubling": period_doubling, "Neimark–Sacker": neimark_sacker(here, there)}
    changing = {kind: test for kind, test in tests.items() if test(here) * test(there) < 0}
    if "fold" not in changing and branch_point(here) * branch_point(there) < 0:
        changing["branch point"] = branch_point
    return changing


def structure(here: CurvePoint, there: CurvePoint) -> Structure | None:
    """The structure of the multipliers in a step along a branch."""
    mu_here, mu_there = _multipliers(here), _multipliers(there)
    return Spectra(mu_here, mu_there, periodic=True).structure if len(mu_here) == len(mu_there) else None


def _crossings(here: CurvePoint, there: CurvePoint, within: Structure | None) -> tuple[Spectra, list[AxisCrossing]]:
    """Multipliers that pass the unit circle between two orbits."""
    spectra = Spectra(_multipliers(here), _multipliers(there), periodic=True, within=within)
    return spectra, spectra.crossings if len(spectra.first) == len(spectra.second) else []


def clear(here: CurvePoint, there: CurvePoint, within: Structure | None) -> bool:
    """Whether the products account for every crossing between two orbits."""
    spectra, crossings = _crossings(here, there, within)
    expected = sorted(
        "branch point" if crossing.place == MEET else PLACES[crossing.place]
        for crossing in crossings
        for _ in range(crossing.count)
    )
    if len(spectra.first) == len(spectra.second) and spectra.both_ways:
        return False
    if not expected or (len(expected) == 1 and spectra.clear):
        return True
    return len(expected) == 1 and expected == [kind.replace("fold", "branch point") for kind in _products(here, there)]


def changes(here: CurvePoint, there: CurvePoint, within: Structure | None) -> list[Change]:
    """The changes between two orbits with the same impacts: products that change sign, and changes that only show in the number
    of multipliers outside the circle."""
    products, crossing_at = (
        _products(here, there),
        {crossing.place: crossing for crossing in _crossings(here, there, within)[1]},
    )
    by_kind = {kind: Change(kind, test) for kind, test in products.items()}
    for place, kind in PLACES.items():
        if place not in crossing_at:
            continue
        count = crossing_at[place].count - (place == AT_ZERO and "fold" in by_kind)
        test_here: Test = lambda point, test=crossing_at[place].test: test(_multipliers(point))
        if count > 0 and (count > 1 or kind not in by_kind):
            by_kind[kind] = Change(kind, products.get(kind, test_here), count)
    if MEET in crossing_at:
        by_kind[""] = Change("", fold, 1, "two pairs of multipliers meet on the unit circle or leave it")
    symmetric = here.record.symmetry is not None
    kind_of = lambda kind: "branch point" if symmetric and kind == "period doubling" else kind
    return [change._replace(kind=kind_of(change.kind)) for change in by_kind.values()]


def is_true(kind: str, point: CurvePoint) -> bool:
    """Whether a Neimark–Sacker point has a complex pair on the circle, and not two real multipliers with product 1."""
    mu = _multipliers(point)
    on = np.abs(np.abs(mu) - 1) < 1e-3  # far looser than a refined point needs
    return kind != "Neimark–Sacker" or bool((on & (np.abs(mu.imag) > 1e-3)).any())


def _nearest(mu: Complex, number: float) -> float:
    """|μ − number| of the nearest multiplier; with a reciprocal, which arrives at the same time, the product of both."""
    distances = np.sort(np.abs(mu - number))
    if len(mu) > 1:
        nearest, next_one = mu[np.argsort(np.abs(mu - number))[:2]]
        if abs(nearest * next_one - 1) < RECIPROCAL_PAIR:
            return float(abs((nearest - number) * (next_one - number)))
    return float(distances[0]) if len(distances) else np.inf


RESIDUALS: dict[str, Callable[[CurvePoint], float]] = {
    "fold": lambda point: abs(fold(point)),
    "period doubling": lambda point: _nearest(_multipliers(point), -1.0),
    "branch point": lambda point: min(
        _nearest(_multipliers(point), number) for number in ((1.0,) if point.record.symmetry is None else (1.0, -1.0))
    ),
    "Neimark–Sacker": lambda point: min(
        (abs(abs(one) - 1) for one in _multipliers(point) if abs(one.imag) > 1e-3), default=np.inf
    ),
}
"""Dimensionless residuals of the defining equations."""


def multiplier_change(here: CurvePoint, there: CurvePoint) -> float:
    """The change of multipliers near the unit circle from one orbit to the next; 1 is too much."""
    mu_here, mu_there = _multipliers(here), _multipliers(there)
    if len(mu_here) != len(mu_there) or not len(mu_here):
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):  # multipliers of lost directions are 0
        distances = np.log(mu_there[None, :] / mu_here[:, None])
    distances = np.nan_to_num(np.abs(distances), nan=1e3, posinf=1e3)
    near_circle = [np.abs(np.log(np.maximum(np.abs(mu), 1e-300))) < NEAR_CIRCLE for mu in (mu_here, mu_there)]
    rows, columns = linear_sum_assignment(distances)
    both_near = near_circle[0][rows] & near_circle[1][columns]
    return float(np.max(distances[rows, columns][both_near], initial=0.0) / MULTIPLIER_STEP)


__all__ = ["RESIDUALS", "SMOOTH", "changes", "clear", "is_true", "multiplier_change", "structure"]
