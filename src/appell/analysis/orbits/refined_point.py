"""The accuracy of a special point of a branch."""

from __future__ import annotations

from typing import Any


class RefinedPoint:
    """Mixin for a named tuple (kind, value of the parameter, record), with the `residual` of the defining equation.

    residual: dimensionless; refined: whether it is small (1e-6). If not, the point was detected but not located, and is not
    drawn.
    """

    residual: float
    refined: bool

    def __new__(cls, kind: str, value: float, there: Any, residual: float = 0.0, refined: bool = True) -> Any:
        one: Any = super().__new__(cls, kind, value, there)  # type: ignore[call-arg]
        one.residual, one.refined = residual, refined
        return one

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self.residual, self.refined)  # type: ignore[misc]

    def __repr__(self) -> str:
        one: Any = self
        doubt = "" if self.refined else ", not refined"
        return f"<{one.kind} at {one.value:.9g}, residual {self.residual:.1e}{doubt}>"


__all__ = ["RefinedPoint"]
