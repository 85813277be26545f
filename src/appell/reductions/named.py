"""Reductions by name, from the `keep=` of one run or of many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from appell.errors import ModelError
from appell.reading import name_in, shown
from appell.reductions.reduce import Reduction


def named_reductions(keep: Mapping[Any, Any], how: str) -> dict[str, Reduction]:
    """The reductions of `keep=`, checked; how: its other possible values, in words."""
    if not keep:
        raise ModelError(f"keep={{}} keeps nothing; {how}")
    for name, reduction in keep.items():
        if not isinstance(name, str):
            text_names = f"keep= names reductions by text, {{'top': ap.reduce.max({name_in(name)})}}"
            raise ModelError(f"{text_names}, not by {type(name).__name__}")
        if not isinstance(reduction, Reduction):
            raise ModelError(f"keep={{'{name}': …}} must be a reduction such as ap.reduce.max(x), not {shown(reduction)}")
        if reduction.kind == "section":
            raise ModelError(f"'{name}' is a section, which is kept alone: keep=ap.reduce.section(…)")
    return dict(keep)


__all__ = ["named_reductions"]
