"""C source around the functions of a flow: the projection and the time loop.

    static int rhs(t, z, p, zd)               status from the margin of `flow`
    static int project(t, z, p, defect)       Newton's corrections of positions, then of velocities, in the M-metric
    appell_advance(…)                         the loop of `in_c`
"""

from __future__ import annotations

from appell.backends.text.c_source import PRELUDE, emit, emit_function
from appell.loop.header import header
from appell.loop.in_c import SMOOTH, loop_source, one_run_words
from appell.loop.methods.gauss_legendre import GaussLegendre
from appell.loop.methods.radau import Radau
from appell.loop.methods.tableaux import Tableau
from appell.loop.methods.taylor import Taylor
from appell.loop.projection import projection_text
from appell.nonsmooth.contact.contact_functions import ContactFunctions
from appell.nonsmooth.contact.contact_text import contact_text, step_examination
from appell.normal_form.flow import Flow
from appell.normal_form.saddle import SADDLE_C


def loop_module(flow: Flow, method: Tableau | Taylor | Radau | GaussLegendre, contact: ContactFunctions | None = None) -> str:
    """A whole C file with the time loop of a flow, for all its modes if there are faces."""
    steps = [step for step in (flow.position, flow.velocity, flow.energy) if step is not None]
    sources = [PRELUDE, header(), SADDLE_C, f"#define NZ {flow.nz}", STATUS_C, emit_function(flow.rhs), RHS_C]
    sources += [emit_function(step) for step in steps]
    sources.append(f"#define HAS_PROJECTION {int(flow.projects)}")
    if flow.projects:
        sources += [one_run_words(flow.nz), projection_text(flow), PROJECT_C]
    if contact is not None:
        sources.append(contact_text(contact, emit, method.degree))
    examination = SMOOTH if contact is None else step_examination(contact.faces.count)
    sources += [emit(fn) for fn in method.functions(flow)]
    if flow.guarded is not None:
        sources.append(emit(flow.guarded.rows))
    sources.append(loop_source(method, flow.nz, flow.projects, examination, flow.guarded))
    return "\n".join(sources)


STATUS_C = """
/* the status that a margin stands for: positive is fine, else minus the status; not a number is not finite */
static int margin_status(double margin)
{
    if (margin > 0) return LOOP_OK;
    if (margin == -LOOP_REACTION) return LOOP_REACTION;
    return margin != margin || margin == -LOOP_NOT_FINITE ? LOOP_NOT_FINITE : LOOP_SINGULAR;
}
"""

RHS_C = """
static int rhs(double t, const double *z, const double *p, double *zd)
{
    double margin;
    flow(&t, z, p, zd, &margin);
    return margin_status(margin);
}
"""

PROJECT_C = """
static int project(double t, double *z, const double *p, double *defect) { return loop_onto(p, t, z, 1, defect); }
"""
