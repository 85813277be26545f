"""Trees in batches: the numbers of single calls at every batch size, symmetry and zeros to the bit, answers to given arrays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from appell.backends.calls import vectors as lane_call
from appell.backends.compiler.build import reason_against_c
from appell.errors import ModelError
from appell.tree import Chain, ChainLink, Inertia, Joint, Placement, Tree

pytestmark = pytest.mark.skipif(reason_against_c() is not None, reason="vectors are compiled C")
CLOSE = 1e-13  # of the largest entry: another order of contractions


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Lanes from two vectors of states on."""
    monkeypatch.setattr(lane_call, "BATCH_WORTH_COMPILING", 1)


def arm() -> Chain:
    """Fewer velocities than a vector has lanes."""
    link = ChainLink(mass=1.0, c=[0.1, 0, -0.25], J=[0.11, 0.14, 0.05], r=[0, 0.1, -0.5], e=[0, 1, 0.2])
    return Chain([link, link], name="arm")


def walker() -> Tree:
    """A floating body with three legs of three hinges: nv = 15, of which each leg sees only itself and the body."""
    rng = np.random.default_rng(2)
    body = lambda: Inertia.at_centre(rng.uniform(1, 2), 0.2 * rng.normal(size=3), 0.1 * np.eye(3))
    joints = [Joint("body", "floating", body=body())]
    for leg in "abc":
        for k in range(3):
            place = Placement(Rotation.from_rotvec(rng.normal(size=3)).as_matrix(), 0.4 * rng.normal(size=3))
            before = f"{leg}{k - 1}" if k else "body"
            joints.append(Joint(f"{leg}{k}", "revolute", before, place, rng.normal(size=3).tolist(), body(), armature=0.1 * k))
    return Tree(joints, name="walker")


def states(tree: Tree, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    q = rng.normal(size=(n, tree.nq))
    if tree.nodes[0].kind.name == "floating":
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
    return q, *rng.normal(size=(2, n, tree.nv))


@pytest.fixture(scope="module", params=[arm, walker], ids=["arm", "walker"])
def tree(request) -> Tree:
    return request.param()


@pytest.mark.parametrize("n", [1, 7, 8, 9, 17, 100])
def test_batches_are_single_calls(tree, n):
    q, v, tau = states(tree, n)
    for method, arguments in (
        (tree.mass_matrix, (q,)),
        (tree.bias, (q, v)),
        (tree.forward_dynamics, (q, v, tau)),
        (tree.inverse_dynamics, (q, v, tau)),
    ):
        right = np.array([method(*row) for row in zip(*arguments, strict=True)])
        found = method(*arguments)
        assert found.shape == right.shape
        np.testing.assert_allclose(found, right, rtol=CLOSE, atol=CLOSE * np.abs(right).max())
    strided = np.repeat(q, 2, axis=0)[::2]
    np.testing.assert_array_equal(tree.mass_matrix(strided), tree.mass_matrix(q))
    np.testing.assert_array_equal(tree.bias(np.broadcast_to(q[0], q.shape), v), tree.bias(q[0], v))


def test_symmetric_and_zero_to_the_bit():
    tree = walker()
    M = tree.mass_matrix(states(tree, 100)[0])
    assert (M.transpose(0, 2, 1) == M).all()
    legs = np.repeat(np.eye(3), 3, axis=0) @ np.repeat(np.eye(3), 3, axis=1)
    assert (M[:, 6:, 6:][:, legs == 0] == 0).all() and (M[:, 6:, 6:][:, legs == 1] != 0).all()
    assert (np.linalg.eigvalsh(M) > 0).all()


def test_answers_go_to_given_arrays(tree):
    q, v, tau = states(tree, 50)
    for method, arguments in (
        (tree.mass_matrix, (q,)),
        (tree.bias, (q, v)),
        (tree.forward_dynamics, (q, v, tau)),
        (tree.inverse_dynamics, (q, v, tau)),
    ):
        fresh = method(*arguments)
        room = np.full_like(fresh, np.nan)
        assert method(*arguments, out=room) is room
        np.testing.assert_array_equal(room, fresh)
        with pytest.raises(ModelError, match="expected"):
            method(*arguments, out=room[1:])
        with pytest.raises(ModelError, match="one state: leave it away"):
            method(*(x[0] for x in arguments), out=room[0])
    with pytest.raises(ModelError, match="memory of an input"):
        tree.bias(q, v, out=v)
