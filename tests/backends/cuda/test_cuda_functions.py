"""Functions as CUDA text: accepted by NVRTC, the arithmetic of the graph, and honest where there is no GPU."""

import numpy as np
import pytest
import sympy
from tests.backends.cuda.cuda_text import call_kernel, on_host, to_ptx

import appell as ap
from appell import zoo
from appell.backends.cuda.cuda_text import kernel_source
from appell.backends.cuda.device import is_on_gpu, reason_against
from appell.errors import BackendUnavailable
from appell.graph.instructions import ARITY
from appell.normal_form import normal_form

no_gpu = pytest.mark.skipif(reason_against() is None, reason="there is a GPU")
x, y = ap.coordinates("x y")
ODD = sympy.sign(x) + sympy.Max(x, y**2) + sympy.Abs(y) + sympy.erf(x) * sympy.exp(-(y**2))
ODD += sympy.Heaviside(x - 1) * sympy.atan2(y, x)


def functions():
    odd = normal_form(ap.System([x, y], (x.d**2 + y.d**2) / 2, sympy.sin(x) * sympy.cos(y), {x: ODD}))
    robot = next(iter(zoo.ROBOTS.values()))().system.tree
    return {
        "odd": odd.select("Q", "H"),
        "skate": normal_form(zoo.ALL["skate"]().system).select("M", "A", "H"),
        "robot": robot.function("forward_dynamics"),
    }


@pytest.mark.parametrize("scalar", ["double", "float"])
@pytest.mark.parametrize("name", ["odd", "skate", "robot"])
def test_the_kernel_has_the_arithmetic_of_the_graph(name, scalar, tmp_path):
    fn = functions()[name]
    rng = np.random.default_rng(1)
    states = [rng.uniform(0.2, 1.5, (5, *port.shape)) for port in fn.inputs]
    states[-1] = states[-1][0]  # one input the same for all
    found = call_kernel(on_host(kernel_source(fn, scalar), tmp_path), fn, states, scalar)
    for k in range(5):
        right = fn(*(s[k] if s.ndim > len(port.shape) else s for s, port in zip(states, fn.inputs, strict=True)))
        for port, array in zip(fn.outputs, found, strict=True):
            scale = max(1.0, np.abs(right[port.name]).max(initial=0.0))
            assert np.abs(array[k] - right[port.name]).max(initial=0.0) < (1e-12 if scalar == "double" else 2e-4) * scale


@pytest.mark.parametrize(("scalar", "kind", "beyond"), [("double", np.float64, 1.6e6), ("float", np.float32, 6.4e3)])
def test_sine_and_cosine_of_all_numbers(scalar, kind, beyond, tmp_path):
    """Next to multiples of π/2, on both sides of the limit of the polynomials, and where there is no number."""
    fn = normal_form(ap.System([x], x.d**2 / 2, sympy.sin(x) - sympy.cos(x))).select("Q")
    near = np.arange(-200, 200) * np.pi / 2 + np.array([[-1e-3], [-1e-9], [0.0], [1e-6]])
    far = beyond * np.array([-1e9, -1.0001, -0.9999, 0.5, 0.9999, 1.0001, 1e6])
    at = np.concatenate([near.ravel(), far, np.random.default_rng(1).uniform(-50, 50, 2000), [np.inf, np.nan]]).astype(kind)
    states = [at[:, None] if port.name == "q" else np.zeros((len(at), *port.shape)) for port in fn.inputs]
    found = call_kernel(on_host(kernel_source(fn, scalar), tmp_path), fn, states, scalar)[0][:, 0]
    with np.errstate(invalid="ignore"):
        right = -(np.cos(at.astype(np.longdouble)) + np.sin(at.astype(np.longdouble)))
    assert np.isnan(found[-2:]).all()
    assert np.abs(found - right)[:-2].max() < 3 * np.finfo(kind).eps


@pytest.mark.parametrize("scalar", ["double", "float"])
def test_nvrtc_compiles_it(scalar):
    for name, fn in functions().items():
        ptx = to_ptx(kernel_source(fn, scalar))
        assert f"{fn.name}_kernel".encode() in ptx
        doubles = any(word in ptx for word in (b"fma.rn.f64", b"add.f64", b"ld.global.f64"))
        assert doubles == (scalar == "double"), name


def test_every_operation_has_a_text():
    from appell.backends.cuda.cuda_text import OPERATIONS

    assert set(ARITY) - {"input", "output", "const", "sin", "cos"} <= set(OPERATIONS)


@no_gpu
def test_without_a_gpu_the_reason_is_said():
    with pytest.raises(BackendUnavailable, match=r"cuda.*(CuPy|GPU)"):
        ap.compile(zoo.ALL["skate"]().system, zoo.ALL["skate"]().parameters, backend="cuda")
    assert not is_on_gpu(np.zeros(3))
