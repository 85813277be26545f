"""Compiled functions as PyTorch operations, with reverse derivatives of every order (extra `[torch]`).

    y_1, … = torch_call(fn, backend, x_1, …)        x_i in the shapes of the ports, or with leading batch axes

Values come from compiled code on the host, float64 inside; results have the type and the device of the tensors. The rule of
differentiation is x̄_i = (∂f/∂x_i)ᵀ ȳ, a graph of (x, ȳ) and thus an operation again (`graph.smooth`). A function defined by
R(x, y) = 0 has x̄ = −R_xᵀ R_y⁻ᵀ ȳ, composed of such operations.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

from appell.backends.calls.in_jax import Function, Implicit
from appell.backends.table import backend_named
from appell.errors import BackendUnavailable
from appell.graph.fn import FLOAT
from appell.graph.smooth import Smooth
from appell.remember import remembered


def torch_call(fn: Function, backend: str, *tensors: Any) -> tuple[Any, ...]:
    """The outputs of a function at tensors, all of one type and on one device."""
    return _operation().apply(fn, backend, *tensors)


@remembered
def pulled_back(fn: Smooth, wanted: tuple[int, ...]) -> Smooth:
    """(x, ȳ) → x̄_i with i among `wanted`; treated as nonlinear in everything, so that it can be differentiated again with
    respect to x and ȳ."""
    transposed = fn.transposed(wanted)
    return Smooth(transposed.fn, (), transposed.doubt)


@cache
def _operation() -> Any:
    """The single operation; the function it evaluates is an argument."""
    import torch  # pyright: ignore[reportMissingImports]

    class Evaluated(torch.autograd.Function):
        """f(x); the same class serves its derivatives."""

        @staticmethod
        def forward(fn: Function, backend: str, *x: Any) -> tuple[Any, ...]:
            return _evaluated(fn, backend, x)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.fn, ctx.backend = inputs[:2]
            ctx.save_for_backward(*inputs[2:], *(output if isinstance(ctx.fn, Implicit) else ()))

        @staticmethod
        def backward(ctx: Any, *bars: Any) -> tuple[Any, ...]:
            fn, count = ctx.fn, len(ctx.fn.fn.inputs)
            x, y = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
            wanted = tuple(i for i in range(count) if ctx.needs_input_grad[2 + i])
            if isinstance(fn, Implicit):  # the last output is a margin, which has no derivative
                x, bars, fn = (*x, torch.cat(y[:-1], dim=-1)), (_implied(fn, ctx.backend, x, y[:-1], bars[:-1]),), fn.residual
            gradients = dict(zip(wanted, torch_call(pulled_back(fn, wanted), ctx.backend, *x, *bars), strict=True))
            return None, None, *(_one_for_all(gradients[i], x[i].ndim) if i in gradients else None for i in range(count))

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            raise BackendUnavailable(
                "run.torch() has reverse derivatives only, and forward mode (torch.func.jvp, jacfwd, hessian) was asked for:"
                " use torch.func.jacrev or vjp, or run.jax(), which has both"
            )

        @staticmethod
        def vmap(info: Any, in_dims: Any, fn: Function, backend: str, *x: Any) -> tuple[Any, Any]:
            front = [tensor if dim is None else tensor.movedim(dim, 0) for tensor, dim in zip(x, in_dims[2:], strict=True)]
            out = torch_call(fn, backend, *_spread(front, in_dims[2:], fn, info.batch_size))
            return out, (0,) * len(out)

    return Evaluated


def _one_for_all(bar: Any, axes: int) -> Any:
    """The gradient of an input common to a batch: the sum over the batch."""
    return bar.sum(dim=tuple(range(bar.ndim - axes))) if bar.ndim > axes else bar


def _implied(fn: Implicit, backend: str, x: Any, y_parts: Any, bars: Any) -> Any:
    """−R_y⁻ᵀ ȳ."""
    import torch  # pyright: ignore[reportMissingImports]

    (R_y,) = torch_call(fn.matrix, backend, *x, torch.cat(y_parts, dim=-1))
    return -torch.linalg.solve(R_y.transpose(-1, -2), torch.cat(bars, dim=-1)[..., None])[..., 0]


def _spread(x: list[Any], dims: Any, fn: Function, size: int) -> list[Any]:
    """Tensors with one more leading batch axis; inputs common to the batch are not repeated."""
    ports = fn.fn.inputs
    leads = [
        tensor.shape[dim is not None : tensor.ndim - len(port.shape)] for tensor, dim, port in zip(x, dims, ports, strict=True)
    ]
    batch_axes = max(leads, key=len, default=())

    def whole(tensor: Any, mapped: bool, lead: Any, port: Any) -> Any:
        if not mapped and not len(lead):
            return tensor
        lifted = tensor if mapped else tensor[None]
        lifted = lifted.reshape((lifted.shape[0], *(lead if len(lead) else (1,) * len(batch_axes)), *port.shape))
        return lifted.expand((size, *batch_axes, *port.shape))

    return [whole(tensor, dim is not None, *rest) for tensor, dim, *rest in zip(x, dims, leads, ports, strict=True)]


def _evaluated(fn: Function, backend: str, x: Any) -> tuple[Any, ...]:
    """The values as numbers, computed on the host."""
    import torch  # pyright: ignore[reportMissingImports]

    call, ports = backend_named(backend).load(fn.fn), fn.fn.inputs
    leads = [tuple(tensor.shape[: tensor.ndim - len(port.shape)]) for tensor, port in zip(x, ports, strict=True)]
    lead = max(leads, key=len, default=())
    numbers = [tensor.detach().cpu().numpy().astype(FLOAT, copy=False) for tensor in x]
    flat = [
        a.reshape((-1, *port.shape) if lead_of else port.shape) for a, lead_of, port in zip(numbers, leads, ports, strict=True)
    ]
    if not lead:
        flat[0] = flat[0][None]
    shapes = [(*lead, *port.shape) for port in fn.fn.outputs]
    results = call.batch(*flat) if prod(lead) else [np.zeros(shape) for shape in shapes]
    like = {"dtype": x[0].dtype, "device": x[0].device}
    return tuple(torch.from_numpy(np.array(y).reshape(shape)).to(**like) for y, shape in zip(results, shapes, strict=True))


__all__ = ["torch_call"]
