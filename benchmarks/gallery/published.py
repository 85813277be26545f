"""One problem of a gallery: whose it is, what they print, and the plan or fit that answers it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PI = 3.141592653589793
Solve = Callable[[float], Any]


@dataclass(frozen=True)
class GalleryProblem:
    """A problem of opty's gallery.

    name, file: its title and its place below `examples-gallery`; theirs: the objective, or the duration, that opty stores or
    prints, None where it does neither; measure: "objective", "duration", or the name of a parameter, what `theirs` is; remark:
    where the two problems differ; tolerance: what is asked of `solve`; model: the function that holds the model.
    """

    name: str
    file: str
    solve: Solve
    theirs: float | None
    measure: str
    remark: str
    tolerance: float
    model: Callable[..., Any]

    @property
    def lines(self) -> int:
        """Lines of the model: those of its function down to the one that ends the call of `ap.System`."""
        source = inspect.getsource(self.model).split("\n")
        first = next(i for i, line in enumerate(source) if line.startswith("def ")) + 1
        if source[first].lstrip().startswith('"""'):
            first = next(i for i in range(first, len(source)) if source[i].rstrip().endswith('"""')) + 1
        last = max(i for i, line in enumerate(source) if "ap.System(" in line)
        depth = 0
        for i in range(last, len(source)):
            depth += source[i].count("(") - source[i].count(")")
            if depth <= 0:
                last = i
                break
        return sum(bool(line.strip()) for line in source[first : last + 1])


PROBLEMS: list[GalleryProblem] = []


def problem(
    name: str,
    file: str,
    theirs: float | None = None,
    measure: str = "objective",
    remark: str = "",
    tolerance: float = 1e-6,
    model: Callable[..., Any] | None = None,
) -> Callable[[Solve], Solve]:
    """Puts the function below into the table."""

    def listed(solve: Solve) -> Solve:
        PROBLEMS.append(GalleryProblem(name, file, solve, theirs, measure, remark, tolerance, model or solve))
        return solve

    return listed
