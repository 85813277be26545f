"""C text around the functions of a flow: the projection, the time loop.

    static int rhs(t, z, p, zd)               status from the margin of `flow`
    static int project(t, z, p, defect)       Newton's corrections of positions, then of velocities, in the M-metric
    appell_advance(…)                         the loop of `in_c`
"""

from __future__ import annotations

from appell.backends.text.c_source import PRELUDE, emit, emit_function
from appell.loop.header import header
from appell.loop.in_c import SMOOTH, loop_source
from appell.loop.methods.gauss_legendre import GaussLegendre
from appell.loop.methods.radau import Radau
from appell.loop.methods.tableaux import Tableau
from appell.loop.methods.taylor import Taylor
from appell.nonsmooth.contact.contact_functions import ContactFunctions
from appell.nonsmooth.contact.contact_text import contact_text, step_examination
from appell.normal_form.flow import Flow
from appell.normal_form.saddle import SADDLE_C


def loop_module(flow: Flow, method: Tableau | Taylor | Radau | GaussLegendre, contact: ContactFunctions | None = None) -> str:
    """A whole C file with the time loop of a flow, in all its modes where there are faces."""
    steps = [step for step in (flow.position, flow.velocity, flow.energy) if step is not None]
    parts = [PRELUDE, header(), SADDLE_C, f"#define NZ {flow.nz}", STATUS_C, emit_function(flow.rhs), RHS_C]
    parts += [emit_function(step) for step in steps]
    parts.append(f"#define HAS_PROJECTION {int(flow.projects)}")
    if flow.projects:
        parts.append(_project(flow))
    if contact is not None:
        parts.append(contact_text(contact, emit, method.degree))
    examination = SMOOTH if contact is None else step_examination(contact.faces.count)
    parts += [emit(fn) for fn in method.functions(flow)]
    if flow.guarded is not None:
        parts.append(emit(flow.guarded.rows))
    parts.append(loop_source(method, flow.nz, flow.projects, examination, flow.guarded))
    return "\n".join(parts)


CORRECTION_ROUNDS = 2
"""Of corrections onto rows and energy: a change of positions towards the energy moves the rows in second order."""

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


def _project(flow: Flow) -> str:
    units = "\n".join(
        f"    {{\n        const double e = 1/sqrt({' + '.join(f'z[{i}]*z[{i}]' for i in group)});\n"
        + "".join(f"        z[{i}] *= e;\n" for i in group)
        + "    }"
        for group in flow.quaternions
    )
    wanted = (("position", flow.position), ("velocity", flow.velocity), ("energy", flow.energy))
    names = [name for name, step in wanted if step is not None]
    corrections = "\n".join(
        f"    if ((status = correct({name}, t, z, p, defect))) return status;" + ("\n    make_unit(z);" if k == 0 else "")
        for k, name in enumerate(names * CORRECTION_ROUNDS if flow.energy is not None else names)
    )
    return f"""
/* unit quaternions made unit */
static void make_unit(double *z)
{{
    (void) z;
{units}
}}

typedef void Correction(const double *, const double *, const double *, double *, double *, double *, double *);

/* Newton: z += dz until the residual is rounding against its terms; or, where the terms themselves are rounding (a body at
   rest), until a step that z hardly notices no longer halves it */
static inline int correct(Correction *step, double t, double *z, const double *p, double *defect)
{{
    double dz[NZ], size, residual, margin, last = INFINITY, moved = INFINITY, large = 0;
    for (int k = 0; k < LOOP_NEWTON; k++) {{
        step(&t, z, p, dz, &size, &residual, &margin);
        if (size > LOOP_HALVED_AT_LEAST*last && moved <= LOOP_UNNOTICED*large) return LOOP_OK;
        if (k == 0 && residual > *defect) *defect = residual;
        if (size <= LOOP_ROUNDING) return LOOP_OK;
        if (margin_status(margin)) return margin_status(margin);
        if (!(size < INFINITY)) return LOOP_NOT_FINITE;
        for (int i = 0; i < NZ; i++) z[i] += dz[i];
        if (size <= LOOP_QUADRATIC) return LOOP_OK;
        last = size, moved = large = 0;
        for (int i = 0; i < NZ; i++) {{
            if (fabs(dz[i]) > moved) moved = fabs(dz[i]);
            if (fabs(z[i]) > large) large = fabs(z[i]);
        }}
    }}
    return LOOP_PROJECTION_FAILED;
}}

static int project(double t, double *z, const double *p, double *defect)
{{
    int status = LOOP_OK;
    *defect = 0;
    make_unit(z);
{corrections}
    return status;
}}
"""
