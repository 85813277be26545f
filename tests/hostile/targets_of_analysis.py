"""Analysis, reductions and the other ways to run, as the fuzzer calls them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy
from tests.hostile.models import START, VALUES, Target, ball, folder, m, motion, oscillator, run, skate, t, x

import appell as ap

F, w = ap.parameters("F w", positive=True)
DRIVEN = {"m": 1.0, "k": 4.0, "c": 0.1, "F": 0.2, "w": 1.5}


@cache
def driven() -> Any:
    """An oscillator with a periodic force, ready to run."""
    k, c = ap.parameters("k c", positive=True)
    force = -c * x.d + F * sympy.cos(w * t)
    return ap.compile(ap.System([x], m * x.d**2 / 2, k * x**2 / 2, {x: force}, name="driven"), DRIVEN, backend="vm")


@cache
def rubbing() -> ap.System:
    return ap.System([x], m * x.d**2 / 2, 2 * x**2, constraints=[ap.Friction(x.d, limit=0.1, name="rub")], name="rubbing")


@cache
def orbit() -> Any:
    return ap.periodic_orbit(driven(), guess={x: 0.1}, period=4.1887902047863905)


@cache
def rest() -> Any:
    return ap.equilibrium(oscillator(), {x: 0.3}, VALUES)


@cache
def many() -> Any:
    return ap.simulate_many(run(), {"x": [1.0, 2.0]}, 0.2, step=0.01, keep=[0.1, 0.2])


@cache
def weakly_damped() -> Any:
    eps = ap.parameters("eps", positive=True)
    wall = ap.Unilateral(x, "wall")
    return ap.averaged(ap.System([x], x.d**2 / 2, x**2 / 2, {x: -eps * x.d}, [wall], name="weak"), [eps])


def _reductions() -> dict[str, Target]:
    plain = ("final", "max", "min", "mean", "integral")
    found = {f"reduce.{name}": Target(getattr(ap.reduce, name), {"expression": x.d**2 + m}, 0.5) for name in plain}
    found |= {
        "reduce.crossings": Target(ap.reduce.crossings, {"expression": x, "direction": 1}, 1),
        "reduce.first_crossing": Target(ap.reduce.first_crossing, {"expression": x, "direction": 1}, 1),
        "reduce.section": Target(ap.reduce.section, {"expression": x, "count": 3, "direction": 1, "skip": 0}, 1),
        "reduce.Reduction": Target(
            ap.reduce.Reduction, {"kind": "max", "expression": x, "direction": 0, "count": 0, "skip": 0}, 1
        ),
        "simulate_many, reduced": Target(
            ap.simulate_many,
            {
                "system": run(),
                "start": {"x": [1.0, 2.0]},
                "until": 0.05,
                "step": 0.01,
                "keep": {"a": ap.reduce.max(x), "b": ap.reduce.final(x.d)},
                "threads": 1,
            },
            1,
        ),
        "reduced by": Target(
            lambda expression, direction: ap.simulate_many(
                run(), {"x": [1.0]}, 0.05, step=0.01, keep={"n": ap.reduce.crossings(expression, direction)}
            ),
            {"expression": x - 1, "direction": 1},
            0.7,
        ),
    }
    return found


def _many() -> dict[str, Target]:
    return {
        "simulate_many adaptive": Target(
            ap.simulate_many,
            {
                "system": run(),
                "start": {"x": [1.0, 2.0]},
                "until": [0.1, 0.2],
                "rtol": 1e-6,
                "atol": 1e-9,
                "method": "dopri5",
                "max_step": 0.1,
                "max_steps": 1000,
                "dtype": "float64",
                "progress": False,
                "corner": "raise",
                "fold": False,
                "threads": 1,
            },
            2,
        ),
        "simulate_many with parameters": Target(
            ap.simulate_many,
            {
                "system": oscillator(),
                "start": {x: 1.0},
                "until": 0.05,
                "parameters": {"m": 1.0, "k": [1.0, 2.0], "c": 0.1},
                "step": 0.01,
                "backend": "vm",
                "product": True,
            },
            1.5,
        ),
        "simulate_many from an array": Target(
            ap.simulate_many, {"system": run(), "start": np.array([[1.0, 0.0], [2.0, 0.0]]), "until": 0.05, "step": 0.01}, 1
        ),
        "many[]": Target(many().__getitem__, {"name": "x"}, 1),
        "compile, folded": Target(
            ap.compile, {"system": ball(), "parameters": {m: 1.0}, "backend": "vm", "ready": False, "fold": True}, 0.5
        ),
        "run.values": Target(run().values, {"expression": m * x.d**2, "t": [0.0], "q": [[1.0]], "v": [[0.0]]}, 1),
        "run.evaluate": Target(run().evaluate, {"t": [0.0], "q": [[1.0]], "v": [[0.0]], "names": ["M"]}, 0.5),
        "run.flow": Target(run().flow, {"pseudo": {"w": x.d}}, 0.3),
        "run.with_parameters": Target(run().with_parameters, {"p": [1.0, 1.0, 1.0]}, 0.5),
        "simulate stiff": Target(
            ap.simulate,
            {"system": run(), "start": START, "until": 0.01, "method": "cvodes", "rtol": 1e-4, "atol": [1e-6, 1e-6]},
            0.7,
        ),
        "simulate with friction": Target(
            ap.simulate,
            {"system": rubbing(), "start": {x: 1.0}, "until": 0.05, "parameters": {m: 1.0}, "backend": "vm", "rtol": 1e-6},
            0.7,
        ),
        "consistent, held": Target(
            ap.consistent,
            {"system": skate(), "start": {"x.d": 1.0}, "parameters": {"J": 1, "a": 0.1, "m": 1}, "hold": ["x.d"]},
            0.7,
        ),
    }


def _analysis() -> dict[str, Target]:
    line = ap.linearize(oscillator(), at={x: 0.0}, parameters=VALUES)
    found = {
        "bifurcation_diagram": Target(
            ap.bifurcation_diagram,
            {
                "system": driven(),
                "over": {"F": [0.1, 0.2]},
                "start": {x: 0.1},
                "period": 4.19,
                "skip": 1,
                "keep": 2,
                "follow": False,
                "rtol": 1e-5,
                "threads": 1,
            },
            0.5,
        ),
        "frequency_response": Target(
            ap.frequency_response,
            {
                "system": driven(),
                "of": x,
                "over": {"F": [0.1, 0.2]},
                "start": {x: 0.1},
                "skip": 1,
                "harmonics": 1,
                "samples": 8,
                "tolerance": 0.1,
                "follow": False,
                "rtol": 1e-5,
                "threads": 1,
            },
            0.5,
        ),
        "lyapunov_field": Target(
            ap.lyapunov_field,
            {
                "system": driven(),
                "over": {x: [0.1, 0.2], x.d: [0.0]},
                "until": 0.5,
                "step": 1e-5,
                "tolerance": 1e-3,
                "rtol": 1e-6,
                "threads": 1,
            },
            0.5,
        ),
        "bifurcation_diagram by sections": Target(
            ap.bifurcation_diagram,
            {"system": driven(), "over": {"F": [0.1]}, "start": {x: 0.1}, "section": x.d, "skip": 1, "keep": 1, "direction": 1},
            0.3,
        ),
        "periodic_orbit": Target(
            ap.periodic_orbit,
            {
                "system": driven(),
                "guess": {x: 0.1, x.d: 0.0},
                "period": 4.1887902047863905,
                "segments": 1,
                "since": 0.0,
                "modulo": None,
                "free": [],
                "rtol": 1e-7,
                "tolerance": 1e-6,
            },
            0.4,
        ),
        "continue_equilibrium": Target(
            ap.continue_equilibrium,
            {
                "system": oscillator(),
                "parameter": "k",
                "rest": {x: 0.0},
                "to": 4.2,
                "parameters": VALUES,
                "step": 0.1,
                "most": 5,
                "back": None,
            },
            0.5,
        ),
        "continue_orbit": Target(
            ap.continue_orbit,
            {"system": driven(), "parameter": "F", "orbit": orbit(), "to": 0.21, "step": 0.01, "most": 2, "rtol": 1e-7},
            0.02,
        ),
        "linearize along": Target(ap.linearize, {"motion": motion(), "time": 0.5}, 0.5),
        "linearize, reduced": Target(
            ap.linearize, {"system": oscillator(), "at": rest(), "parameters": VALUES, "independent": [x]}, 0.5
        ),
        "linearization.plot": Target(line.plot, {"ax": None}, 0.1),
        "equilibrium[]": Target(rest().__getitem__, {"key": x}, 1),
        "averaged": Target(
            ap.averaged,
            {"system": weakly_damped().system, "small": list(weakly_damped().small), "resonance": None, "face": None},
            0.3,
        ),
        "averaged.rates": Target(weakly_damped().rates, {"r": [1.0, 2.0], "theta": 0.0, "parameters": {"eps": 0.1}}, 1),
        "averaged.coordinate": Target(
            weakly_damped().coordinate, {"t": [0.0], "r": 1.0, "theta": 0.0, "parameters": {"eps": 0.1}}, 1
        ),
        "averaged.regimes": Target(weakly_damped().regimes, {"parameters": {"eps": 0.1}}, 0.3),
        "principle.at": Target(ap.principle(oscillator()).at, {"time": 0.0, "q": [1.0], "v": [0.0], "parameters": VALUES}, 0.7),
        "diagnosis.of": Target(ap.diagnose(oscillator(), {x: 1.0}, VALUES).of, {"kind": "units"}, 0.2),
        "agree, pseudo": Target(
            ap.agree, {"system": oscillator(), "states": 1, "parameters": VALUES, "forms": "kane", "pseudo": {"w": x.d}}, 0.2
        ),
        "total_derivative of a system": Target(oscillator().total_derivative, {"expr": m * x.d}, 0.7),
        "in_velocities": Target(oscillator().in_velocities, {"expr": m * x.d}, 0.7),
    }
    return found


def _signals() -> dict[str, Target]:
    """Measured records, states of first order, conditions that end a run."""
    s = ap.states("s")
    times, values = [0.0, 0.05, 0.1], [0.0, 1.0, 0.0]
    return {
        "states": Target(ap.states, {"names": "s r"}, 1),
        "sampled": Target(ap.sampled, {"times": times, "values": values, "hold": "linear", "name": "r"}, 1.5),
        "rising": Target(ap.rising, {"e": x - m}, 1),
        "falling": Target(ap.falling, {"e": x.d}, 1),
        "System with rates": Target(
            ap.System, {"coordinates": [x], "kinetic": x.d**2 / 2, "forces": {x: s}, "rates": {s: -m * s}, "name": "r"}, 1
        ),
        "simulate until a stop": Target(
            ap.simulate,
            {"system": run(), "start": {x: 1.0}, "until": 0.1, "stop": {"low": ap.falling(x - 0.99)}, "max_steps": 1000},
            1.5,
        ),
        "simulate_many until a stop": Target(
            ap.simulate_many, {"system": run(), "start": {"x": [1.0, 2.0]}, "until": 0.1, "step": 0.02, "stop": x - 0.99}, 0.7
        ),
        "simulate_many with inputs": Target(
            ap.simulate_many,
            {
                "system": oscillator(),
                "start": {x: 1.0},
                "until": 0.1,
                "parameters": {"m": 1.0, "k": 4.0},
                "step": 0.02,
                "inputs": {"c": np.ones((2, 6))},
                "rate": 50.0,
                "backend": "vm",
            },
            1,
        ),
        "motion.crossings": Target(motion().crossings, {"expression": x - 0.5}, 1),
    }


@cache
def resonant() -> Any:
    """A weakly forced oscillator, averaged near its resonance."""
    eps, W = ap.parameters("eps W", positive=True)
    force = eps * (sympy.cos(W * t) - x.d)
    return ap.averaged(
        ap.System([x], x.d**2 / 2, x**2 / 2, {x: force}, [ap.Unilateral(x, "wall")], name="forced"), [eps], (2, 1)
    )


def _found() -> dict[str, Target]:
    """What results are asked."""
    branch = ap.continue_equilibrium(oscillator(), "k", rest(), 4.1)
    agreement = ap.agree(oscillator(), VALUES, states=1, forms=["lagrange", "kane"])
    W = resonant().omega
    return {
        "resonance": Target(
            ap.resonance,
            {
                "averaged_system": resonant(),
                "parameters": {"eps": 0.1},
                "over": {W: [0.9, 1.0]},
                "within": (1e-3, 10.0),
            },
            0.3,
        ),
        "equilibrium.reaction": Target(rest().reaction, {"constraint": "none"}, 0.3),
        "rests.switch": Target(branch.switch, {"k": 0, "size": 0.01}, 0.3),
        "orbit.range": Target(orbit().range, {"expression": x}, 0.3),
        "agreement.within": Target(agreement.within, {"tolerance": 1e-9}, 0.3),
        "agreement.report": Target(agreement.report, {"path": folder() / "a.html"}, 0.05),
        "diagnosis.about": Target(ap.diagnose(oscillator(), {x: 1.0}, VALUES).about, {"subject": "x"}, 0.3),
        "averaged.values": Target(resonant().values, {"parameters": {"eps": 0.1, W: 1.0}}, 0.3),
    }


def analysis_targets() -> dict[str, Any]:
    return {**_reductions(), **_many(), **_analysis(), **_signals(), **_found()}
