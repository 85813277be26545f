"""What one core can do at most: independent multiply-adds on full vectors, measured by the same compiler and flags."""

from __future__ import annotations

import time
from functools import cache

from appell.backends.calls.vectors import lanes_here
from appell.backends.compiler.build import build

CHAINS = 12  # multiply-adds in flight: more than latency times throughput of any present core
ROUNDS = 100_000
SOURCE = """\
typedef {scalar} V __attribute__((vector_size({bytes})));
{scalar} peak(long rounds, {scalar} factor, {scalar} term)
{{
    const V m = factor - (V) {{}}, c = term - (V) {{}};
    {declared}
    for (long k = 0; k < rounds; k++) {{
        {steps}
    }}
    const V sum = {sum};
    return sum[0];
}}
"""


@cache
def peak(scalar: str = "double") -> float:
    """Operations a second of one core, a multiply-add counted as two: the best of many short runs, CPU time."""
    lanes = lanes_here(scalar)
    size = 8 if scalar == "double" else 4
    chains = range(CHAINS)
    text = SOURCE.format(
        scalar=scalar,
        bytes=lanes * size,
        declared=" ".join(f"V x{k} = c + {k + 1};" for k in chains),
        steps=" ".join(f"x{k} = x{k}*m + c;" for k in chains),
        sum=" + ".join(f"x{k}" for k in chains),
    )
    library = build(text, f"{scalar} peak(long rounds, {scalar} factor, {scalar} term);")
    best = float("inf")
    for _ in range(100):
        start = time.thread_time()
        library.lib.peak(ROUNDS, 0.999, 0.001)
        best = min(best, time.thread_time() - start)
    return 2.0 * CHAINS * lanes * ROUNDS / best
