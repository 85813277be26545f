"""Functions of a system with friction that a time loop needs, compiled once for all modes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, column, jacobian, symbols
from appell.model import System
from appell.nonsmooth.friction.friction_flow import FrictionFlow
from appell.nonsmooth.friction.friction_layout import FrictionLayout
from appell.nonsmooth.friction.friction_terms import ReactionForces, Slips, bounds, load, regularised
from appell.nonsmooth.friction.problem import Problem
from appell.normal_form import NormalForm
from appell.normal_form.flow import Flow
from appell.normal_form.solved import Function, Shaped
from appell.remember import remembered
from appell.roots.solved_guards import SolvedGuards

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FrictionFunctions:
    """`flow`: of z = (q, v, watched, dissipated, work) with p = (parameters, mode).
    `look`: (t, z, p) → everything that guards read.
    `blocks`: (t, q, v, parameters) → the data of the complementarity problem that decides the mode.
    `law`: (t, q, v, parameters, λ of all rows) → F, ∂F/∂λ of forces that contain multipliers nonlinearly, or None.
    `loads`: the same inputs → L, ∂L/∂λ of all frictions, sliding and at rest (1, 0 for those under a single reaction), or None.
    `bounded`: the guards for interval bounds; None where guards are only sampled."""

    layout: FrictionLayout
    flow: Flow
    look: Function
    blocks: Fn
    law: Fn | None
    loads: Fn | None
    bounded: SolvedGuards | None

    def problem(self, t: float, q: Array, v: Array, p: Array, least: float = 0.0) -> tuple[Problem, dict[str, Array]]:
        """The problem of accelerations at a state, and the outputs of `blocks`."""
        out, fn = self.blocks(t, q, v, p), self.law

        def law(lam: Array) -> tuple[Array, Array]:
            assert fn is not None
            found = fn(t, q, v, p, lam)
            return found["F"], found["slope"]

        def load(lam: Array, static: bool) -> tuple[Array, Array]:
            assert self.loads is not None
            found = self.loads(t, q, v, p, lam)
            return (found["rest"], found["rest_slope"]) if static else (found["moving"], found["moving_slope"])

        problem = Problem(
            self.layout, out["M"], out["r"], out["J"], out["W"], out["gamma"], out["mu"], out["mu_static"], least,
            None if fn is None else law, out.get("u"), None if self.loads is None else load,
        )  # fmt: skip
        return problem, out


@remembered
def friction_functions(system: System, form: NormalForm) -> FrictionFunctions:
    """The functions of a system with friction; made once and remembered."""
    own, slips = FrictionLayout.of(system, form), Slips.of(system, form)
    whole = FrictionFlow(system, form, own, slips)
    look, given = whole.function("look", whole.seen), whole.given
    blocks, law, loads = _blocks(system, form, own, slips, given), _law(form, own, given), _loads(system, form, own, slips)
    return FrictionFunctions(own, whole.flow(), look, blocks, law, loads, whole.guards())


def _blocks(system: System, form: NormalForm, own: FrictionLayout, slips: Slips, given: ReactionForces) -> Fn:
    mu, rest = [], []
    for i, fr in enumerate(system.frictions):
        moving, static = bounds(form, fr, _speed(own, slips, i))
        mu.append(moving)
        rest.append(static)
    R, nv, K, nf = own.rows, form.nv, sum(own.parts), own.count
    outputs = {
        "M": (form["M"], (nv, nv)),
        "r": (given.r, (nv,)),
        "J": (column(form["A"], form["g_v"], slips.D), (R, nv)),
        "W": (given.W, (nv, R)),
        "gamma": (column(form["a0"], form["g_dd0"], slips.gamma), (R,)),
        "s": (slips.s, (K,)),
        "s_size": (slips.size, (K,)),
        "mu": (column(*mu), (nf,)),
        "mu_static": (column(*rest), (nf,)),
        "e": (form["restitution"], (own.faces,)),
    }
    if any(own.smooth):
        u = [regularised(form, fr, slips.s[own.columns(i)]) for i, fr in enumerate(system.frictions)]
        outputs["u"] = (column(*u), (K,))
    return make_fn("friction_blocks", _inputs(form), outputs)


def _law(form: NormalForm, own: FrictionLayout, given: ReactionForces) -> Fn | None:
    if given.F is None:
        return None
    F, slope = given.at(form)
    inputs = {**_inputs(form), "lam": (given.lam, (own.rows,))}
    return make_fn("friction_law", inputs, {"F": (F, (form.nv,)), "slope": (slope, (form.nv, own.rows))})


def _speed(own: FrictionLayout, slips: Slips, i: int) -> Value:
    s = slips.s[own.columns(i)]
    return abs(s) if own.parts[i] == 1 else (s.T @ s) ** 0.5


def _loads(system: System, form: NormalForm, own: FrictionLayout, slips: Slips) -> Fn | None:
    if not own.loaded:
        return None
    lam = symbols("lam", own.rows)
    found = [load(system, form, i, _speed(own, slips, i), lam) or (Value(1), Value(1)) for i in range(own.count)]
    inputs = {**_inputs(form), "lam": (lam, (own.rows,))}
    outputs = {}
    for k, name in enumerate(("moving", "rest")):
        L = column(*(pair[k] for pair in found))
        outputs |= {name: (L, (own.count,)), f"{name}_slope": (jacobian(L, lam), (own.count, own.rows))}
    return make_fn("friction_loads", inputs, outputs)


def _inputs(form: NormalForm) -> dict[str, Shaped]:
    return {"t": (form.inputs["t"], ()), **{x: (form.inputs[x], (form.inputs[x].numel(),)) for x in "qvp"}}


__all__ = ["FrictionFunctions", "friction_functions"]
