"""`tree.view()`: a robot in the browser; sliders move its joints, a motion plays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.report.server import serve, slider
from appell.scene import Scene
from appell.scene.film import Film, film
from appell.show.packing import Packer, json_text
from appell.show.web import describe, describe_poses
from appell.tree import Tree


def view(tree: Tree, motion: Any = None, *, scene: Any = None, port: int = 0, open: bool = True) -> None:
    """See `Tree.view`."""
    if not isinstance(tree, Tree):
        raise ModelError(f"view shows a Tree, not {type(tree).__name__}")
    chosen = scene if scene is not None else Scene(tree)
    serve(lambda ui: _page(ui, tree, chosen, motion), port=port, open=open, title=f"appell: {tree.name}")


@dataclass(frozen=True)
class Pose:
    """A configuration as a motion of one instant, for a film."""

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
    return film(scene, Pose(scene.system.name, scene.system.coordinates, np.asarray(q, dtype=float), {}))


def robot_text(scene: Scene, q: Any) -> str:
    """The robot in one configuration, with room for all others, for `appell.show`."""
    shown = _pose(scene, q)
    reach = 0.6 * float(np.abs([shown.low, shown.high]).max())
    return _text(replace(shown, low=np.minimum(shown.low, -reach), high=np.maximum(shown.high, reach)))


def pose_text(scene: Scene, q: Any) -> str:
    """Where the parts of the robot are, without what they look like, for `appell.pose`."""
    packer = Packer()
    return json_text({"description": {"shapes": describe_poses(_pose(scene, q), packer)}, "numbers": packer.numbers()})


def _text(shown: Film) -> str:
    packer = Packer()
    return json_text({"description": {"film": describe(shown, packer), "panels": []}, "numbers": packer.numbers()})


def _page(ui: Any, tree: Tree, scene: Scene, motion: Any) -> None:
    q = np.array(tree.neutral, dtype=float)

    def moved(index: int, value: float) -> None:
        q[index] = value
        ui.run_javascript(f"appell.pose({pose_text(scene, q)})")

    with ui.element("main"):
        ui.html(f"<h1>{escape(tree.name)}</h1>", sanitize=False)
        with ui.element("div").classes("looking"):
            with ui.element("div").classes("moving"):
                ui.html('<div id="film"></div>', sanitize=False)
                if motion is not None:
                    play = lambda: ui.run_javascript(f"appell.show({_text(film(scene, motion))})")
                    ui.button("Play the motion", on_click=play)
            with ui.element("div"):
                for node in tree.nodes:
                    for k in range(node.kind.nq if node.kind.nq == 1 else 0):
                        slide = node.kind.name == "prismatic"
                        reach = 1.0 if slide else math.pi
                        slider(ui, node.name, -reach, reach, 0.0, lambda x, i=node.iq + k: moved(i, x))
    ui.timer(0.2, lambda: ui.run_javascript(f"appell.show({robot_text(scene, q)})"), once=True)


__all__ = ["pose_text", "robot_text", "view"]
