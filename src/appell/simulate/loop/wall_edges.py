"""Impacts on an edge of a wall: where the normal of a gap jumps, as at x = 0 in y + |x|, an impact has no definite outcome."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appell.backends import vm_function
from appell.simulate.loop.surfaces import ON_SURFACE, SideRun

Array = NDArray[np.float64]

SAME_NORMAL = 1e-9
"""Fraction of its size by which the normal of a wall may change from side to side without an edge."""


def edge_sentence(sided: SideRun, t: float, z: Array, p: Array, sides: Array, face: int, atol: Array) -> str | None:
    """A sentence about the edge on which an impact on a face meets its wall, None if there is none; z = (q, v) at the impact.

    p: parameters without sides. The gap f is continuous, so its slope changes by a multiple of that of the guard c,

        ∂f/∂q (c > 0) − ∂f/∂q (c < 0) = α ∂c/∂q        α > 0: a ridge; α < 0: a corner, where the body meets both sides
    """
    form, guards = sided.run.form, sided.guards
    q, v = z[: form.nq].copy(), z[form.nq :].copy()
    p_here = sided.parameters(p, sides)
    c, _, slope = vm_function(guards.terms).batch(np.array([t]), q[None], v[None], p_here[None])
    noise = guards.noise(np.array([t]), z[None], p_here, atol, np.zeros((1, len(z))))[0]
    blocks = form.select("g_v", "N")(t, q, v, p_here)
    for i in np.flatnonzero(np.abs(c[0]) <= ON_SURFACE * noise):
        other_sides, k = sides.copy(), int(sided.number[i])
        other_sides[k] = sided.surfaces[i].after(float(sides[k]))
        normal, normal_beyond = blocks["g_v"][face], form.select("g_v")(t, q, v, sided.parameters(p, other_sides))["g_v"][face]
        change, size = normal - normal_beyond, np.abs(normal) + np.abs(normal_beyond)
        if np.abs(change).max() > SAME_NORMAL * size.max():
            name, edge = sided.run.system.unilateral[face].name, f"{sided.surfaces[i].text} = 0"
            ridge = change @ (slope[0, i, : form.nq] @ blocks["N"]) > 0
            remedy = "round the edge" if ridge else "give each side as a wall of its own, with corner="
            return (
                f"the impact on '{name}' at t = {t:.9g} is {'on an edge' if ridge else 'in a corner'} of it, {edge}, where its"
                f" normal jumps, and what follows depends on the side; start elsewhere, or {remedy}"
            )
    return None


__all__ = ["edge_sentence"]
