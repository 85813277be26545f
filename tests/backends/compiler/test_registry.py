"""The compiler that the package ziglang brings: found by itself, and the generated C for other systems and processors."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import appell as ap
from appell.backends import Call, c_function, compile_c, emit_lanes, vm_function
from appell.backends.compiler import build as c_build
from appell.backends.text.c_source import module
from appell.graph import Fn
from appell.loop.methods.tableaux import TABLEAUX
from appell.normal_form.flow import acceleration
from appell.simulate.loop.program import loop_module

ZIG = c_build.from_registry()
pytestmark = pytest.mark.skipif(ZIG is None, reason="the package ziglang is not installed (pip install 'appell[compiler]')")


# --- found where nothing else is --------------------------------------------------------------------------------------


@pytest.fixture
def nothing_else(monkeypatch, tmp_path):
    """A machine without gcc, clang and cc."""
    for name in ("APPELL_CC", "CC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_it_is_found_by_itself_and_gives_machine_code(nothing_else):
    assert c_build.working_compiler().command == ZIG
    run = ap.compile(ap.zoo.skate().system, ap.zoo.skate().parameters)
    assert run.backend == "c"
    q, v = np.array([0.1, 0.2, 0.3]), np.array([np.cos(0.3), np.sin(0.3), 0.7])
    vm = ap.compile(ap.zoo.skate().system, ap.zoo.skate().parameters, backend="vm")
    for a, b in zip(run.acceleration(0.0, q, v), vm.acceleration(0.0, q, v), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


def test_lanes_and_loops_of_it(nothing_else):
    fn = graph()
    call: Call = c_function(compile_c([fn]), fn)
    states = data(2000)
    for a, b in zip(call.batch(*states), vm_function(fn).batch(*states), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    assert call.batch_function.args[1].built["double"] is not None  # type: ignore[union-attr]
    x = ap.coordinates("x")
    motion = ap.simulate(ap.System([x], x.d**2 / 2, x**2 / 2), {x: 1.0}, 1.0, backend="c")
    np.testing.assert_allclose(motion[x][-1], np.cos(1.0), rtol=1e-9)


def test_a_compiler_of_the_system_comes_first(monkeypatch):
    if not any(map(shutil.which, c_build.CANDIDATES)):
        pytest.skip("there is no gcc, clang or cc here")
    monkeypatch.delenv("APPELL_CC", raising=False)
    assert c_build.working_compiler().command != ZIG


def test_without_it_the_reason_names_it(nothing_else, monkeypatch):
    monkeypatch.setattr(c_build, "from_registry", lambda: None)
    c_build._compiler.cache_clear()
    with pytest.raises(ap.BackendUnavailable, match=r"pip install 'appell\[compiler\]'"):
        ap.compile(ap.zoo.skate().system, ap.zoo.skate().parameters, backend="c")
    c_build._compiler.cache_clear()


# --- other systems and processors -------------------------------------------------------------------------------------

TARGETS = ("x86_64-windows-gnu", "aarch64-macos", "aarch64-linux-gnu")


def graph() -> Fn:
    """Accelerations of the skate, (t, q, v, p) → a, Λ, margin, with sines and cosines in it."""
    run = ap.compile(ap.zoo.skate().system, ap.zoo.skate().parameters, ready=False)
    fn = acceleration(run.form, run.policies)
    assert isinstance(fn, Fn)
    return fn


def data(n: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(3)
    return np.zeros(n), rng.uniform(-2, 2, (n, 3)), rng.uniform(-1, 1, (n, 3)), np.array([1.0, 9.81])


def texts() -> dict[str, str]:
    """All kinds of C that is written: a graph, a saddle point between graphs, vectors, a time loop."""
    x, y = ap.coordinates("x y")
    rows = [ap.Constraint(x.d - y.d), ap.Constraint(2 * x.d - 2 * y.d)]
    redundant = ap.System([x, y], x.d**2 + y.d**2, x * y, constraints=rows)
    run = ap.compile(redundant, ready=False)
    return {
        "graph": module([graph()]),
        "saddle": module([acceleration(run.form, run.policies)]),
        "double lanes": emit_lanes(graph(), 2, scalar="double"),
        "float lanes": emit_lanes(graph(), 4, scalar="float"),
        "loop": loop_module(run.flow(), TABLEAUX["dopri5"]),
    }


def object_of(text: str, target: str, folder: Path) -> Path:
    """Compiled, not linked: the C libraries of other systems would take minutes to build."""
    (folder / "text.c").write_text(text, encoding="utf-8")
    flags = [flag for flag in (*c_build.COMMON, *c_build.OPTIMISE["fast"]) if flag not in (*c_build.GCC_ONLY, "-shared")]
    flags = [flag for flag in flags if not (flag == "-fPIC" and "windows" in target)]
    assert ZIG is not None
    command = [*ZIG, "-target", target, *flags, "-c", "text.c", "-o", "text.o"]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return folder / "text.o"


@pytest.mark.parametrize("target", TARGETS)
def test_the_generated_c_compiles_for_other_systems(target, tmp_path):
    kind = {"windows": b"\x64\x86", "macos": b"\xcf\xfa\xed\xfe", "linux": b"\x7fELF"}[target.split("-")[1]]
    for text in texts().values():
        assert object_of(text, target, tmp_path).read_bytes().startswith(kind)


# One file without a C library: what it reads is written into it, what it computes goes to the standard output. The sine of the
# library is wrong on purpose: only huge arguments may ask for it.
MAIN = """
typedef unsigned long Size;
void *memcpy(void *to, const void *from, Size n)
{
    for (Size k = 0; k < n; k++) ((volatile char *) to)[k] = ((const char *) from)[k];
    return to;
}
void *memset(void *to, int c, Size n)
{
    for (Size k = 0; k < n; k++) ((volatile char *) to)[k] = c;
    return to;
}
double sin(double x) { return __builtin_nan(""); }
double cos(double x) { return __builtin_nan(""); }
static long system_call(long number, long a, long b, long c)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
%(data)s
void _start(void)
{
    const SCALAR *const in[] = {%(inputs)s};
    const ptrdiff_t stride[] = {%(strides)s};
    SCALAR *const out[] = {%(outputs)s};
    %(call)s;
    %(writes)s
    system_call(93, 0, 0, 0);
}
"""


def main_of(fn: Fn, states: tuple[np.ndarray, ...], call: str, scalar: str) -> str:
    """A program that evaluates `fn` at the states and writes its outputs one after the other."""
    n = len(states[1])
    arrays = [np.ravel(x) for x in states]
    parts = [f"#define SCALAR {scalar}"]
    parts += [f"static const SCALAR in{k}[] = {{{', '.join(map(repr, x.tolist()))}}};" for k, x in enumerate(arrays)]
    sizes = [max(1, port.size * n) for port in fn.outputs]
    parts += [f"static SCALAR out{k}[{size}];" for k, size in enumerate(sizes)]
    parts.append(f"static unsigned char far[{n}]; static char room[1 << 16] __attribute__((aligned(64)));")
    strides = [x.size // n if x.ndim > len(port.shape) else 0 for x, port in zip(states, fn.inputs, strict=True)]
    return MAIN % {
        "data": "\n".join(parts),
        "inputs": ", ".join(f"in{k}" for k in range(len(arrays))),
        "strides": ", ".join(map(str, strides)),
        "outputs": ", ".join(f"out{k}" for k in range(len(sizes))),
        "call": call,
        "writes": " ".join(
            f"system_call(64, 1, (long) out{k}, {port.size * n}*sizeof(SCALAR));" for k, port in enumerate(fn.outputs)
        ),
    }


@pytest.mark.skipif(sys.platform != "linux", reason="qemu-user runs programs of Linux")
@pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="there is no qemu-aarch64 (Debian: apt install qemu-user)")
@pytest.mark.parametrize("kind", ["one by one", "double lanes", "float lanes"])
def test_arm_computes_the_same(kind, tmp_path):
    fn, states = graph(), data(11)
    scalar = "float" if kind == "float lanes" else "double"
    lanes = {"one by one": 0, "double lanes": 2, "float lanes": 4}[kind]
    text = emit_lanes(fn, lanes, scalar=scalar) if lanes else module([fn])
    call = f"{fn.name}_lanes(11, in, stride, out, far, room)" if lanes else f"{fn.name}_batch(11, in, stride, out)"
    object_of("\n".join([text, main_of(fn, states, call, scalar)]), "aarch64-linux-musl", tmp_path)
    assert ZIG is not None
    link = [ZIG[0], "cc", "-target", "aarch64-linux-musl", "-nostdlib", "-static", "text.o", "-o", "program"]
    answer = subprocess.run(link, cwd=tmp_path, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    said = subprocess.run(["qemu-aarch64", str(tmp_path / "program")], capture_output=True, timeout=60)
    assert said.returncode == 0
    found = np.frombuffer(said.stdout, np.float32 if lanes == 4 else np.float64)
    expected = np.concatenate([np.ravel(x) for x in vm_function(fn).batch(*states)])
    np.testing.assert_allclose(found, expected, rtol=2e-5 if lanes == 4 else 1e-13, atol=2e-5 if lanes == 4 else 1e-13)
