"""Reads the equations of vectors that `print(chain.equations())` shows, and evaluates them.

    sum = term ± term …      term = product (× or ·) product …      product = factor factor …
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

TOKEN = re.compile(r"[+−×·()\[\]]|[^\s+−×·()\[\]]+")
CLOSING = {"(": ")", "[": "]"}


class Reader:
    """One side of a printed equation; `letters` gives scalars, vectors (3,) and matrices (3, 3)."""

    def __init__(self, text: str, letters: Mapping[str, Any]):
        self.tokens, self.letters = TOKEN.findall(text), letters

    def value(self) -> Any:
        result = self.sum()
        assert not self.tokens, f"not read: {self.tokens}"
        return result

    def peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def sum(self) -> Any:
        sign = -1.0 if self.peek() == "−" else 1.0
        if sign < 0:
            self.tokens.pop(0)
        total = sign * self.term()
        while self.peek() in ("+", "−") and self.tokens:
            plus = self.tokens.pop(0) == "+"
            total = total + self.term() if plus else total - self.term()
        return total

    def term(self) -> Any:
        factors, signs = [self.product()], []
        while self.peek() in ("×", "·") and self.tokens:
            signs.append(self.tokens.pop(0))
            factors.append(self.product())
        result = factors[-1]
        for sign, factor in zip(reversed(signs), reversed(factors[:-1]), strict=True):
            result = np.cross(factor, result) if sign == "×" else factor @ result
        return result

    def product(self) -> Any:
        factors = [self.factor()]
        while self.tokens and self.peek() not in ("+", "−", "×", "·", ")", "]"):
            factors.append(self.factor())
        result = factors[-1]
        for factor in reversed(factors[:-1]):
            result = factor @ result if np.ndim(factor) == 2 else factor * result
        return result

    def factor(self) -> Any:
        token = self.tokens.pop(0)
        if token in CLOSING:
            value = self.sum()
            assert self.tokens.pop(0) == CLOSING[token]
            return value
        return float(token) if token[0].isdigit() else self.letters[token]


def gap(equation: str, letters: Mapping[str, Any], scale: float) -> float:
    """|left − right| relative to both and to the terms that cancel."""
    left, right = (np.array(Reader(side, letters).value(), float) for side in equation.split(" = "))
    return float(np.max(abs(left - right)) / (scale + np.max(abs(left)) + np.max(abs(right))))
