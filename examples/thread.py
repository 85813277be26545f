"""A mass on a thread that goes slack and is caught again: when it leaves the circle, and the tension in the thread."""

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos, sin

import appell as ap

r, theta = ap.coordinates("r theta")
m, R, g = ap.parameters("m R g", positive=True)
thread = ap.Unilateral(R - r, name="thread", restitution=0)
T = m * (r.d**2 + r**2 * theta.d**2) / 2
pendulum = ap.System([r, theta], T, -m * g * r * cos(theta), constraints=[thread], name="pendulum on a thread")

print(ap.forms.routh(pendulum.replace(constraints=[ap.Unilateral(R - r, name="thread")])))
motion = ap.simulate(pendulum, {r: 1.0, theta.d: 2 * np.sqrt(9.81)}, 4.0, {m: 1, R: 1, g: 9.81})
print(motion)
for event in motion.impacts:
    angle = np.degrees(motion.at(event.time)[theta][0])
    print(f"{event.time:8.5f} s  {event.kind:8s} at {angle:7.2f}°  impulse {event.impulse:.4f} N s")
print(f"largest tension {motion.reaction(thread).max():.3f} N; 5 m g at the bottom is {5 * 9.81:.3f} N")

fine = motion.at(np.linspace(0, 4, 1000))
figure, axes = plt.subplots(figsize=(4, 4), layout="constrained")
axes.add_patch(plt.Circle((0, 0), 1, fill=False, ls=":"))
axes.plot(fine[r * sin(theta)], fine[-r * cos(theta)])
axes.set(aspect="equal", xlabel="x, m", ylabel="y, m")
figure.savefig("thread.png")
