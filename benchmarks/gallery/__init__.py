"""The mechanics of opty's gallery (csu-hmc/opty, `examples-gallery`), each from a model of at most fifteen lines.

    python -m benchmarks gallery [--quick]

opty itself needs IPOPT with its headers, which no package index has, so its own times are not measured. Compared is what it
stores: the duration h (nodes − 1) of its solutions, values that its pages quote, or values with which records were made. Where
it stores none, the last two meshes say how many digits can be believed.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import Any

from benchmarks.gallery.published import PROBLEMS, GalleryProblem
from benchmarks.report import Table, seconds

FILES = (
    "pendulums", "particles", "crossings", "obstacles", "vehicles", "flights", "machines", "identification", "people", "bodies",
    "runners", "jumpers", "trains", "discs",
)  # fmt: skip
QUICK = ("betts_pendulum", "brachistochrone_above_a_line", "gates", "there_and_back")

LEFT_OUT = {
    "no mechanics": (
        "beginner/plot_betts2003", "beginner/plot_betts_10_7", "beginner/plot_betts_10_50", "beginner/plot_parallel",
    ),
    "an argument that lags behind": ("intermediate/plot_delay_constraint",),
    "variants of others": (
        "beginner/plot_algebraic", "beginner/plot_hilly_ride", "beginner/plot_coulomb_friction_slack_variables",
        "intermediate/plot_car_on_racecourse_num_traj",
    ),
}  # fmt: skip
"""Files of the gallery that are not here, by the reason."""

for _name in FILES:
    import_module(f"benchmarks.gallery.{_name}")


def tables(quick: bool) -> list[Table]:
    chosen = [one for one in PROBLEMS if one.solve.__name__ in QUICK or not quick]
    heads = ("problem", "lines", "ours", "last two meshes", "opty", "ours / theirs", "iterations", "error", "rows", "time")
    remarks = tuple(f"{one.name}: {one.remark}" for one in chosen if one.remark)
    left = tuple(f"left out, {why}: {', '.join(files)}" for why, files in LEFT_OUT.items())
    return [Table("opty's gallery", heads, tuple(_row(one) for one in chosen), (*remarks, *left))]


def _row(one: GalleryProblem) -> tuple[str, ...]:
    begin = time.process_time()
    found = one.solve(one.tolerance)
    took = time.process_time() - begin
    value = _value(one, found)
    said = f"{value:.8g}" + ("" if one.measure == "objective" else f" ({one.measure})")
    said += "" if found.ok else f"; not settled: {found.message[:60]}"
    theirs = "" if one.theirs is None else f"{one.theirs:.8g}"
    share = "" if one.theirs is None else f"{value / one.theirs:.6g}"
    row = (one.name, str(one.lines), said, _evidence(one, found), theirs, share, *_work(found), seconds(took))
    print(*row, sep=" | ", file=sys.stderr, flush=True)  # the whole table takes minutes
    return row


def _value(one: GalleryProblem, found: Any) -> float:
    if one.measure == "objective":
        return float(found.objective)
    if one.measure == "duration":
        return float(found.duration)
    if one.measure == "height":
        return -float(found.objective)
    if "+" in one.measure:
        return sum(float(x) for s, x in found.values.items() if str(s) in one.measure.split(" + "))
    return float(found.values[one.measure])


def _evidence(one: GalleryProblem, found: Any) -> str:
    """The relative change of the objective over the last two meshes, or the standard error of a fit."""
    if not hasattr(found, "meshes"):
        return f"± {float(found.errors[one.measure]):.2g}"
    last = [mesh.objective for mesh in found.meshes[-2:]]
    return f"{abs(last[-1] - last[0]) / max(abs(last[-1]), 1e-300):.0e}" if len(last) > 1 else ""


def _work(found: Any) -> tuple[str, str, str]:
    """Iterations, error by simulation, and the largest residual of rows at nodes and between them."""
    if not hasattr(found, "meshes"):
        return "", "", ""
    rows = ""
    if found.motion is not None and found.motion.system.constraints:
        drifts = [found.motion.drift, found.motion.fine(400).drift]
        rows = ", ".join(f"{max(one.position, one.velocity):.0e}" for one in drifts)
    return str(found.iterations), f"{found.error:.0e}", rows
