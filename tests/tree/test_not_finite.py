"""A NaN or an infinity in a state comes out, also where the mathematics does not contain the entry: never a finite answer."""

import numpy as np
import pytest
from sympy import cos, sin
from tests.tree.chains import random_tree
from tests.tree.pinocchio_peer import random_state

import appell as ap
from appell.errors import AppellError
from appell.tree import Inertia, Joint, Tree
from appell.tree.tree_functions import QUESTIONS

BODY = Inertia.at_centre(1, (0.1, 0, 0.2), np.eye(3))
TREES = {
    "vertical axis": [Joint("a", body=BODY), Joint("b", "prismatic", "a", body=BODY, link="tip")],  # nothing depends on a
    "floating": random_tree(2, 1, root="floating").joints,
}
ASKED = {name: inputs.split() for name, (inputs, _) in QUESTIONS.items()}


@pytest.mark.parametrize("backend", ["vm", pytest.param("c", marks=pytest.mark.compiler)])
@pytest.mark.parametrize("name", TREES)
def test_every_entry_of_a_state_is_heard(name: str, backend: str):
    tree = Tree(TREES[name], backend=backend)
    q, v, x = random_state(tree, np.random.default_rng(0))
    given = {"q": q, "v": v, "tau": x, "a": x}
    frame = list(tree.frames)[-1]
    asked = {question: (inputs, getattr(tree, question)) for question, inputs in ASKED.items()}
    asked["placement"] = (["q"], lambda q: tree.placement(frame, q))
    asked["jacobian"] = (["q"], lambda q: tree.jacobian(frame, q))
    for question, (inputs, answer) in asked.items():
        for which, i in ((x, i) for x in inputs for i in range(len(given[x]))):
            for value in (np.nan, np.inf):
                single = [given[x].copy() for x in inputs]
                single[inputs.index(which)][i] = value
                assert not _finite(answer(*single)), (question, which, i, value)
            many = [np.tile(given[x], (9, 1)) for x in inputs]  # eight lanes and one more
            many[inputs.index(which)][[3, 8], i] = np.nan, -np.inf
            rows = [_finite(row) for row in zip(*_outputs(answer(*many)), strict=True)]
            assert rows == [k not in (3, 8) for k in range(9)], (question, which, i)


def _outputs(answer) -> tuple:
    return answer if isinstance(answer, tuple) else (answer,)


def _finite(answer) -> bool:
    return all(np.isfinite(part).all() for part in _outputs(answer))


x, y, phi = ap.coordinates("x y phi")
SYSTEMS = {
    "free": ap.System([x, y], (x.d**2 + y.d**2) / 2, y),
    "skate": ap.System(
        [x, y, phi], x.d**2 + y.d**2 + phi.d**2 / 4, y, constraints=[ap.Constraint(x.d * sin(phi) - y.d * cos(phi), "blade")]
    ),
    "gauss": ap.System([x, y], (x.d**2 + y.d**2) / 2, y, constraints=[x.dd**2 + y.dd**2 - 4]),
    "tree": Tree(TREES["vertical axis"]).system(),
}


@pytest.mark.parametrize("backend", ["vm", "auto"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_accelerations_of_a_state_that_is_not_finite(name: str, backend: str):
    run = ap.compile(SYSTEMS[name], backend=backend)
    z = np.random.default_rng(1).uniform(0.1, 1.0, run.system.nq + run.system.nv)
    assert np.isfinite(run.acceleration(0.0, z[: run.system.nq], z[run.system.nq :])[0]).all()
    for i in range(len(z)):
        q, v = np.split(np.where(np.arange(len(z)) == i, np.nan, z), [run.system.nq])
        for state in ((q, v), (np.tile(q, (3, 1)), np.tile(v, (3, 1)))):
            with pytest.raises(AppellError, match=r"finite|not a number"):
                run.acceleration(0.0, *state)
