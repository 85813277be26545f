"""Calling a function from Python, whichever back end computes it.

    call(x_1, …, x_n) -> (y_1, …, y_m)          one state, fresh arrays
    call.batch(x_1, …, x_n) -> (Y_1, …, Y_m)    states along the first axis of Y; an x without that axis is repeated;
                                                large batches run on vectors of states (`lane_call`)

The time of a single call goes into crossing from Python to C. An extension module does it (`crossing`): 0.16 µs with four
inputs and two outputs. Where there is none, and for lists and the like, it is one packed array for inputs and outputs whose
pointer is made once: 1.1 µs. Wrapping each array (`ffi.from_buffer`) would take 2.3 µs, CasADi's own call takes 39 µs. A `Call`
may be shared by threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from appell.backends.calls.crossing import crossing
from appell.backends.calls.vectors import SCALARS, Batch, Lanes, pointers, results_of
from appell.backends.compiler.build import Draft, Library, build, find
from appell.backends.compiler.recipe import Recipe, text_of
from appell.backends.text.c_source import declarations, module
from appell.errors import ModelError
from appell.graph.fn import FLOAT, Buffers, Fn, Port, Signature, as_array, checked, real_array

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Call:
    """`fn` as a Python function. `single` is `call(…)` without counting the arguments, for the tightest loops."""

    fn: Signature
    single: Callable[..., tuple[Array, ...]]
    many: Callable[[Any, Batch, np.dtype, tuple[NDArray[Any], ...]], None]
    open_buffers: Callable[[], Buffers]
    cross: Callable[..., Callable[..., Any] | None]

    def __post_init__(self) -> None:
        fast = self.cross(self.batch, batches=True, singles=False)
        if fast is not None:
            object.__setattr__(self, "batch", fast)  # the crossing into machine code itself

    def first(self, otherwise: Callable[..., Any]) -> Callable[..., Any] | None:
        """The first output by itself, at one state or, if it is the only one, at a batch; `otherwise(…)` where the arguments
        are not float64 of the right shapes; None where there is no extension module."""
        return self.cross(otherwise, kept=1, bare=True, batches=True)

    def guarded(self, otherwise: Callable[..., Any], **fixed: ArrayLike) -> Callable[..., Any]:
        """`single` for functions whose last output is a margin: the outputs before it where it is positive, and
        `otherwise(…)` where it is not, or where the arguments are not float64 of the right shapes.

        Inputs in `fixed` are written once. No array is made for the margin.
        """
        crossed = self.cross(otherwise, kept=len(self.fn.outputs) - 1, guarded=True, fixed=fixed)
        return crossed or _guarded(self.fn, self.open_buffers, otherwise, fixed)

    def __call__(self, *arrays: ArrayLike) -> tuple[Array, ...]:
        if len(arrays) != len(self.fn.inputs):
            checked(self.fn, arrays)
        return self.single(*arrays)

    def batch(
        self, *arrays: ArrayLike, dtype: DTypeLike = np.float64, out: Sequence[NDArray[Any]] | None = None
    ) -> tuple[NDArray[Any], ...]:
        """The outputs at a batch of states, computed in and returned as float64, or float32 where that is asked for.

        Single precision is at hand for compiled functions and large batches; otherwise the results are rounded to it.
        They are fresh arrays, or those given as `out`, one for each output and of that type.
        """
        kind = np.dtype(dtype)
        if kind not in SCALARS:
            raise ModelError(f"'{self.fn.name}' computes in float64 or float32, not in {kind}")
        batch = _batch(self.fn, checked(self.fn, arrays), kind)
        results = results_of(self.fn, batch, kind, out)
        self.many(self.fn, batch, kind, results)
        return results


def c_function(library: Library, fn: Signature) -> Call:
    """`fn` from a library that holds it (`compile_c`)."""
    lanes = Lanes(fn) if isinstance(fn, Fn | Recipe) and library.contracts else None
    open_buffers = partial(_c_buffers, library, fn)
    vectors = None if lanes is None else lanes.vectors

    def cross(otherwise: Callable[..., Any], *, batches: bool = False, **options: Any) -> Callable[..., Any] | None:
        options |= {"operations": _operations(fn), "vectors": vectors if batches else None}
        return crossing(library, fn, otherwise, **options)

    single = _single(fn, open_buffers)
    return Call(fn, cross(single) or single, partial(_c_many, library, lanes), open_buffers, cross)


def vm_function(fn: Fn) -> Call:
    """`fn` by CasADi's evaluator: no compiler, the same numbers."""
    return Call(fn, _single(fn, fn.buffers), _vm_many, fn.buffers, lambda otherwise, **options: None)


def _operations(fn: Signature) -> int:
    """Of one evaluation; a function that is no graph solves for all its outputs, roughly."""
    return fn.operations if isinstance(fn, Fn | Recipe) else sum(port.size for port in fn.outputs) ** 3


def compile_c(fns: Sequence[Fn], *, optimise: str = "fast") -> Library:
    """One library with the entry points of all `fns`, whose names must differ."""
    return build(module(fns), declarations(fns), optimise=optimise)


def in_c(fn: Fn | Recipe) -> Call:
    """`fn` alone in C."""
    return c_function(build(_text(fn), declarations([fn])), fn)


def compiled_before(fn: Fn | Recipe) -> Call | None:
    """`in_c(fn)` if no compiler has to run for it: the cache knows the recipe and holds its machine code."""
    text = _text(fn) if isinstance(fn, Recipe) else None
    library = find(text, declarations([fn])) if isinstance(text, Draft) else None
    return None if library is None else c_function(library, fn)


def _text(fn: Fn | Recipe) -> str | Draft:
    return text_of(fn, "one state", lambda graph: module([graph]))


# A loop over the ports would double the time of a call, so the loop is written out, as namedtuple does. A desk is the
# memory of one call in progress; `pop` and `append` of a list are atomic, so no two threads ever share one.
_SINGLE = """\
def {name}({arguments}):
    try:
        _desk = _pop()
    except IndexError:
        _desk = _open_desk()
    {targets}_run, {results}_buffers = _desk
    try:
        {fill}
    except (TypeError, ValueError):
        _convert(_buffers, ({arguments}))
    _run()
    _fresh = ({copies})
    _push(_desk)
    return _fresh
"""

_GUARDED = """\
def {name}({arguments}):
    try:
        _desk = _pop()
    except IndexError:
        _desk = _open_desk()
    {targets}_run, {results}_margin = _desk
    try:
        {fill}
    except (TypeError, ValueError):
        _push(_desk)
        return _otherwise({arguments})
    _run()
    if _margin[0] > 0:
        _fresh = ({copies})
        _push(_desk)
        return _fresh
    _push(_desk)
    return _otherwise({arguments})
"""


def _single(fn: Signature, open_buffers: Callable[[], Buffers]) -> Callable[..., tuple[Array, ...]]:
    """`single(x0, x1, …)`: `target[:] = x` fills an input, or raises unless x is float64 of exactly that shape."""

    def open_desk() -> tuple[Any, ...]:
        buffers = open_buffers()
        targets = (_target(port, memory) for port, memory in zip(fn.inputs, buffers.inputs, strict=True))
        return (*targets, buffers.run, *buffers.outputs, buffers)

    def convert(buffers: Buffers, arrays: Sequence[ArrayLike]) -> None:
        for memory, port, value in zip(buffers.inputs, fn.inputs, arrays, strict=True):
            memory[...] = as_array(_given(value, port), port)

    return _written(_SINGLE, fn, range(len(fn.inputs)), range(len(fn.outputs)), {"_open_desk": open_desk, "_convert": convert})


def _guarded(
    fn: Signature, open_buffers: Callable[[], Buffers], otherwise: Callable[..., Any], fixed: Mapping[str, ArrayLike]
) -> Callable[..., Any]:
    """See `Call.guarded`."""
    inputs = [k for k, port in enumerate(fn.inputs) if port.name not in fixed]
    alive: list[Buffers] = []  # what a desk points into

    def open_desk() -> tuple[Any, ...]:
        buffers = open_buffers()
        alive.append(buffers)
        for port, memory in zip(fn.inputs, buffers.inputs, strict=True):
            if port.name in fixed:
                memory[...] = as_array(fixed[port.name], port)
        targets = (_target(fn.inputs[k], buffers.inputs[k]) for k in inputs)
        *results, margin = buffers.outputs
        return (*targets, buffers.run, *results, margin.reshape(1).data)

    return _written(_GUARDED, fn, inputs, range(len(fn.outputs) - 1), {"_open_desk": open_desk, "_otherwise": otherwise})


def _written(
    template: str, fn: Signature, inputs: Sequence[int], outputs: Sequence[int], scope: dict[str, Any]
) -> Callable[..., Any]:
    """The template with its loops over inputs and outputs written out."""
    names = {k: fn.inputs[k].name for k in inputs}
    text = template.format(
        name=fn.name,
        arguments="".join(f"{name}, " for name in names.values()),
        targets="".join(f"_t{k}, " for k in inputs),
        results="".join(f"_y{k}, " for k in outputs),
        fill="; ".join(f"_t{k}[{'_all' if fn.inputs[k].shape else 0}] = {names[k]}" for k in inputs) or "pass",
        copies="".join(f"_y{k}.copy(), " if fn.outputs[k].size else f"_y{k}, " for k in outputs),
    )
    idle: list[tuple[Any, ...]] = []
    scope |= {"_pop": idle.pop, "_push": idle.append, "_all": slice(None)}
    exec(text, scope)
    return scope[fn.name]


class _Strict:
    """An input whose memoryview could not check shapes: matrices and empty arrays."""

    def __init__(self, port: Port, memory: Array):
        self.port, self.memory = port, memory

    def __setitem__(self, place: object, value: ArrayLike) -> None:
        self.memory[...] = as_array(value, self.port)


def _target(port: Port, memory: Array) -> Any:
    """A memoryview takes exactly float64 of its own length, in half the time of a NumPy check and assignment."""
    return _Strict(port, memory) if port.size == 0 or len(port.shape) == 2 else memory.reshape(-1).data


def _c_buffers(library: Library, fn: Signature) -> Buffers:
    """One packed array, inputs before outputs, with views in the ports' shapes: C gets one pointer."""
    ports = (*fn.inputs, *fn.outputs)
    packed: Any = np.zeros(max(1, sum(port.size for port in ports)))
    views = _views(packed, ports)
    pointer = library.ffi.cast("double *", library.ffi.from_buffer("double[]", packed))
    run = partial(getattr(library.lib, f"{fn.name}_packed"), pointer)
    return Buffers(views[: len(fn.inputs)], views[len(fn.inputs) :], run, (library, packed))


def _views(packed: Array, ports: Sequence[Port]) -> tuple[Array, ...]:
    ends = np.cumsum([port.size for port in ports], dtype=int)
    return tuple(packed[end - port.size : end].reshape(port.shape) for port, end in zip(ports, ends, strict=True))


def _c_many(
    library: Library, lanes: Lanes | None, fn: Signature, batch: Batch, dtype: np.dtype, results: tuple[NDArray[Any], ...]
) -> None:
    if lanes is None or not lanes.take(batch.count, dtype):
        far = np.arange(batch.count) if dtype != FLOAT else None
    else:
        far = lanes(batch, dtype, results)
    if far is None:
        _c_one_by_one(library, fn, batch, results)
    elif len(far):
        right = tuple(np.empty((len(far), *port.shape)) for port in fn.outputs)
        _c_one_by_one(library, fn, batch.rows(far, FLOAT), right)
        for array, rows in zip(results, right, strict=True):
            array[far] = rows


def _c_one_by_one(library: Library, fn: Signature, batch: Batch, results: tuple[NDArray[Any], ...]) -> None:
    source, stride, target = pointers(library, batch, results, "double")
    getattr(library.lib, f"{fn.name}_batch")(batch.count, source, stride, target)


def _vm_many(fn: Fn, batch: Batch, dtype: np.dtype, results: tuple[NDArray[Any], ...]) -> None:
    work = fn.buffers()
    pairs = list(zip(work.inputs, batch.arrays, fn.inputs, strict=True))
    moving = [(memory, array) for memory, array, port in pairs if array.ndim > len(port.shape)]
    for memory, array, port in pairs:
        if array.ndim == len(port.shape):
            memory[...] = array
    for k in range(batch.count):
        for memory, array in moving:
            memory[...] = array[k]
        work.run()
        for result, memory in zip(results, work.outputs, strict=True):
            result[k] = memory


def _batch(fn: Signature, values: Sequence[ArrayLike], dtype: np.dtype) -> Batch:
    """Shapes (batch, *port.shape) or port.shape; the former agree on the batch."""
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
    """`value` as `dtype`; anything but real numbers is refused under the port's name."""
    fits = isinstance(value, np.ndarray) and value.dtype == dtype
    return value if fits else real_array(_given(value, port), port).astype(dtype, copy=False)  # type: ignore[return-value]


def _given(value: ArrayLike, port: Port) -> ArrayLike:
    if value is None:
        raise ModelError(f"'{port.name}' is None; give an array of shape {port.shape}")
    return value


def _row_contiguous(array: NDArray[Any], port: Port) -> NDArray[Any]:
    """`array`, copied unless each state is contiguous; the distance between states is free (a view, a broadcast)."""
    if array.shape != port.shape and (array.ndim == 0 or array.shape[1:] != port.shape):
        rows = ", ".join(map(str, ("batch", *port.shape))) if port.shape else "batch,"
        raise ModelError(f"'{port.name}' has shape {array.shape}, expected {port.shape} or ({rows})")
    flags = array.flags
    if flags.c_contiguous and flags.aligned:
        return array
    one = array[:1] if array.ndim > len(port.shape) else array
    whole_strides = not array.ndim or array.strides[0] % array.itemsize == 0
    return array if one.flags.c_contiguous and flags.aligned and whole_strides else np.array(array, order="C")
