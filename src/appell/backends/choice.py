"""Which back end runs: the one asked for, or the best there is."""

from __future__ import annotations

from appell.backends.compiler.build import REMEDY, c_available
from appell.backends.notice import notice
from appell.errors import BackendUnavailable

BACKENDS = ("auto", "vm", "c")


def choose_backend(wanted: str) -> str:
    """ "vm" or "c". "auto" is "c" where a compiler works, otherwise "vm" with one notice; "c" by name insists."""
    if wanted not in BACKENDS:
        raise BackendUnavailable(f"there is no back end {wanted!r}; choose one of {', '.join(BACKENDS)}")
    if wanted == "vm":
        return "vm"
    reason = c_available()
    if reason is None:
        return "c"
    if wanted == "c":
        raise BackendUnavailable(f"backend='c' cannot be had: {reason}; {REMEDY}")
    notice("no compiler", f"running without machine code, 10 to 100 times slower: {reason}; install gcc or clang")
    return "vm"
