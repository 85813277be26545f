"""`sweep`: a study over a grid of parameters, in chunks, that can be interrupted and resumed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.backends import silence, warn
from appell.disk.versions import numerical_versions
from appell.ensembles.ensemble_result import with_units
from appell.ensembles.motions import Motions
from appell.ensembles.order_reading import span
from appell.ensembles.simulate_many import simulate_many
from appell.ensembles.store import Store, StoredArray
from appell.errors import STATUS_TEXT, ModelError, StartsRefused, Status
from appell.loop.methods.tableaux import TABLEAUX
from appell.loop.methods.taylor import SERIES
from appell.model import System
from appell.model.described import system_of
from appell.model.fingerprint import fingerprint
from appell.model.given_units import given_in_si, in_seconds
from appell.model.prescription import settled
from appell.model.values import finite, reals
from appell.motion.dataset import UniqueNames, json_text
from appell.normal_form import normal_form
from appell.reading import as_array, refuse_large, refuse_many, shown, text_of, whole
from appell.reductions.kinds import meaning
from appell.reductions.reduce import Reduction
from appell.simulate.progress import reporter
from appell.spelling import checked_keywords
from appell.tree import Tree

if TYPE_CHECKING:
    import xarray as xr

CHUNKS_LOST_TO_WORKERS = 100
"""Most chunks that are repeated because their worker died."""
RUNS_PER_CHUNK = 20_000
"""Runs per chunk, unless that gives fewer than eight chunks."""
WITHOUT_EFFECT = ("threads",)
"""Options that do not affect the results."""


@dataclass(frozen=True)
class Grid:
    """`over` by name, and the initial states; the runs are their combinations, and the last one varies fastest."""

    axes: Mapping[str, NDArray[np.float64]]
    starts: Mapping[Any, Any]  # single values, or arrays of one length: the last axis
    parameters: Mapping[Any, float]
    system: System

    @property
    def shape(self) -> tuple[int, ...]:
        starts_each = self.starts_each
        return (*(len(values) for values in self.axes.values()), *((starts_each,) if starts_each else ()))

    @property
    def starts_each(self) -> int:
        """The initial states, if there are several for each combination."""
        return max((len(v) for v in self.starts.values() if np.ndim(v)), default=0)

    @property
    def runs(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) if self.shape else 1

    def part(self, first: int, count: int) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Initial states and parameters of some runs."""
        index = np.unravel_index(np.arange(first, min(first + count, self.runs)), self.shape or (1,))
        states = {str(s) for s in (*self.system.positions, *self.system.velocities)}
        starts: dict[Any, Any] = {text_of(k): np.asarray(v)[index[-1]] if np.ndim(v) else v for k, v in self.starts.items()}
        parameters: dict[Any, Any] = {text_of(k): v for k, v in self.parameters.items()}
        for (name, values), positions in zip(self.axes.items(), index, strict=False):
            (starts if name in states else parameters)[name] = values[positions]
        return starts, parameters


@checked_keywords(starts="start", fixed_step="step")
def sweep(
    system: System | Tree,
    over: Mapping[Any, Any],
    start: Mapping[Any, Any] | None = None,
    until: float = 1.0,
    parameters: Mapping[Any, Any] | None = None,
    *,
    store: str | Path,
    client: Any = None,
    chunk: int | None = None,
    progress: bool | Callable[[float], None] = False,
    **options: Any,
) -> Motions:
    """Motions over a grid of parameters (or initial values), stored as they finish; resumes after an interruption.

    Parameters
    ----------
    system: a `System`, or a `Tree` as it stands.
    over: parameter, coordinate or velocity → values, (n,); every combination is a run.
    start: other initial values; arrays of one length are a further dimension, `start`.
    until: end, s. parameters: the values of all other parameters.
    store: a folder for a Zarr group. Called again with the same arguments, `sweep` resumes where it was stopped or killed:
        completed chunks are neither lost nor made again. A store of another model or other arguments is refused, and so is
        one on which another process is working.
    client: a Dask `Client`: its workers make the chunks (each compiles once), and this process writes them. None: this process
        makes them on all cores.
    chunk: runs per chunk.
    progress: True for a bar, or a function of the number of finished runs.
    options: as in `simulate_many`: rtol, atol, step, method, keep, since, …

    Returns
    -------
    What `simulate_many` returns, with the names of `over` as dimensions of the dataset in place of `run` (`x_start` for a
    coordinate x). After Ctrl-C the finished runs are returned; the others have the status CANCELLED.
    """
    system = system_of(system, "ap.sweep")
    _refuse_options(options)
    over, start, parameters, units = _in_si(system, over, start, parameters)
    until = finite(in_seconds(until, "until="), "until=")
    system, parameters = settled(system, parameters, span(options.get("since", 0.0), until))
    grid = _grid(system, over, start, parameters)
    size = _chunk(chunk, grid.runs)
    task = _Task(system, until, options)
    if not isinstance(store, str | Path):
        raise ModelError(f"store= is the path of a folder, not {shown(store)}")
    probe = task(grid, 0, 1)  # finds names, shapes and bad input before anything is stored
    layout = {
        str(name): StoredArray(variable.dtype, variable.shape[1:], tuple(map(str, variable.dims)))
        for name, variable in probe.variables.items()
        if _stored(name, variable)
    }
    with Store(store, _manifest(grid, task, size), layout) as opened:
        if opened.repaired:
            warn(f"the store {opened.path} was damaged; written again: {'; '.join(opened.repaired)}")
        finished = opened.done()
        remaining = [k for k in range(-(-grid.runs // size)) if k not in finished]
        report = reporter(progress, 0, grid.runs)
        runs_made = sum(min(size, grid.runs - k * size) for k in finished)
        try:
            for k, arrays, messages in _chunks_made(task, grid, size, remaining, client):
                if (arrays["status"] == Status.CANCELLED).any():
                    raise KeyboardInterrupt
                opened.write(k, arrays, messages)
                runs_made += len(arrays["status"])
                if report is not None:
                    report(runs_made)
        except KeyboardInterrupt:
            warn(f"stopped: {runs_made} of {grid.runs} runs are done and stored; call ap.sweep again to go on")
        finally:
            if report is not None:
                report.end(runs_made)
        return Motions(with_units(_dataset(grid, probe, opened), system, units))


@dataclass(frozen=True)
class _Task:
    """The work on a chunk; it is pickled and sent to workers."""

    system: System
    until: float
    options: Mapping[str, Any]

    def __call__(self, grid: Grid, first: int, count: int) -> xr.Dataset:
        starts, parameters = grid.part(first, count)
        try:
            return simulate_many(self.system, starts, self.until, parameters, **self.options).dataset
        except StartsRefused as error:  # other chunks may have starts that can be used
            return error.motions.dataset


def _chunk_of(task: _Task, grid: Grid, first: int, count: int) -> tuple[dict[str, NDArray[Any]], dict[int, str]]:
    """Arrays over the runs of a chunk, and the messages of runs that add to their status."""
    with silence():
        motions = task(grid, first, count)
    arrays = {str(name): v.values for name, v in motions.variables.items() if _stored(name, v)}
    defaults = [STATUS_TEXT[Status(int(status))] for status in arrays["status"]]
    texts = map(str, motions.message.values)
    return arrays, {first + k: text for k, (text, usual) in enumerate(zip(texts, defaults, strict=True)) if text != usual}


def _stored(name: Any, variable: Any) -> bool:
    """Whether a variable has results of the runs, which are stored, and not what they were given."""
    varied = variable.attrs.get("role") in ("parameter", "start")
    return variable.dims[:1] == ("run",) and name not in ("run", "message") and not varied


def _chunks_made(
    task: _Task, grid: Grid, size: int, remaining: list[int], client: Any
) -> Iterator[tuple[int, dict[str, Any], dict[int, str]]]:
    """Yields (chunk, arrays, messages) as chunks finish."""
    if client is None:
        for k in remaining:
            yield (k, *_chunk_of(task, grid, k * size, size))
        return
    from distributed import CancelledError, as_completed

    shared = client.scatter([task, grid], broadcast=True)
    window = 2 * max(1, sum(client.nthreads().values()))
    waiting = iter(remaining)
    chunks: dict[str, int] = {}
    repeated = 0

    def submitted(k: int) -> Any:
        future = client.submit(_chunk_of, *shared, k * size, size, pure=False)
        chunks[future.key] = k
        return future

    queue = as_completed([submitted(k) for k in islice(waiting, window)])
    for future in queue:
        try:
            arrays, messages = future.result()
        except CancelledError:  # the worker died before its result was fetched
            repeated += 1
            if repeated > CHUNKS_LOST_TO_WORKERS:
                raise
            queue.add(submitted(chunks.pop(future.key)))
            continue
        if (following := next(waiting, None)) is not None:
            queue.add(submitted(following))
        yield chunks.pop(future.key), arrays, messages


def _start(key: Any, value: Any) -> Any:
    """An initial value, one number or an array."""
    label = f"the start of {text_of(key)}"
    return reals(value, label) if np.ndim(as_array(value, label)) else finite(value, label)


def _grid(system: System, over: Any, starts: Any, parameters: Any) -> Grid:
    """The grid of a sweep, checked."""
    if not isinstance(over, Mapping) or not over:
        raise ModelError("over= maps parameters (or coordinates and velocities) to values, over={k: np.linspace(1, 2, 50)}")
    allowed = {str(s) for s in (*system.parameters, *system.positions, *system.velocities)}
    axes = {}
    for key, values in over.items():
        refuse_large(values, f"the values of {text_of(key)} in over=")
        try:
            array = reals(values)
        except (TypeError, ValueError):
            raise ModelError(f"the values of {text_of(key)} in over= must be real numbers, not {shown(values)}") from None
        if text_of(key) not in allowed:
            names = ", ".join(sorted(allowed))
            strange = f"over= names {text_of(key)}, which is neither a parameter nor a state of"
            raise ModelError(f"{strange} {system.name}; it has {names}")
        if array.ndim != 1 or not len(array) or not np.isfinite(array).all():
            raise ModelError(f"the values of {text_of(key)} in over= are finite numbers in one dimension, not {array.shape}")
        axes[text_of(key)] = array
    runs = math.prod(len(values) for values in axes.values())
    sizes = " × ".join(str(len(values)) for values in axes.values())
    refuse_many(runs, f"a sweep of {sizes} = {runs} runs", width=8 * (len(axes) + system.nq + system.nv + 2))
    for table, option in ((starts, "start="), (parameters, "parameters=")):
        if not isinstance(table, Mapping | None):
            raise ModelError(f"{option} of a sweep maps symbols to values, not {type(table).__name__}")
        twice = [key for key in table or {} if text_of(key) in axes]
        if twice:
            raise ModelError(f"{twice[0]} is given by over= and by {option}; give it in one place")
    table = {text_of(k): _start(k, v) for k, v in (starts or {}).items()}
    lengths = {np.size(v) for v in table.values() if np.ndim(v)}
    if 0 in lengths:
        raise ModelError("there are no runs: an array of start= is empty")
    if len(lengths) > 1:
        raise ModelError(f"the arrays of start= must have one length, not {sorted(lengths)}; ap.outer makes all combinations")
    named = {text_of(key): value for key, value in (parameters or {}).items()}
    return Grid(axes, table, {key: finite(value, f"the parameter {key}") for key, value in named.items()}, system)


def _in_si(system: System, over: Any, start: Any, parameters: Any) -> tuple[Any, Any, Any, Mapping[str, Any]]:
    """The arguments of a sweep as numbers in SI, and the units in which they were given."""
    start, parameters, units = given_in_si(system, start, parameters)
    _, over, more_units = given_in_si(system, None, over)
    return over, start, parameters, {**units, **more_units}


def _refuse_options(options: Mapping[str, Any]) -> None:
    """Raises `ModelError` for options of `simulate_many` that a sweep does not have."""
    for name in ("product", "progress"):
        if name in options:
            raise ModelError(f"{name}= has no meaning inside a sweep")
    keep = options.get("keep", "final")
    if not isinstance(keep, str | Mapping | Reduction | int) and np.ndim(keep) > 1:
        raise ModelError("times for each run are not kept by a sweep; give times (k,)")
    inputs = options.get("inputs")
    for key, values in inputs.items() if isinstance(inputs, Mapping) else ():
        if np.ndim(values) > 1 and len(values) > 1:
            raise ModelError(f"a sweep has the same inputs in all its runs: give {text_of(key)} as values (steps,)")


def _chunk(chunk: Any, runs: int) -> int:
    """Number of runs of a chunk."""
    if chunk is None:
        return max(1, min(RUNS_PER_CHUNK, -(-runs // 8)))
    return whole(chunk, "chunk=, a number of runs,", 1)


def _manifest(grid: Grid, task: _Task, size: int) -> dict[str, Any]:
    """The identity of a sweep: equal digests and versions mean equal numbers."""
    effective = {name: value for name, value in sorted(task.options.items()) if name not in WITHOUT_EFFECT}
    options = {name: _as_meant(name, value) for name, value in effective.items()}
    starts = {name: np.asarray(value, dtype=float) for name, value in grid.starts.items()}
    definitions = {name: _registered(value) for name, value in effective.items()}
    question = [list(grid.axes.items()), starts, grid.parameters, task.until, size, options, definitions]
    texts = {name: str(value)[:200] for name, value in options.items()}
    over = {name: f"{len(values)} values" for name, values in grid.axes.items()}
    return {
        "title": f"{grid.runs} motions of {grid.system.name}", "model": model_digest(grid.system),
        "question": fingerprint(*question), "asked": {"over": over, "until": task.until, "options": texts},
        "runs": grid.runs, "chunk": size, "chunks": -(-grid.runs // size),
        "versions": numerical_versions(),
    }  # fmt: skip


def _registered(value: Any) -> Any:
    """The definition behind the name of a method or a kind of reduction, which may have been registered by the user."""
    if isinstance(value, Reduction):
        return meaning(value)
    if isinstance(value, Mapping):
        return {text_of(key): _registered(entry) for key, entry in value.items()}
    return TABLEAUX.get(value, SERIES.get(value)) if isinstance(value, str) else None


def _as_meant(name: str, value: Any) -> Any:
    """A canonical form of an option: 1 and 1.0 are equal, and so are a list and an array of times."""
    if name == "dtype":
        return np.dtype(value).name
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return int(value) if name in ("keep", "max_steps") else float(value)
    return np.asarray(value, dtype=float) if isinstance(value, list | tuple) else value


def model_digest(system: System) -> str:
    """SHA-256 of the parts of a system and of its equations (a kind of joint is a function, identified by its result)."""
    form = normal_form(system)
    names = ("M", "h", "Q", "A", "a0", "W", "N", "n0", "f0", "f1", "g", "g_d", "restitution")
    return fingerprint(system, form.select(*names).digest)


def _dataset(grid: Grid, probe: xr.Dataset, opened: Store) -> xr.Dataset:
    """The arrays of the store with the axes of the grid as dimensions."""
    import xarray as xr

    names = UniqueNames()
    for reserved, variable in probe.variables.items():
        if variable.attrs.get("role") not in ("parameter", "start"):
            names(str(reserved))
    states = {str(s) for s in (*grid.system.positions, *grid.system.velocities)}
    dims = {names(f"{name}_start" if name in states else name): name for name in grid.axes}
    lead = (*dims, *(("start",) if grid.starts_each else ()))
    arrays, shape = opened.values, grid.shape
    message = np.full(grid.runs, "", dtype=object)
    status = arrays["status"]
    for code in np.unique(status):
        message[status == code] = STATUS_TEXT[Status(int(code))]
    for k, text in opened.messages.items():
        message[k] = text
    variables: dict[str, Any] = {"message": (lead, message.reshape(shape))}
    for name, values in arrays.items():
        template = probe.variables[name]
        variables[name] = ((*lead, *template.dims[1:]), values.reshape(*shape, *values.shape[1:]), template.attrs)
    coordinates: dict[str, Any] = {
        new: (new, grid.axes[name], {"symbol": name, "units": "SI", "long_name": name}) for new, name in dims.items()
    }
    for name, variable in probe.variables.items():
        if variable.dims and variable.dims[0] != "run":
            coordinates[str(name)] = (variable.dims, variable.values, variable.attrs)
    attrs = {**probe.attrs, "title": opened.manifest["title"], "parameters": json_text(grid.parameters)}
    if opened.repaired:
        attrs["repaired"] = "; ".join(opened.repaired)
    return xr.Dataset(variables, coordinates, attrs).set_coords([n for n in ("t",) if n in variables])


__all__ = ["model_digest", "sweep"]
