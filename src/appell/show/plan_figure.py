"""The picture of a plan. Loads matplotlib: import it where something is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.show.lab import letters_of
from appell.show.picture import picture
from appell.show.style import COLOURS, style

CURVE_TIMES = 600
"""Times at which curves are drawn."""


def plan_figure(plan: Any, *what: Any) -> Any:
    """Controls above states, over time; the simulated motion dotted where it visibly differs from the plan."""
    names = [str(s) for s in what] or list(plan.motion.coordinate_names)
    drawn = [name for name in names if name not in {str(c) for c in plan.controls}]
    steered = [c for c in plan.controls if not what or str(c) in names]
    panels = [*(["controls"] if steered else []), *(["states"] if drawn else [])]
    with style():
        figure = picture((6.4, 2.3 * max(len(panels), 1) + 0.4))
        axes = np.atleast_1d(figure.subplots(max(len(panels), 1), 1, sharex=True))
        for kind, ax in zip(panels, axes, strict=False):
            if kind == "controls":
                _controls(plan, steered, ax)
            else:
                _states(plan, drawn, ax)
            ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderaxespad=0.2)
        axes[0].set_title(f"{plan.system.name}: objective {plan.objective:.6g}", loc="left")
        axes[-1].set_xlabel("$t$ (s)")
        figure.draw_without_rendering()
    return figure


def _controls(plan: Any, steered: list[Any], ax: Any) -> None:
    t = np.linspace(plan.t[0], plan.t[-1], CURVE_TIMES)
    values = plan.control_at(t)
    for k, c in enumerate(steered):
        ax.plot(t, values[c], color=COLOURS[k % len(COLOURS)], label=letters_of(str(c)))


def _states(plan: Any, drawn: list[str], ax: Any) -> None:
    fine = plan.motion.fine(CURVE_TIMES)
    for k, name in enumerate(drawn):
        ax.plot(fine.t, fine[name], color=COLOURS[k % len(COLOURS)], label=letters_of(name))
        if plan.simulated is not None and not plan.error < 1e-3:
            ax.plot(plan.simulated.t, plan.simulated[name], ":", color=COLOURS[k % len(COLOURS)])


__all__ = ["plan_figure"]
