"""Many contacts at once: Lemke's method proposes the mode, and it is the one that trying all of them finds."""

from itertools import pairwise

import numpy as np
import pytest
from sympy import Rational
from tests.friction.random_systems import draw_body, run

import appell as ap
from appell.nonsmooth.friction import decide
from appell.nonsmooth.friction.lemke import lemke


def test_complementarity_problems():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(1, 8))
        B, q = rng.normal(size=(n, n)), rng.normal(size=n)
        M = B @ B.T + 0.1 * np.eye(n)
        z = lemke(M, q)
        assert z is not None and z.min() >= 0 and (M @ z + q).min() > -1e-9 and abs(z @ (M @ z + q)) < 1e-8


def test_a_proposal_is_the_mode_that_holds(monkeypatch):
    usual = run(2, until=1.0, draw=draw_body)
    monkeypatch.setattr(decide, "CHOICES_TRIED", 0)
    quick = run(2, until=1.0, draw=draw_body)
    assert [p[2:] for p in quick.phases] == [p[2:] for p in usual.phases]
    assert quick.q[-1] == pytest.approx(usual.q[-1], abs=1e-7)


def test_a_train_of_blocks():
    """Seven blocks in a row on a rough floor, coupled by springs, pulled at one end: each starts when its spring is taut."""
    x = ap.coordinates(" ".join(f"x{k}" for k in range(7)))
    pads = [ap.Friction(q.d, limit=1, name=f"pad {k}") for k, q in enumerate(x)]
    springs = sum((a - b) ** 2 for a, b in pairwise(x)) * 50
    system = ap.System(x, sum(q.d**2 for q in x) / 2, springs, forces={x[0]: Rational(3, 2) * ap.t}, constraints=pads)
    motion = ap.simulate(system, {}, until=3.0, backend="vm")
    first = {p.friction: p.start for p in reversed(motion.phases) if p.state == "slip"}
    assert motion.ok and list(first)[-1] == "pad 0" and first["pad 0"] == pytest.approx(2 / 3, abs=1e-9)
    assert sorted(first.values()) == [first[f"pad {k}"] for k in range(len(first))] and len(first) >= 2
