"""Measured records are allowed in forces and potentials only; anywhere else in a system they are refused."""

from __future__ import annotations

from appell.errors import ModelError
from appell.jets import Prescribed
from appell.model import System
from appell.model.measured import letters_of, records_of
from appell.tree.tree_system import TreeSystem


def refuse_records(system: System) -> None:
    """Records may occur in forces and potentials only; elsewhere smoothness matters, which prescribed functions check."""
    if not letters_of(system.parameters):
        return
    kinetic = [] if isinstance(system, TreeSystem) else [system.kinetic]
    places = {"the kinetic energy": kinetic, "a constraint": system.residuals}
    places["the kinematics"] = [rate for q, rate in system.rates.items() if q not in system.states]
    places["a unilateral constraint"] = [face.function for face in system.unilateral]
    prescribed = {s for f, value in system.prescription.items() if isinstance(f, Prescribed) for s in value.free_symbols}
    for place, expressions in places.items():
        records = records_of(s for expr in expressions for s in expr.free_symbols if s not in prescribed)
        if records:
            raise ModelError(
                f"the record '{records[0].name}' occurs in {place}, where jumps of its slope would be impacts: write f ="
                f" ap.prescribed('f') there, and give parameters={{f: record}}"
            )


__all__ = ["refuse_records"]
