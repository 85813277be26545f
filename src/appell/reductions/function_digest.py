"""Digests of functions given by the user (parts of registered reductions), from their code.

A function is identified by its instructions, its constants and the values that it captures (closures, defaults, the globals it
names), recursively. Instructions differ between versions of Python; a store of another version is then refused.
"""

from __future__ import annotations

import sysconfig
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.reading import shown

INSTALLED = tuple({sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")})
PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.ndarray)


def definition(function: Any, _inside: frozenset[int] = frozenset()) -> Any:
    """Everything that determines the results of a function, for `fingerprint`."""
    if id(function) in _inside:
        return "itself"
    visited = _inside | {id(function)}
    if isinstance(function, partial):
        return ("partial", *(definition(value, visited) for value in (function.func, *function.args)),
                sorted((name, definition(value, visited)) for name, value in function.keywords.items()))  # fmt: skip
    if isinstance(function, MethodType):
        return ("method", definition(function.__func__, visited), definition(function.__self__, visited))
    if isinstance(function, FunctionType) and not _installed(function):
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        named = {name: function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__}
        captured = [*cells, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(), *named.values()]
        return ("function", _code(function.__code__), sorted(named), [definition(value, visited) for value in captured])
    if isinstance(function, PLAIN):
        return function
    if isinstance(function, list | tuple):
        return ("sequence", *(definition(value, visited) for value in function))
    if isinstance(function, dict):
        return ("mapping", *((definition(k, visited), definition(v, visited)) for k, v in function.items()))
    if isinstance(function, ModuleType):
        return ("module", function.__name__, str(getattr(function, "__version__", "")))
    name = getattr(function, "__qualname__", getattr(function, "__name__", None))
    if callable(function) and name is not None:  # of a package, of C, or a class: known by where it comes from
        cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
        return ("named", str(getattr(function, "__module__", None)), str(name), [definition(value, visited) for value in cells])
    raise ModelError(f"{shown(function)} in a registered function has no digest: a store could not tell it from another one")


def _installed(function: FunctionType) -> bool:
    """Whether a function belongs to this library or an installed package, whose version determines it."""
    file = function.__code__.co_filename
    return function.__module__.partition(".")[0] == "appell" or file.startswith(INSTALLED)


def _names(code: CodeType) -> set[str]:
    """Names that code looks up, including those of nested functions."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _code(code: CodeType) -> Any:
    """The instructions, names and constants of code."""
    constants = [_code(constant) if isinstance(constant, CodeType) else repr(constant) for constant in code.co_consts]
    return ("code", code.co_code, list(code.co_names), list(code.co_varnames), code.co_argcount, constants)


__all__ = ["definition"]
