"""C text → loaded machine code, compiled once for each text, flags, compiler and CPU.

The compiler is `$APPELL_CC`, `$CC`, or the first of gcc, clang, cc that builds and loads a shared object. No
`-ffast-math`: a NaN must stay a NaN, or failures would pass for numbers.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cffi

from appell.backends import cache as disk
from appell.errors import BackendUnavailable

COMMON = ("-std=gnu11", "-shared", "-fPIC", "-w", "-fno-math-errno", "-fno-trapping-math")
CONTRACTED = ("-ffp-contract=fast", "-DAPPELL_CONTRACTED")  # a*b + c with one rounding; sincos.c.in relies on it
# Straight-line code: these passes cost compile time and gain nothing on code without loops.
STRAIGHT = ("-fno-gcse", "-fno-tree-pre", "-fno-tree-vectorize", "-fno-schedule-insns2")
# Several divisions by one number become one and products: a rounding more each (DOP853 on five links: 4 %).
RECIPROCAL = "-freciprocal-math"
# Ordered before registers are given out: shorter waits in scalar code (10 links: 12 %), fewer spills of vectors (5 %).
SCHEDULED = ("-fschedule-insns", "-fsched-pressure")
# 13,000 instructions (a ten-link pendulum), gcc 12: compile 1.2 s, one call 2.3 µs ("fast"); 1.4 s, 2.7 µs ("exact").
OPTIMISE = {
    "fast": ("-O2", *CONTRACTED, RECIPROCAL, *STRAIGHT, *SCHEDULED),
    # Right-hand sides inside loops over the state, one waiting for the other: GCC's own vectors would load across fresh
    # scalar stores and wait for them.
    "loop": ("-O3", *CONTRACTED, RECIPROCAL, "-fno-tree-vectorize", *SCHEDULED),
    "exact": ("-O2", "-ffp-contract=off", *STRAIGHT),
}
GCC_ONLY = frozenset({"-fno-gcse", "-fno-tree-pre", "-fno-schedule-insns2", *SCHEDULED})
CPU_FLAGS = (("-march=native",), ())  # the first that the compiler accepts
CANDIDATES = ("gcc", "clang", "cc")
REMEDY = "install gcc or clang (or name one in APPELL_CC), or use backend='vm'"
PROBE = "double appell_probe(double x) { return 2.0*x; }\n"


@dataclass(frozen=True, eq=False)
class Library:
    """A loaded object: `lib.NAME(…)` calls it, `ffi` makes its pointers. `compile_seconds` is 0 if it was `cached`.

    `contracts` says whether a*b + c has one rounding.
    """

    lib: Any
    ffi: cffi.FFI
    path: Path
    compile_seconds: float
    cached: bool
    contracts: bool


@dataclass(frozen=True)
class Compiler:
    """A compiler that works: command, what it calls itself, and the CPU flags it accepts."""

    command: tuple[str, ...]
    version: str
    cpu_flags: tuple[str, ...]


def build(source: str, declarations: str, *, optimise: str = "fast") -> Library:
    """Compiles (or finds) `source` and loads it; `declarations` are cffi's `cdef` of what Python may call.

    optimise "fast" contracts a*b + c to one rounding; "exact" rounds as CasADi's evaluator does, to the bit.
    """
    found = _compiler(*_environment())
    if isinstance(found, str):
        raise BackendUnavailable(f"no C back end: {found}; {REMEDY}")
    return _build(found, source, declarations, OPTIMISE[optimise])


def c_available() -> str | None:
    """None if C can be compiled and loaded here, else why not."""
    found = _compiler(*_environment())
    return found if isinstance(found, str) else None


def _build(compiler: Compiler, source: str, declarations: str, optimise: tuple[str, ...]) -> Library:
    understood = (flag for flag in optimise if flag not in GCC_ONLY or "clang" not in compiler.version)
    flags, contracts = (*COMMON, *understood, *compiler.cpu_flags), CONTRACTED[0] in optimise
    key = _key(source, *flags, *compiler.command, compiler.version, _cpu())
    ffi = cffi.FFI()
    ffi.cdef(declarations)
    path = disk.find(key)
    if path is not None:
        try:
            return Library(ffi.dlopen(str(path)), ffi, path, 0.0, True, contracts)
        except OSError:  # intact, and yet not loadable (a changed C library, or pruned this instant): build it again
            path.unlink(missing_ok=True)
    try:
        with disk.workshop() as folder:
            start = time.perf_counter()
            built = _compile(compiler.command, flags, source, folder)
            seconds = time.perf_counter() - start
            lib = ffi.dlopen(str(built))  # before it is published: what does not load here never enters the cache
            return Library(lib, ffi, disk.store(key, built), seconds, False, contracts)
    except OSError as error:  # a full disk, a folder mounted noexec, an undefined symbol
        raise BackendUnavailable(f"compiled code cannot be stored or loaded ({error}); {REMEDY}") from error


def _compile(command: tuple[str, ...], flags: tuple[str, ...], source: str, folder: Path) -> Path:
    text, target = folder / "source.c", folder / "object.so"
    text.write_text(source, encoding="utf-8")
    # a relative name keeps the folder out of the object, so that the same text gives the same bytes
    answer = subprocess.run(
        [*command, *flags, text.name, "-o", target.name, "-lm"],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if answer.returncode != 0 or not target.exists():
        said = " | ".join(answer.stderr.strip().splitlines()[:5]) or f"exit status {answer.returncode}"
        raise BackendUnavailable(f"the C compiler {shlex.join(command)} failed: {said}; {REMEDY}")
    return target


def _environment() -> tuple[str, str, str]:
    """What the choice of a compiler depends on."""
    return os.environ.get("APPELL_CC", ""), os.environ.get("CC", ""), os.environ.get("PATH", "")


@cache
def _compiler(appell_cc: str, cc: str, search_path: str) -> Compiler | str:
    """The first candidate that works, or the reason why none does. `APPELL_CC` has no substitute."""
    candidates = [appell_cc] if appell_cc else [name for name in (cc, *CANDIDATES) if name]
    reasons = []
    for name in candidates:
        found = _probe(tuple(shlex.split(name)), search_path)
        if isinstance(found, Compiler):
            return found
        reasons.append(found)
    return "; ".join(reasons)


def _probe(command: tuple[str, ...], search_path: str) -> Compiler | str:
    """A compiler that builds and loads a trivial object, or why it does not."""
    if not command or shutil.which(command[0], path=search_path) is None:
        return f"no compiler {shlex.join(command)!r} on this machine"
    try:
        version = subprocess.run([*command, "--version"], capture_output=True, text=True, errors="replace").stdout
    except OSError as error:
        return f"{shlex.join(command)} does not run ({error})"
    reason = ""
    for cpu_flags in CPU_FLAGS:
        compiler = Compiler(command, version.strip(), cpu_flags)
        try:
            library = _build(compiler, PROBE, "double appell_probe(double);", OPTIMISE["fast"])
            if library.lib.appell_probe(1.5) == 3.0:
                return compiler
            reason = "its code computes wrong numbers"
        except BackendUnavailable as error:
            reason = str(error).removesuffix(f"; {REMEDY}")
    return reason


def _key(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()


@cache
def _cpu() -> str:
    """Model and instruction sets: code for this CPU may not run on another that shares the folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    wanted = ("model name", "flags", "Features", "CPU part")
    found = {line for line in lines if line.startswith(wanted)}
    return "\n".join(sorted(found)) or f"{platform.machine()} {platform.processor()}"
