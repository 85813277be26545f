"""Vector fields of allowed motions, against published growth vectors and brackets written by hand."""

from __future__ import annotations

import sys

import pytest
from sympy import cos, pi, simplify, sin, tan

import appell as ap
from appell import zoo
from appell.errors import ConstraintError, FormNotApplicable, ModelError
from appell.verify.case import Case
from appell.verify.frobenius import affine_rows, flag

x, y, phi, psi = ap.coordinates("x y phi psi")
l = ap.parameters("l", positive=True)


def system(coordinates, rows, **more):
    kinetic = sum(q.d**2 for q in coordinates) / 2
    return ap.System(coordinates, kinetic, constraints=[ap.Constraint(row) for row in rows], **more)


def side(px, py, angle):
    return ap.total_derivative(px) * sin(angle) - ap.total_derivative(py) * cos(angle)


UNICYCLE = system([x, y, phi], [side(x, y, phi)], name="unicycle")
CAR = system([x, y, phi, psi], [side(x, y, phi), side(x + l * cos(phi), y + l * sin(phi), phi + psi)], name="car")
COIN = system([x, y, phi, psi], [x.d - l * cos(phi) * psi.d, y.d - l * sin(phi) * psi.d], name="coin")
FORWARD = x.d * cos(phi) + y.d * sin(phi)


def in_front(count):
    """Each axle's middle one length ahead of that behind it, on the bar of the one behind."""
    angles = [*ap.coordinates(" ".join(f"h{i}" for i in range(count + 1)))]
    px, py, rows = x, y, []
    for k in range(count, -1, -1):
        rows.append(side(px, py, angles[k]))
        px, py = px + cos(angles[k]), py + sin(angles[k])
    return system([x, y, *angles], rows, name=f"{count} trailers"), angles


def test_fields_and_brackets_of_a_unicycle_and_a_car():
    """Murray, Li, Sastry (1994), examples 7.1 and 7.2, in their own velocities."""
    found = ap.geometry(UNICYCLE, {"v": FORWARD, "omega": phi.d})
    X1, X2 = found.fields
    assert (X1["x"], X1["y"], X1["phi"]) == (cos(phi), sin(phi), 0) and X2[phi] == 1 and X2[x] == 0
    (bracket,) = found.brackets
    assert [simplify(bracket[q] - e) for q, e in ((x, sin(phi)), (y, -cos(phi)), (phi, 0))] == [0, 0, 0]
    car = ap.geometry(CAR, {"v": FORWARD, "w": psi.d})
    assert simplify(car.fields[0]["phi"] - tan(psi) / l) == 0
    assert simplify(car.brackets[0][phi] + 1 / (l * cos(psi) ** 2)) == 0
    assert simplify(car.brackets[1][x] + sin(phi) / (l * cos(psi) ** 2)) == 0
    assert "[X1, X2] = sin(φ)·∂_x − cos(φ)·∂_y" in str(found)
    assert r"[X_{1}, X_{2}] &= \sin{\left(\phi \right)}\,\partial_{x} - \cos" in found.latex()


@pytest.mark.parametrize(("model", "growth"), [(UNICYCLE, (2, 3)), (CAR, (2, 3, 4)), (COIN, (2, 3, 4)),
                                              (in_front(1)[0], (2, 3, 4)), (in_front(2)[0], (2, 3, 4, 5))],
                         ids=["unicycle", "car", "coin", "trailer", "two trailers"])  # fmt: skip
def test_published_growth_vectors(model, growth):
    found = ap.geometry(model)
    assert (found.growth, found.reached, found.integrals) == (growth, model.nv, 0)
    assert f"all {model.nv} dimensions are reached" in found.sentence


def test_growth_is_slower_where_a_hitch_stands_at_a_right_angle():
    """Laumond (1993), Jean (1996): two trailers need brackets of length 5 where the first hitch is at ±π/2, else 4; one, 3."""
    model, (h0, h1, h2) = in_front(2)
    for bend, growth in ((0.3, (2, 3, 4, 5)), (pi / 2, (2, 3, 4, 4, 5)), (-pi / 2, (2, 3, 4, 4, 5))):
        assert ap.geometry(model, at={h2: 0.7, h1: 0.2, h0: float(0.2 + bend)}).growth_there == growth
    assert ap.geometry(model, at={h2: 0.2 + pi / 2, h1: 0.2, h0: 0.5}).growth_there == (2, 3, 4, 5)
    one, (g0, _) = in_front(1)
    assert ap.geometry(one, at={g0: pi / 2}).growth_there == (2, 3, 4)


def ball(spins: bool):
    """A ball of radius 1 that rolls on a plane, ω on the axes of space."""
    attitude = ap.quaternion("b", axes="space")
    w = attitude.rates
    rows = [x.d - w[1], y.d + w[0], *([] if spins else [w[2]])]
    body = ap.RigidBody(1, [1, 1, 1], [x, y, 0], attitude, name="ball")
    return ap.System([x, y, attitude], bodies=[body], constraints=[ap.Constraint(row) for row in rows])


def test_a_ball_on_a_plane():
    """(3, 5); one that must not spin about the vertical (2, 3, 5), Cartan's case. A unit quaternion counts three."""
    for spins, growth in ((True, (3, 5)), (False, (2, 3, 5))):
        found = ap.geometry(ball(spins))
        assert (found.growth, found.dimension, found.integrals) == (growth, 5, 0)


def test_holonomic_in_disguise_and_partly():
    """x ẏ = y ẋ keeps y/x; with a blade that is left the plane of (x, y, φ) at constant z."""
    z = ap.coordinates("z")
    turned = ap.geometry(system([x, y, z], [x * y.d - y * x.d]))
    assert turned.growth == (2,) and turned.integrals == 1 and "in involution" in turned.sentence
    mixed = ap.geometry(system([x, y, phi, z], [side(x, y, phi), z.d - x.d]))
    assert (mixed.growth, mixed.reached, mixed.integrals) == ((2, 3), 3, 1)
    assert "3 of 4 dimensions are reached: 1 function stays constant" in mixed.sentence


@pytest.mark.parametrize("name", ["skate", "rolling_disc", "snakeboard", "rolling_coin"])
def test_the_zoo_grows_as_the_flag_on_the_graph(name):
    model = zoo.ALL[name]().system.symbolic()
    found = ap.geometry(model)
    case = Case.of(model, {})
    ranks = flag(model, affine_rows(model), case.states[:3], case.p).ranks
    assert found.growth == tuple(r - 1 for r in ranks)


def test_what_has_no_fields_is_refused_by_name():
    with pytest.raises(FormNotApplicable, match="is not linear in the velocities"):
        ap.geometry(system([x, y], [x.d**2 + y.d**2 - 1]))
    with pytest.raises(FormNotApplicable, match="has a term without velocities"):
        ap.geometry(system([x, y, phi], [x.d * sin(phi) - y.d * cos(phi) - 1]))
    with pytest.raises(FormNotApplicable, match="depends on time"):
        ap.geometry(system([x, y, phi], [x.d * sin(ap.t) - y.d]))
    with pytest.raises(FormNotApplicable, match="leave no motion"):
        ap.geometry(system([x, y], [x.d, y.d - x.d]))
    with pytest.raises(ModelError, match="without a free term"):
        ap.geometry(UNICYCLE, {"v": FORWARD + 1, "omega": phi.d})
    with pytest.raises(FormNotApplicable, match="2 degrees of freedom"):
        ap.geometry(UNICYCLE, {"v": FORWARD})
    with pytest.raises(ConstraintError, match="at= is not on the constraints"):
        ap.geometry(system([x, y, phi], [x**2 + y**2 - 1]), at={x: 2.0})


def test_the_growth_does_not_depend_on_what_is_too_long_to_be_written(monkeypatch):
    """Engel's distribution (2, 3, 4), also where no bracket may be longer than a letter."""
    monkeypatch.setattr(sys.modules["appell.verify.geometry"], "LONGEST_FIELD", 0)
    found = ap.geometry(system([x, y, phi, psi], [y.d - phi * x.d, phi.d - (psi + psi**3) * x.d]), at={})
    assert found.left_out and found.growth == found.growth_there == (2, 3, 4) and "too long to be written" in found.sentence


@pytest.mark.parametrize(("row", "there", "cut"), [
    (phi.d - x**3 * y.d, (2, 2, 2, 3), False),  # Martinet's, degenerate
    (phi.d - phi * x * y.d, (2,) * 11, True),  # the plane φ = 0 is never left
])  # fmt: skip
def test_growth_that_ends_early_at_a_configuration_says_so(row, there, cut):
    found = ap.geometry(system([x, y, phi], [row]), at={})
    assert found.growth == (2, 3) and found.growth_there == there
    assert ("as far as brackets of 11 fields tell" in found.sentence) == cut


def test_a_configuration_where_constraints_lose_rank_is_refused():
    with pytest.raises(ConstraintError, match="allow 3 directions there, 2 elsewhere"):
        ap.geometry(system([x, y, phi], [x * x.d + y * y.d + phi * phi.d]), at={})


@pytest.mark.parametrize("small", [1e-9, 1e-12])
def test_a_small_coefficient_is_not_divided_by(small):
    found = ap.geometry(system([x, y, phi], [phi.d - small * x * y.d]))
    assert found.growth == (2, 3) and found.fields[1]["phi"] == small * x
