"""Models of `sympy.physics.mechanics` give the accelerations that SymPy's own equations give."""

import numpy as np
import pytest
import sympy as sp
from sympy.physics import mechanics as me

import appell as ap

l, m, g, r, k = sp.symbols("l m g r k", positive=True)
VALUES = {l: 1.3, m: 0.7, g: 9.81, r: 0.4, k: 0.2}


def sympy_accelerations(method, state):
    """a from SymPy's mass matrix and forcing vector."""
    M, F = (np.array(x.subs(state).subs(VALUES), dtype=float) for x in (method.mass_matrix, method.forcing))
    return np.linalg.solve(M, F).ravel()


def double_pendulum():
    q1, q2, u1, u2 = me.dynamicsymbols("q1 q2 u1 u2")
    N = me.ReferenceFrame("N")
    A, B = N.orientnew("A", "Axis", [q1, N.z]), N.orientnew("B", "Axis", [q2, N.z])
    A.set_ang_vel(N, u1 * N.z)
    B.set_ang_vel(N, u2 * N.z)
    O = me.Point("O")
    O.set_vel(N, 0)
    P = O.locatenew("P", l * A.x)
    P = O.locatenew("P", l * A.x)
    R = P.locatenew("R", l * B.x)
    P.v2pt_theory(O, N, A)
    R.v2pt_theory(P, N, B)
    bodies = [me.Particle("P", P, m), me.Particle("R", R, m)]
    loads = [(P, m * g * N.x), (R, m * g * N.x), (A, -k * u1 * N.z)]
    method = me.KanesMethod(N, [q1, q2], [u1, u2], kd_eqs=[q1.diff() - u1, q2.diff() - u2])
    method.kanes_equations(bodies, loads)
    return method, (q1, q2), (u1, u2)


def test_kanes_method():
    method, q, u = double_pendulum()
    state = dict(zip((*q, *u), (0.3, -0.8, 0.4, 1.1), strict=True))
    system = ap.from_sympy(method, name="double pendulum")
    run = ap.compile(system, {str(s): VALUES[s] for s in (l, m, g, k)}, backend="vm")
    a, lam = run.acceleration(0.0, [0.3, -0.8], [0.4, 1.1])
    assert lam.shape == (0,)
    np.testing.assert_allclose(a, sympy_accelerations(method, state), rtol=1e-12)


def test_lagranges_method_with_a_nonholonomic_constraint_and_a_load():
    x, y, th = me.dynamicsymbols("x y theta")
    xd, yd, thd = (s.diff() for s in (x, y, th))
    L = m * (xd**2 + yd**2) / 2 + m * l**2 * thd**2 / 2 - m * g * y
    N = me.ReferenceFrame("N")
    P = me.Point("P")
    P.set_vel(N, xd * N.x + yd * N.y)
    method = me.LagrangesMethod(
        L, [x, y, th], nonhol_coneqs=[xd * sp.sin(th) - yd * sp.cos(th)], forcelist=[(P, -k * xd * N.x)], frame=N
    )
    method.form_lagranges_equations()
    system = ap.from_sympy(method)
    assert system.constraints[0].order == 1
    angle = 0.4
    v = np.array([np.cos(angle), np.sin(angle), 0.6])
    a, lam = ap.compile(system, {str(s): VALUES[s] for s in (l, m, g, k)}, backend="vm").acceleration(0.0, [0.1, 0.2, angle], v)
    state = dict(zip((xd, yd, thd), v, strict=True)) | {x: 0.1, y: 0.2, th: angle}
    full = np.array(method.mass_matrix_full.subs(state).subs(VALUES), dtype=float)
    right = np.array(method.forcing_full.subs(state).subs(VALUES), dtype=float).ravel()
    solution = np.linalg.solve(full, right)
    np.testing.assert_allclose(a, solution[3:6], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(abs(lam), abs(solution[6:]), rtol=1e-11)  # SymPy's multiplier has the opposite sign


def test_system_with_joints():
    cart, rod = me.RigidBody("cart", mass=m), me.RigidBody("rod", mass=m)
    ground = me.RigidBody("ground")
    x, th, v, w = me.dynamicsymbols("x theta v w")
    slider = me.PrismaticJoint("slider", ground, cart, x, v, joint_axis=ground.frame.x)
    pin = me.PinJoint("pin", cart, rod, th, w, joint_axis=cart.frame.z, child_point=l * rod.frame.y)
    model = me.System.from_newtonian(ground)
    model.add_joints(slider, pin)
    model.apply_uniform_gravity(-g * ground.frame.y)
    model.add_loads(me.Force(cart.masscenter, -k * v * ground.frame.x))
    model.form_eoms()
    inertias = {s: 0.3 for s in rod.central_inertia.to_matrix(rod.frame).free_symbols}
    state = {x: 0.2, th: 0.7, v: 0.5, w: -0.9}
    M, F = (np.array(e.subs(state).subs(VALUES).subs(inertias), dtype=float) for e in (model.mass_matrix, model.forcing))
    system = ap.from_sympy(model)
    values = {s.name: 0.3 for s in system.parameters} | {str(s): VALUES[s] for s in (l, m, g, k)}
    a, _ = ap.compile(system, values, backend="vm").acceleration(0.0, [0.2, 0.7], [0.5, -0.9])
    np.testing.assert_allclose(a, np.linalg.solve(M, F).ravel(), rtol=1e-11)


def test_a_disc_that_is_said_to_roll():
    """SymPy's own example: the velocity of the centre is ω × r from a contact point, and no derivative of a position in q."""
    q, u = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4")
    N = me.ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", [q[0], N.z])
    L = Y.orientnew("L", "Axis", [q[1], Y.x])
    R = L.orientnew("R", "Axis", [q[2], L.y])
    turning = R.ang_vel_in(N)
    R.set_ang_vel(N, u[0] * L.x + u[1] * L.y + u[2] * L.z)
    contact = me.Point("C")
    contact.set_vel(N, 0)
    centre = contact.locatenew("D", l * L.z)
    centre.v2pt_theory(contact, N, R)
    disc = me.RigidBody("disc", centre, R, m, (me.inertia(L, m * l**2 / 4, m * l**2 / 2, m * l**2 / 4), centre))
    method = me.KanesMethod(N, q, u, [(turning - R.ang_vel_in(N)).dot(axis) for axis in L])
    method.kanes_equations([disc], [(centre, -m * g * Y.z)])
    system = ap.from_sympy(method)
    state = dict(zip((*q, *u), (0.3, 0.4, 0.5, 0.7, 1.3, -0.6), strict=True))
    run = ap.compile(system, {str(s): VALUES[s] for s in (l, m, g)}, backend="vm")
    assert [str(x) for x in system.coordinates[3:]] == ["disc_x", "disc_y", "disc_z"]
    a, _ = run.acceleration(0.0, [0.3, 0.4, 0.5, 0, 0, 0], [0.7, 1.3, -0.6])
    np.testing.assert_allclose(a, sympy_accelerations(method, state), rtol=1e-12)


def particle(velocity):
    N, P = me.ReferenceFrame("N"), me.Point("P")
    P.set_vel(N, velocity(N))
    return N, P, me.Particle("P", P, m)


def test_velocity_rows_in_any_order():
    """A row that is no derivative of a configuration constraint is kept wherever it stands among them."""
    x, y, z, u, v, w = me.dynamicsymbols("x y z u v w")
    N, P, body = particle(lambda N: u * N.x + v * N.y + w * N.z)
    rates = [x.diff() - u, y.diff() - v, z.diff() - w]
    blade, surface = v - sp.sin(z) * u, -2 * (w - u * y - x * v)
    at = dict(zip((x, y, z, u), (0.6, 0.5, 0.3, 0.7), strict=True))
    at[v] = 0.7 * np.sin(0.3)
    at[w] = 0.7 * 0.5 + 0.6 * at[v]
    for rows in ([blade, surface], [surface, blade]):
        method = me.KanesMethod(
            N, [x, y], [u], kd_eqs=rates, q_dependent=[z], u_dependent=[v, w],
            configuration_constraints=[z - x * y], velocity_constraints=rows,
        )  # fmt: skip
        method.kanes_equations([body], [(P, -m * g * N.z)])
        system = ap.from_sympy(method)
        assert [c.order for c in system.constraints] == [0, 1]
        run = ap.compile(system, {"m": VALUES[m], "g": VALUES[g]}, backend="vm")
        a, _ = run.acceleration(0.0, [0.6, 0.5, 0.3], [at[s] for s in (u, v, w)])
        np.testing.assert_allclose(a, sympy_accelerations(method, at), rtol=1e-12)


def test_auxiliary_speeds_and_potential_energies_count_as_in_kanes_method():
    """Auxiliary speeds are zero; gravity stands in the loads, and the energy said of the body is not a second one."""
    q, u, aux, push = me.dynamicsymbols("q u aux T")
    N = me.ReferenceFrame("N")
    A = N.orientnew("A", "Axis", [q, N.z])
    A.set_ang_vel(N, u * N.z)
    O = me.Point("O")
    O.set_vel(N, aux * N.y)
    P = O.locatenew("P", l * A.x)
    P.v2pt_theory(O, N, A)
    body = me.Particle("P", P, m)
    body.potential_energy = -m * g * l * sp.cos(q)
    method = me.KanesMethod(N, [q], [u], kd_eqs=[q.diff() - u], u_auxiliary=[aux])
    method.kanes_equations([body], [(P, m * g * N.x), (O, push * N.y)])
    system = ap.from_sympy(method)
    assert not system.prescribed and system.potential == 0
    a, _ = ap.forms.lagrange(system).acceleration(0.0, [0.4], [0.3], {"l": 1.3, "m": 0.7, "g": 9.81})
    np.testing.assert_allclose(a, -9.81 / 1.3 * np.sin(0.4), rtol=1e-12)


def test_a_system_of_sympy_with_an_energy_says_by_which_method():
    q, rate = me.dynamicsymbols("q"), me.dynamicsymbols("q", 1)
    wall, bob = me.RigidBody("W"), me.Particle("bob", mass=m)
    bob.potential_energy = k * q**2 / 2
    model = me.System.from_newtonian(wall)
    model.add_joints(me.PrismaticJoint("J", wall, bob, q, rate))
    model.add_loads((bob.masscenter, -r * rate * model.x))
    with pytest.raises(ap.ModelError, match="form_eoms"):
        ap.from_sympy(model)
    model.form_eoms(me.LagrangesMethod)
    a, _ = ap.forms.lagrange(ap.from_sympy(model)).acceleration(0.0, [0.3], [0.5], {"m": 2.0, "k": 5.0, "r": 0.4})
    np.testing.assert_allclose(a, -(5 * 0.3 + 0.4 * 0.5) / 2, rtol=1e-12)


def test_what_is_not_a_model_is_refused():
    with pytest.raises(ap.ModelError, match="LagrangesMethod, KanesMethod, System"):
        ap.from_sympy(3)
    N = me.ReferenceFrame("N")
    q, u = me.dynamicsymbols("q u")
    with pytest.raises(ap.ModelError, match="kanes_equations"):
        ap.from_sympy(me.KanesMethod(N, [q], [u], kd_eqs=[q.diff() - u]))


def test_letters_that_come_from_sympy_serve_models_of_ours():
    """Symbols are shared by name and order; one whose order is a number of SymPy would break rows that meet it later."""
    z = me.dynamicsymbols("z_shared")
    method = me.LagrangesMethod(sp.Rational(1, 2) * z.diff() ** 2 - z**2 / 2, [z])
    method.form_lagranges_equations()
    ap.from_sympy(method)
    ours = ap.coordinates("z_shared")
    assert type(ours.d.order) is int
    assert ap.forms.lagrange(ap.System([ours], ours.d**2 / 2, constraints=[ours.d**2 - 1])).acceleration(0, [0], [1])[0] == [0]


def test_kanes_equations_of_a_kanes_method_are_printed():
    """Two pendulums with speeds of their own: places are known from a fixed point, so that the bodies stay."""
    q1, q2, u1, u2 = me.dynamicsymbols("q1 q2 u1 u2")
    m, l, g = sp.symbols("m l g", positive=True)
    N = me.ReferenceFrame("N")
    A, B = N.orientnew("A", "Axis", [q1, N.z]), N.orientnew("B", "Axis", [q2, N.z])
    A.set_ang_vel(N, u1 * N.z)
    B.set_ang_vel(N, u2 * N.z)
    O = me.Point("O")
    P = O.locatenew("P", l * A.x)
    R = P.locatenew("R", l * B.x)
    O.set_vel(N, 0)
    P.v2pt_theory(O, N, A)
    R.v2pt_theory(P, N, B)
    method = me.KanesMethod(N, [q1, q2], [u1, u2], kd_eqs=[q1.diff() - u1, q2.diff() - u2])
    method.kanes_equations([me.Particle("one", P, m), me.Particle("two", R, m)], [(P, m * g * N.x), (R, m * g * N.x)])
    system = ap.from_sympy(method)
    assert [body.name for body in system.bodies] == ["one", "two"]
    assert "m l² (2 u̇₁ + u̇₂ cos(q₂ − q₁) − u₂² sin(q₂ − q₁))" in ap.forms.kane(system).text()
    assert ap.agree(system, states=2, forms=["kane", "appell", "lagrange"]).ok
