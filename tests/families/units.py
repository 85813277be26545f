"""Units decide nothing: rows in micrometres, slips in kilometres, bodies of 1e-16 kg beside those of 1 kg."""

from __future__ import annotations

import numpy as np
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
