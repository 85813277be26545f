"""Trees from robot descriptions: URDF, MJCF, SDF, and whatever a reader is registered for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from appell.spelling import checked_keywords
from appell.tree.readers.robot_readers import read_robot

GRAVITY = (0.0, 0.0, -9.81)


class RobotFiles:
    """The ways in which a `Tree` is read from a description."""

    @classmethod
    @checked_keywords()
    def from_urdf(
        cls,
        path: Any,
        floating: bool = False,
        *,
        limits: bool = True,
        damping: bool | None = None,
        friction: bool = True,
        mimic: bool = True,
        quarter_turns: float = 0.0,
        gravity: Sequence[float] = GRAVITY,
        backend: str = "auto",
    ) -> Any:
        """The robot in a URDF file, its root link welded to the ground or floating.

        Stops, damping, friction and mimics in the file act in motions (`simulate(tree, …)`, `tree.system(…)`); `notes` lists
        them, and what is not used. Functions such as `forward_dynamics` and `bias` are those of the bodies alone, as
        Pinocchio's are.

        Parameters
        ----------
        path: of the file; or an open file, or its text.
        floating: whether the root link is free.
        limits: `<limit lower upper>` become stops without rebound, `tree.stops()`; a start outside them raises. Your own stop
        in `tree.system(…)` with the name of the joint replaces it. False leaves them out.
        damping: `<dynamics damping>`, N m s/rad: True puts it into `forward_dynamics`, `bias` … too, False leaves it out.
        friction: `<dynamics friction>`, the bound of dry friction, N m.
        mimic: `<mimic>` joints follow their leaders by exact constraints; a start has to satisfy them (`ap.consistent`). Stops
        and friction of a follower act on its leader.
        quarter_turns: angles within this many rad of a multiple of π/2 are rounded to it: files write 1.5708, and exact quarter
        turns cost no arithmetic; with 0 the digits of the file are used.
        """
        options = {"floating": floating, "limits": limits, "damping": damping, "friction": friction, "mimic": mimic}
        return cls._read(path, "urdf", "from_urdf", gravity, backend, quarter_turns=quarter_turns, **options)

    @classmethod
    @checked_keywords()
    def from_mjcf(
        cls,
        path: Any,
        *,
        limits: bool = True,
        damping: bool = True,
        friction: bool = True,
        equality: bool = True,
        actuators: bool = True,
        gravity: Sequence[float] | None = None,
        backend: str = "auto",
    ) -> Any:
        """The robot in an MJCF file, compiled by MuJoCo (the extra [mujoco]); q is MuJoCo's, except for the conventions in
        `to_mujoco`.

        Joints are MuJoCo's in its order; bodies and sites are frames. Armature is in M; springs, damping, dry friction, limits,
        equalities, fixed tendons and actuators act in motions; the functions of the tree are those of the bodies alone.
        Unsupported elements raise with their name: spatial tendons that act, flex, plugins, fluids, muscles. Contacts are
        skipped, with a note.

        Parameters
        ----------
        path: of the file; or an open file, its text, or an `MjModel`.
        limits: of joints and fixed tendons, as stops without rebound. damping: of joints and tendons. friction: frictionloss.
        equality: joint, connect, weld and tendon as exact rows.
        actuators: as parameters u_NAME, `tree.actuators`, set by `parameters=` or a control.
        gravity: m/s²; by default that of the file.
        """
        options = {"limits": limits, "damping": damping, "friction": friction, "equality": equality, "actuators": actuators}
        return cls._read(path, "mjcf", "from_mjcf", gravity, backend, **options)

    @classmethod
    @checked_keywords()
    def from_sdf(
        cls,
        path: Any,
        *,
        model: str | None = None,
        limits: bool = True,
        damping: bool = True,
        friction: bool = True,
        mimic: bool = True,
        gravity: Sequence[float] | None = None,
        backend: str = "auto",
    ) -> Any:
        """The robot that a <model> of an SDF file describes; at q = 0 it is where the file puts it.

        Links without an inbound joint are free; a joint with the parent "world", or <static>, fixes them. Joints that close a
        loop become exact rows. Links, joints and <frame>s are frames. Nested and included models, screws and gearboxes raise.

        Parameters
        ----------
        path: of the file; or an open file, or its text.
        model: its name, where there are several.
        limits, damping, friction, mimic: of joints, act in motions as in `from_urdf`; so do springs.
        gravity: m/s²; by default that of the <world>, or (0, 0, −9.81).
        """
        options = {"model": model, "limits": limits, "damping": damping, "friction": friction, "mimic": mimic}
        return cls._read(path, "sdf", "from_sdf", gravity, backend, **options)

    @classmethod
    @checked_keywords()
    def from_file(
        cls,
        path: Any,
        *,
        kind: str | None = None,
        gravity: Sequence[float] | None = None,
        backend: str = "auto",
        **options: Any,
    ) -> Any:
        """The robot in a file of any kind that a reader is registered for (`ap.tree.RobotReader`).

        Parameters
        ----------
        path: of the file; or an open file, or its text.
        kind: of the description, "urdf" or a registered one; by default chosen by its first element or its file extension.
        gravity: acceleration (3,), m/s²; by default the one that the file states, or (0, 0, −9.81).
        options: those of the reader, such as floating=True for URDF.
        """
        return cls._read(path, kind, "from_file", gravity, backend, **options)

    @classmethod
    def _read(
        cls, source: Any, kind: str | None, caller: str, gravity: Sequence[float] | None, backend: str, **options: Any
    ) -> Any:
        """The tree from a robot reader."""
        robot, document = read_robot(source, kind, caller, **options)
        chosen = (robot.gravity or GRAVITY) if gravity is None else gravity
        properties = {"name": robot.name, "notes": robot.notes, "fittings": robot.fittings}
        make: Any = cls
        tree = make(robot.joints, gravity=chosen, backend=backend, **properties)
        tree.source, tree.shapes = document.path, tuple(robot.shapes)
        return tree


__all__ = ["GRAVITY", "RobotFiles"]
