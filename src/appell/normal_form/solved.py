"""Functions with a saddle point inside.

    inputs ──head──► M, A, W, r, s ──saddle──► x, λ ──tail──► outputs, margin

Small systems are unrolled: head, factorisation and tail become one straight-line `Fn`. Larger ones, redundant rows and given
reaction directions keep the saddle point as a routine between two `Fn`s: a `Solved`. Both have the same ports; the last
output, `margin`, is positive where the solution exists, else minus the `Status`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.errors import Status
from appell.graph import Fn, Port, make_fn
from appell.graph.algebra import Value, symbols
from appell.normal_form import gauss
from appell.normal_form.saddle import CHOLESKY, LU, Policy, solve, unrolled

Array = NDArray[np.float64]
Shaped = tuple[Value, tuple[int, ...]]

UNROLL = 16
"""Largest nv + rows that is unrolled. Measured on pendulums (gcc 12, one acceleration, unrolled against routine): 5 links
0.13 against 0.25 µs, 10: 0.32, 0.69; 14: 0.56, 1.1; 20: 1.1, 2.0; the C compiler takes the same time up to 20, but there the
factorisation adds 0.05 s to the derivation (cubic in n), as much as all the rest."""

MARGIN = Port("margin", ())


@dataclass(frozen=True)
class Blocks:
    """M x = r + W λ, A x = s on the graph."""

    M: Value
    A: Value
    W: Value
    r: Value
    s: Value


@dataclass(frozen=True, eq=False)
class _Composite:
    """A function with a solve between `head`, which has its inputs, and `tail`, which gives its outputs before the margin."""

    name: str
    head: Fn
    tail: Fn

    @property
    def inputs(self) -> tuple[Port, ...]:
        return self.head.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        return (*self.tail.outputs, MARGIN)


@dataclass(frozen=True, eq=False)
class Solved(_Composite):
    """A function whose saddle point is solved by a routine: `head` gives the blocks, `tail` takes x and λ as well."""

    policy: Policy

    @property
    def sizes(self) -> tuple[int, int]:
        """(n, m) of the saddle point."""
        by_name = {port.name: port for port in self.head.outputs}
        m, n = by_name["A"].shape
        return n, m

    def __call__(self, *arrays: ArrayLike) -> dict[str, Array]:
        """One state by CasADi's evaluator and NumPy."""
        blocks = self.head(*arrays)
        W = blocks.get("W", blocks["A"].T)
        x, lam, status = solve(blocks["M"], blocks["A"], W, blocks["r"], blocks["s"], self.policy)
        out = self.tail(*arrays, x, lam)
        out["margin"] = np.array(1.0 if status is Status.OK else -float(status))
        return out


@dataclass(frozen=True, eq=False)
class GaussSolved(_Composite):
    """A function whose accelerations minimise Gauss's constraint, because some rows are nonlinear in them (see `gauss`).

    `head` gives M, b = Q − h, A, a0; `rows` (inputs and a) gives r, r_a, r_aa; `order` puts the multipliers of linear, then
    nonlinear rows back into the order of the constraints.
    """

    rows: Fn
    order: tuple[int, ...]

    def minimum(self, *arrays: ArrayLike) -> gauss.GaussResult:
        """Gauss's minimum at a state."""
        out = self.head(*arrays)
        row = lambda name: lambda a: self.rows(*arrays, a)[name]
        return gauss.solve(out["M"], out["b"], out["A"], out["a0"], row("r"), row("r_a"), row("r_aa"))

    def __call__(self, *arrays: ArrayLike) -> dict[str, Array]:
        """One state by CasADi's evaluator and NumPy."""
        least = self.minimum(*arrays)
        lam = np.concatenate([least.lam_linear, least.lam_nonlinear])[list(self.order)]
        out = self.tail(*arrays, least.a, lam)
        out["margin"] = np.array(1.0 if least.status is Status.OK else -float(least.status))
        return out


def solved(
    name: str,
    inputs: Mapping[str, Shaped],
    blocks: Blocks,
    finish: Callable[[Value, Value], Mapping[str, Shaped]],
    policy: Policy,
    *,
    checked: bool = True,
) -> Fn | Solved:
    """The function `inputs` → `finish(x, λ)` and `margin`, unrolled where that is the better way.

    `checked`: the margin is negative where a result is not finite; a time loop looks at that itself.
    """
    m, n = blocks.A.shape
    if policy.kind == CHOLESKY and n + m <= UNROLL:
        x, lam, margin = unrolled(blocks.M, blocks.A, blocks.r, blocks.s, policy, checked)
        return make_fn(name, inputs, {**finish(x, lam), "margin": (margin, ())})
    given = {"M": (blocks.M, (n, n)), "A": (blocks.A, (m, n)), "r": (blocks.r, (n,)), "s": (blocks.s, (m,))}
    if policy.kind == LU:
        given["W"] = (blocks.W, (n, m))
    x, lam = symbols("x", n), symbols("lam", m)
    head = make_fn(f"{name}_head", inputs, given)
    tail = make_fn(f"{name}_tail", {**inputs, "x": (x, (n,)), "lam": (lam, (m,))}, finish(x, lam))
    return Solved(name, head, tail, policy)


Function = Fn | Solved | GaussSolved
"""Anything that maps a state to outputs and a margin."""


def status_of(margin: float) -> Status:
    """What a margin says."""
    if margin > 0:
        return Status.OK
    if margin != margin:
        return Status.NOT_FINITE
    return Status(int(-margin)) if margin == int(margin) and -margin in set(Status) and margin < 0 else Status.SINGULAR
