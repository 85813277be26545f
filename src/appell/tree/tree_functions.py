"""The algorithms as graphs: one `Fn` for each quantity that a tree can compute.

    q (nq,)   v, tau, a (nv,)

A new quantity is a new function here and a line in `QUESTIONS`. Derivatives with respect to the configuration are along v,
∂y/∂q N(q) with q̇ = N(q) v, hence (…, nv) as in Pinocchio.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from appell.graph import algebra
from appell.graph.algebra import Value
from appell.graph.fn import Fn, make_fn
from appell.graph.scalar import Scalar, is_constant_zero, scalars, stacked
from appell.reading import one_of
from appell.tree import joint_loads, kinematics
from appell.tree.algorithms import aba, crba, rnea
from appell.tree.derivatives import Rows, rnea_derivatives, solved
from appell.tree.description import Frame
from appell.tree.frames import FrameLayout

Part = tuple[Value, tuple[int, ...]]
"""The column of an array's entries, row by row, and its shape."""


@dataclass(frozen=True, eq=False)
class TreeData:
    """The data of a tree that a graph needs."""

    layout: FrameLayout
    stated: FrameLayout  # every body in its given frame, for joint loads
    gravity: tuple[float, float, float]
    nq: int
    nv: int
    mass: Scalar

    def inputs(self, names: str) -> dict[str, Value]:
        """Fresh symbols, `names` such as "q v tau"."""
        return {name: algebra.symbols(name, self.nq if name == "q" else self.nv) for name in names.split()}


def function(data: TreeData, question: str, *, more: Mapping[str, Value] | None = None) -> Fn:
    """The graph that answers one of `QUESTIONS`; more: further inputs that occur in the data."""
    names, build = QUESTIONS[one_of(question, QUESTIONS, "a tree has no function ")]
    inputs = data.inputs(names)
    return make_fn(question, _shaped({**inputs, **(more or {})}), _with_nan_inputs(inputs, build(data, *inputs.values())))


def frame_function(
    data: TreeData, frame: Frame, question: str, reference: str = "aligned", *, more: Mapping[str, Value] | None = None
) -> Fn:
    """ "placement" (R, p), "jacobian" (6, nv) or "pose" (R, p, J) of one frame."""
    q = algebra.symbols("q", data.nq)
    at_frame = (data.layout, frame.node, frame.placement, scalars(q))
    outputs: dict[str, Part] = {}
    if question in ("placement", "pose"):
        pose = kinematics.frame_pose(*at_frame)
        outputs |= {"R": _matrix(pose.R), "p": (stacked(pose.p), (3,))}
    if question in ("jacobian", "pose"):
        J = kinematics.frame_jacobian(*at_frame, reference)
        outputs["J"] = (stacked([x for row in J for x in row]), (6, data.nv))
    return make_fn(question, _shaped({"q": q, **(more or {})}), _with_nan_inputs({"q": q}, outputs))


def _with_nan_inputs(inputs: Mapping[str, Value], outputs: Mapping[str, Part]) -> dict[str, Part]:
    """The outputs, made NaN if an input that they do not depend on is NaN (the position of a floating base, a rotation about
    the vertical): vectors in every entry, matrices on their diagonal."""
    silent = algebra.alarm([part for part, _ in outputs.values()], algebra.column(*inputs.values()))
    if algebra.is_zero(silent):
        return dict(outputs)
    spoilt = lambda x, shape: stacked([y + silent if _is_diagonal(k, shape) else y for k, y in enumerate(scalars(x))])
    return {name: (spoilt(x, shape), shape) for name, (x, shape) in outputs.items()}


def _is_diagonal(k: int, shape: tuple[int, ...]) -> bool:
    """Whether entry k, row by row, is on the diagonal of a matrix; always true for vectors."""
    return len(shape) < 2 or k // shape[1] == k % shape[1]


def _shaped(inputs: Mapping[str, Value]) -> dict[str, Part]:
    return {name: (value, (value.numel(),)) for name, value in inputs.items()}


def _matrix(rows: list[list[Scalar]]) -> Part:
    return stacked([x for row in rows for x in row]), (len(rows), len(rows[0]) if rows else 0)


def _forward(s: TreeData, q: Value, v: Value, tau: Value) -> dict[str, Part]:
    return {"a": (stacked(aba(s.layout, s.gravity, scalars(q), scalars(v), scalars(tau))), (s.nv,))}


def _inverse(s: TreeData, q: Value, v: Value, a: Value) -> dict[str, Part]:
    return {"tau": (stacked(rnea(s.layout, s.gravity, scalars(q), scalars(v), scalars(a))), (s.nv,))}


def _bias(s: TreeData, q: Value, v: Value) -> dict[str, Part]:
    return {"h": (stacked(rnea(s.layout, s.gravity, scalars(q), scalars(v), [0.0] * s.nv)), (s.nv,))}


def _mass_matrix(s: TreeData, q: Value) -> dict[str, Part]:
    return {"M": _matrix(crba(s.layout, scalars(q)))}


def _mass_triangle(s: TreeData, q: Value) -> dict[str, Part]:
    M = crba(s.layout, scalars(q))
    return {"M": (stacked([x for k, row in enumerate(M) for x in row[: k + 1]]), (s.nv * (s.nv + 1) // 2,))}


def _energy(s: TreeData, q: Value, v: Value) -> dict[str, Part]:
    T = kinematics.kinetic_energy(s.layout, scalars(q), scalars(v))
    V = kinematics.potential_energy(s.layout, s.gravity, scalars(q))
    return {"T": (stacked([T]), ()), "V": (stacked([V]), ())}


def _centre_of_mass(s: TreeData, q: Value) -> dict[str, Part]:
    return {"c": (stacked(kinematics.centre_of_mass(s.layout, s.mass, scalars(q))), (3,))}


def _momentum(s: TreeData, q: Value, v: Value) -> dict[str, Part]:
    """[linear | angular about the centre of mass], on the world's axes."""
    total = kinematics.momentum_about_origin(s.layout, scalars(q), scalars(v))
    c = kinematics.centre_of_mass(s.layout, s.mass, scalars(q))
    K = [x - y for x, y in zip(total[:3], kinematics.cross(c, total[3:]), strict=True)]
    return {"p": (stacked([*total[3:], *K]), (6,))}


def _rate(s: TreeData, q: Value, v: Value) -> dict[str, Part]:
    """q̇ = N(q) v."""
    qs, vs = scalars(q), scalars(v)
    rates: list[Scalar] = []
    for link in s.layout.links:
        node = link.node
        rates += node.kind.rate(qs[node.iq : node.iq + node.kind.nq], vs[node.iv : node.iv + node.kind.nv])
    return {"qd": (stacked(rates), (s.nq,))}


def _forward_derivatives(s: TreeData, q: Value, v: Value, tau: Value) -> dict[str, Part]:
    a = stacked(aba(s.layout, s.gravity, scalars(q), scalars(v), scalars(tau)))
    matrices = solved(*_inverse_parts(s, q, v, a))
    return {name: _matrix(matrix) for name, matrix in zip(("a_q", "a_v", "a_tau"), matrices, strict=True)}


def _inverse_derivatives(s: TreeData, q: Value, v: Value, a: Value) -> dict[str, Part]:
    matrices = _inverse_parts(s, q, v, a)
    return {name: _matrix(matrix) for name, matrix in zip(("tau_q", "tau_v", "tau_a"), matrices, strict=True)}


def _inverse_parts(s: TreeData, q: Value, v: Value, a: Value) -> tuple[Rows, Rows, Rows]:
    """∂τ/∂q N, ∂τ/∂v, M: by one pass where S is constant on body axes for every joint, else by differentiating the graph."""
    if all(link.node.kind.subspace.constant for link in s.layout.links):
        return rnea_derivatives(s.layout, s.gravity, scalars(q), scalars(v), scalars(a))
    a_free = algebra.symbols("a", s.nv)
    tau = stacked(rnea(s.layout, s.gravity, scalars(q), scalars(v), scalars(a_free)))
    N = algebra.jacobian(_rate(s, q, v)["qd"][0], v)
    derivatives = (algebra.jacobian(tau, q) @ N, algebra.jacobian(tau, v), algebra.jacobian(tau, a_free))
    rows = [[[X[i, j] for j in range(s.nv)] for i in range(s.nv)] for X in algebra.substitute_all(derivatives, [a_free], [a])]
    tau_q, tau_v, M = ([[0.0 if is_constant_zero(x) else x for x in row] for row in X] for X in rows)
    return tau_q, tau_v, M


def _wrenches(s: TreeData, q: Value, v: Value, a: Value) -> dict[str, Part]:
    rows = joint_loads.wrenches(s.stated, s.gravity, scalars(q), scalars(v), scalars(a))
    return {"f": (stacked([x for row in rows for x in row]), (len(rows), 6))}


def _regressor(s: TreeData, q: Value, v: Value, a: Value) -> dict[str, Part]:
    return {"Y": _matrix(joint_loads.regressor(s.stated, s.gravity, scalars(q), scalars(v), scalars(a)))}


def _coriolis(s: TreeData, q: Value, v: Value) -> dict[str, Part]:
    return {"C": _matrix(joint_loads.coriolis(s.layout, scalars(q), scalars(v)))}


def _centroidal(s: TreeData, q: Value) -> dict[str, Part]:
    """∂[linear | angular momentum]/∂v: the momentum is linear in v."""
    v = algebra.symbols("v", s.nv)
    A = algebra.jacobian(_momentum(s, q, v)["p"][0], v)
    (A,) = algebra.substitute_all([A], [v], [algebra.zeros(s.nv)])
    return {"A": (algebra.row_major(A), (6, s.nv))}


def _centroidal_bias(s: TreeData, q: Value, v: Value) -> dict[str, Part]:
    """Ȧ v = ∂(A v)/∂q N v at constant v: the rate of the momentum without accelerations."""
    return {"b": (algebra.derivative_along(_momentum(s, q, v)["p"][0], [q], [_rate(s, q, v)["qd"][0]]), (6,))}


def frame_bias(data: TreeData, frame: Frame, reference: str) -> Fn:
    """J̇ v of a frame, (6,): ∂(J v)/∂q N v at constant v."""
    q, v = algebra.symbols("q", data.nq), algebra.symbols("v", data.nv)
    J = kinematics.frame_jacobian(data.layout, frame.node, frame.placement, scalars(q), reference)
    vs = scalars(v)
    velocity = stacked([sum((x * y for x, y in zip(row, vs, strict=True)), 0.0) for row in J])
    bias = algebra.derivative_along(velocity, [q], [_rate(data, q, v)["qd"][0]])
    inputs = {"q": q, "v": v}
    return make_fn("bias_acceleration", _shaped(inputs), _with_nan_inputs(inputs, {"b": (bias, (6,))}))


QUESTIONS: dict[str, tuple[str, Callable[..., dict[str, Part]]]] = {
    "forward_dynamics": ("q v tau", _forward),
    "inverse_dynamics": ("q v a", _inverse),
    "bias": ("q v", _bias),
    "mass_matrix": ("q", _mass_matrix),
    "mass_triangle": ("q", _mass_triangle),
    "energy": ("q v", _energy),
    "centre_of_mass": ("q", _centre_of_mass),
    "momentum": ("q v", _momentum),
    "rate": ("q v", _rate),
    "wrenches": ("q v a", _wrenches),
    "regressor": ("q v a", _regressor),
    "coriolis": ("q v", _coriolis),
    "centroidal": ("q", _centroidal),
    "centroidal_bias": ("q v", _centroidal_bias),
    "forward_dynamics_derivatives": ("q v tau", _forward_derivatives),
    "inverse_dynamics_derivatives": ("q v a", _inverse_derivatives),
}
