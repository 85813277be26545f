"""Functions of the faces of a system that a time loop needs besides the flow; made once for all modes."""

from __future__ import annotations

from dataclasses import dataclass

from appell.graph import Fn
from appell.graph.algebra import block_matrix, column, depends, symbols, take, zeros
from appell.model import System
from appell.nonsmooth.contact.metric import Metric, metric_of
from appell.normal_form import NormalForm
from appell.normal_form.face_table import FaceTable, face_table
from appell.normal_form.flow import FlowState
from appell.remember import remembered
from appell.roots.guard import guard_function, second_function
from appell.roots.solved_guards import SolvedGuards
from appell.rows import Policy

BOUNDED_UNKNOWNS = 48
"""Most accelerations and multipliers for which reactions are bounded inside a step; the equations are solved on the stack."""


@dataclass(frozen=True, eq=False)
class ContactFunctions:
    """The tables of the faces, the metric, and the reactions that are bounded over intervals (`reaction_guards`)."""

    faces: FaceTable
    metric: Metric
    reactions: SolvedGuards | None = None


def contact_functions(system: System, form: NormalForm, policy: Policy, *, work: bool = True) -> ContactFunctions:
    """The contact functions of a system whose state is (q, v, w), or (q, v) without the work w of all forces."""
    state = FlowState.full(form, work)
    return ContactFunctions(face_table(system, form, state.size), metric_of(form, policy, state), reaction_guards(form, policy))


@remembered
def reaction_guards(form: NormalForm, policy: Policy) -> SolvedGuards | None:
    """Reactions Λ of the faces, (faces,), from the equations with the rows n of the faces in contact:

        M a − W λ − nᵀ Λ = Q − h,        A a + a0 = 0,        n a + g̈₀ = 0

    None where forces contain multipliers, or there are more than `BOUNDED_UNKNOWNS` unknowns."""
    faces = form["g"].numel()
    if form.law is not None or form.open_forces is not None or form.nv + form.m + faces > BOUNDED_UNKNOWNS:
        return None
    n, zero = form["g_v"], zeros(form.m + faces, form.m + faces)
    K = block_matrix([[form["M"], -form["W"], -n.T], [column(form["A"], n), zero]])
    y = symbols("y", form.nv + form.m + faces)
    b, z = column(form["Q"] - form["h"], -form["a0"], -form["g_dd0"]), column(form.inputs["q"], form.inputs["v"])
    return SolvedGuards.of(form.inputs["t"], z, form.inputs["p"], K, b, y, take(y, range(form.nv + form.m, y.numel())), form.nv)


@remembered
def gap_functions(form: NormalForm) -> list[tuple[Fn, Fn]]:
    """The distance of each face as a guard: (t, q, p, ṫ, q̇) → (g, ġ), and with q̈ → (g, ġ, g̈)."""
    inputs = [form.inputs[x] for x in "tqp"]
    guard_pair = lambda i, g: (guard_function(f"gap_{i}", g, *inputs), second_function(f"gap_{i}_second", g, *inputs))
    return [guard_pair(i, form["g"][i]) for i in range(form["g"].numel())]


def bends_with_speed(form: NormalForm) -> bool:
    """Whether some constraint is nonlinear in the velocities, so that the direction of its reaction turns during an impact."""
    return depends(form["A"], form.inputs["v"])
