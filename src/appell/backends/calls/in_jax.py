"""Compiled functions as JAX operations, with derivatives of every order (extra `[jax]`).

    y_1, … = jax_call(smooth, backend, x_1, …)        x_i in the shapes of the ports, or with leading batch axes

JAX's compiler calls the machine code directly through its foreign function interface: no Python, no copy (`xla.c.in`; plain C
with the header that comes with jaxlib). A batch of `vmap` is one call, vectorized where it is large. The rules of
differentiation are those of `graph.smooth`: the tangent of an operation is an operation, and so is its transpose. A function
that is not a graph is differentiated as an implicit function.

Where JAX runs on another device, or without a C compiler or the header, the same operation goes through a callback: the arrays
are copied to the host, and the results back.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from appell.backends.calls.vectors import BATCH_WORTH_COMPILING, Lanes, lanes_here
from appell.backends.compiler.build import Library, build
from appell.backends.compiler.cache import digest
from appell.backends.notice import notice
from appell.backends.once import once
from appell.backends.table import backend_named
from appell.backends.text.c_source import declarations, module
from appell.backends.text.templates import template
from appell.errors import BackendUnavailable
from appell.graph.composite import Composite
from appell.graph.fn import FLOAT, Fn
from appell.graph.smooth import Smooth
from appell.remember import kept_in

BATCH_WORTH_VECTORS = 64
"""States in a batch that are worth a compiler run for vector code: with JAX one waits for compilers anyway."""


@dataclass(frozen=True, eq=False)
class Implicit:
    """A function defined by an equation: y(x) with R(x, y) = 0; its outputs are the parts of y and a margin.

    residual: (x, y) → R; matrix: (x, y) → R_y. The tangent follows from the implicit function theorem, R_y y' = −R_x x'.
    """

    fn: Composite
    residual: Smooth
    matrix: Smooth


Function = Smooth | Implicit


def jax_call(fn: Function, backend: str, *arrays: Any) -> Any:
    """The outputs of a function at JAX arrays, all of one type (float64, float32)."""
    return _operation().bind(*arrays, fn=fn, backend=backend)


@cache
def _operation() -> Any:
    """The single primitive; the function it calls is a parameter."""
    import jax
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    operation: Any = Primitive("appell")
    operation.multiple_results = True
    operation.def_impl(jax.jit(operation.bind, static_argnames=("fn", "backend")))
    operation.def_abstract_eval(_abstract)
    mlir.register_lowering(operation, mlir.lower_fun(_called_back, multiple_results=True))
    mlir.register_lowering(operation, mlir.lower_fun(_called, multiple_results=True), platform="cpu")
    batching.primitive_batchers[operation] = partial(_batched, operation)
    ad.primitive_jvps[operation] = partial(_tangent, operation)
    ad.primitive_transposes[operation] = partial(_transposed, operation)
    return operation


def _lead(arrays: Any, fn: Function, mapped: Any = None) -> tuple[int, ...]:
    """The axes of the batch: those that an array has before the axes of its port (and after the one that is `mapped`)."""
    skips = [0] * len(arrays) if mapped is None else mapped
    leads = (x.shape[k : x.ndim - len(port.shape)] for x, port, k in zip(arrays, fn.fn.inputs, skips, strict=True))
    return max(leads, key=len, default=())


def _abstract(*arrays: Any, fn: Function, backend: str) -> list[Any]:
    lead, kind = _lead(arrays, fn), arrays[0].dtype
    for x, port in zip(arrays, fn.fn.inputs, strict=True):
        assert x.dtype == kind and x.shape in (port.shape, (*lead, *port.shape)), (x, port, lead)
    return [arrays[0].update(shape=(*lead, *port.shape), weak_type=False) for port in fn.fn.outputs]


def _results(arrays: Any, fn: Function) -> list[Any]:
    import jax

    lead, kind = _lead(arrays, fn), arrays[0].dtype
    return [jax.ShapeDtypeStruct((*lead, *port.shape), kind) for port in fn.fn.outputs]


def _called(*arrays: Any, fn: Function, backend: str) -> Any:
    """Evaluation by machine code, if available."""
    import jax

    target = _target(fn, backend)
    if target is None:
        return _called_back(*arrays, fn=fn, backend=backend)
    if prod(_lead(arrays, fn)) >= BATCH_WORTH_VECTORS:
        target.widen()
    return jax.ffi.ffi_call(target.name, _results(arrays, fn))(*arrays)


def _called_back(*arrays: Any, fn: Function, backend: str) -> Any:
    """Evaluation by a callback into Python."""
    import jax

    call, ports = backend_named(backend).load(fn.fn), fn.fn.inputs
    results = _results(arrays, fn)
    lead = _lead(arrays, fn)

    def evaluate(*host_arrays: Any) -> list[Any]:
        flat = [
            np.asarray(x, FLOAT).reshape((-1, *port.shape) if np.ndim(x) > len(port.shape) else port.shape)
            for x, port in zip(host_arrays, ports, strict=True)
        ]
        if not lead:
            flat[0] = flat[0][None]
        values = call.batch(*flat) if prod(lead) else [np.zeros(like.shape) for like in results]
        return [np.asarray(y).reshape(like.shape).astype(like.dtype) for y, like in zip(values, results, strict=True)]

    return jax.pure_callback(evaluate, results, *arrays)


def _batched(operation: Any, arrays: Any, dims: Any, *, fn: Function, backend: str) -> Any:
    """Adds a batch axis before the others. Inputs common to the whole batch are not repeated."""
    import jax.numpy as jnp

    mapped = [dim is not None for dim in dims]
    ports = fn.fn.inputs
    size = next(x.shape[dim] for x, dim, moves in zip(arrays, dims, mapped, strict=True) if moves)
    front = [jnp.moveaxis(x, dim, 0) if moves else x for x, dim, moves in zip(arrays, dims, mapped, strict=True)]
    lead = _lead(front, fn, mapped)

    def spread(x: Any, moves: bool, port: Any) -> Any:
        leading_axes = x.ndim - moves - len(port.shape)
        if moves and leading_axes < len(lead):
            x = x.reshape((size, *(1,) * len(lead), *port.shape))
        return x if not moves and not leading_axes else jnp.broadcast_to(x, (size, *lead, *port.shape))

    spread_arrays = [spread(x, moves, port) for x, moves, port in zip(front, mapped, ports, strict=True)]
    out = operation.bind(*spread_arrays, fn=fn, backend=backend)
    return out, (0,) * len(out)


def _tangent(operation: Any, primals: Any, tangents: Any, *, fn: Function, backend: str) -> Any:
    import jax.numpy as jnp
    from jax.interpreters import ad

    call = partial(operation.bind, backend=backend)
    moving = tuple(i for i, x in enumerate(tangents) if type(x) is not ad.Zero)
    moving_tangents = [tangents[i] for i in moving]
    out = call(*primals, fn=fn)
    if not moving:
        return out, [jnp.zeros_like(y) for y in out]
    if isinstance(fn, Smooth):
        return out, call(*primals, *moving_tangents, fn=fn.tangent(moving))
    return out, [*_implied(call, fn, primals, out[:-1], moving, moving_tangents), jnp.zeros_like(out[-1])]


def _implied(call: Any, fn: Implicit, x: Any, y_parts: Any, moving: tuple[int, ...], moving_tangents: Any) -> list[Any]:
    """The parts of y' = −R_y⁻¹ R_x x'."""
    import jax.numpy as jnp

    y = jnp.concatenate(y_parts, axis=-1)
    (R,), (R_y,) = call(*x, y, *moving_tangents, fn=fn.residual.tangent(moving)), call(*x, y, fn=fn.matrix)
    yd = -jnp.linalg.solve(R_y, R[..., None])[..., 0]
    return jnp.split(yd, np.cumsum([y_part.shape[-1] for y_part in y_parts])[:-1], axis=-1)


def _transposed(operation: Any, cotangents: Any, *arrays: Any, fn: Function, backend: str) -> Any:
    from jax.interpreters import ad

    assert isinstance(fn, Smooth)
    linear = tuple(i for i, x in enumerate(arrays) if ad.is_undefined_primal(x))
    assert set(linear) <= set(fn.linear), (linear, fn.linear)
    nonlinear = [x for i, x in enumerate(arrays) if i not in fn.linear]
    bars = list(map(ad.instantiate_zeros, cotangents))
    gradients = operation.bind(*nonlinear, *bars, fn=fn.transposed(linear), backend=backend)
    result: list[Any] = [None] * len(arrays)
    for i, bar in zip(linear, gradients, strict=True):
        extra = bar.ndim - arrays[i].aval.ndim  # common to the batch: gradients are summed over it
        result[i] = bar.sum(axis=tuple(range(extra))) if extra else bar
    return result


@dataclass(frozen=True, eq=False)
class XlaTarget:
    """A function registered with XLA by the digest of its computation, so that programs cached by JAX find it again."""

    name: str
    library: Library
    lanes: Lanes | None

    def widen(self) -> None:
        """From now on large batches use vector code."""
        if self.lanes is None or not self.lanes.take(BATCH_WORTH_COMPILING, FLOAT):
            return
        library, fn = self.lanes.built["double"], self.lanes.fn
        assert library is not None
        room, address = getattr(library.lib, f"{fn.name}_room")(), library.address(f"{fn.name}_lanes")
        least = 2 * lanes_here("double")
        self.library.handle.xla_widen(ctypes.c_void_p(address), ctypes.c_ssize_t(room), ctypes.c_ssize_t(least))


def _target(fn: Function, backend: str) -> XlaTarget | None:
    """The function in machine code and registered with XLA; None where it cannot be."""
    if backend_named(backend).program is None or (isinstance(fn.fn, Composite) and not fn.fn.routine):
        return None
    registered = kept_in(fn, "target")
    if not registered:
        registered["of"] = _registered(_CText(fn.fn))
    return registered["of"]


class _CText:
    """A function by its C text."""

    def __init__(self, fn: Fn | Composite):
        self.fn, self.text = fn, "\n".join([module([fn]), _xla_entry(fn)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CText) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


@once
def _registered(source: _CText) -> XlaTarget | None:
    import jax

    name, fn, folder = f"appell_{digest('xla', source.text)}", source.fn, Path(jax.ffi.include_dir())
    try:
        if not (folder / "xla/ffi/api/c_api.h").is_file():
            raise BackendUnavailable("jaxlib has no header of its foreign functions")
        library = build(source.text, declarations([fn]), include=(str(folder),), also=(version("jaxlib"),))
    except BackendUnavailable as error:
        notice("no xla", f"functions of JAX go through callbacks, some 10 to 100 µs each: {error}")
        return None
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(library.handle.xla_call), platform="cpu")
    return XlaTarget(name, library, Lanes(fn) if isinstance(fn, Fn) and library.contracts else None)


def _xla_entry(fn: Fn | Composite) -> str:
    ports = (*fn.inputs, *fn.outputs)
    text = template("backends/calls/xla.c.in")
    sizes, ranks = (", ".join(map(str, column)) for column in ((p.size for p in ports), (len(p.shape) for p in ports)))
    return text.format(name=fn.name, inputs=len(fn.inputs), ports=len(ports), sizes=sizes, ranks=ranks)


__all__ = ["Implicit", "jax_call"]
