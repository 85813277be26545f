"""Random systems with every kind of term: T = T2 + T1 + T0 with explicit time, V, forces, constraints of order 0, 1 and 2."""

from __future__ import annotations

import random
from typing import Any

import hypothesis.strategies as st
import sympy
from sympy import Rational, cos, sin

import appell as ap

KINDS = ("holonomic", "linear", "affine", "nonlinear", "second order")


def _number(rng: random.Random) -> Rational:
    return Rational(rng.choice([-1, 1]) * rng.randint(2, 9), rng.randint(4, 9))


def _function(rng: random.Random, q: list[Any], time: bool = True) -> Any:
    """A smooth function of t and q with short derivatives."""
    a, b = rng.choice(q), rng.choice(q)
    terms = [sin(a), cos(b), a * b, sin(a) * cos(b), a**2 / 2]
    f = _number(rng) * rng.choice(terms) + _number(rng) * rng.choice(terms)
    return f + _number(rng) * ap.t * rng.choice([a, cos(b)]) if time else f


def _constraint(rng: random.Random, q: list[Any], kind: str, name: str) -> ap.Constraint:
    v, a = [x.d for x in q], [x.dd for x in q]
    rows = [1 + _function(rng, q) / 8 if i == 0 else _function(rng, q) for i in range(len(q))]
    rng.shuffle(rows)
    if kind == "holonomic":
        f = sum(_number(rng) * x for x in q) + _function(rng, q) / 8
    elif kind == "linear":
        f = sum(c * x for c, x in zip(rows, v, strict=True))
    elif kind == "affine":
        f = sum(c * x for c, x in zip(rows, v, strict=True)) + _function(rng, q)
    elif kind == "nonlinear":
        f = sum(c * x for c, x in zip(rows, v, strict=True)) + v[0] * v[-1] / 4 - Rational(1, 3)
    else:
        f = sum(c * x for c, x in zip(rows, a, strict=True)) + v[0] * v[-1] + _function(rng, q)
    return ap.Constraint(f, name=name)


def build(seed: int, n: int, kinds: tuple[str, ...]) -> ap.System:
    """The system of a seed: n coordinates, one constraint for each of `kinds`."""
    rng = random.Random(seed)
    q = [ap.coordinates(f"q{i + 1}") for i in range(n)]
    v = [x.d for x in q]
    u = [_function(rng, q) for _ in q]
    T2 = sum(Rational(rng.randint(3, 9), 4) * x**2 for x in v) / 2 + sum(c * x for c, x in zip(u, v, strict=True)) ** 2 / 2
    T1 = sum(_function(rng, q) * x for x in v)
    return ap.System(
        coordinates=q,
        kinetic=T2 + T1 + _function(rng, q),
        potential=_function(rng, q),
        forces={q[0]: -v[-1] * Rational(1, 3) + sympy.sin(ap.t)},
        constraints=[_constraint(rng, q, kind, f"row {k + 1}") for k, kind in enumerate(kinds)],
        name=f"random {seed}",
    )


@st.composite
def random_systems(draw: Any, largest: int = 3) -> ap.System:
    """A valid random system with fewer constraints than coordinates."""
    n = draw(st.integers(1, largest))
    kinds = tuple(draw(st.lists(st.sampled_from(KINDS), max_size=max(0, n - 1))))
    try:
        return build(draw(st.integers(0, 10**6)), n, kinds)
    except ap.ModelError:  # an unlucky draw: dependent or empty rows
        draw(st.nothing())
        raise AssertionError("unreachable") from None
