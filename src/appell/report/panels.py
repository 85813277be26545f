"""The plots of a report: curves with a common cursor, drawn by `show/page/plots.js`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from appell.errors import AppellError
from appell.motion.record import ReactionName, Record, Series
from appell.report.html import inline
from appell.show.gaps_and_contacts import contact_intervals, with_gaps
from appell.show.packing import Packer
from appell.show.style import COLOURS

PANEL_POINTS = 1500
"""Curves are drawn through at least this many points if the motion can be evaluated between its samples."""
CURVES = 40
"""Largest number of curves in one panel; the others are only in the file of the motion."""
POINTS_IN_ALL = 60_000
"""Largest total number of points in one panel: if there are many curves, each has fewer points."""
PORTRAITS = 12
"""Largest number of phase portraits."""
MARKS_SHOWN = 400
"""Largest number of marked impacts, contacts and intervals of sticking."""
LONG_LEGEND = 10
"""With more curves than this, the legend is limited to a few lines and scrolls."""

NAMED = (
    ("Coordinates", lambda m: m.coordinate_names, {}),
    ("Velocities", lambda m: m.velocity_names, {}),
    ("Inputs", lambda m: m.input_names, {"held": True}),
    ("Reactions", lambda m: (*m.reaction_keys, *_friction_forces(m)), {}),
    ("Energy", lambda m: ("energy",), {}),
    ("Energy error (relative)", lambda m: ("energy_error",), {"log": True}),
    ("Constraint residual", lambda m: ("residual",) if m.reaction_names or np.any(m.residual) else (), {"log": True}),
)


def _friction_forces(motion: Any) -> tuple[ReactionName, ...]:
    """Frictions whose forces are available; a file stores the components of pairs separately."""
    system = getattr(motion, "system", None)
    return () if system is None else tuple(ReactionName(fr.name) for fr in system.frictions)


def sticking(motion: Any) -> list[tuple[float, float]]:
    """Intervals (s) in which some friction sticks, merged where they overlap."""
    spans: list[list[float]] = []
    for begin, end in sorted((p.start, p.end) for p in getattr(motion, "phases", ()) if p.state == "stick" and p.end > p.start):
        if spans and begin <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([begin, end])
    return [(begin, end) for begin, end in spans]


class Panels:
    """Collects the data that the page draws (`described`) and the HTML around it (`html`)."""

    def __init__(self, motion: Record, packer: Packer):
        self.motion, self.packer = motion, packer
        self.fine = motion.fine(PANEL_POINTS)
        self.described: list[dict[str, Any]] = []
        self.times: dict[int, Any] = {}
        self.notes: list[str] = []
        impacts = [float(i.time) for i in motion.impacts if i.kind == "impact"]
        self.marks: dict[str, Any] = {
            "impacts": impacts[:MARKS_SHOWN],
            "contacts": [list(pair) for pair in contact_intervals(motion)[:MARKS_SHOWN]],
            "sticks": [list(pair) for pair in sticking(motion)[:MARKS_SHOWN]],
        }

    def curves(self) -> str:
        """HTML of the curves against time."""
        return self._key() + "".join(self._panels(title, keys(self.motion), **options) for title, keys, options in NAMED)

    def _key(self) -> str:
        """The key to bands and ticks in the panels, if there are any."""
        marks_shown = {"contacts": ("band", "in contact"), "sticks": ("strip", "sticking"), "impacts": ("stroke", "impact")}
        entries = [f'<span><i class="{css}"></i>{text}</span>' for mark, (css, text) in marks_shown.items() if self.marks[mark]]
        return f'<p class="key">{"".join(entries)}</p>' if entries else ""

    def _panels(self, title: str, keys: Sequence[str], *, log: bool = False, held: bool = False) -> str:
        if not keys:
            return ""
        if len(keys) > CURVES:
            self.notes.append(f"{title.lower()}: the first {CURVES} of {len(keys)} are drawn")
        record = self.motion if log else self.fine
        by_unit: dict[str, list[tuple[str, Series]]] = {}
        for name in keys[:CURVES]:
            try:
                series = record.series(name)
            except AppellError as error:  # singular somewhere, or not in the file
                self.notes.append(f"{name} is not drawn: {error}")
            else:
                by_unit.setdefault(series.units, []).append((name, series))
        return "".join(self._panel(title, record.t, curves, log=log, held=held) for curves in by_unit.values())

    def _time(self, t: Any) -> dict[str, Any]:
        return self.times.setdefault(id(t), self.packer.add(t))

    def _colour(self, key: str, n: int) -> str:
        colour = COLOURS[self.motion.colour_numbers.get(key, n) % len(COLOURS)]
        return "ink" if colour == "#000000" else colour

    def _panel(self, title: str, t: Any, curves: Sequence[tuple[str, Series]], *, log: bool, held: bool) -> str:
        k, step = len(self.described), max(1, len(t) * len(curves) // POINTS_IN_ALL)
        drawn, legend = [], []
        for n, (key, series) in enumerate(curves):
            values = np.abs(series.values) if log else series.values
            gapped, values = with_gaps(t, values)  # with gaps at impacts
            time, values = self._points(t, gapped, values, step)
            colour, dash = self._colour(str(key), n), self._number(str(key), n) // len(COLOURS)
            drawn.append({"t": time, "x": time, "y": self.packer.add(values), "colour": colour, "held": held, "dash": dash})
            legend.append(_legend(series, colour, dash))
        unit = curves[0][1].units
        self.described.append({
            "label": f"{title} against time", "log": log, "portrait": False, "curves": drawn, **self.marks,
            "xlabel": "t, s", "ylabel": "" if unit in ("1", "SI") else unit,
        })  # fmt: skip
        unit_text = {"1": "", "SI": ""}.get(unit, f", {escape(unit)}")
        css = " long" if len(legend) > LONG_LEGEND else ""
        return _figure(k, f'<strong>{escape(title)}{unit_text}</strong><span class="legend{css}">{"".join(legend)}</span>')

    def _number(self, key: str, n: int) -> int:
        return self.motion.colour_numbers.get(key, n)

    def _points(self, t: Any, gapped: Any, values: Any, step: int) -> tuple[dict[str, Any], Any]:
        """Times and values of a curve, every `step`-th point and both sides of each gap; common times are stored once."""
        if len(gapped) == len(t) and step == 1:
            return self._time(t), values
        gaps = np.flatnonzero(np.isnan(gapped))
        keep = np.zeros(len(gapped), bool)
        keep[::step] = keep[-1:] = True
        keep[np.clip(np.concatenate([gaps - 1, gaps, gaps + 1]), 0, len(keep) - 1)] = True
        times = np.where(np.isnan(gapped), np.roll(gapped, 1), gapped)[keep]
        key = hash(times.tobytes())
        return self.times.setdefault(key, self.packer.add(times) if key not in self.times else {}), values[keep]

    def portraits(self) -> str:
        """HTML of the phase portraits."""
        figures = []
        for n, name in enumerate(self.motion.coordinate_names[:PORTRAITS]):
            try:
                x, y = self.fine.series(name), self.fine.series(f"{name}.d")
            except AppellError:
                continue
            k, colour = len(self.described), self._colour(name, n)
            xy = {"x": self.packer.add(x.values), "y": self.packer.add(y.values)}
            curve = {"t": self._time(self.fine.t), **xy, "colour": colour, "dash": 0}
            units = ["" if s.units in ("1", "SI") else s.units for s in (x, y)]
            self.described.append({
                "label": f"phase portrait of {name}", "log": False, "portrait": True, "curves": [curve],
                "xlabel": units[0], "ylabel": units[1],
            })  # fmt: skip
            figures.append(_figure(k, f"<span>{inline(y.latex)} over {inline(x.latex)}</span>"))
        return f'<div class="portraits">{"".join(figures)}</div>' if figures else ""


def _figure(k: int, caption: str) -> str:
    return f'<figure class="panel" id="panel-{k}"><figcaption>{caption}</figcaption><div class="plot"></div></figure>'


def _legend(series: Any, colour: str, dash: int) -> str:
    """A legend entry: line, name and value at the cursor; a click hides the curve, hovering highlights it."""
    stroke = "currentColor" if colour == "ink" else colour
    dashes = ("", ' stroke-dasharray="5 3"', ' stroke-dasharray="2 2"', ' stroke-dasharray="7 2 2 2"')[dash % 4]
    stroked = f'<line x1="0" y1="4" x2="24" y2="4" stroke="{stroke}" stroke-width="3"{dashes}/>'
    line = f'<svg viewBox="0 0 24 8" aria-hidden="true">{stroked}</svg>'
    attributes = f'aria-pressed="true" title="{escape(series.meaning)}: press to hide or show"'
    return (
        f'<button type="button" class="curve" {attributes}>{line}{inline(series.latex)} <span class="reading"></span></button>'
    )


__all__ = ["Panels"]
