"""Detection of poles of a formula that its problem does not have, at states where a sine, a coordinate or a velocity vanishes.

    ÿ = (tan θ ÿ)/tan θ        is undefined at θ = 0;        x/(l sin θ − h) on an unexpected surface

A divisor is safe if it has one sign at random states and does not vanish at special ones, since a function that vanishes on a
surface has both signs near it (or is a square, and vanishes at a special state).
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
"""Number of random states, and largest number of special ones."""
ENTRY_VANISHES = 1e-9
"""An entry is zero at a state below this fraction of its largest value: sin π is 1e-16."""
SINGULAR_ROUNDING = 1e-15
"""The same near a singular state of the problem, where everything is small."""
REGULAR_SINGULAR_VALUE = 1e-7
"""Smallest singular value of the scaled matrix at a state where the problem has a unique solution."""
STATE_SHIFT, SAME_VALUE = 1e-9, 1e-5
"""Shift of states, and largest difference of values after it."""
WAVE_ROUNDING = 1e-14
"""Below this a sine or a cosine of a multiple of π/2 is zero: sin 3π is 4e-16."""

Array = NDArray[np.float64]


def probe(symbol: Any, i: int, k: int) -> Any:
    """The value of the i-th symbol at the k-th point, from 0.1 to 12: of either sign unless it is assumed positive.

    No two are equal or opposite, so that only what vanishes everywhere vanishes there.
    """
    size = sympy.Rational(3 + (7 * i + 13 * k) % 29, 31 + 2 * k) * (1, 3, 13)[(i + 2 * k) % 3]
    size += sympy.Rational(i + 1, 1009 + 10 * k)
    return size if symbol.is_nonnegative or (3 * i + k) % 2 else -size


def tried_states(expressions: Sequence[Any]) -> dict[Symbol, Array]:
    """Symbol → values, (states,): random ones first, with positive parameters; then special ones."""
    nodes = tidy.parts(sympy.Tuple(*expressions))
    symbols = sorted((e for e in nodes if e.is_Symbol), key=str)
    rng = np.random.default_rng(len(symbols))
    is_moving = lambda s: isinstance(s, Jet) or s == t
    draw = lambda s: rng.uniform(-pi, pi, RANDOM) if is_moving(s) else rng.uniform(0.3, 3.0, RANDOM)
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
    """(states, outputs); NaN where undefined."""
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
    """The states (k,) at which K (k, m, n) and b (k, m) are finite and K x = b has a unique solution."""
    regular = np.array(np.isfinite(K).all(axis=(1, 2)) & np.isfinite(b).all(axis=1), dtype=bool)
    if K.shape[1] < K.shape[2] or not K.size:
        return np.zeros(len(K), dtype=bool)
    scaled = _scaled(_scaled(K[regular], 2), 1)
    regular[regular] = [rank(matrix, REGULAR_SINGULAR_VALUE, as_given=True) == K.shape[2] for matrix in scaled]
    return regular


def _scaled(matrices: Array, axis: int) -> Array:
    """Scaled so that the largest entry along an axis is 1."""
    largest = np.abs(matrices).max(axis=axis, keepdims=True)
    return matrices / np.where(largest > 0, largest, 1.0)


def lost(values: Array, determinant: Array | None = None) -> int:
    """The number of states at which a divisor vanishes, is undefined, or has its minority sign.

    determinant: that of the problem, or of a block of it. Where it changes sign the problem itself has a pole or a singular
    state, and a divisor may change sign too; where it is small compared with other states, so may be the divisor.
    """
    if not values.size:
        return 0
    size, closeness, patterns = np.abs(values), np.ones(len(values)), [values]
    if determinant is not None and len(determinant) == len(values):
        sizes = np.abs(determinant)
        closeness = np.minimum(1.0, sizes / (sizes[np.isfinite(sizes)].max(initial=0.0) or 1.0))
        patterns.append(values * np.sign(determinant))
    largest = size[np.isfinite(size)].max(initial=0.0)
    with np.errstate(invalid="ignore"):
        is_nonzero = size > np.fmax(ENTRY_VANISHES * closeness, SINGULAR_ROUNDING) * largest
    signs = [(np.count_nonzero(is_nonzero & (x > 0)), np.count_nonzero(is_nonzero & (x < 0))) for x in patterns]
    return int(np.count_nonzero(~is_nonzero)) + int(min(map(min, signs)))


def has_new_poles(long: Any, short: Any) -> bool:
    """Whether `short`, which equals `long`, is undefined or different at a state where `long` is defined.

    Only states count where `long` hardly changes under a shift by `STATE_SHIFT`: near its own poles it is dominated by
    rounding.
    """
    states, tape = tried_states([long, short]), Tape([long])
    of_long, of_short = values_at(tape, states), values_at(Tape([short]), states)
    shifted = values_at(tape, {s: x + STATE_SHIFT * (1 + i % 3) for i, (s, x) in enumerate(states.items())})
    with np.errstate(all="ignore"):
        comparable = np.isfinite(of_long) & (np.abs(shifted - of_long) <= SAME_VALUE * (1 + np.abs(of_long)))
        return not bool(np.all((np.abs(of_short - of_long) <= 10 * SAME_VALUE * (1 + np.abs(of_long)))[comparable]))


def _exact(wave: Any) -> Any:
    """sin π and cos π/2 are exactly zero and tan π/2 infinite, as if π were substituted exactly."""

    def value(x: Any) -> Any:
        y = wave(np.asarray(x, dtype=float))
        y = np.where(np.abs(y) < WAVE_ROUNDING, 0.0, y)
        return np.where(np.abs(y) > 1 / WAVE_ROUNDING, np.inf, y)

    return value


def _functions() -> dict[str, Any]:
    plain = "sinh cosh tanh exp log floor sign sqrt".split()
    inverse = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
    table = {name: getattr(np, name) for name in plain} | {name: getattr(np, full) for name, full in inverse.items()}
    table |= {name: _exact(getattr(np, name)) for name in ("sin", "cos", "tan")}
    inv = lambda f: lambda x: 1 / f(np.asarray(x, dtype=float))
    table |= {"cot": inv(table["tan"]), "sec": inv(table["cos"]), "csc": inv(table["sin"]), "coth": inv(np.tanh)}
    table |= {"atan2": np.arctan2}
    table |= {"Abs": np.abs, "ceiling": np.ceil, "Pow": np.float_power, "DiracDelta": lambda x, order=0: 0.0 * x}
    table |= {"Min": lambda *x: np.minimum.reduce(x), "Max": lambda *x: np.maximum.reduce(x)}
    table |= {"Triangle": lambda x: np.arcsin(np.sin(x)), "Meander": lambda x: np.sign(np.cos(x))}
    return {**table, "Heaviside": lambda x, half=0.5: np.heaviside(x, half)}


VECTOR = Arithmetic(15, lambda x: np.asarray(x, dtype=float), _functions(), 1e-10)
"""float64 at many states at once; undefined values are NaN or infinite."""

__all__ = ["has_new_poles", "lost", "probe", "regular_states", "tried_states", "values_at"]
