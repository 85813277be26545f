"""A method's part of the text of `many.c.in`: stages, dense output, error and the next step, over vectors of runs."""

from __future__ import annotations

import numpy as np

from appell.backends.text.sincos import Precision
from appell.loop.methods.runge_kutta import combination as slopes_combined
from appell.loop.methods.runge_kutta import sketch_of
from appell.loop.methods.tableaux import Array, Tableau
from appell.loop.methods.taylor import Taylor


def tableau_text(tableau: Tableau, precision: Precision) -> dict[str, object]:
    """The tableau's part of `many.c.in`."""
    number = lambda value: f"(T) {float(value)!r}"

    def combination(coefficients: Array) -> str:
        return slopes_combined(coefficients, "(T) {!r}", "k[{}][i]")

    def change(coefficients: Array) -> str:
        """Of a state: h Σ c k, with the first c taken out where the others are multiples of it."""
        first = next(c for c in coefficients if c != 0)
        multiples = coefficients / first
        if not np.array_equal(multiples, np.rint(multiples)):
            return f"s->step*({combination(coefficients)})"
        terms = (f"k[{j}][i]" if c == 1 else f"{number(c)}*k[{j}][i]" for j, c in enumerate(multiples) if c != 0)
        return f"({number(first)}*s->step)*({' + '.join(terms)})"

    def stage(target: str, coefficients: Array, at: float, row: str) -> str:
        time = "s->t1" if at == 1 else f"s->t + {number(at)}*s->step"
        slope = f"        many_slope(s, {time}, s->{target}, k[{row}]);\n" if row else ""
        return (
            "    for (int g = 0; g < GROUPS; g++) {\n        Group *const s = all + g;\n        V (*const k)[NZ] = s->k;\n"
            f"        for (int i = 0; i < NZ; i++) s->{target}[i] = s->z[i] + {change(coefficients)};\n"
            f"{slope}    }}"
        )

    stages = [stage("y", tableau.A[i, :i], tableau.C[i], str(i)) for i in range(1, tableau.stages)]
    stages.append(stage("z1", tableau.B, 1.0, "END" if tableau.end_slope_in_error else ""))
    extra = [
        f"    for (int i = 0; i < NZ; i++) s->y[i] = s->z[i] + s->step*({combination(a[:i])});\n"
        f"    many_slope(s, s->t + {number(c)}*s->step, s->y, k[{i}]);"
        for i, (c, a) in enumerate(zip(tableau.C_extra, tableau.A_extra, strict=True), start=tableau.stages + 1)
    ]
    d, errors, sketch = len(tableau.D), [row for row in tableau.E if np.any(row)], sketch_of(tableau)
    missed = "        missed = many_max(lanes_fabs(h*s->k[{0}][i] - (d0 + {1}*((T) 2*b + {1}*3*a))), missed);"
    slopes = "        slowest = lanes_least(slowest, s->k[{0}][i]), fastest = many_max(fastest, s->k[{0}][i]);"
    stages_seen = sketch.stages if sketch else ()
    exponent, tiny = 1 / (tableau.error_order + 1), "1e-300" if precision.size == 8 else "1e-36f"
    previous = f"*many_power(s->previous, {number(tableau.beta / 2)})" if tableau.beta else ""
    return {
        "rows": tableau.stages + 1 + len(tableau.A_extra), "end": tableau.stages, "dense": 3 + d, "errors": len(errors),
        "series_missed": "", "sketch": int(sketch is not None), "sketch_off": number(sketch.value if sketch else 0.0),
        "sketch_off_d": number(sketch.rate if sketch else 0.0),
        "sketch_line": number(sketch.line(tableau) if sketch else 0.0),
        "sketch_slopes": "\n".join(slopes.format(i) for i in stages_seen),
        "sketch_missed": "\n".join(missed.format(i, number(tableau.C[i])) for i in stages_seen),
        "end_slope_in_error": int(tableau.end_slope_in_error), "stages": "\n".join(stages), "extra": "\n".join(extra),
        "dense_rows": "\n".join(f"        s->F[{3 + j}][i] = h*({combination(tableau.D[j])});" for j in range(d)),
        "sums": ", ".join(f"sum{j} = {{}}" for j in range(len(errors))),
        "error_rows": "\n".join(
            f"        const V e{j} = ({combination(row)})*scale;\n        sum{j} += e{j}*e{j};" for j, row in enumerate(errors)
        ),
        "error_norm": "s->step*s->step*sum0*(T) (1.0/NZ)" if len(errors) < 2
        else f"s->step*s->step*sum0*sum0/((sum0 + (T) LOOP_THIRD_ORDER*sum1 + (T) {tiny})*(T) NZ)",
        "factor": f"{number(tableau.safety)}*many_power(bounded, {number(-tableau.size_exponent / 2)}){previous}",
        "exponent": repr(exponent), "grow": repr(tableau.grow), "shrink": repr(tableau.shrink),
    }  # fmt: skip


def series_text(method: Taylor) -> dict[str, object]:
    """The part of a method by series: the state and the slope of the series at the end, against the slope of the flow there."""
    exponent = 1 / (method.order + 1)
    stage = """\
    for (int g = 0; g < GROUPS; g++) {
        Group *const s = all + g;
        const V h = s->step;
        for (int i = 0; i < NZ; i++) {
            V z = s->c[(ORDER - 1)*NZ + i], zd = (T) ORDER*z;
            for (int k = ORDER - 1; k > 0; k--) {
                z = z*h + s->c[(k - 1)*NZ + i];
                zd = zd*h + (T) k*s->c[(k - 1)*NZ + i];
            }
            s->z1[i] = s->z[i] + h*z, s->tail[i] = zd;
        }
        many_slope(s, s->t1, s->z1, s->k[END]);
    }"""
    return {
        "series_missed": f"static const T SERIES_MISSED[] = {{{', '.join(map(repr, quintic_misses(method.order)))}}};",
        "sketch": 0, "sketch_off": "(T) 0", "sketch_off_d": "(T) 0", "sketch_missed": "",
        "sketch_line": "(T) 0", "sketch_slopes": "",
        "rows": 3, "end": 2, "dense": 1, "errors": 1, "end_slope_in_error": 1, "stages": stage, "extra": "", "dense_rows": "",
        "sums": "sum0 = {}", "error_rows": "        const V e0 = (k[END][i] - s->tail[i])*scale;\n        sum0 += e0*e0;",
        "error_norm": f"s->step*s->step*sum0*(T) ({exponent**2!r}/NZ)",
        "factor": f"(T) {method.safety!r}*many_power(bounded, (T) {-exponent / 2!r})", "exponent": repr(exponent),
        "grow": "1e9", "shrink": repr(method.shrink),
    }  # fmt: skip


def quintic_misses(order: int) -> list[float]:
    """How far θ^k is on [0, 1] from the quintic with its first four derivatives at 0, its value and slope at 1, (order + 1,).

    θ^k less the quintic is θ⁴(1 − θ)² Σ_j (j + 1) θ^(k − 6 − j), j <= k − 6, of which no term is negative."""
    x = np.linspace(0, 1, 1001)
    bubble = lambda k: x**4 * (1 - x) ** 2 * sum((j + 1) * x ** (k - 6 - j) for j in range(k - 5))
    return [1.01 * float(np.max(bubble(k))) if k > 5 else 0.0 for k in range(order + 1)]


__all__ = ["series_text", "tableau_text"]
