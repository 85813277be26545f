"""Budgets of work counted in operations, not time: the same simplification, and so the same text, in every run on every
machine."""

from __future__ import annotations

from appell.errors import ModelError
from appell.reading import is_finite, shown

OPERATIONS_PER_SECOND = 100_000
"""Operations of an effort of 1: about one second on an ordinary machine."""


LONGEST_SECONDS = 1e9
"""Largest effort accepted, s: thirty years."""


class WorkBudget:
    """A budget of operations that shrinks as it is spent. A number is a budget of that many seconds' work."""

    def __init__(self, amount: float):
        if not is_finite(amount) or amount < 0:
            raise ModelError(f"an effort is a number of seconds' work that is not negative, not {shown(amount)}")
        self.remaining = int(OPERATIONS_PER_SECOND * min(float(amount), LONGEST_SECONDS))

    @staticmethod
    def of(amount: float | WorkBudget) -> WorkBudget:
        """The effort itself, or a new one of that size."""
        return amount if isinstance(amount, WorkBudget) else WorkBudget(amount)

    def spend(self, operations: int) -> bool:
        """Whether this many operations are left; they are then spent."""
        if operations > self.remaining:
            return False
        self.remaining -= operations
        return True

    def share(self, parts: int) -> WorkBudget:
        """A part of the remaining budget, subtracted from it; unused operations are lost."""
        portion = WorkBudget(0)
        portion.remaining = self.remaining // max(parts, 1)
        self.remaining -= portion.remaining
        return portion

    def __repr__(self) -> str:
        return f"<WorkBudget: {self.remaining} operations left>"


COLLECT, SIMPLIFY, WORK_OF_FACTORING, WORK_OF_TIDYING_INSIDE = 20, 400, 5, 60
"""Operations per term for expansion, and per node for `sympy.simplify`, for factoring, and for simplification inside."""

WORK_OF_PRODUCTS = 60
"""Operations per symbol for finding products of sines and cosines."""

WORK_OF_REGROUPING = 60
"""Operations per symbol for completing squares, cancelling quotients and regrouping terms."""

WORK_OF_ATTEMPT = 500
"""Fixed operations for trying other forms of an expression, however short."""
