"""The mechanics of opty's gallery (csu-hmc/opty, `examples-gallery`), each from a model of at most fifteen lines.

    python -m benchmarks gallery [--quick]

opty itself needs IPOPT with its headers, which no package index has, so its own times are not measured. Compared is what it
stores: the duration h (nodes − 1) of its solutions, values that its pages quote, or values with which records were made. Where
it stores none, the last two meshes say how many digits can be believed.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

from benchmarks.gallery.published import PROBLEMS, GalleryProblem
from benchmarks.report import Table, seconds

FILES = ("pendulums", "particles", "crossings", "obstacles", "vehicles", "flights", "machines", "people", "identification")
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
    "light without drag: on a speed limit nothing decides the force, and the search does not settle": (
        "intermediate/plot_light_diffraction",
    ),
    "two discs: a contact by a smooth spring of 1000 N/m that also attracts, stiff friction; no plan from our guesses": (
        "beginner/plot_disc_pushing_disc",
    ),
    "trains with trailers: a plan on 29 intervals (2.175 s, opty 3.75 s), which finer meshes did not settle in ten minutes": (
        "beginner/plot_tractor_trailer", "beginner/plot_tractor_three_trailer",
    ),
    "people, not written: seven bodies, elastic contacts of heels and toes with friction that turns within 0.01 m/s": (
        "advanced/plot_human_gait", "advanced/plot_sit_to_stand", "advanced/plot_standing_flips",
    ),
}  # fmt: skip
"""Files of the gallery that are not here, by the reason."""

for _name in FILES:
    import_module(f"benchmarks.gallery.{_name}")


def tables(quick: bool) -> list[Table]:
    chosen = [one for one in PROBLEMS if one.solve.__name__ in QUICK] if quick else PROBLEMS
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
    return (one.name, str(one.lines), said, _evidence(one, found), theirs, share, *_work(found), seconds(took))


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
