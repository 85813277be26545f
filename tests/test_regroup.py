"""Terms grouped otherwise, squares completed, quotients cancelled; random sines, cosines, tangents and cotangents simplified.

Every rule is an identity and never longer: values before and after are compared at random points and, where the given
expression has a value, at 0, π/2, π, 0.7 and equal angles. These values are computed, not substituted: for SymPy,
0·(cot θ + ∞) is 0.
"""

from __future__ import annotations

import random

import pytest
import sympy
from sympy import Rational, cos, cot, csc, sec, sin, tan
from tests.forms.solutions_at_special_states import snapped

import appell as ap
from appell.forms.engine.display import simplified_values
from appell.forms.engine.evaluation import Tape
from appell.forms.engine.work_budget import WorkBudget
from appell.tidy import characters, collected, factored_out, regrouped, with_wave_products

theta, phi, x = ap.coordinates("theta phi x")
m, l, J = ap.parameters("m l J", positive=True)
S = m + l * sin(theta)


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
WAVES = [sin, cos] * 4 + [tan, cot] * 2 + [sec, csc]
SYMBOLS = [m, l, J, x, x.d, theta.d, phi.d, x.dd, theta.dd]
NUMBERS = [sympy.Integer(n) for n in (1, 2, 3, -1, -2)] + [Rational(1, 2), Rational(3, 4)]


def random_waves(rng, depth):
    """Sums, products, powers and quotients of waves, symbols and numbers."""
    kind = rng.random()
    if depth == 0 or kind < 0.12:
        waves = rng.choice(WAVES)(rng.choice(ANGLES))
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
    """In thirty digits, sin π = 0 and tan π/2 = ∞ as they are; None where one of them has no value or is very large."""
    try:
        found = Tape(expressions)(at, snapped())
    except ap.SingularConfiguration:
        return None
    return found if all(abs(v) < 1e15 for v in found) else None  # not for nan, either


def close(found, wanted):
    """Terms of 1e15 may cancel in the given expression and not in the other, or the other way round."""
    return found is not None and all(abs(v - wanted) <= 1e-12 * (1 + abs(wanted)) for v in found)


def point(e, rng):
    """Numbers without a pattern, angles among them."""
    number = lambda: snapped().number(rng.randint(20, 130)) / 100 + snapped().number(rng.randint(1, 99)) / 10007
    return {s: number() * (1 if s.is_positive else rng.choice([-1, 1])) for s in sorted(e.free_symbols, key=str)}


def special_points(e, rng):
    """Angles of 0, π/2, π or 0.7, and one time equal ones; all else without a pattern."""
    turn = snapped().context.pi
    for _ in range(4):
        yield point(e, rng) | {s: rng.choice([0 * turn, turn / 2, +turn, turn * 7 / 31]) for s in (theta, phi)}
    at = point(e, rng)
    yield at | {s: at.get(theta, turn / 7) for s in (theta, phi)}


def judge(seed):
    rng = random.Random(seed)
    e = random_waves(rng, rng.choice([2, 3, 3, 4]))
    if e.has(sympy.zoo, sympy.nan, sympy.oo) or not e.free_symbols:
        return
    shown = simplified_values({x: e}, WorkBudget(1.0))[x]
    ways = [shown, collected(e), with_wave_products(e), factored_out(e), regrouped(e), regrouped(collected(e))]
    assert max(map(characters, ways)) <= max(characters(e), characters(shown)), seed
    for at, written in [(point(e, rng), ways), *((at, [shown]) for at in special_points(e, rng))]:
        wanted = values([e], at)
        if wanted is not None:
            assert close(values(written, at), wanted[0]), (seed, at)


@pytest.mark.parametrize("block", range(21))
def test_random_waves_are_equal_and_not_longer(block):
    """Block 0 is short; all others, a hundred each, are of the extended tier."""
    for seed in range(20) if block == 0 else range(100 * block, 100 * block + 100):
        judge(seed)
