"""Phases of a plan: which faces are in contact and which frictions stick or slide, each as a system without modes.

    phases=[("floor", "sole"), (), ("floor", "sole+")]      on the floor and sticking; in flight; on the floor, sliding forwards
    phases=[(), "floor", ()]                                in flight; the floor is struck; in flight again

The names in a tuple hold throughout the phase: a face is closed and loaded, a friction sticks, or slides with s > 0 ("+") or
s < 0 ("-"). A name between two phases is a face with an impact there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from appell.errors import ModelError
from appell.model import System
from appell.model.friction import SPEED
from appell.model.friction_load import load_of
from appell.model.friction_modes import sliding_reactions
from appell.motion.motion import Motion
from appell.normal_form import NormalForm, normal_form
from appell.optimize.steering_request import BoundedExpression
from appell.reading import finite, items_of, shown
from appell.spelling import did_you_mean

LEAST_PHASE_SHARE = 1e-6
"""Fraction of a motion below which an interval between two events does not count as a phase."""


@dataclass(frozen=True, eq=False)
class ContactPhase:
    """One phase: closed: names of faces; states: friction → "stick", "slip+", "slip-", "slip" or "off".

    system, form: without modes. rows: conditions that closed faces stay loaded and sticking frictions stick. reactions:
    multiplier of a friction that slides or is off → its value. struck: the face with an impact at the end of the phase, if any.
    """

    closed: tuple[str, ...]
    states: Mapping[str, str]
    system: System
    form: NormalForm
    rows: tuple[BoundedExpression, ...]
    reactions: Mapping[Any, Any]
    struck: str | None

    @property
    def text(self) -> str:
        """Its names, as they are given in `phases=`."""
        marks = {"stick": "", "slip+": "+", "slip-": "-"}
        entries = [*self.closed, *(f"{name}{marks[state]}" for name, state in self.states.items() if state in marks)]
        return f"({', '.join(map(repr, entries))}{',' if len(entries) == 1 else ''})"


def one_phase(system: System) -> tuple[ContactPhase, ...]:
    """One phase without contact."""
    return (contact_phase(system, (), None),)


def read_phases(system: System, given: Any) -> tuple[ContactPhase, ...]:
    """The phases described by `phases=`."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not len(given):
        raise ModelError(f"phases= is 'auto', 'any' or a list of tuples of names, such as [('floor',), ()], not {shown(given)}")
    phases: list[ContactPhase] = []
    for k, item in enumerate(given):
        if _is_struck_face(item):
            name = _face(system, _name(item))
            if not 0 < k < len(given) - 1 or _is_struck_face(given[k + 1]) or _is_struck_face(given[k - 1]):
                raise ModelError(
                    f"phases= has {shown(name)} by itself, a face that is struck between two phases; "
                    f"a phase is ({shown(name)},)"
                )
            continue
        if not isinstance(item, tuple | list | set | frozenset):
            raise ModelError(
                f"phases= has {shown(item)}: a phase is a tuple of names, such as ('floor',), or () without contact; a face"
                " that is struck between two phases stands by its name"
            )
        struck = given[k + 1] if k + 1 < len(given) else None
        struck_face = _face(system, _name(struck)) if _is_struck_face(struck) else None
        phases.append(contact_phase(system, tuple(item), struck_face))
    return tuple(phases)


def _is_struck_face(item: Any) -> bool:
    """Whether an entry of `phases=` is a face, by itself or by its name, that is struck between two phases."""
    return isinstance(item, str) or hasattr(item, "multiplier")


def read_durations(
    given: Any, phases: Sequence[ContactPhase], whole: tuple[float, float]
) -> tuple[tuple[float, float], ...]:
    """Bounds of the durations of phases, s, from `durations=`; whole: bounds of their sum."""
    items = items_of(given, "durations=")
    if not items:
        return ()
    if len(phases) == 1:
        raise ModelError("durations= bounds several phases; until=(earliest, latest) bounds the duration of a single one")
    if len(items) != len(phases):
        raise ModelError(f"durations= has {len(items)} entries, and there are {len(phases)} phases; None leaves one free")
    durations = []
    for item, phase in zip(items, phases, strict=True):
        limits = (None, None) if item is None else tuple(item) if isinstance(item, tuple | list | np.ndarray) else ()
        text = f"the duration of phase {phase.text}"
        pair = [(0.0, np.inf)[k] if x is None else finite(x, text, infinite=True) for k, x in enumerate(limits)]
        if len(pair) != 2 or not 0 <= pair[0] <= pair[1] or not pair[1] > 0:
            raise ModelError(f"{text} is (shortest, longest) in s, None for an open side, or None; not {shown(item)}")
        durations.append((pair[0], pair[1]))
    shortest, longest = (sum(duration[k] for duration in durations) for k in (0, 1))
    if shortest > whole[1] or longest < whole[0]:
        total = f"{shortest:g}" if shortest > whole[1] else f"{longest:g}"
        end = "at most" if shortest > whole[1] else "at least"
        raise ModelError(f"durations= add up to {total} s, and until= allows {end} {whole[1 if end == 'at most' else 0]:g} s")
    return tuple(durations)


def _name(item: Any) -> str:
    return str(getattr(item, "name", item))


def _face(system: System, name: str) -> str:
    names = [face.name for face in system.unilateral]
    if name not in names:
        raise ModelError(
            f"phases= names {shown(name)}, and {system.name} has no such face; there are {names}{did_you_mean(name, names)}"
        )
    return name


def contact_phase(system: System, items: tuple[Any, ...], struck: str | None) -> ContactPhase:
    """A phase in which these are in contact, stick or slide."""
    closed, states = _read_names(system, [_name(item) for item in items])
    smooth = system.in_mode(states) if system.frictions else system
    faces = [face.name for face in smooth.unilateral]
    form = normal_form(smooth, tuple(faces.index(name) for name in closed if name in faces))
    press = [BoundedExpression(_multiplier(system, name), 0.0, np.inf, f"'{name}' presses") for name in closed]
    rows, reactions = _friction_rows(system, states, form)
    return ContactPhase(tuple(closed), states, smooth, form, (*press, *rows), reactions, struck)


def _multiplier(system: System, name: str) -> Any:
    return next(face.multiplier for face in system.unilateral if face.name == name)


def _read_names(system: System, names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    faces, frictions = [face.name for face in system.unilateral], {fr.name: fr for fr in system.frictions}
    closed = [name for name in faces if name in names]
    states: dict[str, str] = {}
    for name in names:
        friction, mark = (name[:-1], name[-1]) if name[-1:] in ("+", "-") and name not in frictions else (name, "")
        if friction in frictions:
            if friction in states:
                raise ModelError(
                    f"phases= says twice in one phase what the friction {shown(friction)} does: {', '.join(names)}"
                )
            states[friction] = f"slip{mark}" if mark else "stick"
        elif name not in faces:
            known = [*faces, *frictions]
            raise ModelError(
                f"phases= names {shown(name)}, which {system.name} does not have; there are {known}{did_you_mean(name, known)}"
            )
    for (name, fr), normal in zip(frictions.items(), system.normals, strict=True):
        face = faces[normal[1]] if normal and normal[0] == "face" else None
        if face is not None and face not in closed:
            if name in states:
                raise ModelError(
                    f"phases= names the friction {shown(name)} in a phase in which {shown(face)}, which presses on it, is open"
                )
            states[name] = "off"
        elif name not in states and (fr.parts > 1 or fr.regularise is not None):
            states[name] = "slip"
        elif name not in states:
            raise ModelError(
                f"phases= does not tell what the friction {shown(name)} does:"
                f" name {shown(name)} (it sticks), '{name}+' or '{name}-'"
            )
    return closed, {name: states[name] for name in frictions}


def _friction_rows(
    system: System, states: Mapping[str, str], form: NormalForm
) -> tuple[list[BoundedExpression], dict[Any, Any]]:
    """|λ_T| <= μ_s Λ_N for sticking, s of one sign for sliding; and λ_T of frictions that do not stick."""
    rows, reactions = [], {}
    faces: Mapping[int, Any] = dict(enumerate(system.unilateral))
    for i, fr in enumerate(system.frictions):
        state = states[fr.name]
        if state == "stick":
            bound = _bound(system, i)
            if fr.parts == 1:
                lam = fr.multipliers[0]
                rows += [BoundedExpression(bound + s * lam, 0.0, np.inf, f"'{fr.name}' sticks") for s in (1, -1)]
            else:
                margin = bound**2 - sympy.Add(*(lam**2 for lam in fr.multipliers))
                rows.append(BoundedExpression(margin, 0.0, np.inf, f"'{fr.name}' sticks"))
            continue
        off = state == "off"
        slid = [sympy.Integer(0)] * fr.parts if off else sliding_reactions(system, i, fr, state, faces, 1)
        reactions |= dict(zip(fr.multipliers, slid, strict=True))
        if state in ("slip+", "slip-"):
            sign = 1 if state == "slip+" else -1
            rows.append(BoundedExpression(sign * fr.slip[0], 0.0, np.inf, f"'{fr.name}' slides"))
    return rows, reactions


def _bound(system: System, i: int) -> Any:
    """The bound of |λ_T| at rest."""
    fr = system.frictions[i]
    mu = fr.static if fr.static is not None else fr.coefficient
    if (load := load_of(system, i)) is not None:
        bound: Any = load if mu is None else mu * load
    elif mu is None:
        bound = fr.limit
    else:
        kind, row = system.normals[i]  # type: ignore[misc]
        bound = mu * (system.constraints[row] if kind == "constraint" else system.unilateral[row]).multiplier
    return bound.xreplace({SPEED: sympy.Integer(0)})


def phases_of_motion(system: System, motion: Any) -> tuple[tuple[ContactPhase, ...], tuple[float, ...]]:
    """The phases of a motion, and the fractions of its time at which they end."""
    if not isinstance(motion, Motion):
        if motion is None:
            raise ModelError("phases='auto' takes the phases from guess=, and this plan was not simulated; judge=True does it")
        raise ModelError("phases='auto' takes the phases from guess=, which then is a motion of the same system")
    t_start, t_end = motion.span or (float(motion.t[0]), float(motion.t[-1]))
    names = [face.name for face in motion.system.unilateral]
    events = {t_start: ((), "")} | {float(t): (tuple(names[i] for i in closed), "") for t, closed in motion.contacts}
    for t, mode in motion.modes:
        closed = [names[i] for i in mode.closed]
        marks = {"stick": lambda u: "", "slip": lambda u: "+" if u[0] > 0 else "-"}
        names = [fr.name for fr in motion.system.frictions]
        pairs = [(name, friction) for name, friction in zip(names, mode.frictions, strict=True) if friction.state != "off"]
        slides = [f"{name}{marks[friction.state](friction.u)}" for name, friction in pairs if len(friction.u) < 2]
        events[float(t)] = ((*closed, *slides), "")
    for impact in motion.impacts:
        if impact.kind == "impact" and not any(
            abs(t - impact.time) <= LEAST_PHASE_SHARE * (t_end - t_start) for t in events if t > t_start
        ):
            earlier = max(t for t in events if t <= impact.time)
            events[impact.time] = (events[earlier][0], impact.constraint)
    times = sorted(events)
    intervals: list[tuple[tuple[str, ...], str, float]] = []
    for t, end in zip(times, [*times[1:], t_end], strict=True):
        items, struck = events[t]
        same = bool(intervals) and intervals[-1][0] == items and not struck
        if end - t <= LEAST_PHASE_SHARE * (t_end - t_start):
            continue
        if same:
            intervals[-1] = (items, intervals[-1][1], end)
        else:
            intervals.append((items, struck, end))
    struck_faces = [*(struck or None for _, struck, _ in intervals[1:]), None]
    phases = tuple(contact_phase(system, items, struck) for (items, _, _), struck in zip(intervals, struck_faces, strict=True))
    return phases, tuple((end - t_start) / (t_end - t_start) for *_, end in intervals)


__all__ = ["ContactPhase", "one_phase", "phases_of_motion", "read_phases"]
