"""Instruction streams to machine code: `vm` (CasADi's evaluator, always there) and `c` (compiled, cached on disk)."""

from appell.backends.c_build import Library, build, c_available
from appell.backends.c_source import declarations, emit, emit_exports, module
from appell.backends.cache import clear_cache
from appell.backends.call import Call, c_function, compile_c, vm_function
from appell.backends.choice import choose_backend
from appell.backends.lanes import emit_lanes
from appell.backends.notice import AppellWarning

__all__ = [
    "AppellWarning",
    "Call",
    "Library",
    "build",
    "c_available",
    "c_function",
    "choose_backend",
    "clear_cache",
    "compile_c",
    "declarations",
    "emit",
    "emit_exports",
    "emit_lanes",
    "module",
    "vm_function",
]
