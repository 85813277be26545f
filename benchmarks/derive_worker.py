"""One derivation in a process of its own: `python -m benchmarks.derive_worker appell|sympy N` prints one JSON object.

A derivation of one link comes first, so that imports and first calls are not counted. Times are CPU seconds.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import Any

from benchmarks.measure import cpu_seconds, peak_memory
from benchmarks.pendulum import a_state, lambdified, solved


def ours(n: int) -> dict[str, Any]:
    """From T and V to a compiled acceleration, with an empty cache."""
    import appell as ap
    from appell.normal_form.flow import acceleration

    _compiled(1)
    memory = peak_memory()
    before = cpu_seconds()
    run = _compiled(n)
    after = cpu_seconds()
    fn = acceleration(run.form, run.policies)
    straight = fn.operations if hasattr(fn, "operations") else fn.head.operations + fn.tail.operations
    peak = peak_memory()
    a, _ = run.acceleration(0.0, *a_state(n))
    assert isinstance(run, ap.Run)
    return {
        "derive": after[0] - before[0],
        "compiler": after[1] - before[1],
        "instructions": straight,
        "unrolled": hasattr(fn, "operations"),
        "memory": peak - memory,
        "memory_before": memory,
        "acceleration": a.tolist(),
    }


def _compiled(n: int) -> Any:
    import appell as ap

    example = ap.zoo.n_pendulum(n)
    return ap.compile(example.system, example.parameters, backend="c")


def theirs(n: int) -> dict[str, Any]:
    """`KanesMethod` and `lambdify(cse=True)`."""
    lambdified(1)
    memory = peak_memory()
    before = cpu_seconds()
    matrices = lambdified(n)
    after = cpu_seconds()
    peak = peak_memory()
    a = solved(matrices, n)(*a_state(n))
    return {
        "derive": after[0] - before[0],
        "memory": peak - memory,
        "memory_before": memory,
        "acceleration": a.tolist(),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["APPELL_CACHE"] = folder
        answer = {"appell": ours, "sympy": theirs}[sys.argv[1]](int(sys.argv[2]))
    print(json.dumps(answer))
