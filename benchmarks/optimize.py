"""Best motions: objectives that others publish, and the same programs by CasADi's own collocation, written by hand.

    published    time-optimal arms, steering, a brachistochrone, swing-ups: ours beside the value of the source
    by hand      Radau collocation of degree 3 on N equal intervals with CasADi's `collocation_points`, IPOPT with its defaults,
                 N doubled until its objective is as near to the limit as ours

Times are CPU times of whole calls, ours with meshes, derivatives and the judge's simulation, theirs of the solve at the N that
serves and of those before it. Limits are closed forms, or objectives at a tolerance a hundred times as strict.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy.optimize import brentq, fsolve
from sympy import cos, exp, sin, sqrt

import appell as ap
from benchmarks.gallery.vehicles import parking as gallery_parking
from benchmarks.optimize_peers import PEERS, compared
from benchmarks.report import Table, ratio, seconds

PI = float(np.pi)
Plan = Callable[[float], Any]


@dataclass(frozen=True)
class Published:
    """A problem with the objective of its source, and the closed form where there is one."""

    name: str
    source: str
    value: float | None
    plan: Plan
    exact: float | None = None


def tables(quick: bool) -> list[Table]:
    problems = [steering(), brachistochrone()] if quick else [*map(lambda make: make(), PROBLEMS)]
    rows = [_published(one) for one in problems]
    heads = ("problem", "source", "published", "ours", "limit", "intervals", "iterations", "error by simulate", "time")
    cases, counts = ((cart_pole,), (8, 16)) if quick else ((cart_pole, two_link_by_hand), (8, 16, 32, 64, 128, 256, 512))
    hand = [row for case in cases for row in _by_hand(*case(), counts)]
    others = ("problem", "code", "intervals", "iterations", "objective − limit", "time", "over appell")
    notes = ("opty's values are those of the solutions stored with its gallery: h times (nodes − 1)",)
    found = [
        Table("Best motions that others publish", heads, tuple(rows), notes),
        Table("Collocation by hand", others, tuple(hand)),
    ]
    return found if quick else [*found, Table("Cart pole by peers of package registries", others, tuple(_peers()), PEER_NOTES)]


PEER_NOTES = (
    "each until the objective is within 1e-4 of its limit: CPU time of all meshes up to there and of what they compile",
    "appell's own time is with the C code of its simulation in the cache",
    "pockit by SciPy's trust-constr, since cyipopt needs an IPOPT that pip does not bring",
    "Crocoddyl with dynamics in Python and a penalty of 1e8 for the end",
    "Drake with its own IPOPT and a symbolic system",
)


def _peers() -> list[tuple[str, ...]]:
    """Kelly's cart pole, until the objective is within 1e-4 of its limit: none of them comes as near as we do."""
    name, plan, _ = cart_pole()
    limit, begin = plan(1e-8).objective, time.process_time()
    ours = plan(1e-4)
    took, left = time.process_time() - begin, ours.objective - limit
    said = str(ours.meshes[-1].intervals), str(ours.iterations), f"{left:+.1e}", seconds(took), "1"
    rows: list[tuple[str, ...]] = [(name, "appell, tolerance 1e-4", *said)]
    for peer in PEERS:
        why, size, steps, off, spent = compared(peer, limit, 1e-4 * limit)
        code = f"{peer}: {why}" if why else peer
        missing = ("", "", "", "", "")
        counts = str(size), "" if steps < 0 else str(steps), f"{off:+.1e}", seconds(spent), ratio(spent / took)
        rows.append((name, code, *(missing if not size else counts)))
    return rows


def _published(one: Published) -> tuple[str, ...]:
    begin = time.process_time()
    plan = one.plan(1e-6)
    took = time.process_time() - begin
    limit = "" if one.exact is None else f"{plan.objective - one.exact:+.1e}"
    said = f"{plan.objective:.9g}" if plan.ok else f"{plan.objective:.6g} ({plan.message})"
    steps = str(plan.meshes[-1].intervals), str(plan.iterations)
    return (
        one.name,
        one.source,
        "" if one.value is None else f"{one.value:.6g}",
        said,
        limit,
        *steps,
        f"{plan.error:.0e}",
        seconds(took),
    )


# -- problems that others publish --------------------------------------------------------------------------------------


def steering() -> Published:
    """COPS 3.0, 10: linear tangent steering; closed form by tan u = tan u_0 (1 − 2 t/T)."""

    def plan(tolerance: float) -> Any:
        x, y = ap.coordinates("x y")
        u = ap.parameters("u")
        rocket = ap.System([x, y], (x.d**2 + y.d**2) / 2, 0, {x: 100 * cos(u), y: 100 * sin(u)}, name="rocket")
        end = {y: 5, x.d: 45, y.d: 0}
        return ap.optimize(rocket, "time", [u], {}, (0.1, 2), end=end, bounds={u: (-PI / 2, PI / 2)}, tolerance=tolerance)

    def missed(z: Any) -> list[float]:
        tan, T = z  # ∫ cos u = T asinh(tan)/tan, ∫∫ sin u over T: both of tan u linear in t
        s = np.linspace(-1, 1, 200_001)
        root = np.sqrt(1 + (tan * s) ** 2)
        rise = 100 * T**2 / 4 * np.trapezoid((1 - s) * (-tan * s) / root, s)
        return [100 * T * np.arcsinh(tan) / tan - 45, rise - 5]

    found: Any = fsolve(missed, (1.0, 0.55), xtol=1e-13)
    return Published("steering of a rocket", "COPS 3.0, 9", None, plan, float(found[1]))


def brachistochrone() -> Published:
    """From rest to (10, −6), by the row of its tangent."""

    def plan(tolerance: float) -> Any:
        x, y = ap.coordinates("x y")
        theta = ap.parameters("theta")
        tangent = ap.Constraint(x.d * sin(theta) - y.d * cos(theta), name="tangent")
        bead = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, constraints=[tangent], name="bead")
        return ap.optimize(bead, "time", [theta], {}, (0.5, 5), end={x: 10, y: -6}, tolerance=tolerance)

    angle = float(brentq(lambda a: (a - np.sin(a)) / (1 - np.cos(a)) - 10 / 6, 1e-3, 2 * PI - 1e-3))  # type: ignore[arg-type]
    return Published("brachistochrone", "opty", 200 * 0.008953119126, plan, angle * np.sqrt(6 / (1 - np.cos(angle)) / 9.81))


def two_link() -> Published:
    """Luus, Iterative dynamic programming (2000), 12.4.2: the two-link arm in least time."""

    def plan(tolerance: float) -> Any:
        a, b = ap.coordinates("a b")
        u, w = ap.parameters("u w")
        D = sin(b) ** 2 * 9 / 4 + 31 / 36
        f = (sin(b) * (cos(b) * a.d**2 * 9 / 4 + 2 * (a.d + b.d) ** 2) + (u - w) * 4 / 3 - cos(b) * w * 3 / 2) / D
        g = -(sin(b) * (a.d**2 * 7 / 2 + cos(b) * (a.d + b.d) ** 2 * 9 / 4) - w * 7 / 3 + cos(b) * (u - w) * 3 / 2) / D
        arm = ap.System([a, b], (a.d**2 + b.d**2) / 2, 0, {a: f, b: g - f}, name="arm")
        end, bounds = {a: 0.522, b: 0.5, a.d: 0, b.d: 0}, {u: (-1, 1), w: (-1, 1)}
        return ap.optimize(arm, "time", [u, w], {b: 0.5}, (0.5, 8), end=end, bounds=bounds, tolerance=tolerance)

    return Published("two-link arm", "Luus 2000, 12.4.2", None, plan)


def double_pendulum() -> Published:
    """opty's gallery: a double pendulum on a cart is set upright in least time. Its condition on the last accelerations, which
    one force at one instant satisfies, changes nothing in the limit and is left out."""

    def plan(tolerance: float) -> Any:
        x, a, b = ap.coordinates("x a b")
        F = ap.parameters("F")
        first = (x.d - 2 * sin(a) * a.d) ** 2 + 4 * cos(a) ** 2 * a.d**2
        second = (x.d - 2 * sin(a) * a.d - 2 * sin(b) * b.d) ** 2 + (2 * cos(a) * a.d + 2 * cos(b) * b.d) ** 2
        T = (x.d**2 + first + second) / 2 + a.d**2 + b.d**2
        cart = ap.System([x, a, b], T, 9.81 * (4 * sin(a) + 2 * sin(b)), {x: F}, name="double pendulum")
        end, bounds = {a: PI / 2, b: PI / 2, x.d: 0, a.d: 0, b.d: 0}, {F: (-50, 50), x: (-5, 5)}
        start = {a: -PI / 2, b: -PI / 2}
        return ap.optimize(cart, "time", [F], start, (1, 12), end=end, bounds=bounds, tolerance=10 * tolerance)

    return Published("double pendulum on a cart", "opty", 299 * 0.009780433904, plan)


def crane() -> Published:
    """opty's gallery: a crane moves a load in least time, without the condition on the last accelerations."""

    def plan(tolerance: float) -> Any:
        x, q = ap.coordinates("x q")
        F = ap.parameters("F")
        T = x.d**2 / 2 + 5 * ((x.d + 5 * cos(q) * q.d) ** 2 + 25 * sin(q) ** 2 * q.d**2)
        system = ap.System([x, q], T, -490.5 * cos(q), {x: F}, name="crane")
        bounds = {F: (-20, 20), x: (0, 15), x + 5 * sin(q): (0, 15)}
        return ap.optimize(
            system, "time", [F], {}, (2, 60), end={x: 15, q: 0, x.d: 0, q.d: 0}, bounds=bounds, tolerance=tolerance
        )

    return Published("crane", "opty", 149 * 0.039559487422, plan)


def collision() -> Published:
    """opty's gallery: a block is pushed against a wall and comes back; closed form. opty smooths the impact."""

    def plan(tolerance: float) -> Any:
        x = ap.coordinates("x")
        F = ap.parameters("F")
        floor = ap.Friction(x.d, limit=0.6 * 9.81, name="floor")
        block = ap.System([x], x.d**2 / 2, 0, {x: F}, [ap.Unilateral(1 - x, name="wall", restitution=0.8), floor], name="block")
        phases = [("floor+",), "wall", ("floor-",)]
        return ap.optimize(
            block, "time", [F], {}, (0.1, 5), end={x: 0}, bounds={F: (0, 160)}, phases=phases, tolerance=10 * tolerance
        )

    there = np.sqrt(2 / (160 - 5.886))
    v = 0.8 * (160 - 5.886) * there
    return Published("collision", "opty", 300 * 0.000458573938, plan, there + (v - np.sqrt(v**2 - 2 * 5.886)) / 5.886)


def glider() -> Published:
    """COPS 3.0, 11: the longest flight of a hang glider through an updraft."""

    def plan(tolerance: float) -> Any:
        x, y = ap.coordinates("x y")
        c = ap.parameters("c")
        r = (x / 100 - 2.5) ** 2
        w = y.d - 2.5 * (1 - r) * exp(-r)
        q = 0.5 * 1.13 * 14 * sqrt(x.d**2 + w**2)
        L, D = q * c, q * (0.034 + 0.069662 * c**2)
        wing = ap.System([x, y], 50 * (x.d**2 + y.d**2), 980.665 * y, {x: -L * w - D * x.d, y: L * x.d - D * w}, name="glider")
        fly, ends = {x.d: 13.2275675, y.d: -1.28750052}, np.linspace(0, 1, 11)
        guess = {"t": 100 * ends, x: 1250 * ends, y: 1000 - 100 * ends, x.d: 0 * ends + 13.23, y.d: 0 * ends - 1.288}
        bounds = {c: (0, 1.4), x: (0, None), x.d: (0, None)}
        return ap.optimize(
            wing, -ap.at(x, "end"), [c], {y: 1000} | fly, (50, 200), end={y: 900} | fly, bounds=bounds, guess=guess,
            tolerance=10 * tolerance,
        )  # fmt: skip

    return Published("hang glider", "COPS 3.0, 11", None, plan)


def parking() -> Published:
    """opty's gallery: a car with a wheel that is turned by a torque parks 2 m beside itself in 30 s with least effort."""
    return Published("parallel parking", "opty", None, lambda tolerance: gallery_parking(10 * tolerance))


PROBLEMS = (steering, brachistochrone, two_link, double_pendulum, crane, collision, glider, parking)


# -- by hand -----------------------------------------------------------------------------------------------------------


def cart_pole() -> tuple[str, Plan, Any]:
    """Kelly's swing-up, 58.8."""

    def plan(tolerance: float) -> Any:
        x, q = ap.coordinates("x q")
        F = ap.parameters("F")
        T = x.d**2 / 2 + 0.15 * ((x.d + 0.5 * cos(q) * q.d) ** 2 + (0.5 * sin(q) * q.d) ** 2)
        cart = ap.System([x, q], T, -0.3 * 9.81 * 0.5 * cos(q), {x: F}, name="cart pole")
        end = {x: 1, q: PI, x.d: 0, q.d: 0}
        bounds = {F: (-20, 20), x: (-2, 2)}
        return ap.optimize(cart, ap.integral(F**2), [F], {}, 2.0, end=end, bounds=bounds, tolerance=tolerance)

    def rates(z: Any, u: Any) -> Any:
        s, c = ca.sin(z[1]), ca.cos(z[1])
        M = ca.vertcat(ca.horzcat(1.3, 0.15 * c), ca.horzcat(0.15 * c, 0.075))
        right = ca.vertcat(u[0] + 0.15 * s * z[3] ** 2, -0.3 * 9.81 * 0.5 * s)
        return ca.vertcat(z[2], z[3], ca.solve(M, right))

    ends = [0, 0, 0, 0], [1, PI, 0, 0]
    limits = [(-2, 2), (-np.inf, np.inf), (-np.inf, np.inf), (-np.inf, np.inf)], [(-20, 20)]
    return "cart pole (Kelly)", plan, (rates, ends, limits, 2.0)


def two_link_by_hand() -> tuple[str, Plan, Any]:
    def rates(z: Any, u: Any) -> Any:
        s, c, p, r = ca.sin(z[1]), ca.cos(z[1]), z[2], z[2] + z[3]
        D = s**2 * 9 / 4 + 31 / 36
        f = (s * (c * p**2 * 9 / 4 + 2 * r**2) + (u[0] - u[1]) * 4 / 3 - c * u[1] * 3 / 2) / D
        g = -(s * (p**2 * 7 / 2 + c * r**2 * 9 / 4) - u[1] * 7 / 3 + c * (u[0] - u[1]) * 3 / 2) / D
        return ca.vertcat(z[2], z[3], f, g - f)

    free = [(-np.inf, np.inf)] * 4
    return "two-link arm (Luus)", two_link().plan, (rates, ([0, 0.5, 0, 0], [0.522, 0.5, 0, 0]), (free, [(-1, 1)] * 2), None)


def _by_hand(name: str, plan: Plan, problem: Any, counts: tuple[int, ...]) -> list[tuple[str, ...]]:
    begin = time.process_time()
    ours = plan(1e-6)
    took = time.process_time() - begin
    limit = plan(1e-8).objective
    reached = max(abs(ours.objective - limit), 1e-9 * abs(limit))
    rows = [
        (
            name,
            "appell",
            str(ours.meshes[-1].intervals),
            str(ours.iterations),
            f"{ours.objective - limit:+.1e}",
            seconds(took),
            "1",
        )
    ]
    (rates, ends, limits, T), spent, steps = problem, 0.0, 0
    objective, size = np.inf, 0
    for size in counts:
        begin = time.process_time()
        objective, iterations = _radau_by_hand(rates, ends, limits, T, size)
        spent, steps = spent + time.process_time() - begin, steps + iterations
        if abs(objective - limit) <= reached:
            break
    served = "CasADi by hand" + ("" if abs(objective - limit) <= reached else " (not reached)")
    left = f"{objective - limit:+.1e}"
    return [*rows, (name, served, str(size), str(steps), left, seconds(spent), ratio(spent / took))]


def _radau_by_hand(rates: Any, ends: Any, limits: Any, T: float | None, count: int) -> tuple[float, int]:
    """Objective (∫ u² dt, or the time where T is None) and iterations on `count` equal intervals, from a straight line."""
    degree, (first, last), (of_z, of_u) = 3, ends, limits
    nz, nu = len(first), len(of_u)
    C, _, B = ca.collocation_coeff(ca.collocation_points(degree, "radau"))
    z, u = ca.MX.sym("z", nz), ca.MX.sym("u", nu)
    f = ca.Function("f", [z, u], [rates(z, u)])
    h = ca.MX.sym("h")
    w, w0, low, high, g, J = [h], [(T or 3.0) / count], [(T or 0.1) / count], [(T or 20.0) / count], [], ca.MX(0)
    line = lambda s: [a + (b - a) * s for a, b in zip(first, last, strict=True)]

    def state(name: str, s: float, pair: Any) -> Any:
        found = ca.MX.sym(name, nz)
        w.append(found)
        w0.extend(line(s))
        low.extend(a for a, _ in pair)
        high.extend(b for _, b in pair)
        return found

    left = state("z0", 0.0, [(x, x) for x in first])
    for k in range(count):
        nodes, inputs = [], []
        for j in range(degree):
            end = k == count - 1 and j == degree - 1
            nodes.append(state(f"z{k}_{j}", (k + (j + 1) / degree) / count, [(x, x) for x in last] if end else of_z))
            one = ca.MX.sym(f"u{k}_{j}", nu)
            w.append(one)
            w0.extend([0.0] * nu)
            low.extend(a for a, _ in of_u)
            high.extend(b for _, b in of_u)
            inputs.append(one)
        table = ca.horzcat(left, *nodes)
        right = ca.horzcat(*(f(a, b) for a, b in zip(nodes, inputs, strict=True)))
        g.append(ca.vec(ca.mtimes(table, C) - h * right))
        if T is not None:
            J += h * ca.mtimes(ca.horzcat(*(ca.sumsqr(b) for b in inputs)), B)
        left = nodes[-1]
    cost = J if T is not None else count * h
    quiet = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.max_iter": 2000}
    solver = ca.nlpsol("hand", "ipopt", {"x": ca.vertcat(*w), "f": cost, "g": ca.vertcat(*g)}, quiet)
    out = solver(x0=w0, lbx=low, ubx=high, lbg=0, ubg=0)
    return float(out["f"]), int(solver.stats()["iter_count"])


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.report import show

    for table in tables(quick=False):
        show(Console(width=160), table)
