"""A tree in symbols: the `System` of a small robot as one would write it by hand.

    T = Σ ½ m u·u + u·(ω × h) + ½ ω·Jω            V = −g·Σ (m p + R h)            (ω, u) = X (ω, u)' + S v

with the moments m, h, J and the velocities u, ω of each body about the origin and on the axes of its frame, which is at p, R.

Bodies, forces and constraints are those of the `TreeSystem`, in the same coordinates and velocities; entries of frames are
written out. On body axes only the angles between a body and its neighbours appear, which keeps T short.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sympy
from sympy import Expr, Matrix

from appell.errors import FormNotApplicable
from appell.jets import jets_of, total_derivative
from appell.model.attitudes import Rates
from appell.model.bodies import RigidBody
from appell.model.constraint import Constraint
from appell.model.friction import Friction
from appell.model.reset import Reset
from appell.model.system import System
from appell.model.unilateral import Between, Unilateral
from appell.tree.frames import FramedLink
from appell.tree.joints import same_rate
from appell.tree.spatial import add, cross, dot
from appell.tree.subspace import unit
from appell.tree.symbols.exact_scalars import (
    FRACTION_ROUNDING,
    POLYNOMIAL_TERMS,
    Exact,
    PolynomialTooLong,
    Writing,
    exact_scalar,
    tidy,
    without_floats,
)
from appell.tree.symbols.exact_tree import ExactTree, Moments
from appell.tree.symbols.frame_symbols import AXES, FrameJet, FrameRate

if TYPE_CHECKING:
    from appell.tree.tree_system import TreeSystem

SYMBOLIC_VELOCITIES = 12
"""Trees with up to this many velocities are written in symbols, unless the kinetic energy gets too long before."""


@dataclass(frozen=True, init=False)
class LinkBody(RigidBody):
    """A body of a tree about the origin of its joint's frame, on its own axes.

    h, J0: first moments m c and inertia matrix; u, w: velocity of the origin and angular velocity, in q and v; T: its energy.
    """

    h: Matrix
    J0: Matrix
    u: Matrix
    w: Matrix
    T: Expr

    def __init__(self, body: RigidBody, h: Matrix, J0: Matrix, u: Matrix, w: Matrix, T: Expr):
        for name in ("mass", "inertia", "position", "orientation", "name", "carried", "carried_omega"):
            object.__setattr__(self, name, getattr(body, name))
        for name, value in (("h", h), ("J0", J0), ("u", u), ("w", w), ("T", T)):
            object.__setattr__(self, name, value)

    def velocity(self, rates: Rates) -> Matrix:
        u, w = _with_rates(self.u, rates), _with_rates(self.w, rates)
        return self.orientation.rotation * (u + w.cross(self.h) / (self.mass or 1))

    def omega(self, rates: Rates | None = None, *, frame: str = "body") -> Matrix:
        w = _with_rates(self.w, rates or {})
        return self.orientation.rotation * w if frame == "space" else w

    def kinetic(self, rates: Rates) -> Expr:
        return _with_rates(self.T, rates)

    def appell(self, rates: Rates) -> Expr:
        """S = ½ m a·a + a·(ω̇ × h + ω × (ω × h)) + ½ ω̇·J0 ω̇ + ω̇·(ω × J0 ω) with a = u̇ + ω × u (Golubev 1.5)."""
        u, w = _with_rates(self.u, rates), _with_rates(self.w, rates)
        a, w_d = total_derivative(u, rates) + w.cross(u), total_derivative(w, rates)
        turning = w_d.dot(self.J0 * w_d) / 2 + w_d.dot(w.cross(self.J0 * w))
        return self.mass * a.dot(a) / 2 + a.dot(w_d.cross(self.h) + w.cross(w.cross(self.h))) + turning


def _with_rates(expr: Any, rates: Rates) -> Any:
    """The expression with q.d replaced by the rates."""
    pairs: list[tuple[Any, Expr]] = list(rates.items())
    return expr.xreplace({q.d: rate for q, rate in pairs if rate != q.d})


def symbolic_system(system: TreeSystem) -> System:
    """The `System` of a tree with constraints. Rows that the joints satisfy identically, such as d·z of a loop in a plane
    mechanism, are left out. Raises `FormNotApplicable` where it would be too long to be readable."""
    if system.nv > SYMBOLIC_VELOCITIES:
        raise _too_large(system, f"{SYMBOLIC_VELOCITIES} velocities are the most that are written")
    try:
        return _system(system)
    except PolynomialTooLong:
        raise _too_large(system, f"a single entry has more than {POLYNOMIAL_TERMS} terms") from None


def _too_large(system: TreeSystem, reason: str) -> FormNotApplicable:
    numbers = "tree.with_parameters({…}), " if system.tree.parameters else ""
    return FormNotApplicable(
        f"{system.name} has {len(system.tree.nodes)} movable bodies and {system.nv} velocities: its equations in symbols would"
        f" fill books ({reason}). tree.equations() shows Golubev's equations of the recursion; {numbers}tree.forward_dynamics("
        "q, v, tau), compile and simulate take it in numbers"
    )


def _system(system: TreeSystem) -> System:
    tree = ExactTree.of(system.tree, sorted({jet.frame for jet in _frame_jets(system)}))
    write = _Frames(system, tree)
    moved = {q: rate for q, rate in _homogeneous(system).items() if rate != q.d and q not in system.states}
    return System(
        coordinates=system.coordinates,
        bodies=_bodies(tree),
        potential=write(system.potential) + _weight(tree, system.tree.gravity),
        forces={v: Q for v, Q in zip(system.velocities, _forces(system, write), strict=True) if Q != 0},
        constraints=_constraints(system, write),
        speeds=system.velocities if moved else None,
        kinematics=moved or None,
        rates={s: write(system.rates[s]) for s in system.states},
        name=system.name,
    )


def _homogeneous(system: TreeSystem) -> dict[Any, Expr]:
    """The rates with R + (|quaternion|² − 1) 1 instead of the R of floating joints: equal on unit quaternions, and RᵀR is
    visibly diagonal."""
    rates = dict(system.rates)
    for joint in system.tree._symbols:
        for ball in joint.quaternions:
            excess = sympy.Add(*(x**2 for x in ball.coordinates)) - 1
            for q, v in zip(joint.coordinates, joint.velocities[: -len(ball.rates)], strict=False):
                rates[q] = sympy.collect(sympy.expand(rates[q] + excess * v), joint.velocities)
    return rates


# -- bodies ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _MovingBody:
    """A body with the velocities u, w of its frame on its own axes: T = ½ m u·u + u·(ω × h) + ½ ω·Jω, all exact."""

    body: RigidBody
    moments: Moments
    u: list[Exact]
    w: list[Exact]
    T: Exact

    @staticmethod
    def of(tree: ExactTree, body: RigidBody, about: Moments, u: list[Exact], w: list[Exact]) -> _MovingBody:
        K = [dot([tree.lifted(x) for x in about.J.row(n)], w) for n in range(3)]
        T = dot(u, u) * tree.lifted(about.m) + dot(u, cross(w, [tree.lifted(x) for x in about.h])) * 2 + dot(w, K)
        return _MovingBody(body, about, u, w, T * sympy.Rational(1, 2))

    def written(self, tree: ExactTree, writing: Writing) -> LinkBody:
        moments = self.moments
        return LinkBody(
            self.body, moments.h, moments.J, tree.column(self.u), tree.column(self.w), tree.written(self.T, writing)
        )


def _bodies(tree: ExactTree) -> list[LinkBody]:
    """Bodies and rotors; their kinetic energies are written so that the sum is shortest."""
    moving = [_link(n, tree) for n, moments in enumerate(tree.moments) if not moments.empty]
    moving += [_rotor(link, tree) for link in tree.layout.links if any(link.node.armature)]
    writing = tree.algebra.writing(sum((body.T for body in moving), tree.lifted(0)).poly)
    return [body.written(tree, writing) for body in moving]


def _link(n: int, tree: ExactTree) -> _MovingBody:
    """Body n; its centre of mass is c = h/m, its inertia about it J − m (c² 1 − c cᵀ)."""
    moments, pose, velocity = tree.moments[n], tree.poses[n], tree.velocities[n]
    R, c = tree.matrix(pose.R), (moments.h / (moments.m or 1)).applyfunc(sympy.cancel)
    steiner = c.dot(c) * sympy.eye(3) - c * c.T
    J = (moments.J - moments.m * steiner).applyfunc(sympy.expand)
    body = RigidBody(moments.m, J, tree.column(pose.p) + R * c, R, name=tree.layout.links[n].node.name)
    return _MovingBody.of(tree, body, moments, velocity[3:], velocity[:3])


def _rotor(link: FramedLink, tree: ExactTree) -> _MovingBody:
    """An armature, ½ a v², of a joint that only rotates or only translates, or whose velocities are those of its
    coordinates."""
    node, axes = link.node, link.node.kind.subspace.axes
    if axes is None and node.kind.rate is same_rate and node.kind.nv <= 3:
        axes = tuple(range(node.kind.nv))  # a rotor with ω = (v_1, v_2, v_3)
    if axes is None or min(axes) < 3 <= max(axes):
        raise FormNotApplicable(
            f"joint '{node.name}' is {node.kind.name} and has an armature: an inertia of body velocities that slide and"
            " turn at once belongs to no kinetic energy. Give the mass to a body"
        )
    a, turns = exact_scalar(node.armature[0]), max(axes) < 3
    moments = Moments(
        sympy.Integer(0) if turns else a, sympy.zeros(3, 1), sympy.diag(*(a if turns and k in axes else 0 for k in range(3)))
    )
    body = RigidBody(moments.m, moments.J, [0, 0, 0], sympy.eye(3), name=f"rotor of {node.name}")
    rate = [tree.lifted(x) for x in link.spread([unit(k) for k in axes], tree.v)]
    return _MovingBody.of(tree, body, moments, rate[3:], rate[:3])


def _weight(tree: ExactTree, gravity: Iterable[Any]) -> Expr:
    """V = −g·Σ (m p + R h)."""
    total, g = tree.lifted(0), [tree.lifted(exact_scalar(x)) for x in gravity]
    for moments, pose in zip(tree.moments, tree.poses, strict=True):
        m, h = tree.lifted(moments.m), [tree.lifted(x) for x in moments.h]
        total = total - dot(g, add([m * x for x in pose.p], pose.turned(h)))
    return tree.written(total)


# -- frames written out ------------------------------------------------------------------------------------------------


def _frame_jets(system: TreeSystem) -> set[FrameJet]:
    """The entries of frames in constraints, forces, loads and the potential."""
    exprs = [*system._expressions(), *system.residuals, *(face.function for face in system.unilateral)]
    exprs += [w for W in system.reactions if W is not None for w in W] + [system.rates[s] for s in system.states]
    exprs += [e for reset in system.resets for e in reset.expressions]
    return {s for e in exprs for s in jets_of(e) if isinstance(s, FrameJet)}


@dataclass(frozen=True, eq=False)
class _Frames:
    """Writes entries of frames out in q and v: p and R by the recursion, ṗ = J_v v, ω = J_ω v, dots along the motion."""

    system: TreeSystem
    tree: ExactTree

    def __call__(self, expr: Expr, dust: float = 0.0) -> Expr:
        jets = [s for s in jets_of(expr) if isinstance(s, FrameJet)]
        if not jets:
            return without_floats(expr)
        written: Any = expr.xreplace({jet: self._value(jet) for jet in jets})
        return tidy(written, dust)

    def _value(self, jet: FrameJet) -> Any:
        moves = jet.entry in AXES and jet.order > 0
        value = self._twists[jet.frame][AXES.index(jet.entry)] if moves else self._entry(jet)
        for _ in range(jet.order - moves):
            value = self.system.total_derivative(value)
        return value

    def _entry(self, jet: FrameJet) -> Any:
        """The value of a frame entry, without derivatives."""
        if isinstance(jet, FrameRate):
            return self._twists[jet.frame][3 + AXES.index(jet.entry[-1])]
        R, p = self._poses[jet.frame]
        if jet.entry in AXES:
            return p[AXES.index(jet.entry)]
        i, j = (AXES.index(letter) for letter in jet.entry[-2:])
        return R[i, j]

    @cached_property
    def _poses(self) -> dict[str, tuple[Matrix, Matrix]]:
        return {name: self.tree.pose(name) for name in self.tree.marks}

    @cached_property
    def _twists(self) -> dict[str, Matrix]:
        return {name: self.tree.twist(name) for name in self.tree.marks}


# -- forces and constraints --------------------------------------------------------------------------------------------


def _forces(system: TreeSystem, write: _Frames) -> list[Expr]:
    """Q by velocity, with Σ (∂u/∂v)ᵀ F of the loads."""
    pairs = [(write(F), write(u)) for load in system.frame_loads for F, u in zip(*load, strict=True)]
    return [
        sympy.Add(write(Q), *(F * sympy.diff(u, v) for F, u in pairs))
        for Q, v in zip(system.forces, system.velocities, strict=True)
    ]


def _constraints(system: TreeSystem, write: _Frames) -> list[Constraint | Unilateral | Between | Friction | Reset]:
    """The rows, and the constraints behind the faces, in q and v; those without frames are the user's own objects."""
    triples = zip(system.constraints, system.residuals, system.reactions, strict=True)
    rows = [_row(c, residual, W, write) for c, residual, W in triples]
    sources = dict.fromkeys(face.source for face in system.unilateral)
    frictions = [_friction(fr, write) for fr in system.frictions]
    present = lambda items: [item for item in items if item is not None]
    resets = [Reset(write(reset.guard), {s: write(e) for s, e in reset.map.items()}, reset.name) for reset in system.resets]
    return [*present(rows), *(_one_sided(source, write) for source in sources), *present(frictions), *resets]


def _friction(fr: Friction, write: _Frames) -> Friction | None:
    """The same friction in q and v, with its normal found by name; None where nothing can slide."""
    sizes = {field: e if e is None else write(e) for field in ("coefficient", "static", "limit", "regularise")
             for e in [getattr(fr, field)]}  # fmt: skip
    # without components that vanish: a wheel in a plane cannot slip sideways
    slip: tuple[Any, ...] = tuple(s for component in fr.slip if (s := write(component)) != 0)
    name = lambda ref: getattr(ref, "name", ref)
    normal = [name(ref) for ref in fr.normal] if isinstance(fr.normal, tuple) else name(fr.normal)
    if not slip:
        return None
    slips: Any = slip if len(slip) > 1 else next(iter(slip))
    return Friction(slips, normal=normal, law=fr.law, name=fr.name, **sizes)


def _row(c: Constraint, residual: Expr, W: tuple[Expr, ...] | None, write: _Frames) -> Constraint | None:
    f = write(residual, dust=FRACTION_ROUNDING)  # lengths and directions: the rounding of 0.1 + 0.2 − 0.3 is not a constraint
    direction = None if W is None else tuple(map(write, W))
    if f == 0:
        return None
    return c if f == residual and direction == W else Constraint(f, c.name, reaction=direction)


def _one_sided(source: Unilateral | Between, write: _Frames) -> Unilateral | Between:
    f = write(source.function)
    if isinstance(source, Unilateral):
        return source if f == source.function else Unilateral(f, source.name, source.restitution, source.chart)
    lower, upper = write(source.lower), write(source.upper)
    same = (lower, f, upper) == (source.lower, source.function, source.upper)
    return source if same else Between(lower, f, upper, source.name, source.restitution, source.chart)
