"""Work that is counted, not timed: the same simplification, and so the same text, in every run and on every machine."""

from __future__ import annotations

from appell.errors import ModelError
from appell.reading import is_finite, shown

OPERATIONS_PER_SECOND = 100_000
"""Operations of an effort of 1: about a second's work of an ordinary machine."""


LONGEST_SECONDS = 1e9
"""Seconds that can be meant, thirty years."""


class WorkBudget:
    """An allowance of operations that shrinks as it is spent. A number is an allowance of that many seconds' work."""

    def __init__(self, amount: float):
        if not is_finite(amount) or amount < 0:
            raise ModelError(f"an effort is a number of seconds' work that is not negative, not {shown(amount)}")
        self.left = int(OPERATIONS_PER_SECOND * min(float(amount), LONGEST_SECONDS))

    @staticmethod
    def of(amount: float | WorkBudget) -> WorkBudget:
        """The effort itself, or a new one of that size."""
        return amount if isinstance(amount, WorkBudget) else WorkBudget(amount)

    def spend(self, operations: int) -> bool:
        """Whether so many operations are left; they are then gone."""
        if operations > self.left:
            return False
        self.left -= operations
        return True

    def share(self, parts: int) -> WorkBudget:
        """A part of what is left, taken from it; what is not used of it is lost."""
        part = WorkBudget(0)
        part.left = self.left // max(parts, 1)
        self.left -= part.left
        return part

    def __repr__(self) -> str:
        return f"<WorkBudget: {self.left} operations left>"


COLLECT, SIMPLIFY, WORK_OF_FACTORING, WORK_OF_TIDYING_INSIDE = 20, 400, 5, 60
"""Operations a term of multiplying out, and a node of `sympy.simplify`, of taking common factors out, and of tidying inside."""

WORK_OF_PRODUCTS = 60
"""Operations a symbol of looking for products of sines and cosines."""

WORK_OF_REGROUPING = 60
"""Operations a symbol of completing squares, cancelling quotients and grouping terms otherwise."""

TRY = 500
"""Operations of trying other ways to write an expression, however few its terms are."""
