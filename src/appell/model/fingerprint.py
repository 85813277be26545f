"""Digests of everything that determines a result: equal for equal objects in every process, different if any field differs.

The contents of an object are found by traversal, not from a list: fields of dataclasses, arguments of SymPy expressions,
entries of containers, and for other objects what `pickle` would store. A new field cannot be forgotten. Each part is written
with its type and its length; numbers with all their digits (floats in hexadecimal).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any

import numpy as np
import sympy

from appell.errors import ModelError
from appell.model.measured import MeasuredLetter
from appell.model.system import System


def fingerprint(*things: Any) -> str:
    """SHA-256 of objects and everything in them."""
    text = hashlib.sha256()
    digest_of = _Parts()
    for obj in things:
        text.update(digest_of(obj))
    return text.hexdigest()


class _Parts:
    """The digest of an object with a cache, so that shared parts are traversed once."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, bytes]] = {}  # keeps the object alive, so that its id stays unique
        self.inside: set[int] = set()
        self.dummies: dict[Any, int] = {}

    def __call__(self, thing: Any) -> bytes:
        if id(thing) in self.known:
            return self.known[id(thing)][1]
        if id(thing) in self.inside:
            raise ModelError(f"a {type(thing).__name__} contains itself: it has no digest")
        self.inside.add(id(thing))
        digest = self._digest(thing)
        self.inside.remove(id(thing))
        self.known[id(thing)] = thing, digest
        return digest

    def _digest(self, obj: Any) -> bytes:
        if obj is None or isinstance(obj, bool | int | str | bytes | float | complex | np.generic | Enum | PurePath | type):
            return _leaf(obj)
        if isinstance(obj, np.ndarray):
            return self._array(obj)
        if isinstance(obj, sympy.Basic):
            return self._expression(obj)
        if isinstance(obj, sympy.MatrixBase):
            return self._joined("matrix", obj.shape, obj.flat())
        if isinstance(obj, Mapping):
            pairs = sorted((self(key), self(value)) for key, value in obj.items())
            return _hash("mapping", *(part for pair in pairs for part in pair))
        if isinstance(obj, Set):
            return _hash("set", *sorted(map(self, obj)))
        if isinstance(obj, tuple | list):
            return self._joined("sequence", *obj)
        if is_dataclass(obj):
            entries = [part for field in fields(obj) for part in (field.name, getattr(obj, field.name))]
            return self._joined("record", _name(obj), *entries)
        return self._object(obj)

    def _joined(self, *parts: Any) -> bytes:
        return _hash(*map(self, parts))

    def _array(self, array: np.ndarray) -> bytes:
        if array.dtype.hasobject:
            return self._joined("array", array.shape, array.ravel().tolist())
        plain = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
        return _hash("array", plain.dtype.str, repr(array.shape), plain.tobytes())

    def _expression(self, expr: sympy.Basic) -> bytes:
        if isinstance(expr, sympy.Dummy):  # its index differs between processes
            return self._joined("dummy", expr.name, self.dummies.setdefault(expr, len(self.dummies)))
        if isinstance(expr, MeasuredLetter):  # its name contains the digest of its record
            return self._joined("measured", expr.name, expr.column, expr.record.digest)
        if expr.args:
            return self._joined("expression", _name(expr), *expr.args)
        return self._joined("atom", _name(expr), *expr._hashable_content())

    def _object(self, obj: Any) -> bytes:
        """The digest of an object by its `__reduce__`: (function, arguments)."""
        reduce = type(obj).__reduce__
        reduced = None if reduce is object.__reduce__ or callable(obj) else obj.__reduce__()
        if not isinstance(reduced, tuple) or len(reduced) < 2:
            raise ModelError(
                f"a {type(obj).__name__} in the model has no digest, so that a store could not tell it from another one;"
                " give numbers, expressions or tables"
            )
        if type(obj) is System:  # equivalent descriptions have one digest
            reduced = reduced[0], ({**reduced[1][0], **obj.said_one_way()},)
        return self._joined("object", _name(obj), *reduced[1])


def _leaf(obj: Any) -> bytes:
    if isinstance(obj, Enum):
        return _hash("enum", _name(obj), obj.name)
    if isinstance(obj, np.generic):
        return _hash("numpy", obj.dtype.str, obj.tobytes())
    if isinstance(obj, float):
        return _hash("float", obj.hex())
    if isinstance(obj, int) and obj.bit_length() > 10_000:
        return _hash(type(obj).__name__, hex(obj))  # Python does not print integers of over 4300 digits
    return _hash(type(obj).__name__, obj if isinstance(obj, bytes) else repr(obj))


def _name(obj: Any) -> str:
    return f"{type(obj).__module__}.{type(obj).__qualname__}"


def _hash(*parts: str | bytes) -> bytes:
    text = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        text.update(f"{len(data)}:".encode() + data)
    return text.digest()


__all__ = ["fingerprint"]
