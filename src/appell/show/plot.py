"""Pictures of a motion with matplotlib: curves against time in stacked panels, and paths in a plane.

matplotlib is loaded when the first picture is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice, product
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import NDArray

from appell.errors import ModelError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from appell.motion.record import Record, Series

Array = NDArray[np.float64]

POINTS = 1000
"""Curves are drawn through at least so many points where the motion can be had between its samples."""

FLAT = 1e-6
"""Share of its size by which a curve must change to be drawn over the whole height."""

SPARSE = 150
"""Up to so many samples are marked where samples, not curves, are shown."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette: told apart with every kind of colour vision, and in grey."""

DASHES = ("-", "--", "-.", ":")

STYLE: Mapping[str, Any] = {
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 10,
    "axes.labelsize": 10,
    "axes.titlesize": 10,
    "legend.fontsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-4, 5),
    "axes.unicode_minus": True,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.3,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "figure.dpi": 140,
}


def latex(what: Any) -> str:
    """LaTeX of a symbol, an expression, or a name ("omega_1")."""
    return sympy.latex(sympy.Symbol(what) if isinstance(what, str) else what)


@dataclass(frozen=True)
class Panel:
    """Curves that share an axis: their keys, how they are drawn, and what is written beside the axis."""

    keys: tuple[Any, ...]
    label: str = ""
    draw: Callable[[Axes, Record, Record, Panel], None] = lambda *arguments: draw_curves(*arguments)
    height: float = 1.0


def panels_by_name(motion: Record) -> dict[str, Panel]:
    """The panels that have a name of their own."""
    return {
        "coordinates": Panel(motion.coordinate_names, "coordinates", height=1.4),
        "velocities": Panel(motion.velocity_names, "velocities", height=1.4),
        "inputs": Panel(motion.input_names, "inputs", draw_held),
        "reactions": Panel((*motion.reaction_names, *motion.contact_names), "reactions"),
        "energy": Panel(("energy",)),
        "energy_error": Panel(("energy_error",), "energy error\n(relative)", draw_magnitudes, 0.8),
        "residual": Panel(("residual",), "constraint\nresidual (SI)", draw_magnitudes, 0.8),
    }


DEFAULT = ("coordinates", "inputs", "reactions", "energy_error", "residual")


def plot(motion: Record, *what: Any, axes: Any = None) -> Figure:
    """Curves against time; see `Motion.plot`."""
    panels, fine = _panels(motion, what), motion.fine(POINTS)
    with style():
        figure, places = _figure(panels, axes)
        for place, panel in zip(places, panels, strict=True):
            panel.draw(place, motion, fine, panel)
            if len(motion) > 1:
                place.set_xlim(motion.t.min(), motion.t.max())
        places[-1].set_xlabel("$t$ (s)")
        if axes is None:
            _finish(figure, motion, places[0])
    return figure


def plot_path(motion: Record, x: Any, y: Any, *, axes: Any = None) -> Figure:
    """The path (x(t), y(t)) with equal scales, its start (open) and end (filled) marked; see `Motion.plot_path`."""
    fine = motion.fine(POINTS)
    across, up = fine.series(x), fine.series(y)
    with style():
        figure, (place,) = (_path_figure(across.values, up.values)) if axes is None else _given(axes, 1)
        place.plot(across.values, up.values, color=COLOURS[0])
        dot: dict[str, Any] = {"marker": "o", "ms": 4.5, "color": COLOURS[0], "clip_on": False, "zorder": 3}
        place.plot(across.values[:1], up.values[:1], mfc="white", **dot)
        place.plot(across.values[-1:], up.values[-1:], **dot)
        place.set_xlabel(_axis_label(across))
        place.set_ylabel(_axis_label(up))
        place.locator_params(nbins=7, steps=[1, 2, 5, 10])
        place.set_aspect("equal", adjustable="datalim" if axes is not None else "box")
        if axes is None:
            _finish(figure, motion, place)
    return figure


@contextmanager
def style() -> Iterator[None]:
    """matplotlib with the typography of a paper, inside a `with` only."""
    import matplotlib

    with matplotlib.rc_context(dict(STYLE)):  # type: ignore[arg-type]
        yield


# -- what is drawn -----------------------------------------------------------------------------------------------------


def _panels(motion: Record, what: tuple[Any, ...]) -> list[Panel]:
    """The default panels; or one for each named panel and list in `what`, and one for all single keys."""
    named = panels_by_name(motion)
    if not what:
        return [named[name] for name in DEFAULT if named[name].keys and (name != "residual" or _has_rows(motion))]
    panels: list[Panel] = []
    single: list[Any] = []
    for item in what:
        if isinstance(item, str) and item in named and item not in motion.coordinate_names:
            panels.append(named[item])
        elif isinstance(item, list | tuple):
            panels.append(Panel(tuple(item)))
        else:
            single.append(item)
    panels = ([Panel(tuple(single))] if single else []) + panels
    if any(not panel.keys for panel in panels):
        raise ModelError(f"there is nothing to draw: {motion.name} has no {' or '.join(map(str, what))}")
    return panels


def _has_rows(motion: Record) -> bool:
    return bool(motion.reaction_names) or bool(np.any(motion.residual))


def draw_curves(axes: Axes, motion: Record, fine: Record, panel: Panel) -> None:
    """Values on a linear scale, smooth between the samples; several get a legend beside the axes."""
    curves = [fine.series(key) for key in panel.keys]
    for curve, (colour, dash) in zip(curves, _looks(len(curves)), strict=True):
        axes.plot(*_broken(fine.t, curve.values), color=colour, linestyle=dash, label=_typeset(curve))
    _mark_impacts(axes, motion)
    _label(axes, curves, panel)


def draw_held(axes: Axes, motion: Record, fine: Record, panel: Panel) -> None:
    """Values that are held from one reading to the next, as stairs."""
    curves = [fine.series(key) for key in panel.keys]
    for curve, (colour, dash) in zip(curves, _looks(len(curves)), strict=True):
        axes.step(fine.t, curve.values, where="post", color=colour, linestyle=dash, linewidth=0.9, label=_typeset(curve))
    _label(axes, curves, panel)


def _label(axes: Axes, curves: Sequence[Series], panel: Panel) -> None:
    """What the curves are called, beside the axis and in a legend; their scale in proportion."""
    axes.set_ylabel(_shared_label(curves, panel.label))
    if len(curves) > 1:
        _legend(axes, len(curves), panel.height)
    _keep_in_proportion(axes, np.array([curve.values for curve in curves]))
    axes.ticklabel_format(axis="y", useOffset=False)


def _broken(t: Array, values: Array) -> tuple[Array, Array]:
    """The curve with a gap where the value jumps at one time: what an impact changes is not joined."""
    size = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    jumps = 1 + np.flatnonzero((np.diff(t) == 0) & (np.abs(np.diff(values)) > 1e-9 * size))
    return np.insert(t, jumps, np.nan), np.insert(values, jumps, np.nan)


def _mark_impacts(axes: Axes, motion: Record) -> None:
    """A small tick on the time axis at each impact, unless there are so many that they would be a band."""
    times = [impact.time for impact in motion.impacts if impact.kind == "impact"]
    if 0 < len(times) <= SPARSE:
        look: dict[str, Any] = {"marker": "|", "markersize": 5, "markeredgewidth": 0.7, "linestyle": "none"}
        axes.plot(times, np.zeros(len(times)), color="#555555", transform=axes.get_xaxis_transform(), **look)


def _keep_in_proportion(axes: Axes, values: Array) -> None:
    """Values that change by less than `FLAT` of their size are drawn as constants: rounding is not magnified."""
    values = values[np.isfinite(values)]
    if values.size and np.ptp(values) < FLAT * np.abs(values).max():
        middle = values.mean()
        axes.set_ylim(middle - 0.1 * abs(middle), middle + 0.1 * abs(middle))


def draw_magnitudes(axes: Axes, motion: Record, fine: Record, panel: Panel) -> None:
    """|values| at the samples on a logarithmic scale; exact zeros, which have no place on it, are left out."""
    from matplotlib.ticker import LogLocator, NullFormatter

    for key, (colour, dash) in zip(panel.keys, _looks(len(panel.keys)), strict=True):
        values = np.abs(motion.series(key).values)
        seen = values > 0
        if not seen.any():
            axes.yaxis.set_ticks([])
            place = {"transform": axes.transAxes, "ha": "center", "va": "center"}
            axes.text(0.5, 0.5, "zero at every sample", color="#555555", **place)
            break
        dots = {"marker": "o", "markersize": 2.2} if len(motion) <= SPARSE else {}
        axes.semilogy(motion.t[seen], values[seen], color=colour, linestyle=dash, linewidth=0.9, **dots)
        high = values[seen].max()
        low = max(values[seen].min(), 1e-8 * high)  # a nearly exact first step must not squeeze the rest
        axes.set_ylim(10 ** np.floor(np.log10(low) - 0.1), 10 ** np.ceil(np.log10(high) + 0.1))
        axes.yaxis.set_major_locator(LogLocator(numticks=5))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel(panel.label, multialignment="center")


def _looks(count: int) -> Iterable[tuple[str, str]]:
    """Colour and dashes of each curve: all colours solid first, then dashed."""
    return islice(((colour, dash) for dash, colour in cycle(product(DASHES, COLOURS))), count)


def _legend(axes: Axes, count: int, height: float) -> None:
    """Beside the axes, in as many columns as its height asks for; the curves stay free."""
    rows = max(4, round(7 * height))
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.005, 1.03), borderaxespad=0, handlelength=1.4, labelspacing=0.25,
        handletextpad=0.5, columnspacing=1.0, ncols=-(-count // rows),
    )  # fmt: skip


def _shared_label(curves: Sequence[Series], label: str) -> str:
    """The label of the panel, or the names of its curves where there are few, with the unit that they share."""
    if len(curves) == 1:
        return _axis_label(curves[0])
    units = {curve.units for curve in curves}
    names = ", ".join(map(_typeset, curves))
    label = label or (names if len(curves) <= 4 and len(names) <= 60 else "values")
    return f"{label} ({units.pop()})" if len(units) == 1 else label


def _axis_label(curve: Series) -> str:
    unit = "" if curve.units == "1" else f" ({curve.units})"
    return _typeset(curve) + unit


def _typeset(curve: Series) -> str:
    """Its LaTeX where matplotlib can set it (it has no environments, for example), else its plain name."""
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(f"${curve.latex}$")
    except ValueError:
        return curve.name.replace("$", r"\$")
    return f"${curve.latex}$"


# -- where it is drawn -------------------------------------------------------------------------------------------------


def _figure(panels: Sequence[Panel], axes: Any) -> tuple[Figure, list[Axes]]:
    """A new figure with stacked panels that share time, or the given axes."""
    if axes is not None:
        return _given(axes, len(panels))
    heights = [panel.height for panel in panels]
    size = (6.4, max(2.4, 0.7 + 1.35 * sum(heights)))
    figure = _picture(size)
    places = figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=heights)
    return figure, list(places[:, 0])


def _picture(size: tuple[float, float]) -> Figure:
    from appell.show.picture import Picture  # loads matplotlib

    return Picture(figsize=size, layout="constrained")


def _path_figure(x: Array, y: Array) -> tuple[Figure, list[Axes]]:
    """A figure whose shape follows the path, within reason."""
    wide, high = max(np.ptp(x), 1e-12 * np.abs(x).max(initial=1.0)), max(np.ptp(y), 1e-12 * np.abs(y).max(initial=1.0))
    scale = min(5.6 / wide, 4.6 / high)
    size = (max(2.2, wide * scale) + 0.9, max(1.4, high * scale) + 0.8)
    figure = _picture(size)
    return figure, [figure.subplots()]


def _given(axes: Any, count: int) -> tuple[Figure, list[Axes]]:
    places = list(np.atleast_1d(np.asarray(axes, dtype=object)).reshape(-1))
    if len(places) != count:
        raise ModelError(f"axes= has {len(places)} axes, but {count} panels are drawn; give one for each")
    return places[0].figure, places


def _finish(figure: Figure, motion: Record, top: Axes) -> None:
    """The title, and all texts made while the style holds (ticks are made at the first drawing)."""
    stopped = "" if motion.ok else f" (stopped: {motion.status.name.lower().replace('_', ' ')})"
    top.set_title(motion.name.replace("$", r"\$") + stopped, loc="left")
    figure.align_ylabels()
    figure.draw_without_rendering()


__all__ = ["Panel", "latex", "plot", "plot_path", "style"]
