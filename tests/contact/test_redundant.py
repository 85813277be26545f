"""Redundant contacts: two walls in one place, beams on three and tables on four legs, corners of dependent normals.

Motions are unique and known in closed form; reactions are not, and those of least norm are asked for. Runs are at rtol 1e-11 or
less, projections leave 1e-15, so closed forms hold to 1e-9.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from sympy import Rational, sin

import appell as ap
from appell.nonsmooth.contact.contact import Instant, bearing, complementary, contact_set, sequence, well_posed

x, y, z, phi, alpha, beta = ap.coordinates("x y z phi alpha beta")
TIGHT = {"rtol": 1e-12, "atol": 1e-14}
G, HALF = 10.0, Rational(1, 2)


def kinds(motion):
    return [(i.constraint, i.kind) for i in motion.impacts]


def twice(e, force=0):
    """A ball over a floor that is written down twice, once in other units."""
    floors = [ap.Unilateral(y, "floor", e), ap.Unilateral(2 * y, "again", e)]
    return ap.System([y], y.d**2 / 2, G * y, {y: force}, floors)


def beam(places, force=0, e=HALF):
    """A beam of mass 1 and inertia 1/3 on legs in a row."""
    legs = [ap.Unilateral(y + s * sin(phi), f"leg{k}", e) for k, s in enumerate(places)]
    return ap.System([y, phi], y.d**2 / 2 + phi.d**2 / 6, G * y, {phi: force}, legs)


def table(moments=(0, 0), e=HALF):
    """A square table on four legs, under moments about both axes."""
    corners = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    legs = [ap.Unilateral(z + a * sin(alpha) + b * sin(beta), f"leg{k}", e) for k, (a, b) in enumerate(corners)]
    T = z.d**2 / 2 + alpha.d**2 / 6 + beta.d**2 / 6
    return ap.System([z, alpha, beta], T, G * z, {alpha: moments[0], beta: moments[1]}, legs)


# -- landing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("e", "backend"), [(1, "auto"), (HALF, "auto"), (HALF, "vm"), (0, "auto")])
def test_a_floor_written_twice_is_one_floor(e, backend):
    motion = ap.simulate(twice(e), {y: 1.0}, 3.0, backend=backend, **TIGHT)
    alone = ap.System([y], y.d**2 / 2, G * y, constraints=[ap.Unilateral(y, "floor", e)])
    single = ap.simulate(alone, {y: 1.0}, 3.0, backend=backend, **TIGHT)
    hits = [[i.time for i in m.impacts if i.kind == "impact"] for m in (motion, single)]
    np.testing.assert_allclose(hits[0][:8], hits[1][:8], atol=1e-11)
    assert motion[y][-1] == pytest.approx(single[y][-1], abs=1e-10)
    if e != 1:  # Λ + 2 Λ' = m g, least norm
        assert {kind for kind in kinds(motion) if kind[1] == "landing"} == {("floor", "landing"), ("again", "landing")}
        assert (motion.reaction("floor")[-1], motion.reaction("again")[-1]) == pytest.approx((2, 4), abs=1e-9)


def test_two_floors_of_different_restitution_contradict_each_other():
    floors = [ap.Unilateral(y, "hard", 1), ap.Unilateral(2 * y, "soft", 0)]
    system = ap.System([y], y.d**2 / 2, G * y, constraints=floors)
    with pytest.raises(ap.SingularConfiguration, match="depends on their order"):
        ap.simulate(system, {y: 1.0}, 1.0)
    assert ap.simulate(system, {y: 1.0}, 0.6, corner="first")[y.d][-1] > 0
    assert abs(ap.simulate(system, {y: 1.0}, 0.6, corner="last")[y.d][-1]) < 1e-12


def test_a_beam_that_falls_flat():
    """On two legs every order of blows turns it another way; one blow on both leaves it flat: √(2h/g)(1+e)/(1−e) to rest."""
    system = beam([-1, 1])
    with pytest.raises(ap.SingularConfiguration, match="corner='together'"):
        ap.simulate(system, {y: 1.0}, 1.0)
    motion = ap.simulate(system, {y: 1.0}, 2.0, corner="together", **TIGHT)
    assert motion.ok and np.abs(motion[phi]).max() < 1e-9
    assert motion.impacts[-1].kind == "landing"
    assert motion.impacts[-1].time == pytest.approx(3 * np.sqrt(2 / G), abs=1e-8)
    first = motion.impacts[0]
    assert (first.before, first.after) == pytest.approx((-np.sqrt(2 * G), np.sqrt(2 * G) / 2))
    assert first.impulse == pytest.approx(1.5 * np.sqrt(2 * G) / 2)
    np.testing.assert_allclose([motion.reaction(f"leg{k}")[-1] for k in (0, 1)], G / 2, atol=1e-9)
    assert np.abs(motion.balance).max() < 1e-11


def test_a_tilted_table_comes_to_rest_on_four_legs():
    motion = ap.simulate(table(), {z: 1.0, alpha: 0.1, beta: 0.23}, 3.0, corner="together", **TIGHT)
    assert motion.ok and motion.t[-1] == 3.0
    np.testing.assert_allclose([motion.reaction(f"leg{k}")[-1] for k in range(4)], G / 4, atol=1e-8)
    fine = motion.at(np.linspace(0, 3, 2000))
    assert min(fine[face.function].min() for face in motion.system.unilateral) > -1e-12
    assert np.abs(motion.balance).max() < 1e-10


# -- resting and leaving -----------------------------------------------------------------------------------------------


def test_a_floor_written_twice_is_left_once():
    motion = ap.simulate(twice(0, 8 * ap.t), {}, 3.0, **TIGHT)
    assert kinds(motion) == [("floor", "landing"), ("again", "landing"), ("floor", "leaving"), ("again", "leaving")]
    assert [i.time for i in motion.impacts[2:]] == pytest.approx([1.25, 1.25], abs=1e-10)
    flight = motion.t[-1] - 1.25
    assert motion[y][-1] == pytest.approx(8 * flight**3 / 6, rel=1e-9)
    resting = motion.t < 1.25
    load = G - 8 * motion.t[resting]
    np.testing.assert_allclose(motion.reaction("floor")[resting], load / 5, atol=1e-9)
    np.testing.assert_allclose(motion.reaction("again")[resting], 2 * load / 5, atol=1e-9)


def test_the_middle_leg_of_a_beam_does_not_stop_it():
    """Under the moment −8 t the beam tips about its right leg where 8 t = m g; before, Λ_k = m g/3 + 4 t s_k as long as it is
    positive, and after that the left leg lies idle while the others bear everything."""
    motion = ap.simulate(beam([-1, 0, 1], -8 * ap.t), {}, 1.6, **TIGHT)
    assert motion.ok
    leaving = {i.constraint: i.time for i in motion.impacts if i.kind == "leaving"}
    assert set(leaving) == {"leg0", "leg1"}
    assert list(leaving.values()) == pytest.approx([1.25, 1.25], abs=1e-9)
    reaction = np.array([motion.reaction(f"leg{k}") for k in range(3)])
    early, idle, late = motion.t < G / 12, (motion.t > G / 12) & (motion.t < 1.25), motion.t > 1.25
    for k, place in enumerate((-1, 0, 1)):
        np.testing.assert_allclose(reaction[k, early], G / 3 + 4 * motion.t[early] * place, atol=1e-9)
    np.testing.assert_allclose(reaction[:, idle].sum(axis=0), G, atol=1e-9)
    np.testing.assert_allclose(reaction[2, idle] - reaction[0, idle], 8 * motion.t[idle], atol=1e-9)
    assert (reaction >= -1e-12).all() and (reaction[:2, late] == 0).all() and motion[phi][-1] < -0.01


def test_a_load_moves_over_a_table():
    """m g, and the moments about both axes, are borne by Λ >= 0 all the way; the table never moves, no leg is left."""
    moments = (-8 * sin(ap.t), -7 * sin(3 * ap.t) / 3)
    motion = ap.simulate(table(moments), {}, 7.0, **TIGHT)
    assert motion.ok and [kind for _, kind in kinds(motion)] == ["landing"] * 4
    lam = np.array([motion.reaction(f"leg{k}") for k in range(4)])
    assert lam.min() > -1e-10 and np.abs(motion.q).max() < 1e-11
    np.testing.assert_allclose(lam.sum(axis=0), G, atol=1e-9)
    np.testing.assert_allclose(lam[0] + lam[1] - lam[2] - lam[3], 8 * np.sin(motion.t), atol=1e-9)
    np.testing.assert_allclose(lam[0] - lam[1] + lam[2] - lam[3], 7 * np.sin(3 * motion.t) / 3, atol=1e-9)


def test_three_faces_in_a_plane_corner():
    """n = (1, 0), (0, 1), (1, 1) under the load (3, 4): Λ = (2/3, 5/3, 7/3) is the one of least norm."""
    faces = [ap.Unilateral(x, "a"), ap.Unilateral(y, "b"), ap.Unilateral(x + y, "c")]
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, 3 * x + 4 * y, {x: 2 * ap.t, y: 3 * ap.t}, faces)
    motion = ap.simulate(system, {}, 2.0, **TIGHT)
    assert [motion.reaction(name)[0] for name in "abc"] == pytest.approx([2 / 3, 5 / 3, 7 / 3], abs=1e-10)
    leaving = {i.constraint: i.time for i in motion.impacts if i.kind == "leaving"}
    assert leaving == pytest.approx({"b": 4 / 3, "c": 4 / 3, "a": 3 / 2}, abs=1e-9)
    assert motion[x][-1] == pytest.approx(1 / 24, abs=1e-9) and motion[y][-1] == pytest.approx(4 / 27, abs=1e-9)


def test_faces_that_only_touch_each_other_are_not_redundant():
    """y >= 0 and y >= x³ have one normal at x = 0; a bead that slides through there is lifted by the second."""
    faces = [ap.Unilateral(y, "plane", 0), ap.Unilateral(y - x**3, "ramp", 0)]
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, G * y, constraints=faces)
    motion = ap.simulate(system, {x: -0.5, x.d: 1.0}, 0.8, corner="together", **TIGHT)
    assert motion.ok and 0.25 < motion[x][-1] < 0.3  # 0.3 without the climb
    assert motion[y - x**3].min() > -1e-9 and motion[y][-1] == pytest.approx(motion[x][-1] ** 3, abs=1e-9)
    assert motion.energy[-1] == pytest.approx(0.5, abs=1e-9)


# -- the algebra on random data ----------------------------------------------------------------------------------------


def instant(N, force, e=1.0, rates=None):
    n, k = N.shape[1], len(N)
    rates = np.zeros(k) if rates is None else rates
    return Instant(
        M=np.eye(n), A=np.zeros((0, n)), W=np.zeros((n, 0)), force=force, a0=np.zeros(0), g=np.zeros(k), g_scale=np.ones(k),
        g_d=rates, g_v=N, g_dd0=np.zeros(k), restitution=np.full(k, e), v=np.linalg.lstsq(N, rates, rcond=None)[0],
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_reactions_of_least_norm(seed):
    """Optimality of min |Λ|², N^TΛ = f, Λ >= 0: Λ = N y on the faces that bear, N y <= 0 on the others, for one y."""
    rng = np.random.default_rng(seed)
    N = rng.uniform(0.2, 1, (6, 3)) * np.where(rng.random((6, 3)) < 0.3, -1, 1)
    force = -N.T @ rng.uniform(0, 1, 6)
    at = instant(N, force)
    contacts = contact_set(at, range(6))
    faces = bearing(at, contacts, range(6))
    a, lam = at.solve(faces, force, np.zeros(0), np.zeros(len(faces)))
    assert (lam >= 0).all() and np.abs(a).max() < 1e-9
    dual = np.linalg.lstsq(N[list(faces)], lam, rcond=None)[0]
    np.testing.assert_allclose(N[list(faces)] @ dual, lam, atol=1e-9)
    assert all(N[i] @ dual <= 1e-7 for i in range(6) if i not in faces)


@pytest.mark.parametrize("seed", range(8))
def test_complementarity_with_redundant_rows(seed):
    """0 <= Λ ⟂ GΛ + c >= 0 with a singular G: the same accelerations as by trying all sets."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(3, 5))
    Y[:, 3], Y[:, 4] = Y[:, 0], Y[:, 1] + Y[:, 2]
    G_, c = Y.T @ Y, Y.T @ rng.normal(size=3)
    lam = complementary(G_, c, np.full(5, 1e-11))
    w = G_ @ lam + c
    assert (lam >= 0).all() and (w > -1e-10).all() and abs(lam @ w) < 1e-9
    for held in (h for size in range(4) for h in combinations(range(5), size)):
        block = G_[np.ix_(held, held)]
        if held and np.linalg.cond(block) > 1e10:
            continue
        other = np.zeros(5)
        other[list(held)] = np.linalg.solve(block, -c[list(held)]) if held else []
        if (other >= 0).all() and (G_ @ other + c > -1e-10).all():
            np.testing.assert_allclose(Y @ other, Y @ lam, atol=1e-8)
            return
    raise AssertionError("no set solves it")


def test_many_contacts_do_not_take_for_ever():
    """Forty faces: their sets are not tried one by one."""
    rng = np.random.default_rng(0)
    N = np.eye(40)
    force = rng.normal(size=40)
    assert contact_set(instant(N, force), range(40)) == tuple(np.flatnonzero(force < 0))


def test_which_corners_are_well_posed():
    wedge = lambda degrees: np.array([[0, 1], [np.sin(np.radians(degrees)), -np.cos(np.radians(degrees))]])
    at = lambda N, e: instant(N, np.zeros(2), e, N @ np.array([-0.8, -0.9]))
    for degrees, e, expected in ((60, 1.0, True), (45, 1.0, True), (60, 0.5, False), (100, 1.0, False), (100, 0.0, False)):
        assert well_posed(at(wedge(degrees), e), (0, 1), ()) is expected, (degrees, e)
    same = np.array([[1.0, 0], [2.0, 0]])
    assert well_posed(at(same, 0.5), (0, 1), ())
    assert not well_posed(instant(same, np.zeros(2), np.array([0.5, 0.2]), np.array([-1.0, -2.0])), (0, 1), ())
    flat = np.array([[1.0, 1.5], [1.0, -1.5]])  # projections in turn, (y, φ/√J): rest, to what counts as rest for these noises
    for size in (1, 1e3, 1e5):
        falls = replace(instant(flat, np.zeros(2), 0.0, -flat[:, 0]), g_scale=np.full(2, size), g_dd0=np.full(2, -10.0))
        assert well_posed(falls, (0, 1), ()), size
    sharp = at(wedge(1), 0.5)
    v = sharp.v + sum(blow.dv for blow in sequence(sharp, (0, 1), ()) or [])
    assert np.abs(wedge(1) @ v).max() < 1e-6  # blows accumulate: it ends in the corner


def test_blows_in_turn_that_end_after_more_than_a_thousand_are_no_rest():
    """They end where cos α √((1 + e₁)(1 + e₂)) < √e₁ + √e₂; else they never do, and take all of the speed."""
    turned = lambda a: np.array([[0, 1], [np.sin(a), -np.cos(a)]])
    into = np.array([-np.cos(5e-4), -np.sin(5e-4)])
    at = lambda e: instant(turned(1e-3), np.zeros(2), np.array(e), turned(1e-3) @ into)
    for e in ((0.999, 0.999), (0.9988, 0.999), (1.0, 1.0)):
        assert sequence(at(e), (0, 1), ()) is None, e
    for e in ((0.997, 0.997), (0.9, 0.9), (0.0, 0.5), (1.0, 0.5), (0.0, 0.0)):
        blows = sequence(at(e), (0, 1), ())
        assert blows is not None, e
        assert np.abs(turned(1e-3) @ (into + sum(one.dv for one in blows))).max() < 1e-9, e
