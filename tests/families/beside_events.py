"""Moments beside events, and events at late times, where a time has few digits.

A motion has a value at every moment: a rounding unit before or after an impact or a change of friction, its places are those
of the event, and its velocities those of one side of it. Zeros of expressions at t = 1e5 … 1e8 s are as many as at t = 0 and
are found in as few pieces: the rounding of the times is no error of the polynomials along the steps.
"""

from __future__ import annotations

import numpy as np
from sympy import cos, sin
from tests.families.family import family

import appell as ap
from appell.motion.dense import dense_steps
from appell.motion.zeros import edges_of, expression_along, numbers_of

x, y = ap.coordinates("x y")
a, w, b, R = ap.parameters("a w b R")
FLOOR = ap.Unilateral(y, name="floor", restitution=0.6)
RUBS = ap.Friction(x.d - b, normal=FLOOR, coefficient=0.4, name="rubs")
THROWN = ap.System(
    [x, y], (x.d**2 + y.d**2 + x.d * y.d / 2) / 2, 9.81 * y + 4 * x**2, {x: a * sin(w * ap.t), y: 8 * sin(2 * w * ap.t)},
    [FLOOR, RUBS, ap.Unilateral(R - x, name="wall", restitution=0.5)], name="thrown on a belt",
)  # fmt: skip
SWINGS = ap.System([x, y], (x.d**2 + y.d**2) / 2, 2 * x**2, {y: sin(1.3 * ap.t)}, name="swings")
KICKED = SWINGS.replace(constraints=[ap.Reset(x - R, {y.d: y.d + x}, name="passes")], forces={y: a * cos(ap.t)}, name="kicked")


@family(count=24, sample=(2,))
def moments_beside_events(seed: int) -> None:
    """Three roundings to each side of every impact and change of friction."""
    rng = np.random.default_rng(seed)
    values = {a: rng.uniform(0, 5), w: rng.uniform(0.5, 4), b: rng.uniform(0.05, 0.5), R: rng.uniform(0.1, 0.4)}
    backend, until = ("vm", 0.3) if seed % 8 == 7 else ("c", 1.0)
    motion = ap.simulate(THROWN, {y: rng.uniform(0, 0.3), x.d: rng.normal()}, until, values, backend=backend)
    assert motion.ok, motion.message
    times = [event.time for event in motion.impacts] + [phase.start for phase in motion.phases]
    speed = np.abs(motion.v).max()
    for time in sorted({time for time in times if 0 < time < until})[: 3 if backend == "vm" else 60]:
        place = motion.at([time]).q[0]
        for direction in (-np.inf, np.inf):
            moment = time
            for _ in range(3):
                moment = np.nextafter(moment, direction)
                beside = motion.at([moment])
                assert np.abs(beside.q[0] - place).max() <= 1e-14 + 8 * np.spacing(1.0) * speed, (time, moment)
                assert np.isfinite(beside.v).all() and np.isfinite(beside.multipliers).all()


def _pieces(motion: ap.Motion, expression: object) -> int:
    """The pieces in which zeros of an expression are looked for."""
    along = expression_along(motion.run.form, motion.system.in_velocities(expression))
    return len(dense_steps(edges_of(motion), lambda times: numbers_of(motion.at(times), along)).begin)


@family(count=12, sample=(4,))
def zeros_at_late_times(seed: int) -> None:
    """cos 2(t − t0) passes a level where arccos says, by crossings, by a stop and by a reset."""
    rng = np.random.default_rng(seed)
    begin, level = (1e5, 1e6, 1e7, 1e8)[seed % 4] * rng.uniform(1, 3), rng.uniform(-0.8, 0.8)
    exact = 8 * np.spacing(begin) + 1e-8
    angles = np.arccos(level) * np.array([1, -1]) + 2 * np.pi * np.arange(4)[:, None]
    wanted = np.sort(angles[(angles > 0) & (angles < 18)]) / 2
    motion = ap.simulate(SWINGS, {x: 1.0}, begin + 9, since=begin)
    assert _pieces(motion, x - level) <= 8 * len(motion.t)
    np.testing.assert_allclose(motion.crossings(x - level) - begin, wanted, atol=exact)
    stopped = ap.simulate(SWINGS, {x: 1.0}, begin + 9, since=begin, stop=x - level)
    assert abs(stopped.t[-1] - begin - wanted[0]) < exact and not stopped.notes, stopped.notes
    push = {} if seed % 2 else {a: 0.5}
    read = {"control": lambda t, q, v: {a: 0.5}, "rate": 4.3} if seed % 2 else {}
    kicked = ap.simulate(KICKED, {x: 1.0}, begin + 9, {R: level, **push}, since=begin, **read)
    np.testing.assert_allclose([one.time - begin for one in kicked.resets], wanted[::2], atol=exact)
    assert kicked.ok and not kicked.notes, kicked.notes
