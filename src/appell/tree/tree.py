"""`Tree`: rigid bodies joined into a tree, with their motions and forces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import Call, known
from appell.delegates import delegate
from appell.errors import ModelError
from appell.graph.fn import Fn
from appell.model.described import Described
from appell.model.unilateral import Between, Unilateral
from appell.model.values import bound
from appell.reading import items_of, shown
from appell.spelling import checked_keywords
from appell.tree.actuators import actuator_inputs, clipped, inputs, stops
from appell.tree.description import WORLD, Frame, Joint, Limits, Skeleton, skeleton
from appell.tree.dynamics import TreeDynamics
from appell.tree.fittings import Coupling, Fitting, stop_ranges
from appell.tree.frames import Node
from appell.tree.from_files import GRAVITY, RobotFiles
from appell.tree.golubev.numbered_equations import GolubevEquations, bodies_of, equations
from appell.tree.inertia import Inertia, entries
from appell.tree.locked import locked
from appell.tree.parameters import symbols_in, with_numbers
from appell.tree.parametrized import ParametrizedTree, parametrized
from appell.tree.readers.robot import LinkShape
from appell.tree.symbols.frame_symbols import FrameSymbols
from appell.tree.symbols.joint_symbols import JointSymbols, symbols_of
from appell.tree.tree_display import outline, table
from appell.tree.tree_system import TreeSystem, joint_symbols

Array = NDArray[np.float64]


class Tree(TreeDynamics, RobotFiles, Described):
    """M(q) v̇ + h(q, v) = τ for rigid bodies joined into a tree.

    Conventions are Pinocchio's: a floating joint has q = [x y z qx qy qz qw] and v = [linear, angular] on the axes of
    its body; spherical joints have (qx, qy, qz, qw) and body rates. Hinges have one angle, continuous ones too
    (Pinocchio stores the cosine and sine of those); planar joints (x, y, angle) with body velocities, x and y being y and z
    where the normal is x, and z and x where it is y (Pinocchio's planar joints have the normal z, whatever the axis).

    Every method takes one state, q (nq,), v, tau, a (nv,), or a batch with the batch first, and is compiled on first use. SI
    units, radians. Batches of `forward_dynamics`, `inverse_dynamics`, `mass_matrix` and `bias` are returned in new arrays, or
    in the array `out`: (batch, nv) or (batch, nv, nv), float64, contiguous, such as an earlier result.

    Parameters
    ----------
    joints: in an order in which predecessors come first; see `Joint`. Fixed joints weld.
    gravity: acceleration (3,), m/s².
    fittings: what else acts in motions (`appell.tree.fittings`): stops, damping, dry friction, couplings.
    backend: "auto", "c", "vm" or another one of `ap.backends.BACKENDS`.
    """

    @checked_keywords()
    def __init__(
        self,
        joints: Sequence[Joint],
        *,
        gravity: Sequence[float] = GRAVITY,
        name: str = "tree",
        notes: Sequence[str] = (),
        fittings: Sequence[Fitting] = (),
        backend: str = "auto",
    ):
        if isinstance(joints, Joint) or not isinstance(joints, Iterable):
            raise ModelError(f"a tree is made of a list of ap.tree.Joint, not of {shown(joints)}")
        self.name, self.joints = name, tuple(items_of(joints, "the joints of a tree"))
        self.notes = tuple(map(str, items_of(notes, "notes=")))
        self.fittings = _fittings(fittings)
        x, y, z = entries(gravity, "gravity").tolist()
        self.gravity = (x, y, z)
        self.source: Path | None = None  # the robot file, relative to which meshes are found
        self.shapes: tuple[LinkShape, ...] = ()  # shapes of links from a file
        self._skeleton: Skeleton = skeleton(self.joints)
        self._backend = known(backend)
        self._calls: dict[object, Call] = {}
        self._entries: dict[object, Callable[..., Any]] = {}
        self._fns: dict[object, Fn] = {}

    @property
    def actuators(self) -> dict[str, Any]:
        """Actuators of the file, name → input, a parameter of `tree.system()`, in the order of the file.

        The input is called u_NAME; where another actuator or a joint has that symbol, underscores are added.
        """
        return dict(self._actuators)

    @cached_property
    def _actuators(self) -> dict[str, Any]:
        return actuator_inputs(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("gravity", "joints", "links", "base") and name in vars(self):
            raise ModelError(f"{self.name} does not change: make another {type(self).__name__} with {name}={shown(value)}")
        super().__setattr__(name, value)

    def __reduce__(self):
        drawn = {"source": self.source, "shapes": self.shapes, "fittings": self.fittings}
        return _rebuilt, (self.joints, self.gravity, self.name, self.notes, self._backend), drawn

    def with_joints(self, joints: Sequence[Joint]) -> Tree:
        """A tree of other joints with the same gravity, fittings, name and back end."""
        return Tree(joints, gravity=self.gravity, name=self.name, backend=self._backend, fittings=self.fittings)

    def __repr__(self) -> str:
        return f"Tree({self.name!r}: {len(self.nodes)} joints, nq = {self.nq}, nv = {self.nv})"

    def __str__(self) -> str:
        return outline(self)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The joints that move, in the order of q and v: `name`, `kind`, and `iq`, `iv` where their entries begin."""
        return self._skeleton.nodes

    @property
    def frames(self) -> dict[str, Frame]:
        """Frames by name: every joint and every link; "joint NAME", "link NAME" where a name is ambiguous."""
        return dict(self._skeleton.frames)

    @cached_property
    def _symbols(self) -> tuple[JointSymbols, ...]:
        """Coordinates and velocities of every node, for `system(…)`."""
        return symbols_of(self.nodes)

    # --- parameters ----------------------------------------------------------------------------------------------

    @cached_property
    def parameters(self) -> tuple[Any, ...]:
        """The symbols in masses, inertias, lengths, axes, gravity …, by name. A tree with symbols gives equations, but cannot
        run; its `system(…)` is a symbolic `System`, which can."""
        return tuple(sorted(symbols_in([*self.joints, self.gravity]), key=str))

    def with_parameters(self, values: Mapping[Any, Any]) -> Tree:
        """The same tree with numbers for all its `parameters`, by symbol or name."""
        table = self._bound(values)
        joints, gravity = [with_numbers(joint, table) for joint in self.joints], with_numbers(self.gravity, table)
        return self._like(joints, gravity, self.fittings)

    def parametrized(self, *wanted: Any) -> ParametrizedTree:
        """This tree with masses, centres, inertias or lengths as inputs: compiled once, their values given at each call.

        `tree.parametrized("mass")`: of all bodies; `tree.parametrized({"wrist": "mass centre", "elbow": "length"})`: of some;
        without an argument masses, centres and inertias of all. See `ParametrizedTree`.
        """
        self._refuse_symbols("its values at run time need")
        return parametrized(self, wanted)

    def _like(self, joints: Sequence[Joint], gravity: Sequence[Any], fittings: Sequence[Fitting]) -> Tree:
        """A tree with other joints or numbers, otherwise like this one."""
        options = {"name": self.name, "notes": self.notes, "backend": self._backend}
        tree = Tree(joints, gravity=gravity, fittings=fittings, **options)
        tree.source, tree.shapes = self.source, self.shapes
        return tree

    def _bound(self, values: Mapping[Any, Any]) -> dict[Any, float]:
        if not isinstance(values, Mapping):
            raise ModelError(f"with_parameters takes {{symbol: number, …}}, not {shown(values)}")
        return bound(self.parameters, values, self.name, hint="with_parameters({symbol: number, …})")

    def _refuse_symbols(self, need: str) -> None:
        if self.parameters:
            names = ", ".join(map(str, self.parameters))
            raise ModelError(
                f"{self.name} has symbols for {names}; {need} numbers: "
                f"{type(self).__name__.lower()}.with_parameters({{{self.parameters[0]}: …}}) has them"
            )

    # --- constraints ---------------------------------------------------------------------------------------------

    @checked_keywords()
    def system(
        self,
        constraints: Iterable[Any] = (),
        forces: Mapping[Any, Any] | None = None,
        potential: Any = 0,
        loads: Iterable[Any] = (),
        *,
        rates: Mapping[Any, Any] | None = None,
        name: str | None = None,
    ) -> TreeSystem | Any:
        """This tree with constraints, forces, springs and loads, to be simulated like any `System`; see `TreeSystem`.

        A tree with symbols for masses and lengths gives an ordinary `System` in them (`TreeSystem.symbolic`).
        """
        system = TreeSystem(self, constraints, forces, potential, loads, rates=rates, name=name)
        return system.symbolic() if self.parameters else system

    def joint(self, name: str) -> Any:
        """The coordinate of a joint, for `system(…)`; x.d is its velocity. Several coordinates come as a tuple."""
        coordinates = joint_symbols(self, name)[0]
        return coordinates[0] if len(coordinates) == 1 else coordinates

    def speeds(self, name: str) -> tuple[Any, ...]:
        """The velocities of a joint in symbols, in the order of v."""
        return joint_symbols(self, name)[1]

    def lock(self, values: Mapping[str, Any]) -> Tree:
        """The same tree with some joints welded at these values: joint → value, or values where it has several coordinates."""
        joints = locked(self, values)
        positions = {name: float(np.ravel(value)[0]) for name, value in values.items()}
        fittings = [remaining for fitting in self.fittings if (remaining := fitting.locked(positions)) is not None]
        tree = self._like(joints, self.gravity, fittings)
        tree.notes = (
            *tree.notes,
            f"locked: {', '.join(positions)}; the limits, damping and friction of locked joints do not act",
        )
        return tree

    @property
    def limits(self) -> dict[str, Limits]:
        """The design limits of the joints that have some: by name, in the order of q; `<limit>` of URDF files."""
        stated = {joint.name: joint.limits for joint in self.joints if joint.limits is not None}
        return {node.name: stated[node.name] for node in self.nodes if node.name in stated}

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Joint → (lower, upper), rad or m, of the joints with `limits`. Limits of a follower are transferred to its leader;
        equal limits, which exporters write for "no limits", are ignored."""
        return stop_ranges(self)

    @property
    def couplings(self) -> tuple[Coupling, ...]:
        """Joints that follow others, `<mimic>` of files."""
        return tuple(fitting for fitting in self.fittings if isinstance(fitting, Coupling))

    def stops(self, *joints: str, restitution: Any = 0) -> list[Between | Unilateral]:
        """The limits of these joints (by default of all that have some) as constraints for `system(…)`, named after the joints.

        lower <= q <= upper is a `Between`, whose faces are "NAME:lower" and "NAME:upper"; a limit on one side a `Unilateral`.
        A tree read with limits=True already has them; given ones replace them.
        """
        return stops(self, joints, restitution)

    def clipped(self, tau: Any) -> Any:
        """Joint forces clipped to the efforts in `limits`: least_effort <= τ <= effort.

        tau: numbers (nv,) or (batch, nv), N or N m, for use in a control; or velocity → expression, for
        `tree.system(forces=tree.clipped(tree.inputs()))`, where inputs beyond the effort act as the effort.
        """
        return clipped(self, tau)

    def inputs(self, *joints: str) -> dict[Any, Any]:
        """The generalized forces of joints (by default of all except floating ones) as inputs: velocity → parameter tau_….

        `tree.system(forces=tau)` with tau = `tree.inputs()`; a control returns {tau_…: N or N m}, `dict(zip(tau.values(), …))`.
        """
        return inputs(self, joints)

    def frame(self, name: str) -> FrameSymbols:
        """A frame in symbols for residuals and forces: position, rotation, velocity, angular_velocity; "world" is at rest."""
        if isinstance(name, str) and name == WORLD and name not in self._skeleton.frames:
            return FrameSymbols.ground(name, np.eye(3), np.zeros(3))
        frame = self._skeleton.frame(name)
        if frame.node < 0:
            return FrameSymbols.ground(name, frame.placement.R, frame.placement.p)
        return FrameSymbols.of(name)

    def view(self, motion: Any = None, *, scene: Any = None, port: int = 0, open: bool = True) -> None:
        """The robot in the browser: sliders move its joints, motions play. Needs the extra [show]; runs until interrupted.

        Parameters
        ----------
        motion: a motion of this tree, a list of them, or the result of `ap.simulate_many(…, keep=times)` or `ap.sweep`: a
        slider chooses one run, or all are played together.
        scene: what to draw; by default the scene of the tree.
        port, open: as for `ap.studio`.
        """
        delegate("Tree.view")(self, motion, scene=scene, port=port, open=open)

    def _repr_html_(self) -> str:
        return table(self)

    @property
    def ground(self) -> Inertia:
        """The bodies welded to the ground; they are not included in energy, momentum or mass."""
        return self._skeleton.ground

    def equations(self) -> GolubevEquations:
        """Golubev's equations (3.10), (3.12), (3.14) or (4.3), with (5.1)–(5.5) where they apply; hinges only."""
        return equations(bodies_of(self.nodes), self.gravity, self.name)


def _fittings(listed: Any) -> tuple[Fitting, ...]:
    fittings = tuple(items_of(listed, "fittings="))
    for fitting in fittings:
        if not isinstance(fitting, Fitting):
            raise ModelError(f"fittings= takes those of appell.tree.fittings, such as JointStops(), not {shown(fitting)}")
    return fittings


def _rebuilt(joints: Any, gravity: Any, name: str, notes: Any, backend: str) -> Tree:
    return Tree(joints, gravity=gravity, name=name, notes=notes, backend=backend)
