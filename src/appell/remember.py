"""Results that live exactly as long as the object that they belong to.

A normal form belongs to its system, a flow to its normal form, a compiled loop to its flow. They hold one another, so a
table elsewhere, weak or not, would keep them all for ever: a weak key does not die while its value holds it. Kept inside
their owner they are one heap of objects that is collected together, and a sweep over ten thousand systems does not grow.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Owner = TypeVar("Owner")
Rest = ParamSpec("Rest")
Result = TypeVar("Result")


def kept_in(owner: object, name: str) -> dict[Any, Any]:
    """What an object keeps under a name: empty at first."""
    return owner.__dict__.setdefault(f"_remembered_{name}", {})


def remembered(make: Callable[Concatenate[Owner, Rest], Result]) -> Callable[Concatenate[Owner, Rest], Result]:
    """make(owner, *rest), found once for each `rest` (hashable, by position) and kept in the owner."""
    name = f"{make.__module__}.{make.__qualname__}"

    @wraps(make)
    def found(owner: Owner, *rest: Rest.args, **options: Rest.kwargs) -> Result:
        known = kept_in(owner, name)
        key = (*rest, *sorted(options.items()))
        if key not in known:
            known[key] = make(owner, *rest, **options)
        return known[key]

    return found
