"""What `diagnose` says: velocities that the start allows, the letters of the user, and squares that contradict nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from sympy import cos, sin
from tests.families.family import family

import appell as ap

x, y, z, phi = ap.coordinates("x y z phi")
f, h = ap.prescribed("f h")
k = ap.parameters("k", positive=True)
T = (x.d**2 + y.d**2 + z.d**2 + phi.d**2) / 2


@family(sample=(0, 1, 2))
def pseudo_velocities_at_the_start(seed: int) -> None:
    """A velocity that the rows hold fast at the start is not suggested: Φ = ∂(π̇, f)/∂q̇ is regular there."""
    ball, other = x**2 + y**2 + z**2 - 1, x * y.d + y * z.d + z * x.d + phi.d / 9
    cases: list[tuple[list[Any], dict[Any, float]]] = [
        ([ball], {z: -1.0}), ([ball], {x: 1.0}), ([ball], {y: 1.0}),
        ([other], {x: 1.0}), ([other], {y: -1.0}), ([other], {z: 1.0}),
        ([x.d * sin(phi) + y.d * cos(phi) - z.d * phi], {}), ([x * y + y * z + z * x - x], {x: 0.0, y: 0.0, z: 1.0}),
        ([ball, phi - x * y], {z: 1.0}), ([4 * x**2 + y**2 / 4 + z**2 - 1], {y: 2.0}), ([ball + phi**2], {phi: 1.0}),
        ([x.d * cos(phi) + y.d * sin(phi) + k * z.d * (1 - cos(phi))], {phi: 0.0}),
    ]  # fmt: skip
    rows, start = cases[seed]
    system = ap.System([x, y, z, phi], T, constraints=rows)
    (found,) = ap.diagnose(system, start, {p: 1.3 for p in system.parameters}).of("pseudo-velocities")
    pseudo = eval(str(found).split("pseudo=")[1].split(" has a condition")[0], {}, _names(system))
    at = {**{q: start.get(q, 0.0) for q in system.coordinates}, **dict.fromkeys(system.velocities, 0.0), k: 1.3, ap.t: 0.0}
    slopes = [e.diff(v) for e in pseudo.values() for v in system.velocities]
    held = [(ap.total_derivative(row) if _order(row) == 0 else row).diff(v) for row in rows for v in system.velocities]
    Phi = np.array([float(sympy.sympify(e).subs(at)) for e in (*slopes, *held)]).reshape(4, 4)
    Phi /= np.linalg.norm(Phi, axis=1, keepdims=True)
    assert np.linalg.cond(Phi) < 100


def _names(system: ap.System) -> dict[str, Any]:
    names: dict[str, Any] = {str(q): q for q in system.coordinates}
    return {**names, "sin": sin, "cos": cos, "k": k}


def _order(row: Any) -> int:
    return ap.Constraint(row).order


@family(sample=(0, 4))
def letters_of_the_user(seed: int) -> None:
    """Prescribed functions without a value stay f, f.d in every sentence and in every expression that is found."""
    rows: list[Any] = [
        x.d - f * y.d - f.d * y, x - f * y, x.d - f * y.d, x**2 + y**2 - f**2, x.d * sin(f) - y.d * cos(f), x.dd - f * y,
        x.d - h * y.d - h.d * y - f.d, x - f - h, x * f - y * h, x.d - f.d, x.d**2 + y.d**2 - f**2, (x - f) * (y - h) - 1,
    ]  # fmt: skip
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, potential=f * y if seed % 2 else 0, constraints=[rows[seed]])
    diagnosis = ap.diagnose(system)
    text = str(diagnosis)
    assert "__" not in text and "f(" not in text and "h(" not in text and "Tabulated" not in text, text
    known = {ap.t, *system.coordinates, *system.velocities, *system.parameters, f, f.d, h, h.d}
    assert all(finding.expression.free_symbols <= known for finding in diagnosis if finding.expression is not None)
    if seed == 0:
        (finding,) = diagnosis.of("integrability")
        assert finding.expression is not None and sympy.simplify(finding.expression - (x - f * y)) == 0


@family(sample=(0, 3, 6))
def squares_of_rows(seed: int) -> None:
    """A square has no slope where it is satisfied, and contradicts nothing; beside its base it is redundant."""
    u: list[Any] = [x - y, x * y - z, x.d - y * z.d, x**2 + y**2 + z**2 - 1, x.d - k * y.d + 1, x - 3]
    base = u[seed % 6]
    rows = [base**2] if seed < 6 else [base, 3 * base**3 if seed % 2 else base**2]
    diagnosis = ap.diagnose(ap.System([x, y, z], T - phi.d**2 / 2, constraints=rows))
    assert not diagnosis.of("contradiction"), str(diagnosis)
    if seed < 6:
        (found,) = diagnosis.of("rank")
        read: Any = lambda text: sympy.parse_expr(text.replace(".d", "_d"), {"k": k})
        said, want = read(str(found).split("write ")[1]), read(str(base))
        assert sympy.simplify(said - want) == 0 or sympy.simplify(said + want) == 0
    else:
        assert any("no slope" in str(found) for found in diagnosis.of("redundancy"))
    plain = ap.diagnose(ap.System([x, y, z], T - phi.d**2 / 2, constraints=[x - y, x - y - 1 - z**2]))
    assert plain.of("contradiction") and not plain.of("rank")  # what does contradict is still said so


@family(count=16, sample=(0, 1, 9))
def integrable_rows_times_a_factor(seed: int) -> None:
    """g(q) dF/dt = 0 is holonomic in disguise, whatever g; with another term beside dF it is not."""
    F: list[Any] = [
        x * y / 2 + 3 * x + 3 * y, 2 * x + 3 * z + sympy.exp(y / 3), x + sin(y) / 3 + z, x * y * z + 5 * x,
        cos(x) + 3 * y + y * z / 5, x + y**3 / 7 + z**2 / 3, sympy.exp(x * y / 3) + z, 4 * z + x**2 * y / 3,
    ]  # fmt: skip
    g: list[Any] = [z**2 / 7 + 1, sympy.exp(2 * z / 3) / 7 + 1, 1 + cos(x) ** 2 / 28, 3 + sin(y + z) / 7, 1 + (x * z / 3) ** 2]
    function, factor = F[seed % 8], g[(seed * 3 + seed // 8) % 5]
    row = factor * ap.total_derivative(function)
    kinetic = (x.d**2 + 2 * y.d**2 + 3 * z.d**2) / 2
    found = ap.diagnose(ap.System([x, y, z], kinetic, constraints=[row])).of("integrability")
    assert [("holonomic in disguise" in str(one), "nonholonomic" in str(one)) for one in found] == [(True, False)], found
    curl = 1e-4 * x * z.d  # A · curl A does not vanish, and is far from rounding
    other = ap.diagnose(ap.System([x, y, z], kinetic, constraints=[factor * (ap.total_derivative(function) + curl)]))
    assert "nonholonomic" in str(other.of("integrability")[0])


@family(sample=(0, 3))
def parallel_cranks(seed: int) -> None:
    """n cranks on one coupler, e^{ia_k} = e^{ia_0} + d_k (e^{ic} − 1), move together: one degree of freedom, and among their
    momenta with equal masses only combinations of Σ ȧ_k are conserved."""
    rng = np.random.default_rng(seed)
    n, r = 3 + seed % 3, 1.0 if seed == 0 else rng.uniform(0.5, 2.0)
    *cranks, c = ap.coordinates(" ".join(f"a{k}" for k in range(n)) + " c")
    ends = range(1, n) if seed == 0 else np.cumsum(rng.uniform(0.5, 2.0, n - 1)).round(3)
    rows = [
        row
        for end, crank in zip(ends, cranks[1:], strict=True)
        for row in (
            r * cos(cranks[0]) + end * (cos(c) - 1) - r * cos(crank),
            r * sin(cranks[0]) + end * sin(c) - r * sin(crank),
        )
    ]
    diagnosis = ap.diagnose(ap.System([*cranks, c], sum(q.d**2 for q in (*cranks, c)) / 2, constraints=rows))
    (freedom,) = diagnosis.of("freedom")
    assert str(freedom).startswith("1 degree of freedom"), freedom
    assert "a turn of" not in str(diagnosis), str(diagnosis)  # at the change point all momenta looked conserved
