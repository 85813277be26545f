"""Functions of a system with friction that a time loop needs, compiled once for all modes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, column, jacobian, symbols
from appell.model import System
from appell.nonsmooth.friction.friction_flow import FrictionFlow
from appell.nonsmooth.friction.friction_layout import FrictionLayout, friction_layout
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
    `guard_data`: (t, z, p) → everything that guards read.
    `blocks`: (t, q, v, parameters) → the data of the complementarity problem that decides the mode.
    `law`: (t, q, v, parameters, λ of all rows) → F, ∂F/∂λ of forces that contain multipliers nonlinearly, or None.
    `loads`: the same inputs → L, ∂L/∂λ of all frictions, sliding and at rest (1, 0 for those under a single reaction), or None.
    `bounded`: the guards for interval bounds; None where guards are only sampled."""

    layout: FrictionLayout
    flow: Flow
    guard_data: Function
    blocks: Fn
    law: Fn | None
    loads: Fn | None
    bounded: SolvedGuards | None

    def problem(self, t: float, q: Array, v: Array, p: Array, least: float = 0.0) -> tuple[Problem, dict[str, Array]]:
        """The problem of accelerations at a state, and the outputs of `blocks`."""
        blocks, fn = self.blocks(t, q, v, p), self.law

        def law(lam: Array) -> tuple[Array, Array]:
            assert fn is not None
            values = fn(t, q, v, p, lam)
            return values["F"], values["slope"]

        def load(lam: Array, static: bool) -> tuple[Array, Array]:
            assert self.loads is not None
            values = self.loads(t, q, v, p, lam)
            return (values["rest"], values["rest_slope"]) if static else (values["moving"], values["moving_slope"])

        problem = Problem(
            self.layout, blocks["M"], blocks["r"], blocks["J"], blocks["W"], blocks["gamma"], blocks["mu"], blocks["mu_static"],
            least, None if fn is None else law, blocks.get("u"), None if self.loads is None else load,
        )  # fmt: skip
        return problem, blocks


@remembered
def friction_functions(system: System, form: NormalForm) -> FrictionFunctions:
    """The functions of a system with friction; made once and remembered."""
    layout, slips = friction_layout(system, form), Slips.of(system, form)
    flow = FrictionFlow(system, form, layout, slips)
    guard_data, forces = flow.function("look", flow.guard_data), flow.forces
    blocks, law, loads = (
        _blocks(system, form, layout, slips, forces), _law(form, layout, forces), _loads(system, form, layout, slips)
    )  # fmt: skip
    return FrictionFunctions(layout, flow.flow(), guard_data, blocks, law, loads, flow.guards())


def _blocks(system: System, form: NormalForm, layout: FrictionLayout, slips: Slips, forces: ReactionForces) -> Fn:
    """The data of the complementarity problem: see `FrictionFunctions.blocks`."""
    mu, mu_static = [], []
    for i, fr in enumerate(system.frictions):
        moving, static = bounds(form, fr, _speed(layout, slips, i))
        mu.append(moving)
        mu_static.append(static)
    R, nv, K, nf = layout.rows, form.nv, sum(layout.parts), layout.count
    outputs = {
        "M": (form["M"], (nv, nv)),
        "r": (forces.r, (nv,)),
        "J": (column(form["A"], form["g_v"], slips.D), (R, nv)),
        "W": (forces.W, (nv, R)),
        "gamma": (column(form["a0"], form["g_dd0"], slips.gamma), (R,)),
        "s": (slips.s, (K,)),
        "s_size": (slips.size, (K,)),
        "mu": (column(*mu), (nf,)),
        "mu_static": (column(*mu_static), (nf,)),
        "e": (form["restitution"], (layout.faces,)),
    }
    if any(layout.smooth):
        u = [regularised(form, fr, slips.s[layout.columns(i)]) for i, fr in enumerate(system.frictions)]
        outputs["u"] = (column(*u), (K,))
    return make_fn("friction_blocks", _inputs(form), outputs)


def _law(form: NormalForm, layout: FrictionLayout, forces: ReactionForces) -> Fn | None:
    """Forces that contain multipliers nonlinearly: see `FrictionFunctions.law`."""
    if forces.F is None:
        return None
    F, slope = forces.at(form)
    inputs = {**_inputs(form), "lam": (forces.lam, (layout.rows,))}
    return make_fn("friction_law", inputs, {"F": (F, (form.nv,)), "slope": (slope, (form.nv, layout.rows))})


def _speed(layout: FrictionLayout, slips: Slips, i: int) -> Value:
    """|s| of friction i."""
    s = slips.s[layout.columns(i)]
    return abs(s) if layout.parts[i] == 1 else (s.T @ s) ** 0.5


def _loads(system: System, form: NormalForm, layout: FrictionLayout, slips: Slips) -> Fn | None:
    """Loads of frictions by several reactions: see `FrictionFunctions.loads`."""
    if not layout.loaded:
        return None
    lam = symbols("lam", layout.rows)
    loads = [load(system, form, i, _speed(layout, slips, i), lam) or (Value(1), Value(1)) for i in range(layout.count)]
    inputs = {**_inputs(form), "lam": (lam, (layout.rows,))}
    outputs = {}
    for k, name in enumerate(("moving", "rest")):
        L = column(*(pair[k] for pair in loads))
        outputs |= {name: (L, (layout.count,)), f"{name}_slope": (jacobian(L, lam), (layout.count, layout.rows))}
    return make_fn("friction_loads", inputs, outputs)


def _inputs(form: NormalForm) -> dict[str, Shaped]:
    return {"t": (form.inputs["t"], ()), **{x: (form.inputs[x], (form.inputs[x].numel(),)) for x in "qvp"}}


__all__ = ["FrictionFunctions", "friction_functions"]
