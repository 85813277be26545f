"""Steps of a run with friction in compiled code, through the transitions in which one slip stops or breaks away.

`steps.c.in` watches the guards of a mode inside each step and finds the next mode where it is clear. Everything else (most
impacts, ties, pairs that stop, non-unique reactions) it leaves to `stretches` and `friction_laws`, its Python twins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.backends.text.c_source import declarations, emit, emit_exports, emit_function
from appell.backends.text.templates import template
from appell.errors import Status
from appell.loop.in_c import LoopCall
from appell.loop.methods.radau import Radau
from appell.loop.methods.tableaux import Tableau
from appell.modes.endings import Ending
from appell.modes.events import Kind
from appell.modes.mode import Mode
from appell.nonsmooth.criteria import criteria_text
from appell.nonsmooth.friction.friction_functions import FrictionFunctions
from appell.nonsmooth.friction.guards import STEP_PARTS, ModeGuard
from appell.nonsmooth.friction.thresholds import ACCELERATIONS_VANISHING, friction_defines
from appell.roots.interval_text import interval_text, isolate_text, outline_text

if TYPE_CHECKING:
    from appell.nonsmooth.mode_course import ModeCourse
from appell.nonsmooth.friction.friction_course import enter

Array = NDArray[np.float64]

CDEF = """
typedef struct {
    double *p;                          /* parameters, and behind them the numbers of the mode */
    double *speed;                      /* (parts,) largest terms of each slip so far */
    double *level;                      /* (frictions,) slip of a pair below which it may have stopped */
    double largest, least;              /* square of the largest acceleration so far, and the share of it that is not small */
    double atol;
    int arrives;                        /* whether the mode of the start is not known */
    double *modes;                      /* (capacity, 1 + numbers) time and numbers of the modes that were entered */
    int64_t capacity, n_modes;
    double *blows;                      /* (blow_capacity, 5) time, face, rates before and after, impulse */
    int64_t blow_capacity, n_blows;
    int event_kind, event_number;       /* the guard behind SWITCH; −1: a step to look at closer */
} appell_frictions;

int appell_friction(appell_run *run, appell_frictions *all, int64_t trials);
int appell_friction_start(double t, const double *z, const double *p, const double *atol_v, double *out);
"""

LARGEST_ON_STACK = 64
"""Most velocities and rows for saddle points on the stack, in 400 kB; a quadruped on twelve points has 54."""
TRIALS_PER_CALL = 512
"""Most steps, and changes of mode, in one call."""


def has_compiled_steps(functions: FrictionFunctions) -> bool:
    """Whether a system can have compiled steps.

    Laws and loads must be affine in the multipliers; no friction may be regularised or have a three-dimensional slip; and the
    saddle point must fit on the stack.
    """
    layout = functions.layout
    fits = functions.flow.nu + layout.rows <= LARGEST_ON_STACK
    plain = functions.bounded is not None and not any(layout.smooth)
    return plain and layout.count > 0 and max(layout.parts) < 3 and fits


def steps_interface(functions: FrictionFunctions) -> str:
    """The C declarations of `steps_text`, including the function that guards read."""
    return CDEF + declarations([functions.guard_data])


def steps_text(functions: FrictionFunctions, method: Tableau | Radau, *, newton: bool) -> str:
    """The C source, to follow that of the time loop of the flow; newton: whether impacts follow Newton's law."""
    layout, flow = functions.layout, functions.flow
    assert functions.bounded is not None
    parameters = next(port.size for port in functions.blocks.inputs if port.name == "p")
    starts = [layout.columns(i).start for i in range(layout.count)]
    sizes = {
        "NQ": flow.nq, "NV": flow.nu, "NP": parameters, "FRICTION_M": layout.m, "FRICTION_FACES": layout.faces,
        "FRICTION_COUNT": layout.count, "FRICTION_PARTS": sum(layout.parts), "FRICTION_ROWS": layout.rows,
        "FRICTION_SAMPLES": STEP_PARTS, "FRICTION_NEWTON": int(newton),
    }  # fmt: skip
    normals = [-1 if n is None else n for n in layout.normals]
    limited = [int(layout.limited(i)) for i in range(layout.count)]
    tables = {"FRICTION_FIRST": starts, "FRICTION_WIDTH": layout.parts, "FRICTION_NORMAL": normals, "FRICTION_LIMITED": limited}
    numbers = {"shrink": method.shrink}
    text = template("nonsmooth/friction/steps.c.in")
    for name, value in numbers.items():
        text = text.replace(f"@{name}@", repr(value))
    return "\n".join([
        emit_function(functions.guard_data), emit_exports(functions.guard_data), emit(functions.blocks), CDEF,
        friction_defines(), criteria_text(),
        interval_text(), outline_text(range(flow.nq + flow.nu), method.degree), isolate_text(functions.bounded),
        *(f"#define {name} {value}" for name, value in sizes.items()),
        *(f"static const int {name}[] = {{{', '.join(map(str, values))}}};" for name, values in tables.items()), text,
    ])  # fmt: skip


class Steps:
    """The compiled steps of one run."""

    def __init__(self, course: ModeCourse):
        loop, layout = course.loop.compiled, course.layout
        assert loop is not None
        self.course = course
        task = course.task.adjusted(p=np.concatenate([course.p, np.zeros(layout.data)]))
        self.call, self.numbers = LoopCall(loop, task, course.trace), task.p[len(course.p) :]
        self.speed, self.modes = np.zeros(sum(layout.parts)), np.zeros((TRIALS_PER_CALL + 1, 1 + layout.data))
        self.blows, self.level = np.zeros((TRIALS_PER_CALL, 5)), np.zeros(layout.count)
        self.struct: Any = loop.ffi.new("appell_frictions *")
        struct, pointer = self.struct, self.call.pointer
        struct.p, struct.speed, struct.modes = pointer(task.p), pointer(self.speed), pointer(self.modes)
        struct.capacity, struct.least, struct.atol = len(self.modes), ACCELERATIONS_VANISHING**2, course.friction.atol
        struct.level = pointer(self.level)
        struct.blows, struct.blow_capacity = pointer(self.blows), len(self.blows)
        self.mode_of_row: dict[bytes, Mode] = {}

    def takes(self) -> bool:
        """Whether compiled steps handle the mode: its rows are independent, and no slip has a fixed direction."""
        mode = self.course.mode
        return not mode.idle and not any(friction.fixed for friction in mode.frictions)

    def arrive(self) -> bool:
        """Finds the mode at the start and takes the first steps; returns whether the mode was found."""
        self.numbers[:] = 0.0
        self.numbers[: self.course.layout.m] = 1.0
        self.struct.arrives = 1
        self._advance(0)
        mode_found = not self.struct.arrives
        self.struct.arrives = 0
        return mode_found

    def go(self) -> tuple[Status, ModeGuard | None] | None:
        """Steps as far as one call goes: its status, and the event reached; None where Python has to examine the next step."""
        self.numbers[:] = self.course.mode.data(self.course.layout)
        status = self._advance(TRIALS_PER_CALL)
        if status is not Status.SWITCH:
            return (Status.OK if status is Status.BUFFER_FULL else status), None
        kind = self.struct.event_kind
        return None if kind < 0 else (Status.OK, ModeGuard(Ending(kind), self.struct.event_number))

    def _advance(self, trials: int) -> Status:
        course, call, struct = self.course, self.call, self.struct
        self.speed[:], self.level[:] = course.friction.speed, course.friction.level
        struct.largest, struct.n_modes, struct.n_blows = course.friction.largest, 0, 0
        call.resume()
        call.struct.started = call.struct.rejected = 0
        call.give_room(TRIALS_PER_CALL)
        status = Status(call.loop.lib.appell_friction(call.struct, struct, trials))
        call.take()
        course.friction.speed, course.friction.largest = self.speed.copy(), struct.largest
        for row in self.modes[: struct.n_modes]:
            key = row[1:].tobytes()
            if (mode := self.mode_of_row.get(key)) is None:
                mode = self.mode_of_row[key] = Mode.of(course.layout, row[1:])
            enter(course, float(row[0]), mode)
        course.friction.level = self.level.copy()
        for time, face, rate_before, rate_after, impulse in self.blows[: struct.n_blows].tolist():
            course.trace.record(int(face), Kind.IMPACT, rate_before, rate_after, impulse, time)
        return status


__all__ = ["Steps", "has_compiled_steps", "steps_interface", "steps_text"]
