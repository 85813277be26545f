"""Radau IIA with three stages: order 5, L-stable, for stiff systems.

    Z_i = h Σ_j a_ij f(t + c_j h, z + Z_j),  i = 1 … 3,        z₁ = z + Z_3,        c = (4 − √6)/10, (4 + √6)/10, 1

The collocation polynomial through (0, 0), (c_i, Z_i) is the dense output (order 3). The stages are found by simplified Newton
iteration: with T⁻¹A⁻¹T = diag(μ, [[α, −β], [β, α]]) and W = T⁻¹Z the equations split into a real and a complex system of the
size of z,

    (μ/h − J) ΔW_1 = …,        ((α + iβ)/h − J)(ΔW_2 + iΔW_3) = …

J = ∂f/∂z comes from the graph (`normal_form.slopes`), sparse, and is reused as long as the iteration converges quickly; where
accelerations do not follow from a linear solve, J is taken by differences. The error estimate is that of the embedded formula
of order 3 with the weight 1/μ at the beginning, filtered by (μ/h − J)⁻¹, so that decayed fast components do not count.

Reference: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., Springer 1996, IV.8; the numbers below are
computed from these definitions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve

from appell.errors import Status
from appell.graph import Fn
from appell.loop.header import LEAST_ERROR, SAME_STEP
from appell.loop.methods.radau_factors import factors_text
from appell.loop.methods.runge_kutta import StepText, first_size, first_size_text
from appell.loop.task import TrialFailed
from appell.normal_form.flow import Flow
from appell.normal_form.slopes import FlowSlopes, flow_slopes
from appell.rows import least_squares

Array = NDArray[np.float64]

RADAU_ITERATIONS = 6
"""Most Newton iterations before a step counts as too long, or its Jacobian as too old."""
ITERATION_ERROR = 0.03
"""Largest error of the Newton iteration, in units of the tolerance; √rtol if that is less."""
STAGES_STALLED, STAGES_SHRINK = 0.3, 0.5
"""If changes of the stages below this fraction of the tolerance do not shrink by half with a Jacobian of this very step, they
are rounding of f: where forces are differences of large ones (springs of 1e9 N/m), iteration cannot improve on it."""
SLOW_CONVERGENCE = 1e-3
"""Rate of convergence above which the next step gets a new Jacobian."""
LEAST_LENGTHENING = 1.2
"""Smallest factor by which a step is lengthened; otherwise its factorisations are reused."""
STAGES_CARRIED_OVER = 100.0
"""Distance of a state from the end of the previous step, in units of the tolerance, for that step to predict the stages."""
PIVOT_KEPT = 0.1
"""A diagonal pivot is kept if it is at least this fraction of the largest, with scaled rows."""
PIVOT_LOST = 1e-14
"""A pivot below this fraction of its row counts as zero."""
JACOBIAN_LASTS = 25
"""Steps for which a constant Jacobian counts as new; only its row for the work ages."""
FACTORS_SPARSE = 0.5
"""Fraction of nonzero entries of the factors below which these are stored as a list, which costs two loads for each."""
ITERATION_ROUNDING = 10
"""Units of rounding, relative to the state, below which the Newton iteration is not continued."""
LEAST_DISTINGUISHED = 1e-5
"""Smallest |z_j| that sets the scale of its own difference quotient (Hairer IV.8)."""
FIXED_RTOL = 1e-11
"""rtol of the Newton iteration with fixed steps."""


@dataclass(frozen=True)
class Collocation:
    """The numbers of Radau IIA, computed from its nodes."""

    c: Array  # (3,)
    T: Array  # (3, 3)
    TI: Array  # (3, 3)
    mu: float
    alpha: float
    beta: float
    e: Array  # (3,) weights of the error estimate, times μ
    P: Array  # (3, 3): coefficients of θ, θ², θ³ from Z

    @staticmethod
    def radau() -> Collocation:
        c = np.array([(4 - np.sqrt(6)) / 10, (4 + np.sqrt(6)) / 10, 1.0])
        powers = np.vander(c, 3, increasing=True).T  # c_i^k
        integrals = np.array([[x ** (k + 1) / (k + 1) for k in range(3)] for x in c])
        A = np.linalg.solve(powers, integrals.T).T  # Σ_j a_ij c_j^k = c_i^(k+1)/(k + 1)
        inverse = np.linalg.inv(A)
        eig: Any = np.linalg.eig
        values, vectors = eig(inverse)
        real, pair = int(np.argmin(np.abs(values.imag))), int(np.argmin(values.imag))  # α − iβ
        T = np.column_stack([vectors[:, real].real, vectors[:, pair].real, vectors[:, pair].imag])
        T /= np.array([T[2, 0], *(2 * [np.linalg.norm(T[:, 1])])])
        mu = float(values[real].real)
        embedded = np.linalg.solve(powers, np.array([1 - 1 / mu, 1 / 2, 1 / 3]))
        P = np.linalg.inv(np.column_stack([c, c**2, c**3]))
        return Collocation(
            c, T, np.linalg.inv(T), mu, float(values[pair].real), float(-values[pair].imag), mu * (embedded - A[2]) @ inverse, P
        )


@dataclass(frozen=True)
class Radau:
    """The method; once `fitted` to a flow it knows the Jacobian of the flow."""

    name: str = "radau"
    order: int = 5
    error_order: int = 3
    stages: int = 3
    safety: float = 0.9
    shrink: float = 0.2
    grow: float = 10.0
    slopes: FlowSlopes | None = None
    velocities: tuple[int, int] = (0, 0)  # z[i:j]
    jacobian: Callable[[float, Array, Array], Array] | None = None  # (t, z, p) → ∂f/∂z, for the loop in Python

    series_order = 0
    """Taylor coefficients that the loop keeps: none."""

    @property
    def degree(self) -> int:
        """Degree of z(θ) inside a step."""
        return 3

    @property
    def in_contact(self) -> str:
        """The method that takes the steps while a contact holds: itself, with a Jacobian by differences."""
        return self.name

    def fitted(self, flow: Flow) -> Radau:
        """The method with the Jacobian of a flow."""
        return replace(self, slopes=flow_slopes(flow), velocities=(flow.nq, flow.nq + flow.nu))

    def functions(self, flow: Flow) -> tuple[Fn, ...]:
        """The functions from which the Jacobian is assembled."""
        return () if self.slopes is None else (self.slopes.rows, self.slopes.slopes)

    def bound(self, flow: Flow, evaluator: Callable[[Fn], Any]) -> Radau:
        """The method for the loop in Python."""
        if self.slopes is None:
            return self
        return replace(self, jacobian=jacobian_of(self.slopes, evaluator))

    def loop_text(self, written: StepText) -> dict[str, Any]:
        """Values for the placeholders of the C loop."""
        return radau_text(self.slopes, self.velocities)

    def steps(self, run: Any) -> RadauSteps:
        """The steps of the loop in Python."""
        return RadauSteps(self, run)


COLLOCATION = Collocation.radau()
IMPLICIT = {"radau": Radau()}
"""Implicit methods of the loop by name."""


def jacobian_of(slopes: FlowSlopes, evaluator: Callable[[Fn], Any]) -> Callable[[float, Array, Array], Array]:
    """(t, z, p) → F_z − F_y R_y⁻¹ R_z."""
    rows, derivatives = evaluator(slopes.rows), evaluator(slopes.slopes)

    def jacobian(t: float, z: Array, p: Array) -> Array:
        values = rows(t, z, p)
        K = slopes.matrix("R_y", values["R_y"])
        solve = lambda b: least_squares(K, b, PIVOT_LOST) if len(K) else b
        blocks = derivatives(t, z, p, -solve(values["r0"]))
        F_z, F_y, R_z = (slopes.matrix(name, blocks[name]) for name in ("F_z", "F_y", "R_z"))
        return F_z - F_y @ solve(R_z)

    return jacobian


def radau_text(slopes: FlowSlopes | None, velocities: tuple[int, int]) -> dict[str, Any]:
    """Values for the placeholders in `radau.c.in` and in the loop around it."""
    table = lambda rows: ", ".join("{" + ", ".join(map(repr, map(float, row))) + "}" for row in rows)
    line = lambda row: ", ".join(repr(float(x)) for x in row)
    ny = -1 if slopes is None else slopes.ny
    counts = {name: 0 if slopes is None else len(slopes.places[name]) for name in ("R_y", "F_z", "F_y", "R_z")}
    return {
        "method": "loop/methods/radau.c.in",
        "memory": _memory(ny, counts, slopes is not None and slopes.constant, velocities),
        "rows": 2,
        "end": 1,
        "end_slope_in_error": 0,
        "first_size": first_size_text(),
        "nodes": line(COLLOCATION.c),
        "T": table(COLLOCATION.T),
        "TI": table(COLLOCATION.TI),
        "estimate": line(COLLOCATION.e),
        "dense_weights": table(COLLOCATION.P),
        "mu": repr(COLLOCATION.mu),
        "alpha": repr(COLLOCATION.alpha),
        "beta": repr(COLLOCATION.beta),
        "places": "" if slopes is None else _places(slopes),
        "factors": factors_text(),
        "grow": repr(IMPLICIT["radau"].grow),
    }


def _memory(ny: int, counts: dict[str, int], constant: bool, velocities: tuple[int, int]) -> str:
    """C source of the numbers of the method, and of what it keeps between two steps."""
    numbers = {
        "ITERATIONS": RADAU_ITERATIONS, "ITERATION_ERROR": ITERATION_ERROR, "ITERATION_ROUNDING": ITERATION_ROUNDING,
        "STAGES_STALLED": STAGES_STALLED, "STAGES_SHRINK": STAGES_SHRINK, "STAGES_CARRIED_OVER": STAGES_CARRIED_OVER,
        "SLOW_CONVERGENCE": SLOW_CONVERGENCE, "LEAST_LENGTHENING": LEAST_LENGTHENING, "SAME_STEP": SAME_STEP,
        "PIVOT_KEPT": PIVOT_KEPT, "PIVOT_LOST": PIVOT_LOST, "FIXED_RTOL": FIXED_RTOL, "JACOBIAN_LASTS": JACOBIAN_LASTS,
        "LEAST_DISTINGUISHED": LEAST_DISTINGUISHED, "FACTORS_SPARSE": FACTORS_SPARSE, "NY": ny, **counts,
    }  # fmt: skip
    numbers |= {"CONSTANT": int(constant), "V0": velocities[0], "V1": velocities[1]}
    defines = "\n".join(f"#define RADAU_{name} {value!r}" for name, value in numbers.items())
    room = {"e0": counts["R_y"], "e1": counts["F_z"], "e2": counts["F_y"], "e3": counts["R_z"], "y": max(ny, 0)}
    entries = " ".join(f"{name}[{max(size, 1)}]," for name, size in room.items())
    return f"""\
#define LOOP_FORESIGHT 0
#define LOOP_SKETCH 0
{defines}
#define RADAU_LISTED ((int) (RADAU_FACTORS_SPARSE*NZ*NZ))
typedef struct {{
    int lower[NZ + 1], upper[NZ], at[RADAU_LISTED + 1];
}} RadauPlaces;
typedef struct {{
    double J[NZ*NZ];                    /* df/dz where it was last taken */
    double E1[NZ*NZ], E2[NZ*NZ], E3[NZ*NZ];     /* factors of mu/h - J and of (alpha + i beta)/h - J */
    double Z[3][NZ], W[3][NZ], F[3][NZ], D[3][NZ];      /* stages less z; in the basis T; slopes; corrections */
    double Q[3][NZ], begin[NZ], Q_last[3][NZ], last[NZ];        /* polynomials of this step and of the one before */
    double x[NZ], K[{max(ny, 1)} * {max(ny, 1)}], R[NZ*{max(ny, 1)}], {entries[:-1]};
    double h, h_trial, h_last, h_accepted, error_accepted, rate;
    int p1[NZ], p2[NZ], pK[{max(ny, 1)}];
    int has_jacobian, fresh, has_factors, listed, same_places, has_last, iterations, constant, age;
    RadauPlaces places1, places2;       /* of the factors that are not zero, where they are few */
    unsigned long long pattern[NZ*((NZ + 63)/64)];      /* places of J that are not zero: rows of bits */
    unsigned mode;
}} RadauMemory;
#define LOOP_MEMORY sizeof(RadauMemory)
typedef struct {{
    RadauMemory *at;
}} LoopMemory;"""


def _places(slopes: FlowSlopes) -> str:
    """C tables of the entries of the Jacobian that are not zero."""
    lines = []
    for name, entries in slopes.places.items():
        for letter, k in (("i", 0), ("j", 1)):
            values = ", ".join(str(entry[k]) for entry in entries) or "0"
            lines.append(f"static const int radau_{name}_{letter}[] = {{{values}}};")
    filled = {j for _, j in slopes.places["R_z"]}
    lines.append(f"static const char radau_column[] = {{{', '.join(str(int(j in filled)) for j in range(slopes.nz))}}};")
    return "\n".join(lines)


class RadauSteps:
    """The Python twin of `radau.c.in`. `run` has the current state (t, z) with its slope, the task, and evaluates f."""

    def __init__(self, method: Radau, run: Any):
        self.method, self.run = method, run
        self.J: Array | None = None
        self.fresh, self.age = False, 0  # whether J is as good as new; steps since it was computed
        self.lasts = method.jacobian is not None and method.slopes is not None and method.slopes.constant
        self.factors: tuple[float, Any, Any] | None = None  # h, and those of μ/h − J and (α + iβ)/h − J
        self.last: tuple[float, Array, Array] | None = None  # h, z and Q of the previous step
        self.trial: tuple[float, Array, Array] | None = None
        self.accepted: tuple[float, float] | None = None  # size and error
        self.end_slope: Array | None = None
        self.weight = np.zeros(len(run.z))
        self.iterations, self.rate = 0, 0.0

    def propose(self) -> None:
        """Does nothing: the method has no prediction for a step."""

    def forget(self) -> None:
        """Makes the step just taken the previous one."""
        self.last, self.age = self.trial, self.age + 1
        self.fresh = self.lasts and self.age < JACOBIAN_LASTS

    @property
    def fresh_ahead(self) -> bool:
        """Whether J will be as good as new in the next step."""
        return self.lasts and self.age + 1 < JACOBIAN_LASTS

    def _jacobian(self) -> Array:
        """∂f/∂z at the current state, from the graph or by differences."""
        run = self.run
        self.fresh, self.factors, self.age = True, None, 0
        if self.method.jacobian is not None:
            return self.method.jacobian(run.t, run.z.copy(), run.task.p)
        J = np.empty((len(run.z), len(run.z)))
        for j, x in enumerate(run.z):
            aside = run.z.copy()
            aside[j] += np.sqrt(np.finfo(float).eps * max(abs(x), LEAST_DISTINGUISHED))
            J[:, j] = (run.evaluate(run.t, aside) - run.slope) / (aside[j] - x)
        return J

    def stages(self, h: float) -> Array:
        """z₁ = z + Z_3."""
        if self.J is None:
            self.J = self._jacobian()
        while True:
            if self.factors is None or abs(h - self.factors[0]) > SAME_STEP * abs(h):
                eye = np.eye(len(self.J))
                E1 = COLLOCATION.mu / h * eye - self.J
                E2 = (COLLOCATION.alpha + 1j * COLLOCATION.beta) / h * eye - self.J
                if not (np.isfinite(E1).all() and np.isfinite(E2).all()):  # 1/h or a slope overflows
                    raise TrialFailed(Status.STEP_TOO_SMALL)
                self.factors = h, lu_factor(E1), lu_factor(E2)
            Z = self._newton(h)
            if Z is not None:
                break
            if self.fresh:
                raise TrialFailed(Status.STEP_TOO_SMALL)
            self.J = self._jacobian()
        self.Z = Z
        self.trial = h, self.run.z.copy(), COLLOCATION.P @ Z
        return self.run.z + Z[2]

    def _predicted(self, h: float) -> Array:
        """Start of the iteration, Z (3, nz): the polynomial of the previous step continued, or zero."""
        run = self.run
        if self.last is None:
            return np.zeros((3, len(run.z)))
        h_last, z, Q = self.last
        weight = run.task.atol + (run.task.rtol if run.adaptive else FIXED_RTOL) * abs(run.z)
        if (abs(z + Q.sum(axis=0) - run.z) > STAGES_CARRIED_OVER * weight).any():
            return np.zeros((3, len(run.z)))
        x = 1 + COLLOCATION.c * h / h_last
        return z + np.column_stack([x, x**2, x**3]) @ Q - run.z

    def _newton(self, h: float) -> Array | None:
        """The stages Z, (3, nz), by simplified Newton iteration; None where it does not converge."""
        assert self.factors is not None
        run, n = self.run, COLLOCATION
        rtol = run.task.rtol if run.adaptive else FIXED_RTOL
        weight = run.task.atol + rtol * abs(run.z)
        tolerance = max(ITERATION_ROUNDING * np.finfo(float).eps / rtol, min(ITERATION_ERROR, rtol**0.5))
        Z = self._predicted(h)
        W, previous, self.rate = n.TI @ Z, 0.0, 0.0
        for k in range(RADAU_ITERATIONS):
            try:
                F = np.array([run.evaluate(run.t + c * h, run.z + Z[i]) for i, c in enumerate(n.c)])
            except TrialFailed:
                return None
            g = n.TI @ F
            pair = g[1] + 1j * g[2] - (n.alpha + 1j * n.beta) / h * (W[1] + 1j * W[2])
            real = lu_solve(self.factors[1], g[0] - n.mu / h * W[0], check_finite=False)  # the size below is checked
            complex_part = lu_solve(self.factors[2], pair, check_finite=False)
            D = np.array([real, complex_part.real, complex_part.imag])
            size = float(np.sqrt(np.mean((D / weight) ** 2)))
            rate = size / previous if k else 0.0
            hopeless = k and (rate >= 1 or rate ** (RADAU_ITERATIONS - k) / (1 - rate) * size > tolerance)
            stalled = self.fresh and size <= STAGES_STALLED  # limited by rounding of f, not by the method
            if not np.isfinite(size) or (hopeless and not stalled):
                return None
            W = W + D
            Z, self.iterations, self.rate, previous = n.T @ W, k + 1, rate, size
            if size == 0 or (k and rate < 1 and rate / (1 - rate) * size < tolerance):
                return Z
            if stalled and (rate > STAGES_SHRINK or k == RADAU_ITERATIONS - 1):
                return Z
        return None

    def error_norm(self, z1: Array, h: float) -> float:
        """(μ/h − J)⁻¹(f + Σ e_i Z_i/h) in units of the tolerance; filtered twice in a first or repeated step."""
        assert self.factors is not None
        run, task = self.run, self.run.task
        self.weight = task.atol + task.rtol * np.maximum(abs(run.z), abs(z1))
        size = lambda x: float(np.sqrt(np.mean((x / self.weight) ** 2)))
        error = lu_solve(self.factors[1], run.slope + COLLOCATION.e @ self.Z / h, check_finite=False)
        if size(error) >= 1 and (run.rejected or not run.started):
            slope = run.evaluate(run.t, run.z + error)
            error = lu_solve(self.factors[1], slope + COLLOCATION.e @ self.Z / h, check_finite=False)
        return size(error)

    def dense(self, z1: Array, slope: Array, h: float) -> Callable[[float], Array]:
        """z(θ) inside the step: the collocation polynomial, with the change by projection spread over it."""
        assert self.trial is not None
        z, Q = self.run.z.copy(), self.trial[2].copy()
        Q[0] += z1 - z - Q.sum(axis=0)
        return lambda theta: z + theta * (Q[0] + theta * (Q[1] + theta * Q[2]))

    def next_size(self, size: float, error: float) -> float:
        """The smaller of err^−¼ and the prediction from the last two errors (Gustafsson); small changes are avoided."""
        method, run = self.method, self.run
        bounded, exponent = max(error, LEAST_ERROR), 1 / (method.error_order + 1)
        factor = bounded**-exponent
        if self.accepted is not None:
            size_before, error_before = self.accepted
            factor *= min(1.0, size / size_before * (error_before / bounded) ** exponent)
        factor *= method.safety * (2 * RADAU_ITERATIONS + 1) / (2 * RADAU_ITERATIONS + self.iterations)
        self.accepted = size, bounded
        if slow := not self.fresh_ahead and self.iterations > 2 and self.rate > SLOW_CONVERGENCE:
            self.J = None
        factor = max(min(factor, method.grow), method.shrink)
        factor = min(factor, 1.0) if run.rejected else factor
        return size * (1.0 if not slow and 1 <= factor < LEAST_LENGTHENING else factor)

    def first_size(self) -> float:
        """As for explicit pairs, with the order of the error estimate."""
        return first_size(self.run, self.method.error_order)


__all__ = ["IMPLICIT", "Radau", "jacobian_of"]
