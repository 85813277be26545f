"""Short pages: not longer than SymPy's `simplify` makes them, and equal to what was derived in 50 digits."""

from __future__ import annotations

import json
from functools import cmp_to_key
from pathlib import Path

import pytest
import sympy
from sympy import cos, sin, tan

import appell as ap
from appell.forms.engine import expanded
from appell.forms.engine.display import lines
from appell.forms.engine.evaluation import Tape, arithmetic
from appell.forms.engine.symbolic_solve import probe, solve
from appell.forms.engine.system_terms import directions, generalized_forces, multiplier_symbols
from appell.forms.engine.work_budget import WorkBudget
from appell.forms.lagrange import euler_lagrange
from appell.letters import latex, text
from appell.tidy import collected, factored_out, length
from appell.tidy.sums import _order

SYMPY = json.loads((Path(__file__).parents[2] / "docs" / "forms" / "pages.json").read_text())["forms"]
SAMPLE = ["snakeboard", "euler_body", "rolling_disc", "sleigh"]
a, b = ap.coordinates("a b")
m, J, l = ap.parameters("m J l", positive=True)


def characters(equations) -> int:
    return sum(len(f"{text(e.lhs)} = {text(e.rhs)}") for e in equations)


def equal(one, other) -> bool:
    """To 40 digits of 50 at two points."""
    numbers = arithmetic(50)
    symbols = sorted(one.free_symbols | other.free_symbols, key=str)
    tape = Tape([one, other, sympy.Add(*map(sympy.Abs, sympy.Add.make_args(one)))])
    for k in range(2):
        x, y, size = tape({s: numbers.number(probe(s, i, k)) for i, s in enumerate(symbols)}, numbers)
        if abs(x - y) > 1e-40 * (1 + size):
            return False
    return True


def with_fractions() -> ap.System:
    """Parts of angles, so that derivatives have denominators of their own."""
    T = m * (a.d**2 * (1 + cos(a / 2) ** 2) + b.d**2 * sin(b / 3 + 2 * a / 3) / 3 + a.d * b.d * cos(a / 2 - b) * 2 / 7) / 2
    return ap.System([a, b], T, J * (a - b / 3) ** 2 / 2 + J * sin(a / 2) / 5, constraints=[ap.Constraint(sin(a / 2) - b / 5)])


@pytest.mark.parametrize("name", [*SAMPLE, "n_pendulum", "grioli", "paraboloid", "with fractions"])
def test_tables_of_powers_give_lagranges_equations(name):
    system = ap.zoo.ALL[name]().system if name in ap.zoo.ALL else with_fractions()
    lam = multiplier_symbols(system)
    pairs = zip(expanded.inertia(system), euler_lagrange(system), strict=True)
    assert all(equal(E, derived) for E, derived in pairs)
    Q, W = generalized_forces(system), directions(system)
    derived = [Q_i + sympy.Add(*(x * W_k[i] for x, W_k in zip(lam, W, strict=True))) for i, Q_i in enumerate(Q)]
    assert all(equal(one, other) for one, other in zip(expanded.forces(system, lam), derived, strict=True))


@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.parametrize("form", ["lagrange", "kane", "appell", "hamel"])
def test_short_and_equal(name, form):
    example = ap.zoo.ALL[name]()
    equations = getattr(ap.forms, form)(example.system, **({} if form == "lagrange" else {"pseudo": example.pseudo}))
    unit = example.system.quaternions  # |q| = 1 is used, so that nothing is equal off it
    shown = lines(equations, "simplified")[: len(equations.equations)]
    assert unit or all(equal(p.lhs - p.rhs, s.lhs - s.rhs) for p, s in zip(equations.equations, shown, strict=True))
    assert characters(shown) <= characters(equations.equations)
    if SYMPY.get(form, {}).get(name):
        assert characters(shown) <= SYMPY[form][name][0]


def test_the_snakeboard_fits_a_few_lines():
    example = ap.zoo.snakeboard()
    for form in (ap.forms.appell, ap.forms.hamel, ap.forms.kane):
        assert characters(lines(form(example.system, pseudo=example.pseudo), "simplified")) < 330


SHORT = [
    (1 - cos(a) ** 2, sin(a) ** 2),
    (sin(a + b) * cos(a - b) - cos(a + b) * sin(a - b), sin(2 * b)),
    (sin(a) / cos(a), tan(a)),
    (m * sin(a) ** 2 + J * sin(a) ** 2 + m * cos(a) ** 2 + J * cos(a) ** 2, m + J),
    (2 * m * cos(a) ** 2 - m, m * cos(2 * a)),
    (sin(a + b) - sin(a) * cos(b) - cos(a) * sin(b), sympy.Integer(0)),
    (m * l * cos(a) + J * l * cos(a) + m * l * sin(a) + J * l * sin(a), l * (J + m) * (sin(a) + cos(a))),
    (sin(a) ** 2 / cos(a) ** 2 + 1, cos(a) ** -2),
    (0.5 * sin(a) * cos(b) + 0.5 * cos(a) * sin(b), 0.5 * sin(a + b)),
]


@pytest.mark.parametrize("case", range(len(SHORT)))
def test_identities(case):
    long, short = SHORT[case]
    found = collected(long)
    assert length(found) <= length(short) and equal(long, found)


def test_books_write_masses_first_and_begin_with_what_is_added():
    g, h, c = ap.parameters("g h c", positive=True)
    assert text(h * a + c * a.d + m * a.dd) == "m ä + c ȧ + h a" and text(-h * a - c * a.d - m * a.dd) == "−m ä − c ȧ − h a"
    assert text(b.d * a * h - m * b.dd + m * a.dd) == "m ä − m b̈ + h a ḃ" and text(g / (h**2 * m)) == "g/(m h²)"
    assert latex(2 * h * a.d - h**2 * b + b.dd) == r"\ddot{b} + 2 h \dot{a} - h^{2} b"
    assert text(m * g * h) == "m g h" and text(h**2 * m * a.d**2 / 2) == "m h² ȧ²/2"
    assert text(sin(b - a)) == "sin(b − a)" and text(-g + h) == "h − g" and text(sympy.Abs(a)) == "|a|"


def test_some_denominators_are_common():
    r, k = ap.parameters("r k", positive=True)
    one, two = a.d, b.d
    way = factored_out(two**2 / (m * r**3 * sin(a) ** 2) + one**2 / (m * r**3) - k / r**2)
    assert len(text(way)) <= len("(ȧ² + ḃ²/sin(a)² − m k r)/(m r³)")


def test_products_and_sums_are_ordered_as_sympy_does():
    different = [a, b.d, m, J, l, ap.t, sin(a), cos(b), tan(a), a**2, m**-1, sin(a) ** 3, a + b, (a - b) ** 2, m * a, -l / 3]
    different += [sympy.Symbol("z"), sympy.Symbol("u", positive=True), sympy.Integer(2), sympy.Rational(1, 3), sympy.Float(1.5)]
    assert sorted(different, key=_order) == sorted(different, key=cmp_to_key(sympy.Basic.compare))


def test_what_may_vanish_does_not_at_a_probe():
    """Of 16 symbols two were equal at a probe: sin(p − n) was zero there, and divided by."""
    letters = sympy.symbols("a:p", real=True)
    total, wave, x = sympy.Add(*letters), sympy.sin(letters[15] - letters[13]), sympy.Symbol("x")
    assert solve(sympy.Matrix([[wave]]), sympy.Matrix([total]), [x], WorkBudget(0))[x] == total / wave
    seen = [abs(probe(letters[0], i, 1)) for i in range(60)]
    assert len(set(seen)) == 60


def test_roots_cancel_and_squares_are_written_as_squares():
    """A spring in the plane is −k x (1 − l/ρ), a ring (R + a cos θ)² φ̈; a denominator gives its minus away."""
    x, y, theta, phi = ap.coordinates("x y theta phi")
    m, k, l, R, a, J = ap.parameters("m k l R a J", positive=True)
    spring = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, k * (sympy.sqrt(x**2 + y**2) - l) ** 2 / 2)
    assert "m ẍ = k x (l/√(x² + y²) − 1)" in ap.forms.lagrange(spring).text("simplified")
    torus = ap.System([theta, phi], m * (a**2 * theta.d**2 + (R + a * cos(theta)) ** 2 * phi.d**2) / 2)
    assert "m (R + a cos(θ)) (φ̈ (R + a cos(θ)) − 2 a φ̇ θ̇ sin(θ)) = 0" in ap.forms.lagrange(torus).text("simplified")
    rates = {"u": x.d * cos(phi) + y.d * sin(phi), "omega": phi.d}
    T = m * ((x.d - a * phi.d * sin(phi)) ** 2 + (y.d + a * phi.d * cos(phi)) ** 2) / 2 + J * phi.d**2 / 2
    sleigh = ap.System([x, y, phi], T, constraints=[x.d * sin(phi) - y.d * cos(phi)])
    assert "ω̇ = −m a ω u/(J + m a²)" in ap.forms.kane(sleigh, pseudo=rates).text("solved")
