"""Compiled steps against their twins in Python."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import sin
from tests.friction.random_systems import draw, draw_body, run

import appell as ap
from appell.modes.mode import FrictionState, Mode
from appell.nonsmooth.friction.friction_layout import FrictionLayout
from appell.nonsmooth.friction.guards import BREAK, STOP, GuardWatch, ModeGuard, crossings
from appell.nonsmooth.friction.steps import Steps


def in_python(monkeypatch):
    """From here on no compiled step."""
    monkeypatch.setattr(Steps, "takes", lambda self: False)
    monkeypatch.setattr(Steps, "arrive", lambda self: False)


@pytest.mark.parametrize(("seed", "drawn"), [(2, draw), (3, draw_body)])
def test_random_mechanisms_move_as_their_twins(seed, drawn, monkeypatch):
    one = run(seed, until=3.0, draw=drawn, backend="c")
    in_python(monkeypatch)
    two = run(seed, until=3.0, draw=drawn, backend="c")
    assert [p[2:] for p in one.phases] == [p[2:] for p in two.phases]
    np.testing.assert_allclose([p.start for p in one.phases], [p.start for p in two.phases], atol=1e-7)
    np.testing.assert_allclose(list(one.final.values()), list(two.final.values()), atol=1e-7)
    np.testing.assert_allclose(one.dissipated[-1], two.dissipated[-1], atol=1e-7)


def test_no_step_of_a_simple_cycle_is_handed_over(monkeypatch):
    """Stops, reversals and breaking away of one slip on a belt, all in compiled code."""
    x = ap.coordinates("x")
    belt = ap.Friction(x.d - 1, limit=2, name="belt")
    system = ap.System([x], x.d**2 / 2, 5 * x**2, forces={x: 3 * sin(2 * ap.t)}, constraints=[belt])
    monkeypatch.setattr("appell.nonsmooth.friction.friction_laws.run_stretch", lambda _: pytest.fail("a stretch in Python"))
    monkeypatch.setattr("appell.nonsmooth.friction.friction_laws._settle", lambda *_, **__: pytest.fail("one in Python"))
    motion = ap.simulate(system, {x: 0.0, x.d: 1.0}, 10.0, backend="c")
    assert motion.ok and len(motion.phases) > 4
    assert {(p.state, p.direction) for p in motion.phases} >= {("stick", 0.0), ("slip", -1.0)}


def test_what_has_to_be_examined_after_the_last_step_ends_no_run():
    """Friction that grows with the speed is handed over every sixteenth step; that step may be the last one of a run."""
    x = ap.coordinates("x")
    law = ap.Friction(x.d, limit=lambda s: 0.05 + 0.02 * s**2, name="drag")
    system = ap.System([x], x.d**2 / 2, x**2, constraints=[law])
    ends = np.linspace(0.5, 6.0, 100)
    stopped = [until for until in ends if not ap.simulate(system, {x.d: 5.0}, until, rtol=1e-10, backend="c").ok]
    assert not stopped


def test_zeros_between_samples_are_seen():
    """A slip that stops and would come back between two samples: −1e-4 of its size, in 3 % of a step."""
    own = FrictionLayout(0, 0, (1,), (None,), (False,), ((),), (False,))
    t = np.linspace(0, 1, 9)
    for middle in (0.3, 0.55, 0.99, 0.02):
        for kind, mode in ((STOP, Mode((), (FrictionState("slip", (1.0,)),))), (BREAK, Mode((), (FrictionState("stick"),)))):
            guard = GuardWatch(own, mode, np.ones(1), 1e-9, np.ones(1), np.zeros(1), None, None, (ModeGuard(kind),))
            y = ((t - middle) ** 2 - 1e-4 + 0.1 * (t - middle) ** 3)[:, None]
            found = crossings(guard, y, np.full_like(y, 1e-12), np.arange(9)[None])
            assert [(one.low / 8 <= middle <= one.high / 8, one.inside) for one in found] == [(True, True)], middle
            above = crossings(guard, y + 0.1, np.full_like(y, 1e-12), np.arange(9)[None])
            assert not above


def test_fifteen_blocks_are_large_and_run_compiled(monkeypatch):
    """Sixty velocities and rows, of which few act at a time: every block slides and stops as if it were alone."""
    x = ap.coordinates(" ".join(f"x{k}" for k in range(15)))
    y = ap.coordinates(" ".join(f"y{k}" for k in range(15)))
    mu, g, speed = 0.3, 9.81, np.linspace(0.5, 1.5, 15)
    floors = [ap.Unilateral(b, f"floor {k}", 0) for k, b in enumerate(y)]
    frictions = [ap.Friction(a.d, coefficient=mu, normal=floor, name=f"rub {a}") for a, floor in zip(x, floors, strict=True)]
    T = sum(a.d**2 + b.d**2 for a, b in zip(x, y, strict=True)) / 2
    system = ap.System([*x, *y], T, g * sum(y), constraints=[*floors, *frictions])
    monkeypatch.setattr("appell.nonsmooth.friction.friction_laws.run_stretch", lambda _: pytest.fail("a stretch in Python"))
    motion = ap.simulate(system, {a.d: v for a, v in zip(x, speed, strict=True)}, 0.6, backend="c")
    np.testing.assert_allclose([motion.final[a] for a in x], speed**2 / (2 * mu * g), rtol=1e-9)
    stops = sorted(p.start for p in motion.phases if p.state == "stick")
    np.testing.assert_allclose(stops, speed / (mu * g), rtol=1e-8)
