"""A linearization: matrices, eigenvalues and modes of small motions, from `linearize`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import matrix_balance

from appell.analysis.mode_motion import ReferenceState, mode_motion, modes_to_show
from appell.analysis.ports import StateMatrices
from appell.analysis.state_space import StateSpace
from appell.delegates import delegate
from appell.errors import ModelError
from appell.model import System
from appell.motion.result_frame import Result
from appell.rows import singular

if TYPE_CHECKING:
    from appell.motion.motion import Motion

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

SINGULAR_VALUE_ROUNDING = 1e-12
"""A singular value below this fraction of the size of the matrix is rounding."""

OWN_ROUNDING, COMMON_ROUNDING = 1e-11, 1e-13
"""An entry of A below these fractions of the largest entry in its row, or of the fastest rate of the system, is rounding. The
second keeps slow motions beside fast ones, down to 3e-7 of their frequency."""


@dataclass(frozen=True, eq=False)
class Linearization(Result):
    """M u̇ + (D + G) u + (K + N) z = 0. Along a motion every array has the times first.

    Attributes
    ----------
    velocities: the independent velocities of u, (nu,).
    coordinates: the coordinates of z, those of `velocities` first, states of first order last, (nz,).
    M, D, G, K, N: (nu, nu); with constraints of second order their variations are the last rows.
    follow: (nu, nz − nu), stiffness of the dependent coordinates; zero for ignorable ones.
    A: (nz + nu, nz + nu), of (z, u)˙ = A (z, u), 1/s.
    B: (nv, nz), displacements of all velocities' coordinates for each z. a, multipliers: of the motion, (nv,), (rows,).
    state_matrices: A, B, C, D of the requested inputs and outputs; `state_space` has them with names.
    reference: the run and the state of the linearization; None along a motion.
    changing: whether the matrices, given at one time, depend on time: then their eigenvalues are not meaningful.
    """

    system: System
    velocities: tuple[Any, ...]
    coordinates: tuple[Any, ...]
    M: Array
    D: Array
    G: Array
    K: Array
    N: Array
    follow: Array
    A: Array
    B: Array
    a: Array
    multipliers: Array
    changing: bool = False
    state_matrices: StateMatrices | None = None
    reference: ReferenceState | None = None

    @cached_property
    def state_space(self) -> StateSpace:
        """ẋ = A x + B u, y = C x + D u for the inputs and outputs of `ap.linearize(…, inputs=[…], outputs=[…])`."""
        matrices = self.state_matrices
        if matrices is None:
            raise ModelError("no inputs were named; give ap.linearize(…, inputs=[u], outputs=[…])")
        states = (*self.coordinates, *self.velocities)
        A, B, C, D, sizes = matrices[:5]
        outputs = states if matrices.outputs is None else matrices.outputs
        return StateSpace(A, B, C, D, states, matrices.inputs, outputs, sizes, self.system.name, self.changing)

    @cached_property
    def fastest(self) -> float:
        """The largest rate in the linear equations, 1/s, whatever the units of coordinates; 1 if nothing changes them."""
        nz, nu = len(self.coordinates), len(self.velocities)
        A = self.in_sizes(self.A, self._inertial_sizes)
        slow = np.sqrt(A[nz:, :nu].max(initial=0.0))
        return float(max(A[nz:, nz:].max(initial=0.0), slow, A.diagonal().max(initial=0.0))) or 1.0

    @cached_property
    def _inertial_sizes(self) -> Array:
        """Units of the states, (nz + nu,), by the inertia of velocities: 1/√M_ii; dependent coordinates 1."""
        nz, nu = len(self.coordinates), len(self.velocities)
        inertia = _largest(self.M).diagonal()
        units = 1 / np.sqrt(np.where(inertia > 0, inertia, 1.0))
        return np.concatenate([units, np.ones(nz - nu), units])

    @cached_property
    def sizes(self) -> Array:
        """Units of the states, (nz + nu,), in which all entries of A are rates, 1/s.

        Velocities and their coordinates are measured by their inertia and by the fastest rate, dependent coordinates and states
        of first order by what moves them.
        """
        nz, nu = len(self.coordinates), len(self.velocities)
        sizes, A = self._inertial_sizes.copy(), _largest(self.A)
        sizes[nz:] *= self.fastest
        measured = [*range(nu), *range(nz, len(A))]
        driven = (A[nu:nz, measured] * sizes[measured]).max(axis=1, initial=0.0) / self.fastest
        sizes[nu:nz] = np.where(driven > 0, driven, 1.0)
        return sizes

    def in_sizes(self, A: Array, sizes: Array | None = None) -> Array:
        """|A| with its states in their own units: rates, 1/s; along a motion the largest."""
        sizes = self.sizes if sizes is None else sizes
        return _largest(A) * sizes / sizes[:, None]

    @cached_property
    def _influential_states(self) -> list[int]:
        """States that influence others: what remains after successively removing states on which no other depends."""
        A, core = self.in_sizes(self.A), list(range(self.A.shape[-1]))
        rounding = np.maximum(OWN_ROUNDING * A.max(axis=1, initial=0.0), COMMON_ROUNDING * self.fastest)
        while True:
            idle = [j for j in core if (A[core, j] <= rounding[core]).all()]
            if not idle:
                return core
            core = [j for j in core if j not in idle]

    @cached_property
    def eigenvalues(self) -> Complex:
        """Eigenvalues of A, largest real part first, 1/s; zeros are exact where nothing depends on a coordinate or velocity."""
        return self._spectrum[0]

    @cached_property
    def modes(self) -> Complex:
        """(nv, n): the displacement of every velocity's coordinate in each mode, largest entry 1; zero for idle states."""
        return self._spectrum[1]

    @cached_property
    def _spectrum(self) -> tuple[Complex, Complex]:
        if self.A.ndim > 2:
            raise ModelError("along a motion A changes with time: its eigenvalues say nothing; use linearization.A")
        if self.changing:
            raise ModelError(f"A of {self.system.name} changes with time: its eigenvalues say nothing; use linearization.A")
        n, nz, core = len(self.A), len(self.coordinates), self._influential_states
        eig: Any = np.linalg.eig
        A = self.A[np.ix_(core, core)]
        values, vectors = eig(A.astype(complex))
        values[np.argsort(np.abs(values))[: _zeros(A)]] = 0.0  # rounding would split double ones into ±1e-8
        largest = np.abs(values).max(initial=0.0) or 1.0
        order = np.lexsort((-values.imag, -np.round(values.real / largest, 12)))  # rounded: conjugates stay together
        values, eigenvectors = values[order], np.zeros((n, len(core)), dtype=complex)
        eigenvectors[core] = vectors[:, order]
        dependent = [i for i in range(n) if i not in core]
        for k, value in enumerate(values):  # dependent states: (λ − A_rr) x_r = A_rc x_c
            if dependent and abs(value) > 1e-9 * largest:  # at λ = 0 the matrix is singular
                lhs = value * np.eye(len(dependent)) - self.A[np.ix_(dependent, dependent)]
                eigenvectors[dependent, k] = np.linalg.solve(lhs, self.A[np.ix_(dependent, core)] @ eigenvectors[core, k])
        shapes = self.B @ eigenvectors[:nz]
        size = np.array([column[np.argmax(np.abs(column))] if np.abs(column).max(initial=0) > 0 else 1 for column in shapes.T])
        idle = np.zeros((self.B.shape[0], len(dependent)), dtype=complex)
        zeros: Complex = np.zeros(len(dependent), dtype=complex)
        return np.concatenate([values, zeros]), np.hstack([shapes / size if len(size) else shapes, idle]).astype(complex)

    @property
    def stable(self) -> bool:
        """Whether no mode grows, up to rounding: a necessary condition, sufficient where all modes decay."""
        size = np.abs(self.eigenvalues).max(initial=0.0)
        return bool((self.eigenvalues.real <= 1e-7 * size).all())

    def variables(self) -> Mapping[str, Any]:
        """M, D, G, K, N over (equation, velocity), A over (of, by), along a motion with the sample first; at rest and in
        steady motions the eigenvalues and modes as real and imaginary parts."""
        sample_dims = ("sample",) * (self.A.ndim - 2)
        meanings = {"M": "inertia", "D": "damping", "G": "gyroscopic", "K": "stiffness", "N": "circulatory"}
        table: dict[str, Any] = {
            name: ((*sample_dims, "equation", "velocity"), getattr(self, name), {"units": "SI", "long_name": meaning})
            for name, meaning in meanings.items()
        }
        table["A"] = ((*sample_dims, "of", "by"), self.A, {"units": "SI", "long_name": "matrix of the first-order equations"})
        if self.A.ndim == 2 and not self.changing:
            for part, of in (("real", np.real), ("imag", np.imag)):
                table[f"eigenvalue_{part}"] = ("mode", of(self.eigenvalues), {"units": "1/s", "long_name": f"{part} part"})
                table[f"mode_{part}"] = (("displacement", "mode"), of(self.modes), {"units": "1", "long_name": f"{part} part"})
        return table

    def coords(self) -> Mapping[str, Any]:
        names = [str(v) for v in self.velocities]
        states = [*map(str, self.coordinates), *names]
        return {"velocity": names, "of": states, "by": states}

    @property
    def ok(self) -> bool:
        """Whether the eigenvalues determine stability: the matrices do not depend on time."""
        return self.A.ndim == 2 and not self.changing

    @property
    def message(self) -> str:
        """What was linearized, and whether small motions grow."""
        return str(self).partition("\n")[0]

    def plot(self, ax: Any = None) -> Any:
        """Plots the eigenvalues in the complex plane; returns the figure."""
        return delegate("Linearization.plot")(self.eigenvalues, ax)

    def mode_motion(self, mode: int, *, amplitude: float | None = None, periods: float = 1.0) -> Motion:
        """One mode, numbered as `eigenvalues`, as a `Motion` for display; `amplitude` (SI) is that of the coordinate that moves
        most.

        Positions are projected onto the constraints. It shows the linear equations and is not a solution of the system.
        """
        return mode_motion(self, mode, amplitude, periods)

    def plot_modes(self, *, amplitude: float | None = None, scene: Any = None) -> Any:
        """Plots each mode: the system at both extremes, with intermediate positions faint; returns the figure."""
        pairs = [(self._mode_text(k), mode_motion(self, k, amplitude)) for k in modes_to_show(self)]
        return delegate("Linearization.plot_modes")(pairs, scene)

    def animate(
        self, mode: int, path: Any = None, *, amplitude: float | None = None, scene: Any = None, fps: float | None = None
    ) -> Any:
        """Animates one mode over four periods: a player in a notebook, or a file as in `motion.animate`."""
        return mode_motion(self, mode, amplitude, 4.0).animate(path, scene=scene, fps=fps)

    def _mode_text(self, k: int) -> str:
        """A mode in words: «mode 0: 0.71 Hz, decays by a factor e in 2.3 s»."""
        value = complex(self.eigenvalues[k])
        size = np.abs(self.eigenvalues).max(initial=0.0)
        phrases = [f"{abs(value.imag) / (2 * np.pi):.4g} Hz"] if abs(value.imag) > 1e-6 * size else []
        if abs(value.real) > 1e-6 * size:
            phrases.append(f"{'decays' if value.real < 0 else 'grows'} by a factor e in {1 / abs(value.real):.3g} s")
        return f"mode {k}: {', '.join(phrases)}"

    def __str__(self) -> str:
        names = ", ".join(map(str, self.velocities))
        if self.A.ndim > 2:
            return f"{self.system.name} linearised along a motion, {len(self.A)} times, in {names}"
        if self.changing:
            return f"{self.system.name} linearised in {names}, at one time of many"
        values = np.array2string(self.eigenvalues, precision=5, suppress_small=True)
        return f"{self.system.name} linearised in {names}: {'stable' if self.stable else 'unstable'}\n  eigenvalues {values}"

    def __repr__(self) -> str:
        return f"<Linearization of {self.system.name} in {', '.join(map(str, self.velocities))}>"


def _largest(A: Array) -> Array:
    """|A|, along a motion the largest of all times."""
    return np.abs(A).max(axis=0) if A.ndim > 2 else np.abs(A)


def _zeros(A: Array) -> int:
    """The number of zero eigenvalues of A: null spaces are removed successively until the remainder is regular."""
    A, count = matrix_balance(A, permute=False)[0] if len(A) else A, 0
    size = np.linalg.norm(A)
    while len(A):
        _, sizes, V = singular(A)
        row_space = V[sizes > SINGULAR_VALUE_ROUNDING * size]
        if len(row_space) == len(A):
            break
        A, count = row_space @ A @ row_space.T, count + len(A) - len(row_space)
    return count
