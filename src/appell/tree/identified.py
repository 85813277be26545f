"""Physically possible inertias of a robot from measured motions and joint forces.

    min_π Σ_k |(Y(q_k, v_k, a_k) π − τ_k)/σ|²        P_i(π) = Σ (x, 1)(x, 1)ᵀ dm positive definite for every body i

The data determine the base parameters; everything else stays as near to the tree's own bodies as possible. P = L X Lᵀ
with the L of the tree's own body (Cholesky), so that the distance of X from 1 does not depend on units. The set of physical
bodies is convex (Traversaro, Brossette, Escande, Nori 2016; Wensing, Kim, Slotine 2018), and so is the problem: Newton's method
with a barrier −μ log det X finds its only solution.
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
ROUNDED_CURVATURE = 1e-11
"""Fraction of the largest curvature below which the data contain only rounding; it matters where there is hardly any noise."""
BARRIERS, NEWTON_STEPS = tuple(10.0**-k for k in range(9)), 60
"""Successive weights of the barrier, and Newton steps for each. The last weight leaves an error of 4e-8 per body in a sum of
squares in units of the noise."""
CLOSE = 1e-7
"""Fraction of the largest base parameter below which a difference is ignored."""
FAR = 3.0
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
    given = (("q", q, tree.nq), ("v", v, tree.nv), ("a", a, tree.nv), ("tau", tau, tree.nv))
    q_, v_, a_, tau_ = (_table(values, name, n) for name, values, n in given)
    if len({len(x) for x in (q_, v_, a_, tau_)}) > 1:
        raise ModelError(f"q, v, a and tau have {len(q_)}, {len(v_)}, {len(a_)} and {len(tau_)} samples; give as many of each")
    if tau_.size <= base.rank:
        raise ModelError(f"{tau_.size} measured forces for {base.rank} base parameters are too few")
    Y, own = tree.regressor(q_, v_, a_), tree.dynamic_parameters
    rest = tree.inverse_dynamics(q_, v_, a_) - Y @ own  # rotors and damping, which are known
    with np.errstate(all="ignore"):
        if not np.isfinite([np.sum(Y**2), np.sum(tau_**2), np.sum(rest**2)]).all():
            raise ModelError("q, v, a or tau of identify are so large that forces overflow")
    wanted = tau_ - rest
    sigma, plain, errors, lost = _plain(Y[:, :, list(base.independent)], wanted, noise)
    weighed = (Y / sigma[:, None]).reshape(-1, Y.shape[-1])
    Q, R = np.linalg.qr(weighed)
    pi, settled = _nearest_bodies(tree, R, Q.T @ (wanted / sigma).ravel())
    estimates, left = base.matrix @ pi, wanted - Y @ pi
    said = [f"the motion does not tell {base.names[k]}" for k in lost]
    message = "; ".join(said[:2]) + (f" and {len(said) - 2} more" if len(said) > 2 else "") if said else "complete"
    message = message if settled else f"the search did not settle; {message}"
    doubts = _doubts(base, estimates, plain, errors)
    message = message if not doubts else f"{message}; {doubts[0]}" if said or not settled else doubts[0]
    found = tree.parametrized("mass centre inertia").with_values(_values(pi))  # type: ignore[attr-defined]
    ok = settled and not said and not doubts
    return IdentifiedBodies(ok, message, pi, base, estimates, errors, plain, sigma, left, doubts, found)


def _table(values: Any, name: str, n: int) -> Array:
    found = reals(values, f"{name} of identify")
    if found.ndim != 2 or found.shape[1] != n:
        raise ModelError(f"{name} of identify is a table (samples, {n}) of finite numbers, not {shown(values)}")
    gaps = np.argwhere(~np.isfinite(found))
    if len(gaps):
        where = f"sample {gaps[0][0]}, column {gaps[0][1]}, of {name} of identify"
        raise ModelError(f"{where} is {found[tuple(gaps[0])]:g}; leave samples with gaps out of q, v, a and tau")
    return found


def _plain(Y: Array, tau: Array, noise: Any) -> tuple[Array, Array, Array, list[int]]:
    """Noise of each joint, plain least squares, standard errors, and the indices of combinations that are not excited."""
    k, nv, _ = Y.shape
    given = reals(1.0 if noise is None else noise, "noise=")
    if given.shape not in ((), (nv,)) or not (np.isfinite(given) & (given > 0)).all():
        raise ModelError(f"noise= is a standard deviation above zero for each joint's force, ({nv},), not {shown(noise)}")
    sigma = np.broadcast_to(given, (nv,)).astype(float)
    beta, errors, blind, spent = _weighed(Y, tau, sigma)
    for _ in range(NOISE_TURNS if noise is None else 0):
        left = tau - Y @ beta
        least = 1e-12 * np.abs(tau).max(axis=0)
        sigma = np.maximum(np.sqrt((left**2).sum(axis=0) / np.maximum(k - spent, 1)), np.where(least > 0, least, 1.0))
        beta, errors, blind, spent = _weighed(Y, tau, sigma)
    return sigma, beta, errors, [int(i) for i in np.flatnonzero(blind)]


def _weighed(Y: Array, tau: Array, sigma: Array) -> tuple[Array, Array, NDArray[np.bool_], Array]:
    """Least squares in units of the noise: β, its standard errors, and which entries are not excited; and how many of the
    samples of each joint are spent on β, (nv,): the trace of its part of the hat matrix."""
    table = (Y / sigma[:, None]).reshape(-1, Y.shape[-1])
    size = np.linalg.norm(table, axis=0)
    size = np.where(size > 0, size, 1.0)
    U, s, Vt = singular(table / size, economical=True)
    seen = s > NOT_EXCITED * s[0]
    beta = (Vt[seen].T @ ((U[:, seen].T @ (tau / sigma).ravel()) / s[seen])) / size
    errors = np.sqrt(((Vt[seen].T / s[seen]) ** 2).sum(axis=1)) / size
    blind = np.abs(Vt[~seen]).max(axis=0, initial=0.0) > 1e-2
    spent = (U[:, seen] ** 2).sum(axis=1).reshape(tau.shape).sum(axis=0)
    return beta, np.where(blind, np.inf, errors), blind, spent


def _doubts(base: BaseParameters, estimates: Array, plain: Array, errors: Array) -> tuple[str, ...]:
    far = np.abs(estimates - plain) / errors
    seen = np.abs(estimates - plain) > CLOSE * np.abs(plain).max(initial=0.0)  # without noise the standard errors are rounding
    far = np.where(np.isfinite(far) & seen, far, 0.0)
    if not far.max(initial=0.0) > FAR:
        return ()
    worst = int(far.argmax())
    return (
        f"no bodies have what plain least squares finds: {base.names[worst]} is {far[worst]:.2g} standard errors from it; the"
        " model lacks something (friction, rotors), or the noise is larger",
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
    found = np.zeros((4, 4))
    found[:3, :3], found[:3, 3], found[3, :3], found[3, 3] = body.P, body.h, body.h, body.m
    return found


ENTRIES = np.tril_indices(4)


@dataclass(frozen=True, eq=False)
class _Bodies:
    """π = slopes x with the ten entries x of the X of each body."""

    slopes: Array

    @staticmethod
    def of(tree: TreeDynamics) -> _Bodies:
        n, out = len(tree.nodes), np.zeros((10 * len(tree.nodes), 10 * len(tree.nodes)))
        for k, node in enumerate(tree.nodes):
            L, own = np.linalg.cholesky(_pseudo(node.inertia)), slice(10 * k, 10 * k + 10)
            out[own, own] = _ten_of_pseudo(L @ _unit_entries() @ L.T).T
        assert out.shape == (10 * n, 10 * n)
        return _Bodies(out)


def _unit_entries() -> Array:
    """The symmetric matrices of which one entry is 1, (10, 4, 4)."""
    found = np.zeros((10, 4, 4))
    for k, (i, j) in enumerate(zip(*ENTRIES, strict=True)):
        found[k, i, j] = found[k, j, i] = 1.0
    return found


def _barrier(x: Array) -> tuple[float, Array, Array]:
    """−Σ log det X with gradient and Hessian; infinite where an X is not definite."""
    X = np.einsum("ka,aij->kij", x.reshape(-1, 10), _unit_entries())
    try:
        C, inverse = np.linalg.cholesky(X), np.linalg.inv(X)
    except np.linalg.LinAlgError:
        return np.inf, x, np.eye(len(x))
    value = -2 * float(np.log(np.diagonal(C, axis1=1, axis2=2)).sum())
    parts = np.einsum("kij,ajl->kail", inverse, _unit_entries())  # X⁻¹ E_a
    curvature = np.zeros((len(x), len(x)))
    for k, one in enumerate(parts):
        curvature[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = np.einsum("aij,bji->ab", one, one)
    return value, -np.trace(parts, axis1=2, axis2=3).ravel(), curvature


def _nearest_bodies(tree: TreeDynamics, R: Array, y: Array) -> tuple[Array, bool]:
    """π of the bodies that explain R π = y best, and whether Newton's method converged. The problem is convex.

    ½|A x − y|² + ½ w² |x − x_0|² − μ Σ log det X_i        A = R ∂π/∂x,  μ → 0
    """
    bodies = _Bodies.of(tree)
    A, first = R @ bodies.slopes, np.tile(np.eye(4)[ENTRIES], len(tree.nodes))
    H, x, settled = A.T @ A, first, True
    w2 = max(PRIOR_WEIGHT**2, ROUNDED_CURVATURE * float(np.diag(H).max()))
    H = H + w2 * np.eye(len(x))
    smooth = lambda x: 0.5 * float(np.sum((A @ x - y) ** 2)) + 0.5 * w2 * float(np.sum((x - first) ** 2))
    for mu in BARRIERS:
        for step in range(NEWTON_STEPS):
            value, slope, curvature = _barrier(x)
            gradient = H @ x - A.T @ y - w2 * first + mu * slope
            dx = -np.linalg.solve(H + mu * curvature, gradient)
            saved = -float(gradient @ dx)
            if saved <= 1e-3 * mu * len(x):
                break
            length, now = 1.0, smooth(x) + mu * value
            total = lambda x, mu=mu: smooth(x) + mu * _barrier(x)[0]
            while length > 1e-12 and not total(x + length * dx) <= now - 0.1 * length * saved:
                length *= 0.5
            if not length > 1e-12:  # at the level of rounding: converged
                break
            x = x + length * dx
            settled = step < NEWTON_STEPS - 1
    return bodies.slopes @ x, settled


def _values(pi: Array) -> Array:
    """Masses, centres and inertias about them, as `tree.parametrized` takes them."""
    found = []
    for ten in pi.reshape(-1, 10):
        m, h = ten[0], ten[1:4]
        J = np.array([[ten[4], ten[5], ten[7]], [ten[5], ten[6], ten[8]], [ten[7], ten[8], ten[9]]])
        c = h / m
        about = J - m * (c @ c * np.eye(3) - np.outer(c, c))
        found += [m, *c, *(about[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)))]
    return np.array(found)


__all__ = ["IdentifiedBodies", "identify"]
