"""Accelerations and short motions as functions of PyTorch, with reverse derivatives of every order (extra `[torch]`).

    f = run.torch()
    f.acceleration(0.0, q, v, p)[0].backward()
    end, _ = f.motion(q, v, p, step=0.01, steps=100)

The functions, their derivatives and their limits are those of `jax_motions`; batches need no `vmap`, they are axes before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from appell.backends.calls.in_jax import Implicit
from appell.backends.calls.in_torch import torch_call
from appell.compiled.jax_motions import (
    STEP_IN_ONE_GRAPH,
    classical_step,
    refuse_motion,
    refuse_slopes,
    smooth_slope,
    solved_equations,
    step_function,
)
from appell.errors import BackendUnavailable, ModelError
from appell.graph import Fn
from appell.graph.smooth import Smooth
from appell.normal_form.flow import Flow, acceleration, flow

if TYPE_CHECKING:
    from appell.compiled.run import Run


@dataclass(frozen=True, eq=False)
class InTorch:
    """A run as functions of PyTorch; calling it is `acceleration`.

    Tensors are float64 or float32; with the latter each evaluation is made in double precision and rounded at its end. A batch
    has its axes before those of a state: q (…, nq). What is given without them, p say, is one for all, and so is its gradient.
    Tensors of another device come to the host and go back. Where the equations are singular the results are NaN.
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
        """(q, v) after so many steps of the classical method of order 4; no projection onto constraints.

        What has walls, resets or jumps is refused, as in `InJax.motion`. Step and first time may be tensors, too.
        """
        refuse_motion(self.run, steps)
        t, z, p = self._tensors(since, q, v, p)
        h = _number("step", step, z)
        for k in range(steps):
            z = self.advance(t + k * h, z, p, h)
        return z[..., : self.run.form.nq], z[..., self.run.form.nq :]

    def _tensors(self, t: Any, q: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
        """(t, z, p) of one type, q and v of one batch."""
        import torch  # pyright: ignore[reportMissingImports]

        given = [torch.as_tensor(x) for x in (q, v, self.run.p if p is None else p)]
        widths = (self.run.form.nq, self.run.form.nv, len(self.run.p))
        kinds = {x.dtype for x in given[: 2 if p is None else 3]}
        if len(kinds) > 1 or not kinds <= {torch.float64, torch.float32}:
            raise ModelError(f"q, v and p are tensors of float64, or of float32, not of {', '.join(sorted(map(str, kinds)))}")
        for name, x, wanted in zip("qvp", given, widths, strict=True):
            if x.shape[-1:] != (wanted,):
                raise ModelError(f"'{name}' has shape {tuple(x.shape)}, expected (…, {wanted})")
        if len({tuple(x.shape[:-1]) for x in given if x.ndim > 1}) > 1:
            shapes = " and ".join(str(tuple(x.shape)) for x in given if x.ndim > 1)
            raise ModelError(f"the batches of q, v and p are of different shapes: {shapes}")
        q, v, p = given[0], given[1], given[2].to(given[0])
        lead = max(q.shape[:-1], v.shape[:-1], key=len)
        z = torch.cat([q.expand(*lead, -1), v.expand(*lead, -1)], dim=-1)
        return _number("t", t, z), z, p


def _number(name: str, value: Any, like: Any) -> Any:
    import torch  # pyright: ignore[reportMissingImports]

    number = torch.as_tensor(value)
    if number.ndim or number.is_complex():
        raise ModelError(f"'{name}' is a real number, not a tensor of {number.dtype} of shape {tuple(number.shape)}")
    return number.to(like)


def in_torch(run: Run) -> InTorch:
    """See `Run.torch`."""
    try:
        import torch  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise BackendUnavailable("run.torch() needs PyTorch: pip install 'appell[torch]'") from None
    refuse_slopes(run)
    motion = flow(run.form, run.policies, work=False)
    if not isinstance(motion.rhs, Fn):
        slope = _implicit(run, motion)
        return InTorch(run, slope, partial(classical_step, slope))
    call = lambda fn: lambda *x: torch_call(fn, run.backend, *x)[0]
    slope = call(smooth_slope(motion.rhs))
    whole = motion.rhs.operations <= STEP_IN_ONE_GRAPH
    return InTorch(run, slope, call(step_function(motion.rhs)) if whole else partial(classical_step, slope))


def _implicit(run: Run, motion: Flow) -> Callable[[Any, Any, Any], Any]:
    """By y(t, q, v, p), which a routine solves for."""
    import torch  # pyright: ignore[reportMissingImports]

    solved: Implicit = solved_equations(motion, acceleration(run.form, run.policies))
    rest, nq = Smooth(motion.implicit()), run.form.nq

    def slope(t: Any, z: Any, p: Any) -> Any:
        a, lam, margin = torch_call(solved, run.backend, t, z[..., :nq], z[..., nq:], p)
        y = torch.cat([a, lam], dim=-1)
        y = torch.where(margin[..., None] > 0, y, torch.full_like(y, torch.nan))
        return torch_call(rest, run.backend, t, z, p, y)[0]

    return slope


__all__ = ["InTorch", "in_torch"]
