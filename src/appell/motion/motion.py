"""The result of a run: states along a motion, and everything that follows from them.

    q(t), v(t)        a(t), Λ(t)  from  M a + h = Q + W Λ,  A a + a0 = 0        H(t) − H(0) − ∫ power dt ≈ 0

A `Motion` keeps the states; accelerations, reactions, energies and residuals are computed when asked for, once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.compiled.branching import TimeBranches, branch_times, branches_of
from appell.errors import ModelError, Status
from appell.jets import DerivedJet, Jet, expression
from appell.jets import t as time
from appell.loop.held_inputs import HeldRun, Readings, last_change, repeated
from appell.model import Friction
from appell.model.units import Dimensions
from appell.modes.events import EVENT, Impact, impacts
from appell.modes.mode import Mode, Phase, phases
from appell.motion.column_names import OfSystem
from appell.motion.crossing_times import crossing_times, release_times, times_within
from appell.motion.dataset import to_dataset
from appell.motion.labels import labelled
from appell.motion.reactions import solved
from appell.motion.record import LEAST_EXCHANGED, MISTAKEN_NAMES, Array, Drift, Series, State, unknown_name
from appell.motion.refined import refined
from appell.motion.reset_data import ResetEvent, reset_events
from appell.motion.spectrum import spectrum
from appell.motion.storage import save
from appell.nonsmooth.friction.sampled_accelerations import accelerations_along
from appell.notes import Note
from appell.reading import shown, text_of
from appell.spelling import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from appell.compiled.run import Run


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Motion(OfSystem):
    """States of a system along a motion, with everything that follows from them.

    Parameters
    ----------
    run: the compiled system with its parameter values.
    t: (k,) times, s, in the order of the run; q: (k, nq); v: (k, nv), SI.
    work: (k,) ∫ power dt since the beginning of the run, J.
    status, message: how the run ended.
    statistics: steps, rejected, evaluations, largest_defect (before projection), seconds.
    tolerances: rtol, atol and other settings that determine the accuracy.
    sampler: times (k,) → (q, v, work), the states at any times within `span`, in the order of the run.
    pseudo: name → expression of the pseudo-velocities that were integrated.
    events: events at the faces in the order of time, (n,) of dtype `appell.modes.events.EVENT`.
    contacts: (time, s; numbers of the faces of `system.unilateral` in contact from then on), in the order of time.
    modes: (time, s; mode of faces and frictions from then on, `appell.modes.mode.Mode`).
    lost: (k,) work dissipated by friction, J; computed on demand if it is not given.
    readings: the outputs of a control, and their times.
    breaks: (n,) times at which forces or constraints jump or have a kink in time, s, in the order of the run.
    precedes: (k,) samples that are states before an event at their time (an impact, a reset, a change of mode, a reading, a
        break); unless given, all but the last of several samples at one time. States that `at` is asked for follow it.
    reset_states: states before and after each reset, in the order of time, `appell.simulate.loop.reset_maps.ResetState`.
    notes: remarks for the reader, each a `Note` (a str with .time, .kind, .constraints); those of the run come first.
    doubts: reasons not to trust the motion; `ok` is False if there are any.
    origin: the beginning of the run; the first sample unless given.
    span: beginning and end of the computed motion, s; the first and last sample unless given.
    reduced: name → value of a reduction of `keep=`, SI.
    units: symbol → dimensions, from a model file or from pint quantities; values are in SI regardless.
    """

    run: Run
    t: Array
    q: Array
    v: Array
    work: Array
    status: Status = Status.OK
    message: str = ""
    method: str = ""
    statistics: Mapping[str, Any] = field(default_factory=dict)
    tolerances: Mapping[str, Any] = field(default_factory=dict)
    sampler: Callable[[Array], tuple[Array, Array, Array]] | None = None
    pseudo: Mapping[str, Any] | None = None
    events: NDArray[Any] = field(default_factory=lambda: np.zeros(0, EVENT))
    contacts: tuple[tuple[float, tuple[int, ...]], ...] = ()
    modes: tuple[tuple[float, Mode], ...] = ()
    lost: Array | None = None
    readings: Readings | None = None
    breaks: Array = field(default_factory=lambda: np.zeros(0))
    precedes: NDArray[np.bool_] | None = None
    reset_states: tuple[Any, ...] = ()
    notes: tuple[Note, ...] = ()
    doubts: tuple[str, ...] = ()
    origin: State | None = None
    span: tuple[float, float] | None = None
    reduced: Mapping[str, float] = field(default_factory=dict)
    units: Mapping[str, Dimensions] = field(default_factory=dict)

    def __post_init__(self) -> None:
        system, k = self.run.system, np.size(self.t)
        for name, shape in {"t": (k,), "q": (k, system.nq), "v": (k, system.nv), "work": (k,)}.items():
            array = np.array(getattr(self, name), dtype=float)
            if array.shape != shape:
                raise ModelError(f"a motion of {system.name} needs {name} of shape {shape}, not {array.shape}")
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __getstate__(self) -> dict[str, Any]:
        """Samples and facts; derived quantities are computed again on demand."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    # -- what happened ---------------------------------------------------------------------------------------------------

    @cached_property
    def impacts(self) -> tuple[Impact, ...]:
        """An `Impact` for each event, in the order of time: time, constraint, ġ before and after, impulse, kind."""
        return impacts(self.events, [face.name for face in self.system.unilateral])

    @cached_property
    def resets(self) -> tuple[ResetEvent, ...]:
        """A `ResetEvent` for each reset, in the order of time: time, reset, work, and the states before and after it."""
        return reset_events(self.system, self.reset_states)

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """When frictions stick, slip or are off, in the order of their starts: (start, end, friction, "stick"|"slip"|"off",
        direction). The direction of slip is +1 or −1; for a two-dimensional slip it is that at the start of the phase."""
        end = (self.span or (0.0, float(self.t[-1])))[1]
        return phases(self.modes, [fr.name for fr in self.system.frictions], end)

    @cached_property
    def dissipated(self) -> Array:
        """Energy dissipated by friction since the start, ∫ μ|Λ||s| dt plus its losses in impacts, (k,), J; part of `work`."""
        if not self.system.frictions:
            return np.zeros(len(self.t))
        return self.lost if self.lost is not None else self._sampler.states(self.t)[:, -2]  # type: ignore[attr-defined]

    # -- values --------------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        run = self.__dict__.get("run")
        if name.startswith("_") or run is None:
            raise AttributeError(name)
        states = {str(s) for s in (*run.system.positions, *run.system.velocities)}
        if name in states:
            raise AttributeError(f"read '{name}' of a motion as motion[{name}] or motion['{name}']")
        public = [attribute for attribute in dir(self) if not attribute.startswith("_")]
        raise AttributeError(f"a motion has no attribute '{name}'{did_you_mean(name, public, also=MISTAKEN_NAMES)}")

    def __getitem__(self, key: Any) -> Array:
        """Values (k,), SI, of a coordinate, velocity, acceleration, speed, pseudo-velocity, input or any expression of them.

        A symbol, its name, or a SymPy expression in time, jets and parameters. Several, `motion[x, y]`, give (k, 2). A
        friction, by the object or its name, gives its force, see `reaction`.
        """
        if isinstance(key, tuple | list):
            if not key:
                raise ModelError("a motion is read by symbols, motion[x] or motion[x, y]; none was given")
            return np.stack([self[item] for item in key], axis=-1)
        if self.is_friction(key):
            return self.reaction(key)
        symbol = self.symbol(key) if isinstance(key, str) else key
        if isinstance(symbol, int | float | complex | slice | np.generic | np.ndarray):
            sample = shown(key)
            raise ModelError(f"a motion is read by symbols, motion[x]; for the sample {sample} index motion[x][{sample}]")
        symbol = symbol if isinstance(symbol, Jet) else expression(symbol, "what is read from a motion")
        if symbol == time:
            return self.t.copy()
        if symbol in self.symbols:
            array, i = self.symbols[symbol]
            return getattr(self, array)[:, i].copy()
        return self._expression(symbol)

    def _expression(self, key: Any) -> Array:
        expr = self.system.in_velocities(expression(key, "what is read from a motion"))
        for s in sorted(expr.free_symbols, key=str):
            if s != time and s not in self.symbols and s not in self.run.parameters and not isinstance(s, DerivedJet):
                known = self.symbols if isinstance(s, Jet) else self.run.parameters
                raise ModelError(f"'{text_of(key)}' cannot be read: {unknown_name(str(s), self.name, map(str, known))}")
        moded = self.system.frictions or self.contacts  # the state alone does not determine the mode
        known = {"a": self.acceleration} if moded else {}
        return np.array(np.broadcast_to(self._run_at().values(expr, self.t, self.q, self.v, **known), self.t.shape))

    def series(self, key: Any) -> Series:
        """Values (k,) with their name, LaTeX, unit and meaning, by symbol, name, constraint, or a name of `QUANTITIES`."""
        return labelled(self, key)

    @cached_property
    def qd(self) -> Array:
        """q̇ = N v + n0, (k, nq), SI."""
        return self._evaluate("qd")["qd"]

    @property
    def acceleration(self) -> Array:
        """a = v̇ from M a + h = Q + W Λ, A a + a0 = 0, (k, nv), SI."""
        return self._solved[0]

    @property
    def multipliers(self) -> Array:
        """Λ from M a + h = Q + W Λ, A a + a0 = 0, (k, rows) in the order of `system.constraints`; SI."""
        return self._solved[1]

    def reaction(self, constraint: Any) -> Array:
        """Λ(t) of a constraint, by the object or its name, (k,), SI. The reaction force on v is Λ ∂f/∂v (∂f/∂q, ∂f/∂a).

        A unilateral constraint has Λ >= 0 while in contact and 0 in free flight; impulses of impacts are in `impacts`. For a
        `Between` it is the reaction of the lower stop minus that of the upper, for a friction the force λ_T, (k,) or (k, 2).
        Where sticking frictions are statically indeterminate, it is one of the possible solutions, and `notes` says so.
        """
        if isinstance(constraint, Friction) or constraint in [fr.name for fr in self.system.frictions]:
            i = self.system.friction(constraint)
            column = sum(fr.parts for fr in self.system.frictions[:i])
            force = self._solved[3][:, column : column + self.system.frictions[i].parts]
            return force[:, 0].copy() if force.shape[1] == 1 else force.copy()
        if self.is_face(constraint):
            numbers = list(self.system.faces(constraint))
            return self._solved[2][:, numbers] @ np.array([1.0, -1.0])[: len(numbers)]
        return self.multipliers[:, self.system.constraint(constraint)].copy()

    def wrench(self, joint: str, *, axes: str = "joint") -> Array:
        """The wrench [force | moment] that a joint of a tree transmits to its successor, (k, 6), N and N m.

        It refers to the joint's origin and includes reactions of constraints and contacts, friction, loads and springs on the
        bodies behind the joint, but not rotors and joint damping, which act along the joint's own axis. Impulses of impacts are
        in `impacts`. axes: "joint", those of the successor; "parent", those of the predecessor; "world".
        """
        along_joints = getattr(self.system, "wrench_along", None)
        if along_joints is None:
            raise ModelError(f"{self.name} is not a tree: only joints of an ap.Tree have wrenches; see motion.reaction")
        return along_joints(self, joint, axes)

    @cached_property
    def _solved(self) -> tuple[Array, ...]:
        """Accelerations, and the multipliers of the constraints, of the faces, and of the frictions if there are any."""
        if self.system.frictions:
            which = last_change(np.array([time for time, _ in self.modes]), self.t, self._precedes)
            return accelerations_along(self._evaluator, self.modes, self.t, self.q, self.v, self._sample_parameters, which)
        return solved(self, self._run_at)

    def _evaluate(self, *names: str) -> Mapping[str, Array]:
        return self._run_at().evaluate(self.t, self.q, self.v, names)

    def _run_at(self, contacts: tuple[int, ...] = (), here: Any = slice(None)) -> Run:
        """The evaluator for the samples `here`, in contact with some faces, with the inputs at these samples."""
        run = self._evaluator.in_contact(contacts) if contacts else self._evaluator
        return run if self._sample_parameters is None else HeldRun.of(run, self._sample_parameters[here])

    @cached_property
    def _sample_parameters(self) -> Array | None:
        """All parameters of the evaluator at each sample, (k, parameters); None if they are those of the run."""
        p = None if self.readings is None else self.readings.parameters_at(self.t, self._precedes)
        if self._branches is None:
            return p
        times = branch_times(self.breaks, self._ends, self.t, self._precedes)
        return self._branches.parameters(self.run.p if p is None else p, times)

    @property
    def _precedes(self) -> NDArray[np.bool_]:
        return repeated(self.t) if self.precedes is None else self.precedes

    @cached_property
    def _branches(self) -> TimeBranches | None:
        return branches_of(self.run) if len(self.breaks) or self.run.schedule is not None else None

    @property
    def _evaluator(self) -> Run:
        """The run; if breaks were passed, the one whose branches are data."""
        return self.run if self._branches is None else self._branches.run

    @property
    def _ends(self) -> tuple[float, float]:
        return self.span or (float(self.t[0]), float(self.t[-1]))

    # -- verification --------------------------------------------------------------------------------------------------

    @property
    def _origin(self) -> State:
        return self.origin or State(float(self.t[0]), self.q[0], self.v[0])

    @cached_property
    def _energies(self) -> Mapping[str, Array]:
        """T, V, H at the beginning of the run and at the samples, (1 + k,), J."""
        t0, q0, v0 = self._origin
        t, q, v = np.concatenate([[t0], self.t]), np.vstack([q0, self.q]), np.vstack([v0, self.v])
        run, p = self._evaluator, self.run.p
        if self._branches is not None:
            p = self._branches.parameters(p, float(branch_times(self.breaks, self._ends, np.array([t0]), np.array([False]))[0]))
        run = run if self._sample_parameters is None else HeldRun.of(run, np.vstack([p, self._sample_parameters]))
        return run.evaluate(t, q, v, ("T", "V", "H"))

    @property
    def energy(self) -> Array:
        """T + V, (k,), J."""
        return (self._energies["T"] + self._energies["V"])[1:]

    @cached_property
    def balance(self) -> Array:
        """H(t) − H(0) − ∫ power dt with H = T2 − T0 + V, (k,), J: zero for an exact motion."""
        H = self._energies["H"]
        with np.errstate(invalid="ignore", over="ignore"):  # the balance is not finite where a potential is not
            return H[1:] - H[0] - self.work

    @cached_property
    def energy_scale(self) -> float:
        """E = max (|T| + |V − V(0)| + |work|), J, free of the constant in V; at least 1e-6 max (|T| + |V|)."""
        T, V = self._energies["T"], self._energies["V"]
        with np.errstate(invalid="ignore", over="ignore"):
            exchanged = np.abs(T) + np.abs(V - V[0]) + np.abs(np.append(0.0, self.work))
        return float(max(exchanged.max(), LEAST_EXCHANGED * (np.abs(T) + np.abs(V)).max())) or 1.0

    @cached_property
    def _levels(self) -> tuple[Array, Array]:
        """Largest |f| of positions (|q·q − 1| of unit quaternions too) and of velocities at each sample, (k,), (k,)."""
        out = self._evaluate("f0", "f1")
        index = self.system.coordinates.index
        balls = [self.q[:, [index(q) for q in ball.coordinates]] for ball in self.system.quaternions]
        unit = [np.abs((ball**2).sum(axis=1) - 1)[:, None] for ball in balls]
        position = np.hstack([np.abs(out["f0"]), *unit])
        return position.max(axis=1, initial=0.0), np.abs(out["f1"]).max(axis=1, initial=0.0)

    @property
    def residual(self) -> Array:
        """Largest |f| over the rows of positions and velocities at each sample, (k,), SI."""
        return np.maximum(*self._levels)

    @property
    def drift(self) -> Drift:
        """Largest |f| of positions and of velocities over all samples, and the largest before projection, SI; see `Drift`."""
        position, velocity = (float(level.max(initial=0.0)) for level in self._levels)
        return Drift(position, velocity, self.statistics.get("largest_defect"))

    # -- other times ---------------------------------------------------------------------------------------------------

    def at(self, times: ArrayLike) -> Motion:
        """The motion at other times within the run, s; one time or several, in any order.

        At an impact, a reset or a change of mode it is the state after it, whatever other times are asked for. Of a motion
        whose steps were not kept (`keep=`, `times=`) the steps are repeated from the state before, and within rounding of an
        impact either side may come out.
        """
        first, last = self._ends
        times = times_within(times, first, last, self.status)
        order = np.argsort(times if last >= first else -times, kind="stable")
        inverse = np.argsort(order)
        q, v, work = (np.asarray(z)[inverse] for z in self._sampler(times[order]))
        settled = np.zeros(len(times), dtype=bool)
        return replace(
            self, t=times, q=q, v=v, work=work, lost=None, precedes=settled, origin=self._origin, span=(first, last)
        )

    @property
    def _sampler(self) -> Callable[[Array], tuple[Array, Array, Array]]:
        if self.sampler is None:
            raise ModelError("this motion cannot be continued between its samples; simulate again with times=[…]")
        return self.sampler

    def fine(self, points: int) -> Motion:
        """The same motion with more samples if it can provide them, at most 1/`points` of its length apart; its times stay."""
        return refined(self, points)

    def crossings(self, expression: Any) -> Array:
        """Times at which an expression passes through zero, (n,), s, in the order of the run; interval bounds find all of them.

        expression: in t, coordinates, velocities, accelerations and parameters; `ap.rising(…)` and `ap.falling(…)` select one
        direction. Only changes of sign count: touching zero is not a crossing, nor is a jump over zero (of a velocity at an
        impact, of floor), nor leaving zero at the start. Between samples the expression is a function of polynomials, and
        interval bounds exclude or isolate its zeros; where they cannot (a pole, too many oscillations), there is a warning.
        """
        return crossing_times(self, expression)

    def spectrum(self, key: Any, *, since: Any = None, until: Any = None, samples: int = 4096, window: str = "hann") -> Any:
        """A `Spectrum`, amplitude and phase over frequency, of a coordinate, velocity, reaction or expression, by FFT;
        since, until: a part, s; window: "hann", "rectangular" (for whole periods) or "flattop" (exact amplitudes)."""
        return spectrum(self, key, since=since, until=until, samples=samples, window=window)

    def release(self, constraint: Any) -> Array:
        """Times at which Λ changes sign, (n,), s: a unilateral version of the constraint would open (or close) there.

        Λ is sampled as densely as it requires, however slowly the states vary (`appell.motion.crossings`).
        """
        return release_times(self, constraint)

    @property
    def final(self) -> dict[Any, float]:
        """The last state, symbol → value, SI; `simulate(…, start=motion.final, since=motion.t[-1])` continues from it."""
        pairs = [*zip(self.system.positions, self.q[-1], strict=True)]
        pairs += zip(self.system.velocities, self.v[-1], strict=True)
        return {symbol: float(value) for symbol, value in pairs}

    # -- outside -------------------------------------------------------------------------------------------------------

    @cached_property
    def dataset(self) -> Any:
        """The motion as an xarray `Dataset` over t, with units, names and LaTeX in the attributes."""
        return to_dataset(self)

    def save(self, path: str | Path) -> Path:
        """Writes the dataset to NetCDF (`.nc`) or Zarr (`.zarr`); `ap.load` reads it."""
        return save(self.dataset, path)
