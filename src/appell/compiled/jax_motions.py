"""Accelerations and short motions as functions of JAX, with derivatives of every order (extra `[jax]`).

    f = run.jax()
    jax.grad(lambda q: f.acceleration(0.0, q, v)[0])(q)
    jax.hessian(lambda p: f.motion(q, v, p, step=0.01, steps=100)[0][0])(p)

Values and derivatives come from compiled code, which JAX's own compiler calls (`backends.calls.in_jax`); `jit`, `vmap`, `grad`,
`jacfwd`, `jacrev`, `scan` and their compositions work. Accelerations that are one graph, ż = f(t, z, p), are differentiated on
it. Where a routine solves for y = (a, Λ) (many unknowns, given reactions, Gauss's minimum), R(t, z, p, y) = 0 gives

    R_y y' = −R_t t' − R_z z' − R_p p',        ż' = ż_t t' + ż_z z' + ż_p p' + ż_y y',

whose parts are graphs again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.backends.calls.in_jax import Implicit, jax_call
from appell.compiled.jacobian import refuse_kinks
from appell.errors import BackendUnavailable, FormNotApplicable, ModelError
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


@dataclass(frozen=True, eq=False)
class InJax:
    """A run as functions of JAX; calling it is `acceleration`.

    Arrays are float64 with `jax.config.update("jax_enable_x64", True)`. Without it JAX has float32 only: an evaluation is then
    computed in double precision and rounded at its end, and a motion gathers the rounding of its steps. Where the equations are
    singular the results are NaN, for JAX cannot raise an error in the middle of a program.
    """

    run: Run
    slope: Callable[[Any, Any, Any], Any]  # (t, z, p) → ż
    advance: Callable[[Any, Any, Any, Any], Any]  # (t, z, p, h) → z after a step

    def acceleration(self, t: Any, q: Any, v: Any, p: Any = None) -> Any:
        """a (nv,) at a state; p (np,) in the order of `system.parameters`, those of the run by default."""
        t, z, p = self._arrays(t, q, v, p)
        return self.slope(t, z, p)[self.run.form.nq :]

    __call__ = acceleration

    def motion(self, q: Any, v: Any, p: Any = None, *, step: Any, steps: int, since: Any = 0.0) -> tuple[Any, Any]:
        """(q, v) after so many steps of the classical method of order 4; no projection onto constraints.

        A system with unilateral constraints is refused: these steps know no impacts. So is one that jumps or bends at known
        times, or jumps with the state. The step and the first time may be arrays
        of JAX too, and be differentiated by.
        """
        import jax
        import jax.numpy as jnp

        refuse_motion(self.run, steps)
        t, z, p = self._arrays(since, q, v, p)
        h = _number("step", step, z.dtype)

        end, _ = jax.lax.scan(lambda z, k: (self.advance(t + k * h, z, p, h), None), z, jnp.arange(steps, dtype=z.dtype))
        return end[: self.run.form.nq], end[self.run.form.nq :]

    def _arrays(self, t: Any, q: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
        """(t, z, p) of one type; shapes are known while JAX traces."""
        import jax.numpy as jnp

        given = [jnp.asarray(x) for x in (q, v, self.run.p if p is None else p)]
        widths = (self.run.form.nq, self.run.form.nv, len(self.run.p))
        for name, x, wanted in zip("qvp", given, widths, strict=True):
            if x.shape != (wanted,):
                raise ModelError(f"'{name}' has shape {x.shape}, expected ({wanted},); for batches use jax.vmap")
        kind = jnp.result_type(float, *given[: 2 if p is None else 3])
        if kind not in (np.float64, np.float32):
            raise ModelError(f"accelerations are computed in float64 or float32, not in {kind}")
        q, v, p = (x.astype(kind) for x in given)
        return _number("t", t, kind), jnp.concatenate([q, v]), p


def refuse_motion(run: Run, steps: Any) -> None:
    """`ModelError` where steps of one size are none for a system, or are no number."""
    faces, name = [face.name for face in run.system.unilateral], run.system.name
    if faces:
        raise ModelError(
            f"f.motion knows no walls, and '{name}' has '{faces[0]}': its steps would pass through; use"
            " ap.simulate or ap.simulate_many, or leave the unilateral constraints out of the model"
        )
    refuse_resets(run, "f.motion", "use ap.simulate or ap.simulate_many")
    if jump := _jump(run):
        raise ModelError(
            f"f.motion takes steps of one size, and '{name}' jumps or bends {jump}: they would read both"
            " sides; use ap.simulate or ap.simulate_many, which stop there, or a smooth function"
        )
    if not isinstance(steps, int | np.integer) or isinstance(steps, bool) or steps < 0:
        raise ModelError(f"a motion takes a number of steps, a whole one from 0 on, not {shown(steps)}")


def refuse_slopes(run: Run) -> None:
    """Where accelerations have no derivatives, or are no function of the parameters."""
    if run.schedule is not None:
        why = "a record, whose numbers change from sample to sample; give it as an input"
        raise FormNotApplicable(f"{run.system.name} has {why}")
    refuse_kinks(run)


def _jump(run: Run) -> str:
    """Where something jumps that steps of one size would pass, in words; nothing where nothing does."""
    breaks, sides = breaks_of(run.system), sided(run.system)
    if breaks.phases or breaks.located:
        return f"at times ({breaks.phases[0].value if breaks.phases else breaks.located[0]} decides them)"
    jumping = [surface.text for surface in sides.surfaces if surface.jumps] if sides is not None else []
    return f"where {jumping[0]} = 0" if jumping else ""


def _number(name: str, value: Any, kind: Any) -> Any:
    import jax.numpy as jnp

    array = jnp.asarray(value)
    if array.shape or jnp.issubdtype(array.dtype, jnp.complexfloating):
        said = f"an array of {array.dtype} of shape {array.shape}"
        raise ModelError(f"'{name}' is a real number, not {said}; for batches use jax.vmap")
    return array.astype(kind)


def in_jax(run: Run) -> InJax:
    """See `Run.jax`."""
    try:
        import jax  # noqa: F401
    except ImportError:
        raise BackendUnavailable("run.jax() needs JAX: pip install 'appell[jax]'") from None
    refuse_slopes(run)
    motion = flow(run.form, run.policies, work=False)
    if not isinstance(motion.rhs, Fn):
        slope = _implicit(run, motion)
        return InJax(run, slope, partial(classical_step, slope))
    call = lambda fn: lambda *x: jax_call(fn, run.backend, *x)[0]
    slope = call(smooth_slope(motion.rhs))
    whole = motion.rhs.operations <= STEP_IN_ONE_GRAPH
    return InJax(run, slope, call(step_function(motion.rhs)) if whole else partial(classical_step, slope))


STEP_IN_ONE_GRAPH = 500
"""Operations of a right-hand side up to which a whole step is one graph: a quarter of the calls, four times the text."""


def classical_step(slope: Callable[[Any, Any, Any], Any], t: Any, z: Any, p: Any, h: Any) -> Any:
    """z after a step of the classical method of order 4."""
    k1 = slope(t, z, p)
    k2 = slope(t + h / 2, z + h / 2 * k1, p)
    k3 = slope(t + h / 2, z + h / 2 * k2, p)
    k4 = slope(t + h, z + h * k3, p)
    return z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@remembered
def step_function(rhs: Fn) -> Smooth:
    """(t, z, p, h) → z after a step, on the graph."""
    slopes = smooth_slope(rhs)
    at = {port.name: symbols(port.name, port.size) for port in rhs.inputs}
    assert slopes.doubt is not None
    h, doubts, doubted = symbols("h", 1), [], slopes.doubt

    def slope(*x: Any) -> Any:
        doubts.extend(apply(doubted, *x).values())
        return apply(slopes.fn, *x)["zd"]

    end = classical_step(slope, at["t"], at["z"], at["p"], h)
    inputs = {**{port.name: (at[port.name], port.shape) for port in rhs.inputs}, "h": (h, ())}
    doubt = make_fn("doubt", inputs, {"doubt": (sum(doubts, Value(0)), ())})
    return Smooth(make_fn("step", inputs, {"end": (end, end.shape[:1])}), (), doubt)


@remembered
def smooth_slope(rhs: Fn) -> Smooth:
    return smooth(rhs, "zd", "margin")


def _implicit(run: Run, motion: Flow) -> Callable[[Any, Any, Any], Any]:
    """By y(t, q, v, p), which a routine solves for."""
    import jax.numpy as jnp

    solved, rest, nq = solved_equations(motion, acceleration(run.form, run.policies)), Smooth(motion.implicit()), run.form.nq

    def slope(t: Any, z: Any, p: Any) -> Any:
        a, lam, margin = jax_call(solved, run.backend, t, z[:nq], z[nq:], p)
        y = jnp.concatenate([a, lam]) + jnp.where(margin > 0, 0.0, jnp.nan)
        return jax_call(rest, run.backend, t, z, p, y)[0]

    return slope


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


__all__ = ["InJax", "in_jax"]
