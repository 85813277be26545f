"""`Tree`: rigid bodies joined into a tree, asked for motions and forces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.backends import Call, choose_backend, known
from appell.backends.cuda.device import lies_there, on_device
from appell.errors import ModelError
from appell.graph.fn import Fn
from appell.model.described import Described
from appell.model.unilateral import Between, Unilateral
from appell.model.values import bound
from appell.tree import functions
from appell.tree.actuators import inputs, stops
from appell.tree.algorithms import immovable
from appell.tree.answers import LARGE, answer, answered, ready
from appell.tree.branches import Branches
from appell.tree.configuration import ConfigurationSpace
from appell.tree.description import WORLD, Frame, Joint, Limits, Skeleton, skeleton
from appell.tree.equations import GolubevEquations, bodies_of, equations
from appell.tree.frame_symbols import FrameSymbols
from appell.tree.frames import Layout, Node, lay_out
from appell.tree.inertia import Inertia, entries
from appell.tree.limbs import limbs_of
from appell.tree.names import JointSymbols, symbols_of
from appell.tree.parameters import symbols_in, with_numbers
from appell.tree.recipes import recipe_key
from appell.tree.shown import table
from appell.tree.system import TreeSystem, joint_symbols
from appell.tree.urdf import read_urdf

Array = NDArray[np.float64]
GRAVITY = (0.0, 0.0, -9.81)


class Tree(ConfigurationSpace, Described):
    """M(q) v̇ + h(q, v) = τ for rigid bodies joined into a tree.

    Conventions are Pinocchio's: a floating joint has q = [x y z qx qy qz qw] and v = [linear, angular] on the axes of
    its body; spherical joints have (qx, qy, qz, qw) and body rates. Hinges have one angle, continuous ones too
    (Pinocchio stores the cosine and sine of those); planar joints (x, y, angle) with body velocities, x and y being y and z
    where the normal is x, and z and x where it is y (Pinocchio's planar joints have the normal z, whatever the axis).

    Every method takes one state, q (nq,), v, tau, a (nv,), or a batch with the batch first, and compiles itself on
    first use. SI units, radians. Batches of `forward_dynamics`, `inverse_dynamics`, `mass_matrix` and `bias` go to fresh
    arrays, or to the array `out`: (batch, nv) or (batch, nv, nv), float64, contiguous, such as an earlier answer.

    Parameters
    ----------
    joints: in an order in which predecessors come first; see `Joint`. Fixed joints weld.
    gravity: acceleration (3,), m/s².
    backend: "auto", "c", "vm" or another one of `ap.backends.BACKENDS`.
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
        if isinstance(joints, Joint) or not isinstance(joints, Iterable):
            raise ModelError(f"a tree is made of a list of ap.tree.Joint, not of {joints!r}")
        self.name, self.joints, self.notes = name, tuple(joints), tuple(notes)
        x, y, z = entries(gravity, "gravity").tolist()
        self.gravity = (x, y, z)
        self.source: Path | None = None  # the robot file, for its geometry
        self._skeleton: Skeleton = skeleton(self.joints)
        self._backend = known(backend)
        self._calls: dict[object, Call] = {}
        self._entries: dict[object, Callable[..., Any]] = {}
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

        The joint damping that the file states is applied with damping=True (Pinocchio does not apply it); limits are not:
        `tree.stops()` makes constraints of them. Angles within
        `quarter_turns` (rad) of a multiple of π/2 are taken for it: files write 1.5708, and exact quarter turns cost
        no arithmetic; with the default 0 the file is taken by its digits.
        """
        urdf = read_urdf(path, floating=floating, damping=damping, quarter_turns=quarter_turns)
        tree = cls(urdf.joints, gravity=gravity, name=urdf.name, notes=urdf.notes, backend=backend)
        tree.source = Path(path).resolve()
        return tree

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("gravity", "joints", "links", "base") and name in vars(self):
            raise ModelError(f"{self.name} does not change: make another {type(self).__name__} with {name}={value!r}")
        super().__setattr__(name, value)

    def __reduce__(self):
        return _rebuilt, (self.joints, self.gravity, self.name, self.notes, self._backend), {"source": self.source}

    def __repr__(self) -> str:
        return f"Tree({self.name!r}: {len(self.nodes)} joints, nq = {self.nq}, nv = {self.nv})"

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The joints that move, in the order of q and v: `name`, `kind`, and `iq`, `iv` where their entries begin."""
        return self._skeleton.nodes

    @property
    def frames(self) -> dict[str, Frame]:
        """Frames by name: every joint and every link; "joint NAME", "link NAME" where two places share the name."""
        return dict(self._skeleton.frames)

    @cached_property
    def _symbols(self) -> tuple[JointSymbols, ...]:
        """Coordinates and velocities of every node, for `system(…)`."""
        return symbols_of(self.nodes)

    @cached_property
    def mass(self) -> float:
        """Of all that moves, kg."""
        self._refuse_symbols("its mass needs")
        return float(sum(node.inertia.m for node in self.nodes))

    @cached_property
    def layout(self) -> Layout:
        """The bodies in the frames chosen for them."""
        self._refuse_symbols("its motions and forces need")
        return lay_out(self.nodes)

    # --- parameters ----------------------------------------------------------------------------------------------

    @cached_property
    def parameters(self) -> tuple[Any, ...]:
        """The symbols in masses, inertias, lengths, axes, gravity …, by name. A tree with some can be read, not run,
        but for the `System` in symbols that `system(…)` then gives."""
        return tuple(sorted(symbols_in([*self.joints, self.gravity]), key=str))

    def with_parameters(self, values: Mapping[Any, Any]) -> Tree:
        """The same tree with numbers for all its `parameters`, by symbol or name."""
        table = self._bound(values)
        joints, gravity = [with_numbers(joint, table) for joint in self.joints], with_numbers(self.gravity, table)
        return Tree(joints, gravity=gravity, name=self.name, notes=self.notes, backend=self._backend)

    def _bound(self, values: Mapping[Any, Any]) -> dict[Any, float]:
        if not isinstance(values, Mapping):
            raise ModelError(f"with_parameters takes {{symbol: number, …}}, not {values!r}")
        return bound(self.parameters, values, self.name, hint="with_parameters({symbol: number, …})")

    def _refuse_symbols(self, wanted: str) -> None:
        if self.parameters:
            names = ", ".join(map(str, self.parameters))
            raise ModelError(
                f"{self.name} has symbols for {names}; {wanted} numbers: "
                f"{type(self).__name__.lower()}.with_parameters({{{self.parameters[0]}: …}}) has them"
            )

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
        stuck = immovable(self.layout)
        if stuck is not None:
            raise ModelError(f"joint '{stuck[0].name}' {stuck[1]}")

    def _call(self, question: str) -> Call:
        """The function that answers one of `functions.QUESTIONS`."""
        if question not in self._calls:
            key = lambda: recipe_key(self.nodes, self.gravity, question)
            self._calls[question] = ready(self._backend, key, lambda: self.function(question), question, self.name)
        return self._calls[question]

    def _answer(self, question: str, *arrays: ArrayLike, out: Array | None = None) -> tuple[Array, ...]:
        if any(map(lies_there, arrays)):
            fn = self.function(question)
            return on_device(fn, arrays, out=out, limbs=partial(limbs_of, self.layout, fn))
        return answer(self._call(question), *arrays, out=out)

    def entry(self, question: str, otherwise: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        """The way into the function that answers a question, for one state and for batches; see `answered`."""
        if question == "forward_dynamics_derivatives" and self._branches is not None:
            return otherwise
        return self._call(question).crossing(otherwise, batches=True, **options) or otherwise

    # --- dynamics ------------------------------------------------------------------------------------------------

    @answered("forward_dynamics")
    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, out: Array | None = None) -> Array:
        """v̇ of M v̇ + h = τ, (nv,), by articulated bodies in O(n)."""
        return self._answer("forward_dynamics", q, v, tau, out=out)[0]

    @answered("inverse_dynamics")
    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Array | None = None) -> Array:
        """τ = M a + h, (nv,)."""
        return self._answer("inverse_dynamics", q, v, a, out=out)[0]

    @answered("mass_matrix")
    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """M(q), (nv, nv), rotors included."""
        return self._answer("mass_matrix", q, out=out)[0]

    @answered("mass_triangle")
    def mass_triangle(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """The lower triangle of M(q) row by row, (nv (nv + 1)/2,): half of the memory in large batches."""
        return self._answer("mass_triangle", q, out=out)[0]

    @answered("bias")
    def bias(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """h(q, v), (nv,): inertia, gravity and, where given, damping."""
        return self._answer("bias", q, v, out=out)[0]

    def energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """T + V, J; V is zero where the centre of mass is at the height of the world's origin."""
        T, V = self._answer("energy", q, v)
        return T + V

    @answered("energy")
    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """T = ½ vᵀ M v, J."""
        return self._answer("energy", q, v)[0]

    @answered("centre_of_mass")
    def centre_of_mass(self, q: ArrayLike) -> Array:
        """Of all that moves, (3,), m, on the world's axes."""
        return self._answer("centre_of_mass", q)[0]

    @answered("momentum")
    def momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """[linear | angular about the centre of mass], (6,), on the world's axes."""
        return self._answer("momentum", q, v)[0]

    @answered("rate")
    def rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """q̇ = N(q) v, (nq,)."""
        return self._answer("rate", q, v)[0]

    @answered("forward_dynamics_derivatives", first=False)
    def forward_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> tuple[Array, ...]:
        """(∂a/∂q N, ∂a/∂v, ∂a/∂τ), each (nv, nv)."""
        if self._branches is None:
            return self._answer("forward_dynamics_derivatives", q, v, tau)
        a = self.forward_dynamics(q, v, tau)
        return self._branches.accelerations(*self.inverse_dynamics_derivatives(q, v, a))

    @cached_property
    def _branches(self) -> Branches | None:
        """What solves for the derivatives of forward dynamics where nobody would wait for the compiler; else the graph does."""
        if self._backend != "auto" or choose_backend("auto").program is None:
            return None
        branches = Branches.of(self.layout)
        return branches if branches.operations > LARGE else None

    @answered("inverse_dynamics_derivatives", first=False)
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
        at = self._skeleton.frame(frame)
        key = (frame, question, reference)
        if key not in self._fns:
            self._fns[key] = functions.frame_function(self._subject, at, question, reference)
        return self._fns[key]

    def _frame_answer(self, frame: str, question: str, reference: str, q: ArrayLike) -> tuple[Array, ...]:
        key = (frame, question, reference)
        entry = self._entries.get(key) if isinstance(frame, str) else None
        if entry is None:
            at = self._skeleton.frame(frame)
            make = lambda: self.frame_function(frame, question, reference)
            digest = lambda: recipe_key(self.nodes, self.gravity, question, reference, frame=at)
            call = ready(self._backend, digest, make, question, self.name)
            entry = self._entries[key] = call.entry(partial(answer, call), batches=True)
        return entry(q)

    # --- constraints ---------------------------------------------------------------------------------------------

    def system(
        self,
        constraints: Iterable[Any] = (),
        forces: Mapping[Any, Any] | None = None,
        potential: Any = 0,
        loads: Iterable[Any] = (),
        *,
        name: str | None = None,
    ) -> TreeSystem | Any:
        """This tree with constraints, forces, springs and loads, to be simulated like any `System`; see `TreeSystem`.

        A tree with symbols for masses and lengths gives an ordinary `System` in them (`TreeSystem.symbolic`).
        """
        said = TreeSystem(self, constraints, forces, potential, loads, name=name)
        return said.symbolic() if self.parameters else said

    def joint(self, name: str) -> Any:
        """The coordinate of a joint, for `system(…)`; x.d is its velocity. Several coordinates come as a tuple."""
        coordinates = joint_symbols(self, name)[0]
        return coordinates[0] if len(coordinates) == 1 else coordinates

    def speeds(self, name: str) -> tuple[Any, ...]:
        """The velocities of a joint in symbols, in the order of v."""
        return joint_symbols(self, name)[1]

    @property
    def limits(self) -> dict[str, Limits]:
        """What the joints are built for, of those that say it: by name, in the order of q; `<limit>` of URDF files."""
        said = {joint.name: joint.limits for joint in self.joints if joint.limits is not None}
        return {node.name: said[node.name] for node in self.nodes if node.name in said}

    def stops(self, *joints: str, restitution: Any = 0) -> list[Between | Unilateral]:
        """The limits of these joints (all that have some, unless named) as constraints for `system(…)`, called as the joints.

        lower <= q <= upper is a `Between`, whose faces are "NAME:lower" and "NAME:upper"; a limit on one side a `Unilateral`.
        """
        return stops(self, joints, restitution)

    def inputs(self, *joints: str) -> dict[Any, Any]:
        """The generalized forces of joints (all but floating ones, unless named) as inputs: velocity → parameter tau_….

        `tree.system(forces=tau)` with tau = `tree.inputs()`; a control answers {tau_…: N or N m}, `dict(zip(tau.values(), …))`.
        """
        return inputs(self, joints)

    def frame(self, name: str) -> FrameSymbols:
        """A frame in symbols for residuals and forces: position, rotation, velocity, angular_velocity; "world" stands."""
        if name == WORLD and name not in self._skeleton.frames:
            return FrameSymbols.ground(name, np.eye(3), np.zeros(3))
        frame = self._skeleton.frame(name)
        if frame.node < 0:
            return FrameSymbols.ground(name, frame.placement.R, frame.placement.p)
        return FrameSymbols.of(name)

    def view(self, motion: Any = None, *, scene: Any = None, port: int = 0, open: bool = True) -> None:
        """The robot in the browser: sliders move its joints, motions play. Needs the extra [show]; runs until interrupted.

        Parameters
        ----------
        motion: a motion of this tree, a list of them, or what `ap.simulate_many(…, keep=times)` or `ap.sweep` returned: one
            run is chosen by a slider, or all are played together.
        scene: what to draw; by default the scene of the tree.
        port, open: as for `ap.studio`.
        """
        from appell.report.view import view  # composes; loaded when a page is served

        view(self, motion, scene=scene, port=port, open=open)

    def _repr_html_(self) -> str:
        return table(self)

    @property
    def ground(self) -> Inertia:
        """The bodies welded to the ground: in no energy, momentum or mass here."""
        return self._skeleton.ground

    def equations(self) -> GolubevEquations:
        """Golubev's equations (3.10), (3.12), (3.14) or (4.3), with (5.1)–(5.5) where they apply; hinges only."""
        return equations(bodies_of(self.nodes), self.gravity, self.name)


def _rebuilt(joints: Any, gravity: Any, name: str, notes: Any, backend: str) -> Tree:
    return Tree(joints, gravity=gravity, name=name, notes=notes, backend=backend)
