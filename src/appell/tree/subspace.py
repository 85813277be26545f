"""The motion subspace of a joint: velocity S(q) v of the successor relative to the predecessor, on the successor's axes.

It follows from the steps of the joint and q̇ = N(q) v. Along a sequence of steps, predecessor to successor,

    V ← X V + own rate of the step:      Turn(k, c, s)  (c ṡ − s ċ) e_k,      Slide(k, d)  ḋ e_{3+k},      Attitude(R)  vee(RᵀṘ)

which is linear in v: S is its derivative with respect to v, and Ṡ v the acceleration at v̇ = 0. This is derived once for each
kind of joint, in symbols; the resulting formulas work with every type of scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Expr, Symbol

from appell.errors import ModelError
from appell.graph import scalar
from appell.numeric_functions import numeric_function
from appell.reading import symbolic
from appell.tree.spatial import Attitude, Scalar, Six, Slide, Step, Steps, Turn, add

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Subspace:
    """S and Ṡ v. `axes`: which unit vectors the columns are, if they are; `constant`: whether S does not depend on q; `angles`:
    the arguments of the joint's cosines and sines, in the symbols `letters` for its q."""

    columns: Callable[[Sequence[Scalar]], tuple[Six, ...]]
    drift: Callable[[Sequence[Scalar], Sequence[Scalar]], Six] | None
    axes: tuple[int, ...] | None
    angles: tuple[Expr, ...]
    letters: tuple[Symbol, ...]

    @property
    def constant(self) -> bool:
        return self.drift is None


def unit(axis: int) -> Six:
    return [1.0 if n == axis else 0.0 for n in range(6)]


def constant_subspace(axes: tuple[int, ...]) -> Subspace:
    """A subspace of unit vectors. With one coordinate per axis, those of rotations are angles; otherwise none is
    (quaternions)."""
    columns = tuple(map(unit, axes))
    letters = tuple(Symbol(f"q_{k}", real=True) for k in range(len(axes)))
    angles = tuple(q for q, axis in zip(letters, axes, strict=True) if axis < 3)
    return Subspace(lambda q: columns, None, axes, angles, letters)


def derived_subspace(
    steps: Callable[[Sequence[Any]], Steps], rate: Callable[[Sequence[Any], Sequence[Any]], list[Any]], nq: int, nv: int
) -> Subspace:
    """The subspace from the steps and q̇ = rate(q, v) of a kind of joint."""
    q = tuple(Symbol(f"q_{k}", real=True) for k in range(nq))
    v = tuple(Symbol(f"v_{k}", real=True) for k in range(nv))
    word, qd = steps(list(q)), [symbolic(x, "a rate of a joint") for x in rate(list(q), list(v))]
    time_derivative = lambda x: sympy.Add(*(sympy.diff(x, a) * b for a, b in zip(q, qd, strict=True)))
    V = [sympy.trigsimp(sympy.expand(x)) for x in velocity_of(word, time_derivative)]
    S = [[sympy.diff(x, v_k) for x in V] for v_k in v]
    if any(x.has(*v) for column in S for x in column):
        raise ModelError("the rate of a joint must be linear in its velocities, q̇ = N(q) v")
    drift = [sympy.Add(*(time_derivative(column[n]) * x for column, x in zip(S, v, strict=True))) for n in range(6)]
    entries = [symbolic(x, "a step of a joint") for x in _entries(word)]
    arguments: set[Any] = {f.args[0] for x in entries for f in x.atoms(sympy.cos, sympy.sin)}
    arguments |= {f.args[0] for x in V for f in x.atoms(sympy.cos, sympy.sin)}
    columns, moving = _formulas([x for column in S for x in column], q), any(x != 0 for x in drift)
    axes = tuple(n for column in S for n in range(6) if [float(x) for x in column] == unit(n)) if not moving else ()
    rates = _formulas(drift, (*q, *v))
    return Subspace(
        lambda values: tuple(list(columns(values)[6 * k : 6 * k + 6]) for k in range(nv)),
        (lambda values, rate_values: list(rates([*values, *rate_values]))) if moving else None,
        axes if len(axes) == nv else None,
        tuple(sorted(arguments, key=str)),
        q,
    )


def velocity_of(word: Steps, along: Callable[[Any], Any]) -> Six:
    """The velocity of the last frame of a sequence relative to the first, on the last one's axes; `along` is the time
    derivative."""
    V: Six = [sympy.Integer(0)] * 6
    for step in word:
        step_velocity: Six = [sympy.Integer(0)] * 6
        if isinstance(step, Turn):
            step_velocity[step.k] = step.c * along(symbolic(step.s, "a sine")) - step.s * along(symbolic(step.c, "a cosine"))
        elif isinstance(step, Slide):
            step_velocity[3 + step.k] = along(symbolic(step.d, "a distance"))
        elif isinstance(step, Attitude):
            R = sympy.Matrix(step.R)
            W = R.T * R.applyfunc(along)
            step_velocity[:3] = [W[2, 1], W[0, 2], W[1, 0]]
        V = add(step.six_out(V), step_velocity)
    return V


def word_of(word: Sequence[Step]) -> tuple[Array, Array]:
    """(R, p) of the last frame of a numeric sequence of steps in the first."""
    R, p = np.eye(3), np.zeros(3)
    for step in word:
        if isinstance(step, Slide):
            p = p + float(step.d) * R[:, step.k]
        else:
            R = np.array([step.vector_out(list(row)) for row in R], float)
    return R, p


def _entries(word: Steps) -> list[Any]:
    entries: list[Any] = []
    for step in word:
        entries += [step.c, step.s] if isinstance(step, Turn) else [step.d] if isinstance(step, Slide) else []
        entries += [x for row in step.R for x in row] if isinstance(step, Attitude) else []
    return entries


def _formulas(exprs: Sequence[Any], letters: Sequence[Symbol]) -> Callable[[Sequence[Scalar]], list[Scalar]]:
    """The expressions as functions of any scalars; numbers among them become floats, so that 0.0 and 1.0 cost nothing later."""
    moving = [n for n, x in enumerate(exprs) if x.free_symbols]
    run = numeric_function(list(letters), [exprs[n] for n in moving], [{"cos": scalar.cos, "sin": scalar.sin}])
    numbers = [0.0 if x.free_symbols else float(x) for x in exprs]

    def values(arguments: Sequence[Scalar]) -> list[Scalar]:
        results = list(numbers)
        for n, x in zip(moving, run(*arguments), strict=True):
            results[n] = x
        return results

    return values
