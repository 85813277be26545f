"""A mode as data: which faces are open, closed or touch without a load, which frictions stick or slide, which rows act.

Without friction `frictions` is empty. A mode is constant within a step: the sign of x in Zhuravlev's s = |x|, the contacts of a
body and the sticking of a brake are all data of this kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from appell.nonsmooth.friction.friction_layout import FrictionLayout

Array = NDArray[np.float64]

FREE, HELD, ASLEEP = range(3)
"""The guard of a face: its distance g, its reaction Λ, or none (g = 0 wherever the closed ones are closed)."""
OFF, STICK, SLIP = "off", "stick", "slip"
"""States of a friction."""


class FrictionState(NamedTuple):
    """State of a friction: OFF, STICK or SLIP with a direction u of 1 to 3 components; and the sign of its Λ_N, +1 or −1.

    fixed: whether a pair keeps the direction u (where its slip begins); otherwise u is the direction of the slip itself.
    """

    state: str
    u: tuple[float, ...] = ()
    sign: int = 1
    fixed: bool = False

    @property
    def direction(self) -> tuple[float, ...] | float:
        return self.u[0] if len(self.u) == 1 else self.u


@dataclass(frozen=True)
class Mode:
    """The state of all faces and frictions from one event to the next.

    closed: faces in contact that bear a load. frictions: the state of each friction.
    idle: rows (of constraints, faces, parts of frictions, see `FrictionLayout`) that are implied by those before them. With
    friction they do not act; without, the reactions of all closed faces are those of least norm.
    asleep: redundant faces, with g = 0 wherever the closed ones are closed, that bear no load.
    """

    closed: tuple[int, ...] = ()
    frictions: tuple[FrictionState, ...] = ()
    idle: tuple[int, ...] = ()
    asleep: tuple[int, ...] = ()

    @staticmethod
    def of(layout: FrictionLayout, data: Array) -> Mode:
        """The mode encoded by the numbers of `FrictionLayout.data`, without idle rows."""
        rows, n = layout.rows, layout.count
        # slices: np.split takes a tenth of a millisecond, and modes follow each other quickly
        act, slide, sign, u = data[:rows], data[rows : rows + n], data[rows + n : rows + 2 * n], data[rows + 3 * n :]
        frictions = []
        for i in range(layout.count):
            if slide[i]:
                frictions.append(FrictionState(SLIP, tuple(u[layout.columns(i)].tolist()), int(sign[i])))
            else:
                frictions.append(FrictionState(STICK, (), int(sign[i])) if act[layout.own_rows(i)[0]] else FrictionState(OFF))
        return Mode(tuple(act[layout.m : layout.m + layout.faces].nonzero()[0].tolist()), tuple(frictions))

    @property
    def resting(self) -> tuple[int, ...]:
        """The faces on which the system rests, loaded or asleep."""
        return (*self.closed, *self.asleep)

    @property
    def redundant(self) -> bool:
        """Whether some faces in contact are implied by others."""
        return bool(self.asleep or (self.closed and self.idle))

    @property
    def rank(self) -> int:
        """How many of the closed faces are independent, in a mode without friction."""
        return len(self.closed) - len(self.idle)

    def states(self, faces: int) -> NDArray[np.intc]:
        """FREE, HELD or ASLEEP of each face, (faces + 1,)."""
        guards = np.zeros(faces + 1, dtype=np.intc)
        if self.closed or self.asleep:
            guards[list(self.closed)], guards[list(self.asleep)] = HELD, ASLEEP
        return guards

    def weights(self, atol: Array) -> Array:
        """atol of a state whose last entry is the work of all forces, (nz,): infinite for that in contact.

        Reactions do no work on faces at rest. The rest of their power inside a step is rounding, or an error of the velocities
        times a reaction, which could not meet any tolerance for an energy near zero.
        """
        if not self.closed:
            return atol
        weights = atol.copy()
        weights[-1] = np.inf
        return weights

    @property
    def sliding(self) -> tuple[int, ...]:
        """The numbers of the frictions that slide."""
        return tuple(i for i, friction in enumerate(self.frictions) if friction.state == SLIP)

    @property
    def sticking(self) -> tuple[int, ...]:
        """The numbers of the frictions that stick."""
        return tuple(i for i, friction in enumerate(self.frictions) if friction.state == STICK)

    def rows(self, layout: FrictionLayout) -> list[int]:
        """Rows that hold: constraints, closed faces, sticking frictions."""
        sticking = [row for i in self.sticking for row in layout.own_rows(i)]
        return [*range(layout.m), *(layout.m + f for f in self.closed), *sticking]

    def acting(self, layout: FrictionLayout) -> list[int]:
        """Rows that hold and act: those that are not idle."""
        return [row for row in self.rows(layout) if row not in self.idle]

    def directed(self, layout: FrictionLayout, slip: Array) -> Mode:
        """The mode with the directions of sliding pairs that belong to the slips (parts,)."""
        frictions = []
        for i, friction in enumerate(self.frictions):
            s = slip[layout.columns(i)]
            turns = (
                friction.state == SLIP and len(s) > 1 and not friction.fixed and not layout.smooth[i] and np.linalg.norm(s) > 0
            )
            frictions.append(friction._replace(u=tuple((s / np.linalg.norm(s)).tolist())) if turns else friction)
        return replace(self, frictions=tuple(frictions))

    def data(self, layout: FrictionLayout) -> Array:
        """The numbers of `FrictionLayout.data`."""
        act = np.zeros(layout.rows)
        act[self.acting(layout)] = 1
        slide = [float(friction.state == SLIP) for friction in self.frictions]
        sign, fixed = [float(f.sign) for f in self.frictions], [float(f.fixed) for f in self.frictions]
        direction = [x for friction, n in zip(self.frictions, layout.parts, strict=True) for x in (friction.u or (0.0,) * n)]
        return np.concatenate([act, slide, sign, fixed, direction])


FLIGHT = Mode()
"""No face in contact, no friction."""


def chosen(
    layout: FrictionLayout,
    closed: Sequence[int],
    slipping: dict[int, tuple[float, ...]],
    decided: Callable[[int], FrictionState],
) -> Mode:
    """The mode with closed faces: frictions on open ones are off, those in `slipping` slide, the others are as `decided`."""
    frictions = []
    for i in range(layout.count):
        face = layout.face_of(i)
        if face is not None and face not in closed:
            frictions.append(FrictionState(OFF))
        else:
            frictions.append(FrictionState(SLIP, slipping[i]) if i in slipping else decided(i))
    return Mode(tuple(sorted(closed)), tuple(frictions))


class Phase(NamedTuple):
    """Between `start` and `end`, s, a friction (its name) is in "stick", "slip" or "off"; direction: of slip at its start, ±1
    or two or three numbers of unit length; 0 where it does not slide.

    A slip of one part has a phase for each sign. One of two or three parts may turn, or even reverse, within a phase.
    """

    start: float
    end: float
    friction: str
    state: str
    direction: float | tuple[float, ...]


def phases(modes: Sequence[tuple[float, Mode]], names: Sequence[str], end: float) -> tuple[Phase, ...]:
    """The phases of all frictions in the order of their starts; modes: (time from which it holds, mode)."""
    history: list[Phase] = []
    for i, name in enumerate(names):
        start: float = 0.0
        state: FrictionState | None = None
        for time, mode in modes:
            friction = mode.frictions[i]
            key = (friction.state, friction.u if len(friction.u) == 1 else ())
            if state is not None and key == (state.state, state.u if len(state.u) == 1 else ()):
                continue
            if state is not None and time > start:
                history.append(_phase(start, time, name, state))
            start, state = time, friction
        if state is not None and (end > start or not any(p.friction == name for p in history)):
            history.append(_phase(start, end, name, state))
    return tuple(sorted(history, key=lambda p: (p.start, names.index(p.friction))))


def _phase(start: float, end: float, name: str, friction: FrictionState) -> Phase:
    return Phase(start, end, name, friction.state, friction.direction if friction.state == SLIP else 0.0)


__all__ = ["ASLEEP", "FLIGHT", "FREE", "HELD", "OFF", "SLIP", "STICK", "FrictionState", "Mode", "Phase", "chosen", "phases"]
