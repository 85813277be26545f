"""Accelerations and short motions as functions of JAX, with derivative rules from the graph (extra `[jax]`).

    f = run.jax()
    jax.grad(lambda q: f.acceleration(0.0, q, v)[0])(q)
    jax.grad(lambda p: f.motion(q, v, p, step=0.01, steps=100)[0][0])(p)

Values come from the compiled code through a callback; its rule is ż' = ż_t t' + ż_z z' + ż_p p', so that forward and reverse
derivatives, `jit` and `vmap` work. Second derivatives do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import BackendUnavailable, ModelError
from appell.simulate.jacobian import slopes_of

if TYPE_CHECKING:
    from appell.simulate.run import Run


@dataclass(frozen=True, eq=False)
class InJax:
    """A run as functions of JAX; calling it is `acceleration`."""

    run: Run
    slope: Any  # (t, z, p) → ż, with its rule

    def acceleration(self, t: Any, q: Any, v: Any, p: Any = None) -> Any:
        """a (nv,) at a state; p (np,) in the order of `system.parameters`, those of the run by default."""
        import jax.numpy as jnp

        z = self._state(q, v)
        return self.slope(jnp.asarray(t, z.dtype), z, self._parameters(p, z))[self.run.form.nq :]

    __call__ = acceleration

    def motion(self, q: Any, v: Any, p: Any = None, *, step: float, steps: int, since: float = 0.0) -> tuple[Any, Any]:
        """(q, v) after so many steps of the classical method of order 4; no projection onto constraints."""
        import jax
        import jax.numpy as jnp

        if not (isinstance(steps, int) and steps >= 0 and np.isfinite(step)):
            raise ModelError(f"a motion takes a finite step and a number of steps, not {step!r} and {steps!r}")
        z = self._state(q, v)
        given = self._parameters(p, z)

        def advance(z: Any, t: Any) -> tuple[Any, None]:
            k1 = self.slope(t, z, given)
            k2 = self.slope(t + step / 2, z + step / 2 * k1, given)
            k3 = self.slope(t + step / 2, z + step / 2 * k2, given)
            k4 = self.slope(t + step, z + step * k3, given)
            return z + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

        end, _ = jax.lax.scan(advance, z, since + step * jnp.arange(steps, dtype=z.dtype))
        return end[: self.run.form.nq], end[self.run.form.nq :]

    def _state(self, q: Any, v: Any) -> Any:
        import jax.numpy as jnp

        q, v = jnp.asarray(q), jnp.asarray(v)
        for name, given, wanted in (("q", q, self.run.form.nq), ("v", v, self.run.form.nv)):
            _refuse_shape(name, given, wanted)
        return jnp.concatenate([q, v])

    def _parameters(self, p: Any, z: Any) -> Any:
        import jax.numpy as jnp

        given = jnp.asarray(self.run.p if p is None else p, z.dtype)
        _refuse_shape("p", given, len(self.run.p))
        return given


def _refuse_shape(name: str, given: Any, wanted: int) -> None:
    """Shapes are known while JAX traces: an error of its callback would hide this one."""
    if given.shape != (wanted,):
        raise ModelError(f"'{name}' has shape {given.shape}, expected ({wanted},); for batches use jax.vmap")


def in_jax(run: Run) -> InJax:
    """See `Run.jax`."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        raise BackendUnavailable("run.jax() needs JAX: pip install 'appell[jax]'") from None
    slopes, nq = slopes_of(run), run.form.nq

    def values(kind: Any, t: Any, z: Any, p: Any) -> Any:
        """ż and its derivatives in one row, any batch before."""
        t, z, p = (np.asarray(x, dtype=float) for x in (t, z, p))
        lead = np.broadcast_shapes(t.shape, z.shape[:-1], p.shape[:-1])
        count = int(np.prod(lead, dtype=int))
        tails = [(t, ()), (z, z.shape[-1:]), (p, p.shape[-1:])]
        flat = [np.broadcast_to(x, (*lead, *tail)).reshape(count, *tail) for x, tail in tails]
        out = slopes(flat[0], flat[1][:, :nq], flat[1][:, nq:], flat[2])
        row = np.concatenate([out.zd, out.t, out.z.reshape(count, -1), out.p.reshape(count, -1)], axis=1)
        return row.reshape(*lead, row.shape[1]).astype(kind)

    nz, k = run.form.nq + run.form.nv, len(run.p)

    def called(t: Any, z: Any, p: Any) -> Any:
        kind = jnp.result_type(z)  # as it is traced: the callback runs in another thread
        shape = jax.ShapeDtypeStruct((2 * nz + nz * nz + nz * k,), kind)
        return jax.pure_callback(partial(values, kind), shape, t, z, p, vmap_method="broadcast_all")

    @jax.custom_jvp
    def slope(t: Any, z: Any, p: Any) -> Any:
        return called(t, z, p)[:nz]

    @slope.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        row = called(*primals)
        zd, by_t, by_z, by_p = jnp.split(row, [nz, 2 * nz, 2 * nz + nz * nz])
        t, z, p = tangents
        return zd, by_t * t + by_z.reshape(nz, nz) @ z + by_p.reshape(nz, k) @ p

    return InJax(run, slope)


__all__ = ["InJax", "in_jax"]
