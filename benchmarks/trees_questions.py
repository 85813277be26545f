"""Other questions to a tree, one call from Python on one state: centroidal map, regressor, wrenches, masses at run time, J̇ v,
inverse kinematics. The least of several turns, both sides in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import agree, interleaved
from benchmarks.report import Table, ratio, seconds

if TYPE_CHECKING:
    from benchmarks.trees import Case

CALLS = 100
CLOSE = 1e-9  # of the largest entry
POSES = 5  # targets of inverse kinematics, a few tenths of a radian away
MET = 1e-8  # m and rad: what both sides call reached
NAMES = ("centroidal", "regressor", "wrenches", "masses", "bias", "reach")
HEADS = ("centroidal map", "regressor", "wrenches", "masses at run time", "J̇ v", "inverse kinematics")


def questions(case: Case, turn: float) -> dict[str, Any]:
    """Least time of one call of each question, ours and Pinocchio's."""
    from benchmarks.trees import busy

    record: dict[str, Any] = {"robot": case.robot.name, "error": 0.0}
    for name, (ours, theirs) in _pairs(case).items():
        record["error"] = max(record["error"], agree(f"{case.robot.name}: {name}", ours(), theirs(), CLOSE))
        repeat = lambda call: busy(lambda: [call() for _ in range(CALLS)], CALLS)
        record |= interleaved({name: repeat(ours), f"{name} peer": repeat(theirs)}, seconds=turn)
    if not case.robot.floating:
        ours, theirs = _reaching(case)
        record |= interleaved({"reach": busy(ours, POSES), "reach peer": busy(theirs, POSES)}, seconds=turn)
    return record


def _pairs(case: Case) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Question → our call and Pinocchio's, at the first state."""
    tree, peer, states = case.tree, case.pinocchio, case.states
    pin, model, data = peer.pin, peer.model, peer.data
    q, v, a, there = states.q[0], states.v[0], states.third[0], states.q_pinocchio[0]
    joint = model.njoints - 1
    frame, still = model.getFrameId(model.names[joint]), np.zeros(model.nv)
    loaded = tree.parametrized({tree.nodes[-1].name: "mass"})
    values, heavier = loaded.values + 1.0, pin.Model(model)
    heavier.inertias[joint].mass = float(values[0])
    room = heavier.createData()
    body = heavier.inertias[joint]

    def wrenches() -> Any:
        pin.rnea(model, data, there, v, a)
        return np.array([data.f[k].vector for k in range(1, model.njoints)])

    def masses() -> Any:
        body.mass = float(values[0])
        return pin.aba(heavier, room, there, v, a)

    def bias() -> Any:
        pin.forwardKinematics(model, data, there, v, still)
        return pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL_WORLD_ALIGNED).vector

    name = model.names[joint]
    for method in (tree.centroidal, tree.regressor, tree.wrenches):
        method(*((q,) if method.__name__ == "centroidal" else (q, v, a)))  # from now on entries into machine code
    return {
        "centroidal": (lambda: tree.centroidal(q), lambda: pin.computeCentroidalMap(model, data, there)),
        "regressor": (lambda: tree.regressor(q, v, a), lambda: pin.computeJointTorqueRegressor(model, data, there, v, a)),
        "wrenches": (lambda: tree.wrenches(q, v, a), wrenches),
        "masses": (lambda: loaded.forward_dynamics(q, v, a, values), masses),
        "bias": (lambda: tree.bias_acceleration(name, q, v), bias),
    }


def _reaching(case: Case) -> tuple[Callable[[], None], Callable[[], None]]:
    """The same poses of the last joint from the same starts: `tree.reach`, and the loop of Pinocchio's documentation."""
    tree, peer = case.tree, case.pinocchio
    pin, model, data = peer.pin, peer.model, peer.data
    rng, joint = np.random.default_rng(1), model.njoints - 1
    name = model.names[joint]
    near = tree.random(rng, POSES)
    poses = [tree.placement(name, tree.integrate(q, rng.uniform(-0.3, 0.3, tree.nv))) for q in near]

    def ours() -> None:
        for q, pose in zip(near, poses, strict=True):
            if not tree.reach({name: pose}, near=q, limits=False, attempts=1, tolerance=MET).ok:
                raise AssertionError(f"{case.robot.name}: a pose near the start was not reached")

    def theirs() -> None:
        for start, (R, p) in zip(near, poses, strict=True):
            q, target = tree.to_pinocchio(start), pin.SE3(R, p)
            for _ in range(1000):
                pin.forwardKinematics(model, data, q)
                apart = data.oMi[joint].actInv(target)
                error = pin.log6(apart).vector
                if np.linalg.norm(error) < MET:
                    break
                J = -pin.Jlog6(apart.inverse()) @ pin.computeJointJacobian(model, data, q, joint)
                step = -J.T @ np.linalg.solve(J @ J.T + 1e-12 * np.eye(6), error)
                q = pin.integrate(model, q, step)
            else:
                raise AssertionError(f"{case.robot.name}: Pinocchio's loop did not reach a pose near the start")

    return ours, theirs


def questions_table(records: list[dict[str, Any]]) -> Table:
    """Ours, Pinocchio's, and how many times faster ours is, question by question."""
    rows = []
    for r in records:
        cells = []
        for name in NAMES:
            known = name in r
            cells += [seconds(r[name]), seconds(r[f"{name} peer"]), ratio(r[f"{name} peer"] / r[name])] if known else ["–"] * 3
        rows.append((r["robot"], *cells))
    return Table(
        title="Other questions, one call from Python on one state",
        columns=("robot", *(cell for head in HEADS for cell in (head, "Pinocchio", f"× {head}"))),
        rows=tuple(rows),
        notes=(
            "wrenches: Pinocchio's rnea with its data.f as one array; masses at run time: aba after a mass was set",
            f"inverse kinematics: {POSES} poses near the start to {MET:g} m and rad, against the loop in Pinocchio's"
            " documentation, which stops at the first solution; ours goes on to the nearest one, and keeps bounds",
        ),
        records=tuple(records),
    )
