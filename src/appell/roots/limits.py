"""The numbers that decide where a root is sought, for C and Python alike."""

import sys

EPSILON = sys.float_info.epsilon
LEAST = sys.float_info.min
NARROW = 1e-12
"""Part of a step below which an interval is a point: the step's own error is larger."""
LOOKS = 4000
"""Intervals of one guard in one step, after which a shorter step is asked for."""


def limit_defines() -> str:
    """The same as `#define`s, ROOT_NARROW and so on."""
    return "\n".join(f"#define ROOT_{name} {globals()[name]!r}" for name in ("EPSILON", "LEAST", "NARROW", "LOOKS"))


__all__ = ["EPSILON", "LEAST", "LOOKS", "NARROW", "limit_defines"]
