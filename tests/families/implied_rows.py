"""Rows that depend on others only where the constraints hold: every form that applies finds the motion of the others alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from sympy import cos, exp, sin
from tests.families.family import family

import appell as ap

x, y, z, w = ap.coordinates("x y z w")
a, b, c, d, p = ap.coordinates("a b c d p")
phi = ap.coordinates("phi")
TIME = ap.t


def _cranks(turning: list[Any], at: list[float], radius: float = 1.0) -> list[Any]:
    """Two rows for each further crank parallel to the first on one coupler; of each beyond the first, one is implied."""
    rows: list[Any] = []
    for crank, place in zip(turning[1:], at, strict=True):
        rows.append(radius * (cos(turning[0]) - cos(crank)) + place * (cos(p) - 1))
        rows.append(radius * (sin(turning[0]) - sin(crank)) + place * sin(p))
    return rows


def cases() -> list[tuple[list[Any], list[Any], list[int], dict[Any, float]]]:
    """(coordinates, rows, those that are independent on the constraints, a start that satisfies them)."""
    circle = x**2 + y**2 - 4
    wire = y - sin(x) / 2
    blade = x.d * sin(phi) - y.d * cos(phi)
    on_circle = {x: 1.2, y: 1.6, x.d: 0.8, y.d: -0.6}
    on_wire = {x: 0.7, y: np.sin(0.7) / 2, x.d: 1.0, y.d: np.cos(0.7) / 2, z: 0.3, z.d: 0.4}
    rolls = {x: 0.4, y: 0.1, phi: 0.5, x.d: np.cos(0.5), y.d: np.sin(0.5), phi.d: 0.3}
    three, four = _cranks([a, b, c], [2.0, 1.0]), _cranks([a, b, c, d], [2.0, 1.0, -1.5], 0.5)
    turned = lambda *names: {**{s: 0.7 for s in names}, **{s.d: 1.0 for s in names}}
    return [
        ([a, b, c, p], three, [0, 1, 2], turned(a, b, c)),
        ([x, y], [circle, circle * (1 + x * y / 5)], [0], on_circle),
        ([x, y, z], [wire, wire * exp(z / 3) / 100], [0], on_wire),
        ([x, y, phi], [blade, blade * (2 + sin(x)) + blade**2 * y], [0], rolls),
        ([x, y, z], [wire, z.d - y * x.d, (z.d - y * x.d) * (1 + z) + wire * x.d], [0, 1],
         {**on_wire, z.d: np.sin(0.7) / 2}),
        ([x, y, z], [wire, sympy.diff(wire, x) * x.d + y.d + wire * z.d], [0], on_wire),
        ([a, b, c, d, p], four, [0, 1, 2, 4], turned(a, b, c, d)),
        ([x, y, z, w], [x - y, z - w, (x - y) * cos(z) + (z - w) * (3 + x)], [0, 1],
         {x: 0.5, y: 0.5, z: 0.3, w: 0.3, x.d: 0.4, y.d: 0.4, z.d: -0.2, w.d: -0.2}),
        ([x, y], [x - y - TIME / 5, (x - y - TIME / 5) * (1 + TIME + y**2)], [0], {x: 0.6, y: 0.6, x.d: 0.5, y.d: 0.3}),
        ([x, y, z], [x**2 + y**2 + z**2 - 4, x * (x**2 + y**2 + z**2 - 4) + z - 1, z - 1], [0, 2],
         {x: 1.0, y: 2**0.5, z: 1.0, x.d: 2**0.5, y.d: -1.0}),
        ([x, y, phi], [blade, phi.d - x.d / 2 - y.d, blade * y - (phi.d - x.d / 2 - y.d) * (2 + cos(phi))], [0, 1],
         {**rolls, phi.d: np.cos(0.5) / 2 + np.sin(0.5)}),
        ([x, y, z], [wire, z.dd - x.dd * y, (z.dd - x.dd * y) * (2 + x) + wire * y.dd], [0, 1], on_wire),
    ]  # fmt: skip


def _expected(q: list[Any], T: Any, V: Any, rows: list[Any], start: dict[Any, float]) -> np.ndarray:
    """a of M a + A'Λ = -h, A a = -a0 at t = 0 with these rows alone, by SymPy's derivatives."""
    v, acc = [s.d for s in q], [s.dd for s in q]
    move = lambda e: _slope(e, TIME) + sum(_slope(e, s) * s.d + _slope(e, s.d) * s.dd for s in q)
    left = [move(_slope(T, s.d)) - _slope(T - V, s) for s in q]
    order = [2 if any(r.has(s) for s in acc) else 1 if any(r.has(s) for s in v) else 0 for r in rows]
    second = [r if k == 2 else move(r) if k == 1 else move(move(r)) for r, k in zip(rows, order, strict=True)]
    at = {s: start.get(s, 0.0) for s in (*q, *v)} | {TIME: 0.0}
    number = lambda e: float(sympy.sympify(e).xreplace({s: sympy.Float(x) for s, x in at.items()}))
    still = dict.fromkeys(acc, sympy.Integer(0))
    matrix = lambda lines: np.array([[number(_slope(e, s)) for s in acc] for e in lines])
    M, A = matrix(left), matrix(second)
    right = [-number(sympy.sympify(e).xreplace(still)) for e in (*left, *second)]
    K = np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])
    return np.linalg.solve(K, right)[: len(q)]


def _slope(e: Any, s: Any) -> Any:
    """∂e/∂s with all other symbols fixed."""
    u = sympy.Dummy()
    return sympy.diff(sympy.sympify(e).xreplace({s: u}), u).xreplace({u: s})


@family(sample=(0, 3))
def dependent_on_the_constraints(seed: int) -> None:
    """Forms with and without multipliers agree, have the freedom of the independent rows, and their accelerations."""
    q, rows, independent, start = cases()[seed]
    T = sum((2 + k) * s.d**2 for k, s in enumerate(q)) / 4 + q[0].d * q[1].d * cos(q[0] - q[1]) / 3
    V = sum(sin(s) / (1 + k) for k, s in enumerate(q))
    sample = {s: value for s, value in start.items() if s in q}
    system = ap.System(q, T, V, constraints=[ap.Constraint(r, name=f"row {k}") for k, r in enumerate(rows)], sample=sample)
    agreement = ap.agree(system, states=2)
    assert agreement.ok, str(agreement)
    expected = _expected(q, T, V, [rows[k] for k in independent], start)
    state = [start.get(s, 0.0) for s in q], [start.get(s.d, 0.0) for s in q]
    forms = [ap.forms.lagrange, ap.forms.maggi, ap.forms.kane, *([ap.forms.chaplygin, ap.forms.jourdain] if seed != 11 else [])]
    for form in forms:  # member 11 has a row of second order
        equations = form(system)
        assert np.abs(equations.acceleration(0.0, *state)[0] - expected).max() < 1e-9, equations.form
    assert len(ap.forms.maggi(system).equations) == len(q) - len(independent)
    (freedom,) = ap.diagnose(system).of("freedom")
    of_order = [not any(sympy.sympify(rows[k]).has(s.dd) for s in q) for k in independent]  # the freedom in the velocities
    assert str(freedom).split(" of freedom")[0].split()[-2] == str(len(q) - sum(of_order)), freedom
