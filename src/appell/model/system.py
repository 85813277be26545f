"""`System`: a constrained mechanical system.

    q̇ = N(t, q) v + n0(t, q)      T(t, q, v)      V(t, q)      Q(t, q, v)      f(t, q, v, v̇) = 0      ṡ = g(t, q, v, s)

Without `speeds` the velocities v are the q̇ themselves. A `System` is immutable and valid: everything that can be
checked without a start and parameter values is checked on construction, by the symbols here and by evaluating its normal form
at random states (`appell.normal_form.model_check`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import sympy
from sympy import Expr, Symbol

from appell.delegates import delegate
from appell.errors import ModelError, NoValues
from appell.jets import Jet, Parameter, Prescribed, t
from appell.model.bodies import Particle, RigidBody, impossible
from appell.model.constraint import Constraint
from appell.model.face_check import check_faces
from appell.model.first_order import check_row, read_states, refuse_states
from appell.model.friction import SPEED, Friction, read_frictions
from appell.model.friction_modes import in_mode
from appell.model.jumps import refuse_jumps
from appell.model.loads import Force, Torque, momentum_of_mass
from appell.model.placed import may_have_values
from appell.model.reset import Reset, read_resets
from appell.model.springs import Damper, Spring
from appell.model.stated_kinematics import read_coordinates, read_velocities, refuse_other_axes
from appell.model.system_display import shown
from appell.model.unilateral import Between, Face, Unilateral
from appell.model.vocabulary import Vocabulary
from appell.reading import finite, items_of, name_in, text_of
from appell.spelling import checked_keywords, did_you_mean

ELSEWHERE = {
    "equations": "ap.forms.lagrange(system), or another form of ap.forms",
    **{form: f"ap.forms.{form}(system)" for form in ("lagrange", "appell", "kane", "hamilton", "gauss", "maggi", "nielsen")},
    **{verb: f"ap.{verb}(system, …)" for verb in ("simulate", "compile", "linearize", "agree", "diagnose", "sweep")},
    "run": "ap.simulate(system, start, until, parameters), or ap.compile(system, parameters)",
    "plot": "ap.simulate(system, …).plot()",
    "mass_matrix": "ap.linearize(system, …).M, or ap.compile(system, …).acceleration",
}
"""Attributes often looked for on a system that are functions of the library."""


@checked_keywords()
class System(Vocabulary):
    """A constrained mechanical system.

    Parameters
    ----------
    coordinates: list of `ap.coordinates`, and `ap.quaternion` objects.
    kinetic: T in t, q and the velocities, of degree at most 2 in them, J. Bodies add to it.
    potential: V in t and q, J.
    forces: generalized forces that are not −∂V/∂q: coordinate, velocity or speed, or its name → expression in t, q, velocities
        and multipliers of the constraints (`floor.multiplier`); N or N m.
    constraints: `ap.Constraint` objects, or expressions that vanish; `ap.Unilateral`, `ap.Between`, `ap.Friction` and
        `ap.Reset` among them.
    bodies: `ap.Particle` and `ap.RigidBody`; their T is added to `kinetic`.
    loads: `ap.Force`, `ap.Torque` and `ap.Damper`, added to `forces`; `ap.Spring`, added to `potential`.
    speeds: velocities that are not derivatives of coordinates, `ap.speeds`.
    kinematics: coordinate → its rate, affine in the speeds. A coordinate without an entry keeps its own velocity x.d,
        which follows the speeds in the list of velocities.
    rates: state of first order (`ap.states`) → its rate ṡ in t, q, velocities and states: currents, integrators, temperatures.
    sample: coordinate, velocity or parameter → value: a state near which the system is examined, for energies and constraints
        that are not defined near zero: `y + sqrt(1 - (x - 3)**2)` with `sample={x: 3}`. States not named are 0. Without it,
        random states are used, or the start of a run if the system is not defined there.
    prescription: prescribed function, or parameter with a record → its expression in t and parameters, already
        substituted in the other arguments; values given to `ap.compile` and others in parameters= are put here automatically.
    name: used in reports.

    Attributes
    ----------
    coordinates, velocities, accelerations: tuples of symbols, (nq,), (nv,), (nv,).
    states: tuple of the states of first order; positions: (nq,) coordinates, then states, as they stand in q.
    rates: coordinate or state → its rate in the velocities.
    kinetic, potential: total T and V; forces: (nv,) tuple of Q without −∂V/∂q.
    constraints, residuals: (rows,) the bilateral constraints and their residuals written in the velocities.
    unilateral: (faces,) tuple of `Face`, each f(t, q) >= 0; a `Between` gives two.
    frictions: tuple of `Friction`, their expressions written in the velocities; normals: what loads each of them:
        ("constraint", row), ("face", number) or None.
    resets: tuple of `Reset`, their expressions written in the velocities and their maps by symbol.
    parameters: tuple of `Parameter`, sorted by name.
    prescribed: tuple of the functions of time (`ap.prescribed`) without values yet, sorted by name.
    prescription: those with values, and parameters with records → expression in t and parameters.
    joint_units: of a tree: coordinate or velocity → its unit; None for other systems.
    """

    joint_units: Mapping[str, str] | None = None

    def __init__(
        self,
        coordinates: Iterable[Any],
        kinetic: Any = 0,
        potential: Any = 0,
        forces: Mapping[Symbol, Any] | None = None,
        constraints: Iterable[Any] = (),
        *,
        bodies: Iterable[Particle | RigidBody] = (),
        loads: Iterable[Force | Torque | Spring | Damper] = (),
        speeds: Iterable[Any] | None = None,
        kinematics: Mapping[Symbol, Any] | None = None,
        rates: Mapping[Symbol, Any] | None = None,
        sample: Mapping[Any, Any] | None = None,
        prescription: Mapping[Any, Expr] | None = None,
        name: str = "system",
    ):
        coordinates, constraints, bodies, loads = _copied(coordinates), *map(_copied_list, (constraints, bodies, loads))
        if coordinates is None:
            raise ModelError("coordinates= is missing: a list of ap.coordinates, System([x, y], …)")
        forces, speeds, kinematics, rates = map(_copied, (forces, speeds, kinematics, rates))
        sample = _copied(sample)
        self._given = {
            "coordinates": coordinates, "kinetic": kinetic, "potential": potential, "forces": forces,
            "constraints": constraints, "bodies": bodies, "loads": loads, "speeds": speeds, "kinematics": kinematics,
            "rates": rates, "sample": sample, "prescription": prescription, "name": name,
        }  # fmt: skip
        self.name = str(name)
        if not all(isinstance(value, Expr) for value in dict(prescription or {}).values()):
            raise ModelError("prescription= takes expressions; give tables and functions as parameters={f: …} of a run")
        self.prescription = MappingProxyType(dict(prescription or {}))
        self.coordinates, self.quaternions, own = read_coordinates(coordinates)
        self.velocities, moved = read_velocities(self.coordinates, self.quaternions, own, speeds, kinematics)
        self.accelerations: tuple[Jet, ...] = tuple(v.d for v in self.velocities)
        self._add_states(moved, rates)
        self.bodies, self.loads = tuple(items_of(bodies, "bodies=")), tuple(items_of(loads, "loads="))
        refuse_other_axes(self.bodies, self.quaternions)
        self.kinetic_given = self._expression(kinetic, "kinetic", level=1)
        self.kinetic: Expr = self.kinetic_given + sum((self._body_kinetic(b) for b in self.bodies), sympy.Integer(0))
        self.potential_given = self._expression(potential, "potential", level=0)
        self.potential: Expr = self.potential_given + sum(map(self._load_potential, self.loads), sympy.Integer(0))
        refuse_jumps(self.kinetic, "the kinetic energy")
        refuse_states(self.kinetic, "the kinetic energy")
        refuse_jumps(self.potential, "the potential", time=False)
        self._restrict(constraints)
        self.forces = self._forces({} if forces is None else forces)
        self._finish()

    def __setattr__(self, key: str, value: Any):
        if getattr(self, "_frozen", False):
            raise AttributeError(f"a System is immutable; make another one with system.replace({text_of(key)}=…)")
        object.__setattr__(self, key, value)

    def replace(self, **changes: Any) -> System:
        """A new system with some of the arguments of this one changed."""
        unknown = set(changes) - set(self._given)
        if unknown:
            raise ModelError(f"System has no argument {sorted(unknown)}; it takes {sorted(self._given)}")
        return System(**{**self._given, **changes})

    def symbolic(self) -> System:
        """The system with symbolic energies: itself. A tree with constraints derives them."""
        return self

    def __reduce__(self):
        return _rebuilt, (self._given,)

    def said_one_way(self) -> dict[str, Any]:
        """The arguments in a canonical form, so that equal systems have the same digest: bare rows with their names, frictions
        with the names of their normals, symbols for names of coordinates."""
        given = self._given.get("constraints", ())
        items = [given] if isinstance(given, Constraint | Unilateral | Between | Friction | Reset | Expr) else given
        symbols = {str(s): s for s in (*self.positions, *self.velocities)}
        symbol = lambda key: symbols.get(key, key) if isinstance(key, str) else key
        tables = {key: self._given[key] for key in ("forces", "rates", "sample") if key in self._given}
        stated: dict[str, Any] = {}
        stated |= {key: {symbol(key): x for key, x in t.items()} for key, t in tables.items() if isinstance(t, Mapping) and t}
        stated |= {key: None for key, table in tables.items() if isinstance(table, Mapping) and not table}
        if isinstance(items, list | tuple):
            stated["constraints"] = [Constraint(x) if isinstance(x, Expr) else x.by_name() if isinstance(x, Friction) else x
                                     for x in items]  # fmt: skip
        return stated

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ELSEWHERE:
            raise AttributeError(f"a System has no '{name}'; write {ELSEWHERE[name]}")
        if name in map(str, self.__dict__.get("coordinates", ())):
            raise AttributeError(f"a System has no values of '{name}'; a motion has: ap.simulate(system, …)['{name}']")
        public = [attribute for attribute in dir(self) if not attribute.startswith("_")]
        raise AttributeError(f"a System has no attribute '{name}'{did_you_mean(name, public)}")

    def __repr__(self) -> str:
        letters = ", ".join(map(str, self.coordinates)) + "; " * bool(self.states) + ", ".join(map(str, self.states))
        faces = f", {len(self.unilateral)} unilateral" if self.unilateral else ""
        faces += f", {len(self.resets)} resets" if self.resets else ""
        return f"<System {self.name}: ({letters}), {len(self.constraints)} constraints{faces}>"

    def _repr_latex_(self) -> str:
        """The notebook display: T, V, forces, kinematics, constraints and faces."""
        return shown(self)

    # -- modes of friction ---------------------------------------------------------------------------------------------

    def in_mode(self, mode: Mapping[Any, str], signs: Mapping[Any, int] | None = None) -> System:
        """The system in one mode of its frictions, without `ap.Friction`: for the classical forms, `agree` and `linearize`.

        mode: friction, or its name → "stick" (the slip is a constraint, its Λ is λ_T), "slip+" or "slip-" (of one slip), "slip"
            (of a pair) or "off" (its face is open). While it slides, λ_T = −μ σ Λ u is a force with the Λ of its normal.
        signs: friction → σ of Λ_N at a bilateral constraint, +1 by default.
        """
        return in_mode(self.symbolic(), mode, signs)

    # -- reading arguments ---------------------------------------------------------------------------------------------

    def _add_states(self, moved: Mapping[Any, Expr], stated: Mapping[Any, Any] | None) -> None:
        """The rates of coordinates, and of the states of first order."""
        state_rates = read_states(stated, moved)
        self.states = tuple(state_rates)
        self.rates: Mapping[Any, Expr] = MappingProxyType({**moved, **state_rates})
        for state, rate in state_rates.items():
            self._expression(rate, f"the rate of {state}", level=1)

    def _body_kinetic(self, body: Particle | RigidBody) -> Expr:
        if not isinstance(body, Particle | RigidBody):
            raise ModelError(f"bodies= takes Particle and RigidBody, not {type(body).__name__}")
        if reason := impossible(body):
            raise ModelError(f"'{body.name}' in bodies= is one that no body can be: {reason}")
        return self._expression(body.kinetic(self.rates), f"the kinetic energy of {body.name}", level=1)

    def _load_potential(self, load: Any) -> Expr:
        if not isinstance(load, Force | Torque | Spring | Damper):
            raise ModelError(f"loads= takes Force, Torque, Spring and Damper, not {type(load).__name__}")
        return self._expression(load.potential, f"a {type(load).__name__.lower()}", level=0)

    sample: Mapping[Any, float] | None = None
    unplaced: str = ""
    """Why it has not been checked yet: its rows are defined only in a small part of the state space, and a start has to say
    where."""
    prescribed: tuple[Prescribed, ...] = ()

    def _state(self, stated: Any) -> Mapping[Any, float]:
        """Values by symbol, from symbols or names of states and parameters."""
        symbols = {str(s): s for s in (*self.positions, *self.velocities, *self.parameters)}
        if not isinstance(stated, Mapping):
            raise ModelError(f"sample= maps coordinates to values, {{{self.coordinates[0]}: 1.0}}, not {type(stated).__name__}")
        unknown = [name_in(key) for key in stated if name_in(key) not in symbols]
        if unknown:
            raise ModelError(f"sample= names {unknown[0]}, not a state of {self.name}; its states are {', '.join(symbols)}")
        return MappingProxyType({symbols[name_in(key)]: finite(value, f"sample= of {key}") for key, value in stated.items()})

    def _forces(self, forces: Mapping[Symbol, Any]) -> tuple[Expr, ...]:
        if not isinstance(forces, Mapping):
            raise ModelError("forces= maps coordinates or speeds to expressions, for example {phi: -c*phi.d}")
        Q: list[Any] = [sympy.Integer(0)] * len(self.velocities)
        for key, value in forces.items():
            Q[self.velocity_of(key, "forces=")] += self._expression(value, f"the force for {key}", level=1, reactions=True)
        mass_loads = [(load, f"what the mass of {b.name} carries") for b in self.bodies for load in momentum_of_mass(b)]
        for load, description in [*((load, f"a {type(load).__name__.lower()}") for load in self.loads), *mass_loads]:
            for entry, level in load.expressions:  # also checked if it drops out of Q
                self._expression(entry, description, level=level, reactions=level == 1)
            for i, Q_i in enumerate(load.generalized(self.rates, self.velocities)):
                Q[i] += self._expression(Q_i, description, level=1, reactions=True)
        return tuple(Q)

    def _reaction(self, c: Constraint) -> tuple[Expr, ...] | None:
        if c.reaction is None:
            return None
        W: list[Any] = [sympy.Integer(0)] * self.nv
        where = f"the reaction of constraint '{c.name}'"
        if isinstance(c.reaction, tuple) and len(c.reaction) != self.nv:
            raise ModelError(f"{where} has {len(c.reaction)} entries for {self.nv} velocities")
        pairs = zip(self.velocities, c.reaction, strict=True) if isinstance(c.reaction, tuple) else c.reaction.items()
        for key, value in pairs:
            W[self.velocity_of(key, where)] += self._expression(value, where, level=1)
        if not any(W):
            raise ModelError(f"{where} is zero, so nothing can keep the constraint")
        return tuple(W)

    def _restrict(self, given: Iterable[Any]) -> None:
        """Reads the constraints: rows with their residuals and reactions, and faces."""
        bilateral, self.unilateral, frictions, resets = _kinds(given)
        self.constraints = _constraints(bilateral)
        self.residuals: tuple[Expr, ...] = tuple(
            self._expression(c.residual, f"constraint '{c.name}'", level=2) for c in self.constraints
        )
        for c, f in zip(self.constraints, self.residuals, strict=True):
            check_row(self, f, f"constraint '{c.name}'", order=c.order, given=c.residual)
            if c.order < 2:
                refuse_jumps(f, f"constraint '{c.name}'", smooth=c.order == 0)
        self.reactions = tuple(self._reaction(c) for c in self.constraints)
        names = Counter([c.name for c in self.constraints] + [face.name for face in self.unilateral])
        for face in self.unilateral:
            self._expression(face.function, f"unilateral constraint '{face.name}'", level=0)
            check_row(self, face.function, f"unilateral constraint '{face.name}'", order=0)
            if names[face.name] > 1:
                raise ModelError(f"two constraints are called '{face.name}'; give them different names")
        check_faces(self.unilateral)
        self.frictions, self.normals = read_frictions(self, frictions)
        self.resets = read_resets(self, resets, [*names, *(fr.name for fr in self.frictions)])

    def _finish(self) -> None:
        """Collects the parameters, freezes the system and checks it."""
        self.parameters: tuple[Parameter, ...] = self._parameters()
        sample = self._given.get("sample")  # a tree has none
        self.sample = None if sample is None else self._state(sample)
        self.unplaced = ""
        self._frozen = True
        unplaced = _judge_driven(self) if self.prescribed else _judge(self)
        object.__setattr__(self, "unplaced", unplaced)

    def _expressions(self) -> list[Expr]:
        """The expressions of energies and forces."""
        return [self.kinetic, self.potential, *self.forces]

    def _parameters(self) -> tuple[Parameter, ...]:
        exprs = [*self._expressions(), *self.residuals, *self.rates.values()]
        exprs += [e for face in self.unilateral for e in (face.function, face.restitution)]
        exprs += [w for W in self.reactions if W is not None for w in W]
        exprs += [e.xreplace({SPEED: t}) for fr in self.frictions for e in fr.expressions]
        exprs += [e for reset in self.resets for e in reset.expressions]
        symbols = set(self._jets).union({t}, *(e.free_symbols for e in exprs))
        symbols = symbols.union(*(e.free_symbols for e in self.prescription.values()))
        for body in self.bodies:  # mass and inertia that drop out of T still belong to the model
            symbols |= body.mass.free_symbols
        by_name: dict[str, Any] = {}
        for s in sorted(symbols, key=str):
            if by_name.setdefault(str(s), s) != s:
                raise ModelError(
                    f"two different symbols are called '{s}' (a {type(s).__name__.lower()} and a"
                    f" {type(by_name[str(s)]).__name__.lower()}, or different assumptions); rename one"
                )
        self.prescribed = tuple(dict.fromkeys(Prescribed(s.letter) for s in by_name.values() if isinstance(s, Prescribed)))
        return tuple(s for s in by_name.values() if isinstance(s, Parameter))


def _copied(argument: Any) -> Any:
    """A copy of an argument, safe from later changes and from one-pass iterators; single objects are unchanged."""
    if isinstance(argument, Mapping):
        return dict(argument)
    return tuple(argument) if isinstance(argument, Iterator | list) else argument


def _copied_list(argument: Any) -> Any:
    """The copy of a list of arguments, empty for None."""
    return () if argument is None else _copied(argument)


def _rebuilt(arguments: Mapping[str, Any]) -> System:
    return System(**arguments)


def _judge(system: System) -> str:
    """Checks rank, degree and kinematics at random states: the only place where the model uses the normal form.

    A system that is undefined at all of them, but may be defined where its roots and logarithms are real, is checked with a
    start later; the sentence that asks for one is returned.
    """
    try:
        delegate("System.judge")(system)
    except NoValues as nowhere:
        if "sample" not in system._given or system.sample is not None or not may_have_values(system):  # a tree has none
            raise
        return str(nowhere)
    return ""


def _judge_driven(system: System) -> str:
    """Checks a system whose functions of time have no values with generic ones."""
    return delegate("System.generic")(system).unplaced


def _kinds(stated: Iterable[Any]) -> tuple[list[Any], tuple[Face, ...], tuple[Friction, ...], tuple[Reset, ...]]:
    """The bilateral constraints as given, the faces of the unilateral ones, the frictions and the resets."""
    is_single = isinstance(stated, Constraint | Unilateral | Between | Friction | Reset | Expr)
    items = [stated] if is_single else items_of(stated, "constraints=")
    one_sided = [item for item in items if isinstance(item, Unilateral | Between)]
    frictions = tuple(item for item in items if isinstance(item, Friction))
    resets = tuple(item for item in items if isinstance(item, Reset))
    bilateral = [item for item in items if not isinstance(item, Unilateral | Between | Friction | Reset)]
    return bilateral, tuple(face for item in one_sided for face in item.faces), frictions, resets


def _constraints(stated: Iterable[Any]) -> tuple[Constraint, ...]:
    constraints: list[Constraint] = []
    for item in stated:
        c = item if isinstance(item, Constraint) else Constraint(item)
        namesakes = [k for k in constraints if k.name == c.name]
        if namesakes and namesakes[0].residual != c.residual:
            raise ModelError(f"two constraints are called '{c.name}'; give them different names")
        if namesakes:  # the same row twice is redundant, which is allowed
            c = Constraint(c.residual, f"{c.name} #{1 + sum(k.residual == c.residual for k in constraints)}",
                           reaction=c.reaction)  # fmt: skip
        constraints.append(c)
    return tuple(constraints)
