"""A function with named, shaped inputs and outputs, and the scalar graph that computes it.

    (y_1, …, y_m) = f(x_1, …, x_n)        every x and y an array of float64 with a fixed shape: (), (n,) or (n, m)

The graph is a CasADi function over dense columns; a matrix is the column of its rows (row-major), which is NumPy's
memory layout, so that nothing is transposed between a caller and machine code.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.errors import ModelError
from appell.graph.instructions import Instruction, count_operations, instructions_of
from appell.reading import FITS_ANYWHERE, refuse_large, shown

Shape = tuple[int, ...]
Shaped = ca.SX | tuple[ca.SX, Shape]
FLOAT = np.dtype(np.float64)


@dataclass(frozen=True)
class Port:
    """One input or output: `name` is an ASCII identifier, `shape` is (), (n,) or (n, m); sizes may be 0."""

    name: str
    shape: Shape = ()

    def __post_init__(self) -> None:
        if not (self.name.isidentifier() and self.name.isascii()):
            raise ModelError(f"'{self.name}' cannot name an input or output: use an ASCII identifier such as 'q'")
        if len(self.shape) > 2 or any(n < 0 for n in self.shape):
            raise ModelError(f"'{self.name}' has shape {self.shape}; scalars (), vectors (n,), matrices (n, m) only")

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Signature(Protocol):
    """Something callable with a name and ports: an `Fn`, or anything with machine code of the same shape."""

    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> tuple[Port, ...]: ...
    @property
    def outputs(self) -> tuple[Port, ...]: ...


@dataclass(frozen=True, eq=False)
class Fn:
    """f: inputs → outputs. `function` maps dense columns to dense columns, matrices row by row; see `make_fn`."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    function: ca.Function

    def __call__(self, *arrays: ArrayLike) -> dict[str, NDArray[np.float64]]:
        """The outputs by name at one state, by CasADi's evaluator. For many calls reuse `buffers()`."""
        work = self.borrow()
        for port, memory, value in zip(self.inputs, work.inputs, checked(self, arrays), strict=True):
            fits = type(value) is np.ndarray and value.dtype is FLOAT and value.shape == memory.shape
            memory[...] = value if fits else as_array(value, port)
        work.run()
        results = {port.name: memory.copy() for port, memory in zip(self.outputs, work.outputs, strict=True)}
        self.give_back(work)
        return results

    def borrow(self, block: int = 0) -> Buffers:
        """Buffers of an earlier call, or new ones; creating them takes longer than most functions."""
        try:
            return self._idle[block].pop()  # atomic: never shared by two threads
        except IndexError:
            return self.buffers(block)

    def give_back(self, work: Buffers, block: int = 0) -> None:
        """Returns buffers to be borrowed again."""
        self._idle[block].append(work)

    @cached_property
    def _idle(self) -> dict[int, list[Buffers]]:
        return defaultdict(list)

    def buffers(self, block: int = 0) -> Buffers:
        """New memory and an evaluator on it, one for each thread. With a block, for that many states, (block, …)."""
        return _buffers(self, block)

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """The graph as single-assignment instructions."""
        return instructions_of(self.function)

    @cached_property
    def operations(self) -> int:
        """Number of arithmetic operations in one evaluation."""
        return count_operations(self.instructions)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the ports and the instructions: equal for equal functions in every process."""
        text = hashlib.sha256(repr((self.inputs, self.outputs)).encode())
        for item in self.instructions:
            text.update(repr(item).encode())
        return text.hexdigest()


@dataclass(frozen=True, eq=False)
class Buffers:
    """Write `inputs`, call `run()`, read `outputs`. The arrays have the ports' shapes and do not move."""

    inputs: tuple[NDArray[np.float64], ...]
    outputs: tuple[NDArray[np.float64], ...]
    run: Callable[[], None]
    owner: Any  # keeps CasADi's buffer object alive for `run`


def make_fn(name: str, inputs: Mapping[str, Shaped], outputs: Mapping[str, Shaped]) -> Fn:
    """The function `inputs` → `outputs`, common subexpressions shared over all outputs.

    Each value is an SX, or (SX, shape). Alone, a 1×1 SX is a scalar (), a column (n,), anything else a matrix (n, m).
    With a shape, the SX is that matrix, or the column of its entries row by row; (q, (1,)) is a vector of one.
    Inputs are dense symbols; outputs may be sparse.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", name):
        raise ModelError(f"'{name}' cannot name a function: use letters, digits and single underscores")
    arguments = {key: _column(key, value) for key, value in inputs.items()}
    results = {key: _column(key, value) for key, value in outputs.items()}
    columns = [column for column, _ in arguments.values()]
    expressions = ca.cse([ca.densify(column) for column, _ in results.values()]) if results else []
    function = _function(name, columns, expressions)
    in_ports, out_ports = (tuple(Port(key, shape) for key, (_, shape) in ports.items()) for ports in (arguments, results))
    return Fn(name, in_ports, out_ports, function)


def as_array(value: ArrayLike, port: Port) -> NDArray[np.float64]:
    """`value` as float64 of exactly the port's shape; no broadcasting, no dropped imaginary part."""
    array = real_array(value, port)
    if array.shape != port.shape:
        raise ModelError(f"'{port.name}' has shape {array.shape}, expected {port.shape}")
    return array


def real_array(value: ArrayLike, port: Port) -> NDArray[np.float64]:
    """`value` as float64 of any shape; anything but real numbers raises with the port's name."""
    if type(value) is np.ndarray and value.dtype == FLOAT and value.nbytes <= FITS_ANYWHERE:
        return value
    refuse_large(value, f"'{port.name}'")
    try:
        array = np.asarray(value)
    except Exception:  # rows of different lengths, or an arbitrary __array__
        raise ModelError(f"'{port.name}' is {shown(value)}, expected real numbers") from None
    if array.dtype.kind not in "fiub" and array.size:
        raise ModelError(f"'{port.name}' is an array of {array.dtype}, expected real numbers")
    return array.astype(FLOAT, copy=False)


def checked(fn: Signature, arrays: Sequence[ArrayLike]) -> Sequence[ArrayLike]:
    """`arrays`; raises unless there is one for each input."""
    if len(arrays) != len(fn.inputs):
        names = ", ".join(port.name for port in fn.inputs)
        raise ModelError(f"'{fn.name}' takes {len(fn.inputs)} arrays ({names}), got {len(arrays)}")
    return arrays


def _column(name: str, value: Shaped) -> tuple[ca.SX, Shape]:
    """The dense column of the entries row by row, and the shape."""
    expression, shape = value if isinstance(value, tuple) else (value, None)
    expression = expression if isinstance(expression, ca.SX) else ca.SX(expression)
    rows, columns = expression.shape
    if shape is None:
        shape = () if (rows, columns) == (1, 1) else (rows,) if columns == 1 else (rows, columns)
    if math.prod(shape) != rows * columns or (columns != 1 and len(shape) == 2 and (rows, columns) != shape):
        raise ModelError(f"'{name}' is a {rows}×{columns} expression, which cannot have shape {shape}")
    return expression if columns == 1 else ca.vec(expression.T), shape


def _function(name: str, columns: list[ca.SX], expressions: list[ca.SX]) -> ca.Function:
    """The CasADi function; raises if an expression contains symbols that are not inputs."""
    try:
        return ca.Function(name, columns, expressions)
    except RuntimeError:
        with_free = ca.Function(name, columns, expressions, {"allow_free": True})
        if not with_free.has_free():
            raise
    raise ModelError(f"function '{name}' contains {', '.join(map(str, with_free.get_free()))}, not among its inputs")


def _buffers(fn: Fn, block: int) -> Buffers:
    """Buffers of a function; empty ports have a null pointer in CasADi, and an empty array of the right shape here."""
    owner, run = (fn.function.map(block) if block else fn.function).buffer()
    several = (block,) if block else ()
    inputs = tuple(np.zeros(several + port.shape) for port in fn.inputs)
    outputs = tuple(np.zeros(several + port.shape) for port in fn.outputs)
    for attach, arrays in ((owner.set_arg, inputs), (owner.set_res, outputs)):
        for k, array in enumerate(arrays):
            if array.size:
                attach(k, array.reshape(-1).data)  # type: ignore[call-arg]  # the stub requires a size, the method does not
    return Buffers(inputs, outputs, run, owner)
