"""Symbolic linearization: `linearize(…, symbolic=True)`.

The matrices of `appell.analysis.linear`,

    M u̇ + (D + G) u + (K + N) z = 0,        ż = Z u + (Y − C B) z,

as formulas of the parameters. Lagrange's equations with multipliers F = E − Q − WΛ and the rows are differentiated as symbols;
a and Λ are those of the motion. Which velocities are independent, and whether they are constant, is decided by the numeric
linearization at random values of the parameters, where the formulas are also compared with its matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Expr, Matrix

from appell.analysis.symbolic_linearization import SymbolicLinearization, shortest_way
from appell.errors import AppellError, ConstraintError, ModelError
from appell.forms.engine.derivation import gradient, time_derivation
from appell.forms.engine.system_terms import acceleration_rows, directions, generalized_forces, multiplier_symbols, tower
from appell.forms.lagrange import Lagrange, euler_lagrange, euler_lagrange_speeds
from appell.jets import Parameter, t
from appell.model import System
from appell.model.values import as_table
from appell.reading import finite, name_in, shown, symbolic, text_of

Array = NDArray[np.float64]

PARAMETER_DRAWS = 200
"""Draws of the parameters before a state is declared not real."""
JUDGED_AT = 3
"""Number of draws at which formulas are compared with numbers."""
FORMULA_DIFFERENCE = 1e-8
"""Largest difference between formula and number, relative to the largest entry: rounding of the numeric matrices."""
COMPARED_WITH = {name: ("M", "D", "G", "K", "N") for name in ("D", "G", "K", "N")}
"""Matrices whose size is the scale for differences: a part that vanishes has no scale of its own."""
PI_DENOMINATOR = 24
"""Floats within rounding of π times a fraction with at most this denominator are that fraction: np.pi/2 is π/2."""
# -- the state ----------------------------------------------------------------------------------------------------------


def exact(value: Any, where: str) -> Expr:
    """A value as an expression; floats that are fractions of π or integers become exact."""
    expr = symbolic(value, where)
    not_a_number = expr.atoms(sympy.Derivative, sympy.Integral) or expr.has(sympy.I, sympy.oo, sympy.zoo, sympy.nan)
    if not_a_number or any(not isinstance(letter, Parameter) for letter in expr.free_symbols):
        raise ModelError(f"{where} is {shown(expr)}; it takes a number or an expression of parameters (ap.parameters)")
    if not expr.is_Float:
        return expr
    number = finite(expr, where)
    if number == round(number) and abs(number) < 1e15:
        return sympy.Integer(round(number))
    turns = Fraction(number / np.pi).limit_denominator(PI_DENOMINATOR)
    if turns and abs(number - float(turns) * np.pi) <= 4 * np.finfo(float).eps * abs(number):
        return sympy.Rational(turns.numerator, turns.denominator) * sympy.pi
    return expr


def state_in_letters(system: System, at: Any) -> dict[Any, Expr]:
    """coordinate, state or velocity → value in `at`, or its default start value."""
    symbols = (*system.positions, *system.velocities)
    start = getattr(at, "start", at)
    if not isinstance(start, Mapping):
        raise ModelError(f"at= of ap.linearize is {{coordinate or velocity: value}}, not {shown(start)}")
    by_name = {str(x): x for x in symbols}
    unknown = [key for key in start if name_in(key) not in by_name]
    if unknown:
        raise ModelError(f"at= names {text_of(unknown[0])}, which is not a state of {system.name}; it has {', '.join(by_name)}")
    values = {by_name[name_in(key)]: exact(value, f"the value of {text_of(key)} in at=") for key, value in start.items()}
    state = {x: values.get(x, exact(x.start, "a start")) for x in symbols}
    return state


def samples(system: System, at: Mapping[Any, Expr], given: Mapping[Any, Expr]) -> Iterator[tuple[dict[Any, float], dict]]:
    """Values of all symbols and of the state: random for parameters without a value, such that the state is real.

    Symbols in `at` need not occur in the system, such as the speed of a steady motion.
    """
    rng = np.random.default_rng(5)
    letters = sorted(set(system.parameters).union(*(x.free_symbols for x in (*at.values(), *given.values()))), key=str)
    for _ in range(PARAMETER_DRAWS):
        sizes = np.exp(rng.uniform(-1.5, 1.5, len(letters)))
        draw = {x: sympy.Float(-size if x.is_negative else size) for x, size in zip(letters, sizes, strict=True)}
        values = draw | {x: value.xreplace(draw) for x, value in given.items()}
        numbers = {x: sympy.N(value.xreplace(values)) for x, value in {**values, **at}.items()}
        if all(x.is_real and x.is_finite for x in numbers.values()):
            yield {x: float(numbers[x]) for x in values}, {x: float(numbers[x]) for x in at}
        if set(letters) <= set(given):
            return


# -- the equations ----------------------------------------------------------------------------------------------------------


class LinearEquations:
    """F, rows and kinematics differentiated symbolically and evaluated at a state."""

    def __init__(self, system: System, at: Mapping[Any, Expr], given: Mapping[Any, Expr]):
        if any(c.order == 2 for c in system.constraints):
            raise ModelError("constraints of second order are linearised in numbers only: leave symbolic=True out")
        if reason := Lagrange().reason_against(system):
            raise ModelError(f"small motions of {system.name} in letters are those of Lagrange's equations, but {reason}")
        self.system = system
        self.state = {x: value.xreplace(given) for x, value in at.items()} | dict(given)
        self.lam = multiplier_symbols(system)
        E = euler_lagrange(system) if system.holonomic_speeds else euler_lagrange_speeds(system)
        W, Q, count = directions(system), generalized_forces(system), range(len(system.constraints))
        pushed = [sum((W[k][i] * self.lam[k] for k in count), sympy.Integer(0)) for i in range(system.nv)]
        self.F = [E_i - Q_i - R_i for E_i, Q_i, R_i in zip(E, Q, pushed, strict=True)]
        self.W = Matrix(len(self.lam), system.nv, [x for row in W for x in row]).T
        holonomic = [k for k in count if system.constraints[k].order == 0]
        self.f0 = [tower(system, k)[0] for k in holonomic]
        self.f1 = [tower(system, k)[1 - system.constraints[k].order] for k in count]
        self.r = list(acceleration_rows(system))
        rates = [system.rates[q] for q in system.coordinates]
        self.N = self._slopes(rates, system.velocities)
        turning = time_derivation(system.rates).matrix(self.N) - self._slopes(rates, system.coordinates) * self.N
        self.turning = self.at_state(turning)
        self.moves = sympy.diag(self.N, sympy.eye(len(system.states))) if system.states else self.N
        self._set_at_rest()

    def _slopes(self, values: Sequence[Expr], by: Sequence[Any]) -> Matrix:
        return Matrix(len(values), len(by), [x for value in values for x in gradient(value, by)])

    def at_state(self, matrix: Matrix) -> Matrix:
        """The value of a matrix at the state."""
        values = matrix.applyfunc(lambda e: shortest_way(e.xreplace(self.state)))
        if values.has(sympy.nan, sympy.zoo, sympy.oo):
            raise ModelError(f"the equations of {self.system.name} have no value at this state")
        return values

    def derivatives(self, values: Sequence[Expr], what: str) -> Matrix:
        """Derivatives of some values at the state, by "q" (the velocities' coordinates, then the states), "v" or "a"."""
        system = self.system
        if what == "q":
            return self.at_state(self._slopes(values, system.positions) * self.moves)
        return self.at_state(self._slopes(values, system.velocities if what == "v" else system.accelerations))

    def _set_at_rest(self) -> None:
        """Sets a = 0; `settle` adds the accelerations of dependent velocities, and Λ."""
        self.state |= {a: sympy.Integer(0) for a in self.system.accelerations} | {x: sympy.Integer(0) for x in self.lam}

    def settle(self, dependent: Sequence[int], rows: Sequence[int], pushed: Sequence[int], acting: Sequence[int]) -> None:
        """Accelerations of dependent velocities by the rows, and Λ by the equations `pushed`, at the state.

        rows: constraints that restrict the velocities independently; acting: those with independent directions.
        """
        system, zero = self.system, {a: sympy.Integer(0) for a in self.system.accelerations}
        if dependent:
            r_a = self.derivatives(self.r, "a").extract(list(rows), list(dependent))
            remainder = self.at_state(Matrix([self.r[k] for k in rows]))
            values = -solution(r_a, remainder)
            self.state |= {**zero, **{system.accelerations[i]: values[k] for k, i in enumerate(dependent)}}
        if acting:
            unbalanced = self.at_state(Matrix([self.F[i] for i in pushed]))
            values = solution(self.at_state(self.W).extract(list(pushed), list(acting)), unbalanced)
            self.state |= {self.lam[k]: values[n] for n, k in enumerate(acting)}


def solution(A: Matrix, b: Matrix) -> Matrix:
    """A⁻¹ b by the adjugate for small systems, which keeps entries short."""
    x = A.adjugate() * b / A.det() if A.rows <= 3 else A.LUsolve(b)
    return x.applyfunc(shortest_way)


def _dependent_part(A: Matrix, right: Any, dependent: Sequence[int], rows: Sequence[int], nv: int) -> Matrix:
    """Y, (nv, columns), with A Y + right = 0 and entries in the dependent velocities only."""
    Y = sympy.zeros(nv, right.cols)
    if dependent and right.cols:
        entries = -solution(A.extract(list(rows), list(dependent)), right.extract(list(rows), list(range(right.cols))))
        for k, i in enumerate(dependent):
            Y[i, :] = entries[k, :]
    return Y


def _kernel(A: Matrix, free: Sequence[int], dependent: Sequence[int], rows: Sequence[int], nv: int) -> Matrix:
    """Columns of ker A with unit entries in `free`."""
    Z = _dependent_part(A, A.extract(list(range(A.rows)), list(free)), dependent, rows, nv)
    for k, i in enumerate(free):
        Z[i, k] = 1
    return Z


@dataclass(frozen=True)
class Choice:
    """The independent velocities, coordinates and rows chosen by the numeric linearization.

    free, dependent: velocities. rows, acting: constraints independent in A1 and in W, W by the velocities `pushed`.
    z: velocities whose coordinates are unknowns; bound: the others, determined by the `holonomic_rows`.
    """

    free: list[int]
    dependent: list[int]
    rows: list[int]
    z: list[int]
    bound: list[int]
    holonomic_rows: list[int]
    pushed: list[int]
    acting: list[int]


def in_letters(system: System, at: Mapping[Any, Expr], given: Mapping[Any, Expr], choice: Choice) -> SymbolicLinearization:
    """The matrices at a state, with the velocities of a choice independent."""
    eq, c, nv, states = LinearEquations(system, at, given), choice, system.nv, len(system.states)
    eq.settle(c.dependent, c.rows, c.pushed, c.acting)
    A1, W, N = eq.derivatives(eq.f1, "v"), eq.at_state(eq.W), eq.at_state(eq.N)
    f0_q = eq.derivatives(eq.f0, "q")
    A0: Any = f0_q[:, :nv]
    f0_s: Any = f0_q[:, nv:]
    holonomic_moves = _kernel(A0, c.z, c.bound, c.holonomic_rows, nv)
    B = holonomic_moves.row_join(_dependent_part(A0, f0_s, c.bound, c.holonomic_rows, nv)).col_join(
        sympy.zeros(states, holonomic_moves.cols).row_join(sympy.eye(states)))  # fmt: skip
    Z = _kernel(A1, c.free, c.dependent, c.rows, nv)
    L = _kernel(W.T, [i for i in range(nv) if i not in c.pushed], c.pushed, c.acting, nv)
    Y = _dependent_part(A1, eq.derivatives(eq.f1, "q") * B, c.dependent, c.rows, nv)
    r_a, r_v = eq.derivatives(eq.r, "a"), eq.derivatives(eq.r, "v")
    Y_a = _dependent_part(r_a, eq.derivatives(eq.r, "q") * B + r_v * Y, c.dependent, c.rows, nv)
    Y_b = _dependent_part(r_a, r_v * Z, c.dependent, c.rows, nv)
    F_a, F_v, F_q = (L.T * eq.derivatives(eq.F, by) for by in ("a", "v", "q"))
    short = lambda m: m.applyfunc(shortest_way)
    M, C, K = short(F_a * Z), short(F_a * Y_b + F_v * Z), short(F_a * Y_a + F_q * B + F_v * Y)
    twist = short((N.T * N).inv() * N.T * eq.turning) if not eq.turning.is_zero_matrix else sympy.zeros(nv)
    top = (Y - twist * B[:nv, :]).row_join(Z).extract(c.z, list(range(B.cols + len(c.free))))
    rates = [system.rates[x] for x in system.states]
    g_v = eq.derivatives(rates, "v") if rates else sympy.zeros(0, nv)
    middle = (eq.derivatives(rates, "q") * B + g_v * Y).row_join(g_v * Z) if rates else sympy.zeros(0, top.cols)
    bottom = -solution(M, K.row_join(C)) if c.free else sympy.zeros(0, top.cols)
    nu = len(c.free)
    halves = lambda m: [short((m + sign * m.T) / 2) for sign in (1, -1)]
    (D, G), (K_, N_) = halves(C), halves(K[:, :nu])
    names = {v: q for q in system.coordinates for v in (system.rates[q],) if v == q.d}
    unknowns = [system.velocities[i] for i in c.z]
    lam: dict[str, Any] = {con.name: eq.state[x] for con, x in zip(system.constraints, eq.lam, strict=True)}
    return SymbolicLinearization(
        system, dict(at), tuple(system.velocities[i] for i in c.free), (*(names.get(v, v) for v in unknowns), *system.states),
        M, D, G, K_, N_, K[:, nu:], short(top.col_join(middle).col_join(bottom)), lam,
    )  # fmt: skip


def judged(result: SymbolicLinearization, values: Mapping[Any, float], numbers: Mapping[str, Array]) -> None:
    """Raises if formulas differ from the numeric matrices, which should never happen."""
    point = {x: sympy.Float(value) for x, value in values.items()} | {t: sympy.Integer(0)}
    for name, expected in numbers.items():
        matrix = getattr(result, name)
        evaluated = np.array([[float(sympy.N(e.xreplace(point))) for e in matrix.row(i)] for i in range(matrix.rows)])
        size = max(np.abs(numbers[other]).max(initial=0.0) for other in COMPARED_WITH.get(name, (name,)) if other in numbers)
        if matrix.rows and matrix.cols and np.abs(evaluated - expected).max() > FORMULA_DIFFERENCE * size:
            raise AppellError(
                f"the formulas of {name} of {result.system.name} differ from its numeric linearization by"
                f" {np.abs(evaluated - expected).max():.2g} of {size:.2g}; leave symbolic=True out, and tell us of this system"
            )


def read_letters(system: System, parameters: Any) -> dict[Any, Expr]:
    """parameter → given value or expression."""
    by_name = {str(x): x for x in system.parameters}
    table = {} if parameters is None else dict(as_table(system.parameters, parameters))
    unknown = [key for key in table if name_in(key) not in by_name]
    if unknown:
        raise ModelError(f"parameters= names {text_of(unknown[0])}, which is not a parameter of {system.name}")
    return {by_name[name_in(key)]: exact(value, f"the value of {text_of(key)}") for key, value in table.items()}


def refused_everywhere(system: System, error: Exception | None) -> AppellError:
    """The error when no draw of the parameters gave a linearization."""
    if isinstance(error, ConstraintError | ModelError):
        return error
    if error is not None:
        return ModelError(f"{system.name} has no linear equations at this state: {error}")
    return ModelError(
        f"at= is real for none of {PARAMETER_DRAWS} random values of the parameters of {system.name}; give some of them in"
        " parameters="
    )
