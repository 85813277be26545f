"""A tree that was asked before is ready without a graph, and its methods lead straight into machine code."""

from __future__ import annotations

import gc
import inspect
import pickle
import warnings
import weakref
from dataclasses import replace

import numpy as np
import pytest

from appell.backends import AppellWarning, notice
from appell.backends.calls import crossing
from appell.backends.compiler import build
from appell.errors import ModelError
from appell.tree import Inertia, Joint, Tree, compiled_methods, joints, place, recipes, tree_functions
from appell.tree.recipes import recipe_key

BODY = Inertia.at_centre(1.5, (0.1, 0.02, -0.2), np.diag([0.02, 0.03, 0.01]))
JOINTS = (
    Joint("base", "spherical", body=BODY, link="torso"),
    Joint("arm", "revolute", "base", place((0.3, 0, 0), (0.1, 0, 0)), (0, 1, 0), BODY, armature=0.01, damping=0.2),
    Joint("slide", "prismatic", "arm", place((0, 0, 0.4)), (1, 0, 0), BODY),
)
Q = np.array([0.1, 0.2, -0.3, np.sqrt(1 - 0.14), 0.4, -0.1])
V, TAU = np.array([0.3, -0.2, 0.5, 0.1, 0.7]), np.array([1.0, 2.0, -0.5, 0.3, 0.2])
METHODS = {
    **{method: (Q, V, TAU) for method in ("forward_dynamics", "inverse_dynamics", "inverse_dynamics_derivatives")},
    **{method: (Q, V) for method in ("bias", "energy", "kinetic_energy", "momentum", "rate")},
    **{method: (Q,) for method in ("mass_matrix", "centre_of_mass")},
}
WITHOUT = crossing._headers() == ()


def tree(**options) -> Tree:
    return Tree(JOINTS, **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Compiled code of this file's tree, for all tests together: they show what is found, not what is made."""
    return tmp_path_factory.mktemp("ready")


@pytest.fixture(autouse=True)
def own_cache(folder, monkeypatch):
    monkeypatch.setenv("APPELL_CACHE", str(folder))
    monkeypatch.setattr(notice, "_heard", set())


def same(a, b):
    a, b = (x if isinstance(x, tuple) else (x,) for x in (a, b))
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


def no_graph(*arguments):
    raise AssertionError("a graph was made")


@pytest.mark.parametrize("method", METHODS)
def test_the_second_tree_answers_without_a_graph(monkeypatch, method):
    arguments = METHODS[method]
    answer, expected = getattr(tree(), method)(*arguments), getattr(tree(backend="vm"), method)(*arguments)
    np.testing.assert_allclose(np.hstack([np.ravel(x) for x in answer]) if isinstance(answer, tuple) else answer,
                               np.hstack([np.ravel(x) for x in expected]) if isinstance(expected, tuple) else expected,
                               rtol=1e-11, atol=1e-11)  # fmt: skip
    monkeypatch.setattr(tree_functions, "function", no_graph)
    again = tree(name="another name")
    for _ in range(3):
        same(getattr(again, method)(*arguments), answer)


def test_frames_and_large_batches_are_found_too(monkeypatch):
    batch = [np.tile(x, (2000, 1)) for x in (Q, V, TAU)]
    ask = lambda t: (
        *t.placement("slide", Q), *(t.jacobian("torso", Q, reference=r) for r in ("local", "world")),
        t.forward_dynamics(*batch), t.jacobian("slide", batch[0]),
    )  # fmt: skip
    first = ask(tree())
    monkeypatch.setattr(tree_functions, "function", no_graph)
    monkeypatch.setattr(tree_functions, "frame_function", no_graph)
    same(ask(tree()), first)


def test_a_graph_is_made_when_it_is_asked_for():
    t = tree()
    answer = t.forward_dynamics(Q, V, TAU)
    fn = t.function("forward_dynamics")
    assert fn is t.function("forward_dynamics")
    np.testing.assert_allclose(fn(Q, V, TAU)["a"], answer, rtol=1e-11)


def key(joints=JOINTS, gravity=(0.0, 0.0, -9.81), question=("forward_dynamics",), frame=None):
    t = Tree(joints, gravity=gravity)
    return recipe_key(t.nodes, t.gravity, *question, frame=frame)


def changed(place_in_tree: int, **changes):
    return tuple(replace(joint, **changes) if k == place_in_tree else joint for k, joint in enumerate(JOINTS))


ULP = np.nextafter(0.3, 1)


def test_every_number_counts_to_the_last_bit_and_no_name_does():
    heavier = Inertia(np.nextafter(BODY.m, 2), BODY.h, BODY.P)
    moment = Inertia(BODY.m, BODY.h, BODY.P + np.diag([0, 0, 1e-17]))
    frames = tree().frames
    keys = [
        key(),
        key(gravity=(0.0, 0.0, -9.8)),
        key(question=("inverse_dynamics",)),
        key(frame=frames["arm"]),
        key(frame=frames["slide"]),
        key(changed(0, body=heavier)),
        key(changed(0, body=moment)),
        key(changed(0, kind="floating")),
        key(changed(1, placement=place((ULP, 0, 0), (0.1, 0, 0)))),
        key(changed(1, axis=(0, 1, 1e-9))),
        key(changed(1, armature=0.02)),
        key(changed(1, damping=0.0)),
        key(changed(1, kind="continuous")),
        key(changed(2, parent="base")),
        key((*JOINTS, Joint("tool", "fixed", "slide", place((0, 0, 1e-12)), body=BODY))),
        key(JOINTS[:2]),
    ]
    assert all(keys) and len(set(keys)) == len(keys)
    assert key(changed(2, name="other", link="hand")) == keys[0]


def test_a_changed_generator_finds_nothing_old(monkeypatch):
    before = key()
    monkeypatch.setattr(recipes, "generator", lambda *packages: "other files")
    assert key() != before


def test_a_kind_of_the_user_s_own_has_no_key(monkeypatch):
    own = replace(joints.JOINTS["revolute"], rate=lambda q, v: [2 * v[0]])
    monkeypatch.setitem(joints.JOINTS, "revolute", own)
    t = tree()
    assert recipe_key(t.nodes, t.gravity, "rate") == ""
    np.testing.assert_allclose(t.rate(Q, V)[4], 2 * V[3])


def test_a_joint_that_moves_nothing_is_refused_every_time():
    for _ in range(2):
        with pytest.raises(ModelError, match="'tip' moves nothing"):
            Tree([*JOINTS, Joint("tip", "revolute", "slide")]).forward_dynamics(np.append(Q, 0), np.append(V, 0), np.zeros(6))


# --- methods that have become machine code ----------------------------------------------------------------------------


@pytest.mark.skipif(WITHOUT, reason="Python's or NumPy's headers are not installed")
@pytest.mark.parametrize("method", [method for method in METHODS if method != "energy"])
def test_after_the_first_answer_a_method_is_the_crossing(method):
    t, arguments = tree(), METHODS[method]
    answer = getattr(t, method)(*arguments)
    fast = getattr(t, method)
    assert type(fast).__name__ == "Crossing" and method in vars(t)
    same(fast(*arguments), answer)
    assert fast.__doc__ == getattr(Tree, method).__doc__
    assert list(inspect.signature(fast).parameters) == list(inspect.signature(getattr(Tree, method)).parameters)[1:]


@pytest.mark.parametrize("headers", [True, False])
def test_all_ways_of_asking_stay(monkeypatch, headers):
    if not headers:
        monkeypatch.setattr(crossing, "_headers", lambda: ())
    t = tree()
    for _ in range(2):  # before and after the first answer
        a = t.forward_dynamics(Q, V, TAU)
        same(t.forward_dynamics(q=Q, v=V, tau=TAU), a)
        same(t.forward_dynamics(Q.tolist(), tuple(V), TAU.astype(">f8")), a)
        batch = t.forward_dynamics(np.tile(Q, (3, 1)), V, [TAU.tolist()] * 3)
        assert batch.shape == (3, 5)
        np.testing.assert_allclose(batch, np.tile(a, (3, 1)), rtol=1e-13)
        with pytest.raises(ModelError, match="'v' has shape"):
            t.forward_dynamics(Q, V[:2], TAU)
        with pytest.raises(ModelError, match="'q' is an array of complex128"):
            t.mass_matrix(Q + 0j)
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'tau'"):
            t.forward_dynamics(Q, V)  # type: ignore[call-arg]
        assert np.isnan(t.forward_dynamics(Q, V, np.full(5, np.nan))).all()


def test_a_subclass_answers_in_its_own_way():
    class Doubled(Tree):
        def mass_matrix(self, q):
            return 2 * super().mass_matrix(q)

    t = Doubled(JOINTS)
    for _ in range(3):
        same(t.mass_matrix(Q), 2 * tree().mass_matrix(Q))


@pytest.mark.parametrize("backend", ["auto", "vm"])
def test_a_method_travels_to_other_processes(backend):
    """Before its first answer and after it, on every back end."""
    t = tree(backend=backend)
    for _ in range(2):
        same(pickle.loads(pickle.dumps(t.forward_dynamics))(Q, V, TAU), t.forward_dynamics(Q, V, TAU))


def test_a_tree_that_is_not_needed_goes_away():
    t = tree()
    t.mass_matrix(Q)
    gone = weakref.ref(t)
    del t
    gc.collect()
    assert gone() is None


# --- large trees -------------------------------------------------------------------------------------------------------


def test_a_large_tree_runs_at_once_and_in_c_where_that_was_compiled(monkeypatch):
    monkeypatch.setattr(compiled_methods, "OPERATIONS_NOT_WAITED_FOR", 10)
    heavy = changed(2, body=Inertia.at_centre(3.25, (0, 0, 0), np.eye(3)))
    with pytest.warns(AppellWarning) as heard:
        slow = Tree(heavy, name="heavy").inverse_dynamics(Q, V, TAU)
    (message,) = (str(warning.message) for warning in heard)
    assert "inverse_dynamics of 'heavy'" in message and "backend='c'" in message and "\n" not in message
    right = Tree(heavy, backend="c").inverse_dynamics(Q, V, TAU)
    np.testing.assert_allclose(slow, right, rtol=1e-12)
    monkeypatch.setattr(notice, "_heard", set())
    monkeypatch.setattr(tree_functions, "function", no_graph)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(Tree(heavy).inverse_dynamics(Q, V, TAU), right)


def test_what_is_prepared_is_ready():
    """Nothing is made any more when a method is called; names are checked before anything is."""
    robot = tree()
    robot.prepare("bias", "energy", frames=["arm"])
    made = [*robot._calls, *robot._entries]
    for answer in (robot.bias(Q, V), robot.energy(Q, V), *robot.placement("arm", Q), robot.jacobian("arm", Q)):
        assert np.isfinite(answer).all()
    assert [*robot._calls, *robot._entries] == made and len(made) == 6
    R, _, J = robot.pose("arm", Q)
    assert np.array_equal(R, robot.placement("arm", Q)[0]) and np.array_equal(J, robot.jacobian("arm", Q))
    with pytest.raises(ModelError, match="no function 'energies'"):
        robot.prepare("energies")


def test_short_questions_are_compiled_in_one_run(tmp_path, monkeypatch):
    """Four questions are one object, and another tree with these numbers finds each of them without a graph."""
    monkeypatch.setenv("APPELL_CACHE", str(tmp_path))
    wanted = ("bias", "mass_matrix", "forward_dynamics", "centroidal")
    right = [Tree(tree().joints, backend="vm").bias(Q, V), Tree(tree().joints, backend="vm").mass_matrix(Q)]
    robot = tree()
    runs = []
    monkeypatch.setattr(build, "_compile", lambda *a, _own=build._compile: runs.append(a) or _own(*a))
    robot.prepare(*wanted)
    assert len(runs) == 1
    monkeypatch.setattr(tree_functions, "function", no_graph)
    other = tree()
    np.testing.assert_allclose(other.bias(Q, V), right[0], rtol=1e-12)
    np.testing.assert_allclose(other.mass_matrix(Q), right[1], rtol=1e-12)
    assert np.array_equal(other.forward_dynamics(Q, V, TAU), robot.forward_dynamics(Q, V, TAU)) and len(runs) == 1


def test_names_that_are_prepared_are_checked():
    robot = tree()
    with pytest.raises(ModelError, match="no frame 'leg'"):
        robot.prepare("bias", frames=["leg"])
