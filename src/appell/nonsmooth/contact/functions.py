"""What a time loop needs to know of the faces of a system, besides its flow: made once, for all modes."""

from __future__ import annotations

from dataclasses import dataclass

from appell.graph import Fn
from appell.graph.algebra import depends
from appell.model import System
from appell.nonsmooth.contact.metric import Metric, metric_of
from appell.normal_form import NormalForm
from appell.normal_form.face_table import FaceTable, face_table
from appell.normal_form.flow import State
from appell.remember import remembered
from appell.roots.guard import guard_function
from appell.rows import Policy


@dataclass(frozen=True, eq=False)
class ContactFunctions:
    """The tables of the faces, and the metric."""

    faces: FaceTable
    metric: Metric


def contact_functions(system: System, form: NormalForm, policy: Policy, *, work: bool = True) -> ContactFunctions:
    """Of a system whose state is (q, v, w), or (q, v) without the work of all forces."""
    state = State.full(form, work)
    return ContactFunctions(face_table(system, form, state.size), metric_of(form, policy, state))


@remembered
def gap_functions(form: NormalForm) -> list[Fn]:
    """The distance of each face as a guard: (t, q, p, td, qd) → (g, its rate)."""
    t, q, p = (form.inputs[x] for x in "tqp")
    return [guard_function(f"gap_{i}", form["g"][i], t, q, p) for i in range(form["g"].numel())]


def bends_with_speed(form: NormalForm) -> bool:
    """Whether rows are nonlinear in the velocities: then their directions turn during an impact."""
    return depends(form["A"], form.inputs["v"])
