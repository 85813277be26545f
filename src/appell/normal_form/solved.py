"""Functions that solve a saddle point on the way from their inputs to their outputs.

    inputs ──head──► M, A, W, r, s ──saddle──► x, λ ──tail──► outputs, margin

Small systems are unrolled: head, factorisation and tail become one straight-line `Fn`. Larger ones, redundant rows and given
reaction directions keep the saddle point as a routine between two `Fn`s: a `Solved`. Both have the same ports; the last
output, `margin`, is positive where the solution exists, else minus the `Status`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.errors import Status
from appell.graph import Fn, Port, make_fn
from appell.graph.algebra import Value, as_matrix, block_matrix, diagonal, symbols, where, zeros
from appell.graph.composite import Composite, Part, in_order
from appell.normal_form import least_constraint
from appell.normal_form.coupled_blocks import elimination
from appell.normal_form.reaction_laws import Law
from appell.normal_form.saddle import SADDLE_C, unrolled
from appell.rows import CHOLESKY, LU, PIVOT, Policy, solve

Array = NDArray[np.float64]
Shaped = tuple[Value, tuple[int, ...]]

UNROLL = 16
"""Largest nv + rows of a coupled part that is unrolled. Measured on pendulums (gcc 12, one acceleration, unrolled against
routine): 5 links 0.13 against 0.25 µs, 10: 0.32, 0.69; 14: 0.56, 1.1; 20: 1.1, 2.0; the C compiler takes the same time up to
20, but there the factorisation adds 0.05 s to the derivation (cubic in n), as much as everything else."""

MARGIN = Port("margin", ())


class Blocks(NamedTuple):
    """M x = r + W λ, A x = s on the graph."""

    M: Value
    A: Value
    W: Value
    r: Value
    s: Value


@dataclass(frozen=True, eq=False)
class _HeadAndTail(Composite):
    """A function with a solve between `head`, which takes its inputs, and `tail`, which gives its outputs except the margin."""

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
class Solved(_HeadAndTail):
    """A function whose saddle point is solved by a routine: `head` gives the blocks, `tail` also takes x and λ."""

    policy: Policy

    @property
    def sizes(self) -> tuple[int, int]:
        """(n, m) of the saddle point."""
        by_name = {port.name: port for port in self.head.outputs}
        m, n = by_name["A"].shape
        return n, m

    @property
    def parts(self) -> tuple[Fn, Fn]:
        return self.head, self.tail

    def over(self, head: Part, tail: Part) -> Callable[..., tuple[Any, ...]]:
        """The function of one state that calls `solve` between head and tail."""
        def evaluate(*arrays: ArrayLike) -> tuple[Any, ...]:
            blocks = _by_name(self.head, head(*arrays))
            W = blocks.get("W", blocks["A"].T)
            x, lam, status = solve(blocks["M"], blocks["A"], W, blocks["r"], blocks["s"], self.policy)
            return (*tail(*arrays, x, lam), _margin(status))

        return evaluate

    @property
    def routine(self) -> str:
        return SADDLE_C

    def between(self) -> str:
        """C text that calls `saddle` between head and tail."""
        n, m = self.sizes
        inputs = ", ".join(f"const double *restrict {port.name}" for port in self.inputs)
        outputs = ", ".join(f"double *restrict {port.name}" for port in self.outputs)
        given = ", ".join(port.name for port in self.inputs)
        results = ", ".join(port.name for port in self.tail.outputs)
        head_results = ", ".join(f"b_{port.name}" for port in self.head.outputs)
        offsets, size = {}, 0
        for name, length in (*((port.name, port.size) for port in self.head.outputs), ("x", n), ("lam", m)):
            offsets[name], size = size, size + length
        pointers = ", ".join(f"*b_{name} = memory + {offset}" for name, offset in offsets.items())
        W = "b_W" if self.policy.kind == LU else "NULL"
        rank, gamma, kind = self.policy.rank, self.policy.gamma, self.policy.kind
        return f"""\
static void {self.name}({inputs}, {outputs})
{{
    double *memory = malloc(sizeof(double)*{max(size, 1)});
    if (!memory) {{ *margin = -3; return; }}
    double {pointers};
    {self.head.name}({given}, {head_results});
    const int status = saddle({kind}, {n}, {m}, {rank}, {gamma!r}, b_M, b_A, {W}, b_r, b_s, b_x, b_lam);
    for (int i = 0; i < {n} && status; i++) b_x[i] = NAN;
    for (int i = 0; i < {m} && status; i++) b_lam[i] = NAN;
    {self.tail.name}({given}, b_x, b_lam, {results});
    *margin = status ? -status : 1;
    free(memory);
}}
"""


@dataclass(frozen=True, eq=False)
class GaussSolved(_HeadAndTail):
    """A function whose accelerations minimise Gauss's constraint: some rows are nonlinear in them (see `least_constraint`).

    `head` gives M, b = Q − h, A, a0; `rows` (inputs and a) gives r, r_a, r_aa; `order` restores the order of the
    constraints from that of linear, then nonlinear rows.
    """

    rows: Fn
    order: tuple[int, ...]

    @property
    def parts(self) -> tuple[Fn, Fn, Fn]:
        return self.head, self.rows, self.tail

    def minimum(self, *arrays: ArrayLike) -> least_constraint.GaussResult:
        """Gauss's minimum at a state."""
        head, rows = (in_order(part) for part in (self.head, self.rows))
        return self._minimum(head, rows, arrays)

    def _minimum(self, head: Part, rows: Part, arrays: Sequence[ArrayLike]) -> least_constraint.GaussResult:
        out = _by_name(self.head, head(*arrays))
        row = lambda name: lambda a: _by_name(self.rows, rows(*arrays, a))[name]
        return least_constraint.solve(out["M"], out["b"], out["A"], out["a0"], row("r"), row("r_a"), row("r_aa"))

    def over(self, head: Part, rows: Part, tail: Part) -> Callable[..., tuple[Any, ...]]:
        """The function of one state that calls `least_constraint.solve` between head and tail; that evaluates the rows at many
        accelerations."""

        def evaluate(*arrays: ArrayLike) -> tuple[Any, ...]:
            least = self._minimum(head, rows, arrays)
            lam = np.concatenate([least.lam_linear, least.lam_nonlinear])[list(self.order)]
            return (*tail(*arrays, least.a, lam), _margin(least.status))

        return evaluate


def _by_name(fn: Fn, values: Sequence[Array]) -> dict[str, Array]:
    return {port.name: value for port, value in zip(fn.outputs, values, strict=True)}


def _margin(status: Status) -> float:
    return 1.0 if status is Status.OK else -float(status)


def solved(
    name: str,
    inputs: Mapping[str, Shaped],
    blocks: Blocks,
    finish: Callable[[Value, Value], Mapping[str, Shaped]],
    policy: Policy,
    *,
    checked: bool = True,
    pivot: float = PIVOT,
) -> Fn | Solved:
    """The function `inputs` → `finish(x, λ)` and `margin`, unrolled where that is better.

    `checked`: the margin is negative where a result is not finite; a time loop checks that itself. `pivot`: threshold of the
    pivots of rows, below which the margin of an unrolled one is negative.
    """
    m, n = blocks.A.shape
    if policy.scales:
        weight = Value([1 / s for s in policy.scales])
        D = diagonal(weight)
        blocks = Blocks(blocks.M, D @ blocks.A, blocks.W @ D, blocks.r, D @ blocks.s)
        original = finish
        finish = lambda x, lam: original(x, D @ lam)
    if policy.kind == CHOLESKY and (order := _unrolled_order(blocks, policy, often=not checked)) is not None:
        x, lam, margin = unrolled(blocks.M, blocks.A, blocks.r, blocks.s, policy, checked, pivot, order)
        return make_fn(name, inputs, {**finish(x, lam), "margin": (margin, ())})
    blocks_of_head = {"M": (blocks.M, (n, n)), "A": (blocks.A, (m, n)), "r": (blocks.r, (n,)), "s": (blocks.s, (m,))}
    if policy.kind == LU:
        blocks_of_head["W"] = (blocks.W, (n, m))
    x, lam = symbols("x", n), symbols("lam", m)
    head = make_fn(f"{name}_head", inputs, blocks_of_head)
    tail = make_fn(f"{name}_tail", {**inputs, "x": (x, (n,)), "lam": (lam, (m,))}, finish(x, lam))
    return Solved(name, head, tail, policy)


@dataclass(frozen=True, eq=False)
class LawSolved(_HeadAndTail):
    """A function whose forces depend on the multipliers, F(Λ), with the saddle point as a routine (see `reaction_laws`).

    The saddle point is solved for r, and for a unit force at each of the law's `places`; `law` (inputs, λ̄, C) gives F.
    """

    law: Fn
    policy: Policy
    places: tuple[int, ...]

    @property
    def parts(self) -> tuple[Fn, Fn, Fn]:
        return self.head, self.law, self.tail

    def over(self, head: Part, law: Part, tail: Part) -> Callable[..., tuple[Any, ...]]:
        """The function of one state that calls `solve` for each column, then the law, between head and tail."""

        def evaluate(*arrays: ArrayLike) -> tuple[Any, ...]:
            b = _by_name(self.head, head(*arrays))
            M, A, W = b["M"], b["A"], b.get("W", b["A"].T)
            zero = np.zeros(len(A))
            right_sides = [(b["r"], b["s"]), *((np.eye(len(M))[i], zero) for i in self.places)]
            x, lam, status = zip(*(solve(M, A, W, r, s, self.policy) for r, s in right_sides), strict=True)
            X, C, worst = np.array(x[1:]).T, np.array(lam[1:]).T, max(status)
            F, margin = law(*arrays, lam[0], C)
            margin = _margin(worst) if worst else float(margin)
            return (*tail(*arrays, x[0] + X @ F, lam[0] + C @ F), margin)

        return evaluate

    @property
    def routine(self) -> str:
        return SADDLE_C

    def between(self) -> str:
        """C text that calls `saddle` for each column, then the law, between head and tail."""
        by_name = {port.name: port for port in self.head.outputs}
        m, n = by_name["A"].shape
        k = len(self.places)
        inputs = ", ".join(f"const double *restrict {port.name}" for port in self.inputs)
        outputs = ", ".join(f"double *restrict {port.name}" for port in self.outputs)
        given = ", ".join(port.name for port in self.inputs)
        results = ", ".join(port.name for port in self.tail.outputs)
        head_results = ", ".join(f"b_{port.name}" for port in self.head.outputs)
        lengths = {**{port.name: port.size for port in self.head.outputs}, "unit": n, "none": m, "x": n * (k + 1),
                   "lam": m * (k + 1), "C": m * k, "F": k}  # fmt: skip
        offsets = np.cumsum([0, *lengths.values()])
        pointers = ", ".join(f"*b_{name} = memory + {at}" for name, at in zip(lengths, offsets, strict=False))
        W, rank, gamma, kind = ("b_W" if "W" in lengths else "NULL"), self.policy.rank, self.policy.gamma, self.policy.kind
        places = ", ".join(map(str, self.places))
        solve_c = f"saddle({kind}, {n}, {m}, {rank}, {gamma!r}, b_M, b_A, {W}"
        return f"""\
static void {self.name}({inputs}, {outputs})
{{
    static const int places[] = {{{places}}};
    double *memory = calloc({max(int(offsets[-1]), 1)}, sizeof(double));
    if (!memory) {{ *margin = -3; return; }}
    double {pointers}, settled = 1;
    {self.head.name}({given}, {head_results});
    int status = {solve_c}, b_r, b_s, b_x, b_lam);
    for (int k = 0; k < {k} && !status; k++) {{
        memset(b_unit, 0, {n}*sizeof(double));
        b_unit[places[k]] = 1;
        status = {solve_c}, b_unit, b_none, b_x + (k + 1)*{n}, b_lam + (k + 1)*{m});
        for (int i = 0; i < {m}; i++) b_C[i*{k} + k] = b_lam[(k + 1)*{m} + i];
    }}
    {self.law.name}({given}, b_lam, b_C, b_F, &settled);
    for (int k = 0; k < {k}; k++) {{
        for (int i = 0; i < {n}; i++) b_x[i] += b_F[k]*b_x[(k + 1)*{n} + i];
        for (int i = 0; i < {m}; i++) b_lam[i] += b_F[k]*b_lam[(k + 1)*{m} + i];
    }}
    for (int i = 0; i < {n} && status; i++) b_x[i] = NAN;
    for (int i = 0; i < {m} && status; i++) b_lam[i] = NAN;
    {self.tail.name}({given}, b_x, b_lam, {results});
    *margin = status ? -status : settled;
    free(memory);
}}
"""


def law_solved(
    name: str,
    inputs: Mapping[str, Shaped],
    blocks: Blocks,
    law: Law,
    finish: Callable[[Value, Value], Mapping[str, Shaped]],
    policy: Policy,
    *,
    checked: bool = True,
) -> Fn | Solved | LawSolved:
    """As `solved`, with forces that contain λ: `blocks.r` without the law, except its constant part if the law is affine."""
    m, n = blocks.A.shape
    if not law.given and n + m <= UNROLL:
        sides = block_matrix([[blocks.r, law.matrix]]), block_matrix([[blocks.s, zeros(m, len(law.places))]])
        x, lam, margin = unrolled(blocks.M, blocks.A, *sides, Policy(CHOLESKY, m, policy.gamma), checked)
        F, settled = law.solve(lam[:, 0], lam[:, 1:])
        a, lam = x[:, 0] + x[:, 1:] @ F, lam[:, 0] + lam[:, 1:] @ F
        margin = where(margin > 0, where(settled > 0, margin, settled), margin)
        return make_fn(name, inputs, {**finish(a, lam), "margin": (margin, ())})
    if law.affine:
        return solved(name, inputs, blocks, finish, policy, checked=checked)
    blocks_of_head = {"M": (blocks.M, (n, n)), "A": (blocks.A, (m, n)), "r": (blocks.r, (n,)), "s": (blocks.s, (m,))}
    if law.given:
        blocks_of_head["W"] = (blocks.W, (n, m))
    k = len(law.places)
    bar, C = symbols("lam_bar", m), symbols("C", m * k)
    F, settled = law.solve(bar, as_matrix(C, m, k))
    x, lam = symbols("x", n), symbols("lam", m)
    return LawSolved(
        name=name,
        head=make_fn(f"{name}_head", inputs, blocks_of_head),
        tail=make_fn(f"{name}_tail", {**inputs, "x": (x, (n,)), "lam": (lam, (m,))}, finish(x, lam)),
        law=make_fn(
            f"{name}_law", {**inputs, "bar": (bar, (m,)), "C": (C, (m, k))}, {"F": (F, (k,)), "settled": (settled, ())}
        ),
        policy=Policy(LU if law.given else CHOLESKY, m, policy.gamma),
        places=law.places,
    )


def _unrolled_order(blocks: Blocks, policy: Policy, often: bool) -> list[int] | None:
    """The order in which a solve is unrolled, None where a routine is better.

    Uncoupled blocks are solved one by one, and a chain of rows in time proportional to its length. Beyond `UNROLL` unknowns, a
    solve is unrolled if it takes at most UNROLL²/3 multiplications per unknown, and less than half of those of a full
    elimination, N (N − 1)(N + 4)/6. `often`: in a time loop the compile time of a full one pays off too.
    """
    m, n = blocks.A.shape
    size = n + m
    if size <= UNROLL or policy.gamma:
        return list(range(size)) if size <= UNROLL else None
    order, cost = elimination(blocks.M, blocks.A)
    thin = 12 * cost < size * (size - 1) * (size + 4)
    return order if (often or thin) and 3 * cost <= UNROLL**2 * size else None


Function = Fn | Solved | GaussSolved | LawSolved
"""Anything that maps a state to outputs and a margin."""


def status_of(margin: float) -> Status:
    """The status encoded in a margin."""
    if margin > 0:
        return Status.OK
    if margin != margin:
        return Status.NOT_FINITE
    return Status(int(-margin)) if margin == int(margin) and -margin in set(Status) and margin < 0 else Status.SINGULAR
