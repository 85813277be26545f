"""`tree.view()`: a robot in the browser; sliders move its joints, a motion plays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.report.server import serve, slider
from appell.scene import Scene
from appell.scene.film import Film, film
from appell.scene.runs import runs, together
from appell.show.packing import Packer, json_text
from appell.show.web import describe, describe_poses
from appell.tree import Tree


def view(tree: Tree, motion: Any = None, *, scene: Any = None, port: int = 0, open: bool = True) -> None:
    """See `Tree.view`."""
    if not isinstance(tree, Tree):
        raise ModelError(f"view shows a Tree, not {type(tree).__name__}")
    chosen = scene if scene is not None else Scene(tree)
    motions = () if motion is None else runs(motion)
    if motions:
        film(chosen, motions[0], frames=2)  # a motion of another robot raises here, not in the page
    serve(lambda ui: _Page(ui, tree, chosen, motions).build(), port=port, open=open, title=f"appell: {tree.name}")


@dataclass(frozen=True)
class PoseMotion:
    """A configuration as a motion with one instant, for a film."""

    name: str
    coordinates: tuple[Any, ...]
    q: Any
    t = np.zeros(1)
    parameters: Mapping[str, float] = None  # type: ignore[assignment]

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        return tuple(map(str, self.coordinates))

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: Any) -> Any:
        return np.array([self.q[self.coordinate_names.index(str(key))]])


def _pose(scene: Scene, q: Any) -> Film:
    return film(scene, PoseMotion(scene.system.name, scene.system.coordinates, np.asarray(q, dtype=float), {}))


def robot_text(scene: Scene, q: Any) -> str:
    """The robot in one configuration, framed for all others, for `appell.show`."""
    pose = _pose(scene, q)
    reach = 0.6 * float(np.abs([pose.low, pose.high]).max())
    return _text(replace(pose, low=np.minimum(pose.low, -reach), high=np.maximum(pose.high, reach)))


def pose_text(scene: Scene, q: Any) -> str:
    """The poses of the robot's parts, without their shapes, for `appell.pose`."""
    packer = Packer()
    return json_text({"description": {"shapes": describe_poses(_pose(scene, q), packer)}, "numbers": packer.numbers()})


def _text(animation: Film) -> str:
    packer = Packer()
    return json_text({"description": {"film": describe(animation, packer), "panels": []}, "numbers": packer.numbers()})


@dataclass
class _Page:
    """One visitor's page: the pose of the sliders, or a film of motions."""

    ui: Any
    tree: Tree
    scene: Scene
    motions: Sequence[Any]
    run: int = 0
    playing: bool = False

    def build(self) -> None:
        """Picture and buttons beside the sliders of the joints."""
        ui, self.q = self.ui, np.array(self.tree.neutral, dtype=float)
        with ui.element("main"):
            ui.html(f"<h1>{escape(self.tree.name)}</h1>", sanitize=False)
            with ui.element("div").classes("looking"):
                with ui.element("div").classes("moving"):
                    ui.html('<div id="film"></div>', sanitize=False)
                    self._buttons()
                with ui.element("div"):
                    for node in self.tree.nodes:
                        for k in range(node.kind.nq if node.kind.nq == 1 else 0):
                            reach = 1.0 if node.kind.name == "prismatic" else math.pi
                            slider(ui, node.name, -reach, reach, 0.0, lambda x, i=node.iq + k: self._moved(i, x))
        ui.timer(0.2, self._pose, once=True)

    def _buttons(self) -> None:
        """Buttons for a motion; for several also a selection of one, and a button to show all together."""
        ui, several = self.ui, len(self.motions) > 1
        if not self.motions:
            return
        with ui.row().classes("controls"):
            ui.button("Play the motion", on_click=lambda: self._play(lambda: film(self.scene, self.motions[self.run])))
            if several:
                ui.button("Play all together", on_click=lambda: self._play(lambda: together(self.scene, self.motions)))
        if several:
            slider(ui, "run", 0, len(self.motions) - 1, 0, lambda x: setattr(self, "run", round(x)), whole=True)
        self.status_label = ui.label("").classes("missing").props('role="status"')

    def _moved(self, index: int, value: float) -> None:
        self.q[index] = value
        if self.playing:
            self._pose()
        else:
            self.ui.run_javascript(f"appell.pose({pose_text(self.scene, self.q)})")

    def _pose(self) -> None:
        self.playing = False
        self.ui.run_javascript(f"appell.show({robot_text(self.scene, self.q)})")

    def _play(self, make: Callable[[], Film]) -> None:
        try:
            animation = make()
        except ModelError as error:
            self.status_label.set_text(str(error))
            return
        self.playing = True
        self.status_label.set_text("; ".join(animation.notes))
        self.ui.run_javascript(f"appell.show({_text(animation)}).then(() => appell.player.play())")


__all__ = ["pose_text", "robot_text", "view"]
