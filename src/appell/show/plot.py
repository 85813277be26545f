"""Plots of motions with matplotlib: curves over time in stacked panels, phase portraits, comparisons of motions.

matplotlib is loaded when the first picture is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.letters.plain_latex import latex
from appell.motion.foreign_data import ForeignData
from appell.motion.record import Record, Series
from appell.reading import items_of, text_of
from appell.show import figures
from appell.show.gaps_and_contacts import contact_intervals, jumps, with_gaps
from appell.show.style import COLOURS, DASHES, axis_label, curve_styles, style, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Array = NDArray[np.float64]

CURVE_POINTS = 1000
"""Curves are drawn through at least this many points if the motion can be evaluated between its samples."""

FLAT_CURVE = 1e-6
"""A curve that varies by less than this fraction of its size is drawn as a constant."""

SPARSE = 150
"""Up to this many samples are marked where samples, not curves, are shown."""


@dataclass(frozen=True)
class DrawnMotion:
    """A motion to be drawn: as it was sampled, with smooth curves between the samples, and its name in the legend."""

    motion: Record
    fine: Record
    name: str = ""


@dataclass(frozen=True)
class Panel:
    """Curves that share an axis: their keys, how they are drawn, and the axis label."""

    keys: tuple[Any, ...]
    label: str = ""
    draw: Callable[[Axes, Sequence[DrawnMotion], Panel], None] = lambda *arguments: draw_curves(*arguments)
    height: float = 1.0


def panels_by_name(motion: Record) -> dict[str, Panel]:
    """The panels that can be requested by name."""
    return {
        "coordinates": Panel(motion.coordinate_names, "coordinates", height=1.4),
        "velocities": Panel(motion.velocity_names, "velocities", height=1.4),
        "inputs": Panel(motion.input_names, "inputs", draw_held),
        "reactions": Panel(motion.reaction_keys, "reactions"),
        "energy": Panel(("energy",)),
        "energy_error": Panel(("energy_error",), "energy error\n(relative)", draw_magnitudes, 0.8),
        "residual": Panel(("residual",), "constraint\nresidual (SI)", draw_magnitudes, 0.8),
    }


DEFAULT = ("coordinates", "inputs", "reactions", "energy_error", "residual")


def plot(motion: Record, *what: Any, against: Any = None, compare: Any = (), axes: Any = None) -> Figure:
    """Curves against time, or against another quantity; see `Motion.plot`."""
    if against is not None:
        return _portraits(motion, what, against, compare, axes)
    panels, subjects = _panels(motion, what), _subjects(motion, compare)
    with style():
        figure, panel_axes = figures.stacked([panel.height for panel in panels], axes)
        for ax, panel in zip(panel_axes, panels, strict=True):
            panel.draw(ax, subjects, panel)
            times = np.concatenate([s.motion.t for s in subjects])
            if np.ptp(times) > 0:
                ax.set_xlim(times.min(), times.max())
        panel_axes[-1].set_xlabel("$t$ (s)")
        if axes is None:
            figures.finish(figure, motion, panel_axes[0])
    return figure


def plot_path(motion: Record, x: Any, y: Any, *, compare: Any = (), axes: Any = None) -> Figure:
    """The path (x(t), y(t)) with equal scales, its start (open) and end (filled) marked; see `Motion.plot_path`."""
    subjects = _subjects(motion, compare)
    pairs = [(s.fine.series(x), s.fine.series(y)) for s in subjects]
    with style():
        horizontal, vertical = (np.concatenate([pair[i].values for pair in pairs]) for i in (0, 1))
        figure, (ax,) = figures.path_figure(horizontal, vertical, axes)
        for subject, pair, (colour, _) in zip(subjects, pairs, curve_styles(len(pairs)), strict=True):
            _draw_portrait(ax, subject, *pair, colour, DASHES[0], subject.name)
        _label_portrait(ax, pairs[0][0], [pairs[0][1]], len(subjects) > 1)
        ax.set_aspect("equal", adjustable="datalim" if axes is not None else "box")
        if axes is None:
            figures.finish(figure, motion, ax)
    return figure


def plot_phase(motion: Record, *coordinates: Any, compare: Any = (), axes: Any = None) -> Figure:
    """A phase portrait (q, q̇) for each coordinate; see `Motion.plot_phase`."""
    chosen = coordinates or motion.coordinate_names
    subjects = _subjects(motion, compare)
    with style():
        figure, all_axes = figures.grid(len(chosen), axes, legend=len(subjects) > 1)
        for ax, q in zip(all_axes, chosen, strict=True):
            for subject, (colour, _) in zip(subjects, curve_styles(len(subjects)), strict=True):
                pair = subject.fine.series(q), subject.fine.series(f"{q}.d")
                _draw_portrait(ax, subject, *pair, colour, DASHES[0], subject.name)
                _label_portrait(ax, pair[0], [pair[1]], len(subjects) > 1 and ax is all_axes[min(2, len(all_axes) - 1)])
        if axes is None:
            figures.finish(figure, motion, all_axes[0])
    return figure


# -- panels and curves -------------------------------------------------------------------------------------------------


def _panels(motion: Record, what: tuple[Any, ...]) -> list[Panel]:
    """The default panels; or one for each named panel and list in `what`, and one for all single keys."""
    by_name = panels_by_name(motion)
    if not what:
        return [by_name[name] for name in DEFAULT if by_name[name].keys and (name != "residual" or _has_rows(motion))]
    panels: list[Panel] = []
    single_keys: list[Any] = []
    for item in what:
        if isinstance(item, str) and item in by_name and item not in motion.coordinate_names:
            panels.append(by_name[item])
        elif isinstance(item, list | tuple):
            panels.append(Panel(tuple(item)))
        else:
            single_keys.append(item)
    panels = ([Panel(tuple(single_keys))] if single_keys else []) + panels
    if any(not panel.keys for panel in panels):
        raise ModelError(f"there is nothing to draw: {motion.name} has no {' or '.join(map(str, what))}")
    return panels


def _subjects(motion: Record, compare: Any) -> list[DrawnMotion]:
    """The motion and those compared with it: a motion, a list of them, or label → motion or external data."""
    one_motion = isinstance(compare, Record) or _is_data(compare)
    table = isinstance(compare, Mapping) and not one_motion
    listed: Any = [compare] if one_motion else [] if table else items_of(compare, "compare=")
    mapping: Any = compare
    compared: dict[Any, Any] = dict(mapping) if table else {f"{motion.name} {k}": m for k, m in enumerate(listed, start=2)}
    compared = {str(name): m if isinstance(m, Record) else ForeignData(str(name), m, motion) for name, m in compared.items()}
    own_name = motion.name if table or not compared else f"{motion.name} 1"
    return [DrawnMotion(m, m.fine(CURVE_POINTS), name) for name, m in {own_name: motion, **compared}.items()]


def _is_data(compare: Any) -> bool:
    """Whether this is one table of data over time: a mapping with "t", a DataFrame or a Dataset."""
    return "t" in compare if isinstance(compare, Mapping) else hasattr(compare, "columns") or hasattr(compare, "data_vars")


def _has_rows(motion: Record) -> bool:
    return bool(motion.reaction_names) or bool(np.any(motion.residual))


@dataclass(frozen=True)
class PanelCurve:
    """One line of a panel: its motion, values, colour, dashes and legend text."""

    subject: DrawnMotion
    series: Series
    colour: str
    dash: str
    name: str


def _curves(subjects: Sequence[DrawnMotion], panel: Panel, *, sampled: bool = False) -> Iterator[PanelCurve]:
    """A quantity keeps its colour in every panel; motions differ by dashes, or by colour where a panel has one quantity."""
    one_quantity = len(panel.keys) == 1 and len(subjects) > 1
    for k, subject in enumerate(subjects):
        record = subject.motion if sampled else subject.fine
        for key, (colour, dash) in zip(panel.keys, _styles_by_key(subject.motion, panel.keys), strict=True):
            if not record.has(key):
                continue
            series = record.series(key)
            if one_quantity:
                colour, dash = curve_styles(len(subjects))[k]
            elif len(subjects) > 1:
                dash = DASHES[k % len(DASHES)]
            name = subject.name.replace("$", r"\$") if one_quantity else typeset(series)
            if len(subjects) > 1 and not one_quantity:
                name = f"{name}, {subject.name}".replace("_", r"\_") if k else name
            yield PanelCurve(subject, series, colour, dash, name)


def _styles_by_key(motion: Record, keys: Sequence[Any]) -> list[tuple[str, str]]:
    """Colour and dashes of each key: a joint, its velocity and its torque share them if all keys of the panel have a number;
    else by position."""
    numbers = [motion.colour_numbers.get(text_of(key)) for key in keys]
    known = [n for n in numbers if n is not None]
    if len(known) < len(keys) or len(set(known)) < len(keys):
        return curve_styles(len(keys))
    table = curve_styles(1 + max(known))
    return [table[n] for n in known]


def draw_curves(axes: Axes, subjects: Sequence[DrawnMotion], panel: Panel) -> None:
    """Values on a linear scale, smooth between the samples; several get a legend beside the axes."""
    curves = list(_curves(subjects, panel))
    for c in curves:
        axes.plot(*with_gaps(c.subject.fine.t, c.series.values), color=c.colour, linestyle=c.dash, label=c.name)
    if len(subjects) == 1:
        _mark_contacts(axes, subjects[0].motion)
        _mark_impacts(axes, subjects[0].motion)
    _label(axes, curves, panel)


def draw_held(axes: Axes, subjects: Sequence[DrawnMotion], panel: Panel) -> None:
    """Sampled values held from one reading to the next, as steps."""
    curves = list(_curves(subjects, panel))
    for c in curves:
        line = {"color": c.colour, "linestyle": c.dash, "linewidth": 0.9}
        axes.step(c.subject.fine.t, c.series.values, where="post", label=c.name, **line)
    _label(axes, curves, panel)


def _label(axes: Axes, curves: Sequence[PanelCurve], panel: Panel) -> None:
    """The names of the curves, at the axis and in a legend; and the limits of the axis."""
    series = [c.series for c in curves[: len(panel.keys)]]
    axes.set_ylabel(_shared_label(series, panel.label))
    if len(curves) > 1:
        _legend(axes, len(curves), panel.height)
    _keep_in_proportion(axes, np.concatenate([c.series.values for c in curves]))
    axes.ticklabel_format(axis="y", useOffset=False)


def _mark_impacts(axes: Axes, motion: Record) -> None:
    """A small tick on the time axis at each impact, unless there are so many that they would form a band."""
    times = [impact.time for impact in motion.impacts if impact.kind == "impact"] + [event.time for event in motion.resets]
    if 0 < len(times) <= SPARSE:
        tick: dict[str, Any] = {"marker": "|", "markersize": 5, "markeredgewidth": 0.7, "linestyle": "none"}
        axes.plot(times, np.zeros(len(times)), color="#555555", transform=axes.get_xaxis_transform(), **tick)


def _mark_contacts(axes: Axes, motion: Record) -> None:
    """A grey band over every interval of contact."""
    for begin, end in contact_intervals(motion)[:SPARSE]:
        axes.axvspan(begin, end, color="#000000", alpha=0.07, linewidth=0, zorder=0)


def _keep_in_proportion(axes: Axes, values: Array) -> None:
    """Values that change by less than `FLAT_CURVE` of their size are drawn as constants: rounding is not magnified."""
    values = values[np.isfinite(values)]
    if values.size and np.ptp(values) < FLAT_CURVE * np.abs(values).max():
        middle = values.mean()
        axes.set_ylim(middle - 0.1 * abs(middle), middle + 0.1 * abs(middle))


def draw_magnitudes(axes: Axes, subjects: Sequence[DrawnMotion], panel: Panel) -> None:
    """|values| at the samples on a logarithmic scale; exact zeros are left out."""
    from matplotlib.ticker import LogLocator, NullFormatter

    drawn = []
    for c in _curves(subjects, panel, sampled=True):
        values = np.abs(c.series.values)
        positive = values > 0
        drawn.append(values[positive])
        dots = {"marker": "o", "markersize": 2.2} if len(values) <= SPARSE else {}
        if positive.any():
            line = {"color": c.colour, "linestyle": c.dash, "linewidth": 0.9, "label": c.name, **dots}
            axes.semilogy(c.subject.motion.t[positive], values[positive], **line)
    values = np.concatenate(drawn)
    if values.size:
        high = values.max()
        low = max(values.min(), 1e-8 * high)  # a nearly exact first step must not squeeze the rest
        axes.set_ylim(10 ** np.floor(np.log10(low) - 0.1), 10 ** np.ceil(np.log10(high) + 0.1))
        axes.yaxis.set_major_locator(LogLocator(numticks=5))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.yaxis.set_ticks([])
        axes.text(0.5, 0.5, "zero at every sample", color="#555555", transform=axes.transAxes, ha="center", va="center")
    axes.set_ylabel(panel.label, multialignment="center")


def _legend(axes: Axes, count: int, height: float) -> None:
    """A legend beside the axes, in as many columns as its height requires; it does not cover the curves."""
    rows = max(4, round(7 * height))
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.005, 1.03), borderaxespad=0, handlelength=1.4, labelspacing=0.25,
        handletextpad=0.5, columnspacing=1.0, ncols=-(-count // rows),
    )  # fmt: skip


def _shared_label(curves: Sequence[Series], label: str) -> str:
    """The label of the panel, or the names of its curves if there are few, with their common unit."""
    if len(curves) == 1:
        return axis_label(curves[0])
    units = {curve.units for curve in curves}
    names = ", ".join(map(typeset, curves))
    label = label or (names if len(curves) <= 4 and len(names) <= 60 else "values")
    return f"{label} ({units.pop()})" if len(units) == 1 else label


# -- portraits: one quantity against another ---------------------------------------------------------------------------


def _portraits(motion: Record, what: Iterable[Any], against: Any, compare: Any, axes: Any) -> Figure:
    keys = [key for item in what for key in (item if isinstance(item, list | tuple) else [item])]
    if not keys:
        raise ModelError(f"say what is drawn against {against}: motion.plot({against}.d, against={against})")
    subjects = _subjects(motion, compare)
    with style():
        figure, (ax,) = figures.grid(1, axes, legend=len(keys) * len(subjects) > 1)
        for c in _curves(subjects, Panel(tuple(keys))):
            _draw_portrait(ax, c.subject, c.subject.fine.series(against), c.series, c.colour, c.dash, c.name)
        series = [subjects[0].fine.series(key) for key in keys]
        _label_portrait(ax, subjects[0].fine.series(against), series, len(keys) * len(subjects) > 1)
        if axes is None:
            figures.finish(figure, motion, ax)
    return figure


def _draw_portrait(ax: Axes, subject: DrawnMotion, x: Series, y: Series, colour: str, dash: str, name: str) -> None:
    """A curve in the plane, interrupted at jumps; its start is an open dot, its end a filled one."""
    cut = np.union1d(jumps(subject.fine.t, x.values), jumps(subject.fine.t, y.values))
    ax.plot(np.insert(x.values, cut, np.nan), np.insert(y.values, cut, np.nan), color=colour, linestyle=dash, label=name)
    dot: dict[str, Any] = {"marker": "o", "ms": 4.5, "color": colour, "clip_on": False, "zorder": 3}
    ax.plot(x.values[:1], y.values[:1], mfc="white", **dot)
    ax.plot(x.values[-1:], y.values[-1:], **dot)


def _label_portrait(ax: Axes, x: Series, y: Sequence[Series], several: bool) -> None:
    ax.set_xlabel(axis_label(x))
    ax.set_ylabel(_shared_label(y, ""))
    ax.locator_params(nbins=7, steps=[1, 2, 5, 10])
    if several:
        _legend(ax, 1, 3.0)


__all__ = ["COLOURS", "Panel", "latex", "plot", "plot_path", "plot_phase", "style"]
