"""A System is immutable, remembers what it was given, and reads it in one order."""

from __future__ import annotations

import copy
import pickle

import pytest
import sympy
from sympy import cos, sin

from appell import zoo
from appell.compiled.compiling import compile
from appell.errors import ModelError
from appell.jets import coordinates, parameters, speeds, t
from appell.model import Constraint, Particle, System, quaternion

x, y, phi = coordinates("x y phi")
m, l, g = parameters("m l g", positive=True)
T = m * (x.d**2 + y.d**2 + l**2 * phi.d**2) / 2


def skate(**changes) -> System:
    blade = Constraint(x.d * sin(phi) - y.d * cos(phi), name="blade")
    arguments = {"kinetic": T, "potential": m * g * y, "constraints": [blade], **changes}
    return System([x, y, phi], name="skate", **arguments)


def test_attributes():
    system = skate(forces={phi: -phi.d})
    assert system.coordinates == (x, y, phi) and system.velocities == (x.d, y.d, phi.d)
    assert system.accelerations == (x.dd, y.dd, phi.dd)
    assert system.parameters == (g, l, m)
    assert system.forces == (0, 0, -phi.d)
    assert (system.nq, system.nv, system.holonomic_speeds) == (3, 3, True)
    assert system.constraint("blade") == system.constraint(system.constraints[0]) == 0
    assert repr(system) == "<System skate: (x, y, phi), 1 constraints>"


@pytest.mark.parametrize("name", ["kinetic", "potential", "coordinates", "constraints", "name", "anything"])
def test_immutable(name):
    with pytest.raises(AttributeError, match=rf"immutable.*replace\({name}="):
        setattr(skate(), name, 0)
    system = skate()
    with pytest.raises(TypeError):
        system.rates[x] = 0  # type: ignore[index]


def test_replace_makes_another_one():
    system = skate()
    free = system.replace(constraints=[], name="free")
    assert free.constraints == () and free.name == "free" and free.kinetic == system.kinetic
    assert len(system.constraints) == 1 and system.name == "skate"
    with pytest.raises(ModelError, match=r"System has no argument \['masses'\]"):
        system.replace(masses=1)
    with pytest.raises(ModelError, match="missing from coordinates="):
        system.replace(coordinates=[x, y])


def test_replace_survives_generators():
    """What was given as a generator is there the second time too."""
    system = System((s for s in (x, y)), bodies=(Particle(m, [s]) for s in (x, y)), constraints=(c for c in [x - y]))
    assert system.replace(name="again").constraints == system.constraints
    assert system.replace(name="again").kinetic == system.kinetic


def test_changing_the_lists_given_does_not_change_the_system():
    rows, forces, letters = [x.d - y.d], {x: 1}, [x, y, phi]
    system = System(letters, T, forces=forces, constraints=rows)
    rows.append(phi - 1)
    forces[y] = 2
    letters.append(coordinates("z"))
    assert len(system.constraints) == 1 and system.forces == (1, 0, 0) and system.nq == 3
    again = system.replace(name="again")
    assert len(again.constraints) == 1 and again.forces == (1, 0, 0) and again.nq == 3


def test_single_things_need_no_list():
    assert System(x, m * x.d**2, constraints=x.d - 1).nq == 1


def test_order_of_velocities_with_speeds():
    u = speeds("u")
    system = System([x, y, phi], T, speeds=[u], kinematics={y: 2 * u})
    assert system.velocities == (u, x.d, phi.d) and not system.holonomic_speeds
    assert system.kinetic.free_symbols >= {u, x.d} and y.d not in system.kinetic.free_symbols
    ball = quaternion("ball")
    both = System([x, ball, y], (x.d**2 + y.d**2) / 2 + sum(r**2 for r in ball.rates))
    assert both.velocities == (x.d, *ball.rates, y.d)


def test_second_derivatives_in_constraints_follow_the_kinematics():
    u = speeds("u")
    system = System([x], x.d**2 / 2, speeds=[u], kinematics={x: u * cos(x)}, constraints=[Constraint(x.dd - 1, name="c")])
    assert system.residuals[0] == system.in_velocities(x.dd - 1)
    assert (system.residuals[0] - (u.d * cos(x) - u**2 * sin(x) * cos(x) - 1)).expand() == 0


def test_systems_are_their_own_keys():
    one, other = skate(), skate()
    assert one != other and len({one, other}) == 2 and copy.copy(one) is not None


def test_pickle():
    system = skate()
    again = pickle.loads(pickle.dumps(system))
    assert again.kinetic == system.kinetic and again.constraints[0].name == "blade"
    values = {m: 1.0, l: 1.0, g: 9.81}
    state = 0.0, [0.0, 0.0, 0.3], [1.0, 0.0, 1.0]
    a, b = (compile(s, values, backend="vm").acceleration(*state)[0] for s in (system, again))
    assert a == pytest.approx(b)
    with pytest.raises(AttributeError, match="immutable"):
        again.name = "other"


@pytest.mark.parametrize("name", sorted(zoo.ALL))
def test_zoo_can_be_replaced_and_pickled(name):
    system = zoo.ALL[name]().system
    assert system.replace(name="again").residuals == system.residuals
    assert pickle.loads(pickle.dumps(system)).residuals == system.residuals


def test_velocities_written_as_derivatives():
    """-c*x.diff(t) is damping, in energies, forces, loads and constraints alike."""
    written = System(
        [x, y],
        kinetic=m * (x.diff(t) ** 2 + sympy.diff(y, t) ** 2) / 2,
        forces={x: -g * sympy.Derivative(x, t)},
        constraints=[sympy.diff(x * y, t) - l],
    )
    meant = System([x, y], m * (x.d**2 + y.d**2) / 2, forces={x: -g * x.d}, constraints=[x.d * y + x * y.d - l])
    assert written.kinetic == meant.kinetic and written.forces == meant.forces and written.residuals == meant.residuals
