"""`Chain`: bodies hinged one after the other, in Golubev's terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from appell.errors import ModelError
from appell.tree.description import Joint
from appell.tree.inertia import Inertia, Placement, real_vector
from appell.tree.tree import GRAVITY, Tree


@dataclass(frozen=True, eq=False)
class ChainLink:
    """Body ν of a chain, on axes that agree with its predecessor's at φ_ν = 0.

    Parameters
    ----------
    mass: m_ν, kg.
    c: centre of mass from the inbound hinge (the point A for a floating base), (3,), m.
    J: inertia matrix about that point, (3, 3) or three principal moments, kg m².
    r: from the inbound hinge to the outbound one, (3,), m. Of no meaning for the last body.
    e: axis of the inbound hinge, fixed in the predecessor, (3,), made unit. Of no meaning for a floating base.
    """

    mass: float
    c: Sequence[float]
    J: Sequence[Sequence[float]] | Sequence[float]
    r: Sequence[float] = (0.0, 0.0, 0.0)
    e: Sequence[float] = (0.0, 0.0, 1.0)
    armature: float = 0.0
    damping: float = 0.0

    def inertia(self, name: str) -> Inertia:
        c, J = real_vector(self.c, f"c of {name}"), np.array(self.J, float)
        J = np.diag(J) if J.shape == (3,) else J
        about_centre = J - self.mass * (c @ c * np.eye(3) - np.outer(c, c))
        if (np.diag(about_centre) < -1e-9 * (1 + abs(J).max())).any():
            raise ModelError(f"J of {name} is smaller than its mass at c would have about the hinge; J is taken there")
        return Inertia(float(self.mass), self.mass * c, np.trace(J) / 2 * np.eye(3) - J)


class Chain(Tree):
    """A chain of `links`; base="fixed": body 1 is hinged to the ground, "floating": body 1 is free (its `e` unused)."""

    def __init__(
        self,
        links: Sequence[ChainLink],
        *,
        base: str = "fixed",
        gravity: Sequence[float] = GRAVITY,
        name: str = "chain",
        backend: str = "auto",
    ):
        if base not in ("fixed", "floating"):
            raise ModelError(f"base={base!r}; choose 'fixed' or 'floating'")
        if not links:
            raise ModelError("a chain needs at least one link")
        self.links, self.base = tuple(links), base
        joints, at = [], np.zeros(3)
        for n, link in enumerate(self.links, start=1):
            where = f"link {n}"
            if not (np.isfinite(link.mass) and link.mass >= 0):
                raise ModelError(f"the mass of {where} is {link.mass}; it must be a finite number >= 0 (kg)")
            kind = "floating" if base == "floating" and n == 1 else "revolute"
            parent, place = (None if n == 1 else f"joint_{n - 1}"), Placement(np.eye(3), at)
            body = link.inertia(where)
            joints.append(
                Joint(f"joint_{n}", kind, parent, place, link.e, body, link.armature, link.damping, f"link_{n}")
            )
            at = real_vector(link.r, f"r of {where}")
        super().__init__(joints, gravity=gravity, name=name, backend=backend)
