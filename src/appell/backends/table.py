"""The table of back ends: where the functions of a system can run.

    name    function                                  program
    c       machine code, compiled once and cached    C text: time loops, routines between graphs
    vm      CasADi's evaluator, always available        –
    cuda    a GPU, one thread for each state          – (its time loops are those of `simulate_many`)

A new one is a row here or, from outside, `register(Backend(…))`; compiled systems, simulations and trees use only this table. A
back end that does not compile C runs its time loops and routines in Python, over its functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from appell.backends.calls.call import Call, vm_function
from appell.backends.calls.machine import c_function, compiled_before, compiled_together, in_c
from appell.backends.compiler.build import REMEDY, Library, build, reason_against_c
from appell.backends.compiler.recipe import Recipe
from appell.backends.cuda import device
from appell.backends.notice import notice
from appell.backends.text.c_source import declarations, module
from appell.errors import BackendUnavailable
from appell.graph.composite import Composite
from appell.graph.fn import Fn
from appell.reading import shown
from appell.spelling import did_you_mean

AUTO = "auto"
COMPILERS = "install gcc or clang, or pip install 'appell[compiler]'"


@dataclass(frozen=True)
class Backend:
    """A back end: a way to run functions.

    Parameters
    ----------
    name: what users write, `backend="…"`.
    reason_against: None if it works on this machine, else the reason why not and what to do.
    function: a graph (`Fn`: its `instructions` are plain records) as a `Call`, which `Call.of(fn, evaluate)` creates from a
    Python function of one state. With `recall`, the argument may be a `Recipe`, whose graph is built on demand.
    program: compiles and loads C text (the text, the declarations for Python, optimise=…); None: time loops run in Python.
    together: compiles several recipes in one run of a compiler; None: not supported.
    recall: returns the function compiled earlier for a recipe, or None; None: there is no compiler to wait for.
    steps: whether a single motion can be simulated on it; a GPU runs many at once.
    """

    name: str
    reason_against: Callable[[], str | None]
    function: Callable[[Fn | Recipe], Call]
    program: Callable[..., Library] | None = None
    recall: Callable[[Fn | Recipe], Call | None] | None = None
    steps: bool = True
    together: Callable[[Sequence[Recipe]], None] | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.isidentifier() and self.name != AUTO):
            raise BackendUnavailable(f"{shown(self.name)} cannot name a back end: use a word such as 'toy', not {AUTO!r}")
        if not (callable(self.reason_against) and callable(self.function)):
            raise BackendUnavailable(f"the back end '{self.name}' needs functions reason_against() and function(fn)")

    def load(self, fn: Fn | Recipe | Composite) -> Call:
        """Any function on this back end, also one with a routine between graphs."""
        if not isinstance(fn, Composite):
            return self.function(fn)
        if self.program is not None and fn.routine:
            return c_function(self.program(module([fn]), declarations([fn])), fn)
        return Call.of(fn, fn.over(*(self.function(part).single for part in fn.parts)))


def _graph_of(fn: Fn | Recipe) -> Fn:
    return fn if isinstance(fn, Fn) else fn.graph


BACKENDS: dict[str, Backend] = {
    backend.name: backend
    for backend in (
        Backend("c", reason_against_c, in_c, program=build, recall=compiled_before, together=compiled_together),
        Backend("vm", lambda: None, lambda fn: vm_function(_graph_of(fn))),
        Backend("cuda", device.reason_against, lambda fn: device.cuda_function(_graph_of(fn)), steps=False),
    )
}


def register(backend: Backend) -> Backend:
    """Adds a row to the table: from then on `backend="NAME"` selects it. A name that is taken raises."""
    if not isinstance(backend, Backend):
        raise BackendUnavailable(f"register takes an ap.backends.Backend, not {shown(backend)}")
    if backend.name in BACKENDS:
        raise BackendUnavailable(f"there is a back end {shown(backend.name)} already; take another name")
    BACKENDS[backend.name] = backend
    return backend


def backend_named(name: str) -> Backend:
    """The row of a name, whether it works here or not."""
    if not isinstance(name, str) or name not in BACKENDS:
        known = (AUTO, *BACKENDS)
        choice = f"{', '.join(known)}{did_you_mean(name, known)}"
        raise BackendUnavailable(f"there is no back end {shown(name)}; choose one of {choice}")
    return BACKENDS[name]


def known(wanted: str) -> str:
    """`wanted`, if it names a back end or leaves the choice."""
    return wanted if isinstance(wanted, str) and wanted == AUTO else backend_named(wanted).name


def choose_backend(wanted: str) -> Backend:
    """The requested back end, which must work here; "auto" is "c" where a compiler works, otherwise "vm" with one notice."""
    if not isinstance(wanted, str) or wanted != AUTO:
        backend = backend_named(wanted)
        if (reason := backend.reason_against()) is not None:
            remedy = f"; {REMEDY}" if backend.program is not None else ""
            raise BackendUnavailable(f"backend='{backend.name}' cannot be had: {reason}{remedy}")
        return backend
    reason = BACKENDS["c"].reason_against()
    if reason is None:
        return BACKENDS["c"]
    notice("no compiler", f"running without machine code, 10 to 100 times slower: {reason}; {COMPILERS}")
    return BACKENDS["vm"]
