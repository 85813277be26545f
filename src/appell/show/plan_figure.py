"""The picture of a plan. Loads matplotlib: import it where something is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.show.lab import letters_of
from appell.show.picture import Picture

CURVE_TIMES = 600
"""Times at which curves are drawn."""


def plan_figure(plan: Any, *what: Any) -> Any:
    """Controls above states, over time; the simulated motion dotted where it visibly differs from the plan."""
    names = [str(s) for s in what] or list(plan.motion.coordinate_names)
    drawn = [name for name in names if name not in {str(c) for c in plan.controls}]
    steered = [c for c in plan.controls if not what or str(c) in names]
    panels = [*(["controls"] if steered else []), *(["states"] if drawn else [])]
    figure = Picture(figsize=(6.4, 2.3 * max(len(panels), 1) + 0.4), layout="constrained")
    axes = np.atleast_1d(figure.subplots(max(len(panels), 1), 1, sharex=True))
    for kind, ax in zip(panels, axes, strict=False):
        if kind == "controls":
            t = np.linspace(plan.t[0], plan.t[-1], CURVE_TIMES)
            for c, values in plan.control_at(t).items():
                if c in steered:
                    ax.plot(t, values, label=letters_of(str(c)))
        else:
            fine = plan.motion.fine(CURVE_TIMES)
            for k, name in enumerate(drawn):
                ax.plot(fine.t, fine[name], color=f"C{k}", label=letters_of(name))
                if plan.simulated is not None and not plan.error < 1e-3:
                    ax.plot(plan.simulated.t, plan.simulated[name], ":", color=f"C{k}")
        ax.legend(loc="best")
        ax.grid(True, color="0.92")
    axes[0].set_title(f"{plan.system.name}: objective {plan.objective:.6g}", fontsize=10)
    axes[-1].set_xlabel("t, s")
    return figure


__all__ = ["plan_figure"]
