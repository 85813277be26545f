"""What beginners write, and what they are told: each message names the culprit and what to write instead."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import appell as ap

x, y, theta = ap.coordinates("x y theta")
g, m = ap.parameters("g m", positive=True)
BALL: Any = ap.System([x], x.d**2 / 2, g * x, name="ball")
VALUES = {g: 9.81}
api: Any = ap


def motion() -> Any:
    return ap.simulate(BALL, {x: 1}, 0.1, VALUES, backend="vm")


plane = lambda *constraints: ap.System([x, y], x.d**2 + y.d**2, constraints=list(constraints))

MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "numpy function": (lambda: np.cos(theta), r"np.cos takes numbers, and 'theta' is a symbol.*from sympy import cos"),
    "numpy inverse": (lambda: np.arctan(theta), r"from sympy import atan"),
    "math function": (lambda: math.sin(theta), r"'theta' is a symbol.*from sympy import sin"),
    "dot": (lambda: x.dot, r"its time derivative is x\.d"),
    "v": (lambda: x.v, r"its time derivative is x\.d"),
    "velocity": (lambda: theta.velocity, r"its time derivative is theta\.d"),
    "ddot": (lambda: x.ddot, r"its second time derivative is x\.dd"),
    "caret": (lambda: x.d ^ 2, r"powers are written x\.d\*\*2"),
    "caret of a parameter": (lambda: m ^ 2, r"powers are written m\*\*2"),
    "two texts": (lambda: api.coordinates("x", "y"), r"one text: coordinates\('x y'\)"),
    "two parameters": (lambda: api.parameters("m", "g"), r"one text: parameters\('m g'\)"),
    "equality": (lambda: plane(x == y), r"x == y compares two symbols.*x - y"),
    "inequality": (lambda: plane(x > 0), r"x > 0 is an inequality; write ap.Unilateral"),
    "order without start": (lambda: api.simulate(BALL, 10.0, VALUES), r"the order is ap.simulate\(system, start, until, param"),
    "order with parameters second": (lambda: api.simulate(BALL, VALUES, 10.0), r"g, a parameter of ball; give it in param"),
    "order of optimize": (lambda: api.optimize(BALL, "time", [g], {}, {x: 1.0}, 1.0), r"order is ap.optimize\(system, min"),
    "order of optimize, all": (lambda: api.optimize(BALL, "time", [g], {}, {}, 1.0, {}), r"until=…, parameters=…, end=…"),
    "order of resonance": (lambda: api.resonance(None, {}, over={}), r"resonance\(averaged_system, over=…, parameters=…"),
    "order of many": (lambda: api.simulate_many(BALL, {x: [1.0]}, VALUES, 1.0), r"order is ap.simulate_many\(system, start"),
    "param": (lambda: api.simulate(BALL, {x: 1}, 1.0, param=VALUES), r"no argument param=; did you mean 'parameters'"),
    "t_end": (lambda: api.simulate(BALL, {x: 1}, t_end=1.0), r"did you mean 'until'"),
    "tol": (lambda: api.simulate(BALL, {x: 1}, 1.0, VALUES, tol=1e-6), r"did you mean 'rtol'"),
    "dt": (lambda: api.simulate(BALL, {x: 1}, 1.0, VALUES, dt=0.01), r"did you mean 'step'"),
    "fixed_step": (lambda: api.simulate(BALL, {x: 1}, 1.0, VALUES, fixed_step=0.01), r"fixed_step= is now called step="),
    "e": (lambda: api.Unilateral(x, e=0.5), r"did you mean 'restitution'"),
    "nam": (lambda: api.Constraint(x, nam="row"), r"did you mean 'name'"),
    "potentials": (lambda: api.System([x], x.d**2, potentials=x), r"did you mean 'potential'"),
    "mu": (lambda: api.Friction(x.d, normal="floor", mu=0.3), r"did you mean 'coefficient'"),
    "simulat": (lambda: api.simulat, r"did you mean 'simulate'"),
    "system": (lambda: api.system, r"did you mean 'System'"),
    "sin": (lambda: api.sin, r"from sympy import sin"),
    "symbols": (lambda: api.symbols, r"from sympy import symbols"),
    "time of the package": (lambda: api.time, r"write ap\.t"),
    "dynamicsymbols": (lambda: api.dynamicsymbols("q"), r"ap\.coordinates\("),
    "point mass": (lambda: api.PointMass, r"ap\.Particle\(mass, position\)"),
    "simulation": (lambda: api.Simulation, r"ap\.simulate\(system, start, until, parameters\)"),
    "jerk": (lambda: x.ddd, r"derivatives up to the second, x\.dd"),
    "rate of a parameter": (lambda: m.d, r"'m' is constant.*ap\.prescribed\('m'\)"),
    "values of parameters": (lambda: api.parameters(m=1, g=9.81), r"parameters\('m g'\); their values come with the run"),
    "law of a prescribed function": (lambda: api.prescribed("f", sp.sin(ap.t)), r"takes names alone.*parameters="),
    "time of a motion": (lambda: motion().time, r"did you mean 't'"),
    "states of a motion": (lambda: motion().states, r"did you mean 'q'"),
    "velocities of a motion": (lambda: motion().velocities, r"did you mean 'v'"),
    "number of times": (lambda: api.simulate(BALL, {x: 1}, 1.0, VALUES, times=100), r"for 100 of them give np\.linspace\(0, 1"),
    "span of times": (lambda: api.simulate(BALL, {x: 1}, (0, 10), VALUES), r"since=0, until=10 instead of"),
    "RK45": (lambda: api.simulate(BALL, {x: 1}, 1.0, VALUES, method="RK45"), r"did you mean 'dopri5'"),
    "LSODA": (lambda: api.simulate(BALL, {x: 1}, 1.0, VALUES, method="LSODA"), r"did you mean 'radau'"),
    "function as stop": (lambda: api.simulate(BALL, {x: 1}, 1.0, VALUES, stop=lambda t, q: q[0]), r"x - 3, not a Python func"),
    "order of between": (lambda: api.Between(x, 0, 1), r"order is Between\(lower, function, upper\), as in Between\(0, x"),
    "force without its point": (lambda: api.Force([0, -m * g]), r"Force needs at"),
    "sign of the kinetic energy": (lambda: api.System([x], -m * x.d**2 / 2), r"negative for a motion in x\.d.*wrong sign"),
    "form of a report": (lambda: motion().report("report.html", forms=["kain"]), r"no form 'kain'; did you mean 'kane'"),
    "zoo": (lambda: api.zoo.pendulm(), r"did you mean 'pendulum'"),
    "form": (lambda: api.forms.lagrang(BALL), r"did you mean 'lagrange'"),
    "studio": (lambda: api.studio("skte", open=False), r"did you mean 'skate'"),
    "method of a system": (lambda: BALL.simulate({x: 1}), r"write ap.simulate\(system"),
    "equations of a system": (lambda: BALL.equations, r"ap.forms.lagrange\(system\)"),
    "state of a motion": (lambda: motion().x, r"motion\[x\] or motion\['x'\]"),
    "attribute of a motion": (lambda: motion().energie, r"did you mean 'energy'"),
    "name in a motion": (lambda: motion()["y"], r"ball has no 'y'.*it has t, x, x\.d"),
    "reaction of no constraint": (lambda: motion().reaction("floor"), r"'floor' is not a constraint"),
    "contradiction": (lambda: ap.System([x], x.d**2, constraints=[x - 1, x - 2]), r"'x - 2' contradicts 'x - 1'"),
    "missing file": (lambda: ap.Tree.from_urdf("nothere.urdf"), rf"no file 'nothere.urdf' in {re.escape(os.getcwd())}"),
    "missing motion": (lambda: ap.load("nothere.nc"), rf"no file 'nothere.nc' in {re.escape(os.getcwd())}"),
    "a folder": (lambda: ap.Tree.from_urdf("/"), r"'/' is a folder; name a file in it"),
    "derivative by a text": (lambda: x.diff("t"), r"by the text 't' would be 0.*ap\.t"),
    "derivative by a namesake": (lambda: sp.diff(x.d * y, sp.Symbol("y")), r"Symbol\('y'\) is not the 'y' of the model"),
    "Lagrangian": (lambda: api.System([x], L=x.d**2), r"kinetic=T and potential=V"),
    "damping": (lambda: api.System([x], x.d**2, damping=2), r"forces=\{x: -c\*x\.d\}"),
    "spring constant": (lambda: api.Spring(x, k=3), r"did you mean 'stiffness'"),
    "events": (lambda: api.simulate(BALL, {x: 1}, 1.0, VALUES, events=[x]), r"did you mean 'stop'"),
    "no arguments": (lambda: api.Particle(), r"Particle needs mass and position: Particle\(mass, position"),
    "option of a form": (lambda: api.forms.appell(BALL, psuedo={}), r"did you mean 'pseudo'"),
    "part of equations": (lambda: ap.forms.lagrange(BALL).latx, r"lagrange equations have no 'latx'; did you mean 'latex'"),
    "option of a plot": (lambda: motion().plot(agianst=x), r"did you mean 'against'"),
    "value of a system": (lambda: BALL.x, r"a System has no values of 'x'.*ap.simulate\(system"),
    "attribute of a system": (lambda: BALL.kinetc, r"did you mean 'kinetic'"),
    "a form": (lambda: api.lagrange, r"ap\.forms\.lagrange\(system\)"),
    "another solver": (lambda: api.solve_ivp, r"ap\.simulate\(system, start, until, parameters\)"),
    "plot": (lambda: api.plot, r"motion\.plot"),
    "case of a method": (lambda: ap.simulate(BALL, {x: 1}, 1.0, VALUES, method="Radau"), r"did you mean 'radau'"),
    "case of a parameter": (lambda: ap.simulate(BALL, {x: 1}, 1.0, {"G": 9.81}), r"it has g; did you mean 'g'"),
    "unknown method": (lambda: ap.simulate(BALL, {x: 1}, 1.0, VALUES, method="rk45"), r"no method 'rk45'.*dop853"),
    "unknown back end": (lambda: ap.simulate(BALL, {x: 1}, 1.0, VALUES, backend="gpu"), r"no back end 'gpu'.*cuda"),
    "missing parameter": (lambda: ap.simulate(BALL, {x: 1}, 1.0), r"no value for the parameter g; give parameters="),
    "misspelt state": (lambda: ap.simulate(BALL, {"x_d": 1}, 1.0, VALUES), r"its states are x, x\.d; did you mean 'x\.d'"),
    "symbol of SymPy": (lambda: ap.System([sp.Symbol("q")], 1), r"takes symbols made by ap.coordinates; q is not one"),
    "unknown symbol": (lambda: ap.System([x], sp.Symbol("M") * x.d**2), r"unknown symbol 'M'; make it with ap.parameters"),
    "function of time": (lambda: ap.System([x], sp.Function("f")(sp.Symbol("t")) * x.d**2), r"write x\.d for its velocity"),
    "no mass": (lambda: ap.System([x]), r"the kinetic energy is zero.*add its mass"),
    "text": (lambda: api.System([x], "x.d**2/2"), r"kinetic must be .* not the text"),
    "forces as a list": (lambda: api.System([x], x.d**2, 0, [-x]), r"forces= maps coordinates .* \{phi: -c\*phi.d\}"),
    "acceleration in T": (lambda: ap.System([x], x.dd**2), r"kinetic contains x\.dd"),
    "velocity in V": (lambda: ap.System([x], x.d**2, x.d), r"potential contains the velocity x\.d"),
    "no name": (lambda: ap.coordinates(""), r"coordinates\('x y phi'\)"),
    "another time": (lambda: sp.diff(x, sp.Symbol("t")), r"time is ap\.t"),
    "friction without normal": (lambda: ap.Friction(x.d, coefficient=0.3), r"needs normal="),
    "text as a time": (lambda: api.simulate(BALL, {x: 1}, "ten", VALUES), r"until= must be a number"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_message_names_culprit_and_remedy(mistake):
    write, words = MISTAKES[mistake]
    with pytest.raises((ap.AppellError, AttributeError, TypeError), match=words):
        write()


def test_only_public_names_are_listed():
    assert dir(ap) == sorted(ap.__all__) and all(hasattr(ap, name) for name in ap.__all__)
