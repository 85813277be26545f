"""Whether a call keeps memory or references."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any


def keeps_nothing(everything: Callable[[int], None], watched: Sequence[Any], count: int) -> None:
    """After `everything(count)`, so many calls: less than a byte a call more, and as many references to `watched` as before."""
    everything(10)
    gc.collect()
    before = [sys.getrefcount(x) for x in watched]
    tracemalloc.start()
    try:
        everything(10)
        first = tracemalloc.get_traced_memory()[0]
        everything(count)
        grown = tracemalloc.get_traced_memory()[0] - first
    finally:
        tracemalloc.stop()
    assert grown < count
    assert [sys.getrefcount(x) for x in watched] == before
