"""Model files: a system, values, a start and the settings of a run, in TOML.

    name = "pendulum"
    coordinates = ["phi"]
    kinetic = "m*l^2*phi'^2/2"
    potential = "-m*g*l*cos(phi)"

    [parameters]
    m = "2 kg"
    l = "0.5 m"
    g = "9.81 m/s^2"

    [start]
    phi = "30 deg"

    [run]
    until = 10

A file is data: expressions are parsed by a grammar (`written`), tables of measured functions are in the folder of the file or
below, and every error gives line and column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import sympy

from appell.errors import ModelError
from appell.files.drawn import read_scene
from appell.files.included import file_below
from appell.files.keys import REPORT, ROBOT, RUN, TOP
from appell.files.model import Model
from appell.files.model_parts import read_bodies, read_loads, read_rows
from appell.files.source import ASSUMPTIONS, MODEL_FORMAT, Keys, Source, text_in
from appell.files.tables import read_table
from appell.forms import FORMS
from appell.jets import coordinates, parameters, prescribed, speeds, states
from appell.model import System, quaternion, sampled
from appell.model.units import DIMENSIONLESS, SECOND, times, unit_of, unit_text
from appell.reading import shown
from appell.spelling import did_you_mean
from appell.tree import Tree

PER_SECOND = times(DIMENSIONLESS, SECOND, Fraction(-1))


def read_model(source: Any) -> Model:
    """The model of a file: a path, or the text itself if it has more than one line.

    Raises `FileError` if it cannot be read; `ModelError` gives the line and column of an error in it.
    """
    text, folder, name = _text_of(source)
    return _ModelReader(Source(text, folder, name)).model()


def _text_of(source: Any) -> tuple[str, Path | None, str]:
    if isinstance(source, str) and ("\n" in source or "\r" in source):
        return source.removeprefix("\ufeff"), None, "the text"
    if not isinstance(source, str | Path):
        raise ModelError(f"a model file is a path or a text of several lines, not {shown(source)}")
    path = Path(source)
    return text_in(path), path.parent, path.name


class _ModelReader:
    """Builds a model from a file."""

    def __init__(self, source: Source):
        self.source = source
        self.letters: dict[str, list[Any]] = {}
        self.tree: Any = None
        self.configuration: list[Any] = []  # coordinates and quaternions in order

    def model(self) -> Model:
        self.source.keys(self.source.data, set(TOP), ())
        version = self.source.data.get("format", MODEL_FORMAT)
        if isinstance(version, bool | float) or version != MODEL_FORMAT:
            raise self.source.wrong(
                ("format",), f"format {shown(self.source.data['format'])} is not known; this version reads {MODEL_FORMAT}"
            )
        self.tree = self._robot() if "robot" in self.source.data else None
        values = self._letters()
        functions = self._prescribed()
        self._refuse_unknown_units()
        bodies = read_bodies(self.source)
        system = self._system(bodies)
        start = self._states("start")
        options = self._run()
        acting = {*system.parameters}.union(*(f.free_symbols for f in functions.values() if isinstance(f, sympy.Basic)))
        return Model(
            system=system, parameters={**{s: x for s, x in values.items() if s in acting}, **functions}, start=start,
            until=options.pop("until", 10.0), options=options,
            over=self._over(), pseudo=self._pseudo(), units=self.source.units,
            unused=tuple(str(s) for s in values if s not in acting), reference=self.source.text("reference", ""),
            scene=read_scene(self.source, system, bodies),
            page=self._report(),
        )  # fmt: skip

    def _states(self, section: str) -> dict[Any, float]:
        """Values of coordinates, velocities and states."""
        entries = self.source.section(section)
        return {self.source.state(k, (section, k)): self.source.of_state(x, k, (section, k)) for k, x in entries.items()}

    def _run(self) -> dict[str, Any]:
        """The settings of a run."""
        run = self.source.keys(self.source.data.get("run", {}), set(RUN), ("run",))
        if not isinstance(run.get("method", ""), str):
            raise self.source.wrong(("run", "method"), f"a method is named by a text, not by {shown(run['method'])}")
        dimensions = lambda key: DIMENSIONLESS if key in ("rtol", "atol") else SECOND
        return {k: x if k == "method" else self.source.number(x, ("run", k), dimensions(k)) for k, x in run.items()}

    def _report(self) -> dict[str, Any]:
        """Title and forms of the report."""
        settings = self.source.keys(self.source.data.get("report", {}), set(REPORT), ("report",))
        if not isinstance(settings.get("title", ""), str):
            raise self.source.wrong(("report", "title"), f"a title is a text, not {shown(settings['title'])}")
        names = settings.get("forms", [])
        names = names.split() if isinstance(names, str) else names
        for name in names if isinstance(names, list) else [names]:
            if not isinstance(name, str) or name not in FORMS:
                raise self.source.wrong(("report", "forms"), f"there is no form {shown(name)}; there are {', '.join(FORMS)}")
        return {**({"title": settings["title"]} if "title" in settings else {}), **({"forms": names} if names else {})}

    def _letters(self) -> dict[Any, float]:
        make = lambda name: self.source.checked(("quaternions",), lambda: quaternion(name))
        named = self.source.listed("quaternions")
        by_name = {name: make(name) for name in named}
        if len(by_name) < len(named):
            raise self.source.wrong(("quaternions",), "a quaternion is declared twice")
        self.source.quaternions = list(by_name.values())
        makers = {"coordinates": coordinates, "speeds": speeds, "states": states}
        for key, maker in makers.items():
            names = [name for name in self.source.listed(key) if key != "coordinates" or name not in by_name]
            self.letters[key] = [self._letter((key,), name, maker) for name in names]
        listed = self.source.listed("coordinates")
        self.configuration = [by_name.get(name) or self.source.names[name] for name in listed]
        self.configuration += [q for name, q in by_name.items() if name not in listed]
        for q in by_name.values():
            self.source.names |= {s.letter: s for s in (*q.coordinates, *q.rates)}
            self.source.units |= {s.letter: DIMENSIONLESS for s in q.coordinates} | {s.letter: PER_SECOND for s in q.rates}
        for name, unit in self.source.section("units").items():
            if not isinstance(unit, str):
                raise self.source.wrong(("units", name), f"a unit is a text, not {shown(unit)}")
            self.source.units[name] = self.source.checked(("units", name), lambda u=unit: unit_of(u))[1]
        values = {}
        for name, given in self.source.section("parameters").items():
            keys = ("parameters", name)
            data = (
                self.source.keys(given, {"value", "unit", *ASSUMPTIONS}, keys) if isinstance(given, dict) else {"value": given}
            )
            flags = {assumption: data[assumption] for assumption in ASSUMPTIONS if assumption in data}
            if not all(isinstance(flag, bool) for flag in flags.values()):
                raise self.source.wrong(keys, "assumptions are true or false")
            symbol = self._letter(keys, name, lambda n, flags=flags: parameters(n, **flags))
            factor, unit = self.source.checked(keys, lambda s=data: unit_of(str(s["unit"]))) if "unit" in data else (1.0, None)
            if "value" in data:
                value, own_unit = self.source.dimensional(data["value"], keys)
                if own_unit is not None and unit is not None:
                    raise self.source.wrong(keys, "two units, in the value and in unit=")
                values[symbol], unit = value * factor, own_unit if own_unit is not None else unit
            self._say_unit(name, unit, keys)
        return values

    def _say_unit(self, name: str, unit: Any, keys: Keys) -> None:
        """Records the unit of a symbol; it must agree with [units]."""
        stated = self.source.units.get(name)
        if unit is not None and stated is not None and unit != stated:
            raise self.source.wrong(keys, f"'{name}' has {unit_text(unit)} here and {unit_text(stated)} in [units]")
        if unit is not None:
            self.source.units[name] = unit

    def _refuse_unknown_units(self) -> None:
        for name in self.source.section("units"):
            if name not in self.source.names:
                raise self.source.wrong(("units", name), f"unknown name '{name}'{did_you_mean(name, self.source.names)}")

    def _letter(self, keys: Keys, name: str, make: Callable[[str], Any]) -> Any:
        if name in self.source.names:
            raise self.source.wrong(keys, f"'{name}' is declared twice")
        if name == "pi":
            raise self.source.wrong(keys, "'pi' is the number π; choose another name")
        symbol = self.source.checked(keys, lambda: make(name))
        if isinstance(symbol, tuple):
            raise self.source.wrong(keys, f"'{name}' is not one name")
        self.source.names[name] = symbol
        return symbol

    def _prescribed(self) -> dict[Any, Any]:
        functions = self.source.section("prescribed")
        for name in functions:
            self._letter(("prescribed", name), name, prescribed)
        return {self.source.names[name]: self._function(value, ("prescribed", name)) for name, value in functions.items()}

    def _function(self, value: Any, keys: Keys) -> Any:
        if not isinstance(value, dict):
            return self.source.expression(value, keys)
        times, values, unit = read_table(self.source, value, keys)
        self._say_unit(str(keys[-1]), unit, keys)
        return self.source.checked(keys, lambda: sampled(times, values, hold=value.get("hold", "linear")))

    def _system(self, bodies: Mapping[str, Any]) -> System:
        data = self.source.data
        rows = read_rows(self.source)
        arguments: dict[str, Any] = {
            "constraints": rows,
            "bodies": list(bodies.values()),
            "loads": read_loads(self.source, bodies),
        }
        for name in ("kinetic", "potential"):
            if name in data:
                arguments[name] = self.source.expression(data[name], (name,))
        for name in ("forces", "kinematics", "rates"):
            if name in data:
                arguments[name] = {
                    self.source.state(key, (name, key)): self.source.expression(text, (name, key), name == "forces")
                    for key, text in self.source.section(name).items()
                }
        if "sample" in data:
            arguments["sample"] = self._states("sample")
        if self.letters["speeds"]:
            arguments["speeds"] = self.letters["speeds"]
        if "robot" in data:
            return self._robot_system(arguments)
        return System(self.configuration, name=self.source.text("name", "system"), **arguments)

    def _robot(self) -> Any:
        """The tree of a robot file; its joints are coordinates for expressions."""
        settings = self.source.keys(self.source.data["robot"], set(ROBOT), ("robot",))
        if "file" not in settings:
            raise self.source.wrong(("robot",), "file= names a robot's description beside this file")
        path = self.source.checked(("robot", "file"), lambda: file_below(self.source.folder, settings["file"], "robot"))
        options = {key: value for key, value in settings.items() if key != "file"}
        wrong = [key for key, value in options.items() if not isinstance(value, bool)]
        if wrong:
            raise self.source.wrong(("robot", wrong[0]), "true or false")
        tree = self.source.checked(("robot", "file"), lambda: Tree.from_file(path, **options))
        self.source.units |= {name: unit_of(unit)[1] for name, unit in tree.system().joint_units.items() if unit != "1"}
        for symbol in (*tree.system().positions, *tree.system().velocities):
            if (letter := getattr(symbol, "letter", str(symbol))) not in self.source.names and getattr(symbol, "order", 0) == 0:
                self.source.names[letter] = symbol
        return tree

    def _robot_system(self, given: dict[str, Any]) -> Any:
        """The system of a robot with the other contents of the file."""
        extra = [key for key in ("kinetic", "bodies", "kinematics", "speeds", "sample") if given.get(key)]
        if extra or self.letters["coordinates"]:
            raise self.source.wrong(
                ("robot",), f"a robot has coordinates and masses of its own; leave {(extra or ['coordinates'])[0]} out"
            )
        arguments = {key: given[key] for key in ("constraints", "forces", "potential", "loads", "rates") if given.get(key)}
        return self.tree.system(**arguments, name=self.source.text("name", self.tree.name))

    def _over(self) -> dict[Any, Any]:
        """The varied quantities of a sweep, each a list or {from, to, points}."""
        ranges = {}
        for key, value in self.source.section("sweep").items():
            keys = ("sweep", key)
            if isinstance(value, dict):
                limits = self.source.keys(value, {"from", "to", "points"}, keys)
                if (
                    set(limits) != {"from", "to", "points"}
                    or not isinstance(limits["points"], int)
                    or isinstance(limits["points"], bool)
                    or not 1 <= limits["points"] <= 10**7
                ):
                    raise self.source.wrong(keys, "from, to and a number of points are wanted")
                first, last = (self.source.of_state(limits[end], key, keys) for end in ("from", "to"))
                ranges[self.source.state(key, keys)] = np.linspace(first, last, limits["points"])
            elif isinstance(value, list) and value:
                ranges[self.source.state(key, keys)] = np.array([self.source.of_state(x, key, keys) for x in value])
            else:
                raise self.source.wrong(keys, "a list of values, or {from = 1, to = 2, points = 11}")
        return ranges

    def _pseudo(self) -> dict[str, Any] | None:
        definitions = self.source.section("pseudo")
        return {name: self.source.expression(value, ("pseudo", name)) for name, value in definitions.items()} or None


__all__ = ["read_model"]
