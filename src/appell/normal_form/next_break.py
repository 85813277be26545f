"""The next break of a system (`appell.model.breaks`) as a function of the graph: (t, p) → next, s."""

from __future__ import annotations

from appell.graph import Fn, make_fn
from appell.model.breaks import Breaks
from appell.normal_form.normal_form import NormalForm
from appell.remember import remembered

EPSILON = {"double": 2.0**-52, "float": 2.0**-23}
"""Spacing of the numbers near 1."""


@remembered
def next_break(form: NormalForm, breaks: Breaks, direction: int, scalar: str = "double") -> Fn:
    """The first break after t in a direction, ±1, and ±`FAR` where there is none; `form`: of the branched system."""
    expression, letters = breaks.following(direction, EPSILON[scalar])
    for letter, meaning in letters.items():
        form.lower.bind({letter: form.lower(meaning)})
    value, p = form.lower(expression), form.inputs["p"]
    return make_fn("next_break", {"t": (form.inputs["t"], ()), "p": (p, (p.numel(),))}, {"next": (value, ())})


__all__ = ["next_break"]
