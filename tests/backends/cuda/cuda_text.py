"""CUDA text without a GPU: compiled by NVRTC (from its wheel) for what it is, and by a C++ compiler to be run."""

import ctypes
import importlib.util
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from appell.backends.cuda.device import OPTIONS


def nvrtc():
    """NVRTC's library; skips where its wheel is not installed."""
    found = importlib.util.find_spec("nvidia.cuda_nvrtc")
    if found is None or not found.submodule_search_locations:
        pytest.skip("nvidia-cuda-nvrtc is not installed")
    path = next((Path(found.submodule_search_locations[0]) / "lib").glob("libnvrtc.so*"), None)
    if path is None:
        pytest.skip("NVRTC comes without a library for this system")
    return ctypes.CDLL(str(path))


def to_ptx(source: str, architecture: str = "compute_90") -> bytes:
    """The PTX of a source, or an error with NVRTC's words."""
    library, program = nvrtc(), ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"appell.cu", 0, None, None)
    options = [f"--gpu-architecture={architecture}", *OPTIONS]
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    failed = library.nvrtcCompileProgram(program, len(options), given)
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    assert not failed, log.value.decode()
    library.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    library.nvrtcGetPTX(program, ptx)
    return ptx.value


def on_host(source: str, folder: Path) -> ctypes.CDLL:
    """The same text as C++ for the CPU."""
    compiler = next((path for name in ("g++", "clang++") if (path := shutil.which(name))), None)
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    name = f"kernel{sha256(source.encode()).hexdigest()[:12]}"  # a library that is loaded twice is the first one
    (folder / f"{name}.cpp").write_text(source)
    options = ["-std=c++17", "-O1", "-DAPPELL_HOST", "-shared", "-fPIC", "-pthread"]
    subprocess.run([compiler, *options, "-o", folder / f"{name}.so", folder / f"{name}.cpp"], check=True)
    return ctypes.CDLL(str(folder / f"{name}.so"))


def call_kernel(library, fn, arrays, scalar="double"):
    """The outputs of `NAME_kernel` at a batch of states."""
    kind = np.float64 if scalar == "double" else np.float32
    arrays = [np.ascontiguousarray(a, kind) for a in arrays]
    n = max(len(a) for a, port in zip(arrays, fn.inputs, strict=True) if a.ndim > len(port.shape))
    results = [np.full((n, *port.shape), np.nan, kind) for port in fn.outputs]
    arguments = [ctypes.c_longlong(n)]
    for array, port in zip(arrays, fn.inputs, strict=True):
        stride = port.size if array.ndim > len(port.shape) else 0
        arguments += [ctypes.c_void_p(array.ctypes.data), ctypes.c_longlong(stride)]
    getattr(library, f"{fn.name}_kernel")(*arguments, *(ctypes.c_void_p(r.ctypes.data) for r in results))
    return results
