"""A quadruped lands: anymal dropped by 5 cm onto rough ground, springs and dampers in its joints, one or three points a foot.

Three points on each foot are 12 faces and 24 rows of friction beside 18 velocities; the run is compiled once for all modes."""

from __future__ import annotations

from typing import Any

import numpy as np

import appell as ap
from appell.tree import contact_point
from benchmarks.impacts import clocked
from benchmarks.report import Table, ratio, seconds
from benchmarks.robots import ROBOTS

FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
FRICTION, SPREAD, STIFFNESS, DAMPING = 0.7, 0.02, 200.0, 5.0  # 1, m, N m/rad, N m s/rad
DROP, UNTIL = 0.05, 2.0


def stance(joint: str) -> float:
    """The angle at which a leg stands, rad: hind legs are mirrored."""
    leg, part = joint.split("_")
    return {"HAA": 0.0, "HFE": 0.7, "KFE": -1.4}[part] * (1 if leg[1] == "F" else -1)


def quadruped(points: int) -> tuple[Any, dict[Any, float]]:
    """The system and its start, with so many points on the circle of each foot, level where it stands."""
    (path,) = (robot.path for robot in ROBOTS if robot.name.startswith("anymal"))
    tree = ap.Tree.from_urdf(path, floating=True, limits=False)
    angles = {node.name: stance(node.name) for node in tree.nodes[1:]}
    forces = {(x := tree.joint(name)): -STIFFNESS * (x - q) - DAMPING * x.d for name, q in angles.items()}
    q, rows = tree.configuration(angles), []
    for foot in FEET:
        R, _ = tree.placement(foot, q)
        for k in range(points):
            turn = 2 * np.pi * k / points
            level = np.array([np.cos(turn), np.sin(turn), 0]) * (SPREAD if points > 1 else 0)
            at = tuple(R.T @ level)
            rows += contact_point(tree.frame(foot), at, one_sided=True, friction=FRICTION, name=f"{foot[:2]}{k}")
    q[2] += DROP - min(tree.placement(foot, q)[1][2] for foot in FEET)
    return tree.system(rows, forces=forces), dict(zip(tree.system().coordinates, q, strict=True))


def landing_table() -> Table:
    """Processor time of two seconds of motion, and their balance of energy."""
    rows, records = [], []
    for points in (1, 3):
        system, start = quadruped(points)
        ap.simulate(system, start, until=0.01)  # builds the loop
        motion, spent = clocked(lambda system=system, start=start: ap.simulate(system, start, until=UNTIL))
        steps, balance = int(motion.statistics["steps"]), float(np.abs(motion.energy_error).max())
        counts = (f"{4 * points}", f"{steps:,}", f"{len(motion.impacts)}")
        rows.append((*counts, f"{balance:.1e}", seconds(spent), ratio(UNTIL / spent)))
        records.append({"points": 4 * points, "steps": steps, "seconds": spent, "balance": balance})
    return Table(
        title="A quadruped lands on rough points: two seconds of motion",
        columns=("points", "steps", "events", "energy balance", "CPU time", "× real time"),
        rows=tuple(rows),
        notes=("anymal, dropped by 5 cm; Coulomb's cone of μ = 0.7 at every point, events located, default tolerances",),
        records=tuple(records),
    )
