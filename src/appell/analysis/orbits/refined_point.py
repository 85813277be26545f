"""Base classes of branches over a parameter and of their special points, with the residual of each."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from appell.errors import ModelError
from appell.motion.result_frame import Result
from appell.reading import whole


class RefinedPoint:
    """Mixin for a named tuple (kind, value of the parameter, record), with the `residual` of the defining equation.

    residual: dimensionless; refined: whether it is small (1e-6). If not, the point was detected but not located, and is not
    drawn. multiplicity: how many of its kind there are at once, as in a symmetric system; 1 for a simple one. frequency: the
    imaginary part of the eigenvalue that passes the axis, nan where that is not known.
    """

    residual: float
    refined: bool
    multiplicity: int
    frequency: float

    def __new__(
        cls, kind: str, value: float, there: Any, residual: float = 0.0, refined: bool = True, multiplicity: int = 1,
        frequency: float = np.nan,
    ) -> Any:  # fmt: skip
        point: Any = super().__new__(cls, kind, value, there)  # type: ignore[call-arg]
        point.residual, point.refined, point.multiplicity, point.frequency = residual, refined, multiplicity, frequency
        return point

    @property
    def description(self) -> str:
        """Its kind, how often it is there, and whether it was located."""
        point: Any = self
        often = {1: "", 2: "double ", 3: "triple "}.get(self.multiplicity, f"{self.multiplicity}-fold ")
        return f"{often}{point.kind}{'' if self.refined else ' (not refined)'}"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self.residual, self.refined, self.multiplicity, self.frequency)  # type: ignore[misc]

    def __repr__(self) -> str:
        point: Any = self
        return f"<{self.description} at {point.value:.9g}, residual {self.residual:.1e}>"


class ParameterBranch(Result):
    """A branch of `members` over values of a parameter, (n,), with special points."""

    members: ClassVar[str]
    parameter: Any
    values: NDArray[np.float64]
    special: Any

    def point(self, k: int) -> Any:
        """special[k]."""
        k = whole(k, "the number of a special point", 0)
        if not k < len(self.special):
            raise ModelError(f"this branch has {len(self.special)} special {self.members}; special[{k}] is none of them")
        return self.special[k]

    def far_from(self, value: float) -> float:
        """The value of the parameter on the branch that is farthest from a value."""
        return float(self.values[int(np.argmax(np.abs(self.values - value)))])

    def __str__(self) -> str:
        name = lambda s: f"{s.description} at {self.parameter} = {s.value:.6g}"
        special = ", ".join(map(name, self.special)) or f"no special {self.members}"
        span = f"{self.values[0]:.6g} to {self.values[-1]:.6g}"
        return f"{len(self.values)} {self.members} of '{self.system.name}', {span}: {special}; {self.message}"


__all__ = ["ParameterBranch", "RefinedPoint"]
