"""A leg of opty's gallery that pedals by four muscles."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import fsolve
from sympy import Matrix, cos, sin, sqrt, tanh, zeros
from sympy.physics.biomechanics import (
    FiberForceLengthActiveDeGroote2016,
    FiberForceLengthPassiveDeGroote2016,
    FiberForceVelocityDeGroote2016,
)

import appell as ap
from benchmarks.gallery.published import PI, problem

CRANK, FOOT, SHANK, THIGH, TUBE, KNEE = 0.175, 0.08, 0.611, 0.424, 0.8, 0.04
"""Lengths and the radius of the knee, m."""
SLOPE, PENNATION = np.deg2rad(75.0), PI / 18


def closed(crank: float, foot: float, near: Any) -> Any:
    """Angles of ankle and knee for those of crank and foot: the hip is on the saddle."""

    def miss(z: Any) -> list[float]:
        turns = np.cumsum([crank, foot, z[0], z[1]])
        hip = np.exp(1j * turns) @ [CRANK, FOOT, SHANK, THIGH] - TUBE * np.exp(1j * (PI - SLOPE))
        return [hip.real, hip.imag]

    return fsolve(miss, near, xtol=1e-13)


def muscle(length: Any, at: Any, most: float, extended: Any, a: Any) -> Any:
    """The moment about the joint `at` of a muscle on a stiff tendon (De Groote and others, 2016)."""
    whole = float(length.subs(extended))
    slack, best = whole / 2, whole / 2 + 0.01
    fibre = sqrt((length - slack) ** 2 + (best * np.sin(PENNATION)) ** 2)
    speed = length.diff(at) * at.d * (length - slack) / fibre / 10
    active = a * FiberForceLengthActiveDeGroote2016.with_defaults(fibre / best).doit()
    force = active * FiberForceVelocityDeGroote2016.with_defaults(speed).doit() + speed / 10
    force += FiberForceLengthPassiveDeGroote2016.with_defaults(fibre / best).doit()
    return -length.diff(at) * most * np.cos(PENNATION) * force


def moments(ankle: Any, knee: Any, acts: Any) -> tuple[Any, Any]:
    """Moments of two muscles about the ankle and of two about the knee, of which one wraps around it."""
    wrap, extended = np.arcsin(KNEE / THIGH), closed(-SLOPE, 1.5 * PI, np.deg2rad([-100.0, 20.0]))
    below, above = (SHANK / 6) ** 2, 4 * KNEE**2 + THIGH**2
    lengths = [sqrt(below + FOOT**2 / 4 - SHANK / 6 * FOOT * cos(ankle)), sqrt(below + FOOT**2 + SHANK / 3 * FOOT * cos(ankle))]
    lengths += [sqrt(above + 4 * KNEE * THIGH * cos(knee)), KNEE * (np.sqrt(3) + PI / 6 + wrap + knee) + THIGH * np.cos(wrap)]
    straight, most = dict(zip((ankle, knee), map(float, extended), strict=True)), (1000, 400, 1200, 1400)
    found = [muscle(lengths[k], (ankle, ankle, knee, knee)[k], most[k], straight, acts[k]) for k in range(4)]
    return found[0] + found[1], found[2] + found[3]


def activation(u: Any, a: Any) -> Any:
    """ȧ of an activation a that follows its excitation u; it increases with u."""
    rise, step = 0.5 + 1.5 * a, tanh(10 * (u - a))
    return (u - a) * ((1 + step) / (2 * 0.015 * rise) + (1 - step) * rise / (2 * 0.060))


def leg() -> Any:
    """Angles of the crank, of the pedal, of the ankle and of the knee, each to the one before it; w: rates of activations."""
    q, acts, w = ap.coordinates("q1 q2 q3 q4"), ap.states("a1 a2 a3 a4"), ap.parameters("w1 w2 w3 w4")
    turn, lengths = [sum(q[: k + 1]) for k in range(4)], (CRANK, FOOT, SHANK, THIGH)
    steps = [length * Matrix([cos(a), sin(a)]) for length, a in zip(lengths, turn, strict=True)]
    pedal, ankle, knee, hip = (sum(steps[:k], zeros(2, 1)) for k in range(1, 5))
    seat = TUBE * Matrix([-np.cos(SLOPE), np.sin(SLOPE)])
    rows = [ap.Constraint(hip[k] - seat[k], name=f"hip {'xy'[k]}") for k in (0, 1)]
    parts = (1.0, 0.01, (pedal + ankle) / 2), (6.769, 0.101, (ankle + knee) / 2), (17.01, 0.282, (knee + hip) / 2)
    bodies = [ap.RigidBody(m, [0, 0, J], list(at), turn[k + 1]) for k, (m, J, at) in enumerate(parts)]
    weight = 9.81 * sum(m * at[1] for m, _, at in parts)
    drag, about = 0.006 * 85 * 9.81 * 0.6 + 1.204 * 1.15 * 0.55 * 0.6**3 * q[0].d ** 2 / 2, moments(q[2], q[3], acts)
    push = {q[0]: drag, q[2]: about[0] - 30 * q[2].d, q[3]: about[1]}
    rates = dict(zip(acts, w, strict=True))
    bicycle = (2 * 0.1524 + 85 * 0.3**2) * 2**2 * q[0].d ** 2 / 2
    return ap.System(q, bicycle, weight, push, rows, bodies=bodies, rates=rates, name="leg"), q, acts, w


@problem(
    "one-legged time trial over 10 m", "advanced/plot_one_legged_time_trial", 264 * 0.024607360895, "duration",
    "De Groote's muscles are functions of their own beside the model; the rate of an activation, which increases with its"
    " excitation, is chosen between the rates of the excitations 0 and 1; its tolerance is 5e-2, and the simulation is 1 % off:"
    " two or three digits can be believed", 5e-2, model=leg,
)  # fmt: skip
def time_trial(tolerance: float) -> Any:
    system, q, acts, w = leg()
    end, first = 10 / 0.6, closed(0.0, PI, np.deg2rad([-90.0, 90.0]))
    share, joints = np.linspace(0, 1, 161), [first]
    for s in share[1:]:
        joints.append(closed(-end * s, PI + end * s, joints[-1]))  # a foot that stays level
    t, way = 6.5 * share, lambda values: np.interp(share**1.5, share, values)
    angles = [-end * share, PI + end * share, *np.array(joints).T]
    guess: dict[Any, Any] = {"t": t} | {s: way(values) for s, values in zip(q, angles, strict=True)}
    guess |= {s: 0.3 for s in acts}
    guess |= {s.d: np.gradient(guess[s], t) for s in q}
    bounds: dict[Any, Any] = {s: (0, 1) for s in acts} | {s: (-34, 134) for s in w} | {q[0].d: (-30, 0), q[3]: (0, 1.5 * PI)}
    bounds |= {q[2]: (-105 * PI / 180, -30 * PI / 180)}
    law = [s >= activation(0, a) for s, a in zip(w, acts, strict=True)]
    law += [s <= activation(1, a) for s, a in zip(w, acts, strict=True)]
    start = {q[1]: PI, q[2]: float(first[0]), q[3]: float(first[1])}
    return ap.optimize(
        system, "time", w, start, (1.3, 20), end={q[0]: -end}, bounds=bounds, subject_to=law, guess=guess, tolerance=tolerance
    )
