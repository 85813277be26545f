"""Functions of robots and many motions on a GPU: `python -m benchmarks.gpu --robots FOLDER`, on a machine that has one.

Each kernel is checked against the C or CasADi's evaluator on this machine before it is timed. Results go to
`benchmarks/results/gpu.json` and `gpu.md` with the date and the device.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import sympy

import appell as ap
from appell import zoo
from appell.backends.cuda.device import xp
from appell.ensembles.ensemble_result import Results
from appell.ensembles.inputs import read_inputs
from appell.ensembles.kept import Kept
from appell.ensembles.on_gpu import OnGpu
from appell.ensembles.order import Order
from benchmarks.measure import Disagreement
from benchmarks.report import HERE
from benchmarks.robots import States

ROBOTS = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", False),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", True),
    "g1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", True),
}
STATES = 1 << 22
SCALARS = ("double", "float")


def seconds(call: Callable[[], Any], repeat: int = 10) -> float:
    """The least time of a call on the device, s."""
    cp = xp()
    begin, end, best = cp.cuda.Event(), cp.cuda.Event(), np.inf
    for _ in range(repeat):
        begin.record()
        call()
        end.record()
        end.synchronize()
        best = min(best, cp.cuda.get_elapsed_time(begin, end) * 1e-3)
    return best


def forward_dynamics(folder: Path, name: str, scalar: str) -> dict[str, Any]:
    """2²² states of a robot, arrays on the device: states a second."""
    cp, (file, floating) = xp(), ROBOTS[name]
    tree = ap.Tree.from_urdf(folder / file, floating)
    fn, kind = tree.function("forward_dynamics"), np.dtype("float64" if scalar == "double" else "float32")
    some = States.random(tree, 64)
    few = (some.q, some.v, some.third)
    right = np.array([fn(*state)[fn.outputs[0].name] for state in zip(*few, strict=True)])
    arrays = [cp.asarray(np.resize(a, (STATES, a.shape[1])), kind) for a in few]
    out = cp.empty((STATES, tree.nv), kind)
    tree.forward_dynamics(*arrays, out=out)
    error = float(np.abs(out[:64].get() - right).max() / np.abs(right).max())
    if not error < (1e-12 if scalar == "double" else 1e-3):
        raise Disagreement(f"{name}, {scalar}: off by {error:.1e}")
    best = seconds(lambda: tree.forward_dynamics(*arrays, out=out))
    return {"work": f"forward dynamics, {name}", "type": scalar, "per second": STATES / best, "error": error}


def walls(scalar: str, runs: int = 1 << 20, periods: int = 200) -> dict[str, Any]:
    """A driven oscillator with a wall, 64 steps a period, every crossing located: seconds of the kernel."""
    x = ap.coordinates("x")
    force = {x: -x.d / 10 + sympy.cos(2 * ap.t)}
    system = ap.System([x], x.d**2 / 2, x**2 / 2, force, [ap.Unilateral(x + 0.3, "wall", 0.9)], name="oscillator")
    rng = np.random.default_rng(1)
    z = np.stack([rng.uniform(-0.3, 1, runs), rng.uniform(-1, 1, runs)], axis=1)
    step, until = np.pi / 64, periods * np.pi
    kind = np.float32 if scalar == "float" else np.float64
    few = ap.simulate_many(system, z[:4096], until=20 * np.pi, step=step).dataset
    gpu = ap.simulate_many(system, z[:4096], until=20 * np.pi, step=step, backend="cuda", dtype=kind).dataset
    error = max(float(np.abs(few[k].values - gpu[k].values).max() / (1 + np.abs(few[k].values).max())) for k in ("x", "x_d"))
    if not error < (1e-9 if scalar == "double" else 2e-3) or (gpu.status != 0).any():
        raise Disagreement(f"oscillator with a wall, {scalar}: off by {error:.1e}")
    counted = [
        ap.simulate_many(system, z[:4096], 20 * np.pi, step=step, keep={"n": ap.reduce.impacts()}, backend=b, dtype=d)["n"]
        for b, d in (("auto", np.float64), ("cuda", kind))
    ]
    if not (counted[0] == counted[1]).all():
        raise Disagreement(f"oscillator with a wall, {scalar}: numbers of impacts differ")
    order = Order(
        t0=0.0, ends=np.array([until]), rtol=1e-9, atol=1e-12, step=step, method="rk4", max_step=np.inf,
        max_steps=10**9, corner="raise", kept=Kept(), scalar=scalar, gpu=True,
    )  # fmt: skip
    inputs, run, best = read_inputs(system, z, None, product=False), ap.compile(system), np.inf
    for _ in range(3):
        kernel = OnGpu(run, inputs, order, np.arange(runs), Results(runs, order, z.shape[1]))
        kernel.work()
        best = min(best, kernel.kernel_seconds)
    about = kernel.kernel.attributes
    return {
        "work": f"oscillator with a wall, {runs} starts, {periods} periods of 64 steps", "type": scalar, "seconds": best,
        "per second": runs * periods * 64 / best, "error": error, "not finished": int((kernel.status != 0).sum()),
        "registers": about["num_regs"], "local": about["local_size_bytes"],
    }  # fmt: skip


def many(name: str, system: Any, parameters: Any, spread: float, scalar: str, runs: int, method: str = "rk4") -> dict[str, Any]:
    """Fixed steps of 1 ms in registers, the whole loop on the device: steps a second, against `simulate` on a few runs."""
    rng, n = np.random.default_rng(1), 1000
    model = system.system() if isinstance(system, ap.Tree) else system
    z = rng.uniform(-spread, spread, (runs, model.nq + model.nv))
    inputs = read_inputs(model, z, parameters, product=False)
    kind = np.float32 if scalar == "float" else np.float64
    few = ap.simulate_many(system, z[:8], parameters=parameters, until=n * 1e-3, step=1e-3, method=method).dataset
    gpu = ap.simulate_many(system, z[:8], n * 1e-3, parameters, step=1e-3, method=method, backend="cuda", dtype=kind).dataset
    names = [name for name in few.data_vars if few[name].dtype.kind == "f"]
    error = max(float(np.abs(few[k].values - gpu[k].values).max() / (1 + np.abs(few[k].values).max())) for k in names)
    if not error < (1e-9 if scalar == "double" else 2e-3) or (gpu.status != 0).any():
        raise Disagreement(f"{name}, {scalar}: off by {error:.1e}")
    order = Order(
        t0=0.0, ends=np.array([n * 1e-3]), rtol=1e-9, atol=1e-12, step=1e-3, method=method, max_step=np.inf,
        max_steps=10**9, corner="raise", kept=Kept(), scalar=scalar, gpu=True,
    )  # fmt: skip
    run = ap.compile(model, parameters)
    best, kernel = np.inf, None
    for _ in range(3):
        kernel = OnGpu(run, inputs, order, np.arange(runs), Results(runs, order, model.nq + model.nv))
        kernel.work()
        best = min(best, kernel.kernel_seconds)
    about = kernel.kernel.attributes
    return {
        "work": f"{method}, {name}", "type": scalar, "per second": runs * n / best, "error": error,
        "registers": about["num_regs"], "local": about["local_size_bytes"],
    }  # fmt: skip


def whole_call(name: str, system: Any, parameters: Any, runs: int = 1 << 20) -> dict[str, Any]:
    """`simulate_many` of 100 fixed steps: runs a second of the whole call, from starts to dataset, and of its kernel."""
    z = np.random.default_rng(1).uniform(-1, 1, (runs, system.nq + system.nv))
    made, work = list[OnGpu](), OnGpu.work
    OnGpu.work = lambda self: made.append(self) or work(self)  # type: ignore[method-assign]
    try:
        ap.simulate_many(system, z[:64], 1.0, parameters, step=0.01, backend="cuda")  # compiled
        best = np.inf
        for _ in range(7):
            begin = perf_counter()
            found = ap.simulate_many(system, z, 1.0, parameters, step=0.01, backend="cuda").dataset
            best = min(best, perf_counter() - begin)
    finally:
        OnGpu.work = work  # type: ignore[method-assign]
    few = ap.simulate_many(system, z[:4096], 1.0, parameters, step=0.01).dataset
    names = [key for key in few.data_vars if few[key].dtype.kind == "f"]
    error = max(float(np.abs(found[key].values[:4096] - few[key].values).max()) for key in names)
    if not error < 1e-9 or (found.status != 0).any():
        raise Disagreement(f"{name}: off by {error:.1e}")
    kernel = min(one.kernel_seconds for one in made[1:])
    return {
        "work": f"simulate_many, {name}, {runs} runs of 100 steps, the whole call", "type": "double", "per second": runs / best,
        "error": error, "seconds": best, "kernel alone, per second": runs / kernel,
    }  # fmt: skip


def zoo_parity() -> dict[str, Any]:
    """Every system of the zoo on the device against the lanes of the CPU, 16 runs each; those that are chaotic stay short."""
    worst, made, alone = 0.0, 0, []
    for name, make in zoo.ALL.items():
        example = make()
        speed = example.system.velocities[0]
        near = [{**example.start, speed: float(example.start.get(speed, 0.0)) + d} for d in np.linspace(0, 0.1, 16)]
        try:
            near = [ap.consistent(example.system, start, parameters=example.parameters) for start in near]
        except ap.AppellError:
            near = [example.start] * 16
        starts = {key: np.array([float(start.get(key, 0.0)) for start in near]) for key in near[0]}
        results = [
            ap.simulate_many(example.system, starts, 0.2, example.parameters, step=1e-3, backend=b).dataset
            for b in ("auto", "cuda")
        ]
        if results[1].attrs["path"].startswith("one by one"):
            alone.append(name)
            continue
        made += 1
        if (results[0].status.values != results[1].status.values).any():
            raise Disagreement(f"{name}: {results[0].status.values} and {results[1].status.values}")
        for key in (k for k in results[0].data_vars if results[0][k].dtype.kind == "f"):
            a, b = (r[key].values for r in results)
            worst = max(worst, float(np.nanmax(np.abs(a - b)) / (1 + np.nanmax(np.abs(a)))))
    return {"work": f"zoo on the device, {made} systems", "type": "double", "error": worst, "one by one": alone}


def handed_over(folder: Path) -> dict[str, Any]:
    """Arrays of CuPy, PyTorch and JAX in and out of a robot's functions without a copy."""
    import jax
    import torch

    cp, tree = xp(), ap.Tree.from_urdf(folder / ROBOTS["ur5"][0])
    some = States.random(tree, 1000)
    right = tree.forward_dynamics(some.q, some.v, some.third)
    kinds = {
        "cupy": cp.asarray, "torch": lambda a: torch.as_tensor(a, device="cuda"), "jax": lambda a: jax.numpy.asarray(a),
    }  # fmt: skip
    jax.config.update("jax_enable_x64", True)
    found = {k: tree.forward_dynamics(make(some.q), make(some.v), make(some.third)) for k, make in kinds.items()}
    error = max(float(np.abs(a.get() - right).max() / np.abs(right).max()) for a in found.values())
    back = torch.from_dlpack(found["torch"])
    if back.data_ptr() != found["torch"].data.ptr or not error < 1e-12:
        raise Disagreement(f"handed over with an error of {error:.1e}")
    one = tree.forward_dynamics(*(cp.asarray(a[0]) for a in (some.q, some.v, some.third)))
    if not np.abs(one.get() - right[0]).max() < 1e-10:
        raise Disagreement("one state on the device")
    return {"work": "arrays of CuPy, PyTorch, JAX", "type": "double", "error": error}


def basin(folder: Path, side: int = 1000) -> dict[str, Any]:
    """A pendulum over three magnets with damping: which magnet each of side² starts at rest ends at; the labels as an array."""
    x, y = ap.coordinates("x y")
    corners = [(np.cos(a), np.sin(a)) for a in np.pi / 2 + 2 * np.pi / 3 * np.arange(3)]
    V = (x**2 + y**2) / 4 - sum(1 / sympy.sqrt((x - a) ** 2 + (y - b) ** 2 + 0.09) for a, b in corners)
    system = ap.System([x, y], (x.d**2 + y.d**2) / 2, V, {x: -0.2 * x.d, y: -0.2 * y.d}, name="magnets")
    line = np.linspace(-2, 2, side)
    starts = ap.outer({y: line, x: line})
    first = ap.simulate_many(system, {x: line[:64], y: line[:64]}, until=60.0, rtol=1e-8, backend="cuda").dataset  # compiled
    begin = perf_counter()
    ends = ap.simulate_many(system, starts, until=60.0, rtol=1e-8, backend="cuda").dataset
    whole = perf_counter() - begin
    few = ap.simulate_many(system, {k: v[:: side * side // 500] for k, v in starts.items()}, until=60.0, rtol=1e-8).dataset
    away = np.hypot(*(few[k].values - ends[k].values[:: side * side // 500] for k in ("x", "y")))
    distances = [np.hypot(ends.x.values - a, ends.y.values - b) for a, b in corners]
    labels = np.argmin(distances, axis=0).astype(np.uint8).reshape(side, side)
    np.savez_compressed(folder / "gpu_basin.npz", labels=labels)
    return {
        "work": f"basin, {side * side} starts, 60 s, rtol 1e-8", "type": "double", "seconds": whole,
        "failed": int((ends.status != 0).sum()), "path": first.attrs["path"],
        "same end as on the CPU": f"{int((away < 1e-3).sum())} of {len(away)}",
    }  # fmt: skip


def diffrax_pendulum(runs: int) -> dict[str, Any]:
    """The double pendulum by hand in JAX, Tsit5 with a fixed step, vmapped: steps a second."""
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def slope(t: Any, z: Any, args: Any) -> Any:
        a, b, u, v = z
        d, g = a - b, 9.81
        m = jnp.array([[2.0, jnp.cos(d)], [jnp.cos(d), 1.0]])
        f = jnp.array([-v * v * jnp.sin(d) - 2 * g * jnp.sin(a), u * u * jnp.sin(d) - g * jnp.sin(b)])
        det = m[0, 0] * m[1, 1] - m[0, 1] ** 2
        return jnp.array([u, v, (m[1, 1] * f[0] - m[0, 1] * f[1]) / det, (m[0, 0] * f[1] - m[0, 1] * f[0]) / det])

    def solve(z: Any) -> Any:
        term = diffrax.ODETerm(slope)
        return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 1.0, 1e-3, z, stepsize_controller=diffrax.ConstantStepSize(),
                                   max_steps=1100).ys  # fmt: skip

    call = jax.jit(jax.vmap(solve))
    z = jnp.asarray(np.random.default_rng(1).uniform(-1, 1, (runs, 4)))
    call(z).block_until_ready()
    best = np.inf
    for _ in range(3):
        begin = perf_counter()
        call(z).block_until_ready()
        best = min(best, perf_counter() - begin)
    return {"work": "diffrax Tsit5, 2 links", "type": "double", "per second": runs * 1000 / best, "error": None}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--robots", type=Path, required=True, help="folder of example-robot-data's robots")
    parser.add_argument("parts", nargs="*", help="of robots, walls, many, others, zoo, call; all by default")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    links, few = {n: ap.zoo.n_pendulum(n) for n in (2, 5)}, [ap.zoo.n_pendulum(n) for n in (1, 2)]
    arm = ap.Tree.from_urdf(options.robots / ROBOTS["ur5"][0], limits=False)
    parts: dict[str, list[Callable[[], dict[str, Any]]]] = {
        "robots": [partial(forward_dynamics, options.robots, *case) for case in product(ROBOTS, SCALARS)],
        "walls": [partial(walls, scalar) for scalar in SCALARS],
        "many": [
            partial(many, f"{n} links", example.system, example.parameters, 1.0, scalar, 1 << 20 if n == 2 else 1 << 18, method)
            for (n, example), method, scalar in product(links.items(), ("rk4", "dop853"), SCALARS)
        ]
        + [partial(many, "ur5", arm, None, 1.0, s, 1 << 18) for s in SCALARS],
        "others": [partial(handed_over, options.robots), partial(basin, options.results), partial(diffrax_pendulum, 1 << 17)],
        "zoo": [zoo_parity],
        "call": [partial(whole_call, f"{n} links", one.system, one.parameters) for n, one in enumerate(few, start=1)],
    }
    device = xp().cuda.runtime.getDeviceProperties(0)["name"].decode()
    about = {"date": datetime.now(UTC).date().isoformat(), "device": device, "cupy": xp().__version__, "appell": ap.__version__}
    rows: list[dict[str, Any]] = []
    for name in options.parts or parts:
        for part in parts[name]:
            rows.append(part())
            print(rows[-1], flush=True)
            (options.results / "gpu.json").write_text(json.dumps({"about": about, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
