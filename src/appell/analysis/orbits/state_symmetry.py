"""Symmetric orbits: invariant under a map S of the state combined with a shift by a part of the period.

    z(t + T/n) = S z(t),  Sⁿ = 1            closed by  S z(T/n; z₀) − z₀ = 0,  with the multipliers of S ∂z(T/n)/∂z₀

Over the whole period a symmetric orbit loses its symmetry at a multiplier 1, where Newton's equations are singular. Those of S
and the n-th part of the period are regular: their multiplier there is −1 (J. W. Swift and K. Wiesenfeld, Phys. Rev. Lett. 52
(1984) 705).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from appell.analysis.natural_scales import alike, kinetic_weights, size_near
from appell.compiled.run import Run
from appell.errors import ModelError
from appell.jets import expression
from appell.model import System
from appell.reading import table_of, text_of

Array = NDArray[np.float64]

HIGHEST_ORDER = 12
SYMMETRIC = 1e-9
"""Accelerations and distances at a state and its image must agree to this fraction of their size."""
STATES_COMPARED = 5


@dataclass(frozen=True, eq=False)
class StateSymmetry:
    """S z = L z + l of order n; text: as given."""

    L: Array
    offset: Array
    order: int
    text: str

    @staticmethod
    def of(system: System, said: Mapping[Any, Any]) -> StateSymmetry:
        """From the given map: coordinate or velocity → expression in these; the others are unchanged, and velocities follow."""
        symbols = (*system.positions, *system.velocities)
        images = table_of(said, "symmetry=")
        table: dict[str, Any] = {text_of(key): expression(value, "symmetry=") for key, value in images.items()}
        unknown = [name for name in table if name not in map(str, symbols)]
        if unknown or not table:
            complaint = f"names {unknown[0]}, which is neither a coordinate nor a velocity" if unknown else "is empty"
            raise ModelError(f"symmetry= {complaint} of '{system.name}'; say it as {{{symbols[0]}: -{symbols[0]}}}")
        names: Any = {sympy.Symbol(str(s)): s for s in symbols}
        rows: list[Any] = [table.get(str(s), s).xreplace(names) for s in symbols]
        for i, v in enumerate(system.velocities):
            q = next((q for q in system.positions if str(v) == f"{q}.d"), None)
            if q is not None and str(v) not in table and str(q) in table:
                image = rows[system.positions.index(q)]
                rows[len(system.positions) + i] = sum(
                    (sympy.diff(image, p) * w for p in system.positions for w in system.velocities if str(w) == f"{p}.d"),
                    sympy.Integer(0),
                )
        return _affine(system, rows, symbols, ", ".join(f"{key} → {value}" for key, value in table.items()))

    def __call__(self, z: Array) -> Array:
        return self.L @ z + self.offset

    def refuse_unless_symmetric(self, run: Run, z: Array, since: float, T: float) -> None:
        """Raises unless f(t + T/n, S z) = L f(t, z) with the same distances from walls, at states near z."""
        rng, nq, form = np.random.default_rng(3), run.form.nq, run.form
        size, weights = size_near(run, z, since, T), kinetic_weights(run, since, z)
        for share in rng.random(STATES_COMPARED):
            y, t = z + 0.1 * size * rng.uniform(-1, 1, len(z)), since + T * share
            image, later = self(y), t + T / self.order
            rate = lambda at, w: np.concatenate(
                [np.ravel(form.select("qd")(at, w[:nq], w[nq:], run.p)["qd"]), run.acceleration(at, w[:nq], w[nq:])[0]]
            )
            gaps = lambda at, w: np.sort(np.ravel(form.select("g")(at, w[:nq], w[nq:], run.p)["g"]))
            f, image_f, own_gaps = rate(later, image), self.L @ rate(t, y), gaps(t, y)
            kinds = [(f[k], image_f[k], weights[k]) for k in (slice(0, nq), slice(nq, None))]
            for later_values, image_values, weight in (*kinds, (gaps(later, image), own_gaps, np.ones(len(own_gaps)))):
                if (np.abs(later_values - image_values) > SYMMETRIC * alike(np.abs(later_values), weight)).any():
                    raise ModelError(
                        f"'{run.system.name}' does not have the symmetry {self.text}, t → t + T/{self.order}: the accelerations"
                        " of a state and of its image differ"
                    )


def _affine(system: System, rows: list[Any], symbols: tuple[Any, ...], text: str) -> StateSymmetry:
    L = np.zeros((len(symbols), len(symbols)))
    offset = np.zeros(len(symbols))
    for i, row in enumerate(rows):
        slopes = [sympy.diff(row, s) for s in symbols]
        constant = sympy.expand(row - sum(k * s for k, s in zip(slopes, symbols, strict=True)))
        if any(entry.free_symbols for entry in (*slopes, constant)):
            raise ModelError(f"symmetry= maps {symbols[i]} to {row}: it is a linear map of the state with numbers")
        L[i], offset[i] = [float(k) for k in slopes], float(constant)
    power, shift = np.eye(len(L)), np.zeros(len(L))
    for order in range(1, HIGHEST_ORDER + 1):
        power, shift = L @ power, L @ shift + offset
        if np.allclose(power, np.eye(len(L)), atol=1e-12):
            if order == 1:
                break
            return StateSymmetry(L, offset, order, text)
    raise ModelError(f"symmetry= {text} is the identity, or does not come back to it in {HIGHEST_ORDER} steps")


__all__ = ["StateSymmetry"]
