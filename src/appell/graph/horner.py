"""Polynomials with few operations: common factors outside brackets, common products and sums computed once.

    Σ c x y z …   →   x (y (…) + …) + …        repeatedly the most frequent factor (Horner)
    k S v², k S w²  →   (k S) v², (k S) w²        repeatedly the most frequent pair

Constants along a motion are grouped first, as the factor of their term: a time loop computes them once.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import casadi as ca

from appell.graph.polynomials import Leaves, Monomial, Polynomial

Term = tuple[float, Monomial]
Key = tuple[Term, ...]


class HornerScheme:
    """Literals: the leaves, products of two literals, numbers times a literal, and sums, each once."""

    def __init__(self, leaves: Leaves, horner: bool):
        self.leaves, self.horner = leaves, horner
        self.fixed = [leaf.fixed for leaf in leaves.all]
        self.sums: dict[int, list[tuple[float, list[int]]]] = {}
        self.sum_literals: dict[Key, int] = {}
        self.scaled: dict[tuple[float, int], int] = {}
        self.pairs: dict[int, tuple[int, int]] = {}
        self.scales: dict[int, tuple[float, int]] = {}
        self.results: list[tuple[float, list[int]] | None] = []
        self.definitions: dict[int, tuple[float, list[int]]] = {}
        self.values: dict[int, ca.SX] = {}

    def new_literal(self, fixed: bool) -> int:
        self.fixed.append(fixed)
        return len(self.fixed) - 1

    # -- sums ---------------------------------------------------------------------------------------------------------

    def add(self, p: Polynomial) -> None:
        """Adds a polynomial to the results."""
        self.results.append(self._as_product(p))

    def define(self, leaf: int) -> None:
        """Defines a leaf made of others."""
        definition = self._as_product(self.leaves.all[leaf].definition or {})
        assert definition is not None
        self.definitions[leaf] = definition

    def _as_product(self, p: Polynomial) -> tuple[float, list[int]] | None:
        terms = self._grouped(p)
        if self.horner:
            terms = self._factored(terms)
        return self._product(terms)

    def _product(self, terms: Sequence[Term]) -> tuple[float, list[int]] | None:
        """A sum as a number times literals; None for zero."""
        if not terms:
            return None
        if len(terms) == 1:
            return terms[0][0], list(terms[0][1])
        sign, literal = self._sum(terms)
        return sign, [literal]

    def _grouped(self, p: Polynomial) -> list[Term]:
        """Terms with one literal for all fixed factors."""
        by_moving: dict[Monomial, Polynomial] = defaultdict(dict)
        for m, c in p.items():
            fixed = tuple(x for x in m if self.fixed[x])
            by_moving[tuple(x for x in m if not self.fixed[x])][fixed] = c
        terms = []
        for moving, fixed_part in sorted(by_moving.items()):
            c, literals = self._fixed(fixed_part)
            terms.append((c, tuple(sorted((*literals, *moving)))))
        return terms

    def _fixed(self, fixed_part: Polynomial) -> tuple[float, list[int]]:
        """The fixed factors of a term as a number (±1 where there is a literal) and at most one literal."""
        result = self._product(self._factored(sorted((c, m) for m, c in fixed_part.items())))
        assert result is not None
        c, literals = result
        if not literals:
            return c, []
        literal = literals[0] if len(literals) == 1 else self._sum([(1.0, tuple(sorted(literals)))])[1]
        if abs(c) != 1:
            key = (abs(c), literal)
            if key not in self.scaled:
                self.scaled[key] = self.new_literal(True)
                self.scales[self.scaled[key]] = key
            literal = self.scaled[key]
        return (1.0 if c > 0 else -1.0), [literal]

    def _sum(self, terms: Sequence[Term]) -> tuple[float, int]:
        """The sign and the literal of a sum (or product) of literals."""
        terms = sorted(terms, key=lambda term: (term[1], term[0]))
        sign = 1.0 if terms[0][0] > 0 else -1.0
        key = tuple((sign * c, m) for c, m in terms)
        if key not in self.sum_literals:
            self.sum_literals[key] = self.new_literal(all(self.fixed[x] for _, m in key for x in m))
            self.sums[self.sum_literals[key]] = [(c, list(m)) for c, m in key]
        return sign, self.sum_literals[key]

    def _factored(self, terms: Sequence[Term]) -> list[Term]:
        """The most frequent factor times the sum of its terms, then the other terms."""
        result: list[Term] = []
        terms = list(terms)
        while terms:
            count = Counter(x for _, m in terms for x in set(m))
            best, times = max(count.items(), key=lambda item: (item[1], -item[0]), default=(0, 0))
            if times < 2:
                return result + terms
            inside = [(c, _without(m, best)) for c, m in terms if best in m]
            terms = [term for term in terms if best not in term[1]]
            product = self._product(self._factored(inside))
            assert product is not None
            result.append((product[0], tuple(sorted((best, *product[1])))))
        return result

    # -- products -----------------------------------------------------------------------------------------------------

    def share(self) -> None:
        """Pairs of factors that occur more than once become literals."""
        products = [factors for terms in self.sums.values() for _, factors in terms]
        products += [result[1] for result in (*self.results, *self.definitions.values()) if result is not None]
        products_with: dict[tuple[int, int], set[int]] = defaultdict(set)
        for k, factors in enumerate(products):
            for pair in _pairs(factors):
                products_with[pair].add(k)
        heap = [self._rank(pair, products_with) for pair in products_with]
        heapq.heapify(heap)
        while heap:
            rank = heapq.heappop(heap)
            pair = rank[2]
            if len(products_with[pair]) < 2:
                continue
            if rank != self._rank(pair, products_with):
                heapq.heappush(heap, self._rank(pair, products_with))
                continue
            literal = self.new_literal(self.fixed[pair[0]] and self.fixed[pair[1]])
            self.pairs[literal] = pair
            changed = set()
            for k in list(products_with[pair]):
                factors = products[k]
                for old in _pairs(factors):
                    products_with[old].discard(k)
                while _has(factors, pair):
                    factors.remove(pair[0])
                    factors.remove(pair[1])
                    factors.append(literal)
                for new in _pairs(factors):
                    products_with[new].add(k)
                    changed.add(new)
            for new in changed:
                heapq.heappush(heap, self._rank(new, products_with))

    def _rank(self, pair: tuple[int, int], products_with: dict[tuple[int, int], set[int]]) -> tuple[int, int, tuple[int, int]]:
        return -len(products_with[pair]), -(self.fixed[pair[0]] + self.fixed[pair[1]]), pair

    # -- the graph ----------------------------------------------------------------------------------------------------

    def on_graph(self) -> list[ca.SX]:
        """The results on the graph."""
        zero = ca.SX(0)
        return [zero if result is None else self._term(*result) for result in self.results]

    def _term(self, c: float, factors: Iterable[int]) -> ca.SX:
        product = None
        for x in sorted(factors, key=lambda x: (not self.fixed[x], x)):
            product = self.value(x) if product is None else product * self.value(x)
        if product is None:
            return ca.SX(c)
        return product if c == 1 else -product if c == -1 else c * product

    def value(self, literal: int) -> ca.SX:
        if literal not in self.values:
            self.values[literal] = self._value(literal)
        return self.values[literal]

    def _value(self, literal: int) -> ca.SX:
        if literal in self.definitions:
            return self._term(*self.definitions[literal])
        if literal in self.pairs:
            a, b = self.pairs[literal]
            return self.value(a) ** 2 if a == b else self.value(a) * self.value(b)
        if literal in self.scales:
            c, x = self.scales[literal]
            return c * self.value(x)
        if literal in self.sums:
            return self._added(self.sums[literal])
        value = self.leaves.all[literal].value
        assert value is not None
        return value

    def _added(self, terms: Sequence[tuple[float, list[int]]]) -> ca.SX:
        """The sum with positive terms first, which avoids a separate negation."""
        total = None
        for c, factors in sorted(terms, key=lambda term: term[0] < 0):
            if total is None:
                total = self._term(c, factors)
            elif c < 0:
                total = total - self._term(-c, factors)
            else:
                total = total + self._term(c, factors)
        assert total is not None
        return total


def _without(m: Monomial, x: int) -> Monomial:
    k = m.index(x)
    return m[:k] + m[k + 1 :]


def _pairs(factors: Sequence[int]) -> set[tuple[int, int]]:
    return {(min(a, b), max(a, b)) for i, a in enumerate(factors) for b in factors[i + 1 :]}


def _has(factors: Sequence[int], pair: tuple[int, int]) -> bool:
    return factors.count(pair[0]) > 1 if pair[0] == pair[1] else pair[0] in factors and pair[1] in factors
