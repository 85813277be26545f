"""Forces that contain multipliers: against 50-digit solutions, closed forms, the classical forms, and refusals."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy
from sympy import Abs, Rational, Symbol, cos, sin, sqrt, tanh

import appell as ap
from appell.errors import Status

BACKENDS = ["vm", "c"]


# -- random systems in 50 digits -------------------------------------------------------------------------------------------


class Problem:
    """n coordinates, k linear velocity rows, forces with Λ; M, h, A and a0 by SymPy's own derivatives, nothing of appell."""

    def __init__(self, seed: int, n: int, k: int, kind: str):
        rng = np.random.default_rng(seed)
        number = lambda: Rational(int(rng.integers(-90, 90)), 100)
        self.q = q = ap.coordinates(" ".join(f"q{i}" for i in range(n)))
        self.v = [x.d for x in q]
        masses = [Rational(int(rng.integers(80, 150)), 100) for _ in range(n)]
        self.T = sum(c * v**2 for c, v in zip(masses, self.v, strict=True)) / 2
        self.T += sum(number() / 3 * sin(q[i] + q[i - 1]) * self.v[i] * self.v[i - 1] for i in range(1, n))
        entry = lambda i, j: number() * cos(q[(i + j) % n] + number()) + (2 if i == j else 0)
        self.rows = [sum(entry(i, j) * self.v[i] for i in range(n)) for j in range(k)]
        self.constraints = [ap.Constraint(f, name=f"row{j}") for j, f in enumerate(self.rows)]
        lam = [c.multiplier for c in self.constraints]
        free = [number() - number() * x * v for x, v in zip(q, self.v, strict=True)]
        small = lambda: number() / 2
        terms = {
            "affine": lambda: sum(small() * x * cos(q[0]) for x in lam) + number(),
            "smooth": lambda: sum(small() * x * tanh(self.v[0]) / sqrt(1 + x**2) + small() * sin(x) / 3 for x in lam),
            "kinked": lambda: sum(small() * Abs(x) / 2 for x in lam),
        }[kind]
        self.forces = {x: f + (terms() if i < 3 else 0) for i, (x, f) in enumerate(zip(q, free, strict=True))}
        self.system = ap.System(q, self.T, 0, self.forces, self.constraints)
        self.lam = lam
        self.state = [Rational(int(x), 1000) for x in rng.integers(-900, 900, 2 * n)]

    def solution(self) -> tuple[list, list]:
        """(a, Λ) by Newton in 50 digits on d/dt T_v − T_q = Q(Λ) + Σ Λ_j ∂f_j/∂v and ḟ = 0."""
        plain = {x: Symbol(f"p{i}") for i, x in enumerate([*self.q, *self.v, *self.lam])}
        q, v, lam = ([plain[x] for x in xs] for xs in (self.q, self.v, self.lam))
        acc = sympy.symbols(f"a0:{len(q)}")
        T, rows, forces = (
            self.T.xreplace(plain), [f.xreplace(plain) for f in self.rows], [f.xreplace(plain) for f in self.forces.values()]
        )  # fmt: skip
        d_dt = lambda f: sum(sympy.diff(f, x) * y for x, y in [*zip(q, v, strict=True), *zip(v, acc, strict=True)])
        residual = [
            d_dt(sympy.diff(T, v[i])) - sympy.diff(T, q[i]) - forces[i]
            - sum(x * sympy.diff(f, v[i]) for x, f in zip(lam, rows, strict=True))
            for i in range(len(q))
        ] + [d_dt(f) for f in rows]  # fmt: skip
        at = dict(zip([*q, *v], self.state, strict=True))
        unknowns = [*acc, *lam]
        F = sympy.lambdify([unknowns], [r.subs(at) for r in residual], "mpmath")
        with mpmath.workdps(50):
            x = mpmath.matrix([0.1] * len(unknowns))
            for _ in range(60):  # finite differences of 1e-25 in 50 digits: Newton to the last 20
                f = mpmath.matrix(F(list(x)))
                h = mpmath.mpf(10) ** -25
                J = mpmath.matrix(len(f), len(x))
                for j in range(len(x)):
                    moved = x.copy()
                    moved[j] += h
                    column = (mpmath.matrix(F(list(moved))) - f) / h
                    for i in range(len(f)):
                        J[i, j] = column[i]
                step = mpmath.lu_solve(J, -f)
                x += step
                if mpmath.norm(step) < mpmath.mpf(10) ** -30:
                    break
            else:
                raise AssertionError("the reference did not arrive")
        n = len(q)
        return [float(y) for y in x[:n]], [float(y) for y in x[n:]]


@pytest.mark.parametrize("kind", ["affine", "smooth", "kinked"])
@pytest.mark.parametrize(("seed", "n", "k"), [(1, 3, 1), (3, 4, 3)])
def test_random_systems_in_fifty_digits(kind: str, seed: int, n: int, k: int) -> None:
    problem = Problem(seed, n, k, kind)
    a, lam = problem.solution()
    state = np.array(problem.state, dtype=float)
    size = 1 + max(map(abs, [*a, *lam]))
    for backend in BACKENDS:
        found = ap.compile(problem.system, backend=backend).acceleration(0.0, state[:n], state[n:])
        assert np.abs(found[0] - a).max() < 1e-12 * size  # rounding of a saddle point of condition 10 to 100
        assert np.abs(found[1] - lam).max() < 1e-12 * size


@pytest.mark.parametrize("law", ["affine", "nonlinear"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_many_velocities_use_the_routine(law: str, backend: str) -> None:
    """Twelve blocks in a row, pressed on floors with loads m_i g: each brakes by its own reaction, a known force."""
    x = ap.coordinates(" ".join(f"x{i}" for i in range(12)))
    y = ap.coordinates(" ".join(f"y{i}" for i in range(12)))
    floors = [ap.Constraint(h, name=f"floor{i}") for i, h in enumerate(y)]
    T = sum((1 + i) * (a.d**2 + b.d**2) / 2 for i, (a, b) in enumerate(zip(x, y, strict=True)))
    drag = lambda N: N / 5 if law == "affine" else 3 * tanh(N / 30)
    forces = {a: -drag(c.multiplier) for a, c in zip(x[:3], floors, strict=False)}
    lift = drag(floors[0].multiplier) / 4  # the reaction depends on itself
    system = ap.System([*x, *y], T, sum(10 * (1 + i) * h for i, h in enumerate(y)), {**forces, y[0]: -lift}, floors)
    a, lam = ap.compile(system, backend=backend).acceleration(0.0, np.zeros(24), np.zeros(24))
    first = 10 / (1 - 1 / 20) if law == "affine" else float(mpmath.findroot(lambda N: N - 10 - 0.75 * mpmath.tanh(N / 30), 10))
    N = np.array([first, *(10.0 * np.arange(2, 13))])
    braking = N / 5 if law == "affine" else 3 * np.tanh(N / 30)
    assert np.allclose(lam, N, rtol=1e-13)
    assert np.allclose(a[:3], -braking[:3] / np.arange(1, 4), rtol=1e-13)
    assert np.allclose(a[3:], 0.0, atol=1e-13)


# -- closed forms ------------------------------------------------------------------------------------------------------------

x, y, phi = ap.coordinates("x y phi")
m, g, mu = ap.parameters("m g mu", positive=True)


def block(force, **more) -> tuple[ap.System, ap.Constraint]:
    floor = ap.Constraint(y, name="floor")
    return ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, force(floor.multiplier), [floor], **more), floor


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_block_slides_to_a_stop_with_its_balance(backend: str) -> None:
    system, floor = block(lambda N: {x: -mu * N})
    motion = ap.simulate(system, {x.d: 2}, 0.5, parameters={m: 3, g: 9.81, mu: 0.25}, backend=backend)
    assert motion.ok and motion.final[x] == pytest.approx(1 - 0.25 * 9.81 / 8, abs=1e-14)
    assert np.allclose(motion.reaction(floor), 3 * 9.81, rtol=1e-13)
    assert np.abs(motion.energy_error).max() < 1e-13
    lost = motion.energy[-1] - motion.energy[0]
    assert lost == pytest.approx(-0.25 * 3 * 9.81 * motion.final[x], rel=1e-12)  # the work of the law


@pytest.mark.parametrize("law", ["affine", "nonlinear"])
def test_every_form_agrees(law: str) -> None:
    """Skate on an edge, braked by its side force: Λ stands in a force of forms with and without multipliers."""
    blade = ap.Constraint(x.d * sin(phi) - y.d * cos(phi), name="blade")
    brake = mu * (blade.multiplier if law == "affine" else tanh(blade.multiplier))
    T = m * (x.d**2 + y.d**2 + phi.d**2 / 3) / 2
    system = ap.System([x, y, phi], T, 0, {phi: -brake, x: g * cos(phi) + brake}, [blade])
    table = ap.agree(system, states=2)
    assert table.ok, str(table)
    assert table["lagrange"].applies and table["maggi (pseudo)"].applies and not table["gauss"].applies


def test_a_rod_slides_with_friction_written_by_hand() -> None:
    """A rod of half length l and central inertia J, its lower end sliding to the right on y = l sin φ with the force −μN:

        N (1/m + l² cos φ (cos φ − μ sin φ)/J) = g − l φ̇² sin φ,   J φ̈ = −N l (cos φ − μ sin φ),   m ẍ = −μN
    """
    l, J = ap.parameters("l J", positive=True)
    floor = ap.Constraint(y - l * sin(phi), name="floor")
    N = floor.multiplier
    T = m * (x.d**2 + y.d**2) / 2 + J * phi.d**2 / 2
    system = ap.System([x, y, phi], T, m * g * y, {x: -mu * N, phi: mu * N * l * sin(phi)}, [floor])
    values = {m: 1.3, g: 9.81, mu: 0.4, l: 0.7, J: 0.3}
    run = ap.compile(system, values)
    for angle, rate in ((0.3, 1.0), (1.2, -2.0), (2.0, 0.5)):
        c, s = np.cos(angle), np.sin(angle)
        (ax, _, turn), lam = run.acceleration(0.0, [0.0, 0.7 * s, angle], [5.0, 0.7 * c * rate, rate])
        by_hand = (9.81 - 0.7 * rate**2 * s) / (1 / 1.3 + 0.49 * c * (c - 0.4 * s) / 0.3)
        assert lam[0] == pytest.approx(by_hand, rel=1e-13)
        assert turn == pytest.approx(-by_hand * 0.7 * (c - 0.4 * s) / 0.3, rel=1e-12)
        assert ax == pytest.approx(-0.4 * by_hand / 1.3, rel=1e-13)
    motion = ap.simulate(run, ap.consistent(system, {phi: 1.0, x.d: 5.0}, parameters=values), 0.3)
    assert motion.ok and np.abs(motion.energy_error).max() < 1e-9


@pytest.mark.parametrize("backend", BACKENDS)
def test_creep_of_a_wheel_grows_with_the_two_thirds_power_of_its_load(backend: str) -> None:
    """A wheel of radius r held down by m g, driven at a constant rate: Carter's creep force −c N^(2/3) ξ with ξ = (ẋ − rω)/rω
    small, m ẍ = −c (m g)^(2/3) ξ: the slip decays exponentially."""
    c, speed = 40.0, 2.0
    system, floor = block(lambda N: {x: -c * N ** Rational(2, 3) * (x.d - speed) / speed})
    motion = ap.simulate(system, {x.d: 2.1}, 0.2, parameters={m: 3, g: 9.81}, backend=backend, rtol=1e-11)
    rate = c * (3 * 9.81) ** (2 / 3) / speed / 3
    assert motion.final[x.d] == pytest.approx(2 + 0.1 * np.exp(-rate * 0.2), abs=1e-11)
    assert np.allclose(motion.reaction(floor), 29.43, rtol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_law_that_presses_itself(backend: str) -> None:
    """A downward force c N² gives N = m g + c N², the root that goes over into m g: (1 − √(1 − 4 c m g))/(2 c)."""
    system, _ = block(lambda N: {y: -N**2 / 100})
    _, lam = ap.compile(system, {m: 1.5, g: 10}, backend=backend).acceleration(0.0, [0, 0], [1, 0])
    assert lam[0] == pytest.approx((1 - np.sqrt(1 - 0.04 * 15)) / 0.02, rel=1e-14)


def test_series_and_pairs_give_one_motion() -> None:
    system, _ = block(lambda N: {x: -mu * N - x.d * N / sqrt(1 + N**2), y: N * x / 3})
    runs = {
        method: ap.simulate(system, {x.d: 2}, 1.0, parameters={m: 3, g: 9.81, mu: 0.02}, method=method, rtol=1e-12)
        for method in ("dop853", "taylor", "idas")
    }
    ends = {method: [motion.final[x], motion.final[x.d]] for method, motion in runs.items()}
    assert np.allclose(ends["taylor"], ends["dop853"], atol=1e-11)
    assert np.allclose(ends["idas"], ends["dop853"], atol=1e-7)


# -- no unique reaction ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "force",
    [
        lambda N: {y: -2 * Abs(N)},  # N = 10 + 2|N|: none
        lambda N: {y: 2 * Abs(N) - 20},  # N + 2|N| = 30: 10 and −30
        lambda N: {y: -N},  # N = 10 + N
    ],
    ids=["none", "two", "singular"],
)
def test_no_unique_reaction_is_refused_with_a_sentence(backend: str, force) -> None:
    system, _ = block(force)
    run = ap.compile(system, {m: 1, g: 10}, backend=backend)
    with pytest.raises(ap.SingularConfiguration, match="no reaction, or more than one"):
        run.acceleration(0.0, [0, 0], [0, 0])
    with pytest.warns(ap.AppellWarning, match="satisfies that law"):
        motion = ap.simulate(run, {}, 1.0)
    assert motion.status is Status.REACTION and not motion.ok


def test_what_is_refused_says_why() -> None:
    floor, other = ap.Constraint(y, name="floor"), ap.Constraint(x, name="other")
    T = x.d**2 + y.d**2 + phi.d**2
    with pytest.raises(ap.ModelError, match="no constraint of the system is called 'other'"):
        ap.System([x, y, phi], T, 0, {x: other.multiplier}, [floor])
    with pytest.raises(ap.ModelError, match="potential contains Lambda_floor"):
        ap.System([x, y, phi], T, floor.multiplier, {}, [floor])
    with pytest.raises(ap.ModelError, match="constraint 'c' contains Lambda_floor"):
        ap.System([x, y, phi], T, 0, {}, [floor, ap.Constraint(x.d - floor.multiplier, name="c")])
    twice = ap.System([x, y, phi], T, 0, {x: floor.multiplier}, [floor, ap.Constraint(2 * y, name="again")])
    with pytest.raises(ap.ConstraintError, match="redundant"):
        ap.compile(twice)
    system, _ = block(lambda N: {x: -(N**2)})
    with pytest.raises(ap.FormNotApplicable, match="affine in the multipliers"):
        ap.linearize(system, at={}, parameters={m: 1, g: 1})
    with pytest.raises(ap.FormNotApplicable, match="nonlinear in the reactions"):
        ap.forms.lagrange(system).solve()


def test_the_force_shows_the_multiplier() -> None:
    system, floor = block(lambda N: {x: -mu * N})
    equations = ap.forms.lagrange(system)
    assert floor.multiplier in equations.unknowns and floor.multiplier in equations.equations[0].rhs.free_symbols
    assert equations.solve()[x.dd] == -g * mu
    assert r"\Lambda_{\mathrm{floor}} \mu" in equations.latex()
    maggi = ap.forms.maggi(system, pseudo={"u": x.d})
    assert maggi.solve()[x.dd] == -g * mu


# -- faces -------------------------------------------------------------------------------------------------------------------


def test_a_law_on_a_face_acts_in_contact_and_in_blows() -> None:
    """A block falls from h and slides on: the blow takes μ m √(2gh) of its momentum, the floor μ m g from then on."""
    floor = ap.Unilateral(y, name="floor", restitution=0)
    system = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, {x: -mu * floor.multiplier}, [floor])
    motion = ap.simulate(system, {x.d: 3, y: 0.1}, 0.5, parameters={m: 2, g: 9.81, mu: 0.3}, backend="vm")
    fall = np.sqrt(0.2 / 9.81)
    assert motion.ok and motion.final[x.d] == pytest.approx(3 - 0.3 * 9.81 * fall - 0.3 * 9.81 * (0.5 - fall), abs=1e-13)
    assert np.abs(motion.energy_error).max() < 1e-13
    later = motion.t > fall
    assert np.allclose(motion.reaction("floor")[later], 19.62) and (motion.reaction("floor")[motion.t < fall - 1e-9] == 0).all()


def test_a_law_by_hand_is_sliding_friction() -> None:
    """A rod slides on its lower end until that leaves the floor: −μΛ along the slip is `ap.Friction` while it slides."""
    floor = ap.Unilateral(y - sin(phi) / 2, name="floor", restitution=0)
    slip = x.d + sin(phi) / 2 * phi.d
    T, V = (x.d**2 + y.d**2) / 2 + phi.d**2 / 24, 9.81 * y
    N = floor.multiplier
    by_hand = ap.System([x, y, phi], T, V, {x: -mu * N, phi: -mu * N * sin(phi) / 2}, [floor])
    rubbing = ap.System([x, y, phi], T, V, constraints=[floor, ap.Friction(slip, normal=floor, coefficient=mu)])
    start = {phi: 1.2, y: 0.5 * np.sin(1.2), x.d: 4.0, y.d: 0.5 * np.cos(1.2) * 7, phi.d: 7.0}
    one, two = (
        ap.simulate(s, start, 0.08, parameters={mu: 0.2}, backend="vm", rtol=1e-11) for s in (by_hand, rubbing)
    )
    assert [i.kind for i in one.impacts] == [i.kind for i in two.impacts]
    for s in (x, y, phi, x.d, y.d, phi.d):
        assert one.final[s] == pytest.approx(two.final[s], abs=1e-10)


def test_the_force_of_friction_in_another_force() -> None:
    """A flywheel of inertia 1 that a shoe drives by half of its friction, J φ̈ = −λ/2: while it slides λ = −μ m g, while it
    sticks λ = −4t, the load. It sticks from where 2ẍ = 4t − μ m g has taken the speed, to 4t = μ m g."""
    floor = ap.Constraint(y, name="floor")
    sole = ap.Friction(x.d, normal=floor, coefficient=Rational(3, 10), name="sole")
    T, V = x.d**2 + y.d**2 + phi.d**2 / 2, 2 * 9.81 * y
    system = ap.System([x, y, phi], T, V, {phi: -sole.multiplier / 2, x: 4 * ap.t}, [floor, sole])
    motion = ap.simulate(system, {x.d: 1}, 2.0, backend="vm", rtol=1e-11)
    load = 0.6 * 9.81
    stops = load / 4 - np.sqrt(load**2 / 16 - 1)  # 1 + t² − load t/2 = 0
    assert [phase.end for phase in motion.phases] == pytest.approx([stops, load / 4, 2.0], abs=1e-11)
    turned = load / 2 * (stops + 2 - load / 4) + (load / 4) ** 2 - stops**2
    assert motion.final[phi.d] == pytest.approx(turned, abs=1e-11)
    assert motion.ok and np.abs(motion.energy_error).max() < 1e-12
    for mode in ("stick", "slip+", "slip-"):
        assert ap.agree(system.in_mode({"sole": mode}), states=2, forms=["lagrange", "appell", "nielsen"]).ok
    pair = ap.Friction((x.d, phi.d), limit=1, name="pad")
    assert [str(one) for one in pair.multiplier] == ["Lambda_pad: 1", "Lambda_pad: 2"]
