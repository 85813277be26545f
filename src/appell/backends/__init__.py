"""Back ends: from instruction streams to machine code. The table contains `c` (compiled, cached on disk), `vm` (CasADi's
evaluator) and `cuda`.

    toy = ap.backends.Backend("toy", reason_against=lambda: None, function=lambda fn: ap.backends.Call.of(fn, …))
    ap.backends.register(toy)
"""

from appell.backends.calls.call import Call, vm_function
from appell.backends.calls.crossing import crossing_available
from appell.backends.calls.machine import c_function, compile_c, compiled_before, in_c
from appell.backends.compiler.build import Library, build, reason_against_c
from appell.backends.compiler.cache import clear_cache
from appell.backends.compiler.recipe import Recipe, generator, recipe_for
from appell.backends.lanes.emit import emit_lanes
from appell.backends.notice import AppellWarning, silence, warn
from appell.backends.table import BACKENDS, Backend, backend_named, choose_backend, known, register
from appell.backends.text.c_source import declarations, emit, emit_exports, module

__all__ = [
    "BACKENDS",
    "AppellWarning",
    "Backend",
    "Call",
    "Library",
    "Recipe",
    "backend_named",
    "build",
    "c_function",
    "choose_backend",
    "clear_cache",
    "compile_c",
    "compiled_before",
    "crossing_available",
    "declarations",
    "emit",
    "emit_exports",
    "emit_lanes",
    "generator",
    "in_c",
    "known",
    "module",
    "reason_against_c",
    "recipe_for",
    "register",
    "silence",
    "vm_function",
    "warn",
]
