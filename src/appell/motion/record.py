"""The common interface of motions, computed or loaded from a file: quantities, plots and verification."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.delegates import delegate
from appell.errors import AS_ASKED, STATUS_TEXT, Status
from appell.motion.samples import frame, write_csv
from appell.notes import Note
from appell.spelling import checked_keywords

Array = NDArray[np.float64]

QUANTITIES = {
    "energy": (r"T + V", "J", "energy T + V"),
    "work": (r"\int P\,dt", "J", "work of forces, reactions and explicit time on H"),
    "balance": (r"H - H(0) - \int P\,dt", "J", "energy balance"),
    "energy_error": (r"(H - H(0) - \int P\,dt)/E", "1", "energy balance, relative"),
    "residual": (r"\max|f|", "SI", "largest constraint residual"),
    "dissipated": (r"\int \mu|\Lambda||s|\,dt", "J", "work that friction has dissipated"),
}
"""Scalar quantities of every motion: name → LaTeX, unit, meaning."""

MISTAKEN_NAMES = {
    "t": ("time", "times", "ts", "tout"),
    "q": ("x", "y", "z", "state", "states", "positions", "position", "coordinates"),
    "v": ("velocity", "velocities", "speed", "speeds", "qd", "xd"),
    "multipliers": ("lam", "lambda_", "lambdas", "reactions"),
}
"""Attribute of a motion → its name in other programs."""


class ReactionName(str):
    """The name of a constraint, wall or friction whose reaction is meant; a joint and its limits share a name."""


class State(NamedTuple):
    """A time (s) with coordinates (nq,) and velocities (nv,), SI."""

    t: float
    q: Array
    v: Array


class Series(NamedTuple):
    """A scalar along a motion: `values` (k,), with its name, LaTeX, unit and meaning."""

    name: str
    latex: str
    units: str
    meaning: str
    values: Array


@dataclass(frozen=True)
class Drift:
    """Largest |f| over all rows, SI: of positions and of velocities at the samples.

    before: the largest of both at the ends of steps before projection, including distances and rates of closed faces and slips
    of sticking frictions.
    """

    position: float
    velocity: float
    before: float | None

    def __str__(self) -> str:
        before = "" if self.before is None else f", {self.before:.1e} before projection"
        return f"position {self.position:.1e}, velocity {self.velocity:.1e}{before}"


@dataclass(frozen=True)
class Verification:
    """The evidence for a motion, as a table: (quantity, value) in words."""

    rows: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        width = max(len(quantity) for quantity, _ in self.rows)
        return "\n".join(f"{quantity:<{width}}  {value}" for quantity, value in self.rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cell = "<td style='text-align:left'>"
        rows = (f"<tr>{cell}{escape(quantity)}</td>{cell}{escape(value)}</td></tr>" for quantity, value in self.rows)
        return f"<table>{''.join(rows)}</table>"

LEAST_EXCHANGED = 1e-6
"""Fraction of |T| + |V| below which exchanged energy does not set the scale of the energy balance."""


class Record:
    """The common interface of `Motion` and `LoadedMotion`."""

    t: Array
    dataset: Any
    status: Status
    message: str
    method: str
    statistics: Mapping[str, Any]
    balance: Array
    energy_scale: float
    residual: Array
    drift: Drift
    name: str
    redundant: tuple[str, ...]
    undetermined: tuple[str, ...]
    coordinate_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    reaction_names: tuple[str, ...]
    contact_names: tuple[str, ...] = ()
    input_names: tuple[str, ...] = ()
    impacts: tuple[Any, ...] = ()
    resets: tuple[Any, ...] = ()
    contacts: tuple[tuple[float, tuple[int, ...]], ...] = ()
    notes: tuple[Note, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def colour_numbers(self) -> Mapping[str, int]:
        """Name of a coordinate, velocity or input → number of its colour: a joint, its rate and its torque share one."""
        return {name: i for names in (self.coordinate_names, self.velocity_names) for i, name in enumerate(names)}

    @property
    def reaction_keys(self) -> tuple[ReactionName, ...]:
        """Keys for `series` that give the reactions of all constraints and walls."""
        return tuple(map(ReactionName, (*self.reaction_names, *self.contact_names)))

    def series(self, key: Any) -> Series:
        """Values with their name, LaTeX and unit, by symbol, name, constraint, or a name of `QUANTITIES`."""
        raise NotImplementedError

    def has(self, key: Any) -> bool:
        """Whether this quantity can be drawn."""
        return True

    def fine(self, points: int) -> Record:
        """The same motion at about `points` times or more, if it can provide them; a loaded motion cannot."""
        return self

    def __len__(self) -> int:
        return len(self.t)

    @property
    def ok(self) -> bool:
        """Whether the run reached its end, or a requested stop, and there are no doubts about its motion."""
        return self.status in AS_ASKED and not self.doubts

    @property
    def energy_error(self) -> Array:
        """(H − H(0) − ∫ power dt)/E, (k,), with E = `energy_scale`."""
        with np.errstate(invalid="ignore", over="ignore"):
            return self.balance / self.energy_scale

    def verify(self) -> Verification:
        """Status, energy balance and constraint residuals in a small table."""
        count = self.statistics
        work = ", ".join(f"{count[key]} {key}" for key in ("steps", "rejected", "evaluations") if key in count)
        balance, relative = (np.abs(e).max(initial=0.0) for e in (self.balance, self.energy_error))
        rows = [
            ("status", self.message or STATUS_TEXT[self.status]),
            ("samples", f"{len(self)}, {_interval(self.t)}"),
            ("method", self.method + (f": {work}" if work else "")),
            ("energy balance", f"{balance:.1e} J, {relative:.1e} relative"),
        ]
        if self.input_names:
            names = ", ".join(self.input_names[:6]) + (", …" if len(self.input_names) > 6 else "")
            rows.append(("control", f"{count.get('readings', 0)} readings, inputs {names}"))
        if self.reaction_names or self.drift.position:  # a quaternion can drift even without constraints
            rows.append(("constraint residuals", str(self.drift)))
        if self.contact_names:
            kinds = Counter(impact.kind for impact in self.impacts)
            rows.append(("impacts", ", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "none"))
        if self.resets:
            kinds = Counter(event.reset for event in self.resets)
            rows.append(("resets", ", ".join(f"{n} '{name}'" for name, n in kinds.items())))
        if count.get("start_moved", 0.0) > 1e-15:  # more than rounding
            rows.append(("start", f"moved by {count['start_moved']:.1e} onto the constraints"))
        if self.redundant:
            loose = ", ".join(self.undetermined[:6]) + (", …" if len(self.undetermined) > 6 else "")
            rows.append(("redundant rows", f"{', '.join(self.redundant)}; not unique, of least norm: reactions of {loose}"))
        rows += [("note", note) for note in self.notes]
        rows += [("doubtful", doubt) for doubt in self.doubts]
        return Verification(tuple(rows))

    @checked_keywords()
    def plot(self, *what: Any, against: Any = None, compare: Any = (), axes: Any = None) -> Any:
        """Plots curves over time: coordinates, inputs, reactions, energy error and residual, or `what` is named.

        Symbols, expressions and constraints together make one panel, a list makes a panel of its own. Impacts are ticks on the
        time axis, contact is a grey band. Returns a matplotlib figure, which `plt.show()` and a notebook show once and
        `savefig` writes, as vectors to .pdf, .svg or .pgf.

        Parameters
        ----------
        against: draw `what` over this quantity instead of time, `motion.plot(x.d, against=x)`.
        compare: other motions in the same panels: one, a list of them, or label → motion; or data from elsewhere, measured or
            of another program: label → {"t": times, "x": values, …}, a DataFrame over t, a Dataset; what it lacks is not drawn.
        axes: matplotlib axes to draw on, one for each panel, instead of a new figure.
        """
        return delegate("Motion.plot")(self, *what, against=against, compare=compare, axes=axes)

    @checked_keywords()
    def plot_path(self, x: Any, y: Any, *, compare: Any = (), axes: Any = None) -> Any:
        """The curve (x(t), y(t)) in the plane with equal scales. Returns the matplotlib figure."""
        return delegate("Motion.plot_path")(self, x, y, compare=compare, axes=axes)

    @checked_keywords()
    def plot_phase(self, *coordinates: Any, compare: Any = (), axes: Any = None) -> Any:
        """Phase portraits (q, q̇), of all coordinates or of those named. Returns the matplotlib figure."""
        return delegate("Motion.plot_phase")(self, *coordinates, compare=compare, axes=axes)

    @checked_keywords()
    def animate(self, path: Any = None, *, scene: Any = None, fps: float | None = None) -> Any:
        """The motion as a moving picture: writes .html (a page with a player), .gif, .webp or .mp4, and returns its path.

        Without a path it is a player for a notebook. scene: an `ap.Scene`; by default that of the system. fps: frames a second.
        """
        return delegate("Motion.animate")(self, path, scene=scene, fps=fps)

    @checked_keywords()
    def report(self, path: Any, *, scene: Any = None, forms: Any = None, title: str | None = None) -> Any:
        """Writes one self-contained page, and returns its path: model, equations, animation, linked plots, verification.

        It opens from disk, needs no network, and stays below 4 MB. A motion loaded from a file reports what it contains, and
        says what is missing.

        Parameters
        ----------
        path: of the page, ending with .html.
        scene: an `ap.Scene`; by default that of the system.
        forms: names of the forms of the equations (or `Equations`); Lagrange's, and Appell's with velocity constraints.
        title: of the page; by default the name of the system.
        """
        return delegate("Motion.report")(self, path, scene=scene, forms=forms, title=title)

    def to_csv(self, path: Any) -> Path:
        """Writes the samples as a table, one row a sample, SI: t, coordinates, velocities, reactions, energy …"""
        return write_csv(self.dataset, path)

    def to_pandas(self) -> Any:
        """The samples as a `pandas.DataFrame` over t, (k, columns), SI; impacts are in `impacts`."""
        return frame(self.dataset)

    def __repr__(self) -> str:
        status = "" if self.ok else ", doubtful" if self.status in AS_ASKED else f", {self.status.name}"
        return f"<{type(self).__name__} of {self.name}: {len(self)} samples, {_interval(self.t)}{status}>"

    def __str__(self) -> str:
        return f"{self.name}\n{self.verify()}"

    def _repr_html_(self) -> str:
        return f"<b>{escape(self.name)}</b>{self.verify()._repr_html_()}"


def unknown_name(name: str, owner: str, known: Iterable[str]) -> str:
    """A sentence that says what is unknown, what was probably meant, and what is available."""
    names = list(dict.fromkeys(known))
    close = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    listed = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"{owner} has no '{name}'{hint}; it has {listed or 'none'}"


def reaction_latex(name: str, row: int) -> str:
    """Λ with the name of its constraint if that is a short word, otherwise with its number, counted from 1."""
    plain = len(name) <= 24 and all(c.isalnum() or c in " -_" for c in name)
    escaped = name.replace("_", r"\_").replace(" ", r"\ ").replace("-", r"\text{-}")
    return rf"\Lambda_{{\mathrm{{{escaped}}}}}" if plain else rf"\Lambda_{{{row + 1}}}"


def subdivided(t: Array, parts: int | NDArray[np.int_]) -> Array:
    """The times t with `parts` − 1 equally spaced ones in each interval (or in interval i, parts[i] − 1 of them)."""
    counts = np.broadcast_to(parts, len(t) - 1)
    inside = [start + size * (np.arange(n) / n) for start, size, n in zip(t[:-1], np.diff(t), counts, strict=True)]
    return np.concatenate([*inside, t[-1:]])


def _interval(t: Array) -> str:
    return f"t = {t[0]:g} … {t[-1]:g} s" if len(t) else "no time"
