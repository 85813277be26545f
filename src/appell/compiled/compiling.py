"""`compile`: parameter values are bound to a system, and its accelerations are compiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from appell.backends import choose_backend
from appell.compiled.record_places import refuse_records
from appell.compiled.run import Run
from appell.errors import BackendUnavailable, ModelError
from appell.model import System
from appell.model.described import system_of
from appell.model.given_units import given_in_si
from appell.model.measured import schedule_of
from appell.model.placed import placed, require_placed, state_near
from appell.model.prescription import settled
from appell.model.values import bound
from appell.normal_form import NormalForm, normal_form
from appell.normal_form.policy import Policies, choose
from appell.reading import shown
from appell.spelling import checked_keywords
from appell.tree import Tree


def bind(system: System, parameters: Mapping[Any, Any] | None) -> dict[Any, float]:
    """Parameter → value for every parameter of the system, given by symbol or by name; anything else is refused."""
    return bound(system.parameters, parameters, system.name)


@checked_keywords()
def compile(
    system: System | Tree, parameters: Mapping[Any, Any] | None = None, *, backend: str = "auto", ready: bool = True,
    fold: bool = False,
) -> Run:  # fmt: skip
    """Binds parameter values and compiles the accelerations of a system.

    Parameters
    ----------
    system: the system, or a tree (`tree.system()` is then used).
    parameters: symbol (or name) → value, for every parameter of the system. Values must satisfy its assumptions.
        For a prescribed function: an expression in t, a table (times, values), or (function, (start, end)).
    backend: "c" (compiled, cached on disk), "vm" (CasADi's evaluator), another one of `ap.backends.BACKENDS`, or "auto":
        "c" where there is a compiler, else "vm".
    ready: whether to compile now; otherwise the first acceleration waits for the compiler.
    fold: whether to insert the values of the parameters before the equations are simplified and compiled. The code is shorter,
        but serves these values only. Derivatives with respect to parameters (`run.jacobian`, `run.jax`) do not change, and
        friction uses the equations without folding.
    """
    parameters = given_in_si(system, None, parameters).parameters
    run = compile_near(system, None, parameters, backend=backend, fold=fold)
    if ready:
        run._call  # noqa: B018
    return run


def compile_near(
    system: System | Tree, start: Any, parameters: Mapping[Any, Any] | None, *, backend: str = "auto", fold: bool = False
) -> Run:
    """`compile` for a system that may be defined only near an initial state, symbol → value; compiled on first use."""
    system = system_of(system, "ap.compile")
    run = unjudged(placed(system, start, parameters), parameters, backend, fold=fold)
    return replace(run, policies=choose(run.form, run._some_p, near=state_near(run.system, start)))


def unjudged(system: System, parameters: Mapping[Any, Any] | None, backend: str, *, fold: bool = False) -> Run:
    """A run whose ranks have not been determined yet; see `run.started`."""
    refuse_records(system)
    if not isinstance(fold, bool | np.bool_):
        raise ModelError(f"fold= is True or False, not {shown(fold)}")
    system, parameters = settled(system, parameters)
    values = bind(system, parameters)
    system = placed(system, None, values)
    require_placed(system)
    p = np.array([values[s] for s in system.parameters], dtype=float)
    form = normal_form(system)
    folded = tuple(i for i in range(len(p)) if not np.isnan(p[i])) if fold and not system.frictions else ()
    schedule = schedule_of(system.parameters)
    return Run(system, form, values, p, _backend(form, backend), Policies.none(), fold=folded, schedule=schedule)


def _backend(form: NormalForm, requested: str) -> str:
    """The back end; rows nonlinear in the accelerations need Gauss's minimum, which exists in NumPy only."""
    if form.gauss and requested == "auto":
        return "vm"
    backend = choose_backend(requested)
    if form.gauss and backend.program is not None:
        names = ", ".join(f"'{row.constraint.name}'" for row in form.rows if not row.linear)
        raise BackendUnavailable(f"{names} is nonlinear in the accelerations, which only backend='vm' solves")
    return backend.name


__all__ = ["bind", "compile", "compile_near", "unjudged"]
