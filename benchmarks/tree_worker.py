"""One robot or chain made ready in a process of its own: `python -m benchmarks.tree_worker ready FILE FLOATING | chain N`.

Prints one JSON object of CPU seconds. The compiler has been found, and the extension module for calls from Python compiled,
before the clock starts; the cache is `$APPELL_CACHE`.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from benchmarks.measure import cpu_seconds


def ready(path: str, floating: bool) -> dict[str, Any]:
    """From the URDF to the first acceleration of one state, then to the first of a large batch."""
    from appell.tree import Tree

    before, start = cpu_seconds(), time.perf_counter()
    tree = Tree.from_urdf(path, floating=floating)
    tree.forward_dynamics(tree.neutral, np.zeros(tree.nv), np.zeros(tree.nv))
    between = cpu_seconds()
    wall = time.perf_counter() - start
    many = np.zeros((2048, tree.nv))
    tree.forward_dynamics(np.tile(tree.neutral, (2048, 1)), many, many)
    after = cpu_seconds()
    return {
        "python": between[0] - before[0],
        "compiler": between[1] - before[1],
        "wall": wall,
        "lanes": sum(after) - sum(between),
        "operations": tree.function("forward_dynamics").operations,
    }


def chain(n: int) -> dict[str, Any]:
    """n links on skew hinges: graph, instructions and text, compiler; the C code against CasADi's evaluator."""
    from appell.backends import c_function, compile_c, vm_function
    from appell.tree import Chain, ChainLink

    rng = np.random.default_rng(0)
    body = (1.0, (0.1, 0.02, 0.05), (0.4, 0.5, 0.3), (0.3, 0.1, 0.2))
    tree = Chain([ChainLink(*body, e) for e in rng.normal(size=(n, 3))])
    start = cpu_seconds()
    fn = tree.function("forward_dynamics")
    operations = fn.operations
    built = cpu_seconds()
    call = c_function(compile_c([fn]), fn)
    compiled = cpu_seconds()
    q, v, tau = 0.3 * rng.normal(size=(3, n))
    vm = vm_function(fn)
    a, b = call(q, v, tau)[0], vm(q, v, tau)[0]
    back = tree.inverse_dynamics(q, v, a)
    return {
        "operations": operations,
        "graph": built[0] - start[0],
        "text": compiled[0] - built[0],
        "compiler": compiled[1] - built[1],
        "call": _least(lambda: call.single(q, v, tau)),
        "vm": _least(lambda: vm.single(q, v, tau)),
        "vm_error": float(np.abs(a - b).max() / np.abs(b).max()),
        "residual": float(np.abs(back - tau).max() / np.abs(tree.bias(q, v)).max()),
    }


def _least(call: Any, repeats: int = 50) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    from appell.backends import crossing_available, reason_against_c

    reason_against_c()
    crossing_available()
    what, *arguments = sys.argv[1:]
    answer = ready(arguments[0], arguments[1] == "True") if what == "ready" else chain(int(arguments[0]))
    print(json.dumps(answer))
