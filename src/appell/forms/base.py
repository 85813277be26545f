"""The interface of a classical form: when it applies, how it is derived, how it gives the reactions.

Every form describes the same motion. With a = v̇ and one row r(t, q, v, a) = 0 for each constraint (f̈, ḟ or f by its order),

    E(t, q, v, a) = Q + W Λ            r(t, q, v, a) = 0            W = ∂r/∂a, or as given by `reaction=`

The force on the system is +Λ ∂f/∂q, +Λ ∂f/∂q̇ or +Λ ∂f/∂q̈. A form is one file with one `Form` and one line in the table
of `appell.forms`; it uses the model and the jets, never the normal form, against which it is verified.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from appell.errors import FormNotApplicable, ModelError
from appell.forms.engine import multiplier_forces, stationary
from appell.forms.engine.evaluation import Arithmetic, Tape
from appell.forms.engine.numeric_arguments import Values
from appell.forms.engine.system_terms import nonlinear_rows
from appell.forms.engine.worked_steps import Stage
from appell.forms.equations import Equations
from appell.model import System
from appell.model.described import system_of
from appell.model.friction import refuse_friction


class Form(ABC):
    """A way to write the equations of motion. Subclasses are stateless; the table of forms has one instance of each."""

    name: str
    """Its name, as in `ap.forms.<name>`."""
    source: str
    """The equation of the source that it writes, for example "Deneva (16)"."""
    variants: tuple[tuple[str, ...], ...] = ((),)
    """The sets of options that `agree` uses: ((), ("pseudo",), ("independent",)) for Appell's."""

    @abstractmethod
    def reason_against(self, system: System, **options: Any) -> str | None:
        """None if the form applies; else a sentence that says why not and names a form that does."""

    @abstractmethod
    def derive(self, system: System, **options: Any) -> Equations:
        """The equations, by the form's own route."""

    def default(self, system: System, option: str) -> Any:
        """A suitable value of an option of `variants` (pseudo-velocities, independent velocities), for `agree`."""
        return None

    def worked(self, equations: Equations) -> Iterable[Stage]:
        """The steps from the given data to the equations, as in the form's source."""
        return ()

    def recover(self, equations: Equations, tape: Tape, values: Values, numbers: Arithmetic) -> list[Any]:
        """Λ in the order of `system.constraints` from the values of the unknowns; `tape` computes `equations.multipliers`."""
        return tape(values, numbers)

    def solve_at(self, equations: Equations, values: Values, numbers: Arithmetic) -> Values:
        """The unknowns at a state. Linear equations are solved; with rows nonlinear in a, the minimum of Gauss's constraint is
        taken."""
        if equations.nonlinear_law:
            return multiplier_forces.root(equations, values, numbers)
        if not nonlinear_rows(equations.system):
            return equations._solve_linear(values, numbers)
        return stationary.least(equations, values, numbers)

    def derived(self, system: System, **options: Any) -> Equations:
        """The result of `derive`, closed where forces contain multipliers."""
        return multiplier_forces.closed(self.derive(system, **options))

    def accepts(self, *args: Any, **options: Any) -> Any:
        raise ModelError("accepts() is now reason_against(): None if the form applies, else the reason why it does not")

    def __call__(self, system: System, **options: Any) -> Equations:
        system = system_of(system, f"ap.forms.{self.name}")
        refuse_friction(system, f"ap.forms.{self.name}")
        system = system.symbolic()
        reason = self.reason_against(system, **options)
        if reason is not None:
            raise FormNotApplicable(f"ap.forms.{self.name} does not apply to '{system.name}': {reason}")
        return _with_faces(self.derived(system, **options), self.name)


def _with_faces(equations: Equations, form: str) -> Equations:
    """Adds to the provenance that the equations hold between impacts and resets."""
    faces, resets = equations.system.unilateral, equations.system.resets
    suffix = ""
    if faces and form != "routh":
        suffix += f"; free of contact with {', '.join(repr(face.name) for face in faces)} (see ap.forms.routh)"
    if resets:
        suffix += f"; between resets ({', '.join(repr(reset.name) for reset in resets)})"
    if not suffix:
        return equations
    copy = object.__new__(Equations)
    copy.__dict__.update(equations.__dict__)  # `replace` would compute lazy fields
    copy.__dict__["provenance"] = f"{equations.provenance}{suffix}"
    return copy


__all__ = ["Equations", "Form", "Values"]
