"""Digests: every field of every model object changes them, and nothing else does."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

import appell as ap
from appell.ensembles.sweep import model_digest
from appell.errors import ModelError
from appell.model.fingerprint import fingerprint
from appell.reductions.kinds import KINDS, meaning
from appell.tree import Inertia, Joint, place
from appell.tree.description import Limits

x, y, phi = ap.coordinates("x y phi")
k, m, mu = ap.parameters("k m mu", positive=True)
u = ap.prescribed("u")


def everything() -> list[Any]:
    """Systems that have between them every kind of model object with every field in use."""
    floor = ap.Unilateral(y, "floor", restitution=0.1, chart=y)
    rubbing = ap.Friction(x.d, normal=floor, coefficient=mu, static=0.3, law="poisson", regularise=1e-3, name="sole")
    brake = ap.Friction(phi.d, limit=2.0, name="brake")
    rod = ap.Constraint(x + 0.1 * phi, "rod", reaction={x: 1.0, phi: 0.1})
    bodies = [ap.Particle(m, [x, y, 0.25]), ap.RigidBody(2.0, 0.3, [x, y], phi, name="disc")]
    loads = [
        ap.Force([0.0, -9.81, 0.0], [x, y, 0.0]), ap.Spring([[x, y], [0.5, 0.0]], k, 0.2, name="spring"),
        ap.Damper([[x, y], [0.5, 0.0]], 0.7, name="damper"),
    ]  # fmt: skip
    plane = ap.System(
        [x, y, phi], 0.1 * phi.d**2, 9.81 * y, {phi: -0.01 * phi.d}, [floor, rubbing, brake, rod], bodies=bodies, loads=loads,
        sample={y: 1.0}, name="everything",
    )  # fmt: skip
    stop = ap.Between(-1.0, x, 2.0, "stop", restitution=0.5)
    driven = ap.System([x], m * x.d**2 / 2, k * (x - u) ** 2 / 2, constraints=[stop])
    table = (np.linspace(0, 1, 9), np.sin(np.linspace(0, 1, 9)))
    told = ap.model.prescription.settled(driven, {u: table, k: 1.0, m: 1.0}, (0.0, 1.0))[0]
    body, limits = Inertia.at_centre(2.0, [0.1, 0, 0.2], np.eye(3)), Limits(-1.0, 1.5, 3.0, 20.0)
    hip = Joint("hip", "revolute", axis=(0, 1, 0), body=body, armature=0.1, damping=0.2, limits=limits)
    arm = ap.Tree([hip, Joint("knee", "revolute", "hip", place([0, 0, 0.4]), body=body, link="shin")])
    ball = ap.quaternion("q")
    free = ap.System([ball], bodies=[ap.RigidBody(1.0, np.diag([1.0, 2.0, 3.0]), [0, 0, 0], ball)])
    return [plane, told, free, arm.system(arm.stops()), newer()]


def newer() -> ap.System:
    """A tank that loses mass, a heater, a measured force that jumps, a ball thrown back, a torque."""
    heat, pushed = ap.states("heat"), ap.sampled([0.0, 0.5, 1.0], [0.0, 1.0, 0.3], "zero", name="pushed")
    tank = ap.Particle(m * (2 - ap.t / 10), [x, y, 0.0], carried=[x.d, y.d, -0.5])
    step = sympy.Heaviside(ap.t - 0.25)
    force = {x: pushed + 0.1 * step - 0.01 * heat, phi: 0.2 * sympy.sign(ap.t - 0.75)}
    thrown = ap.Reset(y, {y.d: -y.d, heat: heat + 0.1}, "thrown")
    disc = ap.RigidBody(2.0, 0.3, [x, y], phi, name="disc")
    return ap.System(
        [x, y, phi], 0.1 * phi.d**2, 9.81 * y, force, [thrown], bodies=[tank, disc], loads=[ap.Torque(0.4, disc)],
        rates={heat: -0.3 * heat + x.d},
    )  # fmt: skip


def test_a_record_is_known_by_all_its_samples():
    times, values = np.linspace(0, 1, 5), np.array([0.0, 1.0, 2.0, 1.0, 0.0])
    later, larger = times + np.array([0, 2**-54, 0, 0, 0]), values + np.array([0, 0, 2**-51, 0, 0])
    asked = [(times, values, "linear"), (times, values, "zero"), (later, values, "linear"), (times, larger, "linear")]
    found = [fingerprint(ap.System([x], x.d**2 / 2, 0, {x: ap.sampled(*one)})) for one in asked]
    assert len(set(found)) == len(found)
    assert fingerprint(ap.System([x], x.d**2 / 2, 0, {x: ap.sampled(*asked[0])})) == found[0]


def test_the_friction_of_a_wheel_is_part_of_it():
    wheel = ap.RigidBody(m, [1, 1, 1], [x, y, 0.3], ap.quaternion("w"))
    made = lambda **given: fingerprint(ap.rolling(wheel, 0.3, up=[0, 0, 1], **given))
    options = ({}, {"friction": 0.3}, {"friction": 0.3, "static": 0.4}, {"friction": 0.30000000000000004})
    assert len({made(**given) for given in options}) == len(options)


def test_a_registered_reduction_is_known_by_what_it_computes():
    """Not by its name: the same one may be registered with another meaning in the next process."""
    found, power = set(), 2

    def rooted(values):
        return values ** (1 / power)

    ways = [
        (lambda e: [ap.reduce.mean(e**2)], np.sqrt), (lambda e: [ap.reduce.mean(e**4)], np.sqrt),
        (lambda e: [ap.reduce.mean(e**2)], np.cbrt), (lambda e: [ap.reduce.mean(e**2)], lambda s: s**0.5),
        (lambda e: [ap.reduce.mean(e**2)], lambda s: s**0.25), (lambda e: [ap.reduce.mean(e**2)], rooted),
    ]  # fmt: skip
    for made, finish in ways:
        rms = ap.reduce.register("rms of this test", made, finish)
        found.add(fingerprint(meaning(rms(x))))
        assert fingerprint(meaning(rms(x))) in found
        del KINDS["rms of this test"]
    power = 3
    rms = ap.reduce.register("rms of this test", *ways[-1])
    assert fingerprint(meaning(rms(x))) not in found and len(found) == len(ways)
    del KINDS["rms of this test"]


def parts(thing: Any, seen: set[int]) -> Iterator[Any]:
    """Every record and system inside a thing, and the thing."""
    if id(thing) in seen or isinstance(thing, str | bytes | sympy.Basic | np.ndarray):
        return
    seen.add(id(thing))
    if isinstance(thing, ap.System):
        yield thing
        yield from parts(thing._given, seen)
        yield from parts(getattr(thing, "tree", None), seen)
    elif isinstance(thing, ap.Tree):
        yield from parts(thing.joints, seen)
    elif isinstance(thing, Mapping):
        for value in thing.values():
            yield from parts(value, seen)
    elif isinstance(thing, tuple | list):
        for value in thing:
            yield from parts(value, seen)
    elif is_dataclass(thing) and not isinstance(thing, type):
        yield thing
        for field in fields(thing):
            yield from parts(getattr(thing, field.name), seen)


def other(value: Any) -> Any:
    """The least change of a value that can be made."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return math.nextafter(value, math.inf) if math.isfinite(value) else 1.0
    if isinstance(value, str):
        return value + "'"
    if isinstance(value, sympy.MatrixBase):
        return value.applyfunc(other)
    if isinstance(value, sympy.Float):
        return sympy.Float(math.nextafter(float(value), math.inf))
    if isinstance(value, sympy.Expr):
        return value + sympy.Symbol("another")
    if isinstance(value, np.ndarray):
        return np.nextafter(value, np.inf) if value.dtype.kind == "f" else np.append(value, value)
    if isinstance(value, tuple | list):
        return (*value, 1)
    if isinstance(value, Mapping):
        return {**value, "another": 1}
    return "another"


SYSTEMS = everything()


@pytest.mark.parametrize("number", range(len(SYSTEMS)))
def test_every_field_of_every_object_changes_the_digest(number):
    system = SYSTEMS[number]
    before, changed = fingerprint(system), 0
    for part in parts(system, set()):
        if isinstance(part, ap.System):
            for name, value in list(part._given.items()):
                part._given[name] = other(value)
                assert fingerprint(system) != before, f"{name} of a System"
                part._given[name], changed = value, changed + 1
            continue
        for field in fields(part):
            value = getattr(part, field.name)
            if isinstance(value, property) or field.name not in vars(part):
                continue
            object.__setattr__(part, field.name, other(value))
            assert fingerprint(system) != before, f"{field.name} of a {type(part).__name__}"
            object.__setattr__(part, field.name, value)
            changed += 1
    assert changed >= 12 and fingerprint(system) == before


def test_every_public_model_object_is_among_them():
    met = {type(part).__name__ for system in SYSTEMS for part in parts(system, set())}
    answers = {"Motion", "Run"}
    public = {name for name in ap.__all__ if isinstance(getattr(ap, name), type) and is_dataclass(getattr(ap, name))}
    assert {"Constraint", "Reset"} < public and met >= {*public - answers, "System"}


def test_numbers_are_digested_with_all_their_digits():
    system = lambda number: ap.System([x], x.d**2 / 2, number * x**2)
    assert model_digest(system(0.1)) == model_digest(system(0.1))
    assert model_digest(system(0.1)) != model_digest(system(math.nextafter(0.1, 1)))
    assert model_digest(system(0.1)) != model_digest(system(sympy.Rational(1, 10) + sympy.Rational(1, 10**20)))
    lists = [(["a", "bc"], ["ab", "c"]), ([[1], 2], [1, [2]]), ({}, [])]
    for one, another in [(0.0, -0.0), (1, 1.0), (True, 1), ("a", b"a"), *lists]:
        assert fingerprint(one) != fingerprint(another)
    assert fingerprint(np.array([1.0, np.nan])) == fingerprint(np.array([1.0, np.nan])[:])
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})


def test_what_has_no_digest_is_refused():
    with pytest.raises(ModelError, match="has no digest"):
        fingerprint({"law": lambda s: s})
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ModelError, match="contains itself"):
        fingerprint(loop)


CHILD = """
import sys
sys.path.insert(0, {root!r})
from tests.ensembles.test_fingerprint import SYSTEMS
from appell.model.fingerprint import fingerprint
from appell.reductions.kinds import KINDS, meaning
print(*map(fingerprint, SYSTEMS))
"""


def test_digests_are_the_same_in_every_process():
    root = str(Path(__file__).parents[2])
    child = [sys.executable, "-c", CHILD.format(root=root)]
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    found = subprocess.run(child, capture_output=True, text=True, check=True, env=env).stdout.split()
    assert found == [fingerprint(system) for system in SYSTEMS]
