"""Curves of the vibro-impact laboratory. Loads matplotlib: import it where something is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.patheffects import withStroke
from scipy.interpolate import PchipInterpolator

from appell import typeset
from appell.errors import ModelError
from appell.reading import shown
from appell.rows import singular_values
from appell.show.picture import Picture


def _figure_of(ax: Any, size: tuple[float, float]) -> tuple[Any, Any]:
    """The figure of the given axes with them, or a new one of this size."""
    if ax is not None and not hasattr(ax, "get_figure"):
        raise ModelError(f"ax= are axes of matplotlib, not {shown(ax)}")
    if ax is not None:
        return ax.figure, ax
    figure = Picture(figsize=size, layout="constrained")
    return figure, figure.add_subplot()


def letters_of(name: str) -> str:
    """A name as an axis label: omega as ω, theta.d as θ̇; other text unchanged."""
    letter, _, dots = name.partition(".")
    return typeset.text(letter, len(dots)) if letter.isidentifier() and set(dots) <= {"d"} else name


def resonance_curve(found: Any, ax: Any = None) -> Any:
    """Amplitude over the parameter: stable branches solid, unstable ones dashed, the backbone dotted."""
    figure, ax = _figure_of(ax, (6.4, 4.0))
    drawn: set[str] = set()
    for j in range(found.amplitude.shape[1]):
        for stable, style, colour in ((True, "-", "C0"), (False, "--", "C3")):
            y = np.where(found.stable[:, j] == stable, found.amplitude[:, j], np.nan)
            if np.isfinite(y).any():
                kind = "stable" if stable else "unstable"
                label, marker = None if kind in drawn else kind, "" if _has_line(y) else "."
                ax.plot(found.values, y, style, color=colour, marker=marker, label=label)
                drawn.add(kind)
    low, high = np.nanmin(found.amplitude, initial=np.inf), np.nanmax(found.amplitude, initial=0.0)
    spine = np.where((found.backbone <= 2 * high) & (found.backbone >= 0), found.backbone, np.nan)
    if np.isfinite(spine).any() and low <= high:
        ax.plot(found.values, spine, ":", color="0.4", label="backbone")
    ax.set_xlabel(letters_of(found.name))
    ax.set_ylabel(f"r, {found.averaged.free.meaning}")
    if ax.get_legend_handles_labels()[0]:
        ax.legend()
    return figure


def slow_flow(found: Any, parameters: Any, largest: float | None, ax: Any = None) -> Any:
    """Streamlines of averaged equations in the plane (r cos θ, r sin θ), stable regimes filled, others open; without a
    resonance ṙ over r."""
    figure, ax = _figure_of(ax, (5.4, 5.0))
    r_min = float(found.free.least)
    if found.resonance is None:
        r = np.linspace(r_min, largest or 2 * max(r_min, 1.0), 401)[1:]
        ax.plot(r, found.rates(r, 0.0 * r, parameters)[0])
        ax.axhline(0, color="0.7", lw=0.8)
        ax.set_xlabel(f"r, {found.free.meaning}")
        ax.set_ylabel("dr/dt")
        return figure
    regimes = found.regimes(parameters)
    r_max = largest or 1.6 * max((r for r, *_ in regimes), default=max(r_min, 1.0))
    x = np.linspace(-r_max, r_max, 61)
    X, Y = np.meshgrid(x, x)
    r, theta = np.hypot(X, Y), np.arctan2(Y, X)
    inside = (r > max(r_min, 0.03 * r_max)) & (r < r_max)
    with np.errstate(all="ignore"):
        r_rate, theta_rate = (
            np.where(inside, rate, np.nan) for rate in found.rates(np.where(inside, r, r_max), theta, parameters)
        )
    c, s = np.cos(theta), np.sin(theta)
    ax.streamplot(
        x, x, c * r_rate - s * r * theta_rate, s * r_rate + c * r * theta_rate, color="0.6", linewidth=0.8, density=1.4
    )
    for r0, theta0, values in regimes:
        stable = bool((np.real(values) < 0).all())
        face = "C0" if stable else "white"
        ax.plot(r0 * np.cos(theta0), r0 * np.sin(theta0), "o", ms=7, mfc=face, mec="C0" if stable else "C3", zorder=3)
    ax.set_aspect("equal")
    ax.set_xlabel("r cos θ")
    ax.set_ylabel("r sin θ")
    return figure


def spectrum(values: Any, ax: Any = None) -> Any:
    """Eigenvalues in the complex plane."""
    figure, ax = _figure_of(ax, (5.0, 4.4))
    ax.axvline(0, color="0.7", lw=0.8)
    ax.axhline(0, color="0.7", lw=0.8)
    ax.plot(values.real, values.imag, "o", ms=6)
    ax.set_xlabel("real part, 1/s")
    ax.set_ylabel("imaginary part, rad/s")
    return figure


def amplitudes(found: Any, ax: Any = None) -> Any:
    """Amplitude over frequency of a `Spectrum`, without the mean, on a logarithmic scale."""
    figure, ax = _figure_of(ax, (6.0, 3.6))
    ax.semilogy(found.frequency[1:], np.maximum(found.amplitude[1:], np.finfo(float).tiny), lw=1.0)
    ax.set_xlabel("frequency, Hz")
    ax.set_ylabel(f"amplitude of {letters_of(found.name)}, {found.units}")
    largest = found.amplitude[1:].max(initial=0.0)
    if largest > 0:
        ax.set_ylim(bottom=largest * 1e-9)
    ax.set_xlim(0, found.frequency[-1])
    return figure


def marked_states(columns: list[np.ndarray], names: list[str], stability: tuple[str, ...], ax: Any = None) -> Any:
    """States in a plane, or on a line: stable ones filled, unstable ones open, others grey."""
    figure, ax = _figure_of(ax, (5.0, 4.4))
    x = columns[0]
    y = columns[1] if len(columns) > 1 else np.zeros_like(x)
    for kind in dict.fromkeys(stability):
        face = {"stable": "C0", "unstable": "white"}.get(kind, "0.7")
        chosen = [state_kind == kind for state_kind in stability]
        edge = "C3" if kind == "unstable" else face
        ax.plot(x[chosen], y[chosen], "o", ms=7, mfc=face, mec=edge, label=kind)
    ax.set_xlabel(letters_of(names[0]))
    if len(columns) > 1:
        ax.set_ylabel(letters_of(names[1]))
    else:
        ax.set_yticks([])
    if stability:
        ax.legend()
    return figure


def _has_line(y: np.ndarray) -> bool:
    """Whether a line is visible: two neighbouring values are finite."""
    finite = np.isfinite(y)
    return bool((finite[:-1] & finite[1:]).any())


def growth(found: Any, ax: Any = None) -> Any:
    """The singular values of Φ over time."""
    figure, ax = _figure_of(ax, (6.4, 4.0))
    values = singular_values(found.state)
    ax.semilogy(found.t, np.where(values > 1e-14 * values.max(initial=0.0), values, np.nan))
    ax.set_xlabel("t, s")
    ax.set_ylabel("singular values of ∂z(t)/∂z(0)")
    return figure


POINTS_AS_PIXELS = 20_000
"""More points than this are drawn as pixels, darker where they are denser."""


def scatter(
    x: np.ndarray, y: np.ndarray, x_name: str, y_name: str, ax: Any = None, *, figsize: tuple[float, float] = (5.6, 5.0),
    **style: Any,
) -> Any:  # fmt: skip
    """Points, small where there are many."""
    figure, ax = _figure_of(ax, figsize)
    x, y = x[(finite := np.isfinite(x) & np.isfinite(y))], y[finite]
    if len(x) > POINTS_AS_PIXELS:
        alpha = float(np.clip(60 * POINTS_AS_PIXELS / len(x) / 100, 0.04, 0.6))
        ax.plot(x, y, ",", **{"color": "k", "alpha": alpha, "rasterized": True, **style})
    else:
        size = float(np.clip(6000 / max(len(x), 1), 1, 12))
        ax.scatter(x, y, **{"s": size, "color": "C0", "linewidths": 0, **style})
    ax.set_xlabel(letters_of(x_name))
    ax.set_ylabel(letters_of(y_name))
    return figure


def convergence(found: Any, ax: Any = None) -> Any:
    """Convergence of Lyapunov exponents."""
    figure, ax = _figure_of(ax, (6.4, 4.0))
    begin = found.t[0] - (found.t[1] - found.t[0]) if len(found.t) > 1 else 0.0
    ax.plot(found.t, found.growth / (found.t - begin)[:, None])
    ax.axhline(0, color="0.7", lw=0.8)
    ax.set_xlabel("t, s")
    ax.set_ylabel("Lyapunov exponents, 1/s")
    return figure


def response(found: Any, ax: Any = None) -> Any:
    """Amplitude and phase of a steady response, stacked; values that have not converged as open dots."""
    if ax is None:
        figure = Picture(figsize=(6.4, 5.0), layout="constrained")
        axes = figure.subplots(2, 1, sharex=True)
    else:
        axes = np.ravel(np.asarray(ax, dtype=object))
        if len(axes) != 2:
            raise ModelError(f"ax= are two axes, for amplitude and phase, not {shown(ax)}")
        figure = axes[0].figure
    for panel, y in zip(axes, (found.amplitude, found.phase), strict=True):
        marker = "" if _has_line(np.where(found.settled, y, np.nan)) else "."
        jumps = np.abs(np.diff(y, prepend=y[0])) > np.pi if y is found.phase else np.zeros(len(y), dtype=bool)
        panel.plot(found.values, np.where(found.settled & ~jumps, y, np.nan), marker=marker)
        panel.plot(found.values[~found.settled], y[~found.settled], "o", mfc="white", color="C3", ms=4, label="not settled")
    axes[0].set_ylabel(f"amplitude of {letters_of(found.of)}")
    axes[1].set_ylabel("phase, rad")
    axes[1].set_xlabel(letters_of(found.parameter))
    if not found.settled.all():
        axes[0].legend()
    return figure


def field_map(found: Any, ax: Any = None) -> Any:
    """Finite-time Lyapunov exponents over a plane of starts; white where there is none."""
    figure, ax = _figure_of(ax, (6.2, 5.0))
    shades = ax.pcolormesh(*found.axes, found.exponent.T, shading="nearest", cmap="viridis", rasterized=True)
    figure.colorbar(shades, ax=ax, label=f"exponent over {abs(found.until - found.since):g} s, 1/s")
    ax.set_xlabel(letters_of(found.names[0]))
    ax.set_ylabel(letters_of(found.names[1]))
    return figure


def branch_curve(
    values: np.ndarray, y: np.ndarray, stable: np.ndarray, special: list[tuple[str, float, float]], parameter: str, name: str,
    ax: Any = None,
) -> Any:  # fmt: skip
    """A number over the parameter of a branch: stable solid, unstable dashed; special (kind, value, y) marked."""
    figure, ax = _figure_of(ax, (6.4, 4.0))
    for kind, style, colour in ((True, "-", "C0"), (False, "--", "C3")):
        on_stretch = stable == kind
        if not on_stretch.any():
            continue
        on_stretch[1:] |= stable[:-1] == kind  # lines meet
        drawn, label = False, "stable" if kind else "unstable"
        for start, stop in _true_runs(on_stretch):
            ax.plot(*_rounded(values[start:stop], y[start:stop]), style, color=colour, label=None if drawn else label)
            drawn = True
    for kind in dict.fromkeys(point[0] for point in special):
        points = [point[1:] for point in special if point[0] == kind]
        marker, colour = MARKS.get(kind, ("o", "k"))
        ax.plot(*np.array(points).T, marker, ms=7, color=colour, mec="k", mew=0.6, ls="", label=kind, zorder=3)
    ax.set_xlabel(letters_of(parameter))
    ax.set_ylabel(letters_of(name))
    ax.legend()
    return figure


def plane_curve(
    values: np.ndarray, kind: str, crossings: Any, parameters: tuple[str, str], ax: Any = None,
) -> Any:  # fmt: skip
    """A curve of special points in the plane of two parameters, values (n, 2), with its crossings (kind, (2,), residual)."""
    figure, ax = _figure_of(ax, (6.4, 4.0))
    colour = MARKS.get(kind, ("o", "C0"))[1]
    labelled = ax.get_legend_handles_labels()[1]
    rim = [withStroke(linewidth=3.5, foreground="black" if ax.images or ax.collections else "white")]  # over colours too
    x, y = _rounded(values[:, 0], values[:, 1])
    ax.plot(x, y, color=colour, path_effects=rim, label=None if kind in labelled else kind)
    for name, point, _ in crossings:
        ax.plot(*point, "o", ms=5, mfc="white", color=colour)
        ax.annotate(name, point, textcoords="offset points", xytext=(5, 5), fontsize="small")
    ax.set_xlabel(letters_of(parameters[0]))
    ax.set_ylabel(letters_of(parameters[1]))
    ax.legend()
    return figure


MARKS = {
    "fold": ("o", "#cc3311"),
    "period doubling": ("s", "#ee7733"),
    "Neimark–Sacker": ("D", "#009988"),
    "branch point": ("P", "#aa3377"),
    "grazing": ("^", "#ddaa33"),
    "Hopf": ("v", "#0077bb"),
    "flutter": ("X", "#bbbbbb"),
}
"""Marker and colour of each kind of special point."""


def _true_runs(chosen: np.ndarray) -> list[tuple[int, int]]:
    """(start, stop) of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen.astype(int), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _rounded(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A smooth curve through points in order: cubics over the arc length of the polygon that do not overshoot."""
    step = np.hypot(np.diff(x) / (np.ptp(x) or 1.0), np.diff(y) / (np.ptp(y) or 1.0))
    distinct = np.append(True, step > 0)
    if distinct.sum() < 3 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return x, y
    s = np.concatenate([[0.0], np.cumsum(step[step > 0])])
    fine = np.unique(np.concatenate([s, np.linspace(0, s[-1], 400)]))
    return PchipInterpolator(s, x[distinct])(fine), PchipInterpolator(s, y[distinct])(fine)


def basin_map(found: Any, columns: list[int], ax: Any = None) -> Any:
    """Starts in the colours of their attractors (undecided grey, without motion white); points of attractors on them."""
    from matplotlib.colors import BoundaryNorm, ListedColormap

    figure, ax = _figure_of(ax, (6.2, 5.0))
    shades = [*BASINS, *(f"C{k}" for k in range(10))]
    colours = ["white", "0.6", *(shades[k % len(shades)] for k in range(max(1, len(found.attractors))))]
    norm = BoundaryNorm(np.arange(len(colours) + 1) - 2.5, len(colours))
    ax.pcolormesh(*found.axes, found.labels.T, cmap=ListedColormap(colours), norm=norm, shading="nearest", rasterized=True)
    for k, attractor in enumerate(found.attractors):
        periodic = attractor.kind.startswith("period")
        size = 26 if periodic else 1
        ax.scatter(
            attractor.points[:, columns[0]], attractor.points[:, columns[1]], s=size, color=colours[2 + k], edgecolors="k",
            linewidths=0.8 if periodic else 0, label=f"{attractor.kind}, {100 * attractor.share:.3g} %", zorder=3,
        )  # fmt: skip
    ax.set_xlim(found.axes[0][[0, -1]])
    ax.set_ylim(found.axes[1][[0, -1]])
    ax.set_xlabel(letters_of(found.names[0]))
    ax.set_ylabel(letters_of(found.names[1]))
    if found.attractors:
        ax.legend(loc="upper right", framealpha=0.9, markerscale=1.0)
    return figure


BASINS = ("#4477aa", "#eecc66", "#66aa77", "#cc6677", "#aa88cc", "#88ccee", "#bbbb55", "#996655")
"""Colours of neighbouring basins."""


__all__ = [
    "amplitudes",
    "basin_map",
    "branch_curve",
    "convergence",
    "field_map",
    "growth",
    "letters_of",
    "marked_states",
    "resonance_curve",
    "response",
    "scatter",
    "slow_flow",
    "spectrum",
]
