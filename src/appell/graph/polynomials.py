"""Values of the graph as polynomials in leaves, simplified by the identities of sines and cosines.

    value = Σ c · x y z …        x, y, z: inputs, sines, cosines, and all other nonpolynomial values

If a kinetic energy is a sum of squares of velocities, its derivatives contain many terms that simplify:

    T s_a s_b + T c_a c_b = T cos(a − b)            T s_a c_b − T c_a s_b = T sin(a − b)            T s² + T c² = T

with the same T, any product of other leaves. Each rule replaces two terms by one. New sines and cosines are `made` from two
products of the old ones, or computed from the difference of angles where that is cheaper (see `shorter`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca

from appell.graph.algebra import minus_inverse
from appell.graph.instructions import Instruction
from appell.graph.sizes import VALUES

Monomial = tuple[int, ...]  # leaves in ascending order, repeated for powers
Polynomial = dict[Monomial, float]

COEFFICIENT_ROUNDING = 1e-15
"""A coefficient below this fraction of its terms is rounding, and equal coefficients may differ by this much."""
POLYNOMIAL_LEAF_TERMS = 300
"""Largest number of terms of a polynomial; longer ones become leaves."""
ANGLE_TERMS = 8
"""Largest number of terms of an angle in differences."""
OTHER = {"sin": "cos", "cos": "sin"}


class TooLong(Exception):
    """A polynomial would take more products than are allowed."""


@dataclass
class Leaf:
    """A value that is not expanded. `fixed`: constant along a motion. `definition`: by other leaves."""

    value: ca.SX | None
    fixed: bool
    op: str = ""  # "sin" or "cos", of `angle`
    angle: Angle = ()
    definition: Polynomial | None = None


Angle = tuple[tuple[Monomial, float], ...]  # a linear form in leaves, its first coefficient positive


@dataclass
class Leaves:
    """All leaves, and the number of products that may still be formed."""

    budget: int
    all: list[Leaf] = field(default_factory=list)
    turns: dict[tuple[str, Angle], int] = field(default_factory=dict)  # sines and cosines by their angle
    sums: dict[int, Polynomial] = field(default_factory=dict)  # the terms of leaves that are sums

    def add(self, leaf: Leaf) -> Polynomial:
        self.all.append(leaf)
        return {(len(self.all) - 1,): 1.0}

    def times(self, p: Polynomial, q: Polynomial) -> Polynomial:
        self.budget -= len(p) * len(q)
        if self.budget < 0:
            raise TooLong
        result: Polynomial = {}
        for m, c in p.items():
            for n, d in q.items():
                include(result, tuple(sorted(m + n)), c * d)
        return result

    def apart(self, p: Polynomial) -> Polynomial:
        """A linear form with leaves that are sums expanded."""
        result: Polynomial = {}
        for m, c in p.items():
            for n, d in (self.sums.get(m[0], {m: 1.0}) if m else {m: 1.0}).items():
                include(result, n, c * d)
        return result

    def value(self, leaf: int) -> ca.SX:
        """A leaf on the graph."""
        value = self.all[leaf].value
        if value is None:
            value = ca.SX(0)
            for m, c in (self.all[leaf].definition or {}).items():
                value += c * self.value(m[0]) * self.value(m[1])
        return value

    def argument(self, leaf: Leaf) -> ca.SX:
        """The angle of a sine or cosine on the graph."""
        total = ca.SX(0)
        for m, c in leaf.angle:
            total = total + c * (self.value(m[0]) if m else 1.0)
        return total

    def turn(self, op: str, angle: Polynomial, value: ca.SX | None, made: Polynomial | None = None) -> Polynomial:
        """sin or cos of an angle, with its leaf."""
        if not angle:
            return {(): 1.0} if op == "cos" else {}
        key, sign = upright(angle)
        sign = sign if op == "sin" else 1.0
        if (op, key) not in self.turns:
            self.turns[op, key] = len(self.all)
            fixed = all(self.all[x].fixed for m in angle for x in m)
            made = made and {m: sign * c for m, c in made.items()}
            self.add(Leaf(value if value is None else sign * value, fixed, op, key, made))
        return {(self.turns[op, key],): sign}


def include(p: Polynomial, m: Monomial, c: float) -> None:
    """p += c m."""
    earlier = p.get(m, 0.0)
    total = earlier + c
    if abs(total) <= COEFFICIENT_ROUNDING * max(abs(earlier), abs(c)):
        p.pop(m, None)
    else:
        p[m] = total


def upright(angle: Polynomial) -> tuple[Angle, float]:
    """The linear form with a positive first coefficient, and the sign that it had."""
    items = sorted(angle.items())
    sign = 1.0 if items[0][1] > 0 else -1.0
    return tuple((m, sign * c) for m, c in items), sign


def proportions(p: Polynomial) -> tuple[Angle, float]:
    """The polynomial divided by its first coefficient, and that coefficient: the first is equal for proportional
    polynomials."""
    items = sorted(p.items())
    first = items[0][1]
    return tuple((m, c / first) for m, c in items), first


def combined(p: Polynomial, q: Polynomial, factor: float) -> Polynomial:
    """p + factor q."""
    result = dict(p)
    for m, c in q.items():
        include(result, m, factor * c)
    return result


@dataclass
class StreamExpansion:
    """The values of an instruction stream as polynomials. fixed: inputs that are constant along a motion.

    expand_sums: sums of inputs are expanded too; otherwise they are leaves, so that x − 1e4 keeps its accuracy.
    """

    stream: Sequence[Instruction]
    inputs: Sequence[ca.SX]
    fixed: Sequence[bool]
    expand_sums: bool
    leaves: Leaves
    _items: dict[int, Instruction] = field(default_factory=dict)
    _values: dict[int, ca.SX] = field(default_factory=dict)  # needed values, on the graph
    _is_fixed: dict[int, bool] = field(default_factory=dict)
    _inverses: dict[Angle, Polynomial] = field(default_factory=dict)

    def results(self) -> list[Polynomial]:
        """The outputs in order."""
        polynomials: dict[int, Polynomial] = {}
        for item in self.stream:
            if item.op == "output":
                continue
            self._items[item.out] = item
            self._is_fixed[item.out] = (
                self.fixed[item.port or 0] if item.op == "input" else all(self._is_fixed[i] for i in item.args)
            )
            polynomials[item.out] = self._polynomial(item, [polynomials[i] for i in item.args])
        return [polynomials[item.args[0]] for item in self.stream if item.op == "output"]

    def _polynomial(self, item: Instruction, arguments: list[Polynomial]) -> Polynomial:
        leaves = self.leaves
        if item.op == "const":
            return {(): item.value} if item.value else {}
        if item.op in OTHER and len(arguments[0]) <= ANGLE_TERMS and all(len(m) < 2 for m in arguments[0]):
            return leaves.turn(item.op, leaves.apart(arguments[0]), self._value(item.out))
        if item.op in ("add", "sub"):
            return self._sum(item, combined(arguments[0], arguments[1], 1.0 if item.op == "add" else -1.0))
        if item.op in ("neg", "twice"):
            return {m: c * (-1.0 if item.op == "neg" else 2.0) for m, c in arguments[0].items()}
        if item.op in ("mul", "sq") and len(arguments[0]) * len(arguments[-1]) <= POLYNOMIAL_LEAF_TERMS:
            return leaves.times(arguments[0], arguments[-1])
        if item.op == "div":
            return self._quotient(item.args[1], arguments[0], arguments[1])
        return self._leaf(item)

    def _leaf(self, item: Instruction) -> Polynomial:
        return self.leaves.add(Leaf(self._value(item.out), self._is_fixed[item.out]))

    def _sum(self, item: Instruction, p: Polynomial) -> Polynomial:
        plain = not self.expand_sums and not any(self.leaves.all[x].op for m in p for x in m)
        if not (plain and len(p) > 1) and (len(p) < 4 or len(p := turned(p, self.leaves)) <= POLYNOMIAL_LEAF_TERMS):
            return p
        if plain and len(p) <= ANGLE_TERMS and all(len(m) < 2 for m in p):
            self.leaves.sums[len(self.leaves.all)] = self.leaves.apart(p)
        return self._leaf(item)

    def _quotient(self, below: int, p: Polynomial, q: Polynomial) -> Polynomial:
        if set(q) == {()}:
            return {m: c / q[()] for m, c in p.items()}
        key, first = proportions(q)
        if key not in self._inverses:
            (leaf,) = self.leaves.add(Leaf(minus_inverse(self._value(below)), self._is_fixed[below]))
            self._inverses[key] = {leaf: -first}
        inverse = self._inverses[key]
        return self.leaves.times(p, {m: c / first for m, c in inverse.items()})

    def _value(self, out: int) -> ca.SX:
        """A value of the stream on the graph, unchanged."""
        waiting = [out]
        while waiting:
            k = waiting[-1]
            item = self._items[k]
            unformed = [i for i in item.args if i not in self._values]
            if unformed:
                waiting += unformed
                continue
            waiting.pop()
            if item.op == "const":
                self._values[k] = ca.SX(item.value or 0.0)
            elif item.op == "input":
                self._values[k] = self.inputs[item.port or 0][item.index or 0]
            else:
                self._values[k] = VALUES[item.op](*(self._values[i] for i in item.args))
        return self._values[out]


def turned(p: Polynomial, leaves: Leaves) -> Polynomial:
    """The same value with the rules of sines and cosines applied as often as possible."""
    p = dict(p)
    waiting = list(p)
    while waiting:
        m = waiting.pop()
        if m in p:
            waiting += _rule(p, m, leaves)
    return p


def _rule(p: Polynomial, m: Monomial, leaves: Leaves) -> list[Monomial]:
    """Applies one rule to a term; returns the changed terms, none if no rule applies."""
    places = [k for k, x in enumerate(m) if leaves.all[x].op]
    for n, i in enumerate(places):
        for j in places[n + 1 :]:
            if (new := _pair(p, m, i, j, leaves)) is not None:
                return new
    return []


def _pair(p: Polynomial, m: Monomial, i: int, j: int, leaves: Leaves) -> list[Monomial] | None:
    """The rules for the factors i < j of a term."""
    a, b = leaves.all[m[i]], leaves.all[m[j]]
    others = m[:i] + m[i + 1 : j] + m[j + 1 :]
    swapped = [leaves.turns.get((OTHER[x.op], x.angle)) for x in (a, b)]
    if m[i] == m[j] and _opposite(p.get(others), p[m]):  # T − T s² = T c²
        twin = leaves.turn(OTHER[a.op], dict(a.angle), getattr(ca, OTHER[a.op])(leaves.argument(a)))
        return _replaced(p, [m, others], leaves.times({others: p[others]}, leaves.times(twin, twin)))
    if None in swapped or (a.angle == b.angle and a.op != b.op):
        return None
    partner = tuple(sorted((*others, swapped[0], swapped[1])))  # type: ignore[arg-type]
    if partner not in p or partner == m:
        return None
    c, d = p[m], p[partner]
    if not (_opposite(c, d) or _opposite(c, -d)):
        return None
    same_sign = (c > 0) == (d > 0)
    op = "cos" if a.op == b.op else "sin"
    if op == "cos":
        angle = combined(dict(a.angle), dict(b.angle), -1.0 if same_sign else 1.0)
        c = c if same_sign else (c if a.op == "cos" else d)
    else:
        angle = combined(dict(a.angle), dict(b.angle), 1.0 if same_sign else -1.0)
        c = c if same_sign or a.op == "sin" else d
    a_b, swapped_a_b = tuple(sorted((m[i], m[j]))), tuple(sorted(swapped))  # type: ignore[type-var]
    made = {a_b: p[m] / c, swapped_a_b: p[partner] / c}
    return _replaced(p, [m, partner], leaves.times({others: c}, leaves.turn(op, angle, None, made)))


def _opposite(c: float | None, d: float) -> bool:
    return c is not None and abs(c + d) <= COEFFICIENT_ROUNDING * abs(d)


def _replaced(p: Polynomial, old: Sequence[Monomial], new: Polynomial) -> list[Monomial]:
    for m in old:
        del p[m]
    for m, c in new.items():
        include(p, m, c)
    return [m for m in new if m in p]
