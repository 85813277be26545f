"""A system with friction in one of its modes, as an ordinary system for every form.

    stick    s = 0 is a constraint, whose Λ is λ_T
    slip     λ_T = −μ σ Λ_N u (or −F u) is a force that contains the multiplier of the normal: Q = Dᵀ λ_T
    off      nothing
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import sympy
from sympy import Expr

from appell.errors import ModelError
from appell.jets import partial
from appell.model.closed_faces import closing
from appell.model.constraint import Constraint
from appell.model.friction import SPEED, Friction
from appell.model.friction_load import load_of
from appell.reading import finite, shown, symbolic, table_of

MODE_WORDS = ("stick", "slip+", "slip-", "slip", "off")


def in_mode(system: Any, mode: Mapping[Any, str], signs: Mapping[Any, int] | None = None) -> Any:
    """See `System.in_mode`."""
    states = _states(system, mode)
    sigma = {system.friction(key): whole_sign(sign) for key, sign in table_of(signs, "signs= of in_mode").items()}
    closed = {n[1] for n, state in zip(system.normals, states, strict=True) if n and n[0] == "face" and state != "off"}
    faces, open_faces = closing(system, closed)
    forces = dict(system._given.get("forces") or {})
    sticking: list[Constraint] = []
    multiplier_values = {x: sympy.Integer(0) for fr in system.frictions for x in fr.multipliers}  # values of λ_T in forces
    for i, (fr, state) in enumerate(zip(system.frictions, states, strict=True)):
        if state == "stick":
            sticking += [Constraint(s, x.label) for s, x in zip(fr.slip, fr.multipliers, strict=True)]
            multiplier_values |= {x: x for x in fr.multipliers}
        elif state != "off":
            reactions = sliding_reactions(system, i, fr, state, faces, sigma.get(i, 1))
            multiplier_values |= dict(zip(fr.multipliers, reactions, strict=True))
            for v in system.velocities:
                push = sum((x * partial(s, v) for x, s in zip(reactions, fr.slip, strict=True)), sympy.Integer(0))
                forces[v] = forces.get(v, 0) + push
    forces = {key: symbolic(value, "a force").xreplace(multiplier_values) for key, value in forces.items()}
    name = f"{system.name} ({', '.join(f'{fr.name}: {state}' for fr, state in zip(system.frictions, states, strict=True))})"
    rows = [*system.constraints, *faces.values(), *sticking, *open_faces, *system.resets]
    return system.replace(constraints=rows, forces=forces, name=name)


def modes(system: Any) -> Iterator[dict[str, str]]:
    """Every mode: each friction sticks or slides in either direction, or is off if its normal is a face."""
    options = []
    for fr, normal in zip(system.frictions, system.normals, strict=True):
        choices = ["slip"] if fr.regularise is not None else ["stick", "slip+", "slip-"] if fr.parts == 1 else ["stick", "slip"]
        options.append([*choices, "off"] if normal and normal[0] == "face" else choices)
    names = [fr.name for fr in system.frictions]
    faces = [normal if normal and normal[0] == "face" else None for normal in system.normals]
    for chosen in product(*options):
        by_face: dict[Any, set[bool]] = {}
        for face, state in zip(faces, chosen, strict=True):
            by_face.setdefault(face, set()).add(state == "off")
        if all(len(states) == 1 for face, states in by_face.items() if face is not None):
            yield dict(zip(names, chosen, strict=True))


def whole_sign(sign: Any) -> int:
    """σ of a normal force, +1 or −1."""
    number = finite(sign, "a sign of in_mode")
    if number not in (1.0, -1.0):
        raise ModelError(f"a sign of in_mode is 1 or -1, not {shown(sign)}")
    return int(number)


def _states(system: Any, mode: Mapping[Any, str]) -> list[str]:
    state_of = {system.friction(key): state for key, state in table_of(mode, "the mode").items()}
    missing = [fr.name for i, fr in enumerate(system.frictions) if i not in state_of]
    if missing:
        raise ModelError(f"in_mode says nothing about friction '{missing[0]}'; it is one of {', '.join(MODE_WORDS)}")
    for i, state in state_of.items():
        fr = system.frictions[i]
        smooth = fr.regularise is not None
        words = ("slip", "off") if smooth else ("stick", "slip+", "slip-", "off") if fr.parts == 1 else ("stick", "slip", "off")
        if not isinstance(state, str) or state not in words:
            raise ModelError(f"the mode of friction '{fr.name}' is one of {', '.join(words)}, not {shown(state)}")
    return [state_of[i] for i in range(len(system.frictions))]


def sliding_reactions(system: Any, i: int, fr: Friction, state: str, faces: Mapping[int, Constraint], sign: int) -> list[Expr]:
    """λ_T of a sliding friction, one for each component."""
    speed = sympy.sqrt(sum((s**2 for s in fr.slip), sympy.Integer(0)))
    if fr.regularise is not None:
        u = [s / sympy.sqrt(sum((x**2 for x in fr.slip), fr.regularise**2)) for s in fr.slip]
    elif fr.parts == 1:
        direction = 1 if state == "slip+" else -1
        u, speed = [sympy.Integer(direction)], direction * fr.slip[0]
    else:
        u = [s / speed for s in fr.slip]
    if (load := load_of(system, i)) is not None:
        bound: Any = load if fr.coefficient is None else fr.coefficient * load
    elif fr.coefficient is None:
        bound = fr.limit
    else:
        kind, row = system.normals[i]
        normal = system.constraints[row] if kind == "constraint" else faces[row]
        mu: Any = fr.coefficient
        bound = sign * mu * normal.multiplier
    return [(-bound * component).xreplace({SPEED: speed}) for component in u]


__all__ = ["in_mode", "modes", "sliding_reactions"]
