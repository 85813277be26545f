"""The accelerations of a run as a CasADi function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appell.errors import FormNotApplicable
from appell.graph import Fn
from appell.graph.casadi_functions import casadi_function, casadi_saddle
from appell.normal_form.flow import acceleration
from appell.normal_form.solved import Solved
from appell.rows import ELIMINATE, RANK

if TYPE_CHECKING:
    from appell.compiled.run import Run


def in_casadi(run: Run) -> Any:
    """See `Run.casadi`."""
    system = run.system
    if system.frictions:
        name = system.frictions[0].name
        raise FormNotApplicable(f"'{name}' sticks or slides, and run.casadi() needs a fixed mode; use system.in_mode(…)")
    if run.schedule is not None:
        raise FormNotApplicable(f"{system.name} has a record, whose numbers change from sample to sample; give it as an input")
    if run.policies.acceleration.kind in (RANK, ELIMINATE):
        names = ", ".join(f"'{name}'" for name in run.policies.redundant) or "masses of very different sizes"
        raise FormNotApplicable(f"the accelerations of {system.name} have no plain solve: redundant rows ({names}); drop them")
    fn = acceleration(run.form, run.policies)
    if isinstance(fn, Fn):
        return casadi_function("acceleration", fn, ("a", "lam"))
    if isinstance(fn, Solved):
        return casadi_saddle("acceleration", fn.head, fn.tail)
    raise FormNotApplicable(
        f"the accelerations of {system.name} are minimised or iterated (rows nonlinear in them, forces with multipliers), which"
        " a CasADi graph cannot express"
    )


__all__ = ["in_casadi"]
