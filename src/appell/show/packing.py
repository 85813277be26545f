"""Numbers for a page: float32, differences along the first axis, bytes grouped by significance, deflated, base64.

The differences are those of the bit patterns, modulo 2³²: the only rounding is that to float32. `page/data.js` reads them back.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np


class Packer:
    """Collects arrays; `add` returns the reference to one for the description."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.count = 0

    def add(self, array: Any) -> dict[str, Any]:
        """{"at": offset, "shape": […]} of an array of floats (or of integers below 2²⁴)."""
        values = np.ascontiguousarray(array, dtype="<f4")
        bits = values.reshape(len(values), -1).view("<u4") if values.size else np.zeros((0, 1), "<u4")
        bits = np.concatenate([bits[:1], np.diff(bits, axis=0)]) if len(bits) else bits
        reference = {"at": self.count, "shape": list(values.shape)}
        self.arrays.append(bits.ravel())
        self.count += values.size
        return reference

    def numbers(self) -> str:
        """All arrays as text."""
        words = np.concatenate(self.arrays) if self.arrays else np.zeros(0, "<u4")
        planes = words.astype("<u4").view(np.uint8).reshape(-1, 4).T
        return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode("ascii")


def json_text(value: Any) -> str:
    """JSON that can stand inside a <script>: no character in it ends the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


__all__ = ["Packer", "json_text"]
