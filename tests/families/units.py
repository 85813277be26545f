"""Units decide nothing: rows in micrometres, slips in kilometres, bodies of 1e-16 kg beside those of 1 kg, and one system
written in many units."""

from __future__ import annotations

import numpy as np
from sympy import cos, sin, sqrt
from tests.families.family import family

import appell as ap

FACTORS = (1e-10, 1e-11, 1e6, 3e-13, 1e9, 7e-12)


def _factor(seed: int) -> float:
    return FACTORS[seed % len(FACTORS)]


@family(sample=(0, 4))
def rows_of_any_size_linearize(seed: int) -> None:
    """A constraint times a factor says the same: the same eigenvalues in the velocity that was asked for."""
    x, y = ap.coordinates("x y")
    rng = np.random.default_rng(seed)
    l, g, factor = *rng.uniform(0.5, 2.0, 2), _factor(seed)
    rows = [x**2 + y**2 - l**2]
    coordinates, T, V, more = [x, y], (x.d**2 + y.d**2) / 2, g * y, {}
    if seed % 2:  # a second body hangs on the first by a bar that is written in other units
        u, w = ap.coordinates("u w")
        coordinates, T, V = [x, y, u, w], T + (u.d**2 + w.d**2) / 2, V + g * w
        rows.append((u - x) ** 2 + (w - y) ** 2 - l**2)
        more = {u: 0.0, w: -2 * l}

    def spectrum(scale: float) -> np.ndarray:
        written = [row * (scale if k == 0 else 1) for k, row in enumerate(rows)]
        system = ap.System(coordinates, T, potential=V, constraints=written)
        chosen = [c for c in coordinates if c.name in ("x", "u")]
        values = ap.linearize(system, at={x: 0.0, y: -l, **more}, independent=chosen).eigenvalues
        return values[np.argsort(values.imag)]

    assert np.allclose(spectrum(factor), spectrum(1.0), rtol=1e-7, atol=1e-7)


@family(sample=(0, 1))
def slips_of_any_size_can_slide(seed: int) -> None:
    """Whether a friction can slide does not depend on the unit in which its slip is measured."""
    x, y, phi = ap.coordinates("x y phi")
    factor, slope = _factor(seed), float(np.random.default_rng(seed).uniform(0.2, 2))
    free = seed % 3 != 2
    slip = x.d + (phi.d if seed % 2 else 0) if free else y.d - slope * x.d
    system = ap.System(
        [x, y, phi], (x.d**2 + y.d**2 + phi.d**2) / 2,
        constraints=[y.d - slope * x.d, ap.Friction(factor * slip, limit=1.0, name="pad")],
    )  # fmt: skip
    (text,) = [str(finding) for finding in ap.diagnose(system).findings if "friction 'pad'" in str(finding)]
    assert ("can slide" in text) is free, text


@family(sample=(0, 1))
def light_bodies_have_a_metric(seed: int) -> None:
    """The projector on the reactions, P = Aᵀ(A M⁻¹Aᵀ)⁻¹A M⁻¹, of a light body tied to a heavy one."""
    x, y = ap.coordinates("x y")
    light = 1e-6 * min(_factor(seed), 1 / _factor(seed))
    c = float(np.random.default_rng(seed).uniform(0.5, 2))
    M, A = np.diag([1.0, light]), np.array([[1.0, -c]])
    system = ap.System([x, y], (x.d**2 + light * y.d**2) / 2, constraints=[x.d - c * y.d])
    K = np.linalg.inv(M)
    expected = A.T @ np.linalg.inv(A @ K @ A.T) @ A @ K
    found = np.array(ap.principle(system).projector.tolist(), dtype=float)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


UNITS = (
    (3e-9, 2e-4, 1e-17), (1e6, 1.0, 1.0), (1e-6, 1.0, 1.0), (1.0, 1e6, 1.0), (1.0, 1e-6, 1.0), (1.0, 1.0, 1e-12),
    (1.5e11, 3e7, 2e30), (1e6, 1e6, 1e12), (1e-6, 1e-6, 1e-12), (1.0, 1.0, 1.0), (1e-6, 1e6, 1e12), (1e6, 1e-6, 1e-12),
)  # fmt: skip
"""Metre, second and kilogram in which one system is written: resonators, planets, and each unit by itself."""


@family(count=36, sample=(0, 13))
def branches_fold_in_any_units(seed: int) -> None:
    """Folds at closed forms: V = −x²/2 + x⁴/4 − Px at P = 2/3√3, von Mises's truss, the pull-in of a plate at a third of its
    gap."""
    L, T, M = UNITS[seed % 12]
    x, P = ap.coordinates("x"), ap.parameters("P")
    force, spring = M * L / T**2, M / T**2
    if seed // 12 == 0:
        V, start, to, unit, folds = spring * (x**4 / L**2 / 4 - x**2 / 2) - P * x, -L, 1.5, force, [2 / 27**0.5]
    elif seed // 12 == 1:
        length = 1.25**0.5
        V, start, to, unit = spring * ((L**2 + x**2) ** 0.5 - L * length) ** 2 + P * x, 0.5 * L, 0.5, force
        at = (length ** (2 / 3) - 1) ** 0.5
        load = 2 * at * (length / (1 + at**2) ** 0.5 - 1)
        folds = [load, -load]
    else:
        V, start, to, unit, folds = spring * x**2 / 2 - P / (L - x), 0.0, 0.3, force * L**2, [4 / 27]
    system = ap.System([x], M * x.d**2 / 2, V, {x: -0.1 * M / T * x.d})
    branch = ap.continue_equilibrium(system, P, {x: start}, to * unit, parameters={P: 0.0}, back=-to * unit)
    found = [one.value / unit for one in branch.special if one.kind == "fold"]
    assert branch.ok or seed // 12 == 2, branch.message  # the plate ends at the electrode
    assert len(found) >= len(folds) and np.allclose(found[: len(folds)], folds, rtol=1e-7), (found, folds)


@family(count=24, sample=(1, 15))
def steady_motions_in_any_units(seed: int) -> None:
    """One circle of Kepler for a given rate, ω² r³ = 1, and two cones of a spherical pendulum, ω² cos θ = 1."""
    L, T, M = UNITS[seed % 12]
    r, phi = ap.coordinates("r phi")
    rate = float(np.random.default_rng(seed).uniform(1.2, 2.0))
    if seed // 12 == 0:
        system = ap.System([r, phi], M * (r.d**2 + r**2 * phi.d**2) / 2, -M * L**3 / T**2 / r)
        found = ap.steady_motions(system, fixed={phi.d: rate / T}, within={r: (0.1 * L, 4 * L)})
        assert len(found) == 1 and np.isclose(found[0][r] / L, rate ** (-2 / 3), rtol=1e-10), found
    else:
        system = ap.System([r, phi], M * L**2 * (r.d**2 + sin(r) ** 2 * phi.d**2) / 2, -M * (L / T) ** 2 * cos(r))
        found = ap.steady_motions(system, fixed={phi.d: rate / T})
        angles = sorted(one[r] for one in found if abs(one[r]) > 1e-9 and abs(one[r]) < 3)
        cone = np.arccos(rate**-2)
        assert len(angles) == 2 and np.allclose(angles, [-cone, cone], rtol=1e-10), found
    assert all(one.residual < 1e-12 for one in found)


@family(count=36, sample=(1, 12))
def rests_in_any_units(seed: int) -> None:
    """A minimum between two springs is stable; a cart on a level track is one of a family, its pendulum is held; a block on a
    floor with a stop for its angle has two reactions, each unique."""
    L, T, M = UNITS[seed % 12]
    x, a = ap.coordinates("x a")
    inertia, energy = M * L**2, M * (L / T) ** 2
    if seed // 12 == 0:
        y = a
        one, two = np.random.default_rng(seed).uniform([0.45, 1.65], [0.55, 1.75])
        springs = [(sqrt((x - at * L) ** 2 + y**2) - length * L) ** 2 / 2 for at, length in ((1, one), (-1, two))]
        V = M / T**2 * sum(springs)
        system = ap.System([x, y], M * (x.d**2 + y.d**2) / 2, V + 0.2 * M * L / T**2 * y)
        rests = ap.equilibria(system, within={x: (-3 * L, 3 * L), y: (-3 * L, 3 * L)})
        assert [one.stability for one in rests] == ["unstable", "stable", "unstable"], rests
    elif seed // 12 == 1:
        T_cart = M * (2 * x.d**2 + L**2 * a.d**2 + 2 * L * x.d * a.d * cos(a)) / 2
        rest = ap.equilibrium(ap.System([x, a], T_cart, -energy * cos(a), {a: -0.1 * inertia / T * a.d}), {})
        assert (rest.family, rest.flat, rest.free) == (1, 0, 2), rest
        fastest = np.abs(rest.eigenvalues).max() * T  # λ² + 0.2 λ + 2 = 0: the cart follows, 2 − 1 of the mass is left
        assert np.isclose(fastest, 2**0.5, rtol=1e-7), rest
    else:
        floor, stop = ap.Unilateral(x - 0.2 * L * cos(a), name="floor"), ap.Unilateral(0.5 - a, name="stop")
        V = energy / L * x + energy * (1 - cos(a - 0.7))
        system = ap.System([x, a], (M * x.d**2 + inertia * a.d**2) / 2, V, constraints=[floor, stop])
        rest = ap.equilibrium(system, {x: 0.6 * L, a: 0.3})
        assert rest.contacts == ("floor", "stop") and rest.undetermined == (), (rest.contacts, rest.undetermined)
        assert np.isclose(rest.reaction("floor") * L / energy, 1.0)
        assert np.isclose(rest.reaction("stop") / energy, np.sin(0.2) + 0.2 * np.sin(0.5))
