"""Physically possible inertias of a robot from measured motions and joint forces.

    min_π Σ_k |(Y(q_k, v_k, a_k) π − τ_k)/σ|²        P_i(π) = Σ (x, 1)(x, 1)ᵀ dm positive definite for every body i

The data determine the base parameters; everything else stays as near to the tree's own bodies as possible. P = L X Lᵀ
with the L of the tree's own body (Cholesky), so that the distance of X from 1 does not depend on units. The set of physical
bodies is convex (Traversaro, Brossette, Escande, Nori 2016; Wensing, Kim, Slotine 2018), and so is the problem: Newton's method
with a barrier μ (tr X − log det X), which is least at X = 1, finds its only solution.

The sum of squares enters as rows B x = b with variances c² (`_Measured`), and Newton's step by

    ( H  Bᵀ ) (dx )   ( −∇f   )        H = ∇²f,  f all terms but the sum of squares
    ( B −c² ) (λ  ) = ( b − Bx)

which stays well conditioned as the noise vanishes: with c = 0 the rows hold exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.errors import ModelError
from appell.reading import reals, shown
from appell.rows import singular
from appell.tree.base_parameters import BaseParameters
from appell.tree.inertia import Inertia
from appell.tree.joint_loads import units

if TYPE_CHECKING:
    from appell.tree.dynamics import TreeDynamics
    from appell.tree.tree import Tree

Array = NDArray[np.float64]

PRIOR_WEIGHT = 1e-2
"""Weight of the entries of X − 1 against residuals in units of their noise: a body twice as heavy counts as a residual of
0.01."""
THIN = 1e-6
"""Fraction of its size added to the pseudo-inertia of a rod, a plate or a missing body, to make it definite at the start."""
NOISE_TURNS = 3
"""Iterations in which the noise of the joints and the parameters are estimated alternately."""
NOT_EXCITED = 1e-8
"""Fraction of the largest singular value of the base regressor below which the data do not determine a combination."""
LEAST_BARRIER, NEWTON_STEPS = 1e-8, 60
"""The last weight of the barrier, and Newton steps for each weight. It leaves an error of 4e-8 per body in a sum of squares in
units of the noise. The first weight is that of the sum of squares at the start, so that noise may be of any size."""
ROUNDED_FORCE = 1e-12
"""Fraction of the largest force of a joint below which its noise is not distinguished from rounding."""
NEGLIGIBLE_GAIN = 1e-4
"""Gain that a last Newton step may still have, in a sum of squares in units of the noise: the estimates move by 0.01 standard
errors."""
SAME_ESTIMATE = 1e-7
"""Fraction of the largest base parameter below which a difference is ignored."""
ESTIMATES_APART = 3.0
"""Standard errors by which the estimate of bodies may differ from plain least squares before a doubt is raised."""


@dataclass(frozen=True, eq=False, repr=False)
class IdentifiedBodies:
    """Bodies identified from measured joint forces.

    Attributes
    ----------
    ok: whether the search converged, the motion determines every base parameter and there is no doubt; message: if not, why.
    values: π (10 n,), SI, as in `Tree.dynamic_parameters`; tree: the same with these bodies.
    base: the combinations that determine joint forces; estimates, errors: their values β and standard errors, (r,), SI;
        plain: those of least squares without the condition on bodies, which may have negative masses.
    noise: standard deviation of each joint's force, (nv,), N or N m; residuals: measured minus computed forces, (k, nv).
    doubts: messages; for example that physical bodies explain the data worse than plain least squares.
    """

    ok: bool
    message: str
    values: Array
    base: BaseParameters
    estimates: Array
    errors: Array
    plain: Array
    noise: Array
    residuals: Array
    doubts: tuple[str, ...]
    tree: Tree

    def __repr__(self) -> str:
        return f"<{len(self.estimates)} base parameters of {self.tree.name}: {self.message}>"


def identify(tree: TreeDynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike, noise: Any) -> IdentifiedBodies:
    """See `TreeDynamics.identify`."""
    base = tree.base_parameters()
    tables = (("q", q, tree.nq), ("v", v, tree.nv), ("a", a, tree.nv), ("tau", tau, tree.nv))
    q_, v_, a_, tau_ = (_table(values, name, n) for name, values, n in tables)
    if len({len(x) for x in (q_, v_, a_, tau_)}) > 1:
        raise ModelError(f"q, v, a and tau have {len(q_)}, {len(v_)}, {len(a_)} and {len(tau_)} samples; give as many of each")
    if tau_.size <= base.rank:
        raise ModelError(f"{tau_.size} measured forces for {base.rank} base parameters are too few")
    Y, own_parameters = tree.regressor(q_, v_, a_), tree.dynamic_parameters
    known_forces = tree.inverse_dynamics(q_, v_, a_) - Y @ own_parameters  # rotors and damping, which are known
    with np.errstate(all="ignore"):
        if not np.isfinite([np.sum(Y**2), np.sum(tau_**2), np.sum(known_forces**2)]).all():
            raise ModelError("q, v, a or tau of identify are so large that forces overflow")
    measured = tau_ - known_forces
    base_columns = Y[:, :, list(base.independent)]
    sigma, plain, errors, unexcited = _plain_least_squares(base_columns, measured, noise)
    pi, settled = _nearest_bodies(tree, _Measured.of(base_columns, measured, sigma), np.asarray(base.matrix, dtype=float))
    estimates, residual = base.matrix @ pi, measured - Y @ pi
    gaps = [f"the motion does not tell {base.names[k]}" for k in unexcited]
    message = "; ".join(gaps[:2]) + (f" and {len(gaps) - 2} more" if len(gaps) > 2 else "") if gaps else "complete"
    message = message if settled else f"the search did not settle; {message}"
    doubts = _doubts(base, estimates, plain, errors)
    message = message if not doubts else f"{message}; {doubts[0]}" if gaps or not settled else doubts[0]
    identified = tree.parametrized("mass centre inertia").with_values(_values(pi))  # type: ignore[attr-defined]
    ok = settled and not gaps and not doubts
    return IdentifiedBodies(ok, message, pi, base, estimates, errors, plain, sigma, residual, doubts, identified)


def _table(values: Any, name: str, n: int) -> Array:
    table = reals(values, f"{name} of identify")
    if table.ndim != 2 or table.shape[1] != n:
        raise ModelError(f"{name} of identify is a table (samples, {n}) of finite numbers, not {shown(values)}")
    gaps = np.argwhere(~np.isfinite(table))
    if len(gaps):
        cell = f"sample {gaps[0][0]}, column {gaps[0][1]}, of {name} of identify"
        raise ModelError(f"{cell} is {table[tuple(gaps[0])]:g}; leave samples with gaps out of q, v, a and tau")
    return table


def _plain_least_squares(Y: Array, tau: Array, noise: Any) -> tuple[Array, Array, Array, list[int]]:
    """Noise of each joint, plain least squares, standard errors, and the indices of combinations that are not excited."""
    k, nv, _ = Y.shape
    stated = reals(1.0 if noise is None else noise, "noise=")
    if stated.shape not in ((), (nv,)) or not (np.isfinite(stated) & (stated > 0)).all():
        raise ModelError(f"noise= is a standard deviation above zero for each joint's force, ({nv},), not {shown(noise)}")
    rounding = ROUNDED_FORCE * np.abs(tau).max(axis=0)
    sigma = np.maximum(np.broadcast_to(stated, (nv,)).astype(float), rounding)
    beta, errors, blind, spent = _weighed(Y, tau, sigma)
    for _ in range(NOISE_TURNS if noise is None else 0):
        residual = tau - Y @ beta
        sigma = np.maximum(np.sqrt((residual**2).sum(axis=0) / np.maximum(k - spent, 1)), np.where(rounding > 0, rounding, 1.0))
        beta, errors, blind, spent = _weighed(Y, tau, sigma)
    return sigma, beta, errors, [int(i) for i in np.flatnonzero(blind)]


def _weighed(Y: Array, tau: Array, sigma: Array) -> tuple[Array, Array, NDArray[np.bool_], Array]:
    """Least squares in units of the noise: β, its standard errors, and which entries are not excited; and how many of the
    samples of each joint are spent on β, (nv,): the trace of its part of the hat matrix."""
    measured = _Measured.of(Y, tau, sigma)
    beta = (measured.directions.T @ measured.values) / measured.size
    errors = np.sqrt(((measured.directions.T * measured.errors) ** 2).sum(axis=1)) / measured.size
    blind = np.abs(measured.unexcited).max(axis=0, initial=0.0) > 1e-2  # an entry with this part in a direction not excited
    return beta, np.where(blind, np.inf, errors), blind, measured.leverage


@dataclass(frozen=True, eq=False)
class _Measured:
    """β as measured: directions (size β) = values, with independent standard errors.

    directions: (s, r), orthonormal rows; unexcited: (r − s, r), the directions not excited; size: (r,); leverage: (nv,), the
    samples of each joint that go into the values.
    """

    directions: Array
    unexcited: Array
    size: Array
    values: Array
    errors: Array
    leverage: Array

    @staticmethod
    def of(Y: Array, tau: Array, sigma: Array) -> _Measured:
        """β from the singular values of Y in units of the noise, with columns of length 1."""
        table = (Y / sigma[:, None]).reshape(-1, Y.shape[-1])
        size = np.linalg.norm(table, axis=0)
        size = np.where(size > 0, size, 1.0)
        U, s, Vt = singular(table / size, economical=True)
        excited = s > NOT_EXCITED * s[0]
        values = (U[:, excited].T @ (tau / sigma).ravel()) / s[excited]
        spent = (U[:, excited] ** 2).sum(axis=1).reshape(tau.shape).sum(axis=0)
        return _Measured(Vt[excited], Vt[~excited], size, values, 1 / s[excited], spent)


def _doubts(base: BaseParameters, estimates: Array, plain: Array, errors: Array) -> tuple[str, ...]:
    deviation = np.abs(estimates - plain) / errors
    distinct = np.abs(estimates - plain) > SAME_ESTIMATE * np.abs(plain).max(initial=0.0)  # without noise, errors are rounding
    deviation = np.where(np.isfinite(deviation) & distinct, deviation, 0.0)
    if not deviation.max(initial=0.0) > ESTIMATES_APART:
        return ()
    worst = int(deviation.argmax())
    return (
        f"no bodies have what plain least squares finds: {base.names[worst]} is {deviation[worst]:.2g} standard errors from it;"
        " the model lacks something (friction, rotors), or the noise is larger",
    )


# -- bodies ------------------------------------------------------------------------------------------------------------


def _pseudo(body: Inertia) -> Array:
    """(P h; hᵀ m), (4, 4), made definite where a body is thin or missing."""
    mass = body.m or 1.0
    length = float(np.trace(body.P)) / mass or 1.0
    return _matrix(body) + np.diag([*(THIN * mass * length,) * 3, THIN * mass])


def _ten_of_pseudo(P: Array) -> Array:
    """π of pseudo-inertias (…, 4, 4), (…, 10)."""
    basis = np.stack([_matrix(unit) for unit in units()])  # ten, a basis of the symmetric matrices
    gram = np.einsum("aij,bij->ab", basis, basis)
    return np.einsum("aij,...ij->...a", basis, P) @ np.linalg.inv(gram)


def _matrix(body: Inertia) -> Array:
    pseudo = np.zeros((4, 4))
    pseudo[:3, :3], pseudo[:3, 3], pseudo[3, :3], pseudo[3, 3] = body.P, body.h, body.h, body.m
    return pseudo


ENTRIES = np.tril_indices(4)


@dataclass(frozen=True, eq=False)
class _Bodies:
    """π = slopes x with the ten entries x of the X of each body."""

    slopes: Array

    @staticmethod
    def of(tree: TreeDynamics) -> _Bodies:
        n, slopes = len(tree.nodes), np.zeros((10 * len(tree.nodes), 10 * len(tree.nodes)))
        for k, node in enumerate(tree.nodes):
            L, block = np.linalg.cholesky(_pseudo(node.inertia)), slice(10 * k, 10 * k + 10)
            slopes[block, block] = _ten_of_pseudo(L @ _unit_entries() @ L.T).T
        assert slopes.shape == (10 * n, 10 * n)
        return _Bodies(slopes)


def _unit_entries() -> Array:
    """The symmetric matrices of which one entry is 1, (10, 4, 4)."""
    matrices = np.zeros((10, 4, 4))
    for k, (i, j) in enumerate(zip(*ENTRIES, strict=True)):
        matrices[k, i, j] = matrices[k, j, i] = 1.0
    return matrices


def _barrier(x: Array) -> tuple[float, Array, Array]:
    """Σ (tr X − log det X) with gradient and Hessian; infinite where an X is not definite."""
    X = np.einsum("ka,aij->kij", x.reshape(-1, 10), _unit_entries())
    try:
        C = np.linalg.cholesky(X)
        inward = np.linalg.inv(C)
    except np.linalg.LinAlgError:
        return np.inf, x, np.eye(len(x))
    value = float(np.trace(X, axis1=1, axis2=2).sum()) - 2 * float(np.log(np.diagonal(C, axis1=1, axis2=2)).sum())
    scaled = np.einsum("kij,ajl,kml->kaim", inward, _unit_entries(), inward)  # C⁻¹ E_a C⁻ᵀ: the Hessian is not negative
    curvature = np.zeros((len(x), len(x)))
    for k, E in enumerate(scaled):
        curvature[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = np.einsum("aij,bij->ab", E, E)
    slope = np.trace(_unit_entries(), axis1=1, axis2=2) - np.trace(scaled, axis1=2, axis2=3)
    return value, slope.ravel(), curvature


def _nearest_bodies(tree: TreeDynamics, measured: _Measured, base: Array) -> tuple[Array, bool]:
    """π of the bodies that explain the measured base parameters (base π, (r,)) best, and whether Newton's method converged.

    ½|(B x − b)/c|² + ½ w² |x − x_0|² + μ Σ (tr X_i − log det X_i)        μ → 0,  rows of B of length 1
    """
    bodies = _Bodies.of(tree)
    B = measured.directions @ (measured.size[:, None] * (base @ bodies.slopes))
    length = np.linalg.norm(B, axis=1)
    B, b, c = B / length[:, None], measured.values / length, measured.errors / length
    x0, w2, settled = np.tile(np.eye(4)[ENTRIES], len(tree.nodes)), PRIOR_WEIGHT**2, False
    smooth = lambda x: 0.5 * float(np.sum(((B @ x - b) / c) ** 2)) + 0.5 * w2 * float(np.sum((x - x0) ** 2))
    x, first_barrier = x0, max(1.0, smooth(x0) / len(x0))
    for mu in np.geomspace(first_barrier, LEAST_BARRIER, 1 + int(np.ceil(np.log10(first_barrier / LEAST_BARRIER)))):
        total = lambda x, mu=mu: smooth(x) + mu * _barrier(x)[0]
        settled = False
        for _ in range(NEWTON_STEPS):
            _, slope, curvature = _barrier(x)
            gradient = w2 * (x - x0) + mu * slope
            try:
                dx, saved = _newton_step(w2 * np.eye(len(x)) + mu * curvature, gradient, B, b - B @ x, c)
            except np.linalg.LinAlgError:  # rows dependent up to rounding, as where weights hide all other forces
                return bodies.slopes @ x, False
            current, length = total(x), 1.0
            # Armijo's rule: at least a tenth of the decrease that the slope promises
            while length > 1e-12 and not total(x + length * dx) <= current - 0.1 * length * saved:
                length *= 0.5
            settled = saved <= NEGLIGIBLE_GAIN or not length > 1e-12
            if saved <= 1e-3 * mu * len(x) or not length > 1e-12:  # the second: at the level of rounding
                break
            x = x + length * dx
    return bodies.slopes @ x, settled


def _newton_step(H: Array, gradient: Array, B: Array, residual: Array, c: Array) -> tuple[Array, float]:
    """dx, and twice the decrease of the quadratic model by it; `residual` is b − B x."""
    n, m = len(gradient), len(residual)
    scale = 1 / np.sqrt(np.diag(H))  # entries of X may differ by many orders
    S = np.block([[scale[:, None] * H * scale, scale[:, None] * B.T], [B * scale, -np.diag(c**2)]])
    rows = np.ones(n + m)
    rows[n:] = 1 / np.maximum(np.linalg.norm(S[n:], axis=1), np.finfo(float).tiny)
    solution = rows * np.linalg.solve(rows[:, None] * S * rows, rows * np.concatenate([-scale * gradient, residual]))
    dx = scale * solution[:n]
    return dx, float(dx @ H @ dx + np.sum((B @ dx / c) ** 2))


def _values(pi: Array) -> Array:
    """Masses, centres and inertias about them, as `tree.parametrized` takes them."""
    values = []
    for ten in pi.reshape(-1, 10):
        m, h = ten[0], ten[1:4]
        J = np.array([[ten[4], ten[5], ten[7]], [ten[5], ten[6], ten[8]], [ten[7], ten[8], ten[9]]])
        c = h / m
        about = J - m * (c @ c * np.eye(3) - np.outer(c, c))
        values += [m, *c, *(about[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)))]
    return np.array(values)


__all__ = ["IdentifiedBodies", "identify"]
