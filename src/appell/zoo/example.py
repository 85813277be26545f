"""`Example`: a system of the zoo with its parameters, its start and its scene."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr, Symbol, latex

from appell.model import System
from appell.scene import Scene


@dataclass(frozen=True, kw_only=True)
class Example:
    """A classical system with everything needed to run it and to check the run.

    `simulate(example.system, start=example.start, until=example.until, parameters=example.parameters)` works for each.
    """

    system: System
    parameters: dict[Symbol, float]
    """A value (SI) for every parameter of the system."""
    start: dict[Symbol, float]
    """Values (SI) at t = 0 that satisfy the constraints; values not named are 0."""
    reference: str
    """The source of the system in the literature."""
    pseudo: dict[str, Expr] | None = None
    """Pseudo-velocities: name → expression in q̇, independent of each other and of the constraints."""
    scene: Scene | None = None
    """The picture of the system; by default the automatic scene of the bodies and joints."""
    until: float = 10.0
    """A sensible length of the run, s."""

    def __post_init__(self) -> None:
        if self.scene is not None:
            self.scene.adopt()

    @property
    def name(self) -> str:
        """Name of the system."""
        return self.system.name

    def _repr_markdown_(self) -> str:
        """The notebook display: name and source, T, V, forces and constraints, values and start."""
        values = ", ".join(f"${latex(s)} = {value:g}$" for s, value in self.parameters.items())
        start = ", ".join(f"${latex(s)} = {value:g}$" for s, value in self.start.items())
        lines = [f"**{self.name}** — {self.reference}", self.system.symbolic()._repr_latex_()]
        lines += [f"with {values}"] if values else []
        return "\n\n".join([*lines, f"starts at {start or 'rest'} and runs for {self.until:g} s"])
