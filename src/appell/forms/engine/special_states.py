"""Where a formula may have a pole that its problem has not: states at which a sine, a coordinate or a velocity vanishes.

    ÿ = (tan θ ÿ)/tan θ        has no value at θ = 0;        x/(l sin θ − h) none on a surface that nobody thought of

A divisor is safe where it has one sign at random states and does not vanish at special ones, since what vanishes on a surface
has both signs beside it (or is a square, and vanishes at a special state).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import pi
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Symbol

from appell import tidy
from appell.errors import SingularConfiguration
from appell.forms.engine.evaluation import FLOAT, Arithmetic, Tape
from appell.jets import Jet, t
from appell.rows.decompositions import rank

RANDOM, MOST_SPECIAL_STATES = 32, 64
"""Random states, and special ones at most."""
VANISHES = 1e-9
"""Part of its largest value below which an entry is zero at a state: sin π is 1e-16."""
SINGULAR_ROUNDING = 1e-15
"""The same beside a singular state of the problem, where everything is small."""
REGULAR = 1e-7
"""Least singular value of the matrix, rows and columns scaled, at a state where the problem has one solution."""
STATE_SHIFT, SAME_VALUE = 1e-9, 1e-5
"""By how much states are moved, and how far values may then differ."""
WAVE_ROUNDING = 1e-14
"""Below this a sine or a cosine of a multiple of π/2 is zero: sin 3π is 4e-16."""

Array = NDArray[np.float64]


def probe(symbol: Any, i: int, k: int) -> Any:
    """The value of the i-th symbol at the k-th point, from 0.1 to 12: of either sign unless it is said to be positive.

    No two are equal, nor opposite, so that nothing vanishes there which does not vanish everywhere.
    """
    size = sympy.Rational(3 + (7 * i + 13 * k) % 29, 31 + 2 * k) * (1, 3, 13)[(i + 2 * k) % 3]
    size += sympy.Rational(i + 1, 1009 + 10 * k)
    return size if symbol.is_nonnegative or (3 * i + k) % 2 else -size


def tried_states(expressions: Sequence[Any]) -> dict[Symbol, Array]:
    """Symbol → values, (states,): random ones first, parameters positive; then each with something special in it."""
    nodes = tidy.parts(sympy.Tuple(*expressions))
    symbols = sorted((e for e in nodes if e.is_Symbol), key=str)
    rng = np.random.default_rng(len(symbols))
    turned = lambda s: isinstance(s, Jet) or s == t
    draw = lambda s: rng.uniform(-pi, pi, RANDOM) if turned(s) else rng.uniform(0.3, 3.0, RANDOM)
    usual = {s: draw(s) for s in symbols}
    changes = list(_changes(nodes, symbols, {s: float(x[0]) for s, x in usual.items()}))[:MOST_SPECIAL_STATES]
    special = lambda s: [change.get(s, usual[s][i % RANDOM]) for i, change in enumerate(changes)]
    return {s: np.concatenate([usual[s], np.array(special(s), dtype=float)]) for s in symbols}


def _changes(nodes: set[Any], symbols: Sequence[Symbol], usual: Mapping[Symbol, float]) -> Iterator[dict[Symbol, float]]:
    waves = [e.args[0] for e in nodes if isinstance(e, sympy.sin | sympy.cos | sympy.tan)]
    jets = sorted((s for s in symbols if isinstance(s, Jet)), key=lambda s: (s.level, str(s)))
    angles = [s for s in jets if s.level == 0 and any(s in w.free_symbols for w in waves)]
    if len(angles) > 1:
        yield dict.fromkeys(angles, 0.0)
        yield dict.fromkeys(angles, usual[angles[0]])
    for s in angles:
        yield {s: 0.0}
        yield {s: pi / 2}
    for s in jets:
        if s not in angles:
            yield {s: 0.0}
    for s in symbols:
        if not isinstance(s, Jet) and not s.is_positive and s != t:
            yield {s: 0.0}
    for a, b in combinations(angles, 2):
        yield {a: 0.7, b: 0.7}
    for s in angles:
        yield {s: pi}


def values_at(tape: Tape, states: Mapping[Symbol, Array]) -> Array:
    """(states, outputs); NaN where a state has no value."""
    count = RANDOM if not states else len(next(iter(states.values())))
    if tape.is_plain:
        with np.errstate(all="ignore"):
            return np.array([np.broadcast_to(x, count) for x in tape(states, VECTOR)], dtype=float).T.reshape(count, -1)
    rows = [_at(tape, {s: float(x[i]) for s, x in states.items()}) for i in range(count)]
    width = next((len(row) for row in rows if row is not None), 0)
    return np.array([[np.nan] * width if row is None else row for row in rows], dtype=float).reshape(count, width)


def _at(tape: Tape, state: Mapping[Symbol, float]) -> list[float] | None:
    try:
        return tape(state, FLOAT)
    except SingularConfiguration:
        return None


def regular_states(K: Array, b: Array) -> NDArray[np.bool_]:
    """At which states (k,) K (k, m, n) and b (k, m) are finite, and K x = b has one solution."""
    kept = np.array(np.isfinite(K).all(axis=(1, 2)) & np.isfinite(b).all(axis=1), dtype=bool)
    if K.shape[1] < K.shape[2] or not K.size:
        return np.zeros(len(K), dtype=bool)
    scaled = _scaled(_scaled(K[kept], 2), 1)
    kept[kept] = [rank(matrix, REGULAR, as_given=True) == K.shape[2] for matrix in scaled]
    return kept


def _scaled(matrices: Array, axis: int) -> Array:
    """The largest entry along an axis is 1."""
    largest = np.abs(matrices).max(axis=axis, keepdims=True)
    return matrices / np.where(largest > 0, largest, 1.0)


def lost(values: Array, determinant: Array | None = None) -> int:
    """At how many states a divisor vanishes, has no value, or has the sign that it has at fewer of them.

    determinant: that of the problem, or of a block of it. Where it changes its sign the problem has a pole or a singular state
    of its own, and a divisor may change with it; where it is small beside its value at other states, so may the divisor be.
    """
    if not values.size:
        return 0
    size, near, patterns = np.abs(values), np.ones(len(values)), [values]
    if determinant is not None and len(determinant) == len(values):
        own = np.abs(determinant)
        near = np.minimum(1.0, own / (own[np.isfinite(own)].max(initial=0.0) or 1.0))
        patterns.append(values * np.sign(determinant))
    largest = size[np.isfinite(size)].max(initial=0.0)
    with np.errstate(invalid="ignore"):
        stays = size > np.fmax(VANISHES * near, SINGULAR_ROUNDING) * largest
    turned = [(np.count_nonzero(stays & (x > 0)), np.count_nonzero(stays & (x < 0))) for x in patterns]
    return int(np.count_nonzero(~stays)) + int(min(map(min, turned)))


def has_new_poles(long: Any, short: Any) -> bool:
    """Whether `short`, which is equal to `long`, has no value or another one at a state where `long` has one.

    States count where `long` hardly changes when they are moved by `STATE_SHIFT`: beside its own poles it is made of
    rounding errors.
    """
    states, tape = tried_states([long, short]), Tape([long])
    before, after = values_at(tape, states), values_at(Tape([short]), states)
    moved = values_at(tape, {s: x + STATE_SHIFT * (1 + i % 3) for i, (s, x) in enumerate(states.items())})
    with np.errstate(all="ignore"):
        known = np.isfinite(before) & (np.abs(moved - before) <= SAME_VALUE * (1 + np.abs(before)))
        return not bool(np.all((np.abs(after - before) <= 10 * SAME_VALUE * (1 + np.abs(before)))[known]))


def _exact(wave: Any) -> Any:
    """sin π and cos π/2 are zero and tan π/2 is infinite, as for somebody who puts π into a formula."""

    def value(x: Any) -> Any:
        found = wave(np.asarray(x, dtype=float))
        found = np.where(np.abs(found) < WAVE_ROUNDING, 0.0, found)
        return np.where(np.abs(found) > 1 / WAVE_ROUNDING, np.inf, found)

    return value


def _functions() -> dict[str, Any]:
    plain = "sinh cosh tanh exp log floor sign sqrt".split()
    inverse = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
    table = {name: getattr(np, name) for name in plain} | {name: getattr(np, other) for name, other in inverse.items()}
    table |= {name: _exact(getattr(np, name)) for name in ("sin", "cos", "tan")}
    over = lambda f: lambda x: 1 / f(np.asarray(x, dtype=float))
    table |= {"cot": over(table["tan"]), "sec": over(table["cos"]), "csc": over(table["sin"]), "coth": over(np.tanh)}
    table |= {"atan2": np.arctan2}
    table |= {"Abs": np.abs, "ceiling": np.ceil, "Pow": np.float_power, "DiracDelta": lambda x, order=0: 0.0 * x}
    table |= {"Min": lambda *x: np.minimum.reduce(x), "Max": lambda *x: np.maximum.reduce(x)}
    table |= {"Triangle": lambda x: np.arcsin(np.sin(x)), "Meander": lambda x: np.sign(np.cos(x))}
    return {**table, "Heaviside": lambda x, half=0.5: np.heaviside(x, half)}


VECTOR = Arithmetic(15, lambda x: np.asarray(x, dtype=float), _functions(), 1e-10)
"""float64 at many states at once; what has no value is NaN or infinite."""

__all__ = ["has_new_poles", "lost", "probe", "regular_states", "tried_states", "values_at"]
