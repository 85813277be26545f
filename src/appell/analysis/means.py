"""Exact means of trigonometric polynomials over pieces of a period.

    ∫ φᵖ e^{i(kφ + c)} dφ = e^{i(kφ + c)} Σ_j (−1)ʲ p!/(p−j)! φ^{p−j} / (ik)^{j+1}            k ≠ 0

Sines and cosines of linear arguments are written as exponentials, products of powers and exponentials are integrated term by
term, and the result comes back in sines and cosines. There is no search, so the cost is that of expanding.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Expr, I, Symbol, cos, exp, sin

from appell.errors import ModelError


def integral(expr: Expr, phi: Symbol, lower: Expr, upper: Expr) -> Expr:
    """∫ expr dφ for a polynomial in φ, sines and cosines of multiples of φ; anything else raises."""
    expanded = sympy.expand(sympy.powsimp(sympy.expand(exponentials(expr, phi))))
    terms = [term for term in sympy.Add.make_args(expanded) if term != 0]
    value = sympy.Add(*(_between(term, phi, lower, upper) for term in terms))
    return real(value)


def real(expr: Expr) -> Expr:
    """A real expression with imaginary exponentials, rewritten in sines and cosines."""
    in_waves = expr.replace(
        lambda e: isinstance(e, exp) and e.args[0].has(I),
        lambda e: (lambda a: cos(a) + I * sin(a))(sympy.expand(-I * e.args[0])),
    )
    expanded = sympy.expand(in_waves)
    real_terms = sympy.Add(*(term for term in sympy.Add.make_args(expanded) if not term.has(I)))
    return sympy.factor_terms(real_terms)  # type: ignore[return-value]


def exponentials(expr: Expr, phi: Symbol) -> Expr:
    waves = [e for e in expr.atoms(sin, cos) if e.has(phi)]
    return expr.xreplace({e: _euler(e) for e in waves})  # type: ignore[return-value]


def _euler(wave: Any) -> Expr:
    """cos or sin as exponentials."""
    forward, backward = exp(I * wave.args[0]), exp(-I * wave.args[0])
    return (forward + backward) / 2 if isinstance(wave, cos) else (forward - backward) / (2 * I)


def _between(term: Expr, phi: Symbol, lower: Expr, upper: Expr) -> Expr:
    primitive = _primitive(term, phi)
    return primitive.subs(phi, upper) - primitive.subs(phi, lower)


def _primitive(term: Expr, phi: Symbol) -> Expr:
    """The antiderivative of c φᵖ exp(i(kφ + b))."""
    constant, varying = term.as_independent(phi, as_Add=False)
    power, exponents = 0, []
    for factor in sympy.Mul.make_args(varying):
        base, degree = factor.as_base_exp()
        if isinstance(factor, exp):
            exponents.append(factor.args[0])
        elif base == phi and degree.is_Integer and degree.is_nonnegative:
            power += int(degree)
        elif factor != 1:
            raise ModelError(
                f"the mean over a period of the term {factor} is not known in closed form: averaging takes forces that are"
                " polynomials in position and velocity, times sines and cosines of ωt"
            )
    exponent = sympy.expand(sympy.Add(*exponents))
    slope = exponent.coeff(phi, 1)
    if sympy.expand(exponent - slope * phi).has(phi):
        raise ModelError(f"the mean over a period of exp({exponent}) is not known in closed form")
    p = power
    if slope == 0:
        return constant * exp(exponent) * phi ** (p + 1) / (p + 1)
    k = sympy.expand(-I * slope)
    series = [(-1) ** j * sympy.ff(p, j) * phi ** (p - j) * sympy.expand((-I) ** (j + 1)) / k ** (j + 1) for j in range(p + 1)]
    return constant * exp(exponent) * sympy.Add(*series)
