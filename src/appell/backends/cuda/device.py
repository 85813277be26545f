"""The GPU through CuPy: whether there is one, compiled programs, and functions launched on device arrays.

Device arrays of CuPy, PyTorch and JAX are used in place; results are CuPy arrays, which others accept without a copy
(`torch.from_dlpack(a)`, `jax.dlpack.from_dlpack(a)`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends.calls.batch import SCALARS, Batch
from appell.backends.calls.call import Call
from appell.backends.cuda.cuda_text import ORDERS, kernel_source, limb_kernel_source
from appell.backends.cuda.limb_warps import STATES_PER_BLOCK, Limbs
from appell.errors import BackendUnavailable, ModelError
from appell.graph.fn import Fn, Port
from appell.remember import kept_in

OPTIONS = ("--std=c++17", "--device-as-default-execution-space", "--diag-suppress=177")
THREADS_PER_BLOCK = 64  # threads
OPERATIONS_BY_LIMBS = 1500  # operations from which a function of a tree with limbs is computed limb by limb
SHARED_BYTES_BY_DEFAULT = 48 * 1024  # bytes of shared memory available to a block by default
REGISTERS_PER_THREAD = 128  # registers per thread
FindLimbs = Callable[[], Limbs | None]
REMEDY = "pip install 'appell[gpu]' on a machine with an NVIDIA GPU"


@cache
def reason_against() -> str | None:
    """None if CuPy finds a GPU; otherwise the reason why not."""
    try:
        import cupy  # pyright: ignore[reportMissingImports]
    except ImportError:
        return f"CuPy is not installed; {REMEDY}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # the driver raises various types
        return f"CuPy finds no GPU ({error}); {REMEDY}"
    return None if count else f"there is no GPU; {REMEDY}"


def xp() -> Any:
    """The module CuPy; raises where it does not work."""
    if (reason := reason_against()) is not None:
        raise BackendUnavailable(f"backend='cuda' cannot be had: {reason}")
    import cupy  # pyright: ignore[reportMissingImports]

    return cupy


def compiled(source: str, name: str, *options: str) -> Any:
    """A kernel from a source, compiled by NVRTC; CuPy caches it on disk."""
    return xp().RawModule(code=source, options=(*OPTIONS, *options)).get_function(name)


def compiled_densely(source: str, name: str, up_to: int = REGISTERS_PER_THREAD + REGISTERS_PER_THREAD // 4) -> Any:
    """A kernel, limited to the registers available with four warps per scheduler if it needs only slightly more: 8 to 12 %
    faster on an H200. A kernel that needs more than `up_to` would be slower and is not limited."""
    kernel = compiled(source, name)
    slightly_more = REGISTERS_PER_THREAD < kernel.attributes["num_regs"] <= up_to
    return compiled(source, name, f"--maxrregcount={REGISTERS_PER_THREAD}") if slightly_more else kernel


def is_on_gpu(array: Any) -> bool:
    """Whether an array is in GPU memory."""
    return hasattr(array, "__cuda_array_interface__")


def on_device(
    fn: Fn, arrays: Sequence[Any], *, dtype: Any = None, out: Any = None, limbs: FindLimbs | None = None
) -> tuple[Any, ...]:
    """The outputs of a function at one state or at a batch, as CuPy arrays.

    Parameters
    ----------
    arrays: port.shape, or (batch, *port.shape), each on the device or not.
    dtype: float64 or float32; by default that of the arrays, float32 if all of them are.
    out: for a single output, its destination: (batch, *port.shape) on the device.
    limbs: finds the limbs of a tree; a long function is then computed with one warp per limb.
    """
    cp = xp()
    device_arrays = [cp.asarray(array) for array in arrays]
    kind = np.dtype(dtype or (np.float32 if all(a.dtype == np.float32 for a in device_arrays) else np.float64))
    if kind not in SCALARS:
        raise ModelError(f"'{fn.name}' computes in float64 or float32, not in {kind}")
    device_arrays = [_numbers(cp, array, port, kind) for array, port in zip(device_arrays, fn.inputs, strict=True)]
    counts = {port.name: len(a) for a, port in zip(device_arrays, fn.inputs, strict=True) if a.ndim > len(port.shape)}
    if len(set(counts.values())) > 1:
        sizes = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise ModelError(f"the inputs of '{fn.name}' must share one batch size ({sizes})")
    n = next(iter(counts.values()), 1)
    results = tuple(_result_array(cp, port, n, kind, out) for port in fn.outputs)
    if n:
        launch(fn, kind, n, device_arrays, results, limbs)
    return results if counts else tuple(result[0] for result in results)


def launch(
    fn: Fn, kind: np.dtype, n: int, arrays: Sequence[Any], results: Sequence[Any], limbs: FindLimbs | None = None
) -> None:
    """Runs n states on contiguous device arrays."""
    kernels = kept_in(fn, "cuda")
    if kind not in kernels:
        tree_limbs = limbs() if limbs is not None and fn.operations > OPERATIONS_BY_LIMBS else None
        kernels[kind] = _plain_kernel(fn, kind) if tree_limbs is None else _limb_kernel(fn, kind, tree_limbs)
    strides = (port.size if a.ndim > len(port.shape) else 0 for a, port in zip(arrays, fn.inputs, strict=True))
    inputs = [argument for array, stride in zip(arrays, strides, strict=True) for argument in (array, np.int64(stride))]
    kernels[kind](n, (np.int64(n), *inputs, *results))


@dataclass(frozen=True)
class Kernel:
    """A compiled function: `states` and `threads` per block, bytes of shared memory."""

    function: Any
    states: int
    threads: int
    shared: int = 0

    def __call__(self, n: int, arguments: tuple[Any, ...]) -> None:
        self.function((-(-n // self.states),), (self.threads,), arguments, shared_mem=self.shared)


def _plain_kernel(fn: Fn, kind: np.dtype) -> Kernel:
    """One thread per state, with the instruction order that compiles best."""
    kernels = [compiled(kernel_source(fn, SCALARS[kind], order), f"{fn.name}_kernel") for order in ORDERS]
    best = min(kernels, key=lambda kernel: (kernel.attributes["local_size_bytes"], kernel.attributes["num_regs"]))
    return Kernel(best, THREADS_PER_BLOCK, THREADS_PER_BLOCK)


def _limb_kernel(fn: Fn, kind: np.dtype, limbs: Limbs) -> Kernel:
    """One warp per limb. On an H200 with g1 and anymal: a kernel that needs up to 50 % more than `REGISTERS_PER_THREAD` is
    fastest when limited to these; in single precision, with still fewer and with inputs and results in shared memory."""
    name, scalar = f"{fn.name}_kernel", SCALARS[kind]

    def made(*options: str, staged: bool = False) -> Kernel:
        source, room = limb_kernel_source(fn, limbs, scalar, staged=staged)
        function, shared = compiled(source, name, *options), room * kind.itemsize
        if shared > SHARED_BYTES_BY_DEFAULT:
            function.max_dynamic_shared_size_bytes = shared
        return Kernel(function, STATES_PER_BLOCK, STATES_PER_BLOCK * limbs.count, shared)

    kernel = made()
    wants = kernel.function.attributes["num_regs"]
    if scalar == "float" and wants > REGISTERS_PER_THREAD:
        return made(f"--maxrregcount={REGISTERS_PER_THREAD * 3 // 4}", staged=True)
    limited = REGISTERS_PER_THREAD < wants <= REGISTERS_PER_THREAD + REGISTERS_PER_THREAD // 2
    return made(f"--maxrregcount={REGISTERS_PER_THREAD}") if limited else kernel


def _numbers(cp: Any, array: Any, port: Port, kind: np.dtype) -> Any:
    if array.dtype.kind not in "fiub":
        raise ModelError(f"'{port.name}' is an array of {array.dtype}, expected real numbers")
    if array.shape != port.shape and (array.ndim == 0 or array.shape[1:] != port.shape):
        rows = ", ".join(map(str, ("batch", *port.shape))) if port.shape else "batch,"
        raise ModelError(f"'{port.name}' has shape {array.shape}, expected {port.shape} or ({rows})")
    return cp.ascontiguousarray(array, dtype=kind)


def _result_array(cp: Any, port: Port, n: int, kind: np.dtype, out: Any) -> Any:
    shape = (n, *port.shape)
    if out is None:
        return cp.empty(shape, kind)
    fits = is_on_gpu(out) and (tuple(out.shape), np.dtype(out.dtype)) == (shape, kind)
    if not (fits and cp.asarray(out).flags.c_contiguous):
        raise ModelError(f"out= for '{port.name}' must be an array on the device, contiguous, of shape {shape} and type {kind}")
    return cp.asarray(out)


def cuda_function(fn: Fn) -> Call:
    """`fn` on the GPU, called with NumPy arrays, which are copied there and back."""

    def one(*arrays: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        return [result.get() for result in on_device(fn, arrays)]

    def many(batch: Batch, kind: np.dtype, results: tuple[NDArray[Any], ...]) -> None:
        for result, device_result in zip(results, on_device(fn, batch.arrays, dtype=kind), strict=True):
            result[...] = device_result.get()

    return replace(Call.of(fn, one), batch_function=many)


__all__ = ["compiled", "compiled_densely", "cuda_function", "is_on_gpu", "launch", "on_device", "reason_against", "xp"]
