"""Validity of faces: f can vanish, with ∂f/∂q ≠ 0 there, at points found by Newton's method from random ones.

    x ← x − f f_q/|f_q|²        halved while |f| grows

and, if that finds no zero, in one coordinate at a time: with lengths of 10⁹ m and angles the direction of f_q is useless.

Faces of the same form are checked together: one function of their coordinates and numbers, at many points at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Dummy, Expr, Symbol

from appell.errors import ConstraintError, ModelError
from appell.jets import Prescribed, jets_of, t
from appell.model.outline import Outline, with_letters_for_numbers
from appell.model.unilateral import Face, text_of
from appell.numeric_functions import numeric_function

FACE_STARTS = 24
"""Random starts of the search for a zero of f."""

DIFFERENCED_OPERATIONS = 200
"""Operations of f beyond which its gradient is computed by differences."""

FACE_STEPS = 120
"""Newton steps: at a double zero f is reduced by 4⁻¹²⁰."""

FAST, SQUARED = 1 / 20, 1e-6
"""Reduction of f by a step near a simple zero, and by a step with quadratic convergence; at a double zero it is 1/4."""

SLOPE_VANISHED, SLOPE_LEFT = 1e-12, 1e-4
"""Remaining fractions of f and of its gradient where slow steps end; rounding of cancelling sums allows no less."""

STEP_ROUNDED = 1e-12
"""Fractions of x and of the terms of f below which rounding dominates the result of a step."""

STEP_HALVINGS = 60
"""Halvings of a step: enough for metres against light years."""

Array = NDArray[np.float64]
Values = Callable[[Array], Array]


def check_faces(faces: Sequence[Face]) -> None:
    """Raises `ConstraintError` if no zero of f is found and f has one sign at all points, or if Newton's method converges
    slowly to a zero, as for a double zero."""
    alike: dict[Any, dict[tuple[float, ...], Face]] = {}
    for face in faces:
        outline = Outline.of(face.function)
        signs = tuple(p.is_nonnegative for p in outline.parameters)
        alike.setdefault((outline.key, signs), {}).setdefault(outline.numbers, face)
    with np.errstate(all="ignore"):
        for members in alike.values():
            _check(list(members.values()), np.array(list(members), dtype=float))


def _check(faces: list[Face], numbers: Array) -> None:
    """Checks faces that differ only in their numbers, (faces, c)."""
    function = faces[0].function
    q, k = [s for s in jets_of(function) if not isinstance(s, Prescribed)], len(faces)
    fixed_symbols = sorted(function.free_symbols - set(q), key=str)
    values = _values(faces[0], q, fixed_symbols)
    rng = np.random.default_rng(4)
    start, fixed = np.zeros((len(q), FACE_STARTS)), np.zeros((len(fixed_symbols), FACE_STARTS))
    for i in range(FACE_STARTS):
        start[:, i] = 3.0 ** (i % 3) * rng.uniform(-1, 1, len(q))
        fixed[:, i] = [_random(s, rng) for s in fixed_symbols]
    fixed_values = np.vstack([np.tile(fixed, k), np.repeat(numbers.T, FACE_STARTS, axis=1)])
    f = lambda x, at: values(np.vstack([x, fixed_values[:, at]]))
    start_values = f(x := np.tile(start, k), np.arange(x.shape[1]))
    zeros = _newton(f, x)
    arrived = zeros.arrived | zeros.fallen
    if not arrived.all():
        arrived = arrived | _newton(f, np.tile(start, k), alone=True).arrived
    for i, face in enumerate(faces):
        starts_of_face = slice(i * FACE_STARTS, (i + 1) * FACE_STARTS)
        if zeros.fallen[starts_of_face].any():
            raise ConstraintError(
                f"unilateral constraint '{face.name}' has a vanishing gradient on f = 0, so it has no normal there:"
                f" {text_of(face.function)}; give f with a simple zero (x instead of x**2)"
            )
        signs = set(np.sign(start_values[0, starts_of_face]).tolist())
        if not arrived[starts_of_face].any() and signs in ({1.0}, {-1.0}):
            complaint = "reached: f is positive" if 1.0 in signs else "satisfied: f is negative"
            raise ConstraintError(
                f"unilateral constraint '{face.name}' is never {complaint} at every state tried: {text_of(face.function)}"
            )


def _values(face: Face, q: Sequence[Any], fixed_symbols: Sequence[Any]) -> Values:
    """(q, others, numbers) × points → f, ∂f/∂q and the sum of the sizes of the terms of f × points."""
    letters: list[Symbol] = []

    def letter(_: float) -> Symbol:
        letters.append(Dummy(real=True))
        return letters[-1]

    function = with_letters_for_numbers(face.function, letter)
    arguments = [*q, *fixed_symbols, *letters]
    terms: Any = sum((sympy.Abs(term) for term in sympy.Add.make_args(function)), sympy.Integer(0))
    if sympy.count_ops(function) <= DIFFERENCED_OPERATIONS:
        slopes = [sympy.diff(function, s) for s in q]
        if not any(slope.has(sympy.Derivative, sympy.Subs) for slope in slopes):  # SymPy does not know those of Mod and floor
            return _evaluator(face, arguments, [function, *slopes, terms])
    return _differences(_evaluator(face, arguments, [function, terms]), len(q))


def _differences(value: Values, n: int) -> Values:
    """f, its gradient in the first n arguments by central differences (accurate enough here, where SymPy would take seconds)
    and its terms."""

    def values(x: Array) -> Array:
        size = np.abs(x[:n])
        h = 1e-6 * (size + 1e-3 * size.max(axis=0, initial=1e-300))
        steps = (h[i] * np.eye(len(x))[i][:, None] for i in range(n))
        slopes = [(value(x + d)[0] - value(x - d)[0]) / (2 * h[i]) for i, d in enumerate(steps)]
        centre = value(x)
        return np.vstack([centre[0], *slopes, centre[1]])

    return values


def _evaluator(face: Face, symbols: Sequence[Any], exprs: Sequence[Expr]) -> Values:
    """The expressions as functions of the symbols, raises if one of them cannot be evaluated."""
    try:
        fn = numeric_function(symbols, exprs, "numpy", cse=True)
        with np.errstate(all="ignore"):
            fn(*np.full(len(symbols), 0.5))
    except (NameError, NotImplementedError, ModelError) as error:
        cause = getattr(error, "name", None) or "a derivative that is not known"
        raise ConstraintError(
            f"unilateral constraint '{face.name}' or its gradient contains {cause}, which has no numeric meaning here;"
            " give f in elementary functions"
        ) from None

    def values(x: Array) -> Array:
        try:
            return np.array([np.broadcast_to(y, x.shape[1]) for y in fn(*x)], dtype=float)
        except (TypeError, ValueError):  # a function that is not vectorized
            return np.array([fn(*point) for point in x.T], dtype=float).T

    return values


def _random(s: Any, rng: np.random.Generator) -> np.float64:
    size = np.float64(rng.uniform(0.3, 1.7))
    return size if s == t or s.is_nonnegative else size * rng.choice([-1.0, 1.0])


class _Zeros(NamedTuple):
    """Whether a simple zero of f was found from each point, and whether a zero with vanishing gradient was."""

    arrived: NDArray[np.bool_]
    fallen: NDArray[np.bool_]


def _newton(f: Callable[[Array, Any], Array], x: Array, alone: bool = False) -> _Zeros:
    """Zeros by Newton's method from the points x, (nq, points); f(x, at) gives the values at the points with these indices.
    `alone`: each point moves along a single coordinate, different from its neighbours.

    Newton's method squares the error at a simple zero, and leaves 1/4 of f or more at a double one, in any units: steps
    continue until one of these is seen, so that a sphere of a micrometre is not mistaken for a point.
    """
    n = x.shape[1]
    moves = np.arange(n) % max(len(x), 1) == np.arange(len(x))[:, None] if alone else np.ones(x.shape, dtype=bool)
    value, fast, on = f(x, np.arange(n)), np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
    first, arrived, steep = np.abs(value[0]), value[0] == 0, np.linalg.norm(value[1:-1], axis=0)
    for _ in range(FACE_STEPS):
        at = np.flatnonzero(on & ~arrived)
        if not len(at):
            break
        g = value[1:-1, at] * moves[:, at]
        step = -value[0, at] * g / (g * g).sum(axis=0)
        waits = np.isfinite(step).all(axis=0)
        on[at[~waits]] = False
        for halved in range(STEP_HALVINGS):
            if not len(indices := at[waits]):
                break
            trial = f(x[:, indices] + step[:, waits], indices)
            better = np.isfinite(trial).all(axis=0) & (np.abs(trial[0]) < np.abs(value[0, indices]))
            accepted = indices[better]
            reduction = np.abs(trial[0, better]) / np.abs(value[0, accepted])
            moved = np.linalg.norm(step[:, waits][:, better], axis=0) > STEP_ROUNDED * np.linalg.norm(x[:, accepted], axis=0)
            clear = np.abs(value[0, accepted]) > STEP_ROUNDED * value[-1, accepted]
            quick = (reduction < FAST) & (halved == 0) & moved & clear
            arrived[accepted] = quick & (fast[accepted] | (reduction < SQUARED))
            fast[accepted] = quick
            x[:, accepted] += step[:, waits][:, better]
            value[:, accepted] = trial[:, better]
            waits[waits] = ~better
            step[:, waits] /= 2
        on[at[waits]] = False
    flat = np.linalg.norm(value[1:-1], axis=0) < SLOPE_LEFT * steep
    return _Zeros(arrived, ~arrived & ~fast & flat & (np.abs(value[0]) < SLOPE_VANISHED * first))
