"""From one reading to the next in one compiled call: bit for bit what the loop does when it starts anew at each reading."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from sympy import cos, sin

import appell as ap
from appell.errors import ModelError, SimulationError
from appell.loop import trace
from appell.loop.in_c import CLoop
from appell.nonsmooth.contact import contact
from appell.nonsmooth.contact.contact import REACTION_CERTAIN, Instant, certain, contact_set
from appell.nonsmooth.contact.face_loop import FaceLoop
from appell.simulate.control import holds
from appell.simulate.control.control_values import Reader

x, y, phi = ap.coordinates("x y phi")
u, w = ap.parameters("u w")


def random_system(seed: int, faces: tuple[ap.Unilateral, ...] = (), rows: tuple[ap.Constraint, ...] = ()) -> ap.System:
    a, b, c = np.random.default_rng(seed).uniform(0.5, 2, 3)
    T = (a * x.d**2 + b * y.d**2 + c * phi.d**2) / 2 + 0.3 * x.d * phi.d * cos(phi) + 0.2 * y.d * phi.d * sin(x)
    V = 9.81 * a * y + 1.5 * phi**2 - cos(phi * x) + x**2 / 2
    return ap.System([x, y, phi], T, V, {x: u * cos(phi), phi: w - phi.d / 10, y: 0.3 * u * x}, (*faces, *rows), name="random")


def random_law(seed: int):
    rng = np.random.default_rng(seed)
    gain, pace, size = 3 * rng.normal(size=(2, 6)), rng.uniform(1, 9, 2), rng.uniform(0, 25, 2)
    return lambda t, q, v: dict(zip(("u", w), gain @ [*q, *v] + size * np.cos(pace * t), strict=True))


def walls(*restitution: float) -> tuple[ap.Unilateral, ...]:
    sides = (y + x**2 / 5 + 0.5, 1 - x - y / 5, x + 1)
    return tuple(ap.Unilateral(g, f"wall{k}", e) for k, (g, e) in enumerate(zip(sides, restitution, strict=False)))


slot = ap.Constraint(x + 0.3 * sin(phi) + y / 10, name="slot")
legs = tuple(ap.Unilateral(y + k * sin(phi), f"leg{k}", 0.2) for k in (-1, 0, 1))
corners = tuple(ap.Unilateral(y - cos(phi) / 2 + k * sin(phi) / 2, f"corner{k}", 0.2) for k in (-1, 1))
body = (x.d**2 + y.d**2 + phi.d**2 / 5) / 2
beam = ap.System([x, y, phi], body, 9.81 * y, {x: u, y: -w, phi: u - 3 * phi - phi.d}, legs, name="beam")
box = ap.System([x, y, phi], body, 9.81 * y, {x: -x.d, phi: u, y: w}, corners, name="box")
ball = ap.System([x], x.d**2 / 2, 9.81 * x, {x: u - 3 * x}, [ap.Unilateral(x, "floor", 0.5)], name="ball")
spring = ap.System([x], x.d**2 / 2, 5e5 * x**2, {x: u}, name="spring")
sleigh = ap.System(
    [x, y, phi], x.d**2 + y.d**2 + phi.d**2 / 2, 0, {phi: u, x: cos(phi), y: sin(phi)},
    [ap.Constraint(x.d * sin(phi) - y.d * cos(phi), name="blade")], name="sleigh",
)  # fmt: skip
pseudo = {"pi": x.d * cos(phi) + y.d * sin(phi), "omega": phi.d}
wave = lambda size: lambda t, q, v: {u: size * np.sin(5 * t)}
waves = lambda size: lambda t, q, v: {u: size * np.sin(5 * t), w: size * np.cos(9 * t)}
slack = ap.System([x], x.d**2 / 2, 0, {x: u}, [ap.Unilateral(x, "floor")], name="slack")
LOADS = (-5.0, -1e-11, -2.0, 0.0, -3.0, -1e-13, 0.0, 0.0, -1.0, 1e-11, 1e-3, -4.0)  # on the verge of leaving, and beyond
TIMES = np.sort(np.append(np.random.default_rng(0).uniform(0, 2, 40), [0, 0.5, 0.5, 1, 2]))

CASES = {
    "free": (random_system(1), {y: 0.3}, random_law(1), {}),
    "requested times": (random_system(2), {y: 0.3}, random_law(2), {"times": TIMES}),
    "coarse": (random_system(3), {y: 0.3}, random_law(3), {"method": "dopri5", "rtol": 1e-5}),
    "series": (random_system(4), {y: 0.3}, random_law(4), {"method": "taylor"}),
    "series, long holds": (random_system(4), {y: 0.3}, random_law(4), {"method": "taylor", "rate": 3.0}),
    "fixed steps": (random_system(5), {y: 0.3}, random_law(5), {"step": 0.003}),
    "short steps": (random_system(6), {y: 0.3}, random_law(6), {"max_step": 0.004}),
    "step budget": (random_system(7), {y: 0.3}, random_law(7), {"max_steps": 200}),
    "rows": (random_system(8, rows=(slot,)), {y: 0.3, x: -0.03}, random_law(8), {}),
    "pseudo-velocities": (sleigh, {x.d: 1.0}, lambda t, q, v: {u: np.cos(t) - v[2]}, {"pseudo": pseudo}),
    "long holds": (spring, {x: 0.1}, wave(1.0), {"rate": 3.0}),
    "long holds at times": (spring, {x: 0.1}, wave(1.0), {"rate": 3.0, "times": TIMES}),
    "walls": (random_system(9, walls(0.3, 0.7, 1)), {y: 0.3}, random_law(9), {}),
    "walls at times": (random_system(10, walls(0, 0.5)), {y: 0.3}, random_law(10), {"times": TIMES}),
    "walls and rows": (random_system(12, walls(0.7, 0), (slot,)), {y: 0.3, x: -0.03}, random_law(12), {}),
    "walls, fixed steps": (random_system(11, walls(0, 1)), {y: 0.3}, random_law(11), {"step": 0.004, "until": 0.3}),
    "ball": (ball, {x: 0.5}, wave(12.0), {}),
    "ball, series": (ball, {x: 0.5}, wave(12.0), {"method": "taylor"}),
    "hardly a load": (slack, {}, lambda t, q, v: {u: LOADS[int(t * 25 + 1e-6) % len(LOADS)]}, {}),
    "hardly a gap": (slack, {x: 5e-10}, lambda t, q, v: {u: -1.0 if t > 0.1 else 0.0}, {}),
    "box": (box, {y: 0.5}, waves(8.0), {}),
    "box that falls": (box, {y: 0.7, phi: 0.1}, waves(2.0), {}),
    "redundant legs": (beam, {}, waves(1.0), {}),
    "redundant legs that lift": (beam, {y: 0.1}, waves(12.0), {}),
}


def run_case(name: str) -> ap.Motion:
    system, start, law, options = CASES[name]
    return ap.simulate(system, start, control=law, **({"until": 2.0, "rate": 200.0, "corner": "together"} | options))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::appell.AppellWarning")
def test_a_hold_is_what_the_loop_does(name, monkeypatch):
    held = run_case(name)
    monkeypatch.setattr(holds.Holds, "reach", lambda self, t_end, passed: False)
    plain = run_case(name)
    for which in ("t", "q", "v", "work"):
        np.testing.assert_array_equal(getattr(held, which), getattr(plain, which))
    for which in ("t", "z", "values", "work"):
        np.testing.assert_array_equal(getattr(held.readings, which), getattr(plain.readings, which))
    assert held.impacts == plain.impacts and held.contacts == plain.contacts
    assert (held.status, held.message, held.span) == (plain.status, plain.message, plain.span)
    assert {**held.statistics, "seconds": 0} == {**plain.statistics, "seconds": 0}


@pytest.mark.parametrize("name", ["free", "rows", "pseudo-velocities", "walls", "ball", "box", "redundant legs"])
def test_few_readings_need_the_loop(name, monkeypatch):
    """Of 400, those at which a contact begins or ends and those after them, and the first one where there are faces."""
    walled, starts = bool(CASES[name][0].unilateral), []
    loop = FaceLoop if walled else CLoop
    run = loop.run
    monkeypatch.setattr(loop, "run", lambda self, task, trace: starts.append(trace.t) or run(self, task, trace))
    motion = run_case(name)
    changes = sum(impact.kind in ("landing", "leaving") for impact in motion.impacts)
    assert len(motion.readings) == 400 and len(starts) <= walled + 2 * changes < 50


def test_pages_are_turned(monkeypatch):
    """Memory for 1024 steps at a time, and what is moved, which 400 readings of eight steps each fill three times over."""
    make = lambda: ap.simulate(beam, {y: 0.2}, 2.0, control=waves(6.0), rate=200.0, max_step=1 / 1600, corner="together")
    motion = make()
    monkeypatch.setattr(trace, "LARGEST_PAGE", 0)
    pages = []
    blank = trace.Pages._blank
    monkeypatch.setattr(trace.Pages, "_blank", lambda self, rows: pages.append(rows) or blank(self, rows))
    again = make()
    assert len(pages) > 3 + 2 and 1024 <= max(pages) <= 1024 + trace.ROWS_MOVED and len(motion) > 3000
    np.testing.assert_array_equal(again.t, motion.t)
    np.testing.assert_array_equal(again.q, motion.q)
    assert again.impacts == motion.impacts


def test_a_failure_keeps_what_the_holds_have_done():
    def law(t, q, v):
        if t > 1.2:
            raise ValueError("no more")
        return {u: np.sin(5 * t)}

    with pytest.raises(SimulationError, match=r"t = 1\.205, before 2: the control raised ValueError: no more") as error:
        ap.simulate(ball, {x: 0.5}, 2.0, control=law, rate=200.0)
    whole, motion = ap.simulate(ball, {x: 0.5}, 2.0, control=wave(1.0), rate=200.0), error.value.motion
    n = len(motion)
    assert motion.t[-1] == pytest.approx(1.205) and len(motion.readings) == 241
    np.testing.assert_array_equal(motion.q, whole.q[:n])
    assert motion.impacts == tuple(impact for impact in whole.impacts if impact.time < 1.205) and motion.impacts


# --- what is certain ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_reactions_that_are_certain_make_contacts(seed):
    """M a = f + nᵀ Λ with n a = 0: a force f = −nᵀ Λ asks for exactly these Λ, small as they are."""
    rng = np.random.default_rng(seed)
    nv, k = 5, int(rng.integers(1, 5))
    root, n = rng.normal(size=(nv, nv)), rng.normal(size=(k, nv)) * 10 ** rng.uniform(-1, 1, (k, 1))
    empty = {"A": np.zeros((0, nv)), "W": np.zeros((nv, 0)), "a0": np.zeros(0), "v": np.zeros(nv), "restitution": np.zeros(k)}
    faces = {"g": np.zeros(k), "g_scale": np.zeros(k), "g_d": np.zeros(k), "g_v": n, "g_dd0": np.zeros(k)}
    under = lambda lam: Instant(M=root @ root.T + np.eye(nv), force=-n.T @ lam, **empty, **faces)
    bound = certain(under(np.zeros(k)), range(k)) / REACTION_CERTAIN
    assert contact_set(under(1.01 * bound), range(k)) == tuple(range(k))
    assert k > 1 or contact_set(under(0.99 * bound), range(k)) == ()


def test_small_shares_of_a_redundant_load_are_not_certain():
    n = np.array([[1.0, -1], [1, 0], [1, 1]])
    none = {"A": np.zeros((0, 2)), "W": np.zeros((2, 0)), "a0": np.zeros(0), "v": np.zeros(2), "restitution": np.zeros(3)}
    faces = {"g": np.zeros(3), "g_scale": np.zeros(3), "g_d": np.zeros(3), "g_v": n, "g_dd0": np.zeros(3)}
    at = Instant(M=np.eye(2), force=np.array([-9.0, 0]), **none, **faces)
    assert certain(at, range(3)) == pytest.approx(np.full(3, 3e3 * contact.LOAD_SHARE_UNLOADED), rel=0.1)  # Λ = 3 on each


# --- answers --------------------------------------------------------------------------------------------------------------


def test_answers_are_in_the_order_of_the_inputs_whatever_theirs():
    positive = ap.parameters("positive", positive=True)
    system = ap.System([x], x.d**2 / 2, 0, {x: u - w * x + positive})
    answers = [{"w": 1, u: 2.0, positive: 3}, {"w": 4, u: 5, positive: 6}, {u: 7, positive: 8, w: np.float64(9)}]
    answers += [{"w": 1e308, u: 1e308, positive: 1e308}, {"w": "1", u: True, positive: 2.5}]
    bad = [({"w": nan, u: 0, positive: 1}, "not finite"), ({"w": inf, u: -inf, positive: 1}, "not finite")]
    bad += [({"w": 0, u: [], positive: 1}, "not a number"), ({"w": 0, u: 0, positive: 0}, "declared positive")]
    given = iter([answers[0], *answers, *(answer for answer, _ in bad), answers[0]])
    reader, state = Reader(system, lambda t, q, v: next(given), 10.0), (0.0, np.zeros(1), np.zeros(1))
    names = [str(symbol) for symbol in reader.first_values(*state)]
    for answer in answers:
        values = {str(key): float(value) for key, value in answer.items()}
        assert reader.values_at(*state) == [values[name] for name in names]
    for _, message in bad:
        with pytest.raises(ModelError, match=message):
            reader.values_at(*state)
    assert len(reader.values_at(*state)) == 3
