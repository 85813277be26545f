"""Random states at which a system is judged: reproducible, and skipped where an expression has no value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from appell.graph import Fn

Array = NDArray[np.float64]


Groups = Sequence[Sequence[int]]


def random_inputs(fn: Fn, rng: np.random.Generator, parameters: Array | None = None, quaternions: Groups = ()) -> list[Array]:
    """One random value for each input: states in (−1, 1) off the axes, parameters in (0.5, 1.5) unless given.

    `quaternions` are the indices in q of coordinates that form a unit vector.
    """
    values = []
    for port in fn.inputs:
        if port.name == "p":
            values.append(rng.uniform(0.5, 1.5, port.shape) if parameters is None else parameters)
        else:
            values.append(rng.uniform(0.1, 1.0, port.shape) * rng.choice([-1.0, 1.0], port.shape))
        for group in quaternions if port.name == "q" else ():
            values[-1][list(group)] /= np.linalg.norm(values[-1][list(group)])
    return values


def finite_samples(
    fn: Fn, *, count: int, seed: int = 0, parameters: Array | None = None, quaternions: Groups = ()
) -> Iterator[tuple[list[Array], dict[str, Array]]]:
    """Up to `count` random inputs with finite outputs, out of four times as many tries."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(4 * count):
        inputs = random_inputs(fn, rng, parameters, quaternions)
        with np.errstate(all="ignore"):
            out = fn(*inputs)
        if all(np.isfinite(value).all() for value in out.values()):
            found += 1
            yield inputs, out
        if found == count:
            return
