"""A servo constraint: a cart balances a pendulum upright by a force on the cart alone; the force that its motor needs."""

from sympy import cos, exp, sin

import appell as ap

x, phi = ap.coordinates("x phi")
m, M, l, g = ap.parameters("m M l g", positive=True)
T = M * x.d**2 / 2 + m * ((x.d + l * phi.d * cos(phi)) ** 2 + (l * phi.d * sin(phi)) ** 2) / 2
upright = ap.Constraint(phi - exp(-ap.t) / 5, name="motor", reaction={x: 1})  # not ideal: the reaction acts on x only
cart = ap.System([x, phi], T, m * g * l * cos(phi), constraints=[upright], name="balancing cart")

print(ap.forms.lagrange(cart))
values = {m: 0.2, M: 1.0, l: 0.5, g: 9.81}
start = ap.consistent(cart, {phi: 0.2}, values)
motion = ap.simulate(cart, start, 3.0, values)
print(motion)
print(f"force of the motor {motion.reaction(upright)[0]:.3f} N at the start, {motion.reaction(upright)[-1]:.3f} N at the end")
motion.plot([x, phi], [upright], "energy_error").savefig("servo.png")
motion.save("servo.nc")
