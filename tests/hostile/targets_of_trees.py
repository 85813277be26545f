"""Trees as the fuzzer calls them: every question of a tree, its configurations, its systems, its joints and frames."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from tests.hostile.models import J3, Target, arm, m, x, y

import appell as ap
from appell.tree import ChainLink, Inertia, Joint, Limits, contact_point, free_motion, place

ONE_LINK = "<robot name='r'><link name='base'/></robot>"
BODY = Inertia.at_centre(1.0, (0.1, 0.0, 0.0), np.eye(3))


@cache
def bounded() -> ap.Tree:
    """Two joints with stops."""
    limits = Limits(-1.0, 1.0)
    return ap.Tree(
        [Joint("a", body=BODY, limits=limits), Joint("b", parent="a", placement=place((1, 0, 0)), body=BODY, limits=limits)],
        backend="vm",
    )


@cache
def floating() -> ap.Tree:
    return ap.Tree([Joint("f", kind="floating", body=BODY)], backend="vm")


def _questions() -> dict[str, Target]:
    """A tree's numbers at a state."""
    tree, q, v = arm(), [0.1, 0.2], [1.0, 0.5]
    of_q = ("centre_of_mass", "centre_of_mass_jacobian", "centroidal", "mass_triangle", "named")
    of_qv = ("bias", "centroidal_bias", "coriolis", "kinetic_energy", "momentum", "rate")
    of_qva = ("inverse_dynamics", "inverse_dynamics_derivatives", "regressor", "wrenches")
    found = {f"tree.{name}": Target(getattr(tree, name), {"q": q}, 0.7) for name in of_q}
    found |= {f"tree.{name}": Target(getattr(tree, name), {"q": q, "v": v}, 0.7) for name in of_qv}
    found |= {f"tree.{name}": Target(getattr(tree, name), {"q": q, "v": v, "a": v}, 0.7) for name in of_qva}
    found |= {
        "tree.forward_dynamics_derivatives": Target(tree.forward_dynamics_derivatives, {"q": q, "v": v, "tau": v}, 0.7),
        "tree.forward_dynamics, pushed": Target(
            tree.forward_dynamics, {"q": q, "v": v, "tau": v, "external": {"a": [0.0, 0, 0, 1, 0, 0]}}, 1
        ),
        "tree.forward_dynamics into": Target(
            tree.forward_dynamics, {"q": [[0.1, 0.2]], "v": [[0.0, 1.0]], "tau": [[0.0, 0.0]], "out": np.zeros((1, 2))}, 1
        ),
        "tree.bias_acceleration": Target(tree.bias_acceleration, {"frame": "b", "q": q, "v": v, "reference": "aligned"}, 1),
        "tree.frame_function": Target(tree.frame_function, {"frame": "b", "question": "jacobian", "reference": "local"}, 0.3),
    }
    return found


def _configurations() -> dict[str, Target]:
    tree, q = arm(), [0.1, 0.2]
    seven = [0.0, 0, 0, 1, 0, 0, 0]
    return {
        "tree.integrate": Target(tree.integrate, {"q": q, "w": q}, 1),
        "tree.difference": Target(tree.difference, {"q0": q, "q1": [0.0, 1.0]}, 1),
        "tree.distance": Target(tree.distance, {"q0": q, "q1": [0.0, 1.0]}, 1),
        "tree.interpolate": Target(tree.interpolate, {"q0": q, "q1": [0.0, 1.0], "s": [0.0, 0.5]}, 1),
        "tree.configuration": Target(tree.configuration, {"values": {"a": 0.1, "b": 0.2}}, 1),
        "tree.random": Target(tree.random, {"rng": 0, "count": 2}, 1),
        "tree.to_pinocchio": Target(tree.to_pinocchio, {"q": q}, 0.5),
        "tree.from_pinocchio": Target(tree.from_pinocchio, {"q": q}, 0.5),
        "tree.to_mujoco": Target(floating().to_mujoco, {"q": seven, "v": [0.0] * 6}, 0.5),
        "tree.from_mujoco": Target(floating().from_mujoco, {"q": seven, "v": [0.0] * 6}, 0.5),
        "floating.integrate": Target(floating().integrate, {"q": seven, "w": [0.1] * 6}, 0.5),
        "floating.difference": Target(floating().difference, {"q0": seven, "q1": seven}, 0.5),
        "floating.mass_matrix": Target(floating().mass_matrix, {"q": seven}, 0.5),
        "tree.indices": Target(tree.indices, {"joint": "a"}, 0.5),
        "tree.joint": Target(tree.joint, {"name": "a"}, 0.5),
        "tree.speeds": Target(tree.speeds, {"name": "a"}, 0.5),
        "tree.inputs": Target(lambda joint: tree.inputs(joint), {"joint": "a"}, 0.5),
        "tree.stops": Target(
            lambda joint, restitution: bounded().stops(joint, restitution=restitution), {"joint": "a", "restitution": 0.5}, 1
        ),
        "tree.lock": Target(bounded().lock, {"values": {"a": 0.1}}, 1),
        "tree.reach": Target(
            bounded().reach,
            {
                "targets": {"b": [1.0, 0.0, 0.0]},
                "near": [0.0, 0.1],
                "limits": True,
                "attempts": 2,
                "tolerance": 1e-6,
                "seed": 0,
            },
            0.5,
        ),
    }


def _systems() -> dict[str, Target]:
    tree = arm()
    a, b = tree.frame("a"), tree.frame("b")
    q, v = tree.system().coordinates, tree.system().velocities
    body = ap.RigidBody(m, [1, 1, 1], [x, y, 0], ap.quaternion("k"))
    free = free_motion(ap.RigidBody(2.0, [1, 1, 1], [x, y, 0], ap.quaternion("k")))
    return {
        "tree.system": Target(
            tree.system,
            {
                "constraints": [q[0] - q[1]],
                "forces": {q[0]: -m * v[0]},
                "potential": m * q[0] ** 2,
                "loads": [([0, 0, m], b.velocity)],
                "name": "s",
            },
            0.3,
        ),
        "ChainLink": Target(
            lambda **given: ap.Chain([ChainLink(**given)]),
            {"mass": m, "c": [0.1, 0, 0], "J": J3, "r": [0, 0, 0], "e": [0, 0, 1], "armature": 0.1, "damping": m},
            1.5,
        ),
        "contact_point with friction": Target(
            contact_point,
            {
                "frame": a,
                "point": [0, 0, m],
                "height": 0.1,
                "one_sided": True,
                "slips": True,
                "restitution": 0.5,
                "belt": [0, m],
                "friction": 0.3,
                "static": 0.4,
                "name": "toe",
            },
            1,
        ),
        "rolling with friction": Target(
            ap.rolling,
            {
                "wheel": b,
                "radius": 0.3,
                "axis": [0, 1, 0],
                "sideways": True,
                "height": 0,
                "belt": [0, 0],
                "friction": 0.3,
                "static": 0.4,
                "name": "r",
            },
            0.7,
        ),
        "free_motion": Target(free_motion, {"body": body, "r_c": [0, 0, m], "axes": "body"}, 1),
        "free_motion.acceleration": Target(free.acceleration, {"omega": [0, 0, 1], "force": [0, 0, 1], "moment": [1, 0, 0]}, 1),
        "free_motion.forces": Target(free.forces, {"omega": [0, 0, 1], "w": [0, 0, 1], "omega_dot": [1, 0, 0]}, 1),
        "free_motion.with_parameters": Target(free_motion(body).with_parameters, {"values": {m: 1.0}}, 0.5),
        "Inertia.seen_from": Target(BODY.seen_from, {"X": place((1, 0, 0))}, 0.5),
        "tree.register": Target(ap.tree.register, {"kind": None}, 0.2),
        "simulate a tree": Target(
            ap.simulate, {"system": tree, "start": {"a": 0.1, "b": 0.2}, "until": 0.01, "backend": "vm", "max_steps": 200}, 0.5
        ),
    }


def _robots() -> dict[str, Target]:
    """Readers, and what is asked of a robot that was read."""
    names = {"tau": [0.1, 0.2]}
    return {
        "Tree.from_file": Target(ap.Tree.from_file, {"path": ONE_LINK, "kind": "urdf", "gravity": [0, 0, 1]}, 0.7),
        "Tree.from_mjcf": Target(ap.Tree.from_mjcf, {"path": "<mujoco/>", "limits": True, "gravity": None}, 0.3),
        "tree.clipped": Target(bounded().clipped, names, 0.7),
        "tree.parametrized": Target(lambda what: arm().parametrized(what), {"what": "mass"}, 0.3),
        "tree.base_parameters": Target(arm().base_parameters, {"seed": 0}, 0.1),
        "tree.register_reader": Target(ap.tree.register_reader, {"reader": None}, 0.2),
    }


def tree_targets() -> dict[str, Any]:
    return {**_questions(), **_configurations(), **_systems(), **_robots()}
