"""Every system of the zoo, and every robot: ensembles against `simulate`, and right-hand sides of all back ends.

    python -m tests.ensembles.zoo_sweep [name …] [--runs 9] [--seed 0] [--share k/N]          (make sweep-ensembles)

Motions start at the example's own start and at random ones around it, projected onto the constraints, with parameters around
its own. Asked for, with tol = 1e-8:

    adaptive    final states, and states at times, by simulate_many against simulate, both with rtol = tol       ≤ 100 tol
    fold        the same with numbers of parameters in the equations                                             ≤ 100 tol
    threads     two threads against one                                                                          equal bits
    fixed       RK4 with h and h/2: the second from simulate           ≤ the first from the second + 100 tol
    single      RK4 in float32 against float64                         ≤ 20 ε √steps, ε = 1.2e-7

in units of 1 + |z|, times the growth g ≥ 1 of a neighbouring start, 1e-6 away. A motion is left out, and counted, where
g > 100 (sensitive: chaotic, or near a grazing impact, whose derivative is infinite), where simulate itself does not reach the
end, and where its own error, against a tolerance of 1e-11, is above 100 tol. Right-hand sides: scalar C, lanes and CUDA text
(compiled as C++) within 1e-13 of CasADi's evaluator, relative to the largest slope.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.backends.cuda.cuda_text import call_kernel, on_host
from tests.reference.sweeps import Outcome, long_run, sweep

import appell as ap
from appell import zoo
from appell.backends import backend_named
from appell.backends.calls import vectors
from appell.backends.cuda.cuda_text import kernel_source
from appell.errors import AppellError, Status
from appell.graph import Fn
from appell.normal_form.flow import flow

TOL, GROWTH, NEAR, UNTIL = 1e-8, 100.0, 1e-6, 3.0
EPS32 = float(np.finfo(np.float32).eps)
EXAMPLES = {**zoo.ALL, **zoo.ROBOTS}


@dataclass(frozen=True)
class Motion:
    """One motion by `simulate`: start and parameters, states at the times (k, nz), the last at the end, and how it grows."""

    z: np.ndarray
    p: np.ndarray
    states: np.ndarray
    growth: float


@dataclass
class Verdict:
    """What was compared: way → worst ratio of distance and bound; why motions were left out; which path the ensemble took."""

    name: str
    worst: dict[str, float] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    count: int = 0

    def judge(self, way: str, distance: np.ndarray, bound: np.ndarray) -> None:
        """Of each run."""
        ratio = distance / bound
        self.worst[way] = max(self.worst.get(way, 0.0), float(np.max(ratio, initial=0.0)))
        for k in np.flatnonzero(~(ratio <= 1)):
            self.failures.append(f"{way}: run {k} is {distance[k]:.1e} off, {bound[k]:.1e} allowed")


def starts_of(example: Any, runs: int, rng: np.random.Generator) -> Iterator[tuple[dict, dict]]:
    """The example's own start and parameters, then random ones around them that fulfil the constraints."""
    system = example.system
    symbols = (*system.coordinates, *system.velocities)
    yield {s: float(example.start.get(s, getattr(s, "start", 0.0))) for s in symbols}, dict(example.parameters)
    for _ in range(20 * runs):
        p = {s: v * rng.uniform(0.95, 1.05) for s, v in example.parameters.items()}
        near = {s: float(example.start.get(s, getattr(s, "start", 0.0))) + rng.uniform(-0.1, 0.1) for s in symbols}
        try:
            yield ap.consistent(system, near, p), p
        except AppellError:
            continue


def states(system: Any, start: Any, p: Any, times: np.ndarray, rtol: float) -> np.ndarray | str:
    """(k, nz) by `simulate`, or why there are none."""
    try:
        motion = ap.simulate(system, start, times[-1], p, rtol=rtol, atol=1e-3 * rtol, times=times)
    except AppellError as error:
        return f"{type(error).__name__}: {error}"
    return np.hstack([motion.q, motion.v]) if motion.status == Status.OK else f"simulate: {motion.message}"


def far(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Largest |a − b|/(1 + |b|) over all but the first axis; NaN counts as infinite."""
    ratio = np.abs(a - b) / (1 + np.abs(b))
    return np.where(np.isnan(ratio), np.inf, ratio).reshape(len(a), -1).max(axis=1, initial=0.0)


def far_in_size(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same in units of 1 + the largest number of each run, to which rounding in coupled equations is relative."""
    largest = np.abs(b).reshape(len(b), -1).max(axis=1).reshape(-1, *[1] * (b.ndim - 1))
    return far((a - b) / (1 + largest), np.zeros_like(b))


def motions(example: Any, runs: int, seed: int, times: np.ndarray, verdict: Verdict) -> list[Motion]:
    """So many that are well determined."""
    system, rng, found = example.system, np.random.default_rng(seed), []
    symbols = (*system.coordinates, *system.velocities)
    for start, p in starts_of(example, runs, rng):
        if len(found) + len(verdict.left_out) >= 2 * runs or len(found) == runs:
            break
        here = states(system, start, p, times, TOL)
        if isinstance(here, str):
            verdict.left_out.append(here[:90])
            continue
        sharp = states(system, start, p, times, 1e-11)
        near = {s: v + NEAR * rng.choice([-1.0, 1.0]) for s, v in start.items()}
        try:
            beside = states(system, ap.consistent(system, near, p), p, times, 1e-11)
        except AppellError as error:
            beside = str(error)
        if isinstance(sharp, str) or isinstance(beside, str):
            verdict.left_out.append(str(sharp if isinstance(sharp, str) else beside)[:90])
            continue
        growth = float(max(1.0, far(beside[None], sharp[None])[0] / NEAR))
        own = float(far(here[None], sharp[None])[0])
        if growth > GROWTH:
            verdict.left_out.append(f"sensitive, growth {growth:.0f}")
        elif own > 100 * TOL * growth:
            verdict.left_out.append(f"simulate's own error {own:.1e}")
        else:
            z, values = np.array([start[s] for s in symbols]), np.array([p[s] for s in system.parameters])
            found.append(Motion(z, values, here, growth))
    return found


WAYS = ("adaptive", "fold", "threads", "fixed", "single")


def compare(name: str, runs: int, seed: int, ways: tuple[str, ...] = WAYS) -> Verdict:
    """An example against `simulate`, in these ways."""
    example, verdict = EXAMPLES[name](), Verdict(name)
    system, until = example.system, min(example.until, UNTIL)
    if ap.compile(system, example.parameters, ready=False).backend == "vm":  # Gauss's minimum, some ms each
        runs, until, ways = 2, until / 30, ("adaptive",)
    times = until * np.array([0.31, 0.77, 1.0])
    made = motions(example, runs, seed, times, verdict)
    verdict.count = len(made)
    if not made:
        return verdict
    z, growth = np.array([m.z for m in made]), np.array([m.growth for m in made])
    p = {s: np.array([m.p[i] for m in made]) for i, s in enumerate(system.parameters)}
    wanted = np.array([m.states for m in made])
    names = [str(s) for s in (*system.coordinates, *system.velocities)]

    def many(**options: Any) -> np.ndarray:
        found = ap.simulate_many(system, z, until, options.pop("p", p), **options).dataset
        verdict.paths.add(str(found.attrs["path"]))
        by_symbol = {v.attrs.get("symbol"): v.values for v in found.data_vars.values()}
        bad = found.status.values != Status.OK
        out = np.stack([by_symbol[s] for s in names], axis=-1).astype(float)
        out[bad] = np.nan
        return out

    tight: dict[str, Any] = {"rtol": TOL, "atol": 1e-3 * TOL}
    bound = 100 * TOL * growth
    if "adaptive" in ways:
        final = many(**tight)
        verdict.judge("final", far(final, wanted[:, -1]), bound)
        verdict.judge("times", far(many(keep=times, **tight), wanted), bound)
        if "threads" in ways:
            verdict.judge("threads", far(many(threads=2, **tight), many(threads=1, **tight)), np.full(len(z), 1e-300))
    if "fold" in ways and p:
        one = {s: value[0] for s, value in p.items()}
        same = [k for k in range(len(made)) if (made[k].p == made[0].p).all()]
        verdict.judge("fold", far(many(fold=True, p=one, **tight)[same], wanted[same, -1]), bound[same])
    if "fixed" in ways:
        steps = 500
        coarse, fine = (many(step=until / n) for n in (steps, 2 * steps))
        verdict.judge("fixed", far(fine, wanted[:, -1]), far(coarse, fine) * growth + bound)
        if "single" in ways:
            single = many(step=until / steps, dtype=np.float32)
            verdict.judge("single", far_in_size(single, coarse), 20 * EPS32 * np.sqrt(steps) * growth)
    return verdict


def right_hand_sides(name: str, folder: Path) -> dict[str, float] | str:
    """Scalar C, lanes and CUDA text against CasADi's evaluator, relative to the largest slope; or why not."""
    example = EXAMPLES[name]()
    system = example.system
    run = ap.compile(system, example.parameters, ready=False) if not system.frictions else None
    if run is None or run.backend != "c":
        return "friction: no one right-hand side" if run is None else "Gauss's minimum: no compiled code"
    fn = flow(run.form, run.policies, work=False).rhs
    if not isinstance(fn, Fn):
        return "a routine between graphs: no lanes"
    rng, count = np.random.default_rng(1), 16
    near = np.array([float(example.start.get(s, getattr(s, "start", 0.0))) for s in (*system.coordinates, *system.velocities)])
    z = near + rng.uniform(-0.2, 0.2, (count, len(near)))
    t = rng.uniform(0, 1, count)
    right = [fn(t[k], z[k], run.p) for k in range(count)]
    slopes = np.array([r["zd"] for r in right])
    call, before = backend_named("c").load(fn), vectors.BATCH_WORTH_COMPILING
    vectors.BATCH_WORTH_COMPILING = 1
    try:
        lanes = call.batch(t, z, run.p)[0]
    finally:
        vectors.BATCH_WORTH_COMPILING = before
    ways = {
        "scalar": np.array([call.single(t[k], z[k], run.p)[0] for k in range(count)]),
        "lanes": lanes,
        "cuda": call_kernel(on_host(kernel_source(fn), folder), fn, [t, z, run.p])[0],
    }
    sizes = np.abs(slopes).max(axis=1)
    return {way: float((np.abs(x - slopes).max(axis=1) / sizes).max()) for way, x in ways.items()}


def member(k: int, names: tuple[str, ...], runs: int, seed: int, only: str | None) -> Outcome:
    """System number k."""
    name, begin, said, found = names[k], time.perf_counter(), [], Outcome(members=0)
    warnings.simplefilter("ignore", ap.AppellWarning)
    if only != "slopes":
        verdict = compare(name, runs, seed)
        without = len(verdict.left_out)
        found += Outcome(members=verdict.count + without, wrong=len(verdict.failures), left_out=without)
        ratios = ", ".join(f"{way} {ratio:.2g}" for way, ratio in verdict.worst.items())
        spent = time.perf_counter() - begin
        said.append(f"{name}: {verdict.count} motions; distance/allowed: {ratios}; {spent:.0f} s")
        said.append(f"path: {'; '.join(sorted(verdict.paths))[:300]}")
        said += sorted({f"left out ({verdict.left_out.count(r)}): {r}" for r in verdict.left_out}) + verdict.failures
    if only != "motions":
        with tempfile.TemporaryDirectory() as folder:
            sides = right_hand_sides(name, Path(folder))
        said.append(f"right-hand side of {name}: {sides}")
        found += Outcome(members=0, wrong=int(isinstance(sides, dict) and not max(sides.values()) <= 1e-13))
    return replace(found, said="\n    ".join(said))


def main() -> int:
    parser = long_run(__doc__)
    parser.add_argument("names", nargs="*", choices=[*EXAMPLES, []], help="systems; all of them by default")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("motions", "slopes"))
    given = parser.parse_args()
    names = tuple(given.names or EXAMPLES)
    return sweep(partial(member, names=names, runs=given.runs, seed=given.seed, only=given.only), len(names), given)


if __name__ == "__main__":
    sys.exit(main())
