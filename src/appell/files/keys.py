"""The keys of a model file: one table, used by the reader to reject unknown keys and to generate the JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from appell.model.impact_laws import LAW_NAMES

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NAMES: Schema = {"oneOf": [{"type": "array", "items": TEXT}, TEXT]}
EXPRESSION: Schema = {"type": ["string", "number"], "description": "in ordinary notation: m*x'^2/2"}
NUMBER: Schema = {"type": ["string", "number"], "description": "a number, or a text with a unit: '9.81 m/s^2'"}
FLAG: Schema = {"type": "boolean"}
VECTOR: Schema = {"type": "array", "items": EXPRESSION}
MATRIX: Schema = {"type": "array", "items": VECTOR}
DRAWN_PLACE: Schema = {"oneOf": [VECTOR, TEXT], "description": "expressions of x, y (and z), or the name of a body"}
EXPRESSIONS: Schema = {"type": "object", "additionalProperties": EXPRESSION}
NUMBERS: Schema = {"type": "object", "additionalProperties": NUMBER}


def table(**entries: Schema) -> Schema:
    """A table with only these keys."""
    return {"type": "object", "additionalProperties": False, "properties": entries}


TABLES: Mapping[str, Mapping[str, Schema]] = {
    "constraints": {"name": TEXT, "row": EXPRESSION, "reaction": EXPRESSIONS},
    "walls": {"name": TEXT, "gap": EXPRESSION, "restitution": EXPRESSION},
    "stops": {"name": TEXT, "lower": EXPRESSION, "function": EXPRESSION, "upper": EXPRESSION, "restitution": EXPRESSION},
    "friction": {
        "name": TEXT, "slip": {"oneOf": [EXPRESSION, VECTOR]}, "normal": NAMES, "coefficient": EXPRESSION,
        "static": EXPRESSION, "limit": EXPRESSION, "law": {"enum": LAW_NAMES}, "regularise": EXPRESSION,
    },
    "resets": {"name": TEXT, "guard": EXPRESSION, "map": EXPRESSIONS},
    "bodies": {
        "name": TEXT, "mass": EXPRESSION, "position": VECTOR, "inertia": {"oneOf": [MATRIX, VECTOR, EXPRESSION]},
        "angle": EXPRESSION, "angles": VECTOR, "axes": TEXT, "rotation": MATRIX, "quaternion": TEXT, "carried": VECTOR,
    },
    "loads": {
        "kind": {"enum": ["force", "torque", "spring", "damper"]}, "name": TEXT, "vector": VECTOR, "at": DRAWN_PLACE,
        "on": TEXT, "frame": {"enum": ["space", "body"]},
        "between": {"oneOf": [EXPRESSION, {"type": "array", "items": DRAWN_PLACE}]},
        "stiffness": EXPRESSION, "length": EXPRESSION, "damping": EXPRESSION,
    },
}  # fmt: skip
"""Sections in double brackets, with the keys of one entry."""

ASSUMPTIONS = ("positive", "nonnegative", "negative", "integer", "nonzero")
"""Assumptions that a file may make on a parameter; all parameters are real."""
PARAMETER = table(value=NUMBER, unit=TEXT, **dict.fromkeys(ASSUMPTIONS, FLAG))
FUNCTION = table(table=TEXT, time=TEXT, value=TEXT, hold={"enum": ["linear", "zero", "cubic"]}, unit=TEXT, time_unit=TEXT)
RANGE = {"from": NUMBER, "to": NUMBER, "points": {"type": "integer", "minimum": 1, "maximum": 10**7}}
RUN: Mapping[str, Schema] = {
    "until": NUMBER, "since": NUMBER, "rtol": NUMBER, "atol": NUMBER, "method": TEXT, "step": NUMBER, "max_step": NUMBER,
}  # fmt: skip
REPORT: Mapping[str, Schema] = {"title": TEXT, "forms": NAMES}
ROBOT: Mapping[str, Schema] = {"file": TEXT, "floating": FLAG, "limits": FLAG}
SCENE: Schema = {
    "type": "object",
    "properties": {"kind": TEXT, "places": {"type": "array", "items": DRAWN_PLACE}},
    "required": ["kind"],
    "description": "an item of ap.scene by its name, with its arguments",
}

TOP: Mapping[str, Schema] = {
    "format": {"const": 1}, "name": TEXT, "reference": TEXT, "include": NAMES, "robot": table(**ROBOT),
    "coordinates": NAMES, "quaternions": NAMES, "speeds": NAMES, "states": NAMES,
    "parameters": {"type": "object", "additionalProperties": {"oneOf": [NUMBER, PARAMETER]}},
    "units": {"type": "object", "additionalProperties": TEXT},
    "kinetic": EXPRESSION, "potential": EXPRESSION, "forces": EXPRESSIONS, "kinematics": EXPRESSIONS, "rates": EXPRESSIONS,
    "prescribed": {"type": "object", "additionalProperties": {"oneOf": [EXPRESSION, FUNCTION]}},
    **{name: {"type": "array", "items": table(**keys)} for name, keys in TABLES.items()},
    "order": NAMES, "sample": NUMBERS, "start": NUMBERS, "run": table(**RUN), "pseudo": EXPRESSIONS,
    "sweep": {"type": "object", "additionalProperties": {"oneOf": [{"type": "array", "items": NUMBER}, table(**RANGE)]}},
    "scene": {"type": "array", "items": SCENE}, "view": {"enum": ["flat", "xz", "yz", "space"]}, "report": table(**REPORT),
}  # fmt: skip
"""Keys of a file, each with its content."""


def model_schema() -> Schema:
    """The JSON Schema of model files, for completion and validation in editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "appell model file",
        "type": "object",
        "additionalProperties": False,
        "properties": dict(TOP),
    }


__all__ = ["ASSUMPTIONS", "model_schema"]
