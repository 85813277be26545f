"""Direct calls from Python into machine code: a small extension module (`crossing.c`), compiled once for each Python and NumPy.

    crossing(library, fn, otherwise)(x_1, …, x_n) -> (y_1, …, y_m)

float64 arrays of the right shapes are read in place, results are new arrays; anything else goes to `otherwise`. The transition
takes 0.1 µs with three inputs and one output; through cffi it takes 2 µs. Batches are called in the same way once `vectors` are
open for them (`vectors.c`): 0.3 µs, through cffi 10 µs. If Python's or NumPy's headers are missing, calls go through cffi.
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

from appell.backends.calls.batch import BYTES_WORTH_PLACING, CACHE_LINE_BYTES
from appell.backends.compiler.build import Library, build_module, environment
from appell.backends.once import once
from appell.errors import BackendUnavailable
from appell.graph.fn import Signature, as_array

NAME = "appell_crossing"
PARTS = ("crossing.c", "vectors.c")  # the first includes the second
# operations, about 5 µs, from which on the GIL is released; reacquiring it may take as long
OPERATIONS_WITHOUT_LOCK = 20_000
LANES_IN_ONE_TIME = 8  # states that vector code computes in the time of one


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
    """`fn` of `library` as a function of its inputs without the `fixed` ones, or None where not available.

    Parameters
    ----------
    otherwise: called with the same arguments where these are not plain arrays of float64 (for scalars: floats, ints).
    operations: of one evaluation.
    kept: how many outputs are returned, the first ones; None for all of them.
    bare: the only output that is kept comes by itself, not in a tuple.
    guarded: the last output is a margin; where it is not positive, the answer is `otherwise(…)`.
    singles: whether it accepts single states.
    vectors: from `no_vectors`, for batches with all outputs; the keywords `out` and `dtype` are accepted if `otherwise` has
    them.
    """
    module = _module(_headers(), environment())
    kept = len(fn.outputs) if kept is None else kept
    if module is None or not _fits(module, fn, kept):
        return None
    fixed_values = fixed or {}
    inputs = tuple(
        np.array(as_array(fixed_values[port.name], port), order="C") if port.name in fixed_values else port.shape
        for port in fn.inputs
    )
    outputs = tuple(port.shape for port in fn.outputs)
    address, patient = library.address(f"{fn.name}_batch"), operations >= OPERATIONS_WITHOUT_LOCK
    batches = {} if vectors is None or kept < len(outputs) else {"vectors": vectors, **_batches(otherwise, operations)}
    return module.Crossing(
        address, inputs, outputs, kept, bare, guarded, patient, otherwise, library, singles=singles, **batches
    )


def _batches(otherwise: Callable[..., Any], operations: int) -> dict[str, Any]:
    """The keywords of `otherwise`, and the number of states from which on the GIL is released."""
    names = inspect.signature(otherwise).parameters
    patience = LANES_IN_ONE_TIME * OPERATIONS_WITHOUT_LOCK // max(1, operations)
    return {"takes_out": "out" in names, "takes_dtype": "dtype" in names, "patience": patience}


def no_vectors() -> Any:
    """Vector code for `crossing`, not yet opened; None without the extension module."""
    module = _module(_headers(), environment())
    return None if module is None else module.Vectors()


def crossing_available() -> bool:
    """Whether calls bypass cffi; compiles the extension module if possible."""
    return _module(_headers(), environment()) is not None


def _fits(module: Any, fn: Signature, kept: int) -> bool:
    """Whether pointers and unwanted outputs fit on the stack."""
    most = max(len(fn.inputs), len(fn.outputs))
    return most <= module.PORTS and sum(port.size for port in fn.outputs[kept:]) <= module.SCRATCH


def _headers() -> tuple[str, ...]:
    """The folders of Python.h and of NumPy's headers, () if one of them is missing or this is not CPython."""
    folders = (sysconfig.get_path("include"), np.get_include())
    headers = (Path(folders[0], "Python.h"), Path(folders[1], "numpy", "arrayobject.h"))
    usable = platform.python_implementation() == "CPython" and all(header.is_file() for header in headers)
    return folders if usable else ()


@once
def _module(headers: tuple[str, ...], environment: tuple[str, ...]) -> Any:
    """The extension module; None if it cannot be compiled or loaded. Loaded only once, since its types would otherwise be
    distinct."""
    if not headers:
        return None
    source, vectors_source = (files("appell.backends.calls").joinpath(name).read_text(encoding="utf-8") for name in PARTS)
    numbers = f"#define CACHE_LINE_BYTES {CACHE_LINE_BYTES}\n#define BYTES_WORTH_PLACING {BYTES_WORTH_PLACING}\n"
    source = numbers + source.replace(f'#include "{PARTS[1]}"', vectors_source)
    versions = (sys.version, str(sysconfig.get_config_var("EXT_SUFFIX")), np.__version__)
    try:
        module = build_module(source, _loaded, headers, versions)
    except BackendUnavailable:
        return None
    copyreg.pickle(module.Crossing, lambda entry: entry.__wrapped__.__reduce_ex__(2))  # as what it stands for, `tree.method`
    return module


def _loaded(path: Path) -> Any:
    loader = ExtensionFileLoader(NAME, str(path))
    spec = spec_from_loader(NAME, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module
