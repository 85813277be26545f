"""A function of a tree as CUDA text with several warps per state, one for each limb.

A robot in one thread has more live values than a thread has registers. Values that depend on a single limb are computed by the
warp of that limb, values where limbs join by the first warp, and values that then go out into a single limb by its warp again:

    limbs inwards  |  the first warp: where they meet  |  limbs outwards            32 states per block, one warp per limb

Values passed between warps are in shared memory; what a limb needs on the way out stays in its registers. Values that
depend on no limb are computed by every warp that needs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate
from operator import or_

from appell.backends.text.c_source import emit_plan
from appell.backends.text.dialect import Dialect
from appell.backends.text.function_chunks import ANYWHERE, Plan
from appell.graph.fn import Fn
from appell.graph.instructions import Instruction

STATES_PER_BLOCK = 32
"""A block has as many states as a warp has threads."""

PITCH = STATES_PER_BLOCK + 1
"""Distance between entries in shared memory: neighbours, written by one warp, are then in different banks."""

NO_LIMB = -1
"""The limb of entries that belong to none."""

BARRIER = Instruction("meet", -1)


@dataclass(frozen=True)
class Limbs:
    """The limb of each entry of the inputs and of the outputs, port by port, row by row; `NO_LIMB` for entries that belong to
    none."""

    count: int
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Shares:
    """The program of each warp, with barriers, and the positions in shared memory of values passed between warps."""

    programs: tuple[tuple[Instruction, ...], ...]
    slot: dict[int, int]

    @staticmethod
    def of(stream: Sequence[Instruction], limbs: Limbs) -> Shares:
        roles = _roles(stream, limbs)
        programs = tuple(_program(stream, roles, warp) for warp in range(limbs.count))
        maker = {item.out: item for item in stream if item.op != "output"}
        role_of = {item.out: role for item, role in zip(stream, roles, strict=True) if item.op != "output"}
        passed = {
            arg: None
            for item, role in zip(stream, roles, strict=True)
            for arg in item.args
            if role is not None and maker[arg].op not in ANYWHERE and (role_of[arg] or role).warp != role.warp
        }
        return Shares(programs, {value: k * PITCH for k, value in enumerate(passed)})


@dataclass(frozen=True)
class _Role:
    """Which warp computes a value, and in which stage: 0 inwards, 1 where limbs meet, 2 outwards."""

    warp: int
    stage: int


def _roles(stream: Sequence[Instruction], limbs: Limbs) -> list[_Role | None]:
    """The role of each instruction; None: computed by every warp that needs it."""
    depends_on: dict[int, int] = {}  # limbs on which a value depends, as bits
    needed_by: dict[int, int] = {}  # limbs whose results depend on it
    for item in stream:
        if item.op == "input":
            limb = limbs.inputs[item.port or 0][item.index or 0]
            depends_on[item.out] = 0 if limb == NO_LIMB else 1 << limb
        elif item.op != "output":
            depends_on[item.out] = reduce(or_, (depends_on[arg] for arg in item.args), 0)
    for item in reversed(stream):
        if item.op == "output":
            limb = limbs.outputs[item.port or 0][item.index or 0]
            limbs_ahead = 1 << (limbs.count if limb == NO_LIMB else limb)
        else:
            limbs_ahead = needed_by.get(item.out, 0)
        for arg in item.args:
            needed_by[arg] = needed_by.get(arg, 0) | limbs_ahead

    def role(value: int) -> _Role | None:
        if not depends_on[value]:
            return None
        if depends_on[value].bit_count() == 1:
            return _Role(depends_on[value].bit_length() - 1, 0)
        single = needed_by[value].bit_count() == 1 and not needed_by[value] >> limbs.count
        return _Role(needed_by[value].bit_length() - 1, 2) if single else _Role(0, 1)

    return [role(item.args[0]) or _Role(0, 1) if item.op == "output" else role(item.out) for item in stream]


def _program(stream: Sequence[Instruction], roles: Sequence[_Role | None], warp: int) -> tuple[Instruction, ...]:
    """The stages of one warp; values that depend on no limb are in the first stage that needs them."""
    maker = {item.out: item for item in stream if item.op != "output"}
    common = {item.out for item, role in zip(stream, roles, strict=True) if role is None and item.op not in ANYWHERE}
    computed: set[int] = set()
    program: list[Instruction] = []
    for stage in range(3):
        in_stage = [item.op not in ANYWHERE and role == _Role(warp, stage) for item, role in zip(stream, roles, strict=True)]
        operands = (arg for item, mine in zip(stream, in_stage, strict=True) if mine for arg in item.args)
        common_operands = _common_before(operands, maker, common)
        fresh = common_operands - computed
        computed |= common_operands
        program += [
            item for item, mine in zip(stream, in_stage, strict=True) if mine or (item.op != "output" and item.out in fresh)
        ]
        program += [BARRIER] if stage < 2 else []
    return tuple(program)


def _common_before(values: Iterable[int], maker: dict[int, Instruction], common: set[int]) -> set[int]:
    """The values that depend on no limb among these and their operands."""
    common_values: set[int] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value in common and value not in common_values:
            common_values.add(value)
            waiting.extend(maker[value].args)
    return common_values


def limb_source(
    fn: Fn, stream: Sequence[Instruction], limbs: Limbs, dialect: Dialect, *, staged: bool = False
) -> tuple[str, int]:
    """(`NAME_kernel` and what it calls, without the prelude; size of shared memory per block, in numbers).

    staged: inputs and results pass through shared memory in memory order, so that global accesses are coalesced, for blocks
    with few registers; otherwise each thread accesses global memory directly.
    """
    shares = Shares.of(stream, limbs)
    begins = [0, *accumulate(port.size * PITCH if staged else 0 for port in (*fn.inputs, *fn.outputs))]
    if staged:  # entry i of state k of a block is at i*PITCH + k
        stream = [_spread(item) for item in stream]
    texts = [
        emit_plan(
            fn, stream, Plan((tuple(map(_spread, program)) if staged else program,), shares.slot, 0),
            replace(dialect, suffix=f"_limb{warp}"),
        )
        for warp, program in enumerate(shares.programs)
    ]  # fmt: skip
    room = begins[-1] + len(shares.slot) * PITCH
    block = _staged_block(fn, limbs.count, begins) if staged else _block(fn, limbs.count)
    return "\n".join([_threads_and_barrier(limbs.count, begins[-1], room), *texts, block, _kernel(fn)]), room


def _spread(item: Instruction) -> Instruction:
    """An entry of a port, at its position in shared memory."""
    return item._replace(index=(item.index or 0) * PITCH) if item.op in ("input", "output") else item


def _threads_and_barrier(count: int, work: int, room: int) -> str:
    """Threads, shared memory and the barrier; on the CPU the warps are threads, and a block has one state."""
    return f"""\
#ifdef APPELL_HOST
#include <pthread.h>
#include <thread>
#include <vector>
enum {{ STATES = 1, THREADS = {count} }};
static T appell_shared[{max(1, room)}];
static pthread_barrier_t appell_all;
static void appell_meet() {{ pthread_barrier_wait(&appell_all); }}
#define LANE 0
#else
enum {{ STATES = {STATES_PER_BLOCK}, THREADS = {count * STATES_PER_BLOCK} }};
extern __shared__ T appell_shared[];
static __forceinline__ void appell_meet() {{ asm volatile("barrier.sync 0, {count * STATES_PER_BLOCK};" ::: "memory"); }}
#define LANE (threadIdx.x%STATES)
#endif
#define work (appell_shared + {work} + LANE)
"""


def _block(fn: Fn, count: int) -> str:
    """The body of a block: each warp computes its limb. States beyond the last one repeat it."""
    pointers = [f"in{k} + at*stride{k}" for k in range(len(fn.inputs))]
    pointers += [f"out{k} + at*{port.size}" for k, port in enumerate(fn.outputs)]
    lines = ["    const Count at = first + LANE < n ? first + LANE : n - 1;", *_each_limb(fn, count, pointers)]
    return _as_function(fn, lines)


def _staged_block(fn: Fn, count: int, begins: Sequence[int]) -> str:
    """The body of a staged block: all threads load inputs, each warp computes its limb, all threads store results. States
    beyond the last one repeat it and are not written."""
    walk = lambda port: f"    for (int i = thread; i < STATES*{port.size}; i += THREADS) {{"
    split = lambda port: f"        const int state = i/{max(1, port.size)}, entry = i - state*{port.size};"
    lines = []
    for k, port in enumerate(fn.inputs):
        lines += [walk(port), split(port), "        const Count at = first + state < n ? first + state : n - 1;"]
        lines += [f"        appell_shared[{begins[k]} + entry*{PITCH} + state] = in{k}[at*stride{k} + entry];", "    }"]
    pointers = [f"appell_shared + {begin} + LANE" for begin in begins[:-1]]
    lines += ["    appell_meet();", *_each_limb(fn, count, pointers), "    appell_meet();"]
    for k, port in enumerate(fn.outputs):
        target = f"out{k}[(first + state)*{port.size} + entry]"
        source = f"{begins[len(fn.inputs) + k]} + entry*{PITCH} + state"
        lines += [walk(port), split(port), f"        if (first + state < n) {target} = appell_shared[{source}];", "    }"]
    return _as_function(fn, lines)


def _each_limb(fn: Fn, count: int, pointers: Sequence[str]) -> list[str]:
    cases = [f"    case {warp}: {fn.name}_limb{warp}({', '.join(pointers)}); break;" for warp in range(count)]
    return ["    switch (thread/STATES) {", *cases, "    }"]


def _as_function(fn: Fn, lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return f"static __forceinline__ void {fn.name}_block(int thread, Count first, {_parameters(fn)})\n{{\n{body}\n}}\n"


def _parameters(fn: Fn) -> str:
    inputs = [f"const T *in{k}, Count stride{k}" for k in range(len(fn.inputs))]
    return ", ".join(["Count n", *inputs, *(f"T *out{k}" for k in range(len(fn.outputs)))])


def _kernel(fn: Fn) -> str:
    inputs = [f"in{k}, stride{k}" for k in range(len(fn.inputs))]
    arguments = ", ".join(["n", *inputs, *(f"out{k}" for k in range(len(fn.outputs)))])
    return f"""\
#ifdef APPELL_HOST
extern "C" void {fn.name}_kernel({_parameters(fn)})
{{
    pthread_barrier_init(&appell_all, 0, THREADS);
    std::vector<std::thread> warps;
    for (int warp = 0; warp < THREADS; warp++) warps.emplace_back([=] {{
        for (Count first = 0; first < n; first++, appell_meet()) {fn.name}_block(warp, first, {arguments});
    }});
    for (auto &warp : warps) warp.join();
    pthread_barrier_destroy(&appell_all);
}}
#else
extern "C" __global__ void {fn.name}_kernel({_parameters(fn)})
{{
    {fn.name}_block(threadIdx.x, (Count) blockIdx.x*STATES, {arguments});
}}
#endif
"""
