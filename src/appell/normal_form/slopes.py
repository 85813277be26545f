"""∂f/∂z of a flow ż = f(t, z, p) for implicit methods, without differentiating the solve for accelerations.

    ż = F(t, z, p, y),   0 = R(t, z, p, y),   y = (a, λ)            ∂f/∂z = F_z − F_y R_y⁻¹ R_z

R is affine in y: y and the derivative come from one factorisation of R_y = [[M, −W], [A, 0]], in numbers. All four matrices are
sparse; the graph gives their entries at the positions of `pattern`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.errors import FormNotApplicable
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, apply, column, depends, jacobian, pattern, substitute, symbols, zeros
from appell.normal_form.flow import Flow
from appell.remember import remembered

Array = NDArray[np.float64]
Places = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class FlowSlopes:
    """rows: (t, z, p) → R_y (entries), r0 = R at y = 0; slopes: (t, z, p, y) → F_z, F_y, R_z (entries).

    places: name of a matrix → (row, column) of its entries; ny: length of y. constant: whether no entry depends on the state
    or time, except those of the work, on which nothing else depends.
    """

    rows: Fn
    slopes: Fn
    places: dict[str, Places]
    nz: int
    ny: int
    constant: bool = False

    def matrix(self, name: str, entries: Array) -> Array:
        """A dense matrix from its entries."""
        length = {"F": self.nz, "R": self.ny, "z": self.nz, "y": self.ny}
        full = np.zeros((length[name[0]], length[name[2]]))
        places = self.places[name]
        if places:
            full[tuple(np.array(places).T)] = entries
        return full


@remembered
def flow_slopes(flow: Flow) -> FlowSlopes | None:
    """The derivative of a flow; None where y is not the solution of a linear system: rows or forces nonlinear in a and λ."""
    try:
        implicit = flow.implicit()
    except FormNotApplicable:
        return None
    sizes = {port.name: port.size for port in implicit.inputs}
    inputs = {name: symbols(name, size) for name, size in sizes.items()}
    out = apply(implicit, *inputs.values())
    z, y = inputs["z"], inputs["y"]
    F, R = out["zd"], out["residual"]
    matrices = {"R_y": jacobian(R, y), "F_z": jacobian(F, z), "F_y": jacobian(F, y), "R_z": jacobian(R, z)}
    if depends(matrices["R_y"], y):
        return None
    places = {name: tuple(pattern(matrix)) for name, matrix in matrices.items()}
    entries = {name: _entries(matrix, places[name]) for name, matrix in matrices.items()}
    r0 = substitute(R, [y], [zeros(y.numel())])
    ports = {name: (x, () if name == "t" else (x.numel(),)) for name, x in inputs.items()}
    without_y = {name: port for name, port in ports.items() if name != "y"}
    shaped = lambda value: (value, (value.numel(),))
    return FlowSlopes(
        make_fn("stiff_rows", without_y, {"R_y": shaped(entries["R_y"]), "r0": shaped(r0)}),
        make_fn("stiff_slopes", ports, {name: shaped(entries[name]) for name in ("F_z", "F_y", "R_z")}),
        places, z.numel(), y.numel(), _constant(matrices, inputs, flow.nz - flow.has_work),
    )  # fmt: skip


def _constant(matrices: dict[str, Value], inputs: dict[str, Value], rows: int) -> bool:
    """Whether the matrices do not depend on t, z and y; for ż only the first `rows`."""
    moving = column(inputs["t"], inputs["z"], inputs["y"])
    blocks = [matrices[name][:rows, :] if name[0] == "F" else matrices[name] for name in matrices]
    return not any(depends(matrix, moving) for matrix in blocks)


def _entries(matrix: Value, places: Places) -> Value:
    return column(*(matrix[i, j] for i, j in places)) if places else zeros(0)


__all__ = ["FlowSlopes", "flow_slopes"]
