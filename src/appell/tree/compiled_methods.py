"""Methods of a tree that are answered by compiled functions.

    tree.forward_dynamics(q, v, tau)        the method, `answered` by the first output of one of `tree_functions.QUESTIONS`

The first time such a method is looked up on a tree, its function is built (or found on disk, if a tree with the same numbers
needed it before). From then on the name refers directly to its entry point, `Call.entry`; the method's own body handles lists,
batches and errors.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.backends import Call, backend_named, choose_backend, recipe_for
from appell.backends.notice import notice
from appell.errors import ModelError
from appell.graph.fn import Fn
from appell.reading import shown

Array = NDArray[np.float64]
M = TypeVar("M", bound=Callable[..., Any])

OPERATIONS_NOT_WAITED_FOR = 60_000  # operations beyond which "auto" does not wait for a C compiler
COMPILE = 1e-4  # compile time per operation, s (gcc 12)


class answered(Generic[M]):
    """A method that returns the first output of a function of `QUESTIONS`, or, with `first=False`, all outputs."""

    def __init__(self, question: str, *, first: bool = True):
        self.question, self.outputs = question, 1 if first else None

    def __call__(self, method: M) -> M:
        self.method, self.name, self.__doc__ = method, method.__name__, method.__doc__
        return self  # type: ignore[return-value]  # on an instance it is the method

    def __get__(self, tree: Any, owner: type) -> Any:
        if tree is None:
            return self.method
        slow = MethodType(self.method, tree)
        entry = tree.entry(self.question, slow, kept=self.outputs, bare=self.outputs == 1)
        if next(c.__dict__[self.name] for c in type(tree).__mro__ if self.name in c.__dict__) is self:
            vars(tree)[self.name] = entry  # found before this descriptor, and before a subclass's attribute of this name
        return entry


def ready(wanted: str, key: Callable[[], str], make: Callable[[], Fn], question: str, name: str) -> Call:
    """The function that `make` builds on a back end; `key` is the digest of everything that determines it, "" if there is none.

    With "auto" compilation takes a few seconds at most: a larger function runs on CasADi's evaluator, unless it has been
    compiled before.
    """
    backend = choose_backend(wanted)
    if backend.recall is None:
        return backend.function(make())
    digest = key()
    fn = recipe_for(digest, make) if digest else make()
    if wanted != "auto" or fn.operations <= OPERATIONS_NOT_WAITED_FOR:
        return backend.function(fn)
    call = backend.recall(fn)
    if call is None:
        notice(
            "large tree",
            f"{question} of '{name}' has {fn.operations} operations, which CasADi evaluates; backend='c' is 10 to"
            f" 20 times faster after a compilation of about {fn.operations * COMPILE:.0f} s, which is needed once",
        )
    return call or backend_named("vm").function(make())


def answer(call: Call, *arrays: ArrayLike, out: Array | None = None) -> tuple[Array, ...]:
    """All outputs at one state or, where an array has more than one axis, for a batch; every input of a tree is a vector."""
    if any(_axes(array, call) > 1 for array in arrays):
        return call.batch(*arrays, out=None if out is None else (out,))
    if out is not None:
        raise ModelError(f"out= is for batches, and '{call.fn.name}' was asked for one state: leave it away")
    return call.single(*arrays)


def _axes(array: ArrayLike, call: Call) -> int:
    try:
        return np.ndim(array)
    except Exception:  # rows of different lengths, or an __array__ that does anything
        raise ModelError(f"'{call.fn.name}' was given rows of different lengths: {shown(array)}") from None
