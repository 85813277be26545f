"""Long runs cost what they do: work in proportion to the steps, calls into C that a slow caller does not shorten."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.backends.compiler.build import reason_against_c
from appell.loop import in_c, in_python, trace
from appell.loop.trace import FIRST_PAGE_ROWS, Pages, Statistics
from appell.simulate import progress

x = ap.coordinates("x")
OSCILLATOR = ap.System([x], x.d**2 / 2, x**2 / 2, constraints=[ap.Unilateral(x - 0.5, "wall")], name="oscillator")
HALF = float(np.arccos(0.5))
compiled = pytest.mark.skipif(reason_against_c() is not None, reason="no compiler")


class Clock:
    """Seconds that pass only when somebody spends them, and a little when somebody looks."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1e-4
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (in_c, in_python, progress):
        monkeypatch.setattr(module, "perf_counter", clock)
    return clock


def bounce(impacts, **options):
    return ap.simulate(OSCILLATOR, {x: 1.0}, 2 * impacts * HALF, rtol=1e-6, atol=1e-8, backend="c", **options)


@compiled
def test_a_slow_caller_does_not_shorten_the_calls_into_c(clock, monkeypatch):
    """At ten seconds a report, the time of a call into C would be 10 s and the next one a single step."""
    calls = []
    advance = in_c.LoopCall.advance
    monkeypatch.setattr(in_c.LoopCall, "advance", lambda self, trials: calls.append(trials) or advance(self, trials))

    def slow(t):
        clock.now += 10.0

    motion = bounce(20_000, progress=slow)
    assert motion.statistics["steps"] > 40_000 and len(motion.impacts) == pytest.approx(20_000, abs=10)
    assert len(calls) < 12 and calls == sorted(calls)


@compiled
def test_a_slow_report_is_not_made_more_often_than_it_costs(clock, monkeypatch):
    monkeypatch.setattr(in_c, "TRIALS_GROWTH", 1)  # a call is 256 trials for ever
    told = []

    def slow(t):
        clock.now += 0.01
        told.append(t)

    motion = bounce(5_000, progress=slow)
    calls = motion.statistics["steps"] / in_c.FIRST_TRIALS
    assert calls > 50 and 2 < len(told) < calls / 10
    assert told[-1] == motion.t[-1] and told == sorted(set(told))


@compiled
def test_every_row_is_copied_once(monkeypatch):
    """Memory for n steps and events is of size n, and is joined at the end, not at each report."""
    joined = []
    view = Pages.view
    monkeypatch.setattr(Pages, "view", lambda self, since=0: joined.append(len(self)) or view(self, since))
    monkeypatch.setattr(trace, "LARGEST_PAGE", 1 << 16)
    monkeypatch.setattr(in_c, "TRIALS_GROWTH", 1)
    motion = bounce(5_000, progress=lambda t: None)
    assert len(joined) <= 3 and max(joined) == len(motion)


def test_pages_hold_rows_of_any_number():
    pages = Pages(float, 2)
    for k in range(3 * FIRST_PAGE_ROWS):
        pages.append((k, -k))
    room = pages.room(5 * FIRST_PAGE_ROWS)
    room[:7] = 1.0
    pages.add_written(7)
    rows = pages.joined()
    assert len(pages) == len(rows) == 3 * FIRST_PAGE_ROWS + 7
    assert np.array_equal(rows[: 3 * FIRST_PAGE_ROWS, 0], np.arange(3 * FIRST_PAGE_ROWS)) and (rows[-7:] == 1).all()
    for since in (0, 5, FIRST_PAGE_ROWS, 3 * FIRST_PAGE_ROWS - 1, 3 * FIRST_PAGE_ROWS + 3, len(rows)):
        assert np.array_equal(pages.joined(since), rows[since:])


def test_statistics_add_up():
    assert Statistics(5, 3, 1, 0.1) + Statistics(2, 1, 0, 0.3) == Statistics(7, 4, 1, 0.3)


def test_the_python_loop_reports_the_same_way(clock):
    told = []

    def slow(t):
        clock.now += 10.0
        told.append(t)

    motion = ap.simulate(ap.System([x], x.d**2 / 2, x**2 / 2), {x: 1.0}, 20.0, backend="vm", progress=slow)
    assert motion.statistics["steps"] > 30 and len(told) <= 2
