"""The time loop of a system: which method, on which back end, with which modes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from appell.backends import Backend, backend_named
from appell.backends.calls.machine import c_function
from appell.compiled.branching import branches_of
from appell.compiled.run import Run
from appell.errors import ConstraintError, FormNotApplicable, ModelError, Status
from appell.loop.header import (
    CORRECTION_UNNOTICED,
    LAST_NEWTON_FROM,
    PROJECTION_CORRECTIONS,
    PROJECTION_STAGNATES,
    RESIDUAL_ROUNDING,
)
from appell.loop.in_c import CDEF, CLoop
from appell.loop.in_python import PyLoop
from appell.loop.methods.gauss_legendre import CONSERVING, GaussLegendre
from appell.loop.methods.method_table import stepping_method
from appell.loop.methods.radau import IMPLICIT, Radau
from appell.loop.methods.stiff import STIFF, stiff_loop
from appell.loop.methods.tableaux import TABLEAUX, Tableau
from appell.loop.methods.taylor import Taylor
from appell.loop.projection import CORRECTION_ROUNDS
from appell.loop.task import Loop, TrialFailed
from appell.model.impact_laws import IMPACT_LAWS
from appell.model.unilateral import Face
from appell.nonsmooth.contact.backwards import Backwards, reversed_run
from appell.nonsmooth.contact.contact_functions import bends_with_speed, contact_functions
from appell.nonsmooth.contact.face_loop import FaceLoop
from appell.nonsmooth.contact.loop_switch import PySwitchLoop
from appell.nonsmooth.friction.friction_functions import friction_functions
from appell.nonsmooth.friction.loop import FrictionLoop
from appell.nonsmooth.friction.sampled_accelerations import guard_data_of
from appell.nonsmooth.friction.steps import has_compiled_steps, steps_interface, steps_text
from appell.normal_form.conserving import conserving_flow
from appell.normal_form.flow import Flow, flow
from appell.normal_form.kept_momenta import kept_momenta
from appell.normal_form.solved import Function, status_of
from appell.reading import shown
from appell.remember import kept_in
from appell.simulate.loop.break_loop import BreakLoop
from appell.simulate.loop.program import loop_module
from appell.simulate.loop.resetting import ResetLoop
from appell.simulate.loop.side_loop import SideLoop, sides_of
from appell.simulate.loop.surfaces import SideRun, side_run
from appell.simulate.loop.switched import SwitchLoop

Array = NDArray[np.float64]

CORNERS = ("raise", "first", "last", "together")
LONG_LOOP = 1_000_000
"""Characters of C source beyond which a loop is compiled with the options for long straight-line code, in half the time."""


class Prepared(NamedTuple):
    """A flow (that of free flight, if there are modes) and the loop that integrates it."""

    flow: Flow
    loop: Loop


def prepare(run: Run, pseudo: Mapping[str, Any] | None, method: str, corner: str) -> Prepared:
    """The loop of a system with its parameters."""
    if not run.system.resets:
        return _between_resets(run, pseudo, method, corner)
    name = run.system.resets[0].name
    if pseudo is not None:
        raise FormNotApplicable(f"pseudo= cannot be combined with resets: '{name}' maps coordinates and velocities")
    if method in (*STIFF, *CONSERVING):
        raise ModelError(f"method={shown(method)} does not locate resets ('{name}'); use 'dop853', 'dopri5' or 'radau'")
    motion, loop = _between_resets(run, pseudo, method, corner)
    return Prepared(motion, ResetLoop(loop, run, motion))


def _between_resets(run: Run, pseudo: Mapping[str, Any] | None, method: str, corner: str) -> Prepared:
    """The loop of a system as if it had no resets."""
    if (branches := branches_of(run)) is None:
        return _prepared(run, pseudo, method, corner)
    flow, loop = _prepared(branches.run, pseudo, method, corner)
    return Prepared(run.flow(pseudo) if flow.minimal else flow, BreakLoop(loop, branches, flow))


def _prepared(run: Run, pseudo: Mapping[str, Any] | None, method: str, corner: str) -> Prepared:
    """The loop of a system between two breaks, from surface to surface if its forces depend on conditions."""
    sides = None if method in STIFF or run.form.gauss else side_run(run)
    if sides is None:
        return _smooth(run, pseudo, method, corner)
    if pseudo is None and method in TABLEAUX and (faces := sides_of(run)) is not None:
        motion, flight = flight_loop(faces.run, method)
        return Prepared(motion, SideLoop(flight, lambda: _backwards(sides, method), faces))
    flow, loop = _smooth(sides.run, pseudo, method, corner)
    return Prepared(run.flow(pseudo) if flow.minimal else flow, SwitchLoop(loop, sides, flow))


def _backwards(sides: SideRun, method: str) -> SwitchLoop:
    """The loop of a system without walls, with the state of `flight_loop`."""
    motion = flow(sides.run.numeric_form, sides.run.policies, work=True)
    return SwitchLoop(plain_loop(sides.run, motion, method), sides, motion)


def _smooth(run: Run, pseudo: Mapping[str, Any] | None, method: str, corner: str) -> Prepared:
    """The loop of a system without located conditions."""
    if method in CONSERVING:
        return _conserving(run, pseudo, method, corner)
    laws = run.form.face_law is not None or run.form.law is not None
    if run.system.frictions or (run.system.unilateral and laws):
        return with_friction(run, pseudo, method, corner)
    if run.system.unilateral:
        return _with_modes(run, pseudo, method, corner)
    return Prepared(z := run.flow(pseudo), plain_loop(run, z, method))


def _conserving(run: Run, pseudo: Mapping[str, Any] | None, method: str, corner: str) -> Prepared:
    """The loop of a method that conserves energy; an impact reduces the target energy by its loss."""
    if pseudo is not None:
        raise FormNotApplicable(f"method={shown(method)} works in velocities; omit pseudo=")
    laws = run.form.face_law is not None or run.form.law is not None
    if run.system.frictions or (run.system.unilateral and laws):
        name = (*run.system.frictions, *run.system.unilateral)[0].name
        raise ModelError(f"method={shown(method)} does not locate stick and slip ('{name}'); use 'dop853' or 'dopri5'")
    if run.system.unilateral:
        return _with_modes(run, None, method, corner)
    z = conserving_flow(run.numeric_form, run.policies, kept_momenta(run.numeric_form, run.policies, run.p))
    return Prepared(z, plain_loop(run, z, method))


def _with_modes(run: Run, pseudo: Mapping[str, Any] | None, method: str, corner: str) -> Prepared:
    """The loop of a system with walls but no friction."""
    if pseudo is not None:
        raise FormNotApplicable("pseudo= cannot be combined with unilateral constraints: impacts act on the velocities")
    if method in STIFF:
        raise ModelError(f"method={shown(method)} does not locate impacts; use 'dop853' or 'dopri5' with walls")
    if run.form.gauss:
        raise ConstraintError("constraints nonlinear in the accelerations and unilateral ones do not go together")
    _check_restitutions(run)
    motion, flight = flight_loop(run, method)
    contact_method = stepping_method(method).in_contact
    contact_loop = flight if contact_method == method else flight_loop(run, contact_method)[1]
    faces, velocities = tuple(face.name for face in run.system.unilateral), slice(motion.nq, motion.nq + motion.nu)
    backwards = Backwards(lambda: _with_modes(reversed_run(run), None, method, corner).loop, faces, velocities)
    return Prepared(motion, FaceLoop(run, flight, contact_loop, corner, bends_with_speed(run.form), backwards=backwards))


def with_friction(run: Run, pseudo: Mapping[str, Any] | None, method: str, corner: str) -> Prepared:
    """The loop of a system with friction: one flow for all modes, with the mode as data among its parameters."""
    if pseudo is not None:
        raise FormNotApplicable("pseudo= cannot be combined with friction: sticking adds a constraint")
    if method not in (*TABLEAUX, *IMPLICIT):
        names = " or ".join(map(repr, (*TABLEAUX, *IMPLICIT)))
        raise ModelError(
            f"method={shown(method)} does not locate stick and slip; use {names} with friction, or give it regularise= and run"
            " system.in_mode({'…': 'slip'})"
        )
    if run.form.gauss:
        raise ConstraintError("constraints nonlinear in the accelerations and friction do not go together")
    if run.system.unilateral:
        _check_restitutions(run)
    functions = friction_functions(run.system, run.form)
    backend, compiled = backend_named(run.backend), None
    if backend.program is not None and has_compiled_steps(functions):
        steps, newton = (TABLEAUX | IMPLICIT)[method], all(IMPACT_LAWS[fr.law].compiled for fr in run.system.frictions)
        source = lambda: f"{loop_module(functions.flow, steps)}\n{steps_text(functions, steps, newton=newton)}"
        compiled = _compiled(backend, functions.flow, (method, "friction"), source, 0, CDEF + steps_interface(functions))
        if run.backend not in (loaded := kept_in(functions, "guard_data")):
            loaded[run.backend] = c_function(compiled.library, functions.guard_data)
    plain = compiled or plain_loop(run, functions.flow, method)
    return Prepared(functions.flow, FrictionLoop(run.system, run.form, functions, plain, compiled, guard_data_of(run), corner))


def _check_restitutions(run: Run) -> None:
    values = run.form.select("restitution")(0.0, np.zeros(run.form.nq), np.zeros(run.form.nv), run.p)["restitution"]
    for face, value in zip(run.system.unilateral, values, strict=True):
        if not 0 <= value <= 1:
            raise ConstraintError(strange_restitution(face, value))


def strange_restitution(face: Face, value: float) -> str:
    """Why a face cannot be used with the value that its restitution has."""
    written = "" if face.restitution.is_number else f", {face.restitution},"
    return f"the restitution of '{face.name}'{written} is {value:g} with these parameters, not in [0, 1]"


def flight_loop(run: Run, method: str, *, work: bool = True) -> tuple[Flow, Loop]:
    """Flow and loop of a system with faces, all open; its mode is data. work: whether to integrate the work of all forces."""
    if method in CONSERVING:
        motion = conserving_flow(run.numeric_form, run.policies)
    else:
        motion = run.flow_with_work if work else flow(run.numeric_form, run.policies, work=False)
    functions = lambda: contact_functions(run.system, run.numeric_form, run.policies.acceleration, work=work)
    backend = backend_named(run.backend)
    if backend.program is not None:
        source = lambda: loop_module(motion, _method(method, motion), functions())
        return motion, _compiled(backend, motion, (method, "faces"), source, len(run.system.unilateral))
    plain = plain_loop(run, motion, method)
    assert isinstance(plain, PyLoop)
    return motion, PySwitchLoop(plain, run.form, run.policies.acceleration)


def plain_loop(run: Run, flow: Flow, method: str) -> Loop:
    """The time loop of a flow without modes on the run's back end."""
    backend = backend_named(run.backend)
    if method in STIFF:
        project = _python_project(flow, backend_named("vm")) if flow.projects else None
        return stiff_loop(flow, method, project, _unknowns(run, flow), run.policies.redundant)
    if backend.program is not None:
        return _compiled(backend, flow, (method,), lambda: loop_module(flow, _method(method, flow)), 0)
    bound_method = _method(method, flow).bound(flow, lambda fn: evaluator(fn, backend))
    project = _python_project(flow, backend) if flow.projects else None
    return PyLoop(bound_method, _python_rhs(flow, backend), project, flow.guarded)


def _method(name: str, flow: Flow) -> Tableau | Taylor | Radau | GaussLegendre:
    return stepping_method(name).fitted(flow)


def _compiled(
    backend: Backend, flow: Flow, key: tuple[Any, ...], source: Callable[[], str], faces: int, interface: str = CDEF
) -> CLoop:
    """The compiled loop of a flow, built once; parameters and states are its inputs."""
    loops, key = kept_in(flow, "loops"), (backend.name, *key)
    if key not in loops:
        assert backend.program is not None
        text = source()
        library = backend.program(text, interface, optimise="long" if len(text) > LONG_LOOP else "loop")
        loops[key] = CLoop(library.lib, library.ffi, flow.nz, faces, nq=flow.nq, work=flow.has_work, library=library)
    return loops[key]


def _unknowns(run: Run, flow: Flow) -> Callable[[float, Array], Array]:
    """(t, z) → (a, λ)."""

    def unknowns(t: float, z: Array) -> Array:
        state = flow.expand(t, z, run.p_at(t))
        return np.concatenate(run.acceleration(t, state["q"], state["v"]))

    return unknowns


def evaluator(fn: Function, backend: Backend) -> Callable[..., dict[str, Array]]:
    """`fn` at one state on a back end, its outputs by name."""
    single, names = backend.load(fn).single, [port.name for port in fn.outputs]
    return lambda *arrays: dict(zip(names, single(*arrays), strict=True))


def _python_rhs(flow: Flow, backend: Backend) -> Callable[[float, Array, Array], Array]:
    evaluate = evaluator(flow.rhs, backend)

    def rhs(t: float, z: Array, p: Array) -> Array:
        values = evaluate(t, z, p)
        if not values["margin"] > 0:
            raise TrialFailed(status_of(float(values["margin"])))
        return values["zd"]

    return rhs


def _python_project(flow: Flow, backend: Backend) -> Callable[[float, Array, Array], tuple[Array, float]]:
    """Python twin of `project.c.in`."""
    corrections = (flow.position, flow.velocity, flow.energy)
    rounds = CORRECTION_ROUNDS if flow.energy is not None else 1
    steps = [evaluator(step, backend) for step in corrections if step is not None] * rounds

    def make_unit(z: Array) -> Array:
        for group in flow.quaternions:
            z[list(group)] /= np.linalg.norm(z[list(group)])
        return z

    def project(t: float, z: Array, p: Array) -> tuple[Array, float]:
        z, defect = make_unit(z.copy()), 0.0
        for step in steps:
            last_size = last_move = np.inf
            for k in range(PROJECTION_CORRECTIONS):
                values = step(t, z, p)
                size = float(values["size"])
                if size > PROJECTION_STAGNATES * last_size and last_move <= CORRECTION_UNNOTICED * np.abs(z).max():
                    break
                defect = max(defect, float(values["residual"])) if k == 0 else defect
                if size <= RESIDUAL_ROUNDING:
                    break
                if not (values["margin"] > 0 and np.isfinite(size)):
                    raise TrialFailed(status_of(float(values["margin"])) or Status.NOT_FINITE)
                z, last_size, last_move = z + values["dz"], size, np.abs(values["dz"]).max()
                if size <= LAST_NEWTON_FROM:
                    break
            else:
                raise TrialFailed(Status.PROJECTION_FAILED)
            z = make_unit(z)
        return z, defect

    return project
