"""The adaptive time loop in generated C: one call makes many steps.

`loop_source` writes the loop for one method and one size of state, to be compiled in one translation unit after

    #define NZ …
    static int rhs(double t, const double *z, const double *p, double *zd);
    static int project(double t, double *z, const double *p, double *defect);      with projection only

    static void expansion(t, z, p, c, [g,] margin);                                with a method by series only

The first two return a `Status`. What is particular to a method stands in `methods`. `CLoop` drives the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from time import perf_counter
from typing import Any

import numpy as np

from appell.contact.contact import INSTANT, ON_FACE
from appell.contact.events import Kind
from appell.errors import Status
from appell.normal_form.impacts import ROUNDING
from appell.simulate.loop.in_python import SECONDS_PER_YIELD
from appell.simulate.loop.rank import PATIENCE
from appell.simulate.loop.task import Task
from appell.simulate.loop.trace import FIRST_PAGE, Statistics, Trace
from appell.simulate.methods.runge_kutta import pair_text
from appell.simulate.methods.tableaux import Array, Tableau
from appell.simulate.methods.taylor import Taylor, series_text

CDEF = """
typedef struct {
    double time;
    int32_t face, kind;
    double before, after, impulse;      /* rates of the distance; impulse */
} appell_event;

typedef struct {
    const double *p;                    /* parameters */
    const double *atol;                 /* (NZ,) */
    double rtol;                        /* 0: fixed step h_max */
    double h_max, t_end;
    int64_t max_steps;
    const double *times;                /* (n_times,) requested, in the order in which they are passed */
    int64_t n_times;

    double t;                           /* the state, and all memory between two calls */
    double *z, *zd;                     /* (NZ,) */
    double h;                           /* size of the next step; 0 at the start: choose */
    double error;                       /* of the last accepted step */
    int64_t i_time;                     /* requested times passed */
    int started, rejected;              /* started: 1 at its start, 2 after a step */

    double *z_times;                    /* (n_times, NZ) */
    double *steps;                      /* (capacity, 1 + NZ) accepted steps, t and z; capacity 0: not kept */
    int64_t capacity, n_steps;

    int64_t evaluations, accepted, rejections;
    double defect;                      /* largest residual before projection at a step end */

    double rest, simultaneous, graze;   /* time within which bouncing ends; or two hits are one, s; height of a touch */
    appell_event *events;               /* (event_capacity,) */
    int64_t event_capacity, n_events;
    int *touching;                      /* (free faces,) whether the state is on the face */
    int switch_face, switch_kind;       /* why SWITCH was returned */
    int standing;                       /* crossings since time last moved on */

    const double *row_size;             /* (rows,) sizes of the rows for the guard of rank; NULL: none */
    double rank_reference, rank_quiet;  /* largest sigma so far; sigma at which the guard spoke last */

    double h_hold;                      /* the first step of a hold is not longer */
    const double *least;                /* (contacts,) a hold does not start with reactions below them; NULL outside of holds */
} appell_run;

int appell_advance(appell_run *run, int64_t trials);
int appell_hold(appell_run *run, double t_end, int64_t n_times, int64_t trials);
"""
"""The C interface. `appell_advance` tries at most so many steps; called again after BUFFER_FULL it goes on, bit by bit
as if it had never stopped. `appell_hold` goes on to another end under other parameters: all the way, or not at all."""

FIRST_TRIALS = 256  # trial steps in the first call, before the time of one is known
GROWTH = 16  # a call makes at most so many times the trials of the one before


def loop_source(
    method: Tableau | Taylor, nz: int, has_projection: bool, free: int = 0, contacts: int = 0, rank: Sequence[int] = (0, 0, 0)
) -> str:
    """The C text of the loop: CDEF's struct and `appell_advance`, to follow the text of rhs (and project, expansion)."""
    values = {
        **(series_text(method, free) if isinstance(method, Taylor) else pair_text(method, nz)),
        "name": method.name,
        "lanes": 2 if nz <= 2 else 4,
        "exponent": repr(1 / (method.error_order + 1)),
        "safety": repr(method.safety),
        "shrink": repr(method.shrink),
        "near": repr(2 * ON_FACE / ROUNDING),
        "patience": PATIENCE,
    }
    text = _template("simulate/loop/loop.c.in")
    text = text.replace("@method@", _template(values.pop("method")))
    text = text.replace("@switch@", _template("contact/switch.c.in") if free + contacts else "")
    text = text.replace("@rank@", _template("simulate/loop/rank.c.in") if rank[2] else "")
    text = text.replace("@sight@", _template(values.pop("sight")))
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    sizes = {"HAS_PROJECTION": int(has_projection), "LOOP_FREE": free, "LOOP_CONTACTS": contacts}
    sizes |= dict(zip(("RANK_N", "RANK_M", "RANK_R"), rank, strict=True))
    defines = "\n".join(f"#define {name} {value}" for name, value in sizes.items())
    return f"#include <stdint.h>\n{defines}\n{CDEF}\n{text}"


def _template(name: str) -> str:
    return files("appell").joinpath(name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class CLoop:
    """The loop in a compiled library: `lib` and `ffi` of cffi with the declarations of `CDEF`."""

    lib: Any
    ffi: Any
    nz: int
    free: int = 0

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`. What the caller does between two calls into C is not part of their time."""
        call = Call(self, task, trace or task.trace())
        trials = FIRST_TRIALS
        while True:
            before, began = call.tried, perf_counter()
            status = call.advance(trials)
            seconds, tried = max(perf_counter() - began, 1e-9), max(1, call.tried - before)
            yield call.report(status)
            if status is not Status.BUFFER_FULL:
                return
            trials = max(1, int(tried * min(SECONDS_PER_YIELD / seconds, GROWTH)))


class Call:
    """The C struct of one run over the memory of its trace."""

    def __init__(self, loop: CLoop, task: Task, trace: Trace):
        if task.z0.shape != (loop.nz,):
            raise ValueError(f"z0 has shape {task.z0.shape}; this loop was compiled for ({loop.nz},)")
        self.loop, self.task, self.trace = loop, task, trace
        self.zd = np.zeros(loop.nz)
        self.struct = loop.ffi.new("appell_run *")
        run = self.struct
        for name in ("p", "atol", "times"):
            setattr(run, name, self.pointer(getattr(task, name)))
        run.z, run.zd, run.z_times = (self.pointer(array) for array in (trace.z, self.zd, trace.memory_of_times))
        run.t_end, run.n_times, run.max_steps = task.t_end, len(task.times), task.max_steps
        run.rtol, run.h_max = task.rtol, task.max_step
        if task.fixed_step is not None:
            run.rtol, run.h_max = 0.0, min(task.fixed_step, task.max_step)
        if task.row_size is not None:
            run.row_size, run.rank_quiet = self.pointer(task.row_size), task.rank_quiet
            run.rank_reference = task.rank_reference
        self.faces = task.faces or tuple(range(loop.free))
        self.touching = np.zeros(loop.free + 1, dtype=np.intc)
        run.touching = loop.ffi.from_buffer("int[]", self.touching)
        run.rest, run.simultaneous, run.graze = task.rest, task.simultaneous, task.graze
        self.resume()

    def resume(self) -> None:
        """From where the trace stands."""
        run, trace, done = self.struct, self.trace, self.trace.statistics
        run.t, run.h, run.i_time = trace.t, trace.next_step or 0.0, trace.passed
        run.evaluations, run.accepted, run.rejections = done.evaluations, done.accepted, done.rejected
        run.defect = done.largest_defect
        for k in range(self.loop.free):
            self.touching[k] = self.faces[k] in trace.touching

    def pointer(self, array: Array) -> Any:
        return self.loop.ffi.from_buffer("double[]", array)

    @property
    def tried(self) -> int:
        """Trial steps so far."""
        return self.struct.accepted + self.struct.rejections

    def give_room(self, trials: int) -> None:
        """Memory of the trace for the steps and events of so many trials."""
        run, trace = self.struct, self.trace
        run.n_steps = run.n_events = 0
        if trace.keep_steps:
            rows = 2 * trials + 2  # an impact writes the state before and after it
            room = trace.steps.room(min(rows, trace.steps.longest))
            run.steps, run.capacity = self.pointer(room), len(room)
        if self.loop.free:
            room = trace.events.room(min(trials, trace.events.longest) + self.loop.free + 2)  # a step may graze every face
            run.events, run.event_capacity = self.loop.ffi.from_buffer("appell_event[]", room), len(room)

    def advance(self, trials: int) -> Status:
        """At most so many trial steps, or as many as there is room for."""
        self.give_room(trials)
        status = Status(self.loop.lib.appell_advance(self.struct, trials))
        self.take()
        return status

    def take(self) -> None:
        """What was written becomes part of the trace."""
        run, trace = self.struct, self.trace
        if run.n_steps:
            trace.steps.wrote(run.n_steps)
        if run.n_events:
            written = trace.events.room(run.n_events)[: run.n_events]
            written["face"] = np.array(self.faces, dtype=np.int32)[written["face"]]
            trace.events.wrote(run.n_events)
        trace.t, trace.next_step, trace.passed = run.t, run.h or None, run.i_time
        trace.statistics = Statistics(run.evaluations, run.accepted, run.rejections, run.defect)

    def report(self, status: Status) -> Trace:
        """The trace with a status, and what belongs to it."""
        run, trace = self.struct, self.trace
        trace.switch = (self.faces[run.switch_face], Kind(run.switch_kind)) if status is Status.SWITCH else None
        trace.touching = {self.faces[k] for k in np.flatnonzero(self.touching[: self.loop.free])}
        return trace.ended(status)


class Repeated:
    """One struct for many starts of a task, one after another: nothing is kept of a run but its end and its count of events."""

    def __init__(self, loop: CLoop, task: Task):
        self.task = replace(task, keep_steps=False)
        self.call = Call(loop, self.task, self.task.trace())
        self.call.give_room(FIRST_PAGE)

    def __call__(self, z0: Array) -> tuple[Status, int]:
        """Status and events of the run from (t0, z0); where it ended is in `t` and `z`."""
        call, events = self.call, 0
        run, advance = call.struct, call.loop.lib.appell_advance
        call.trace.z[:], call.touching[:] = z0, 0
        run.t, run.h, run.started, run.i_time, run.standing = self.task.t0, self.task.first_step or 0.0, 0, 0, 0
        run.evaluations = run.accepted = run.rejections = run.rejected = 0
        status = Status.BUFFER_FULL
        while status == Status.BUFFER_FULL:
            run.n_events = 0
            status = advance(run, 1 << 62)
            events += run.n_events
        return Status(status), events

    @property
    def t(self) -> float:
        return self.call.struct.t

    @property
    def z(self) -> Array:
        return self.call.trace.z


class Hold:
    """One struct for all intervals of a task between readings of a control, in one mode, over the memory of its trace.

    Parameters
    ----------
    task: with `p` as they are now; longest: the first step after a reading is not longer, s.
    `least` are reactions below which an interval does not start.
    """

    def __init__(self, loop: CLoop, task: Task, trace: Trace, p: Array, longest: float):
        self.call = Call(loop, task, trace)
        self.least = np.zeros(max(0, len(task.faces) - loop.free))
        self.struct, self.hold, self.free, self.p = self.call.struct, loop.lib.appell_hold, loop.free, p
        run, pointer = self.struct, self.call.pointer
        run.p, run.h_hold, run.least = pointer(p), longest, pointer(self.least)

    def __call__(self, t_end: float, passed: int, trials: int) -> int:
        """The status of the hold from here to t_end, until which so many of the requested times are passed."""
        if self.free:
            run = self.struct
            run.rest = run.simultaneous = INSTANT * (t_end - run.t)
        return self.hold(self.struct, t_end, passed, trials)
