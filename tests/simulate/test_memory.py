"""Nothing outlives the system that it belongs to: a sweep over many systems does not grow."""

from __future__ import annotations

import gc
import weakref
from collections import Counter

import pytest
from sympy import cos

import appell as ap
from appell.compiled.run import Run
from appell.forms.base import Equations
from appell.normal_form import NormalForm
from appell.normal_form.flow import Flow

x, y = ap.coordinates("x y")


def wave(k: int) -> None:
    system = ap.System([x], x.d**2 / 2, cos((1 + k) * x))
    ap.equilibrium(system, {x: 3.1 / (1 + k)})
    equations = ap.forms.lagrange(system)
    equations.acceleration(0, [0.3], [0.1])
    str(equations), equations.latex()
    motion = ap.simulate(system, {x.d: 1}, 0.5, backend=BACKEND)
    _ = motion.energy, motion.acceleration, motion.at(0.25), motion.dataset


def circle(k: int) -> None:
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, (1 + k) * y, constraints=[x**2 + y**2 - 1])
    start = ap.consistent(system, {x: 1.2})
    _ = ap.simulate(system, start, 0.5, backend=BACKEND).multipliers
    ap.simulate(system, start, 0.1, method="cvodes", backend=BACKEND)
    ap.diagnose(system)


def ball(k: int) -> None:
    floor = ap.Unilateral(y, "floor", restitution=0.5)
    motion = ap.simulate(ap.System([y], y.d**2 / 2, (10 + k) * y, constraints=[floor]), {y: 0.1}, 2.0, backend=BACKEND)
    assert motion.contacts[-1][1] == (0,) and motion.reaction(floor)[-1] > 0


def least(k: int) -> None:
    system = ap.System([x], x.d**2 / 2, cos(x), constraints=[x.dd**2 + x.dd - 1 - k])  # Gauss's minimum
    ap.compile(system).acceleration(0, [0.1], [0.2])


BACKEND = "vm"
KINDS = (NormalForm, Flow, Run, ap.System, Equations)


@pytest.mark.parametrize("work", [wave, circle, ball, least], ids=lambda f: f.__name__)
def test_what_belongs_to_a_system_goes_with_it(work):
    work(0)  # what is loaded once
    gc.collect()
    before = alive()
    for k in range(4):
        work(k)
    gc.collect()
    assert alive() == before


def alive() -> Counter[type]:
    """How many objects of which kind there are."""
    return Counter(type(thing) for thing in gc.get_objects() if issubclass(type(thing), KINDS))


def test_a_compiled_loop_goes_with_its_system():
    if ap.backends.choose_backend("auto").name != "c":
        pytest.skip("no compiler")
    system = ap.System([x], x.d**2 / 2, cos(x))
    run = ap.compile(system, backend="c")
    ap.simulate(run, {x.d: 1}, 0.5)
    gone = weakref.ref(run.flow())
    del run, system
    gc.collect()
    assert gone() is None
