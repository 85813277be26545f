"""Whether constraints of first order are holonomic in disguise, alone or together, as findings.

    D_∞ = D (Frobenius)        F(t, q) with dF = μ Σ c_k ω_k, where one is found in closed form (`pfaffian_integrals`)

A row that is not integrable by itself may be so on the surface of the holonomic constraints, or together with other rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from appell.jets import jets_of
from appell.tree.tree_system import TreeSystem
from appell.verify.case import Case
from appell.verify.findings import Finding, listed
from appell.verify.frobenius import affine_rows, flag
from appell.verify.pfaffian_integrals import integrals


def integrability(case: Case) -> Iterator[Finding]:
    """A finding for each constraint of first order, and one for all of them together."""
    system, c = case.system, case.system.constraints
    rows, states = affine_rows(system), case.states[:3]
    positions, first_order = [i for i in rows if c[i].order == 0], [i for i in rows if c[i].order == 1]
    grow = lambda chosen: flag(system, chosen, states, case.p)
    hidden = []
    for i in first_order:
        single = grow([i])
        on_surface = positions and grow([*positions, i]).integrals > grow(positions).integrals
        if single.holonomic or on_surface:
            hidden.append(i)
            restriction = "" if single.holonomic else " on the holonomic constraints"
            function = _integral(case, [i])
            verdict = f"holonomic in disguise{restriction}: {_integral_as_constraint(function)}"
        else:
            function = None
            growth = ", ".join(str(r - 1) for r in single.ranks)
            verdict = f"nonholonomic: the motions that it allows and their brackets span {growth} dimensions"
        yield Finding("integrability", c[i].name, f"constraint '{c[i].name}' is {verdict}", function)
    if len(first_order) > 1:
        together, base = grow(rows), grow(positions)
        yield _joint_integrability(case, first_order, hidden, together.integrals - base.integrals, together.rows - base.rows)
    for row in (k for k in c if k.order == 1 and not k.linear):
        sentence = f"constraint '{row.name}' is nonlinear, so Frobenius's theorem does not speak about it"
        yield Finding("integrability", row.name, sentence)
    for row, f in zip(c, system.residuals, strict=True):
        if names := sorted(map(str, f.free_symbols & set(system.states))):
            sentence = f"constraint '{row.name}' contains the state {names[0]}, so Frobenius's theorem does not speak about it"
            yield Finding("integrability", row.name, sentence)


def _integral(case: Case, rows: list[int]) -> sympy.Expr | None:
    """An integral of these rows in closed form, if one is found."""
    if isinstance(case.system, TreeSystem):  # SymPy cannot integrate entries of frames
        return None
    candidates = integrals(case.system, rows, given=case.given_values)
    matching = [integral for integral in candidates if set(integral.rows) <= set(rows)]
    return matching[0].function if matching else None


def _integral_as_constraint(function: sympy.Expr | None) -> str:
    if function is None:
        return "it has an integral, which is not found in closed form"
    return f"{function} stays constant{_where_undefined(function)}; write ap.Constraint({function} - C) with the C of the start"


def _where_undefined(function: Any) -> str:
    """The surfaces on which an integral is undefined or jumps, so that its constant differs on each side."""
    walls = []
    nodes: list[Any] = list(sympy.preorder_traversal(function))
    for e in nodes:
        if e.is_Pow and (e.exp.is_negative or not e.exp.is_integer) and jets_of(e.base):
            walls.append(e.base)
        elif isinstance(e, sympy.log):
            walls += [x.args[0] if isinstance(x, sympy.Abs) else x for x in e.args if jets_of(x)]
        elif isinstance(e, sympy.tan | sympy.sec):
            walls.append(sympy.cos(e.args[0]))
        elif isinstance(e, sympy.cot | sympy.csc):
            walls.append(sympy.sin(e.args[0]))
    walls = [w for w in dict.fromkeys(walls) if not w.is_positive]
    return f" on each side of {' and of '.join(f'{w} = 0' for w in walls)}" if walls else ""


def _joint_integrability(case: Case, first_order: list[int], hidden: list[int], count: int, rank: int) -> Finding:
    """The set of first-order constraints: `count` integrals of `rank` independent rows, some of which belong to single rows."""
    system = case.system
    if count == rank:
        verdict = f"holonomic in disguise: {count} integrals for {rank} independent rows"
    elif count > len(hidden):
        verdict = f"nonholonomic, but have {count} integral{'s' * (count > 1)} between them"
    else:
        verdict = "nonholonomic and have no further integral"
    sentence = f"the constraints {listed(system.constraints[i].name for i in first_order)} together are {verdict}"
    written = count > len(hidden) and not isinstance(system, TreeSystem)
    further = integrals(system, first_order, factors=False, given=case.given_values) if written else []
    mixed = [integral for integral in further if len(integral.rows) > 1]
    for integral in mixed:
        of = listed(system.constraints[i].name for i in integral.rows)
        sentence += f"; {integral.function} stays constant{_where_undefined(integral.function)} (a combination of {of})"
    return Finding("integrability", system.name, sentence, mixed[0].function if len(mixed) == 1 else None)


__all__ = ["integrability"]
