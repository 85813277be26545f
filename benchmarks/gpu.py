"""Functions of robots and many motions on a GPU: `python -m benchmarks.gpu --robots FOLDER`, on a machine that has one.

Each kernel is checked against the C or CasADi's evaluator on this machine before it is timed. Results go to
`benchmarks/results/gpu.json` and `gpu.md` with the date and the device.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import appell as ap
from appell.backends.cuda.device import on_device, xp
from benchmarks.measure import Disagreement
from benchmarks.report import HERE
from benchmarks.robots import States

ROBOTS = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", False),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", True),
    "g1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", True),
}
STATES = 1 << 20


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
    """2²⁰ states of a robot, arrays on the device: states a second."""
    cp, (file, floating) = xp(), ROBOTS[name]
    tree = ap.Tree.from_urdf(folder / file, floating)
    fn, kind = tree.function("forward_dynamics"), np.dtype("float64" if scalar == "double" else "float32")
    some = States.random(tree, 64)
    few = (some.q, some.v, some.third)
    right = np.array([fn(*state)[fn.outputs[0].name] for state in zip(*few, strict=True)])
    arrays = [cp.asarray(np.resize(a, (STATES, a.shape[1])), kind) for a in few]
    out = cp.empty((STATES, tree.nv), kind)
    on_device(fn, arrays, out=out)
    error = float(np.abs(out[:64].get() - right).max() / np.abs(right).max())
    if not error < (1e-12 if scalar == "double" else 1e-3):
        raise Disagreement(f"{name}, {scalar}: off by {error:.1e}")
    best = seconds(lambda: on_device(fn, arrays, out=out))
    return {"work": f"forward dynamics, {name}", "type": scalar, "per second": STATES / best, "error": error}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--robots", type=Path, required=True, help="folder of example-robot-data's robots")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    options = parser.parse_args()
    rows = [forward_dynamics(options.robots, name, scalar) for name in ROBOTS for scalar in ("double", "float")]
    device = xp().cuda.runtime.getDeviceProperties(0)["name"].decode()
    about = {"date": datetime.now(UTC).date().isoformat(), "device": device, "cupy": xp().__version__, "appell": ap.__version__}
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / "gpu.json").write_text(json.dumps({"about": about, "rows": rows}, indent=1))
    for row in rows:
        print(f"{row['work']:32} {row['type']:7} {row['per second']:.3e} /s   error {row['error']:.1e}")


if __name__ == "__main__":
    main()
