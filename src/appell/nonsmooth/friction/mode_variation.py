"""Variations of a motion with friction, in every mode: the flow with the derivatives of its state, and slopes of guards.

    K y = b,  y = (a, λ)            K δy = δb − (δK) y            ż = (q̇, a),  Φ̇ = ∂ż/∂z Φ + ∂ż/∂p Π
    guards g(t, z, p, y)            dg/dx = g_x + g_y K⁻¹(b_x − K_x y)            x = (t, q, v, p)

K and b are those of `FrictionFlow` for all modes; the mode is data behind the parameters. When a guard g ends a mode, the state
is continuous, and

    δz⁺ = δz⁻ + (f⁻ − f⁺) δt*,        δt* = −(g_z δz + g_p δp)/ġ⁻

whatever the next mode is. If slip comes to rest, g = u·s, and s_z δz⁺ + s_p δp = 0 follows: neighbouring motions stick too, and
Φ loses a dimension. If sticking ends with equal static and sliding friction, f⁺ = f⁻, and sliding restores the dimension.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.errors import FormNotApplicable
from appell.graph import Fn, make_fn
from appell.graph.algebra import (
    Value,
    as_matrix,
    block_matrix,
    column,
    derivative_along,
    general_solve,
    jacobian,
    row_major,
    substitute_all,
    symbols,
    take,
    zeros,
)
from appell.model import System
from appell.nonsmooth.friction.friction_flow import FrictionFlow
from appell.nonsmooth.friction.friction_layout import FrictionLayout, friction_layout
from appell.nonsmooth.friction.friction_terms import Slips
from appell.normal_form import NormalForm
from appell.normal_form.variation import VariedFlow
from appell.remember import remembered


@dataclass(frozen=True, eq=False)
class ModeVariation:
    """flow: of (q, v, Φ) with p = (parameters, mode). slopes: (t, q, v, p) → f (nz,), g (n,), g_x (n, …), s (parts,), s_x.

    The derivatives g_x of the guards and s_x of the slips are with respect to (t, q, v, parameters).
    """

    layout: FrictionLayout
    flow: VariedFlow
    slopes: Fn


@remembered
def mode_variation(system: System, form: NormalForm, starts: int, parameters: tuple[int, ...]) -> ModeVariation:
    """Variations in `starts` directions of the state and in the numbered `parameters`.

    Raises `FormNotApplicable` where loads are not affine in the multipliers.
    """
    layout, slips = friction_layout(system, form), Slips.of(system, form)
    all_modes = FrictionFlow(system, form, layout, slips)
    saddle = all_modes.saddle()
    if saddle is None:
        raise FormNotApplicable(
            "variations are not taken with friction under several reactions together, or beside forces nonlinear in multipliers"
        )
    K, b, y, guards = saddle
    nq, nv, nz, np_ = form.nq, form.nv, form.nq + form.nv, form.inputs["p"].numel()
    q, v, p = (form.inputs[name] for name in ("q", "v", "p"))
    t, numbers = form.inputs["t"], all_modes.inputs["p"][0]
    solution = general_solve(K, b)
    residual = K @ y - b
    columns = starts + len(parameters)
    z = symbols("zz", nz * (1 + columns))
    Phi = as_matrix(take(z, range(nz, nz * (1 + columns))), nz, columns)
    Pi = zeros(np_, columns)
    for j, i in enumerate(parameters):
        Pi[i, starts + j] = 1
    sides = [[Phi[:nq, k], Phi[nq:, k], Pi[:, k]] for k in range(columns)]
    variation = lambda e: block_matrix([[derivative_along(e, [q, v, p], side) for side in sides]])
    (right_sides,) = substitute_all([-variation(residual)], [y], [solution])
    Phi_d = block_matrix([[variation(form["qd"])], [general_solve(K, right_sides)[:nv, :]]])
    rates = column(form["qd"], take(solution, range(nv)), row_major(Phi_d))
    (rates,) = substitute_all([rates], [q, v], [take(z, range(nq)), take(z, range(nq, nz))])
    ports = {"t": (t, ()), "z": (z, (z.numel(),)), "p": (numbers, (numbers.numel(),))}
    rhs = make_fn("flow", ports, {"zd": (rates, (z.numel(),)), "margin": (Value(1), ())})
    expand = make_fn(
        "expand", ports, {"q": (take(z, range(nq)), (nq,)), "v": (take(z, range(nq, nz)), (nv,))}
    )  # fmt: skip
    flow = VariedFlow(
        rhs=rhs, expand=expand, position=None, velocity=None, quaternions=(), nq=nq, nu=nv, has_work=False, minimal=False,
        guarded=None, implicit=_no_implicit, columns=columns,
    )  # fmt: skip
    return ModeVariation(layout, flow, _slopes(form, numbers, (K, y, solution, residual, guards), slips))


def _slopes(form: NormalForm, numbers: Value, saddle: tuple[Value, Value, Value, Value, Value], slips: Slips) -> Fn:
    """The function `slopes` of `ModeVariation`; saddle: K, y, the solution K⁻¹b, K y − b, and the guards."""
    K, y, solution, residual, guards = saddle
    x = column(*(form.inputs[name] for name in ("t", "q", "v", "p")))
    answer = -general_solve(K, jacobian(residual, x))
    slope = jacobian(guards, x) + jacobian(guards, y) @ answer
    f = column(form["qd"], take(y, range(form.nv)))
    f, guards, slope = substitute_all([f, guards, slope], [y], [solution])
    inputs = {"t": (form.inputs["t"], ()), **{n: (form.inputs[n], (form.inputs[n].numel(),)) for n in ("q", "v")}}
    inputs["p"] = (numbers, (numbers.numel(),))
    n, s = guards.numel(), slips.s
    outputs = {
        "f": (f, (f.numel(),)),
        "g": (guards, (n,)),
        "g_x": (slope, (n, x.numel())),
        "s": (s, (s.numel(),)),
        "s_x": (jacobian(s, x), (s.numel(), x.numel())),
    }
    return make_fn("mode_slopes", inputs, outputs)


def _no_implicit() -> Fn:
    raise FormNotApplicable("variations run with explicit methods, not with 'idas'")


__all__ = ["ModeVariation", "mode_variation"]
