"""Batches over vectors: the lanes of a function, compiled when the first large batch asks for them.

Single calls and small batches never wait for this compiler run; once it is done, every batch of at least two vectors
uses it. Where a sine's argument was huge or not finite, the answer comes from the scalar code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from math import prod
from threading import Lock
from typing import Any, NamedTuple

import cffi
import numpy as np
from numpy.typing import DTypeLike, NDArray

from appell.backends.calls.crossing import no_vectors
from appell.backends.compiler.build import Library, build
from appell.backends.compiler.recipe import Recipe, text_of
from appell.backends.lanes.emit import PRECISIONS, emit_lanes, lanes_declarations
from appell.backends.notice import notice
from appell.backends.once import once
from appell.errors import BackendUnavailable, ModelError
from appell.graph.fn import Fn, Signature

LINE = 64  # bytes in a line of the cache
NONE = np.empty(0, np.intp)
MUCH = 100_000  # bytes in an answer for which it is worth some microseconds to place it well
LARGE = 1024  # states in one batch that are worth a compiler run
SCALARS = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}
PROBE = """\
int appell_vector_bytes(void)
{
#if defined(__AVX512F__)
    return 64;
#elif defined(__AVX__)
    return 32;
#else
    return 16;
#endif
}
"""


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


@dataclass(frozen=True, eq=False)
class Lanes:
    """`fn` over vectors of doubles or floats. `rooms` is memory of calls that are over; one call in progress has one."""

    fn: Fn | Recipe
    built: dict[str, Library | None] = field(default_factory=dict)  # None: cannot be had
    rooms: dict[str, list[NDArray[np.uint8]]] = field(default_factory=lambda: {scalar: [] for scalar in SCALARS.values()})
    lock: Any = field(default_factory=Lock)
    vectors: Any = field(default_factory=no_vectors)  # the way in without cffi, open from when they are built

    def take(self, count: int, dtype: np.dtype) -> bool:
        """Whether a batch of `count` states is for vectors; compiles them if it is the first large one."""
        scalar = SCALARS[dtype]
        if scalar in self.built:
            return self.built[scalar] is not None and count >= 2 * lanes_here(scalar)
        if count < LARGE:
            return False
        with self.lock:
            if scalar not in self.built:
                self.built[scalar] = self._build(scalar)
        return self.built[scalar] is not None

    def _build(self, scalar: str) -> Library | None:
        try:
            lanes = lanes_here(scalar)
            text = text_of(self.fn, f"{lanes} lanes of {scalar}", lambda graph: emit_lanes(graph, lanes, scalar=scalar))
            library = build(text, lanes_declarations(self.fn, scalar))
        except BackendUnavailable as error:
            notice("no lanes", f"batches run one state at a time: {error}")
            return None
        if self.vectors is not None:
            room = getattr(library.lib, f"{self.fn.name}_room")()
            self.vectors.open(scalar == "float", library.address(f"{self.fn.name}_lanes"), room, 2 * lanes, library)
        return library

    def __call__(self, batch: Batch, dtype: np.dtype, results: tuple[NDArray[Any], ...]) -> NDArray[np.intp]:
        """Writes the outputs to `results` and says which states they are wrong for."""
        scalar = SCALARS[dtype]
        library, idle = self.built[scalar], self.rooms[scalar]
        assert library is not None
        try:
            room: Any = idle.pop()
        except IndexError:
            (room,) = aligned([getattr(library.lib, f"{self.fn.name}_room")()])
        far: Any = np.empty(batch.count, np.uint8)
        source, stride, target = pointers(library, batch, results, scalar)
        memory = library.ffi.from_buffer
        some = getattr(library.lib, f"{self.fn.name}_lanes")(batch.count, source, stride, target, memory(far), memory(room))
        idle.append(room)
        return np.flatnonzero(far) if some else NONE


def pointers(library: Library, batch: Batch, results: tuple[NDArray[Any], ...], scalar: str) -> tuple[Any, Any, Any]:
    """in, stride and out of a batch function."""
    ffi, (numbers, table, steps) = library.ffi, _types(scalar)
    # an array with gaps is no buffer; to ask NumPy for the address takes four times as long
    address = lambda x: ffi.from_buffer(numbers, x) if x.flags.c_contiguous else ffi.cast("void *", x.ctypes.data)
    source, target = ffi.new(table, [address(x) for x in batch.arrays]), ffi.new(table, [address(x) for x in results])
    return source, ffi.new(steps, batch.strides), target


@cache
def _types(scalar: str) -> tuple[Any, ...]:
    """Numbers, pointers to such, strides: read once, for that takes longer than to make an array of one."""
    return tuple(map(cffi.FFI().typeof, (f"{scalar}[]", f"{scalar} *[]", "ptrdiff_t[]")))


def aligned(sizes: Sequence[int]) -> list[NDArray[Any]]:
    """Empty arrays of bytes, each beginning with a line of the cache: vectors across two lines are written more slowly.

    They are parts of one: the C library keeps one large block for the next time where it gives several back to the system,
    whose fresh pages take longer than most functions (three 2.6 MB results: 1.3 instead of 4.4 µs a state).
    """
    begins = [0, *accumulate(-(-size // LINE) * LINE for size in sizes)]
    room = np.empty(begins[-1] + LINE, np.uint8)
    first = -room.__array_interface__["data"][0] % LINE
    return [room[first + begin : first + begin + size] for begin, size in zip(begins, sizes, strict=False)]


def results_of(fn: Signature, batch: Batch, dtype: np.dtype, out: Sequence[NDArray[Any]] | None) -> tuple[NDArray[Any], ...]:
    """Fresh arrays for the outputs of a batch, large ones parts of one block, or `out` if all of them fit."""
    shapes = [(batch.count, *port.shape) for port in fn.outputs]
    if out is None:
        sizes = [prod(shape) * dtype.itemsize for shape in shapes]
        if sum(sizes) < MUCH:
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


def lanes_here(scalar: str) -> int:
    """How many numbers a vector register of this CPU holds."""
    return _vector_bytes() // PRECISIONS[scalar].size


@once
def _vector_bytes() -> int:
    return int(build(PROBE, "int appell_vector_bytes(void);").lib.appell_vector_bytes())
