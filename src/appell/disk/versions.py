"""Versions that may affect results, for stored computations that are resumed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Any

from appell.version import __version__

NUMERICAL = ("numpy", "casadi", "sympy", "scipy")
"""Packages whose versions may affect results."""


def numerical_versions() -> dict[str, str]:
    """Name → version, of this library and of those used for computation."""
    return {"appell": __version__, **{name: metadata.version(name) for name in NUMERICAL}}


def different(known: Any, wanted: Mapping[str, str]) -> str:
    """The differences of two sets of versions, as text; empty if there are none."""
    stored = known if isinstance(known, Mapping) else {}
    differences = [f"{name} {stored.get(name)}, here {number}" for name, number in wanted.items() if stored.get(name) != number]
    return "; ".join(differences)


__all__ = ["different", "numerical_versions"]
