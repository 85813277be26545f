"""Laws of impact with friction: how restitution follows from compression.

A law is a record in a table. A new one is one call, and `ap.Friction(…, law="mine")` then accepts it:

    mine = ap.nonsmooth.ImpactLaw("mine", restore=lambda process, e: process.restore_impulse(e**2 * process.P[0]))
    ap.nonsmooth.register(mine)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from appell.errors import ConstraintError
from appell.reading import shown


@dataclass(frozen=True)
class ImpactLaw:
    """A law of restitution with Coulomb's law for the impulses.

    Parameters
    ----------
    name: for `ap.Friction(law=…)`.
    restore: (process, e), for an impact on one face with one friction of one component. The impact process is at the end of
    compression: `process.P` is (P_N, P_T) so far, N s, `process.work` the work of P_N, J (negative). It is continued by
    `process.restore_impulse(P_r)`, N s, or `process.restore_work(W_r)`, J. None: `several` handles such impacts too.
    several: (impact, hits, resting) → the impact on the faces `hits` with contact on others, for all other impacts. None if the
    law does not define them.
    silence: why it does not, and what to use instead; this ends the run.
    compiled: whether it is Newton's law, whose unambiguous impacts are computed in compiled code.
    """

    name: str
    restore: Callable[[Any, float], None] | None = None
    several: Callable[[Any, Sequence[int], Sequence[int]], Any] | None = None
    silence: str = ""
    compiled: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ConstraintError(f"the name of an impact law is a text, not {shown(self.name)}")
        if self.restore is None and self.several is None:
            raise ConstraintError(f"the impact law {shown(self.name)} covers no impact: give restore= or several=")


NEWTON_LAW = "newton"
"""The default law of a friction."""

IMPACT_LAWS: dict[str, ImpactLaw] = {}
LAW_NAMES: list[str] = []
"""The names of the table, in the order in which laws were registered."""


def register(law: ImpactLaw) -> None:
    """Registers a law of impact for `ap.Friction(law=…)`. A name that is taken raises."""
    if not isinstance(law, ImpactLaw):
        raise ConstraintError(f"an impact law is an ap.nonsmooth.ImpactLaw, not {type(law).__name__}")
    if law.name in IMPACT_LAWS:
        raise ConstraintError(f"there is an impact law {shown(law.name)} already; choose another name")
    IMPACT_LAWS[law.name] = law
    LAW_NAMES.append(law.name)


register(ImpactLaw(NEWTON_LAW, several=lambda impact, hits, resting: impact.by_newton(hits, resting), compiled=True))
register(
    ImpactLaw(
        "poisson",
        restore=lambda process, e: process.restore_impulse(e * process.P[0]),
        several=lambda impact, hits, resting: impact.by_phases(hits, resting),
    )
)
register(
    ImpactLaw(
        "stronge",
        restore=lambda process, e: process.restore_work(e**2 * -process.work),
        silence="law='stronge' is a law of one contact with one friction of one part: in a blow of several the result depends"
        " on their stiffnesses, which restitution does not tell (Liu, Zhao and Brogliato 2008); use law='poisson' or 'newton'",
    )
)

__all__ = ["IMPACT_LAWS", "LAW_NAMES", "NEWTON_LAW", "ImpactLaw", "register"]
