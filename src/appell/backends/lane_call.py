"""Batches over vectors: the lanes of a function, compiled when the first large batch asks for them.

Single calls and small batches never wait for this compiler run; once it is done, every batch of at least two vectors
uses it. Where a sine's argument was huge or not finite, the answer comes from the scalar code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from appell.backends.c_build import Library, build
from appell.backends.lanes import PRECISIONS, emit_lanes, lanes_declaration
from appell.backends.notice import notice
from appell.errors import BackendUnavailable
from appell.graph.fn import Fn

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
    """`fn` over vectors of doubles or floats."""

    fn: Fn
    built: dict[str, Library | None] = field(default_factory=dict)  # None: cannot be had
    lock: Any = field(default_factory=Lock)

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
            text = emit_lanes(self.fn, lanes_here(scalar), scalar=scalar)
            return build(text, f"{lanes_declaration(self.fn, scalar)};")
        except BackendUnavailable as error:
            notice("no lanes", f"batches run one state at a time: {error}")
            return None

    def __call__(self, batch: Batch, dtype: np.dtype) -> tuple[tuple[NDArray[Any], ...], NDArray[np.intp]]:
        """The outputs, and which states they are wrong for."""
        scalar = SCALARS[dtype]
        library = self.built[scalar]
        assert library is not None
        results = tuple(np.empty((batch.count, *port.shape), dtype) for port in self.fn.outputs)
        far = np.empty(batch.count, np.uint8)
        source, stride, target = pointers(library, batch, results, scalar)
        call = getattr(library.lib, f"{self.fn.name}_lanes")
        if call(batch.count, source, stride, target, library.ffi.cast("unsigned char *", far.ctypes.data)):
            raise MemoryError(f"no memory for the vectors of '{self.fn.name}'")
        return results, np.flatnonzero(far)


def pointers(library: Library, batch: Batch, results: tuple[NDArray[Any], ...], scalar: str) -> tuple[Any, Any, Any]:
    """in, stride and out of a batch function."""
    ffi = library.ffi
    source, target = (
        ffi.new(f"{scalar} *[]", [ffi.cast(f"{scalar} *", array.ctypes.data) for array in arrays])
        for arrays in (batch.arrays, results)
    )
    return source, ffi.new("ptrdiff_t[]", batch.strides), target


def lanes_here(scalar: str) -> int:
    """How many numbers a vector register of this CPU holds."""
    return _vector_bytes() // PRECISIONS[scalar].size


@cache
def _vector_bytes() -> int:
    return int(build(PROBE, "int appell_vector_bytes(void);").lib.appell_vector_bytes())
