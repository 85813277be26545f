"""Equations of forms: powers with letters, and multipliers where the velocities of the form do not determine the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from sympy import cos, exp, sin
from tests.families.family import family

import appell as ap

x, y, phi = ap.coordinates("x y phi")
m, k, n, p, a = ap.parameters("m k n p a")
FREE = ("lagrange", "tsenov", "hamilton")


@family(sample=(0, 2))
def powers_with_letters(seed: int) -> None:
    """Powers xⁿ and e^(ax) have no order: the equations are written, and hold with the accelerations of d'Alembert."""
    plane, turn = m * (x.d**2 + y.d**2) / 2, m * x.d**2 / 2 + k * phi.d**2 / 2
    cases: list[tuple[Any, Any]] = [
        (plane, k * x**2 * y**2 / 2 + a * x ** (n + 1) / (n + 1) * y + k * x * y),
        (turn, k * x**n * cos(phi) + m * x**p * sin(phi)),
        (turn + m * x.d * phi.d * exp(x / 3) * cos(phi) / 9, m * exp(x / 3) * sin(phi) - k * exp(2 * x / 3) * sin(phi)),
        (turn, exp(a * x) * cos(phi) + exp(p * x) * sin(phi)),
        (turn, m * sin(phi) * x + k * sin(phi) * x**2 + sin(phi) ** a * cos(phi)),
        (plane, exp(a * (x - y)) + exp(p * (y - x)) + k * x**n),
        (turn + m * x**n * phi.d**2 / 2, k * x * cos(phi) + x ** (2 * n) * sin(phi) ** 2),
        (plane, k * x**n * y**2 + a * x**p * y + m * x * y),
        (turn, m * x / sin(phi) + k * x**2 / sin(phi) + x * sin(phi) ** a / cos(phi)),
        (plane + m * x.d * y.d * y**n / 9, k * x * y**p + x * y * m + x**2 * y * a),
        (turn, x ** (a + 1) * cos(phi) ** 2 + x**a * cos(phi) + x * cos(phi) * k),
        (plane, m * exp(a * x) * y + k * exp(a * x + p * y) + exp(n * y) * x),
    ]
    T, V = cases[seed]
    q = (x, y) if T.has(y.d) else (x, phi)
    system = ap.System(q, T, V, sample={x: 1.3, q[1]: 0.7})
    values = {m: 1.1, k: 0.9, n: 2.3, p: 1.7, a: 1.2}
    state = {x: 1.3, q[1]: 0.7, x.d: 0.4, q[1].d: -0.6, **values}
    momenta = [T.diff(one.d) for one in q]
    M = [[float(e.diff(one.d).subs(state)) for one in q] for e in momenta]
    h = [float(((T - V).diff(one) - sum(e.diff(s) * s.d for s in q)).subs(state)) for one, e in zip(q, momenta, strict=True)]
    own = np.linalg.solve(M, h)
    given = {s: value for s, value in values.items() if s in system.parameters}
    for form in FREE:
        equations = getattr(ap.forms, form)(system)
        for style in ("plain", "simplified", "solved"):
            assert equations.text(style) and equations.latex(style)
        found, _ = equations.acceleration(0, [1.3, 0.7], [0.4, -0.6], given)
        assert np.abs(found - own).max() <= 1e-9 * (1 + np.abs(own).max())  # rounding
        there = {**equations.solution({ap.t: 0, **state}, 30), **dict(zip((one.dd for one in q), own, strict=True))}
        for e in equations.equations:
            left, right = (float(sympy.sympify(side).subs(there)) for side in (e.lhs, e.rhs))
            assert abs(left - right) <= 1e-8 * (1 + abs(left)), str(e)


@family(sample=(0, 3))
def multipliers_beside_singular_velocities(seed: int) -> None:
    """Λ is that of d'Alembert, or refused where the velocities of the form do not determine the others up to rounding."""
    rng = np.random.default_rng(seed)
    zero = (sin(y), sin(2 * y), cos(y / 2), sin(y) * (1 + x**2))[seed % 4]  # vanishes at π
    row = x.d * zero - y.d * (a if seed % 3 else a + x / 4)
    system = ap.System([x, y], (x.d**2 + 2 * y.d**2) / 2, k * (x**2 + y**2) / 2, constraints=[row])
    chosen = {"p": y.d} if seed % 2 else {"p": y.d + y.d**3}  # the second are refused by some forms
    ways: list[tuple[str, dict[str, Any]]] = [
        *((form, {"independent": [y]}) for form in ("jourdain", "chaplygin", "voronets", "appell")),
        *((form, {"pseudo": chosen}) for form in ("maggi", "kane", "appell", "hamel")),
    ]
    values = {a: float(rng.uniform(0.5, 2)), k: float(rng.uniform(0.5, 2))}
    for form, options in ways:
        try:
            equations = getattr(ap.forms, form)(system, **options)
        except ap.FormNotApplicable:
            continue
        for beside in (0.0, 1e-15, -3e-13, 2e-11, 1e-4, 0.3):
            q, v = _on_the_row(row, [float(rng.uniform(-1, 1)), np.pi + beside], float(rng.uniform(-1, 1)), values)
            try:
                found = equations.acceleration(0, q, v, values)
            except ap.SingularConfiguration:
                assert abs(beside) < 1e-4
                continue
            want = _dalembert(row, q, v, values)
            gap = np.abs(np.concatenate(found) - want).max()
            assert gap <= 1e-7 * (1 + np.abs(want).max()), (form, beside)  # eight digits are what the check promises


def _on_the_row(row: Any, q: list[float], speed: float, values: Any) -> tuple[list[float], list[float]]:
    there = dict(zip((x, y), q, strict=True)) | values
    A = [float(row.diff(s).subs(there)) for s in (x.d, y.d)]
    return q, [speed, -A[0] / A[1] * speed]


def _dalembert(row: Any, q: list[float], v: list[float], values: Any) -> Any:
    """(ẍ, ÿ, Λ) from M a = Q + Aᵀ Λ, A a + Ȧ v = 0."""
    there = dict(zip((x, y, x.d, y.d), [*q, *v], strict=True)) | values
    A = [float(row.diff(s).subs(there)) for s in (x.d, y.d)]
    free = float(sympy.Add(*(row.diff(s) * s.d for s in (x, y))).subs(there))
    K = [[1, 0, -A[0]], [0, 2, -A[1]], [A[0], A[1], 0]]
    return np.linalg.solve(K, [-values[k] * q[0], -values[k] * q[1], -free])
