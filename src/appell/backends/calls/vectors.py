"""Batches by vector code: the lanes of a function, compiled for the first large batch.

Single calls and small batches never wait for this compiler run; once it is done, every batch of at least two vectors uses it.
Where a sine's argument is huge or not finite, the result comes from the scalar code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends.calls.batch import SCALARS, Batch, aligned, pointers
from appell.backends.calls.crossing import no_vectors
from appell.backends.compiler.build import Library, build
from appell.backends.compiler.recipe import Recipe, text_of
from appell.backends.lanes.emit import PRECISIONS, emit_lanes, lanes_declarations
from appell.backends.notice import notice
from appell.backends.once import once
from appell.errors import BackendUnavailable
from appell.graph.fn import Fn

NO_INDICES = np.empty(0, np.intp)
BATCH_WORTH_COMPILING = 1024  # states in a batch
VECTORS_PROBE = """\
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


@dataclass(frozen=True, eq=False)
class Lanes:
    """`fn` over vectors of doubles or floats. `rooms`: memory from finished calls; each call in progress has its own."""

    fn: Fn | Recipe
    built: dict[str, Library | None] = field(default_factory=dict)  # None: not available
    rooms: dict[str, list[NDArray[np.uint8]]] = field(default_factory=lambda: {scalar: [] for scalar in SCALARS.values()})
    lock: Any = field(default_factory=Lock)
    vectors: Any = field(default_factory=no_vectors)  # the entry without cffi, opened when they are built

    def take(self, count: int, dtype: np.dtype) -> bool:
        """Whether a batch of `count` states uses vector code; compiles it for the first large one."""
        scalar = SCALARS[dtype]
        if scalar in self.built:
            return self.built[scalar] is not None and count >= 2 * lanes_here(scalar)
        if count < BATCH_WORTH_COMPILING:
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
        """Writes the outputs to `results`; returns the states for which they are invalid."""
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
        any_far = getattr(library.lib, f"{self.fn.name}_lanes")(batch.count, source, stride, target, memory(far), memory(room))
        idle.append(room)
        return np.flatnonzero(far) if any_far else NO_INDICES


def lanes_here(scalar: str) -> int:
    """The number of lanes of a vector register of this CPU."""
    return _vector_bytes() // PRECISIONS[scalar].size


@once
def _vector_bytes() -> int:
    return int(build(VECTORS_PROBE, "int appell_vector_bytes(void);").lib.appell_vector_bytes())
