"""Batches of states: layout of the inputs, and memory for the outputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import cffi
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from appell.backends.compiler.build import Library
from appell.errors import ModelError
from appell.graph.fn import Port, Signature, real_array

CACHE_LINE_BYTES = 64  # bytes
BYTES_WORTH_PLACING = 100_000  # bytes of a result for which alignment is worth some microseconds
SCALARS = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}


class Batch(NamedTuple):
    """`count` states: state k of input i begins `k * strides[i]` numbers after the start of `arrays[i]`."""

    count: int
    arrays: tuple[NDArray[Any], ...]
    strides: tuple[int, ...]

    def rows(self, chosen: NDArray[np.intp], dtype: DTypeLike) -> Batch:
        """Only the `chosen` states, as another type."""
        arrays = tuple(
            np.ascontiguousarray(array[chosen] if step else array, dtype)
            for array, step in zip(self.arrays, self.strides, strict=True)
        )
        steps = (array.strides[0] // array.itemsize if step else 0 for array, step in zip(arrays, self.strides, strict=True))
        return Batch(len(chosen), arrays, tuple(steps))


def batch_of(fn: Signature, values: Sequence[ArrayLike], dtype: np.dtype) -> Batch:
    """A batch from arrays of shapes (batch, *port.shape) or port.shape; the batch sizes must agree."""
    arrays: list[NDArray[Any]] = []
    steps: list[int] = []
    counts: dict[str, int] = {}
    for value, port in zip(values, fn.inputs, strict=True):
        array = _row_contiguous(_numbers(value, port, dtype), port)
        arrays.append(array)
        if array.ndim > len(port.shape):
            counts[port.name] = len(array)
            steps.append(array.strides[0] // dtype.itemsize)
        else:
            steps.append(0)
    if len(set(counts.values())) != 1:
        sizes = ", ".join(f"{name}: {count}" for name, count in counts.items()) or "none has a batch axis"
        raise ModelError(f"the inputs of '{fn.name}' must share one batch size ({sizes})")
    return Batch(next(iter(counts.values())), tuple(arrays), tuple(steps))


def _numbers(value: ArrayLike, port: Port, dtype: np.dtype) -> NDArray[Any]:
    """`value` as `dtype`; anything but real numbers raises with the port's name."""
    fits = isinstance(value, np.ndarray) and value.dtype == dtype
    return value if fits else real_array(not_none(value, port), port).astype(dtype, copy=False)  # type: ignore[return-value]


def not_none(value: ArrayLike, port: Port) -> ArrayLike:
    """`value`; raises if it is None."""
    if value is None:
        raise ModelError(f"'{port.name}' is None; give an array of shape {port.shape}")
    return value


def _row_contiguous(array: NDArray[Any], port: Port) -> NDArray[Any]:
    """`array`, copied unless each state is contiguous; the stride between states is arbitrary (a view, a broadcast)."""
    if array.shape != port.shape and (array.ndim == 0 or array.shape[1:] != port.shape):
        rows = ", ".join(map(str, ("batch", *port.shape))) if port.shape else "batch,"
        raise ModelError(f"'{port.name}' has shape {array.shape}, expected {port.shape} or ({rows})")
    flags = array.flags
    if flags.c_contiguous and flags.aligned:
        return array
    first_state = array[:1] if array.ndim > len(port.shape) else array
    whole_strides = not array.ndim or array.strides[0] % array.itemsize == 0
    return array if first_state.flags.c_contiguous and flags.aligned and whole_strides else np.array(array, order="C")


def pointers(library: Library, batch: Batch, results: tuple[NDArray[Any], ...], scalar: str) -> tuple[Any, Any, Any]:
    """The arguments in, stride and out of a batch function."""
    ffi, (numbers, table, steps) = library.ffi, _types(scalar)
    # an array with gaps is not a buffer; asking NumPy for the address takes four times as long
    address = lambda x: ffi.from_buffer(numbers, x) if x.flags.c_contiguous else ffi.cast("void *", x.ctypes.data)
    source, target = ffi.new(table, [address(x) for x in batch.arrays]), ffi.new(table, [address(x) for x in results])
    return source, ffi.new(steps, batch.strides), target


@cache
def _types(scalar: str) -> tuple[Any, ...]:
    """C types of numbers, pointers to them and strides: parsed once, which takes longer than creating an array."""
    return tuple(map(cffi.FFI().typeof, (f"{scalar}[]", f"{scalar} *[]", "ptrdiff_t[]")))


def aligned(sizes: Sequence[int]) -> list[NDArray[Any]]:
    """Uninitialized byte arrays, each aligned to a cache line: vector stores across two lines are slower.

    They are parts of one block: the C library keeps one large block for reuse, but returns several to the system, whose new
    pages take longer than most functions (three 2.6 MB results: 1.3 instead of 4.4 µs per state).
    """
    begins = [0, *accumulate(-(-size // CACHE_LINE_BYTES) * CACHE_LINE_BYTES for size in sizes)]
    room = np.empty(begins[-1] + CACHE_LINE_BYTES, np.uint8)
    margin = -room.__array_interface__["data"][0] % CACHE_LINE_BYTES
    return [room[margin + begin : margin + begin + size] for begin, size in zip(begins, sizes, strict=False)]


def results_of(fn: Signature, batch: Batch, dtype: np.dtype, out: Sequence[NDArray[Any]] | None) -> tuple[NDArray[Any], ...]:
    """New arrays for the outputs of a batch, large ones as parts of one block, or `out` if all of them fit."""
    shapes = [(batch.count, *port.shape) for port in fn.outputs]
    if out is None:
        sizes = [prod(shape) * dtype.itemsize for shape in shapes]
        if sum(sizes) < BYTES_WORTH_PLACING:
            return tuple(np.empty(shape, dtype) for shape in shapes)
        return tuple(room.view(dtype).reshape(shape) for room, shape in zip(aligned(sizes), shapes, strict=True))
    if len(out) != len(shapes):
        names = ", ".join(port.name for port in fn.outputs)
        raise ModelError(f"out= needs an array for each output of '{fn.name}' ({names}), got {len(out)}")
    for port, shape, array in zip(fn.outputs, shapes, out, strict=True):
        _refuse_misfit(port.name, array, shape, dtype)
        if any(np.may_share_memory(array, value) for value in batch.arrays):
            raise ModelError(f"out= for '{port.name}' lies in the memory of an input, which would be overwritten; take another")
    return tuple(out)


def _refuse_misfit(name: str, array: NDArray[Any], shape: tuple[int, ...], dtype: np.dtype) -> None:
    if not isinstance(array, np.ndarray):
        raise ModelError(f"out= for '{name}' is a {type(array).__name__}; give a NumPy array of shape {shape}")
    if array.shape != shape or array.dtype != dtype:
        raise ModelError(
            f"out= for '{name}' has shape {array.shape} and type {array.dtype}; expected {shape} and {dtype}: "
            f"np.empty({shape}, '{dtype}')"
        )
    if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
        raise ModelError(f"out= for '{name}' must be writeable and contiguous in C's order: np.empty({shape}, '{dtype}')")
