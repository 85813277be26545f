"""Λ of a constraint as a symbol for use in forces: F(t, q, v, Λ).

    floor = Constraint(y);   System(…, forces={x: -mu*floor.multiplier})
"""

from __future__ import annotations

from typing import Any

from sympy import Symbol
from sympy.printing.pretty.stringpict import prettyForm

from appell.errors import ModelError
from appell.typeset import latex_text


class Multiplier(Symbol):
    """Λ of a constraint; prints as Λ with the constraint's name, or its index if the name is a formula."""

    __slots__ = ("label",)
    label: str

    def __new__(cls, label: str):
        self = Symbol.__xnew__(cls, f"Lambda_{label}", real=True)
        self.label = label
        return self

    def __reduce__(self):
        return type(self), (self.label,)

    def __getnewargs_ex__(self):
        return (self.label,), {}

    def __setstate__(self, state):  # everything is in the argument of __new__
        pass

    def _latex(self, printer) -> str:
        return rf"\Lambda_{{\mathrm{{{latex_text(self.label)}}}}}"

    def _pretty(self, printer) -> Any:
        return prettyForm(f"Λ_{self.label}" if printer._use_unicode else self.name)


def of_states(e: Any) -> Any:
    """The expression, if it has a value at a state; raises `ModelError` if it contains a reaction."""
    if any(isinstance(s, Multiplier) for s in e.free_symbols):
        raise ModelError(
            f"{e} contains a multiplier, and a state alone does not tell reactions: motion.reaction gives them along a motion,"
            " motion.release the times at which one changes its sign"
        )
    return e
