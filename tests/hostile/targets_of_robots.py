"""What a day with a robot asks: run-time masses, contacts, loads along a motion, linear control, graphs of CasADi."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import sympy
from tests.hostile.models import START, VALUES, Target, arm, bounced, folder, m, motion, oscillator, run, t, x
from tests.hostile.targets_of_analysis import rubbing

import appell as ap
from appell.simulate import methods
from appell.tree import contact_box, contact_capsule, contact_point, contact_sphere, spheres_touch

EYE2 = [[1.0, 0.0], [0.0, 1.0]]


@cache
def parametrized() -> Any:
    return arm().parametrized("mass", "centre")


@cache
def controlled() -> Any:
    """ẋ = A x + B u of an oscillator with a force as its input."""
    F = ap.parameters("F")
    system = ap.System([x], m * x.d**2 / 2, 2 * x**2, {x: F - x.d / 10}, name="pushed")
    return ap.linearize(system, at={x: 0.0}, parameters={m: 1.0, F: 0.0}, inputs=[F], outputs=[x])


@cache
def swung() -> Any:
    return ap.simulate(arm(), {"a": 0.1, "b": 0.2}, 0.01, backend="vm")


@cache
def kept() -> Path:
    """A folder in which a run is kept."""
    path = folder() / "kept"
    ap.simulate(run(), START, 0.1, keep=(path, 2))
    return path


def _runtime_values() -> dict[str, Target]:
    tree, q, v = parametrized(), [0.1, 0.2], [1.0, 0.5]
    values = tree.values.tolist()
    named = {tree.names[0]: 2.0}
    found = {
        f"parametrized.{name}": Target(getattr(tree, name), {"q": q, "v": v, word: v, "values": values}, 0.4)
        for name, word in (("forward_dynamics", "tau"), ("inverse_dynamics", "a"))
    }
    found |= {
        f"parametrized.{name}": Target(getattr(tree, name), {"q": q, "v": v, "values": named}, 0.4)
        for name in ("bias", "energy", "momentum")
    }
    found |= {
        f"parametrized.{name}": Target(getattr(tree, name), {"q": q, "values": values}, 0.4)
        for name in ("mass_matrix", "centre_of_mass")
    }
    return found | {
        "parametrized.jacobian": Target(tree.jacobian, {"frame": "b", "q": q, "values": values, "reference": "local"}, 0.3),
        "parametrized.placement": Target(tree.placement, {"frame": "b", "q": q, "values": values}, 0.3),
        "parametrized.with_values": Target(tree.with_values, {"values": named}, 0.3),
        "parametrized.read": Target(tree.read, {"values": values}, 0.5),
        "parametrized.function": Target(tree.function, {"question": "mass_matrix", "frame": None, "reference": "local"}, 0.2),
        "parametrized.casadi": Target(tree.casadi, {"question": "forward_dynamics", "frame": None}, 0.2),
        "tree.parametrized of joints": Target(
            lambda wanted: arm().parametrized(wanted), {"wanted": {"a": "mass", "b": ["length", "centre"]}}, 0.3
        ),
        "tree.casadi": Target(arm().casadi, {"question": "jacobian", "frame": "b", "reference": "local"}, 0.2),
        "tree.entry": Target(arm().entry, {"question": "mass_matrix", "otherwise": print}, 0.2),
        "tree.velocity": Target(arm().velocity, {"frame": "b", "q": q, "v": v, "reference": "world"}, 0.5),
        "tree.acceleration": Target(arm().acceleration, {"frame": "b", "q": q, "v": v, "a": v, "reference": "aligned"}, 0.5),
        "tree.inverse_dynamics, pushed": Target(
            arm().inverse_dynamics, {"q": q, "v": v, "a": v, "external": {"b": [0.0, 0, 0, 1, 0, 0]}, "out": None}, 0.5
        ),
        "tree.wrenches, pushed": Target(arm().wrenches, {"q": q, "v": v, "a": v, "external": {"b": [0.0, 0, 0, 1, 0, 0]}}, 0.5),
    }


def _contacts() -> dict[str, Target]:
    """Shapes that touch a ground or each other."""
    a, b = arm().frame("a"), arm().frame("b")
    common = {"restitution": 0.5, "friction": 0.3, "static": 0.4, "name": "c"}
    s, h = ap.coordinates("s h")
    return {
        "contact_sphere": Target(contact_sphere, {"frame": a, "radius": 0.1, "centre": [0, 0, 0], "height": 0, **common}, 0.4),
        "contact_box": Target(contact_box, {"frame": a, "sizes": [1, 1, m], "centre": [0, 0, 0], **common}, 0.3),
        "contact_capsule": Target(contact_capsule, {"frame": a, "radius": m, "length": 1, "axis": "z", **common}, 0.3),
        "spheres_touch": Target(spheres_touch, {"a": a, "radius_a": 0.1, "b": b, "radius_b": m, **common}, 0.4),
        "contact_point on a ground": Target(
            contact_point, {"frame": a, "point": [0, 0, 0], "ground": lambda X, Y: X**2 / 2, "one_sided": True}, 0.4
        ),
        "rolling on a surface": Target(
            ap.rolling,
            {
                "wheel": ap.RigidBody(m, [1, 1, 1], [x, s, h], ap.quaternion("w")),
                "radius": 0.1,
                "axis": None,
                "on": lambda X, Y, Z: sympy.sqrt(X**2 + Y**2 + Z**2) - 1,
                "friction": 0.3,
                "name": "r",
            },
            0.2,
        ),
    }


def _linear() -> dict[str, Target]:
    line = controlled()
    space = line.state_space
    F = ap.parameters("F")
    system = ap.System([x], m * x.d**2 / 2, 2 * x**2, {x: F}, name="pushed")
    return {
        "linearize with inputs": Target(
            ap.linearize,
            {"system": system, "at": {x: 0.0}, "parameters": {m: 1.0, F: 0.0}, "inputs": [F], "outputs": [x], "time": 0.0},
            0.4,
        ),
        "state_space.lqr": Target(space.lqr, {"Q": EYE2, "R": [1.0]}, 1),
        "state_space.frequency_response": Target(space.frequency_response, {"omega": [0.5, 1.0]}, 1),
        "diagnose with inputs": Target(
            ap.diagnose, {"system": system, "start": {x: 0.0}, "parameters": {m: 1.0, F: 0.0}, "inputs": [F]}, 0.1
        ),
    }


def _kept_runs() -> dict[str, Target]:
    """Records, loads and folders of long runs."""
    sampled = ap.sampled([0.0, 0.05, 0.1], [0.0, 1.0, 0.0])
    system = ap.System([x], m * x.d**2 / 2, 0, {x: sampled}, name="driven by a record")
    s, r = ap.states("s r")
    first_order = ap.System([x], x.d**2 / 2, 0, {x: s}, rates={s: -s + t, r: x}, name="of first order")
    return {
        "simulate, every k-th step": Target(
            ap.simulate, {"system": run(), "start": START, "until": 0.1, "keep": 3, "max_steps": 1000}, 0.5
        ),
        "simulate into a folder": Target(
            ap.simulate, {"system": run(), "start": START, "until": 0.1, "keep": (kept(), 2), "max_steps": 1000}, 0.3
        ),
        "simulate with a record": Target(
            ap.simulate, {"system": system, "start": {x: 1.0}, "until": 0.1, "parameters": {m: 1.0}, "backend": "vm"}, 0.3
        ),
        "simulate states": Target(
            ap.simulate, {"system": first_order, "start": {x: 1.0, s: 0.5, r: 0.0}, "until": 0.05, "backend": "vm"}, 0.3
        ),
        "simulate by radau": Target(
            ap.simulate, {"system": run(), "start": START, "until": 0.05, "method": "radau", "rtol": 1e-5, "max_step": 0.1}, 0.3
        ),
        "simulate conserving": Target(
            ap.simulate, {"system": run(), "start": START, "until": 0.05, "method": "conserving", "step": 0.01}, 0.3
        ),
        "simulate by series": Target(ap.simulate, {"system": run(), "start": START, "until": 0.05, "method": "taylor"}, 0.2),
        "simulate_many, inputs by name": Target(
            ap.simulate_many,
            {
                "system": run(),
                "start": {"x": [1.0, 2.0]},
                "until": 0.1,
                "step": 0.05,
                "inputs": {"c": [[0.1, 0.2], [0.3, 0.4]], "k": [1.0, 2.0]},
                "rate": 20.0,
                "keep": [0.05, 0.1],
                "dtype": "float64",
            },
            0.6,
        ),
        "motion.wrench": Target(swung().wrench, {"joint": "b", "axes": "joint"}, 0.4),
        "motion.has": Target(motion().has, {"key": x}, 0.4),
        "motion.is_friction": Target(bounced().is_friction, {"key": "floor"}, 0.3),
        "run.at": Target(run().at, {"t": 0.1}, 0.4),
        "run.p_at": Target(run().p_at, {"t": 0.1}, 0.4),
        "run.named": Target(run().named, {"q": [1.0], "v": [0.0]}, 0.3),
        "run.casadi": Target(lambda system: ap.compile(system, VALUES, backend="vm").casadi(), {"system": oscillator()}, 0.3),
        "system.velocity_of": Target(oscillator().velocity_of, {"key": x, "where": "here"}, 0.3),
        "system.faces": Target(bounced().system.faces, {"key": "floor"}, 0.3),
        "system.friction": Target(rubbing().friction, {"key": "rub"}, 0.3),
    }


def _extensions() -> dict[str, Target]:
    """What is registered from outside."""
    A, C = [[0.0, 0.0], [1.0, 0.0]], [0.0, 1.0]
    pair = {"name": "p", "A": A, "B": [0.5, 0.5], "B_hat": [1.0, 0.0], "C": C, "order": 2, "error_order": 1}
    return {
        "methods.embedded_pair": Target(methods.embedded_pair, {**pair, "safety": 0.8, "grow": 8.0}, 0.4),
        "methods.register": Target(methods.register, {"method": None}, 0.2),
        "reduce.register": Target(_registered, {"name": "n", "parts": _halves, "finish": abs, "units": "SI"}, 0.2),
        "backends.register": Target(ap.backends.register, {"backend": None}, 0.2),
    }


def _halves(expression: Any) -> Any:
    return [ap.reduce.max(expression)]


def _registered(**given: Any) -> None:
    """A reduction of its own, taken out of the table again."""
    from appell.reductions.kinds import KINDS

    before = dict(KINDS)
    try:
        made = ap.reduce.register(**given)
        ap.simulate_many(run(), {"x": [1.0]}, 0.02, step=0.01, keep={"n": made(x)})
    finally:
        for name in set(KINDS) - set(before):
            del KINDS[name]


def robot_targets() -> dict[str, Any]:
    return {**_runtime_values(), **_contacts(), **_linear(), **_kept_runs(), **_extensions()}
