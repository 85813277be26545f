"""Short ways to write an expression of mechanics, without the risk of a long one.

    E = Σ c(t, q) × (a product of velocities, accelerations, multipliers)

Lagrange's expressions are such sums with few terms, however they were derived. An expression is multiplied out only where a
count beforehand says that the sum stays small; sin² + cos² = 1 and sines and cosines of sums are used; the shorter of both
ways to write it is kept.

Polynomials are dicts {exponents of the atoms: coefficient}: SymPy's own `expand` takes a hundred times longer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, reduce
from itertools import combinations
from math import comb, gcd, isfinite, lcm
from operator import add, sub
from typing import Any

import sympy
from sympy import Expr

from appell.jets import Jet, QuaternionComponent

SMALL = 500
"""Terms up to which an expression is multiplied out."""

Powers = tuple[int, ...]
Terms = dict[Powers, Fraction]


def collected(expr: Expr, *, limit: int = SMALL, unit: bool = False) -> Expr:
    """Σ c × monomial where it has at most `limit` terms and is shorter; else as given. `unit` uses |q| = 1 of quaternions."""
    if expr.is_Atom or terms_expanded(expr, limit) > limit:
        return expr
    short = Polynomial.of(expr).with_partners().trigonometric().with_angle_sums()
    short = short.on_unit_quaternions() if unit else short
    best = min(expr, short.by_motion(), key=length)
    ways = _by_single_angles(expr, limit)
    if ways is None and best.is_Add:  # too much at once: what multiplies each product of velocities by itself
        terms: Any = best.args
        parts = [collected(part, limit=limit, unit=unit) for part in terms if part.is_Mul]
        ways = [sympy.Add(*parts, *(part for part in terms if not part.is_Mul))]
    return min([best, *(ways or [])], key=length)


def _by_single_angles(expr: Expr, limit: int) -> list[Expr] | None:
    """In sines and cosines of single angles, where all that cancels has cancelled, in a few ways; None if that is too long."""
    single = in_single_angles(expr)
    if terms_expanded(single, 4 * limit) > 4 * limit:
        return None
    if not single.has(sympy.sin, sympy.cos):
        return []
    plain = Polynomial.of(single).with_all_partners().reduced()
    square = plain.squared()
    ways = [plain, square, square.with_double_angles(), square.with_angle_sums(), plain.with_angle_sums()]
    return [way.by_motion() for way in ways]


def in_single_angles(expr: Any) -> Any:
    """sin(a ± b), cos(2 a), tan(a) as sums and products of sines and cosines of single angles; sums in denominators tidied."""
    table: dict[Any, Any] = {}
    for x in expr.atoms(sympy.sin, sympy.cos, sympy.tan, sympy.cot):
        s, c = _single(x.args[0])
        table[x] = {sympy.sin: s, sympy.cos: c, sympy.tan: s / c, sympy.cot: c / s}[x.func]
    table = {x: way for x, way in table.items() if x != way}
    below = {p: p.base for p in expr.atoms(sympy.Pow) if p.exp.is_Integer and p.exp < 0 and p.base.is_Add}
    if not below:
        return expr.xreplace(table) if table else expr
    for p, base in below.items():
        if base.has(sympy.sin, sympy.cos, sympy.tan):
            table[p] = collected(base, limit=200) ** p.exp
    return expr.xreplace({x: way for x, way in table.items() if x != way})


def _single(angle: Any) -> tuple[Any, Any]:
    """(sin, cos) of a sum of whole multiples of angles in those of the angles."""
    s, c = sympy.Integer(0), sympy.Integer(1)
    for term in sympy.Add.make_args(angle):
        n, a = term.as_coeff_Mul()
        if not n.is_Integer or abs(n) > 4:
            n, a = sympy.Integer(1), term
        sign = 1 if n > 0 else -1
        s_a, c_a = sympy.Integer(0), sympy.Integer(1)
        for _ in range(abs(int(n))):
            s_a, c_a = s_a * sympy.cos(a) + c_a * sympy.sin(a), c_a * sympy.cos(a) - s_a * sympy.sin(a)
        s, c = s * c_a + sign * c * s_a, c * c_a - sign * s * s_a
    return s, c


def inside_out(expr: Any, limit: int = 60) -> Any:
    """The expression with each sum inside a product or a power collected, innermost first, so that less is multiplied out."""
    known: dict[Any, Any] = {}

    def short(e: Any) -> Any:
        if e.is_Atom or not (e.is_Add or e.is_Mul or e.is_Pow):
            return e
        if e not in known:
            made = e.func(*map(short, e.args))
            known[e] = collected(made, limit=limit) if made.is_Add else made
        return known[e]

    return expr.func(*map(short, expr.args)) if expr.args else expr


def length(expr: Any) -> int:
    """Symbols, numbers and functions, as printed: cheaper than `count_ops`."""
    return (not (expr.is_Add or expr.is_Mul)) + sum(map(length, expr.args))


def terms_expanded(expr: Any, limit: int) -> int:
    """The number of terms of the expression multiplied out, like terms apart; more than `limit` are not counted further."""
    if expr.is_Add or expr.is_Mul:
        count = 0 if expr.is_Add else 1
        for x in expr.args:
            n = terms_expanded(x, limit)
            count = count + n if expr.is_Add else count * n
            if count > limit:
                break
        return count
    if expr.is_Pow and expr.exp.is_Integer and expr.exp > 1:
        return comb(terms_expanded(expr.base, limit) + int(expr.exp) - 1, int(expr.exp))
    return 1


class Polynomial:
    """Σ coefficient × Π atom^power. Atoms are symbols, functions, and whatever else is no sum, product or integer power.

    Coefficients are exact, so that what cancels cancels; where `floats` went in, long ones come out as floats.
    """

    def __init__(self, atoms: Sequence[Any], terms: Terms, floats: bool = False):
        self.atoms, self.terms, self.floats = atoms, terms, floats

    @staticmethod
    def of(expr: Expr) -> Polynomial:
        atoms = list(dict.fromkeys(_atoms(expr)))
        places = {x: i for i, x in enumerate(atoms)}
        one = (0,) * len(atoms)
        known: dict[Any, Terms] = {}

        def terms(e: Any) -> Terms:
            if e not in known:
                known[e] = make(e)
            return known[e]

        def make(e: Any) -> Terms:
            if e.is_Add:
                return _plus(map(terms, e.args))
            if e.is_Mul:
                return reduce(_times, map(terms, e.args))
            if _is_number(e):
                c = Fraction(int(e.p), int(e.q)) if e.is_Rational else Fraction(float(e))
                return {one: c} if c else {}
            base, power = _base(e)
            if base.is_Add and power > 0:
                return reduce(_times, [terms(base)] * power)
            return {_raised(one, places[base], power): Fraction(1)}

        return Polynomial(atoms, terms(expr), floats=expr.has(sympy.Float))

    @cached_property
    def _angles(self) -> list[tuple[int, int]]:
        """Where sin and cos of an angle stand, for each angle that has both."""
        cosines = {x.args[0]: j for j, x in enumerate(self.atoms) if isinstance(x, sympy.cos)}
        sines = [(i, x.args[0]) for i, x in enumerate(self.atoms) if isinstance(x, sympy.sin)]
        return [(i, cosines[angle]) for i, angle in sines if angle in cosines]

    def with_partners(self) -> Polynomial:
        """With sin of every angle whose cosine is squared, and the other way round, among the atoms: 1 − cos² is sin²."""
        squared = [x for i, x in enumerate(self.atoms) if any(powers[i] > 1 for powers in self.terms)]
        waves = [x for x in squared if isinstance(x, sympy.sin | sympy.cos)]
        pairs = [(x, sympy.sin if isinstance(x, sympy.cos) else sympy.cos) for x in waves]
        new = [partner for x, other in pairs if (partner := other(x.args[0])) not in self.atoms and isinstance(partner, other)]
        more = (0,) * len(new)
        return Polynomial([*self.atoms, *new], {powers + more: c for powers, c in self.terms.items()}, self.floats)

    def with_all_partners(self) -> Polynomial:
        """With the sine and the cosine of every angle among the atoms."""
        waves = [x for x in self.atoms if isinstance(x, sympy.sin | sympy.cos)]
        new = [w for x in waves for w in (sympy.sin(x.args[0]), sympy.cos(x.args[0])) if w not in self.atoms]
        new = [w for w in dict.fromkeys(new) if isinstance(w, sympy.sin | sympy.cos)]
        more = (0,) * len(new)
        return Polynomial([*self.atoms, *new], {powers + more: c for powers, c in self.terms.items()}, self.floats)

    def reduced(self) -> Polynomial:
        """sin² as 1 − cos² everywhere, and cos² as 1 − sin² over sines: two equal expressions have the same terms."""
        best = self
        for i, j in self._angles:
            best = best.on_sphere(i, [j])
            below = {powers: c for powers, c in best.terms.items() if powers[i] < 0}
            if below:
                above = {powers: c for powers, c in best.terms.items() if powers[i] >= 0}
                rest = Polynomial(best.atoms, below, best.floats).on_sphere(j, [i]).terms
                best = Polynomial(best.atoms, _plus([above, rest]), best.floats)
        return best

    def squared(self) -> Polynomial:
        """With α − α cos² = α sin², term by term: what `reduced` has torn apart."""
        left = dict(self.terms)
        for i, j in self._angles:
            for powers in sorted(left, reverse=True):
                over = _raised(powers, j, 2)
                if powers in left and over in left and left[over] == -left[powers]:
                    c = left.pop(powers)
                    del left[over]
                    _accumulate(left, _raised(powers, i, 2), c)
        return Polynomial(self.atoms, left, self.floats)

    def with_double_angles(self) -> Polynomial:
        """With sin a cos a = ½ sin 2a and 2 cos² − 1 = cos 2a."""
        atoms, left = list(self.atoms), dict(self.terms)
        for i, j in self._angles:
            angle, place = self.atoms[i].args[0], len(atoms)
            atoms += [sympy.sin(2 * angle), sympy.cos(2 * angle)]
            found: Terms = {}
            longer: Terms = {(*powers, 0, 0): c for powers, c in left.items()}
            left = longer
            for powers in sorted(left, reverse=True):
                over = _raised(powers, j, 2)
                if powers not in left:
                    continue
                if over in left and left[over] == -2 * left[powers]:
                    c = left.pop(powers)
                    del left[over]
                    _accumulate(found, _raised(powers, place + 1, 1), -c)
                elif powers[i] > 0 and powers[j] > 0:
                    n = min(powers[i], powers[j])
                    c = left.pop(powers)
                    _accumulate(found, _raised(_raised(_raised(powers, i, -n), j, -n), place, n), c / 2**n)
            left = _plus([left, found])
        return Polynomial(atoms, left, self.floats)

    def trigonometric(self) -> Polynomial:
        """With sin² or cos² of each angle written by the other, where that leaves fewer terms."""
        best = self
        for i, j in self._angles:
            best = min(best, best.on_sphere(i, [j]), best.on_sphere(j, [i]), key=lambda p: len(p.terms))
        return best

    def on_sphere(self, i: int, others: Sequence[int]) -> Polynomial:
        """x_i² = 1 − Σ x_j²: the remainder, of degree one in x_i."""
        left, done = dict(self.terms), {}
        if all(powers[i] < 2 for powers in left):
            return self
        while left:
            powers, c = left.popitem()
            if powers[i] < 2:
                _accumulate(done, powers, c)
                continue
            lower = _raised(powers, i, -2)
            _accumulate(left, lower, c)
            for j in others:
                _accumulate(left, _raised(lower, j, 2), -c)
        return Polynomial(self.atoms, done, self.floats)

    def with_angle_sums(self) -> Polynomial:
        """With sin a sin b + cos a cos b = cos(a − b), and its three companions, where both terms have one coefficient."""
        angles = self._angles
        present = ([k for k, (s, c) in enumerate(angles) if powers[s] or powers[c]] for powers in self.terms)
        best = self
        for k, l in dict.fromkeys(pair for each in present for pair in combinations(each, 2)):
            (sa, ca), (sb, cb) = angles[k], angles[l]
            a, b = self.atoms[sa].args[0], self.atoms[sb].args[0]
            best = best.joined((sa, sb), (ca, cb), lambda same, a=a, b=b: sympy.cos(a - b) if same else -sympy.cos(a + b))
            best = best.joined((sa, cb), (ca, sb), lambda same, a=a, b=b: sympy.sin(a + b) if same else sympy.sin(a - b))
        return best

    def joined(self, one: tuple[int, int], other: tuple[int, int], total: Callable[[bool], Expr]) -> Polynomial:
        """x_i x_j + x_k x_l = total(True) and x_i x_j − x_k x_l = total(False), for one = (i, j) and other = (k, l)."""
        i, j = one
        left, found = dict(self.terms), []
        for powers in [p for p in left if p[i] > 0 and p[j] > 0]:
            rest = tuple(p - (n in one) for n, p in enumerate(powers))
            partner = tuple(p + (n in other) for n, p in enumerate(rest))
            if powers in left and abs(left.get(partner, 0)) == abs(left[powers]):
                c, d = left.pop(powers), left.pop(partner)
                number, atom = total(c == d).as_coeff_Mul()
                found.append((rest, c * int(number), atom))
        if not found:
            return self
        new = [atom for atom in dict.fromkeys(atom for *_, atom in found) if atom not in self.atoms]
        more = (0,) * len(new)
        result = Polynomial([*self.atoms, *new], {powers + more: c for powers, c in left.items()}, self.floats)
        for rest, c, atom in found:
            _accumulate(result.terms, _raised(rest + more, result.atoms.index(atom), 1), c)
        return result

    def on_unit_quaternions(self) -> Polynomial:
        """With a component of each unit quaternion, of degree one, removed by x² + y² + z² + w² = 1, where that is shorter."""
        best = self
        owner = {i: x.quaternion for i, x in enumerate(self.atoms) if isinstance(x, QuaternionComponent) and not x.order}
        for name in dict.fromkeys(owner.values()):
            four = [i for i, its in owner.items() if its == name]
            if len(four) == 4:
                rests = [best.on_sphere(i, [j for j in four if j != i]) for i in four]
                best = min(best, *rests, key=lambda p: len(p.terms))
        return best

    def by_motion(self) -> Expr:
        """Σ c(t, q) × monomial in what moves, factors common to a c taken out of it."""
        moving = [i for i, x in enumerate(self.atoms) if _is_moving(x)]
        groups: dict[Powers, Terms] = {}
        for powers, c in self.terms.items():
            fixed = tuple(0 if i in moving else p for i, p in enumerate(powers))
            groups.setdefault(tuple(map(sub, powers, fixed)), {})[fixed] = c
        return sympy.Add(*(self._monomial(Fraction(1), key) * self._factored(c) for key, c in groups.items()))

    def _factored(self, terms: Terms) -> Expr:
        """A number and the powers that all terms share, times the rest: by its waves, by its parameters, or as a product."""
        common = tuple(map(min, *terms)) if len(terms) > 1 else next(iter(terms))
        number = Fraction(1) if self.floats else _content(terms.values())
        rest = {tuple(map(sub, powers, common)): c / number for powers, c in terms.items()}
        outside = self._monomial(number, common)
        return sympy.Mul(outside, min(self._sums(rest), key=length))

    def _sums(self, rest: Terms) -> list[Expr]:
        """Ways to write a sum whose terms share nothing."""
        flat = sympy.Add(*(self._monomial(c, powers) for powers, c in rest.items()))
        waves = [isinstance(x, sympy.sin | sympy.cos) or bool(x.free_symbols and isinstance(x, Jet)) for x in self.atoms]
        split = {powers: tuple(p if w else 0 for p, w in zip(powers, waves, strict=True)) for powers in rest}
        if len(rest) < 3 or len(set(split.values())) in (1, 0):
            return [flat]
        by_wave: dict[Powers, Terms] = {}
        by_rest: dict[Powers, Terms] = {}
        for powers, c in rest.items():
            wave, other = split[powers], tuple(map(sub, powers, split[powers]))
            by_wave.setdefault(wave, {})[other] = c
            by_rest.setdefault(other, {})[wave] = c
        if len(by_wave) == len(rest) == len(by_rest):
            return [flat]
        return [flat, *(self._grouped(groups) for groups in (by_wave, by_rest)), *self._product(by_wave)]

    def _grouped(self, groups: Mapping[Powers, Terms]) -> Expr:
        parts = []
        for key, inner in groups.items():
            number = Fraction(1) if self.floats else _content(inner.values())
            sums = sympy.Add(*(self._monomial(c / number, powers) for powers, c in inner.items()))
            parts.append(sympy.Mul(self._monomial(number, key), sums))
        return sympy.Add(*parts)

    def _product(self, groups: Mapping[Powers, Terms]) -> list[Expr]:
        """(Σ waves)(Σ parameters) where every group is a multiple of the first."""
        first, *others = groups.values()
        key = next(iter(first))
        ratios = [inner.get(key, Fraction(0)) / first[key] for inner in groups.values()]
        pairs = zip(ratios, groups.values(), strict=True)
        alike = all({k: c * ratio for k, c in first.items()} == inner for ratio, inner in pairs)
        if not others or not alike:
            return []
        one = sympy.Add(*(self._monomial(ratio, wave) for ratio, wave in zip(ratios, groups, strict=True)))
        return [sympy.Mul(one, sympy.Add(*(self._monomial(c, powers) for powers, c in first.items())))]

    def _monomial(self, c: Fraction, powers: Powers) -> Expr:
        long = self.floats and max(abs(c.numerator), c.denominator) > 1000
        number = sympy.Float(float(c)) if long else sympy.Rational(c.numerator, c.denominator)
        left = {i: p for i, p in enumerate(powers) if p}
        tangents = []
        for i, j in self._angles:
            n = min(left.get(i, 0), -left.get(j, 0))
            if n > 0:
                tangents.append(sympy.tan(self.atoms[i].args[0]) ** n)
                left[i], left[j] = left[i] - n, left[j] + n
        return sympy.Mul(number, *tangents, *(self.atoms[i] ** p for i, p in left.items() if p))


def _is_number(e: Any) -> bool:
    return e.is_Rational or (e.is_Float and e._prec <= 53 and isfinite(e))


def _base(e: Any) -> tuple[Any, int]:
    return (e.base, int(e.exp)) if e.is_Pow and e.exp.is_Integer else (e, 1)


def _atoms(e: Any) -> Iterable[Any]:
    base, power = _base(e)
    if e.is_Add or e.is_Mul:
        for x in e.args:
            yield from _atoms(x)
    elif base.is_Add and power > 0:
        yield from _atoms(base)
    elif not _is_number(e):
        yield base


def _raised(powers: Powers, i: int, by: int) -> Powers:
    return (*powers[:i], powers[i] + by, *powers[i + 1 :])


def _accumulate(terms: Terms, powers: Powers, c: Fraction) -> None:
    total = terms[powers] + c if powers in terms else c
    if total:
        terms[powers] = total
    else:
        del terms[powers]


def _plus(parts: Iterable[Terms]) -> Terms:
    out: Terms = {}
    for part in parts:
        for powers, c in part.items():
            _accumulate(out, powers, c)
    return out


def _times(a: Terms, b: Terms) -> Terms:
    out: Terms = {}
    for p, c in a.items():
        for q, d in b.items():
            _accumulate(out, tuple(map(add, p, q)), c * d)
    return out


def _content(numbers: Collection[Fraction]) -> Fraction:
    """The largest number that leaves integers; negative where all are."""
    sign = -1 if all(c < 0 for c in numbers) else 1
    return Fraction(sign * gcd(*(c.numerator for c in numbers)), lcm(*(c.denominator for c in numbers)))


def _is_moving(s: Any) -> bool:
    """A velocity, an acceleration or a multiplier."""
    return (isinstance(s, Jet) and s.level > 0) or hasattr(s, "label")
