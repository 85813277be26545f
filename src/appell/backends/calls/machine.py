"""Functions in machine code, called from Python.

    void NAME_batch(n, in, stride, out)      the only symbol that a compiled function exports; one state is a batch of one
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.backends.calls.batch import Batch, pointers
from appell.backends.calls.call import Call
from appell.backends.calls.crossing import crossing
from appell.backends.calls.vectors import Lanes
from appell.backends.compiler.build import Library, SourceDraft, build, build_together, find
from appell.backends.compiler.recipe import Recipe, text_of
from appell.backends.text.c_source import declarations, module
from appell.graph.composite import Composite
from appell.graph.fn import FLOAT, Buffers, Fn, Signature

Results = tuple[NDArray[Any], ...]

LONG = 3000
"""Operations beyond which a function is compiled as long code; below, starting the compiler takes most of the time."""


def c_function(library: Library, fn: Signature) -> Call:
    """`fn` from a compiled library (`compile_c`)."""
    lanes = Lanes(fn) if isinstance(fn, Fn | Recipe) and library.contracts else None
    vectors = None if lanes is None else lanes.vectors

    def cross(otherwise: Callable[..., Any], *, batches: bool = False, **options: Any) -> Callable[..., Any] | None:
        options |= {"operations": _operations(fn), "vectors": vectors if batches else None}
        return crossing(library, fn, otherwise, **options)

    return Call(fn, partial(_buffers, library, fn), partial(_many, library, lanes, fn), cross)


def compile_c(fns: Sequence[Fn | Composite], *, optimise: str = "fast") -> Library:
    """One library with the entry points of all `fns`, whose names must differ."""
    return build(module(fns), declarations(fns), optimise=optimise)


def in_c(fn: Fn | Recipe) -> Call:
    """`fn` compiled from C, in a library of its own."""
    return c_function(build(_text(fn), declarations([fn]), optimise=_kind(fn)), fn)


def compiled_before(fn: Fn | Recipe) -> Call | None:
    """`in_c(fn)` if its machine code is in the cache, so that no compiler has to run."""
    text = _text(fn) if isinstance(fn, Recipe) else None
    library = find(text, declarations([fn]), optimise=_kind(fn)) if isinstance(text, SourceDraft) else None
    return None if library is None else c_function(library, fn)


def compiled_together(recipes: Sequence[Recipe]) -> None:
    """One run of the compiler for those of these functions, with distinct names, that are short and not compiled yet.

    `in_c` of each then finds the object. Starting a compiler takes longer than compiling a short function.
    """
    drafts = {fn: text for fn in recipes if isinstance(text := _text(fn), SourceDraft)}
    waiting = [fn for fn in drafts if _kind(fn) == "fast" and compiled_before(fn) is None]
    if len(waiting) > 1:
        graphs = [fn.graph for fn in waiting]
        build_together([drafts[fn] for fn in waiting], module(graphs), declarations(graphs), optimise="fast")


def _text(fn: Fn | Recipe) -> str | SourceDraft:
    return text_of(fn, "one state", lambda graph: module([graph]))


def _kind(fn: Fn | Recipe) -> str:
    """The kind of code, by its length."""
    return "long" if fn.operations > LONG else "fast"


def _operations(fn: Signature) -> int:
    """Operations of one evaluation; a function that is not a graph is estimated as a solve for all its outputs."""
    return fn.operations if isinstance(fn, Fn | Recipe) else sum(port.size for port in fn.outputs) ** 3


def _buffers(library: Library, fn: Signature) -> Buffers:
    """Memory for one state, with pointers created once."""
    inputs, outputs = (tuple(np.zeros(port.shape) for port in ports) for ports in (fn.inputs, fn.outputs))
    tables = pointers(library, Batch(1, inputs, (0,) * len(inputs)), outputs, "double")
    run = partial(getattr(library.lib, f"{fn.name}_batch"), 1, *tables)
    return Buffers(inputs, outputs, run, library)


def _many(
    library: Library, lanes: Lanes | None, fn: Signature, batch: Batch, dtype: np.dtype, results: Results
) -> None:
    """A batch by vector code where available; by scalar code in double precision otherwise, and for states where it failed."""
    if lanes is None or not lanes.take(batch.count, dtype):
        by_scalars = np.arange(batch.count) if dtype != FLOAT else None
    else:
        by_scalars = lanes(batch, dtype, results)
    if by_scalars is None:
        _scalar(library, fn, batch, results)
    elif len(by_scalars):
        scalar_results = tuple(np.empty((len(by_scalars), *port.shape)) for port in fn.outputs)
        _scalar(library, fn, batch.rows(by_scalars, FLOAT), scalar_results)
        for array, rows in zip(results, scalar_results, strict=True):
            array[by_scalars] = rows


def _scalar(library: Library, fn: Signature, batch: Batch, results: Results) -> None:
    source, stride, target = pointers(library, batch, results, "double")
    getattr(library.lib, f"{fn.name}_batch")(batch.count, source, stride, target)
