"""A linearization with inputs and outputs: ẋ = A x + B u, y = C x + D u, with the standard questions of control theory.

    G(ω) = C (iω − A)⁻¹ B + D                                       frequency response
    K = R⁻¹BᵀP,    AᵀP + PA − PBR⁻¹BᵀP + Q = 0                      least ∫ (xᵀQx + uᵀRu) dt under u = −K x

x = (z, u) of `Linearization`: perturbations of independent coordinates and velocities, the constraints eliminated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import matrix_balance, solve_continuous_are

from appell.errors import ModelError
from appell.reading import reals, shown
from appell.rows import orthogonal_part, singular

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

UNREACHED = 1e-9
"""A direction below this fraction of the size of A, in balanced coordinates scaled by inertia, is not reached: rounding of the
matrices, about 1e-13, times the growth in a few multiplications by A."""
DECAYS = 1e-7
"""A mode decays if its real part is below zero by this fraction of the largest eigenvalue: √ε, the rounding of double
eigenvalues."""


@dataclass(frozen=True, eq=False)
class ReachedStates:
    """The subspace of the state that inputs reach, or outputs observe.

    Attributes
    ----------
    rank: dimension of the reached subspace; n that of the state.
    modes: (n − rank,) eigenvalues of the modes not reached, 1/s.
    directions: (n − rank, n): wᵀx of each of these modes evolves independently of the inputs, d/dt wᵀx = λ wᵀx; for outputs,
    the states x = w e^{λt} that none of them observes.
    names: the states in each mode, the largest component first.
    """

    rank: int
    n: int
    modes: Complex
    directions: Complex
    names: tuple[str, ...]
    what: str

    @property
    def ok(self) -> bool:
        """Whether the whole state is reached."""
        return self.rank == self.n

    def __bool__(self) -> bool:
        return self.ok

    @property
    def message(self) -> str:
        """The result as a sentence."""
        if self.ok:
            return f"{self.what}: rank {self.rank} of {self.n}"
        return f"not {self.what}: rank {self.rank} of {self.n}; {_listed(self.modes, self.names)}"

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"<{self.message}>"


@dataclass(frozen=True, eq=False)
class Regulator:
    """u = −K x. K: (inputs, n); P: (n, n), the minimal cost is xᵀPx; eigenvalues of A − B K, (n,), 1/s."""

    K: Array
    P: Array
    eigenvalues: Complex


@dataclass(frozen=True, eq=False, repr=False)
class StateSpace:
    """ẋ = A x + B u, y = C x + D u about an equilibrium or steady motion; along a motion every matrix has the times first.

    Attributes
    ----------
    A: (n, n); B: (n, inputs); C: (outputs, n); D: (outputs, inputs), SI.
    states, inputs, outputs: of the rows and columns, as symbols and expressions.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[Any, ...]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    sizes: Array  # (n,) of the states by their inertia
    owner: str
    changing: bool

    def frequency_response(self, omega: ArrayLike) -> Complex:
        """G(ω) = C (iω − A)⁻¹ B + D, (outputs, inputs), or (k, outputs, inputs) for k frequencies ω, rad/s."""
        self._require_constant("frequency response")
        w = reals(omega, "omega")
        if w.ndim > 1 or not np.isfinite(w).all():
            raise ModelError(f"omega= is one frequency or (k,), finite, in rad/s; it has shape {w.shape}")
        _, A, B, C = self._balanced
        responses = []
        for w_k in np.atleast_1d(w):
            resolvent = 1j * w_k * np.eye(len(A)) - A
            if len(A) and np.linalg.cond(resolvent) > 1e14:
                raise ModelError(
                    f"{self.owner} has an eigenvalue at i·{w_k:g} rad/s, where its response has no bound; ask beside it"
                )
            responses.append(C @ np.linalg.solve(resolvent, B) + self.D)
        return np.array(responses) if w.ndim else responses[0]

    @cached_property
    def controllable(self) -> ReachedStates:
        """The part of the state that the inputs reach; true if it is the whole state."""
        self._require_constant("controllability")
        T, A, B, _ = self._balanced
        return self._reached(A, B, 1 / T, "controllable")

    @cached_property
    def observable(self) -> ReachedStates:
        """The part of the state that the outputs observe; true if it is the whole state."""
        self._require_constant("observability")
        T, A, _, C = self._balanced
        return self._reached(A.T, C.T, T, "observable")

    def lqr(self, Q: ArrayLike, R: ArrayLike) -> Regulator:
        """The feedback u = −K x that minimises ∫ (xᵀQx + uᵀRu) dt.

        Q: (n, n), at least semidefinite, or (n,) its diagonal; R: (inputs, inputs), positive definite, (inputs,) its diagonal,
        or one number. A system with modes that no input reaches and that do not decay raises, with their names; equilibria of
        nonholonomic systems are of this kind, and no smooth feedback stabilises them (Brockett).
        """
        self._require_constant("linear regulators")
        n, m = self.B.shape
        Q, R = _weight(Q, n, "Q"), _weight(R, m, "R")
        if np.linalg.eigvalsh(Q).min(initial=0.0) < -1e-12 * np.abs(Q).max(initial=0.0):
            raise ModelError("Q must be positive semidefinite: xᵀQx is a cost")
        if not m or not np.linalg.eigvalsh(R).min() > 0:
            raise ModelError("R must be positive definite: every input has its cost")
        size = np.abs(np.linalg.eigvals(self.A)).max(initial=0.0)
        self._refuse_lasting(self.controllable, size, "no input reaches", "cannot be stabilised")
        T, A, B, _ = self._balanced
        half = singular(Q * np.outer(T, T))
        costed = self._reached(A.T, half.U * np.sqrt(half.sigma), T, "observable")
        self._refuse_lasting(costed, size, "Q gives no cost to", "is not regulated", on_axis=True)
        try:
            P = solve_continuous_are(A, B, Q * np.outer(T, T), R)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise ModelError(f"Riccati's equation of {self.owner} has no stabilising solution: {error}") from None
        K = np.linalg.solve(R, B.T @ P) / T
        return Regulator(K, P / np.outer(T, T), np.linalg.eigvals(self.A - self.B @ K))

    # -- inside ----------------------------------------------------------------------------------------------------------

    @cached_property
    def _balanced(self) -> tuple[Array, Array, Array, Array]:
        """T (n,), and A, B, C of x = T x̃: in states scaled by inertia, then balanced."""
        A = self.A * self.sizes / self.sizes[:, None]
        scale = matrix_balance(A, permute=False, separate=True)[1][0] if len(A) else np.ones(0)
        T = self.sizes * scale
        return T, self.A * T / T[:, None], self.B / T[:, None], self.C * T

    def _reached(self, A: Array, B: Array, to_states: Array, property_name: str) -> ReachedStates:
        """The subspace of B, A B, A² B, … by orthogonalization, and the eigenvalues of the complement."""
        n, size = len(A), np.linalg.norm(A) or 1.0
        length = np.linalg.norm(B, axis=0)
        V, new = np.zeros((n, 0)), B[:, length > 0] / length[length > 0]
        while new.shape[1] and V.shape[1] < n:
            step = singular(orthogonal_part(V, new), economical=True)
            fresh = step.U[:, : int((step.sigma > UNREACHED).sum())]
            V, new = np.hstack([V, fresh]), A @ fresh / size
        complement = np.linalg.qr(V, mode="complete")[0][:, V.shape[1] :] if V.shape[1] else np.eye(n)
        values, left_vectors = np.linalg.eig((complement.T @ A @ complement).T.astype(complex))
        values[np.abs(values) < DECAYS * size] = 0.0
        scaled: Complex = (complement.astype(complex) @ left_vectors).T
        names = tuple(self._name(row) for row in scaled)
        return ReachedStates(V.shape[1], n, values, scaled * to_states.astype(complex), names, property_name)

    def _name(self, row: Complex) -> str:
        """The states in a direction, the largest component first."""
        share = np.abs(row) / (np.abs(row).max(initial=0.0) or 1.0)
        order = np.argsort(-np.round(share, 6), kind="stable")
        return ", ".join(str(self.states[i]) for i in order[:4] if share[i] > 0.05)

    def _refuse_lasting(
        self, reached: ReachedStates, size: float, reason: str, consequence: str, *, on_axis: bool = False
    ) -> None:
        """Raises `ModelError` if a mode that is not reached does not decay."""
        lasting = reached.modes.real >= -DECAYS * size
        if on_axis:  # a growing mode is stabilised at any cost
            lasting &= reached.modes.real <= DECAYS * size
        if lasting.any():
            names = [name for name, lasts in zip(reached.names, lasting, strict=True) if lasts]
            raise ModelError(f"{self.owner} {consequence}: {reason} {_listed(reached.modes[lasting], names)}")

    def _require_constant(self, quantity: str) -> None:
        if self.A.ndim > 2 or self.changing:
            raise ModelError(f"A of {self.owner} changes with time: {quantity} of one instant says nothing; use .A, .B, .C, .D")

    def __repr__(self) -> str:
        n, m, k = len(self.states), len(self.inputs), len(self.outputs)
        return f"<StateSpace of {self.owner}: {n} states, {m} inputs, {k} outputs>"


def _listed(modes: Any, names: Any) -> str:
    """λ = 0 (x, y) and λ = 1 ± 2i (phi)."""
    phrases, plain = [], lambda x, size: 0.0 if abs(x) <= 1e-9 * size else x
    for value, name in zip(np.atleast_1d(modes), names, strict=True):
        real, imaginary = plain(value.real, abs(value)), plain(value.imag, abs(value))
        number = f"({real:.4g} ± {imaginary:.4g}i)" if imaginary else f"{real:.4g}"
        phrases += [f"the mode λ = {number}/s ({name})"] if imaginary >= 0 else []  # one of each pair
    return " and ".join(phrases)


def _weight(weight: Any, n: int, name: str) -> Array:
    """A symmetric matrix, given in full, by its diagonal or by one number."""
    array = reals(weight, name)
    array = np.full(n, float(array)) if array.ndim == 0 else array
    array = np.diag(array) if array.ndim == 1 else array
    if array.shape != (n, n) or not np.isfinite(array).all():
        raise ModelError(f"{name} is one number, ({n},) or ({n}, {n}), finite; it is {shown(weight)}")
    if np.abs(array - array.T).max(initial=0.0) > 1e-12 * np.abs(array).max(initial=0.0):
        raise ModelError(f"{name} must be symmetric")
    return (array + array.T) / 2


__all__ = ["ReachedStates", "Regulator", "StateSpace"]
