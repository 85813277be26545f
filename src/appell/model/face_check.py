"""Whether faces can be meant: f can be zero, and ∂f/∂q ≠ 0 where it is, at points found by Newton's steps from random ones.

    x ← x − f f_q/|f_q|²        halved while |f| grows

and, where that finds no zero, in one coordinate at a time: lengths of 10⁹ m beside angles leave f_q no direction.

Faces that are written alike are looked at together: one function of their coordinates and numbers, many points at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Dummy, Expr, Symbol

from appell.errors import ConstraintError
from appell.jets import Prescribed, jets_of, t
from appell.model.outline import Outline, opened
from appell.model.unilateral import Face, text_of
from appell.reading import numeric_function

STARTS = 24
"""Random points from which a zero of f is sought."""

LARGE = 200
"""Operations of f beyond which its slopes are taken as differences."""

Array = NDArray[np.float64]
Values = Callable[[Array], Array]


def check_faces(faces: Sequence[Face]) -> None:
    """Raise `ConstraintError` where no zero of f is found and f has one sign at all points, or where |∂f/∂q| falls below 1e-4
    of its size at the start on a slow way to a zero: a double zero is approached so."""
    alike: dict[Any, dict[tuple[float, ...], Face]] = {}
    for face in faces:
        outline = Outline.of(face.function)
        signs = tuple(p.is_nonnegative for p in outline.parameters)
        alike.setdefault((outline.key, signs), {}).setdefault(outline.numbers, face)
    with np.errstate(all="ignore"):
        for members in alike.values():
            _check(list(members.values()), np.array(list(members), dtype=float))


def _check(faces: list[Face], numbers: Array) -> None:
    """Of faces that differ in their numbers, (faces, c), alone."""
    function = faces[0].function
    q, k = [s for s in jets_of(function) if not isinstance(s, Prescribed)], len(faces)
    others = sorted(function.free_symbols - set(q), key=str)
    values = _values(faces[0], q, others)
    rng = np.random.default_rng(4)
    start, fixed = np.zeros((len(q), STARTS)), np.zeros((len(others), STARTS))
    for i in range(STARTS):
        start[:, i] = 3.0 ** (i % 3) * rng.uniform(-1, 1, len(q))
        fixed[:, i] = [_random(s, rng) for s in others]
    around = np.vstack([np.tile(fixed, k), np.repeat(numbers.T, STARTS, axis=1)])
    f = lambda x, at: values(np.vstack([x, around[:, at]]))
    first = f(x := np.tile(start, k), np.arange(x.shape[1]))
    last = _newton(f, x)
    arrived = last.arrived | _newton(f, np.tile(start, k), alone=True).arrived if not last.arrived.all() else last.arrived
    fallen = last.slow & (np.linalg.norm(last.slope, axis=0) < 1e-4 * np.linalg.norm(first[1:], axis=0))
    for i, face in enumerate(faces):
        mine = slice(i * STARTS, (i + 1) * STARTS)
        if (last.arrived & fallen)[mine].any():
            raise ConstraintError(
                f"unilateral constraint '{face.name}' has a vanishing gradient on f = 0, so it has no normal there:"
                f" {text_of(face.function)}; give f with a simple zero (x instead of x**2)"
            )
        signs = set(np.sign(first[0, mine]).tolist())
        if not arrived[mine].any() and signs in ({1.0}, {-1.0}):
            what = "reached: f is positive" if 1.0 in signs else "satisfied: f is negative"
            raise ConstraintError(
                f"unilateral constraint '{face.name}' is never {what} at every state tried: {text_of(face.function)}"
            )


def _values(face: Face, q: Sequence[Any], others: Sequence[Any]) -> Values:
    """(q, others, numbers) × points → f and ∂f/∂q × points."""
    letters: list[Symbol] = []

    def letter(_: float) -> Symbol:
        letters.append(Dummy(real=True))
        return letters[-1]

    function = opened(face.function, letter)
    arguments = [*q, *others, *letters]
    if sympy.count_ops(function) <= LARGE:
        return _evaluator(face, arguments, [function, *(sympy.diff(function, s) for s in q)])
    return _differences(_evaluator(face, arguments, [function]), len(q))


def _differences(value: Values, n: int) -> Values:
    """f and its slopes in the first n arguments by central differences: near enough for a look, where SymPy takes seconds."""

    def values(x: Array) -> Array:
        h = 1e-6
        steps = h * np.eye(len(x))[:n, :, None]
        return np.vstack([value(x), *((value(x + d) - value(x - d)) / (2 * h) for d in steps)])

    return values


def _evaluator(face: Face, symbols: Sequence[Any], exprs: Sequence[Expr]) -> Values:
    """The expressions as functions of the symbols, refused where one of them cannot be evaluated."""
    try:
        fn = numeric_function(symbols, exprs, "numpy", cse=True)
        with np.errstate(all="ignore"):
            fn(*np.full(len(symbols), 0.5))
    except (NameError, NotImplementedError) as error:
        what = getattr(error, "name", None) or "a derivative that is not known"
        raise ConstraintError(
            f"unilateral constraint '{face.name}' or its gradient contains {what}, which has no numeric meaning here;"
            " give f in elementary functions"
        ) from None

    def values(x: Array) -> Array:
        try:
            return np.array([np.broadcast_to(y, x.shape[1]) for y in fn(*x)], dtype=float)
        except (TypeError, ValueError):  # a function of one point at a time
            return np.array([fn(*one) for one in x.T], dtype=float).T

    return values


def _random(s: Any, rng: np.random.Generator) -> np.float64:
    size = np.float64(rng.uniform(0.3, 1.7))
    return size if s == t or s.is_nonnegative else size * rng.choice([-1.0, 1.0])


class _Zeros(NamedTuple):
    """Of each point: whether a zero of f was found from there, ∂f/∂q at it, (nq, points), and whether the last step left over
    1/20 of f (at a double zero it leaves 1/4)."""

    arrived: NDArray[np.bool_]
    slope: Array
    slow: NDArray[np.bool_]


def _newton(f: Callable[[Array, Any], Array], x: Array, alone: bool = False) -> _Zeros:
    """Zeros by Newton's steps from the points x, (nq, points); f(x, at) has the values at the points of these numbers.
    `alone`: each point moves along one coordinate, another one than its neighbours."""
    n = x.shape[1]
    moves = np.arange(n) % max(len(x), 1) == np.arange(len(x))[:, None] if alone else np.ones(x.shape, dtype=bool)
    value, slow, on = f(x, np.arange(n)), np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
    arrived = np.zeros(n, dtype=bool)
    for _ in range(120):
        arrived |= on & (np.abs(value[0]) < 1e-6 * np.linalg.norm(value[1:], axis=0))
        at = np.flatnonzero(on & ~arrived)
        if not len(at):
            break
        g = value[1:, at] * moves[:, at]
        step = -value[0, at] * g / (g * g).sum(axis=0)
        waits = np.isfinite(step).all(axis=0)
        on[at[~waits]] = False
        for _ in range(12):
            if not len(one := at[waits]):
                break
            trial = f(x[:, one] + step[:, waits], one)
            better = np.isfinite(trial).all(axis=0) & (np.abs(trial[0]) < np.abs(value[0, one]))
            taken = one[better]
            slow[taken] = np.abs(trial[0, better]) > np.abs(value[0, taken]) / 20
            x[:, taken] += step[:, waits][:, better]
            value[:, taken] = trial[:, better]
            waits[waits] = ~better
            step[:, waits] /= 2
        on[at[waits]] = False
    return _Zeros(arrived, value[1:], slow)
