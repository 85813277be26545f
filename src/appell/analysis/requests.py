"""What all analyses share: reading of their arguments, and the states of a system in a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.compiled.compiling import compile_near
from appell.compiled.run import Run
from appell.errors import ModelError, SimulationError, SingularConfiguration
from appell.model import System
from appell.model.described import system_of
from appell.model.values import reals
from appell.motion.motion import Motion
from appell.reading import name_in, refuse_large, shown, table_of, text_of
from appell.simulate.simulate import simulate

Array = NDArray[np.float64]


def model_of(system: Any, what: str) -> System:
    """The `System` behind a tree or a compiled run."""
    return system.system if isinstance(system, Run) else system_of(system, what, also=" or what ap.compile returns")


def run_of(system: Any, parameters: Mapping[Any, Any] | None, options: dict[str, Any], start: Any) -> Run:
    """The compiled run: from `ap.compile`, checked near the start, or an existing run, whose parameters are fixed. Removes
    backend= from the options."""
    if not isinstance(system, Run):
        return compile_near(system, start, parameters, backend=options.pop("backend", "auto"))
    if parameters is not None:
        raise ModelError("this system was compiled with its parameters; compile it again to change them")
    return system


def parameter_named(system: System, key: Any, what: str) -> str:
    """The name of a parameter of the system."""
    names = [str(p) for p in system.parameters]
    name = text_of(key)
    if name not in names:
        raise ModelError(f"{what} names {name}, which is no parameter of '{system.name}'; it has {', '.join(names) or 'none'}")
    return name


def given_once(given: Mapping[Any, Any] | None, keys: Iterable[str], here: str, there: str) -> None:
    """Raises for a value given in two arguments."""
    twice = sorted(set(keys) & {name_in(k) for k in table_of(given, there)})
    if twice:
        raise ModelError(f"{twice[0]} is given in {here} and in {there}; give it once")


def axis(over: Any, what: str, count: int) -> list[tuple[str, Array]]:
    """(name, values) of a request {symbol: values} with `count` entries."""
    if not isinstance(over, Mapping) or len(over) != count:
        count_text = "one entry" if count == 1 else f"{count} entries"
        raise ModelError(f"{what} takes {count_text}, symbol → values, not {shown(over)}")
    axes = []
    for key, listed in over.items():
        refuse_large(listed, f"the values of {text_of(key)}")
        try:
            values = reals(listed)
        except (TypeError, ValueError):
            raise ModelError(f"the values of {text_of(key)} must be a list of finite numbers, not {shown(listed)}") from None
        if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
            raise ModelError(f"the values of {text_of(key)} must be a list of finite numbers")
        axes.append((text_of(key), values))
    return axes


def simulated(*args: Any, **options: Any) -> Motion:
    """`ap.simulate`; if it raises with a partial motion (an ambiguous corner), returns that motion."""
    try:
        return simulate(*args, **options)
    except (SimulationError, SingularConfiguration) as error:
        if not isinstance(motion := getattr(error, "motion", None), Motion):
            raise
        return motion


def parameter_variable(dim: str, name: str, values: Array) -> tuple[str, Array, dict[str, str]]:
    """The varied parameter, over its dimension."""
    return dim, values, {"units": "SI", "symbol": name, "long_name": f"parameter {name}"}


def state_names(system: System) -> tuple[str, ...]:
    """Coordinates, then velocities."""
    return tuple(str(s) for s in (*system.positions, *system.velocities))


def state_column(system: System, key: Any) -> int:
    """The index of a coordinate or velocity in z = (q, v), by symbol or name."""
    names = state_names(system)
    if text_of(key) not in names:
        raise ModelError(f"{text_of(key)} is neither a coordinate nor a velocity of '{system.name}'; it has {', '.join(names)}")
    return names.index(text_of(key))


def state_variables(system: System, dims: tuple[str, ...], z: Array) -> dict[str, Any]:
    """Each coordinate and velocity over some dimensions, from z (…, nq + nv); a dot in a name becomes _."""
    attributes = lambda name: {"units": "SI", "symbol": name, "long_name": name}
    return {name.replace(".", "_"): (dims, z[..., i], attributes(name)) for i, name in enumerate(state_names(system))}


__all__ = [
    "axis",
    "given_once",
    "model_of",
    "parameter_named",
    "parameter_variable",
    "simulated",
    "state_column",
    "state_names",
    "state_variables",
]
