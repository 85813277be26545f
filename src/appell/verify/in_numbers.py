"""Findings in numbers for a tree that is too large for symbols."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from appell.compiled.compiling import compile
from appell.errors import ConstraintError, FormNotApplicable
from appell.model import System
from appell.verify import conserved
from appell.verify.case import Case
from appell.verify.energy_integral import power_rounding
from appell.verify.findings import Finding


def too_large(system: System) -> Finding | None:
    """The finding that a tree has too many velocities for symbolic equations, if so."""
    try:
        system.symbolic()
    except FormNotApplicable:
        sentence = f"{system.nv} velocities are more than are written in symbols: integrals are not written down, and cyclic"
        return Finding("size", system.name, f"{sentence} coordinates, momenta and pseudo-velocities are not looked for")
    return None


def energy_in_numbers(case: Case) -> Iterator[Finding]:
    """Whether the energy of a tree is conserved: whether the power of forces, reactions and time vanishes, in numbers."""
    try:
        batch = conserved.StateBatch.of(compile(case.system, case.values, backend="vm", ready=False), case.states[:8])
    except ConstraintError as error:
        yield Finding("redundancy", case.system.name, str(error))
        return
    if not len(batch.t):
        return
    is_conserved = np.abs(batch.outputs("power")["power"]).max() <= power_rounding(batch)
    reason = "no force and no constraint does work" if is_conserved else "forces, or reactions of constraints, do work"
    yield Finding("conserved", case.system.name, f"the energy T + V is {'' if is_conserved else 'not '}conserved: {reason}")


__all__ = ["energy_in_numbers", "too_large"]
