"""Derivatives of the dynamics, written down against derivatives taken in the graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.tree.chains import random_tree
from tests.tree.pinocchio_peer import random_state

from appell.backends import vm_function
from appell.graph import algebra
from appell.graph.fn import make_fn
from appell.graph.scalar import scalars, stacked
from appell.tree import Tree
from appell.tree.algorithms import aba, moments, rnea
from appell.tree.derivatives import Sums, aba_derivatives, force_cross, motion_cross, rnea_derivatives
from appell.tree.functions import _rate

SEEDS = range(4)


def differentiated(tree: Tree, question: str) -> list[np.ndarray]:
    """∂y/∂q N(q), ∂y/∂v, ∂y/∂third of rnea or aba by algorithmic differentiation, at the state of `state`."""
    s = tree._subject
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
    s, (q, v, x) = tree._subject, (list(map(float, given)) for given in state(tree))
    for a, b in zip(rnea_derivatives(s.layout, s.gravity, q, v, x), tree.inverse_dynamics_derivatives(q, v, x), strict=True):
        np.testing.assert_allclose(np.array(a, float), b, atol=1e-12 * (1 + np.abs(b).max()))
    a = aba(s.layout, s.gravity, q, v, x)
    for m, n in zip(aba_derivatives(s.layout, s.gravity, q, v, a), tree.forward_dynamics_derivatives(q, v, x), strict=True):
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
