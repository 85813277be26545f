"""Trees of rigid bodies: batches, single calls and preparation against Pinocchio, MuJoCo and heyoka, all on one core.

Times are CPU seconds of the process (threads that a peer starts included), the least of several turns: on a shared
machine a short run finds a quiet moment more easily than a long one, and wall time would favour the faster side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.backends import Call, c_function, compile_c
from appell.tree import Tree
from benchmarks.measure import agree, interleaved
from benchmarks.peak import peak
from benchmarks.report import Table, ratio, seconds
from benchmarks.robots import ROBOTS, Array, Heyoka, Pinocchio, Robot, States
from benchmarks.trees_derivatives import derivatives, derivatives_table
from benchmarks.trees_landing import landing_table
from benchmarks.trees_questions import questions, questions_table
from benchmarks.trees_ready import chain_table, ready_table

STATES = 4096
BLOCK = 64  # states: batches of matrices are multiples of it
LARGE, SMALL = 4e6, 0.75e6  # bytes of the matrices of one batch: in the caches all cores share, in the core's own 1 MB
AGREES = 1e-9  # of the largest acceleration, at the worst of all states (1e-10 on g1)
SINGLE = 1e-3  # what single precision may lose on an acceleration, of the largest


@dataclass(frozen=True)
class Case:
    """A robot on every side, at the same states."""

    robot: Robot
    tree: Tree
    pinocchio: Pinocchio
    states: States

    @staticmethod
    def of(robot: Robot, count: int) -> Case:
        tree = Tree.from_urdf(robot.path, floating=robot.floating)
        return Case(robot, tree, Pinocchio(robot), States.random(tree, count))

    def call(self, question: str) -> Call:
        fn = self.tree.function(question)
        return c_function(compile_c([fn]), fn)


def tables(quick: bool) -> list[Table]:
    robots = ROBOTS[:1] if quick else ROBOTS
    cases = [Case.of(robot, 1024 if quick else STATES) for robot in robots]
    turn = 0.05 if quick else 1.5
    return [
        _forward_table([_forward(case, turn) for case in cases]),
        _inverse_table([_inverse(case, turn) for case in cases]),
        _mass_table([_mass(case, turn) for case in cases]),
        _single_table([_single(case, turn) for case in cases]),
        derivatives_table([derivatives(case, turn) for case in cases]),
        questions_table([questions(case, turn) for case in cases]),
        ready_table(robots, repeats=1 if quick else 3),
        chain_table(quick),
        *([] if quick else [landing_table()]),
    ]


def busy(call: Callable[[], Any], count: int) -> Callable[[], float]:
    """A call that takes its own CPU time, divided by `count`."""

    def clocked() -> float:
        start = time.process_time()
        call()
        return max(time.process_time() - start, 1e-9) / count  # the clock of some machines moves in steps

    return clocked


def _each(function: Callable[..., Any], model: Any, data: Any, *columns: Array) -> Callable[[], None]:
    """Pinocchio's function at one state after the other, in the shortest loop Python has."""
    rows = list(zip(*columns, strict=True))

    def run() -> None:
        for row in rows:
            function(model, data, *row)

    return run


def _in_turn(function: Callable[..., Any], parts: Sequence[Array]) -> None:
    """Each answer is dropped before the next one is made, so that the allocator may give its memory again."""
    for part in parts:
        function(part)


def _reusing(function: Callable[..., Any], parts: Sequence[Array]) -> Callable[[], None]:
    """All answers to the same memory."""
    room = function(parts[0])
    pairs = [(part, room[: len(part)]) for part in parts]

    def run() -> None:
        for part, out in pairs:
            function(part, out=out)

    return run


# --- forward dynamics of a batch --------------------------------------------------------------------------------------


def _forward(case: Case, turn: float) -> dict[str, Any]:
    states, peer, count = case.states, case.pinocchio, len(case.states.q)
    call = case.call("forward_dynamics")
    double = (states.q, states.v, states.third)
    single = tuple(x.astype(np.float32) for x in double)
    parallel, result = peer.parallel("abaInParallel", states)
    parallel()
    theirs = np.array([peer.forward(*row) for row in zip(states.q_pinocchio, states.v, states.third, strict=True)])
    a = call.batch(*double)[0]
    name = case.robot.name
    operations = case.tree.function("forward_dynamics").operations
    record: dict[str, Any] = {"robot": name, "nv": case.tree.nv, "operations": operations}
    record["error"] = max(agree(f"{name}: aba", a, theirs, AGREES), agree(f"{name}: abaInParallel", a, result.T, AGREES))
    record["error_single"] = agree(f"{name}: float32", call.batch(*single, dtype=np.float32)[0], theirs, SINGLE)
    calls = {
        "double": busy(lambda: call.batch(*double), count),
        "single": busy(lambda: call.batch(*single, dtype=np.float32), count),
        "aba": busy(_each(peer.pin.aba, peer.model, peer.data, states.q_pinocchio, states.v, states.third), count),
        "parallel": busy(parallel, count),
    }
    for key, prepare in (("heyoka", _heyoka), ("mujoco", _mujoco)):
        found = prepare(case, a)
        if isinstance(found, str):
            record[f"no {key}"] = found
        else:
            calls[key] = found
    return {**record, **interleaved(calls, seconds=turn)}


def _heyoka(case: Case, a: Array) -> Callable[[], float] | str:
    """`cfunc` of the same instructions, in its own layout (a state is a column); or why not."""
    try:
        function = Heyoka.of(case.tree.function("forward_dynamics")).function
    except ImportError:
        return "heyoka is not installed"
    x = np.ascontiguousarray(np.hstack([case.states.q, case.states.v, case.states.third]).T)
    y = np.zeros((case.tree.nv, len(a)))
    agree(f"{case.robot.name}: heyoka", a, function(x, outputs=y).T, AGREES)
    return busy(lambda: function(x, outputs=y), len(a))


def _mujoco(case: Case, a: Array) -> Callable[[], float] | str:
    """`mj_forward` without contacts; or why not."""
    try:
        from benchmarks.mujoco_peer import MuJoCo

        peer = MuJoCo(case.robot, case.tree, case.states)
    except ImportError:
        return "MuJoCo is not installed"
    except ValueError as error:
        return f"MuJoCo does not take the file: {' '.join(str(error).split())}"
    count = min(512, len(a))
    agree(f"{case.robot.name}: MuJoCo", a[:count], peer.in_our_order(peer.run(count)), AGREES)
    return busy(lambda: peer.run(count), count)


def _forward_table(records: list[dict[str, Any]]) -> Table:
    rows = []
    for r in records:
        other = [seconds(r[key]) if key in r else "—" for key in ("heyoka", "mujoco")]
        rows.append((
            r["robot"], str(r["nv"]), f"{r['operations']:,}", seconds(r["double"]), seconds(r["single"]), seconds(r["aba"]),
            seconds(r["parallel"]), *other, ratio(r["aba"] / r["double"]), ratio(r["parallel"] / r["double"]),
            ratio(r["aba"] / r["single"]), f"{r['operations'] / r['double'] / peak('double'):.0%}",
            f"{r['operations'] / r['single'] / peak('float'):.0%}",
        ))  # fmt: skip
    reasons = [f"{r['robot']}: {r[key]}" for r in records for key in ("no heyoka", "no mujoco") if key in r]
    return Table(
        title="Forward dynamics of a batch of states, one core, time a state",
        columns=(
            "robot", "nv", "operations", "appell f64", "appell f32", "aba", "abaInParallel", "heyoka", "MuJoCo", "× aba",
            "× parallel", "f32 × aba", "of peak f64", "f32",
        ),
        rows=tuple(rows),
        notes=(
            "aba: called from Python state by state; abaInParallel: on one thread; × is appell's throughput over theirs",
            "heyoka: cfunc of the same instructions, states as columns; appell's time includes transposing rows",
            "MuJoCo: mj_forward from Python without contacts and limits, which also factorises M and places the bodies",
            "operations: +, −, ×, ÷, a sine or cosine counted as one; of peak: operations a second over "
            f"{peak('double') / 1e9:.0f} (f64), {peak('float') / 1e9:.0f} (f32) Gop/s, measured here on independent "
            "multiply-adds on full vectors, each counted as two",
            f"agreement: {max(r['error'] for r in records):.0e} of the largest acceleration in double, "
            f"{max(r['error_single'] for r in records):.0e} in single precision",
            *reasons,
        ),
        records=tuple(records),
    )  # fmt: skip


# --- inverse dynamics and the mass matrix of a batch ------------------------------------------------------------------


def _inverse(case: Case, turn: float) -> dict[str, Any]:
    states, peer, count, name = case.states, case.pinocchio, len(case.states.q), case.robot.name
    inverse, arguments = case.call("inverse_dynamics"), (states.q, states.v, states.third)
    parallel, result = peer.parallel("rneaInParallel", states)
    parallel()
    error = agree(f"{name}: rnea", inverse.batch(*arguments)[0], result.T, 1e-11)
    calls = {
        "inverse": busy(lambda: inverse.batch(*arguments), count),
        "rnea": busy(_each(peer.pin.rnea, peer.model, peer.data, states.q_pinocchio, states.v, states.third), count),
        "parallel": busy(parallel, count),
    }
    return {"robot": name, "error": error, **interleaved(calls, seconds=turn)}


def _inverse_table(records: list[dict[str, Any]]) -> Table:
    rows = tuple(
        (
            r["robot"], seconds(r["inverse"]), seconds(r["rnea"]), seconds(r["parallel"]), ratio(r["rnea"] / r["inverse"]),
            ratio(r["parallel"] / r["inverse"]),
        )
        for r in records
    )  # fmt: skip
    return Table(
        title="Inverse dynamics of a batch of states, one core, time a state",
        columns=("robot", "inverse", "rnea", "rneaInParallel", "× rnea", "× parallel"),
        rows=rows,
        notes=(
            "rnea: called from Python state by state; rneaInParallel: on one thread",
            f"agreement: {max(r['error'] for r in records):.0e} of the largest entry",
        ),
        records=tuple(records),
    )


def _mass(case: Case, turn: float) -> dict[str, Any]:
    """Batches whose answers stay in the core's own cache, and larger ones: to fresh memory, or all to one array."""
    states, peer, count, name = case.states, case.pinocchio, len(case.states.q), case.robot.name
    case.tree.mass_matrix(states.q)  # compiles the vectors; from now on the method is an entry into machine code
    function = case.tree.mass_matrix
    M = np.array([np.triu(peer.mass_matrix(q)) for q in states.q_pinocchio])
    error = agree(f"{name}: crba", np.triu(function(states.q)), M, 1e-11)
    record: dict[str, Any] = {"robot": name, "error": error}
    calls = {"crba": busy(_each(peer.pin.crba, peer.model, peer.data, states.q_pinocchio), count)}
    for size, most in (("small", SMALL), ("large", LARGE)):
        each = min(count, max(1, int(most / (8 * case.tree.nv**2 * BLOCK))) * BLOCK)
        parts = [states.q[k : k + each] for k in range(0, count, each)]
        record[f"{size} states"] = each
        calls[f"{size} fresh"] = busy(lambda parts=parts: _in_turn(function, parts), count)
        calls[f"{size} out"] = busy(_reusing(function, parts), count)
    case.tree.mass_triangle(states.q)
    calls["triangle"] = busy(_reusing(case.tree.mass_triangle, parts), count)
    return {**record, **interleaved(calls, seconds=turn)}


def _mass_table(records: list[dict[str, Any]]) -> Table:
    kinds = ("small out", "small fresh", "large out", "large fresh", "triangle")
    rows = tuple(
        (
            r["robot"], *(cell for size in ("small", "large") for cell in (
                str(r[f"{size} states"]), seconds(r[f"{size} out"]), seconds(r[f"{size} fresh"])
            )), seconds(r["triangle"]), seconds(r["crba"]), *(ratio(r["crba"] / r[kind]) for kind in kinds),
        )
        for r in records
    )  # fmt: skip
    return Table(
        title="Mass matrix of a batch of states, one core, time a state",
        columns=(
            "robot", "states", "out=", "fresh", "states, large", "out=", "fresh", "triangle", "crba", "× out=", "× fresh",
            "× large out=", "× large fresh", "× triangle",
        ),
        rows=rows,
        notes=(
            "crba: called from Python state by state; it fills one triangle of one matrix that stays in the cache, appell the "
            "whole matrix of every state, 8 nv² bytes",
            f"states: of one batch, a multiple of {BLOCK}; at most {SMALL / 1e6:g} MB of answers, which stay in the core's own "
            f"cache, or {LARGE / 1e6:g} MB, which do not; out=: all batches to one array, fresh: each to memory of its own",
            "triangle: mass_triangle, one triangle as crba, in the large batches with out=",
            f"agreement: {max(r['error'] for r in records):.0e} of the largest entry",
        ),
        records=tuple(records),
    )  # fmt: skip


# --- one call from Python ---------------------------------------------------------------------------------------------

QUESTIONS = (("forward_dynamics", "aba"), ("inverse_dynamics", "rnea"), ("mass_matrix", "crba"))


def _single(case: Case, turn: float) -> dict[str, Any]:
    """One state, as a user calls it: a method of `Tree`, a function of Pinocchio."""
    states, peer, loops = case.states, case.pinocchio, range(300)
    record: dict[str, Any] = {"robot": case.robot.name}
    for question, theirs in QUESTIONS:
        rest = () if question == "mass_matrix" else (states.v[0], states.third[0])
        ours, other = (states.q[0], *rest), (peer.model, peer.data, states.q_pinocchio[0], *rest)
        answer, function = getattr(case.tree, question)(*ours), getattr(peer.pin, theirs)
        agree(f"{case.robot.name}: {theirs}", np.triu(answer), np.triu(function(*other)), 1e-10)
        method = getattr(case.tree, question)  # since its first answer an entry into machine code
        many = {
            question: busy(lambda f=method, x=ours: [f(*x) for _ in loops], len(loops)),
            theirs: busy(lambda f=function, x=other: [f(*x) for _ in loops], len(loops)),
        }
        record |= interleaved(many, seconds=turn)
    return record


def _single_table(records: list[dict[str, Any]]) -> Table:
    pairs = lambda r: [(seconds(r[x]), seconds(r[y]), ratio(r[y] / r[x])) for x, y in QUESTIONS]
    return Table(
        title="One call from Python on one state",
        columns=("robot", "forward", "aba", "×", "inverse", "rnea", "×", "mass matrix", "crba", "×"),
        rows=tuple((r["robot"], *(cell for three in pairs(r) for cell in three)) for r in records),
        notes=("appell: the methods of Tree, whose answers are fresh arrays; the C code of one state, not vectors of states",),
        records=tuple(records),
    )
