"""A tree of rigid bodies with constraints and forces, used like a `System`.

    q̇ = N(q) v        M(q) v̇ + h(q, v) = Q(t, q, v) + W Λ        f(t, q, v, v̇; frames) = 0

M, h and gravity come from the recursive algorithms on the graph, never from symbols; constraints, forces and further
potentials are SymPy expressions in the coordinates and velocities of the joints, in the entries of frames
(`tree.frame(name).position` …), in parameters and time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sympy import Add, Expr, Integer, Symbol

from appell.errors import FormNotApplicable, ModelError
from appell.jets import Jet, QuaternionComponent, jets_of
from appell.model.springs import Damper, Spring
from appell.model.system import System
from appell.reading import items_of, shown
from appell.tree.motion_loads import wrench_along
from appell.tree.symbols.frame_symbols import FrameJet
from appell.tree.symbols.symbolic_tree import symbolic_system

if TYPE_CHECKING:
    from appell.tree.tree import Tree


class TreeSystem(System):
    """A tree with constraints; `tree.system(…)` makes it. Coordinates and velocities are in the order of the tree's q and v.

    Parameters
    ----------
    tree: the bodies and joints, with numbers for masses and lengths; gravity, joint damping and the fittings of the tree are
    included.
    constraints: `ap.Constraint`, `ap.Unilateral`, `ap.Between` (joint stops), residuals, or lists of them, as returned by
    `ap.tree.loop(…)` and `ap.tree.rolling(…)`.
    forces: joint coordinate or velocity, or its name → expression in t, q, v and frames; N or N m. Feedback is written here.
    potential: V in t, q and positions of frames, J, besides gravity: springs.
    loads: pairs (F, u): a force F (3,) on the velocity u of its point, `frame.at(r).velocity`, or a torque on
        `frame.angular_velocity`; on the world's axes. Their generalized force is (∂u/∂v)ᵀ F. Also `ap.Spring` and `ap.Damper`
        between frames, points and the world, or along joint coordinates.
    rates: state of first order (`ap.states`) → its rate in t, q, v, states and frames: motor currents, integrators.

    Attributes
    ----------
    Those of `System` except `kinetic`, which `symbolic()` derives; `forces` include the damping of the joints.
    """

    tree: Tree
    frame_loads: tuple[tuple[tuple[Expr, ...], tuple[Expr, ...]], ...]

    def __init__(
        self,
        tree: Tree,
        constraints: Iterable[Any] = (),
        forces: Mapping[Symbol, Any] | None = None,
        potential: Any = 0,
        loads: Iterable[tuple[Iterable[Any], Iterable[Any]]] = (),
        *,
        rates: Mapping[Any, Any] | None = None,
        prescription: Mapping[Any, Expr] | None = None,
        name: str | None = None,
    ):
        if not tree.nodes:
            raise ModelError(f"nothing moves in {tree.name}: every joint is fixed")
        constraints = _flat(constraints)
        if forces is not None and not isinstance(forces, Mapping):
            raise ModelError(f"forces= maps joint coordinates or velocities to expressions; it is {shown(forces)}")
        loads = items_of(loads, "loads=")
        springs = [load for load in loads if isinstance(load, Spring | Damper)]
        pairs = [_pair(load) for load in loads if not isinstance(load, Spring | Damper)]
        pairs += [pair for load in springs for pair in load.pairs()]
        pairs += [_pair(load) for fitting in tree.fittings for load in fitting.loads(tree)]
        self._given = {
            "constraints": constraints, "forces": dict(forces or {}), "potential": potential, "loads": loads, "name": name,
            "rates": dict(rates or {}), "prescription": prescription,
        }  # fmt: skip
        self.tree, self.name = tree, str(name or tree.name)
        self.prescription = MappingProxyType(dict(prescription or {}))
        joints = tree._symbols
        self.coordinates = tuple(q for joint in joints for q in joint.coordinates)
        self.velocities = tuple(v for joint in joints for v in joint.velocities)
        self.quaternions = tuple(ball for joint in joints for ball in joint.quaternions)
        self.accelerations = tuple(v.d for v in self.velocities)
        self._add_states({q: rate for joint in joints for q, rate in joint.rates.items()}, rates)
        self.bodies, self.loads = (), ()
        self.springs = tuple(springs)
        potentials = [self._expression(load.potential, f"'{load.name}'", level=0) for load in springs]
        self.potential_given = self._expression(potential, "potential", level=0)
        potentials += [
            self._expression(fitting.potential(tree), "the potential of a fitting", level=0) for fitting in tree.fittings
        ]
        self.potential = self.potential_given + sum(potentials, Integer(0))
        self._restrict([*_fitting_constraints(tree, constraints), *constraints])
        damping = [d for node in tree.nodes for d in node.damping]
        fitted = [self._forces(fitting.forces(tree)) for fitting in tree.fittings]
        self.forces = tuple(
            Add(Q - d * v if d else Q, *fitting_forces)
            for Q, d, v, *fitting_forces in zip(self._forces(forces or {}), damping, self.velocities, *fitted, strict=True)
        )
        checked_pairs: Any = pairs
        self.frame_loads = tuple(self._load(tuple(F), tuple(u)) for F, u in checked_pairs)
        self._finish()

    def _finish(self) -> None:
        """The checks of `System`; for a tree with symbolic masses and lengths they are left to its `symbolic()` system."""
        if not self.tree.parameters:
            return super()._finish()
        self.parameters = tuple(sorted({*self._parameters(), *self.tree.parameters}, key=str))
        self._frozen = True

    def replace(self, **changes: Any) -> TreeSystem:
        """A new system of the same tree with some of the arguments changed."""
        unknown = set(changes) - set(self._given)
        if unknown:
            raise ModelError(f"TreeSystem has no argument {sorted(unknown)}; it takes {sorted(self._given)}")
        return TreeSystem(self.tree, **{**self._given, **changes})

    def __reduce__(self):
        return _rebuilt, (self.tree, self._given)

    def __repr__(self) -> str:
        faces = f", {len(self.unilateral)} unilateral" if self.unilateral else ""
        return f"<TreeSystem {self.name}: nq = {self.nq}, nv = {self.nv}, {len(self.constraints)} constraints{faces}>"

    def _no_kinetic(self) -> Any:
        raise FormNotApplicable(
            f"{self.name} is a tree: its kinetic energy is evaluated by recursion, not written in symbols."
            " system.symbolic() writes that of a small tree; simulate, compile and normal_form take the system as it is"
        )

    def symbolic(self) -> System:
        """The same system with T and V in symbols and frames written out, for the classical forms, `agree` and `diagnose`.

        Coordinates, velocities, forces and constraints are those of this one; numbers are exact: 0.1 is 1/10. Constraint rows
        that the joints satisfy identically (d·z of a loop in a plane mechanism) are left out. Derived once; Raises
        `FormNotApplicable` for trees too large to be readable.
        """
        return self._symbolic

    @cached_property
    def _symbolic(self) -> System:
        return symbolic_system(self)

    def wrench_along(self, motion: Any, joint: str, axes: str) -> Any:
        """(k, 6); see `Motion.wrench`."""
        return wrench_along(self, motion, joint, axes)

    kinetic: Any = property(_no_kinetic)
    kinetic_given: Any = property(_no_kinetic)

    @cached_property
    def joint_units(self) -> Mapping[str, str]:  # type: ignore[override]
        """Coordinate or velocity → "rad", "m", "1", "rad/s", "m/s", where S of its joint has unit columns [ω | v]."""
        table: dict[str, str] = {}
        for node, symbols in zip(self.tree.nodes, self.tree._symbols, strict=True):
            axes = node.kind.subspace.axes
            units = [] if axes is None else ["rad" if axis < 3 else "m" for axis in axes]
            table |= {v.letter: f"{unit}/s" for v, unit in zip(symbols.velocities, units, strict=False) if v.order == 0}
            for k, q in enumerate(symbols.coordinates):
                if isinstance(q, QuaternionComponent):
                    table[q.letter] = "1"
                elif k < len(units):
                    table[q.letter] = units[k]
        return table

    def _named(self, name: str, where: str) -> Any:
        """A coordinate or velocity by name; the name of a joint means its single velocity."""
        symbol = super()._named(name, where)
        if symbol != name or name not in (node.name for node in self.tree.nodes):
            return symbol
        velocity, *others = joint_symbols(self.tree, name)[1]
        if others:
            names = ", ".join(map(str, (velocity, *others)))
            raise ModelError(f"{where} names the joint '{name}' with several velocities; name one of them: {names}")
        return velocity

    def _check_symbol(self, s: Any, where: str, level: int) -> None:
        if not isinstance(s, FrameJet):
            return super()._check_symbol(s, where, level)
        if s.frame not in self.tree.frames:
            raise ModelError(f"{where} contains {s}, but {self.tree.name} has no frame '{s.frame}'")
        if s.level > level:
            raise ModelError(f"{where} contains {s}; the highest derivative allowed there is of order {level}")
        return None

    def _expressions(self) -> list[Expr]:
        return [self.potential, *self.forces, *(x for load in self.frame_loads for side in load for x in side)]

    def _load(self, F: tuple[Any, ...], u: tuple[Any, ...]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        """(F, u), checked: every symbol is known, u is a velocity."""
        if len(F) != len(u):
            raise ModelError(f"loads= takes pairs (F, u) of equal length; one has {len(F)} and {len(u)} components")
        force = tuple(self._expression(x, "a force of loads=", level=1, reactions=True) for x in F)
        velocity = tuple(self._expression(x, "a velocity of loads=", level=1) for x in u)
        if not any(s.level == 1 for x in velocity for s in jets_of(x)):
            raise ModelError(f"loads=: {u} is no velocity; give frame.velocity or frame.angular_velocity")
        return force, velocity


def _fitting_constraints(tree: Tree, stated: tuple[Any, ...]) -> list[Any]:
    """The constraints of the fittings of a tree, except those replaced by a given constraint of the same name."""
    names = {getattr(constraint, "name", None) for constraint in stated}
    return [constraint for fitting in tree.fittings for constraint in fitting.constraints(tree) if constraint.name not in names]


def _flat(constraints: Any) -> tuple[Any, ...]:
    """Constraints in a flat tuple, nested lists expanded."""
    if not isinstance(constraints, Iterable):
        return (constraints,)
    items = items_of(constraints, "constraints=")
    return tuple(entry for item in items for entry in (_flat(item) if isinstance(item, list | tuple) else (item,)))


def _rebuilt(tree: Tree, arguments: Mapping[str, Any]) -> TreeSystem:
    return TreeSystem(tree, **arguments)


def joint_symbols(tree: Tree, joint: str) -> tuple[tuple[Any, ...], tuple[Jet, ...]]:
    """(coordinates, velocities) of one joint."""
    for node, symbols in zip(tree.nodes, tree._symbols, strict=True):
        if isinstance(joint, str) and node.name == joint:
            return symbols.coordinates, symbols.velocities
    known = ", ".join(node.name for node in tree.nodes[:12])
    raise ModelError(f"{tree.name} has no movable joint {shown(joint)}; it has {known}")


def _pair(load: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """(F, u) of a load."""
    try:
        F, u = load
        return tuple(F), tuple(u)
    except Exception:  # iterating a foreign object may raise anything
        raise ModelError(f"loads= takes pairs (F, u), a force and the velocity of its point; one is {shown(load)}") from None
