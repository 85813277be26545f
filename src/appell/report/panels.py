"""The plots of a report: curves with one cursor, drawn by `show/page/plots.js`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from appell.errors import AppellError
from appell.motion.record import Record
from appell.report.html import inline
from appell.show.packing import Packer
from appell.show.plot import broken, contact_intervals
from appell.show.style import COLOURS

PANEL_POINTS = 1500
CURVES = 12
"""Curves in one panel at most; the others are in the file of the motion."""

NAMED = (
    ("Coordinates", lambda m: m.coordinate_names, {}),
    ("Velocities", lambda m: m.velocity_names, {}),
    ("Inputs", lambda m: m.input_names, {"held": True}),
    ("Reactions", lambda m: (*m.reaction_names, *m.contact_names), {}),
    ("Energy", lambda m: ("energy",), {}),
    ("Energy error (relative)", lambda m: ("energy_error",), {"log": True}),
    ("Constraint residual (SI)", lambda m: ("residual",) if m.reaction_names or np.any(m.residual) else (), {"log": True}),
)


class Panels:
    """Collects what the page draws (`described`) and the HTML around it (`html`)."""

    def __init__(self, motion: Record, packer: Packer):
        self.motion, self.packer = motion, packer
        self.fine = motion.fine(PANEL_POINTS)
        self.described: list[dict[str, Any]] = []
        self.times: dict[int, Any] = {}
        self.notes: list[str] = []
        impacts = [float(i.time) for i in motion.impacts if i.kind == "impact"]
        self.marks = {"impacts": impacts[:400], "contacts": [list(pair) for pair in contact_intervals(motion)[:400]]}

    def all(self) -> tuple[str, str]:
        """(HTML of the curves against time, HTML of the phase portraits)."""
        curves = "".join(self._named(title, keys(self.motion), **look) for title, keys, look in NAMED)
        return curves, self._portraits()

    def _named(self, title: str, keys: Sequence[str], *, log: bool = False, held: bool = False) -> str:
        if not keys:
            return ""
        if len(keys) > CURVES:
            self.notes.append(f"{title.lower()}: the first {CURVES} of {len(keys)} are drawn")
        record = self.motion if log else self.fine
        curves = []
        for name in keys[:CURVES]:
            try:
                curves.append((name, record.series(name)))
            except AppellError as error:  # singular somewhere, or not in the file
                self.notes.append(f"{name} is not drawn: {error}")
        return self._panel(title, record.t, curves, log=log, held=held) if curves else ""

    def _time(self, t: Any) -> dict[str, Any]:
        return self.times.setdefault(id(t), self.packer.add(t))

    def _colour(self, key: str, n: int) -> str:
        colour = COLOURS[self.motion.colour_numbers.get(key, n) % len(COLOURS)]
        return "ink" if colour == "#000000" else colour

    def _panel(self, title: str, t: Any, curves: Sequence[Any], *, log: bool, held: bool) -> str:
        k, whole = len(self.described), self._time(t)
        drawn, legend = [], []
        for n, (key, series) in enumerate(curves):
            values = np.abs(series.values) if log else series.values
            gapped, values = broken(t, values)  # what an impact changes is not joined
            time = whole if len(gapped) == len(t) else self.packer.add(np.where(np.isnan(gapped), np.roll(gapped, 1), gapped))
            colour = self._colour(str(key), n)
            drawn.append({"t": time, "x": time, "y": self.packer.add(values), "colour": colour, "held": held, "dashed": n >= 7})
            legend.append(_legend(series, colour, dashed=n >= 7))
        self.described.append({"label": f"{title} against time", "log": log, "portrait": False, "curves": drawn, **self.marks})
        return _figure(k, f"<strong>{escape(title)}</strong> {''.join(legend)}")

    def _portraits(self) -> str:
        found = []
        for n, name in enumerate(self.motion.coordinate_names[:CURVES]):
            try:
                x, y = self.fine.series(name), self.fine.series(f"{name}.d")
            except AppellError:
                continue
            k, colour = len(self.described), self._colour(name, n)
            place = {"x": self.packer.add(x.values), "y": self.packer.add(y.values)}
            curve = {"t": self._time(self.fine.t), **place, "colour": colour}
            label = f"phase portrait of {name}"
            self.described.append({"label": label, "log": False, "portrait": True, "curves": [curve]})
            caption = f"{inline(y.latex)} over {inline(x.latex)}"
            found.append(_figure(k, caption))
        return f'<div class="portraits">{"".join(found)}</div>' if found else ""


def _figure(k: int, caption: str) -> str:
    return f'<figure class="panel" id="panel-{k}"><figcaption>{caption}</figcaption><div class="plot"></div></figure>'


def _legend(series: Any, colour: str, *, dashed: bool) -> str:
    """The line, the letter and the value at the cursor."""
    stroke = "currentColor" if colour == "ink" else colour
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    stroked = f'<line x1="0" y1="4" x2="24" y2="4" stroke="{stroke}" stroke-width="3"{dash}/>'
    line = f'<svg viewBox="0 0 24 8" aria-hidden="true">{stroked}</svg>'
    unit = "" if series.units in ("1", "SI") else f" {escape(series.units)}"
    return f'<span class="curve">{line}{inline(series.latex)} <span class="reading"></span>{unit}</span>'


__all__ = ["Panels"]
