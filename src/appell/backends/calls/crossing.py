"""From Python straight into machine code: a small extension module (`crossing.c`), compiled once for each Python and NumPy.

    crossing(library, fn, otherwise)(x_1, …, x_n) -> (y_1, …, y_m)

Arrays that are float64 of the right shapes are read where they are, results are fresh arrays; whatever else is given goes to
`otherwise`. The crossing itself takes 0.1 µs with three inputs and an output; through cffi it is 2 µs. Batches cross in the
same way where `vectors` have been opened for them (`vectors.c`): 0.3 µs, through cffi 10 µs. Where Python's or NumPy's
headers are missing there is none, and calls go through cffi.
"""

from __future__ import annotations

import copyreg
import inspect
import platform
import sys
import sysconfig
from collections.abc import Callable, Mapping
from importlib.machinery import ExtensionFileLoader
from importlib.resources import files
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from appell.backends.compiler.build import Library, build_module, environment
from appell.backends.once import once
from appell.errors import BackendUnavailable
from appell.graph.fn import Signature, as_array

NAME = "appell_crossing"
PARTS = ("crossing.c", "vectors.c")  # the first includes the second
# operations, about 5 µs, from which on other threads may run meanwhile; to take back the lock may need as much
OPERATIONS_WITHOUT_LOCK = 20_000
LANES_IN_ONE_TIME = 8  # states that vectors compute in the time of one


def crossing(
    library: Library,
    fn: Signature,
    otherwise: Callable[..., Any],
    *,
    operations: int = 0,
    kept: int | None = None,
    bare: bool = False,
    guarded: bool = False,
    fixed: Mapping[str, ArrayLike] | None = None,
    singles: bool = True,
    vectors: Any = None,
) -> Callable[..., Any] | None:
    """`fn` of `library` as a function of its inputs without the `fixed` ones, or None where it cannot be had.

    Parameters
    ----------
    otherwise: called with the same arguments where these are not plain arrays of float64 (for scalars: floats, ints).
    operations: of one evaluation.
    kept: how many outputs are returned, the first ones; None for all of them.
    bare: the only output that is kept comes by itself, not in a tuple.
    guarded: the last output is a margin; where it is not positive, the answer is `otherwise(…)`.
    singles: whether it takes single states.
    vectors: from `no_vectors`, for batches with all outputs; keywords `out` and `dtype` are taken where `otherwise` has them.
    """
    module = _module(_headers(), environment())
    kept = len(fn.outputs) if kept is None else kept
    if module is None or not _fits(module, fn, kept):
        return None
    given = fixed or {}
    inputs = tuple(
        np.array(as_array(given[port.name], port), order="C") if port.name in given else port.shape for port in fn.inputs
    )
    outputs = tuple(port.shape for port in fn.outputs)
    address, patient = library.address(f"{fn.name}_batch"), operations >= OPERATIONS_WITHOUT_LOCK
    batches = {} if vectors is None or kept < len(outputs) else {"vectors": vectors, **_batches(otherwise, operations)}
    return module.Crossing(
        address, inputs, outputs, kept, bare, guarded, patient, otherwise, library, singles=singles, **batches
    )


def _batches(otherwise: Callable[..., Any], operations: int) -> dict[str, Any]:
    """The keywords that `otherwise` takes, and from how many states on other threads may run."""
    names = inspect.signature(otherwise).parameters
    patience = LANES_IN_ONE_TIME * OPERATIONS_WITHOUT_LOCK // max(1, operations)
    return {"takes_out": "out" in names, "takes_dtype": "dtype" in names, "patience": patience}


def no_vectors() -> Any:
    """Vectors of states for `crossing`, not opened yet; None where there is no extension module."""
    module = _module(_headers(), environment())
    return None if module is None else module.Vectors()


def crossing_available() -> bool:
    """Whether calls cross without cffi; the extension module is compiled by now if it can be."""
    return _module(_headers(), environment()) is not None


def _fits(module: Any, fn: Signature, kept: int) -> bool:
    """Pointers and unwanted outputs lie on the stack, which has room for so many."""
    most = max(len(fn.inputs), len(fn.outputs))
    return most <= module.PORTS and sum(port.size for port in fn.outputs[kept:]) <= module.SCRATCH


def _headers() -> tuple[str, ...]:
    """The folders of Python.h and of NumPy's headers, () if one of them is missing or this is not CPython."""
    folders = (sysconfig.get_path("include"), np.get_include())
    wanted = (Path(folders[0], "Python.h"), Path(folders[1], "numpy", "arrayobject.h"))
    usable = platform.python_implementation() == "CPython" and all(header.is_file() for header in wanted)
    return folders if usable else ()


@once
def _module(headers: tuple[str, ...], environment: tuple[str, ...]) -> Any:
    """The extension module; None if it cannot be compiled or loaded. Loaded twice, its types would not know one another."""
    if not headers:
        return None
    source, part = (files("appell.backends.calls").joinpath(name).read_text(encoding="utf-8") for name in PARTS)
    source = source.replace(f'#include "{PARTS[1]}"', part)
    versions = (sys.version, str(sysconfig.get_config_var("EXT_SUFFIX")), np.__version__)
    try:
        module = build_module(source, _loaded, headers, versions)
    except BackendUnavailable:
        return None
    copyreg.pickle(module.Crossing, lambda one: one.__wrapped__.__reduce_ex__(2))  # as what it stands for, `tree.method`
    return module


def _loaded(path: Path) -> Any:
    loader = ExtensionFileLoader(NAME, str(path))
    spec = spec_from_loader(NAME, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module
