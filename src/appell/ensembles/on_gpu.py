"""An ensemble on a GPU: the struct and its arrays in device memory, one launch of the kernel for all runs."""

from __future__ import annotations

from time import sleep
from types import SimpleNamespace
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from appell.backends.cuda.device import compiled_densely, xp
from appell.compiled.run import Run
from appell.ensembles.cuda import kernel_text
from appell.ensembles.lane_program import CDEF
from appell.ensembles.lanes import Ensemble, bends_of, stops_of
from appell.ensembles.methods import tableau_named
from appell.ensembles.order import Order
from appell.ensembles.walls import wall_functions
from appell.errors import ModelError
from appell.remember import kept_in

RUNS_PER_BLOCK = 64  # threads
BLOCKS_PER_MULTIPROCESSOR = 32  # blocks for each multiprocessor: more than fit, so that none idles
REGISTERS_WITH_FACES = 208  # registers for a loop with faces; steps far from them need fewer
GPU_POLL_SECONDS, FIRST_PAUSE_SECONDS = 0.002, 0.00005  # s
SMALL_ALLOCATION = 1 << 16  # bytes


def _free_bytes() -> int:
    """Free memory of the device, bytes."""
    cp = xp()
    return int(cp.cuda.runtime.memGetInfo()[0] + cp.get_default_memory_pool().free_bytes())


class OnGpu(Ensemble):
    """`Ensemble` on the device. Threads take run after run; meanwhile the host can stop them and read their progress."""

    def load(self, run: Run, order: Order) -> Any:
        """The kernel, compiled once; returned is `ffi` for the struct."""
        self.device_copies: list[tuple[NDArray[Any], Any]] = []  # (array on the host, its copy on the device)
        self.halted, self.all_runs = False, False
        stops = stops_of(self.branches, order)
        key = (order.method, order.scalar, self.watch and self.watch.key, stops and stops.columns)
        kernels = kept_in(self.motion, "gpu")
        if key not in kernels:
            walls = wall_functions(run, self.motion)
            bends = bends_of(run, self.motion)
            source = kernel_text(self.motion, tableau_named(order.method), self.watch, walls, order.scalar, stops, bends)
            kernels[key] = compiled_densely(source, "appell_many_kernel", **({"up_to": REGISTERS_WITH_FACES} if walls else {}))
        self.kernel = kernels[key]
        ffi = cffi.FFI()
        ffi.cdef(CDEF)
        return SimpleNamespace(ffi=ffi)

    def _pointer(self, array: NDArray[Any], kind: str = "double[]") -> Any:
        cp = xp()
        array = np.ascontiguousarray(array, np.float64 if kind == "double[]" else None)
        if array.nbytes > SMALL_ALLOCATION and array.nbytes > (free := _free_bytes()):
            raise ModelError(
                f"the GPU has {free / 1e9:.2g} GB left, and {array.nbytes / 1e9:.2g} GB more are asked for: keep less of each"
                " run, or make fewer runs at a time"
            )
        blank = array.size and self.all_runs and any(array is result for result in self._results())
        on_device = cp.full(array.shape, array.flat[0], array.dtype) if blank else cp.asarray(array)
        self.device_copies.append((array, on_device))
        return self.library.ffi.cast(kind.replace("[]", " *"), on_device.data.ptr)

    def work(self) -> None:
        cp, ffi = xp(), self.library.ffi
        job = cp.asarray(np.frombuffer(ffi.buffer(self.struct), np.uint8))
        self.addresses = {name: job.data.ptr + ffi.offsetof("appell_many", name) for name in ("done", "stop")}
        self.copy_stream = cp.cuda.Stream(non_blocking=True)
        with cp.cuda.Stream(non_blocking=True) as stream:
            blocks = -(-int(self.struct.n) // RUNS_PER_BLOCK)
            most_blocks = BLOCKS_PER_MULTIPROCESSOR * cp.cuda.Device().attributes["MultiProcessorCount"]
            cp.cuda.Device().synchronize()
            begin = stream.record()
            self.kernel((max(1, min(blocks, most_blocks)),), (RUNS_PER_BLOCK,), (job,))
            end = stream.record()
            pause = FIRST_PAUSE_SECONDS
            while not end.done:
                if self.halted:
                    self._write("stop", np.array([1], np.int32))
                sleep(pause)
                pause = min(1.5 * pause, GPU_POLL_SECONDS)
            stream.synchronize()
            self.kernel_seconds = cp.cuda.get_elapsed_time(begin, end) * 1e-3
        results = self._results()
        for on_host, on_device in self.device_copies:
            if on_host.size and any(on_host is result for result in results):
                on_device.get(out=on_host)

    def _results(self) -> list[NDArray[Any]]:
        """The arrays that the kernel writes; before it, each holds one constant."""
        return [array for array in vars(self).values() if isinstance(array, np.ndarray)]

    def stop(self) -> None:
        self.halted = True

    @property
    def done(self) -> int:
        """Number of finished runs, read while the kernel runs."""
        if not hasattr(self, "copy_stream"):  # the stream is made last, when the kernel is about to start
            return 0
        count = np.zeros(1, np.int64)
        self._copy(count.ctypes.data, self.addresses["done"], 8, 2)
        return int(count[0])

    def _write(self, name: str, value: NDArray[Any]) -> None:
        self._copy(self.addresses[name], value.ctypes.data, value.nbytes, 1)

    def _copy(self, target: int, source: int, size: int, kind: int) -> None:
        xp().cuda.runtime.memcpyAsync(target, source, size, kind, self.copy_stream.ptr)
        self.copy_stream.synchronize()


__all__ = ["OnGpu"]
