"""States at which a force, an inertia or a constraint jumps or has a kink: there is no linearization there.

    φ(s) = F(q + s N d, v + s e):    φ(0+) = φ(0−)  and  φ'(0+) = φ'(0−)    along some random directions d, e

`sign(ẋ)` at ẋ = 0, `Abs(x)` and `Max(x, 0)` at x = 0 have formal derivatives, 0 or the mean of two, which are meaningless
there; `x*Abs(x)` has a true one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.rests.natural_sizes import natural_rate, natural_steps, reference_of
from appell.jets import nodes_of
from appell.jets import t as time
from appell.model import System
from appell.model.jumps import KINKED, piece_of
from appell.normal_form import NormalForm
from appell.normal_form.move_sizes import in_metric

Array = NDArray[np.float64]

DISPLACEMENT = 1e-6
"""Size of displacements, as a fraction of the natural ones of the state."""

SECOND_LOOK = 1 / 8
"""Ratio of a second, smaller displacement, which distinguishes a change of slope (first order) from curvature (second
order)."""


def edge(system: System, form: NormalForm, p: Array, t: float, q: Array, v: Array) -> str:
    """What jumps or has a kink at a state, as text; empty if nothing does."""
    atoms = _atoms(system)
    if not atoms:
        return ""
    fn, rng = form.select("M", "h", "Q", "A", "a0", "N"), np.random.default_rng(5)
    N, steps, speeds = fn(t, q, v, p)["N"], *_steps(form, p, t, q, v)
    for _ in range(4):
        d, e = N @ (steps * rng.uniform(-1, 1, form.nv)), speeds * rng.uniform(-1, 1, form.nv)
        at = lambda s, d=d, e=e: (q + s * DISPLACEMENT * d, v + s * DISPLACEMENT * e)
        values, nearer = ([_flat(fn(t, *at(share * s), p)) for s in (-2, -1, 1, 2)] for share in (1.0, SECOND_LOOK))
        if all(np.isfinite(x).all() for x in (*values, *nearer)) and _not_smooth(values, nearer):
            crossed = [atom for atom in atoms if _switches(system, atom, p, t, at(-1), at(1))]
            return str(min(crossed or atoms, key=str))
    return ""


def _steps(form: NormalForm, p: Array, t: float, q: Array, v: Array) -> tuple[Array, Array]:
    """The sizes of displacements and velocities at a state, (nv,) each."""
    reference = reference_of(form, p, t, q, v)
    with np.errstate(all="ignore"):
        steps = natural_steps(reference)
        speeds = in_metric(reference.roots, np.abs(v))
        return steps, speeds if speeds.any() else natural_rate(reference, steps) * steps


def _flat(terms: dict[str, Array]) -> Array:
    return np.concatenate([terms[name].ravel() for name in ("M", "h", "Q", "A", "a0")])


def _not_smooth(values: list[Array], nearer: list[Array]) -> bool:
    """Whether the values at −2, −1, 1, 2 steps, and at a share `SECOND_LOOK` of them, are those of a function that is not
    smooth at 0: a jump does not shrink, the defect of a kink shrinks with the step, that of a smooth one (v² at rest) with its
    square."""
    left, right, across = values[1] - values[0], values[3] - values[2], values[2] - values[1]
    slopes, size = np.abs(left) + np.abs(right), np.abs(values).max(axis=0)
    jump = (np.abs(across) > 10 * slopes + 1e-9 * size) & (np.abs(nearer[2] - nearer[1]) > 0.5 * np.abs(across))
    turn, nearer_turn = right - left, nearer[3] - nearer[2] - nearer[1] + nearer[0]
    kink = (np.abs(turn) > 1e-2 * slopes + 1e-9 * size) & (np.abs(nearer_turn) > 0.5 * SECOND_LOOK * np.abs(turn))
    return bool((jump | kink).any())


def _atoms(system: System) -> list[Any]:
    expressions = [*system.symbolic()._expressions(), *system.symbolic().residuals, *system.symbolic().rates.values()]
    return sorted({atom for expr in expressions for atom in nodes_of(expr, *KINKED)}, key=str)


def _switches(system: System, atom: Any, p: Array, t: float, before: Any, behind: Any) -> bool:
    symbols = [time, *system.positions, *system.velocities, *system.parameters]
    piece = piece_of(symbols, atom)
    return piece([t, *before[0], *before[1], *p]) != piece([t, *behind[0], *behind[1], *p])
