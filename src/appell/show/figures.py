"""Figures and axes to draw motions in: new ones, or those given by the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.reading import as_array, shown
from appell.show.picture import picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from appell.motion.record import Record

Array = NDArray[np.float64]


def stacked(heights: Sequence[float], axes: Any) -> tuple[Figure, list[Axes]]:
    """Stacked panels of these heights with a common time axis; or the given axes."""
    if axes is not None:
        return _given_axes(axes, len(heights))
    figure = _picture((6.4, max(2.4, 0.7 + 1.35 * sum(heights))))
    places = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)
    return figure, list(places[:, 0])


def _picture(size: tuple[float, float]) -> Figure:
    return picture(size)


def grid(count: int, axes: Any, *, legend: bool) -> tuple[Figure, list[Axes]]:
    """Portraits side by side, three in a row, with room for a legend on the right; or the given axes."""
    if axes is not None:
        return _given_axes(axes, count)
    columns = min(3, count)
    rows = -(-count // columns)
    figure = _picture((max(4.2, 2.9 * columns) + 1.9 * legend, max(3.2, 2.5 * rows)))
    places = list(figure.subplots(rows, columns, squeeze=False).flat)
    for empty in places[count:]:
        empty.remove()
    return figure, places[:count]


def path_figure(x: Array, y: Array, axes: Any) -> tuple[Figure, list[Axes]]:
    """A figure whose shape follows the path, within reason; or the given axes."""
    if axes is not None:
        return _given_axes(axes, 1)
    wide, high = max(np.ptp(x), 1e-12 * np.abs(x).max(initial=1.0)), max(np.ptp(y), 1e-12 * np.abs(y).max(initial=1.0))
    scale = min(5.6 / wide, 4.6 / high)
    figure = _picture((max(2.2, wide * scale) + 0.9, max(1.4, high * scale) + 0.8))
    return figure, [figure.subplots()]


def _given_axes(axes: Any, count: int) -> tuple[Figure, list[Axes]]:
    """The axes given by the user, one for each panel."""
    places = list(np.atleast_1d(as_array(axes, "axes=")).reshape(-1))
    if len(places) != count:
        raise ModelError(f"axes= has {len(places)} axes, but {count} panels are drawn; give one for each")
    if not_axes := [ax for ax in places if not hasattr(ax, "get_figure")]:
        raise ModelError(f"axes= are axes of matplotlib, not {shown(not_axes[0])}")
    return places[0].figure, places


def finish(figure: Figure, motion: Record, top: Axes) -> None:
    """Adds the title and draws once, so that all texts are created in this style (ticks are created at the first drawing)."""
    stopped = "" if motion.status.name == "OK" else f" (stopped: {motion.status.name.lower().replace('_', ' ')})"
    top.set_title(motion.name.replace("$", r"\$") + stopped, loc="left")
    figure.align_ylabels()
    figure.draw_without_rendering()
