"""Long chains as systems: judged in O(n) without M, by a bound that nothing massless passes."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable

import numpy as np
import pytest
import sympy
from tests.tree.chains import random_chain, random_tree
from tests.tree.pinocchio_peer import random_state

import appell as ap
from appell.errors import ModelError
from appell.graph import make_fn
from appell.graph.algebra import symbols
from appell.graph.scalar import scalars
from appell.normal_form import model_check
from appell.tree import Inertia, Joint, Tree, mechanics, place

TREES = [
    *(random_tree(n, seed, root="floating") for seed, n in enumerate((1, 4, 9))),
    *(random_tree(n, seed, root="revolute") for seed, n in enumerate((1, 4, 9))),
    random_chain(30, parallel=False, base="fixed", seed=3),
]


def calls(function: Callable[[], object]) -> int:
    """Function calls, which do not depend on the machine."""
    profile = cProfile.Profile()
    profile.runcall(function)
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_the_trace_of_the_inverse_is_that_of_M(tree: Tree):
    """Σ M_kk (M⁻¹)_kk by recursion against the inverse of M, rotors included."""
    q = np.array([random_state(tree, np.random.default_rng(seed))[0] for seed in range(4)])
    M = np.array([tree.mass_matrix(x) for x in q])
    expected = [np.diag(A) @ np.diag(np.linalg.inv(A)) for A in M]
    condition = max(np.linalg.cond(A) for A in M)
    assert mechanics.inverse_trace(tree.layout, q) == pytest.approx(expected, rel=1e-14 * condition)


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_the_mass_matrix_of_the_normal_form_is_that_of_the_tree(tree: Tree):
    inputs = symbols("q", tree.nq)
    M = make_fn("M", {"q": (inputs, (tree.nq,))}, {"M": mechanics.mass_matrix(tree.layout, scalars(inputs))})
    q = random_state(tree, np.random.default_rng(2))[0]
    expected = tree.mass_matrix(q)
    assert M(q)["M"].reshape(expected.shape) == pytest.approx(expected, abs=1e-14 * np.abs(expected).max())


def test_a_chain_without_rows_is_judged_without_its_mass_matrix(monkeypatch: pytest.MonkeyPatch):
    def refused(*_):
        raise AssertionError("M is formed")

    monkeypatch.setattr(model_check, "normal_form", refused)
    chain = random_chain(8, parallel=False, base="floating", seed=1)
    assert chain.system(forces=chain.inputs()).nv == 13


@pytest.mark.parametrize("row", [False, True])
def test_the_work_of_making_a_system_grows_with_the_links(row: bool):
    """Twice the links, about twice the calls: M alone, entry by entry, would make four times as many."""

    def make(links: int) -> Callable[[], object]:
        chain = random_chain(links, parallel=False, base="fixed", seed=1)
        tip = chain.frame(f"link_{links}")
        return lambda: chain.system([ap.Constraint(tip.position[2] + 0.1, "rail")] if row else [])

    make(3)()  # whatever is done once
    assert calls(make(60)) < 2.3 * calls(make(30))


def gimbals(count: int, seed: int) -> Tree:
    """More than three axes through one point, and a single body: some of their rates turn nothing."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 3))
    body = Inertia.at_centre(3.0, 0.3 * rng.normal(size=3), np.trace(A @ A.T) * np.eye(3) - A @ A.T)
    joints = []
    for n in range(count):
        turned = place((0, 0, 0), rng.normal(size=3))
        last = body if n == count - 1 else None
        joints.append(Joint(f"j{n}", "revolute", f"j{n - 1}" if n else None, turned, rng.normal(size=3), last))
    return Tree(joints, backend="vm")


@pytest.mark.parametrize("seed", range(20))
def test_rates_that_move_nothing_are_refused(seed: int):
    """Rounding leaves pivots of either sign; none of them passes for inertia."""
    with pytest.raises(ModelError, match=r"kinetic energy is zero for a motion in j0\.d|'j\d' moves"):
        gimbals(4 + seed % 3, seed).system()
    ready = gimbals(3, seed).system()
    assert ready.nv == 3


def test_a_massless_link_is_named_with_rows_and_without():
    """A row that leaves the rate of a massless link free does not make it move."""
    body = Inertia.at_centre(1.0, (0.1, 0.2, 0.3), np.eye(3))
    bar = Tree([Joint("a", axis=(0, 1, 0), body=body), Joint("b", "revolute", "a", place((0, 0, 1)), (1, 0, 0))])
    a, b = bar.joint("a"), bar.joint("b")
    with pytest.raises(ModelError, match="'b' moves nothing"):
        bar.system()
    with pytest.raises(ModelError, match=r"kinetic energy is zero for a motion in b\.d that the constraints allow"):
        bar.system([a - sympy.sin(ap.t)])
    assert bar.system([b - a**2]).nv == 2


def test_what_the_graph_cannot_take_is_refused_when_the_system_is_made():
    chain = random_chain(2, parallel=True, base="fixed", seed=1)
    q = chain.joint("joint_1")
    for options in ({"forces": {q: sympy.gamma(q)}}, {"potential": sympy.gamma(q + 2)}):
        with pytest.raises(ModelError, match="gamma"):
            chain.system(**options)


def test_a_chain_without_rows_is_simulated_without_M_h_and_Q(monkeypatch: pytest.MonkeyPatch):
    def refused(*_):
        raise AssertionError("M, h or Q is formed")

    chain = random_chain(6, parallel=False, base="fixed", seed=5)
    system = chain.system()
    monkeypatch.setattr(mechanics, "mass_matrix", refused)
    monkeypatch.setattr(mechanics.algorithms, "rnea", refused)
    motion = ap.simulate(system, {"joint_1.d": 1.0}, until=0.1, backend="vm")
    assert motion.ok and abs(motion.energy_error[-1]) < 1e-8
