"""Arguments that have a new name: the old one is refused with the new one in the message."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from appell.errors import ModelError

F = TypeVar("F", bound=Callable[..., Any])


def renamed_arguments(**new_name: str) -> Callable[[F], F]:
    """Of a public function: old keyword → new keyword."""

    def of(function: F) -> F:
        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            for old in new_name.keys() & options.keys():
                raise ModelError(f"{function.__name__}: {old}= is now called {new_name[old]}=")
            return function(*args, **options)

        return cast(F, call)

    return of


__all__ = ["renamed_arguments"]
