"""Simplification of graphs: the same values with fewer operations.

    values (of the inputs)  →  polynomials in leaves  →  rules of sines and cosines  →  shared factors  →  values

Every result is checked: at random states, and at some where sums of inputs and numbers nearly vanish, the new values must equal
the old ones up to rounding, the bound of the rounding error must not be larger ((x − 1e4)² and (t − 6)³ are not expanded), and
there must be fewer operations. Otherwise the values are not changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from appell.graph.horner import HornerScheme
from appell.graph.instructions import ARITY, Instruction, count_operations, instructions_of
from appell.graph.polynomials import Leaves, Polynomial, StreamExpansion, TooLong, turned
from appell.graph.sizes import VALUES

Array = NDArray[np.float64]

SHORTENED_INSTRUCTIONS = 3000
"""Largest number of instructions to be shortened."""
PRODUCTS = 60
"""Products of terms per instruction after which the attempt is given up."""
COMPARED_STATES = 12
"""Random states at which values and bounds are compared."""
CANCELLING_SUMS = 24
"""Sums near whose zeros they are also compared."""
BESIDE_ROOT = (-1e-2, 1e-3, 1e-5)
"""Relative distances from such a zero."""
WIDE = 6.0
"""Fixed inputs there range over 10^±6: the coefficient of a cancelling sum may be by far the largest."""
WORSE = 2.0
"""Factor by which the bound of rounding may grow: it depends on the order of summation."""
COST = {"neg": 0.5, "div": 12.0, "inv": 12.0, "sin": 16.0, "cos": 16.0, "sqrt": 12.0}
"""Cost of operations in units of a product; sine and cosine of one angle are computed together."""


def shorter(values: Sequence[ca.SX], inputs: Sequence[ca.SX], fixed: Sequence[bool]) -> list[ca.SX]:
    """The same values on the graph, shorter if possible. fixed: the inputs that are constant along a motion."""
    if ca.n_nodes(ca.veccat(*values)) > SHORTENED_INSTRUCTIONS:
        return list(values)
    stream = _stream(values, inputs)
    if not count_operations(stream) or not all(np.isfinite(item.value or 0.0) for item in stream):
        return list(values)  # a constant NaN marks a missing value, which sums and products would lose
    plain, price, best = _Checked(stream, inputs, fixed), _price(stream, fixed), values
    for expand_sums in (True, False):
        for rewritten in _rewritten(stream, inputs, fixed, expand_sums, [value.numel() for value in values]):
            new = _stream(rewritten, inputs)
            if count_operations(new) > count_operations(stream) or (cheaper := _price(new, fixed)) >= price:
                continue
            if plain.confirms(new):
                best = [ca.reshape(x, *value.shape) for x, value in zip(rewritten, values, strict=True)]
                price = cheaper
        if best is not values:
            break
    return list(best)


def cost(values: Sequence[ca.SX], inputs: Sequence[ca.SX]) -> float:
    """The cost of evaluating values, in products."""
    return _price(_stream(values, inputs), [False] * len(inputs))


def as_good(
    values: Sequence[ca.SX], plain: Sequence[ca.SX], inputs: Sequence[ca.SX], numbers: Sequence[Mapping[int, float]]
) -> bool:
    """Whether values equal the plain ones up to rounding, with some inputs replaced by numbers, and are not longer."""
    new, old = _stream(values, inputs), _stream(plain, inputs)
    fixed = [bool(values_of) for values_of in numbers]
    return count_operations(new) <= count_operations(old) and _Checked(old, inputs, fixed, numbers).confirms(new)


def _stream(columns: Sequence[ca.SX], inputs: Sequence[ca.SX]) -> tuple[Instruction, ...]:
    dense = [ca.densify(ca.vec(column)) for column in columns]
    return instructions_of(ca.Function("values", list(inputs), ca.cse(dense)))


def _rewritten(
    stream: Sequence[Instruction], inputs: Sequence[ca.SX], fixed: Sequence[bool], expand_sums: bool, sizes: Sequence[int]
) -> Iterator[list[ca.SX]]:
    """The outputs as columns, rewritten in several ways; none if there are too many terms."""
    leaves = Leaves(PRODUCTS * len(stream))
    try:
        results = [turned(p, leaves) for p in StreamExpansion(stream, inputs, fixed, expand_sums, leaves).results()]
    except TooLong:
        return
    built = _built_leaves(results, leaves)
    outputs = [item for item in stream if item.op == "output"]
    for horner in (True, False):
        sharing = HornerScheme(leaves, horner)
        for leaf in built:
            sharing.define(leaf)
        for result in results:
            sharing.add(result)
        sharing.share()
        columns = [ca.SX(size, 1) for size in sizes]
        for item, value in zip(outputs, sharing.on_graph(), strict=True):
            if not value.is_zero():  # structural zeros are kept
                columns[item.port or 0][item.index or 0] = value
        yield columns


def _built_leaves(results: Sequence[Polynomial], leaves: Leaves) -> list[int]:
    """The leaves to be built from others; the rest become sines and cosines of differences.

    Sine and cosine of a − b are four products of those of a and b, if these are needed anyway. If only the difference of two
    angles is needed, sine and cosine of the difference are computed directly.
    """
    used = {x for p in results for m in p for x in m}
    angles = lambda leaves_in: {leaves.all[x].angle for x in leaves_in if leaves.all[x].op and leaves.all[x].value is not None}
    all_leaves, built = set(used), []
    waiting = sorted(used, reverse=True)
    while waiting:
        x = waiting.pop()
        leaf = leaves.all[x]
        if leaf.value is None and x not in built:
            built.append(x)
            waiting += [y for m in leaf.definition or {} for y in m]
            all_leaves |= {y for m in leaf.definition or {} for y in m}
    new = {leaves.all[x].angle for x in built if x in used}
    if len(new) <= len(angles(all_leaves) - angles(used)):
        for x in built:
            if x in used:
                leaf = leaves.all[x]
                leaf.value = getattr(ca, leaf.op)(leaves.argument(leaf))
        return []
    return sorted(built)


def _price(stream: Sequence[Instruction], fixed: Sequence[bool]) -> float:
    """The cost of a stream in products; a product used once, in a sum, is free (fused multiply–add)."""
    uses = Counter(arg for item in stream for arg in item.args)
    item_of = {item.out: item for item in stream if item.op != "output"}
    is_fixed: dict[int, bool] = {}
    total = 0.0
    for item in stream:
        if item.op in ("const", "input", "output"):
            is_fixed[item.out] = item.op == "const" or (item.op == "input" and fixed[item.port or 0])
            continue
        is_fixed[item.out] = all(is_fixed[arg] for arg in item.args)
        price = COST.get(item.op, 1.0)
        if item.op in ("add", "sub") and any(item_of[arg].op in ("mul", "sq") and uses[arg] == 1 for arg in item.args):
            price = 0.0
        total += price * (0.25 if is_fixed[item.out] else 1.0)
    return total


class _Checked:
    """A stream at random states, and at some where a sum nearly vanishes: its outputs and the bounds of their rounding errors,
    in units of ε."""

    def __init__(
        self, stream: Sequence[Instruction], inputs: Sequence[ca.SX], fixed: Sequence[bool],
        numbers: Sequence[Mapping[int, float]] = (),
    ):  # fmt: skip
        random = np.random.default_rng(1)
        scattered = 10.0 ** random.uniform(-1.5, 1.5, COMPARED_STATES)
        size = np.where(np.arange(COMPARED_STATES) < COMPARED_STATES // 2, 1.0, scattered)
        samples, wide_samples = [], []
        for x, positive in zip(inputs, fixed, strict=True):
            shape = (x.numel(), COMPARED_STATES)
            sign = 1.0 if positive else random.choice([-1.0, 1.0], shape)
            samples.append(size * sign * random.uniform(0.3, 2.0, shape))
        for x, is_fixed in zip(samples, fixed, strict=True):
            wide_samples.append(10.0 ** random.uniform(-WIDE, WIDE, x.shape) if is_fixed else x.copy())
        for values, number_of in (*zip(samples, numbers, strict=False), *zip(wide_samples, numbers, strict=False)):
            values[list(number_of)] = np.reshape(list(number_of.values()), (-1, 1))
        near_samples = _near_cancellation(stream, wide_samples, fixed)
        self.batches = [
            (samples, [False] * len(fixed)),
            *([(near_samples, [not is_fixed for is_fixed in fixed])] if near_samples else []),
        ]
        self.expected = [_evaluated(stream, *batch) for batch in self.batches]

    def confirms(self, stream: Sequence[Instruction]) -> bool:
        """Whether another stream gives the same results, no less accurately."""
        return all(
            _as_accurate(_evaluated(stream, *batch), old) for batch, old in zip(self.batches, self.expected, strict=True)
        )


def _as_accurate(new: tuple[dict[Any, Array], dict[Any, Array]], plain: tuple[dict[Any, Array], dict[Any, Array]]) -> bool:
    (value, bound), (values, bounds) = new, plain
    if set(value) != set(values):
        return False
    with np.errstate(all="ignore"):
        for output, old in values.items():
            comparable = np.isfinite(old) & np.isfinite(bounds[output])
            if np.isfinite(value[output])[~np.isfinite(old)].any():
                return False
            if not comparable.any():  # nothing was compared
                return False
            room = 2e-16 * (bounds[output] + bound[output])
            equal = np.abs(value[output] - old) <= room + 1e-300
            accurate = bound[output] <= WORSE * bounds[output] + 8 * np.abs(old)
            if not (equal & accurate)[comparable].all():
                return False
    return bool(values)


Linear = tuple[dict[tuple[int, int], Array], Array]  # derivatives by the index of a moving input, and the rest, at each state


def _near_cancellation(stream: Sequence[Instruction], states: list[Array], fixed: Sequence[bool]) -> list[Array]:
    """Inputs (numel, k) at which a sum of moving inputs and fixed terms is nearly zero; none if there is no such sum.

    (t − 5.8)³ is small there, and its expanded form is only rounding. Inputs carry their own rounding there, so that k (x − c)
    and k x − k c are equally good.
    """
    forms: dict[int, Linear | None] = {}
    roots: list[tuple[tuple[int, int], Array]] = []
    with np.errstate(all="ignore"):
        for item in stream:
            if item.op == "output":
                continue
            forms[item.out] = form = _linear(item, [forms[arg] for arg in item.args], states, fixed)
            if item.op in ("add", "sub") and form is not None and form[0] and len(roots) < CANCELLING_SUMS:
                largest_input, slope = max(form[0].items(), key=lambda pair: float(np.abs(pair[1]).min()))
                remainder = sum((c * states[i][k] for (i, k), c in form[0].items() if (i, k) != largest_input), form[1])
                root = -remainder / slope
                if np.isfinite(root).all() and (root != 0).any():
                    roots.append((largest_input, root))
    if not roots:
        return []
    samples = [np.tile(x, (1, len(roots))) for x in states]
    share = 1 + np.resize(BESIDE_ROOT, COMPARED_STATES)
    for j, ((i, k), root) in enumerate(roots):
        samples[i][k, j * COMPARED_STATES : (j + 1) * COMPARED_STATES] = root * share
    return samples


def _linear(
    item: Instruction, argument_forms: list[Linear | None], samples: list[Array], fixed: Sequence[bool]
) -> Linear | None:
    """A value as a linear form in the moving inputs with fixed coefficients; None if it is not linear."""
    if item.op == "input":
        index = (item.port or 0, item.index or 0)
        x = samples[index[0]][index[1]]
        return ({}, x) if fixed[index[0]] else ({index: np.ones(len(x))}, np.zeros(len(x)))
    if item.op == "const":
        return {}, np.full(COMPARED_STATES, item.value)
    if any(form is None for form in argument_forms):
        return None
    forms = [form for form in argument_forms if form is not None]
    if not any(form[0] for form in forms):
        return {}, _rounded(item.op, [form[1] for form in forms], [np.zeros(COMPARED_STATES)] * len(forms))[0]
    if item.op in ("add", "sub"):
        return _sum_of(forms[0], forms[1], 1.0 if item.op == "add" else -1.0)
    if item.op in ("neg", "twice"):
        c = -1.0 if item.op == "neg" else 2.0
        return {k: c * x for k, x in forms[0][0].items()}, c * forms[0][1]
    if item.op == "mul" and not (forms[0][0] and forms[1][0]):
        (slopes, constant), c = (forms[0], forms[1][1]) if forms[0][0] else (forms[1], forms[0][1])
        return {k: c * x for k, x in slopes.items()}, c * constant
    if item.op == "div" and not forms[1][0]:
        return {k: x / forms[1][1] for k, x in forms[0][0].items()}, forms[0][1] / forms[1][1]
    return None


def _sum_of(a: Linear, b: Linear, sign: float) -> Linear:
    slopes = dict(a[0])
    for k, x in b[0].items():
        slopes[k] = slopes.get(k, 0.0) + sign * x
    return slopes, a[1] + sign * b[1]


def _evaluated(
    stream: Sequence[Instruction], inputs: Sequence[Array], loose: Sequence[bool]
) -> tuple[dict[Any, Array], dict[Any, Array]]:
    """Outputs by index, and the running bound of their rounding errors.

    Each operation rounds once; inputs are exact, or rounded where they are `loose`, as angles always are.
    """
    value: dict[int, Array] = {}
    error: dict[int, Array] = {}
    values, bounds = {}, {}
    count = next((x.shape[1] for x in inputs), COMPARED_STATES)
    with np.errstate(all="ignore"):
        for item in stream:
            x = [value[arg] for arg in item.args]
            e = [error[arg] for arg in item.args]
            if item.op == "output":
                values[item.port, item.index], bounds[item.port, item.index] = x[0], e[0]
            elif item.op == "input":
                value[item.out] = inputs[item.port or 0][item.index or 0]
                error[item.out] = np.abs(value[item.out]) if loose[item.port or 0] else np.zeros(count)
            elif item.op == "const":
                value[item.out], error[item.out] = np.full(count, item.value), np.zeros(count)
            else:
                if item.op in ("sin", "cos"):
                    e = [np.maximum(e[0], np.abs(x[0]))]
                value[item.out], error[item.out] = _rounded(item.op, x, e)
    return values, bounds


def _rounded(op: str, x: list[Array], e: list[Array]) -> tuple[Array, Array]:
    match op:
        case "add" | "sub":
            y = x[0] + x[1] if op == "add" else x[0] - x[1]
            return y, e[0] + e[1] + np.abs(y)
        case "mul" | "sq":
            y = x[0] * x[-1]
            return y, np.abs(x[0]) * e[-1] + np.abs(x[-1]) * e[0] + np.abs(y)
        case "neg" | "twice":
            c = -1.0 if op == "neg" else 2.0
            return c * x[0], abs(c) * e[0]
        case "div" | "inv":
            a, b = (x[0], x[1]) if op == "div" else (np.ones_like(x[0]), x[0])
            y = a / b
            above = e[0] if op == "div" else 0.0
            return y, (above + np.abs(y) * e[-1]) / np.abs(b) + np.abs(y)
    y, function = _function(op)(*x), _function(op)
    total = np.abs(y)
    for k, (v, d) in enumerate(zip(x, e, strict=True)):
        if d.any():
            step = 1e-6 * np.abs(v)
            total = total + np.abs(function(*x[:k], v + step, *x[k + 1 :]) - y) / step * d
    return y, total


@cache
def _function(op: str) -> Callable[..., Array]:
    """An operation on arrays of states."""
    if op in ("sin", "cos"):
        return getattr(np, op)
    symbols = [ca.SX.sym(name) for name in "xy"[: ARITY[op]]]
    function = ca.Function("f", symbols, [VALUES[op](*symbols)])
    return lambda *x: np.asarray(function(*(v.reshape(1, -1) for v in x))).reshape(-1)
