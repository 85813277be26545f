"""Calling a function from Python, on any back end.

    call.single(x_1, …, x_n) -> (y_1, …, y_m)   one state, new arrays; `call(…)` checks the number of arguments first
    call.batch(x_1, …, x_n) -> (Y_1, …, Y_m)    states along the first axis of Y; an x without that axis is repeated
    call.entry(otherwise, …)                    the entry point behind both: with fixed inputs, only the first outputs, or a
    guard by a margin

An entry takes float64 arrays in the ports' shapes and passes everything else to `otherwise`, which converts or raises. Most
of the time of a single call is the transition from Python to C: an extension module (`crossing`) takes 0.16 µs with four
inputs and two outputs. Without it, a closure over preallocated memory takes 2 µs; CasADi's own call takes 39 µs. Threads
may share a `Call`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, update_wrapper
from operator import setitem
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from appell.backends.calls.batch import SCALARS, Batch, batch_of, not_none, results_of
from appell.errors import ModelError
from appell.graph.fn import Buffers, Fn, Port, Signature, as_array, checked

Array = NDArray[np.float64]
Results = tuple[NDArray[Any], ...]


def no_crossing(otherwise: Callable[..., Any], **options: Any) -> None:
    """The `crossing` of a function that can only be called through Python: none."""


@dataclass(frozen=True, eq=False)
class Call:
    """A function on a back end.

    Parameters
    ----------
    fn: name and ports.
    buffers: creates memory for one state with its evaluator; one for each call in progress.
    many: writes the outputs of a batch, of the given type, to results; None: state by state.
    crossing: an entry that bypasses Python, or None where not available; see `entry` for its options.
    """

    fn: Signature
    buffers: Callable[[], Buffers]
    batch_function: Callable[[Batch, np.dtype, Results], None] | None = None
    crossing: Callable[..., Callable[..., Any] | None] = no_crossing

    @staticmethod
    def of(fn: Signature, evaluate: Callable[..., Sequence[ArrayLike]]) -> Call:
        """`fn` by a Python function of one state: arrays in the ports' shapes (reused memory) to its outputs."""
        return Call(fn, lambda: _evaluated(fn, evaluate))

    @cached_property
    def single(self) -> Callable[..., tuple[Array, ...]]:
        """The outputs at one state, without checking the number of arguments."""
        return self.entry(self.converted)

    @cached_property
    def batch(self) -> Callable[..., Results]:
        """The outputs at a batch of states, `batch(x_1, …, dtype=float64, out=None)`; see `batched`."""
        return self.crossing(self.batched, batches=True, singles=False) or self.batched

    def __call__(self, *arrays: ArrayLike) -> tuple[Array, ...]:
        return self.single(*checked(self.fn, arrays))

    def entry(
        self,
        otherwise: Callable[..., Any],
        *,
        kept: int | None = None,
        bare: bool = False,
        guarded: bool = False,
        fixed: Mapping[str, ArrayLike] | None = None,
        batches: bool = False,
    ) -> Callable[..., Any]:
        """The function of its inputs without the `fixed` ones, which are set once.

        Parameters
        ----------
        otherwise: called with the same arguments where these are not plain arrays of float64 (for scalars: floats, ints).
        kept: the number of outputs returned, the first ones; None for all.
        bare: a single output is returned by itself, not in a tuple.
        guarded: the last output is a margin; where it is not positive, the result is `otherwise(…)`.
        batches: with all outputs and no fixed input, a batch may also enter directly, if vector code is ready for it.
        """
        options: dict[str, Any] = {"kept": kept, "bare": bare, "guarded": guarded, "fixed": fixed or {}}
        return self.crossing(otherwise, batches=batches, **options) or _entry(self.fn, self.buffers, otherwise, **options)

    def converted(self, *arrays: ArrayLike) -> tuple[Array, ...]:
        """`single` for lists, integers and other memory layouts; other shapes and complex values raise."""
        ports = zip(self.fn.inputs, checked(self.fn, arrays), strict=True)
        return self.single(*(np.array(as_array(not_none(value, port), port), order="C") for port, value in ports))

    def batched(
        self, *arrays: ArrayLike, dtype: DTypeLike = np.float64, out: Sequence[NDArray[Any]] | None = None
    ) -> Results:
        """The outputs at a batch of states, computed and returned in float64, or float32 on request.

        Single precision is available for compiled functions and large batches; otherwise the results are rounded to it.
        They are new arrays, or those given as `out`, one of that type for each output.
        """
        kind = np.dtype(dtype)
        if kind not in SCALARS:
            raise ModelError(f"'{self.fn.name}' computes in float64 or float32, not in {kind}")
        batch = batch_of(self.fn, checked(self.fn, arrays), kind)
        results = results_of(self.fn, batch, kind, out)
        if self.batch_function is None:
            _one_by_one(self.fn, self.buffers(), batch, results)
        else:
            self.batch_function(batch, kind, results)
        return results


def vm_function(fn: Fn) -> Call:
    """`fn` by CasADi's evaluator: no compiler, the same results."""

    def many(batch: Batch, kind: np.dtype, results: Results) -> None:
        block = STATES_PER_CALL if batch.count > STATES_PER_CALL // 4 else 0
        work = fn.borrow(block)
        (_by_blocks if block else _one_by_one)(fn, work, batch, results)
        fn.give_back(work, block)

    return Call(fn, fn.buffers, many)


def _entry(
    fn: Signature,
    open_buffers: Callable[[], Buffers],
    otherwise: Callable[..., Any],
    *,
    kept: int | None,
    bare: bool,
    guarded: bool,
    fixed: Mapping[str, ArrayLike],
) -> Callable[..., Any]:
    """See `Call.entry`. `pop` and `append` of a list are atomic, so concurrent calls never share memory."""
    moving = [k for k, port in enumerate(fn.inputs) if port.name not in fixed]
    places = [slice(None) if fn.inputs[k].shape else 0 for k in moving]
    count, idle = len(moving), []

    def opened() -> tuple[list[Any], Callable[[], None], list[Callable[[], Array]], Any, Buffers]:
        work = open_buffers()
        for port, memory in zip(fn.inputs, work.inputs, strict=True):
            if port.name in fixed:
                memory[...] = as_array(fixed[port.name], port)
        targets = [_target(fn.inputs[k], work.inputs[k]) for k in moving]
        margin = work.outputs[-1].reshape(1).data if guarded else POSITIVE
        return targets, work.run, [array.copy for array in work.outputs[:kept]], margin, work

    def enter(*arrays: Any, **options: Any) -> Any:
        if options or len(arrays) != count:
            return otherwise(*arrays, **options)
        try:
            memory = idle.pop()
        except IndexError:
            memory = opened()
        targets, run, copies, margin, _ = memory
        try:
            list(map(setitem, targets, places, arrays))  # a loop without Python bytecode
        except Exception:  # lists, batches, and objects with an arbitrary __float__: `otherwise` checks them
            idle.append(memory)
            return otherwise(*arrays)
        run()
        if not margin[0] > 0:
            idle.append(memory)
            return otherwise(*arrays)
        fresh = tuple([copied() for copied in copies])
        idle.append(memory)
        return fresh[0] if bare else fresh

    return update_wrapper(enter, otherwise)


POSITIVE = (1.0,)


def _target(port: Port, memory: Array) -> Any:
    """The target to which an input is written. A memoryview accepts exactly float64 of its own length, in half the time of a
    NumPy check and assignment; it cannot check matrices and empty arrays."""
    return _Strict(port, memory) if port.size == 0 or len(port.shape) == 2 else memory.reshape(-1).data


class _Strict:
    """Memory that accepts arrays of exactly the port's shape."""

    def __init__(self, port: Port, memory: Array):
        self.port, self.memory = port, memory

    def __setitem__(self, place: object, value: ArrayLike) -> None:
        self.memory[...] = as_array(value, self.port)


def _moving(fn: Signature, work: Buffers, batch: Batch) -> list[tuple[Array, Array]]:
    """(memory, values) of the inputs that vary between states; the others are written here."""
    moving = []
    for port, memory, array in zip(fn.inputs, work.inputs, batch.arrays, strict=True):
        if array.ndim > len(port.shape):
            moving.append((memory, array))
        else:
            memory[...] = array
    return moving


def _one_by_one(fn: Signature, work: Buffers, batch: Batch, results: Results) -> None:
    """Evaluates a batch state by state."""
    moving = _moving(fn, work, batch)
    for k in range(batch.count):
        for memory, array in moving:
            memory[...] = array[k]
        work.run()
        for result, memory in zip(results, work.outputs, strict=True):
            result[k] = memory


STATES_PER_CALL = 32
"""States per call of CasADi's evaluator: one by one, Python would take several times longer than most functions."""


def _by_blocks(fn: Signature, work: Buffers, batch: Batch, results: Results) -> None:
    """Evaluates a batch block by block; the last one is filled up with states of the block before, or with zeros."""
    moving = _moving(fn, work, batch)
    for start in range(0, batch.count, STATES_PER_CALL):
        count = min(STATES_PER_CALL, batch.count - start)
        for memory, array in moving:
            memory[:count] = array[start : start + count]
        work.run()
        for result, memory in zip(results, work.outputs, strict=True):
            result[start : start + count] = memory[:count]


def _evaluated(fn: Signature, evaluate: Callable[..., Sequence[ArrayLike]]) -> Buffers:
    inputs, outputs = (tuple(np.zeros(port.shape) for port in ports) for ports in (fn.inputs, fn.outputs))

    def run() -> None:
        for port, memory, value in zip(fn.outputs, outputs, evaluate(*inputs), strict=True):
            memory[...] = as_array(value, port)

    return Buffers(inputs, outputs, run, None)
