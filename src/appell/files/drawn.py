"""Scenes of model files: items of `ap.scene` by name, with places as expressions or names of bodies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from appell import scene
from appell.files.source import Keys, Source
from appell.reading import shown
from appell.scene.items import Item
from appell.spelling import did_you_mean

KINDS: Mapping[str, type[Item]] = {
    name.lower(): kind for name in dir(scene) if isinstance(kind := getattr(scene, name), type) and issubclass(kind, Item)
}
"""Name in a file → the item."""
TEXT_ARGUMENTS = ("colour", "name", "text", "axis", "fill", "constraint")
"""Arguments of items that are plain text."""


def read_scene(source: Source, system: Any, bodies: Mapping[str, Any]) -> Any:
    """The scene of a file; None where it has none."""
    entries = source.data.get("scene")
    view = source.data.get("view")
    if entries is None and view is None:
        return None
    if entries is None:
        return source.checked(("view",), lambda: scene.Scene(system, view=view))
    items = [_item(source, keys, table, bodies) for keys, table in source.tables("scene", None)]
    return source.checked(("scene", 0), lambda: scene.Scene(system, items, view=view))


def _item(source: Source, keys: Keys, table: Mapping[str, Any], bodies: Mapping[str, Any]) -> Item:
    kind = table.get("kind")
    if not isinstance(kind, str) or kind.lower() not in KINDS:
        hint = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
        raise source.wrong((*keys, "kind"), f"kind is one of {', '.join(sorted(KINDS))}; not {shown(kind)}{hint}")
    item_class = KINDS[kind.lower()]
    arguments = {f.name for f in fields(item_class)}
    source.keys({key: value for key, value in table.items() if key != "kind"}, arguments, keys)
    values = {key: _argument(source, (*keys, key), key, value, bodies) for key, value in table.items() if key != "kind"}
    places = values.pop("places", [])
    return source.checked(keys, lambda: item_class(*places, **values))


def _argument(source: Source, keys: Keys, name: str, value: Any, bodies: Mapping[str, Any]) -> Any:
    if name in TEXT_ARGUMENTS or isinstance(value, bool):
        return value
    if isinstance(value, str) and value in bodies:
        return bodies[value]
    if name == "places":
        if not isinstance(value, list):
            raise source.wrong(keys, f"a list of places is wanted, not {shown(value)}")
        return [_argument(source, keys, "place", place, bodies) for place in value]
    return source.expressions(value, keys)


__all__ = ["read_scene"]
