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
    return p.with_atoms([y for x, other in pairs if (y := wave(other, x.args[0])) not in p.atoms and isinstance(y, other)])


def fewest_squares(p: Polynomial) -> Polynomial:
    """Replaces sin² or cos² of each angle by the other, where that leaves fewer terms."""
    best = p
    for i, j in p.circles:
        best = min(best, best.on_sphere(i, [j]), best.on_sphere(j, [i]), key=len)
    return best


def squared(p: Polynomial) -> Polynomial:
    """Applies α − α cos² = α sin², term by term: recombines what `reduced` has separated."""
    left = dict(p.terms)
    for i, j in p.circles:
        for powers in sorted(left, reverse=True):
            over = raised(powers, j, 2)
            if powers in left and over in left and left[over] == -left[powers]:
                c = left.pop(powers)
                del left[over]
                accumulate(left, raised(powers, i, 2), c)
    return p.like(left)


def with_double_angles(p: Polynomial) -> Polynomial:
    """Applies sin a cos a = ½ sin 2a and 2 cos² − 1 = cos 2a."""
    atoms, left = list(p.atoms), dict(p.terms)
    for i, j in p.circles:
        angle, place = p.atoms[i].args[0], len(atoms)
        found: Terms = {}
        longer: Terms = {(*powers, 0, 0): c for powers, c in left.items()}
        for powers in sorted(longer, reverse=True):
            over = raised(powers, j, 2)
            if powers not in longer:
                continue
            if over in longer and longer[over] == -2 * longer[powers]:
                c = longer.pop(powers)
                del longer[over]
                accumulate(found, raised(powers, place + 1, 1), -c)
            elif powers[i] > 0 and powers[j] > 0:
                n = min(powers[i], powers[j])
                c = longer.pop(powers)
                accumulate(found, raised(raised(raised(powers, i, -n), j, -n), place, n), quotient(c, 2**n))
        if found:
            atoms += [wave(sympy.sin, angle, 2), wave(sympy.cos, angle, 2)]
            left = total([longer, found])
    return Polynomial(atoms, left, p.floats)


def with_angle_sums(p: Polynomial) -> Polynomial:
    """Applies sin a sin b + cos a cos b = cos(a − b), and the three similar identities, where both terms have the same
    coefficient."""
    angles = cache(lambda powers: frozenset(k for k, (s, c) in enumerate(p.circles) if powers[s] or powers[c]))
    present, n = [angles(powers) for powers in p.terms], len(p.atoms)
    best = p
    for pair in dict.fromkeys(pair for each in dict.fromkeys(present) for pair in combinations(sorted(each), 2)):
        (sa, ca), (sb, cb) = p.circles[pair[0]], p.circles[pair[1]]
        a, b = p.atoms[sa].args[0], p.atoms[sb].args[0]
        of_cosines = lambda same, a=a, b=b: sympy.cos(a - b) if same else -sympy.cos(a + b)
        of_sines = lambda same, a=a, b=b: sympy.sin(a + b) if same else sympy.sin(a - b)
        for one, other, made_of in (((sa, sb), (ca, cb), of_cosines), ((sa, cb), (ca, sb), of_sines)):
            those = [powers for powers, each in zip(best.terms, present, strict=True) if each.issuperset(pair)]
            made = _joined(best, those, one, other, made_of)
            if made is not best:
                best, present = made, [angles(powers[:n]) for powers in made.terms]
    return best


def _joined(
    p: Polynomial, among: Iterable[Powers], one: tuple[int, int], other: tuple[int, int], wave: Callable[[bool], Expr]
) -> Polynomial:
    """x_i x_j + x_k x_l = wave(True) and x_i x_j − x_k x_l = wave(False), for one = (i, j) and other = (k, l)."""
    terms, gone, found = p.terms, set(), []
    waves = cache(lambda same: wave(same).as_coeff_Mul())
    for powers in [powers for powers in among if powers[one[0]] > 0 and powers[one[1]] > 0]:
        partner = _exchanged(powers, one, other)
        if partner in terms and powers not in gone and partner not in gone and abs(terms[partner]) == abs(terms[powers]):
            gone |= {powers, partner}
            number, atom = waves(terms[powers] == terms[partner])
            found.append((_exchanged(powers, one), terms[powers] * int(number), atom))
    if not found:
        return p
    left = {powers: c for powers, c in terms.items() if powers not in gone}
    result = p.like(left).with_atoms([atom for atom in dict.fromkeys(atom for *_, atom in found) if atom not in p.atoms])
    more, places = (0,) * (len(result.atoms) - len(p.atoms)), {x: place for place, x in enumerate(result.atoms)}
    for rest, c, atom in found:
        accumulate(result.terms, raised(rest + more, places[atom], 1), c)
    return result


def _exchanged(powers: Powers, out: Iterable[int], into: Iterable[int] = ()) -> Powers:
    """A monomial over some of its factors, times others."""
    made = list(powers)
    for i in out:
        made[i] -= 1
    for i in into:
        made[i] += 1
    return tuple(made)


def on_unit_quaternions(p: Polynomial) -> Polynomial:
    """Eliminates a component of each unit quaternion, of degree one, by x² + y² + z² + w² = 1, where that is shorter."""
    best = p
    for last, others in p.spheres().items():
        four = (*others, last)
        best = min(best, *(best.on_sphere(i, [j for j in four if j != i]) for i in four), key=len)
    return best
