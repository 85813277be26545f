"""A `Tree` is taken wherever a `System` is, as it stands (`tree.system()`)."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tree.chains import random_tree

import appell as ap

ASKED = {
    "lagrange": lambda s: ap.forms.lagrange(s).acceleration(0.0, *state(s))[0],
    "kane": lambda s: ap.forms.kane(s).acceleration(0.0, *state(s))[0],
    "agree": lambda s: ap.agree(s, forms=["lagrange", "nielsen"], states=1).ok,
    "diagnose": lambda s: str(ap.diagnose(s)),
    "principle": lambda s: str(ap.principle(s)),
    "linearize": lambda s: ap.linearize(s, at=ap.equilibrium(s, {})).K,
    "steady_motions": lambda s: len(ap.steady_motions(s, attempts=3)),
    "equilibria": lambda s: len(ap.equilibria(s, attempts=5)),
    "consistent": lambda s: list(ap.consistent(s, {}).values()),
    "simulate": lambda s: ap.simulate(s, {}, 0.1).q[-1],
    "simulate_many": lambda s: ap.simulate_many(s, np.zeros((2, 4)), 0.1).dataset.status.values,
    "compile": lambda s: ap.compile(s).acceleration(0.0, *state(s))[0],
    "scene": lambda s: len(ap.Scene(s).items),
}


def state(system):
    n = (system.system() if isinstance(system, ap.Tree) else system).nv
    return np.linspace(0.1, 0.4, n), np.linspace(-0.3, 0.5, n)


@pytest.mark.parametrize("question", ASKED)
def test_a_tree_answers_as_its_system(question):
    tree = random_tree(2, 3, kinds=("revolute",))
    ours, its = ASKED[question](tree), ASKED[question](tree.system())
    if isinstance(ours, str):
        assert ours == its
    else:
        np.testing.assert_allclose(np.asarray(ours, float), np.asarray(its, float), rtol=1e-12, atol=1e-12)


def test_what_is_neither_is_named():
    with pytest.raises(ap.ModelError, match=r"ap.diagnose takes a System or a Tree, not str"):
        ap.diagnose("pendulum")  # type: ignore[arg-type]
