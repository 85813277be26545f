"""Chains and trees with symbols: printed in them, checked against Lagrange and the recursive algorithm, run with numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sympy
from sympy import Symbol, cos, sin
from tests.tree import written
from tests.tree.chains import TOLERANCE, Posed, gap, posed, random_chain, random_tree, scale_of

import appell as ap
from appell.errors import ModelError
from appell.tree import Chain, ChainLink, Joint, Tree, place
from appell.tree.golubev import golubev_equations as golubev
from appell.tree.golubev.vector_letters import LATEX, TEXT

g = ap.parameters("g", positive=True)


def plane_links(K: int) -> tuple[list[ChainLink], dict]:
    """Pendulums that hang along −z and turn about y, in Golubev's letters, and numbers for them."""
    links, values = [], {g: 9.81}
    for n in range(1, K + 1):
        m, c, J, r = ap.parameters(f"m_{n} c_{n} J_{n} r_{n}", positive=True)
        links.append(ChainLink(m, [0, 0, -c], [J, J, 0], [0, 0, -r], [0, 1, 0]))
        values |= {m: 1.0 + 0.3 * n, c: 0.2 + 0.1 * n, J: 0.5 + 0.2 * n, r: 0.4 + 0.2 * n}
    return links, values


def pendulum(K: int) -> Chain:
    return Chain(plane_links(K)[0], gravity=[0, 0, -g], name="pendulum", backend="vm")


def lagrange_rows(K: int) -> tuple[list, dict]:
    """The same pendulum by `forms.lagrange` from T and V, and Golubev's symbols in its coordinates."""
    links, _ = plane_links(K)
    phi = ap.coordinates([f"phi_{n}" for n in range(1, K + 1)])
    phi = phi if isinstance(phi, tuple) else (phi,)
    T, V, x, z, psi, Om = 0, 0, 0, 0, 0, 0
    for link, angle in zip(links, phi, strict=True):
        psi, Om = psi + angle, Om + angle.d
        m, c, J, r = link.mass, -link.c[2], link.J[0], -link.r[2]
        cx, cz = x - c * sin(psi), z - c * cos(psi)
        rate = [ap.total_derivative(u) for u in (cx, cz)]
        T += m * (rate[0] ** 2 + rate[1] ** 2) / 2 + (J - m * c**2) * Om**2 / 2
        V += m * g * cz
        x, z = x - r * sin(psi), z - r * cos(psi)
    M = ap.parameters([f"M_{n}" for n in range(1, K + 1)])
    M = M if isinstance(M, tuple) else (M,)
    system = ap.System(phi, kinetic=T, potential=V, forces=dict(zip(phi, M, strict=True)))
    real = lambda text: Symbol(text, real=True)
    table = {}
    for n, angle in enumerate(phi, start=1):
        table |= {real(f"phi_{n}"): angle, real(f"omega_{n}"): angle.d, real(f"omegadot_{n}"): angle.dd}
        table |= {real(f"M_{n}"): M[n - 1]}
    return list(ap.forms.lagrange(system).equations), table


@pytest.mark.parametrize("K", [1, 2])
def test_pendulum_is_lagrange(K: int):
    """(3.14) with symbols for all masses and lengths: simplify(difference) = 0."""
    rows, table = lagrange_rows(K)
    for mine, theirs in zip(pendulum(K).equations().explicit(), rows, strict=True):
        assert sympy.simplify((mine.lhs - mine.rhs).xreplace(table) - (theirs.lhs - theirs.rhs)) == 0


def test_triple_pendulum_is_lagrange():
    """The same for three links in exact fractions: cos φ = 3/5, sin φ = 4/5 and the like."""
    rows, table = lagrange_rows(3)
    phi = ap.coordinates("phi_1 phi_2 phi_3")
    fractions = {s: sympy.Rational(7 * n + 3, 5) for n, s in enumerate(plane_links(3)[1])}
    fractions |= {s: sympy.Rational(n + 2, 3) for n, s in enumerate([x for q in phi for x in (q.d, q.dd)])}
    for q, (c, s) in zip(phi, ((3, 4), (-4, 3), (4, -3)), strict=True):
        fractions |= {cos(q): sympy.Rational(c, 5), sin(q): sympy.Rational(s, 5)}
    for mine, theirs in zip(pendulum(3).equations().explicit(), rows, strict=True):
        difference = (mine.lhs - mine.rhs).xreplace(table) - (theirs.lhs - theirs.rhs)
        assert sympy.expand(sympy.expand_trig(difference).xreplace(fractions)) == 0


def test_chain_equations_are_those_of_its_system():
    """`chain.system()` in the same symbols, by Lagrange's route from its T and V."""
    chain = pendulum(2)
    system = chain.system()
    _, table = lagrange_rows(2)
    names = dict(zip(ap.coordinates("phi_1 phi_2"), system.coordinates, strict=True))
    names |= {q.d: x.d for q, x in names.items()} | {q.dd: x.dd for q, x in names.items()}
    table = {s: names.get(x, sympy.Integer(0)) for s, x in table.items()}
    for mine, theirs in zip(chain.equations().explicit(), ap.forms.lagrange(system).equations, strict=True):
        assert sympy.simplify((mine.lhs - mine.rhs).xreplace(table) - (theirs.lhs - theirs.rhs)) == 0


def test_double_pendulum_as_shown():
    text = str(pendulum(2).equations())
    assert "(3.14)      J₂ Ω̇₂ + m₂ c₂ r₁ (Ω̇₁ cos(φ₂) + Ω₁² sin(φ₂)) = M₂ − m₂ c₂ g sin(φ₁ + φ₂)" in text
    assert (
        "(5.1, 5.2)  m₂ c₂ r₁ (Ω̇₂ cos(φ₂) − Ω₂² sin(φ₂)) + Ω̇₁ (J₁ + m₂ r₁²)"
        " = M₁ − g (m₁ c₁ + m₂ r₁) sin(φ₁) − M₂"
    ) in text
    assert "m₂ c₂ r₁ ((Ω̇₁ + Ω̇₂) cos(φ₂) + (Ω₁² − Ω₂²) sin(φ₂))" in text
    assert "(3.1)       Ω₂ = ω₁ + ω₂" in text and "(5.3)       φ̇₂ = ω₂" in text
    assert "1.0" not in text


@pytest.mark.parametrize("K", [1, 2, 3, 5, 8])
def test_golubev_5_2_short(K: int):
    """(3.14) and (5.2) in angles, on random plane chains, at the accelerations of the recursive algorithm."""
    p = posed(random_chain(K, parallel=True, base="fixed", seed=K), 20 + K)
    shown = p.tree.equations()
    assert [item.number for item in shown.short] == ["3.14"] * K + ["5.2"] * K
    known = {Symbol(name, real=True): value for name, value in p.values.items()}
    for item in shown.definitions:
        if item.number in ("3.1", "3.2"):
            known[item.left] = item.right.xreplace(known)
    for item in shown.short:
        left, right = (float(sympy.sympify(side).xreplace(known)) for side in (item.left, item.right))
        assert gap(left, right, scale_of(p)) < TOLERANCE


CASES = [(parallel, base) for parallel in (True, False) for base in ("fixed", "floating")]


def symbolic_chain(K: int, parallel: bool, base: str, seed: int) -> tuple[Chain, Chain, dict]:
    """A random chain with every number behind a symbol, the chain of numbers, and the numbers."""
    numeric = random_chain(K, parallel=parallel, base=base, seed=seed)
    values: dict = {}

    def hidden(name: str, value) -> object:
        symbol = ap.parameters(name)
        values[symbol] = float(value)
        return symbol

    gravity = [hidden(f"g_{i}", x) for i, x in enumerate(numeric.gravity)]
    links = []
    for n, link in enumerate(numeric.links):
        J = [[hidden(f"J{n}_{min(i, k)}{max(i, k)}", link.J[min(i, k)][max(i, k)]) for k in range(3)] for i in range(3)]
        c, r = ([hidden(f"{s}{n}_{i}", x) for i, x in enumerate(v)] for s, v in (("c", link.c), ("r", link.r)))
        e = link.e if n else [hidden(f"e_{i}", x) for i, x in enumerate(link.e)]
        e = [ap.parameters(f"e_{i}") for i in range(3)] if parallel else e
        values |= {ap.parameters(f"e_{i}"): x for i, x in enumerate(numeric.links[0].e)}
        links.append(ChainLink(hidden(f"m{n}", link.mass), c, J, r, e, armature=link.armature, damping=link.damping))
    return Chain(links, base=base, gravity=gravity, name="letters", backend="vm"), numeric, values


@pytest.mark.parametrize(("parallel", "base"), CASES)
def test_symbols_then_numbers(parallel: bool, base: str):
    """Equations in symbols, evaluated with the numbers, hold at the accelerations of the chain of numbers."""
    chain, numeric, values = symbolic_chain(2, parallel, base, 4)
    values = {s: x for s, x in values.items() if s in chain.parameters}
    p = posed(numeric, 5)
    shown = chain.equations()
    assert shown.numbers == numeric.equations().numbers
    residuals = shown.residuals({**{Symbol(name, real=True): x for name, x in p.values.items()}, **values})
    assert max(residuals.values()) < 1e-11  # terms of about 100 cancel
    again = posed(chain.with_parameters(values), 5)
    assert np.allclose([again.values[k] for k in p.values], list(p.values.values()), rtol=1e-11, atol=1e-11)
    assert isinstance(again.tree, Chain) and again.tree.parameters == ()


# --- the print, read back ------------------------------------------------------------------------------------------------


def letters_of(p: Posed) -> dict:
    """Every letter of the written equations with its value at a state."""
    names = {"g": np.array(p.state.g), "e": None}
    chain = all(body.parent == n - 1 for n, body in enumerate(p.bodies))
    for n, (body, kin) in enumerate(zip(p.bodies, p.kins, strict=True)):
        A, N = np.array(kin.A, float), TEXT.index(str(n + 1))
        vectors = {"Ω": kin.Om, "Ω̇": kin.Omd, "w": kin.w, "c": kin.c, "σ": kin.sigma, "L": kin.L}
        names |= {letter + N: np.array(x, float) for letter, x in vectors.items()}
        names["J" + N] = A @ np.array(body.J, float) @ A.T
        if body.e is not None:
            hinge = p.state.hinges[n]
            names |= {"e": np.array(kin.e), "e" + N: np.array(kin.e), "ω" + N: hinge.rate, "ω̇" + N: hinge.acceleration}
            names |= {"M" + N: p.values[f"M_{n + 1}"], "φ̇" + N: hinge.rate}
            names["Q" + N] = golubev.dot(kin.e, golubev.gravity_moment(p.bodies, p.kins, n, p.state.g))
        if body.parent >= 0:
            index = str(n) if chain else f"{body.parent + 1},{n + 1}"
            names["r" + TEXT.index(index)] = np.array(golubev.lever(p.kins, body.parent, n), float)
    if p.state.base is not None:
        base = p.state.base
        names |= {"ω": np.array(base.w), "ω̇": np.array(base.wd), "w_A": np.array(base.wA)}
    return names


DYNAMICS = {"5.2", "3.10", "3.12", "3.14", "4.3", "5.1", "3.8", "4.2", "3.1", "3.2", "3.3", "3.5", "4.1"}


def check_print(p: Posed) -> set[str]:
    """Evaluates every printed equation of vectors; the numbers that were read."""
    script, letters, read = p.tree.equations().write(TEXT), letters_of(p), set()
    for number, line in script.lines():
        for equation in line.split(TEXT.gap) if number in DYNAMICS else []:
            read.add(number)
            text = equation.replace(" - ", " − ").replace("= -", "= −")
            assert written.gap(text, letters, scale_of(p)) < TOLERANCE, (number, text)
    return read


@pytest.mark.parametrize("K", [3, 8])
@pytest.mark.parametrize(("parallel", "base"), CASES)
def test_printed_vectors_hold(parallel: bool, base: str, K: int):
    """What `print` shows of a chain, read back and evaluated, letter by letter."""
    p = posed(random_chain(K, parallel=parallel, base=base, seed=3), 6)
    expected = {"3.3", "3.5", "3.12"} | ({"3.1", "3.2", "3.14", "3.8", "5.1"} if parallel else {"4.1", "4.3", "4.2"})
    expected |= {"3.10", "3.1"} if base == "floating" else {"5.2"} if parallel else set()
    assert check_print(p) == expected


def test_printed_vectors_of_a_tree_with_rotors_and_damping():
    tree = random_tree(5, 5, root="floating", kinds=("revolute", "continuous"))
    damped = [replaced(joint, armature=0.2, damping=0.3) if joint.kind != "floating" else joint for joint in tree.joints]
    p = posed(Tree(damped, gravity=tree.gravity, name="damped", backend="vm"), 3)
    assert check_print(p) >= {"3.10", "3.12", "4.3", "4.2"}
    values = {Symbol(name, real=True): x for name, x in p.values.items()}
    assert max(p.tree.equations().residuals(values).values()) < 1e-10


def replaced(joint: Joint, **changes) -> Joint:
    fields = {name: getattr(joint, name) for name in ("name", "kind", "parent", "placement", "axis", "body", "link")}
    return Joint(**{**fields, **changes})


@pytest.mark.parametrize("parallel", [True, False])
def test_rotor_and_damping_of_a_chain(parallel: bool):
    """Armature and damping take I ω̇ + d ω from the torque of their hinge."""
    plain = random_chain(3, parallel=parallel, base="fixed", seed=2)
    links = [ChainLink(k.mass, k.c, k.J, k.r, k.e, armature=0.1 * n, damping=0.3) for n, k in enumerate(plain.links)]
    p = posed(Chain(links, gravity=plain.gravity, backend="vm"), 3)
    values = {Symbol(name, real=True): x for name, x in p.values.items()}
    assert max(p.tree.equations().residuals(values).values()) < 1e-11


def test_equations_are_kept():
    """Pickled and back, they print the same."""
    for base in ("fixed", "floating"):
        shown = Chain(plane_links(2)[0], base=base, gravity=sympy.Matrix([0, 0, -g]), name="pair").equations()
        assert str(pickle.loads(pickle.dumps(shown))) == str(shown)


def test_latex_of_the_written_equations():
    """Every line has balanced braces, its number as a tag, and the symbols of the user."""
    chain = Chain(plane_links(2)[0], base="floating", gravity=[0, 0, -g], name="pair")
    source = chain.equations().latex()
    for number in ("3.10", "3.12", "3.14", "5.1", "5.3", "5.4", "5.5"):
        assert rf"\tag{{{number}}}" in source
    for row in source.splitlines():
        assert row.startswith(r"\[") and row.endswith(r"\]") and row.count("{") == row.count("}")
    assert r"m_{1} \boldsymbol\sigma_{1} + m_{2} \boldsymbol\sigma_{2} = (m_{1} + m_{2}) \mathbf g" in source
    spatial = Chain([ChainLink(1, [0, 0, 1], [2, 2, 1], e=[1, 0, 0]), ChainLink(1, [0, 0, 1], [2, 2, 1])]).equations()
    assert r"\sum_{\mu\le\nu}\phi_\mu" in source and r"\sum_{\mu\le\nu}\phi_\mu" not in spatial.statements()
    assert r"\tag{5.4}" in spatial.statements() and r"\tag{4.3}" in spatial.statements()
    assert LATEX.index("2") == "_{2}" and "(3.10)" in repr(chain.equations())


# --- parameters --------------------------------------------------------------------------------------------------------


def test_chain_with_parameters_runs():
    links, values = plane_links(2)
    symbols = Chain(links, gravity=[0, 0, -g], backend="vm")
    chain = symbols.with_parameters(values)
    number = lambda x: float(sympy.sympify(x).xreplace(values))
    by_hand = [
        ChainLink(number(k.mass), [number(x) for x in k.c], [number(x) for x in k.J], [number(x) for x in k.r], k.e)
        for k in links
    ]
    direct = Chain(by_hand, gravity=(0, 0, -9.81), backend="vm")
    q, v, tau = np.random.default_rng(0).normal(size=(3, 2))
    assert np.array_equal(chain.forward_dynamics(q, v, tau), direct.forward_dynamics(q, v, tau))
    by_name = symbols.with_parameters({str(s): x for s, x in values.items()})
    assert np.array_equal(by_name.forward_dynamics(q, v, tau), direct.forward_dynamics(q, v, tau))


def test_tree_with_parameters():
    """Joints with symbols in placement, axis, body, armature; a body on a fixed joint is welded in symbols."""
    m, l, a, d, alpha = ap.parameters("m l a d alpha", positive=True)
    J = [m * l**2 / 12, m * l**2 / 12, 0]
    rod = ap.RigidBody(m, J, [0, 0, -l / 2], sympy.eye(3), name="rod")
    joints = [
        Joint("shoulder", "revolute", None, place([0, 0, l]), (0, 1, 0), rod, armature=a, damping=d),
        Joint("elbow", "revolute", "shoulder", place([0, 0, -l]), (sin(alpha), cos(alpha), 0), rod),
        Joint("hand", "fixed", "elbow", place([0, 0, -l], rpy=[0, 0, 0.3]), body=rod),
    ]
    tree = Tree(joints, gravity=(0, 0, -g), name="arm", backend="vm")
    assert tree.parameters == (a, alpha, d, g, l, m) and (tree.nq, tree.nv) == (2, 2)
    values = {m: 2.0, l: 0.7, a: 0.1, d: 0.3, alpha: 0.4, g: 9.81}
    p = posed(tree.with_parameters(values), 4)
    residuals = tree.equations().residuals({**{Symbol(n, real=True): x for n, x in p.values.items()}, **values})
    assert set(residuals) == {"4.3"} and residuals["4.3"] < 1e-11
    assert "m" in str(tree.equations())


def test_symbols_have_no_numbers():
    chain = pendulum(2)
    for ask in (
        lambda: chain.forward_dynamics([0, 0], [0, 0], [0, 0]),
        lambda: chain.mass_matrix([0, 0]),
        lambda: chain.placement("link_2", [0, 0]),
        lambda: chain.mass,
    ):
        with pytest.raises(ModelError, match=r"pendulum has symbols for J_1, .*chain.with_parameters\(\{J_1: …\}\)"):
            ask()


def test_with_parameters_refuses():
    chain, (_, values) = pendulum(1), plane_links(1)
    with pytest.raises(ModelError, match="no parameter 'k'; it has J_1, c_1, g, m_1, r_1"):
        chain.with_parameters({**values, "k": 1.0})
    with pytest.raises(ModelError, match="no value for the parameter g; give with_parameters"):
        chain.with_parameters({s: x for s, x in values.items() if s != g})
    with pytest.raises(ModelError, match="'g' was declared positive, but its value is -1"):
        chain.with_parameters({**values, g: -1})
    with pytest.raises(ModelError, match="'g' must be a number"):
        chain.with_parameters({**values, g: "much"})
    with pytest.raises(ModelError, match=r"link 1 has an inertia .* taken about the hinge"):
        chain.with_parameters({s: 1e-3 if str(s) == "J_1" else x for s, x in values.items()})


def test_symbols_that_are_refused():
    m, M_1 = ap.parameters("m M_1", positive=True)
    with pytest.raises(ModelError, match=r"mass of link 1 contains 'x'; .*ap.parameters"):
        Chain([ChainLink(ap.coordinates("x"), [0, 0, 1], [2, 2, 1])])
    with pytest.raises(ModelError, match="mass of link 1 is -m, which is negative"):
        Chain([ChainLink(-m, [0, 0, 1], [2, 2, 1])])
    with pytest.raises(ModelError, match="inertia matrix of link 1 must be symmetric"):
        Chain([ChainLink(1, [0, 0, 0], [[1, m, 0], [0, 1, 0], [0, 0, 1]])])
    with pytest.raises(ModelError, match="'M_1' is a quantity of Golubev's equations"):
        Chain([ChainLink(M_1, [0, 0, 1], [2, 2, 1])]).equations()
    with pytest.raises(ModelError, match="centre of mass of link 1 must have the shape"):
        Chain([ChainLink(1, [m, 0], [2, 2, 1])])
