"""Gantmacher's skate: from the model to its motion and the force on its blade."""

from sympy import cos, sin

import appell as ap

x, y, phi = ap.coordinates("x y phi")
l, g = ap.parameters("l g", positive=True)
blade = ap.Constraint(x.d * sin(phi) - y.d * cos(phi), name="blade")
skate = ap.System([x, y, phi], x.d**2 + y.d**2 + l**2 / 4 * phi.d**2, 2 * g * y, constraints=[blade], name="skate")
print(ap.forms.appell(skate, pseudo={"pi": x.d * cos(phi) + y.d * sin(phi), "omega": phi.d}).text("simplified"))
motion = ap.simulate(skate, start={phi.d: 1.0}, until=12.0, parameters={l: 1, g: 9.81})
print(motion, motion.reaction(blade)[-1], sep="\n")
motion.plot().savefig("skate.png")
