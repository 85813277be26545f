"""Accelerations and short motions as functions of JAX, with derivatives of every order (extra `[jax]`).

    f = run.jax()
    jax.grad(lambda q: f.acceleration(0.0, q, v)[0])(q)
    jax.hessian(lambda p: f.motion(q, v, p, step=0.01, steps=100)[0][0])(p)

Values and derivatives come from compiled code, which JAX's own compiler calls (`backends.calls.in_jax`); `jit`, `vmap`, `grad`,
`jacfwd`, `jacrev`, `scan` and their compositions work. `differentiable_steps` describes the derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.backends.calls.in_jax import jax_call
from appell.compiled.differentiable_steps import differentiable_steps, refuse_motion
from appell.errors import BackendUnavailable, ModelError

if TYPE_CHECKING:
    from appell.compiled.run import Run


@dataclass(frozen=True, eq=False)
class InJax:
    """A run as functions of JAX; calling it is `acceleration`.

    Arrays are float64 with `jax.config.update("jax_enable_x64", True)`. Without it JAX has float32 only: an evaluation is then
    computed in double precision and rounded at its end, and a motion accumulates the rounding of its steps. Where the equations
    are singular, the results are NaN, since JAX cannot raise an error inside a program.
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
        """(q, v) after `steps` steps of the classical Runge–Kutta method of order 4, without projection onto constraints.

        Systems with unilateral constraints are refused, since these steps have no impacts, and so are systems with forces that
        jump, or bend at known times. Where a force bends with the state (`Abs`, `Max`), a step crosses the bend, and
        derivatives have an error of the order of the step. The step and the initial time may be JAX arrays, too, and can be
        differentiated with respect to.
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

        arrays = [jnp.asarray(x) for x in (q, v, self.run.p if p is None else p)]
        widths = (self.run.form.nq, self.run.form.nv, len(self.run.p))
        for name, x, width in zip("qvp", arrays, widths, strict=True):
            if x.shape != (width,):
                raise ModelError(f"'{name}' has shape {x.shape}, expected ({width},); for batches use jax.vmap")
        dtype = jnp.result_type(float, *arrays[: 2 if p is None else 3])
        if dtype not in (np.float64, np.float32):
            raise ModelError(f"accelerations are computed in float64 or float32, not in {dtype}")
        q, v, p = (x.astype(dtype) for x in arrays)
        return _number("t", t, dtype), jnp.concatenate([q, v]), p


def _number(name: str, value: Any, dtype: Any) -> Any:
    import jax.numpy as jnp

    array = jnp.asarray(value)
    if array.shape or jnp.issubdtype(array.dtype, jnp.complexfloating):
        description = f"an array of {array.dtype} of shape {array.shape}"
        raise ModelError(f"'{name}' is a real number, not {description}; for batches use jax.vmap")
    return array.astype(dtype)


def in_jax(run: Run) -> InJax:
    """See `Run.jax`."""
    try:
        import jax.numpy as jnp
    except ImportError:
        raise BackendUnavailable("run.jax() needs JAX: pip install 'appell[jax]'") from None
    joined = lambda a, lam, margin: jnp.concatenate([a, lam]) + jnp.where(margin > 0, 0.0, jnp.nan)
    return InJax(run, *differentiable_steps(run, jax_call, joined))


__all__ = ["InJax", "in_jax"]
