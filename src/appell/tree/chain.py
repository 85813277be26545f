"""`Chain`: bodies hinged one after the other, in Golubev's terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.reading import items_of, name_in, one_of, shown
from appell.tree.description import Joint
from appell.tree.inertia import Inertia, Placement, entries, objects
from appell.tree.parameters import symbols_in, with_numbers
from appell.tree.tree import GRAVITY, Tree


@dataclass(frozen=True, eq=False)
class ChainLink:
    """Body ν of a chain, on axes that agree with its predecessor's at φ_ν = 0.

    All may be numbers or expressions in `ap.parameters`.

    Parameters
    ----------
    mass: m_ν, kg.
    c: centre of mass from the inbound hinge (the point A for a floating base), (3,), m.
    J: inertia matrix about that point, (3, 3) or three principal moments, kg m².
    r: from the inbound hinge to the outbound one, (3,), m. Ignored for the last body.
    e: axis of the inbound hinge, fixed in the predecessor, (3,), made unit. Ignored for a floating base.
    """

    mass: Any
    c: Sequence[Any]
    J: Sequence[Sequence[Any]] | Sequence[Any]
    r: Sequence[Any] = (0.0, 0.0, 0.0)
    e: Sequence[Any] = (0.0, 0.0, 1.0)
    armature: Any = 0.0
    damping: Any = 0.0

    def inertia(self, name: str) -> Inertia:
        """The inertia about the inbound hinge."""
        J = objects(self.J, f"J of {name}")
        return Inertia.at_hinge(self.mass, self.c, np.diag(J) if J.shape == (3,) else J, name)


def as_link(given: ChainLink | Mapping[str, Any], where: str) -> ChainLink:
    """A link, or the mapping of its fields: {"mass": m, "c": c, "J": J, "r": r, "e": e}."""
    if isinstance(given, ChainLink):
        return given
    names = [field.name for field in fields(ChainLink)]
    if not isinstance(given, Mapping):
        expected = f"an ap.tree.ChainLink, or a mapping with {', '.join(names)}"
        raise ModelError(f"{where} of a chain is {expected}; not {shown(given)}")
    unknown = [name_in(name) for name in given if not isinstance(name, str) or name not in names]
    missing = [name for name in names[:3] if name not in given]
    if unknown or missing:
        problem = f"has no {', '.join(missing)}" if missing else f"has an unknown {', '.join(unknown)}"
        raise ModelError(f"{where} of a chain {problem}; its fields are {', '.join(names)}")
    return ChainLink(**given)


class Chain(Tree):
    """A chain of `links` (or mappings of their fields).

    base="fixed": body 1 is hinged to the ground; "floating": body 1 is free (its `e` unused).

    A chain with symbols prints its `equations()` in them; `with_parameters({m: 2.0, …})` gives the numeric chain to run.
    """

    def __init__(
        self,
        links: Sequence[ChainLink | Mapping[str, Any]],
        *,
        base: str = "fixed",
        gravity: Sequence[Any] = GRAVITY,
        name: str = "chain",
        backend: str = "auto",
    ):
        one_of(base, ("fixed", "floating"), "base=")
        if isinstance(links, ChainLink | Mapping | str) or not isinstance(links, Iterable):
            raise ModelError(f"a chain is made of a list of ap.tree.ChainLink, Chain([link, …]), not of {shown(links)}")
        links = tuple(items_of(links, "the links of a chain"))
        if not links:
            raise ModelError("a chain needs at least one link")
        self.links, self.base = tuple(as_link(link, f"link {n}") for n, link in enumerate(links, start=1)), base
        joints, hinge = [], np.zeros(3)
        for n, link in enumerate(self.links, start=1):
            where = f"link {n}"
            kind = "floating" if base == "floating" and n == 1 else "revolute"
            parent, placement = (None if n == 1 else f"joint_{n - 1}"), Placement(np.eye(3), hinge)
            body = link.inertia(where)
            joints.append(Joint(f"joint_{n}", kind, parent, placement, link.e, body, link.armature, link.damping, f"link_{n}"))
            hinge = entries(link.r, f"r of {where}")
        super().__init__(joints, gravity=gravity, name=name, backend=backend)

    @classmethod
    def _read(cls, *arguments: Any, **_: Any) -> Tree:
        raise ModelError(f"a robot file is read by ap.Tree.{arguments[2]}; a Chain is given by its links")

    def __reduce__(self):
        return _rebuilt, (self.links, self.base, self.gravity, self.name, self._backend)

    @cached_property
    def parameters(self) -> tuple[Any, ...]:
        """The symbols in the links and in gravity, by name."""
        values = [getattr(link, field.name) for link in self.links for field in fields(link)]
        return tuple(sorted(symbols_in([*values, self.gravity]), key=str))

    def with_parameters(self, values: Mapping[Any, Any]) -> Chain:
        """The same chain with numbers for all its `parameters`, by symbol or name."""
        table = self._bound(values)
        numeric = lambda link: ChainLink(
            **{field.name: with_numbers(getattr(link, field.name), table) for field in fields(link)}
        )
        gravity = with_numbers(self.gravity, table)
        return Chain(
            [numeric(link) for link in self.links], base=self.base, gravity=gravity, name=self.name, backend=self._backend
        )


def _rebuilt(links: Any, base: str, gravity: Any, name: str, backend: str) -> Chain:
    return Chain(links, base=base, gravity=gravity, name=name, backend=backend)
