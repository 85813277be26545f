"""What a time loop needs to know of the faces of a system, besides its flow: made once, for all modes."""

from __future__ import annotations

from dataclasses import dataclass

from appell.contact.metric import Metric, metric_of
from appell.graph import Fn, make_fn
from appell.graph.algebra import depends
from appell.model import System
from appell.normal_form import NormalForm
from appell.normal_form.face_table import FaceTable, face_table
from appell.normal_form.flow import State, inputs_of
from appell.rows import Policy


@dataclass(frozen=True, eq=False)
class ContactFunctions:
    """The tables of the faces, the metric, and `distances`: (t, z, p) → g, g_d of all faces, for a method by series."""

    faces: FaceTable
    metric: Metric
    distances: Fn


def contact_functions(system: System, form: NormalForm, policy: Policy, *, work: bool = True) -> ContactFunctions:
    """Of a system whose state is (q, v, w), or (q, v) without the work of all forces."""
    state, n = State.full(form, work), len(system.unilateral)
    return ContactFunctions(
        face_table(system, form, state.size),
        metric_of(form, policy, state),
        make_fn("faces", inputs_of(form, state), {"g": (form["g"], (n,)), "g_d": (form["g_d"], (n,))}),
    )


def bends_with_speed(form: NormalForm) -> bool:
    """Whether rows are nonlinear in the velocities: then their directions turn during an impact."""
    return depends(form["A"], form.inputs["v"])
