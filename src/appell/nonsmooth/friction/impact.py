"""Impacts with friction: impulses at faces, constraints and frictions, and the velocities after them.

    newton     0 <= P ⟂ ġ⁺ + e ġ⁻ >= 0 with Coulomb's law for the impulses, |P_T| <= μ P_N against the slip s⁺ after the impact:
               the problem of `problem.Problem` with x = Δv. It may gain energy where normal and slip are coupled; such an
               impact is refused.
    phases     Poisson's law for several contacts at once (Glocker and Pfeiffer 1995): compression is the problem of newton with
               e = 0, and gives P_c; expansion adds P_e >= e P_c ⟂ ġ⁺ >= 0, again with Coulomb's law, |P_T| <= μ P_e against s⁺.
    poisson    along the impact process (Routh 1905, Keller 1986), with the normal impulse P in place of time:
               d(ġ, s)/dP = G (1, λ), λ = −μ s/|s| or the value that keeps s = 0. Compression ends at ġ = 0 with P_c;
               restitution adds P_r = e P_c.
    stronge    the same process; restitution ends when P has returned e² of the work that compression took (Stronge 1990).
               It does not apply to several simultaneous contacts: these depend on the order and the stiffness of the contacts
               (Liu, Zhao and Brogliato 2008), which a coefficient does not give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.nonsmooth.criteria import blow_gains
from appell.nonsmooth.friction.decide import UndeterminedFriction, consistent
from appell.nonsmooth.friction.friction_layout import FrictionLayout
from appell.nonsmooth.friction.problem import Answer, Problem
from appell.nonsmooth.friction.thresholds import ENERGY_GAINED
from appell.rows import response

Array = NDArray[np.float64]

IMPACT_SLIP_STOPPED = 1e-13
"""Fraction of the speed that the energy of an impact could give a slip, below which the slip is zero."""


class FrictionImpactOutcome(NamedTuple):
    """An impact: Δv (nv,), impulses of all rows (R,) and of the frictions (parts,), and the energy friction dissipated, J."""

    dv: Array
    impulses: Array
    friction_impulses: Array
    dissipated: float


@dataclass(frozen=True, eq=False)
class ImpactProblem:
    """The state before an impact. rates: ġ of faces and slips s, (R,). e: restitution coefficients, (faces,)."""

    problem: Problem
    rates: Array
    e: Array
    names: Sequence[str]

    def by_newton(self, hits: Sequence[int], resting: Sequence[int]) -> FrictionImpactOutcome:
        """One impact on the faces `hits` while resting on others."""
        layout, faces = self.problem.layout, sorted({*hits, *resting})
        c = self.rates.copy()
        c[: layout.m + layout.faces] = 0.0
        for f in faces:
            c[layout.m + f] = (1 + (self.e[f] if f in hits else 0.0)) * self.rates[layout.m + f]
        answer = self._phase(self._impulse_problem(c), faces)
        return self._checked(answer.x, answer.lam, answer.force)

    def by_phases(self, hits: Sequence[int], resting: Sequence[int]) -> FrictionImpactOutcome:
        """Compression, then expansion, of several contacts at once."""
        layout, faces = self.problem.layout, sorted({*hits, *resting})
        c = self.rates.copy()
        c[: layout.m] = 0.0
        compression = self._phase(self._impulse_problem(c), faces)
        returned = np.zeros(layout.rows)  # e P_c
        returned[[layout.m + f for f in hits]] = [self.e[f] * compression.lam[layout.m + f] for f in hits]
        rates = self.rates + self.problem.J @ compression.x
        rates[: layout.m] = 0.0
        expansion = _Expansion(self._impulse_problem(rates), returned)
        added = self._phase(expansion.problem, faces, expansion.slipping(self))
        lam, friction_impulses = (
            compression.lam + returned + added.lam[: layout.rows], compression.force + expansion.joined(added.force)
        )  # fmt: skip
        return self._checked(compression.x + added.x, lam, friction_impulses)

    def _impulse_problem(self, c: Array) -> Problem:
        """The problem of impulses: there are no finite forces, and frictions with limits bear no impulses."""
        state = self.problem
        mu = np.array([0.0 if self._bears_no_impulses(i) else mu for i, mu in enumerate(state.mu)])
        return Problem(state.layout, state.M, np.zeros(len(state.M)), state.J, state.W, c, mu, mu, load=state.load)

    def _bears_no_impulses(self, i: int) -> bool:
        """Whether friction i bears no impulses: one with a limit, unless the limit grows with the reactions."""
        layout = self.problem.layout
        return layout.normals[i] is None and not layout.impulsive[i]

    def _phase(self, problem: Problem, faces: Sequence[int], slipping: dict[int, tuple[float, ...]] | None = None) -> Answer:
        """The unique solution of a problem of impulses. slipping: frictions with a given direction (limits, smooth ones)."""
        layout = self.problem.layout
        if slipping is None:
            slipping = {i: self._towards(i) for i in range(layout.count) if self._bears_no_impulses(i) or layout.smooth[i]}
        free = [i for i in range(problem.layout.count) if i not in slipping]
        answers = consistent(problem, faces, free, slipping)
        if not answers:
            raise UndeterminedFriction(f"no impulses satisfy Coulomb's law in an impact ({', '.join(self.names)})")
        if not all(problem.same(answers[0].x, answer.x) for answer in answers):
            raise UndeterminedFriction(f"Coulomb's law allows several outcomes of an impact ({', '.join(self.names)})")
        return answers[0]

    def _towards(self, i: int) -> tuple[float, ...]:
        """s/|s| of friction i before the impact."""
        s = self.rates[self.problem.layout.own_rows(i)]
        return tuple((s / (np.linalg.norm(s) or 1.0)).tolist())

    def _checked(self, dv: Array, lam: Array, friction_impulses: Array) -> FrictionImpactOutcome:
        """The impact, unless it gains energy."""
        layout, J = self.problem.layout, self.problem.J
        self._refuse_loads(lam)
        mean_rates = self.rates + J @ dv / 2
        normal = lam[layout.m : layout.m + layout.faces] * mean_rates[layout.m : layout.m + layout.faces]
        tangential = friction_impulses * mean_rates[layout.m + layout.faces :]
        gained, size = float(normal.sum() + tangential.sum()), float(np.abs(normal).sum() + np.abs(tangential).sum())
        if blow_gains(gained, size, float(dv @ self.problem.M @ dv)):
            raise UndeterminedFriction(
                f"restitution with Coulomb's law would gain {gained:.3g} J in an impact ({', '.join(self.names)}): normal and"
                " slip are coupled; choose law='poisson', or law='stronge' for one contact"
            )
        return FrictionImpactOutcome(dv, lam, friction_impulses, float(np.clip(-tangential.sum(), 0.0, max(-gained, 0.0))))

    def _refuse_loads(self, lam: Array) -> None:
        """Raises `UndeterminedFriction` where impulses load a friction whose limit does not define its impulses."""
        layout, size = self.problem.layout, self.problem.scale[0]
        pushes = np.abs(lam) / size
        for i, rows in enumerate(layout.loads):
            if rows and not layout.impulsive[i] and pushes[list(rows)].max() > ENERGY_GAINED * pushes.max():
                raise UndeterminedFriction(
                    f"an impact: the limit of friction '{self.names[i]}' is not proportional to the reactions in it, and does"
                    " not tell what impulses it bears"
                )

    # -- along the process of the impact ---------------------------------------------------------------------------------

    def by_process(self, face: int, friction: int, restore: Callable[[Any, float], None]) -> FrictionImpactOutcome:
        """An impact on one face with one friction of one component; `restore` ends restitution, see `ImpactLaw.restore`."""
        layout, p = self.problem.layout, self.problem
        n, (row,) = layout.m + face, layout.own_rows(friction)
        x = response(p.M, p.J[: layout.m], p.W[:, : layout.m], p.W[:, [n, row]])
        G = p.J[[n, row]] @ x
        process = _Process(G, float(p.mu[friction]), self.rates[[n, row]].copy())
        process.compress()
        restore(process, float(self.e[face]))
        dv = x @ process.P
        lam = np.zeros(layout.rows)
        lam[[n, row]] = process.P
        friction_impulses = np.zeros(sum(layout.parts))
        friction_impulses[layout.columns(friction)] = process.P[1]
        return FrictionImpactOutcome(dv, lam, friction_impulses, process.dissipated)


class _Expansion:
    """The second phase of an impact, with P_e = e P_c + P', P' >= 0.

    Each friction of a face gets a second one along the same slip with the limit μ e P_c; together they bear μ P_e.
    """

    def __init__(self, problem: Problem, returned: Array):
        layout = self.layout = problem.layout
        self.restored = [i for i in range(layout.count) if (n := layout.normals[i]) is not None and returned[n] > 0]
        rows = [row for i in self.restored for row in layout.own_rows(i)]
        extended = FrictionLayout(
            layout.m, layout.faces, (*layout.parts, *(layout.parts[i] for i in self.restored)),
            (*layout.normals, *(None for _ in self.restored)),
            (*layout.smooth, *(layout.smooth[i] for i in self.restored)), (*layout.loads, *(() for _ in self.restored)),
            (*layout.impulsive, *(False for _ in self.restored)),
        )  # fmt: skip
        mu = np.append(problem.mu, [problem.mu[i] * returned[layout.normals[i]] for i in self.restored])
        self.problem = Problem(
            extended, problem.M, problem.W @ returned,
            np.vstack([problem.J, problem.J[rows]]), np.hstack([problem.W, problem.W[:, rows]]),
            np.append(problem.c, problem.c[rows]), mu, mu, load=None if problem.load is None else self._load(problem.load),
        )  # fmt: skip

    def _load(self, load: Any) -> Any:
        """The loads of the system's frictions as functions of the multipliers of the extended problem."""
        layout, extra = self.layout, len(self.restored)

        def extended_load(lam: Array, static: bool) -> tuple[Array, Array]:
            L, slope = load(lam[: layout.rows], static)
            return np.append(L, np.ones(extra)), np.pad(slope, ((0, extra), (0, len(lam) - layout.rows)))

        return extended_load

    def slipping(self, impact: ImpactProblem) -> dict[int, tuple[float, ...]]:
        """Frictions that keep their direction: limits of the system, and smooth ones."""
        layout = self.layout
        directions = {i: impact._towards(i) for i in range(layout.count) if impact._bears_no_impulses(i) or layout.smooth[i]}
        return directions | {layout.count + k: directions[i] for k, i in enumerate(self.restored) if i in directions}

    def joined(self, force: Array) -> Array:
        """The impulses of the frictions of the system, (parts,)."""
        layout, extended = self.layout, self.problem.layout
        impulses = force[: sum(layout.parts)].copy()
        for k, i in enumerate(self.restored):
            impulses[layout.columns(i)] += force[extended.columns(layout.count + k)]
        return impulses


class _Process:
    """Rates (ġ, s) and impulses P = (P_N, P_T) as piecewise linear functions of P_N; work of P_N, dissipation by P_T."""

    def __init__(self, G: Array, mu: float, rates: Array):
        self.G, self.mu, self.y = G, mu, rates
        self.P, self.work, self.dissipated = np.zeros(2), 0.0, 0.0
        self.energy = float(rates[0] ** 2 / G[0, 0])

    def _direction(self) -> Array:
        """dP/dP_N: (1, λ)."""
        G, mu, s = self.G, self.mu, self.y[1]
        stopped = IMPACT_SLIP_STOPPED * np.sqrt(G[1, 1] * max(self.energy, 1e-300))
        if abs(s) > stopped:
            return np.array([1.0, -mu * np.sign(s)])
        self.y[1] = 0.0
        stick = -G[1, 0] / G[1, 1] if G[1, 1] > 0 else 0.0
        return np.array([1.0, stick if abs(stick) <= mu else -mu * np.sign(G[1, 0])])

    def _advance(self, impulse: float, direction: Array) -> None:
        """Advances the process by a normal impulse in a direction."""
        rate = self.G @ direction
        y = self.y + impulse * rate
        self.work += impulse * (self.y[0] + y[0]) / 2
        self.dissipated -= impulse * direction[1] * (self.y[1] + y[1]) / 2
        self.P += impulse * direction
        self.y = y

    def _next_piece(self) -> tuple[Array, Array, float]:
        """Direction, rates of (ġ, s), and the impulse after which slip stops."""
        direction = self._direction()
        rate = self.G @ direction
        stops = -self.y[1] / rate[1] if self.y[1] * rate[1] < 0 else np.inf
        return direction, rate, stops

    def compress(self) -> None:
        """Compression, until ġ = 0. Slip stops once and then sticks or turns: two pieces, and a few more for rounding."""
        for _ in range(8):
            direction, rate, stops = self._next_piece()
            ends = -self.y[0] / rate[0] if rate[0] > 0 else np.inf
            if not np.isfinite(min(ends, stops)):
                raise UndeterminedFriction("friction jams an impact: no normal impulse ends its compression")
            self._advance(min(ends, stops), direction)
            if ends <= stops:
                self.y[0] = 0.0
                return
            self.y[1] = 0.0
        raise UndeterminedFriction("friction jams an impact: its compression does not end")

    def restore_impulse(self, more: float) -> None:
        """Restitution with the impulse P_r = `more`."""
        for _ in range(8):
            direction, _, stops = self._next_piece()
            self._advance(step := min(more, stops), direction)
            more -= step
            if not more > 0:
                return
            self.y[1] = 0.0

    def restore_work(self, more: float) -> None:
        """Restitution until the work of P, y0 P + rate P²/2, has grown by `more`."""
        for _ in range(8):
            if not more > 0:
                return
            direction, rate, stops = self._next_piece()
            impulse = (np.sqrt(self.y[0] ** 2 + 2 * rate[0] * more) - self.y[0]) / rate[0] if rate[0] > 0 else np.inf
            if not np.isfinite(min(impulse, stops)):
                raise UndeterminedFriction("friction jams an impact: its restitution does not end")
            work_before = self.work
            self._advance(min(impulse, stops), direction)
            more = 0.0 if impulse <= stops else more - (self.work - work_before)
            self.y[1] = self.y[1] if impulse <= stops else 0.0


__all__ = ["FrictionImpactOutcome", "ImpactProblem"]
