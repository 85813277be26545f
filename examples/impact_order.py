"""Order of convergence through impacts, with the crossing located, and with the sign of x evaluated in the stages."""

import matplotlib.pyplot as plt
import numpy as np
from sympy import sign, sin

import appell as ap

x = ap.coordinates("x")
h, gap, drive, omega, until = 0.05, 0.2, 0.3, 2.1, 30.0
force = -h * x.d + drive * sin(omega * ap.t)
located = ap.System([x], x.d**2 / 2, x**2 / 2, {x: force}, [ap.Unilateral(gap - x, "wall")], name="located")
folded = -h * x.d + sign(x) * (gap - drive * sin(omega * ap.t))  # s = Δ − |x|, Zhuravlev's (16)
naive = ap.System([x], x.d**2 / 2, x**2 / 2, {x: folded}, name="sign in the stages")
exact = ap.simulate(located, {x: -0.5}, until, rtol=1e-13, atol=1e-15)[x][-1]

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
for method, coarse in (("dop853", 0.6), ("dopri5", 0.15)):
    for system, start, first, halvings in ((located, -0.5, coarse, 2.5), (naive, gap + 0.5, 0.02, 5.0)):
        steps = first / 2 ** np.arange(0, halvings, 0.25)
        ends = [ap.simulate(system, {x: start}, until, method=method, step=step)[x][-1] for step in steps]
        errors = np.abs((np.array(ends) if system is located else gap - np.abs(ends)) - exact)
        order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
        print(f"{method}, {system.name}: order {order:.2f}, error {errors[-1]:.1e} at step {steps[-1]:.1e} s")
        axes.loglog(steps, errors, "o-", ms=3, label=f"{method}, {system.name}: {order:.1f}")
axes.set(xlabel="step, s", ylabel="error after 30 s, m")
axes.legend(fontsize=8)
figure.savefig("impact_order.png")
