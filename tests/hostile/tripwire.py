"""A wire across every way in which SymPy runs text: what is executed under it is known."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sympy.parsing import sympy_parser

CODE = "__import__('os').getpid() + 1"
"""Text that runs where it is read as an expression; harmless, and seen by the wire."""


@contextmanager
def tripwire() -> Iterator[list[str]]:
    """The texts that SymPy was asked to run inside the block."""
    seen: list[str] = []
    usual = sympy_parser.eval_expr

    def watched(code: str, *rest: Any) -> Any:
        seen.append(code)
        return usual(code, *rest)

    sympy_parser.eval_expr = watched
    try:
        yield seen
    finally:
        sympy_parser.eval_expr = usual
