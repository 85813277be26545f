"""Conversion of `sympy.physics.mechanics` models to a `System`.

    LagrangesMethod    L(q, q̇, t), constraints, loads          →  T = L − L|_{q̇=0},  V = −L|_{q̇=0}
    KanesMethod        q, u, kinematic equations, bodies, loads  →  speeds u with their kinematics, T of the bodies
    System             the same, from its own lists

Functions of time x(t) become coordinates x, their derivatives x.d, generalized speeds u(t) become speeds u, other functions of
time prescribed ones (`ap.prescribed`), and symbols become real parameters of the same name. Auxiliary speeds are zero. Kane's
method takes forces only from its loads, so potential energies of bodies count only where Lagrange's method uses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import sympy
from sympy import Derivative, Expr, Symbol
from sympy.core.function import AppliedUndef
from sympy.physics import mechanics
from sympy.physics.vector import dynamicsymbols

from appell.errors import ModelError
from appell.jets import Coordinate, Parameter, Prescribed, Speed, t, total_derivative
from appell.model.bodies import Particle, RigidBody
from appell.model.system import System
from appell.reading import symbolic
from appell.rows import rank


def from_sympy(model: Any, *, name: str = "system") -> System:
    """A `System` from a `LagrangesMethod`, a `KanesMethod` (after `kanes_equations`) or a `sympy.physics.mechanics.System`.

    Functions of time x(t) become coordinates x, generalized speeds u(t) become speeds u, other functions of time prescribed
    ones, `ap.prescribed`, and symbols real parameters of the same name.
    """
    for kind, converter in CONVERTERS.items():
        if isinstance(model, kind):
            return converter(model, name)
    accepted = ", ".join(kind.__name__ for kind in CONVERTERS)
    raise ModelError(f"from_sympy takes {accepted} of sympy.physics.mechanics, not {type(model).__name__}")


class _Translation:
    """x(t) → x, x(t)˙ → x.d, u(t) → u, symbols → parameters of the same name and assumptions."""

    def __init__(self, coordinates: Iterable[Any], speeds: Iterable[Any] = (), auxiliary: Iterable[Any] = ()):
        self.auxiliary = dict.fromkeys(auxiliary, sympy.Integer(0))
        self.coordinates = {f: Coordinate(f.func.__name__) for f in coordinates}
        rates = [f.diff(dynamicsymbols._t) for f in self.coordinates]
        self.velocities = list(speeds) or rates
        self.speeds = {f: Speed(f.func.__name__) for f in self.velocities if f not in rates}
        self.parameters: dict[Symbol, Parameter] = {}

    def __call__(self, expr: Any) -> Expr:
        expr = symbolic(expr, "an expression of the model").xreplace(self.auxiliary).doit()
        table: dict[Any, Any] = {}
        time = dynamicsymbols._t
        for d in expr.atoms(Derivative):
            f, order = d.expr, d.derivative_count
            base = self.coordinates.get(f, self.speeds.get(f)) or self._given(f)
            table[d] = type(base)(base.letter, order)
        expr = expr.xreplace(table).xreplace({**self.coordinates, **self.speeds}).xreplace({time: t})
        expr = expr.xreplace({f: self._given(f) for f in expr.atoms(AppliedUndef)})
        return expr.xreplace({s: self._parameter(s) for s in expr.free_symbols if type(s) is Symbol and s != t})

    def _given(self, f: Any) -> Prescribed:
        """A function of time that is neither a coordinate nor a speed is prescribed."""
        if not isinstance(f, AppliedUndef) or f.args not in ((dynamicsymbols._t,), (t,)):
            raise ModelError(f"{f} is neither a coordinate nor a speed of the model, nor a function of time alone")
        return Prescribed(f.func.__name__)

    def _parameter(self, s: Any) -> Parameter:
        assumptions = {"real": True, **{k: v for k, v in s._assumptions_orig.items() if v is not None}}
        return self.parameters.setdefault(s, Parameter(s.name, **assumptions))


def _loads(
    loads: Iterable[Any], frame: Any, velocities: list[Any], translate: _Translation, rates: Mapping[Any, Any]
) -> dict[Any, Expr]:
    """Q_i = Σ F·∂v_P/∂u_i + τ·∂ω/∂u_i over the loads (point or frame, vector); v_P and ω may be written in q̇ = rates(u)."""
    forces: dict[Any, Expr] = {}
    for location, vector in loads:
        if vector == 0:
            continue
        is_frame = isinstance(location, mechanics.ReferenceFrame)
        speed = (location.ang_vel_in(frame) if is_frame else location.vel(frame)).xreplace(rates)
        for u in velocities:
            force = translate(speed.diff(u, frame, var_in_dcm=False).dot(vector))
            key = translate(u)
            forces[key] = forces.get(key, sympy.Integer(0)) + force
    return {key: Q for key, Q in forces.items() if Q != 0}


def _from_lagrange(model: Any, name: str) -> System:
    q = list(model.q)
    translate = _Translation(q)
    L = translate(sympy.Matrix([model._L])[0])
    velocities: dict[Any, Any] = {translate(x.diff(dynamicsymbols._t)): 0 for x in q}
    at_rest = L.subs(velocities)
    qd = [x.diff(dynamicsymbols._t) for x in q]
    holonomic = list(model._hol_coneqs)
    nonholonomic = [c for c in model.coneqs if c not in [h.diff(dynamicsymbols._t) for h in holonomic]]
    return System(
        coordinates=list(translate.coordinates.values()),
        kinetic=L - at_rest,
        potential=-at_rest,
        forces=_loads(model.forcelist or (), model.inertial, qd, translate, {}),
        constraints=[translate(c) for c in (*holonomic, *nonholonomic)],
        name=name,
    )


def _from_kane(model: Any, name: str) -> System:
    if getattr(model, "_bodylist", None) is None:
        raise ModelError("call kanes_equations(bodies, loads) first: a KanesMethod knows its bodies only then")
    rates, holonomic, translate = model.kindiffdict(), list(model._f_h), _Translation(model.q, model.u, model._uaux)
    rows = list(model._k_nh * model.u + model._f_nh) if model._k_nh else []
    constraints = [*holonomic, *_independent_rows(rows, holonomic, rates, translate.velocities)]
    return _from_bodies(translate, rates, model.bodies, model.forcelist or (), model._inertial, constraints, 0, name)


def _from_system(model: Any, name: str) -> System:
    translate = _Translation(model.q, model.u, model.u_aux)
    equations = [e for e in model.kdes if e != 0]
    kinematics = sympy.solve(equations, [x.diff(dynamicsymbols._t) for x in model.q], dict=True)
    if not kinematics and equations:
        raise ModelError("the kinematic differential equations cannot be solved for the rates of the coordinates")
    rates = kinematics[0] if kinematics else {}
    loads = [(load.location, load.vector) for load in model.loads]
    for actuator in model.actuators:
        loads += [(load.location, load.vector) for load in actuator.to_loads()]
    holonomic = list(model.holonomic_constraints)
    rows = [*model.nonholonomic_constraints, *model.velocity_constraints]
    constraints = [*holonomic, *_independent_rows(rows, holonomic, rates, translate.velocities)]
    return _from_bodies(translate, rates, model.bodies, loads, model.frame, constraints, _potential(model), name)


def _potential(model: Any) -> Any:
    """V of the bodies of a System, if its method uses them."""
    V = mechanics.potential_energy(*model.bodies) if list(model.bodies) else sympy.Integer(0)
    if V != 0 and model.eom_method is None:
        raise ModelError(
            "bodies have potential energies, which count in LagrangesMethod and not in KanesMethod; call form_eoms(…) of the"
            " System first, so that it is known which"
        )
    return V if isinstance(model.eom_method, mechanics.LagrangesMethod) else sympy.Integer(0)


def _independent_rows(rows: list[Any], holonomic: list[Any], rates: Any, velocities: list[Any]) -> list[Any]:
    """The velocity rows that are not combinations of derivatives of the holonomic constraints and of earlier rows."""
    spanned = [h.diff(dynamicsymbols._t).xreplace(rates) for h in holonomic]
    independent: list[Any] = []
    for row in (symbolic(row, "a constraint").xreplace(rates) for row in rows):
        if _rank([*spanned, row], velocities) > _rank(spanned, velocities):
            independent.append(row)
            spanned.append(row)
    return independent


def _rank(rows: list[Any], velocities: list[Any]) -> int:
    """The rank of the rows as functions of the velocities, at random points."""
    if not rows:
        return 0
    A = sympy.Matrix(rows)
    A = A.jacobian(velocities).row_join(A.xreplace(dict.fromkeys(velocities, sympy.Integer(0))))
    symbols = sorted(A.atoms(AppliedUndef, Derivative) | A.free_symbols, key=str)
    ranks = []
    for k in range(2):
        point = {s: sympy.Float(0.3 + (17 * i + 29 * k) % 41 / 53, 30) for i, s in enumerate(symbols)}
        numbers = np.array(A.xreplace(point).doit().evalf(30).tolist(), dtype=np.float64)
        ranks.append(rank(numbers))
    return max(ranks)


def _from_bodies(
    translate: _Translation, rates: Any, bodies: Iterable[Any], loads: Iterable[Any], frame: Any, constraints: list[Any],
    potential: Any, name: str,
) -> System:  # fmt: skip
    """Kane's description: T of the bodies in q, u, a potential, and the loads.

    Rolling bodies may be described by v = ω × r from a point at rest: v is then not the derivative of a position in q, and T in
    the speeds lacks terms. In that case the positions of the bodies are added as coordinates, and their accelerations are used.
    """
    bodies = list(bodies)
    T = mechanics.kinetic_energy(frame, *bodies) if bodies else sympy.Integer(0)
    substitution = {x: rate for x, rate in rates.items() if isinstance(x, Derivative) and x != rate}
    convert = lambda e: translate(symbolic(e, "a constraint").xreplace(substitution))
    arguments: dict[str, Any] = {
        "coordinates": list(translate.coordinates.values()),
        "potential": translate(potential),
        "forces": _loads(loads, frame, translate.velocities, translate, substitution),
        "constraints": [convert(c) for c in constraints],
        "speeds": list(translate.speeds.values()),
        "kinematics": {translate.coordinates[x.expr]: translate(rate) for x, rate in substitution.items()},
        "name": name,
    }
    system = System(**arguments, kinetic=convert(T))
    if not arguments["speeds"] or not bodies:
        return system
    placed = _located(system, bodies, frame, convert, arguments, convert(T))
    if placed is not None:
        return placed
    letters = {x.letter for x in (*arguments["coordinates"], *arguments["speeds"])}
    centres = [_MassCentre(body, frame, convert, letters) for body in bodies]
    arguments["coordinates"] += [x for centre in centres for x in centre.rates]
    arguments["kinematics"] |= {x: rate for centre in centres for x, rate in centre.rates.items()}
    try:
        System(**arguments, kinetic=convert(T))
    except ModelError as error:
        if "nonholonomic" not in str(error):
            raise
        rolling = System(**arguments, bodies=[centre.body(frame, convert) for centre in centres])
        return _checked(rolling, convert(T))
    return system


def _located(system: System, bodies: list[Any], frame: Any, convert: Any, args: dict[str, Any], kinetic: Expr) -> System | None:
    """The system with its bodies, if their positions are known relative to a fixed point and agree with SymPy's velocities;
    else None.

    Forms that take accelerations of points (Kane's, Appell's) then apply.
    """
    converted: list[Particle | RigidBody] = []
    for body in bodies:
        centre = body.masscenter if isinstance(body, mechanics.RigidBody) else body.point
        origin = _fixed_point(centre, frame)
        if origin is None:
            return None
        position = [convert(e) for e in centre.pos_from(origin).to_matrix(frame)]
        rates_of_position = [total_derivative(e, system.rates) for e in position]
        velocity = [convert(e) for e in centre.vel(frame).to_matrix(frame)]
        if not all(map(_equal, rates_of_position, velocity)):
            return None
        converted.append(_converted_body(body, position, frame, convert))
    try:
        return _checked(System(**args, bodies=converted), kinetic)
    except ModelError:
        return None


def _fixed_point(point: Any, frame: Any) -> Any:
    """A point at rest in the frame whose distance from a point is known, or None."""
    visited, queue = {point}, [point]
    for p in queue:
        if p._vel_dict.get(frame) == 0:
            return p
        for neighbour in p._pos_dict:
            if neighbour not in visited:
                visited.add(neighbour)
                queue.append(neighbour)
    return None


def _converted_body(body: Any, position: Any, frame: Any, convert: Any) -> Particle | RigidBody:
    """A SymPy body at a position as ours."""
    mass = convert(body.mass)
    carried = _at_rest(mass)
    if not isinstance(body, mechanics.RigidBody):
        return Particle(mass, position, name=str(body.name), carried=carried)
    axes = body.frame
    inertia = body.central_inertia.to_matrix(axes).applyfunc(lambda e: convert(sympy.trigsimp(e)))
    rotation = frame.dcm(axes).applyfunc(convert)
    return RigidBody(mass, inertia, position, rotation, name=str(body.name), carried=carried, carried_omega=_at_rest(inertia))


class _MassCentre:
    """The position of a body's centre of mass as additional coordinates, whose rates are its velocity."""

    def __init__(self, body: Any, frame: Any, inside: Any, taken: set[str]):
        self._body = body
        stem = str(body.name)
        while any(f"{stem}_{axis}" in taken for axis in "xyz"):
            stem += "_c"
        centre = body.masscenter if isinstance(body, mechanics.RigidBody) else body.point
        velocity = [inside(e) for e in centre.vel(frame).to_matrix(frame)]
        letters = [Coordinate(f"{stem}_{axis}") for axis in "xyz"]
        self.rates = {x: v for x, v in zip(letters, velocity, strict=True) if v != 0}
        self._position = [x if x in self.rates else 0 for x in letters]

    def body(self, frame: Any, inside: Any) -> Particle | RigidBody:
        """The body as ours."""
        return _converted_body(self._body, self._position, frame, inside)


def _at_rest(quantity: Any) -> list[int] | None:
    """u = 0 for m(t): SymPy's Kane method assumes (m v)˙ = F."""
    return [0, 0, 0] if t in quantity.free_symbols else None


def _checked(system: System, kinetic: Expr) -> System:
    """The system; raises unless its bodies have the same energy as in SymPy."""
    if not _equal(system.kinetic, kinetic):
        raise ModelError("angular velocities of the bodies are not those of their frames; set_ang_vel says something else")
    return system


def _equal(one: Expr, other: Expr) -> bool:
    """Whether two expressions agree at two random points."""
    difference = one - other
    symbols = sorted(one.free_symbols | other.free_symbols, key=str)
    for k in range(2):
        point = {s: sympy.Float(0.3 + (17 * i + 29 * k) % 41 / 53) for i, s in enumerate(symbols)}
        size = abs(sympy.N(one.xreplace(point))) + abs(sympy.N(other.xreplace(point)))
        if abs(sympy.N(difference.xreplace(point))) > 1e-9 * size:  # more than rounding of 15 digits
            return False
    return True


CONVERTERS: dict[type, Any] = {
    mechanics.LagrangesMethod: _from_lagrange,
    mechanics.KanesMethod: _from_kane,
    mechanics.System: _from_system,
}
