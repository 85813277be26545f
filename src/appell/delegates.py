"""Methods of a result that a room above it carries out: `motion.plot`, `equations.report`, `run.acceleration` with friction.

A room below cannot import one above it. It asks for the function by the name of its method, `delegate("Motion.plot")`; the room
above offers it, `offer({"Motion.plot": "appell.show.plot:plot"})`, and is loaded when the method is first called, as
matplotlib is then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

_HOMES: dict[str, str] = {}
"""Method → "module:function"."""


def offer(functions: Mapping[str, str]) -> None:
    """Offers functions to rooms below: "Class.method" → "module:function". A method that is offered already is replaced."""
    _HOMES.update(functions)
    delegate.cache_clear()


@cache
def delegate(method: str) -> Callable[..., Any]:
    """The function that carries out a method."""
    module, _, name = _HOMES[method].partition(":")
    return getattr(import_module(module), name)


def offered() -> dict[str, str]:
    """Every method that is carried out above its class, with the function that does it."""
    return dict(_HOMES)


__all__ = ["delegate", "offer", "offered"]
