"""A function identified by the data that determine it: the machine code is found without building the graph.

    key ── note ──► signature, number of operations         key + use ── note ──► digest of the C text ──► machine code

The key is a digest of everything that determines the graph, numbers and generating code (`generator`). Both notes are stored
beside the compiled objects (`cache`). If a note or the object is missing or damaged, the graph is built as usual.
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
    """A `Signature` whose `graph` is built on demand. Equal keys guarantee equal graphs."""

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
    """The recipe of the function built by `make`, from the cache; if there is none, it is built now and cached."""
    signature = _parsed(disk.recall(key))
    if signature is None:
        fn = make()
        signature = (fn.name, fn.inputs, fn.outputs, fn.operations)
        disk.remember(
            key, json.dumps([fn.name, *([[p.name, p.shape] for p in ports] for ports in signature[1:3]), fn.operations])
        )
        make = lambda: fn
    return Recipe(key, *signature, make)


def text_of(fn: Fn | Recipe, use: str, write: Callable[[Fn], str]) -> str | SourceDraft:
    """`write(graph)`, at once or on demand; `use` identifies the text among those for this graph."""
    if isinstance(fn, Fn):
        return write(fn)
    return SourceDraft(disk.digest(fn.key, use), lambda: write(fn.graph))


@cache
def generator(*packages: str) -> str:
    """Digest of the files of these packages and the versions of their dependencies: other files may generate other code."""
    texts = [sys.version, VERSION, np.__version__]
    for package in packages:
        spec = importlib.util.find_spec(package)
        assert spec is not None and spec.submodule_search_locations
        for top in spec.submodule_search_locations:
            for folder, _, names in sorted(os.walk(top)):
                files = [Path(folder, name) for name in sorted(names) if not folder.endswith("__pycache__")]
                for path in files:
                    texts += [str(path.relative_to(top)), hashlib.sha256(path.read_bytes()).hexdigest()]
    return disk.digest(*texts)


def _parsed(note: str | None) -> tuple[str, Ports, Ports, int] | None:
    try:
        name, inputs, outputs, operations = json.loads(note or "")
        ports = [tuple(Port(key, tuple(map(int, shape))) for key, shape in entries) for entries in (inputs, outputs)]
        return str(name), ports[0], ports[1], int(operations)
    except (ValueError, TypeError, ModelError):
        return None
