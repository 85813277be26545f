"""How often true values lie in their 95 % intervals: 200 fits each of a smooth, an impacting and a stick–slip system.

    python -m tests.optimize.coverage [trials]
    python -m tests.optimize.coverage --share 1/8 >1.json    (… 8/8, side by side; then --join *.json)

The count of a right interval is binomial; it has to lie in the 99.9 % band, for each unknown.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
from scipy.stats import binom
from sympy import cos

import appell as ap


def pendulum():
    """Length, damping and start of a pendulum, from angle and rate with noise of their own."""
    theta = ap.coordinates("theta")
    m, l, g, c = ap.parameters("m l g c", positive=True)
    V, losses = -m * g * l * cos(theta), {theta: -c * theta.d}
    system = ap.System([theta], m * l**2 * theta.d**2 / 2, V, forces=losses, name="pendulum")
    values = {m: 1.3, l: 0.8, g: 9.81, c: 0.07}
    return system, {theta: 1.1}, 6.0, values, {l: 1.0, c: 0.15}, [l, c, theta], {theta: 0.02, theta.d: 0.05}


def ball():
    """Gravity and restitution of a bouncing ball, from its height."""
    y = ap.coordinates("y")
    m, g, e = ap.parameters("m g e", positive=True)
    floor = ap.Unilateral(y, name="floor", restitution=e)
    system = ap.System([y], m * y.d**2 / 2, m * g * y, constraints=[floor], name="ball")
    return system, {y: 1.0}, 2.0, {m: 1.0, g: 9.81, e: 0.8}, {g: 9.0, e: 0.75}, [g, e], {y: 0.005}


def belt():
    """Friction and stiffness of a block on a belt that sticks and slips, from its position."""
    x = ap.coordinates("x")
    m, g, k, mu, v = ap.parameters("m g k mu v", positive=True)
    rub = ap.Friction(x.d - v, limit=mu * m * g, name="belt")
    system = ap.System([x], m * x.d**2 / 2, k * x**2 / 2, constraints=[rub], name="belt")
    values = {m: 1.0, g: 9.81, k: 20.0, mu: 0.3, v: 0.2}
    return system, {x: 0.3}, 6.0, values, {mu: 0.25, k: 18.0}, [mu, k], {x: 0.003}


def trial(case, seed: int, samples: int = 150, level: float = 0.95):
    """(unknown → whether its true value lies in its interval, the fit) of one record with fresh noise."""
    system, start, until, values, guesses, unknown, noise = case
    rng = np.random.default_rng(seed)
    times = np.linspace(0.0, until, samples)
    motion = ap.simulate(system, start, until, values, times=times)
    data = {"t": times, **{key: motion[key] + size * rng.normal(size=samples) for key, size in noise.items()}}
    found = ap.fit(system, data, unknown, start, {**values, **guesses})
    bounds, true = found.interval(level), {**values, **start}
    return {str(s): bounds[s][0] <= true[s] <= bounds[s][1] for s in unknown}, found


def counts_of(trials: int, share: tuple[int, int] = (1, 1)) -> dict[str, int]:
    """'system unknown' → how often its true value lay inside, over the seeds k − 1, k − 1 + n, … of share k/n."""
    counts: dict[str, int] = {}
    for case in (pendulum, ball, belt):
        made = case()
        for seed in range(share[0] - 1, trials, share[1]):
            inside, found = trial(made, seed)
            assert found.ok, found.message
            for name, hit in inside.items():
                counts[f"{case.__name__} {name}"] = counts.get(f"{case.__name__} {name}", 0) + bool(hit)
    return counts


def judged(counts: dict[str, int], trials: int) -> int:
    """Prints the counts of all shares beside their band; how many lie outside."""
    low, high = binom.ppf([0.0005, 0.9995], trials, 0.95)
    for name, count in counts.items():
        mark = "" if low <= count <= high else "  OUTSIDE"
        print(f"{name:20s} {count} of {trials} (band {low:.0f} … {high:.0f}){mark}", flush=True)
    return sum(not low <= count <= high for count in counts.values())


def main() -> int:
    parser = ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trials", type=int, nargs="?", default=200)
    parser.add_argument("--share", default="1/1", metavar="K/N", help="every N-th trial from the K-th; prints counts as JSON")
    parser.add_argument("--join", type=Path, nargs="+", metavar="FILE", help="judges the sums of what shares printed")
    options = parser.parse_args()
    if options.join:
        shares = [json.loads(file.read_text()) for file in options.join]
        return judged({name: sum(one[name] for one in shares) for name in shares[0]}, options.trials)
    k, n = (int(part) for part in options.share.split("/"))
    counts = counts_of(options.trials, (k, n))
    if n > 1:
        print(json.dumps(counts))
        return 0
    return judged(counts, options.trials)


if __name__ == "__main__":
    sys.exit(main())
