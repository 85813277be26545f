"""Dry friction: Coulomb's law at a constraint, or with a given limit.

    stick    s = 0,   |λ_T| <= μ_s |Λ_N|  (or <= F)                     s = D v + d0, the slip
    slip     λ_T = −μ |Λ_N| s/|s|         (or −F s/|s|)                 the force on the system is Dᵀ λ_T
             |Λ_N| = √(Λ₁² + Λ₂² + …)     with several normal constraints; F may contain multipliers

Λ_N is the multiplier of the normal constraint as written, λ_T that of the slip as written: the function of the normal must be a
length and the slip a speed, or μ is not the coefficient of friction. Nothing is rescaled: with 2 f in place of f the friction
is half as large, and an angle in place of the arc length r·φ gives a torque.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Symbol

from appell.errors import ConstraintError, FormNotApplicable, ModelError
from appell.jets import expression, jets_of, total_derivative
from appell.letters import latex
from appell.model.constraint import Constraint, is_linear
from appell.model.friction_load import refuse_multipliers, rows_of_resultant, without_multipliers
from appell.model.impact_laws import IMPACT_LAWS, LAW_NAMES, NEWTON_LAW
from appell.model.multiplier import Multiplier
from appell.model.unilateral import Between, Unilateral
from appell.numeric_functions import numeric_function
from appell.reading import shown
from appell.spelling import checked_keywords

SPEED = Symbol("|s|", nonnegative=True)
"""The slip speed in a coefficient given as a function."""


@checked_keywords()
@dataclass(frozen=True, init=False)
class Friction:
    """Dry friction along `slip`: it sticks while |λ_T| <= μ_s |Λ_N| and slides with |λ_T| = μ |Λ_N| against the slip.

    Parameters
    ----------
    slip: one expression linear in the velocities, m/s, or two or three of them (orthogonal, isotropic: a foot in a
    plane, a ball in its socket); it may contain t and coordinates (`x.d - v` on a belt, `x.d - r*phi.d` under a wheel).
    normal: the `Constraint` or `Unilateral` of the same system that provides the normal force, or its name; its function is a
    length, m. A list of orthogonal constraints acts with the resultant √(Λ₁² + Λ₂² + …): a bead on a wire in space, a journal,
        a spherical joint.
    coefficient: μ >= 0, a number or an expression of t, coordinates, velocities and parameters, or a function of the slip
        speed, `lambda s: 0.2 + 0.1*exp(-s/v0)`.
    static: μ_s >= μ, the coefficient at rest; μ by default.
    limit: instead of normal and coefficient, the largest friction force, N (N m where slip is an angular rate): a number or
        an expression of t, coordinates, velocities, parameters and multipliers of bilateral constraints,
        `mu*(guide.multiplier + abs(rope.multiplier))`.
    law: of impacts on the normal: "newton" (ġ⁺ = −e ġ⁻ with Coulomb's law for the impulses; it may gain energy where normal and
        slip are coupled, Kane and Levinson 1985, and the run then stops with a message), "poisson" (restitution of impulses,
        P_r = e P_c, along Routh's impact process, Routh 1905, Keller 1986; for several contacts at once, or a two-dimensional
        slip, in two phases, Glocker and Pfeiffer 1995), "stronge" (restitution of work, W_r = −e² W_c, Stronge 1990, for one
        contact and one slip; several contacts would depend on their stiffness, Liu, Zhao and Brogliato 2008, and the run
        stops), or a law added by `ap.nonsmooth.register`.
    regularise: ε, m/s: instead of stick and slip the smooth law λ_T = −μ|Λ_N| s/√(|s|² + ε²), for comparison and for methods
        that cannot switch. It creeps instead of sticking.
    name: used by `motion.reaction("sole")`, `motion.phases`, errors and plots.
    """

    slip: tuple[Expr, ...]
    normal: Constraint | Unilateral | str | tuple[Constraint | str, ...] | None
    coefficient: Expr | None
    static: Expr | None
    limit: Expr | None
    law: str
    regularise: Expr | None
    name: str = field(compare=True)

    def __init__(
        self,
        slip: Any,
        *,
        normal: Any = None,
        coefficient: Any = None,
        static: Any = None,
        limit: Any = None,
        law: str = NEWTON_LAW,
        regularise: Any = None,
        name: str | None = None,
    ):
        components = _slip(slip, name)
        name = _text(components) if name is None else str(name)
        where = f"friction '{name}'"
        normal = _as_normal(where, normal)
        _check_kind(where, normal, coefficient, static, limit)
        if law not in IMPACT_LAWS:
            raise ConstraintError(f"law= of {where} is one of {', '.join(LAW_NAMES)}, not {shown(law)}")
        set_ = object.__setattr__
        set_(self, "slip", components)
        set_(self, "normal", normal)
        set_(self, "coefficient", _size(coefficient, f"the coefficient of {where}"))
        set_(self, "static", _size(static, f"the static coefficient of {where}"))
        set_(self, "limit", _size(limit, f"the limit of {where}"))
        set_(self, "law", law)
        set_(self, "regularise", _width(regularise, where))
        set_(self, "name", name)
        if self.static is not None and self.coefficient is not None and (self.static - self.coefficient).is_negative:
            raise ConstraintError(
                f"the static coefficient of {where}, {self.static}, is below the coefficient, {self.coefficient}: it would"
                " slide and stick at once"
            )

    @property
    def parts(self) -> int:
        """Number of components of the slip: 1, or 2 in a plane, 3 in space."""
        return len(self.slip)

    @property
    def multipliers(self) -> tuple[Multiplier, ...]:
        """λ_T as symbols for use in forces, one for each component, N; μ|Λ_N| against the slip while it slides, zero while it
        is off."""
        names = [self.name] if self.parts == 1 else [f"{self.name}: {k + 1}" for k in range(self.parts)]
        return tuple(Multiplier(name) for name in names)

    @property
    def multiplier(self) -> Multiplier | tuple[Multiplier, ...]:
        """λ_T as a symbol for use in forces (a tyre with an aligning torque from its side force), or a pair of them."""
        return self.multipliers if self.parts > 1 else self.multipliers[0]

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """All its expressions."""
        optional = (self.coefficient, self.static, self.limit, self.regularise)
        return (*self.slip, *(e for e in optional if e is not None))

    def by_name(self) -> Friction:
        """The same friction with its normal constraints by name."""
        name = lambda c: c if isinstance(c, str) else c.name
        normal = tuple(map(name, self.normal)) if isinstance(self.normal, tuple) else self.normal and name(self.normal)
        copy = object.__new__(Friction)
        for f in fields(self):
            object.__setattr__(copy, f.name, normal if f.name == "normal" else getattr(self, f.name))
        return copy

    def __reduce__(self):
        return _rebuilt, (
            self.slip, self.normal, self.coefficient, self.static, self.limit, self.law, self.regularise, self.name
        )  # fmt: skip

    def __str__(self) -> str:
        size = f"{self.coefficient}·|Λ|" if self.limit is None else str(self.limit)  # |Λ|: the resultant, if there are several
        return f"{self.name}: friction along {', '.join(map(str, self.slip))}, at most {size}"


def _rebuilt(slip: Any, normal: Any, coefficient: Any, static: Any, limit: Any, law: str, regularise: Any, name: str):
    return Friction(
        slip if len(slip) > 1 else slip[0], normal=normal, coefficient=coefficient, static=static, limit=limit, law=law,
        regularise=regularise, name=name,
    )  # fmt: skip


def _text(components: tuple[Expr, ...]) -> str:
    text = f"friction along {', '.join(map(str, components))}"
    return text if len(text) <= 60 else text[:57] + "..."


def _slip(slip: Any, name: str | None) -> tuple[Expr, ...]:
    where = f"the slip of friction '{name}'" if name else "the slip of a friction"
    slip = tuple(slip) if isinstance(slip, list | tuple | sympy.MatrixBase | sympy.Tuple) else (slip,)  # type: ignore[arg-type]
    if len(slip) not in (1, 2, 3):
        raise ConstraintError(f"{where} has {len(slip)} parts; it is one expression, two in a plane or three in space")
    components = tuple(expression(e, where) for e in slip)
    for component in components:
        jets = jets_of(component)
        rates = [s for s in jets if s.level == 1]
        high = [s for s in jets if s.level > 1]
        if high:
            raise ConstraintError(f"{where} contains {high[0]}; it is a velocity, linear in the velocities")
        if not rates:
            raise ConstraintError(f"{where}, {component}, contains no velocity; it is the velocity with which surfaces slide")
        if not is_linear(component, rates):
            raise ConstraintError(f"{where}, {component}, is not linear in the velocities")
    twice = [component for k, component in enumerate(components) if component in components[:k]]
    if twice:
        raise ConstraintError(f"two parts of {where} are {twice[0]}; they are velocities at right angles")
    return components


def _check_kind(where: str, normal: Any, coefficient: Any, static: Any, limit: Any) -> None:
    if limit is not None:
        extra = [key for key, x in (("normal", normal), ("coefficient", coefficient), ("static", static)) if x is not None]
        if extra:
            raise ConstraintError(f"{where} has limit= and {extra[0]}=: give a limit, or a normal with its coefficient")
        return
    if normal is None or coefficient is None:
        raise ConstraintError(
            f"{where} needs normal= (the constraint that presses) and coefficient=, or limit= (the largest force)"
        )
    if isinstance(normal, Between):
        raise ConstraintError(
            f"normal= of {where} is '{normal.name}' with two faces; name one of them, '{normal.name}:lower', and give each a"
            " friction of its own"
        )
    if not isinstance(normal, Constraint | Unilateral | str | tuple):
        raise ConstraintError(
            f"normal= of {where} is a Constraint or a Unilateral of the system, or its name, not {type(normal).__name__}"
        )


def _as_normal(where: str, normal: Any) -> Any:
    """The normal: a list of one is that one, several are a tuple of bilateral constraints."""
    if not isinstance(normal, list | tuple):
        return normal
    if not normal:
        raise ConstraintError(f"normal= of {where} is an empty list; name the constraints that press")
    for row in normal:
        if isinstance(row, Unilateral | Between):
            raise ConstraintError(
                f"normal= of {where} lists '{row.name}', which is one-sided: a resultant is one of bilateral constraints. Two"
                " faces are two contacts: give each a friction of its own"
            )
        if not isinstance(row, Constraint | str):
            raise ConstraintError(f"normal= of {where} lists constraints or their names, not {shown(row)}")
    return normal[0] if len(normal) == 1 else tuple(normal)


def _size(value: Any, where: str) -> Expr | None:
    """A nonnegative expression, or None."""
    if value is None:
        return None
    if callable(value) and not isinstance(value, Expr):
        try:
            value = value(SPEED)
        except TypeError as error:
            raise ConstraintError(f"{where} is not a function of the sliding speed: {error}") from None
    size = expression(value, where)
    if size.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo, sympy.I):
        raise ConstraintError(f"{where} is {size}, not a finite real number")
    if size.is_negative:
        raise ConstraintError(f"{where} is negative: {size}")
    if any(s.level > 1 for s in jets_of(size)):
        raise ConstraintError(f"{where} contains an acceleration: {size}; it may contain t, positions and velocities")
    return size


def _width(value: Any, where: str) -> Expr | None:
    if value is None:
        return None
    width = expression(value, f"regularise= of {where}")
    if jets_of(width) or not width.is_positive:
        expected = "a speed above zero, a number or positive parameters"
        raise ConstraintError(f"regularise= of {where} is {expected}, not {shown(value)}")
    return width


# -- as a part of a system ---------------------------------------------------------------------------------------------


def read_frictions(system: Any, given: tuple[Friction, ...]) -> tuple[tuple[Friction, ...], tuple[Any, ...]]:
    """The frictions with their expressions in the velocities of the system, every symbol known, and the normal of each:
    ("constraint", row), ("face", number), ("constraints", rows) or None."""
    frictions = tuple(_read(system, fr) for fr in given)
    names = [row.name for row in (*system.constraints, *system.unilateral, *frictions)]
    for fr in frictions:
        if names.count(fr.name) > 1:
            raise ModelError(f"two constraints are called '{fr.name}'; give them different names")
    normals = tuple(_normal(system, fr) for fr in frictions)
    for fr, normal in zip(frictions, normals, strict=True):
        _refuse_slip_along_normal(system, fr, normal)
    return frictions, normals


def _read(system: Any, fr: Friction) -> Friction:
    expressions: dict[str, Any] = {}
    for attribute in ("coefficient", "static", "limit", "regularise"):
        if (e := getattr(fr, attribute)) is not None:
            where = f"{attribute} of friction '{fr.name}'"
            refuse_multipliers(system, e, where, allowed=attribute == "limit")
            system._expression(without_multipliers(e.xreplace({SPEED: system.coordinates[0]})), where, level=1)
            expressions[attribute] = system.in_velocities(e)
    slip: tuple[Any, ...] = tuple(system._expression(s, f"the slip of friction '{fr.name}'", level=1) for s in fr.slip)
    return Friction(slip if len(slip) > 1 else next(iter(slip)), normal=fr.normal, law=fr.law, name=fr.name, **expressions)


def _normal(system: Any, fr: Friction) -> tuple[str, Any] | None:
    if fr.normal is None:
        return None
    if isinstance(fr.normal, tuple):
        return "constraints", rows_of_resultant(system, fr)
    rows = [i for i, c in enumerate(system.constraints) if c is fr.normal or c == fr.normal or c.name == fr.normal]
    faces = [i for i, f in enumerate(system.unilateral) if fr.normal in (f.source, f.name)]
    if rows and system.constraints[rows[0]].order < 2:
        return "constraint", rows[0]
    if rows:
        raise ModelError(f"normal= of friction '{fr.name}' is a constraint of second order, which presses on nothing")
    if len(faces) == 1:
        return "face", faces[0]
    names = ", ".join(f"'{c.name}'" for c in (*system.constraints, *system.unilateral)) or "none"
    raise ModelError(
        f"normal= of friction '{fr.name}' is '{getattr(fr.normal, 'name', fr.normal)}', which is not a constraint of"
        f" {system.name}; put it into constraints= too. It has: {names}"
    )


def _refuse_slip_along_normal(system: Any, fr: Friction, normal: tuple[str, Any] | None) -> None:
    """Raises `ModelError` if a component of the slip is the rate of its normal: nothing slides along the normal.

    For a constraint any multiple raises, as it leaves no slip. For a face only the rate itself, up to sign: in few coordinates
    an oblique face has both along one velocity.
    """
    if normal is None:
        return
    kind, number = normal
    if kind == "constraints":
        for row_index in number:
            _refuse_slip_along_normal(system, fr, ("constraint", row_index))
        return
    row = system.constraints[number] if kind == "constraint" else system.unilateral[number]
    f: Any = row.residual if kind == "constraint" else row.function
    rate: Any = system.in_velocities(f if kind == "constraint" and row.order == 1 else total_derivative(f))
    if kind == "constraint" and rate.xreplace(dict.fromkeys(system.velocities, sympy.Integer(0))) != 0:
        return  # it moves independently
    n = [sympy.diff(rate, v) for v in system.velocities]
    for component in fr.slip:
        if _parallel([sympy.diff(component, v) for v in system.velocities], n, any_length=kind == "constraint"):
            raise ModelError(
                f"the slip of friction '{fr.name}', {component}, is along its own normal '{row.name}': nothing slides in the"
                " direction in which it presses; give the velocity along the face, at right angles to the normal"
            )


def _parallel(a: list[Any], b: list[Any], *, any_length: bool) -> bool:
    """Whether two rows are multiples of each other, or equal up to sign: at a few points, up to rounding."""
    symbols = sorted({s for e in (*a, *b) for s in e.free_symbols}, key=str)
    value, rng = numeric_function(symbols, [a, b]), np.random.default_rng(3)
    with np.errstate(all="ignore"):
        for _ in range(4):
            x, y = np.array(value(*rng.uniform(0.2, 0.9, len(symbols))), dtype=float)
            size = float(np.linalg.norm(x) * np.linalg.norm(y))
            parallel = np.isfinite(size) and size > 0 and abs(abs(x @ y) - size) <= 1e-12 * size
            if not (parallel and (any_length or abs(x @ x - y @ y) <= 1e-12 * size)):
                return False
    return True


def refuse_friction(system: Any, what: str) -> None:
    """Raises `FormNotApplicable` for a system (or run, or motion) with friction, on behalf of code that does not support
    modes."""
    frictions: Any = getattr(system, "frictions", None)  # first: `system.system` would search for suggestions
    if frictions is None:
        frictions = getattr(getattr(system, "system", None), "frictions", ())
    if frictions:
        names = ", ".join(f"'{fr.name}'" for fr in frictions)
        raise FormNotApplicable(
            f"{what} does not take dry friction ({names}), which has modes: simulate runs it, and"
            f" system.in_mode({{{shown(next(iter(frictions)).name)}: 'stick', …}}) is the system in one of them"
        )


def bound_latex(fr: Friction) -> str:
    """The largest force of a friction, in LaTeX."""
    return latex(fr.limit) if fr.limit is not None else rf"{latex(fr.coefficient)}\,|\Lambda|"


__all__ = ["SPEED", "Friction", "bound_latex", "read_frictions", "refuse_friction"]
