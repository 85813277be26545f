"""Cached results with the lifetime of the object they belong to.

A normal form belongs to its system, a flow to its normal form, a compiled loop to its flow. They refer to one another, so a
table elsewhere, weak or not, would keep them all alive: a weak key stays alive while its value refers to it. Stored inside
their owner they are collected together, and a sweep over ten thousand systems does not grow.
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
"""Marks a result that is not cached yet; None is a valid result."""


def kept_in(owner: object, name: str) -> dict[Any, Any]:
    """The cache of an object under a name, empty at first."""
    return owner.__dict__.setdefault(f"_remembered_{name}", {})


def remembered(make: Callable[Concatenate[Owner, Rest], Result]) -> Callable[Concatenate[Owner, Rest], Result]:
    """make(owner, *rest), computed once for each `rest` (hashable, by position) and stored in the owner."""
    name = sys.intern(f"_remembered_{make.__module__}.{make.__qualname__}")

    @wraps(make)
    def cached(owner: Owner, *arguments: Rest.args, **options: Rest.kwargs) -> Result:
        cache = owner.__dict__.setdefault(name, {})
        key = (*arguments, *sorted(options.items())) if options else arguments
        try:
            value = cache.get(key, NOT_KEPT)
        except TypeError:  # an unhashable argument is none that `make` accepts, so it raises
            return make(owner, *arguments, **options)
        # two threads may both compute it; all get the first result
        return cache.setdefault(key, make(owner, *arguments, **options)) if value is NOT_KEPT else value

    return cached


class Later:
    """A value computed on first access: passed to a `Lazy` field of a dataclass in place of the value."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]):
        self.make = make


class Lazy(Generic[Result]):
    """A field of a dataclass that accepts its value, or `Later`."""

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
