"""A normal form with numbers in place of some of its parameters.

    M(q; m, l), h, Q, A, …   →   M(q), h, Q, A, …   at m = 1, l = 2

Powers and products of numbers become numbers, 1·x, 0·x and x + 0 vanish, and the result is simplified again by `shorter`: a
stream without the parameters. They remain inputs of the graph, but are not used.
"""

from __future__ import annotations

from dataclasses import replace

from appell.graph.algebra import Value, column, is_zero, substitute
from appell.graph.shorter import as_good, cost
from appell.normal_form.flow import short_blocks
from appell.normal_form.normal_form import NormalForm
from appell.normal_form.solved import Blocks
from appell.remember import remembered

Numbers = tuple[tuple[int, float], ...]  # (index in p, value)


@remembered
def with_numbers(form: NormalForm, numbers: Numbers) -> NormalForm:
    """The form with the numbers substituted; unchanged if the equations would differ by more than rounding, or be longer."""
    p, value_of = form.inputs["p"], dict(numbers)
    p_with_numbers = column(*(Value(value_of[i]) if i in value_of else p[i] for i in range(p.numel())))
    inputs, places = list(form.inputs.values()), [value_of if name == "p" else {} for name in form.inputs]

    def at(value: Value) -> Value:
        return substitute(value, [p], [p_with_numbers])

    def output(name: str, value: Value) -> Value:
        new = at(value)
        return value if name == "power" and is_zero(new) else new  # the presence of work in the state must not depend on values

    new = replace(form, outputs=form.outputs.changed(output))
    if form.free is not None and not form.rows:
        free = at(form.free)
        return replace(new, free=free) if as_good([free], [form.free], inputs, places) else form
    plain = short_blocks(form)
    candidates = [short_blocks(new), Blocks(*map(at, plain))]  # simplified after, or before, substitution
    usable = [blocks for blocks in candidates if as_good(blocks, plain, inputs, places)]
    return replace(new, short=min(usable, key=lambda blocks: cost(blocks, inputs))) if usable else form
