"""C text → loaded machine code, compiled once for each text, flags, compiler and CPU.

The compiler is `$APPELL_CC`, `$CC`, or the first of gcc, clang, cc and the package ziglang (the extra `appell[compiler]`) that
builds and loads a shared object. With `$APPELL_COMPILE=quick` time loops are compiled in half the time and run more slowly.
No `-ffast-math`: a NaN must stay a NaN, or failures would look like numbers.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import cffi

from appell.backends.compiler import cache as disk
from appell.backends.once import once
from appell.errors import BackendUnavailable
from appell.reading import shown

COMMON = ("-std=gnu11", "-shared", "-fPIC", "-w", "-fno-math-errno", "-fno-trapping-math")
CONTRACTED = ("-ffp-contract=fast", "-DAPPELL_CONTRACTED")  # a*b + c with one rounding; sincos.c.in relies on it
# Straight-line code: these passes cost compile time and gain nothing on code without loops.
STRAIGHT_LINE_FLAGS = ("-fno-gcse", "-fno-tree-pre", "-fno-tree-vectorize", "-fno-schedule-insns2")
# Time loops: these passes take a fifth of the compile time and gain nothing (pendulums, rolling disc, wall: within 1 %).
LEAN = ("-fno-gcse", "-fno-tree-pre", "-fno-unswitch-loops", "-fno-split-loops", "-fno-ipa-cp-clone")
# Several divisions by one number become one division and products, with one more rounding each (DOP853 on five links: 4 %).
RECIPROCAL = "-freciprocal-math"
# Scheduling before register allocation: shorter stalls in scalar code (10 links: 12 %), fewer spills of vectors (5 %).
SCHEDULED = ("-fschedule-insns", "-fsched-pressure")
# 13,000 instructions (a ten-link pendulum), gcc 12: compile 1.2 s, one call 2.3 µs ("fast"); 1.4 s, 2.7 µs ("exact").
OPTIMISE = {
    "fast": ("-O2", *CONTRACTED, RECIPROCAL, *STRAIGHT_LINE_FLAGS, *SCHEDULED),
    # Right-hand sides inside loops over the state, each depending on the last: GCC's own vectors would load across recent
    # scalar stores and stall.
    "loop": ("-O3", *CONTRACTED, RECIPROCAL, "-fno-tree-vectorize", *LEAN, *SCHEDULED),
    "exact": ("-O2", "-ffp-contract=off", *STRAIGHT_LINE_FLAGS),
}
# For programs that run many systems briefly, such as tests (gcc 12, a bouncing ball: 0.6 s instead of 1.1). Without
# expensive optimisations gcc does not contract; the omitted passes take a sixth of the time at -O1.
HASTY = ("-fno-tree-pta", "-fno-tree-dominator-opts", "-fno-tree-ch", "-fno-tree-sra", "-fno-tree-loop-optimize")
# Long straight-line code: half the compile time, and calls of the same speed (gcc 12, regressor, mass matrix and derivatives of
# three robots: 0.40 to 0.46 of the time, calls 0.7 to 1.05; forward dynamics of the largest 0.74, calls 1.04).
OPTIMISE["long"] = ("-O1", "-fexpensive-optimizations", *CONTRACTED, RECIPROCAL, *HASTY)
QUICK = {**OPTIMISE, "loop": ("-O1", "-fexpensive-optimizations", *CONTRACTED, RECIPROCAL, *HASTY)}
THOROUGHNESS = {"": OPTIMISE, "full": OPTIMISE, "quick": QUICK}
"""Flags by the value of APPELL_COMPILE."""
GCC_ONLY = frozenset({*LEAN, *HASTY, "-fexpensive-optimizations", "-fno-schedule-insns2", *SCHEDULED})
DYNAMIC = {"darwin": ("-undefined", "dynamic_lookup")}  # resolved when the extension module is loaded
CPU_FLAGS = (("-march=native",), ())  # the first that the compiler accepts
CANDIDATES = ("gcc", "clang", "cc")
REMEDY = "install gcc or clang (or name one in APPELL_CC), or pip install 'appell[compiler]', or use backend='vm'"
COMPILER_SECONDS = 30.0  # time limit for a compiler to print its version, s
COMPILER_PROBE = "double appell_probe(double x) { return 2.0*x; }\n"


@dataclass(frozen=True, eq=False)
class Library:
    """A loaded object: `lib.NAME(…)` calls it, `ffi` makes its pointers. `compile_seconds` is 0 if it was `cached`.

    `contracts`: whether a*b + c has one rounding. The object stays loaded until the process ends.
    """

    handle: ctypes.CDLL
    declarations: str
    path: Path
    compile_seconds: float
    cached: bool
    contracts: bool

    @cached_property
    def ffi(self) -> cffi.FFI:
        """Created on demand: the first one in a process loads a C parser, which takes longer than everything else."""
        ffi = cffi.FFI()
        ffi.cdef(self.declarations)
        return ffi

    @cached_property
    def lib(self) -> Any:
        return self.ffi.dlopen(self.ffi.cast("void *", self.handle._handle))  # type: ignore[arg-type]  # the stub wants a name

    def address(self, name: str) -> int:
        """The address of a function."""
        return ctypes.cast(getattr(self.handle, name), ctypes.c_void_p).value or 0


@dataclass(frozen=True)
class Compiler:
    """A working compiler: command, version, and the CPU flags it accepts."""

    command: tuple[str, ...]
    version: str
    cpu_flags: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class SourceDraft:
    """A text that is generated only if its machine code is not cached. Equal keys guarantee equal functions."""

    key: str
    write: Callable[[], str]


class _Compilation(NamedTuple):
    """How a text is compiled; `also`: everything else that determines the object, such as the included headers."""

    compiler: Compiler
    flags: tuple[str, ...]
    also: tuple[str, ...] = ()

    def key(self, digest: str) -> str:
        """The key of the object compiled from a text with this digest."""
        return disk.digest(digest, *self.flags, *self.compiler.command, self.compiler.version, _cpu(), *self.also)


class _Object(NamedTuple):
    """A file of machine code, the loaded object, and the compile time (0 if it was `cached`)."""

    loaded: Any
    path: Path
    seconds: float
    cached: bool


def build(
    source: str | SourceDraft,
    declarations: str,
    *,
    optimise: str = "fast",
    include: tuple[str, ...] = (),
    also: tuple[str, ...] = (),
) -> Library:
    """Compiles (or finds) `source` and loads it; `declarations` are cffi's `cdef` of what Python may call.

    optimise "fast" contracts a*b + c to one rounding, "long" the same in half the compile time; "exact" rounds as CasADi's
    evaluator does, to the bit. Headers come from the folders `include`; `also` names the versions of all of them.
    """
    flags = _optimisation(optimise)
    compilation = _library_way(working_compiler(), flags)
    compilation = compilation._replace(flags=(*compilation.flags, *(f"-I{folder}" for folder in include)), also=also)
    return _library(_obtain(compilation, source, _handle), declarations, flags)


def build_together(drafts: Sequence[SourceDraft], source: str, declarations: str, *, optimise: str) -> None:
    """Compiles one text for several drafts; `find` and `build` of each then return its object."""
    build(source, declarations, optimise=optimise)
    for draft in drafts:
        disk.remember(draft.key, disk.digest(source))


def find(draft: SourceDraft, declarations: str, *, optimise: str = "fast") -> Library | None:
    """The result of `build`, if it has been compiled before."""
    flags = _optimisation(optimise)
    compiled = _recalled(_library_way(working_compiler(), flags), draft, _handle)
    return None if compiled is None else _library(compiled, declarations, flags)


def build_module(source: str, load: Callable[[Path], Any], include: tuple[str, ...], also: tuple[str, ...]) -> Any:
    """`load(path)` of a Python extension module; `also`: the versions of everything it includes."""
    compiler = working_compiler()
    flags = (*COMMON, "-O2", *compiler.cpu_flags, *DYNAMIC.get(sys.platform, ()), *(f"-I{folder}" for folder in include))
    return _obtain(_Compilation(compiler, flags, also), source, load).loaded


def working_compiler() -> Compiler:
    """The compiler; raises with the reason if there is none."""
    compiler = _compiler(*environment())
    if isinstance(compiler, str):
        raise BackendUnavailable(f"no C back end: {compiler}; {REMEDY}")
    return compiler


def reason_against_c() -> str | None:
    """None if C can be compiled and loaded here, else why not."""
    compiler = _compiler(*environment())
    return compiler if isinstance(compiler, str) else None


def _optimisation(kind: str) -> tuple[str, ...]:
    """The flags for a kind of code, depending on `APPELL_COMPILE`."""
    thoroughness = os.environ.get("APPELL_COMPILE", "")
    if thoroughness not in THOROUGHNESS:
        raise BackendUnavailable(f"APPELL_COMPILE is quick or full, not {shown(thoroughness)}")
    return THOROUGHNESS[thoroughness][kind]


def _build(compiler: Compiler, source: str | SourceDraft, declarations: str, optimise: tuple[str, ...]) -> Library:
    return _library(_obtain(_library_way(compiler, optimise), source, _handle), declarations, optimise)


def _library_way(compiler: Compiler, optimise: tuple[str, ...]) -> _Compilation:
    understood = (flag for flag in optimise if flag not in GCC_ONLY or "clang" not in compiler.version)
    return _Compilation(compiler, (*COMMON, *understood, *compiler.cpu_flags))


def _library(compiled: _Object, declarations: str, optimise: tuple[str, ...]) -> Library:
    return Library(compiled.loaded, declarations, compiled.path, compiled.seconds, compiled.cached, CONTRACTED[0] in optimise)


def _handle(path: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(path))


def _obtain(compilation: _Compilation, source: str | SourceDraft, load: Callable[[Path], Any]) -> _Object:
    """The object of `source`, from the cache or newly compiled."""
    if isinstance(source, str):
        return _from_cache(compilation, disk.digest(source), load) or _newly_compiled(compilation, source, load)
    compiled = _recalled(compilation, source, load)
    if compiled is None:
        text = source.write()
        compiled = _obtain(compilation, text, load)
        disk.remember(source.key, disk.digest(text))
    return compiled


def _recalled(compilation: _Compilation, draft: SourceDraft, load: Callable[[Path], Any]) -> _Object | None:
    """The object of a text generated by an earlier process, whose digest is in the cache."""
    digest = disk.recall(draft.key)
    return None if digest is None else _from_cache(compilation, digest, load)


def _from_cache(compilation: _Compilation, digest: str, load: Callable[[Path], Any]) -> _Object | None:
    path = disk.find(compilation.key(digest))
    if path is None:
        return None
    try:
        return _Object(load(path), path, 0.0, True)
    except (OSError, ImportError):  # intact, but not loadable (a changed C library, or just pruned)
        path.unlink(missing_ok=True)
        return None


def _newly_compiled(compilation: _Compilation, text: str, load: Callable[[Path], Any]) -> _Object:
    try:
        with disk.workshop() as folder:
            start = time.perf_counter()
            built = _compile(compilation.compiler.command, compilation.flags, text, folder)
            seconds = time.perf_counter() - start
            loaded = load(built)  # before it is published: an object that does not load never enters the cache
            return _Object(loaded, disk.store(compilation.key(disk.digest(text)), built), seconds, False)
    except (OSError, ImportError) as error:  # a full disk, a folder mounted noexec, an undefined symbol
        raise BackendUnavailable(f"compiled code cannot be stored or loaded ({error}); {REMEDY}") from error


def _compile(command: tuple[str, ...], flags: tuple[str, ...], source: str, folder: Path) -> Path:
    text, target = folder / "source.c", folder / "object.so"
    text.write_text(source, encoding="utf-8")
    # a relative name keeps the folder out of the object, so that the same text gives the same bytes
    process = subprocess.run(
        [*command, *flags, text.name, "-o", target.name, "-lm"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if process.returncode != 0 or not target.exists():
        reason = " | ".join(process.stderr.strip().splitlines()[:5]) or f"exit status {process.returncode}"
        raise BackendUnavailable(f"the C compiler {shlex.join(command)} failed: {reason}; {REMEDY}")
    return target


def environment() -> tuple[str, str, str]:
    """The environment variables that determine the choice of a compiler."""
    return os.environ.get("APPELL_CC", ""), os.environ.get("CC", ""), os.environ.get("PATH", "")


@once
def _compiler(appell_cc: str, cc: str, search_path: str) -> Compiler | str:
    """The first candidate that works, or the reason why none does. `APPELL_CC` has no substitute."""
    names = [appell_cc] if appell_cc.strip() else [name for name in (cc, *CANDIDATES) if name.strip()]
    candidates = [_command(name, search_path) for name in names]
    if not appell_cc and (zig := from_registry()) is not None:
        candidates.append(zig)
    reasons = []
    for command in candidates:
        compiler = _probe(command, search_path)
        if isinstance(compiler, Compiler):
            return compiler
        reasons.append(compiler)
    return "; ".join(reasons)


def _command(name: str, search_path: str) -> tuple[str, ...]:
    """A program with its options; a path with spaces in it is one program."""
    try:
        words = [name] if shutil.which(name, path=search_path) else shlex.split(name)
    except ValueError:  # an unmatched quotation mark
        words = [name]
    if words and os.path.dirname(words[0]):
        words[0] = os.path.abspath(words[0])  # it is called from other folders
    return tuple(words)


def from_registry() -> tuple[str, ...] | None:
    """Clang from the package ziglang, without the checks of undefined behaviour that it adds by default."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        return None
    zig = Path(spec.origin).with_name("zig.exe" if sys.platform == "win32" else "zig")
    return (str(zig), "cc", "-fno-sanitize=undefined") if zig.is_file() else None


def _probe(command: tuple[str, ...], search_path: str) -> Compiler | str:
    """A compiler that builds and loads a trivial object, or the reason why it does not. A success is cached by its file."""
    program = shutil.which(command[0], path=search_path) if command else None
    try:
        file = os.stat(program or "")
    except OSError:
        return f"no compiler {shlex.join(command)!r} on this machine"
    if program is None or not stat.S_ISREG(file.st_mode):
        return f"{shlex.join(command)} is no program"
    key = disk.digest("compiler", *command, os.path.realpath(program), f"{file.st_size} {file.st_mtime_ns}", _cpu())
    try:
        version, *cpu_flags = json.loads(disk.recall(key) or "[]")
        return Compiler(command, version, tuple(cpu_flags))
    except ValueError:
        compiler = _tested(command)
    if isinstance(compiler, Compiler):
        disk.remember(key, json.dumps([compiler.version, *compiler.cpu_flags]))
    return compiler


def _tested(command: tuple[str, ...]) -> Compiler | str:
    try:
        process = subprocess.run(
            [*command, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMPILER_SECONDS,
        )
        version = process.stdout
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"{shlex.join(command)} does not run ({error})"
    reason = ""
    for cpu_flags in CPU_FLAGS:
        compiler = Compiler(command, version.strip(), cpu_flags)
        try:
            library = _build(compiler, COMPILER_PROBE, "double appell_probe(double);", OPTIMISE["fast"])
            library.handle.appell_probe.restype = ctypes.c_double
            if library.handle.appell_probe(ctypes.c_double(1.5)) == 3.0:
                return compiler
            reason = "its code computes wrong numbers"
        except BackendUnavailable as error:
            reason = str(error).removesuffix(f"; {REMEDY}")
    return reason


@cache
def _cpu() -> str:
    """Model and instruction sets: code for this CPU may not run on another that shares the folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    keys = ("model name", "flags", "Features", "CPU part")
    cpu_lines = {line for line in lines if line.startswith(keys)}
    return "\n".join(sorted(cpu_lines)) or f"{platform.machine()} {platform.processor()}"
