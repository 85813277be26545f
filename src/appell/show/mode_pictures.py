"""Pictures of modes of small oscillations: both extremes, with intermediate positions faint."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.scene.film import film
from appell.show.animate import scene_of
from appell.show.painter import Painter
from appell.show.picture import Picture

MODE_PANEL = (480, 400)
"""Width and height of a panel, pixels."""
MODE_COLUMNS = 3
SWING_PHASES = ((0.0, 1.0), (0.5, 0.55), (0.25, 0.3), (0.125, 0.18), (0.375, 0.18))
"""Phases of the period that are drawn, and their darkness."""


def mode_pictures(pairs: Sequence[tuple[str, Any]], scene: Any = None) -> Any:
    """(title, motion over one period) of each mode in panels; the figure."""
    if not pairs:
        raise ModelError("there is no mode that moves anything")
    columns = min(MODE_COLUMNS, len(pairs))
    rows = ceil(len(pairs) / columns)
    figure = Picture(figsize=(3.6 * columns, 3.3 * rows), layout="constrained")
    for k, (title, motion) in enumerate(pairs):
        ax = figure.add_subplot(rows, columns, k + 1)
        ax.imshow(_superposed(motion, scene))
        ax.set_title(title, fontsize=9)
        ax.set_axis_off()
    return figure


def _superposed(motion: Any, scene: Any) -> NDArray[np.uint8]:
    """The phases of an oscillation superposed, keeping the darkest value of each pixel."""
    frames = 41
    painter = Painter(film(scene_of(motion, scene), motion, frames=frames), *MODE_PANEL, trail=False, clock=False)
    paper = np.full((MODE_PANEL[1], MODE_PANEL[0], 3), 255.0)
    for phase, darkness in SWING_PHASES:
        frame = painter.frame(round(phase * (frames - 1))).astype(float)
        paper = np.minimum(paper, 255.0 - darkness * (255.0 - frame))
    return paper.astype(np.uint8)
