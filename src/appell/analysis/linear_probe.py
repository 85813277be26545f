"""Linearized equations at any state, in velocities chosen at one: the numeric part of `ap.linearize`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.analysis.linearization import Array, Linearization
from appell.analysis.ports import Ports, StateMatrices
from appell.analysis.rests.natural_sizes import natural_steps, reference_of
from appell.compiled.run import Run
from appell.errors import ModelError, SingularConfiguration
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, block_matrix, column, depends, derivative_along, is_zero, jacobian, take
from appell.normal_form import NormalForm
from appell.normal_form.move_sizes import in_metric, metric_roots
from appell.rows import RANK_LOST, in_columns, least_squares, rank, rows_of_dependencies, singular, unit_rows

FORCES_LEFT = 1e-8
"""Largest unbalanced force at a steady motion, relative to the forces."""
LAW_SHARE = 1e-3
"""Errors of a state are compared with this fraction of the speeds, and of displacements over which forces keep their law."""
STEADY_CHANGE = 1e-9
"""A velocity changes if its acceleration exceeds this fraction of the forces, by inertia; so does a coefficient by its rate."""
LATER_TIMES = (1 / np.e, 1 + np.e / 3, np.e**2)
"""Times after that of an equilibrium at which a time-dependent system is checked again, in seconds and in the time of its
fastest rate; no round numbers, which are periods of many forces."""
SHORT_MOMENT, MAY_CHANGE = 1e-5, 1e-3
"""A moment later, as a fraction of the shortest time of a steady motion, and the fraction of the fastest rate at which its
coefficients then may change."""


@dataclass(frozen=True, eq=False)
class _Derivatives:
    """All derivatives as one function of (t, q, v, p, a, lam)."""

    fn: Fn

    @staticmethod
    def of(form: NormalForm) -> _Derivatives:
        form.require_known_forces("linearize")
        t, q, v, p, a, lam = (form.inputs[x] for x in ("t", "q", "v", "p", "a", "lam"))
        linear = [row.index for row in form.rows if row.linear]
        curved = [row.index for row in form.rows if not row.linear]
        load = form["M"] @ a + form["h"] - form["Q"] - form["W"] @ take(lam, linear) - form["r_a"].T @ take(lam, curved)
        below = [k for k, level in enumerate(form.levels) if level < 2]
        all_rows, N = form["A"] @ a + form["a0"], form["N"]
        rows = take(all_rows, below)
        second = column(take(all_rows, [k for k, level in enumerate(form.levels) if level == 2]), form["r"])
        turning = derivative_along(N, [t, q], [1, form["qd"]]) - jacobian(form["qd"], q) @ N
        moves, rates, states = form.moves, form.state_rates, take(q, range(form.nq - form.states, form.nq))
        values: dict[str, Value] = {
            "M": form["M"], "W": block_matrix([[form["W"], form["r_a"].T]]), "A0": form["A0"], "A1": form["A1"], "N": N,
            "turning": turning, "F_a": jacobian(load, a), "F_q": jacobian(load, q) @ moves, "F_v": jacobian(load, v),
            "F_lam": jacobian(load, lam),
            "r_a": jacobian(rows, a), "r_q": jacobian(rows, q) @ moves, "r_v": jacobian(rows, v),
            "f0_s": jacobian(form["f0"], states), "f_q": jacobian(form["f1"], q) @ moves,
            "s_a": jacobian(second, a), "s_q": jacobian(second, q) @ moves, "s_v": jacobian(second, v),
            "g_s": jacobian(rates, q), "g_q": jacobian(rates, q) @ moves, "g_v": jacobian(rates, v),
        }  # fmt: skip
        inputs = {name: (x, (x.numel(),)) for name, x in (("q", q), ("v", v), ("p", p), ("a", a), ("lam", lam))}
        return _Derivatives(make_fn("linear", {"t": (t, ()), **inputs}, {k: (x, x.shape) for k, x in values.items()}))


class _Variations(NamedTuple):
    """δq = N B z, δv = Y z + Z u, δa = Z u̇ + Y_a z + Y_b u; L: kernel of Wᵀ; second: picks rows of second order;
    F = M a + h − Q − WΛ and its derivatives."""

    B: Array
    coordinate_basis: Array
    Z: Array
    Y: Array
    Y_a: Array
    Y_b: Array
    L: Array
    second: Array
    inertia: Array
    F_q: Array
    F_v: Array
    F_a: Array
    F_lam: Array


def _positive_or_one(x: Array) -> Array:
    return np.where(x > 0, x, 1.0)


class LinearProbe:
    """The linearized equations of a run at any state, in velocities chosen at one."""

    def __init__(self, run: Run, independent: Sequence[int] | None, t: float, q: Array, v: Array):
        self.run, self.system, self.form = run, run.system, run.form
        self.derivatives = _Derivatives.of(self.form)
        a, lam = run.acceleration(t, q, v)
        out = self.derivatives.fn(t, q, v, run.p_at(t), a, lam)
        nv = self.system.nv
        scale = 1 / np.sqrt(np.where(np.diag(out["M"]) > 0, np.diag(out["M"]), 1.0))
        moving = self._accelerated(t, q, v, a, out["M"]) | varying_columns(self.form)
        dependent = pivots(out["A1"] * scale, [moving, ~moving])
        if independent is not None:
            dependent = [i for i in range(nv) if i not in independent]
            rows = unit_rows(out["A1"] * scale)
            if not len(dependent) == rank(rows) == rank(rows[:, dependent], as_given=True):
                raise ModelError(
                    f"independent= must name {nv - rank(rows)} velocities that leave the constraints solvable for the others"
                )
        self.free = [i for i in (independent or range(nv)) if i not in dependent]
        self.dependent = sorted(dependent)
        inside = np.isin(np.arange(nv), self.dependent)
        bound = pivots(out["A0"] * scale, [inside]) if len(out["A0"]) else []
        self.z = [*self.free, *(i for i in self.dependent if i not in bound)]
        self.bound = sorted(bound)
        self.second_order_columns = pivots(
            out["s_a"] @ _basis(out["A1"], self.free, self.dependent, nv), [np.ones(len(self.free), dtype=bool)]
        )

    def _accelerated(self, t: float, q: Array, v: Array, a: Array, M: Array) -> NDArray[np.bool_]:
        """Velocities that change, (nv,): by more than rounding of the forces, by inertia."""
        out, root = self.form.select("h", "Q")(t, q, v, self.run.p_at(t)), metric_roots(M)
        forces = np.abs(out["h"]) + np.abs(out["Q"]) + np.abs(M) @ np.abs(a)
        return root * np.abs(a) > STEADY_CHANGE * (forces / root).max(initial=0.0)

    def __call__(self, t: float, q: Array, v: Array) -> tuple[Any, ...]:
        """M, C, K (nu, nz), A, B, a, Λ at a state."""
        return self._matrices(t, q, v)[0]

    def choice(self, t: float, q: Array, v: Array) -> dict[str, list[int]]:
        """The independent velocities, coordinates and rows at a state; see `linear_in_letters.Choice`."""
        a, lam = self.run.acceleration(t, q, v)
        out = self.derivatives.fn(t, q, v, self.run.p_at(t), a, lam)
        any_column = lambda A: [np.ones(A.shape[1], dtype=bool)]
        independent = lambda A: sorted(pivots(A.T, any_column(A.T))) if A.size else []
        preferred = np.isin(np.arange(self.system.nv), self.dependent)
        pushed = sorted(pivots(out["W"].T, [preferred, ~preferred]))
        return {
            "free": list(self.free), "dependent": list(self.dependent), "rows": independent(out["A1"][:, self.dependent]),
            "z": list(self.z), "bound": list(self.bound), "holonomic_rows": independent(out["A0"][:, self.bound]),
            "pushed": pushed, "acting": independent(out["W"].T[:, pushed]),
        }  # fmt: skip

    def ported(self, ports: Ports | None, t: float, q: Array, v: Array) -> StateMatrices | None:
        """B, C, D of inputs and outputs at a state, and the sizes of states; None if none are requested."""
        if ports is None:
            return None
        (M, _, _, A, _, a, lam), varied = self._matrices(t, q, v)
        out = ports.fn(t, q, v, self.run.p_at(t), a, lam)
        nu, n = len(self.free), len(A)
        push = np.vstack([varied.L.T @ out["F_u"], varied.second @ out["s_u"]])
        B_u = np.vstack([np.zeros((len(self.z), out["F_u"].shape[1])), out["g_u"], -np.linalg.solve(M, push) if nu else push])
        dq = np.hstack([varied.B, np.zeros((len(varied.B), nu))])
        dv = np.hstack([varied.Y, varied.Z])
        da = varied.Z @ A[n - nu :] + np.hstack([varied.Y_a, varied.Y_b])
        C_y, D_y = np.eye(n), np.zeros((n, B_u.shape[1]))
        if ports.outputs is not None:
            pushed = varied.Z @ B_u[n - nu :]
            load = np.hstack([varied.F_q @ dq + varied.F_v @ dv + varied.F_a @ da, varied.F_a @ pushed + out["F_u"]])
            dlam = out["y_lam"] @ self._reactions(varied, load, out["y_lam"])
            C_y = out["y_q"] @ dq + out["y_v"] @ dv + out["y_a"] @ da + dlam[:, :n]
            D_y = out["y_u"] + out["y_a"] @ pushed + dlam[:, n:]
        inertia = [np.diag(x.T @ varied.inertia @ x) for x in (varied.coordinate_basis, varied.Z)]
        sizes = 1 / np.sqrt(_positive_or_one(np.concatenate([inertia[0], np.zeros(self.form.states), inertia[1]])))
        return StateMatrices(A, B_u, C_y, D_y, sizes, ports.inputs, ports.outputs)

    def _reactions(self, varied: _Variations, load: Array, outputs_lam: Array) -> Array:
        """δΛ of F_Λ δΛ + given = 0, (rows, k). Raises if one that is asked for, (outputs, rows), is not unique."""
        roots = metric_roots(varied.inertia)
        push = varied.F_lam / roots[:, None]
        not_unique = [i for i in rows_of_dependencies(push.T) if outputs_lam[:, i].any()]
        if not_unique:
            name = self.form.rows[not_unique[0]].constraint.name
            raise ModelError(f"Λ of '{name}' in outputs= is not unique: its rows are dependent")
        return -least_squares(push, load / roots[:, None], RANK_LOST)

    def _matrices(self, t: float, q: Array, v: Array) -> tuple[tuple[Any, ...], _Variations]:
        a, lam = self.run.acceleration(t, q, v)
        out = self.derivatives.fn(t, q, v, self.run.p_at(t), a, lam)
        nv, nu, states = self.system.nv, len(self.free), self.form.states
        basis = _basis(out["A0"], self.z, self.bound, nv)
        followed = _particular(out["A0"], out["f0_s"], self.bound, nv)
        B = np.block([[basis, followed], [np.zeros((states, basis.shape[1])), np.eye(states)]])
        nz = B.shape[1]
        Z = _basis(out["A1"], self.free, self.dependent, nv)
        curved = [self.free[k] for k in self.second_order_columns]
        preferred = np.isin(np.arange(nv), [*self.dependent, *curved])  # reactions push these first
        pushed = pivots(out["W"].T, [preferred, ~preferred])
        L = _basis(out["W"].T, [i for i in range(nv) if i not in pushed], sorted(pushed), nv)
        Y = _particular(out["A1"], out["f_q"] @ B, self.dependent, nv)
        Y_a = _particular(out["r_a"], out["r_q"] @ B + out["r_v"] @ Y, self.dependent, nv)
        Y_b = _particular(out["r_a"], out["r_v"] @ Z, self.dependent, nv)
        rows = _independent(out["s_a"] @ Z)
        stacked = lambda name: np.vstack([L.T @ out[f"F_{name}"], rows @ out[f"s_{name}"]])
        M = stacked("a") @ Z
        C = stacked("a") @ Y_b + stacked("v") @ Z
        K = stacked("a") @ Y_a + stacked("q") @ B + stacked("v") @ Y
        twist = in_columns(out["N"], out["turning"])
        top = np.hstack([(Y - twist @ B[:nv])[self.z], Z[self.z]])
        rates = np.hstack([out["g_q"] @ B + out["g_v"] @ Y, out["g_v"] @ Z])
        bottom = -np.linalg.solve(M, np.hstack([K, C])) if nu else np.zeros((0, nz))
        varied = _Variations(B, basis, Z, Y, Y_a, Y_b, L, rows, out["M"], *(out[f"F_{x}"] for x in ("q", "v", "a", "lam")))
        return (M, C, K, np.vstack([top, rates, bottom]), B[:nv], a, lam), varied

    def linearization(self, parts: Sequence[Array]) -> Linearization:
        """The linearization with matrices M, C, K, A, B, a and Λ of one state, or of several, stacked along a motion."""
        M, C, K, A, B, a, lam = parts
        nu, swap = len(self.free), lambda x: np.swapaxes(x, -1, -2)
        K_u = K[..., :nu]
        velocities = tuple(self.system.velocities[i] for i in self.free)
        names = {v: q for q in self.system.coordinates for v in (self.system.rates[q],) if v == q.d}
        return Linearization(
            system=self.system, velocities=velocities,
            coordinates=(*(names.get(v, v) for v in (self.system.velocities[i] for i in self.z)), *self.system.states),
            M=M, D=(C + swap(C)) / 2, G=(C - swap(C)) / 2, K=(K_u + swap(K_u)) / 2, N=(K_u - swap(K_u)) / 2,
            follow=K[..., nu:], A=A, B=B, a=a, multipliers=lam,
        )  # fmt: skip

    def require_steady(self, t: float, q: Array, v: Array) -> None:
        """Raises if independent velocities change at a state."""
        a, lam = self.run.acceleration(t, q, v)
        p = self.run.p_at(t)
        out = self.form.select("M", "h", "Q")(t, q, v, p) | self.derivatives.fn(t, q, v, p, a, lam)
        self._require_still(t, q, v, out)
        order = sorted(range(len(self.form.rows)), key=lambda i: not self.form.rows[i].linear)  # the order of the columns of W
        size = np.abs(out["h"]) + np.abs(out["Q"]) + np.abs(out["M"]) @ np.abs(a) + np.abs(out["W"]) @ np.abs(lam[order])
        changing = self._unbalanced(out["M"], a, size)
        if changing:
            speeds = in_metric(metric_roots(out["M"]), np.abs(v))
            near_forces = np.abs(out["F_q"]) @ self._law_extent(t, q, v) + np.abs(out["F_v"]) @ speeds
            changing = self._unbalanced(out["M"], a, size + LAW_SHARE * near_forces)
        if changing:
            i = max(changing, key=lambda i: changing[i])
            raise ModelError(
                f"this is no rest or steady motion of {self.system.name}: {self.system.accelerations[i]} = {a[i]:.4g} there."
                " ap.equilibrium and ap.steady_motions find one; motion= linearises along any motion; independent= names"
                " other velocities, which may be constant"
            )

    def _unbalanced(self, M: Array, a: Array, forces: Array) -> dict[int, float]:
        """Independent velocities that change beside forces of some size → how much, by inertia."""
        heavy = np.diag(M) > 0
        root = np.sqrt(np.where(heavy, np.diag(M), 1.0))
        unbalanced, most = root * np.abs(a), (forces / root)[heavy].max(initial=0.0)
        return {i: float(unbalanced[i]) for i in self.free if heavy[i] and unbalanced[i] > FORCES_LEFT * most}

    def _law_extent(self, t: float, q: Array, v: Array) -> Array:
        """Displacements over which the forces keep their law, (nv + states,); see `natural_sizes`."""
        with np.errstate(all="ignore"):
            steps = natural_steps(reference_of(self.form, self.run.p_at(t), t, q, v))
        return np.concatenate([steps, np.abs(q[self.form.nq - self.form.states :])])

    def _coordinate_rates(self, t: float, q: Array, v: Array) -> Array:
        """q̇ of the coordinates; states of first order are at rest, as `require_steady` checks."""
        qd = self.form.select("qd")(t, q, v, self.run.p_at(t))["qd"]
        qd[self.form.nq - self.form.states :] = 0.0
        return qd

    def _require_still(self, t: float, q: Array, v: Array, out: Mapping[str, Array]) -> None:
        """Raises if a state of first order changes, relative to the terms of its rate."""
        first_state = self.form.nq - self.form.states
        rate = self.form.select("qd")(t, q, v, self.run.p_at(t))["qd"][first_state:]
        size = np.abs(out["g_s"]) @ np.abs(q) + np.abs(out["g_v"]) @ np.abs(v)
        for s, s_d, most in zip(self.system.states, rate, size, strict=True):
            if abs(s_d) > FORCES_LEFT * max(most, np.finfo(float).tiny):
                raise ModelError(
                    f"this is no rest or steady motion of {self.system.name}: {s.d} = {s_d:.4g} there. ap.equilibrium finds a"
                    " rest; motion= linearises along any motion"
                )

    def require_constant(self, here: Linearization, t: float, q: Array, v: Array) -> None:
        """Raises if the coefficients change along the motion, checked a moment later."""
        core, qd = here._influential_states, self._coordinate_rates(t, q, v)
        if not len(core) or not qd.any():
            return
        root = np.sqrt(_positive_or_one(self.form.select("M")(t, q, v, self.run.p_at(t))["M"].diagonal()))
        moving, rate = np.linalg.norm(root * v), max(here.fastest, self._turning(q, v, qd, here.a, root))
        moment = SHORT_MOMENT / rate
        _, _, _, later, _, a, _ = self(t + moment, q + moment * qd, v + moment * here.a)
        drift = (root * np.abs(a - here.a))[self.free]
        if (drift > (MAY_CHANGE * moment * rate + 1e-11) * rate * moving).any():
            i = self.free[int(np.argmax(drift))]
            raise ModelError(
                f"this is no rest or steady motion of {self.system.name}: {self.system.accelerations[i]} vanishes for a moment"
                " only. ap.steady_motions finds one; motion= linearises along any motion"
            )
        changed = here.in_sizes(later - here.A)[np.ix_(core, core)].max()
        if changed > (MAY_CHANGE * moment * rate + STEADY_CHANGE) * here.fastest:
            raise ModelError(
                "the coefficients of the linear equations change along this motion; name independent= velocities in which they"
                " do not (angles in place of Cartesian velocities), or give motion="
            )

    def _turning(self, q: Array, v: Array, qd: Array, a: Array, root: Array) -> float:
        """The rate, 1/s, at which the motion bends its straight continuation: |a|/|v| by inertia, and that of quaternions."""
        speed = np.linalg.norm(root * v)
        turns = [2 * np.linalg.norm(qd[list(group)]) for group in self.form.quaternions]
        return float(max(np.linalg.norm(root * a) / speed if speed > 0 else 0.0, *turns, 0.0))

    def with_time(self, here: Linearization, t: float, q: Array, v: Array) -> Linearization:
        """Checks that an equilibrium of a time-dependent system holds at other times; its coefficients may change."""
        terms = [value.reshape((-1, 1)) for value in (self.form[x] for x in ("M", "h", "Q", "W", "A", "a0", "r", "N"))]
        if not depends(column(*terms), self.form.inputs["t"]) or self._coordinate_rates(t, q, v).any():
            return here
        changing = False
        for later in (*LATER_TIMES, *(x / here.fastest for x in LATER_TIMES)):
            try:
                self.require_steady(t + later, q, v)
                later_A = self(t + later, q, v)[3]
            except SingularConfiguration:  # outside the times of a table
                continue
            changing |= bool(here.in_sizes(later_A - here.A).max(initial=0.0) > STEADY_CHANGE * here.fastest)
        return replace(here, changing=changing)


def varying_columns(form: NormalForm) -> NDArray[np.bool_]:
    """Velocities whose coefficients in the constraints depend on the configuration, (nv,)."""
    q = form.inputs["q"]
    return np.array([not is_zero(jacobian(form["A1"][:, i], q)) for i in range(form.nv)], dtype=bool)


def pivots(A: Array, preference: Sequence[NDArray[np.bool_]]) -> list[int]:
    """Columns that span the range of A, preferred ones first, always with the largest remainder."""
    if not len(A):
        return []
    length = np.linalg.norm(A, axis=1, keepdims=True)
    remainder, chosen = A / np.where(length > 0, length, 1.0), []
    for allowed in preference:
        while True:
            sizes = np.where(allowed, np.linalg.norm(remainder, axis=0), 0.0)
            sizes[chosen] = 0.0
            best = int(np.argmax(np.round(sizes, 9)))  # of equal columns always the first, whatever the rounding
            if not sizes[best] > 1e-7:  # about √ε: what is left of columns of length 1 is rounding
                break
            chosen.append(best)
            unit = remainder[:, best] / np.linalg.norm(remainder[:, best])
            remainder = remainder - np.outer(unit, unit @ remainder)
    return chosen


def _basis(A: Array, free: Sequence[int], dependent: Sequence[int], nv: int) -> Array:
    """Columns of ker A with unit entries in `free`, (nv, free)."""
    Z = np.zeros((nv, len(free)))
    Z[list(free), range(len(free))] = 1.0
    if len(dependent):
        A = unit_rows(A)
        Z[list(dependent)] = -least_squares(A[:, list(dependent)], A[:, list(free)], RANK_LOST)
    return Z


def _independent(A: Array) -> Array:
    """R, (rank, rows), with the rows of R A independent; R is the identity if all rows of A are."""
    if (k := rank(A)) == len(A):
        return np.eye(len(A))
    size = np.linalg.norm(A, axis=1)
    return singular(unit_rows(A)).U[:, :k].T / np.where(size > 0, size, 1.0)


def _particular(A: Array, right: Array, dependent: Sequence[int], nv: int) -> Array:
    """Y with A Y + right = 0 and entries in the dependent velocities only."""
    Y = np.zeros((nv, right.shape[1]))
    if len(dependent):
        size = np.linalg.norm(A, axis=1, keepdims=True)
        size[size == 0] = 1.0
        Y[list(dependent)] = -least_squares((A / size)[:, list(dependent)], right / size, RANK_LOST)
    return Y
