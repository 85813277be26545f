"""Other forms of the same polynomial: by squares, double angles, sums of angles, unit quaternions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from itertools import combinations

import sympy
from sympy import Expr

from appell.tidy.polynomial import Polynomial
from appell.tidy.sums import wave
from appell.tidy.terms import Powers, Terms, accumulate, quotient, raised, total


def with_partners(p: Polynomial) -> Polynomial:
    """Adds the sine of every angle whose cosine is squared, and the reverse, to the atoms: 1 − cos² is sin²."""
    squared = [x for i, x in enumerate(p.atoms) if any(powers[i] > 1 for powers in p.terms)]
    waves = [x for x in squared if isinstance(x, sympy.sin | sympy.cos)]
    pairs = [(x, sympy.sin if isinstance(x, sympy.cos) else sympy.cos) for x in waves]
    return p.with_atoms([y for x, kind in pairs if (y := wave(kind, x.args[0])) not in p.atoms and isinstance(y, kind)])


def fewest_squares(p: Polynomial) -> Polynomial:
    """Replaces sin² or cos² of each angle by the other, where that leaves fewer terms."""
    best = p
    for i, j in p.circles:
        best = min(best, best.on_sphere(i, [j]), best.on_sphere(j, [i]), key=len)
    return best


def squared(p: Polynomial) -> Polynomial:
    """Applies α − α cos² = α sin², term by term: recombines what `reduced` has separated."""
    terms = dict(p.terms)
    for i, j in p.circles:
        for powers in sorted(terms, reverse=True):
            times_cos2 = raised(powers, j, 2)
            if powers in terms and times_cos2 in terms and terms[times_cos2] == -terms[powers]:
                c = terms.pop(powers)
                del terms[times_cos2]
                accumulate(terms, raised(powers, i, 2), c)
    return p.like(terms)


def with_double_angles(p: Polynomial) -> Polynomial:
    """Applies sin a cos a = ½ sin 2a and 2 cos² − 1 = cos 2a."""
    atoms, terms = list(p.atoms), dict(p.terms)
    for i, j in p.circles:
        angle, index = p.atoms[i].args[0], len(atoms)
        doubled: Terms = {}
        extended: Terms = {(*powers, 0, 0): c for powers, c in terms.items()}
        for powers in sorted(extended, reverse=True):
            times_cos2 = raised(powers, j, 2)
            if powers not in extended:
                continue
            if times_cos2 in extended and extended[times_cos2] == -2 * extended[powers]:
                c = extended.pop(powers)
                del extended[times_cos2]
                accumulate(doubled, raised(powers, index + 1, 1), -c)
            elif powers[i] > 0 and powers[j] > 0:
                n = min(powers[i], powers[j])
                c = extended.pop(powers)
                accumulate(doubled, raised(raised(raised(powers, i, -n), j, -n), index, n), quotient(c, 2**n))
        if doubled:
            atoms += [wave(sympy.sin, angle, 2), wave(sympy.cos, angle, 2)]
            terms = total([extended, doubled])
    return Polynomial(atoms, terms, p.floats)


def with_angle_sums(p: Polynomial) -> Polynomial:
    """Applies sin a sin b + cos a cos b = cos(a − b), and the three similar identities, where both terms have the same
    coefficient."""
    angles = cache(lambda powers: frozenset(k for k, (s, c) in enumerate(p.circles) if powers[s] or powers[c]))
    present, n = [angles(powers) for powers in p.terms], len(p.atoms)
    best = p
    for pair in dict.fromkeys(pair for circles in dict.fromkeys(present) for pair in combinations(sorted(circles), 2)):
        (sa, ca), (sb, cb) = p.circles[pair[0]], p.circles[pair[1]]
        a, b = p.atoms[sa].args[0], p.atoms[sb].args[0]
        of_cosines = lambda same, a=a, b=b: sympy.cos(a - b) if same else -sympy.cos(a + b)
        of_sines = lambda same, a=a, b=b: sympy.sin(a + b) if same else sympy.sin(a - b)
        for first, second, made_of in (((sa, sb), (ca, cb), of_cosines), ((sa, cb), (ca, sb), of_sines)):
            candidates = [powers for powers, circles in zip(best.terms, present, strict=True) if circles.issuperset(pair)]
            joined = _joined(best, candidates, first, second, made_of)
            if joined is not best:
                best, present = joined, [angles(powers[:n]) for powers in joined.terms]
    return best


def _joined(
    p: Polynomial, among: Iterable[Powers], first: tuple[int, int], second: tuple[int, int], wave: Callable[[bool], Expr]
) -> Polynomial:
    """x_i x_j + x_k x_l = wave(True) and x_i x_j − x_k x_l = wave(False), for first = (i, j) and second = (k, l)."""
    terms, done, joined = p.terms, set(), []
    waves = cache(lambda same: wave(same).as_coeff_Mul())
    for powers in [powers for powers in among if powers[first[0]] > 0 and powers[first[1]] > 0]:
        partner = _exchanged(powers, first, second)
        if partner in terms and powers not in done and partner not in done and abs(terms[partner]) == abs(terms[powers]):
            done |= {powers, partner}
            number, atom = waves(terms[powers] == terms[partner])
            joined.append((_exchanged(powers, first), terms[powers] * int(number), atom))
    if not joined:
        return p
    remaining = {powers: c for powers, c in terms.items() if powers not in done}
    result = p.like(remaining).with_atoms([atom for atom in dict.fromkeys(atom for *_, atom in joined) if atom not in p.atoms])
    zeros, indices = (0,) * (len(result.atoms) - len(p.atoms)), {x: index for index, x in enumerate(result.atoms)}
    for monomial, c, atom in joined:
        accumulate(result.terms, raised(monomial + zeros, indices[atom], 1), c)
    return result


def _exchanged(powers: Powers, divisors: Iterable[int], factors: Iterable[int] = ()) -> Powers:
    """A monomial over some of its factors, times others."""
    exchanged = list(powers)
    for i in divisors:
        exchanged[i] -= 1
    for i in factors:
        exchanged[i] += 1
    return tuple(exchanged)


def on_unit_quaternions(p: Polynomial) -> Polynomial:
    """Eliminates a component of each unit quaternion, of degree one, by x² + y² + z² + w² = 1, where that is shorter."""
    best = p
    for last, others in p.spheres().items():
        components = (*others, last)
        best = min(best, *(best.on_sphere(i, [j for j in components if j != i]) for i in components), key=len)
    return best
