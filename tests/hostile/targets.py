"""Public callables with arguments that they take: what the fuzzer damages, one argument or entry at a time."""

from __future__ import annotations

from functools import cache

import numpy as np
import sympy
from tests.hostile.models import (
    J3,
    START,
    VALUES,
    Target,
    arm,
    ball,
    bounced,
    c,
    folder,
    k,
    l,
    m,
    motion,
    oscillator,
    phi,
    run,
    saved,
    skate,
    u,
    x,
    y,
)
from tests.hostile.targets_of_analysis import analysis_targets
from tests.hostile.targets_of_files import file_targets
from tests.hostile.targets_of_pages import page_targets
from tests.hostile.targets_of_plans import plan_targets
from tests.hostile.targets_of_robots import robot_targets
from tests.hostile.targets_of_trees import tree_targets

import appell as ap
from appell.tree import Inertia, Joint, Limits, contact_point, loop, place


def _model() -> dict[str, Target]:
    body = ap.RigidBody(m, [1, 1, 1], [x, y], phi)
    forces, kinematics = {x: -k * x, y: 0}, {x: u * sympy.cos(y), y: u}
    return {
        "coordinates": Target(ap.coordinates, {"names": "x y"}, 2),
        "speeds": Target(ap.speeds, {"names": ["u", "w"]}, 2),
        "parameters": Target(ap.parameters, {"names": "m l", "positive": True}, 2),
        "prescribed": Target(ap.prescribed, {"names": "f"}, 2),
        "total_derivative": Target(ap.total_derivative, {"expr": m * x.d, "rates": {x: y}}, 2),
        "quaternion": Target(ap.quaternion, {"name": "ball"}, 2),
        "euler": Target(ap.euler, {"angles": [x, y, phi], "axes": "zxz"}, 2),
        "Constraint": Target(ap.Constraint, {"residual": x.d - y.d, "name": "row", "reaction": {x: 1, y: -m}}, 3),
        "Constraint in rows": Target(ap.Constraint, {"residual": x - y, "name": "row", "reaction": [1, -1]}, 2),
        "Unilateral": Target(ap.Unilateral, {"function": x, "name": "wall", "restitution": 0.5, "chart": x}, 3),
        "Between": Target(ap.Between, {"lower": -1, "function": x, "upper": 1, "name": "gap", "restitution": k}, 3),
        "Friction": Target(
            ap.Friction,
            {
                "slip": x.d,
                "normal": "floor",
                "coefficient": 0.3,
                "static": 0.4,
                "law": "newton",
                "name": "rub",
                "regularise": None,
            },
            3,
        ),
        "Friction by limit": Target(ap.Friction, {"slip": [x.d, y.d], "limit": 2.0, "regularise": 0.1}, 3),
        "Particle": Target(ap.Particle, {"mass": m, "position": [x, y, 0], "name": "bob"}, 3),
        "RigidBody": Target(ap.RigidBody, {"mass": 1.0, "inertia": J3, "position": [x, y], "orientation": phi, "name": "b"}, 3),
        "RigidBody turned": Target(ap.RigidBody, {"mass": m, "inertia": [1, 2, 2.5], "position": [x, y], "orientation": J3}, 3),
        "Force": Target(ap.Force, {"vector_": [0, -m, 0], "at": [x, y, 0]}, 3),
        "Torque": Target(ap.Torque, {"vector_": [0, 0, k], "on": body, "frame": "space"}, 3),
        "Spring": Target(ap.Spring, {"between": ([x, y], [0, 0]), "stiffness": k, "length": 1, "name": "s"}, 3),
        "Damper": Target(ap.Damper, {"between": x, "damping": c, "name": "d"}, 3),
        "point": Target(body.point, {"xyz": [1, 0, 0]}, 1),
        "point_velocity": Target(body.point_velocity, {"xyz": [1, 0], "frame": "body"}),
        "rolling": Target(
            ap.rolling,
            {
                "wheel": ap.RigidBody(m, [1, 1, 1], [x, y, l], ap.quaternion("w")),
                "radius": l,
                "axis": None,
                "up": [0, 0, 1],
                "height": 0,
                "belt": [0, 0],
                "name": "roll",
            },
            1,
        ),
        "System": Target(
            ap.System,
            {
                "coordinates": [x, y],
                "kinetic": m * (x.d**2 + y.d**2) / 2,
                "potential": k * x**2,
                "forces": forces,
                "constraints": [x.d - y.d],
                "sample": {x: 0.1},
                "name": "s",
            },
            4,
        ),
        "System with speeds": Target(
            ap.System, {"coordinates": [x, y], "kinetic": m * u**2 / 2, "speeds": [u], "kinematics": kinematics, "name": "s"}, 2
        ),
        "System of bodies": Target(
            ap.System, {"coordinates": [x, y], "bodies": [ap.Particle(m, [x, y])], "loads": [ap.Spring(x, k)], "name": "s"}, 2
        ),
        "replace": Target(oscillator().replace, {"kinetic": m * x.d**2, "potential": 0, "forces": {x: 0}}, 2),
        "in_mode": Target(ball().in_mode, {"mode": {}, "signs": {}}),
        "from_sympy": Target(ap.from_sympy, {"model": None, "name": "s"}),
        "constraint": Target(skate().constraint, {"key": "blade"}),
        "face": Target(ball().face, {"key": "floor"}),
    }


def _trees() -> dict[str, Target]:
    body = Inertia.at_centre(1.0, (0.1, 0.0, 0.0), np.eye(3))
    frame = arm().system().frame if hasattr(arm().system(), "frame") else arm().frame
    link = {"mass": m, "c": [l, 0, 0], "J": [0, 0, 1], "r": [0, 0, 0], "e": [0, 0, 1]}
    q, v = np.zeros(2), np.ones(2)
    return {
        "place": Target(place, {"xyz": [l, 0, 1.0], "rpy": [0.1, 0, 0]}, 4),
        "Placement": Target(ap.tree.Placement, {"R": J3, "p": [l, 0, 0]}, 3),
        "at_centre": Target(Inertia.at_centre, {"mass": m, "centre": [l, 0, 0], "J": J3, "what": "a body"}, 4),
        "at_hinge": Target(Inertia.at_hinge, {"mass": 1.0, "centre": [0.1, 0, 0], "J": J3}, 3),
        "Limits": Target(Limits, {"lower": -1.0, "upper": 1.0, "velocity": 2.0, "effort": 3.0}, 2),
        "Joint": Target(
            lambda **given: ap.Tree([Joint(**given)]),
            {
                "name": "a",
                "kind": "revolute",
                "parent": None,
                "placement": place(),
                "axis": [0, 1, m],
                "body": body,
                "armature": m,
                "damping": 0.1,
                "link": "b",
                "limits": Limits(),
            },
            4,
        ),
        "Tree": Target(
            ap.Tree, {"joints": [Joint("a", body=body)], "gravity": [0, 0, -m], "name": "t", "notes": [], "backend": "vm"}, 3
        ),
        "Chain": Target(ap.Chain, {"links": [link], "base": "fixed", "gravity": [0, -9.81, 0], "name": "c"}, 3),
        "with_parameters": Target(
            ap.Tree([Joint("a", body=Inertia.at_centre(m, (l, 0, 0), np.eye(3)))]).with_parameters,
            {"values": {"m": 1.0, l: 2.0}},
            3,
        ),
        "forward_dynamics": Target(arm().forward_dynamics, {"q": q, "v": v, "tau": q}, 3),
        "mass_matrix": Target(arm().mass_matrix, {"q": q, "out": None}, 2),
        "energy": Target(arm().energy, {"q": [0, 1], "v": [1, 0]}, 2),
        "jacobian": Target(arm().jacobian, {"frame": "a", "q": [0.0, 1.0], "reference": "local"}, 2),
        "placement": Target(arm().placement, {"frame": "b", "q": q}, 2),
        "tree.function": Target(arm().function, {"question": "bias"}),
        "frame.at": Target(frame("a").at, {"xyz": [0, m, 0], "rpy": [0, 0, 0.1], "name": "p"}, 3),
        "frame.axis": Target(frame("a").axis, {"direction": [0, 0, 1]}, 2),
        "tree.frame": Target(frame, {"name": "a"}),
        "loop": Target(loop, {"a": frame("a"), "b": frame("b"), "kind": "distance", "name": "n", "distance": l}, 2),
        "contact_point": Target(contact_point, {"frame": frame("a"), "floor": None, "height": 0, "name": "p"}, 1),
        "from_urdf": Target(
            ap.Tree.from_urdf, {"path": folder() / "none.urdf", "floating": False, "quarter_turns": 0.0, "gravity": [0, 0, 1]}
        ),
    }


def _runs() -> dict[str, Target]:
    simulated = {
        "system": run(),
        "start": START,
        "until": 0.5,
        "rtol": 1e-6,
        "atol": 1e-9,
        "method": "dopri5",
        "since": 0.0,
        "times": [0.1, 0.2],
        "max_step": 0.5,
        "max_steps": 1000,
        "progress": False,
        "corner": "raise",
    }
    many = {
        "system": run(),
        "start": {"x": [1.0, 2.0]},
        "until": 0.2,
        "step": 0.01,
        "since": 0.0,
        "keep": "final",
        "max_steps": 1000,
        "method": "rk4",
        "threads": 1,
        "product": False,
    }
    return {
        "compile": Target(ap.compile, {"system": oscillator(), "parameters": VALUES, "backend": "vm", "ready": True}, 2),
        "consistent": Target(
            ap.consistent,
            {"system": skate(), "start": {"x": 1.0}, "parameters": {"J": 1.0, "a": 0.1, "m": 1.0}, "since": 0.0, "hold": ["x"]},
            2,
        ),
        "simulate": Target(ap.simulate, simulated, 5),
        "simulate fixed": Target(
            ap.simulate, {"system": run(), "start": {"x": 1.0}, "until": 0.1, "step": 0.01, "max_steps": 1000}, 2
        ),
        "simulate a wall": Target(
            ap.simulate,
            {"system": ball(), "start": {x: 1.0}, "until": 0.3, "parameters": {m: 1.0}, "corner": "first", "backend": "vm"},
            1,
        ),
        "simulate driven": Target(
            ap.simulate,
            {
                "system": oscillator(),
                "start": {x: 1.0},
                "until": 0.1,
                "parameters": VALUES,
                "backend": "vm",
                "pseudo": {"w": x.d},
            },
            2,
        ),
        "simulate controlled": Target(
            ap.simulate,
            {
                "system": oscillator(),
                "start": {x: 1.0},
                "until": 0.1,
                "parameters": {"m": 1.0, "k": 1.0},
                "control": lambda t, q, v: {"c": 1.0},
                "rate": 50.0,
                "backend": "vm",
            },
            2,
        ),
        "simulate_many": Target(ap.simulate_many, many, 4),
        "sweep": Target(
            ap.sweep,
            {
                "system": oscillator(),
                "over": {"k": [1.0, 2.0]},
                "start": {x: 1.0},
                "until": 0.1,
                "store": folder() / "s",
                "parameters": {"m": 1.0, "c": 0.1},
                "chunk": 1,
                "step": 0.05,
            },
            0.3,
        ),
        "outer": Target(lambda a, b: ap.outer(a, b), {"a": {"x": [1.0, 2.0]}, "b": {"y": [3.0]}}, 2),
        "run.acceleration": Target(run().acceleration, {"t": 0.0, "q": [1.0], "v": [0.0]}, 2),
        "linearize in letters": Target(
            ap.linearize, {"system": oscillator(), "at": {x: 0.0}, "parameters": {"m": 1.0}, "symbolic": True}, 0.5
        ),
        "linearize": Target(ap.linearize, {"system": oscillator(), "at": {x: 0.0}, "parameters": VALUES, "time": 0.0}, 1),
        "equilibrium": Target(
            ap.equilibrium, {"system": oscillator(), "start": {x: 0.3}, "parameters": VALUES, "tolerance": 1e-8}, 1
        ),
        "equilibria": Target(
            ap.equilibria, {"system": oscillator(), "parameters": VALUES, "within": {x: (-1.0, 1.0)}, "attempts": 3}, 0.5
        ),
        "steady_motions": Target(
            ap.steady_motions, {"system": oscillator(), "parameters": VALUES, "within": {x: (-1, 1)}, "attempts": 2}, 0.3
        ),
        "poincare": Target(
            ap.poincare, {"system": run(), "section": x.d, "start": {x: 1.0}, "until": 5.0, "count": 2, "direction": 1}, 0.5
        ),
        "lyapunov": Target(
            ap.lyapunov, {"system": run(), "start": {x: 1.0}, "until": 2.0, "every": 0.5, "skip": 0.0, "since": 0.0}, 0.3
        ),
        "variations": Target(ap.variations, {"motion": run(), "start": {x: 1.0}, "until": 0.2, "by": ["k"], "rtol": 1e-6}, 0.3),
        "agree": Target(
            ap.agree, {"system": oscillator(), "states": 1, "parameters": VALUES, "seed": 0, "forms": ["lagrange"]}, 0.3
        ),
        "diagnose": Target(ap.diagnose, {"system": oscillator(), "start": {x: 1.0}, "parameters": VALUES, "since": 0.0}, 0.3),
        "principle": Target(ap.principle, {"system": oscillator()}, 0.3),
        "lagrange": Target(ap.forms.lagrange, {"system": oscillator()}, 0.5),
        "maggi": Target(ap.forms.maggi, {"system": skate(), "pseudo": {"v": x.d, "w": phi.d}}, 0.5),
        "basin": Target(
            ap.basin,
            {"system": run(), "over": {"x": [0.5, 1.0], "x.d": [0.0]}, "start": {}, "period": 1.0, "most": 2, "tolerance": 0.1},
            0.05,
        ),
    }


def _results() -> dict[str, Target]:
    page = folder() / "page.html"
    return {
        "motion[]": Target(motion().__getitem__, {"key": x}, 3),
        "motion.at": Target(motion().at, {"times": [0.1, 0.5]}, 3),
        "motion.series": Target(motion().series, {"key": "x"}, 2),
        "motion.reaction": Target(bounced().reaction, {"constraint": "floor"}, 1),
        "motion.save": Target(motion().save, {"path": folder() / "m.nc"}, 0.2),
        "load": Target(ap.load, {"path": saved()}, 1),
        "motion.plot": Target(lambda what: motion().plot(what), {"what": "x"}, 0.05),
        "motion.report": Target(motion().report, {"path": page}, 0.1),
        "Scene": Target(ap.Scene, {"system": oscillator(), "items": [ap.scene.Point([x, 0], 0.1)], "view": "flat"}, 1),
        "scene.Point": Target(ap.scene.Point, {"at": [x, 0], "radius": 0.1, "colour": "#ff0000", "name": "p"}, 2),
        "scene.Link": Target(lambda a, b: ap.Scene(oscillator(), [ap.scene.Link(a, b)]), {"a": [0, 0], "b": [x, 0]}, 2),
        "scene.Spring": Target(ap.scene.Spring, {"a": [0, 0], "b": [x, 0]}, 1),
        "Scene of a point": Target(
            lambda **given: ap.Scene(oscillator(), [ap.scene.Point(**given)]),
            {"at": [x, 0], "radius": 0.1, "colour": "#ff0000"},
            2,
        ),
        "handout": Target(
            ap.handout, {"system": oscillator(), "path": page, "forms": ["lagrange"], "title": "t", "steps": "blank"}, 0.1
        ),
    }


@cache
def targets() -> dict[str, Target]:
    """All of them by name."""
    own = {**_model(), **_trees(), **_runs(), **_results()}
    own |= {**tree_targets(), **analysis_targets(), **page_targets()}
    return own | file_targets() | robot_targets() | plan_targets()
