"""The breaks around a time (`appell.model.breaks`) as a function of the graph: (t, p) → next, last, s."""

from __future__ import annotations

from appell.graph import Fn, make_fn
from appell.model.breaks import Breaks
from appell.normal_form.normal_form import NormalForm
from appell.remember import remembered

EPSILON = {"double": 2.0**-52, "float": 2.0**-23}
"""Machine epsilon."""


@remembered
def next_break(form: NormalForm, breaks: Breaks, scalar: str = "double") -> Fn:
    """The first break after t, and the last one before it; ±`FAR` where there is none. `form`: that of the branched system."""
    outputs, p = {}, form.inputs["p"]
    for name, direction in (("next", 1), ("last", -1)):
        expression, letters = breaks.following(direction, EPSILON[scalar])
        for letter, meaning in letters.items():
            form.lower.bind({letter: form.lower(meaning)})
        outputs[name] = (form.lower(expression), ())
    return make_fn("next_break", {"t": (form.inputs["t"], ()), "p": (p, (p.numel(),))}, outputs)


__all__ = ["next_break"]
