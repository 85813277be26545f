"""The equilibrium equations, scaled by their own terms.

    F(q, Λ) = (Q − h + WΛ, conditions at rest) = 0        v = 0, a = 0,    δq = N δπ

Forces and conditions are compared with the sizes of their terms, at the start of the search and at the current point, so that
units do not matter: 1e-27 kg and 1e8 m work as well.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from appell.analysis.rests.natural_sizes import ReferenceConfiguration, natural_steps, reach_of
from appell.errors import ModelError
from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, column, depends, jacobian, scatter, substitute_all, zeros
from appell.normal_form import NormalForm
from appell.normal_form.manifold import normalise, project
from appell.normal_form.move_sizes import metric_roots, moves_of
from appell.rows import NEWTON_LOST, RANK_LOST, least_squares

Array = NDArray[np.float64]

FORCE_ROUNDING = 1e-4
"""Smallest scale of a force, as a fraction of the largest force over √M: its rounding."""
FORCES_COMPARED_AT = 0.01
"""Displacement, as a fraction of the reach, at which forces give the scale where all stiffness vanishes."""


def divisors(sizes: Array) -> Array:
    """Sizes to divide by: 1 in place of zero, or of sizes whose inverse overflows."""
    return np.where(sizes > 2.0**-1000, sizes, 1.0)


class Balance:
    """F(q, Λ) = (Q − h + WΛ, conditions at rest) with its derivatives in (π, Λ), δq = N δπ; built on the graph.

    States of first order are at rest where their rates, the last conditions, vanish: here N has a column for each, and A0 the
    derivative of the rows by it.
    """

    def __init__(self, form: NormalForm, p: Array):
        form.require_known_forces("the search for equilibria")
        self.form, self.p = form, p
        q, v, a, lam = (form.inputs[x] for x in ("q", "v", "a", "lam"))
        W, second = self._directions(), self._second()
        load = form["Q"] - form["h"] + W @ lam
        zero = [zeros(form.nv), zeros(form.nv)]
        conditions, rates = column(form["f0"], form["f1"], second, form["n0"]), form.state_rates
        at_rest = lambda *values: substitute_all(list(values), [v, a], zero)
        outputs = at_rest(
            load, conditions, W, form.moves, form["M"], jacobian(form["f0"], q) @ form.moves, form["A1"],
            jacobian(load, q), jacobian(load, v), jacobian(conditions, q), jacobian(form["f1"], q), form["Q"] - form["h"],
            jacobian(load, form.inputs["p"]), jacobian(conditions, form.inputs["p"]),
            jacobian(rates, q), jacobian(rates, v),
        )  # fmt: skip
        names = "load conditions W N M A0 A1 load_q load_v conditions_q f1_q applied load_p conditions_p rate_q rate_v".split()
        self.fn = self._function(dict(zip(names, outputs, strict=True)))
        self.second_order = any(row.level == 2 for row in form.rows)
        self.floor = np.zeros(form.nv), np.zeros(conditions.numel())
        self.reach = np.ones(form.nq)

    def with_parameters(self, p: Array) -> Balance:
        """The same equations with other parameters."""
        changed = copy(self)
        changed.p = p
        return changed

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
        """Rows of second order, which must vanish at rest: a0 of those linear in a, r of the others."""
        form = self.form
        linear = [row for row in form.rows if row.linear]
        places = [k for k, row in enumerate(linear) if row.level == 2]
        return column(*(form["a0"][k] for k in places), form["r"])

    def __call__(self, q: Array, lam: Array) -> dict[str, Array]:
        return self.fn(q, self.p, lam)

    def scaled_near(self, q: Array, reach: Array) -> Balance:
        """The same equations with the scales near a configuration: of forces, of terms in conditions, and of steps, (nq,)."""
        scaled = copy(self)
        scaled.reach = reach
        with np.errstate(all="ignore"):
            terms = [
                self.terms(point, lam)
                for point, lam in ((q, self.no_multipliers), self.projected_start(normalise(self.form, q)))
            ]
        largest_finite = lambda sizes: np.max([np.where(np.isfinite(x), x, 0.0) for x in sizes], axis=0)
        forces, conditions = (
            largest_finite([forces for forces, _ in terms]),
            largest_finite([conditions for _, conditions in terms]),
        )
        with np.errstate(all="ignore"):  # at a start without any force, those after a displacement
            stiff = np.nan_to_num(np.abs(self(q, self.no_multipliers)["load_q"]) @ reach, posinf=0.0)
        scaled.floor = np.where(forces > 0, forces, stiff), conditions
        return scaled

    def rescaled_at(self, q: Array, lam: Array) -> Balance:
        """The same equations with the scales of a configuration that was found, where those of the start are larger: a search
        that began beside a singular potential would take any place for an equilibrium."""
        out, rescaled, nv = self(q, lam), copy(self), self.form.nv
        slopes = np.concatenate([np.abs(out["load_q"]) @ self.reach, np.abs(out["conditions_q"]) @ self.reach])
        displacements = FORCES_COMPARED_AT * np.diag(self.steps(q, lam))
        nearby = [
            np.abs(self.residual(self.moved(q, lam, dpi), lam)) / FORCES_COMPARED_AT
            for dpi in (*displacements, *-displacements)
        ]
        local = np.concatenate(self.terms(q, lam)) + slopes + np.max(np.nan_to_num(nearby, posinf=0.0), axis=0, initial=0.0)
        scales = np.minimum(local, np.concatenate(self.floor))
        rescaled.floor = scales[:nv], scales[nv:]
        return rescaled

    def usual_reach(self, q: Array) -> Array:
        """Sizes of large changes of the coordinates, (nq,), near a configuration; see `natural_sizes`."""
        with np.errstate(all="ignore"):
            return reach_of(
                self(q, self.no_multipliers)["N"],
                natural_steps(self.reference(q, self.no_multipliers)),
                self.form.quaternions,
            )

    def reference(self, q: Array, lam: Array) -> ReferenceConfiguration:
        """Forces, conditions and damping by displacements from a configuration, with the sizes of all."""
        out = self(q, lam)
        N, first_state = out["N"], self.form.nq - self.form.states
        forces, conditions = self.terms(q, lam)
        roots = np.append(metric_roots(out["M"]), np.zeros(self.form.states))
        sizes = np.append(moves_of(N[:first_state, : self.form.nv], q[:first_state]), np.abs(q[first_state:]))
        inertia, damping = roots[: self.form.nv], np.abs(out["load_v"]).ravel()
        units = np.concatenate([inertia, conditions, np.outer(inertia, inertia).ravel()])
        groups = len(forces), len(conditions), len(damping)
        force = lambda dpi: self.response(normalise(self.form, q + N @ dpi), lam)
        return ReferenceConfiguration(force, np.concatenate([forces, conditions, damping]), units, groups, roots, sizes)

    def response(self, q: Array, lam: Array) -> Array:
        """Forces, conditions and the damping of velocities at a configuration."""
        out = self(q, lam)
        return np.concatenate([out["load"], out["conditions"], out["load_v"].ravel()])

    def steps(self, q: Array, lam: Array) -> Array:
        """`reach` as displacements, (moves,): the largest along each that exceeds no reach."""
        return 1 / divisors((np.abs(self(q, lam)["N"]) / self.reach[:, None]).max(axis=0))

    def units(self, q: Array, lam: Array) -> Array:
        """Displacements 1/√M_ii, and changes of states as large as `reach`, (moves,)."""
        return np.append(1 / metric_roots(self(q, lam)["M"]), self.reach[self.form.nq - self.form.states :])

    def in_metric(self, q: Array, lam: Array) -> dict[str, Array]:
        """The matrices of small motions with displacements in `units`; derivatives by these instead of q."""
        out, D = self(q, lam), self.units(q, lam)
        v, s, N = D[: self.form.nv], D[self.form.nv :, None], out["N"] * D
        return {
            "M": out["M"] * np.outer(v, v), "W": out["W"] * v[:, None], "A0": out["A0"] * D, "A1": out["A1"] * v,
            "load_q": v[:, None] * (out["load_q"] @ N), "load_v": out["load_v"] * np.outer(v, v), "f1_q": out["f1_q"] @ N,
            "rate_q": out["rate_q"] @ N / s, "rate_v": out["rate_v"] * v / s,
        }  # fmt: skip

    @property
    def no_multipliers(self) -> Array:
        """Λ = 0."""
        return np.zeros(len(self.form.rows))

    def terms(self, q: Array, lam: Array) -> tuple[Array, Array]:
        """Sizes of the terms of the forces, (nv,), and of the conditions."""
        out = self(q, lam)
        forces = np.abs(out["applied"]) + np.abs(out["W"]) @ np.abs(lam) + np.abs(out["load_q"]) @ np.abs(q)
        return forces, np.abs(out["conditions"]) + np.abs(out["conditions_q"]) @ np.abs(q)

    def sizes(self, q: Array, lam: Array) -> Array:
        """The scales of forces and conditions, (nv + conditions,): their terms, here and at the start of the search.

        The scale of a force without terms is a fraction of the others, each over √M of its coordinate.
        """
        forces, conditions = (term + floor for term, floor in zip(self.terms(q, lam), self.floor, strict=True))
        out = self(q, lam)
        root = metric_roots(out["M"])
        forces = forces + FORCE_ROUNDING * root * (forces / root).max(initial=0.0)
        lengths = np.abs(out["conditions_q"] @ np.diag(self.reach)).max(axis=1, initial=0.0)
        return np.concatenate([forces, np.where(conditions > 0, conditions, lengths)])

    def projected_start(self, q: Array) -> tuple[Array, Array]:
        """The start projected onto the holonomic constraints, with the Λ that best balance the forces."""
        with np.errstate(all="ignore"):
            projected = project(self.form, 0.0, q, np.zeros(self.form.nv), self.p)[0]
        q = projected if self.has_values(projected) else q
        if not self.has_values(q):
            return q, self.no_multipliers
        out = self(q, self.no_multipliers)
        roots = metric_roots(out["M"])
        return q, least_squares(out["W"] / roots[:, None], -out["applied"] / roots, RANK_LOST)

    def has_values(self, q: Array) -> bool:
        """Whether forces and conditions are finite at a configuration: with roots of coordinates the domain may be small."""
        with np.errstate(all="ignore"):
            return all(np.isfinite(x).all() for x in self(q, self.no_multipliers).values())

    def residual(self, q: Array, lam: Array) -> Array:
        out = self(q, lam)
        return np.concatenate([out["load"], out["conditions"]])

    def relative(self, q: Array, lam: Array) -> Array:
        """The residual relative to the scales, (nv + conditions,); 0 where it is 0."""
        residual = self.residual(q, lam)
        sizes = self.sizes(q, lam)
        return np.where(residual == 0, 0.0, np.where(sizes > 0, residual / divisors(sizes), np.inf))

    def size(self, q: Array, lam: Array) -> float:
        """Largest residual relative to the size of its terms."""
        worst = np.abs(self.relative(q, lam)).max(initial=0.0)
        return float(worst) if np.isfinite(worst) else np.inf

    def largest_push(self, q: Array, lam: Array) -> Array:
        """The Λ, (rows,), that would balance the largest forces: w·f / w·w for each column w of |W|."""
        W, forces = np.abs(self(q, lam)["W"]), self.sizes(q, lam)[: self.form.nv]
        return W.T @ forces / divisors((W**2).sum(axis=0))

    def step(self, q: Array, lam: Array, damping: float) -> tuple[Array, Array]:
        """(Δπ, ΔΛ) of least norm, with equations and unknowns scaled; with damping, a Levenberg step."""
        out = self(q, lam)
        top = np.hstack([out["load_q"] @ out["N"], out["W"]])
        bottom = np.hstack([out["conditions_q"] @ out["N"], np.zeros((len(out["conditions"]), len(lam)))])
        sizes = divisors(self.sizes(q, lam))
        units = np.concatenate([self.steps(q, lam), divisors(self.largest_push(q, lam))])
        J, F = np.vstack([top, bottom]) * units / sizes[:, None], np.concatenate([out["load"], out["conditions"]]) / sizes
        largest = divisors(np.abs(J).max(axis=0, initial=0.0))
        scale = largest * np.linalg.norm(J / largest, axis=0)  # avoids overflow of squares
        scale[scale <= 1e-12 * scale.max(initial=0.0)] = np.inf  # unknowns without influence do not move
        scale = scale / units
        J = J / units
        K = np.vstack([J / scale, damping * np.eye(J.shape[1])]) if damping else J / scale
        y = least_squares(K, -np.concatenate([F, np.zeros(len(K) - len(F))]), NEWTON_LOST) / scale
        return y[: self.moves], y[self.moves :]

    @property
    def moves(self) -> int:
        """Number of directions in which q may be changed."""
        return self.form.nv + self.form.states

    def moved(self, q: Array, lam: Array, dpi: Array) -> Array:
        """q + N δπ, quaternions normalised."""
        return normalise(self.form, q + self(q, lam)["N"] @ dpi)
