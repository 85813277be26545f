"""The forcing of a system: whether it depends on time, its frequency if time occurs in sines and cosines of multiples of one ω,
and whether it is periodic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Expr, cos, sin

from appell.analysis.natural_scales import natural_time, natural_tolerance, scales_from, size_near
from appell.compiled.run import Run
from appell.errors import AppellError, ModelError
from appell.graph.algebra import depends
from appell.jets import expression, t
from appell.model import System
from appell.numeric_functions import numeric_function
from appell.reading import finite, name_in, symbolic
from appell.simulate.loop.reset_maps import reset_map, reset_slopes
from appell.simulate.start import read
from appell.tree.tree_system import TreeSystem

Array = NDArray[np.float64]

FORCING_REPEATS = 1e-6
"""Fraction of its variation over a period to which a forcing must repeat."""


def base_frequency(parts: Iterable[Any], name: str) -> Expr | None:
    """ω of which all frequencies are multiples; None without time; raises where time occurs elsewhere."""
    parts = [symbolic(expr, "a part of the system") for expr in parts]
    waves = sorted({e for expr in parts for e in expr.atoms(sin, cos) if e.has(t)}, key=str)
    slopes = [sympy.simplify(sympy.diff(e.args[0], t)) for e in waves]
    remainders = [expr.xreplace({e: sympy.Dummy() for e in waves}) for expr in parts]
    beside_waves = [expr for expr, without_waves in zip(parts, remainders, strict=True) if without_waves.has(t)]
    if beside_waves or any(s.has(t) for s in slopes):
        culprit = beside_waves[0] if beside_waves else next(e for e, s in zip(waves, slopes, strict=True) if s.has(t))
        raise ModelError(f"time must stand in sines and cosines of multiples of one frequency in '{name}', not in {culprit}")
    if not waves:
        return None
    unit_slope = slopes[0]
    ratios = [_rational(sympy.simplify(s / unit_slope)) for s in slopes]
    if not all(ratio.is_Rational for ratio in ratios):
        several = ", ".join(map(str, dict.fromkeys(slopes)))
        raise ModelError(f"'{name}' is driven by several frequencies, {several}; one and its multiples are taken")
    unit = sympy.Abs(ratios[0])
    for ratio in ratios[1:]:
        unit = sympy.gcd(unit, sympy.Abs(ratio))
    omega: Any = unit_slope * unit
    return -omega if omega.could_extract_minus_sign() else omega


def _rational(ratio: Any) -> Any:
    """A ratio of floats as the simple fraction that it equals up to rounding."""
    if not ratio.is_Float:
        return ratio
    simple = Fraction(float(ratio)).limit_denominator(1000)
    close = abs(float(simple) / float(ratio) - 1) < 1e-12
    return sympy.Rational(simple.numerator, simple.denominator) if close else ratio


def driving_period(system: System) -> Expr | None:
    """2π/ω of the forcing in the system; None if it is autonomous."""
    expressions = [*system.forces, system.potential, *system.residuals, *system.rates.values()]
    expressions += [face.function for face in system.unilateral]
    expressions += [e for law in (*system.frictions, *system.resets) for e in law.expressions]
    expressions += [] if isinstance(system, TreeSystem) else [system.kinetic]
    try:
        omega = base_frequency(expressions, system.name)
    except ModelError as error:
        raise ModelError(f"{error}; give period=") from None
    return None if omega is None else 2 * sympy.pi / omega


def period_law(system: System, period: Any) -> Any:
    """A function of {parameter name: value} → period, s: from a number, an expression in parameters, or the forcing of the
    system.

    None if no period is given and the system is autonomous.
    """
    law = driving_period(system) if period is None else expression(period, "period=")
    if law is None:
        return None
    symbols = sorted(law.free_symbols, key=str)
    names = {str(p) for p in system.parameters}
    unknown = [str(s) for s in symbols if str(s) not in names]
    if unknown:
        raise ModelError(f"period= contains {unknown[0]}, which is no parameter of '{system.name}'")
    value = numeric_function(symbols, law)

    def of(values: Mapping[str, float]) -> float:
        T = finite(value(*(values[str(s)] for s in symbols)), f"the period {name_in(law)}", infinite=True)
        if not 0 < T < float("inf"):
            raise ModelError(f"the period {law} is {T:g} s: it must be positive")
        return T

    return of


def atol_near(
    run: Run, start: Mapping[Any, Any], since: float, duration: float | None, share: float, options: Mapping[str, Any]
) -> float:  # fmt: skip
    """atol as a share of the smallest scale of the motion from a start over a duration; by default the period of the forcing,
    or a time in which the motion changes."""
    try:
        z = np.concatenate(read(run.system, dict(start)))
    except AppellError:
        return share  # the run itself refuses the start
    lasts = time_to_look(run, since, z) if duration is None else float(duration)
    scales_with = lambda atol: scales_from(run, start, since, lasts, {**options, "atol": atol})
    return natural_tolerance(share, float(np.abs(z).max(initial=0.0)), scales_with)


def time_to_look(run: Run, since: float, z: Array) -> float:
    """The period of the forcing, or a time in which the motion from a state changes, s."""
    try:
        law = period_law(run.system, None)
    except ModelError:
        law = None
    if law is None:
        return 2 * np.pi * natural_time(run, since, z[None])
    return float(law({str(p): float(value) for p, value in run.parameters.items()}))


def explicit_time(run: Run) -> bool:
    """Whether time occurs in the equations of motion, walls, frictions or resets."""
    form = run.form
    laws = [*run.system.resets, *run.system.frictions]
    if any(t in e.free_symbols for law in laws for e in law.expressions):
        return True
    names = ("M", "h", "forces", "V", "A", "a0", "W", "f0", "qd", "g", "g_w")
    return any(depends(form[name], form.inputs["t"]) for name in names)


def refuse_other_period(run: Run, z: Array, since: float, T: float) -> None:
    """Raises for a period T of a motion that is not a period of the time-dependent system.

    Rates, accelerations and distances to walls at t and t + T, at states near z, are compared, relative to their variation in
    between.
    """
    rng, form = np.random.default_rng(7), run.form
    smooth_terms = form.select("qd", "g", "g_w")
    symbols, numbers = [t, *run.system.positions, *run.system.velocities], dict(run.parameters)
    timed = [run.system.in_velocities(e) for friction in run.system.frictions for e in friction.expressions if e.has(t)]
    timed = [e.xreplace(numbers) for e in timed]
    laws = [numeric_function(symbols, e) for e in timed if e.free_symbols <= set(symbols)]  # others contain multipliers or |s|

    def values(at: float, y: Array) -> Array:
        q, v = y[: form.nq], y[form.nq :]
        terms = [np.ravel(term) for term in smooth_terms(at, q, v, run.p).values()]
        for reset in run.system.resets:
            terms.append(np.ravel(reset_slopes(form, run.system, reset)(at, q, v, run.p)["g"]))
            terms.append(reset_map(form, run.system, reset)(at, q, v, run.p)["z"])
        for law in laws:
            terms.append(np.atleast_1d(np.asarray(law(at, *q, *v), float)))
        return np.concatenate([*terms, run.acceleration(at, q, v)[0]])

    size = size_near(run, z, since, T)
    deviation, change, largest = 0.0, 0.0, 0.0
    for share in (np.arange(12) + rng.random(12)) / 12:
        y, at = z + 0.1 * size * rng.uniform(-1, 1, len(z)), since + T * share
        value, next_value, elsewhere = values(at, y), values(at + T, y), values(since + T * rng.random(), y)
        deviation, change = np.maximum(deviation, np.abs(next_value - value)), np.maximum(change, np.abs(elsewhere - value))
        largest = np.maximum(largest, np.abs(value))
    if np.any(deviation > FORCING_REPEATS * np.asarray(change) + 1e-11 * np.asarray(largest)):
        raise ModelError(
            f"'{run.system.name}' depends on time and does not repeat itself after {T:.9g} s: the period must be a multiple of"
            " that of its forcing"
        )


__all__ = [
    "atol_near",
    "base_frequency",
    "driving_period",
    "explicit_time",
    "period_law",
    "refuse_other_period",
    "time_to_look",
]
