"""A system, its values and its start as a model file, which `reader` reads back as the same system."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sympy

from appell.errors import FileError, ModelError
from appell.files.printed import write_expression
from appell.files.source import ASSUMPTIONS, MODEL_FORMAT
from appell.jets import Jet, Parameter
from appell.model import (
    Between,
    Constraint,
    Damper,
    Force,
    Friction,
    Particle,
    Reset,
    Spring,
    System,
    Torque,
    Unilateral,
)
from appell.model.attitudes import Euler, PlaneAngle, Quaternion, RotationMatrix
from appell.model.impact_laws import NEWTON_LAW
from appell.model.measured import MeasuredLetter, MeasuredRecord
from appell.reading import finite, is_finite, path_of, shown, table_of, text, text_of

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
"""A key that needs no quotation marks in TOML."""


def write_model(
    path: Any, system: System, *, parameters: Mapping[Any, Any] | None = None, start: Mapping[Any, Any] | None = None,
    until: float = 10.0, pseudo: Mapping[str, Any] | None = None, reference: str = "",
) -> Path:  # fmt: skip
    """Writes a model file and returns its path. Raises `ModelError` for what a file cannot express.

    parameters, start: symbol → value in SI; pseudo: name → pseudo-velocity; until: end of the run, s.
    """
    target = path_of(path, "ap.write_model")
    tables = _Tables(target.stem)
    content = _content(system, parameters, start, until, pseudo, reference, tables)
    for name, lines in {**tables.texts, target.name: content}.items():
        try:
            file, partial = target.with_name(name), target.with_name(f".{name}.{os.getpid()}")
            partial.write_text(lines, encoding="utf-8")
            partial.replace(file)
        except (OSError, ValueError) as error:  # a path without a name
            reason = getattr(error, "strerror", None) or error
            raise FileError(f"{shown(name)} cannot be written in {target.parent}: {reason}") from None
    return target


@dataclass
class _Tables:
    """CSV files beside a model file, by their names; `stem` None: there is no folder for them."""

    stem: str | None = None
    texts: dict[str, str] = field(default_factory=dict)

    def entry(self, function: str, record: MeasuredRecord) -> str:
        """The entry of a prescribed function given by a record, whose samples go into a table."""
        if self.stem is None:
            raise ModelError(f"the record of {function} goes into a table beside the file: use ap.write_model")
        name = f"{self.stem}.{function}.csv"
        times, values = record.samples
        cells = [*map(repr, values.tolist()), ""]  # with hold="zero" the last time may have no value
        lines = [f"{x!r},{y}" for x, y in zip(times.tolist(), cells, strict=False)]
        self.texts[name] = "\n".join([f"t,{function}", *lines, ""])
        return f"{{table = {_quoted(name)}, hold = {_quoted(record.hold)}}}"


def model_text(
    system: System, *, parameters: Mapping[Any, Any] | None = None, start: Mapping[Any, Any] | None = None,
    until: float = 10.0, pseudo: Mapping[str, Any] | None = None, reference: str = "",
) -> str:  # fmt: skip
    """The text of a model file. A prescribed function with a measured record needs a file: `write_model`."""
    return _content(system, parameters, start, until, pseudo, reference, _Tables())


def _content(
    system: System, parameters: Any, start: Any, until: Any, pseudo: Any, reference: Any, tables: _Tables
) -> str:  # fmt: skip
    if not isinstance(system, System) or type(system) is not System:
        raise ModelError(f"a {type(system).__name__} cannot be written as a model file: its energies are not expressions")
    given = system._given
    if given["prescription"]:
        raise ModelError("a system with prescribed functions written in cannot be written; give them as parameters=")
    values, begin = dict(table_of(parameters, "parameters=")), dict(table_of(start, "start="))
    lines = [f"format = {MODEL_FORMAT}", f"name = {_quoted(system.name)}"]
    lines += [f"reference = {_quoted(text(reference, 'reference='))}"] if not isinstance(reference, str) or reference else []
    quaternions = [q.name for q in given["coordinates"] if isinstance(q, Quaternion)]
    letters = [s.letter for s in given["coordinates"] if not isinstance(s, Quaternion)]
    if [isinstance(q, Quaternion) for q in given["coordinates"]] != [False] * len(letters) + [True] * len(quaternions):
        letters = [q.name if isinstance(q, Quaternion) else q.letter for q in given["coordinates"]]  # quaternions in order
    lines += _names("coordinates", letters) + _names("quaternions", quaternions)
    lines += _names("speeds", [s.letter for s in given["speeds"] or ()]) + _names("states", [s.letter for s in system.states])
    for key in ("kinetic", "potential"):
        if isinstance(given[key], sympy.Basic) or given[key] != 0:
            lines.append(f"{key} = {_expression(given[key])}")
    rows = system.said_one_way()["constraints"]
    lines += _order(rows)
    lines += _parameters(system, values) + _prescribed(system, values, tables)
    for key in ("forces", "kinematics", "rates"):
        lines += _table(key, {_state(key): _expression(value) for key, value in dict(given[key] or {}).items()})
    lines += _table("sample", {_state(key): repr(_number(x, "sample=")) for key, x in dict(given["sample"] or {}).items()})
    for row in rows:
        lines += _row(row)
    lines += _bodies(system.bodies)
    for load in system.loads:
        lines += _load(load)
    speeds = {text_of(name): e for name, e in table_of(pseudo, "pseudo=").items()}
    lines += _table("pseudo", {name: _expression(e, f"pseudo= of {name}") for name, e in speeds.items()})
    lines += _table("start", {_state(s): repr(finite(x, f"start= of {text_of(s)}")) for s, x in begin.items()})
    return "\n".join([*lines, *_table("run", {"until": repr(finite(until, "until="))}), ""])


def _quoted(text: str) -> str:
    return json.dumps(str(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def _expression(value: Any, where: str = "a number") -> str:
    """An expression in quotation marks; a Python number unchanged. where: its name in messages."""
    return _quoted(write_expression(value)) if isinstance(value, sympy.Basic) else repr(_number(value, where))


def _number(value: Any, where: str) -> int | float:
    number = finite(value, where)  # text, booleans and numbers beyond float64 raise
    return value if isinstance(value, int) else number


def _names(key: str, names: Iterable[str]) -> list[str]:
    listed = list(names)
    return [f"{key} = [{', '.join(map(_quoted, listed))}]"] if listed else []


def _table(name: str, entries: Mapping[str, str]) -> list[str]:
    return ["", f"[{name}]", *(f"{_key(key)} = {value}" for key, value in entries.items())] if entries else []


def _key(name: str) -> str:
    """A TOML key: bare if its letters and digits are ASCII, else in quotation marks."""
    return name if BARE_KEY.fullmatch(name) else _quoted(name)


def _tables(name: str, entries: Mapping[str, str | None]) -> list[str]:
    return ["", f"[[{name}]]", *(f"{key} = {value}" for key, value in entries.items() if value is not None)]


def _state(key: Any) -> str:
    """x or x'; text given by name is unchanged."""
    if isinstance(key, str):
        return key
    return key.letter + "'" * key.order if isinstance(key, Jet) else text_of(key)


def _parameters(system: System, values: Mapping[Any, Any]) -> list[str]:
    by_name = {text_of(s): value for s, value in values.items()}
    entries = {}
    functions = [e for s, e in values.items() if text_of(s) in map(str, system.prescribed) and isinstance(e, sympy.Basic)]
    used = {s for e in (*_part_expressions(system), *functions) for s in e.free_symbols if not isinstance(s, MeasuredLetter)}
    unused = sorted((s for s in used if isinstance(s, Parameter) and s not in system.parameters), key=str)
    for p in (*system.parameters, *unused):  # unused ones are written too
        foreign = [rule for rule, flag in p._assumptions_orig.items() if rule != "real" and not (rule in ASSUMPTIONS and flag)]
        if foreign:
            allowed = ", ".join(ASSUMPTIONS)
            raise ModelError(f"the assumption {foreign[0]} of '{p}' cannot be written in a model file; these can: {allowed}")
        flags = [f"{rule} = true" for rule in ASSUMPTIONS if p._assumptions_orig.get(rule)]
        value = [f"value = {finite(by_name[p.name], f'the value of {p}')!r}"] if p.name in by_name else []
        entries[p.name] = (
            "{" + ", ".join([*value, *flags]) + "}" if flags or not value else value[0].partition("= ")[2]
        )
    return _table("parameters", entries)


def _part_expressions(system: System) -> list[Any]:
    """Expressions of bodies and loads, which may contain symbols that are in no equation of motion."""
    expressions = [x for body in system.bodies for x in (body.mass, *body.position)]
    expressions += [x for body in system.bodies if not isinstance(body, Particle) for x in body.inertia]
    for load in system.loads:
        expressions += [*getattr(load, "vector", ()), *getattr(load, "at", ())]
        expressions += [getattr(load, name) for name in ("scalar", "stiffness", "length", "damping") if hasattr(load, name)]
    return [x for x in expressions if isinstance(x, sympy.Basic)]


def _prescribed(system: System, values: Mapping[Any, Any], tables: _Tables) -> list[str]:
    by_name = {text_of(s): value for s, value in values.items()}
    missing = [str(s) for s in system.prescribed if str(s) not in by_name]
    if missing:
        raise ModelError(f"the prescribed function {missing[0]} has no value; give it in parameters=")

    def entry(name: str) -> str:
        value = by_name[name]
        records = {s.record.digest: s.record for s in value.atoms(MeasuredLetter)} if isinstance(value, sympy.Basic) else {}
        record = next(iter(records.values()), None)
        if record is not None and value == record.expression:
            return tables.entry(name, record)
        if not isinstance(value, sympy.Basic) and not is_finite(value):
            raise ModelError(
                f"the prescribed function {name} is an expression or a record in a model file, not {shown(value)}; samples are"
                f" written as {name}: ap.sampled(times, values), which go into a table beside the file"
            )
        return _expression(value)

    return _table("prescribed", {str(s): entry(str(s)) for s in system.prescribed})


def _order(rows: list[Any]) -> list[str]:
    """The order of rows, walls, stops, frictions and resets, where it differs from the order of their kinds."""
    kinds = (Constraint, Unilateral, Between, Friction, Reset)
    usual = [row.name for kind in kinds for row in rows if isinstance(row, kind)]
    stated = [row.name for row in rows]
    return [] if stated == usual else _names("order", stated)


def _row(row: Any) -> list[str]:
    name = _quoted(row.name)
    if isinstance(row, Friction):
        return _tables("friction", {"name": name, **_friction(row)})
    if isinstance(row, Reset):
        values = ", ".join(f"{_key(_state(key))} = {_expression(e)}" for key, e in row.map.items())
        return _tables("resets", {"name": name, "guard": _expression(row.guard), "map": "{" + values + "}"})
    if isinstance(row, Constraint):
        if isinstance(row.reaction, tuple):
            raise ModelError(f"the reaction of '{row.name}' is a list; give it as a mapping to write it in a model file")
        W = (
            None
            if row.reaction is None
            else ", ".join(f"{_key(_state(k))} = {_expression(w)}" for k, w in row.reaction.items())
        )
        return _tables("constraints", {"name": name, "row": _expression(row.residual), "reaction": W and "{" + W + "}"})
    if row.chart is not None:
        raise ModelError(f"the chart of '{row.name}' cannot be written in a model file")
    e = None if row.restitution == 1 else _expression(row.restitution)
    if isinstance(row, Unilateral):
        return _tables("walls", {"name": name, "gap": _expression(row.function), "restitution": e})
    bounds = {bound: _expression(getattr(row, bound)) for bound in ("lower", "function", "upper")}
    return _tables("stops", {"name": name, **bounds, "restitution": e})


def _friction(row: Friction) -> dict[str, str | None]:
    label = lambda n: n if isinstance(n, str) else n.name
    pressing = row.normal if isinstance(row.normal, tuple) else () if row.normal is None else (row.normal,)
    names = [label(constraint) for constraint in pressing]
    normal = None if not names else json.dumps(names if isinstance(row.normal, tuple) else names[0], ensure_ascii=False)
    sizes = {
        key: None if getattr(row, key) is None else _expression(getattr(row, key))
        for key in ("coefficient", "static", "limit", "regularise")
    }
    slip = [_expression(component) for component in row.slip]
    return {
        "slip": slip[0] if len(slip) == 1 else f"[{', '.join(slip)}]", "normal": normal, **sizes,
        "law": None if row.law == NEWTON_LAW else _quoted(row.law),
    }  # fmt: skip


def _vector(matrix: Any) -> str:
    return f"[{', '.join(_expression(e) for e in matrix)}]"


def _bodies(bodies: Iterable[Any]) -> list[str]:
    lines, names = [], set[str]()
    for body in bodies:
        if body.name in names:
            raise ModelError(f"two bodies are called '{body.name}'; a model file tells bodies apart by their names: give name=")
        names.add(body.name)
        lines += _body(body)
    return lines


def _body(body: Any) -> list[str]:
    entries: dict[str, str | None] = {
        "name": _quoted(body.name),
        "mass": _expression(body.mass),
        "position": _vector(body.position),
    }
    if body.carried is not None:
        raise ModelError(f"carried= of '{body.name}' cannot be written in a model file")
    if isinstance(body, Particle):
        return _tables("bodies", entries)
    entries["inertia"] = f"[{', '.join(_vector(body.inertia.row(i)) for i in range(3))}]"
    if isinstance(body.orientation, Quaternion):
        if body.orientation.axes is not None or body.orientation.letters is not None:
            raise ModelError(f"axes= and rates= of quaternion '{body.orientation.name}' cannot be written in a model file")
        entries["quaternion"] = _quoted(body.orientation.name)
    elif isinstance(body.orientation, Euler):
        entries |= {"angles": _vector(body.orientation.angles), "axes": _quoted(body.orientation.axes)}
    elif isinstance(body.orientation, PlaneAngle):
        entries["angle"] = _expression(body.orientation.angle)
    elif isinstance(body.orientation, RotationMatrix):
        entries["rotation"] = f"[{', '.join(_vector(body.orientation.rotation.row(i)) for i in range(3))}]"
    else:  # pragma: no cover - there are no others today
        raise ModelError(f"the attitude of '{body.name}' cannot be written in a model file; Euler angles and quaternions can")
    return _tables("bodies", entries)


def _load(load: Any) -> list[str]:
    if isinstance(load, Force):
        return _tables("loads", {"kind": '"force"', "vector": _vector(load.vector), "at": _vector(load.at)})
    if isinstance(load, Torque):
        attributes = {"on": _quoted(load.on.name), "frame": None if load.frame == "space" else _quoted(load.frame)}
        return _tables("loads", {"kind": '"torque"', "vector": _vector(load.vector), **attributes})
    if not isinstance(load, Spring | Damper) or load.scalar is None:
        raise ModelError(
            "a spring or damper between two points cannot be written in a model file; write its length as an expression"
        )
    kind, sizes = ("spring", ("stiffness", "length")) if isinstance(load, Spring) else ("damper", ("damping",))
    entries = {"kind": _quoted(kind), "name": _quoted(load.name), "between": _expression(load.scalar)}
    return _tables("loads", {**entries, **{name: _expression(getattr(load, name)) for name in sizes}})


__all__ = ["model_text", "write_model"]
