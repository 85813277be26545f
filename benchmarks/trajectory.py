"""Ten seconds of the double and the 5-link pendulum at equal measured error: appell, SciPy's DOP853, heyoka's Taylor series."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import appell as ap
from benchmarks.equal_error import Code, Timed, at_equal_error
from benchmarks.pendulum import lambdified, parameter_values, solved, taylor_system, taylor_system_from_energies
from benchmarks.report import Table, ratio, seconds

Array = NDArray[np.float64]
LINKS = (2, 5)
TARGETS = (1e-8, 1e-11)
END = 10.0


def tables(quick: bool) -> list[Table]:
    cases = [(2, 1e-8)] if quick else [(n, target) for n in LINKS for target in TARGETS]
    end = 1.0 if quick else END
    return [_table([_case(n, target, end, 0.05 if quick else 2.0) for n, target in cases], end)]


def _case(n: int, target: float, end: float, budget: float) -> tuple[int, float, list[Timed]]:
    codes = [
        appell_code(n, end),
        heyoka_code("heyoka, from the same T and V", taylor_system_from_energies(n), n, end),
        heyoka_code("heyoka, equations by hand", taylor_system(n), n, end),
        scipy_code(n, end),
    ]
    return n, target, at_equal_error(codes, reference(n, end), target, budget)


def start(n: int) -> Array:
    """All angles 1 rad, at rest."""
    return np.concatenate([np.ones(n), np.zeros(n)])


def reference(n: int, end: float) -> Array:
    """The final state in 80-bit arithmetic (heyoka, tolerance 1e-18), independent of the code under test."""
    import heyoka as hy

    long = np.longdouble
    wide = lambda values: [long(x) for x in values]
    series = hy.taylor_adaptive(
        taylor_system(n), wide(start(n)), pars=wide(parameter_values(n)), tol=long(1e-18), fp_type=long
    )
    series.propagate_until(long(end))
    return series.state.copy()


def appell_code(n: int, end: float) -> Code:
    example = ap.zoo.n_pendulum(n)
    run = ap.compile(example.system, example.parameters, backend="c")
    angles = dict(example.start)
    return simulate_code(run, angles, end)


def simulate_code(run: ap.Run, values: dict, end: float) -> Code:
    """`simulate` on a compiled run: the compiled loop by its own clock, and the whole call."""

    def prepare(tolerance: float) -> Callable[[], Array]:
        def call() -> Array:
            motion = ap.simulate(run, values, end, rtol=tolerance, atol=tolerance)
            call.loop = motion.statistics["seconds"]  # type: ignore[attr-defined]
            return np.concatenate([motion.q[-1], motion.v[-1]])

        return call

    def loop(call: Callable[[], Array]) -> Callable[[], float]:
        def clocked() -> float:
            call()
            return call.loop  # type: ignore[attr-defined]

        return clocked

    return Code("appell", prepare, {", compiled loop": loop, ", whole simulate()": lambda call: call})


def heyoka_code(name: str, system: list, n: int, end: float) -> Code:
    """heyoka's Taylor series; the tolerance is sought in its compact mode, whose code compiles fast and runs slowly."""
    import heyoka as hy

    z0, p = start(n), parameter_values(n)

    def prepare(tolerance: float, compact: bool = True) -> Callable[[], Array]:
        series = hy.taylor_adaptive(system, z0.copy(), pars=list(p), tol=tolerance, compact_mode=compact)

        def call() -> Array:
            series.time = 0.0
            series.state[:] = z0
            series.propagate_until(end)
            return series.state

        return call

    return Code(name, prepare, timed=lambda tolerance: prepare(tolerance, compact=False))


def scipy_code(n: int, end: float) -> Code:
    acceleration, z0 = solved(lambdified(n), n), start(n)

    def rhs(t: float, z: Array) -> Array:
        return np.concatenate([z[n:], acceleration(z[:n], z[n:])])

    def prepare(tolerance: float) -> Callable[[], Array]:
        tolerance = max(tolerance, 3e-14)  # SciPy's least
        return lambda: solve_ivp(rhs, (0.0, end), z0, method="DOP853", rtol=tolerance, atol=tolerance).y[:, -1]

    return Code("SciPy DOP853", prepare)


def _table(cases: list[tuple[int, float, list[Timed]]], end: float) -> Table:
    rows, records = [], []
    for n, target, timed in cases:
        ours = timed[0].seconds
        for k, item in enumerate(timed):
            head = f"{n} links, error < {target:.0e}" if k == 0 else ""
            ahead = "" if k == 0 else ratio(item.seconds / ours)
            rows.append((head, item.name, f"{item.tolerance:.1e}", f"{item.error:.1e}", seconds(item.seconds), ahead))
            records.append({"n": n, "target": target, **vars(item)})
    return Table(
        title=f"One trajectory of a pendulum, {end:g} s, at equal measured error",
        columns=("case", "code", "tolerance", "error at the end", "time", "the loop is faster by"),
        rows=tuple(rows),
        notes=(
            "error: largest difference of angles and rates from heyoka in 80-bit arithmetic at tolerance 1e-18",
            "each code at its loosest tolerance (four a decade) with an error below the target",
            "heyoka by heyoka.lagrangian, and with M and f in closed form and LDLᵀ by hand; masses and lengths are "
            "run-time parameters as in appell; only propagate_until is timed",
            "SciPy: DOP853 on the lambdified Kane equations with a NumPy solve",
        ),
        records=tuple(records),
    )
