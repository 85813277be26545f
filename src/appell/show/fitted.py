"""Measured points on computed curves, with residuals below. Loads matplotlib: import it where something is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.show.picture import picture
from appell.show.style import COLOURS, axis_label, style

CURVE_POINTS = 1000
"""Points of a computed curve."""


def fitted_curves(found: Any, axes: Any = None) -> Any:
    """One column for each measured quantity: measurements and motion above, measured minus computed with ±2σ below.

    axes: (2, quantities) axes of matplotlib to draw into; a new figure by default.
    """
    names = list(dict.fromkeys(channel.name for experiment in found.experiments for channel in experiment.channels))
    with style():
        if axes is None:
            figure = picture((4.2 * len(names) + 0.6, 4.2))
            axes = figure.subplots(2, len(names), sharex="col", squeeze=False, gridspec_kw={"height_ratios": (2.4, 1)})
        axes = np.asarray(axes, dtype=object)
        if axes.shape != (2, len(names)) or not all(hasattr(ax, "get_figure") for ax in axes.flat):
            raise ModelError(f"axes= are (2, {len(names)}) axes of matplotlib: values above, residuals below")
        for column, name in zip(axes.T, names, strict=True):
            _column(found, name, column)
        return axes[0, 0].get_figure()


def _column(found: Any, name: str, column: Any) -> None:
    above, below = column
    several = len(found.experiments) > 1
    for i, (experiment, motion, values) in enumerate(zip(found.experiments, found.motions, found.predicted, strict=True)):
        colour = COLOURS[i % len(COLOURS)]
        for channel, y in zip(experiment.channels, values, strict=True):
            if channel.name != name:
                continue
            above.set_ylabel(axis_label(motion.series(channel.expression)))
            times = np.unique(np.concatenate([np.linspace(motion.span[0], motion.span[1], CURVE_POINTS), experiment.times]))
            label = f"experiment {i + 1}" if several else "computed"
            above.plot(times, motion.at(times)[channel.expression], color=colour, label=label)
            above.plot(experiment.times, channel.values, ".", color=colour if several else "0.25", ms=3,
                       label=None if several else "measured")  # fmt: skip
            below.plot(experiment.times, channel.values - y, ".", color=colour if several else "0.25", ms=3)
            if experiment.fitted < len(experiment.times):
                for ax in column:
                    ax.axvspan(experiment.times[experiment.fitted], experiment.times[-1], color="0.93", lw=0,
                               label="held out" if ax is above and not i else None)  # fmt: skip
    level = found.noise[name]
    below.axhspan(-2 * level, 2 * level, color=COLOURS[0], alpha=0.12, lw=0)
    below.axhline(0, color="0.5", lw=0.6)
    below.set_ylabel("residual, ±2σ")
    below.set_xlabel("t, s")
    above.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2)
