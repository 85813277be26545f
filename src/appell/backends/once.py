"""Results that are computed once, even with several threads: a compiler run, a loaded module."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, update_wrapper
from threading import Lock
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class once(Generic[T]):
    """Like `functools.cache`, but concurrent first callers wait for one computation instead of each doing their own."""

    def __init__(self, make: Callable[..., T]):
        cached: Any = cache(make)
        self._cached, self._making, self.cache_clear = cached, Lock(), cached.cache_clear
        update_wrapper(self, make)

    def __call__(self, *key: Any) -> T:
        with self._making:
            return self._cached(*key)
