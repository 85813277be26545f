"""Instruction streams to machine code: `vm` (CasADi's evaluator, always there) and `c` (compiled, cached on disk)."""

from appell.backends.c_build import Library, build, c_available
from appell.backends.c_source import declarations, emit, emit_exports, module
from appell.backends.cache import clear_cache
from appell.backends.call import Call, c_function, compile_c, compiled_before, in_c, vm_function
from appell.backends.choice import choose_backend
from appell.backends.crossing import crossing_available
from appell.backends.lanes import emit_lanes
from appell.backends.notice import AppellWarning, warn
from appell.backends.recipe import Recipe, generator, recipe_for

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
