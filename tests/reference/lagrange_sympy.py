"""Lagrange's equations with multipliers as a textbook writes them: functions of time, sympy.diff, a dense solve.

    d/dt ∂T/∂q̇_i − ∂T/∂q_i = −∂V/∂q_i + Q_i + Σ_k Λ_k ∂f_k/∂q_i^(order of f_k),        f_k differentiated up to q̈

Written without `appell.jets`, `appell.graph` and `appell.normal_form`: an expression in the symbols of a system is first
rewritten in q(t) and its derivatives. Only the names of the symbols are taken over.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import sympy
from sympy import Derivative, Expr, Function, Matrix, Symbol

time = Symbol("t", real=True)


class Lagrange:
    """The equations K (a, Λ) = b of a system whose velocities are the q̇, at numeric states."""

    def __init__(self, system):
        self.n, self.parameters = len(system.coordinates), list(system.parameters)
        names = [str(q) for q in system.coordinates]
        q = [Function(name)(time) for name in names]
        qd, qdd = [Derivative(x, time) for x in q], [Derivative(x, (time, 2)) for x in q]
        in_time = {}
        for symbols, functions in ((system.coordinates, q), (system.velocities, qd), (system.accelerations, qdd)):
            in_time.update(zip(symbols, functions, strict=True))
        read = lambda expr: sympy.sympify(expr).xreplace(in_time)
        T, V = read(system.kinetic), read(system.potential)
        Q = [read(x) for x in system.forces]
        self.a = [Symbol(f"a_{name}") for name in names]
        self.v = [Symbol(f"v_{name}") for name in names]
        self.q = [Symbol(f"q_{name}") for name in names]
        rows, directions = [], []
        for f in map(read, system.residuals):
            rows.append(self._differentiated(f, qd, qdd))
            directions.append(self._direction(f, q, qd, qdd))
        self.lam = list(sympy.symbols(f"lam:{len(rows)}"))
        balance = [
            sympy.diff(sympy.diff(T, qd[i]), time) - sympy.diff(T, q[i]) + sympy.diff(V, q[i]) - Q[i]
            - sum(l * W[i] for l, W in zip(self.lam, directions, strict=True))
            for i in range(self.n)
        ]  # fmt: skip
        self.equations = [self._plain(e, q, qd, qdd) for e in (*balance, *rows)]

    @staticmethod
    def _order(f: Expr, qd, qdd) -> int:
        return 2 if any(f.has(x) for x in qdd) else 1 if any(f.has(x) for x in qd) else 0

    def _differentiated(self, f: Expr, qd, qdd) -> Expr:
        return sympy.diff(f, time, 2 - self._order(f, qd, qdd))

    def _direction(self, f: Expr, q, qd, qdd) -> list[Expr]:
        return [sympy.diff(f, x) for x in (q, qd, qdd)[self._order(f, qd, qdd)]]

    def _plain(self, expr: Expr, q, qd, qdd) -> Expr:
        expr = expr.doit()
        for functions, symbols in ((qdd, self.a), (qd, self.v), (q, self.q)):
            expr = expr.xreplace(dict(zip(functions, symbols, strict=True)))
        assert not expr.atoms(Derivative), expr
        return expr

    @cached_property
    def _matrices(self):
        unknowns = [*self.a, *self.lam]
        K = Matrix(self.equations).jacobian(unknowns)
        b = -Matrix(self.equations).xreplace(dict.fromkeys(unknowns, sympy.Integer(0)))
        return sympy.lambdify([time, self.q, self.v, self.parameters], [K, b], "numpy")

    def __call__(self, t, q, v, p) -> tuple[np.ndarray, np.ndarray]:
        """(a, Λ)."""
        K, b = self._matrices(t, list(q), list(v), list(p))
        x = np.linalg.solve(np.asarray(K, float), np.asarray(b, float).ravel())
        return x[: self.n], x[self.n :]
