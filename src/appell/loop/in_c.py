"""The adaptive time loop in generated C: one call makes many steps.

`loop_source` writes the loop for one method and one size of state, to be compiled in one translation unit after

    #define NZ …
    static int rhs(double t, const double *z, const double *p, double *zd);
    static int project(double t, double *z, const double *p, double *defect);      with projection only

    static void expansion(t, z, p, c, margin);                                      with Taylor methods only

The first two return a `Status`. The parts specific to a method are in `methods`. `CLoop` runs the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from appell.backends.text.templates import template
from appell.errors import ModelError, Status
from appell.loop.in_python import SECONDS_PER_YIELD
from appell.loop.methods.gauss_legendre import GaussLegendre
from appell.loop.methods.radau import Radau
from appell.loop.methods.runge_kutta import one_run, refused_text
from appell.loop.methods.tableaux import Array, Tableau
from appell.loop.methods.taylor import Taylor
from appell.loop.rank_criteria import rank_criteria_text
from appell.loop.task import Task
from appell.loop.trace import Statistics, Trace
from appell.modes.contact_thresholds import ACCUMULATION_FROM
from appell.modes.endings import Ending
from appell.modes.events import CHANGE
from appell.modes.gap_floor import floor_of
from appell.modes.mode import ASLEEP, FLIGHT, Mode
from appell.normal_form.flow import GuardedRows

CDEF = """
typedef struct {
    double time;
    int32_t face, kind;
    double before, after, impulse;      /* rates of the distance; impulse */
} appell_event;

typedef struct {
    double time;
    int32_t face, held, last;           /* whether it is in contact from then on; the last one that changes with others */
} appell_change;

typedef struct appell_run {
    const double *p;                    /* parameters */
    double *atol;                       /* (NZ,) */
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

    double floor;                       /* no distance is meant to be finer, per unit of its normal */
    int *mode;                          /* (faces,) 0: free, 1: held, 2: asleep */
    int *held;                          /* (n_held,) faces in contact that bear a load, `rank` of them independent */
    int n_held, rank, blows_outside;    /* blows_outside: impacts are left to the caller */
    double *seen;                       /* (LOOP_SEEN, 1 + faces) times, and the reactions there of the faces that are held */
    int n_seen;                         /* at the stages of the last trial */
    double h_usual;                     /* the longest step of late */
    appell_event *events;               /* (event_capacity,) */
    int64_t event_capacity, n_events;
    int *touching;                      /* (faces,) whether the state is on the face, which is free */
    int switch_face, switch_kind;       /* why SWITCH was returned */
    int standing;                       /* crossings since time last moved on */
    int (*legs[2])(struct appell_run *run, int64_t *trials);    /* loops of flight and of contact; NULL: this one for both */
    double *landings;                   /* (faces,) when each was last landed on; NULL: the caller changes modes */
    appell_change *changes;             /* (change_capacity,) of the contacts, in the order of time */
    int64_t change_capacity, n_changes;
    double switched, atol_work;         /* time of the last change of mode; atol of the work in free flight */
    int stalled;                        /* changes of mode at that time */
    int64_t impacts, mark;              /* so far; the number at which their times are looked at again */
    double mark_time, mark_lasted, mark_speed;
    int doublings;

    const double *row_size;             /* (rows,) sizes of the rows for the guard of rank; NULL: none */
    double rank_reference, rank_quiet;  /* largest sigma so far; since the guard spoke last */

    double h_hold;                      /* the first step of a hold is not longer */
    void *memory;                       /* (appell_memory(),) what the method keeps between two calls */
    const double *least;                /* (n_held,) a hold does not start with reactions below them; NULL outside of holds */
} appell_run;

int64_t appell_memory(void);
int appell_leg(appell_run *run, int64_t *trials);
int appell_advance(appell_run *run, int64_t trials);
int appell_hold(appell_run *run, double t_end, int64_t n_times, int64_t trials);
void appell_many(appell_run *run, int64_t n, int64_t count, int64_t keep, int64_t width, double *t, double *z, const double *p,
                 const double *period, double *h, double *times, double *kept, int *status, int64_t *events);
"""
"""The C interface. `appell_advance` tries at most `trials` steps; called again after BUFFER_FULL it continues, bit for bit
as if it had never stopped. `appell_hold` continues to another end under other parameters: all the way, or not at all.
`appell_many` makes many runs, one after another (`simulate.many`)."""

FIRST_TRIALS = 256  # trial steps in the first call, before the duration of one is known
ROWS_PER_TRIAL = 16  # rows that one trial may write: its end, and the state after each impact there
STAGES_REMEMBERED = 16  # stages of a step at which reactions are remembered
MODE_CHANGES_PER_CALL = 4096  # most changes of contacts between two calls
TRIALS_GROWTH = 16  # most growth of the number of trials from one call to the next


class StepExamination(NamedTuple):
    """The examination of every step besides its error: the guards of the faces.

    crossing: C source of `loop_find`, which locates the first guard that a trial step crosses, and of `loop_cross`, which takes
    the run there. transition: C source of `loop_change_mode`, which goes from one mode to the next.
    """

    faces: int
    crossing: str
    transition: str


SMOOTH = StepExamination(0, "", "")
"""The examination for a smooth system: none."""


def loop_source(
    method: Tableau | Taylor | Radau | GaussLegendre,
    nz: int,
    has_projection: bool,
    examination: StepExamination = SMOOTH,
    guarded: GuardedRows | None = None,
) -> str:
    """The C source of the loop: CDEF's struct and `appell_advance`, to follow that of rhs (and project, expansion)."""
    values = {
        **method.loop_text(one_run(nz)),
        **refused_text(method, one_run(nz)),
        "name": method.name,
        "exponent": repr(1 / (method.error_order + 1)),
        "safety": repr(method.safety),
        "first_mark": ACCUMULATION_FROM,
    }
    text = template("loop/loop.c.in")
    text = text.replace("@one_run@", one_run_words(nz)).replace("@method@", template(values.pop("method")))
    text = text.replace("@switch@", examination.crossing).replace("@transition@", examination.transition)
    text = text.replace("@rank_rows@", rank_text(guarded) if guarded else "#define RANK_R 0\n")
    text = text.replace("@rank@", template("loop/rank.c.in") if guarded else "")
    text = text.replace("@many@", template("loop/runs_in_turn.c.in"))
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    sizes = {"HAS_PROJECTION": int(has_projection), "LOOP_FACES": examination.faces, "LOOP_ROWS": ROWS_PER_TRIAL}
    sizes["LOOP_SEEN"] = STAGES_REMEMBERED
    defines = "#undef HAS_PROJECTION\n" + "\n".join(f"#define {name} {value}" for name, value in sizes.items())
    return f"#include <stdint.h>\n{defines}\n{CDEF}\n{text}"


def one_run_words(nz: int) -> str:
    """Macros in which steps and projections are written, for a single run with a state of `nz` numbers."""
    return template("loop/one_run.c.in").replace("@lanes@", str(2 if nz <= 2 else 4))


def rank_text(guarded: GuardedRows) -> str:
    """C source of the rank guard: the entries of its rows, where they are, and how their rank is examined."""
    sizes = {"RANK_N": guarded.n, "RANK_M": guarded.m, "RANK_R": guarded.rank}
    lines, name, sparse = [], "pivoted", guarded.sparse
    if sparse is not None:
        name = "sparse"
        for letter, rows in (("L", sparse.L), ("Y", sparse.Y), ("R", sparse.R)):
            begins = np.cumsum([0, *map(len, rows)])
            sizes[f"RANK_N{letter}"] = max(1, int(begins[-1]))
            lines.append(_integers(f"rank_{letter}_at", begins))
            lines.append(_integers(f"rank_{letter}", (j for row in rows for j in row)))
        lines.append(_integers("rank_row", sparse.rows))
    defines = [f"#define {key} {value}" for key, value in sizes.items()]
    return "\n".join([*defines, rank_criteria_text(), *lines, template(f"loop/rank_{name}.c.in")])


def _integers(name: str, values: Iterable[int]) -> str:
    return f"static const int {name}[] = {{{', '.join(str(int(x)) for x in values) or '0'}}};"


@dataclass(frozen=True)
class CLoop:
    """The loop in a compiled library: `lib` and `ffi` of cffi with the declarations of `CDEF`."""

    lib: Any
    ffi: Any
    nz: int
    faces: int = 0
    mode: Mode = FLIGHT
    blows_outside: bool = False  # whether impacts are left to the caller
    nq: int = 0  # coordinates, with faces
    work: bool = False  # whether the last entry of the state is the work done by all forces
    legs: tuple[int, int] | None = None  # addresses of the loops for flight and for contact, if they differ
    library: Any = None  # the library itself, if its other functions are called too

    @property
    def leg(self) -> int:
        """The address of the function that steps in one mode."""
        return int(self.ffi.cast("intptr_t", self.ffi.addressof(self.lib, "appell_leg")))

    def run(self, task: Task, trace: Trace | None = None) -> Iterator[Trace]:
        """See `task.Loop.run`. Time that the caller spends between two calls into C does not count."""
        call = LoopCall(self, task, trace or task.trace())
        trials = FIRST_TRIALS
        while True:
            tried_before, began = call.trials, perf_counter()
            status = call.advance(trials)
            seconds, tried = max(perf_counter() - began, 1e-9), max(1, call.trials - tried_before)
            yield call.report(status)
            if status is not Status.BUFFER_FULL:
                return
            trials = max(1, int(tried * min(SECONDS_PER_YIELD / seconds, TRIALS_GROWTH)))


class LoopCall:
    """The C struct of one run; it points into the memory of the trace."""

    def __init__(self, loop: CLoop, task: Task, trace: Trace):
        if task.z0.shape != (loop.nz,):
            raise ModelError(f"z0 has shape {task.z0.shape}; this loop was compiled for ({loop.nz},)")
        self.loop, self.task, self.trace = loop, task, trace
        self.zd = np.zeros(loop.nz)
        self.struct = loop.ffi.new("appell_run *")
        run = self.struct
        self.atol = np.asarray(task.atol)
        run.p, run.z, run.zd = (self.pointer(array) for array in (task.p, trace.z, self.zd))
        if len(task.times):
            run.times, run.z_times = self.pointer(task.times), self.pointer(trace.memory_of_times)
        run.t_end, run.n_times, run.max_steps = task.t_end, len(task.times), task.max_steps
        run.rtol, run.h_max = task.rtol, task.max_step
        if task.fixed_step is not None:
            run.rtol, run.h_max = 0.0, min(task.fixed_step, task.max_step)
        if task.row_size is not None:
            run.row_size, run.rank_quiet = self.pointer(task.row_size), task.rank_quiet
        if loop.faces:
            self.touching = np.zeros(loop.faces + 1, dtype=np.intc)
            run.touching, run.floor = self.integers(self.touching), floor_of(self.atol, loop.nq)
            self.enter(loop.mode)
            self.change_modes()
        else:
            run.atol = self.pointer(self.atol)
        if size := loop.lib.appell_memory():
            self.memory = np.zeros(size // 8 + 1)  # doubles, for alignment
            run.memory = loop.ffi.cast("void *", self.pointer(self.memory))
        self.resume()

    def enter(self, mode: Mode) -> None:
        """Enters another mode."""
        run = self.struct
        self.mode, self.held = mode.states(self.loop.faces), np.zeros(self.loop.faces + 1, dtype=np.intc)
        self.held[: len(mode.closed)] = mode.closed
        run.mode, run.held = self.integers(self.mode), self.integers(self.held)
        run.n_held, run.rank, run.blows_outside = len(mode.closed), mode.rank, self.loop.blows_outside
        self.weights = (mode.weights(self.atol) if self.loop.work else self.atol).copy()
        run.atol, run.atol_work = self.pointer(self.weights), self.atol[-1]

    def change_modes(self) -> None:
        """Allocates memory for contacts, and for changes of mode if compiled code makes them."""
        run, ffi, landings = self.struct, self.loop.ffi, self.trace.landings
        if self.loop.mode.closed or landings is not None:
            self.seen = np.empty((STAGES_REMEMBERED, 1 + self.loop.faces))
            run.seen = self.pointer(self.seen)
        if self.loop.legs:
            run.legs = [ffi.cast("int (*)(appell_run *, int64_t *)", leg) for leg in self.loop.legs]
        if landings is not None:
            self.changes = np.empty(MODE_CHANGES_PER_CALL + self.loop.faces, dtype=CHANGE)
            run.landings, run.changes = self.pointer(landings), ffi.from_buffer("appell_change[]", self.changes)
            run.change_capacity = len(self.changes)

    def integers(self, array: Any) -> Any:
        return self.loop.ffi.from_buffer("int[]", array)

    def resume(self) -> None:
        """Resumes from the current state of the trace."""
        run, trace, work = self.struct, self.trace, self.trace.statistics
        run.t, run.h, run.i_time = trace.t, trace.next_step or 0.0, trace.passed
        run.evaluations, run.accepted, run.rejections = work.evaluations, work.accepted, work.rejected
        run.defect, run.rank_reference = work.largest_defect, trace.sigma
        run.switched, run.stalled = trace.switched, trace.stalled
        if self.loop.faces:
            self.touching[:] = 0
            self.touching[list(trace.touching)] = 1
        (run.impacts, run.mark, run.doublings, run.mark_time, run.mark_lasted, run.mark_speed) = trace.counting or (
            0, ACCUMULATION_FROM, 0, trace.t, np.inf, 0.0
        )  # fmt: skip

    def pointer(self, array: Array) -> Any:
        return self.loop.ffi.from_buffer("double[]", array)

    @property
    def trials(self) -> int:
        """Trial steps so far."""
        return self.struct.accepted + self.struct.rejections

    def give_room(self, trials: int) -> None:
        """Reserves memory in the trace for the steps and events of `trials` trial steps."""
        run, trace = self.struct, self.trace
        run.n_steps = run.n_events = run.n_changes = 0
        if trace.keep_steps:
            rows = 2 * trials + ROWS_PER_TRIAL  # an impact writes the state before and after it
            room = trace.steps.room(min(rows, trace.steps.longest))
            run.steps, run.capacity = self.pointer(room), len(room)
        if self.loop.faces:
            room = trace.events.room(min(trials, trace.events.longest) + 2 * self.loop.faces + 4)  # a step may graze every face
            run.events, run.event_capacity = self.loop.ffi.from_buffer("appell_event[]", room), len(room)

    def advance(self, trials: int) -> Status:
        """Makes at most `trials` trial steps, or as many as there is room for."""
        self.give_room(trials)
        status = Status(self.loop.lib.appell_advance(self.struct, trials))
        self.take()
        return status

    def take(self) -> None:
        """Adds what C has written to the trace."""
        run, trace = self.struct, self.trace
        if run.n_steps:
            trace.steps.add_written(run.n_steps)
        if run.n_events:
            trace.events.add_written(run.n_events)
        if run.n_changes:
            trace.change_faces(self.changes[: run.n_changes])
            run.n_changes = 0
        if trace.mode.asleep:  # compiled code may have opened them
            trace.enter(replace(trace.mode, asleep=tuple(np.flatnonzero(self.mode[: self.loop.faces] == ASLEEP).tolist())))
        trace.switched, trace.stalled = run.switched, run.stalled
        trace.t, trace.next_step, trace.passed, trace.sigma = run.t, run.h or None, run.i_time, run.rank_reference
        trace.statistics = Statistics(run.evaluations, run.accepted, run.rejections, run.defect)
        trace.counting = (run.impacts, run.mark, run.doublings, run.mark_time, run.mark_lasted, run.mark_speed)

    def report(self, status: Status) -> Trace:
        """The trace with a status, and the event behind it."""
        run, trace = self.struct, self.trace
        trace.switch = (run.switch_face, Ending(run.switch_kind)) if status is Status.SWITCH else None
        if self.loop.faces:
            trace.touching = set(np.flatnonzero(self.touching[: self.loop.faces]).tolist())
        return trace.ended(status)


class Hold:
    """One struct for all intervals between the readings of a control, in one mode; it points into the memory of the trace.

    Parameters
    ----------
    task: with the current parameters `p`; longest: of the first step after a reading, s.

    `least` are the reactions below which an interval does not start.
    """

    def __init__(self, loop: CLoop, task: Task, trace: Trace, p: Array, longest: float):
        self.call = LoopCall(loop, task, trace)
        self.least = np.zeros(len(loop.mode.closed) + 1)
        self.struct, self.hold, self.faces, self.p = self.call.struct, loop.lib.appell_hold, loop.faces, p
        run, pointer = self.struct, self.call.pointer
        run.p, run.h_hold, run.least = pointer(p), longest, pointer(self.least)
        run.landings = loop.ffi.NULL  # the mode does not change within a hold

    def __call__(self, t_end: float, passed: int, trials: int) -> int:
        """The status of the hold from here to t_end; passed: how many of the requested times lie before t_end."""
        return self.hold(self.struct, t_end, passed, trials)
