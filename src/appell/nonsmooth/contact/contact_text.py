"""C source of contact for one system: the tables of its faces, its metric, and the routines of `contact.c.in`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from appell.backends.text.templates import template
from appell.graph import Fn
from appell.loop.in_c import StepExamination
from appell.nonsmooth.contact.contact_functions import ContactFunctions
from appell.nonsmooth.contact.metric import Metric
from appell.nonsmooth.criteria import criteria_text
from appell.normal_form.face_table import FaceTable, Shape
from appell.roots.interval_text import GuardShape, finder_text, interval_text, isolate_text
from appell.rows import LU


def contact_text(contact: ContactFunctions, emit: Callable[[Fn], str], degree: int) -> str:
    """Everything that the loop of a system with walls needs besides flow and projection; degree: of the dense output."""
    table, metric, reactions = contact.faces, contact.metric, contact.reactions
    body = template("nonsmooth/contact/contact.c.in").replace("@faces@", _faces(table))
    shapes = "\n".join(emit(shape.fn) for shape in table.shapes)
    also = range(table.nq + table.nv) if reactions else ()
    finder = [interval_text(), finder_text(gap_shapes(table), table.nz, degree, also)]
    finder += ["#define LOOP_BOUNDS 1", isolate_text(reactions)] if reactions else ["#define LOOP_BOUNDS 0"]
    sources = [shapes, emit(metric.blocks), emit(metric.displace), _sizes(table, metric), criteria_text(), body, *finder]
    return "\n".join(sources)


def step_examination(faces: int) -> StepExamination:
    """The hook that the loop calls in every step: finds the first crossing, and changes the mode there."""
    crossing, transition = (template(f"nonsmooth/contact/{name}.c.in") for name in ("switch", "transition"))
    return StepExamination(faces, crossing, transition)


def gap_shapes(table: FaceTable) -> tuple[GuardShape, ...]:
    """The distances of the faces as guards."""
    return tuple(GuardShape(s.gap, s.gap_second, s.faces, s.gap_inputs, s.constants) for s in table.shapes)


def _sizes(table: FaceTable, metric: Metric) -> str:
    parts, policy = metric.parts, metric.policy
    part_of = np.zeros(max(metric.nv, 1), dtype=int)
    for k, part in enumerate(parts):
        part_of[list(part.velocities)] = k
    offsets = np.cumsum([0, *(len(part.velocities) for part in parts)])[:-1]
    defines = {
        "NQ": table.nq, "NV": table.nv, "NP": table.np, "FACES": table.count, "WIDTH": max(table.width, 1),
        "PARTS": len(parts), "CONTACT_ROWS": metric.m, "CONTACT_KIND": policy.kind, "CONTACT_RANK": policy.rank,
        "CONTACT_GAMMA": repr(policy.gamma),
        "METRIC_M": sum(len(p.velocities) ** 2 for p in parts),
        "METRIC_A": sum(len(p.velocities) * len(p.rows) for p in parts),
    }  # fmt: skip
    tables = {
        "PART_OF": part_of, "PART_N": [len(p.velocities) for p in parts], "PART_M": [len(p.rows) for p in parts],
        "PART_FIRST": offsets, "PART_V": [v for p in parts for v in p.velocities],
        "PART_AT_M": [p.M for p in parts], "PART_AT_A": [p.A for p in parts],
    }  # fmt: skip
    W = ", W" if policy.kind == LU else ""
    return "\n".join([
        "#include <float.h>",
        *(f"#define {name} {value}" for name, value in defines.items()),
        *(f"static const int {name}[] = {{{_list(values)}}};" for name, values in tables.items()),
        "static void metric_at(double t, const double *z, const double *p, double *M, double *A, double *W)",
        f"{{\n    (void) W;\n    metric(&t, z, p, M, A{W});\n}}",
    ])  # fmt: skip


def _list(values: Iterable[Any]) -> str:
    return ", ".join(repr(x.item() if isinstance(x, np.generic) else x) for x in values) or "0"


def _faces(table: FaceTable) -> str:
    case = "    case {}: {}_row(FACE_AT[face], s, row); return;"
    cases = "\n".join(case.format(k, shape.fn.name) for k, shape in enumerate(table.shapes))
    loops = "\n".join(_loop(shape) for shape in table.shapes)
    return f"""{''.join(_tables(shape) for shape in table.shapes)}
static const int FACE_SHAPE[] = {{{_list(k for k, _ in table.shape_and_row)}}};
static const int FACE_AT[] = {{{_list(j for _, j in table.shape_and_row)}}};

static void face_row(int face, const double *s, FaceRow *row)
{{
    switch (FACE_SHAPE[face]) {{
{cases}
    }}
}}

/* What a loop calls with each face. */
typedef void FaceVisit(int face, const FaceRow *row, void *data);

static inline __attribute__((always_inline)) void faces_visit(const double *s, FaceVisit *visit, void *data)
{{
    FaceRow row;
{loops}
}}
"""


def _tables(shape: Shape) -> str:
    name, (count, nx), nc, nn = shape.fn.name, shape.inputs.shape, shape.constants.shape[1], shape.columns.shape[1]
    rows = lambda table: ", ".join("{" + (_list(row)) + "}" for row in table)
    gather = "\n".join(f"    x[{i}] = s[{name}_in[k][{i}]];" for i in range(nx))
    return f"""
static const int {name}_in[{count}][{max(nx, 1)}] = {{{rows(shape.inputs)}}};
static const double {name}_c[{count}][{max(nc, 1)}] = {{{rows(shape.constants)}}};
static const int {name}_v[{count}][{max(nn, 1)}] = {{{rows(shape.columns)}}};
static const int {name}_face[{count}] = {{{_list(shape.faces)}}};

static inline void {name}_row(int k, const double *s, FaceRow *row)
{{
    double x[{max(nx, 1)}];
    (void) s;
{gather}
    {name}(x, {name}_c[k], row->y);
    row->columns = {name}_v[k], row->entries = {nn};
}}
"""


def _loop(shape: Shape) -> str:
    name = shape.fn.name
    return (
        f"    for (int k = 0; k < {len(shape.faces)}; k++) {{\n"
        f"        {name}_row(k, s, &row);\n        visit({name}_face[k], &row, data);\n    }}"
    )

