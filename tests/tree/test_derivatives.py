"""Derivatives of the dynamics, written down against derivatives taken in the graph."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.tree.chains import random_tree
from tests.tree.pinocchio_peer import random_state

from appell.backends import reason_against_c, vm_function
from appell.graph import algebra
from appell.graph.fn import make_fn
from appell.graph.scalar import scalars, stacked
from appell.tree import Tree
from appell.tree import dynamics as tree_module
from appell.tree.algorithms import aba, moments, rnea
from appell.tree.branches import Branches
from appell.tree.derivatives import Sums, force_cross, motion_cross, rnea_derivatives, solved
from appell.tree.tree_functions import _rate

SEEDS = range(4)


def differentiated(tree: Tree, question: str) -> list[np.ndarray]:
    """∂y/∂q N(q), ∂y/∂v, ∂y/∂third of rnea or aba by algorithmic differentiation, at the state of `state`."""
    s = tree._tree_data
    q, v, x = s.inputs("q v x").values()
    y = stacked({"inverse": rnea, "forward": aba}[question](s.layout, s.gravity, scalars(q), scalars(v), scalars(x)))
    direction = algebra.symbols("direction", s.nv)
    N = algebra.jacobian(_rate(s, q, direction)["qd"][0], direction)
    parts = {"q": algebra.jacobian(y, q) @ N, "v": algebra.jacobian(y, v), "x": algebra.jacobian(y, x)}
    inputs = {"q": (q, (s.nq,)), "v": (v, (s.nv,)), "x": (x, (s.nv,))}
    fn = make_fn("slow", inputs, {f"by_{name}": (part, (s.nv, s.nv)) for name, part in parts.items()})
    return list(vm_function(fn)(*state(tree)))


def some_tree(size: int, seed: int) -> Tree:
    tree = random_tree(size, seed)
    return Tree([replace(joint, damping=0.3) for joint in tree.joints], gravity=tree.gravity, backend="vm")


def state(tree: Tree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return random_state(tree, np.random.default_rng(3))


@pytest.mark.parametrize("question", ["inverse", "forward"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_as_in_the_graph(seed: int, question: str):
    """Trees with every kind of joint, rotors and damping; each entry to 1e-12 of the largest of its matrix."""
    tree = some_tree(6, seed)
    mine = getattr(tree, f"{question}_dynamics_derivatives")(*state(tree))
    for a, b in zip(mine, differentiated(tree, question), strict=True):
        assert np.abs(a - b).max() < 1e-12 * (1 + np.abs(b).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_over_plain_numbers(seed: int):
    """Written once: floats instead of graph values."""
    tree = some_tree(5, seed)
    s, (q, v, x) = tree._tree_data, (list(map(float, given)) for given in state(tree))
    for a, b in zip(rnea_derivatives(s.layout, s.gravity, q, v, x), tree.inverse_dynamics_derivatives(q, v, x), strict=True):
        np.testing.assert_allclose(np.array(a, float), b, atol=1e-12 * (1 + np.abs(b).max()))
    a = aba(s.layout, s.gravity, q, v, x)
    parts = solved(*rnea_derivatives(s.layout, s.gravity, q, v, a))
    for m, n in zip(parts, tree.forward_dynamics_derivatives(q, v, x), strict=True):
        np.testing.assert_allclose(np.array(m, float), n, atol=1e-11 * (1 + np.abs(n).max()))


def test_twelve_numbers_for_thirty_six():
    """B = (V×*) I − I (V×) + (I V) ×̄*, of one body and of several seen from another frame."""
    tree, rng = some_tree(5, 0), np.random.default_rng(1)
    body = next(link for link in tree.layout.links if link.inertia.m)
    V, A, e = list(rng.normal(size=6)), list(rng.normal(size=6)), np.eye(6)
    sums = Sums.of(body, V, A)
    I = np.array([sums.inertia(list(x)) for x in e]).T
    Vx = np.array([motion_cross(V, list(x)) for x in e]).T
    Vf = np.array([force_cross(V, list(x)) for x in e]).T
    bar = np.array([force_cross(list(x), list(I @ V)) for x in e]).T
    right = Vf @ I - I @ Vx + bar
    np.testing.assert_allclose(np.array([sums.gyration(list(x)) for x in e]).T, right, atol=1e-13)
    np.testing.assert_allclose(np.array([sums.gyration_by(list(x)) for x in e]), right[:, :3], atol=1e-13)
    assert moments(body.inertia)[0] == sums.m
    np.testing.assert_allclose(sums.force, I @ A + Vf @ I @ V, atol=1e-13)
    link = next(link for link in tree.layout.links if any(type(step).__name__ == "Slide" for step in link.fixed))
    steps = link.steps(state(tree)[0])
    X = np.array([_out(steps, list(x)) for x in e]).T
    moved = sums.carried(steps)
    np.testing.assert_allclose(np.array([moved.gyration(list(x)) for x in e]).T, X.T @ right @ X, atol=1e-12)
    np.testing.assert_allclose(np.array([moved.inertia(list(x)) for x in e]).T, X.T @ I @ X, atol=1e-12)


def _out(steps, x):
    for step in steps:
        x = step.six_out(x)
    return x


@pytest.mark.parametrize("shape", [(), (1,), (5,)])
def test_by_branches_as_by_the_graph(shape: tuple[int, ...]):
    """Large trees are solved by loops over their branches: the same numbers as by straight-line code; M⁻¹ exactly symmetric."""
    tree = random_tree(9, 1, root="floating")
    states = [random_state(tree, np.random.default_rng(k)) for k in range(int(np.prod(shape)))]
    q, v, x = (np.array(part).reshape(*shape, -1) for part in zip(*states, strict=True))
    right = tree.forward_dynamics_derivatives(q, v, x)
    branches = Branches.of(tree.layout)
    found = branches.accelerations(*tree.inverse_dynamics_derivatives(q, v, tree.forward_dynamics(q, v, x)))
    for a, b in zip(found, right, strict=True):
        assert a.shape == b.shape == (*shape, tree.nv, tree.nv)
        assert np.abs(a - b).max() < 1e-11 * (1 + np.abs(b).max())
    assert np.array_equal(found[2], np.swapaxes(found[2], -1, -2))


def test_branches_between_axes_and_base():
    """A root with two legs of two hinges each."""
    tree = star(2, 2)
    branches = Branches.of(tree.layout)
    rows = lambda way: [way[1][i:j].tolist() for i, j in pairwise(way[0])]
    assert rows(branches.up) == [[], [0], [0, 1], [0], [0, 3]]
    assert rows(branches.down) == [[1, 2, 3, 4], [2], [], [4], []]
    M = tree.mass_matrix(np.linspace(0.3, 1.2, 5))
    assert M[2, 3] == M[4, 1] == 0.0


@pytest.mark.filterwarnings("ignore::appell.backends.notice.AppellWarning")
def test_large_trees_do_not_wait_for_the_compiler(monkeypatch):
    """ "auto" takes the branches of a humanoid's size, and "c" straight-line code for any."""
    if reason_against_c() is not None:
        pytest.skip("no compiler here")
    humanoid, tree = star(6, 7), star(2, 3)
    large, small, insisting = (Tree(t.joints, backend=b) for t, b in ((humanoid, "auto"), (tree, "auto"), (humanoid, "c")))
    assert large._branches is not None and small._branches is None and insisting._branches is None
    monkeypatch.setattr(tree_module, "OPERATIONS_NOT_WAITED_FOR", 800)
    now_large = Tree(tree.joints)
    assert now_large._branches is not None
    q, v, x = random_state(tree, np.random.default_rng(0))
    found, right = now_large.forward_dynamics_derivatives(q, v, x), tree.forward_dynamics_derivatives(q, v, x)
    for a, b in zip(found, right, strict=True):
        assert np.abs(a - b).max() < 1e-11 * (1 + np.abs(b).max())


def star(legs: int, length: int) -> Tree:
    """A hinge that carries `legs` chains of so many hinges."""
    one = random_tree(1 + legs * length, 7, kinds=("revolute",))
    joints = [one.joints[0]]
    for k, joint in enumerate(one.joints[1:]):
        joints.append(replace(joint, parent=one.joints[0].name if k % length == 0 else one.joints[k].name))
    return Tree(joints, backend="vm")
