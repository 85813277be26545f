"""Rows, walls, frictions, resets, bodies and loads of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from appell.files.keys import TABLES
from appell.files.source import Keys, Source
from appell.model import (
    Between,
    Constraint,
    Damper,
    Force,
    Friction,
    Particle,
    Reset,
    RigidBody,
    Spring,
    Torque,
    Unilateral,
    euler,
)
from appell.reading import shown


def read_rows(source: Source) -> list[Any]:
    """The constraints of a file with its walls, stops, frictions and resets."""
    rows: list[Any] = []
    for section in ("constraints", "walls", "stops", "friction"):
        entries = source.data.get(section, [])
        tables = entries if isinstance(entries, list) else []  # anything but a list raises below, with its position
        names = {str(t["name"]) for t in tables if isinstance(t, dict) and "name" in t}
        source.labels |= {f"{name}:{side}" for name in names for side in ("lower", "upper")} if section == "stops" else names
    for keys, table in source.tables("constraints", TABLES["constraints"]):
        row = _needed(source, table, "row", keys)
        W = None
        if "reaction" in table:
            entries = source.keys(table["reaction"], None, (*keys, "reaction"))
            W = {source.state(k, keys): source.expression(v, (*keys, "reaction")) for k, v in entries.items()}
        rows.append(source.checked((*keys, "row"), lambda r=row, t=table, W=W: Constraint(r, t.get("name"), reaction=W)))
    for keys, table in source.tables("walls", TABLES["walls"]):
        gap, e = _needed(source, table, "gap", keys), source.expression(table.get("restitution", 1), (*keys, "restitution"))
        rows.append(source.checked((*keys, "gap"), lambda g=gap, e=e, t=table: Unilateral(g, t.get("name"), e)))
    for keys, table in source.tables("stops", TABLES["stops"]):
        bounds = [_needed(source, table, key, keys) for key in ("lower", "function", "upper")]
        e = source.expression(table.get("restitution", 1), (*keys, "restitution"))
        make = lambda p=bounds, e=e, t=table: Between(p[0], p[1], p[2], t.get("name"), e)
        rows.append(source.checked((*keys, "function"), make))
    for keys, table in source.tables("friction", TABLES["friction"]):
        rows.append(_friction(source, keys, table, {row.name: row for row in rows}))
    for keys, table in source.tables("resets", TABLES["resets"]):
        rows.append(_reset(source, keys, table))
    return _ordered(source, rows) if "order" in source.data else rows


def _ordered(source: Source, rows: list[Any]) -> list[Any]:
    """Rows, walls, stops, frictions and resets in the order given by the file."""
    names, by_name = source.listed("order"), {row.name: row for row in rows}
    if sorted(names) != sorted(row.name for row in rows) or len(by_name) < len(rows):
        raise source.wrong(("order",), "it names every constraint, wall, stop, friction and reset once")
    return [by_name[name] for name in names]


def _reset(source: Source, keys: Keys, table: Mapping[str, Any]) -> Reset:
    guard, mapping = _needed(source, table, "guard", keys), table.get("map")
    if not isinstance(mapping, Mapping) or not mapping:
        raise source.wrong((*keys, "map"), "map= says the values of states after the event, {\"x'\" = \"-x'\"}")
    values = {source.state(key, keys): source.expression(value, (*keys, "map")) for key, value in mapping.items()}
    return source.checked((*keys, "guard"), lambda: Reset(guard, values, table.get("name")))


def _needed(source: Source, table: Mapping[str, Any], key: str, keys: Keys) -> Any:
    if key not in table:
        raise source.wrong(keys, f"{key}= is missing")
    return source.expression(table[key], (*keys, key))


def _friction(source: Source, keys: Keys, table: Mapping[str, Any], rows: Mapping[str, Any]) -> Friction:
    if "slip" not in table:
        raise source.wrong(keys, "slip= is missing")
    slip = source.expressions(table["slip"], (*keys, "slip"))
    sizes = {
        key: source.expression(table[key], (*keys, key), multipliers=key == "limit")
        for key in ("coefficient", "static", "limit", "regularise")
        if key in table
    }
    options = {key: table[key] for key in ("law", "name") if key in table}
    if "normal" in table:
        named = lambda name: rows.get(name, name) if isinstance(name, str) else name
        normal = table["normal"]
        options["normal"] = list(map(named, normal)) if isinstance(normal, list) else named(normal)
    return source.checked((*keys, "slip"), lambda: Friction(slip, **sizes, **options))


ORIENTATIONS = (("quaternion",), ("angle",), ("rotation",), ("angles", "axes"))
"""Keys that give the orientation of a rigid body; the first ones of these exclude each other."""
LOADS = {
    "force": {"vector", "at"}, "torque": {"vector", "on", "frame"}, "spring": {"between", "stiffness", "length"},
    "damper": {"between", "damping"},
}  # fmt: skip
"""Kind of a load → its keys, besides `kind` and `name`."""


def read_bodies(source: Source) -> dict[str, Any]:
    """Name → body."""
    bodies: dict[str, Any] = {}
    for keys, table in source.tables("bodies", TABLES["bodies"]):
        mass, position = (
            _needed(source, table, "mass", keys),
            source.expressions(table.get("position", [0]), (*keys, "position")),
        )
        name = table.get("name", f"body {len(bodies) + 1}")
        if not isinstance(name, str):
            raise source.wrong((*keys, "name"), f"a text is wanted, not {shown(name)}")
        if name in bodies:
            raise source.wrong(keys, f"two bodies are called '{name}'")
        orientations = [known for known in ORIENTATIONS if known[0] in table]
        if "inertia" not in table and orientations:
            _needed(source, table, "inertia", keys)
        stated = ("inertia", *(orientations or ORIENTATIONS)[0]) if "inertia" in table else ("carried",)
        source.keys(table, {"name", "mass", "position", *stated}, keys)
        if "inertia" not in table:
            extra = {"carried": source.expressions(table["carried"], (*keys, "carried"))} if "carried" in table else {}
            bodies[name] = source.checked(keys, lambda m=mass, r=position, n=name, x=extra: Particle(m, r, name=n, **x))
            continue
        J = source.expressions(table["inertia"], (*keys, "inertia"))
        attitude = _attitude(source, keys, table)
        bodies[name] = source.checked(keys, lambda m=mass, J=J, r=position, a=attitude, n=name: RigidBody(m, J, r, a, name=n))
    return bodies


def _attitude(source: Source, keys: Keys, table: Mapping[str, Any]) -> Any:
    if "quaternion" in table:
        by_name = {q.name: q for q in source.quaternions}
        name = table["quaternion"]
        if not isinstance(name, str) or name not in by_name:
            raise source.wrong((*keys, "quaternion"), f"no quaternion is called {shown(name)}")
        return by_name[name]
    if "angle" in table:
        return source.expression(table["angle"], (*keys, "angle"))
    if "rotation" in table:
        return source.expressions(table["rotation"], (*keys, "rotation"))
    angles = source.expressions(table.get("angles", []), (*keys, "angles"))
    axes = table.get("axes")
    return source.checked(keys, lambda: euler(angles, None if axes is None else str(axes)))


def read_loads(source: Source, bodies: Mapping[str, Any]) -> list[Any]:
    """Forces, torques, springs and dampers; `bodies` by name, as points at which they act."""
    loads = []
    for keys, table in source.tables("loads", TABLES["loads"]):
        kind = table.get("kind")
        if not isinstance(kind, str) or kind not in LOADS:
            raise source.wrong((*keys, "kind"), f"kind is force, torque, spring or damper, not {shown(kind)}")
        source.keys(table, LOADS[kind] | {"kind", "name"}, keys)
        end = lambda value, keys=keys: (
            bodies[value] if isinstance(value, str) and value in bodies else source.expressions(value, keys)
        )
        if kind in ("force", "torque"):
            vector = source.expressions(table.get("vector", []), (*keys, "vector"))
            if kind == "force":
                if "at" not in table:
                    _needed(source, table, "at", keys)
                loads.append(source.checked(keys, lambda v=vector, t=table, end=end: Force(v, at=end(t["at"]))))
            else:
                on: Any = bodies.get(str(table.get("on")))
                loads.append(
                    source.checked(keys, lambda v=vector, on=on, t=table: Torque(v, on, frame=t.get("frame", "space")))
                )
            continue
        between = table.get("between", [])
        ends = tuple(end(x) for x in between) if isinstance(between, list) else source.expression(between, (*keys, "between"))
        if kind == "spring":
            k, s = _needed(source, table, "stiffness", keys), source.expression(table.get("length", 0), (*keys, "length"))
            loads.append(source.checked(keys, lambda e=ends, k=k, s=s, t=table: Spring(e, k, s, name=t.get("name", "spring"))))
        else:
            c = _needed(source, table, "damping", keys)
            loads.append(source.checked(keys, lambda e=ends, c=c, t=table: Damper(e, c, name=t.get("name", "damper"))))
    return loads


__all__ = ["read_bodies", "read_loads", "read_rows"]
