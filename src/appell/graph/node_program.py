"""Nonlinear programs built from a few functions, each evaluated at many nodes, and solved by IPOPT.

    minimise  Σ_F Σ_k c_F(w_k, θ, d_k, p)        lower <= L x + Σ_F Σ_k g_F(w_k, θ, d_k, p) <= upper        x within its bounds

w_k are the variables of node k, some entries of x; θ the variables common to all nodes; d_k numbers of the node; p numbers
common to all. A transcription of optimal control has this form: nonlinear terms are local to an instant, and instants are
coupled linearly. So Jacobian and Hessian are those of one node, exact and sparse, evaluated at all nodes and assembled: they
are derived once for all meshes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from appell.graph.algebra import Value, column, zeros
from appell.graph.stopped_by_hand import SolverWatch

Array = NDArray[np.float64]
Places = NDArray[np.intp]


SCALED_COST = 100.0
"""Size of a scaled cost where it has no derivatives at a guess; IPOPT's own scaling allows derivatives up to this."""


@dataclass(frozen=True, eq=False)
class NodeFunction:
    """g (ng, 1) and c (1, 1) as graphs of w (nw, 1), θ (nt, 1), d (nd, 1) and p (np, 1), with their derivatives."""

    w: Value
    theta: Value
    d: Value
    p: Value
    g: Value
    c: Value

    @cached_property
    def inputs(self) -> list[Value]:
        return [self.w, self.theta, self.d, self.p]

    @cached_property
    def y(self) -> Value:
        return column(self.w, self.theta)

    @cached_property
    def values(self) -> ca.Function:
        """(w, θ, d, p) → g, c."""
        return ca.Function("values", self.inputs, [ca.densify(self.g), ca.densify(self.c)], {"cse": True})

    @cached_property
    def _slopes(self) -> tuple[Value, Value]:
        return ca.sparsify(ca.jacobian(self.g, self.y)), ca.sparsify(ca.jacobian(self.c, self.y))

    @cached_property
    def slopes(self) -> ca.Function:
        """(w, θ, d, p) → entries of ∂g/∂y, y = (w, θ), in the order of `slope_places`."""
        return ca.Function("slopes", self.inputs, [_entries(self._slopes[0])], {"cse": True})

    @cached_property
    def cost_slopes(self) -> ca.Function:
        """(w, θ, d, p) → entries of ∂c/∂y, in the order of `cost_places`.

        Apart from `slopes`, since CasADi computes all results of a function, and ∂g/∂y takes far longer.
        """
        return ca.Function("cost_slopes", self.inputs, [_entries(self._slopes[1])], {"cse": True})

    @property
    def slope_places(self) -> tuple[Places, Places]:
        return _places(self._slopes[0])

    @property
    def cost_places(self) -> Places:
        return _places(self._slopes[1])[1]

    @cached_property
    def _curvature(self) -> tuple[Value, Value, Value]:
        lam, sigma = ca.SX.sym("lam", self.g.numel()), ca.SX.sym("sigma")
        L = ca.dot(lam, self.g) + sigma * self.c
        return lam, sigma, ca.sparsify(ca.triu(ca.hessian(L, self.y)[0]))

    @cached_property
    def curvature(self) -> ca.Function:
        """(w, θ, d, p, λ, σ) → entries of the upper half of ∂²(λᵀg + σ c)/∂y², in the order of `curvature_places`."""
        lam, sigma, H = self._curvature
        return ca.Function("curvature", [*self.inputs, lam, sigma], [_entries(H)], {"cse": True})

    @property
    def curvature_places(self) -> tuple[Places, Places]:
        return _places(self._curvature[2])


def _entries(matrix: Value) -> Value:
    entries = matrix.nz[:]
    return ca.reshape(entries, entries.numel(), 1) if entries.numel() else zeros(0)


def _places(matrix: Value) -> tuple[Places, Places]:
    rows, columns = matrix.sparsity().get_triplet()
    return np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class NodeFamily:
    """A node function at K nodes: indices of their variables in x (K, nw), of their rows (K, ng), and numbers d (K, nd).

    Several nodes may share a row: their values are added.
    """

    function: NodeFunction
    variables: Places
    rows: Places
    data: Array

    @property
    def count(self) -> int:
        return len(self.variables)


@dataclass(frozen=True)
class NodeSolution:
    """The result of IPOPT: x (n,), objective, multipliers of the rows (m,) and of the bounds (n,), exit status and iterations.

    last_residual: the largest scaled residual of rows, gradient of the Lagrangian and complementarity in the last iteration.
    """

    x: Array
    objective: float
    rows: Array
    bounds: Array
    status: str
    iterations: int
    last_residual: float = np.inf

    @property
    def ok(self) -> bool:
        return self.status == "Solve_Succeeded"


class NodeProgram:
    """The program of some families, `linear` = (rows, columns, values) of L, and `shared` = indices of θ in x.

    x = S y with the scales S (n,), so that y is near 1; rows are multiplied by `row_scales` (m,).
    """

    def __init__(
        self, n: int, m: int, families: Sequence[NodeFamily], linear: tuple[Places, Places, Array], shared: Places,
        p_size: int, scales: Array, row_scales: Array | None = None, cost_scale: float = 1.0,
    ):  # fmt: skip
        self.n, self.m, self.families, self.linear, self.shared = n, m, tuple(families), linear, shared
        self.scales, self.row_scales = scales, np.ones(m) if row_scales is None else row_scales
        self.cost_scale = cost_scale
        self._y, self._p = ca.MX.sym("y", n), ca.MX.sym("p", p_size)
        self._inputs = [self._of_nodes(family) for family in self.families]

    def _of_nodes(self, family: NodeFamily) -> list[Any]:
        """w (nw, K), θ, d (nd, K) and p, the arguments of the mapped functions."""
        x = self._y * ca.DM(self.scales)
        nw, count = family.function.w.numel(), family.count
        w = ca.reshape(x[family.variables.ravel().tolist()], nw, count) if nw else ca.MX(0, count)
        theta = x[self.shared.tolist()] if len(self.shared) else ca.MX(0, 1)
        repeated = lambda value: ca.repmat(value, 1, count)
        return [w, repeated(theta), ca.MX(ca.DM(family.data.T)), repeated(self._p)]

    # -- functions of y and p ------------------------------------------------------------------------------------------

    @cached_property
    def _values(self) -> tuple[Any, Any]:
        """f and g of (y, p), scaled."""
        rows, columns, values = self.linear
        L = ca.DM.triplet(rows.tolist(), columns.tolist(), ca.DM(values * self.scales[columns]), self.m, self.n)
        f, g = ca.MX(0), ca.mtimes(L, self._y)
        for family, inputs in zip(self.families, self._inputs, strict=True):
            g_k, c_k = family.function.values.map(family.count)(*inputs)
            f += ca.sum2(c_k)
            g += _added(family.rows.ravel(), ca.vec(g_k), self.m)
        return self.cost_scale * f, ca.DM(self.row_scales) * g

    def _columns(self, family: NodeFamily) -> Places:
        """Indices in x of y = (w, θ) of each node, (K, nw + nt)."""
        return np.hstack([family.variables, np.tile(self.shared, (family.count, 1))])

    @cached_property
    def _jacobian(self) -> Any:
        rows, columns, values = self.linear
        places, entries = [(rows, columns)], [ca.MX(ca.DM(values))]
        for family, inputs in zip(self.families, self._inputs, strict=True):
            i, j = family.function.slope_places
            nz = family.function.slopes.map(family.count)(*inputs)
            places.append((family.rows[:, i].ravel(), self._columns(family)[:, j].ravel()))
            entries.append(ca.vec(nz))
        return _assembled(places, entries, (self.m, self.n), lambda i, j: self.row_scales[i] * self.scales[j])

    @cached_property
    def _gradient(self) -> Any:
        total = ca.MX(self.n, 1)
        for family, inputs in zip(self.families, self._inputs, strict=True):
            j = family.function.cost_places
            if len(j):
                nz = family.function.cost_slopes.map(family.count)(*inputs)
                total += _added(self._columns(family)[:, j].ravel(), ca.vec(nz), self.n)
        return ca.densify(total) * ca.DM(self.scales * self.cost_scale)

    @cached_property
    def _hessian(self) -> tuple[Any, Any, Any]:
        """σ, λ (m, 1) and the upper half of ∂²(σ f + λᵀg)/∂y²."""
        sigma, lam = ca.MX.sym("sigma"), ca.MX.sym("lam", self.m)
        scaled_lam = lam * ca.DM(self.row_scales)
        places, entries = [], []
        for family, inputs in zip(self.families, self._inputs, strict=True):
            i, j = family.function.curvature_places
            ng, count = family.function.g.numel(), family.count
            lam_k = ca.reshape(scaled_lam[family.rows.ravel().tolist()], ng, count) if ng else ca.MX(0, count)
            weight = ca.repmat(sigma * self.cost_scale, 1, count)
            nz = family.function.curvature.map(count)(*inputs, lam_k, weight)
            columns = self._columns(family)
            a, b = columns[:, i].ravel(), columns[:, j].ravel()
            places.append((np.minimum(a, b), np.maximum(a, b)))
            entries.append(ca.vec(nz))
        scale = lambda i, j: self.scales[i] * self.scales[j]
        return sigma, lam, _assembled(places, entries, (self.n, self.n), scale)

    @cached_property
    def values(self) -> ca.Function:
        """(y, p) → f, g."""
        return ca.Function("values", [self._y, self._p], list(self._values))

    @cached_property
    def jacobian(self) -> ca.Function:
        """(y, p) → g, ∂g/∂y."""
        return ca.Function("jac_g", [self._y, self._p], [self._values[1], self._jacobian], ["x", "p"], ["g", "jac_g_x"])

    @cached_property
    def gradient(self) -> ca.Function:
        """(y, p) → f, ∂f/∂y."""
        return ca.Function("grad_f", [self._y, self._p], [self._values[0], self._gradient], ["x", "p"], ["f", "grad_f_x"])

    @cached_property
    def curvature(self) -> ca.Function:
        """(y, p, σ, λ) → the upper half of ∂²(σ f + λᵀg)/∂y²."""
        sigma, lam, H = self._hessian
        names = ["x", "p", "lam_f", "lam_g"]
        return ca.Function("hess_lag", [self._y, self._p, sigma, lam], [H], names, ["triu_hess_gamma_x_x"])

    @cached_property
    def _by_p(self) -> ca.Function:
        """(y, p, λ, ṗ) → derivatives of ∂(f + λᵀg)/∂y, of g and of f in the direction ṗ."""
        lam, p_d = ca.MX.sym("lam", self.m), ca.MX.sym("way", self._p.numel())
        f, g = self._values
        slopes = self._gradient + ca.mtimes(self._jacobian.T, lam)
        return ca.Function("by_p", [self._y, self._p, lam, p_d], [ca.jtimes(e, self._p, p_d) for e in (slopes, g, f)])

    def slopes_by(self, y: Array, p: Array, lam: Array, i: int) -> tuple[Array, Array, float]:
        """∂/∂p_i of ∂(f + λᵀg)/∂y (n,), of g (m,) and of f, all scaled."""
        out = self._by_p(y, p, lam, np.eye(len(p))[i])
        return np.array(out[0]).ravel(), np.array(out[1]).ravel(), float(out[2])

    def balanced(self, x: Array, p: Array, cost_size: float) -> NodeProgram:
        """The same program, with rows scaled to a largest derivative of 1 at x, or beside it where they have none there.

        The size Σ|∂f/∂y| of the cost near x becomes `SCALED_COST`, but its derivatives at x itself are at most 1.
        """
        y, rng = x / self.scales, np.random.default_rng(0)
        largest = self._largest_slopes(y, p)
        if not largest.all():
            nearby = self._largest_slopes(y + 0.3 * rng.uniform(-1, 1, self.n), p)
            largest = np.where(largest > 0, largest, nearby)
        scale = np.where(largest > 0, self.row_scales / np.where(largest > 0, largest, 1.0), self.row_scales)
        slope = np.abs(np.array(self.gradient(y, p)[1])).max(initial=0.0)
        cost = SCALED_COST / cost_size
        cost = 1 / slope if np.isfinite(slope) and slope * cost > 1 else cost
        return NodeProgram(
            self.n, self.m, self.families, self.linear, self.shared, self._p.numel(), self.scales, scale,
            self.cost_scale * cost,
        )  # fmt: skip

    def _largest_slopes(self, y: Array, p: Array) -> Array:
        """The largest |∂g_i/∂y| of each row, (m,); 0 where it is not finite, or so small that its inverse is not."""
        J = self.jacobian(y, p)[1]
        rows, _ = J.sparsity().get_triplet()
        largest = np.zeros(self.m)
        np.maximum.at(largest, np.array(rows, dtype=np.intp), np.abs(np.array(J.nz[:]).ravel()))
        return np.where(np.isfinite(largest) & (largest > 1e-300), largest, 0.0)

    # -- solving -------------------------------------------------------------------------------------------------------

    def solver(self, options: Mapping[str, Any], watch: SolverWatch | None = None) -> Any:
        """IPOPT for this program, reusable for several starts; `watch` is notified of each iteration."""
        f, g = self._values
        settings = {
            "ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False, "error_on_fail": False,
            "show_eval_warnings": False,  # IPOPT shortens a step whose goal is not finite
            "jac_g": self.jacobian, "grad_f": self.gradient, "hess_lag": self.curvature,
            **({} if watch is None else {"iteration_callback": watch.callback(self.n, self.m, self._p.numel())}),
            **{f"ipopt.{key}": value for key, value in options.items()},
        }  # fmt: skip
        return ca.nlpsol("steering", "ipopt", {"x": self._y, "p": self._p, "f": f, "g": g}, settings)

    def solve(
        self, solver: Any, x: Array, p: Array, bounds: tuple[Array, Array], rows: tuple[Array, Array],
        dual: tuple[Array, Array] | None = None,
    ) -> NodeSolution:  # fmt: skip
        """Solves from a guess x, with the multipliers (of rows, of bounds) of a nearby solution if known."""
        S, D, c = self.scales, self.row_scales, self.cost_scale
        arguments = {"x0": x / S, "p": p, "lbx": bounds[0] / S, "ubx": bounds[1] / S, "lbg": rows[0] * D, "ubg": rows[1] * D}
        if dual is not None:
            arguments |= {"lam_g0": dual[0] / D * c, "lam_x0": dual[1] * S * c}
        try:
            result = solver(**arguments)
        except RuntimeError:  # the bounds or the guess, by their scales, are not finite
            nothing = np.zeros(self.m), np.zeros(self.n)
            return NodeSolution(x, np.nan, *nothing, "Invalid_Number_Detected", 0)
        stats = solver.stats()
        flat = lambda key: np.array(result[key], dtype=float).ravel()
        return NodeSolution(
            flat("x") * S, float(result["f"]) / c, flat("lam_g") * D / c, flat("lam_x") / S / c,
            str(stats["return_status"]), int(stats.get("iter_count", 0)), _last_residual(stats.get("iterations") or {}),
        )  # fmt: skip

    def objective(self, x: Array, p: Array) -> float:
        """f at x in its own units."""
        return float(self.values(x / self.scales, p)[0]) / self.cost_scale

    def residuals(self, x: Array, p: Array) -> Array:
        """g at x in its own units, (m,)."""
        return np.array(self.values(x / self.scales, p)[1]).ravel() / self.row_scales


def _last_residual(iterations: Mapping[str, Sequence[float]]) -> float:
    last = [float(iterations[key][-1]) for key in ("inf_pr", "inf_du", "mu") if len(iterations.get(key, ()))]
    return max(last) if len(last) == 3 else np.inf


def _added(rows: Places, entries: Any, size: int) -> Any:
    """The column (size, 1) with the entries added at their rows."""
    sums = ca.DM.triplet(rows.tolist(), list(range(len(rows))), ca.DM(np.ones(len(rows))), size, len(rows))
    return ca.mtimes(sums, entries)


def _assembled(
    places: Sequence[tuple[Places, Places]], entries: Sequence[Any], shape: tuple[int, int],
    scale: Callable[[Places, Places], Array],
) -> Any:  # fmt: skip
    """The sparse matrix with the entries, each times its scale, added at their positions."""
    rows, columns = (np.concatenate([pair[k] for pair in places]) for k in (0, 1))
    order, position = np.unique(columns * shape[0] + rows, return_inverse=True)  # column by column, CasADi's order
    i, j = order % shape[0], order // shape[0]
    pattern = ca.Sparsity.triplet(*shape, i.tolist(), j.tolist())
    size = scale(rows, columns)
    sums = ca.DM.triplet(position.tolist(), list(range(len(rows))), ca.DM(size), len(order), len(rows))
    nz = ca.mtimes(sums, ca.vertcat(*entries))
    return ca.MX(pattern, ca.densify(nz)) if len(order) else ca.MX(*shape)


__all__ = ["NodeFamily", "NodeFunction", "NodeProgram", "NodeSolution"]
