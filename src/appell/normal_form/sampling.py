"""Random states for checks of a system: reproducible, and skipped where an expression has no value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from appell.errors import NoValues
from appell.graph import Fn
from appell.model import System
from appell.model.prescription import tables

Array = NDArray[np.float64]


Groups = Sequence[Sequence[int]]


WIDE_BOX = 10.0
"""Half the width of the box used where the unit box has no state with finite values."""

SAMPLE_SPREAD = 0.05
"""Distance of random states from a given one, relative to its size, or absolute where it is 0."""

Around = Mapping[str, Array] | None


def no_values(system: System, what: str) -> NoValues:
    """The error for a system without a finite value at any random state, with advice."""
    return NoValues(
        f"the {what} of {system.name} have no finite value at any random state; is there a division by"
        " zero, or a root or logarithm of a negative number? If they have values elsewhere, say where it is to be judged:"
        f" System(…, sample={{{', '.join(f'{q}: …' for q in system.coordinates[:3])}}})"
    )


def place_of(system: System) -> Around:
    """The state near which the system is checked: its `sample`, with defaults as for a start; "t": first and last time at which
    the tables among its functions of time have values, s, (2,)."""
    ranges = [table.range for table in tables(system)]
    times = {"t": np.array([max(begin for begin, _ in ranges), min(last for _, last in ranges)])} if ranges else {}
    if system.sample is None:
        return times or None
    sample = system.sample
    state = {name: np.array([sample.get(s, s.start) for s in symbols], dtype=float)
             for name, symbols in (("q", system.positions), ("v", system.velocities))}  # fmt: skip
    return state | times | {"p": np.array([sample.get(s, np.nan) for s in system.parameters], dtype=float)}  # NaN: any value


def random_inputs(
    fn: Fn,
    rng: np.random.Generator,
    parameters: Array | None = None,
    quaternions: Groups = (),
    *,
    around: Around = None,
    far: bool = False,
) -> list[Array]:
    """One random value for each input: states in (−1, 1) off the axes, parameters in (0.5, 1.5) unless given.

    `quaternions` are the indices in q of coordinates that form a unit vector; `around`: name of an input → value near which
    states are drawn; `far`: coordinates are drawn in (−`WIDE_BOX`, `WIDE_BOX`) instead.
    """  # fmt: skip
    values = []
    for port in fn.inputs:
        if port.name == "p":
            drawn = rng.uniform(0.5, 1.5, port.shape)
            values_of_p = drawn if around is None or "p" not in around else np.where(np.isnan(around["p"]), drawn, around["p"])
            values.append(values_of_p if parameters is None else parameters)
        elif port.name == "t" and around is not None and "t" in around:
            values.append(random_time(rng, around))
        elif around is not None and port.name in around:
            centre = np.asarray(around[port.name], dtype=float)
            values.append(_point_near(centre, rng.uniform(-1, 1, port.shape), rng))
        elif far and port.name == "q":
            values.append(rng.uniform(-WIDE_BOX, WIDE_BOX, port.shape))
        else:
            values.append(rng.uniform(0.1, 1.0, port.shape) * rng.choice([-1.0, 1.0], port.shape))
        for group in quaternions if port.name == "q" else ():
            values[-1][list(group)] /= np.linalg.norm(values[-1][list(group)])
    return values


def random_time(rng: np.random.Generator, around: Around = None) -> float:
    """A time, s: in (0.1, 1), or where all tables have values."""
    first, last = (0.1, 1.0) if around is None or "t" not in around else np.sort(around["t"])
    return float(rng.uniform(first, last))


def random_state(nq: int, nv: int, rng: np.random.Generator, around: Around = None) -> tuple[Array, Array]:
    """(q, v) in the unit box, or near a given state."""
    q, v = rng.uniform(-1, 1, nq), rng.uniform(-1, 1, nv)
    if around is None or "q" not in around:
        return q, v
    return _point_near(around["q"], q, rng), _point_near(around["v"], v, rng)


def _point_near(centre: Array, direction: Array, rng: np.random.Generator) -> Array:
    """A point within `SAMPLE_SPREAD` of a given one, often much nearer, since the width of the domain is not known."""
    return centre + SAMPLE_SPREAD * 10 ** -rng.uniform(0, 6) * np.where(centre == 0, 1.0, np.abs(centre)) * direction


def finite_samples(
    fn: Fn, *, count: int, seed: int = 0, parameters: Array | None = None, quaternions: Groups = (), around: Around = None
) -> Iterator[tuple[list[Array], dict[str, Array]]]:
    """Up to `count` random inputs with finite outputs, from four times as many draws; if there are none, from a wider box."""
    rng = np.random.default_rng(seed)
    count_finite = 0
    for k in range(100 * count):
        if count_finite and k >= 4 * count:
            return
        inputs = random_inputs(fn, rng, parameters, quaternions, around=around, far=k >= 4 * count)
        with np.errstate(all="ignore"):
            out = fn(*inputs)
        if all(np.isfinite(value).all() for value in out.values()):
            count_finite += 1
            yield inputs, out
        if count_finite == count:
            return
