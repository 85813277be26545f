"""The picture of a plan. Loads matplotlib: import it where something is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.show.lab import letters_of
from appell.show.picture import picture
from appell.show.style import COLOURS, style

CURVE_TIMES = 600
"""Times at which curves are drawn."""


def plan_figure(plan: Any, *what: Any) -> Any:
    """Controls above states, over time; the simulated motion dotted where it visibly differs from the plan.

    Of a plan that was not simulated the coordinates and velocities of its mesh are drawn.
    """
    names = [str(s) for s in what] or _coordinates(plan)
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


def _coordinates(plan: Any) -> list[str]:
    """The coordinates that can be drawn: none of a plan from a pickle that was not simulated."""
    if plan.motion is not None:
        return list(plan.motion.coordinate_names)
    return [] if plan.session is None else [str(s) for s in plan.session.model.request.system.positions]


def _controls(plan: Any, steered: list[Any], ax: Any) -> None:
    t = plan.t if plan.session is None else np.linspace(plan.t[0], plan.t[-1], CURVE_TIMES)
    values = plan.controls if plan.session is None else plan.control_at(t)
    for k, c in enumerate(steered):
        ax.plot(t, values[c], color=COLOURS[k % len(COLOURS)], label=letters_of(str(c)))


def _states(plan: Any, drawn: list[str], ax: Any) -> None:
    t, curves = _of_mesh(plan, drawn) if plan.motion is None else _of_motion(plan, drawn)
    for k, (name, y) in enumerate(zip(drawn, curves, strict=True)):
        ax.plot(t, y, color=COLOURS[k % len(COLOURS)], label=letters_of(name))
        if plan.simulated is not None and not plan.error < 1e-3:
            ax.plot(plan.simulated.t, plan.simulated[name], ":", color=COLOURS[k % len(COLOURS)])


def _of_motion(plan: Any, drawn: list[str]) -> tuple[Any, list[Any]]:
    fine = plan.motion.fine(CURVE_TIMES)
    return fine.t, [fine[name] for name in drawn]


def _of_mesh(plan: Any, drawn: list[str]) -> tuple[Any, list[Any]]:
    """Times and states of a plan that was not simulated, by the polynomials of its mesh."""
    t = np.linspace(plan.t[0], plan.t[-1], CURVE_TIMES)
    table = {} if plan.session is None else _states_on(plan.session, t)
    unavailable = [name for name in drawn if name not in table]
    if unavailable:
        raise ModelError(
            f"{unavailable[0]} cannot be drawn: the plan was not simulated, and its mesh knows {', '.join(table) or 'nothing'};"
            " take plan.again(…, judge=True)"
        )
    return t, [table[name] for name in drawn]


def _states_on(session: Any, t: Any) -> dict[str, Any]:
    return dict(zip(map(str, session.model.request.states), session.states_at(t).T, strict=True))


__all__ = ["plan_figure"]
