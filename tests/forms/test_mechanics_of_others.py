"""Kane, Jourdain, Udwadia and Kalaba, Hamilton, Routh and Poincaré–Chetaev: the zoo, closed forms, and mutants."""

from __future__ import annotations

from importlib import import_module

import pytest
import sympy
from sympy import LeviCivita, cos, sin
from tests.forms.judging import disagreement, zero

import appell as ap
from appell.forms import chaplygin, hamel, hamilton, kane, poincare_chetaev, routhian, udwadia_kalaba, voronets

FORMS = ("lagrange", "udwadia_kalaba", "kane", "jourdain", "poincare_chetaev", "hamilton", "routhian")
SAMPLE = """appell_hamel block_on_vibrating_table constant_speed four_bar grioli heavy_top heavy_top_quaternion
            rolling_ball_on_turntable rolling_disc skate suslov turning_knife_edge""".split()

x, y, z, r, phi, theta, psi = ap.coordinates("x y z r phi theta psi")
m, l, g, J, a, C = ap.parameters("m l g J a C", positive=True)


@pytest.mark.parametrize("name", SAMPLE)
def test_the_zoo_agrees(name):
    table = ap.agree(ap.zoo.ALL[name]().system, states=2, forms=FORMS)
    assert table.ok, str(table)


def test_redundant_and_rheonomic_systems():
    T = (2 + sin(y * ap.t)) * x.d**2 / 2 + y.d**2 + (1 + x**2) * z.d**2 / 2 + x.d * y.d * cos(z) / 3 + ap.t * y * z.d
    affine = ap.Constraint((1 + y**2) * x.d + ap.t * z.d - x * cos(ap.t) * z, "affine")
    twice = ap.Constraint(2 * affine.residual, "twice")
    for rows in ([affine], [affine, twice]):
        table = ap.agree(ap.System([x, y, z], T, a * x * y, {z: -z.d}, constraints=rows), states=2, forms=FORMS)
        assert table.ok, str(table)


# -- closed forms ------------------------------------------------------------------------------------------------------


def test_kane_of_the_particle_in_plane_polar_coordinates():
    """u1 = ṙ, u2 = r φ̇: m (u̇1 − u2²/r) = 0, m (u̇2 + u1 u2/r) = 0 (Kane's generalized speeds)."""
    particle = ap.Particle(m, [r * cos(phi), r * sin(phi)])
    form = kane(ap.System([r, phi], bodies=[particle]), {"u": r.d, "w": r * phi.d})
    u, w = form.objects["pseudo"].speeds
    first, second = (e.lhs - e.rhs for e in form.equations)
    assert zero(first - m * (u.d - w**2 / r)) and zero(second - m * (w.d + u * w / r))


def test_hamilton_of_the_spherical_pendulum():
    T = m * l**2 * (theta.d**2 + sin(theta) ** 2 * phi.d**2) / 2
    form = hamilton(ap.System([theta, phi], T, -m * g * l * cos(theta)))
    p, c = form.p
    assert zero(form.H - (p**2 + c**2 / sin(theta) ** 2) / (2 * m * l**2) + m * g * l * cos(theta))
    first, second = form.equations
    assert zero(first.rhs - c**2 * cos(theta) / (m * l**2 * sin(theta) ** 3) + m * g * l * sin(theta)) and second.rhs == 0


def test_hamilton_of_the_sleigh_in_quasi_momenta():
    """u = speed along the blade, ω: ṗ_u = m a ω², ṗ_ω = −m a u ω, with p_u = m u, p_ω = (J + m a²) ω."""
    sleigh = ap.zoo.sleigh()
    form = hamilton(sleigh.system, sleigh.pseudo)
    m_, a_, J_ = (next(s for s in sleigh.system.parameters if str(s) == name) for name in ("m", "a", "J"))
    pu, pw = form.p
    u, w = pu / m_, pw / (J_ + m_ * a_**2)
    assert zero(form.H - (m_ * u**2 + (J_ + m_ * a_**2) * w**2) / 2)
    one, other = (e.rhs for e in form.equations)
    assert zero(one - m_ * a_ * w**2) and zero(other + m_ * a_ * u * w)


def test_routhian_of_the_heavy_top():
    """ψ, φ ignorable: A θ̈ = −d/dθ [(p_ψ − p_φ cos θ)²/(2 A sin²θ) + m g l cos θ]."""
    A = ap.parameters("A", positive=True)
    omega = [psi.d * sin(theta), theta.d, phi.d + psi.d * cos(theta)]
    T = (A * omega[0] ** 2 + A * omega[1] ** 2 + C * omega[2] ** 2) / 2
    form = routhian(ap.System([psi, theta, phi], T, m * g * l * cos(theta)))
    assert form.cyclic == (psi, phi)
    p_psi, p_phi = form.momenta
    effective = (p_psi - p_phi * cos(theta)) ** 2 / (2 * A * sin(theta) ** 2) + m * g * l * cos(theta)
    (only,) = form.equations
    assert zero(only.lhs - only.rhs - A * theta.dd - sympy.diff(effective, theta))
    assert [line.split(" = ")[0].strip() for line in form.text("simplified").splitlines()[2:]] == ["ψ̇", "φ̇"]  # no ψ̈, φ̈
    assert routhian(form.system, cyclic=[phi]).cyclic == (phi,)
    with pytest.raises(ap.FormNotApplicable, match="theta is not ignorable"):
        routhian(form.system, cyclic=[theta])
    with pytest.raises(ap.FormNotApplicable, match="no ignorable coordinate"):
        routhian(ap.System([theta], T.xreplace({psi.d: 0, phi.d: 0}), m * g * l * cos(theta)))


def test_the_rigid_body_in_lines_of_poincare():
    """Body rates of a quaternion: c^r_ks = ε_rks and J ω̇ = Jω × ω, one line each."""
    ball = ap.quaternion("ball")
    A, B, C_ = ap.parameters("A B C", positive=True)
    system = ap.System([ball], bodies=[ap.RigidBody(0, [A, B, C_], [0, 0, 0], ball)])
    form = poincare_chetaev(system)
    assert all(form.c.get((i, j, k), 0) == LeviCivita(i, j, k) for i in range(3) for j in range(3) for k in range(3))
    p, q, s = ball.rates
    expected = [A * p.d + (C_ - B) * q * s, B * q.d + (A - C_) * s * p, C_ * s.d + (B - A) * p * q]
    assert all(zero(e.lhs - e.rhs - want) for e, want in zip(form.equations, expected, strict=True))
    assert all(len(str(e)) < 80 for e in form.equations)


def test_eulers_equations_from_euler_angles():
    body = ap.zoo.euler_body()
    form = poincare_chetaev(body.system, body.pseudo)
    assert disagreement(form, body.parameters) < 1e-9
    assert all(abs(abs(float(value.subs({s: 0.3 for s in value.free_symbols}))) - 1) < 1e-12 for value in form.c.values())


def test_udwadia_kalaba_of_the_pendulum_on_a_rod():
    """Λ = (m/l²)/2 (−v² + g y)/… : x² + y² = l² gives Λ 2 l² = m (g y − v²) at once."""
    system = ap.System([x, y], m * (x.d**2 + y.d**2) / 2, m * g * y, constraints=[x**2 + y**2 - l**2])
    (solution,) = (udwadia_kalaba(system).rows[0],)
    lam = udwadia_kalaba(system).multipliers[0]
    value = sympy.solve(solution, lam)[0]
    assert zero(value - m * (g * y - x.d**2 - y.d**2) / (2 * (x**2 + y**2)))


def test_nonlinear_voronets_is_chaplygins():
    """One derivation through T~ and its bracket, the other through E_μ: equal at random points, off the constraint too."""
    from tests.forms.test_nielsen_tsenov import values_at_random

    system = ap.zoo.appell_hamel().system
    names = chaplygin(system).objects["split"].independent
    independent = [system.coordinates[i] for i in names]
    pairs = zip(voronets(system, independent).equations, chaplygin(system, independent).equations, strict=True)
    gaps = [one.lhs - one.rhs - other.lhs + other.rhs for one, other in pairs]
    assert max(map(abs, values_at_random(gaps))) < 1e-30


# -- mutants -----------------------------------------------------------------------------------------------------------


def caught(form: str, system, **options) -> bool:
    table = ap.agree(system, states=2, forms=["lagrange", "nielsen", form], **options)
    return not table.within(1e-6) and table["lagrange"].judge_a < 1e-9


def rolling():
    return ap.zoo.rolling_disc().system


def test_kane_without_gyroscopic_torque(monkeypatch):
    monkeypatch.setattr(import_module("appell.forms.kane"), "cross", lambda a, b: sympy.zeros(3, 1))
    assert caught("kane", ap.zoo.euler_body().system)


def test_jourdain_with_one_slope_of_T(monkeypatch):
    module = import_module("appell.forms.jourdain")

    monkeypatch.setattr(module, "_by_bodies", lambda system: False)
    whole, q = module.gradient, rolling().coordinates
    monkeypatch.setattr(module, "gradient", lambda e, s: [(2 if s == q else 1) * d for d in whole(e, s)])
    assert caught("jourdain", rolling())


def test_udwadia_kalaba_with_b_forgotten(monkeypatch):
    module = import_module("appell.forms.udwadia_kalaba")

    whole = module.blocks
    monkeypatch.setattr(module, "blocks", lambda system: (*whole(system)[:3], [sympy.Integer(0)] * len(system.constraints)))
    assert caught("udwadia_kalaba", rolling())


def test_hamilton_without_brackets(monkeypatch):
    module = import_module("appell.forms.hamilton")

    monkeypatch.setattr(module._Brackets, "__call__", lambda self, k, s: sympy.Integer(0))
    assert caught("hamilton", ap.zoo.sleigh().system, pseudo=ap.zoo.sleigh().pseudo)


def test_hamilton_with_the_wrong_sign_of_the_potential(monkeypatch):
    module = import_module("appell.forms.hamilton")

    class Wrong(module.Canonical):
        def __init__(self, T, V, velocities, p):
            super().__init__(T, -V, velocities, p)

    monkeypatch.setattr(module, "Canonical", Wrong)
    assert caught("hamilton", ap.zoo.heavy_top().system)


def test_routhian_of_the_lagrangian_alone(monkeypatch):
    """T with q̇_α replaced and − c q̇ forgotten: the classical mistake."""
    module = import_module("appell.forms.routhian")

    class Wrong(module._Elimination):
        def __init__(self, system, cyclic):
            super().__init__(system, cyclic)
            self.R = self.R + sympy.Add(*(c * w for c, w in zip(self.c, self.velocities.values(), strict=True)))

    monkeypatch.setattr(module, "_Elimination", Wrong)
    assert caught("routhian", ap.zoo.heavy_top().system)


def test_poincare_with_brackets_turned_round(monkeypatch):
    module = import_module("appell.forms.poincare_chetaev")

    whole = module._Group._bracket
    monkeypatch.setattr(module._Group, "_bracket", lambda self, *args: [-e for e in whole(self, *args)])
    assert caught("poincare_chetaev", ap.zoo.heavy_top_quaternion().system)


def test_voronets_without_its_bracket(monkeypatch):
    module = import_module("appell.forms.voronets")

    whole = module._Implicit.__init__

    def wrong(self, system, split):
        whole(self, system, split)
        self.F_q = 0 * self.F_q
        self.momenta = [0 * P for P in self.momenta]

    monkeypatch.setattr(module._Implicit, "__init__", wrong)
    assert caught("voronets", ap.zoo.appell_hamel().system)


def test_hamel_without_the_twist_of_the_speeds(monkeypatch):
    module = import_module("appell.forms.hamel")

    whole = module.twist
    monkeypatch.setattr(module, "twist", lambda system: (*whole(system)[:2], 0 * whole(system)[2]))
    assert caught("hamel", ap.zoo.heavy_top_quaternion().system)
    assert hamel(ap.zoo.heavy_top().system) is not None
