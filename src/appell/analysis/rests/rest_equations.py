"""The equilibrium equations with varied parameters: F(x) = 0 in x = (q, Λ, parameters), in units of `scale`.

    Q − h + W Λ = 0,        f(q) = 0            δq = N δπ
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.arclength import BranchEnd
from appell.analysis.rests.balance import Balance, divisors
from appell.analysis.rests.equilibrium import Equilibrium, eigenvalues_at
from appell.analysis.rests.natural_sizes import natural_steps, reach_of
from appell.analysis.rests.rest_state import GAP_CLOSED_AT_REST, gaps_at
from appell.model import System
from appell.model.values import checked
from appell.normal_form import normal_form
from appell.normal_form.manifold import normalise

Array = NDArray[np.float64]


class RestEquations:
    """Equilibria near a given one, with its contacts; names: of the varied parameters, units: of each, (k,)."""

    def __init__(self, system: System, rest: Equilibrium, names: Sequence[str], units: Sequence[float]):
        self.system, self.rest = system, rest
        parameter_names = [str(p) for p in system.parameters]
        self.numbers = [parameter_names.index(name) for name in names]
        self.p = np.array([float(rest.parameters[s]) for s in system.parameters])
        faces = [face.name for face in system.unilateral]
        self.contacts = tuple(faces.index(name) for name in rest.contacts)
        self.form = normal_form(system, self.contacts)
        self.balance = Balance(self.form, self.p)
        self.nq, self.moves, self.m = self.form.nq, self.balance.moves, len(self.form.rows)
        lam = np.concatenate([rest.multipliers, rest.faces[list(self.contacts)]])
        self.steps, reach, forces = self._sizes(rest.q, lam, np.asarray(units, dtype=float))
        self.balance.reach = reach
        self.scale = np.concatenate([reach, forces, units])
        self.start = np.concatenate([rest.q, lam, self.p[self.numbers]]) / self.scale

    def _sizes(self, q: Array, lam: Array, units: Array) -> tuple[Array, Array, Array]:
        """Sizes of displacements, (moves,), of coordinates, (nq,), and of Λ, (rows,), over the ranges of the parameters."""
        out, response = self.balance(q, lam), self.balance.response(q, lam)
        load = np.zeros(len(response))
        with np.errstate(all="ignore"):
            for number, unit in zip(self.numbers, units, strict=True):
                for sign in (1.0, -1.0):
                    p = self.p.copy()
                    p[number] += sign * unit
                    load = np.maximum(
                        load,
                        np.nan_to_num(np.abs(self.balance.with_parameters(p).response(q, lam) - response), posinf=0.0),
                    )
            steps = natural_steps(self.balance.reference(q, lam), load)
        W = np.abs(out["W"])
        forces = np.abs(out["applied"]) + W @ np.abs(lam) + load[: self.form.nv] + np.abs(out["load_q"] @ out["N"]) @ steps
        return steps, reach_of(out["N"], steps, self.form.quaternions), divisors(W.T @ forces / divisors((W**2).sum(axis=0)))

    def unscaled(self, x: Array) -> tuple[Array, Array, Array]:
        """q, Λ, and all parameters."""
        x, k = x * self.scale, len(self.numbers)
        p = self.p.copy()
        p[self.numbers] = x[-k:]
        for number in self.numbers:
            checked(self.system.parameters[number], float(p[number]))
        return normalise(self.form, x[: self.nq]), x[self.nq : -k], p

    def rows(self, x: Array, size: Array | None = None) -> tuple[Array, Array, Array]:
        """F, its Jacobian by (π, Λ, parameters) in units of scale, and the matrix that lifts steps of these to x.

        Rows are divided by `size`, by default their norm.
        """
        q, lam, p = self.unscaled(x)
        out = self.balance.fn(q, p, lam)
        if not all(np.isfinite(value).all() for value in out.values()):
            raise BranchEnd("the equations have no finite value beyond")
        S, chosen, N, k = self.scale, self.numbers, out["N"] * self.steps, len(self.numbers)
        top = [out["load_q"] @ N, out["W"] * S[self.nq : -k], out["load_p"][:, chosen] * S[-k:]]
        nothing = np.zeros((len(out["conditions"]), self.m))
        bottom = [out["conditions_q"] @ N, nothing, out["conditions_p"][:, chosen] * S[-k:]]
        J, F = np.vstack([np.hstack(top), np.hstack(bottom)]), np.concatenate([out["load"], out["conditions"]])
        by = np.maximum(np.linalg.norm(J, axis=1), 1e-300) if size is None else size
        lift = np.zeros((len(S), self.moves + self.m + k))
        lift[: self.nq, : self.moves] = N / S[: self.nq, None]
        lift[self.nq :, self.moves :] = np.eye(self.m + k)
        return F / by, J / by[:, None], lift

    def sizes_near(self, x: Array, aside: float) -> Array:
        """The largest norm of each row within a distance: at a branch point a row itself may vanish."""
        steps = aside * np.vstack([np.zeros(len(x)), np.eye(len(x)), -np.eye(len(x))])
        norms = [np.linalg.norm(self.rows(x + step, np.ones(1))[1], axis=1) for step in steps]
        return np.max(norms, axis=0)

    @staticmethod
    def lifted(y: Array, lift: Array) -> Array:
        """A direction of (π, Λ, parameters) as one of x, of length 1."""
        x = lift @ y
        return x / np.linalg.norm(x)

    def projected(self, x: Array) -> Array:
        """x with quaternions of length 1."""
        return np.concatenate([normalise(self.form, x[: self.nq]), x[self.nq :]])

    def rest_at(self, x: Array, size: float) -> Equilibrium:
        """The record of an equilibrium; size: of the residual of F."""
        q, lam, p = self.unscaled(x)
        self._judge_faces(q, lam, p)
        rows, pushes = lam[: len(self.system.constraints)], lam[len(self.system.constraints) :]
        faces = np.zeros(len(self.system.unilateral))
        faces[list(self.contacts)] = np.maximum(pushes, 0.0)
        values = {**self.rest.parameters, **{self.system.parameters[i]: float(p[i]) for i in self.numbers}}
        eigenvalues, reason = eigenvalues_at(self.balance.with_parameters(p), q, lam)
        return replace(
            self.rest, parameters=values, q=q, multipliers=rows, residual=size, eigenvalues=eigenvalues, reason=reason,
            faces=faces, flat=0,
        )  # fmt: skip

    def _judge_faces(self, q: Array, lam: Array, p: Array) -> None:
        rows = len(self.system.constraints)
        for j, push, force in zip(self.contacts, lam[rows:], self.scale[self.nq :][rows : self.m], strict=True):
            if push < -1e-9 * force:
                raise BranchEnd(f"'{self.system.unilateral[j].name}' would have to pull")
        if len(self.contacts) == len(self.system.unilateral):
            return
        gaps = gaps_at(self.system, p, q, self.scale[: self.nq])
        for j, face in enumerate(self.system.unilateral):
            if j not in self.contacts and gaps.relative[j] < -GAP_CLOSED_AT_REST:
                raise BranchEnd(f"'{face.name}' is met")


__all__ = ["RestEquations"]
