"""Long thin systems: the elimination in the right order, its cost, and the same numbers as a full one."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from sympy import cos, sin

import appell as ap
from appell.backends import backend_named
from appell.backends.text.c_source import PRELUDE, emit
from appell.graph import Fn
from appell.graph.algebra import Value
from appell.loop.header import header
from appell.loop.in_c import CDEF, rank_text
from appell.loop.rank import RankGuard, turned
from appell.normal_form.coupled_blocks import elimination
from appell.normal_form.flow import acceleration
from appell.normal_form.saddle import SADDLE_C
from appell.normal_form.sparse_rows import SparseRows
from appell.rows import Policy, solve


def four_bars(n: int):
    """n four-bars in a row, the rocker of each the crank of the next: 2n + 1 angles, 2n rows."""
    cranks, couplers = [ap.coordinates(f"a{i}") for i in range(n + 1)], [ap.coordinates(f"c{i}") for i in range(n)]
    radii, rows = [1 + 0.2 * (i % 2) for i in range(n + 1)], []
    for a, c, b, r, s in zip(cranks, couplers, cranks[1:], radii, radii[1:], strict=False):
        rows += [r * cos(a) + 2 * cos(c) - 2 - s * cos(b), r * sin(a) + 2 * sin(c) - s * sin(b)]
    kinetic = sum(a.d**2 for a in cranks) / 2
    kinetic += sum(a.d**2 + 4 * c.d**2 / 3 + 2 * a.d * c.d * cos(a - c) for a, c in zip(cranks, couplers, strict=False)) / 2
    return ap.System([*cranks, *couplers], kinetic=kinetic, potential=10 * sum(map(sin, cranks)), constraints=rows)


def pattern_of(n: int):
    """M and A of such a row, by structure."""
    M, A = np.eye(2 * n + 1), np.zeros((2 * n, 2 * n + 1))
    for i in range(n):
        M[i, n + 1 + i] = M[n + 1 + i, i] = 0.3
        A[2 * i : 2 * i + 2, [i, i + 1, n + 1 + i]] = 1.0
    return (ca.sparsify(ca.DM(X)).sparsity() for X in (M, A))


def test_the_cost_grows_with_the_length():
    costs = []
    for n in (10, 20, 40, 80):
        M, A = (Value.sym("x", sparsity) for sparsity in pattern_of(n))
        order, cost = elimination(M, A)
        assert sorted(order) == list(range(4 * n + 1))
        place = {which: k for k, which in enumerate(order)}
        for i in range(2 * n):  # a row after all velocities in it
            assert all(place[2 * n + 1 + i] > place[j] for j in (i // 2, i // 2 + 1, n + 1 + i // 2))
        costs.append(cost / n)
    assert max(costs) < 1.3 * min(costs)


def test_accelerations_of_a_row_of_four_bars_are_those_of_the_full_solve():
    system = four_bars(7)
    run = ap.compile(system, backend="vm")
    assert isinstance(acceleration(run.form, run.policies), Fn)  # written out
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v = rng.uniform(0.5, 2.5, 15), rng.uniform(-1, 1, 15)
        out = run.form.select("M", "A", "Q", "h", "a0")(0.0, q, v, run.p)
        exact = solve(out["M"], out["A"], out["A"].T, out["Q"] - out["h"], -out["a0"], Policy(0, 14))
        a, lam = run.acceleration(0.0, q, v)
        assert a == pytest.approx(exact[0], rel=1e-8, abs=1e-8 * np.abs(exact[0]).max())
        assert lam == pytest.approx(exact[1], rel=1e-8, abs=1e-8 * np.abs(exact[1]).max())


def test_a_row_of_four_bars_keeps_its_energy():
    system = four_bars(6)
    a0 = system.coordinates[0]
    near = {q: 1.4 if str(q).startswith("a") else 0.1 for q in system.coordinates}
    start = ap.consistent(system, near | {a0.d: 1.0}, hold=[a0, a0.d])
    motion = ap.simulate(system, start, 0.5, backend="vm")
    assert motion.ok and np.abs(motion.energy_error).max() < 1e-7


def test_a_look_at_the_rank_grows_with_the_length():
    costs = []
    for n in (10, 20, 40, 80):
        thin = SparseRows.of(*(Value.sym("x", sparsity) for sparsity in pattern_of(n)))
        assert sorted(thin.velocities) == list(range(2 * n + 1)) and sorted(thin.rows) == list(range(2 * n))
        costs.append(thin.cost / n)
    assert max(costs) < 1.3 * min(costs)


LOOKS = """
int rank_compare(double *size, double t, double *z, double *z1, double *out)
{
    appell_run run = {0};
    LoopRank a, b;
    run.row_size = size, run.p = z;
    if (!rank_look(&run, t, z, &a) || !rank_look(&run, t, z1, &b)) return 1;
    out[0] = a.sigma, out[1] = b.sigma, out[2] = rank_turned(&a, &b), out[3] = rank_change(&a, &b);
    return 0;
}
"""


@pytest.mark.skipif(backend_named("c").program is None, reason="no C compiler")
def test_compiled_looks_at_thin_rows_see_what_full_matrices_say():
    run = ap.compile(four_bars(6), backend="vm")
    guarded, size = run.flow().guarded, np.linspace(1, 2, 12)
    assert guarded is not None and guarded.sparse is not None
    rows = (emit(guarded.rows), "#include <stdint.h>", CDEF, rank_text(guarded))
    source = "\n".join([PRELUDE, header(), SADDLE_C, *rows, LOOKS])
    declared = "int rank_compare(double *size, double t, double *z, double *z1, double *out);"
    program = backend_named("c").program
    assert program is not None
    library: Any = program(source, declared, optimise="fast")
    guard, rng, seen = RankGuard(guarded, np.zeros(0), size), np.random.default_rng(0), set()
    for spread in (0.05, 0.05, 0.3, 0.3, 2.0, 2.0, 2.0, 2.0):
        z = rng.uniform(-3, 3, 26)
        z1, out = z + rng.normal(0, spread, 26), np.zeros(4)
        pointers: list[Any] = [library.ffi.from_buffer("double[]", x) for x in (size, z, z1, out)]
        assert library.lib.rank_compare(pointers[0], 0.0, *pointers[1:]) == 0
        a, b = guard.rows_at(0.0, z), guard.rows_at(0.0, z1)
        assert out[:2] == pytest.approx([a.sigma, b.sigma], rel=1e-9)
        assert out[2] == turned(a, b)
        assert np.linalg.norm(b.Y - a.Y, 2) <= out[3] * (1 + 1e-12) <= np.linalg.norm(b.Y - a.Y) * (1 + 1e-9)
        seen.add(bool(out[2]))
    assert seen == {False, True}
