"""`Tree`: rigid bodies joined into a tree, asked for motions and forces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.backends import Call, c_function, choose_backend, compile_c, vm_function
from appell.errors import ModelError
from appell.graph.fn import Fn
from appell.tree import functions
from appell.tree.algorithms import pivots_at
from appell.tree.description import WORLD, Frame, Joint, Skeleton, skeleton
from appell.tree.equations import GolubevEquations, bodies_of, equations
from appell.tree.frame_symbols import FrameSymbols
from appell.tree.frames import Layout, Node, lay_out
from appell.tree.inertia import Inertia, real_vector
from appell.tree.system import TreeSystem, joint_symbols
from appell.tree.urdf import read_urdf

Array = NDArray[np.float64]
GRAVITY = (0.0, 0.0, -9.81)
LARGE = 60_000  # operations beyond which "auto" does not wait for a C compiler


class Tree:
    """M(q) v̇ + h(q, v) = τ for rigid bodies joined into a tree.

    Conventions are Pinocchio's: a floating joint has q = [x y z qx qy qz qw] and v = [linear, angular] on the axes of
    its body; spherical joints have (qx, qy, qz, qw) and body rates. Hinges have one angle, continuous ones too
    (Pinocchio stores the cosine and sine of those); planar joints (x, y, angle) with body velocities.

    Every method takes one state, q (nq,), v, tau, a (nv,), or a batch with the batch first, and compiles itself on
    first use. SI units, radians.

    Parameters
    ----------
    joints: in an order in which predecessors come first; see `Joint`. Fixed joints weld.
    gravity: acceleration (3,), m/s².
    backend: "auto", "c" or "vm".
    """

    def __init__(
        self,
        joints: Sequence[Joint],
        *,
        gravity: Sequence[float] = GRAVITY,
        name: str = "tree",
        notes: Sequence[str] = (),
        backend: str = "auto",
    ):
        self.name, self.joints, self.notes = name, tuple(joints), tuple(notes)
        x, y, z = (float(g) for g in real_vector(gravity, "gravity"))
        self.gravity = (x, y, z)
        self._skeleton: Skeleton = skeleton(self.joints)
        self._backend = backend
        self._calls: dict[object, Call] = {}
        self._fns: dict[object, Fn] = {}

    @classmethod
    def from_urdf(
        cls,
        path: str | Path,
        floating: bool = False,
        *,
        damping: bool = False,
        quarter_turns: float = 0.0,
        gravity: Sequence[float] = GRAVITY,
        backend: str = "auto",
    ) -> Tree:
        """The robot in a URDF file, its root link welded to the ground or floating; `notes` tells what is not used.

        The joint damping that the file states is applied with damping=True (Pinocchio does not apply it). Angles within
        `quarter_turns` (rad) of a multiple of π/2 are taken for it: files write 1.5708, and exact quarter turns cost
        no arithmetic; with the default 0 the file is taken by its digits.
        """
        urdf = read_urdf(path, floating=floating, damping=damping, quarter_turns=quarter_turns)
        return cls(urdf.joints, gravity=gravity, name=urdf.name, notes=urdf.notes, backend=backend)

    def __repr__(self) -> str:
        return f"Tree({self.name!r}: {len(self.nodes)} joints, nq = {self.nq}, nv = {self.nv})"

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The joints that move, in the order of q and v."""
        return self._skeleton.nodes

    @property
    def frames(self) -> dict[str, Frame]:
        """Frames by name: every joint and every link."""
        return dict(self._skeleton.frames)

    @property
    def nq(self) -> int:
        return self._skeleton.nq

    @property
    def nv(self) -> int:
        return self._skeleton.nv

    @cached_property
    def mass(self) -> float:
        """Of all that moves, kg."""
        return float(sum(node.inertia.m for node in self.nodes))

    @cached_property
    def neutral(self) -> Array:
        """q at which every joint's two frames agree, (nq,)."""
        return np.array([x for node in self.nodes for x in node.kind.neutral])

    @cached_property
    def layout(self) -> Layout:
        """The bodies in the frames chosen for them."""
        return lay_out(self.nodes)

    # --- graphs and compiled functions ---------------------------------------------------------------------------

    def function(self, question: str) -> Fn:
        """The graph behind a method: "forward_dynamics", "inverse_dynamics", "mass_matrix", "bias", …"""
        if question not in functions.QUESTIONS:
            raise ModelError(f"a tree has no function {question!r}; it has {', '.join(functions.QUESTIONS)}")
        if question not in self._fns:
            if question.startswith("forward"):
                self.refuse_massless()
            self._fns[question] = functions.function(self._subject, question)
        return self._fns[question]

    @cached_property
    def _subject(self) -> functions.Subject:
        return functions.Subject(self.layout, self.gravity, self.nq, self.nv, self.mass)

    def refuse_massless(self) -> None:
        """A joint whose articulated inertia vanishes has no determined acceleration."""
        for n, values in enumerate(pivots_at(self.layout)):
            if min(values, default=1.0) <= 1e-14 * (1e-3 + max(values, default=0.0)):
                raise ModelError(
                    f"joint '{self.nodes[n].name}' moves nothing: the bodies behind it have no inertia along it, so its "
                    "acceleration is not determined. Give them <inertial>, or an armature to the joint"
                )

    def _call(self, key: object, fn: Fn) -> Call:
        if key not in self._calls:
            backend = choose_backend(self._backend)
            if self._backend == "auto" and fn.operations > LARGE:
                backend = "vm"
            self._calls[key] = c_function(compile_c([fn]), fn) if backend == "c" else vm_function(fn)
        return self._calls[key]

    def _answer(self, question: str, *arrays: ArrayLike) -> tuple[Array, ...]:
        call = self._calls.get(question) or self._call(question, self.function(question))
        try:
            return call.single(*arrays)  # looking at the shapes first would take half of the time of a call
        except ModelError:
            if any(np.ndim(array) > 1 for array in arrays):
                return call.batch(*arrays)
            raise

    # --- dynamics ------------------------------------------------------------------------------------------------

    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
        """v̇ of M v̇ + h = τ, (nv,), by articulated bodies in O(n)."""
        return self._answer("forward_dynamics", q, v, tau)[0]

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """τ = M a + h, (nv,)."""
        return self._answer("inverse_dynamics", q, v, a)[0]

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q), (nv, nv), rotors included."""
        return self._answer("mass_matrix", q)[0]

    def bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """h(q, v), (nv,): inertia, gravity and, where given, damping."""
        return self._answer("bias", q, v)[0]

    def energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """T + V, J; V is zero where the centre of mass is at the height of the world's origin."""
        T, V = self._answer("energy", q, v)
        return T + V

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """T = ½ vᵀ M v, J."""
        return self._answer("energy", q, v)[0]

    def centre_of_mass(self, q: ArrayLike) -> Array:
        """Of all that moves, (3,), m, on the world's axes."""
        return self._answer("centre_of_mass", q)[0]

    def momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """[linear | angular about the centre of mass], (6,), on the world's axes."""
        return self._answer("momentum", q, v)[0]

    def rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """q̇ = N(q) v, (nq,)."""
        return self._answer("rate", q, v)[0]

    def forward_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> tuple[Array, ...]:
        """(∂a/∂q N, ∂a/∂v, ∂a/∂τ), each (nv, nv)."""
        return self._answer("forward_dynamics_derivatives", q, v, tau)

    def inverse_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> tuple[Array, ...]:
        """(∂τ/∂q N, ∂τ/∂v, M), each (nv, nv)."""
        return self._answer("inverse_dynamics_derivatives", q, v, a)

    # --- frames --------------------------------------------------------------------------------------------------

    def placement(self, frame: str, q: ArrayLike) -> tuple[Array, Array]:
        """(R, p) of a frame in the world: R (3, 3), p (3,) in m."""
        R, p = self._frame_answer(frame, "placement", "", q)
        return R, p

    def jacobian(self, frame: str, q: ArrayLike, *, reference: str = "aligned") -> Array:
        """(6, nv): [linear | angular] velocity of a frame by v.

        reference="local" on the frame's axes, "aligned" at its origin on the world's axes, "world" at the world's
        origin (Pinocchio's LOCAL, LOCAL_WORLD_ALIGNED, WORLD).
        """
        if reference not in ("local", "aligned", "world"):
            raise ModelError(f"reference={reference!r}; choose 'local', 'aligned' or 'world'")
        return self._frame_answer(frame, "jacobian", reference, q)[0]

    def frame_function(self, frame: str, question: str, reference: str = "aligned") -> Fn:
        """The graph of "placement" or "jacobian" of one frame."""
        at = self._known_frame(frame)
        key = (frame, question, reference)
        if key not in self._fns:
            self._fns[key] = functions.frame_function(self._subject, at, question, reference)
        return self._fns[key]

    def _frame_answer(self, frame: str, question: str, reference: str, q: ArrayLike) -> tuple[Array, ...]:
        key = (frame, question, reference)
        call = self._calls.get(key) or self._call(key, self.frame_function(frame, question, reference))
        return call.batch(q) if np.ndim(q) > 1 else call(q)

    # --- constraints ---------------------------------------------------------------------------------------------

    def system(
        self,
        constraints: Iterable[Any] = (),
        forces: Mapping[Any, Any] | None = None,
        potential: Any = 0,
        loads: Iterable[Any] = (),
        *,
        name: str | None = None,
    ) -> TreeSystem:
        """This tree with constraints, forces, springs and loads, to be simulated like any `System`; see `TreeSystem`."""
        return TreeSystem(self, constraints, forces, potential, loads, name=name)

    def joint(self, name: str) -> Any:
        """The coordinate of a joint, for `system(…)`; x.d is its velocity. Several coordinates come as a tuple."""
        coordinates = joint_symbols(self, name)[0]
        return coordinates[0] if len(coordinates) == 1 else coordinates

    def speeds(self, name: str) -> tuple[Any, ...]:
        """The velocities of a joint in symbols, in the order of v."""
        return joint_symbols(self, name)[1]

    def frame(self, name: str) -> FrameSymbols:
        """A frame in symbols for residuals and forces: position, rotation, velocity, angular_velocity; "world" stands."""
        if name == WORLD and name not in self._skeleton.frames:
            return FrameSymbols.ground(name, np.eye(3), np.zeros(3))
        frame = self._known_frame(name)
        if frame.node < 0:
            return FrameSymbols.ground(name, frame.placement.R, frame.placement.p)
        return FrameSymbols.of(name)

    def _known_frame(self, name: str) -> Frame:
        known = self._skeleton.frames
        if name not in known:
            raise ModelError(
                f"there is no frame '{name}'; frames are the joints and links: {', '.join(list(known)[:12])} …"
            )
        return known[name]

    @property
    def ground(self) -> Inertia:
        """The bodies welded to the ground: in no energy, momentum or mass here."""
        return self._skeleton.ground

    def equations(self) -> GolubevEquations:
        """Golubev's equations (3.10), (3.12), (3.14) or (4.3), with (5.1)–(5.5) where they apply; hinges only."""
        return equations(bodies_of(self.nodes), self.gravity)
