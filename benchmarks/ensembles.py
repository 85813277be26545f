"""Many motions: lanes against heyoka's batches at equal measured error, our own single loops, and MuJoCo's rollout."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import appell as ap
from appell import zoo
from appell.loop.task import Task
from benchmarks.ends import ends
from benchmarks.impacts import OMEGA, STOP, driven
from benchmarks.measure import Disagreement
from benchmarks.mujoco_peer import MuJoCo
from benchmarks.pendulum import parameter_values, taylor_system, taylor_system_from_energies
from benchmarks.report import Table, ratio
from benchmarks.robots import ROBOTS, States

Array = NDArray[np.float64]
UNTIL, WIDTH = 10.0, 8
TOLERANCES = 10.0 ** -np.arange(5, 15.1, 0.25)


def tables(quick: bool) -> list[Table]:
    return [
        *([_pendulums(2, 64, (1e-8,))] if quick else [_pendulums(n, 8192 // n, (1e-8, 1e-11)) for n in (2, 5)]),
        _wall(32 if quick else 2000, 10 if quick else 200),
        _robot(64 if quick else 4096, 20 if quick else 1000),
        _cores(256 if quick else 20_000),
        _in_jax(256 if quick else 100_000, 20 if quick else 1000),
    ]


@dataclass(frozen=True)
class Rate:
    """One code: its tolerance, the largest error of its sample, runs a second of CPU time."""

    code: str
    tolerance: float
    error: float
    rate: float


def clocked(call: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.process_time()
    value = call()
    return value, time.process_time() - begin


def best(call: Callable[[], Any], repeats: int = 3) -> tuple[Any, float]:
    """The value and the least CPU time, s."""
    found = [clocked(call) for _ in range(repeats)]
    return found[0][0], min(spent for _, spent in found)


def at_error(code: Callable[..., Callable[[Array], Array]], sample: Array, exact: Array, target: float) -> tuple[float, float]:
    """The loosest tolerance, four a decade, with an error of the sample below the target, and that error.

    Of the errors of the runs that in the middle: five links are chaotic enough that rounding alone takes 1e-9 of the worst.
    """
    for tolerance in TOLERANCES[1e3 * target >= TOLERANCES]:
        error = float(np.median(np.abs(code(float(tolerance))(sample) - exact).max(axis=1)))
        if error <= target:
            return float(tolerance), error
    raise Disagreement(f"no tolerance brings the error below {target:.0e}")


# -- pendulums ---------------------------------------------------------------------------------------------------------


def lanes(n: int) -> Callable[[float], Callable[[Array], Array]]:
    """tolerance → (starts (runs, 2n) → final states), on one thread."""
    example = zoo.n_pendulum(n)
    run = ap.compile(example.system, dict(zip(example.system.parameters, parameter_values(n), strict=True)))
    names = [v.replace(".", "_") for v in map(str, (*example.system.coordinates, *example.system.velocities))]

    def at(tolerance: float) -> Callable[[Array], Array]:
        def ends_of(starts: Array) -> Array:
            found = ap.simulate_many(run, starts, UNTIL, rtol=tolerance, atol=tolerance, threads=1).dataset
            return np.stack([found[name].values for name in names], axis=1)

        return ends_of

    return at


def heyoka(system: list, n: int) -> Callable[..., Callable[[Array], Array]]:
    """The same by heyoka's Taylor series, eight runs in a batch; compact mode compiles fast and runs slowly."""
    import heyoka as hy

    parameters = np.repeat(parameter_values(n)[:, None], WIDTH, axis=1)

    def at(tolerance: float, compact: bool = True) -> Callable[[Array], Array]:
        integrator: Any = hy.taylor_adaptive_batch(
            system, np.zeros((2 * n, WIDTH)), pars=parameters, tol=tolerance, compact_mode=compact
        )

        def ends_of(starts: Array) -> Array:
            final = np.empty_like(starts)
            for k in range(0, len(starts), WIDTH):
                integrator.set_time(0.0)
                integrator.state[:] = starts[k : k + WIDTH].T
                integrator.propagate_until(UNTIL)
                final[k : k + WIDTH] = integrator.state.T
            return final

        return ends_of

    return at


def _pendulums(n: int, count: int, targets: tuple[float, ...]) -> Table:
    rng = np.random.default_rng(1)
    starts = np.hstack([rng.uniform(-1, 1, (count, n)), np.zeros((count, n))])
    sample = starts[:32]
    codes = {
        "appell, lanes": lanes(n),
        "heyoka batch, equations by hand": heyoka(taylor_system(n), n),
        "heyoka batch, from the same T and V": heyoka(taylor_system_from_energies(n), n),
    }
    exact = codes["heyoka batch, equations by hand"](1e-17)(sample)
    rows, records, ahead = [], [], []
    for target in targets:
        found = []
        for name, code in codes.items():
            tolerance, error = at_error(code, sample, exact, target)
            few = starts if name.startswith("appell") else starts[: max(1, count // 8 // WIDTH) * WIDTH]
            call = code(tolerance) if name.startswith("appell") else code(tolerance, compact=False)
            _, spent = best(lambda call=call, few=few: call(few))
            found.append(Rate(name, tolerance, error, len(few) / spent))
        ahead.append(found[0].rate / max(r.rate for r in found[1:]))
        records += [{**asdict(r), "target": target} for r in found]
        rows += [(f"{target:.0e}", r.code, f"{r.tolerance:.1e}", f"{r.error:.1e}", f"{r.rate:,.0f}") for r in found]
    return Table(
        title=f"{n} links, {UNTIL:g} s, {count:,} starts: appell is {' / '.join(map(ratio, ahead))} the best of heyoka",
        columns=("error", "code", "tolerance", "middle of the errors of 32 runs", "runs/s of one core"),
        rows=tuple(rows),
        notes=("masses and lengths are run-time values everywhere; whole simulate_many with its dataset; CPU time, best of 3",),
        records=tuple(records),
    )


# -- a wall ------------------------------------------------------------------------------------------------------------


def _wall(count: int, periods: int) -> Table:
    run, until = driven(), periods * 2 * np.pi / OMEGA
    rng = np.random.default_rng(1)
    starts = np.stack([rng.uniform(STOP, 1.0, count), rng.uniform(-1, 1, count)], axis=1)
    sample = starts[:20]
    task = lambda tolerance: Task(t0=0.0, z0=starts[0], t_end=until, p=run.p, rtol=tolerance, atol=tolerance / 100)

    def single(tolerance: float) -> Callable[[Array], Array]:
        return lambda z: ends(run, task(tolerance), z, method="taylor").z

    def many(method: str) -> Callable[[float], Callable[[Array], Array]]:
        def at(tolerance: float) -> Callable[[Array], Array]:
            def ends_of(z: Array) -> Array:
                found = ap.simulate_many(run, z, until, rtol=tolerance, atol=tolerance / 100, method=method, threads=1).dataset
                return np.stack([found.x.values, found.x_d.values], axis=1)

            return ends_of

        return at

    exact = ends(run, task(1e-13), sample).z
    codes = {f"simulate_many, {method}": many(method) for method in METHODS} | {"one after another, taylor": single}
    rows, records, ahead = [], [], []
    for target in (1e-8, 1e-11):
        found = []
        for name, code in codes.items():
            tolerance, error = at_error(code, sample, exact, target)
            few = starts if name.startswith("simulate_many") else starts[: max(20, count // 8)]
            call = code(tolerance)
            _, spent = best(lambda call=call, few=few: call(few))
            found.append(Rate(name, tolerance, error, len(few) / spent))
        ahead.append(max(r.rate for r in found[:-1]) / found[-1].rate)
        records += [{**asdict(r), "target": target} for r in found]
        rows += [(f"{target:.0e}", r.code, f"{r.tolerance:.1e}", f"{r.error:.1e}", f"{r.rate:,.0f}") for r in found]
    return Table(
        title=f"Driven oscillator with a wall, {periods} periods: {' / '.join(map(ratio, ahead))} our own single taylor loop",
        columns=("error", "code", "tolerance", "middle of the errors of 20 runs", "runs/s of one core"),
        rows=tuple(rows),
        notes=("CPU time, best of 3; impacts located in every run",),
        records=tuple(records),
    )


METHODS = ("taylor", "dop853")


# -- a robot -----------------------------------------------------------------------------------------------------------


def _robot(count: int, steps: int) -> Table:
    """ur5 by RK4 with 1 ms: steps a second."""
    from mujoco import rollout

    robot = ROBOTS[0]
    tree = ap.Tree.from_urdf(robot.path, limits=False, damping=False, friction=False)  # free motions, as the other one's
    states = States.random(tree, 1)
    peer = MuJoCo(robot, tree, states)
    mujoco, model = peer.mujoco, peer.model
    step, nv = 1e-3, tree.nv
    model.opt.timestep, model.opt.integrator = step, mujoco.mjtIntegrator.mjINT_RK4
    rng = np.random.default_rng(1)
    starts = np.hstack([rng.uniform(-1, 1, (count, nv)), np.zeros((count, nv))])
    system = tree.system()
    run = ap.compile(system, dict.fromkeys(system.parameters, 0.0))
    ours = lambda: ap.simulate_many(run, starts, steps * step, step=step, threads=1).dataset
    found, spent = best(ours)
    few = starts[: max(1, count // 64)]
    first = np.hstack([np.zeros((len(few), 1)), few])
    theirs = lambda: rollout.rollout(model, [mujoco.MjData(model)], first, nstep=steps)[0]
    end, slow = best(theirs)
    names = [v.replace(".", "_") for v in map(str, (*run.system.coordinates, *run.system.velocities))]
    mine = np.stack([found[name].values[: len(few)] for name in names], axis=1)
    off = float(np.abs(mine - end[:, -1, 1:]).max())
    if off > 1e-6:
        raise Disagreement(f"final states of ur5 differ by {off:.1e}")
    rates = [Rate("appell, lanes", 0.0, off, count * steps / spent), Rate("mujoco.rollout", 0.0, 0.0, len(few) * steps / slow)]
    return Table(
        title=f"ur5, RK4, 1 ms, {steps} steps: appell is {ratio(rates[0].rate / rates[1].rate)} mujoco.rollout",
        columns=("code", "steps/s of one core"),
        rows=tuple((r.code, f"{r.rate:,.0f}") for r in rates),
        notes=(f"final states differ by {off:.1e}; whole simulate_many with a status of each run; CPU time, best of 3",),
        records=tuple(asdict(r) for r in rates),
    )


def _cores(count: int) -> Table:
    """Two threads against one, by the clock on the wall."""
    example = zoo.n_pendulum(2)
    run = ap.compile(example.system, example.parameters)
    rng = np.random.default_rng(1)
    starts = np.hstack([rng.uniform(-1, 1, (count, 2)), np.zeros((count, 2))])
    spent = {}
    for threads in (1, 2):
        call = lambda threads=threads: ap.simulate_many(run, starts, UNTIL, threads=threads).dataset
        call()
        begins = []
        for _ in range(5):
            begin = time.perf_counter()
            call()
            begins.append(time.perf_counter() - begin)
        spent[threads] = min(begins)
    return Table(
        title=f"Two threads: {ratio(spent[1] / spent[2])} one",
        columns=("threads", "runs/s"),
        rows=tuple((str(n), f"{count / s:,.0f}") for n, s in spent.items()),
        notes=("double pendulum, 10 s, rtol 1e-9; time on the wall, best of 5, whole simulate_many",),
        records=({"one": spent[1], "two": spent[2]},),
    )


# -- JAX -----------------------------------------------------------------------------------------------------------------


def _in_jax(count: int, steps: int) -> Table:
    """The double pendulum as a function of JAX: our operation, a callback, equations written in JAX by hand."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    example = zoo.n_pendulum(2)
    run = ap.compile(example.system, example.parameters)
    rng = np.random.default_rng(1)
    q, v = (jnp.asarray(rng.uniform(-1, 1, (count, 2))) for _ in range(2))
    ours = run.jax()

    def by_hand(t: Any, q: Any, v: Any, p: Any) -> Any:
        g, l1, l2, m1, m2 = p
        s, c = jnp.sin(q[0] - q[1]), jnp.cos(q[0] - q[1])
        r1 = -m2 * l2 * v[1] ** 2 * s - (m1 + m2) * g * jnp.sin(q[0])
        r2, free = l1 * v[0] ** 2 * s - g * jnp.sin(q[1]), m1 + m2 * s * s
        return jnp.stack([(r1 - m2 * c * r2) / (l1 * free), ((m1 + m2) * r2 - c * r1) / (l2 * free)])

    def through_python(t: Any, q: Any, v: Any, p: Any) -> Any:
        shape = jax.ShapeDtypeStruct((2,), float)
        call = lambda t, q, v: run.acceleration(t, np.asarray(q), np.asarray(v))[0]
        return jax.pure_callback(call, shape, t, q, v, vmap_method="broadcast_all")

    def moved(a: Any) -> Any:
        def step(z: Any, k: Any) -> Any:
            slope = lambda z: jnp.concatenate([z[2:], a(0.0, z[:2], z[2:], run.p)])
            k1 = slope(z)
            k2 = slope(z + 5e-3 * k1)
            k3 = slope(z + 5e-3 * k2)
            return z + 1e-2 / 6 * (k1 + 2 * k2 + 2 * k3 + slope(z + 1e-2 * k3)), None

        return lambda q, v: jax.lax.scan(step, jnp.concatenate([q, v]), jnp.arange(steps))[0]

    ended = lambda q, v: jnp.concatenate(ours.motion(q, v, step=1e-2, steps=steps))
    few = max(1, count // 100)
    codes = {"our operation": (ours, ended), "callback": (through_python, None), "by hand in JAX": (by_hand, moved(by_hand))}
    rates, ends = {}, {}
    for code, (a, motion) in codes.items():
        total = lambda p, a=a: jnp.sum(jax.vmap(lambda q, v: a(0.0, q, v, p))(q, v) ** 2)
        alone = lambda q, v, a=a: a(0.0, q, v, run.p)
        work: dict[str, tuple[int, Any, tuple[Any, ...]]] = {
            "one call": (1, alone, (q[0], v[0])),
            "batch": (count, jax.vmap(alone), (q, v)),
        }
        if motion is not None:
            work["gradient by 5 parameters"] = (count, jax.grad(total), (run.p,))
            work["RK4 steps, batch"] = (few * steps, jax.vmap(motion), (q[:few], v[:few]))
        for name, (states, function, arguments) in work.items():
            compiled = jax.jit(function)
            call = lambda f=compiled, x=arguments: jax.block_until_ready(f(*x))
            ends[code, name] = np.asarray(call())
            rates[code, name] = states / min(_on_the_wall(call) for _ in range(200 if states == 1 else 5))
    for (_, name), end in ends.items():
        right = ends["by hand in JAX", name]
        if name != "RK4 steps, batch" and not np.allclose(end, right, rtol=1e-9, atol=1e-9):
            raise Disagreement(f"{name} differs by {np.abs(end - right).max():.1e}")
    names = list(dict.fromkeys(name for _, name in rates))
    against = {name: rates["our operation", name] / rates["by hand in JAX", name] for name in names}
    said = lambda code, name: f"{rates[code, name]:,.0f}" if (code, name) in rates else "–"
    return Table(
        title=f"In JAX, a double pendulum: a batch is {ratio(against['batch'])} equations written in JAX",
        columns=("per second", *codes, "ours to by hand"),
        rows=tuple((name, *(said(code, name) for code in codes), ratio(against[name])) for name in names),
        notes=(f"batches of {count} states, float64, compiled by jax.jit; time on the wall, best of 5 (one call: of 200)",),
        records=tuple({"code": code, "work": name, "rate": rate} for (code, name), rate in rates.items()),
    )


def _on_the_wall(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin
