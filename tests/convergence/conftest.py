"""Small systems with known answers, once in C and once in Python, as loops of either kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from appell.backends.compiler.build import build, reason_against_c
from appell.errors import SingularConfiguration, Status
from appell.loop.header import header
from appell.loop.in_c import CDEF, CLoop, loop_source
from appell.loop.in_python import PyLoop
from appell.loop.methods.tableaux import TABLEAUX
from appell.loop.task import Task, TrialFailed
from appell.loop.trace import Trace

HEADER = "static int rhs(double t, const double *z, const double *p, double *zd)"
PROJECT = "static int project(double t, double *z, const double *p, double *defect)"


@dataclass(frozen=True)
class Problem:
    """ż = f(t, z, p), perhaps with a projection, in both languages."""

    nz: int
    c: str
    rhs: Callable[..., Any]
    c_project: str = ""
    project: Callable[..., Any] | None = None


def _pendulum(t: float, z: np.ndarray, p: np.ndarray) -> list[float]:
    return [z[1], -p[0] * np.sin(z[0]) + 0.1 * np.cos(t)]


def _double_pendulum(t: float, z: np.ndarray, p: np.ndarray) -> list[float]:
    """Unit masses and lengths, angles from the vertical: 2a + c b = …, c a + b = …."""
    c, s = np.cos(z[0] - z[1]), np.sin(z[0] - z[1])
    right = (-2 * p[0] * np.sin(z[0]) - s * z[3] ** 2, -p[0] * np.sin(z[1]) + s * z[2] ** 2)
    return [z[2], z[3], *np.linalg.solve([[2, c], [c, 1]], right)]


def _growth(t: float, z: np.ndarray, p: np.ndarray) -> list[float]:
    return [z[0] * np.cos(t)]


def _singular(t: float, z: np.ndarray, p: np.ndarray) -> list[float]:
    if t >= 3.2:
        raise SingularConfiguration("a wall in time", time=t)
    return [np.cos(t)]


def _not_a_number(t: float, z: np.ndarray, p: np.ndarray) -> list[float]:
    return [np.nan if t >= 3.2 else np.cos(t)]


def _blow_up(t: float, z: np.ndarray, p: np.ndarray) -> list[float]:
    return [z[0] ** 2]


def _relaxation(t: float, z: np.ndarray, p: np.ndarray) -> list[float]:
    if z[0] < -0.5:
        raise SingularConfiguration("a wall in the state", time=t)
    return [-50 * z[0]]


def _orbit(t: float, z: np.ndarray, p: np.ndarray) -> list[float]:
    """A point on the unit circle under gravity p along −y, reaction eliminated: a = g − (g·r + |v|²) r/|r|²."""
    x, y, u, v = z
    lam = (u * u + v * v - p[0] * y) / (x * x + y * y)
    return [u, v, -lam * x, -p[0] - lam * y]


def _onto_circle(t: float, z: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, float]:
    """|r| = 1 and r·v = 0, the nearest."""
    r, v = z[:2] / np.hypot(*z[:2]), z[2:]
    return np.concatenate([r, v - (r @ v) * r]), max(abs(z[:2] @ z[:2] - 1), abs(z[:2] @ v))


def _wall_projection(t: float, z: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, float]:
    if t > 3.2:
        raise TrialFailed(Status.PROJECTION_FAILED)
    return z, 0.0


PROBLEMS = {
    "pendulum": Problem(2, "zd[0] = z[1]; zd[1] = -p[0]*sin(z[0]) + 0.1*cos(t); return 0;", _pendulum),
    "double pendulum": Problem(
        4,
        """const double c = cos(z[0] - z[1]), s = sin(z[0] - z[1]);
        const double a = -2*p[0]*sin(z[0]) - s*z[3]*z[3], b = -p[0]*sin(z[1]) + s*z[2]*z[2];
        zd[0] = z[2]; zd[1] = z[3]; zd[2] = (a - c*b)/(2 - c*c); zd[3] = (2*b - c*a)/(2 - c*c); return 0;""",
        _double_pendulum,
    ),
    "growth": Problem(1, "zd[0] = z[0]*cos(t); return 0;", _growth),
    "singular": Problem(1, "zd[0] = cos(t); return t >= 3.2 ? 2 : 0;", _singular),
    "not a number": Problem(1, "zd[0] = t >= 3.2 ? NAN : cos(t); return 0;", _not_a_number),
    "blow-up": Problem(1, "zd[0] = z[0]*z[0]; return 0;", _blow_up),
    "relaxation": Problem(1, "zd[0] = -50*z[0]; return z[0] < -0.5 ? 2 : 0;", _relaxation),
    "circle": Problem(
        4,
        """const double lam = (z[2]*z[2] + z[3]*z[3] - p[0]*z[1])/(z[0]*z[0] + z[1]*z[1]);
        zd[0] = z[2]; zd[1] = z[3]; zd[2] = -lam*z[0]; zd[3] = -p[0] - lam*z[1]; return 0;""",
        _orbit,
        """const double r = hypot(z[0], z[1]), radial = z[0]*z[2] + z[1]*z[3];
        *defect = fmax(fabs(r*r - 1), fabs(radial));
        z[0] /= r; z[1] /= r;
        const double along = z[0]*z[2] + z[1]*z[3];
        z[2] -= along*z[0]; z[3] -= along*z[1]; return 0;""",
        _onto_circle,
    ),
    "brake": Problem(
        2,
        "zd[0] = z[1]; zd[1] = 1; return 0;",
        lambda t, z, p: [z[1], 1.0],
        "*defect = fabs(z[1]); z[1] = 0; return 0;",
        lambda t, z, p: (np.array([z[0], 0.0]), abs(z[1])),
    ),
    "wall in the projection": Problem(
        1,
        "zd[0] = cos(t); return 0;",
        lambda t, z, p: [np.cos(t)],
        "*defect = 0; return t > 3.2 ? 6 : 0;",
        _wall_projection,
    ),
}


def decays(n: int) -> Problem:
    """ż_i = −0.3(1 + i) cos(t) z_i: z_i = exp(−0.3(1 + i) sin t) from 1, for states of any size."""
    rates = -0.3 * np.arange(1, n + 1)
    return Problem(
        n,
        "for (int i = 0; i < NZ; i++) zd[i] = -0.3*(1 + i)*cos(t)*z[i]; return 0;",
        lambda t, z, p: rates * np.cos(t) * z,
    )


PROBLEMS |= {f"{n} decays": decays(n) for n in (1, 2, 3, 4, 5, 8, 9, 13, 16)}


def c_loop(name: str, method: str, *, projected: bool = True) -> CLoop:
    """The problem compiled; without its projection on demand."""
    problem = PROBLEMS[name]
    projection = f"{PROJECT}\n{{ {problem.c_project} }}\n" if problem.c_project and projected else ""
    head = f"#include <math.h>\n#define NZ {problem.nz}\n{HEADER}\n{{ {problem.c} }}\n{projection}"
    library = build(header() + head + loop_source(TABLEAUX[method], problem.nz, bool(projection)), CDEF)
    return CLoop(library.lib, library.ffi, problem.nz)


def py_loop(name: str, method: str, *, projected: bool = True) -> PyLoop:
    """The problem on SciPy's stepper."""
    problem = PROBLEMS[name]
    return PyLoop(TABLEAUX[method], problem.rhs, problem.project if projected else None)


def _last(loop: CLoop | PyLoop, **task: Any) -> Trace:
    return list(loop.run(Task(**task)))[-1]


@pytest.fixture
def last() -> Callable[..., Trace]:
    """last(loop, t0=…, …): the last leg of a run."""
    return _last


@pytest.fixture(params=["dop853", "dopri5"])
def method(request: pytest.FixtureRequest) -> str:
    """Each pair in turn."""
    return request.param


@pytest.fixture
def in_c() -> Callable[..., CLoop]:
    """in_c(problem, method): a compiled loop."""
    if reason := reason_against_c():
        pytest.skip(reason)
    return c_loop


@pytest.fixture
def in_python() -> Callable[..., PyLoop]:
    """in_python(problem, method): the loop on SciPy's stepper."""
    return py_loop


@pytest.fixture(params=["c", "python"])
def make_loop(request: pytest.FixtureRequest) -> Callable[..., CLoop | PyLoop]:
    """make_loop(problem, method), in each language in turn."""
    if request.param == "c" and (reason := reason_against_c()):
        pytest.skip(reason)
    return c_loop if request.param == "c" else py_loop
