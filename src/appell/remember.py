"""Results that live exactly as long as the object that they belong to.

A normal form belongs to its system, a flow to its normal form, a compiled loop to its flow. They hold one another, so a
table elsewhere, weak or not, would keep them all for ever: a weak key does not die while its value holds it. Kept inside
their owner they are one heap of objects that is collected together, and a sweep over ten thousand systems does not grow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

Owner = TypeVar("Owner")
Rest = ParamSpec("Rest")
Result = TypeVar("Result")

NOT_KEPT = object()
"""Stands for a result that is not kept yet; None is a result like others."""


def kept_in(owner: object, name: str) -> dict[Any, Any]:
    """What an object keeps under a name: empty at first."""
    return owner.__dict__.setdefault(f"_remembered_{name}", {})


def remembered(make: Callable[Concatenate[Owner, Rest], Result]) -> Callable[Concatenate[Owner, Rest], Result]:
    """make(owner, *rest), found once for each `rest` (hashable, by position) and kept in the owner."""
    name = sys.intern(f"_remembered_{make.__module__}.{make.__qualname__}")

    @wraps(make)
    def found(owner: Owner, *rest: Rest.args, **options: Rest.kwargs) -> Result:
        known = owner.__dict__.setdefault(name, {})
        key = (*rest, *sorted(options.items())) if options else rest
        try:
            value = known.get(key, NOT_KEPT)
        except TypeError:  # what cannot be kept is of no kind that `make` takes: it says so
            return make(owner, *rest, **options)
        # two threads may both make it; all get the one that was ready first
        return known.setdefault(key, make(owner, *rest, **options)) if value is NOT_KEPT else value

    return found


class Later:
    """A value that is made when it is first read: given to a `Lazy` field of a dataclass in place of the value."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]):
        self.make = make


class Lazy(Generic[Result]):
    """A field of a dataclass that takes its value, or `Later`."""

    def __init__(self, default: Result | Later):
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Result:
        if instance is None:
            return self._default  # type: ignore[return-value] (what the dataclass takes for its default)
        value = instance.__dict__[self._name]
        if isinstance(value, Later):
            value = instance.__dict__[self._name] = value.make()
        return value

    def __set__(self, instance: Any, value: Result | Later) -> None:
        instance.__dict__[self._name] = value
