"""A function by the description that determines it: the machine code is found without making the graph.

    key ── note ──► signature, number of operations         key + use ── note ──► digest of the C text ──► machine code

The key is a digest of whatever the graph is made from, numbers and generator alike (`generator`). Both notes lie beside the
compiled objects (`cache`). If one is missing or damaged, or the object is, the graph is made and all goes its usual way.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from appell.backends.compiler import cache as disk
from appell.backends.compiler.build import SourceDraft
from appell.errors import ModelError
from appell.graph.algebra import VERSION
from appell.graph.fn import Fn, Port
from appell.graph.instructions import Instruction

Ports = tuple[Port, ...]


@dataclass(frozen=True, eq=False)
class Recipe:
    """A `Signature` whose `graph` is made when somebody asks for it. Equal keys promise equal graphs."""

    key: str
    name: str
    inputs: Ports
    outputs: Ports
    operations: int
    make: Callable[[], Fn]

    @cached_property
    def graph(self) -> Fn:
        return self.make()

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        return self.graph.instructions


def recipe_for(key: str, make: Callable[[], Fn]) -> Recipe:
    """What is remembered of the function that `make` makes; made now, and remembered, if there is nothing."""
    known = _parsed(disk.recall(key))
    if known is None:
        fn = make()
        known = (fn.name, fn.inputs, fn.outputs, fn.operations)
        disk.remember(key, json.dumps([fn.name, *([[p.name, p.shape] for p in ports] for ports in known[1:3]), fn.operations]))
        make = lambda: fn
    return Recipe(key, *known, make)


def text_of(fn: Fn | Recipe, use: str, write: Callable[[Fn], str]) -> str | SourceDraft:
    """`write(graph)`, at once or when it is needed; `use` says which of the texts over this graph it is."""
    if isinstance(fn, Fn):
        return write(fn)
    return SourceDraft(disk.digest(fn.key, use), lambda: write(fn.graph))


@cache
def generator(*packages: str) -> str:
    """Digest of the files of these packages and of the versions below them: other files may write other code."""
    parts = [sys.version, VERSION, np.__version__]
    for package in packages:
        spec = importlib.util.find_spec(package)
        assert spec is not None and spec.submodule_search_locations
        for top in spec.submodule_search_locations:
            for folder, _, names in sorted(os.walk(top)):
                files = [Path(folder, name) for name in sorted(names) if not folder.endswith("__pycache__")]
                for path in files:
                    parts += [str(path.relative_to(top)), hashlib.sha256(path.read_bytes()).hexdigest()]
    return disk.digest(*parts)


def _parsed(note: str | None) -> tuple[str, Ports, Ports, int] | None:
    try:
        name, inputs, outputs, operations = json.loads(note or "")
        ports = [tuple(Port(key, tuple(map(int, shape))) for key, shape in side) for side in (inputs, outputs)]
        return str(name), ports[0], ports[1], int(operations)
    except (ValueError, TypeError, ModelError):
        return None
