"""Many runs in one picture: the runs of an ensemble as motions for a film, and superposed films."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.scene.film import Film, bounds, film
from appell.scene.scene import Scene
from appell.scene.shapes import Array, Shape, Solid, TextLabel

RUNS_IN_PICTURE = 24
"""Largest number of runs in one picture: more cannot be told apart."""
FAINT = 0.3
"""Opacity of all runs except the first."""
RUN_FRAMES = 300
"""Frames of the longest run in one film of many."""


@dataclass(frozen=True, eq=False)
class Samples:
    """A run of an ensemble by its samples: t (k,), s, values by the name of their symbol (k,), parameters by name."""

    name: str
    t: Array
    values: Mapping[str, Array]
    coordinate_names: tuple[str, ...]
    parameters: Mapping[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, key: Any) -> Array:
        return self.values[str(key)]


def runs(given: Any) -> tuple[Any, ...]:
    """The motions in the argument: a motion, several, or a result of `simulate_many` or `sweep` with states over time."""
    if not hasattr(given, "coordinate_names") and hasattr(given, "dataset"):
        given = given.dataset
    if hasattr(given, "data_vars"):
        return _of_dataset(given)
    motions = tuple(given) if isinstance(given, list | tuple) else (given,)
    unplayable = [motion for motion in motions if not hasattr(motion, "coordinate_names")]
    if unplayable or not motions:
        kind = type(unplayable[0]).__name__ if unplayable else "an empty list"
        raise ModelError(f"a motion, a list of motions or what ap.simulate_many returns can be played, not {kind}")
    return motions


def _of_dataset(dataset: Any) -> tuple[Samples, ...]:
    time_axis = next((d for d in ("t", "sample") if d in dataset.sizes), None)
    states = [
        v for v in dataset.data_vars.values() if time_axis in v.dims and v.attrs.get("role") in ("coordinate", "velocity")
    ]
    if time_axis is None or not states:
        raise ModelError("this ensemble has no states over time: run ap.simulate_many(…, keep=times), times to be shown")
    run_axes = {d: range(dataset.sizes[d]) for d in states[0].dims if d != time_axis}
    roles = {str(v.attrs["symbol"]): v.attrs["role"] for v in states}
    names = tuple(name for name, role in roles.items() if role == "coordinate")
    fixed = {key: float(value) for key, value in json.loads(dataset.attrs.get("parameters", "{}")).items()}
    title, samples = str(dataset.attrs.get("system", "ensemble")), []
    for k, index in enumerate(product(*run_axes.values())):
        run = dataset.isel(dict(zip(run_axes, index, strict=True)))
        varied = {str(c.attrs["symbol"]): float(c) for c in run.coords.values() if c.attrs.get("role") == "parameter"}
        values = {str(v.attrs["symbol"]): np.asarray(run[v.name], dtype=float) for v in states}
        samples.append(Samples(f"{title}, run {k}", np.asarray(run["t"], dtype=float), values, names, {**fixed, **varied}))
    return tuple(samples)


def together(scene: Scene, motions: Sequence[Any], *, frames: int = RUN_FRAMES) -> Film:
    """All motions in one film, the first normal, the others faint; if there are too many, an even selection with a note."""
    chosen = np.unique(np.linspace(0, len(motions) - 1, min(len(motions), RUNS_IN_PICTURE)).astype(int))
    longest = max(abs(m.t[-1] - m.t[0]) for m in (motions[k] for k in chosen)) or 1.0
    count = lambda m: max(2, round(frames * abs(m.t[-1] - m.t[0]) / longest))
    films, notes = [], []
    for k in chosen:
        try:
            films.append(film(scene, motions[k], frames=count(motions[k])))
        except ModelError as error:  # a run that failed at once is noted, and the others are shown
            notes.append(str(error))
    if not films:
        raise ModelError(f"none of the runs can be drawn: {notes[0]}")
    longest_film = max(films, key=len)
    shapes: list[Shape] = [*films[0].shapes]
    for superposed in films[1:]:
        shapes += [
            _faint(shape, original) for shape, original in zip(superposed.shapes, films[0].shapes, strict=True) if _moves(shape)
        ]
    low, high = bounds(shapes)
    selected = (f"{len(chosen)} of {len(motions)} runs",) if len(chosen) < len(motions) else ()
    notes_of_all = dict.fromkeys([*selected, *notes, *(note for superposed in films for note in superposed.notes)])
    return Film(films[0].name, longest_film.t, tuple(shapes), films[0].flat, low, high, tuple(notes_of_all))


def _moves(shape: Shape) -> bool:
    arrays = [getattr(shape, name) for name in ("p", "R", "points", "v") if hasattr(shape, name)]
    return not isinstance(shape, TextLabel) and any(len(a) > 1 for a in arrays)


def _faint(shape: Shape, original: Shape) -> Shape:
    if not isinstance(shape, Solid) or not isinstance(original, Solid):
        return shape
    same = np.array_equal(shape.mesh.vertices, original.mesh.vertices)  # then the page contains it once
    return replace(shape, opacity=FAINT * shape.opacity, mesh=original.mesh if same else shape.mesh)


__all__ = ["Samples", "runs", "together"]
