"""Digital control: a callable reads the state at a fixed rate, and what it answers is held until the next reading.

    p_u(t) = control(t_k, q(t_k), v(t_k))        t_k <= t < t_k+1 = t_k + 1/rate                (zero-order hold)

The inputs u are parameters of the system, named in its forces; the motion between two readings is that of any other system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil, isfinite
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import FormNotApplicable, ModelError, Status
from appell.model import System
from appell.model.values import RULES, checked
from appell.normal_form.flow import Flow
from appell.simulate.contact import LANDING, LEAVING
from appell.simulate.held import HeldRun, Readings
from appell.simulate.loop_py import SECONDS_PER_LEG, Leg, Loop, Statistics, Task
from appell.simulate.run import Run
from appell.simulate.stiff import StiffLoop

Array = NDArray[np.float64]
Control = Callable[[float, Array, Array], Mapping[Any, float]]


class Reader:
    """A control with its answers checked.

    Parameters
    ----------
    control: (t, q (nq,), v (nv,)) → {input: value}: parameters of the system, by symbol or name; the same ones each time.
    rate: readings per second, Hz.
    """

    def __init__(self, system: System, control: Any, rate: Any):
        if control is None:
            raise ModelError(f"rate={rate!r} is the rate of a control; give control=(t, q, v) → {{input: value}} with it")
        if not callable(control):
            raise ModelError(f"control= must be a function of (t, q, v), not {type(control).__name__}")
        if rate is None:
            raise ModelError("a control is read at a fixed rate; give rate= in readings per second")
        if not (isinstance(rate, int | float | np.number) and isfinite(rate) and rate > 0):
            raise ModelError(f"rate= must be a positive number of readings per second, not {rate!r}")
        self.system, self.control, self.rate = system, control, float(rate)
        self.places: dict[Any, int] = {key: i for i, s in enumerate(system.parameters) for key in (s, str(s))}
        self.ruled = {i for i, s in enumerate(system.parameters) if any(s.assumptions0.get(rule) for rule, _ in RULES)}
        self.columns: tuple[int, ...] = ()  # of the inputs, once the first answer has named them

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The parameters that the control gives."""
        return tuple(self.system.parameters[i] for i in self.columns)

    def first(self, t: float, q: Array, v: Array) -> dict[Any, float]:
        """The answer at the start, which names the inputs: parameter → value."""
        answer = self._ask(t, q, v)
        self.columns = tuple(sorted(answer))
        _refuse_inputs(self.system, set(self.inputs))
        return {self.system.parameters[i]: answer[i] for i in self.columns}

    def ask(self, t: float, q: Array, v: Array) -> list[float]:
        """The values of the inputs, in the order of `inputs`."""
        answer = self._ask(t, q, v)
        if len(answer) != len(self.columns) or any(i not in answer for i in self.columns):
            now, then = (", ".join(str(self.system.parameters[i]) for i in sorted(which)) for which in (answer, self.columns))
            raise ModelError(f"the control gives {now or 'nothing'} at t = {t:g}, but gave {then or 'nothing'} at the start")
        return [answer[i] for i in self.columns]

    def _ask(self, t: float, q: Array, v: Array) -> dict[int, float]:
        answer = self.control(t, q, v)
        if not isinstance(answer, Mapping):
            raise ModelError(f"the control answered {type(answer).__name__} at t = {t:g}; it must map inputs to values")
        values = {}
        for key, value in answer.items():
            place = self._place(key)
            if place in values:
                raise ModelError(f"the control gives '{key}' twice at t = {t:g}, by symbol and by name")
            values[place] = self._number(place, value, t)
        return values

    def _place(self, key: Any) -> int:
        place = self.places.get(key)
        place = self.places.get(str(key)) if place is None else place
        if place is None:
            has = ", ".join(map(str, self.system.parameters)) or "none"
            raise ModelError(f"the control gives '{key}', which is not a parameter of {self.system.name}; it has {has}")
        return place

    def _number(self, place: int, value: Any, t: float) -> float:
        symbol = self.system.parameters[place]
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ModelError(f"the control answered {symbol} = {value!r} at t = {t:g}: not a number") from None
        if not isfinite(number):
            raise ModelError(f"the control answered {symbol} = {number} at t = {t:g}: not finite")
        return checked(symbol, number) if place in self.ruled else number


def _refuse_inputs(system: System, inputs: set[Any]) -> None:
    """Inputs jump, so they may stand only where the state need not jump with them."""
    places = [(f"constraint '{c.name}'", c.residual) for c in system.constraints if c.order < 2]
    places += [(f"'{face.name}'", x) for face in system.unilateral for x in (face.function, face.restitution)]
    places += [(f"the rate of {q}", rate) for q, rate in system.rates.items()]
    with suppress(FormNotApplicable):  # of a tree, whose inertia is in numbers
        places.append(("the kinetic energy", system.kinetic))
    for where, expr in places:
        found = sorted(map(str, expr.free_symbols & inputs))
        if found:
            raise ModelError(
                f"the control gives '{found[0]}', which stands in {where} of {system.name}: the state would jump with it at"
                " every reading. Inputs stand in forces, potentials and constraints on accelerations"
            )


@dataclass(frozen=True)
class SampledLeg(Leg):
    """A leg with what the control answered, and why it did not where the status is CONTROL."""

    readings: Readings | None = None
    failure: Exception | None = None


@dataclass(frozen=True, eq=False)
class SampledLoop:
    """`Loop` under a control: `loop` from one reading to the next."""

    loop: Loop
    run_: Run
    flow: Flow
    reader: Reader

    def run(self, task: Task) -> Iterator[SampledLeg]:
        """See `loop_py.Loop.run`."""
        if task.t_end < task.t0:
            raise ModelError(f"a control runs forwards: until = {task.t_end:g} must not be before since = {task.t0:g}")
        yield from _Journey(self, task).legs()


class _Journey:
    """The state of one run: where it stands, and everything so far."""

    def __init__(self, loop: SampledLoop, task: Task):
        self.loop, self.task = loop, task
        self.t, self.z, self.h, self.p = task.t0, task.z0, task.first_step, task.p.copy()
        self.columns = list(loop.reader.columns)
        samples = (task.t_end - task.t0) * loop.reader.rate
        self.readings = task.t0 + np.arange(max(1, ceil(samples * (1 - 1e-12) - 1e-9))) / loop.reader.rate
        self.asked = [*np.searchsorted(task.times, self.readings), len(task.times)]  # a reading belongs to what it begins
        self.known_z = np.empty((len(self.readings), len(task.z0)))
        self.known_p = np.empty((len(self.readings), len(self.columns)))
        self.done = 0  # readings
        self.t_pieces: list[Array] = []
        self.z_pieces: list[Array] = []
        self.z_times: list[Array] = []
        self.events: list[Array] = [np.zeros((0, 6))]
        self.contacts: list[tuple[float, tuple[int, ...]]] = []
        self.landed: set[int] = set()  # faces on which it rests, those without a load among them
        self.past = Statistics(0, 0, 0, 0.0)
        self.failure: Exception | None = None

    def legs(self) -> Iterator[SampledLeg]:
        status, answered = Status.OK, perf_counter()
        for k in range(len(self.readings)):
            if k and not self._read():
                status = Status.CONTROL
                break
            self.known_z[k], self.known_p[k], self.done = self.z, self.p[self.columns], k + 1
            leg = None
            for leg in self.loop.loop.run(self._piece(k)):
                if leg.status is Status.BUFFER_FULL:
                    yield self._on_the_way(leg.t)
            assert leg is not None
            self._keep(leg, self.asked[k + 1] - self.asked[k])
            status = leg.status
            if status is not Status.OK:
                break
            if perf_counter() - answered > SECONDS_PER_LEG:
                yield self._on_the_way(self.t)
                answered = perf_counter()
        yield self._leg(status)

    def _read(self) -> bool:
        """The inputs from here on; False where the control has none."""
        flow, z = self.loop.flow, self.z
        v = flow.expand(self.t, z, self.p)["v"] if flow.minimal else z[flow.nq : flow.nq + flow.nu].copy()
        try:
            values = self.loop.reader.ask(self.t, z[: flow.nq].copy(), v)
        except Exception as failure:  # whatever a user's function does: the motion until then is kept
            self.failure = failure
            return False
        self.p[self.columns] = values
        return True

    def _piece(self, k: int) -> Task:
        """The task from the k-th reading to the next."""
        end = self.task.t_end if k + 1 == len(self.readings) else float(self.readings[k + 1])
        times = self.task.times[self.asked[k] : self.asked[k + 1]]
        if isinstance(self.loop.loop, StiffLoop):  # which makes a fine grid of its own where nothing is asked
            times = np.append(times, end)
        return replace(
            self.task, t0=self.t, z0=self.z, t_end=end, p=self.p, times=times, first_step=self.h,
            max_steps=self.task.max_steps - self.past.accepted,
        )  # fmt: skip

    def _keep(self, leg: Leg, asked: int) -> None:
        """What happened until the next reading becomes part of the past."""
        if self.task.keep_steps or not self.t_pieces:
            self.t_pieces += leg.t_pieces
            self.z_pieces += leg.z_pieces
        self.z_times.append(leg.z_times[:asked])
        if len(leg.events) or leg.contacts or self.contacts:
            self._keep_contacts(leg)
        a, b = self.past, leg.statistics
        self.past = Statistics(
            a.evaluations + b.evaluations, a.accepted + b.accepted, a.rejected + b.rejected,
            max(a.largest_defect, b.largest_defect),
        )  # fmt: skip
        self.h = min(leg.next_step, 1 / self.loop.reader.rate) if leg.next_step > 0 else None
        self.t, self.z = leg.t, leg.z

    def _keep_contacts(self, leg: Leg) -> None:
        """A loop finds the contacts of its start anew: those that go on have not landed, those that are missing have left."""
        again = {int(event[1]) for event in leg.events if event[0] == self.t and event[2] == LANDING}
        found = again.union(leg.contacts[0][1] if leg.contacts else ())
        left = [[self.t, face, LEAVING, 0.0, 0.0, 0.0] for face in sorted(self.landed - found)]
        news = [event for event in leg.events if not (event[0] == self.t and event[2] == LANDING and event[1] in self.landed)]
        if left or news:
            self.events.append(np.array([*left, *news]))
        for event in (*left, *news):
            (self.landed.add if event[2] == LANDING else self.landed.discard)(int(event[1]))
        for time, contacts in leg.contacts:
            if not self.contacts or self.contacts[-1][1] != contacts:
                self.contacts.append((time, contacts))

    def _on_the_way(self, t: float) -> SampledLeg:
        """Where it stands. What it has until there is joined once, at the end."""
        none = np.zeros((0, len(self.z)))
        return SampledLeg(
            status=Status.BUFFER_FULL, t=t, z=self.z, next_step=self.h or 0.0, z_times=none, statistics=self.past,
            t_pieces=(none[:, 0],), z_pieces=(none,),
        )  # fmt: skip

    def _leg(self, status: Status) -> SampledLeg:
        """Everything."""
        nz = len(self.task.z0)
        return SampledLeg(
            status=status, t=self.t, z=self.z, next_step=self.h or 0.0, statistics=self.past,
            z_times=np.concatenate([np.zeros((0, nz)), *self.z_times]),
            t_pieces=tuple(self.t_pieces), z_pieces=tuple(self.z_pieces),
            events=np.concatenate(self.events), contacts=tuple(self.contacts), failure=self.failure,
            readings=self._readings(),
        )  # fmt: skip

    def _readings(self) -> Readings:
        loop, n = self.loop, self.done
        made = Readings(
            inputs=loop.reader.inputs, t=self.readings[:n], z=self.known_z[:n], values=self.known_p[:n], p=self.task.p,
            columns=loop.reader.columns, work=np.zeros(n),
        )  # fmt: skip
        if not loop.run_.system.potential.free_symbols & set(loop.reader.inputs):
            return made
        return replace(made, work=_work_of_jumps(loop.run_, loop.flow, made))


def _work_of_jumps(run: Run, flow: Flow, readings: Readings) -> Array:
    """Σ H(t_k, q, v; u_k) − H(t_k, q, v; u_k−1), (n,), J."""
    q, u = readings.z[:, : flow.nq], readings.z[:, flow.nq : flow.nq + flow.nu]
    v = np.array([flow.expand(t, z, run.p)["v"] for t, z in zip(readings.t, readings.z, strict=True)]) if flow.minimal else u
    n = np.arange(len(readings))
    after, before = (
        HeldRun.of(run, readings.parameters_of(which)).evaluate(readings.t, q, v, ("H",))["H"]
        for which in (n, np.maximum(n - 1, 0))
    )
    return np.cumsum(after - before)


__all__ = ["Control", "Reader", "SampledLeg", "SampledLoop"]
