"""Slopes and steps with derivatives, for libraries with automatic differentiation: `jax_motions` and `torch_motions`.

If the accelerations are one graph, ż = f(t, z, p), it is differentiated directly. Where a routine solves for y = (a, Λ) (many
unknowns, given reactions, Gauss's minimum), R(t, z, p, y) = 0 gives

    R_y y' = −R_t t' − R_z z' − R_p p',        ż' = ż_t t' + ż_z z' + ż_p p' + ż_y y',

and all these terms are graphs again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from appell.backends.calls.in_jax import Implicit
from appell.compiled.jacobian import refuse_kinks
from appell.errors import FormNotApplicable, ModelError
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, apply, column, jacobian, row_major, symbols
from appell.graph.smooth import Smooth, smooth
from appell.model.breaks import breaks_of
from appell.model.reset import refuse_resets
from appell.model.sides import sided
from appell.normal_form.flow import Flow, acceleration, flow
from appell.reading import shown
from appell.remember import remembered

if TYPE_CHECKING:
    from appell.compiled.run import Run

STEP_IN_ONE_GRAPH = 500
"""Most operations of a right-hand side for a whole step to be one graph: a quarter of the calls, four times the code."""


class DifferentiableSteps(NamedTuple):
    """slope: (t, z, p) → ż; advance: (t, z, p, h) → z after a step."""

    slope: Callable[[Any, Any, Any], Any]
    advance: Callable[[Any, Any, Any, Any], Any]


def differentiable_steps(
    run: Run, call: Callable[..., tuple[Any, ...]], joined: Callable[[Any, Any, Any], Any]
) -> DifferentiableSteps:
    """Slopes and steps of a run, with the arrays of a library.

    call: (function, back end, arrays…) → its outputs. joined: (a, Λ, margin) → y = (a, Λ), NaN unless the margin is > 0.
    """
    refuse_slopes(run)
    motion = flow(run.form, run.policies, work=False)
    if not isinstance(motion.rhs, Fn):
        slope = _implicit_slope(run, motion, call, joined)
        return DifferentiableSteps(slope, partial(classical_step, slope))
    first_output = lambda fn: lambda *x: call(fn, run.backend, *x)[0]
    slope = first_output(smooth_slope(motion.rhs))
    one_graph = motion.rhs.operations <= STEP_IN_ONE_GRAPH
    return DifferentiableSteps(slope, first_output(step_function(motion.rhs)) if one_graph else partial(classical_step, slope))


def _implicit_slope(
    run: Run, motion: Flow, call: Callable[..., tuple[Any, ...]], joined: Callable[[Any, Any, Any], Any]
) -> Callable[[Any, Any, Any], Any]:
    """The slope from y(t, q, v, p), for which a routine solves."""
    solved, zd, nq = solved_equations(motion, acceleration(run.form, run.policies)), Smooth(motion.implicit()), run.form.nq

    def slope(t: Any, z: Any, p: Any) -> Any:
        y = joined(*call(solved, run.backend, t, z[..., :nq], z[..., nq:], p))
        return call(zd, run.backend, t, z, p, y)[0]

    return slope


def classical_step(slope: Callable[[Any, Any, Any], Any], t: Any, z: Any, p: Any, h: Any) -> Any:
    """z after a step of the classical Runge–Kutta method of order 4."""
    k1 = slope(t, z, p)
    k2 = slope(t + h / 2, z + h / 2 * k1, p)
    k3 = slope(t + h / 2, z + h / 2 * k2, p)
    k4 = slope(t + h, z + h * k3, p)
    return z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@remembered
def step_function(rhs: Fn) -> Smooth:
    """(t, z, p, h) → z after a step, on the graph."""
    slopes = smooth_slope(rhs)
    by_name = {port.name: symbols(port.name, port.size) for port in rhs.inputs}
    assert slopes.doubt is not None
    h, doubts, doubted = symbols("h", 1), [], slopes.doubt

    def slope(*x: Any) -> Any:
        doubts.extend(apply(doubted, *x).values())
        return apply(slopes.fn, *x)["zd"]

    end = classical_step(slope, by_name["t"], by_name["z"], by_name["p"], h)
    inputs = {**{port.name: (by_name[port.name], port.shape) for port in rhs.inputs}, "h": (h, ())}
    doubt = make_fn("doubt", inputs, {"doubt": (sum(doubts, Value(0)), ())})
    return Smooth(make_fn("step", inputs, {"end": (end, end.shape[:1])}), (), doubt)


@remembered
def smooth_slope(rhs: Fn) -> Smooth:
    return smooth(rhs, "zd", "margin")


@remembered
def solved_equations(motion: Flow, accelerations: Any) -> Implicit:
    """(t, q, v, p) → a, Λ, margin with the equations R(t, q, v, p, y) = 0 of y = (a, Λ) and R_y."""
    implicit = motion.implicit()
    ports = (*accelerations.inputs, implicit.inputs[-1])
    x = [symbols(port.name, port.size) for port in ports]
    R = apply(implicit, x[0], column(x[1], x[2]), x[3], x[4])["residual"]
    inputs = {port.name: (value, port.shape) for port, value in zip(ports, x, strict=True)}
    R_y = jacobian(R, x[4])
    residual = make_fn("residual", inputs, {"R": (R, R.shape[:1])})
    return Implicit(accelerations, Smooth(residual), Smooth(make_fn("matrix", inputs, {"R_y": (row_major(R_y), R_y.shape)})))


def refuse_motion(run: Run, steps: Any) -> None:
    """Raises `ModelError` if fixed steps do not suit a system, or `steps` is not a whole number."""
    faces, name = [face.name for face in run.system.unilateral], run.system.name
    if faces:
        raise ModelError(
            f"f.motion ignores walls, and '{name}' has '{faces[0]}': its steps would pass through it; use"
            " ap.simulate or ap.simulate_many, or leave the unilateral constraints out of the model"
        )
    refuse_resets(run, "f.motion", "use ap.simulate or ap.simulate_many")
    if jump := _jump(run):
        raise ModelError(
            f"f.motion takes fixed steps, and '{name}' jumps or has a kink {jump}: a step would cross"
            " it; use ap.simulate or ap.simulate_many, which stop there, or a smooth function"
        )
    if not isinstance(steps, int | np.integer) or isinstance(steps, bool) or steps < 0:
        raise ModelError(f"steps= is a whole number, 0 or more, not {shown(steps)}")


def refuse_slopes(run: Run) -> None:
    """Refuses systems whose accelerations have no derivatives, or are not a function of the parameters."""
    if run.schedule is not None:
        reason = "a record, whose numbers change from sample to sample; give it as an input"
        raise FormNotApplicable(f"{run.system.name} has {reason}")
    refuse_kinks(run)


def _jump(run: Run) -> str:
    """A description of a discontinuity that fixed steps would ignore; empty if there is none."""
    breaks, sides = breaks_of(run.system), sided(run.system)
    if breaks.phases or breaks.located:
        return f"at times ({breaks.phases[0].value if breaks.phases else breaks.located[0]} decides them)"
    jumping = [surface.text for surface in sides.surfaces if surface.jumps] if sides is not None else []
    return f"where {jumping[0]} = 0" if jumping else ""


__all__ = ["DifferentiableSteps", "differentiable_steps", "refuse_motion"]
