"""The mode that holds after an instant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, product

import numpy as np
from numpy.typing import NDArray

from appell.errors import AppellError
from appell.modes.mode import OFF, SLIP, STICK, FrictionState, Mode
from appell.nonsmooth.friction.choices import choices
from appell.nonsmooth.friction.cones import proposals
from appell.nonsmooth.friction.directions import refined
from appell.nonsmooth.friction.friction_layout import FrictionLayout
from appell.nonsmooth.friction.lemke import proposed
from appell.nonsmooth.friction.problem import CHOICES_TRIED, Answer, Problem

Array = NDArray[np.float64]

TIE_LOOKS_AHEAD = (1e-4, 1e-3, 1e-2, 1e-1)
"""Fractions of a step after which ties are examined again."""
TIES_TRIED = 300
"""Most alternatives at ties that are tried."""
NO_SLACK = 1e-12
"""Slack that counts as zero."""
ROW_LEFT = 1e-9
"""Fraction of a row that must remain after elimination of the rows before it, for the row to be independent."""


class UndeterminedFriction(AppellError):
    """Friction admits no acceleration, or more than one."""


def decide(
    problem: Problem,
    faces: Sequence[int],
    resting: Sequence[int],
    slipping: dict[int, tuple[float, ...]],
    ahead: Callable[[Mode, float], float],
    names: Sequence[str],
) -> Answer:
    """The mode after an instant, from the faces that may press, the frictions without slip, and the directions of the others.

    If there are few modes, all are tried, so that non-unique accelerations are noticed; otherwise the first consistent one is
    taken. Among consistent modes with the same acceleration, the result is the first that is still consistent a little later,
    in the order of most contacts and most sticking. ahead(mode, part): the slack of a mode after a part of a step.
    """
    answers = consistent(problem, faces, resting, slipping)
    if not answers:
        raise UndeterminedFriction(_no_mode_message(names, resting, slipping))
    motions = _grouped(problem, answers)
    if len(motions) > 1:
        motions = _beyond_ties(motions) or motions
    if len(motions) > 1 and not _sticking_favoured(problem, resting):
        faces = tuple(sorted({f for motion in motions for f in motion[0].mode.closed}))
        pressing = Mode(faces, (FrictionState(OFF),) * problem.layout.count)
        if dependent(problem, pressing):
            raise UndeterminedFriction(
                "normal reactions are not unique, and so neither is a motion with friction"
                f" ({_names_listed(names, resting, slipping)}): there are more contacts than a rigid body needs"
                "; use fewer, or springs"
            )
        raise UndeterminedFriction(
            f"friction allows {len(motions)} different accelerations ({_names_listed(names, resting, slipping)}): a Painlevé"
            " configuration, in which rigid-body mechanics does not decide between them"
        )
    alike = [answer for motion in motions for answer in motion] if _sticking_favoured(problem, resting) else motions[0]
    chosen = _lasting(alike, ahead)
    idle = dependent(problem, chosen.mode)
    frictions = tuple(_signed(problem.layout, friction, i, chosen.lam) for i, friction in enumerate(chosen.mode.frictions))
    return replace(chosen, mode=Mode(chosen.mode.closed, frictions, idle))


def _signed(layout: FrictionLayout, friction: FrictionState, i: int, lam: Array) -> FrictionState:
    """A sticking friction, with the sign of its normal reaction."""
    row = layout.normals[i]
    if friction.state != STICK or row is None or row >= layout.m:
        return friction
    return friction._replace(sign=-1 if lam[row] < 0 else 1)


def consistent(problem: Problem, faces: Sequence[int], resting: Sequence[int], slipping: dict) -> list[Answer]:
    """Solutions that satisfy every condition of the problem: all of them if there are few modes, otherwise those of one."""
    accepted: list[Answer] = []
    pairs = sum(problem.layout.parts[i] > 1 for i in resting)
    too_many = 2 ** len(faces) * 3 ** len(resting) > CHOICES_TRIED or pairs > 1
    guesses = _proposals(problem, faces, resting, slipping) if too_many else []
    for mode in chain(guesses, choices(problem.layout, faces, resting, slipping)):
        accepted += [answer for answer in problem.solutions(mode, resting, faces) if answer.consistent]
        if too_many and accepted:
            break
    if not (too_many and accepted and accepted[0].ties):
        return accepted
    variants = islice(_variants(problem, accepted[0], faces, resting), TIES_TRIED)
    answers = [answer for mode in variants for answer in problem.solutions(mode, resting, faces) if answer.consistent]
    holds = lambda answer: len(answer.mode.closed) + sum(friction.state == STICK for friction in answer.mode.frictions)
    return sorted(answers, key=holds, reverse=True) or accepted


def _proposals(problem: Problem, faces: Sequence[int], resting: Sequence[int], slipping: dict) -> Iterator[Mode]:
    """Modes to try: all that may stick sticks; then Lemke's method where it applies, otherwise projection onto the cones."""
    yield next(choices(problem.layout, faces, resting, slipping))
    by_lemke = proposed(problem, faces, resting, slipping)
    if by_lemke is not None:
        yield by_lemke
    if by_lemke is None or any(problem.layout.parts[i] > 1 for i in resting):
        yield from proposals(problem, faces, resting, slipping)


def _variants(problem: Problem, answer: Answer, faces: Sequence[int], resting: Sequence[int]) -> Iterator[Mode]:
    """The alternatives to the mode of a solution where it is tied; pairs without unique reactions yield together."""
    layout, mode, yielding = problem.layout, answer.mode, answer.yielding
    if yielding is not None and (exact := refined(problem, yielding)) is not None:
        yield exact
    loose = [f for f in faces if layout.m + f in answer.ties]
    tied = [i for i in resting if layout.own_rows(i)[0] in answer.ties and (layout.parts[i] == 1 or yielding is None)]
    for shut in product((True, False), repeat=len(loose)):
        closed = {f for f in mode.closed if f not in loose} | {f for f, keep in zip(loose, shut, strict=True) if keep}
        for choice in product(*([FrictionState(STICK), *_slides(layout, answer, i)] for i in tied)):
            frictions = [choice[tied.index(i)] if i in tied else friction for i, friction in enumerate(mode.frictions)]
            for i, friction in enumerate(frictions):
                face = layout.face_of(i)
                if face is not None and face not in closed:
                    frictions[i] = FrictionState(OFF)
                elif friction.state == OFF:
                    frictions[i] = FrictionState(STICK)
            if (exact := refined(problem, Mode(tuple(sorted(closed)), tuple(frictions)))) is not None:
                yield exact


def _slides(layout: FrictionLayout, answer: Answer, i: int) -> list[FrictionState]:
    """The ways in which a tied friction may slide: a pair against its force."""
    sign = _signed(layout, FrictionState(STICK), i, answer.lam).sign
    if layout.parts[i] == 1:
        return [FrictionState(SLIP, (1.0,), sign), FrictionState(SLIP, (-1.0,), sign)]
    force = answer.force[layout.columns(i)]
    size = float(np.linalg.norm(force))
    return [FrictionState(SLIP, tuple((-force / size).tolist()), sign, True)] if size > 0 else []


def _grouped(problem: Problem, answers: list[Answer]) -> list[list[Answer]]:
    """Groups solutions that have the same accelerations."""
    groups: list[list[Answer]] = []
    for answer in answers:
        for group in groups:
            if problem.same(answer.x, group[0].x):
                group.append(answer)
                break
        else:
            groups.append([answer])
    return groups


def _beyond_ties(groups: list[list[Answer]]) -> list[list[Answer]]:
    """Solutions that do not depend on a tie alone."""
    return [group for group in groups if any(answer.strict or not answer.ties for answer in group)]


def _sticking_favoured(problem: Problem, resting: Sequence[int]) -> bool:
    """Whether a larger static coefficient allows both sticking and sliding; sticking then continues as long as it can."""
    return any(problem.mu_static[i] > problem.mu[i] for i in resting)


def _lasting(answers: list[Answer], ahead: Callable[[Mode, float], float]) -> Answer:
    """The first solution that is still consistent a little later; where none is, the one with the largest slack."""
    if len(answers) == 1 and not answers[0].ties:
        return answers[0]
    if not answers[0].ties:
        return answers[0]
    best = answers[0]
    for fraction in TIE_LOOKS_AHEAD:
        slack = [ahead(answer.mode, fraction) for answer in answers]
        good = [k for k, value in enumerate(slack) if value >= -NO_SLACK]
        best = answers[good[0]] if good else answers[int(np.argmax(slack))]
        if good and max(map(abs, slack)) > 100 * NO_SLACK:
            break
    return best


def dependent(problem: Problem, mode: Mode) -> tuple[int, ...]:
    """Rows of a mode that are implied by the rows before them."""
    rows = mode.rows(problem.layout)
    inertia = np.where(np.diag(problem.M) > 0, np.diag(problem.M), np.inf)
    scale = 1 / np.sqrt(inertia)
    scale = np.where(scale > 0, scale, scale.max(initial=1.0) or 1.0)
    basis: list[Array] = []
    implied = []
    for row in rows:
        y = problem.J[row] * scale
        size = np.linalg.norm(y)
        for e in (*basis, *basis):
            y = y - (e @ y) * e
        if np.linalg.norm(y) <= ROW_LEFT * size or size == 0:
            implied.append(row)
        else:
            basis.append(y / np.linalg.norm(y))
    return tuple(implied)


def _names_listed(names: Sequence[str], resting: Sequence[int], slipping: dict) -> str:
    """The names of all frictions under contacts, for messages."""
    return ", ".join(f"'{names[i]}'" for i in sorted({*resting, *slipping}))


def _no_mode_message(names: Sequence[str], resting: Sequence[int], slipping: dict) -> str:
    """The message for an instant at which no mode is consistent."""
    return (
        f"no acceleration satisfies Coulomb's law of friction ({_names_listed(names, resting, slipping)}): a Painlevé"
        " configuration, constraints that jam, or normal reactions that are not determined. Rigid bodies have no continuous"
        " motion from here"
    )


__all__ = ["UndeterminedFriction", "consistent", "decide", "dependent"]
