"""Terms grouped otherwise, squares completed, quotients cancelled; random sines, cosines, tangents and cotangents simplified.

Every rule is an identity and never longer: values before and after are compared at random points and, where nothing has a
pole, at 0, π/2, π and 0.7.
"""

from __future__ import annotations

import random

import mpmath
import pytest
import sympy
from sympy import Rational, cos, cot, pi, sin, tan

import appell as ap
from appell.forms.engine.display import simplified_values
from appell.forms.engine.work_budget import WorkBudget
from appell.tidy import characters, collected, factored_out, regrouped, with_wave_products

theta, phi, x = ap.coordinates("theta phi x")
m, l, J = ap.parameters("m l J", positive=True)
S = m + l * sin(theta)
DIGITS = 40


@pytest.mark.parametrize(
    ("long", "short"),
    [
        (sympy.expand(J + 2 * m * (x + l * sin(theta)) ** 2), J + 2 * m * (x + l * sin(theta)) ** 2),
        (J - 3 * x**2 + 6 * x * l - 3 * l**2, J - 3 * (l - x) ** 2),
        (m - m * sin(phi) ** 2 + l * cos(phi), (m * cos(phi) + l) * cos(phi)),
        (sympy.expand(S * (J + S**2)) / (J + S**2) ** 3, S / (J + S**2) ** 2),
        (x - l + 2 * (l - x) * cos(phi), (l - x) * (2 * cos(phi) - 1)),
        (x.dd * (J + 2 * m * x.d**2) + 2 * m * l * x.d, J * x.dd + 2 * m * x.d * (l + x.d * x.dd)),
        (m * x.d * cos(phi) - J * x.dd * cos(phi) + l * sin(phi), (m * x.d - J * x.dd) * cos(phi) + l * sin(phi)),
        (
            (J * x.dd + m * x.d * cos(phi) / sin(phi)) / sin(phi) ** 2,
            (J * x.dd * sin(phi) + m * x.d * cos(phi)) / sin(phi) ** 3,
        ),
    ],
)
def test_rules(long, short):
    found = regrouped(long)
    assert characters(found) <= characters(short)
    assert sympy.simplify(found - short) == 0


def test_a_sum_that_is_liked_stays():
    e = m**2 + 2 * m * l * cos(phi) + l**2
    assert regrouped(e) == e


ANGLES = [theta, phi] * 3 + [theta + phi, theta - phi, 2 * theta, 2 * phi, theta + 2 * phi]
SYMBOLS = [m, l, J, x, x.d, theta.d, phi.d, x.dd, theta.dd]
NUMBERS = [sympy.Integer(n) for n in (1, 2, 3, -1, -2)] + [Rational(1, 2), Rational(3, 4)]


def random_waves(rng, depth):
    """Sums, products, powers and quotients of waves, symbols and numbers."""
    kind = rng.random()
    if depth == 0 or kind < 0.12:
        waves = rng.choice([sin, cos, sin, cos, tan, cot])(rng.choice(ANGLES))
        return rng.choices([waves, rng.choice(SYMBOLS), rng.choice(NUMBERS)], [50, 38, 12])[0]
    inside = lambda count: [random_waves(rng, depth - 1) for _ in range(count)]
    if kind < 0.45:
        return sympy.Add(*inside(rng.choice([2, 2, 3, 4])))
    if kind < 0.75:
        return sympy.Mul(*inside(rng.choice([2, 2, 3])))
    if kind < 0.85:
        return inside(1)[0] ** rng.choice([2, 2, 3])
    above, below = inside(2)
    return above / below if below != 0 else above


def values(expressions, at):
    """In 40 digits; None where one of them has no value."""
    with mpmath.workdps(DIGITS):
        try:
            return list(map(mpmath.mpmathify, sympy.lambdify(list(at), expressions, "mpmath")(*at.values())))
        except (ZeroDivisionError, ValueError, OverflowError):
            return None


def close(found, wanted, part):
    return abs(found - wanted) <= part * (1 + abs(wanted))


def point(e, rng):
    """Numbers without a pattern, angles among them."""
    number = lambda s: mpmath.mpf(rng.randint(20, 130)) / 100 + mpmath.mpf(rng.randint(1, 99)) / 10007
    return {s: number(s) * (1 if s.is_positive else rng.choice([-1, 1])) for s in sorted(e.free_symbols, key=str)}


def special(e, rng):
    """Exact angles, and the numbers of all else."""
    angles = {s: rng.choice([sympy.Integer(0), pi / 2, pi, Rational(7, 10)]) for s in (theta, phi)}
    return angles, {s: q for s, q in point(e, rng).items() if s not in angles}


def judge(seed):
    rng = random.Random(seed)
    e = random_waves(rng, rng.choice([2, 3, 3, 4]))
    if e.has(sympy.zoo, sympy.nan, sympy.oo) or not e.free_symbols:
        return
    shown = simplified_values({x: e}, WorkBudget(1.0))[x]
    ways = [shown, collected(e), with_wave_products(e), factored_out(e), regrouped(e), regrouped(collected(e))]
    assert max(map(characters, ways)) <= max(characters(e), characters(shown)), seed
    at = point(e, rng)
    wanted = values([e], at)
    if wanted is not None and abs(wanted[0]) < 1e15:
        found = values(ways, at)
        assert found is not None and all(close(v, wanted[0], 1e-20) for v in found), (seed, at)
    for _ in range(3):
        angles, at = special(e, rng)
        exact, found = e.xreplace(angles), shown.xreplace(angles)
        if shown == e or exact.has(sympy.zoo, sympy.nan, sympy.oo):
            continue
        beside = {s: mpmath.mpmathify(sympy.N(q + Rational(1, 10**12), DIGITS)) for s, q in angles.items()}
        wanted, near = values([exact], at), values([e], {**at, **beside})
        if wanted is None or near is None or not close(near[0], wanted[0], 1e-7):
            continue  # beside a pole, or 0·∞ for SymPy's arithmetic
        assert not found.has(sympy.zoo, sympy.nan, sympy.oo), (seed, angles)
        assert close(values([found], at)[0], wanted[0], 1e-20), (seed, angles)


@pytest.mark.parametrize("block", range(21))
def test_random_waves_are_equal_and_not_longer(block):
    """Block 0 is short; all others, a hundred each, are of the extended tier."""
    for seed in range(20) if block == 0 else range(100 * block, 100 * block + 100):
        judge(seed)
