"""Branches of orbits against closed forms and tables: special points are where they are said to be, whatever the range.

Mathieu's equation: characteristic values of McLachlan (1947), as SciPy has them; a bouncing ball: Holmes, J. Sound Vib. 84
(1982); a linear oscillator that grazes: Nordmark, J. Sound Vib. 145 (1991).
"""

from __future__ import annotations

import numpy as np
from scipy.special import mathieu_a, mathieu_b
from sympy import cos, sin
from tests.families.family import family

import appell as ap

x, z = ap.coordinates("x z")
load = ap.parameters("load")
scale = ap.parameters("scale", positive=True)
F, w, h, c, a, q = ap.parameters("F omega h c a q", positive=True)
MATHIEU = ap.System([x], x.d**2 / 2, (a + q * cos(2 * ap.t)) * x**2 / 2, name="Mathieu")
DUFFING = ap.System([x], x.d**2 / 2, x**2 / 2 + x**4 / 4, {x: F * cos(w * ap.t) - h * x.d}, name="Duffing")


def tongues(low: float, high: float, depth: float) -> None:
    """All edges of tongues in a range, those of a narrow one too; x″ + (a + q cos 2t) x = 0 has −q/2 in tables."""
    orbit = ap.periodic_orbit(MATHIEU, guess={}, period=np.pi, parameters={a: low, q: depth})
    branch = ap.continue_orbit(MATHIEU, a, orbit, high)
    edges = sorted(float(f(m, depth / 2)) for m in range(1, 5) for f in (mathieu_a, mathieu_b))
    wanted = [edge for edge in edges if low < edge < high]
    np.testing.assert_allclose([s.value for s in branch.special], wanted, rtol=1e-9, err_msg=str(branch))
    assert all(s.refined for s in branch.special)


def conservative(start: float, end: float, force: float) -> None:
    """An undamped oscillator has μ₁μ₂ = 1 all along: no Neimark–Sacker point, whatever rounding says."""
    values = {F: force, w: start, h: 1e-300}
    system = ap.System([x], x.d**2 / 2, x**2 / 2 + x**4 / 4, {x: F * cos(w * ap.t)}, name="undamped Duffing")
    orbit = ap.periodic_orbit(system, guess={x: -0.2}, period=2 * np.pi / start, parameters={F: values[F], w: start})
    branch = ap.continue_orbit(system, w, orbit, end)
    assert not [s for s in branch.special if s.kind == "Neimark–Sacker"], branch


def bouncing(e: float, phase: float, n: int) -> None:
    """One bounce in n periods of the table: it doubles where c ω² sin φ = 2g(1 + e²)/(1 + e)², wherever the section begins."""
    g, T = 9.81, 0.1
    omega, V = 2 * np.pi / T, n * g * T * (1 - e) / (2 * (1 + e))
    fold, doubling = V / omega, np.hypot(V, 2 * g * (1 + e**2) / ((1 + e) ** 2 * omega)) / omega
    table = ap.Unilateral(z - c * sin(omega * ap.t), "table", restitution=e)
    system = ap.System([z], z.d**2 / 2, g * z, {}, [table], name="ball")
    value = (fold + doubling) / 2
    phi, tau = np.arccos(V / (value * omega)), n * T * phase
    up = n * g * T / 2
    guess = {z: value * np.sin(phi) + up * tau - g * tau**2 / 2, z.d: up - g * tau}
    orbit = ap.periodic_orbit(system, guess=guess, period=n * T, since=phi / omega + tau, parameters={c: value})
    branch = ap.continue_orbit(system, c, orbit, 1.1 * doubling)
    assert branch.ok, branch
    np.testing.assert_allclose([s.value for s in branch.special], [doubling], rtol=1e-9)


def grazing(omega: float, damping: float, share: float) -> None:
    """A linear oscillator touches a wall at its amplitude, F = √((1 − ω²)² + h²ω²): from below, or from above with impacts."""
    wall = ap.Unilateral(1 - x, "wall", restitution=0.8)
    system = ap.System([x], x.d**2 / 2, x**2 / 2, {x: F * cos(w * ap.t) - h * x.d}, [wall], name="grazing")
    critical, phase = np.hypot(1 - omega**2, damping * omega), np.arctan2(damping * omega, 1 - omega**2)
    values = {F: share * critical, w: omega, h: damping}
    guess = {x: share * np.cos(phase), x.d: share * omega * np.sin(phase)} if share < 1 else {x: -1.0, x.d: 0.5}
    orbit = ap.periodic_orbit(system, guess=guess, period=2 * np.pi / omega, parameters=values)
    assert orbit.ok, orbit
    branch = ap.continue_orbit(system, F, orbit, (1.5 if share < 1 else 0.6) * critical)
    found = [s for s in branch.special if s.kind == "grazing"]
    np.testing.assert_allclose([s.value for s in found], [critical], rtol=1e-8, err_msg=str(branch))
    assert found[0].refined


def symmetry(split: float) -> None:
    """Branch points of a symmetric oscillator are the same in one range and in two."""
    settled = ap.simulate(DUFFING, {x: 0.1}, 120 * np.pi, {F: 0.5, w: 1.0, h: 0.2}, rtol=1e-6).final
    orbit = ap.periodic_orbit(DUFFING, guess=settled, period=2 * np.pi, parameters={F: 0.5, w: 1.0, h: 0.2})
    whole = ap.continue_orbit(DUFFING, F, orbit, 4.0)
    first = ap.continue_orbit(DUFFING, F, orbit, split)
    second = ap.continue_orbit(DUFFING, F, first.orbits[-1], 4.0)
    values = [s.value for s in (*first.special, *second.special)]
    np.testing.assert_allclose([s.value for s in whole.special], values, rtol=1e-8)
    assert [s.kind for s in whole.special] == ["branch point"], whole


CASES = (
    lambda: tongues(0.5, 10.0, 0.6), lambda: tongues(8.6, 9.5, 0.6), lambda: conservative(2.0, 1.6, 0.5),
    lambda: grazing(2.6, 0.1, 1.3), lambda: grazing(0.7, 0.1, 0.8), lambda: grazing(1.7, 0.3, 0.7),
    lambda: bouncing(0.7, 0.02, 1), lambda: bouncing(0.5, 0.97, 1), lambda: bouncing(0.8, 0.5, 2),
    lambda: symmetry(2.0), lambda: symmetry(3.1), lambda: tongues(15.5, 16.5, 1.6), lambda: conservative(1.6, 2.2, 0.3),
)  # fmt: skip


@family(count=len(CASES), sample=(1,))
def special_points(seed: int) -> None:
    """One branch and its special points."""
    CASES[seed]()


@family(sample=(0, 3))
def both_folds(seed: int) -> None:
    """x³ − x = h folds twice, at h = ±2/√27: no step may lead from one side of the fold to the other part of the curve."""
    rng = np.random.default_rng(seed)
    fold = 2 / np.sqrt(27)
    start, end, back = (-0.6, 1.0, -1.0) if not seed else fold * rng.uniform([-2, 1.5, -4], [-1.05, 6, -2.1])
    length = 1.0 if not seed else 10.0 ** rng.integers(-6, 7)
    s = x / scale
    system = ap.System([x], x.d**2 / 2, scale**2 * (s**4 / 4 - s**2 / 2 - load * s), {x: -0.3 * x.d}, name="S-shaped")
    branch = ap.continue_equilibrium(system, load, {x: -1.2 * length}, end, parameters={scale: length, load: start}, back=back)
    assert branch.ok, branch
    assert [s.kind for s in branch.special] == ["fold", "fold"], (branch, start, end, back)
    np.testing.assert_allclose([s.value for s in branch.special], [fold, -fold], rtol=1e-8)
    np.testing.assert_allclose((branch[x] / length) ** 3 - branch[x] / length, branch.values, atol=1e-8)


def two_pairs_of_folds(draw: np.random.Generator, damped: bool) -> tuple[ap.System, float, float, float, float, list[float]]:
    """h = P(x), a quintic with two pairs of folds: system, start x, values of h at the start, the end and the turn, folds."""
    pairs = draw.uniform([-1.0, 0.2], [-0.3, 0.8])
    at = np.sort(np.concatenate([pairs, pairs + 10 ** draw.uniform(-1.4, -0.7, 2)]))
    P = np.polynomial.Polynomial.fromroots(at).integ() * 10 ** draw.uniform(0.0, 2.0)
    potential = sum(float(k) * x ** (i + 1) / (i + 1) for i, k in enumerate(P.coef)) - load * x
    system = ap.System([x], x.d**2 / 2, potential, {x: -0.3 * x.d} if damped else {}, name="quintic")
    return system, -1.6, P(-1.6), P(1.6), P(-1.6) - 1.0, [float(value) for value in P(at)]


def two_crossings(draw: np.random.Generator, kind: str) -> tuple[ap.System, list[float]]:
    """A damping (Hopf) or a stiffness (branch points) that is negative in a narrow range of the load, beside another body."""
    width, middle = 10 ** draw.uniform(-3.0, -0.8), draw.uniform(0.1, 0.9)
    edges = [middle - width / 2, middle + width / 2]
    dips, other = (load - edges[0]) * (load - edges[1]) * 10 ** draw.uniform(-0.5, 1.0), 1 + 0.3 * load
    stiffness, damping = (other, dips) if kind == "Hopf" else (dips, other if draw.random() < 0.5 else 0.0)
    potential = stiffness * x**2 / 2 + x**4 / 4 + (2 + load) * z**2 / 2
    loss = {x: -damping * x.d, z: -0.5 * z.d} if damping != 0 else {}
    return ap.System([x, z], (x.d**2 + z.d**2) / 2, potential, loss, name="two edges"), edges


@family(sample=(0, 1, 2))
def pairs_in_one_step(seed: int) -> None:
    """Two folds, Hopf points or branch points within one step of a branch of rests are found, with the signs of all tests the
    same before and after them."""
    draw, kind = np.random.default_rng(seed), ("fold", "Hopf", "branch point")[seed % 3]
    if kind == "fold":
        system, begin, start, end, back, wanted = two_pairs_of_folds(draw, damped=bool(seed % 2))
        end, back = max(end, *wanted) + 1.0, min(back, *wanted) - 1.0
        branch = ap.continue_equilibrium(system, load, {x: begin}, end, parameters={load: start}, back=back)
    else:
        system, wanted = two_crossings(draw, kind)
        branch = ap.continue_equilibrium(system, load, {x: 0.0, z: 0.0}, 1.0, parameters={load: 0.0})
        wanted = [value for value in wanted if 0 < value < 1]
    assert branch.ok, branch
    assert [s.kind for s in branch.special] == [kind] * len(wanted), (branch, wanted)
    np.testing.assert_allclose([s.value for s in branch.special], wanted, rtol=0, atol=1e-7 * abs(np.ptp(branch.values)))
    assert all(s.refined for s in branch.special), branch


@family(sample=(0,))
def closed_branches(seed: int) -> None:
    """x² + k x h + h²/a² = 1, an ellipse, from any of its points: once around, with folds at h²(1/a² − k²/4) = 1."""
    draw = np.random.default_rng(seed)
    half, skew, length = draw.uniform(0.2, 2.0), draw.uniform(-0.27, 0.27), 10.0 ** draw.integers(-4, 5)
    begin, sign = half * draw.uniform(-0.8, 0.8), draw.choice([-1.0, 1.0])
    s = x / scale
    potential = scale**2 * (s**3 / 3 + skew * s**2 * load / 2 + (load**2 / half**2 - 1) * s)
    system = ap.System([x, z], (x.d**2 + z.d**2) / 2, potential + z**2 / 2, {x: -0.3 * x.d}, name="ellipse")
    root = float(np.sort(np.roots([1, skew * begin, begin**2 / half**2 - 1]).real)[int(sign > 0)])
    branch = ap.continue_equilibrium(
        system, load, {x: root * length, z: 0.0}, 5.0, parameters={load: begin, scale: length}, back=-5.0
    )
    assert branch.ok and "closed" in branch.message, branch
    around = np.unwrap(np.arctan2(branch[x] / length, branch.values / half))
    np.testing.assert_allclose(abs(around[-1] - around[0]), 2 * np.pi, rtol=1e-7)
    fold = 1 / np.sqrt(1 / half**2 - skew**2 / 4)
    assert [one.kind for one in branch.special] == ["fold", "fold"], branch
    np.testing.assert_allclose(sorted(one.value for one in branch.special), [-fold, fold], rtol=1e-7)


G = 9.81
bead_x, bead_y, angle = ap.coordinates("x y angle")
rate, push, drag, length = ap.parameters("omega F c l", positive=True)


def swinging(seed: int) -> tuple[ap.System, ap.System]:
    """A pendulum beside its lowest point, pushed sideways: on a rod in Cartesian coordinates, and by its angle. From member 6
    on its pivot is shaken instead, so that the row depends on time."""
    x, y, z, shaken = bead_x, bead_y, angle, seed >= 6
    pivot = push / 40 * sin(rate * ap.t) if shaken else 0
    force = 0 if shaken else push * cos(rate * ap.t)
    V = lambda x, y: G * (y - x)  # gravity, and as much to the side
    rod = ap.Constraint((x - pivot) ** 2 + y**2 - length**2, "rod")
    damped = {x: -drag * (x.d - ap.total_derivative(pivot)) + force, y: -drag * y.d}
    on_rod = ap.System([x, y], (x.d**2 + y.d**2) / 2, V(x, y), damped, [rod], name="on a rod")
    X, Y = pivot + length * sin(z), -length * cos(z)
    T = (ap.total_derivative(X) ** 2 + ap.total_derivative(Y) ** 2) / 2
    by_angle = ap.System([z], T, V(X, Y), {z: -drag * length**2 * z.d + force * length * cos(z)}, name="by its angle")
    return on_rod, by_angle


@family(count=12, sample=(1, 7))
def branches_on_constraints(seed: int) -> None:
    """Branches over the frequency, the force and the length of the rod, their folds and the curves of these: as by the angle.

    On a rod a prediction is off the row, and the row moves with its length.
    """
    rng = np.random.default_rng(seed)
    l, c, F = (1.0, 0.1, 1.0) if seed < 3 else rng.uniform([0.8, 0.08, 0.8], [1.2, 0.14, 1.2])
    w = np.sqrt(np.sqrt(2) * G / l)
    over, end = ((rate, 0.97 * w), (push, 1.6 * F), (length, 1.25 * l))[seed % 3]
    values = {rate: 0.86 * w if over is not length else 0.84 * w, push: F, drag: c, length: l}
    on_rod, by_angle = swinging(seed)
    T = 2 * np.pi / values[rate]
    first = ap.periodic_orbit(by_angle, guess={angle: np.pi / 4}, period=T, parameters=values)
    z = first.motion.at(0.0)
    guess = {bead_x: l * np.sin(z[angle][0]), bead_y: -l * np.cos(z[angle][0])}
    beside = ap.periodic_orbit(on_rod, guess=guess, period=T, parameters=values)
    wanted, found = (ap.continue_orbit(system, over, orbit, end) for system, orbit in ((by_angle, first), (on_rod, beside)))
    assert wanted.ok and found.ok, (str(wanted), str(found))
    assert [one.kind for one in found.special] == [one.kind for one in wanted.special]
    assert np.allclose([one.value for one in found.special], [one.value for one in wanted.special], rtol=1e-9)
    ends = [branch.orbits[-1].motion.at(0.0) for branch in (wanted, found)]
    swing = values | {over: end}
    assert abs(ends[1][bead_y][0] + swing[length] * np.cos(ends[0][angle][0])) < 1e-8
    folds = [[one for one in branch.special if one.kind == "fold"] for branch in (wanted, found)]
    if folds[0]:
        other, to = (length, 1.05 * l) if over is rate else (rate, 1.02 * values[rate])
        curves = [ap.continue_curve(one[0], (over, other), to) for one in folds]
        assert all(curve.ok for curve in curves), [str(curve) for curve in curves]
        assert np.allclose(curves[0].values[-1], curves[1].values[-1], rtol=1e-8)
