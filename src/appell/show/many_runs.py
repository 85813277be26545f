"""Pictures of many motions. Loads matplotlib: import it where something is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.show.lab import letters_of, scatter
from appell.show.picture import picture
from appell.show.style import COLOURS, style

CURVES_DRAWN = 200  # curves in one panel; of more, an even selection is drawn


def many_motions(dataset: Any, names: Sequence[str], ax: Any = None) -> Any:
    """One panel for each variable.

    States over time are curves, one for each run; points of a section are a cloud in the plane of the first two states; one
    number for each run is drawn over the varied quantities: over one axis as points, over two as a map, over none as its
    distribution.
    """
    variables = [dataset[name] for name in names or _default_names(dataset)]
    with style():
        if "point" in dataset.dims and not names and len(variables) > 1:
            x, y = (np.ravel(v.values) for v in variables[:2])
            return scatter(x, y, _symbol(variables[0]), _symbol(variables[1]), ax)
        if ax is not None and len(variables) > 1:
            raise ModelError(f"ax= takes one variable, not {len(variables)}; name it: plot('{_symbol(variables[0])}', ax=ax)")
        figure = picture((6.4, 2.6 * len(variables))) if ax is None else ax.figure
        for axes, variable in zip(
            figure.subplots(len(variables), squeeze=False)[:, 0] if ax is None else [ax], variables, strict=True
        ):
            _panel(axes, dataset, variable)
    return figure


def _default_names(dataset: Any) -> list[str]:
    """The coordinates, or the reductions."""
    roles = {str(n): v.attrs.get("role", "reduction" if "reduction" in v.attrs else "") for n, v in dataset.data_vars.items()}
    return [n for n, role in roles.items() if role == "coordinate"] or [n for n, role in roles.items() if role == "reduction"]


def _panel(ax: Any, dataset: Any, variable: Any) -> None:
    time_axis = next((d for d in ("t", "sample", "point") if d in variable.dims), None)
    axes = [dataset[d] for d in variable.dims if d not in ("run", "start", time_axis)]  # the axes of a sweep
    varied = [v for v in dataset.coords.values() if v.attrs.get("role") in ("parameter", "start")]
    if time_axis is not None:
        _curves(ax, dataset, variable, time_axis)
    elif len(axes) == 2 and len(variable.dims) == 2:
        mesh = ax.pcolormesh(axes[1], axes[0], variable.values, shading="nearest", rasterized=True)
        ax.figure.colorbar(mesh, ax=ax, label=_label(variable))
        ax.set_xlabel(_label(axes[1]))
        ax.set_ylabel(_label(axes[0]))
    elif len(axes) == 1:
        ax.plot(axes[0], variable.transpose(axes[0].name, ...).values.reshape(axes[0].size, -1), ".-", ms=3, color=COLOURS[0])
        ax.set_xlabel(_label(axes[0]))
        ax.set_ylabel(_label(variable))
    elif not axes and len(varied) == 2:
        points = ax.scatter(*(v.values for v in varied), c=variable.values, s=9, linewidths=0, rasterized=True)
        ax.figure.colorbar(points, ax=ax, label=_label(variable))
        ax.set_xlabel(_label(varied[0]))
        ax.set_ylabel(_label(varied[1]))
    elif not axes and len(varied) == 1:
        ax.plot(varied[0], variable.values, ".", ms=3)
        ax.set_xlabel(_label(varied[0]))
        ax.set_ylabel(_label(variable))
    else:
        values = variable.values[np.isfinite(variable.values)]
        ax.hist(values, bins="auto" if np.ptp(values) > 0 else 1)
        ax.set_xlabel(_label(variable))
        ax.set_ylabel("runs")


def _curves(ax: Any, dataset: Any, variable: Any, time_axis: str) -> None:
    values = variable.transpose(..., time_axis).values.reshape(-1, variable.sizes[time_axis])
    t = np.broadcast_to(dataset["t"].transpose(..., time_axis).values, variable.transpose(..., time_axis).shape).reshape(
        values.shape
    )
    chosen = np.unique(np.linspace(0, len(values) - 1, min(len(values), CURVES_DRAWN)).astype(int))
    mark = "." if time_axis == "point" else "-"
    opaque = float(np.clip(20 / len(chosen), 0.1, 1.0))
    for k in chosen:
        ax.plot(t[k], values[k], mark, ms=2, color=COLOURS[0], alpha=opaque, lw=0.9)
    ax.set_xlabel("t (s)")
    ax.set_ylabel(_label(variable))
    if len(chosen) < len(values):
        ax.set_title(f"{len(chosen)} of {len(values)} runs", loc="right", color="0.4")


def _symbol(variable: Any) -> str:
    return str(variable.attrs.get("symbol", variable.name))


def _label(variable: Any) -> str:
    """Its name with a unit, where that is known."""
    units = variable.attrs.get("units", "1")
    return letters_of(_symbol(variable)) + ("" if units in ("1", "SI") else f" ({units})")


__all__ = ["many_motions"]
