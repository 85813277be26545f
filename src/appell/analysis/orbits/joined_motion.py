"""An orbit of several shots as one motion, whose derivative is the product of the derivatives of the shots.

    z(T) = z_N ∘ … ∘ z_1,        Φ(T) = Φ_N … Φ_1

Where perturbations of an orbit grow by a factor of 10⁸ per period, no single run stays on it; shots between points of the orbit
do, and their ends differ from the next point by the residual of Newton's method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.analysis.orbits.orbit import floquet
from appell.analysis.orbits.variations import Variations
from appell.errors import ModelError
from appell.modes.events import EVENT_KINDS
from appell.motion.motion import Motion
from appell.rows import range_of_projection
from appell.simulate.sampler import Sampler

Array = NDArray[np.float64]


def joined(motions: Sequence[Motion]) -> Motion:
    """Successive shots as one motion; the end of each is the start of the next."""
    if len(motions) == 1:
        return motions[0]
    first, last = motions[0], motions[-1]
    inner = [slice(None, -1)] * (len(motions) - 1) + [slice(None)]
    joint = lambda name: np.concatenate([getattr(m, name)[s] for m, s in zip(motions, inner, strict=True)])
    work = np.cumsum([0.0, *(float(m.work[-1]) for m in motions[:-1])])
    events = [first.events, *(_events_after_start(m) for m in motions[1:])]
    dissipated = None
    if all(m.lost is not None for m in motions):
        offsets = np.cumsum([0.0, *(float(m.lost[-1]) for m in motions[:-1])])  # type: ignore[index]
        dissipated = np.concatenate([m.lost[s] + offset for m, s, offset in zip(motions, inner, offsets, strict=True)])  # type: ignore[index]
    return replace(
        first, t=joint("t"), q=joint("q"), v=joint("v"),
        work=np.concatenate([m.work[s] + offset for m, s, offset in zip(motions, inner, work, strict=True)]),
        sampler=_sampler(motions), events=np.concatenate(events), contacts=_changes([m.contacts for m in motions]),
        modes=_changes([m.modes for m in motions]), lost=dissipated, breaks=np.concatenate([m.breaks for m in motions]),
        reset_states=tuple(entry for m in motions for entry in m.reset_states),
        notes=tuple(entry for m in motions for entry in m.notes),
        doubts=tuple(dict.fromkeys(entry for m in motions for entry in m.doubts)),
        span=((first.span or (float(first.t[0]), 0.0))[0], (last.span or (0.0, float(last.t[-1])))[1]),
    )  # fmt: skip


def _events_after_start(motion: Motion) -> NDArray[Any]:
    """Events without the contacts at the start, which are not impacts."""
    begin = float(motion.t[0])
    return motion.events[(motion.events["time"] != begin) | (motion.events["kind"] == EVENT_KINDS.index("impact"))]


def _changes(lists: Sequence[Sequence[tuple[float, Any]]]) -> tuple[tuple[float, Any], ...]:
    """Changes of mode or contact by instant, without repetitions."""
    changes: list[tuple[float, Any]] = []
    for change in (entry for entries in lists for entry in entries):
        if not changes or changes[-1][1] != change[1]:
            changes.append(change)
    return tuple(changes)


def _sampler(motions: Sequence[Motion]) -> Any:
    samplers: list[Any] = [m.sampler for m in motions]
    if not all(isinstance(sampler, Sampler) for sampler in samplers):
        raise ModelError("a motion that cannot be continued between its samples is not joined to others")
    first = samplers[0]
    task = replace(first.task, t_end=samplers[-1].task.t_end)
    t, z = np.concatenate([sampler.t for sampler in samplers]), np.concatenate([sampler.z for sampler in samplers])
    modes = tuple(mode for sampler in samplers for mode in sampler.modes)
    sampler_joined = Sampler(first.run, first.how, task, t, z, None, modes)
    sampler_joined.__dict__["prepared"] = first.prepared
    return sampler_joined


def multiplied(motion: Motion, parts: Sequence[Variations]) -> Variations:
    """Φ of the joined motion at its start and end, from those of the shots."""
    if len(parts) == 1:
        return parts[0]
    Phi = parts[0].state[0]
    for shot in parts:
        Phi = shot.state[-1] @ Phi
    flawed = next((shot for shot in parts if not shot.complete), None) or next((shot for shot in parts if not shot.ok), None)
    first = parts[0]
    return replace(
        first, motion=motion, t=np.array([first.t[0], parts[-1].t[-1]]), state=np.array([first.state[0], Phi]),
        parameters=np.zeros((2, *first.parameters.shape[1:])), ok=flawed is None, complete=flawed is None or flawed.complete,
        message="complete" if flawed is None else flawed.message,
    )  # fmt: skip


def multipliers_of(parts: Sequence[Variations], image: Array | None = None) -> NDArray[np.complex128]:
    """Eigenvalues of L Φ_N … Φ_1 on the directions admitted by the constraints, the largest first; image: L, by default the
    identity.

    Those of the cyclic matrix with the blocks Φ_k are their N-th roots, and stay accurate where the product does not.
    """
    if len(parts) == 1:
        return floquet(parts[0], image)
    matrices = [shot.state[-1] for shot in parts]
    matrices[-1] = matrices[-1] if image is None else image @ matrices[-1]
    bases = [range_of_projection(shot.state[0]) for shot in parts]
    N, n = len(parts), min(basis.shape[1] for basis in bases)
    if any(basis.shape[1] != n for basis in bases) or any(shot.stuck for shot in parts):
        return floquet(multiplied(parts[0].motion, parts), image)
    cyclic = np.zeros((N * n, N * n))
    for k, Phi in enumerate(matrices):
        following = (k + 1) % N
        cyclic[following * n : (following + 1) * n, k * n : (k + 1) * n] = bases[following].T @ Phi @ bases[k]
    powers, roots = np.linalg.eigvals(cyclic).astype(complex) ** N, []
    while len(powers):  # each occurs N times
        largest = powers[int(np.argmax(np.abs(powers)))]
        powers = powers[np.argsort(np.abs(powers - largest), kind="stable")]
        roots.append(np.mean(powers[:N]))
        powers = powers[N:]
    values = np.array(roots)
    return values[np.argsort(-np.abs(values), kind="stable")]


__all__ = ["joined", "multiplied", "multipliers_of"]
