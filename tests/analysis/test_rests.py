"""`ap.continue_equilibrium`: branches, folds, Hopf points and flutter where closed forms put them."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin, sqrt

import appell as ap

theta, x, y, a, b = ap.coordinates("theta x y alpha beta")
k, m, P, d, h = ap.parameters("k m P d h", positive=True)
u = ap.parameters("u")


def test_buckling_and_the_branches_that_it_throws_off():
    """V = kθ²/2 + m cos θ: upright is stable while m < k; from there θ/sin θ = m/k."""
    column = ap.System([theta], theta.d**2 / 2, k * theta**2 / 2 + m * cos(theta), {theta: -d * theta.d}, name="column")
    straight = ap.continue_equilibrium(column, m, {theta: 0.0}, 2.0, parameters={m: 0.5, k: 1.0, d: 0.1})
    assert straight.ok and [s.kind for s in straight.special] == ["branch point"]
    assert straight.special[0].value == pytest.approx(1.0, rel=1e-10)
    assert (straight.stable == (straight.values < 1)).all()
    bent = ap.continue_equilibrium(column, "m", straight.switch(0), 2.0)
    assert bent.ok and bent.stable.all() and bent.stability[-1] == "asymptotically stable"
    assert bent.values == pytest.approx(bent[theta] / np.sin(bent[theta]), rel=1e-8)
    assert {"m", "theta", "stable", "growth"} <= set(bent.dataset)
    bent.plot()
    with pytest.raises(ap.ModelError, match="special rests"):
        straight.switch(1)


def test_snap_through():
    """Von Mises's truss: V = (ℓ(y) − ℓ(h))² + u y folds at 1 + y² = ℓ(h)^{2/3}, twice, and comes back on the other side."""
    truss = ap.System([y], y.d**2 / 2, (sqrt(1 + y**2) - sqrt(1 + h**2)) ** 2 + u * y, {}, name="truss")
    branch = ap.continue_equilibrium(truss, u, {y: 0.5}, 0.5, parameters={h: 0.5, u: 0.0}, back=-0.5)
    assert branch.ok and [s.kind for s in branch.special] == ["fold", "fold"]
    length = np.sqrt(1.25)
    at = np.sqrt(length ** (2 / 3) - 1)
    load = 2 * at * (length / np.sqrt(1 + at**2) - 1)
    assert [s.value for s in branch.special] == pytest.approx([load, -load], rel=1e-9)
    assert [s.rest[y] for s in branch.special] == pytest.approx([at, -at], rel=1e-5)
    with pytest.raises(ap.ModelError, match="branch point"):
        branch.switch(0)


def test_the_orbits_that_begin_at_a_hopf_point():
    """ẍ + x = (u − x² − ẋ²) ẋ: circles of radius √u, period 2π."""
    circle = ap.System([y], y.d**2 / 2, y**2 / 2, {y: (u - y**2 - y.d**2) * y.d}, name="circle")
    branch = ap.continue_equilibrium(circle, u, {}, 1.0, parameters={u: -0.5})
    assert [one.kind for one in branch.special] == ["Hopf"]
    orbit = branch.switch(0, size=0.2)
    assert orbit.ok and orbit.stable and orbit.parameters[u] == pytest.approx(0.04, abs=1e-10)
    assert orbit.period == pytest.approx(2 * np.pi, abs=1e-9) and orbit.range(y) == pytest.approx((-0.2, 0.2), abs=1e-9)


def test_on_a_constraint():
    """The same branch point for a bead on a circle, X² + Y² = 1 with its reaction: V = mY + kX²/2, m = k, Λ = −V_Y/2Y."""
    V = m * y + k * x**2 / 2
    bead = ap.System([x, y], (x.d**2 + y.d**2) / 2, V, {}, [ap.Constraint(x**2 + y**2 - 1, name="rod")], name="bead")
    branch = ap.continue_equilibrium(bead, m, {x: 0.0, y: 1.0}, 0.5, parameters={m: 2.0, k: 1.0})
    assert branch.ok and [s.kind for s in branch.special] == ["branch point"]
    assert branch.special[0].value == pytest.approx(1.0, rel=1e-9)
    assert [rest.reaction("rod") for rest in branch.rests] == pytest.approx(branch.values / 2, rel=1e-9)
    assert branch.stability[0] == "unstable" and branch.stability[-1] == "undecided"


def ziegler(damping):
    """Ziegler (1952): two links, masses 2 and 1, springs 1, a force P that follows the second link."""
    T = (3 * a.d**2 + 2 * a.d * b.d * cos(a - b) + b.d**2) / 2
    loss = {a: -damping * (2 * a.d - b.d), b: -damping * (b.d - a.d)}
    return ap.System([a, b], T, a**2 / 2 + (b - a) ** 2 / 2, {a: P * sin(a - b) + loss[a], b: loss[b]}, name="Ziegler")


def test_hopf_and_flutter_of_zieglers_column():
    """P = 41/28 + d²/2 with equal damping d in both joints (the paradox), 7/2 − √2 without."""
    damped = ap.continue_equilibrium(ziegler(d), P, {}, 3.0, parameters={P: 0.5, d: 0.02})
    assert [s.kind for s in damped.special] == ["Hopf"]
    assert damped.special[0].value == pytest.approx(41 / 28 + 0.02**2 / 2, rel=1e-10)
    free = ap.continue_equilibrium(ziegler(0), P, {}, 3.0, parameters={P: 0.5})
    assert [s.kind for s in free.special] == ["flutter"]
    assert free.special[0].value == pytest.approx(3.5 - np.sqrt(2), rel=1e-8)


def modes(first, second, p_end=1.0, start=-0.73, **options):
    """A branch of x = y = 0 over u of two oscillators, each given by its stiffness and its force."""
    V = first[0] * x**2 / 2 + second[0] * y**2 / 2 + (x**2 + y**2) ** 2 / 4
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, V, {x: first[1], y: second[1]}, name="two modes")
    return ap.continue_equilibrium(system, u, {}, p_end, parameters={u: start}, **options)


@pytest.mark.parametrize("slow", [0.02, 1e-3, 0.0])
def test_a_hopf_point_beside_a_slower_mode(slow):
    """ẍ = (u − x²) ẋ − x passes at u = 0, whatever is nearer to the axis before and after; its orbits have its period."""
    branch = modes((1, (u - x**2) * x.d), (4, -slow * y.d))
    assert [s.kind for s in branch.special] == ["Hopf"] and branch.special[0].refined
    assert branch.special[0].value == pytest.approx(0, abs=1e-10) and branch.special[0].frequency == pytest.approx(1)
    orbit = branch.switch(0)
    assert orbit.ok and orbit.period == pytest.approx(2 * np.pi, rel=1e-3)


def test_a_curve_of_hopf_points_beside_an_undamped_mode():
    """u = h, whatever the other pair on the axis does."""
    V, forces = (1 + h) * x**2 / 2 + 2 * y**2, {x: (u - h) * x.d}
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, V, forces, name="beside")
    (point,) = ap.continue_equilibrium(system, u, {}, 1.0, parameters={u: -0.5, h: 0.1}).special
    curve = ap.continue_curve(point, (u, h), 0.5)
    assert curve.ok and curve.values[:, 0] == pytest.approx(curve.values[:, 1], abs=1e-9)


def test_where_nothing_passes_the_axis_there_is_no_flutter():
    """λ² − 0.6 λ + 1 − u: an unstable focus becomes an unstable node at u = 0.91."""
    system = ap.System([x], x.d**2 / 2, (1 - u) * x**2 / 2, {x: 0.6 * x.d}, name="node")
    branch = ap.continue_equilibrium(system, u, {}, 0.95, parameters={u: 0.0})
    assert branch.ok and not branch.special and not branch.stable.any()
    growing = ap.System([x, y], (x.d**2 + y.d**2) / 2, -(x**2) / 2 - y**2, {x: u * y, y: -u * x}, name="undamped node")
    assert not ap.continue_equilibrium(growing, u, {}, 1.0, parameters={u: 0.0}).special  # two real pairs meet at u = 1/2
    shaken = ap.System([x, y], (x.d**2 + y.d**2) / 2, x**2 / 2 + y**2, {x: u * y, y: -u * x}, name="circulatory")
    (point,) = ap.continue_equilibrium(shaken, u, {}, 1.0, parameters={u: 0.0}).special
    assert point.kind == "flutter" and point.value == pytest.approx(0.5, rel=1e-8)


@pytest.mark.parametrize("drag", [0.1, 0.0])
def test_two_eigenvalues_that_pass_in_one_step(drag):
    """A symmetric column buckles in both directions at once; one that is a little stiffer in one, twice."""
    both = modes((1 - u, -drag * x.d), (1 - u, -drag * y.d), 2.0, 0.0)
    assert [(s.kind, s.multiplicity) for s in both.special] == [("branch point", 2)]
    assert both.special[0].value == pytest.approx(1, rel=1e-9) and "double branch point at u = 1" in str(both)
    bent = both.switch(0)
    assert np.hypot(bent[x], bent[y]) ** 2 == pytest.approx(float(bent.parameters[u]) - 1, abs=1e-9) and bent.parameters[u] > 1
    for apart in (1e-2, 1e-4):
        near = modes((1 - u, -drag * x.d), (1 + apart - u, -drag * y.d), 2.0, 0.0)
        assert [(s.kind, s.multiplicity) for s in near.special] == [("branch point", 1)] * 2
        assert [s.value for s in near.special] == pytest.approx([1, 1 + apart], rel=1e-9)


def test_pairs_that_pass_in_opposite_directions_in_one_step():
    branch = modes((1, (u - 0.01) * x.d), (4, (0.03 - u) * y.d))
    assert [s.kind for s in branch.special] == ["Hopf", "Hopf"]
    assert [s.value for s in branch.special] == pytest.approx([0.01, 0.03], abs=1e-9)


def test_branches_that_end_say_why():
    stop = ap.System([x], x.d**2 / 2, x**2 / 2 - m * x, {}, [ap.Unilateral(1 - x, "stop")], name="to a stop")
    met = ap.continue_equilibrium(stop, m, {x: 0.5}, 2.0, parameters={m: 0.5})
    assert not met.ok and "'stop' is met" in met.message and met.values[-1] == pytest.approx(1, abs=1e-6)
    pulls = ap.continue_equilibrium(stop, m, {x: 1.0}, 0.5, parameters={m: 1.5})
    assert not pulls.ok and "would have to pull" in pulls.message and pulls.values[-1] == pytest.approx(1, abs=1e-6)
    leaves = ap.continue_equilibrium(stop, m, {x: 0.5}, -1.0, parameters={m: 0.5})
    assert not leaves.ok and "positive" in leaves.message and leaves.values[-1] == pytest.approx(0, abs=1e-6)
    root = ap.System([x], x.d**2 / 2, x**2 / 2 - u * x, {x: 0.1 * sqrt(1 - x)}, name="root")
    ended = ap.continue_equilibrium(root, u, {x: 0.2}, 3.0, parameters={u: 0.1})
    assert not ended.ok and "no finite value" in ended.message and len(ended.rests) > 3
    few = ap.continue_equilibrium(stop, m, {x: 0.5}, 0.9, parameters={m: 0.5}, most=3)
    assert not few.ok and "3 rests were found" in few.message


def test_wrong_requests():
    stop = ap.System([x], x.d**2 / 2, x**2 / 2 - m * x, {}, name="to a stop")
    rest = ap.equilibrium(stop, {x: 0.5}, {m: 0.5})
    with pytest.raises(ap.ModelError, match="no parameter of"):
        ap.continue_equilibrium(stop, "g", rest, 1.0)
    with pytest.raises(ap.ModelError, match="has its parameters"):
        ap.continue_equilibrium(stop, m, rest, 1.0, parameters={m: 1})
    with pytest.raises(ap.ModelError, match="where the branch begins"):
        ap.continue_equilibrium(stop, m, rest, 0.5)


def test_two_special_points_within_one_step():
    """Stiffness and damping that are negative in a twenty-fifth of a step."""
    edges = (0.3367, 0.3407)
    dip = 3 * (u - edges[0]) * (u - edges[1])
    for kind, stiffness, damping in (("branch point", dip, 0.2), ("branch point", dip, 0.0), ("Hopf", 1 + u, dip)):
        system = ap.System([y], y.d**2 / 2, stiffness * y**2 / 2 + y**4, {y: -damping * y.d}, name="narrow")
        branch = ap.continue_equilibrium(system, u, {}, 1.0, parameters={u: 0.0})
        assert [s.kind for s in branch.special] == [kind, kind], branch
        assert [s.value for s in branch.special] == pytest.approx(edges, abs=1e-9)


def test_two_pairs_of_meeting_frequencies_within_one_step():
    """Two frequencies meet and part again where their squares are less than 2c apart: flutter."""
    c = 0.004
    potential = 2 * y**2 + (3.57 + u) * x**2 / 2
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, potential, {x: -c * y, y: c * x}, name="follower")
    branch = ap.continue_equilibrium(system, u, {}, 1.0, parameters={u: 0.0})
    assert [s.kind for s in branch.special] == ["flutter", "flutter"], branch
    assert [s.value for s in branch.special] == pytest.approx([0.43 - 2 * c, 0.43 + 2 * c], abs=1e-6)


def test_a_closed_branch_ends_where_it_began():
    """x² + u² = 1 is a closed curve: its two folds are found once, from any point of it."""
    for begin in (0.0, 0.6, -0.99):
        ring = ap.System([x], x.d**2 / 2, x**3 / 3 + (u**2 - 1) * x, {x: -0.3 * x.d}, name="ring")
        branch = ap.continue_equilibrium(ring, u, {x: sqrt(1 - begin**2)}, 2.0, parameters={u: begin}, back=-2.0)
        assert branch.ok and "closed" in branch.message, branch
        around = np.unwrap(np.arctan2(branch[x], branch.values))
        assert abs(around[-1] - around[0]) == pytest.approx(2 * np.pi)  # once
        assert sorted((s.kind, round(s.value, 9)) for s in branch.special) == [("fold", -1.0), ("fold", 1.0)]
        assert (branch.values[-1], branch[x][-1]) == pytest.approx((begin, branch[x][0]), abs=1e-7)
