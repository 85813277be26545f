"""Coordinates, velocities and kinematics from the user: read, completed and checked.

q̇ = N(t, q) v + n0(t, q)        v: speeds first, then the own velocities of coordinates without an entry in kinematics=
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sympy
from sympy import Expr, Symbol

from appell.errors import ModelError
from appell.jets import Coordinate, Jet, Parameter, Prescribed, QuaternionComponent, expression, t
from appell.model.attitudes import Quaternion
from appell.reading import items_of, name_in, table_of


def read_coordinates(given: Iterable[Any]) -> tuple[tuple[Coordinate, ...], tuple[Quaternion, ...], dict]:
    """Coordinates in order, the quaternions among them, and coordinate → its velocities."""
    if isinstance(given, Jet | Quaternion):
        given = [given]
    coordinates: list[Coordinate] = []
    quaternions: dict[str, Quaternion] = {}
    for item in items_of(given, "coordinates="):
        for q in item.coordinates if isinstance(item, Quaternion) else [item]:
            if not isinstance(q, Coordinate) or q.order:
                kind = "a velocity; list the coordinate" if isinstance(q, Coordinate) else "not one"
                raise ModelError(f"coordinates= takes symbols made by ap.coordinates; {name_in(q)} is {kind}")
            if q in coordinates:
                raise ModelError(f"the coordinate {q} is listed twice")
            coordinates.append(q)
            if isinstance(q, QuaternionComponent):
                quaternions.setdefault(q.quaternion, item if isinstance(item, Quaternion) else Quaternion(q.quaternion))
    if not coordinates:
        raise ModelError("a system needs at least one coordinate")
    velocities_of: dict[Coordinate, tuple[Jet, ...]] = {q: (q.d,) for q in coordinates}
    for ball in quaternions.values():
        missing = [q for q in ball.coordinates if q not in coordinates]
        if missing:
            raise ModelError(f"quaternion '{ball.name}' is incomplete: {missing[0]} is missing from coordinates=")
        velocities_of.update(zip(ball.coordinates, [ball.rates, (), (), ()], strict=True))
    return tuple(coordinates), tuple(quaternions.values()), velocities_of


def read_velocities(
    coordinates: Sequence[Coordinate],
    quaternions: Sequence[Quaternion],
    own: Mapping[Coordinate, tuple[Jet, ...]],
    speeds: Iterable[Any] | None,
    kinematics: Mapping[Symbol, Any] | None,
) -> tuple[tuple[Jet, ...], dict[Symbol, Expr]]:
    """Velocities in order and the rate of each coordinate, affine in them."""
    rates: dict[Symbol, Expr] = {q: rate for ball in quaternions for q, rate in ball.kinematics.items()}
    for key, rate in table_of(kinematics, "kinematics=").items():
        q = Coordinate(key.letter) if isinstance(key, Coordinate) and key.order == 1 else key
        if not isinstance(q, Symbol) or q not in coordinates:
            raise ModelError(f"kinematics= names {name_in(key)}, which is not a coordinate of the system")
        if not (isinstance(q, QuaternionComponent) and q in rates):
            rates[q] = expression(rate, f"the rate of {q}")
    given = () if speeds is None else tuple([speeds] if isinstance(speeds, Jet) else items_of(speeds, "speeds="))
    for u in given:
        if not isinstance(u, Jet) or u.level != 1:
            raise ModelError(f"speeds= takes symbols made by ap.speeds (or velocities such as x.d), not {name_in(u)}")
    if len(set(given)) < len(given):
        raise ModelError("a speed is listed twice")
    quaternion_rates = {w for ball in quaternions for w in ball.rates}
    own_velocities = [
        v
        for q in coordinates
        for v in own[q]
        if v not in given and (v in quaternion_rates or q not in rates)
    ]  # fmt: skip
    velocities = (*given, *own_velocities)
    for q in coordinates:
        rates.setdefault(q, q.d)
        _check_rate(q, rates[q], coordinates, velocities)
    unused = [u for u in velocities if not any(u in rates[q].free_symbols for q in coordinates)]
    if unused:
        raise ModelError(f"the speed {unused[0]} moves no coordinate: it appears in no entry of kinematics=")
    return velocities, {q: rates[q] for q in coordinates}


def refuse_other_axes(bodies: Sequence[Any], quaternions: Sequence[Quaternion]) -> None:
    """Raises unless a body's quaternion has the same axes and names of rates as the one among the coordinates."""
    stated = {ball.name: ball for ball in quaternions}
    for body in bodies:
        frame = getattr(body, "orientation", None)
        if isinstance(frame, Quaternion) and frame.name in stated and frame != stated[frame.name]:
            raise ModelError(
                f"the rates of quaternion '{frame.name}' have other axes or names in coordinates= than in body '{body.name}';"
                " give the same ap.quaternion to both"
            )


def _check_rate(q: Symbol, rate: Expr, coordinates: Sequence[Symbol], velocities: Sequence[Symbol]) -> None:
    if rate in velocities:
        return
    for s in sorted(rate.free_symbols, key=str):
        if s != t and not isinstance(s, Parameter | Prescribed) and s not in coordinates and s not in velocities:
            raise ModelError(f"the rate of {q} contains {s}, which is not a coordinate, a speed or a parameter")
    for u in velocities:
        if sympy.diff(rate, u).free_symbols & set(velocities):
            raise ModelError(f"the rate of {q} must be affine in the speeds, q̇ = N u + n0; it is {rate}")
