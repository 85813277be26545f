"""A tree whose masses, centres, inertias and lengths are inputs: compiled once, their values given at each call.

    forward_dynamics(q, v, tau, values)        values (k,), or (batch, k), in the order of `names`

The frames remain those chosen for the numbers of the tree (`appell.tree.frames`). The values change only the inertial
parameters of a body, m, m c and J_c + m (c·c − c cᵀ), and the translations between frames; both are valid for all values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.errors import ModelError, SingularConfiguration
from appell.graph import algebra
from appell.graph.casadi_functions import casadi_function
from appell.graph.fn import Fn
from appell.graph.scalar import scalars
from appell.reading import items_of, one_of, reals, shown, text_of
from appell.tree import tree_functions
from appell.tree.compiled_methods import answer, ready
from appell.tree.description import Joint
from appell.tree.frames import FramedLink, FrameLayout, Node, lay_out
from appell.tree.inertia import Inertia, Placement
from appell.tree.placement_steps import elementary_steps, turn
from appell.tree.recipes import recipe_key
from appell.tree.spatial import Scalar, Slide, Steps

if TYPE_CHECKING:
    from appell.tree.tree import Tree

Array = NDArray[np.float64]

KINDS = {
    "mass": ("mass",),
    "centre": ("centre_x", "centre_y", "centre_z"),
    "inertia": ("inertia_xx", "inertia_xy", "inertia_yy", "inertia_xz", "inertia_yz", "inertia_zz"),
    "length": ("x", "y", "z"),
}
"""Properties that may vary at run time: of the body behind a joint, and the joint's position on its predecessor."""
BODY = ("mass", "centre", "inertia")
PAIRS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


@dataclass(frozen=True)
class Varied:
    """A joint, one of `KINDS`, and where its values begin among all."""

    node: int
    kind: str
    first: int


class ParametrizedTree:
    """A tree with some of its numbers as inputs; `tree.parametrized(…)` makes it.

    Attributes
    ----------
    names: of the values, "wrist.mass", "wrist.centre_x" …, in their order.
    values: those of the tree, (k,), SI.
    tree: the tree itself, in numbers.

    Every method takes one state or a batch, and after it `values=`: (k,), (batch, k), or {name: number} for some of them; the
    others keep the tree's values. Masses in kg; centres in m from the origin and on the axes of the joint's frame; inertias in
    kg m² about the centre of mass, on the same axes; lengths are the origin of the joint on its predecessor, m. Changing the
    mass alone does not change centre and inertia. Unphysical values are allowed, because identification may pass through them.
    """

    def __init__(self, tree: Tree, wanted: Sequence[tuple[int, str]]):
        self.tree = tree
        self._varied: list[Varied] = []
        names: list[str] = []
        for node, kind in wanted:
            self._varied.append(Varied(node, kind, len(names)))
            names += [f"{tree.nodes[node].name}.{part}" for part in KINDS[kind]]
        self.names = tuple(names)
        self._calls: dict[object, Callable[..., Any]] = {}

    def __repr__(self) -> str:
        return f"<{self.tree.name} with {len(self.names)} values at run time>"

    @cached_property
    def values(self) -> Array:
        """The values of the tree, (k,)."""
        return np.concatenate([*(_numbers(self.tree.nodes[varied.node], varied.kind) for varied in self._varied), np.zeros(0)])

    def read(self, values: Any = None) -> Array:
        """The `values=` argument of a method as (k,) or (batch, k)."""
        if values is None:
            return self.values
        usual = type(values) is np.ndarray and values.dtype == np.float64 and values.shape == self.values.shape
        if usual and isfinite(values.sum()):  # fast path for the usual case
            return values
        if isinstance(values, Mapping):
            return self._named(values)
        array = reals(values, "values=")
        if array.ndim not in (1, 2) or array.shape[-1] != len(self.names) or not np.isfinite(array).all():
            raise ModelError(f"values= are ({len(self.names)},) or (batch, {len(self.names)}), finite; they are {shown(array)}")
        return array

    def _named(self, entries: Mapping[Any, Any]) -> Array:
        columns: dict[int, Array] = {}
        for key, value in entries.items():
            name = one_of(text_of(key), self.names, f"{self.tree.name} has no value ")
            column = reals(value, f"the value of {name}")
            if column.ndim > 1 or not np.isfinite(column).all():
                raise ModelError(f"the value of {name} is one number, or (batch,), finite; it is {shown(value)}")
            columns[self.names.index(name)] = column
        counts = {len(x) for x in columns.values() if x.ndim}
        if len(counts) > 1:
            raise ModelError(f"values= has arrays of different lengths: {sorted(counts)}")
        table = np.tile(self.values, (counts.pop(), 1)) if counts else self.values.copy()
        for k, x in columns.items():
            table[..., k] = x
        return table

    def with_values(self, values: Any = None) -> Tree:
        """The tree in numbers with these values, (k,)."""
        array = self.read(values)
        if array.ndim != 1:
            raise ModelError(f"a tree has one set of values, ({len(self.names)},), not {array.shape}")
        return _rebuilt(self.tree, self._varied, array)

    # --- questions -----------------------------------------------------------------------------------------------

    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, values: Any = None) -> Array:
        """v̇ of M v̇ + h = τ, (nv,)."""
        a = self._ask("forward_dynamics", values, q, v, tau)[0]
        if not isfinite(a.sum()) and not np.isfinite(a).all():
            raise SingularConfiguration(f"the accelerations of {self.tree.name} are not finite with these values or states")
        return a

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, values: Any = None) -> Array:
        """τ = M a + h, (nv,)."""
        return self._ask("inverse_dynamics", values, q, v, a)[0]

    def mass_matrix(self, q: ArrayLike, values: Any = None) -> Array:
        """M(q), (nv, nv)."""
        return self._ask("mass_matrix", values, q)[0]

    def bias(self, q: ArrayLike, v: ArrayLike, values: Any = None) -> Array:
        """h(q, v), (nv,): velocity terms and gravity."""
        return self._ask("bias", values, q, v)[0]

    def energy(self, q: ArrayLike, v: ArrayLike, values: Any = None) -> Array:
        """T + V, J; as `Tree.energy`."""
        T, V = self._ask("energy", values, q, v)
        return T + V

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike, values: Any = None) -> Array:
        """T = ½ vᵀ M v, J."""
        return self._ask("energy", values, q, v)[0]

    def centre_of_mass(self, q: ArrayLike, values: Any = None) -> Array:
        """(3,), m, in the world."""
        return self._ask("centre_of_mass", values, q)[0]

    def momentum(self, q: ArrayLike, v: ArrayLike, values: Any = None) -> Array:
        """[linear | angular about the centre of mass], (6,), on the world's axes."""
        return self._ask("momentum", values, q, v)[0]

    def placement(self, frame: str, q: ArrayLike, values: Any = None) -> tuple[Array, Array]:
        """(R, p) of a frame in the world."""
        R, p = self._ask("placement", values, q, frame=self.tree._frame_named(frame).name)
        return R, p

    def jacobian(self, frame: str, q: ArrayLike, values: Any = None, *, reference: str = "aligned") -> Array:
        """(6, nv), as `Tree.jacobian`."""
        one_of(reference, ("local", "aligned", "world"), "reference=")
        return self._ask("jacobian", values, q, frame=self.tree._frame_named(frame).name, reference=reference)[0]

    def function(self, question: str, frame: str | None = None, reference: str = "aligned") -> Fn:
        """The graph behind a method: the same inputs as for the tree, then `values`."""
        data, p = self._tree_data
        if frame is not None:
            fixed_frame = self.tree._frame_named(frame)
            return tree_functions.frame_function(data, fixed_frame, question, reference, more={"values": p})
        return tree_functions.function(data, question, more={"values": p})

    def casadi(self, question: str = "forward_dynamics", *, frame: str | None = None, reference: str = "aligned") -> Any:
        """As `Tree.casadi`, with `values` as the last input."""
        fn = self.function(question, frame, reference)
        return casadi_function(question, fn, [port.name for port in fn.outputs])

    def _ask(self, question: str, values: Any, *state: ArrayLike, frame: str | None = None, reference: str = "") -> Any:
        key = (question, frame, reference)
        if key not in self._calls:
            make = lambda: self.function(*key)
            compiled = ready(self.tree._backend, lambda: self._digest(*map(str, key)), make, question, self.tree.name)
            self._calls[key] = compiled.entry(partial(answer, compiled), batches=True)
        return self._calls[key](*state, self.read(values))

    def _digest(self, *question: str) -> str:
        varied = [f"{item.node}:{item.kind}" for item in self._varied]
        at_frame = None if question[1] == "None" else self.tree._frame_named(question[1])
        return recipe_key(self.tree.nodes, self.tree.gravity, "parametrized", *varied, *question, frame=at_frame)

    @cached_property
    def _tree_data(self) -> tuple[tree_functions.TreeData, algebra.Value]:
        """The tree with graph values for the varied numbers, and the column of these."""
        tree, p = self.tree, algebra.symbols("values", len(self.names))
        layout = _symbolic(lay_out(tree.nodes, booked=False), self._varied, scalars(p))
        mass: Scalar = 0.0
        for link in layout.links:
            mass = mass + link.inertia.m
        return tree_functions.TreeData(layout, layout, tree.gravity, tree.nq, tree.nv, mass), p


def parametrized(tree: Tree, wanted: Sequence[Any]) -> ParametrizedTree:
    """See `Tree.parametrized`."""
    joints = [node.name for node in tree.nodes]
    if not wanted:
        wanted = BODY
    if len(wanted) == 1 and isinstance(wanted[0], Mapping):
        chosen = []
        for joint, kinds in wanted[0].items():
            index = joints.index(tree._node(joint).name)
            chosen += [(index, _kind(kind)) for kind in (kinds.split() if isinstance(kinds, str) else items_of(kinds, "kinds"))]
    else:
        kinds = [_kind(kind) for words in wanted for kind in (words.split() if isinstance(words, str) else [words])]
        chosen = [(index, kind) for index in range(len(joints)) for kind in kinds]
    repeated = [pair for pair in chosen if chosen.count(pair) > 1]
    if repeated:
        raise ModelError(f"parametrized names {repeated[0][1]} of '{joints[repeated[0][0]]}' twice")
    if not chosen:
        raise ModelError("parametrized names nothing; give kinds, 'mass', or {joint: kinds}")
    return ParametrizedTree(tree, chosen)


def _kind(kind: Any) -> str:
    if not isinstance(kind, str):
        raise ModelError(f"parametrized takes {', '.join(KINDS)}, or {{joint: 'mass centre'}}; not {shown(kind)}")
    return one_of(kind, KINDS, "parametrized knows no ")


def _numbers(node: Node, kind: str) -> Array:
    """The tree's own values of one kind."""
    m, c, J = _at_centre(node.inertia)
    six = np.array([J[i, j] for i, j in PAIRS])
    return {"mass": np.array([m]), "centre": c, "inertia": six, "length": np.array(node.placement.p)}[kind]


def _at_centre(body: Inertia) -> tuple[float, Array, Array]:
    """m, c and J about the centre of mass; about the origin where there is no mass."""
    m, h = float(body.m), np.array(body.h, dtype=float)
    c = h / m if m else np.zeros(3)
    return m, c, np.array(body.J, dtype=float) - m * (c @ c * np.eye(3) - np.outer(c, c))


def _from_centre(m: Scalar, c: Sequence[Scalar], J: Sequence[Sequence[Scalar]]) -> Inertia:
    """m, m c and P = tr(J)/2 − J + m c cᵀ, in scalars of any kind."""
    half_trace = 0.5 * (J[0][0] + J[1][1] + J[2][2])
    P: Any = [[(half_trace if i == j else 0.0) - J[i][j] + m * c[i] * c[j] for j in range(3)] for i in range(3)]
    h: Any = [m * x for x in c]
    return Inertia(m, h, P)


def _body(node: Node, Z: Placement, by_kind: Mapping[str, Sequence[Scalar]]) -> Inertia:
    """The body behind a joint in the frame chosen for it, with the given values."""
    m, c, J = _at_centre(node.inertia)
    mass = by_kind["mass"][0] if "mass" in by_kind else m
    centre: list[Scalar] = list(by_kind["centre"]) if "centre" in by_kind else c.tolist()
    matrix: list[list[Scalar]] = J.tolist()
    if "inertia" in by_kind:
        for (i, j), x in zip(PAIRS, by_kind["inertia"], strict=True):
            matrix[i][j] = matrix[j][i] = x
    R, p = Z.R.tolist(), Z.p.tolist()
    turned = [sum((R[k][i] * (centre[k] - p[k]) for k in range(3)), 0.0) for i in range(3)]
    product = [[sum((matrix[k][l] * R[l][j] for l in range(3)), 0.0) for j in range(3)] for k in range(3)]
    inertia = [[sum((R[k][i] * product[k][j] for k in range(3)), 0.0) for j in range(3)] for i in range(3)]
    return _from_centre(mass, turned, inertia)


def _symbolic(layout: FrameLayout, varied: Sequence[Varied], values: Sequence[Scalar]) -> FrameLayout:
    """The layout with values in place of numbers."""
    links: list[FramedLink] = []
    for n, link in enumerate(layout.links):
        by_kind = {item.kind: values[item.first : item.first + len(KINDS[item.kind])] for item in varied if item.node == n}
        if any(kind in by_kind for kind in BODY):
            link = replace(link, inertia=_body(link.node, link.frame, by_kind))
        if "length" in by_kind:
            link = _with_length(layout, link, by_kind["length"])
        links.append(link)
    return FrameLayout(tuple(links), layout.ground)


def _with_length(layout: FrameLayout, link: FramedLink, p: Sequence[Scalar]) -> FramedLink:
    """A link whose joint has its origin at p on the predecessor: translations that depend on p, then constant rotations."""
    node, Z = link.node, link.frame
    before = layout.links[node.parent].frame if node.parent >= 0 else Placement(np.eye(3), np.zeros(3))
    beyond = (node.placement.R @ Z.p - before.p).tolist()
    R_in = before.R.T.tolist()
    shift = [sum((R_in[i][k] * (p[k] + beyond[k]) for k in range(3)), 0.0) for i in range(3)]
    turns = elementary_steps(Placement(before.R.T @ node.placement.R @ Z.R, np.zeros(3)), 0.0)
    fixed: Steps = (*(Slide(k, shift[k]) for k in range(3)), *turns.steps)
    if node.kind.hinge:
        return replace(link, fixed=fixed, offset=turns.gamma)
    return replace(link, fixed=(*fixed, *turn(2, turns.gamma)), offset=0.0)


def _rebuilt(tree: Tree, varied: Sequence[Varied], values: Array) -> Tree:
    """A numeric tree with these values: fixed links merged into the bodies that carry them."""
    joints = []
    for n, node in enumerate(tree.nodes):
        by_kind = {
            item.kind: values[item.first : item.first + len(KINDS[item.kind])].tolist() for item in varied if item.node == n
        }
        body = _body(node, Placement(np.eye(3), np.zeros(3)), by_kind)
        inertia = Inertia(float(body.m), np.array(body.h, dtype=float), np.array(body.P, dtype=float), as_stated=True)
        placement = node.placement if "length" not in by_kind else Placement(node.placement.R, np.array(by_kind["length"]))
        parent = None if node.parent < 0 else tree.nodes[node.parent].name
        limits = tree.limits.get(node.name)
        rotor, damping = (float(x[0]) if x else 0.0 for x in (node.armature, node.damping))
        arguments = (node.name, node.kind.name, parent, placement, node.axis.tolist(), inertia, rotor, damping, None, limits)
        joints.append(Joint(*arguments))
    return tree.with_joints(joints)


__all__ = ["ParametrizedTree", "parametrized"]
