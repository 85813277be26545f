"""A pair of Runge and Kutta as C text: coefficients are literals, each combination of slopes one loop over a constant number of
vectors (GCC's and Clang's vector types)."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.simulate.methods.tableaux import Array, Tableau

FRESH_APART = 12  # states up to here add the newest slope one by one, see _update (measured at 4, 10 and 20)


MEMORY = """\
#define LOOP_FORESIGHT 0
typedef struct {{
    LoopRow F[{rows}];         /* dense output */
}} LoopMemory;"""


def pair_text(tableau: Tableau, nz: int) -> dict[str, Any]:
    """What stands for the names in `runge_kutta.c.in` and in the loop around it."""
    d, e = len(tableau.D), range(len(tableau.E))
    return {
        "method": "simulate/methods/runge_kutta.c.in",
        "sight": "contact/sight_pair.c.in",
        "memory": MEMORY.format(rows=3 + d),
        "rows": tableau.stages + 1 + len(tableau.A_extra),
        "end": tableau.stages,
        "end_slope_in_error": int(tableau.end_slope_in_error),
        "dense": 3 + d,
        "stages": _stages(tableau, nz),
        "extra": _extra_stages(tableau),
        "dense_rows": "\n".join(f"        s->m.F[{3 + j}].v[i] = h*{_combination(tableau.D[j])};" for j in range(d)),
        "errors": len(tableau.E),
        "sums": ", ".join(f"sum{j} = 0" for j in e),
        "error_rows": "\n".join(f"        e[{j}].v[i] = {_combination(tableau.E[j])};" for j in e),
        "error_sums": " ".join(f"sum{j} += (e[{j}].x[i]*scale)*(e[{j}].x[i]*scale);" for j in e),
        "error_norm": _error_norm(tableau),
        "factor": _factor(tableau),
        "grow": repr(tableau.grow),
    }


def _combination(coefficients: Array) -> str:
    """Σ_j c_j k[j][i] as C text, zeros left out."""
    terms = [f"{float(c)!r}*k[{j}].v[i]" for j, c in enumerate(coefficients) if c != 0]
    return f"({' + '.join(terms)})"


def _update(target: str, coefficients: Array, fresh_apart: bool) -> str:
    """target = z + h Σ_j c_j k_j as C text.

    rhs has just written the newest slope in single doubles, and a vector load across several stores waits until they
    have left the store buffer, longer than small states take to add. So there the newest slope is added one by one
    (volatile: not as a vector), the older ones as vectors.
    """
    if not fresh_apart:
        return f"    for (int i = 0; i < LOOP_NV; i++) {target}.v[i] = s->z.v[i] + h*{_combination(coefficients)};"
    newest = int(np.flatnonzero(coefficients)[-1])
    older = f" + h*{_combination(coefficients[:newest])}" if np.any(coefficients[:newest]) else ""
    return (
        f"    for (int i = 0; i < LOOP_NV; i++) {target}.v[i] = s->z.v[i]{older};\n"
        f"    for (int i = 0; i < NZ; i++)"
        f" {target}.x[i] += {float(coefficients[newest])!r}*h*((const volatile double *) k[{newest}].x)[i];"
    )


def _evaluate(t: str, z: str, row: str) -> str:
    return f"    if ((status = loop_evaluate(run, {t}, {z}.x, k[{row}].x))) return status;"


def _stages(tableau: Tableau, nz: int) -> str:
    """k_i = f(t + c_i h, z + h Σ a_ij k_j), then z₁ and, where the error estimate needs it, its slope."""
    lines = []
    for i in range(1, tableau.stages):
        lines.append(_update("s->y", tableau.A[i, :i], nz <= FRESH_APART))
        lines.append(_evaluate(f"t + {float(tableau.C[i])!r}*h", "s->y", str(i)))
    lines.append(_update("s->z1", tableau.B, nz <= FRESH_APART))
    if tableau.end_slope_in_error:
        lines.append(_evaluate("t + h", "s->z1", "LOOP_END"))
    return "\n".join(lines)


def _extra_stages(tableau: Tableau) -> str:
    """The stages that only the dense output asks for."""
    lines = ["    const double t = run->t;", "    int status;"]
    for i, (c, a) in enumerate(zip(tableau.C_extra, tableau.A_extra, strict=True), start=tableau.stages + 1):
        lines.append(_update("s->y", a[:i], fresh_apart=False))
        lines.append(_evaluate(f"t + {float(c)!r}*h", "s->y", str(i)))
    return "\n".join(lines) if len(lines) > 2 else "    (void) run;"


def _error_norm(tableau: Tableau) -> str:
    """One row: |h| ‖e‖; two rows: |h| ‖e₅‖² / √(‖e₅‖² + 0.01 ‖e₃‖²) (Hairer II.10, eq. 10.17). ‖e‖² = Σe²/NZ."""
    if len(tableau.E) == 1:
        return "fabs(h)*sqrt(sum0*(1.0/NZ))"
    return "sum0 == 0 ? 0 : fabs(h)*sum0/sqrt((sum0 + 0.01*sum1)*NZ)"


def _factor(tableau: Tableau) -> str:
    """safety · err^−α err_previous^β with α = 1/(order of the estimate + 1) − 3β/4."""
    exponent = 1 / (tableau.error_order + 1)
    previous = f"*pow(run->error, {tableau.beta!r})" if tableau.beta else ""
    return f"{tableau.safety!r}*pow(bounded, {-(exponent - 0.75 * tableau.beta)!r}){previous}"
