"""Digital control: a cart balances a pendulum upright; its controller sets a new force fifty times a second."""

from sympy import cos, sin

import appell as ap

x, phi = ap.coordinates("x phi")
m, M, l, g = ap.parameters("m M l g", positive=True)
u = ap.parameters("u")  # the force of the motor: an input
T = M * x.d**2 / 2 + m * ((x.d + l * phi.d * cos(phi)) ** 2 + (l * phi.d * sin(phi)) ** 2) / 2
cart = ap.System([x, phi], T, m * g * l * cos(phi), forces={x: u}, name="cart with a computer")


def balance(t, q, v):
    """State feedback that brings the cart to x = 0."""
    return {u: 3.2 * q[0] + 41 * q[1] + 5.2 * v[0] + 9.3 * v[1]}


motion = ap.simulate(cart, {x: 0.5, phi: 0.1}, 6.0, {m: 0.2, M: 1.0, l: 0.5, g: 9.81}, control=balance, rate=50)
print(motion)
print(f"largest force {abs(motion[u]).max():.2f} N; at the end x = {motion[x][-1]:.4f} m, phi = {motion[phi][-1]:.4f}")
motion.plot([x, phi], "inputs").savefig("digital.png")
