"""A system made ready to evaluate: parameter values bound, functions compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.backends import Call, backend_named, vm_function
from appell.compiled.in_casadi import in_casadi
from appell.compiled.jacobian import Jacobian, jacobian_of
from appell.compiled.jax_motions import InJax, in_jax
from appell.compiled.run_notes import run_notes
from appell.compiled.torch_motions import InTorch, in_torch
from appell.delegates import delegate
from appell.errors import STATUS_TEXT, ModelError, SingularConfiguration, Status
from appell.graph import Fn
from appell.model import System
from appell.model.breaks import BRANCH_TIME
from appell.model.friction import refuse_friction
from appell.model.measured import letters_of
from appell.model.multiplier import of_states
from appell.model.prescription import tables
from appell.model.schedule import Schedule
from appell.normal_form import NormalForm, normal_form
from appell.normal_form.flow import Flow, acceleration, flow
from appell.normal_form.policy import Policies, choose, judged
from appell.normal_form.solved import status_of
from appell.normal_form.substituted_parameters import with_numbers
from appell.notes import Note
from appell.reading import as_array, items_of, reals, symbolic
from appell.remember import remembered
from appell.rows import ELIMINATE, RANK, accelerations, broken

Array = NDArray[np.float64]

COMPILE_FROM = 20_000
"""Batch size from which evaluations are compiled; for smaller ones CasADi's evaluator is faster than a compiler."""


@remembered
def _on_backend(fn: Fn, backend: str) -> Call:
    """A function on a back end, cached: generating its source and searching the disk take longer than 100,000 evaluations."""
    return backend_named(backend).function(fn)


@dataclass(frozen=True, eq=False)
class Run:
    """A system with its parameter values and its compiled functions; `ap.compile` makes it."""

    system: System
    form: NormalForm
    parameters: Mapping[Any, float]
    p: Array
    backend: str
    policies: Policies
    fold: tuple[int, ...] = field(default=(), kw_only=True)  # indices in p of the parameters compiled in as numbers
    schedule: Schedule | None = field(default=None, kw_only=True)  # of measured records, whose entries in p are NaN

    @property
    def numeric_form(self) -> NormalForm:
        """The normal form for accelerations and time loops, with the folded parameters as numbers."""
        return with_numbers(self.form, tuple((i, float(self.p[i])) for i in self.fold)) if self.fold else self.form

    def __reduce__(self):
        """Pickles a run as its system and values; normal form and compiled functions are made again on loading."""
        contents = (self.system, dict(self.parameters), self.p, self.backend, self.policies, self.fold, self.schedule)
        return _restored, contents

    @cached_property
    def acceleration(self) -> Callable[[ArrayLike, ArrayLike, ArrayLike], tuple[Array, Array]]:
        """acceleration(t, q, v): (a, Λ) of M a + h = Q + W Λ, A a + a0 = 0.

        Parameters
        ----------
        t: time, s; q: coordinates, (nq,) or (batch, nq); v: velocities, (nv,) or (batch, nv); in the order of the system.

        Returns
        -------
        a: (nv,) or (batch, nv); Λ: (rows,) or (batch, rows) in the order of `system.constraints`. The force on the system
        is +Λ ∂f/∂q (∂f/∂q̇, ∂f/∂q̈ by the order of the constraint).
        """
        if self.system.frictions:  # the accelerations depend on the mode
            return delegate("Run.acceleration")(self)
        if self.schedule is not None:
            return self._on_schedule
        if self.policies.acceleration.kind in (RANK, ELIMINATE):  # the rank may differ from state to state
            return self._checked_acceleration
        call = self._call
        return call.entry(self._checked_acceleration, kept=len(call.fn.outputs) - 1, guarded=True, fixed={"p": self.p})

    def p_at(self, t: Any) -> Array:
        """All parameters at a time, (np,), or at several, (k, np), with the values that records have from then on."""
        return self.p if self.schedule is None else self.schedule.put(self.p, t)

    @property
    def _some_p(self) -> Array:
        """Parameters at some time at which everything is defined."""
        return self.p if self.schedule is None else self.p_at(self.schedule.middle)

    def at(self, t: float) -> Run:
        """The run with the values that its records have at one time."""
        if self.schedule is None:
            return self
        moment = replace(self, p=self.p_at(t), schedule=None)
        moment.__dict__["_call"] = self._call
        return moment

    def _on_schedule(self, t: ArrayLike, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """(a, Λ) with the measured records of the run."""
        t = as_array(t, "t")
        if np.ndim(t) == 0:
            return self.at(float(t)).acceleration(t, q, v)
        arrays = ((q, "q", self.form.nq), (v, "v", self.form.nv))
        q, v = (np.broadcast_to(as_array(x, name), (len(t), n)) for x, name, n in arrays)
        solutions = [self.at(float(time)).acceleration(float(time), *state) for time, *state in zip(t, q, v, strict=True)]
        return np.array([a for a, _ in solutions]), np.array([lam for _, lam in solutions])

    def _checked_acceleration(self, t: ArrayLike, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """`acceleration` for lists and batches, with an error where a state is singular."""
        t, q, v = (as_array(x, name) for x, name in ((t, "t"), (q, "q"), (v, "v")))
        if np.ndim(q) == 2 or np.ndim(v) == 2:
            return self._batch(t, q, v)
        a, lam, margin = self._call.single(t, q, v, self.p)
        state = float(np.asarray(t)), np.asarray(q, float), np.asarray(v, float)
        return (a, lam) if margin > 0 and not self._violates_rows(*state, a) else self._solved_by_rank(*state, float(margin))

    def _violates_rows(self, t: ArrayLike, q: ArrayLike, v: ArrayLike, a: Array) -> Any:
        """Whether accelerations violate rows taken to be redundant; for a batch, at which states."""
        if self.policies.acceleration.kind not in (RANK, ELIMINATE):
            return np.zeros(len(a), dtype=bool) if a.ndim == 2 else False
        if a.ndim == 2:
            rows = self._evaluate(self.form.select("A", "a0"), [t, q, v, self.p])
            return broken(rows["A"], rows["a0"], a).any(axis=1)
        rows = self.form.select("A", "a0")(t, q, v, self.p)
        return bool(broken(rows["A"], rows["a0"], a).any())

    def _solved_by_rank(self, t: float, q: Array, v: Array, margin: float, which: str = "") -> tuple[Array, Array]:
        """(a, Λ) with the rank of the rows at this state; `SingularConfiguration` if there is no solution."""
        if self.form.gauss or not self.form.ideal or not self.form.rows or margin == -float(Status.NOT_FINITE):
            self._raise_singular(t, q, v, STATUS_TEXT[status_of(margin)] + which)
        blocks = self.form.select("M", "A", "A_size", "Q", "h", "a0")(t, q, v, self.p)
        if not all(np.isfinite(x).all() for x in blocks.values()):
            self._raise_singular(t, q, v, STATUS_TEXT[Status.NOT_FINITE] + which)
        metric = np.array(self.policies.acceleration.metric) if self.policies.acceleration.metric else None
        M, A, r = blocks["M"], blocks["A"], blocks["Q"] - blocks["h"]
        if gamma := self.policies.acceleration.gamma:
            M, r = M + gamma * A.T @ A, r - gamma * A.T @ blocks["a0"]
        a, lam, rows = accelerations(M, A, blocks["A_size"], r, blocks["a0"], metric)
        names = [row.constraint.name for row in self.form.rows]
        dependent = ", ".join(f"'{names[i]}'" for i in rows.dependent(rows.rank))
        if not rows.clear or not np.isfinite(a).all():
            self._raise_singular(t, q, v, STATUS_TEXT[Status.SINGULAR] + which)
        if broken(blocks["A"], blocks["a0"], a, blocks["A_size"]).any():
            self._raise_singular(
                t, q, v, f"no acceleration satisfies all constraints here: {dependent} depend on the others at this state and"
                f" contradict them (is it on the constraints, and off a point where branches meet?){which}",
            )  # fmt: skip
        return a, lam

    def _batch(self, t: ArrayLike, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """(a, Λ) of a batch; singular states are solved one by one, or named in the error."""
        a, lam, margin = self._call.batch(t, q, v, self.p)
        bad = np.flatnonzero(~(margin > 0) | self._violates_rows(t, q, v, a))
        pick = lambda x, n, k: np.asarray(x, float)[k] if np.ndim(x) > n else np.asarray(x, float)
        for k in map(int, bad):
            which = f" (state {k} of the batch, and {len(bad) - 1} more)" if len(bad) > 1 else f" (state {k} of the batch)"
            a[k], lam[k] = self._solved_by_rank(float(pick(t, 0, k)), pick(q, 1, k), pick(v, 1, k), float(margin[k]), which)
        return a, lam

    def _raise_singular(self, t: float, q: Array, v: Array, text: str) -> None:
        """Raises `SingularConfiguration` with the state in the message."""
        state = self.named(q, v)
        values = ", ".join(f"{name} = {value:.6g}" for name, value in state.items())
        outside = [table.description for table in tables(self.system) if table.piece_of(t) is None]
        text = "; ".join([text, *outside])
        raise SingularConfiguration(f"{text}: t = {t:.6g}, {values}", time=t, state=state)

    def named(self, q: Array, v: Array) -> dict[str, float]:
        """A state by the names of its symbols."""
        names = [str(s) for s in (*self.system.positions, *self.system.velocities)]
        values = np.concatenate([reals(x, name).ravel() for x, name in ((q, "q"), (v, "v"))])
        if len(values) != len(names):
            raise ModelError(f"a state of {self.system.name} has {len(names)} numbers, q and v; there are {len(values)}")
        return dict(zip(names, map(float, values), strict=True))

    @cached_property
    def _call(self) -> Call:
        return _accelerations(self.numeric_form, self.policies, self.backend)

    @cached_property
    def jacobian(self) -> Callable[[ArrayLike, ArrayLike, ArrayLike], Jacobian]:
        """jacobian(t, q, v): derivatives of the accelerations, `a_q` (nv, nq), `a_v` (nv, nv), `a_p` (nv, np); batches first.

        Columns of a_p are in the order of `system.parameters`. The four entries of a unit quaternion count as independent.
        """
        return jacobian_of(self)

    def jax(self) -> InJax:
        """Accelerations and short motions as differentiable functions of JAX (extra `[jax]`).

        `f.acceleration(t, q, v, p)` gives a, (nv,); `f.motion(q, v, p, step=…, steps=…)` gives the state after `steps` steps of
        order 4; p (np,) are the parameters in the order of `system.parameters`, those of the run by default.
        """
        return in_jax(self)

    def torch(self) -> InTorch:
        """Accelerations and short motions as functions of PyTorch, with reverse derivatives of any order (extra `[torch]`).

        Batch axes come first: `f.acceleration(t, q, v, p)` gives a, (…, nv), at q (…, nq).
        """
        return in_torch(self)

    def casadi(self) -> Any:
        """The accelerations as a `casadi.Function` (t, q, v, p) → a, lam, for optimal control and estimation with CasADi.

        p (np,) in the order of `system.parameters`, none compiled in. CasADi differentiates it: `f.jacobian()`, `f.forward(1)`.
        Unilateral constraints are not included: the function describes free flight.
        """
        return in_casadi(self)

    def with_parameters(self, p: Array) -> Run:
        """The same run with other values of its parameters, (np,)."""
        p = reals(p, "the values of the parameters", infinite=False)
        if p.shape != self.p.shape:
            raise ModelError(f"'{self.system.name}' has {len(self.p)} parameters; their values have the shape {p.shape}")
        if np.array_equal(p, self.p):
            return self
        return replace(self, p=p, parameters=dict(zip(self.system.parameters, map(float, p), strict=True)))

    def evaluate(self, t: ArrayLike, q: ArrayLike, v: ArrayLike, names: Sequence[str]) -> dict[str, Array]:
        """Outputs of the normal form (`appell.normal_form.OUTPUTS`) at a batch of states: name → (batch, *shape)."""
        t, q, v = reals(t, "t"), reals(q, "q"), reals(v, "v")
        fn = self.form.select(*(names if type(names) is tuple else items_of(names, "names=")))
        solution = {}
        if any(port.name in ("a", "lam") for port in fn.inputs):
            solution["a"], solution["lam"] = self.acceleration(t, q, v)
        arrays = {"t": t, "q": q, "v": v, "p": self.p_at(t), **solution}
        return self._evaluate(fn, [arrays[port.name] for port in fn.inputs])

    def values(self, expression: Any, t: ArrayLike, q: ArrayLike, v: ArrayLike, a: Array | None = None) -> Array:
        """Values of a SymPy expression in t, coordinates, velocities, accelerations and parameters.

        At one state, t, q (nq,) and v (nv,), one number; at a batch of states, q (batch, nq), (batch,).
        """
        t, q, v = reals(t, "t"), reals(q, "q"), reals(v, "v")
        if t.ndim == 0 and q.ndim == 1 and v.ndim == 1:
            return self.values(expression, t[None], q[None], v[None], None if a is None else np.atleast_2d(a))[0]
        fn = self.form.lowered(of_states(self.system.in_velocities(symbolic(expression, "an expression"))))
        if a is None and any(port.name == "a" for port in fn.inputs):
            a = self.acceleration(t, q, v)[0]
        arrays = {"t": t, "q": q, "v": v, "p": self.p_at(t), "a": a}
        return self._evaluate(fn, [arrays[port.name] for port in fn.inputs])["value"]

    def _evaluate(self, fn: Fn, arrays: list[Any]) -> dict[str, Array]:
        """A function at a batch of states, its outputs by name; small batches do not wait for a compiler."""
        count = max(len(np.atleast_2d(x)) if np.ndim(x) > 1 else 0 for x in arrays)
        waits = backend_named(self.backend).recall is not None and count < COMPILE_FROM
        call = vm_function(fn) if waits else _on_backend(fn, self.backend)
        return dict(zip((port.name for port in fn.outputs), call.batch(*arrays), strict=True))

    def started(self, t: float, q: Array, v: Array) -> Run:
        """The same run with the ranks of its rows determined at an initial state on the constraints."""
        return self.judged(t, q, v)[0]

    def judged(self, t: float, q: Array, v: Array) -> tuple[Run, Array]:
        """`started`, and the scales of the rows at the initial state, (m,)."""
        if not self.form.rows:
            return self, np.zeros(0)
        policies, sizes = judged(self.form, self.p_at(t), (t, q, v))
        return (self if policies is self.policies or policies == self.policies else replace(self, policies=policies)), sizes

    def in_contact(self, contacts: tuple[int, ...]) -> Run:
        """The same system in contact with some of its unilateral constraints, whose rows follow the others."""
        return _in_contact(self, contacts) if contacts else self

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """Remarks for the reader of results: redundant rows, minima not proven to be global."""
        return run_notes(self)

    def flow(self, pseudo: Mapping[str, Any] | None = None) -> Flow:
        """The differential equation of the state, in velocities or in pseudo-velocities."""
        if pseudo is None:
            return self._flow
        return self._flow_in(self.form.lowered_values(pseudo, self.system))

    @cached_property
    def _flow(self) -> Flow:
        return self._flow_in(None)

    @cached_property
    def flow_with_work(self) -> Flow:
        """`flow` with the work of all forces as the last entry of its state."""
        return flow(self.numeric_form, self.policies, work=True)

    def _flow_in(self, pseudo: Any) -> Flow:
        refuse_friction(self.system, "this")
        return flow(self.numeric_form, self.policies, pseudo, work=_does_work(self.system) or None)


@remembered
def _does_work(system: System) -> bool:
    """Whether a potential does work at breaks, or resets do work."""
    symbols = system.potential.free_symbols
    return BRANCH_TIME in symbols or bool(letters_of(symbols)) or bool(system.resets)


def _restored(
    system: System, parameters: Mapping[Any, float], p: Array, backend: str, policies: Policies, fold: tuple[int, ...] = (),
    schedule: Schedule | None = None,
) -> Run:  # fmt: skip
    return Run(system, normal_form(system), parameters, p, backend, policies, fold=fold, schedule=schedule)


@remembered
def _in_contact(run: Run, contacts: tuple[int, ...]) -> Run:
    form = normal_form(run.system, contacts)
    policies = choose(form, run._some_p)
    return Run(run.system, form, run.parameters, run.p, run.backend, policies, fold=run.fold, schedule=run.schedule)


@remembered
def _accelerations(form: NormalForm, policies: Policies, backend: str) -> Call:
    """The compiled accelerations, one function for all parameters."""
    return backend_named(backend).load(acceleration(form, policies))


__all__ = ["Call", "Run"]
