"""Statics with reactions: rest, and the forces that keep it.

    Q(q) − h(q) + W(q) Λ = 0,        f0(q) = 0,        at v = 0, a = 0        (Soltakhanov et al. (4.3): (Y + Λ∇f)·δx = 0)

h at rest is zero but for moving frames (−∂T0/∂q, the centrifugal force): rest is then relative. Constraints of first and second
order enter by their reactions, and have to hold at rest: f1(q, 0) = 0, f2(q, 0, 0) = 0. Newton's method takes the step of
least norm, since rest need not be isolated (a sleigh can stand anywhere) and Λ need not be unique (redundant rows).

Small motions δq = N z about rest, z in the kernel of the holonomic rows and ż in the kernel Z of all rows, obey

    Lᵀ M Z u̇ = Lᵀ ∂(Q − h + WΛ)/∂q N z + Lᵀ ∂(Q − h + WΛ)/∂v Z u,        ż = Z u,        Lᵀ W = 0,

whose eigenvalues tell of stability as far as a linearisation can.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from appell.errors import AppellError, ConstraintError, ModelError
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, column, depends, jacobian, scatter, substitute_all, zeros
from appell.jets import t as time_symbol
from appell.model import System
from appell.model.friction import refuse_friction
from appell.model.prescription import settled
from appell.model.values import finite
from appell.normal_form import NormalForm, normal_form
from appell.normal_form.manifold import normalise, project
from appell.simulate.run import bind
from appell.simulate.start import read
from appell.tree import Tree
from appell.tree.system import TreeSystem

Array = NDArray[np.float64]

ITERATIONS = 100
SETS = 64
"""Sets of faces in contact that are tried."""

RIGID = "the constraints leave nothing to move"
KERNEL = 1e-10
"""Share of the largest singular value below which a direction counts as free."""


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state of rest with the reactions that keep it.

    Attributes
    ----------
    q: coordinates, (nq,); multipliers: Λ, (rows,) in the order of `system.constraints`; SI.
    faces: Λ >= 0 of `system.unilateral`, (faces,), 0 where there is no contact; contacts: names of those in contact.
    residual: largest |Q − h + WΛ| over the size of its terms, and |f| over theirs: rounding.
    eigenvalues: of the linearised motion, 1/s; empty where `reason` says why there are none.
    """

    system: System
    parameters: Mapping[Any, float]
    q: Array
    multipliers: Array
    residual: float
    eigenvalues: NDArray[np.complex128] = field(default_factory=lambda: np.zeros(0, dtype=complex))
    reason: str = ""
    faces: Array = field(default_factory=lambda: np.zeros(0))
    contacts: tuple[str, ...] = ()

    def __getitem__(self, key: Any) -> float:
        """The value of a coordinate, by symbol or name; velocities are 0."""
        names = [str(q) for q in self.system.coordinates]
        if str(key) in map(str, self.system.velocities):
            return 0.0
        if str(key) not in names:
            raise ModelError(f"{key} is not a coordinate of {self.system.name}; it has {', '.join(names)}")
        return float(self.q[names.index(str(key))])

    def reaction(self, constraint: Any) -> float:
        """Λ of a constraint, by the object or its name: the force on the system is Λ ∂f/∂q (∂f/∂q̇, ∂f/∂q̈ by its order).

        Of a `Between`, that of the lower stop less that of the upper one.
        """
        names = {name for face in self.system.unilateral for name in (face.name, face.source.name)}
        if getattr(constraint, "name", constraint) in names:
            numbers = list(self.system.faces(constraint))
            return float(self.faces[numbers] @ np.array([1.0, -1.0])[: len(numbers)])
        return float(self.multipliers[self.system.constraint(constraint)])

    @property
    def start(self) -> dict[Any, float]:
        """symbol → value: a start for `ap.simulate`, at rest."""
        at_rest = dict.fromkeys(self.system.velocities, 0.0)
        return {**dict(zip(self.system.coordinates, map(float, self.q), strict=True)), **at_rest}

    @cached_property
    def free(self) -> int:
        """Zero eigenvalues: dimensions of a family of rests, or motions that the linearisation leaves undecided."""
        return int((np.abs(self.eigenvalues) <= self._zero).sum())

    @property
    def _zero(self) -> float:
        return 1e-6 * max(np.abs(self.eigenvalues).max(initial=0.0), 1e-6)

    @property
    def stability(self) -> str:
        """"unstable", "asymptotically stable" or "undecided" by the eigenvalues; "rigid" or "unknown" without them."""
        if not len(self.eigenvalues):
            return "rigid" if self.reason == RIGID else "unknown"
        growth = self.eigenvalues.real
        if (growth > self._zero).any():
            return "unstable"
        return "asymptotically stable" if (growth < -self._zero).all() else "undecided"

    def __str__(self) -> str:
        where = ", ".join(f"{q} = {x:.9g}" for q, x in zip(self.system.coordinates, self.q, strict=True))
        reactions = [f"  Λ of '{c.name}' = {x:.9g}" for c, x in zip(self.system.constraints, self.multipliers, strict=True)]
        reactions += [f"  Λ of '{f.name}' = {x:.9g}" for f, x in zip(self.system.unilateral, self.faces, strict=True) if x]
        hint = f"  {self.stability}" + (f": {self.reason}" if self.reason else " by the linearised motion")
        if len(self.eigenvalues):
            hint += f"; eigenvalues {np.array2string(self.eigenvalues, precision=5, suppress_small=True)}"
        return "\n".join([f"rest of {self.system.name}: {where} (residual {self.residual:.1e})", *reactions, hint])

    def __repr__(self) -> str:
        return f"<Equilibrium of {self.system.name}, {self.stability}>"


def equilibrium(
    system: System | Tree,
    start: Mapping[Any, Any],
    parameters: Mapping[Any, Any] | None = None,
    *,
    tolerance: float = 1e-10,
) -> Equilibrium:
    """The rest nearest to a start, with its reactions: Q + W Λ = 0, f = 0 (Soltakhanov et al. (4.3)).

    With unilateral constraints, Q + W Λ + Σ Λ_j ∂g_j/∂q = 0 with g >= 0, Λ_j >= 0, g_j Λ_j = 0: sets of faces in contact are
    tried, the empty one first, then by their number and by how near the start is to them.

    Parameters
    ----------
    system: the system, or a tree as it stands (`tree.system()`).
    start: coordinate → value, near the rest sought; unnamed values are 0, and velocities are not looked at.
    parameters: symbol (or name) → value.
    tolerance: residual relative to the size of its terms that counts as rest.

    Raises
    ------
    ModelError where the system depends on time; AppellError where no rest is found near the start, with the force that
    is left; ConstraintError where every rest that was found lies behind a unilateral constraint, or would be pulled to it.
    """
    refuse_friction(system, "ap.equilibrium")
    system = system.system() if isinstance(system, Tree) else system
    if not isinstance(system, System):
        raise ModelError(f"ap.equilibrium takes a System, not {type(system).__name__}")
    system, parameters = settled(system, parameters)
    values = bind(system, parameters)
    tolerance = finite(tolerance, "tolerance=")
    _refuse_time(system)
    p = np.array([values[s] for s in system.parameters], dtype=float)
    q0 = read(system, start)[0]
    why: list[AppellError] = []
    for contacts in _contact_sets(system, p, q0):
        try:
            return _rest(system, values, p, q0, contacts, tolerance)
        except AppellError as error:
            why.append(error)
    raise next((error for error in why if isinstance(error, ConstraintError)), why[0])


def _contact_sets(system: System, p: Array, q: Array) -> Iterator[tuple[int, ...]]:
    """Sets of faces that may be in contact: none, then by their number, those of the nearest faces first."""
    faces = range(len(system.unilateral))
    if not faces:
        yield ()
        return
    form = normal_form(system)
    out = form.select("g", "g_scale")(0.0, q, np.zeros(form.nv), p)
    near = np.abs(out["g"]) / (1e-12 + out["g_scale"] + np.abs(out["g"]))
    sets = (c for n in range(min(len(faces), system.nv) + 1) for c in itertools.combinations(faces, n))
    first = itertools.islice(sets, 10 * SETS)
    yield from sorted(first, key=lambda c: (len(c), float(near[list(c)].sum())))[:SETS]


def _rest(
    system: System, values: Mapping[Any, float], p: Array, q0: Array, contacts: tuple[int, ...], tolerance: float
) -> Equilibrium:
    """The rest in contact with some faces; an error where there is none, or where the others or the signs forbid it."""
    form = normal_form(system, contacts)
    balance = Balance(form, p)
    q, lam = _newton(balance, *balance.first(normalise(form, q0)), tolerance)
    size = balance.size(q, lam)
    if not size <= tolerance:
        raise AppellError(_unbalanced(system, balance, q, lam))
    rows, pushes = lam[: len(system.constraints)], lam[len(system.constraints) :]
    faces = np.zeros(len(system.unilateral))
    faces[list(contacts)] = pushes
    _check_faces(system, p, q, contacts)
    largest = 1 + np.abs(balance(q, lam)["applied"]).max(initial=0.0)
    for j in contacts:
        if faces[j] < -1e-9 * largest:
            name = system.unilateral[j].name
            raise ConstraintError(f"no rest was found: in contact with '{name}' it would have to pull, Λ = {faces[j]:.4g} < 0")
    eigenvalues, reason = eigenvalues_at(balance, q, lam)
    names = tuple(system.unilateral[j].name for j in contacts)
    return Equilibrium(system, values, q, rows, size, eigenvalues, reason, np.maximum(faces, 0.0), names)


def _refuse_time(system: System) -> None:
    """Rest has no meaning where time enters."""
    parts: dict[str, Any] = {f"the force for {v}": e for v, e in zip(system.velocities, system.forces, strict=True)}
    parts["potential"] = system.potential
    if not isinstance(system, TreeSystem):
        parts["kinetic"] = system.kinetic
    parts |= {f"constraint '{c.name}'": e for c, e in zip(system.constraints, system.residuals, strict=True)}
    parts |= {f"unilateral constraint '{face.name}'": face.function for face in system.unilateral}
    parts |= {f"the rate of {q}": e for q, e in system.rates.items()}
    for where, expr in parts.items():
        if time_symbol in expr.free_symbols:
            raise ModelError(f"{where} contains time, so {system.name} has no equilibrium; fix the time by a parameter")


# -- the equations of rest ---------------------------------------------------------------------------------------------


class Balance:
    """F(q, Λ) = (Q − h + WΛ, conditions at rest) with its derivatives in (π, Λ), δq = N δπ; built on the graph."""

    def __init__(self, form: NormalForm, p: Array):
        form.require_known_forces("the search for equilibria")
        self.form, self.p = form, p
        q, v, a, lam = (form.inputs[x] for x in ("q", "v", "a", "lam"))
        W, second = self._directions(), self._second()
        load = form["Q"] - form["h"] + W @ lam
        rest = [zeros(form.nv), zeros(form.nv)]
        conditions = column(form["f0"], form["f1"], second, form["n0"])
        at_rest = lambda *values: substitute_all(list(values), [v, a], rest)
        outputs = at_rest(
            load, conditions, W, form["N"], form["M"], form["A0"], form["A1"],
            jacobian(load, q), jacobian(load, v), jacobian(conditions, q), jacobian(form["f1"], q), form["Q"] - form["h"],
            jacobian(load, form.inputs["p"]), jacobian(conditions, form.inputs["p"]),
        )  # fmt: skip
        names = "load conditions W N M A0 A1 load_q load_v conditions_q f1_q applied load_p conditions_p".split()
        self.fn = self._function(dict(zip(names, outputs, strict=True)))
        self.second_order = any(row.level == 2 for row in form.rows)

    def at(self, p: Array) -> Balance:
        """The same equations with other parameters."""
        other = copy(self)
        other.p = p
        return other

    def _function(self, outputs: dict[str, Value]) -> Fn:
        inputs = {"q": (self.form.inputs["q"], (self.form.nq,)), "p": (self.form.inputs["p"], (len(self.p),))}
        inputs["lam"] = (self.form.inputs["lam"], (len(self.form.rows),))
        probe = column(*(value.reshape((value.numel(), 1)) for value in outputs.values()))
        if depends(probe, self.form.inputs["t"]):
            raise ModelError("the forces or constraints depend on time, so there is no equilibrium")
        vectors = ("load", "conditions", "applied")
        return make_fn("rest", inputs, {k: (x, (x.numel(),) if k in vectors else x.shape) for k, x in outputs.items()})

    def _directions(self) -> Value:
        """W of all rows in the order of the constraints, (nv, rows)."""
        form = self.form
        linear, free = ([row.index for row in form.rows if row.linear is kind] for kind in (True, False))
        return scatter([(linear, form["W"].T), (free, form["r_a"])], len(form.rows), form.nv).T

    def _second(self) -> Value:
        """Rows of second order, to vanish at rest: a0 of those linear in a, r of the others."""
        form = self.form
        linear = [row for row in form.rows if row.linear]
        places = [k for k, row in enumerate(linear) if row.level == 2]
        return column(*(form["a0"][k] for k in places), form["r"])

    def __call__(self, q: Array, lam: Array) -> dict[str, Array]:
        return self.fn(q, self.p, lam)

    def first(self, q: Array) -> tuple[Array, Array]:
        """The start on the holonomic constraints, with the Λ that balance the forces best."""
        with np.errstate(all="ignore"):
            near = project(self.form, 0.0, q, np.zeros(self.form.nv), self.p)[0]
        q = near if np.isfinite(near).all() else q
        out = self(q, np.zeros(len(self.form.rows)))
        return q, np.asarray(np.linalg.lstsq(out["W"], -out["applied"], rcond=KERNEL)[0], dtype=np.float64)

    def residual(self, q: Array, lam: Array) -> Array:
        out = self(q, lam)
        return np.concatenate([out["load"], out["conditions"]])

    def size(self, q: Array, lam: Array) -> float:
        """Largest residual relative to the size of its terms."""
        out = self(q, lam)
        forces = 1 + np.abs(out["applied"]).max() + np.abs(out["W"] * lam).max(initial=0.0)
        lengths = 1 + np.abs(out["conditions_q"] * q).sum(axis=1, initial=0.0)
        worst = max(np.abs(out["load"]).max() / forces, (np.abs(out["conditions"]) / lengths).max(initial=0.0))
        return float(worst) if np.isfinite(worst) else np.inf

    def step(self, q: Array, lam: Array, damping: float) -> tuple[Array, Array]:
        """(Δπ, ΔΛ) of least norm; with damping, Levenberg's."""
        out = self(q, lam)
        top = np.hstack([out["load_q"] @ out["N"], out["W"]])
        bottom = np.hstack([out["conditions_q"] @ out["N"], np.zeros((len(out["conditions"]), len(lam)))])
        J, F = np.vstack([top, bottom]), np.concatenate([out["load"], out["conditions"]])
        scale = np.linalg.norm(J, axis=0)
        scale[scale <= 1e-12 * scale.max(initial=0.0)] = np.inf  # what nothing depends on stays where it is
        K = np.vstack([J / scale, damping * np.eye(J.shape[1])]) if damping else J / scale
        y = np.linalg.lstsq(K, -np.concatenate([F, np.zeros(len(K) - len(F))]), rcond=KERNEL)[0] / scale
        return y[: self.form.nv], y[self.form.nv :]


def _newton(balance: Balance, q: Array, lam: Array, tolerance: float) -> tuple[Array, Array]:
    """Newton's steps, halved while the residual grows; damped ones where halving does not help."""
    move: Callable[[Array, Array, Array], Array] = lambda q, dpi, lam: normalise(
        balance.form, q + balance(q, lam)["N"] @ dpi
    )
    norm = lambda q, lam: float(np.linalg.norm(balance.residual(q, lam)))
    damping, here = 0.0, norm(q, lam)
    for _ in range(ITERATIONS):
        if balance.size(q, lam) <= 1e-3 * tolerance or not np.isfinite(here):
            break
        dpi, dlam = balance.step(q, lam, damping)
        dpi = dpi / max(1.0, np.abs(dpi).max(initial=0.0))  # a step of more than a radian or a metre is no Newton step
        trials = [(move(q, s * dpi, lam), lam + s * dlam) for s in (1.0, 0.5, 0.25, 0.125, 1 / 64)]
        values = [norm(*trial) for trial in trials]
        best = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
        if not values[best] < here:
            if balance.size(q, lam) <= tolerance or damping > 1e3:
                break
            damping = max(10 * damping, 1e-3)
            continue
        (q, lam), here, damping = trials[best], values[best], damping / 10 if damping > 1e-6 else 0.0
    return q, lam


def _unbalanced(system: System, balance: Balance, q: Array, lam: Array) -> str:
    out = balance(q, lam)
    broken = np.abs(out["conditions"]).max(initial=0.0)
    i = int(np.argmax(np.abs(out["load"])))
    where = ", ".join(f"{s} = {x:.4g}" for s, x in zip(system.coordinates, q, strict=True))
    return (
        f"no equilibrium of {system.name} was found near this start: at {where} a force {out['load'][i]:.4g} along"
        f" {system.velocities[i]} is left, and the constraints are off by {broken:.2g}. Start nearer, or add what holds it"
    )


def _check_faces(system: System, p: Array, q: Array, contacts: tuple[int, ...]) -> None:
    """g >= 0 on the faces that are not in contact."""
    if len(contacts) == len(system.unilateral):
        return
    form = normal_form(system)
    out = form.select("g", "g_scale")(0.0, q, np.zeros(form.nv), p)
    for j, face in enumerate(system.unilateral):
        if j not in contacts and not out["g"][j] >= -1e-9 * (out["g_scale"][j] + np.abs(q).max(initial=0.0)):
            raise ConstraintError(
                f"the equilibrium lies behind unilateral constraint '{face.name}': {face.function} = {out['g'][j]:.4g} < 0"
            )


# -- small motions -----------------------------------------------------------------------------------------------------


def _kernel(A: Array) -> Array:
    return scipy.linalg.null_space(A, rcond=KERNEL) if len(A) else np.eye(A.shape[1])


def eigenvalues_at(balance: Balance, q: Array, lam: Array) -> tuple[NDArray[np.complex128], str]:
    """Eigenvalues of the linearised motion, or the reason why there are none."""
    none = np.zeros(0, dtype=complex)
    out = balance(q, lam)
    if balance.second_order:
        return none, "a constraint of second order is not linearised"
    first = [i for i, row in enumerate([r for r in balance.form.rows if r.level < 2]) if row.level == 1]
    if np.abs(out["f1_q"][first]).max(initial=0.0) > KERNEL:
        return none, "a constraint of first order changes its velocities from place to place"
    Z0, Z, L = _kernel(out["A0"]), _kernel(out["A1"]), scipy.linalg.null_space(out["W"].T, rcond=KERNEL)
    if not len(balance.form.rows):
        L = np.eye(balance.form.nv)
    inertia = L.T @ out["M"] @ Z
    if not inertia.size:
        return none, RIGID if not Z.size else "the inertia is singular on what the constraints allow"
    if inertia.shape[0] != inertia.shape[1] or np.linalg.cond(inertia) > 1e12:
        return none, "the inertia is singular on what the constraints allow"
    stiffness = np.linalg.solve(inertia, L.T @ out["load_q"] @ out["N"] @ Z0)
    damping = np.linalg.solve(inertia, L.T @ out["load_v"] @ Z)
    J = np.block([[np.zeros((Z0.shape[1], Z0.shape[1])), Z0.T @ Z], [stiffness, damping]])
    values = np.asarray(np.linalg.eigvals(J) if J.size else none, dtype=np.complex128)
    return values[np.argsort(-values.real, kind="stable")], ""
