"""Methods implemented in a higher layer: `motion.plot`, `equations.report`, `run.acceleration` with friction.

A lower layer cannot import a higher one. It looks up the function by the name of its method, `delegate("Motion.plot")`; the
higher layer registers it, `offer({"Motion.plot": "appell.show.plot:plot"})`, and is loaded when the method is first called, and
with it matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

_HOMES: dict[str, str] = {}
"""Method → "module:function"."""


def offer(functions: Mapping[str, str]) -> None:
    """Registers functions for lower layers: "Class.method" → "module:function". An existing entry is replaced."""
    _HOMES.update(functions)
    delegate.cache_clear()


@cache
def delegate(method: str) -> Callable[..., Any]:
    """The function that implements a method."""
    module, _, name = _HOMES[method].partition(":")
    return getattr(import_module(module), name)


def offered() -> dict[str, str]:
    """Every method implemented in a higher layer, with its function."""
    return dict(_HOMES)


__all__ = ["delegate", "offer", "offered"]
