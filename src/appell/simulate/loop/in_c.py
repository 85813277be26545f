"""The adaptive time loop in generated C: one call advances a whole leg.

`loop_source` writes the loop for one method and one size of state, to be compiled in one translation unit after

    #define NZ …
    static int rhs(double t, const double *z, const double *p, double *zd);
    static int project(double t, double *z, const double *p, double *defect);      with projection only

    static void expansion(t, z, p, c, [g,] margin);                                with a method by series only

The first two return a `Status`. What is particular to a method stands in
`runge_kutta` and `taylor`. `CLoop` drives the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from time import perf_counter
from typing import Any

import numpy as np

from appell.contact.contact import INSTANT, ON_FACE
from appell.errors import Status
from appell.normal_form.impacts import ROUNDING
from appell.simulate.loop.in_python import SECONDS_PER_LEG, STRETCH, Leg, Statistics, Task
from appell.simulate.methods.runge_kutta import pair_text
from appell.simulate.methods.tableaux import Array, Tableau
from appell.simulate.methods.taylor import Taylor, series_text

CDEF = """
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
    double *t_steps, *z_steps;          /* (capacity,), (capacity, NZ) accepted steps; capacity 0: not kept */
    int64_t capacity, n_steps;

    int64_t evaluations, accepted, rejections;
    double defect;                      /* largest residual before projection at a step end */

    double rest, simultaneous, graze;   /* time within which bouncing ends; or two hits are one, s; height of a touch */
    double *events;                     /* (event_capacity, 6): t, face, kind, rate before, rate after, impulse */
    int64_t event_capacity, n_events;
    int *touching;                      /* (free faces,) whether the state is on the face */
    int switch_face, switch_kind;       /* why SWITCH was returned */
    int standing;                       /* crossings since time last moved on */

    double h_hold;                      /* the first step of a hold is not longer */
    const double *least;                /* (contacts,) a hold does not start with reactions below them; NULL outside of holds */
} appell_run;

int appell_advance(appell_run *run, int64_t trials);
int appell_hold(appell_run *run, double t_end, int64_t n_times, int64_t trials);
"""
"""The C interface. `appell_advance` tries at most so many steps; called again after BUFFER_FULL it goes on, bit by bit
as if it had never stopped. `appell_hold` goes on to another end under other parameters: all the way, or not at all."""

LARGEST_BUFFER = 4 << 20  # bytes of accepted steps in one call
FIRST_TRIALS = 256  # trial steps in the first call, before the time of one is known


def loop_source(method: Tableau | Taylor, nz: int, has_projection: bool, free: int = 0, contacts: int = 0) -> str:
    """The C text of the loop: CDEF's struct and `appell_advance`, to follow the text of rhs (and project, expansion)."""
    values = {
        **(series_text(method, free) if isinstance(method, Taylor) else pair_text(method, nz)),
        "name": method.name,
        "statuses": ", ".join(f"LOOP_{status.name} = {status.value}" for status in Status),
        "lanes": 2 if nz <= 2 else 4,
        "stretch": repr(STRETCH),
        "exponent": repr(1 / (method.error_order + 1)),
        "safety": repr(method.safety),
        "shrink": repr(method.shrink),
        "near": repr(2 * ON_FACE / ROUNDING),
    }
    text = _template("simulate/loop/loop.c.in")
    text = text.replace("@method@", _template(values.pop("method")))
    text = text.replace("@switch@", _template("contact/switch.c.in") if free + contacts else "")
    text = text.replace("@sight@", _template(values.pop("sight")))
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    sizes = {"HAS_PROJECTION": int(has_projection), "LOOP_FREE": free, "LOOP_CONTACTS": contacts}
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

    def run(self, task: Task) -> Iterator[Leg]:
        """See `in_python.Loop.run`."""
        progress = _Progress(self, task)
        trials, largest = FIRST_TRIALS, max(1, LARGEST_BUFFER // (8 * (self.nz + 1)))
        while True:
            before = perf_counter()
            status = progress.advance(min(trials, largest) if task.keep_steps else trials)
            yield progress.leg(status)
            if status is not Status.BUFFER_FULL:
                return
            rate = SECONDS_PER_LEG / (perf_counter() - before)
            trials = max(1, int(trials * min(rate, 16.0)))


class _Progress:
    """The C struct of one run, with the arrays that it points into."""

    def __init__(self, loop: CLoop, task: Task):
        if task.z0.shape != (loop.nz,):
            raise ValueError(f"z0 has shape {task.z0.shape}; this loop was compiled for ({loop.nz},)")
        self.loop, self.task = loop, task
        self.z, self.zd = task.z0.copy(), np.zeros(loop.nz)
        self.z_times = np.empty((len(task.times), loop.nz))
        self.t_pieces, self.z_pieces = [np.array([task.t0])], [task.z0[None, :]]
        self.struct = loop.ffi.new("appell_run *")
        run = self.struct
        for name in ("p", "atol", "times"):
            setattr(run, name, self._pointer(getattr(task, name)))
        run.z, run.zd, run.z_times = (self._pointer(array) for array in (self.z, self.zd, self.z_times))
        run.t, run.t_end, run.n_times, run.max_steps = task.t0, task.t_end, len(task.times), task.max_steps
        run.rtol, run.h_max, run.h = task.rtol, task.max_step, task.first_step or 0.0
        self.events = [np.zeros((0, 6))]
        self.touching = np.zeros(loop.free + 1, dtype=np.intc)
        self.touching[: len(task.touching)] = task.touching
        run.touching = loop.ffi.from_buffer("int[]", self.touching)
        run.rest, run.simultaneous, run.graze = task.rest, task.simultaneous, task.graze
        if task.fixed_step is not None:
            run.rtol, run.h_max = 0.0, min(task.fixed_step, task.max_step)

    def _pointer(self, array: Array) -> Any:
        return self.loop.ffi.from_buffer("double[]", array)

    def advance(self, trials: int) -> Status:
        """At most so many trial steps; the accepted ones become a piece."""
        run = self.struct
        if self.loop.free:
            events = np.empty((trials + self.loop.free + 2, 6))  # a step may graze every face
            run.events, run.event_capacity, run.n_events = self._pointer(events), len(events), 0
        status = self._advance(trials)
        if self.loop.free:
            self.events.append(events[: run.n_events].copy())
        return status

    def _advance(self, trials: int) -> Status:
        run = self.struct
        if not self.task.keep_steps:
            return Status(self.loop.lib.appell_advance(run, trials))
        capacity = 2 * trials + 1  # an impact writes the state before and after it
        t_steps, z_steps = np.empty(capacity), np.empty((capacity, self.loop.nz))
        run.t_steps, run.z_steps = self._pointer(t_steps), self._pointer(z_steps)
        run.capacity, run.n_steps = capacity, 0
        status = Status(self.loop.lib.appell_advance(run, trials))
        kept = slice(run.n_steps)
        self.t_pieces.append(t_steps[kept].copy())
        self.z_pieces.append(z_steps[kept].copy())
        return status

    def leg(self, status: Status) -> Leg:
        """Everything so far."""
        run = self.struct
        return Leg(
            status=status,
            t=run.t,
            z=self.z.copy(),
            next_step=run.h,
            z_times=self.z_times[: run.i_time],  # rows that are final
            statistics=Statistics(run.evaluations, run.accepted, run.rejections, run.defect),
            t_pieces=tuple(self.t_pieces),
            z_pieces=tuple(self.z_pieces),
            events=np.concatenate(self.events),
            switch=(run.switch_face, run.switch_kind) if status is Status.SWITCH else None,
            touching=tuple(bool(x) for x in self.touching[: self.loop.free]),
        )


class Repeated:
    """One struct for many starts of a task, one after another: nothing is kept of a run but its end and its count of events."""

    def __init__(self, loop: CLoop, task: Task):
        self.progress = _Progress(loop, replace(task, keep_steps=False))
        run = self.progress.struct
        if loop.free:
            self.events = np.empty((4096, 6))
            run.events, run.event_capacity = self.progress._pointer(self.events), len(self.events)

    def __call__(self, z0: Array) -> tuple[Status, int]:
        """Status and events of the run from (t0, z0); where it ended is in `t` and `z`."""
        progress, events = self.progress, 0
        run, advance = progress.struct, progress.loop.lib.appell_advance
        progress.z[:], progress.touching[:] = z0, 0
        run.t, run.h, run.started, run.i_time, run.standing = progress.task.t0, progress.task.first_step or 0.0, 0, 0, 0
        run.evaluations = run.accepted = run.rejections = run.rejected = 0
        status = Status.BUFFER_FULL
        while status == Status.BUFFER_FULL:
            run.n_events = 0
            status = advance(run, 1 << 62)
            events += run.n_events
        return Status(status), events

    @property
    def t(self) -> float:
        return self.progress.struct.t

    @property
    def z(self) -> Array:
        return self.progress.z


class Hold:
    """One struct for all holds of a task in one mode, over memory that belongs to others.

    Parameters
    ----------
    p: (parameters,) as they are now; z: (nz,) where it stands; z_times: (times, nz).
    longest: the first step of a hold is not longer, s.
    faces: what the mode's faces are called, free ones first; `least` are reactions below which a hold does not start.
    """

    def __init__(
        self, loop: CLoop, task: Task, p: Array, z: Array, z_times: Array, longest: float, faces: tuple[int, ...] = ()
    ):
        self.progress, self.memory, self.faces = _Progress(loop, task), (p, z, z_times), faces
        self.least = np.zeros(len(faces) - loop.free)
        self.struct, self.hold, self.free = self.progress.struct, loop.lib.appell_hold, loop.free
        run, pointer = self.struct, self.progress._pointer
        run.p, run.z, run.z_times, run.h_hold = pointer(p), pointer(z), pointer(z_times), longest
        run.least = pointer(self.least)

    def write_to(self, t_steps: Array, z_steps: Array, events: Array) -> None:
        """Where steps and events go, (n,), (n, nz), (n, 6), behind those that are there."""
        run, pointer = self.struct, self.progress._pointer
        self.pages = t_steps, z_steps, events
        run.t_steps, run.z_steps, run.capacity = pointer(t_steps), pointer(z_steps), len(t_steps)
        run.events, run.event_capacity = pointer(events), len(events)
        if not self.progress.task.keep_steps:
            run.capacity = 0

    def __call__(self, t_end: float, passed: int, trials: int) -> int:
        """The status of the hold from here to t_end, until which so many of the requested times are passed."""
        if self.free:
            run = self.struct
            run.rest = run.simultaneous = INSTANT * (t_end - run.t)
        return self.hold(self.struct, t_end, passed, trials)
