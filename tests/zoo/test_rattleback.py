"""The rattleback: Walker's small motions, the reversal of spin, and what is kept."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell import zoo
from appell.normal_form import normal_form


@pytest.fixture(scope="module")
def stone():
    return zoo.rattleback()


def test_start_and_scene(stone):
    form = normal_form(stone.system)
    p = np.array([stone.parameters[s] for s in stone.system.parameters])
    z = [stone.start.get(s, 0.0) for s in (*stone.system.coordinates, *stone.system.velocities)]
    out = form.select("f0", "f1")(0.0, np.array(z[:6]), np.array(z[6:]), p)
    assert np.abs(out["f0"]).max() < 1e-15 and np.abs(out["f1"]).max() < 1e-13
    assert any(type(item).__name__ == "Ellipsoid" for item in stone.scene.items)


def test_it_turns_back(stone):
    """Kane and Levinson: spun at −5 rad/s it reverses; energy and constraints are kept on the way."""
    psi = stone.system.coordinates[3]
    motion = ap.simulate(stone.system, stone.start, 3.4, stone.parameters, rtol=1e-8)
    spin = motion[psi.d]
    assert motion.ok and spin[0] == -5 and spin[-1] > 0.5
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-6 * abs(motion.energy[0])


def test_quasi_momenta_are_derived_though_their_mass_matrix_is_long(stone):
    """Hamilton's form in quasi-momenta: M⁻¹ would have millions of characters, the velocities stand for it."""
    equations, run = ap.forms.hamilton(stone.system, stone.pseudo), ap.compile(stone.system, stone.parameters, backend="vm")
    state = ap.consistent(stone.system, {**stone.start, stone.system.coordinates[4].d: 0.3}, stone.parameters)
    q, v = ([state[s] for s in symbols] for symbols in (stone.system.coordinates, stone.system.velocities))
    (a, lam), (a_judge, lam_judge) = equations.acceleration(0.0, q, v, stone.parameters), run.acceleration(0.0, q, v)
    assert a == pytest.approx(a_judge, rel=1e-9, abs=1e-9 * np.abs(a_judge).max()) and lam == pytest.approx(lam_judge, rel=1e-9)


def test_walkers_small_motions(stone):
    """Spinning slowly about the vertical, one oscillation grows in one sense of spin and decays in the other: the real parts of
    the eigenvalues change their sign with the spin (Walker 1896)."""
    psi = stone.system.coordinates[3]
    growth = []
    for spin in (0.5, -0.5):
        linear = ap.linearize(stone.system, at={stone.system.coordinates[2]: 0.01, psi.d: spin}, parameters=stone.parameters)
        growth.append(np.sort(linear.eigenvalues.real))
    assert growth[0].max() > 1e-3
    assert growth[0] == pytest.approx(-growth[1][::-1], abs=1e-9)
