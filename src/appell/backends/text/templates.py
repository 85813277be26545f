"""Templates of C and CUDA sources: the files `*.c.in` and `*.cu.in` of the package."""

from __future__ import annotations

import re
from importlib.resources import files

PART = re.compile(r'^#include "(.+\.in)"\n', re.M)


def template(path: str) -> str:
    """The text of a template such as "loop/loop.c.in".

    A line `#include "part.c.in"` is replaced by that file of the same folder. The caller fills in the names between two @.
    """
    text = files("appell").joinpath(path).read_text(encoding="utf-8")
    folder = path.rpartition("/")[0]
    return PART.sub(lambda match: template(f"{folder}/{match[1]}"), text)


__all__ = ["template"]
