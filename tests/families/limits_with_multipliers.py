"""Limits of friction that contain reactions: ropes on posts, guides, preloads; closed forms and equivalents."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Abs, cos, exp, sin, sqrt
from tests.families.family import family

import appell as ap

G = 9.81


@family(count=14, sample=(0, 8))
def limit_of_reactions(seed: int) -> None:
    """Member 0: Euler's rope on a post; others: see each check."""
    checks = (_rope, _journal, _guide, _preload, _hoop, _speeds, _blow, _blow_refused, _refusals, _negative, _brake, _tilted,
              _mode, _scaled)  # fmt: skip
    checks[seed]()


def _incline(limit, *, angle: float = 0.3, m: float = 2.0, push: float = 0.0, name: str = "rub", **more):
    """A block on an inclined guide: x down the slope, y across it."""
    x, y = ap.coordinates("x y")
    guide = ap.Constraint(y, name="guide")
    rub = ap.Friction(x.d, limit=limit(guide.multiplier), name=name)
    system = ap.System(coordinates=[x, y], kinetic=m * (x.d**2 + y.d**2) / 2, forces={x: m * G * sin(angle) + push,
                       y: -m * G * cos(angle)}, constraints=[guide, rub, *more.get("walls", ())])  # fmt: skip
    return system, x, rub


def _rope() -> None:
    """Two weights on a rope over a post: T₁ = T₂ e^{μπ}, so that the limit is T₂ (e^{μπ} − 1)."""
    a, b = ap.coordinates("a b")
    m, n, mu = 5.0, 1.0, 0.2
    rope = ap.Constraint(a + b, name="rope")  # T₂ = −Λ
    grow = np.exp(mu * np.pi)
    rub = ap.Friction(a.d, limit=-rope.multiplier * (grow - 1), name="post")
    system = ap.System(coordinates=[a, b], kinetic=(m * a.d**2 + n * b.d**2) / 2, potential=-G * (m * a + n * b),
                       constraints=[rope, rub])  # fmt: skip
    motion = ap.simulate(system, {}, 1.5, rtol=1e-10)
    rate = G * (m - n * grow) / (m + n * grow)
    assert motion.ok and abs(motion.final[a] - rate * 1.5**2 / 2) < 1e-9
    assert abs(motion.reaction(rope)[-1] + n * (G + rate)) < 1e-9
    held = ap.simulate(system.replace(kinetic=(1.5 * a.d**2 + n * b.d**2) / 2, potential=-G * (1.5 * a + n * b)), {}, 1.0)
    assert held.phases[0].state == "stick" and abs(held.reaction(rub)[0] + 0.5 * G) < 1e-9


def _journal() -> None:
    """μ√(Λ₁² + Λ₂²) as a limit is the resultant of `normal=[…]`."""
    x, y, phi = ap.coordinates("x y phi")
    rows = [ap.Constraint(x, name="x row"), ap.Constraint(y, name="y row")]
    place = (x + 0.05 * cos(phi), y + 0.05 * sin(phi))
    v = [ap.total_derivative(one) for one in place]
    load = 0.3 * sqrt(rows[0].multiplier ** 2 + rows[1].multiplier ** 2)
    make = lambda **law: ap.System(
        coordinates=[x, y, phi], kinetic=v[0] ** 2 + v[1] ** 2 + 0.02 * phi.d**2, potential=2 * G * place[1],
        constraints=[*rows, ap.Friction(0.04 * phi.d, name="rub", **law)],
    )  # fmt: skip
    one, two = (ap.simulate(make(**law), {phi.d: 9.0}, 3.0, rtol=1e-10)
                for law in ({"limit": load}, {"normal": rows, "coefficient": 0.3}))  # fmt: skip
    assert one.ok and abs(one.final[phi] - two.final[phi]) < 1e-9 and len(one.phases) == len(two.phases) > 1


def _guide() -> None:
    """μ(Λ + |T|): a slider on a guide that is held sideways against a pull: a = −μ(m g + P)/m."""
    x, y, z = ap.coordinates("x y z")
    m, mu, pull, v = 1.5, 0.25, 4.0, 3.0
    under, side = ap.Constraint(z, name="under"), ap.Constraint(y, name="side")
    rub = ap.Friction(x.d, limit=mu * (under.multiplier + Abs(side.multiplier)), name="rub")
    system = ap.System(coordinates=[x, y, z], kinetic=m * (x.d**2 + y.d**2 + z.d**2) / 2, potential=m * G * z,
                       forces={y: pull}, constraints=[under, side, rub])  # fmt: skip
    motion = ap.simulate(system, {x.d: v}, 2.0, rtol=1e-10)
    stop = v / (mu * (m * G + pull) / m)
    assert motion.ok and abs(motion.phases[0].end - stop) < 1e-10 and abs(motion.final[x] - v * stop / 2) < 1e-10


def _preload() -> None:
    """F₀ + μ|Λ|: a seal beside a weight."""
    F0, mu, m, angle, v = 3.0, 0.2, 2.0, 0.3, 0.5
    system, x, rub = _incline(lambda lam: F0 + mu * Abs(lam))
    motion = ap.simulate(system, {x.d: v}, 2.0, rtol=1e-10, backend="c")
    rate = -(F0 + mu * m * G * np.cos(angle)) / m + G * np.sin(angle)
    stop = -v / rate
    assert motion.ok and abs(motion.phases[0].end - stop) < 1e-10 and motion.phases[-1].state == "stick"
    assert abs(motion.reaction(rub)[-1] + m * G * np.sin(angle)) < 1e-9


def _hoop() -> None:
    """μ|Λ| as a limit, where Λ passes zero: a bead on a vertical hoop, as with `normal=`."""
    r, a = ap.coordinates("r a")
    hoop = ap.Constraint(r - 1, name="hoop")
    make = lambda **law: ap.System(
        coordinates=[r, a], kinetic=(r.d**2 + r**2 * a.d**2) / 2, potential=-G * r * cos(a),
        constraints=[hoop, ap.Friction(r * a.d, name="rub", **law)],
    )  # fmt: skip
    start = {r: 1, a.d: 6.5}
    one, two = (ap.simulate(make(**law), start, 3.0, rtol=1e-10)
                for law in ({"limit": 0.1 * Abs(hoop.multiplier)}, {"normal": hoop, "coefficient": 0.1}))  # fmt: skip
    assert (two.reaction(hoop) > 0).any() and (two.reaction(hoop) < 0).any()
    assert one.ok and abs(one.final[a] - two.final[a]) < 1e-8 and abs(one.final[a.d] - two.final[a.d]) < 1e-8


def _speeds() -> None:
    """A limit that depends on the reaction and on the speed of slip, as the coefficient of `normal=` does."""
    law = lambda s: 0.2 + 0.1 * exp(-s)
    x, y = ap.coordinates("x y")
    guide = ap.Constraint(y, name="guide")
    make = lambda **said: ap.System(
        coordinates=[x, y], kinetic=x.d**2 + y.d**2, potential=2 * G * y + x**2,
        constraints=[guide, ap.Friction(x.d, name="rub", **said)],
    )  # fmt: skip
    one, two = (ap.simulate(make(**said), {x.d: 4.0}, 4.0, rtol=1e-10) for said in (
        {"limit": lambda s: law(s) * Abs(guide.multiplier)}, {"normal": guide, "coefficient": law}))  # fmt: skip
    assert one.ok and abs(one.final[x] - two.final[x]) < 1e-9 and [p.state for p in one.phases] == [p.state for p in two.phases]


def _blow_system(limit, e: float = 0.5):
    """A dumbbell whose slider runs on a guide: a blow on its end presses on the guide."""
    x, y, a = ap.coordinates("x y a")
    guide = ap.Constraint(y, name="guide")
    tip = y + sin(a)
    v = [ap.total_derivative(one) for one in (x + cos(a), tip)]
    wall = ap.Unilateral(tip + 0.5, name="stop", restitution=e)
    rub = ap.Friction(x.d, name="rub", **limit(guide))
    return ap.System(coordinates=[x, y, a], kinetic=(x.d**2 + y.d**2 + v[0] ** 2 + v[1] ** 2) / 2,
                     potential=G * (y + tip), constraints=[guide, wall, rub]), x, a  # fmt: skip


def _blow() -> None:
    """A limit proportional to the reactions bounds impulses as a coefficient does."""
    ways = (lambda guide: {"limit": 0.2 * Abs(guide.multiplier)}, lambda guide: {"normal": guide, "coefficient": 0.2})
    found = []
    for way in ways:
        system, x, a = _blow_system(way)
        motion = ap.simulate(system, {x.d: 1.0, a: 0.2}, 0.7, rtol=1e-10)
        assert len(motion.impacts) >= 1
        found.append((motion.final[x], motion.final[a], motion.final[a.d], len(motion.impacts)))
    assert np.allclose(*found, rtol=0, atol=1e-8)


def _blow_refused() -> None:
    """A limit that is not proportional to them says nothing of impulses, and the run says that."""
    system, x, a = _blow_system(lambda guide: {"limit": 1 + 0.2 * Abs(guide.multiplier)})
    with pytest.warns(ap.AppellWarning, match="limit of friction 'rub' is not proportional"):
        motion = ap.simulate(system, {x.d: 1.0, a: 0.2}, 0.7)
    assert not motion.ok


def _refusals() -> None:
    x, y = ap.coordinates("x y")
    floor, rail, other = ap.Unilateral(y, name="floor"), ap.Constraint(y, name="rail"), ap.Constraint(x - y, name="other")
    make = lambda rub, *rows: ap.System(coordinates=[x, y], kinetic=x.d**2 + y.d**2, constraints=[*rows, rub])
    first = ap.Friction(x.d, limit=1, name="first")
    for rub, rows, text in (
        (ap.Friction(x.d, limit=floor.multiplier), [floor], "one-sided"),
        (ap.Friction(x.d, limit=other.multiplier**2), [rail], "no bilateral constraint is called 'other'"),
        (ap.Friction(x.d + y.d, limit=Abs(first.multiplier)), [rail, first], "no bilateral constraint is called 'first'"),
        (ap.Friction(x.d, normal=rail, coefficient=Abs(rail.multiplier)), [rail], "say the whole bound as limit="),
        (ap.Friction(x.d, normal=[rail, other], coefficient=1), [rail], "not a constraint of"),
        (ap.Friction(x.d, normal=[rail, "rail"], coefficient=1), [rail], "twice"),
        (ap.Friction(x.d, normal=["rail", "floor"], coefficient=1), [rail, floor.__class__(x, name="floor")], "one-sided"),
    ):
        with pytest.raises(ap.ModelError, match=text):
            make(rub, *rows)


def _negative() -> None:
    """A limit that becomes negative ends the run by name: a rope that goes slack."""
    system, x, _ = _incline(lambda lam: 0.1 * (lam - 15 + 2 * ap.t * 0), angle=0.3, m=1.0)
    with pytest.warns(ap.AppellWarning, match=r"no acceleration satisfies|becomes negative|is negative"):
        motion = ap.simulate(system, {x.d: 1.0}, 1.0)
    assert not motion.ok


def _brake() -> None:
    """A lever presses a pad on a drum: M = μ r P with P of the lever's own row; closed form of the stop."""
    phi, lever = ap.coordinates("phi lever")
    J, r, mu, force, w = 0.5, 0.2, 0.35, 30.0, 20.0
    pad = ap.Constraint(0.1 * lever, name="pad")  # the pad is at 0.1 m, the hand at 0.6 m
    rub = ap.Friction(r * phi.d, limit=mu * Abs(pad.multiplier), name="brake")
    system = ap.System(coordinates=[phi, lever], kinetic=J * phi.d**2 / 2 + 0.01 * lever.d**2, forces={lever: -0.6 * force},
                       constraints=[pad, rub])  # fmt: skip
    motion = ap.simulate(system, {phi.d: w}, 5.0, rtol=1e-10)
    stop = w * J / (mu * r * 6 * force)
    assert motion.ok and abs(motion.phases[0].end - stop) < 1e-10 and abs(motion.dissipated[-1] - J * w**2 / 2) < 1e-8


def _tilted() -> None:
    """A plate that is tilted slowly: what is held by μΛ breaks away at tan α = μ, and by F₀ + μΛ later."""
    x, y = ap.coordinates("x y")
    guide, m, mu, rate = ap.Constraint(y, name="guide"), 2.0, 0.4, 0.2
    for preload in (0.0, 3.0):
        rub = ap.Friction(x.d, limit=preload + mu * guide.multiplier, name="rub")
        angle = rate * ap.t
        system = ap.System(coordinates=[x, y], kinetic=m * (x.d**2 + y.d**2) / 2,
                           forces={x: m * G * sin(angle), y: -m * G * cos(angle)}, constraints=[guide, rub])  # fmt: skip
        motion = ap.simulate(system, {}, 4.0, rtol=1e-10)
        # sin α − μ cos α = F₀/(m g):  α = atan μ + asin(F₀/(m g √(1 + μ²)))
        expected = (np.arctan(mu) + np.arcsin(preload / (m * G * np.hypot(1, mu)))) / rate
        assert motion.ok and abs(motion.phases[0].end - expected) < 1e-9


def _mode() -> None:
    """`in_mode` says the same force, for the forms and their agreement."""
    system, x, _ = _incline(lambda lam: 3 + 0.2 * Abs(lam))
    sliding = system.in_mode({"rub": "slip+"})
    motion, plain = ap.simulate(system, {x.d: 4.0}, 0.5, rtol=1e-10), ap.simulate(sliding, {x.d: 4.0}, 0.5, rtol=1e-10)
    assert abs(motion.final[x] - plain.final[x]) < 1e-10
    many = ap.simulate_many(system, {x.d: np.array([4.0, 1.0, 0.0])}, 0.5, rtol=1e-10)
    assert abs(float(many["x"][0]) - motion.final[x]) < 1e-12 and float(many["x_d"][2]) == 0.0


def _scaled() -> None:
    """The same rope in grams and in thousands of tonnes."""
    for scale in (1e-6, 1e9):
        a, b = ap.coordinates("a b")
        rope = ap.Constraint(a + b, name="rope")
        rub = ap.Friction(a.d, limit=-0.5 * rope.multiplier, name="post")
        system = ap.System(coordinates=[a, b], kinetic=scale * (3 * a.d**2 + b.d**2) / 2, potential=-scale * G * (3 * a + b),
                           constraints=[rope, rub])  # fmt: skip
        motion = ap.simulate(system, {a.d: -1.0, b.d: 1.0}, 2.0, rtol=1e-10)
        back, down = G * (3 - 0.5) / (3 + 0.5), G * (3 - 1.5) / (3 + 1.5)  # T₁ = T₂ ∓ limit
        turn = 1.0 / back
        assert motion.ok and abs(motion.phases[0].end - turn) < 1e-9
        assert abs(motion.final[a] - (-turn / 2 + down * (2 - turn) ** 2 / 2)) < 1e-8
