"""Every question that a tree answers, beside Pinocchio's answer: one table, for three robots in the suite and all of them in
`tests.tree.all_robots`.

    ASKED: name → (twin, q, v, x) → (ours, theirs)        x: accelerations, torques or another velocity, (nv,)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pinocchio as pin
from tests.tree.pinocchio_peer import Peer, error

from appell.remember import kept_in

Array = Any
REFERENCES = {"local": pin.LOCAL, "aligned": pin.LOCAL_WORLD_ALIGNED, "world": pin.WORLD}
XYZ, RPY = (0.1, -0.2, 0.3), (0.4, 0.5, -0.6)
WRENCH = np.array([3.0, -2.0, 5.0, 0.7, 0.4, -0.6])
NEEDS_MASSES = tuple(
    f"{kind}forward_dynamics{what}" for kind, what in (("", ""), ("", "_derivatives"), ("external ", ""), ("parametrized ", ""))
)
NEEDS_A_MASS = ("centre_of_mass", "centre_of_mass_jacobian", "momentum", "centroidal", "centroidal_bias")

Answer = tuple[Any, Any]
ASKED: dict[str, Callable[[Peer, Array, Array, Array], Answer]] = {}


def asked(name: str) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    def keep(ask: Callable[..., Answer]) -> Callable[..., Answer]:
        ASKED[name] = ask
        return ask

    return keep


def symmetric(M: Array) -> Array:
    """Pinocchio fills the upper triangle."""
    return np.triu(M) + np.triu(M, 1).T


def each(twin: Peer, theirs: Callable[..., Any], *arrays: Array) -> Any:
    """Pinocchio's answers at a state, or one by one at a batch; q in its own convention."""
    if arrays[0].ndim == 1:
        return theirs(twin.configuration(arrays[0]), *arrays[1:])
    found = [theirs(twin.configuration(q), *rest) for q, *rest in zip(*arrays, strict=True)]
    if isinstance(found[0], tuple):
        return tuple(np.array(part) for part in zip(*found, strict=True))
    return np.array(found)


def plain(name: str, arguments: str, theirs: Callable[..., Any], ours: str = "") -> None:
    """A method of the tree with the same arguments as Pinocchio's function."""

    def ask(twin: Peer, q: Array, v: Array, x: Array) -> Answer:
        given = [{"q": q, "v": v, "x": x}[letter] for letter in arguments]
        answer = lambda *state: theirs(twin.model, twin.data, *(np.array(s) for s in state))
        return getattr(twin.tree, ours or name)(*given), each(twin, answer, *given)

    ASKED[name] = ask


def _copy(x: Any) -> Any:
    return np.array(x)


def _energy(m: Any, d: Any, q: Array, v: Array) -> float:
    return pin.computeKineticEnergy(m, d, q, v) + pin.computePotentialEnergy(m, d, q)


def _wrenches(m: Any, d: Any, q: Array, v: Array, a: Array) -> Array:
    pin.rnea(m, d, q, v, a)
    return np.array([d.f[k + 1].vector for k in range(m.njoints - 1)]).reshape(-1, 6)


def _centroidal_bias(m: Any, d: Any, q: Array, v: Array) -> Array:
    fresh = m.createData()  # after computeCentroidalMomentum the same data give another answer (pin 4.1)
    pin.computeCentroidalMapTimeVariation(m, fresh, q, v)
    return fresh.dAg @ v


def _forward_derivatives(m: Any, d: Any, q: Array, v: Array, tau: Array) -> tuple[Array, ...]:
    pin.computeABADerivatives(m, d, q, v, tau)
    return _copy(d.ddq_dq), _copy(d.ddq_dv), symmetric(d.Minv)


def _inverse_derivatives(m: Any, d: Any, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
    tau_q, tau_v, M = pin.computeRNEADerivatives(m, d, q, v, a)
    return _copy(tau_q), _copy(tau_v), symmetric(M)


plain("inverse_dynamics", "qvx", lambda m, d, *s: _copy(pin.rnea(m, d, *s)))
plain("forward_dynamics", "qvx", lambda m, d, *s: _copy(pin.aba(m, d, *s)))
plain("mass_matrix", "q", lambda m, d, q: symmetric(pin.crba(m, d, q)))
plain("bias", "qv", lambda m, d, *s: _copy(pin.nle(m, d, *s)))
plain("energy", "qv", _energy)
plain("kinetic_energy", "qv", pin.computeKineticEnergy)
plain("centre_of_mass", "q", lambda m, d, q: _copy(pin.centerOfMass(m, d, q)))
plain("centre_of_mass_jacobian", "q", lambda m, d, q: _copy(pin.jacobianCenterOfMass(m, d, q)))
plain("momentum", "qv", lambda m, d, *s: pin.computeCentroidalMomentum(m, d, *s).vector)
plain("centroidal", "q", lambda m, d, q: _copy(pin.computeCentroidalMap(m, d, q)))
plain("centroidal_bias", "qv", _centroidal_bias)
plain("coriolis", "qv", lambda m, d, *s: _copy(pin.computeCoriolisMatrix(m, d, *s)))
plain("wrenches", "qvx", _wrenches)
plain("regressor", "qvx", lambda m, d, *s: _copy(pin.computeJointTorqueRegressor(m, d, *s)))
plain("forward_dynamics_derivatives", "qvx", _forward_derivatives)
plain("inverse_dynamics_derivatives", "qvx", _inverse_derivatives)


@asked("mass_triangle")
def _triangle(twin: Peer, q: Array, v: Array, x: Array) -> Answer:
    rows, columns = np.tril_indices(twin.tree.nv)
    theirs = each(twin, lambda p: symmetric(pin.crba(twin.model, twin.data, p))[rows, columns], q)
    return twin.tree.mass_triangle(q), theirs


@asked("dynamic_parameters")
def _parameters(twin: Peer, q: Array, v: Array, x: Array) -> Answer:
    theirs = [body.toDynamicParameters() for body in list(twin.model.inertias)[1:]]
    return twin.tree.dynamic_parameters, np.concatenate([np.zeros(0), *theirs])


@asked("to_pinocchio, from_pinocchio")
def _vectors(twin: Peer, q: Array, v: Array, x: Array) -> Answer:
    there = twin.tree.to_pinocchio(q)
    return (there, twin.tree.difference(q, twin.tree.from_pinocchio(there))), (each(twin, lambda p: p, q), np.zeros_like(v))


@asked("integrate")
def _integrate(twin: Peer, q: Array, v: Array, x: Array) -> Answer:
    theirs = each(twin, lambda p, w: pin.integrate(twin.model, p, w), q, v)
    return _one_sign(twin, twin.tree.to_pinocchio(twin.tree.integrate(q, v))), _one_sign(twin, theirs)


def _one_sign(twin: Peer, there: Array) -> Array:
    """Quaternions q and −q are one rotation: the largest entry is positive."""
    found = np.array(there)
    for k, node in enumerate(twin.tree.nodes):
        if node.kind.name in ("spherical", "floating"):
            first = twin.model.idx_qs[k + 1] + node.kind.nq - 4
            own = found[..., first : first + 4]
            own *= np.sign(np.take_along_axis(own, np.abs(own).argmax(axis=-1, keepdims=True), axis=-1))
    return found


def _near(twin: Peer, q: Array, v: Array) -> Array:
    """Another configuration, not opposite on a sphere, where the way is not unique."""
    return twin.tree.integrate(q, 0.3 * v)


@asked("difference, distance")
def _difference(twin: Peer, q: Array, v: Array, x: Array) -> Answer:
    far = _near(twin, q, v)
    theirs = each(twin, lambda p, w: pin.difference(twin.model, p, twin.configuration(w)), q, far)
    return (twin.tree.difference(q, far), twin.tree.distance(q, far)), (theirs, np.linalg.norm(theirs, axis=-1))


@asked("interpolate")
def _interpolate(twin: Peer, q: Array, v: Array, x: Array) -> Answer:
    far = _near(twin, q, v)
    ours = twin.tree.to_pinocchio(twin.tree.interpolate(q, far, 0.3 if q.ndim == 1 else np.full(len(q), 0.3)))
    theirs = each(twin, lambda p, w: pin.interpolate(twin.model, p, twin.configuration(w), 0.3), q, far)
    return _one_sign(twin, ours), _one_sign(twin, theirs)


@asked("rate")
def _rates(twin: Peer, q: Array, v: Array, x: Array) -> Answer:
    """q̇ by the slope of Pinocchio's integrate: four central differences, extrapolated to 1e-12."""
    def slope(p: Array, w: Array) -> Array:
        step = lambda h: (pin.integrate(twin.model, p, h * w) - pin.integrate(twin.model, p, -h * w)) / (2 * h)
        h = 0.02 / (1 + np.abs(w).max(initial=0.0))
        table = [step(h / 2**k) for k in range(5)]
        for order in range(1, 5):
            table = [(4**order * b - a) / (4**order - 1) for a, b in pairwise(table)]
        return table[0]

    def turned(p: Array, w: Array, rate: Array) -> Array:
        """Ours in its convention: (c, s)˙ = (−s, c) α˙ for continuous joints."""
        parts = []
        for node in twin.tree.nodes:
            own, r = p[node.iq : node.iq + node.kind.nq], rate[node.iq : node.iq + node.kind.nq]
            parts.append([-np.sin(own[0]) * r[0], np.cos(own[0]) * r[0]] if node.kind.name == "continuous" else r)
        return np.concatenate([*parts, []])

    rate = twin.tree.rate(q, v)
    ours = turned(q, v, rate) if q.ndim == 1 else np.array([turned(*one) for one in zip(q, v, rate, strict=True)])
    return ours, each(twin, slope, q, v)


# --- frames ---------------------------------------------------------------------------------------------------------


def _moved(twin: Peer, frame: int, reference: str, classical: bool) -> Callable[..., tuple[Array, ...]]:
    """J v, acceleration and the part of it without v̇, of Pinocchio's frame."""
    m, d, axes = twin.model, twin.data, REFERENCES[reference]
    of = pin.getFrameClassicalAcceleration if classical else pin.getFrameAcceleration

    def theirs(q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        found = []
        for acceleration in (0 * a, a):
            pin.forwardKinematics(m, d, q, v, acceleration)
            pin.updateFramePlacements(m, d)
            found.append(of(m, d, frame, axes).vector)
        J = pin.computeFrameJacobian(m, d, q, frame, axes)
        return _copy(J), pin.getFrameVelocity(m, d, frame, axes).vector, *found

    return theirs


def frame_answers(twin: Peer, name: str, index: int, frame: Any, q: Array, v: Array, x: Array) -> Iterator[tuple[str, Answer]]:
    """Placement, pose, Jacobian, velocity, J̇ v and acceleration of one frame, in each reference."""
    tree = twin.tree

    def place(p: Array) -> tuple[Array, Array]:
        pin.framesForwardKinematics(twin.model, twin.data, p)
        return _copy(twin.data.oMf[index].rotation), _copy(twin.data.oMf[index].translation)

    where = each(twin, place, q)
    yield "placement", (tree.placement(frame, q), where)
    for reference in REFERENCES:
        J, velocity, bias, acceleration = each(twin, _moved(twin, index, reference, reference == "aligned"), q, v, x)
        yield f"jacobian {reference}", (tree.jacobian(frame, q, reference=reference), J)
        yield f"velocity {reference}", (tree.velocity(frame, q, v, reference=reference), velocity)
        yield f"bias_acceleration {reference}", (tree.bias_acceleration(frame, q, v, reference=reference), bias)
        yield f"acceleration {reference}", (tree.acceleration(frame, q, v, x, reference=reference), acceleration)
        if reference == "aligned":
            yield "pose", (tree.pose(frame, q), (*where, J))


def frames_of(twin: Peer, rng: np.random.Generator) -> Iterator[tuple[str, int, Any]]:
    """(name, Pinocchio's index, our frame): a body at random, the last joint, and a point fixed to it, new in that model."""
    bodies = [frame.name for frame in twin.model.frames if frame.type == pin.FrameType.BODY and frame.name in twin.tree.frames]
    if bodies:
        body = bodies[int(rng.integers(len(bodies)))]
        yield body, twin.model.getFrameId(body, pin.FrameType.BODY), body
    if twin.model.njoints > 1:
        joint = twin.model.njoints - 1
        theirs = twin.model.names[joint]
        name = theirs if theirs in twin.tree.frames else f"joint {theirs}"  # where a link elsewhere has the same name
        yield name, twin.model.getFrameId(theirs, pin.FrameType.JOINT), twin.tree.frame(name)
        place = pin.SE3(pin.rpy.rpyToMatrix(*RPY), np.array(XYZ))
        index = twin.model.addFrame(pin.Frame("a point of the last body", joint, place, pin.FrameType.OP_FRAME))
        twin.data = twin.model.createData()
        yield "point", index, twin.tree.frame(name).at(XYZ, RPY)


def external_answers(twin: Peer, index: int, frame: Any, q: Array, v: Array, x: Array, *, massless: bool):
    """Dynamics with a wrench at a frame, on the world's axes."""
    m, d = twin.model, twin.data

    def forces(p: Array) -> Any:
        pin.framesForwardKinematics(m, d, p)
        joint = m.frames[index].parentJoint
        at, on = d.oMf[index].translation, d.oMi[joint]
        moment = WRENCH[3:] + np.cross(at - on.translation, WRENCH[:3])
        found = pin.StdVec_Force()
        for k in range(m.njoints):
            own = (on.rotation.T @ WRENCH[:3], on.rotation.T @ moment) if k == joint else (np.zeros(3), np.zeros(3))
            found.append(pin.Force(*own))
        return found

    def loads(p: Array, v: Array, a: Array) -> Array:
        pin.rnea(m, d, p, v, a, forces(p))
        return np.array([d.f[k + 1].vector for k in range(m.njoints - 1)]).reshape(-1, 6)

    external = {frame: WRENCH}
    theirs = each(twin, lambda p, v, a: _copy(pin.rnea(m, d, p, v, a, forces(p))), q, v, x)
    yield "external inverse_dynamics", (twin.tree.inverse_dynamics(q, v, x, external=external), theirs)
    yield "external wrenches", (twin.tree.wrenches(q, v, x, external=external), each(twin, loads, q, v, x))
    if not massless:
        theirs = each(twin, lambda p, v, tau: _copy(pin.aba(m, d, p, v, tau, forces(p))), q, v, x)
        yield "external forward_dynamics", (twin.tree.forward_dynamics(q, v, x, external=external), theirs)


# --- parameters at run time, limits ---------------------------------------------------------------------------------


def parametrized_answers(twin: Peer, q: Array, v: Array, x: Array, *, massless: bool) -> Iterator[tuple[str, Answer]]:
    """All masses, centres and inertias at run time with other values, against Pinocchio's model with those."""
    given = kept_in(twin.tree, "parametrized").setdefault(0, twin.tree.parametrized())
    rng = np.random.default_rng(11)
    masses = [k for k, name in enumerate(given.names) if name.endswith(".mass")]
    values = given.values.copy()
    values[masses] *= rng.uniform(0.8, 1.2, len(masses))
    model = twin.model.copy()
    for k, node in enumerate(twin.tree.nodes):
        model.inertias[k + 1].mass = float(values[given.names.index(f"{node.name}.mass")])  # the constructor judges the rest
    other = Peer(twin.tree, model)
    m, d = other.model, other.data
    theirs = each(other, lambda *s: _copy(pin.rnea(m, d, *s)), q, v, x)
    yield "parametrized inverse_dynamics", (given.inverse_dynamics(q, v, x, values), theirs)
    yield "parametrized mass_matrix", (given.mass_matrix(q, values), each(other, lambda p: symmetric(pin.crba(m, d, p)), q))
    if twin.tree.mass:
        theirs = each(other, lambda p: _copy(pin.centerOfMass(m, d, p)), q)
        yield "parametrized centre_of_mass", (given.centre_of_mass(q, values), theirs)
    if not massless:
        theirs = each(other, lambda *s: _copy(pin.aba(m, d, *s)), q, v, x)
        yield "parametrized forward_dynamics", (given.forward_dynamics(q, v, x, values), theirs)


def limit_answers(twin: Peer) -> Iterator[tuple[str, Answer]]:
    """Limits of the file: positions, efforts and velocities of hinges and slides, as Pinocchio reads them."""
    ours, theirs = [], []
    for k, node in enumerate(twin.tree.nodes):
        limit = twin.tree.limits.get(node.name)
        if limit is None or node.kind.name not in ("revolute", "prismatic"):
            continue
        iq, iv = twin.model.idx_qs[k + 1], twin.model.idx_vs[k + 1]
        m, own = twin.model, [limit.lower, limit.upper]
        if np.isinf(own).all() and m.lowerPositionLimit[iq] == m.upperPositionLimit[iq]:
            own = [m.lowerPositionLimit[iq]] * 2  # neither is stated: none here, 0 = 0 in Pinocchio
        ours.append([*own, limit.effort, limit.velocity])
        theirs.append([m.lowerPositionLimit[iq], m.upperPositionLimit[iq], m.effortLimit[iv], m.velocityLimit[iv]])
    yield "limits", (np.array(ours, float), np.array(theirs, float))


# --- all of them ----------------------------------------------------------------------------------------------------


def answers(
    twin: Peer, frames: list[tuple[str, int, Any]], q: Array, v: Array, x: Array, *, massless: bool
) -> Iterator[tuple[str, Answer]]:
    """(question, (ours, theirs)) at one state or a batch; frames: of `frames_of`."""
    for name, ask in ASKED.items():
        if (massless and name in NEEDS_MASSES) or (not twin.tree.mass and name in NEEDS_A_MASS):
            continue
        yield name, ask(twin, q, v, x)
    for n, (name, index, frame) in enumerate(frames):
        for question, answer in frame_answers(twin, name, index, frame, q, v, x):
            yield f"{question} of {name}", answer
        if n:
            yield from external_answers(twin, index, frame, q, v, x, massless=massless)
    if twin.tree.nodes:
        yield from parametrized_answers(twin, q, v, x, massless=massless)
    if q.ndim == 1:
        yield from limit_answers(twin)


def worst(answer: Answer) -> float:
    """The largest relative error of an answer, part by part."""
    ours, theirs = answer
    if not isinstance(theirs, tuple):
        ours, theirs = (ours,), (theirs,)
    shapes = [(np.shape(a), np.shape(b)) for a, b in zip(ours, theirs, strict=True)]
    if any(a != b for a, b in shapes):
        return np.inf
    return max(error(np.asarray(a), np.asarray(b)) for a, b in zip(ours, theirs, strict=True))
