"""Coordinates and their time derivatives as plain symbols.

A motion q(t) is described by its jet (q, q̇, q̈, …), and each member is a separate SymPy symbol:

    x, phi = coordinates("x phi")
    x.d, x.dd, x.d.d              velocity, acceleration (the last two are the same symbol)

so that ∂T/∂ẋ is `diff(T, x.d)` with no functions of time and no substitution passes. The derivative along
the motion is `total_derivative`:

    dF/dt = ∂F/∂t + Σ ∂F/∂s · s.d      over the jets s in F,

and SymPy's own `diff(F, t)`, `F.diff(t)` and `Derivative(F, t).doit()` are the same where F contains a jet, applied in the
order written: diff(T, x.d, t) = d/dt ∂T/∂ẋ. Plain SymPy treats x as a constant and returns 0, so that
`forces={x: -c*x.diff(t)}` would silently lose its damping; see `_along_the_motion`. `partial` is ∂F/∂s, time included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import sympy
from sympy import Expr, Symbol
from sympy.core.assumptions import _assume_defined
from sympy.core.facts import InconsistentAssumptions
from sympy.core.function import AppliedUndef
from sympy.printing.pretty.stringpict import prettyForm

from appell import typeset
from appell.errors import ModelError
from appell.model_symbol import ModelSymbol
from appell.name_lists import listed_names
from appell.reading import shown, symbolic, table_of

t = Symbol("t", real=True)
"""Time, s."""
MOST_TIME_DERIVATIVES = 100
"""Most derivatives by time that one call takes: each has more terms than the one before, and no model needs so many."""

_made: dict[tuple[type, str, int], Jet] = {}  # one object per symbol, so that lookups succeed by identity


class Jet(ModelSymbol):
    """A member of the jet of a motion: a symbol with `order` dots. Prints as x, x.d, x.dd and as x, ẋ, ẍ."""

    __slots__ = ("letter", "order")
    letter: str
    order: int

    base_level = 0
    """Derivative order, counted from the configuration, of the symbol without dots: 0 for coordinates, 1 for
    quasi-velocities."""

    def __new__(cls, letter: str, order: int = 0) -> Any:
        order = int(order)  # jets are cached by key: SymPy's 1 equals Python's, but its 1 < 2 is not a bool
        key = (cls, letter, order)
        if key not in _made:
            name = letter if order == 0 else f"{letter}.{'d' * order}"
            self = Symbol.__xnew__(cls, name, real=True)
            self.letter, self.order = letter, order
            _made[key] = self
        return _made[key]

    def __reduce__(self):
        return type(self), (self.letter, self.order)

    def __getnewargs_ex__(self):
        return (self.letter, self.order), {}

    def __setstate__(self, state):  # everything is in the arguments of __new__
        pass

    @classmethod
    def class_key(cls):
        """Printed after parameters: m ẋ², not ẋ² m."""
        return 2, 0, f"Symbol {cls.__name__}"

    @property
    def level(self) -> int:
        """0 for a configuration, 1 for a velocity, 2 for an acceleration."""
        return self.base_level + self.order

    @property
    def d(self) -> Jet:
        """The next time derivative."""
        return type(self)(self.letter, self.order + 1)

    @property
    def dd(self) -> Jet:
        """The time derivative after the next."""
        return type(self)(self.letter, self.order + 2)

    def _eval_derivative(self, s: Any) -> Expr:
        return self.d if s == t else super()._eval_derivative(s)

    @property
    def start(self) -> float:
        """The default start value."""
        return 0.0

    def _latex(self, printer) -> str:
        return typeset.latex(self.letter, self.order)

    def _pretty(self, printer) -> prettyForm:
        return prettyForm(typeset.text(self.letter, self.order) if printer._use_unicode else self.name)


class Coordinate(Jet):
    """A coordinate q; q.d is its velocity."""

    __slots__ = ()
    base_level = 0


class Speed(Jet):
    """A quasi-velocity u, which need not be the derivative of a coordinate; u.d is its acceleration."""

    __slots__ = ()
    base_level = 1


class QuaternionComponent(Coordinate):
    """One component of a unit quaternion, `ball_x`, `ball_y`, `ball_z` or `ball_w`; the last one starts at 1."""

    __slots__ = ()

    @property
    def quaternion(self) -> str:
        """The name of the quaternion that it belongs to."""
        return self.letter.rsplit("_", 1)[0]

    @property
    def start(self) -> float:
        return 1.0 if self.letter.endswith("_w") and self.order == 0 else 0.0


class DerivedJet(Jet):
    """A quantity determined by coordinates and velocities but not expressed in them: the frames of a tree."""

    __slots__ = ()


class Prescribed(Jet):
    """A given function of time f(t), with its derivatives f.d, f.dd; its values are supplied when the system runs."""

    __slots__ = ()

    @property
    def level(self) -> int:
        """0: a derivative of f is a given function of time like f, not a velocity of the system."""
        return 0

    def _eval_subs(self, old: Any, new: Any) -> Any:
        if old == t and new != t and not new.is_number:
            raise ModelError(
                f"{self.name} is a function of ap.t itself, which {new} cannot replace: give a prescribed function of its own"
                " for another time"
            )
        return super()._eval_subs(old, new)


class StateVariable(Jet):
    """A state s of first order, ṡ = g(t, q, v, s): a current, an integral, a temperature. s.d is its rate."""

    __slots__ = ()

    @property
    def value(self) -> StateVariable:
        """The state itself, also for its rate."""
        return StateVariable(self.letter)


class Parameter(ModelSymbol):
    """A constant of the system whose value is given when it runs."""

    __slots__ = ()

    def _latex(self, printer) -> str:
        return typeset.latex(self.name)

    def _pretty(self, printer) -> prettyForm:
        return prettyForm(typeset.text(self.name) if printer._use_unicode else self.name)



J = TypeVar("J", bound=Symbol)


def _one_or_tuple(symbols: list[J]) -> Any:
    return symbols[0] if len(symbols) == 1 else tuple(symbols)


def coordinates(names: str | Iterable[str], *more: Any) -> Any:
    """Creates coordinates: one name gives one symbol, several a tuple. `coordinates("x y")`, `coordinates("q1:4")`."""
    return _one_or_tuple([Coordinate(name) for name in listed_names(names, more, "coordinates")])


def speeds(names: str | Iterable[str], *more: Any) -> Any:
    """Creates quasi-velocities u with q̇ = N(t, q) u + n0(t, q), given as `System(speeds=…, kinematics=…)`."""
    return _one_or_tuple([Speed(name) for name in listed_names(names, more, "speeds")])


def states(names: str | Iterable[str], *more: Any) -> Any:
    """Creates states of first order, ṡ = g(t, q, v, s), whose rates are given as `System(…, rates={s: g})`.

    Motor currents, integrators of controllers, Maxwell elements, temperatures, bristles: they may appear in forces, potentials,
    constraints and walls, and have start values like coordinates, 0 by default. `motion[s]` and `motion[s.d]` read them.
    """
    return _one_or_tuple([StateVariable(name) for name in listed_names(names, more, "states")])


def prescribed(names: str | Iterable[str], *more: Any) -> Any:
    """Creates prescribed functions of time: `f = prescribed("f")`, with derivatives f.d, f.dd.

    Usable wherever time is. Their values come with the parameters of a run, `parameters={f: …}`: an expression in `t`
    and parameters, a table `(t, values)`, or a function of t; tables and functions are approximated by splines, and a note
    gives the error.
    """
    return _one_or_tuple([Prescribed(name) for name in listed_names(names, more, "prescribed")])


def parameters(names: str | Iterable[str] = (), *more: Any, **assumptions: bool) -> Any:
    """Creates parameters, real by default: `parameters("m l g", positive=True)`."""
    if isinstance(names, tuple) and not names and assumptions:
        listed = " ".join(assumptions)
        raise ModelError(f"parameters takes names in one text, parameters({shown(listed)}); their values come with the run")
    for assumption, value in assumptions.items():
        if not isinstance(value, bool | None):
            raise ModelError(f"parameters(…, {assumption}=) is True or False, not {shown(value)}")
    unknown = sorted(set(assumptions) - set(_assume_defined))
    if unknown:
        raise ModelError(f"there is no assumption '{unknown[0]}'; positive, nonnegative, nonzero, integer … are some")
    assumed = {"real": True, **assumptions}
    try:
        return _one_or_tuple([Parameter(name, **assumed) for name in listed_names(names, more, "parameters")])
    except InconsistentAssumptions:
        listed = ", ".join(f"{assumption}={value}" for assumption, value in assumed.items())
        raise ModelError(f"no number satisfies {listed}: parameters are real, and so are their assumptions") from None


def expression(value: Any, where: object) -> Expr:
    """SymPy expression of a number or an expression; strings and matrices raise, with `where` in the message."""
    result: Any = symbolic(value, where)
    if nodes_of(result, sympy.Derivative):  # an unevaluated d/dt
        result = result.replace(lambda e: isinstance(e, sympy.Derivative) and _has_jet(e), lambda e: e.doit())
    return result


def nodes_of(expr: Any, *kinds: type) -> set[Any]:
    """The same as `expr.atoms(*kinds)`, visiting shared subexpressions once."""
    seen, todo = {expr}, [expr]
    while todo:
        new = [node for node in todo.pop().args if node not in seen]
        seen.update(new)
        todo += new
    return {node for node in seen if isinstance(node, kinds)}


def jets_of(expr: Expr) -> list[Jet]:
    """The jets in an expression, sorted by name, so that the order of every sum over them is reproducible."""
    return sorted((s for s in expr.free_symbols if isinstance(s, Jet)), key=lambda s: s.name)


def partial(expr: Any, s: Any) -> Any:
    """∂F/∂s with all other symbols fixed, also for s = t."""
    if s != t:
        return sympy.diff(expr, s)
    time = sympy.Dummy("t", real=True)
    slope = sympy.diff(expr.xreplace({t: time}), time)
    return slope.xreplace({time: t})


def explicit(expr: Any) -> Any:
    """∂F/∂t with coordinates and velocities fixed; prescribed functions are differentiated."""
    moving = [s for s in jets_of(expr) if isinstance(s, Prescribed)]
    return sympy.Add(partial(expr, t), *(sympy.diff(expr, s) * s.d for s in moving))


def total_derivative(expr: Any, rates: Mapping[Symbol, Expr] | None = None) -> Any:
    """dF/dt = ∂F/∂t + Σ ∂F/∂s·ṡ along the motion; ṡ is s.d, or `rates[s]` where given (q̇ = N u + n0). Matrices by entry."""
    if isinstance(expr, sympy.MatrixBase | sympy.NDimArray):
        return expr.applyfunc(lambda entry: total_derivative(entry, rates))
    expr, rates = expression(expr, "the argument of total_derivative"), table_of(rates, "rates of total_derivative")
    terms = [partial(expr, t)] + [sympy.diff(expr, s) * _rate(rates, s) for s in jets_of(expr)]
    return sympy.Add(*terms)


def _rate(rates: Mapping[Symbol, Expr], s: Jet) -> Expr:
    rate = rates.get(s, s.d)
    return rate if isinstance(rate, Expr) else symbolic(rate, f"the rate of {s}")


def _along_the_motion(usual: Any) -> Any:
    """`Derivative.__new__` in which d/dt of an expression with jets is taken along the motion.

    SymPy returns 0 without consulting the expression if it does not contain the symbol of the derivative, so there is no other
    place to define ẋ = dx/dt. Derivatives by other symbols, and of expressions without jets, are SymPy's; so is
    `Derivative(f(t, x), t)` of an undefined function f alone, with which ∂f/∂t is written.
    """

    def derivative(cls: type, expr: Any, *variables: Any, **options: Any) -> Any:
        if not options.get("evaluate") or not any(map(_may_be_time, variables)) or not _has_jet(expr):
            return usual(cls, expr, *variables, **options)
        if _is_unknown(expr):
            return usual(cls, expr, *variables)
        for s, count in _repeated(variables):
            _refuse_namesake(expr, s)
            if _is_time(s):
                _refuse_unclear(expr, s, count)
                for _ in range(count):
                    expr = total_derivative(expr)
            else:
                expr = usual(cls, expr, (s, count), **options)
        return expr

    return derivative


def _refuse_unclear(expr: Any, s: Any, count: Any) -> None:
    """Raises for a derivative by t that is not d/dt along the motion."""
    if s == t and isinstance(count, int) and count <= MOST_TIME_DERIVATIVES:
        return
    reason = f"it is asked for {shown(count)} times" if s == t else f"this symbol is not time: {sympy.srepr(s)}"
    raise ModelError(f"d/dt of {expr} has no meaning here: {reason}; time is ap.t, and the velocity of x is x.d")


def _refuse_namesake(expr: Any, s: Any) -> None:
    """Raises for a text, or a foreign symbol with the name of one in `expr`: SymPy treats it as another symbol and returns
    0."""
    if isinstance(s, str):
        raise ModelError(f"the derivative of {expr} by the text {shown(s)} would be 0; write the symbol itself, ap.t for time")
    if type(s) is Symbol and s != t and s.name in {letter.name for letter in expr.free_symbols - {s}}:
        raise ModelError(f"{sympy.srepr(s)} is not the '{s}' of the model, so a derivative by it is 0; use the model's symbol")


def _may_be_time(variable: Any) -> bool:
    """Whether a variable of a derivative, s or (s, 2), is time, a text, or a symbol not made by ap.coordinates."""
    if isinstance(variable, tuple | list | sympy.Tuple):
        return len(variable) == 2 and _may_be_time(variable[0])
    return type(variable) is Symbol or isinstance(variable, str)


def _is_time(variable: Any) -> bool:
    """Whether a variable of a derivative, t or (t, 2), is time, or another symbol of its name."""
    if isinstance(variable, tuple | list | sympy.Tuple):
        return len(variable) == 2 and _is_time(variable[0])
    return isinstance(variable, Symbol) and variable.name == "t" and not isinstance(variable, sympy.Dummy)


def _is_unknown(expr: Any) -> bool:
    expr = expr.expr if isinstance(expr, sympy.Derivative) else expr
    return isinstance(expr, AppliedUndef) and t in expr.args


def _has_jet(expr: Any) -> bool:
    return any(isinstance(s, Jet) for s in getattr(expr, "free_symbols", ()))


def _repeated(variables: Iterable[Any]) -> list[tuple[Any, Any]]:
    """(symbol, count) of the variables of a derivative, written t, t or t, 2 or (t, 2)."""
    pairs: list[tuple[Any, Any]] = []
    for variable in variables:
        if isinstance(variable, tuple | list | sympy.Tuple) and len(variable) == 2:
            s, count = variable
        elif isinstance(variable, int | sympy.Integer) and pairs:
            s, count = pairs.pop()[0], variable
        else:
            s, count = variable, 1
        pairs.append((s, int(count) if isinstance(count, int | sympy.Integer) else count))
    return pairs


if not hasattr(sympy.Derivative, "_appell_time"):  # once, if this module is loaded again
    sympy.Derivative.__new__ = _along_the_motion(sympy.Derivative.__new__)  # type: ignore[method-assign]
    sympy.Derivative._appell_time = True  # type: ignore[attr-defined]
