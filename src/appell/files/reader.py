"""Model files: a system, values, a start and how to run it, in TOML.

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

A file is data: expressions go through a grammar (`written`), tables of measured functions lie below the folder of the file, and
every error names its line and column.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from appell.errors import AppellError, FileError, ModelError
from appell.files.drawn import read_scene
from appell.files.included import below
from appell.files.keys import REPORT, ROBOT, RUN, TOP
from appell.files.model import Model
from appell.files.model_parts import read_bodies, read_loads, read_rows
from appell.files.source import ASSUMPTIONS, MODEL_FORMAT, Keys, Source, text_in
from appell.files.units import unit_of
from appell.forms import FORMS
from appell.jets import coordinates, parameters, prescribed, speeds, states
from appell.model import System, quaternion, sampled
from appell.reading import shown
from appell.spelling import did_you_mean
from appell.tree import Tree

TABLE_BYTES = 200_000_000
"""Bytes of a table beside a model file."""
LINE_CHARACTERS = 1_000_000
"""Characters of one of its lines."""

def read_model(source: Any) -> Model:
    """The model of a file: a path, or the text itself where it has more than one line.

    `FileError` where it cannot be read; `ModelError` names line and column of what is not understood.
    """
    text, folder, name = _text_of(source)
    return _ModelReader(Source(text, folder, name)).model()


def _text_of(source: Any) -> tuple[str, Path | None, str]:
    if isinstance(source, str) and "\n" in source:
        return source, None, "the text"
    if not isinstance(source, str | Path):
        raise ModelError(f"a model file is a path or a text of several lines, not {shown(source)}")
    try:
        path = Path(source)
        return text_in(path), path.parent, path.name
    except ValueError as error:  # a name with a null character
        raise FileError(f"{shown(source)} is no path: {error}") from None


class _ModelReader:
    """A file on its way to a model."""

    def __init__(self, source: Source):
        self.source = source
        self.lists: dict[str, list[Any]] = {}
        self.tree: Any = None

    def model(self) -> Model:
        self.source.keys(self.source.data, set(TOP), ())
        if self.source.data.get("format", MODEL_FORMAT) != MODEL_FORMAT:
            raise self.source.wrong(
                ("format",), f"format {shown(self.source.data['format'])} is not known; this version reads {MODEL_FORMAT}"
            )
        self.tree = self._robot() if "robot" in self.source.data else None
        values = self._letters()
        functions = self._prescribed()
        bodies = read_bodies(self.source)
        system = self._system(bodies)
        start = {
            self.source.state(key, ("start", key)): self.source.number(value, ("start", key))
            for key, value in self.source.section("start").items()
        }
        run = self.source.keys(self.source.data.get("run", {}), set(RUN), ("run",))
        options = {key: value if key == "method" else self.source.number(value, ("run", key)) for key, value in run.items()}
        return Model(
            system=system, parameters={**values, **functions}, start=start, until=options.pop("until", 10.0), options=options,
            over=self._over(), pseudo=self._pseudo(), units=self.source.units,
            reference=str(self.source.data.get("reference", "")), scene=read_scene(self.source, system, bodies),
            page=self._report(),
        )  # fmt: skip

    def _report(self) -> dict[str, Any]:
        """Title and forms of the report."""
        said = self.source.keys(self.source.data.get("report", {}), set(REPORT), ("report",))
        if not isinstance(said.get("title", ""), str):
            raise self.source.wrong(("report", "title"), f"a title is a text, not {shown(said['title'])}")
        names = said.get("forms", [])
        names = names.split() if isinstance(names, str) else names
        for name in names if isinstance(names, list) else [names]:
            if not isinstance(name, str) or name not in FORMS:
                raise self.source.wrong(("report", "forms"), f"there is no form {shown(name)}; there are {', '.join(FORMS)}")
        return {**({"title": said["title"]} if "title" in said else {}), **({"forms": names} if names else {})}

    def _letters(self) -> dict[Any, float]:
        makers = {"coordinates": coordinates, "speeds": speeds, "states": states}
        for key, make in makers.items():
            self.lists[key] = [self._letter((key,), name, make) for name in self.source.listed(key)]
        make = lambda name: self.source.checked(("quaternions",), lambda: quaternion(name))
        self.source.quaternions = [make(name) for name in self.source.listed("quaternions")]
        for turned in self.source.quaternions:
            self.source.names |= {s.letter: s for s in (*turned.coordinates, *turned.rates)}
        for name, unit in self.source.section("units").items():
            self.source.units[name] = self.source.checked(("units", name), lambda u=unit: unit_of(str(u)))[1]
        values = {}
        for name, given in self.source.section("parameters").items():
            keys = ("parameters", name)
            said = (
                self.source.keys(given, {"value", "unit", *ASSUMPTIONS}, keys) if isinstance(given, dict) else {"value": given}
            )
            known = {word: said[word] for word in ASSUMPTIONS if word in said}
            if not all(isinstance(flag, bool) for flag in known.values()):
                raise self.source.wrong(keys, "assumptions are true or false")
            symbol = self._letter(keys, name, lambda n, known=known: parameters(n, **known))
            factor, unit = self.source.checked(keys, lambda s=said: unit_of(str(s["unit"]))) if "unit" in said else (1.0, None)
            if "value" in said:
                value, own = self.source.dimensional(said["value"], keys)
                if own is not None and unit is not None:
                    raise self.source.wrong(keys, "two units, in the value and in unit=")
                values[symbol], unit = value * factor, own if own is not None else unit
            if unit is not None:
                self.source.units[name] = unit
        return values

    def _letter(self, keys: Keys, name: str, make: Callable[[str], Any]) -> Any:
        if name in self.source.names:
            raise self.source.wrong(keys, f"'{name}' is declared twice")
        symbol = self.source.checked(keys, lambda: make(name))
        if isinstance(symbol, tuple):
            raise self.source.wrong(keys, f"'{name}' is not one name")
        self.source.names[name] = symbol
        return symbol

    def _prescribed(self) -> dict[Any, Any]:
        given = self.source.section("prescribed")
        for name in given:
            self._letter(("prescribed", name), name, prescribed)
        return {self.source.names[name]: self._function(value, ("prescribed", name)) for name, value in given.items()}

    def _function(self, value: Any, keys: Keys) -> Any:
        if not isinstance(value, dict):
            return self.source.expression(value, keys)
        said = self.source.keys(value, {"table", "time", "value", "hold", "unit"}, keys)
        if "table" not in said:
            raise self.source.wrong(keys, "table= names a CSV file beside this one")
        times, column = self._table(said, keys)
        factor = self.source.checked(keys, lambda: unit_of(str(said["unit"])))[0] if "unit" in said else 1.0
        return self.source.checked(keys, lambda: sampled(times, factor * column, hold=said.get("hold", "linear")))

    def _table(self, said: Mapping[str, Any], keys: Keys) -> tuple[Any, Any]:
        path = self.source.checked(keys, lambda: below(self.source.folder, said["table"], "table"))
        if path.stat().st_size > TABLE_BYTES:
            raise self.source.wrong(keys, f"{shown(said['table'])} has more than {TABLE_BYTES} bytes")
        try:
            with path.open(encoding="utf-8", errors="replace", newline="") as lines:
                return self._columns(csv.reader(_short_lines(lines)), said, keys)
        except csv.Error as error:
            raise self.source.wrong(keys, f"{shown(said['table'])} is no table: {error}") from None
        except OSError as error:
            if isinstance(error, AppellError):
                raise
            raise self.source.wrong(keys, f"{shown(said['table'])} cannot be read: {error.strerror or error}") from None

    def _columns(self, rows: Iterator[list[str]], said: Mapping[str, Any], keys: Keys) -> tuple[Any, Any]:
        """Times and values of a table, of which no more than these two columns is kept."""
        head = [name.strip() for name in next(rows, []) or [""]]
        chosen = [str(said.get("time", head[0])), str(said.get("value", head[1] if len(head) > 1 else head[0]))]
        for name in chosen:
            if name not in head:
                raise self.source.wrong(keys, f"the table has no column '{name}'{did_you_mean(name, head)}")
        places, found = [head.index(name) for name in chosen], array("d")
        for number, row in enumerate(rows, start=2):
            if not row:
                continue
            try:
                found.extend([float(row[place]) for place in places])
            except (ValueError, IndexError):
                raise self.source.wrong(keys, f"line {number} of the table is not two numbers") from None
        if len(found) < 4:
            raise self.source.wrong(keys, "a table has a line of names and two lines of numbers at least")
        picked = np.frombuffer(found, dtype=float).reshape(-1, 2)
        return picked[:, 0].copy(), picked[:, 1].copy()

    def _system(self, bodies: Mapping[str, Any]) -> System:
        get, data = self.source.data.get, self.source.data
        rows = read_rows(self.source)
        arguments: dict[str, Any] = {
            "constraints": rows,
            "bodies": list(bodies.values()),
            "loads": read_loads(self.source, bodies),
        }
        for name in ("kinetic", "potential"):
            if name in data:
                arguments[name] = self.source.expression(data[name], (name,))
        for name in ("forces", "kinematics", "rates", "sample"):
            if name in data:
                value = lambda v, k, name=name: (
                    self.source.number(v, k) if name == "sample" else self.source.expression(v, k, name == "forces")
                )
                arguments[name] = {
                    self.source.state(key, (name, key)): value(given, (name, key))
                    for key, given in self.source.section(name).items()
                }
        if self.lists["speeds"]:
            arguments["speeds"] = self.lists["speeds"]
        if "robot" in data:
            return self._robot_system(arguments)
        every = [*self.lists["coordinates"], *self.source.quaternions]
        return System(every, name=str(get("name", "system")), **arguments)

    def _robot(self) -> Any:
        """The tree of a robot's file; its joints are coordinates that expressions may name."""
        said = self.source.keys(self.source.data["robot"], set(ROBOT), ("robot",))
        if "file" not in said:
            raise self.source.wrong(("robot",), "file= names a robot's description beside this file")
        path = self.source.checked(("robot", "file"), lambda: below(self.source.folder, said["file"], "robot"))
        options = {key: value for key, value in said.items() if key != "file"}
        wrong = [key for key, value in options.items() if not isinstance(value, bool)]
        if wrong:
            raise self.source.wrong(("robot", wrong[0]), "true or false")
        tree = self.source.checked(("robot", "file"), lambda: Tree.from_file(path, **options))
        for symbol in (*tree.system().positions, *tree.system().velocities):
            if (letter := getattr(symbol, "letter", str(symbol))) not in self.source.names and getattr(symbol, "order", 0) == 0:
                self.source.names[letter] = symbol
        return tree

    def _robot_system(self, given: dict[str, Any]) -> Any:
        """A robot with what the file says besides."""
        extra = [word for word in ("kinetic", "bodies", "kinematics", "speeds", "sample") if given.get(word)]
        if extra or self.lists["coordinates"]:
            raise self.source.wrong(
                ("robot",), f"a robot has coordinates and masses of its own; leave {(extra or ['coordinates'])[0]} out"
            )
        words = {key: given[key] for key in ("constraints", "forces", "potential", "loads", "rates") if given.get(key)}
        return self.tree.system(**words, name=str(self.source.data.get("name", self.tree.name)))

    def _over(self) -> dict[Any, Any]:
        """What a sweep varies: a list, or {from, to, points}."""
        found = {}
        for key, value in self.source.section("sweep").items():
            keys = ("sweep", key)
            if isinstance(value, dict):
                said = self.source.keys(value, {"from", "to", "points"}, keys)
                if (
                    set(said) != {"from", "to", "points"}
                    or not isinstance(said["points"], int)
                    or not 1 <= said["points"] <= 10**7
                ):
                    raise self.source.wrong(keys, "from, to and a number of points are wanted")
                found[self.source.state(key, keys)] = np.linspace(
                    self.source.number(said["from"], keys), self.source.number(said["to"], keys), said["points"]
                )
            elif isinstance(value, list):
                found[self.source.state(key, keys)] = np.array([self.source.number(x, keys) for x in value])
            else:
                raise self.source.wrong(keys, "a list of values, or {from = 1, to = 2, points = 11}")
        return found

    def _pseudo(self) -> dict[str, Any] | None:
        given = self.source.section("pseudo")
        return {name: self.source.expression(value, ("pseudo", name)) for name, value in given.items()} or None


def _short_lines(lines: Any) -> Iterator[str]:
    """The lines of a file, none of which may fill the memory."""
    while line := lines.readline(LINE_CHARACTERS):
        if len(line) == LINE_CHARACTERS:
            raise csv.Error(f"a line has more than {LINE_CHARACTERS} characters")
        yield line


__all__ = ["read_model"]
