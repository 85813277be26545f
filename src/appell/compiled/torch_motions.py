"""Accelerations and short motions as functions of PyTorch, with reverse derivatives of every order (extra `[torch]`).

    f = run.torch()
    f.acceleration(0.0, q, v, p)[0].backward()
    end, _ = f.motion(q, v, p, step=0.01, steps=100)

Functions, derivatives and limits are those of `jax_motions`. Batches need no `vmap`: their axes come first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from appell.backends.calls.in_torch import torch_call
from appell.compiled.differentiable_steps import differentiable_steps, refuse_motion
from appell.errors import BackendUnavailable, ModelError
from appell.reading import shown

if TYPE_CHECKING:
    from appell.compiled.run import Run


@dataclass(frozen=True, eq=False)
class InTorch:
    """A run as functions of PyTorch; calling it is `acceleration`.

    Tensors are float64 or float32; with the latter, each evaluation is made in double precision and rounded at its end. Batch
    axes come before those of a state: q (…, nq). An argument without them, such as p, is shared by the batch, and so is its
    gradient. Tensors on another device are copied to the host and back. Where the equations are singular, the results are NaN.
    """

    run: Run
    slope: Callable[[Any, Any, Any], Any]  # (t, z, p) → ż
    advance: Callable[[Any, Any, Any, Any], Any]  # (t, z, p, h) → z after a step

    def acceleration(self, t: Any, q: Any, v: Any, p: Any = None) -> Any:
        """a (…, nv) at states; p (np,) or (…, np) in the order of `system.parameters`, those of the run by default."""
        t, z, p = self._tensors(t, q, v, p)
        return self.slope(t, z, p)[..., self.run.form.nq :]

    __call__ = acceleration

    def motion(self, q: Any, v: Any, p: Any = None, *, step: Any, steps: int, since: Any = 0.0) -> tuple[Any, Any]:
        """(q, v) after `steps` steps of the classical Runge–Kutta method of order 4, without projection onto constraints.

        Systems with walls, resets or jumps are refused, as in `InJax.motion`. The step and the initial time may be tensors.
        """
        refuse_motion(self.run, steps)
        t, z, p = self._tensors(since, q, v, p)
        h = _number("step", step, z)
        for k in range(steps):
            z = self.advance(t + k * h, z, p, h)
        return z[..., : self.run.form.nq], z[..., self.run.form.nq :]

    def _tensors(self, t: Any, q: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
        """(t, z, p) of one type, with q and v of the same batch shape."""
        import torch  # pyright: ignore[reportMissingImports]

        tensors = [_tensor(name, x) for name, x in (("q", q), ("v", v), ("p", self.run.p if p is None else p))]
        widths = (self.run.form.nq, self.run.form.nv, len(self.run.p))
        kinds = {x.dtype for x in tensors[: 2 if p is None else 3]}
        if len(kinds) > 1 or not kinds <= {torch.float64, torch.float32}:
            raise ModelError(f"q, v and p are tensors of float64, or of float32, not of {', '.join(sorted(map(str, kinds)))}")
        for name, x, width in zip("qvp", tensors, widths, strict=True):
            if x.shape[-1:] != (width,):
                raise ModelError(f"'{name}' has shape {tuple(x.shape)}, expected (…, {width})")
        if len({tuple(x.shape[:-1]) for x in tensors if x.ndim > 1}) > 1:
            shapes = " and ".join(str(tuple(x.shape)) for x in tensors if x.ndim > 1)
            raise ModelError(f"the batches of q, v and p are of different shapes: {shapes}")
        q, v, p = tensors[0], tensors[1], tensors[2].to(tensors[0])
        lead = max(q.shape[:-1], v.shape[:-1], key=len)
        z = torch.cat([q.expand(*lead, -1), v.expand(*lead, -1)], dim=-1)
        return _number("t", t, z), z, p


def _tensor(name: str, value: Any) -> Any:
    import torch  # pyright: ignore[reportMissingImports]

    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        raise ModelError(f"'{name}' is a tensor or numbers, not {shown(value)}") from None


def _number(name: str, value: Any, like: Any) -> Any:
    number = _tensor(name, value)
    if number.ndim or number.is_complex():
        raise ModelError(f"'{name}' is a real number, not a tensor of {number.dtype} of shape {tuple(number.shape)}")
    return number.to(like)


def in_torch(run: Run) -> InTorch:
    """See `Run.torch`."""
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise BackendUnavailable("run.torch() needs PyTorch: pip install 'appell[torch]'") from None

    def joined(a: Any, lam: Any, margin: Any) -> Any:
        y = torch.cat([a, lam], dim=-1)
        return torch.where(margin[..., None] > 0, y, torch.full_like(y, torch.nan))

    return InTorch(run, *differentiable_steps(run, torch_call, joined))


__all__ = ["InTorch", "in_torch"]
