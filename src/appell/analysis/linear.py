"""Linearization about equilibria, about steady motions and along motions, on the constraints.

Displacements δq = N B z and velocities δv = Z u + Y z stay on the constraints: A0 B = 0, A1 Z = 0, A1 Y + ∂f1/∂q N B = 0. u are
perturbations of independent velocities, z those of their coordinates and of dependent ones (nonholonomic systems have more
coordinates than independent velocities). With L the kernel of Wᵀ (L = Z for ideal constraints),

    M u̇ + (D + G) u + (K + N) z = 0,        ż = Z u + (Y − C B) z,        M = LᵀM Z,  D + G = Lᵀ(M Y_b + F_v Z), …

with F = M a + h − Q − WΛ (M stands for ∂F/∂a) at the accelerations and reactions of the motion, D and K symmetric (damping,
stiffness), G and N antisymmetric (gyroscopic, circulatory). Rows of second order do not restrict velocities: L loses one column
for each, and their variations r_a δa + r_v δv + r_q δq = 0 are the last equations in M, D + G and K + N. States of first order
are the last entries of z, their rates rows of A. Derivatives are exact, by the graph. A is the matrix of (z, u)˙ = A (z, u).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np

from appell.analysis.contact_of_state import on_pressed_faces, refuse_contacts_along
from appell.analysis.linear_in_letters import (
    JUDGED_AT,
    Choice,
    in_letters,
    judged,
    read_letters,
    refused_everywhere,
    samples,
    state_in_letters,
)  # fmt: skip
from appell.analysis.linear_probe import LinearProbe
from appell.analysis.linearization import Linearization
from appell.analysis.mode_motion import ReferenceState
from appell.analysis.mode_of_state import in_mode_of, refuse_modes_along
from appell.analysis.ports import Ports, StateMatrices, ports_of, with_inputs
from appell.analysis.rests.nonsmooth_states import edge
from appell.analysis.symbolic_linearization import SymbolicLinearization
from appell.compiled.compiling import compile_near
from appell.errors import AppellError, ModelError
from appell.jets import Jet
from appell.model import System
from appell.model.described import system_of
from appell.model.friction import refuse_friction
from appell.model.values import finite
from appell.motion.motion import Motion
from appell.reading import items_of, shown, truth
from appell.simulate.start import check, read
from appell.spelling import checked_keywords


@overload
def linearize(
    system: System | None = None, *, at: Any = None, motion: Motion | None = None, parameters: Mapping[Any, Any] | None = None,
    independent: Iterable[Any] | None = None, inputs: Iterable[Any] | None = None, outputs: Iterable[Any] | None = None,
    time: float = 0.0, symbolic: Literal[False] = False,
) -> Linearization: ...  # fmt: skip


@overload
def linearize(
    system: System, *, at: Any, parameters: Mapping[Any, Any] | None = None, independent: Iterable[Any] | None = None,
    symbolic: Literal[True],
) -> SymbolicLinearization: ...  # fmt: skip


@checked_keywords()
def linearize(
    system: System | None = None,
    *,
    at: Any = None,
    motion: Motion | None = None,
    parameters: Mapping[Any, Any] | None = None,
    independent: Iterable[Any] | None = None,
    inputs: Iterable[Any] | None = None,
    outputs: Iterable[Any] | None = None,
    time: float = 0.0,
    symbolic: bool = False,
) -> Linearization | SymbolicLinearization:
    """The linearized equations about an equilibrium or steady motion `at`, or along a `motion`, on the constraints.

    Parameters
    ----------
    at: coordinate or velocity → value (unnamed ones 0), an `Equilibrium` or a `SteadyMotion`. Independent velocities must be
    constant there; otherwise it raises. Frictions are in the mode of that state, and walls that press are constraints, if its
    neighbours are in the same mode.
    motion: a `Motion`; every matrix then has its times first, (k, …). Parameters are those of the motion.
    independent: coordinates or velocities whose perturbations are the unknowns; chosen automatically by default.
    inputs: parameters in forces, potentials, rates of states or constraints on accelerations: the columns of B and D of
    `state_space`. An input without a value is 0.
    outputs: expressions in t, coordinates, velocities, accelerations, states, multipliers and parameters: the rows of C and D;
    by default all states of the linear equations.
    time: s, where time enters; matrices that change with it are those of this time, and have no eigenvalues.
    symbolic: M, D, G, K, N in symbols, with frequencies and modes as formulas where they exist: a `SymbolicLinearization`.
        Values in `at` may then be expressions of the parameters, {theta: sympy.acos(g/(l*Omega**2))}; parameters without a
        value in `parameters` stay symbols.
    """
    if truth(symbolic, "symbolic="):
        if at is None or any(x is not None for x in (motion, inputs, outputs)) or time != 0:
            raise ModelError("ap.linearize with symbolic=True takes a system, at=, parameters= and independent= alone")
        refuse_friction(system, "ap.linearize with symbolic=True")
        return _in_letters(system_of(system, "ap.linearize"), at, parameters, independent)
    if (at is None) == (motion is None):
        raise ModelError("ap.linearize takes at={…}, a rest or steady motion, or motion=, and not both")
    time = finite(time, "time=")
    if motion is not None:
        if not isinstance(motion, Motion):
            raise ModelError(f"motion= of ap.linearize is what ap.simulate returns, not {type(motion).__name__}")
        refuse_modes_along(motion, "ap.linearize")
        refuse_contacts_along(motion, "ap.linearize")
        run = motion.run
        ports = ports_of(run.form, run.system, inputs, outputs)
        states = [(float(t), q, v) for t, q, v in zip(motion.t, motion.q, motion.v, strict=True)]
        probe = LinearProbe(run, _indices_of(run.system, independent), *states[0])
        per_state = [probe(*state) for state in states]
        result = probe.linearization([np.array(list(x)) for x in zip(*per_state, strict=True)])
        return replace(result, state_matrices=_stacked([probe.ported(ports, *state) for state in states], ports))
    model, start = system_of(system, "ap.linearize"), getattr(at, "start", at)
    values = with_inputs(model, getattr(at, "parameters", None) if parameters is None else parameters, inputs)
    in_mode, values = in_mode_of(model, start, values, time, "ap.linearize")
    return _at_state(in_mode, start, values, independent, inputs, outputs, time)[1]


def _at_state(
    system: System, start: Any, values: Any, independent: Any, inputs: Any, outputs: Any, time: float
) -> tuple[LinearProbe, Linearization, tuple]:
    """The linear equations at an equilibrium or steady motion, the probe that computed them, and the state."""
    run = compile_near(system, start, with_inputs(system, values, inputs), backend="vm")
    run = run if run.schedule is None else run.at(time)
    system = run.system
    ports = ports_of(run.form, system, inputs, outputs)
    q, v = read(system, start)
    q, v, _ = check(system, run.form, run.p, time, q, v)
    if atom := edge(system, run.form, run.p, time, q, v):
        raise ModelError(
            f"{atom} jumps or has a kink at this state of {system.name}, so small motions have no linear equations there"
        )
    probe = LinearProbe(run, _indices_of(system, independent), time, q, v)
    result = probe.linearization(probe(time, q, v))
    probe.require_steady(time, q, v)
    probe.require_constant(result, time, q, v)
    result = replace(result, state_matrices=probe.ported(ports, time, q, v), reference=ReferenceState(run, time, q, v))
    return probe, probe.with_time(result, time, q, v), (time, q, v)


def _in_letters(system: System, at: Any, parameters: Any, independent: Any) -> SymbolicLinearization:
    """The symbolic linear equations; variables are chosen, and results checked, in numbers at random values of the
    parameters."""
    system = system.symbolic()
    known_values = read_letters(system, getattr(at, "parameters", None) if parameters is None else parameters)
    state = state_in_letters(system, at)
    result: SymbolicLinearization | None = None
    failed: list[AppellError] = []
    compared = 0
    for values, start in samples(system, state, known_values):
        try:
            parameter_values = {x: values[x] for x in system.parameters}
            system = on_pressed_faces(system, start, parameter_values, 0.0, "ap.linearize")
            probe, numeric, instant = _at_state(system, start, parameter_values, independent, None, None, 0.0)
        except AppellError as error:
            failed.append(error)
            if len(failed) == JUDGED_AT:
                break
            continue
        if result is None:
            result = in_letters(system, state, known_values, Choice(**probe.choice(*instant)))
            independent = result.velocities
        judged(result, values, {name: getattr(numeric, name) for name in ("M", "D", "G", "K", "N", "A")})
        compared += 1
        if compared == JUDGED_AT:
            break
    if result is None or len(failed) == JUDGED_AT:
        raise refused_everywhere(system, failed[0] if failed else None)
    return result


def _stacked(per_state: Sequence[StateMatrices | None], ports: Ports | None) -> StateMatrices | None:
    """Matrices along a motion, the times first."""
    if ports is None:
        return None
    A, B, C, D, sizes = (
        np.array(x) for x in zip(*(matrices[:5] for matrices in per_state if matrices is not None), strict=True)
    )
    return StateMatrices(A, B, C, D, sizes, ports.inputs, ports.outputs)


def _indices_of(system: System, independent: Any) -> list[int] | None:
    if independent is None:
        return None
    if isinstance(independent, str | Jet) or not isinstance(independent, Iterable):
        raise ModelError(f"independent= is a list of coordinates or velocities, not {shown(independent)}")
    indices = [system.velocity_of(key, "independent=") for key in items_of(independent, "independent=")]
    twice = [system.velocities[i] for i in indices if indices.count(i) > 1]
    if twice:
        raise ModelError(f"independent= names {twice[0]} twice")
    return indices


