"""Data that is not what it says: text where numbers stand, files that lead elsewhere, requests that cannot be meant."""

from __future__ import annotations

import os
import tempfile
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import sympy
from tests.families.family import family
from tests.hostile.fuzz_api import fuzz as fuzz_calls
from tests.hostile.fuzz_files import fuzz as fuzz_read
from tests.hostile.tripwire import CODE, tripwire

import appell as ap
from appell.errors import AppellError, ModelError
from appell.scene.film import film
from appell.scene.meshes import read_mesh
from appell.tree import Inertia, Joint, place

x, y, z = ap.coordinates("x y z")
m, l = ap.parameters("m l", positive=True)
EYE = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def tree(**given: Any) -> ap.Tree:
    body = Inertia.at_centre(1, (0.1, 0, 0), np.eye(3))
    return ap.Tree([Joint("a", **{"body": body, **given})])


PLACES: tuple[Callable[[Any], Any], ...] = (
    lambda text: place((l, text, 0)),  # the one that was seen: text beside a parameter
    lambda text: Inertia.at_centre(m, (l, 0, text), EYE),
    lambda text: Inertia.at_hinge(m, (0, 0, 0), [[m, 0, 0], [0, m, text], [0, 0, m]]),
    lambda text: tree(axis=(m, text, 0)),
    lambda text: tree(armature=[m, text]),
    lambda text: ap.Tree([Joint("a")], gravity=(0, l, text)),
    lambda text: ap.Chain([{"mass": m, "c": (l, text, 0), "J": (m, m, m)}]),
    lambda text: tree(body=Inertia.at_centre(m, (l, 0, 0), EYE)).with_parameters({"m": text, "l": 1.0}),
    lambda text: ap.RigidBody(m, [1, 1, 1], [x, y], [[1, 0, 0], [0, text, 0], [0, 0, 1]]),
    lambda text: ap.RigidBody(m, [[m, 0, 0], [0, text, 0], [0, 0, m]], [x], 0),
    lambda text: ap.System([x], (m, text)),
    lambda text: ap.System([x], x.d**2, forces={x: [text]}),
    lambda text: ap.System([x, y], x.d**2 + y.d**2, speeds=ap.speeds("u w"), kinematics={x: text, y: text}),
    lambda text: ap.Constraint(x - y, reaction=[1, text]),
    lambda text: ap.Unilateral(x, restitution=(text, 1)),
    lambda text: ap.Friction([x.d, text], limit=1),
    lambda text: ap.total_derivative(x, {x: text}),
    lambda text: ap.Scene(ap.System([x], x.d**2), [ap.scene.Point([x, text])]),
    lambda text: ap.simulate(ap.System([x], x.d**2 / 2), {x: text}, 1.0, {}),
    lambda text: ap.diagnose(ap.System([x], m * x.d**2 / 2), {x: 1.0}, {"m": text}),
    lambda text: tree().frame("a").at((0, m, text)),
    lambda text: ap.Spring(([x, text], [0, 0]), m),
)


@family(count=len(PLACES), sample=(0, 8, 17))
def text_is_never_executed(seed: int) -> None:
    """Text where a number or an expression belongs, alone and in containers: refused by name, and SymPy does not see it."""
    for text in (CODE, (CODE,), np.str_(CODE), np.array([CODE], dtype=object), {CODE: CODE}):
        with tripwire() as executed:
            try:
                PLACES[seed](text)
            except AppellError as error:
                assert len(str(error)) < 4000
            else:
                raise AssertionError(f"{text!r} was taken")
        assert executed == [], executed


CODED: tuple[Any, ...] = tuple(
    expr(sympy.Function("__import__('os').getpid")(x), sympy.Symbol(CODE, real=True))
    for expr in (
        lambda f, s: f, lambda f, s: x + s, lambda f, s: sympy.sin(f), lambda f, s: s**2, lambda f, s: x.d * f,
        lambda f, s: s * x,
        lambda f, s: sympy.Sum(x, (s, 1, 2)), lambda f, s: sympy.Integral(f, (x, 0, 1)), lambda f, s: sympy.Max(f, x),
        lambda f, s: sympy.Piecewise((f, x > 0), (x, True)), lambda f, s: sympy.Derivative(f, x),
        lambda f, s: sympy.sqrt(s + x),
    )
)  # fmt: skip


RESTING = ap.simulate(ap.System([x], x.d**2 / 2), {x: 0.0}, 1.0, backend="vm")


@family(count=len(CODED), sample=(0, 6))
def names_in_expressions_never_stand_in_code(seed: int) -> None:
    """Functions and symbols whose names are code, where SymPy would write them into a Python function."""
    uses = (
        lambda: ap.Constraint(CODED[seed] - y), lambda: ap.Unilateral(x + CODED[seed]),
        lambda: ap.Constraint(CODED[seed] + sympy.exp(y.d)),  # whether it is linear is tried in numbers
        lambda: ap.System([x], x.d**2, CODED[seed]),
        lambda: film(ap.Scene(RESTING.system, [ap.scene.Point([x, CODED[seed]])]), RESTING),
        lambda: ap.System([x, y], x.d**2 + y.d**2, constraints=[ap.Unilateral(x + CODED[seed])]),
    )  # fmt: skip
    usual, called = os.getpid, []
    os.getpid = lambda *given: called.append(given) or usual()  # type: ignore[assignment]
    try:
        for use in uses:
            with suppress(AppellError):
                use()
    finally:
        os.getpid = usual
    assert called == []


@family(sample=(0,))
def hostile_calls(seed: int) -> None:
    """Five hundred hostile calls: only `AppellError`s leave, nothing is executed."""
    wrong = fuzz_calls(1_000_000 + 500 * seed, 500 if seed else 100).wrong
    assert wrong == {}, wrong


@family(sample=(0,))
def damaged_files(seed: int) -> None:
    """Two hundred damaged robots, meshes and motions."""
    _, wrong = fuzz_read(1_000_000 + 200 * seed, 200 if seed else 40)
    assert wrong == {}, wrong


def dae(inside: str, namespace: str = "n") -> str:
    return f'<?xml version="1.0"?><COLLADA xmlns="{namespace}">{inside}</COLLADA>'


BOMBS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("dae", lambda: dae("<a/>" * 60_000, "n" * 700_000)),  # the one that was seen: a megabyte, gigabytes of names
    ("dae", lambda: dae("<a:b/>" * 50_000, "n" * 500_000)),
    ("dae", lambda: dae("<a " + " ".join(f'a{i}="{i}"' for i in range(60_000)) + "/>")),
    ("dae", lambda: dae("<node>" * 100_000 + "</node>" * 100_000)),
    ("dae", lambda: '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><COLLADA>&b;</COLLADA>'),
    ("dae", lambda: dae("<x>" + "1 " * 500_000 + "</x>")),
    ("obj", lambda: "v 0 0 0\n" * 3 + "f " + "1 2 3 " * 700_000),
    ("obj", lambda: "v 0 0 0\n" * 3 + "f 1 2 3\n" * 50_000 + "f 9 9 9\n"),
    ("obj", lambda: "v 1e300 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n"),
    ("stl", lambda: "solid\n" + "vertex nan 0 0\n" * 30_000),
    ("stl", lambda: "solid\n" + "vertex 1 2\n" * 30_000),
    ("obj", lambda: "f 1 2 3\n"),
)


@family(count=len(BOMBS), sample=(0, 3))
def meshes_in_bounded_memory(seed: int) -> None:
    """Some megabytes of mesh that would be gigabytes, or nothing at all: refused by name, in less than 400 MB."""
    suffix, content = BOMBS[seed]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"bomb.{suffix}"
        path.write_text(content())
        tracemalloc.start()
        try:
            read_mesh(path)
        except ModelError as error:
            assert "bomb" in str(error) and len(str(error)) < 1000
        else:
            raise AssertionError("it was read")
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 400_000_000, peak
