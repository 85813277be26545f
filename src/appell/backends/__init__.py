"""Instruction streams to machine code: `vm` (CasADi's evaluator, always there) and `c` (compiled, cached on disk)."""

from appell.backends.calls.call import Call, c_function, compile_c, compiled_before, in_c, vm_function
from appell.backends.calls.crossing import crossing_available
from appell.backends.choice import choose_backend
from appell.backends.compiler.build import Library, build, c_available
from appell.backends.compiler.cache import clear_cache
from appell.backends.compiler.recipe import Recipe, generator, recipe_for
from appell.backends.lanes.emit import emit_lanes
from appell.backends.notice import AppellWarning, warn
from appell.backends.text.c_source import declarations, emit, emit_exports, module

__all__ = [
    "AppellWarning",
    "Call",
    "Library",
    "Recipe",
    "build",
    "c_available",
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
    "module",
    "recipe_for",
    "vm_function",
    "warn",
]
