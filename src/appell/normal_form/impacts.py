"""What a time loop needs to know of unilateral constraints g(t, q) >= 0, besides the flow.

    guards      g, ġ of the free faces; Λ of the faces in contact (their rows are the last ones of the flow)
    impact      on one face:  M Δv = W λ + n P,  A Δv = 0,  n Δv = −(1 + e) ġ⁻        n = ∂ġ/∂v

The impact is Zhuravlev's gluing written in the user's own coordinates: q and the momenta along the face are continuous, and
so is u = σṡ up to the restitution, u⁺ = e u⁻ (theory: s = |x|; a crossing x = 0 with the sign σ as a mode). The impulse does
the work P (n·v⁺ + n·v⁻)/2, which goes into the energy balance.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, block_matrix, column, symbols, take, zeros
from appell.normal_form.flow import State, inputs_of
from appell.normal_form.normal_form import NormalForm
from appell.normal_form.policy import Policies
from appell.normal_form.rows import scale
from appell.normal_form.saddle import RANK, Policy
from appell.normal_form.solved import Blocks, Function, Shaped, solved

ROUNDING = 8e-16
"""Share of the terms of g that rounding may hide: a bounce lower than this is none."""


@dataclass(frozen=True, eq=False)
class Switching:
    """Functions of a mode: `faces` (t, z, p) → g, g_d; `face_acceleration` (t, z, zd, p) → g_dd, noise; `reactions` of the
    contacts (t, z, p) → lam, margin; `impacts` on each free face (t, z, p) → dz, impulse, before, after, margin."""

    free: tuple[int, ...]
    contacts: tuple[int, ...]
    faces: Fn
    face_acceleration: Fn
    reactions: Function | None
    impacts: tuple[Function, ...]


def switching(
    form: NormalForm, policies: Policies, free: tuple[int, ...], contacts: tuple[int, ...], *, work: bool = True
) -> Switching:
    """The switching functions of a mode whose normal form has the rows of `contacts` last; with w in the state or without."""
    state = State.full(form, work)
    given = inputs_of(form, state)
    g, g_d = take(form["g"], free), take(form["g_d"], free)
    n = len(free)
    zd = symbols("zd", state.size)
    a = take(zd, range(form.nq, form.nq + form.nv))
    normals = _rows(form["g_v"], free)
    g_dd = normals @ a + take(form["g_dd0"], free)
    size = take(form["g_scale"], free) + scale(g, form.inputs["t"])  # a time is rounded too
    return Switching(
        free=free,
        contacts=contacts,
        faces=make_fn("faces", given, {"g": (g, (n,)), "g_d": (g_d, (n,))}),
        face_acceleration=make_fn(
            "face_acceleration",
            {"t": given["t"], "z": given["z"], "zd": (zd, (state.size,)), "p": given["p"]},
            {"g_dd": (g_dd, (n,)), "noise": (ROUNDING * (1 + size), (n,))},
        ),
        reactions=_reactions(form, policies, given, len(contacts)) if contacts else None,
        impacts=() if contacts else tuple(_impact(form, policies, state, given, k) for k in free),
    )


def _rows(matrix: Value, indices: tuple[int, ...]) -> Value:
    return matrix[list(indices), :] if indices else zeros(0, matrix.shape[1])


def _reactions(form: NormalForm, policies: Policies, given: dict[str, Shaped], contacts: int) -> Function:
    blocks = Blocks(form["M"], form["A"], form["W"], form["Q"] - form["h"], -form["a0"])
    last = range(form.m - contacts, form.m)
    return solved(
        "reactions", given, blocks, lambda x, lam: {"lam": (take(lam, last), (contacts,))}, policies.acceleration
    )  # fmt: skip


def _impact(form: NormalForm, policies: Policies, state: State, given: dict[str, Shaped], face: int) -> Function:
    n, before, e = form["g_v"][face, :], form["g_d"][face], form["restitution"][face]
    A, W = block_matrix([[form["A"]], [n]]), block_matrix([[form["W"], n.T]])
    v = form.inputs["v"]
    blocks = Blocks(form["M"], A, W, zeros(form.nv), column(zeros(form.m), -(1 + e) * before))

    def finish(dv: Value, impulses: Value) -> dict[str, Shaped]:
        work = impulses.T @ (W.T @ (v + dv / 2)) if state.has_work else zeros(0)
        return {
            "dz": (column(zeros(form.nq), dv, work), (state.size,)),
            "impulse": (impulses[form.m], ()),
            "before": (before, ()),
            "after": (before + n @ dv, ()),
        }

    return solved(f"impact{face}", given, blocks, finish, _with_one_more(policies.acceleration))


def _with_one_more(policy: Policy) -> Policy:
    return Policy(policy.kind, policy.rank + 1 if policy.kind == RANK else policy.rank, policy.gamma)
