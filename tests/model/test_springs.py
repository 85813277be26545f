"""Springs and dampers as loads, between points, along scalars, and in trees."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import appell as ap
from appell.tree import Inertia, Joint

x, y, phi, u, w = ap.coordinates("x y phi u w")
m, k, c, l, J = ap.parameters("m k c l J", positive=True)


def test_between_points_they_act_along_the_line():
    """F = −(k (d − l) + c ḋ) on the second point along d, and the opposite on the first."""
    a, b = ap.Particle(m, [x, y]), ap.Particle(m, [u, w])
    system = ap.System([x, y, u, w], bodies=[a, b], loads=[ap.Spring((a, b), k, l), ap.Damper((a, b), c)])
    values = {m: 2.0, k: 3.0, c: 0.7, l: 0.5}
    q, v = np.array([0.1, 0.2, 1.0, 0.9]), np.array([0.3, -0.1, 0.4, 0.8])
    found, _ = ap.compile(system, values, backend="vm").acceleration(0.0, q, v)
    d, d_t = q[2:] - q[:2], v[2:] - v[:2]
    size = np.linalg.norm(d)
    force = -(3.0 * (size - 0.5) + 0.7 * d @ d_t / size) * d / size
    np.testing.assert_allclose(found, np.concatenate([-force, force]) / 2.0, rtol=1e-12)
    assert ap.agree(system, states=1).ok
    motion = ap.simulate(system, dict(zip((*system.coordinates, *system.velocities), [*q, *v], strict=True)), 1.0, values)
    assert np.diff(motion.energy).max() < 1e-9 < motion.energy[0] - motion.energy[-1]  # the damper takes, the spring keeps


def test_along_a_scalar():
    system = ap.System([phi], J * phi.d**2 / 2, loads=[ap.Spring(phi, k, 1), ap.Damper(2 * phi, c)])
    assert system.potential == k * (phi - 1) ** 2 / 2
    assert system.forces == (-4 * c * phi.d,)


def test_a_spring_to_the_origin_without_length_has_no_root():
    bob = ap.Particle(m, [x, y])
    system = ap.System([x, y], bodies=[bob], loads=[ap.Spring(([0, 0], bob), k)])
    assert sympy.expand(system.potential - k * (x**2 + y**2) / 2) == 0
    doubled = system.replace(name="again")
    assert doubled.potential == system.potential


def test_in_a_tree_they_are_those_of_the_written_out_system():
    """A rod on a hinge, tied from its tip to a point of the world: the tree with its frames against plain coordinates."""
    rod = Inertia.at_centre(1.0, (0.5, 0.0, 0.0), np.diag([0.1, 0.1, 0.1]))
    tree = ap.Tree([Joint("hinge", "revolute", axis=(0, 0, 1), body=rod)], gravity=(0, -9.81, 0))
    tip, hook = tree.frame("hinge").at([1.0, 0, 0]), [0.3, 1.2, 0]
    loads = [ap.Spring((hook, tip), 5.0, 0.4), ap.Damper((hook, tip), 0.6), ap.Damper(tree.joint("hinge"), 0.2)]
    said = tree.system(loads=loads)
    turned = [sympy.cos(phi), sympy.sin(phi)]
    loads = [ap.Spring((hook, turned), 5.0, 0.4), ap.Damper((hook, turned), 0.6), ap.Damper(phi, 0.2)]
    plain = ap.System([phi], 0.35 * phi.d**2 / 2, 9.81 / 2 * sympy.sin(phi), loads=loads)
    state = 0.0, np.array([0.4]), np.array([0.7])
    one, other = (ap.compile(s, backend="vm").acceleration(*state)[0] for s in (said, plain))
    np.testing.assert_allclose(one, other, rtol=1e-12)
    assert said.replace(name="again").potential == said.potential


WRONG = [
    (lambda: ap.Spring((1, 2, 3), k), "two points"),
    (lambda: ap.Spring(([x, y], [x, y]), k), "itself"),
    (lambda: ap.Spring(ap.Particle(m, [x]), k), "two points"),
    (lambda: ap.Spring(([0, 0], [x, y]), k, -1), "not negative"),
    (lambda: ap.System([x], x.d**2, loads=[ap.Spring(x.d, k)]), "order 0"),
    (lambda: ap.System([x], x.d**2, loads=[ap.Damper(y, k)]), "coordinates="),
    (lambda: ap.System([x], x.d**2, loads=[x]), "loads= takes"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_what_is_no_spring_is_refused(case):
    make, message = WRONG[case]
    with pytest.raises(ap.ModelError, match=message):
        make()
