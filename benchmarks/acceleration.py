"""One acceleration of the 10-link pendulum, called from Python."""

from __future__ import annotations

import appell as ap
from appell.backends import c_function, compile_c
from appell.graph import make_fn
from appell.graph.algebra import symbols, zeros
from benchmarks.measure import agree, interleaved, many
from benchmarks.pendulum import a_state, lambdified, solved
from benchmarks.report import Table, ratio, seconds

LINKS = 10


def tables(quick: bool) -> list[Table]:
    n = 3 if quick else LINKS
    example = ap.zoo.n_pendulum(n)
    q, v = a_state(n)
    runs = {kind: ap.compile(example.system, example.parameters, backend=kind) for kind in ("c", "vm")}
    sympy_acceleration = solved(lambdified(n), n)
    empty, p = _empty(n), runs["c"].p
    for kind, run in runs.items():
        agree(f"acceleration on {kind}", run.acceleration(0.0, q, v)[0], sympy_acceleration(q, v), 1e-9)
    times = interleaved(
        {
            "appell, c": many(lambda: runs["c"].acceleration(0.0, q, v), 1000),
            "appell, vm": many(lambda: runs["vm"].acceleration(0.0, q, v), 300),
            "SymPy lambdify(cse=True) + numpy.linalg.solve": many(lambda: sympy_acceleration(q, v), 100),
            "an empty compiled call with the same arguments": many(lambda: empty(0.0, q, v, p), 1000),
        },
        seconds=0.1 if quick else 3.0,
    )
    fastest = times["appell, c"]
    return [
        Table(
            title=f"One acceleration of the {n}-link pendulum, called from Python",
            columns=("", "time", "appell c is faster by"),
            rows=tuple((name, seconds(value), ratio(value / fastest)) for name, value in times.items()),
            records=tuple({"what": name, "seconds": value} for name, value in times.items()),
        )
    ]


def _empty(n: int):
    """A compiled function of (t, q, v, p) that returns zeros (a, λ, margin)."""
    names = {"t": 1, "q": n, "v": n, "p": 2 * n + 1}
    inputs = {name: (symbols(name, size), () if name == "t" else (size,)) for name, size in names.items()}
    outputs = {"a": (zeros(n), (n,)), "lam": (zeros(0), (0,)), "margin": (zeros(1), ())}
    fn = make_fn("empty", inputs, outputs)
    return c_function(compile_c([fn]), fn).single
