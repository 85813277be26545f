"""What a process has once, though two threads ask for it at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from appell.backends.calls import crossing
from appell.backends.compiler import build as c_build


def met(make: Callable[..., Any], counted: list[int]) -> Callable[..., Any]:
    """`make`, before which a thread waits for a second one, for a while."""
    gate = threading.Barrier(2)

    def waiting(*arguments: Any) -> Any:
        counted.append(threading.get_ident())
        with suppress(threading.BrokenBarrierError):
            gate.wait(timeout=0.5)
        return make(*arguments)

    return waiting


def by_two_threads(ask: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(2) as pool:
        return [answer.result(timeout=60) for answer in [pool.submit(ask) for _ in range(2)]]


@pytest.mark.skipif(not crossing._headers(), reason="Python's or NumPy's headers are not installed")
def test_the_extension_module_is_loaded_once(monkeypatch):
    """Vectors of one copy are not taken by the crossings of another."""
    counted: list[int] = []
    monkeypatch.setattr(crossing, "build_module", met(crossing.build_module, counted))
    one, other = by_two_threads(lambda: crossing._module(crossing._headers(), ("asked for by two threads",)))
    assert one is not None and one is other and len(counted) == 1


def test_a_compiler_is_tried_once(monkeypatch):
    counted: list[int] = []
    monkeypatch.setattr(c_build, "_probe", met(lambda *_: "does not work", counted))
    answers = by_two_threads(lambda: c_build._compiler("a compiler asked for by two threads", "", ""))
    assert answers == ["does not work"] * 2 and len(counted) == 1


def test_what_is_kept_is_found_under_its_arguments_and_forgotten_on_request():
    made: list[str] = []
    keep = crossing.once(lambda name: made.append(name) or len(made))
    assert [keep("a"), keep("b"), keep("a")] == [1, 2, 1]
    keep.cache_clear()
    assert keep("a") == 3
