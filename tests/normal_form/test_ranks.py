"""Ranks of rows, judged against the size of their terms at the states that matter."""

from __future__ import annotations

import itertools

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import cos, sin

import appell as ap
from appell.errors import ConstraintError, SingularConfiguration
from appell.graph import make_fn
from appell.graph.algebra import Value, column, symbols
from appell.graph.sizes import sizes
from appell.normal_form.policy import choose, judged
from appell.rows import RowSpace, clearly_full
from appell.simulate.start import check, read
from appell.tree import Inertia, Joint, loop, place
from appell.tree.inertia import from_rpy

phi, x, y, a, b, c = ap.coordinates("phi x y a b c")
GRAVITY = 9.81


def sized(value, *inputs):
    """(value, size of its terms) as a function of numbers."""
    size, flat = sizes([value], list(inputs))[0], {f"x{k}": z for k, z in enumerate(inputs)}
    fn = make_fn("sized", flat, {"value": value, "size": size})
    return lambda *numbers: tuple(float(x) for x in fn(*numbers).values())


def test_the_size_of_terms_tells_rounding_from_small_numbers():
    z = symbols("z", 2)
    of = sized(z[0] * 3 + z[1] * 5 - (z[0] + z[1]) * 3 - z[1] * 2, z)
    value, size = of([0.1, 0.7])
    assert abs(value) < 1e-14 < 1 < size
    assert of([1e-20, 7e-20])[1] < 1e-18


def test_sizes_of_products_of_rotations_stay_bounded():
    """√Σθ² is what the angles themselves do; absolute values would grow to 1e7 here."""
    angles = symbols("angles", 40)
    u, w = column(Value(1.0)), column(Value(0.5))
    for k in range(40):
        c, s = ca.cos(angles[k]), ca.sin(angles[k])
        u, w = c * u - s * w, s * u + c * w
    theta = np.linspace(0.3, 5, 40)
    assert 1 < sized(u, angles)(theta)[1] < 1.2 * np.linalg.norm(theta)


def parallelogram(kind: str, base: tuple[float, float, float], spin: float):
    """Three hinges about x, closed by a hinge whose z axis is x, turned by `spin` about it; all of it turned by `base`."""
    bar = lambda centre: Inertia.at_centre(1.0, centre, 0.1 * np.eye(3))
    foot, axis = place((0.1, 0.2, 0.3), base), (1, 0, 0)
    tree = ap.Tree(
        [
            Joint("a", "revolute", placement=foot, axis=axis, body=bar((0, 0, 0.5))),
            Joint("b", "revolute", "a", place((0, 0, 1.0)), axis=axis, body=bar((0, 0.75, 0))),
            Joint("c", "revolute", placement=foot @ place((0, 1.5, 0)), axis=axis, body=bar((0, 0, 0.5))),
        ],
        gravity=tuple(from_rpy(base) @ [0, 0, -GRAVITY]),
    )
    hinge = lambda frame, point: frame.at(point, (0, np.pi / 2, 0)).at((0, 0, 0), (0, 0, spin))
    tips = hinge(tree.frame("b"), (0, 1.5, 0)), hinge(tree.frame("c"), (0, 0, 1.0))
    return tree.system(loop(*tips, kind, name="h"))


def swing(until: float) -> float:
    """The angle of the same mechanism in one coordinate: two bars of inertia 0.35 and a coupler of mass 1 that only shifts."""
    inertia, moment = 2 * (0.1 + 0.25) + 1.0, 2 * GRAVITY
    rates = lambda t, z: [z[1], moment * np.sin(z[0]) / inertia]
    return float(solve_ivp(rates, (0, until), [0.3, 1.0], rtol=1e-12, atol=1e-12).y[0, -1])


VARIANTS = list(
    itertools.product(
        ("revolute", "cylindrical", "universal", "spherical", "pin"),
        [(0, 0, 0), (0.3, 0.7, 1.1), (np.pi / 2, np.pi / 4, 0)],
        [0.0, np.pi / 4, 0.37],
    )
)


@pytest.mark.parametrize(("kind", "base", "spin"), VARIANTS[::4])
def test_spatial_hinges_close_a_plane_mechanism(kind, base, spin):
    motion = ap.simulate(
        parallelogram(kind, base, spin), {"a": 0.3, "b": -0.3, "c": 0.3, "a.d": 1, "b.d": -1, "c.d": 1}, 1.0, backend="vm"
    )
    assert motion.ok and motion["a"][-1] == pytest.approx(swing(1.0), abs=1e-8)
    assert len(motion.redundant) == {"revolute": 3, "cylindrical": 2, "universal": 2, "spherical": 1, "pin": 0}[kind]


def bennett(alpha: float = 0.7, beta: float = 1.2, length: float = 1.0):
    """Four skew hinges in a ring that moves although five rows close a chain of three; and a state of it by θ₁."""
    other = length * np.sin(beta) / np.sin(alpha)
    ratio = np.sin((alpha + beta) / 2) / np.sin((beta - alpha) / 2)
    bar = lambda l: Inertia.at_centre(1, (l / 2, 0, 0), length**2 * np.diag([0.01, 0.1, 0.1]))
    tree = ap.Tree(
        [
            Joint("j1", body=bar(length)),
            Joint("j2", "revolute", "j1", place((length, 0, 0), (alpha, 0, 0)), body=bar(other)),
            Joint("j3", "revolute", "j2", place((other, 0, 0), (beta, 0, 0)), body=bar(length)),
        ],
        gravity=(0, -3 * length, -9.81 * length),
    )
    ground = tree.frame("world").at((-other, 0, 0), (-beta, 0, 0))
    system = tree.system(loop(ground, tree.frame("j3").at((length, 0, 0), (alpha, 0, 0)), "revolute", name="ring"))
    return system, lambda theta: np.array([theta, 2 * np.arctan2(ratio, np.tan(theta / 2)), -theta])


def test_accelerations_of_an_overconstrained_linkage_satisfy_every_row():
    system, at = bennett()
    run = ap.compile(system, backend="vm")
    for theta in (0.5, 0.01, 0.0, 2.0):
        q = at(theta)
        rows = run.form.select("M", "A", "A_size")(0.0, q, np.zeros(3), run.p)
        v = RowSpace.of(**dict(zip(("M", "A", "size"), rows.values(), strict=True))).kernel(np.ones(3), 2)
        acceleration, _ = run.acceleration(0.0, q, v)
        out = run.form.select("A", "a0")(0.0, q, v, run.p)
        assert out["A"] @ acceleration + out["a0"] == pytest.approx(np.zeros(5), abs=1e-12)
    with pytest.raises(SingularConfiguration, match="no acceleration satisfies all constraints here"):
        run.acceleration(0.0, np.array([0.3, 0.4, 0.5]), np.array([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e6])
def test_scaled_linkages_have_one_rank_and_scaled_motions(scale):
    ends = []
    for length in (1.0, scale):
        system, at = bennett(length=length)
        start = dict(zip(system.coordinates, at(0.5), strict=True))
        motion = ap.simulate(system, start, until=0.5)
        assert motion.ok and len(motion.redundant) == 3
        ends.append(motion["j1"][-1])
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_factors_of_rows_change_nothing(factor):
    rows = [cos(a) + cos(c) - 1 - 1.5 * cos(b), sin(a) + sin(c) - 1.5 * sin(b)]
    ends = []
    for scaled in (rows, [factor * rows[0], rows[1], rows[0] + rows[1]]):
        system = ap.System([a, b, c], kinetic=(a.d**2 + b.d**2 + c.d**2) / 2, potential=sin(a), constraints=scaled)
        start = ap.consistent(system, {a: 1.5, b: 1.0, c: 0.5, a.d: 1.0}, hold=[a, a.d])
        motion = ap.simulate(system, start, until=0.5, backend="vm")
        assert motion.ok
        ends.append(motion.q[-1])
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)


@pytest.mark.parametrize(
    ("coordinates", "rows", "start", "exact"),
    [
        ([phi], [phi - ap.t, sin(phi) - sin(ap.t)], {phi.d: 1}, lambda t: t),
        ([x, y], [x - cos(ap.t), y - sin(ap.t), x**2 + y**2 - 1], {x: 1, y.d: 1}, np.cos),
    ],
)
def test_rows_that_agree_on_their_solutions_only(coordinates, rows, start, exact):
    """Off the constraints the rows disagree; on them each follows from the others."""
    kinetic = sum(q.d**2 for q in coordinates) / 2
    motion = ap.simulate(ap.System(coordinates, kinetic=kinetic, constraints=rows), start, until=3, backend="vm")
    assert motion.ok and motion.redundant
    assert motion[coordinates[0]] == pytest.approx(exact(motion.t), abs=1e-12)


def test_a_driven_parallelogram_with_a_rod_too_many():
    """Crank a = t, coupler angle b, rocker c, and a third rod in the middle of the coupler."""
    rows = [a - ap.t, cos(a) + 2 * cos(b) - 2 - cos(c), sin(a) + 2 * sin(b) - sin(c)]
    rods = [cos(a) + cos(b) - 1 - cos(x), sin(a) + sin(b) - sin(x)]
    system = ap.System([a, b, c, x], kinetic=(a.d**2 + b.d**2 + c.d**2 + x.d**2) / 2, constraints=[*rows, *rods])
    start = {a: 0, a.d: 1, c.d: 1, x.d: 1}
    motion = ap.simulate(system, start | {a: 1.0, c: 1.0, x: 1.0}, until=1.5, since=1.0, backend="vm")
    assert motion.ok and motion[x] == pytest.approx(motion.t, abs=1e-10)


@pytest.mark.parametrize("rows", [[x - 1, x - 2], [x.d - 1, 2 * x.d - 3], [x - cos(ap.t), y - sin(ap.t), x**2 + y**2 - 2]])
def test_contradictions_are_still_found(rows):
    with pytest.raises(ConstraintError, match="contradict"):
        ap.System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=rows)


def test_a_start_where_branches_meet_is_refused():
    """The flat parallelogram: both ways to go on satisfy all rows."""
    rows = [cos(a) + cos(c) - 1 - cos(b), sin(a) + sin(c) - sin(b)]
    system = ap.System([a, b, c], kinetic=(a.d**2 + b.d**2 + c.d**2) / 2, potential=sin(a), constraints=rows)
    with pytest.raises(SingularConfiguration, match="branches of the motion meet"):
        ap.simulate(system, {a.d: 1, b.d: 1}, until=1, backend="vm")


@pytest.mark.parametrize("name", [name for name in ap.zoo.ALL if ap.zoo.ALL[name]().system.constraints])
def test_what_is_seen_at_once_at_a_start_is_what_singular_values_say(name):
    example = ap.zoo.ALL[name]()
    run = ap.compile(example.system, example.parameters, backend="vm", ready=False)
    q, v = read(example.system, example.start)
    q, v, _ = check(example.system, run.form, run.p, 0.0, q, v)
    assert judged(run.form, run.p, (0.0, q, v))[0] == choose(run.form, run.p, (0.0, q, v))


@pytest.mark.parametrize("seed", range(30))
def test_rows_far_from_dependent_are_seen_only_where_they_are(seed):
    """Rows and masses from well apart to nearly dependent: what is seen at once has σ and eigenvalues far from 0."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 9)), int(rng.integers(1, 3))
    root, A = rng.standard_normal((n, n)), rng.standard_normal((m, n))
    root[:, 0] = root[:, -1] + 10.0 ** -rng.uniform(-1, 9) * root[:, 0]
    A[-1] = A[0] * (m > 1) + 10.0 ** -rng.uniform(-1, 9) * A[-1]
    M = root.T @ root
    space, seen = RowSpace.of(M, A, np.abs(A)), clearly_full(M, A, np.abs(A))
    sigma, size = np.linalg.svd(space.Y, compute_uv=False), np.sqrt(np.diag(M))
    least = np.linalg.eigvalsh(M / np.outer(size, size))[0]
    if seen is not None:
        assert sigma[-1] > 1e-2 and least > 0.99e-8
        assert np.allclose(seen, space.s, rtol=1e-6)
    else:
        assert sigma[-1] < 0.1 or least < 1e-7
