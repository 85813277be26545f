"""`Model`: the contents of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sympy import Expr

from appell.ensembles import sweep
from appell.errors import ModelError
from appell.files.printed import write_expression
from appell.model import System
from appell.model.dimension_check import wrong_dimensions
from appell.model.units import Dimensions
from appell.simulate.simulate import simulate


@dataclass(frozen=True, eq=False, kw_only=True)
class Model:
    """A system with values, a start and the settings of a run, read from a model file by `ap.read_model`.

    Attributes
    ----------
    system: the `System`.
    parameters: symbol → value in SI, and prescribed function → expression or record.
    start: coordinate, velocity or state → value in SI at the beginning.
    until: end of the run, s; options: further options of `simulate` (rtol, method, step …).
    over: parameter or start → values, for `sweep`.
    pseudo: name → pseudo-velocity, for the forms that use them.
    units: name → dimensions of coordinates and parameters, where the file gives them.
    unused: parameters of the file that nothing in the model contains.
    scene: the `Scene` to draw, None for that of the system; page: title and forms of the report.
    """

    system: System
    parameters: Mapping[Any, Any]
    start: Mapping[Any, float]
    until: float = 10.0
    options: Mapping[str, Any] = field(default_factory=dict)
    over: Mapping[Any, Any] = field(default_factory=dict)
    pseudo: Mapping[str, Expr] | None = None
    reference: str = ""
    units: Mapping[str, Dimensions] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    scene: Any = None
    page: Mapping[str, Any] = field(default_factory=dict)

    def simulate(self, **options: Any) -> Any:
        """The motion from the file's start with its settings; `options` of `ap.simulate` override them."""
        chosen = {"start": self.start, "until": self.until, "parameters": self.parameters, **self.options, **options}
        motion = simulate(self.system, **chosen)
        return replace(motion, units={**self.units, **motion.units})

    def report(self, path: Any, motion: Any = None) -> Any:
        """Writes the page of a motion (by default that from the file's start) with the scene, title and forms of the file."""
        motion = self.simulate() if motion is None else motion
        return motion.report(path, scene=self.scene, **self.page)

    def sweep(self, store: Any = None, **options: Any) -> Any:
        """The ensemble over the quantities in [sweep], with the settings of [run].

        `store`: a folder in which it is saved and from which it resumes.
        """
        if not self.over:
            raise ModelError(f"'{self.system.name}' says nothing to vary: [sweep] names parameters with their values")
        fixed = {s: value for s, value in self.parameters.items() if s not in self.over}
        start = {s: value for s, value in self.start.items() if s not in self.over}
        chosen = {**self.options, **options}
        run = lambda folder: sweep(self.system, dict(self.over), start, self.until, fixed, store=folder, **chosen)
        if store is not None:
            return run(store)
        with TemporaryDirectory() as folder:
            result = run(Path(folder) / "runs")
            result.dataset.load()
            return result

    def check_units(self) -> list[str]:
        """Inconsistent dimensions of energies, forces, rows, walls, frictions, rates, resets and bodies, where units are
        given."""
        functions = {s: value for s, value in self.parameters.items() if s in self.system.prescribed}
        return wrong_dimensions(self.system, self.units, functions, write_expression)


__all__ = ["Model"]
