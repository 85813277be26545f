"""The request for a plan, checked before anything is computed; every error names its cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.logic.boolalg import BooleanAtom

from appell.errors import ModelError
from appell.jets import DerivedJet, Jet, Parameter, expression
from appell.jets import t as time
from appell.model import System
from appell.model.multiplier import Multiplier
from appell.model.values import RULES, as_table, bound
from appell.optimize.goals import Free, InstantValue, TimeIntegral, at
from appell.optimize.inputs_as_states import SteeredSystem, steered
from appell.reading import finite, items_of, name_in, shown, table_of
from appell.spelling import did_you_mean

Array = NDArray[np.float64]
Interval = tuple[float, float]

LEAST_DURATION = 1e-6
"""Shortest duration as a fraction of the latest one: a motion of zero duration has no rates."""
DURATIONS, TOLD_APART = (1e-30, 1e30), 1e-10
"""Durations that a plan can have, s, and the shortest one as a fraction of its times: beyond them numbers overflow, or instants
coincide."""


@dataclass(frozen=True)
class BoundedExpression:
    """lower <= expression <= upper, with its original text."""

    expression: Any
    lower: float
    upper: float
    text: str


@dataclass(frozen=True, eq=False)
class EndConditions:
    """lower <= (q, v) <= upper at the start or the end, (nq + nv,); equal where the value is given."""

    lower: Array
    upper: Array

    @property
    def fixed(self) -> NDArray[np.bool_]:
        return self.lower == self.upper


@dataclass(frozen=True, eq=False)
class SteeringRequest:
    """A requested plan: min `objective`, with `start`, `end`, `bounds`, and rows along the motion and between instants.

    parameters: value of every parameter that is not an input, for unknown ones the first guess. duration: bounds of the time,
    s. phase_durations: bounds of the durations of the phases, s, in their order; () if only the whole is bounded.
    """

    original: System
    steered: SteeredSystem
    objective: Any
    start: EndConditions
    end: EndConditions
    since: float
    duration: Interval
    parameters: Mapping[Any, float]
    unknown: tuple[Any, ...]
    bounds: Mapping[Any, Interval]
    path_relations: tuple[BoundedExpression, ...]
    instant_relations: tuple[BoundedExpression, ...]
    phase_durations: tuple[Interval, ...] = ()

    @property
    def system(self) -> System:
        return self.steered.system

    @property
    def states(self) -> tuple[Any, ...]:
        return (*self.system.positions, *self.system.velocities)

    @property
    def symbols(self) -> set[Any]:
        """All symbols in the goal, the bounds and the relations."""
        expressions = [
            self.objective,
            *self.bounds,
            *(row.expression for row in (*self.path_relations, *self.instant_relations)),
        ]
        return {s for e in expressions for s in e.free_symbols}


def read_request(
    system: System, minimize: Any, controls: Any, start: Any, end: Any, since: Any, until: Any, parameters: Any, *,
    bounds: Any, rates: Any, subject_to: Any, unknown: Any,
) -> SteeringRequest:  # fmt: skip
    """The request from the arguments of `ap.optimize`."""
    control_symbols = [_parameter(system, name, "controls=") for name in items_of(controls, "controls=")]
    unknown_symbols = [_parameter(system, name, "unknown=") for name in items_of(unknown, "unknown=")]
    for keyword, symbols in (("controls=", control_symbols), ("unknown=", unknown_symbols)):
        repeated = [s for i, s in enumerate(symbols) if s in symbols[:i]]
        if repeated:
            raise ModelError(f"{keyword} names {repeated[0]} twice")
    shared = [s for s in unknown_symbols if s in control_symbols]
    if shared:
        raise ModelError(
            f"{shared[0]} is a control and an unknown: a control changes with time, an unknown does not; choose one"
        )
    paced = {
        _parameter(system, key, "rates="): interval(value, f"the rate of {name_in(key)}")
        for key, value in table_of(rates, "rates=").items()
    }
    unlisted = [s for s in paced if s not in control_symbols]
    if unlisted:
        raise ModelError(
            f"rates= bounds the rates of controls, and {unlisted[0]} is none; the velocity of a coordinate goes into bounds="
        )
    steered_system = steered(system, control_symbols, list(paced))
    span = _span(since, until, minimize)
    reader = _Reader(steered_system, unknown_symbols, span)
    values, first_guess = _values(system, control_symbols, unknown_symbols, parameters, table_of(bounds, "bounds="))
    limits, bounded = reader.bounds(bounds)
    limits.update({steered_system.rates[c]: pair for c, pair in paced.items()})
    limits.update(_assumed(steered_system, unknown_symbols, limits))
    first_guess = {s: float(np.clip(x, *limits.get(s, (-np.inf, np.inf)))) for s, x in first_guess.items()}
    along, between = reader.relations(subject_to, bounded)
    objective = reader.objective(minimize)
    _depends_on(
        steered_system.system,
        [*control_symbols, *unknown_symbols],
        [objective, *(r.expression for r in (*along, *between))],
        steered_system,
    )
    return SteeringRequest(
        system, steered_system, objective, reader.ends(start, "start", default=True), reader.ends(end, "end", default=False),
        span[0], (span[1] - span[0], span[2] - span[0]), {**values, **first_guess}, tuple(unknown_symbols), limits,
        tuple(along), tuple(between),
    )  # fmt: skip


def _parameter(system: System, key: Any, keyword: str) -> Any:
    names = {str(s): s for s in system.parameters}
    parameter = names.get(name_in(key))
    if parameter is None:
        if name_in(key) in {str(s) for s in (*system.positions, *system.velocities)}:
            raise ModelError(
                f"{keyword} names {name_in(key)}, a state of {system.name}; it takes parameters: write a force or a constraint"
                " with one"
            )
        hint = did_you_mean(name_in(key), names)
        raise ModelError(
            f"{keyword} names {name_in(key)}, which is no parameter of {system.name}; it has {', '.join(names) or 'none'}{hint}"
        )
    return parameter


def interval(value: Any, what: str) -> Interval:
    """The pair (lower, upper) that bounds something; None is an open side, `ap.free` two of them."""
    if isinstance(value, Free):
        return -np.inf, np.inf
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ModelError(f"{what} is bounded by a pair (lower, upper), not {shown(value)}")
    pair = [
        (-np.inf, np.inf)[k] if limit is None else finite(limit, f"a bound of {what}", infinite=True)
        for k, limit in enumerate(value)
    ]
    if not pair[0] <= pair[1]:
        raise ModelError(f"the bounds of {what} are crossed: {pair[0]:g} is above {pair[1]:g}")
    if pair[0] == np.inf or pair[1] == -np.inf:
        raise ModelError(f"{what}: no number lies between {pair[0]:g} and {pair[1]:g}")
    return pair[0], pair[1]


def _span(since: Any, until: Any, minimize: Any) -> tuple[float, float, float]:
    """since, and the earliest and latest end, s."""
    t0 = finite(since, "since=")
    if isinstance(until, tuple | list):
        earliest, latest = interval(until, "until=")
        if not (latest > t0 and np.isfinite(latest)):
            raise ModelError(f"until= ends with a finite time after since = {t0:g}, not {shown(until)}")
        refuse_duration(t0, latest)
        return t0, max(earliest, t0 + LEAST_DURATION * (latest - t0)), latest
    t1 = finite(until, "until=")
    if not t1 > t0:
        raise ModelError(f"until= is a time after since = {t0:g}, not {t1:g}")
    if isinstance(minimize, str) and minimize == "time":
        raise ModelError(
            f"minimize='time' with a fixed end: give until=(earliest, latest), such as until=({0.1 * t1:g}, {10 * t1:g})"
        )
    refuse_duration(t0, t1)
    return t0, t1, t1


def refuse_duration(t0: float, t1: float) -> None:
    """Raises for a duration with which nothing can be computed."""
    shortest, longest = DURATIONS
    if not shortest <= t1 - t0 <= longest:
        raise ModelError(
            f"until = {t1:g} s: a plan lasts between {shortest:g} and {longest:g} s; choose a unit of time in which it lasts"
            " about 1"
        )
    if t1 - t0 < TOLD_APART * max(abs(t0), abs(t1)):
        raise ModelError(
            f"a plan of {t1 - t0:g} s from since = {t0:g} s: such instants cannot be told apart. Count time from the start"
        )


def _values(system: System, controls: list[Any], unknown: list[Any], parameters: Any, bounds: Mapping[Any, Any]) -> Any:
    """(values of the given parameters, first guesses of the unknown ones)."""
    table = as_table(system.parameters, parameters)
    names = {name_in(key) for key in table}
    valued = [c for c in controls if str(c) in names]
    if valued:
        raise ModelError(
            f"the control {valued[0]} has a value in parameters=; what the plan chooses is given as guess= instead"
        )
    values = bound(system.parameters, table, system.name, optional=[*controls, *unknown])
    limits = {name_in(key): value for key, value in bounds.items()}
    guesses = {}
    for s in unknown:
        if s not in values:
            if str(s) not in limits:
                raise ModelError(f"the unknown {s} needs a first guess in parameters=, or bounds=")
            low, high = interval(limits[str(s)], str(s))
            if not np.isfinite([low, high]).all():
                raise ModelError(f"the unknown {s} needs a first guess in parameters=, or bounds= on both sides")
            guesses[s] = (low + high) / 2
    return values, guesses


def _assumed(steered_system: SteeredSystem, unknown: list[Any], limits: Mapping[Any, Interval]) -> dict[Any, Interval]:
    """Bounds from the assumptions of symbols: positive ones are not below zero, also where a control has become a state."""
    assumed = {}
    for declared, s in (*steered_system.values.items(), *((s, s) for s in unknown)):
        low, high = limits.get(s, (-np.inf, np.inf))
        for rule, _ in RULES[:4]:
            if declared.assumptions0.get(rule):
                low, high = (max(low, 0.0), high) if rule in ("positive", "nonnegative") else (low, min(high, 0.0))
                if low > high:
                    lower, upper = limits[s]
                    raise ModelError(f"{declared} was declared {rule}, and bounds= keeps it between {lower:g} and {upper:g}")
        if (low, high) != limits.get(s, (-np.inf, np.inf)):
            assumed[s] = low, high
    return assumed


class _Reader:
    """Reads expressions in the symbols of a system, with controls replaced by states where they are states."""

    def __init__(self, ready: SteeredSystem, unknown: list[Any], span: tuple[float, float, float]):
        self.span = (span[0], span[1]) if span[1] == span[2] else None  # for a fixed end, s
        self.system, self.steered_inputs, self.control_states = ready.system, ready.inputs, ready.states
        self.given_parameters = {s for s in self.system.parameters if s not in (*ready.inputs, *unknown)}
        self.constant = {*self.given_parameters, *unknown}
        self.state_of_control = {c: s for c, s in ready.values.items() if c is not s}
        self.states = {str(s): s for s in (*self.system.positions, *self.system.velocities)}
        self.inputs = {str(s): s for s in self.system.parameters}
        self.controls = {str(s): ready.values[s] for s in ready.controls}
        self.frictional = {x for fr in self.system.frictions for x in fr.multipliers}  # rows where they stick, laws where not

    def ends(self, given: Any, what: str, *, default: bool) -> EndConditions:
        states = (*self.system.positions, *self.system.velocities)
        index = {str(s): i for i, s in enumerate(states)}
        default_start = [default and s not in self.control_states for s in states]
        low = np.array([s.start if h else -np.inf for s, h in zip(states, default_start, strict=True)])
        high = np.array([s.start if h else np.inf for s, h in zip(states, default_start, strict=True)])
        for key, value in table_of(given, f"{what}=").items():
            name = name_in(self.state_of_control.get(key, key))
            if name not in index:
                if what == "end" and name in (*map(str, self.system.accelerations), *map(str, self.steered_inputs)):
                    raise ModelError(
                        f"end names {name}, and end= takes coordinates and velocities; write it as a relation,"
                        f" subject_to=[Eq(ap.at({name}, 'end'), …)]"
                    )
                hint = did_you_mean(name, index)
                raise ModelError(
                    f"{what} names {name}, which is not a state of {self.system.name}; its states are {', '.join(index)}{hint}"
                )
            i = index[name]
            if isinstance(value, tuple | list | Free):
                low[i], high[i] = interval(value, f"the {what} of {name}")
            else:
                low[i] = high[i] = finite(value, f"the {what} value of {name}")
        return EndConditions(low, high)

    def expression(self, value: Any, where: str) -> Any:
        """An expression in the velocities of the system, every symbol known."""
        expr = self.system.in_velocities(expression(value, where).xreplace(self.state_of_control))
        expr = expr.xreplace({node: node.within(*self.span) for node in expr.atoms(InstantValue)} if self.span else {})
        known = {*self.states.values(), *self.system.accelerations, *self.system.parameters, time}
        rows = {constraint.multiplier for constraint in (*self.system.constraints, *self.system.unilateral)} | self.frictional
        for s in sorted(expr.free_symbols, key=str):
            if s in known or s in rows or isinstance(s, DerivedJet):
                continue
            if isinstance(s, Multiplier):
                raise ModelError(f"{where} contains {s}, and {self.system.name} has no constraint of that name")
            hint = did_you_mean(str(s), [*self.states, *self.inputs])
            kind = "state" if isinstance(s, Jet) else "parameter" if isinstance(s, Parameter) else "symbol"
            raise ModelError(f"{where} contains the {kind} {s}, which {self.system.name} does not have{hint}")
        return expr

    def bounds(self, given: Any) -> tuple[dict[Any, Interval], list[BoundedExpression]]:
        """Symbol → interval, and intervals of expressions."""
        limits, rows = {}, []
        for key, value in table_of(given, "bounds=").items():
            if isinstance(key, str):
                key = self.controls.get(key, self.states.get(key, self.inputs.get(key, key)))
                if isinstance(key, str):
                    hint = did_you_mean(key, [*self.states, *self.inputs])
                    raise ModelError(f"bounds= names {key}, which {self.system.name} does not have{hint}")
            key = getattr(key, "multiplier", key)
            expr = self.expression(key, f"bounds= of {shown(key)}")
            pair = interval(value, f"bounds= of {expr}")
            if not expr.free_symbols:
                raise ModelError(f"bounds= bounds {expr}, which is a number: nothing can be chosen there")
            self._refuse_given(expr, f"bounds= of {expr}")
            derived = isinstance(expr, DerivedJet) or expr in self.frictional
            if isinstance(expr, sympy.Symbol) and expr != time and not derived:
                limits[expr] = pair
            else:
                rows.append(BoundedExpression(expr, *pair, f"bounds of {expr}"))
        return limits, rows

    def relations(
        self, given: Any, bounded: list[BoundedExpression]
    ) -> tuple[list[BoundedExpression], list[BoundedExpression]]:
        """Rows along the motion, and rows between instants, of the relations and of bounded expressions."""
        rows = list(bounded)
        listed = [given] if isinstance(given, sympy.Basic | bool) else items_of(given, "subject_to=")
        for relation in listed:
            conjuncts = relation.args if isinstance(relation, sympy.And) else [relation]
            rows += [self._relation(conjunct) for conjunct in conjuncts]
        # one value for a whole motion
        single_valued = lambda e: e.has(InstantValue, TimeIntegral) or e.free_symbols <= self.constant
        along = [row for row in rows if not single_valued(row.expression)]
        between = [row for row in rows if single_valued(row.expression)]
        for row in between:
            _refuse_mixture(row.expression, row.text, self.steered_inputs)
        return along, between

    def _relation(self, relation: Any) -> BoundedExpression:
        if isinstance(relation, bool | np.bool_ | BooleanAtom):
            decided = f"subject_to= contains {bool(relation)}: SymPy has decided the relation by itself"
            raise ModelError(f"{decided}; write it with the symbols of the system")
        kinds = {
            sympy.Ge: (0.0, np.inf),
            sympy.Gt: (0.0, np.inf),
            sympy.Le: (-np.inf, 0.0),
            sympy.Lt: (-np.inf, 0.0),
            sympy.Eq: (0.0, 0.0),
        }
        if type(relation) not in kinds:
            raise ModelError(f"subject_to= takes relations such as x >= 0, x <= 1 or Eq(x, y), not {shown(relation)}")
        expr = self.expression(relation.lhs - relation.rhs, f"subject_to= {relation}")
        self._refuse_given(expr, f"subject_to= {relation}")
        return BoundedExpression(expr, *kinds[type(relation)], str(relation))

    def _refuse_given(self, expr: Any, where: str) -> None:
        """Raises for a condition on given parameters alone, which a plan cannot change."""
        if expr.free_symbols and expr.free_symbols <= self.given_parameters and not expr.has(TimeIntegral):
            names = sorted(map(str, expr.free_symbols))
            subject = f"{names[0]} is" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} are"
            raise ModelError(f"{where}: {subject} given, and nothing can be chosen there; name {names[0]} in unknown=")

    def objective(self, minimize: Any) -> Any:
        if isinstance(minimize, str):
            if minimize != "time":
                raise ModelError(f"minimize= is 'time' or an expression of ap.integral(…) and ap.at(…), not {shown(minimize)}")
            return at(time, "end") - at(time, "start")
        expr = self.expression(minimize, "minimize=")
        _refuse_mixture(expr, "minimize=", self.steered_inputs)
        return expr


def _refuse_mixture(expr: Any, where: str, inputs: tuple[Any, ...]) -> None:
    """Raises for terms that are neither at an instant nor under an integral: they have no single value."""
    outside = expr.xreplace({node: sympy.Dummy() for node in expr.atoms(InstantValue, TimeIntegral)})
    moving = [s for s in sorted(outside.free_symbols, key=str) if isinstance(s, Jet | Multiplier) or s == time or s in inputs]
    if moving:
        s = moving[0]
        raise ModelError(
            f"{where} contains {s}, which changes along the motion: write ap.integral(…) of it, ap.at({s}, 'end') or"
            f" ap.at({s}, 'start')"
        )


def _depends_on(system: System, chosen: list[Any], expressions: list[Any], steered_system: SteeredSystem) -> None:
    """Raises for a control or unknown that does not occur anywhere."""
    occurring = (
        set(system.parameters)
        | {s for e in expressions for s in e.free_symbols}
        | set(steered_system.values.values()) - set(steered_system.controls)
    )
    for s in chosen:
        if s not in occurring and steered_system.values.get(s, s) not in occurring:
            raise ModelError(f"nothing depends on {s}: it stands in no force, constraint or goal of {system.name}")


__all__ = ["BoundedExpression", "EndConditions", "SteeringRequest", "interval", "read_request", "refuse_duration"]
