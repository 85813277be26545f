"""Polynomials in sines, cosines and symbols, with rational coefficients: the algebra behind displayed equations and exact
trees.

    Σ c Π x_i^{p_i},        sin² = 1 − cos²,        w² = 1 − x² − y² − z²  for the components of a unit quaternion

as dicts {powers of the atoms: coefficient}; powers may be negative. SymPy's own `expand` takes a hundred times longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from operator import add, sub
from struct import Struct
from typing import Any

import sympy
from sympy import Expr

from appell.jets import QuaternionComponent
from appell.tidy.angle_sums import TRIGONOMETRIC, opened_wave, terms_expanded
from appell.tidy.sums import Sum, Term, multiplied, raised_term, read, wave
from appell.tidy.terms import (
    Number,
    Powers,
    Terms,
    Wave,
    accumulate,
    content,
    long_as_float,
    product,
    quotient,
    quotient_of,
    raised,
    rational,
    times_wave,
    total,
)


class Polynomial:
    """Σ coefficient × Π atom^power. Atoms are symbols, functions, and everything else that is not a sum, product or integer
    power.

    Coefficients are exact, so that cancellations are exact; with `floats` in the input, long ones are returned as floats.
    """

    def __init__(self, atoms: Sequence[Any], terms: Terms, floats: bool = False):
        self.atoms, self.terms, self.floats = atoms, terms, floats

    @staticmethod
    def of(expr: Any, single: bool = False, atoms: Sequence[Any] | None = None) -> Polynomial:
        """The expanded expression; `single` expands sines and cosines of sums and multiples of angles.

        `atoms`: the atoms to use, by default its own.
        """
        sum_, number = read(expr)
        return Polynomial.of_sum(sum_, single, floats=number is not rational, atoms=atoms)

    @staticmethod
    def of_sum(
        whole: Sum, single: bool = False, floats: bool = False, atoms: Sequence[Any] | None = None, limit: int | None = None
    ) -> Polynomial:
        """The expanded sum, as in `of`; raises `TooManyTerms` if products have more than `limit`."""
        expansion = Expansion(single, atoms, limit)
        packed = expansion.of(whole)
        return Polynomial(expansion.atoms, expansion.unpacked(packed), floats)

    def __add__(self, other: Polynomial) -> Polynomial:
        return self.like(total([self.terms, other.terms]))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + (-other)

    def __neg__(self) -> Polynomial:
        return self.like({powers: -c for powers, c in self.terms.items()})

    def __mul__(self, other: Polynomial) -> Polynomial:
        return self.like(product(self.terms, other.terms))

    def __len__(self) -> int:
        return len(self.terms)

    def like(self, terms: Terms) -> Polynomial:
        """Other terms in the same atoms."""
        result = Polynomial(self.atoms, terms, self.floats)
        if "circles" in self.__dict__:
            result.__dict__["circles"] = self.circles
        return result

    def with_atoms(self, new: Sequence[Any]) -> Polynomial:
        """The same polynomial with further atoms."""
        if not new:
            return self
        zeros = (0,) * len(new)
        return Polynomial([*self.atoms, *new], {powers + zeros: c for powers, c in self.terms.items()}, self.floats)

    def with_all_partners(self) -> Polynomial:
        """The same polynomial, with both the sine and the cosine of every angle among its atoms."""
        waves, present = [x for x in self.atoms if isinstance(x, sympy.sin | sympy.cos)], set(self.atoms)
        new = [w for x in waves for w in (wave(sympy.sin, x.args[0]), wave(sympy.cos, x.args[0])) if w not in present]
        return self.with_atoms([w for w in dict.fromkeys(new) if isinstance(w, sympy.sin | sympy.cos)])

    @cached_property
    def circles(self) -> tuple[tuple[int, int], ...]:
        """Indices of sin and cos, for each angle that has both."""
        cosines = {x.args[0]: j for j, x in enumerate(self.atoms) if isinstance(x, sympy.cos)}
        sines = [(i, x.args[0]) for i, x in enumerate(self.atoms) if isinstance(x, sympy.sin)]
        return tuple((i, cosines[angle]) for i, angle in sines if angle in cosines)

    def spheres(self) -> dict[int, tuple[int, ...]]:
        """Index of w of each unit quaternion → indices of its x, y, z."""
        owner = {i: x.quaternion for i, x in enumerate(self.atoms) if isinstance(x, QuaternionComponent) and not x.order}
        quaternions = [[i for i, quaternion in owner.items() if quaternion == name] for name in dict.fromkeys(owner.values())]
        return {components[-1]: tuple(components[:-1]) for components in quaternions if len(components) == 4}

    # -- relations -----------------------------------------------------------------------------------------------------

    def on_sphere(self, i: int, others: Sequence[int]) -> Polynomial:
        """x_i² = 1 − Σ x_j²: the remainder, of degree one in x_i."""
        if all(powers[i] < 2 for powers in self.terms):
            return self
        remaining, result = dict(self.terms), {}
        while remaining:
            powers, c = remaining.popitem()
            if powers[i] < 2:
                accumulate(result, powers, c)
                continue
            lower = raised(powers, i, -2)
            accumulate(remaining, lower, c)
            for j in others:
                accumulate(remaining, raised(lower, j, 2), -c)
        return self.like(result)

    def reduced(self) -> Polynomial:
        """sin² as 1 − cos² everywhere, and cos² as 1 − sin² over sines: two equal expressions have the same terms."""
        best, columns = self, list(zip(*self.terms, strict=True))
        for i, j in self.circles if columns else ():
            if max(columns[i]) < 2 and min(columns[i]) >= 0:
                continue
            best = best.on_sphere(i, [j])
            over_sines = {powers: c for powers, c in best.terms.items() if powers[i] < 0}
            if over_sines:
                others = {powers: c for powers, c in best.terms.items() if powers[i] >= 0}
                best = best.like(total([others, best.like(over_sines).on_sphere(j, [i]).terms]))
        return best

    def waves(self) -> dict[Wave, Number]:
        """Σ coefficient · monomial · cos or sin of Σ n_i x_i, by cos x cos y = ½ (cos(x + y) + cos(x − y)) and similar
        identities."""
        waves: dict[Wave, Number] = {}
        trig = {i for circle in self.circles for i in circle}
        for powers, coefficient in self.terms.items():
            monomial = tuple(0 if i in trig else k for i, k in enumerate(powers))
            terms: dict[Any, Number] = {((0,) * len(self.circles), False): coefficient}
            for n, (s, c) in enumerate(self.circles):
                for sine in [False] * powers[c] + [True] * powers[s]:
                    terms = times_wave(terms, n, sine)
            for (multiples, sine), value in terms.items():
                key = (monomial, multiples, sine)
                waves[key] = waves.get(key, 0) + value
        return {key: value for key, value in waves.items() if value}

    def divided(self, by: Mapping[Powers, Number]) -> Polynomial | None:
        """The quotient where `by` (reduced, powers not negative) divides the polynomial modulo sin² + cos² = 1; else None."""
        terms = quotient_of(self.terms, by, self._remainder)
        return None if terms is None else self.like(terms)

    def _remainder(self, terms: Terms) -> Terms:
        """The same terms with sin² = 1 − cos², where a sine is squared."""
        sines = [i for i, _ in self.circles]
        squared = any(powers[i] > 1 for powers in terms for i in sines)
        return self.like(terms).reduced().terms if squared else terms

    def over(self, i: int) -> Polynomial | None:
        """All terms over one power, as low as possible, of the sum that is the i-th atom; None if that is not shorter."""
        lowest = min((powers[i] for powers in self.terms), default=0)
        if lowest >= 0:
            return None
        denominator = Polynomial.of(self.atoms[i], single=True)
        places = {x: k for k, x in enumerate(self.atoms)}
        if len(denominator) > 20 or not all(x in places for x in denominator.atoms):
            return None
        positions = [places[x] for x in denominator.atoms]
        spread = lambda powers: tuple(dict(zip(positions, powers, strict=True)).get(k, 0) for k in range(len(self.atoms)))
        D = self.like({spread(powers): c for powers, c in denominator.terms.items()}).reduced()
        numerators = []
        for power in range(lowest, 1 + max(powers[i] for powers in self.terms)):
            summand = self.like({raised(p, i, -power): c for p, c in self.terms.items() if p[i] == power})
            for _ in range(power - lowest):
                summand = (summand * D).reduced()
            numerators.append(summand.terms)
        numerator = self.like(total(numerators)).reduced()
        if not numerator.terms:
            return numerator
        common = tuple(map(min, zip(*numerator.terms, strict=True)))
        numerator = numerator.like({tuple(map(sub, powers, common)): c for powers, c in numerator.terms.items()})
        while lowest < 0 and min(map(min, D.terms)) >= 0 and (smaller := numerator.divided(D.terms)) is not None:
            numerator, lowest = smaller, lowest + 1
        shift = raised(common, i, lowest)
        return numerator.like({tuple(map(add, powers, shift)): c for powers, c in numerator.terms.items()})

    # -- as an expression ------------------------------------------------------------------------------------------------

    def number(self, c: Number) -> Expr:
        """A coefficient in SymPy: a float if the input had floats and it is long."""
        return long_as_float(c) if self.floats else rational(c)

    def plain(self) -> Expr:
        """A sum of products."""
        factors = lambda powers: (x**p for x, p in zip(self.atoms, powers, strict=True) if p)
        return sympy.Add(*(sympy.Mul(self.number(c), *factors(powers)) for powers, c in self.terms.items()))


# -- expansion of sums and of sines of sums ------------------------------------------------------------------------------

POWER_BITS = 16
"""Bits of a power in a packed monomial Σ p_i 2^(16 i); monomials are multiplied by one addition."""
Packed = dict[int, Number]
"""Packed monomial → coefficient."""


class TooManyTerms(Exception):
    """A product of sums has too many terms: fractions inside denominators are not counted beforehand."""


class Expansion:
    """Expansion of a sum. Atoms are collected on the way; `single` expands sines and cosines of sums and multiples of
    angles."""

    def __init__(self, single: bool, atoms: Sequence[Any] | None = None, limit: int | None = None):
        self._single_angles, self._has_fixed_atoms, self._limit = single, atoms is not None, limit
        self.atoms: list[Any] = list(atoms or ())
        self._monomials = {x: 1 << POWER_BITS * i for i, x in enumerate(self.atoms)}
        self._expanded: dict[int, tuple[Sum, Packed]] = {}

    def of(self, whole: Sum) -> Packed:
        """Packed monomial → coefficient."""
        if id(whole) in self._expanded:
            return self._expanded[id(whole)][1]
        expanded: Packed = {}
        for term in whole.terms:
            for monomial, c in self._term(term):
                expanded[monomial] = expanded[monomial] + c if monomial in expanded else c
        expanded = {monomial: c for monomial, c in expanded.items() if c}
        self._expanded[id(whole)] = whole, expanded  # keeps the sum alive, so that its id stays unique
        return expanded

    def _term(self, term: Term) -> Iterable[tuple[int, Number]]:
        c, powers = term
        monomial, sums = 0, []
        for x, p in powers.items():
            if type(x) is Sum:
                if p > 0:
                    sums += [self.of(x)] * p
                    continue
                x = x.expression(rational)
            if self._single_angles and (x.is_Add or isinstance(x, TRIGONOMETRIC)):
                opened = _opened(x, p)
                if opened is not None:
                    sums.append(self.of(opened))
                    continue
            monomial += p * self.monomial_of(x)
        if not sums:
            return [(monomial, c)]
        packed, *factors = sums
        for factor in factors:
            if self._limit is not None and len(packed) * len(factor) > 4 * self._limit:
                raise TooManyTerms
            packed = packed_product(packed, factor)
        return [(monomial + m, c * d) for m, d in packed.items()]

    def monomial_of(self, x: Any) -> int:
        """The monomial of a single atom."""
        monomial = self._monomials.get(x)
        if monomial is None:
            if self._has_fixed_atoms:
                raise KeyError(x)
            monomial = self._monomials[x] = 1 << POWER_BITS * len(self.atoms)
            self.atoms.append(x)
        return monomial

    def unpacked(self, packed: Mapping[int, Number]) -> Terms:
        """The same terms with powers as tuples."""
        return dict(zip(self.rows(packed), packed.values(), strict=True))

    def rows(self, monomials: Iterable[int]) -> list[Powers]:
        """The powers in each of the monomials."""
        powers, signs, size = _powers(len(self.atoms))
        return [powers(((m + signs) ^ signs).to_bytes(size, "little")) for m in monomials]


@cache
def _powers(n: int) -> tuple[Callable[[bytes], Powers], int, int]:
    """A reader of n powers, the highest bit of every power, and the number of bytes."""
    signs = ((1 << POWER_BITS * n) - 1) // ((1 << POWER_BITS) - 1) << (POWER_BITS - 1)
    return Struct(f"<{n}h").unpack, signs, POWER_BITS // 8 * n


def packed_product(a: Packed, b: Packed) -> Packed:
    """a × b, expanded."""
    expanded: Packed = {}
    for p, c in a.items():
        for q, d in b.items():
            expanded[p + q] = expanded.get(p + q, 0) + c * d
    return {m: c for m, c in expanded.items() if c}


@lru_cache(maxsize=4096)
def _opened(base: Any, power: int) -> Sum | None:
    """Powers of sin(a ± b), cos(2 a), tan(a) in terms of those of single angles, and sums in denominators in a canonical form.

    None if there is nothing to expand.
    """
    opened = opened_wave(base)
    if len(opened.terms) == 1:
        term = opened.terms[0]
        return None if base in term[1] else Sum([raised_term(term, power)])
    if power > 0:
        return Sum([(1, {opened: power})])
    factors = _canonical(opened.expression(rational))
    return None if base in factors else Sum([_product_of(factors, power)])


def _product_of(factors: Sequence[Any], power: int) -> Term:
    """Π factor^power; sums among them are not expanded."""
    term: Term = (1, {})
    for factor in factors:
        term = multiplied(term, (1, {factor: power}) if factor.is_Add else raised_term(Sum.of(factor).terms[0], power))
    return term


EXPANDED_DENOMINATOR_TERMS = 200
"""Largest number of terms of a denominator that is expanded."""


@lru_cache(maxsize=4096)
def _canonical(e: Any) -> tuple[Any, ...]:
    """A sum as number × monomial × sum, sin² written as 1 − cos², so that equal denominators are one atom."""
    if terms_expanded(e, EXPANDED_DENOMINATOR_TERMS) > EXPANDED_DENOMINATOR_TERMS or e.has(sympy.Float):
        return (e,)
    p = Polynomial.of(e, single=True).with_all_partners().reduced()
    if len(p) < 2:
        return (p.plain(),)
    number, common = content(p.terms.values()), tuple(map(min, zip(*p.terms, strict=True)))
    primitive = p.like({tuple(map(sub, powers, common)): quotient(c, number) for powers, c in p.terms.items()}).plain()
    if primitive.could_extract_minus_sign():
        number, primitive = -number, -primitive
    canonical = primitive if primitive == e else _canonical(primitive)[-1]
    return (p.number(number), p.like({common: 1}).plain(), primitive) if canonical == primitive else (e,)
