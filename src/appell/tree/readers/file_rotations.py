"""Rotations as robot files write them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from appell.errors import ModelError
from appell.tree.inertia import without_dust

TRUNCATED_DIGITS = 1e-3
"""Largest difference of the length of a quaternion from 1 by digits left out; of other lengths something else may be meant."""


def rotation(wxyz: Any) -> np.ndarray:
    """R of MuJoCo's quaternion (w, x, y, z), normalized; quarter turns are exact."""
    w, x, y, z = np.asarray(wxyz, float) / np.linalg.norm(wxyz)
    R = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    return without_dust(R)


def stated_quaternion(origin: Element, xyzw: Sequence[float]) -> np.ndarray:
    """R of <origin quat_xyzw=…> of URDF 1.1."""
    if origin.get("rpy") is not None:
        raise ModelError("<origin> has rpy= and quat_xyzw=; keep one of them")
    x, y, z, w = map(float, xyzw)
    if not abs(math.hypot(x, y, z, w) - 1) <= TRUNCATED_DIGITS:
        raise ModelError(f"the quaternion of <origin> has the length {math.hypot(x, y, z, w):.4g}, not 1")
    return rotation((w, x, y, z))


def rpy_of(R: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch, yaw of R = R_z(yaw) R_y(pitch) R_x(roll)."""
    pitch = float(np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])))
    if np.hypot(R[0, 0], R[1, 0]) < 1e-12:  # gimbal lock: roll and yaw are about the same axis
        return float(np.arctan2(-R[1, 2], R[1, 1])), pitch, 0.0
    return float(np.arctan2(R[2, 1], R[2, 2])), pitch, float(np.arctan2(R[1, 0], R[0, 0]))


__all__ = ["rotation", "rpy_of", "stated_quaternion"]
