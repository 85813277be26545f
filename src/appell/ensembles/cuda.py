"""The time loop of ensembles as a CUDA kernel: each thread is one lane and keeps the state of its run in registers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from appell.backends.cuda.cuda_text import INSTRUCTIONS_PER_FUNCTION, PRECISIONS, Constants, prelude
from appell.backends.lanes.emit import ONE_BY_ONE, dialect_of, one_by_one
from appell.backends.text.c_source import emit_plan, plan_of
from appell.backends.text.sincos import Precision
from appell.backends.text.templates import template
from appell.ensembles.lane_program import Language, Stops, WallFunctions, Watch, many_source
from appell.graph import Fn
from appell.loop.methods.tableaux import Tableau
from appell.normal_form.flow import Flow

INLINE = "static __forceinline__ "
OPERATIONS = {"if_else_zero": "lanes_select({0} != 0, {1}, ALL(0))", "inv": "V(appell_inverse(({0}).x))"}


def kernel_text(
    flow: Flow, tableau: Tableau, watch: Watch | None, walls: WallFunctions | None = None, scalar: str = "double",
    breaks: Stops | None = None, bends: Fn | None = None,
) -> str:  # fmt: skip
    """The whole file, with `appell_many_kernel(appell_many *)`."""
    language = _language(Constants(PRECISIONS[scalar]))
    return many_source(flow, tableau, watch, walls, breaks, bends, lanes=1, groups=1, scalar=scalar, language=language)


def _language(constants: Constants) -> Language:
    """CUDA, with the constants of one file."""

    def types(fns: Sequence[Fn], lanes: int, precision: Precision) -> str:
        used = {item.op for fn in fns for item in fn.instructions}
        text = template("ensembles/types.cu.in")
        one_lane = (one_by_one(op, precision, lanes) for op in ONE_BY_ONE if op in used)
        return "\n".join([prelude(precision, constants), text, *one_lane])

    def emit(fn: Fn, precision: Precision) -> tuple[str, int]:
        lanes = dialect_of(precision)
        dialect = replace(
            lanes,
            operations={**lanes.operations, **OPERATIONS},
            literal=lambda value: f"ALL({constants(value)})",
            order=tuple,
            head="static __forceinline__ void",
        )
        plan = plan_of(fn.instructions, INSTRUCTIONS_PER_FUNCTION, dialect)
        return emit_plan(fn, fn.instructions, plan, dialect), plan.work

    return Language(types, emit, "cu.in", _finish)


def _finish(text: str) -> str:
    """Adapts empty initialisers to CUDA C++, and inlines functions so that their arguments stay in registers."""
    replacements = {"(I) {}": "I(false)", "(V) {}": "V((T) 0)", "__attribute__((cold, noinline))": "__noinline__"}
    for word, replacement in replacements.items():
        text = text.replace(word, replacement)
    return re.sub(r"^static (?:inline )?(?!const|__forceinline__|__noinline__)(?=[\w ]+[ *]\w+\()", INLINE, text, flags=re.M)


__all__ = ["kernel_text"]
