"""Curves of the vibro-impact laboratory. Loads matplotlib: import it where something is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.show.picture import Picture


def resonance_curve(found: Any, ax: Any = None) -> Any:
    """Amplitude over the parameter: stable branches solid, unstable ones dashed, the backbone dotted."""
    figure = ax.figure if ax is not None else Picture(figsize=(6.4, 4.0), layout="constrained")
    ax = ax if ax is not None else figure.add_subplot()
    drawn: set[str] = set()
    for j in range(found.amplitude.shape[1]):
        for stable, style, colour in ((True, "-", "C0"), (False, "--", "C3")):
            y = np.where(found.stable[:, j] == stable, found.amplitude[:, j], np.nan)
            if np.isfinite(y).any():
                word = "stable" if stable else "unstable"
                label, marker = None if word in drawn else word, "" if _runs(y) else "."
                ax.plot(found.values, y, style, color=colour, marker=marker, label=label)
                drawn.add(word)
    low, high = np.nanmin(found.amplitude, initial=np.inf), np.nanmax(found.amplitude, initial=0.0)
    spine = np.where((found.backbone <= 2 * high) & (found.backbone >= 0), found.backbone, np.nan)
    if np.isfinite(spine).any() and low <= high:
        ax.plot(found.values, spine, ":", color="0.4", label="backbone")
    ax.set_xlabel(found.name)
    ax.set_ylabel(f"r, {found.averaged.free.meaning}")
    if ax.get_legend_handles_labels()[0]:
        ax.legend()
    return figure


def _runs(y: np.ndarray) -> bool:
    """Whether a line is seen: two neighbours are there."""
    there = np.isfinite(y)
    return bool((there[:-1] & there[1:]).any())


def growth(found: Any, ax: Any = None) -> Any:
    """The singular values of Φ over time."""
    figure = ax.figure if ax is not None else Picture(figsize=(6.4, 4.0), layout="constrained")
    ax = ax if ax is not None else figure.add_subplot()
    values = np.linalg.svd(found.state, compute_uv=False)
    ax.semilogy(found.t, np.where(values > 1e-14 * values.max(initial=0.0), values, np.nan))
    ax.set_xlabel("t, s")
    ax.set_ylabel("singular values of ∂z(t)/∂z(0)")
    return figure


def scatter(x: np.ndarray, y: np.ndarray, x_name: str, y_name: str, ax: Any = None, **style: Any) -> Any:
    """Points, small where there are many."""
    figure = ax.figure if ax is not None else Picture(figsize=(5.6, 5.0), layout="constrained")
    ax = ax if ax is not None else figure.add_subplot()
    size = float(np.clip(6000 / max(len(x), 1), 1, 12))
    ax.scatter(x, y, **{"s": size, "color": "C0", "linewidths": 0, **style})
    ax.set_xlabel(x_name)
    ax.set_ylabel(y_name)
    return figure


def convergence(found: Any, ax: Any = None) -> Any:
    """Lyapunov exponents as they settle."""
    figure = ax.figure if ax is not None else Picture(figsize=(6.4, 4.0), layout="constrained")
    ax = ax if ax is not None else figure.add_subplot()
    begin = found.t[0] - (found.t[1] - found.t[0]) if len(found.t) > 1 else 0.0
    ax.plot(found.t, found.growth / (found.t - begin)[:, None])
    ax.axhline(0, color="0.7", lw=0.8)
    ax.set_xlabel("t, s")
    ax.set_ylabel("Lyapunov exponents, 1/s")
    return figure


def branch_curve(found: Any, of: Any, name: str, ax: Any = None) -> Any:
    """A number of each orbit over the parameter: stable solid, unstable dashed, special orbits marked."""
    figure = ax.figure if ax is not None else Picture(figsize=(6.4, 4.0), layout="constrained")
    ax = ax if ax is not None else figure.add_subplot()
    y = np.array([of(orbit) for orbit in found.orbits])
    for stable, style, colour in ((True, "-", "C0"), (False, "--", "C3")):
        near = found.stable == stable
        near[1:] |= found.stable[:-1] == stable  # lines meet
        ax.plot(found.values, np.where(near, y, np.nan), style, color=colour, label="stable" if stable else "unstable")
    for kind in dict.fromkeys(point.kind for point in found.special):
        points = [point for point in found.special if point.kind == kind]
        ax.plot([point.value for point in points], [of(point.orbit) for point in points], "o", ms=5, label=kind)
    ax.set_xlabel(found.parameter)
    ax.set_ylabel(name)
    ax.legend()
    return figure


__all__ = ["branch_curve", "convergence", "growth", "resonance_curve", "scatter"]
