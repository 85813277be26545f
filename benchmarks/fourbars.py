"""Four-bars in a row, the rocker of each the crank of the next: building, compiling and stepping grow as the row does.

2n + 1 angles and 2n rows; the saddle point is thin, so its elimination is written out in an order that keeps it so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import cos, sin

import appell as ap
from benchmarks.measure import cpu_seconds
from benchmarks.report import Table, seconds

SIZES = (1, 2, 5, 10, 20, 40, 100)


def four_bars(n: int) -> ap.System:
    """Cranks of 1 and 1.2 m in turn, couplers and distances of 2 m."""
    cranks, couplers = [ap.coordinates(f"a{i}") for i in range(n + 1)], [ap.coordinates(f"c{i}") for i in range(n)]
    radii, rows = [1 + 0.2 * (i % 2) for i in range(n + 1)], []
    for a, c, b, r, s in zip(cranks, couplers, cranks[1:], radii, radii[1:], strict=False):
        rows += [r * cos(a) + 2 * cos(c) - 2 - s * cos(b), r * sin(a) + 2 * sin(c) - s * sin(b)]
    kinetic = sum(a.d**2 for a in cranks) / 2
    kinetic += sum(a.d**2 + 4 * c.d**2 / 3 + 2 * a.d * c.d * cos(a - c) for a, c in zip(cranks, couplers, strict=False)) / 2
    return ap.System([*cranks, *couplers], kinetic=kinetic, potential=10 * sum(map(sin, cranks)), constraints=rows)


def assembled(system: ap.System, n: int) -> dict[Any, float]:
    """Angles from a first crank at 0.6 on, one four-bar after another; the next crank is the one nearer to it."""
    angles = [0.6]
    couplers = []
    for i in range(n):
        r, s = 1 + 0.2 * (i % 2), 1 + 0.2 * ((i + 1) % 2)
        pin = r * np.exp(1j * angles[-1])
        far = abs(pin - 2)
        turn = np.arccos((far**2 + s**2 - 4) / (2 * far * s))
        found = [float(np.angle((pin - 2) * np.exp(sign * turn))) for sign in (1j, -1j)]
        angles.append(min(found, key=lambda b, a=angles[-1]: abs(b - a)))
        couplers.append(float(np.angle(2 + s * np.exp(1j * angles[-1]) - pin)))
    return dict(zip(system.coordinates, [*angles, *couplers], strict=True))


def tables(quick: bool) -> list[Table]:
    rows, records = [], []
    for n in SIZES[:2] if quick else SIZES:
        record = _measured(n)
        records.append({"n": n, **record})
        each = seconds(record["step"] / n)
        rows.append((str(n), *(seconds(record[name]) for name in ("build", "ready", "compiler", "step")), each))
    return [
        Table(
            title="Four-bars in a row: 2n + 1 angles, 2n constraints",
            columns=("n", "System", "start and text", "C compiler", "one step (order 8)", "a step for each four-bar"),
            rows=tuple(rows),
            notes=("processor time; motions of 0.2 s at rtol 1e-8, all of them with the energy kept to 1e-6",),
            records=tuple(records),
        )
    ]


def _measured(n: int) -> dict[str, float]:
    own, _ = cpu_seconds()
    system = four_bars(n)
    built, _ = cpu_seconds()
    a0 = system.coordinates[0]
    start = ap.consistent(system, assembled(system, n) | {a0.d: 1.0}, hold=[a0, a0.d])
    run = ap.compile(system, backend="c", ready=False)
    _, children = cpu_seconds()
    ap.simulate(run, start, 1e-3)
    ready, compiled = cpu_seconds()
    few, _ = cpu_seconds()
    motion = ap.simulate(run, start, 0.2, rtol=1e-8, atol=1e-10, max_step=1e-3, times=[0.2])
    many, _ = cpu_seconds()
    if not motion.ok or np.abs(motion.energy_error).max() > 1e-6:
        raise RuntimeError(f"{n} four-bars: {motion.message} {motion.doubts}")
    return {
        "build": built - own, "ready": ready - built, "compiler": compiled - children,
        "step": (many - few) / motion.statistics["steps"],
    }  # fmt: skip
