"""Ensembles in which some runs cannot begin or cannot be trusted: those are told, and the others are as if alone."""

from __future__ import annotations

import tempfile
import warnings
from itertools import product
from typing import Any

import numpy as np
from sympy import Piecewise, atan, cos, erf, pi, sqrt, tanh
from tests.families.family import family

import appell as ap
from appell.errors import AppellError, Status

x, y = ap.coordinates("x y")
e, g, k, L = ap.parameters("e g k L")

RESTITUTIONS = (e, e**2 + 0.2, 1 - e, Piecewise((2 * e, e > 0.5), (e, True)), sqrt(e**2) - 0.1, e / 2, (1 + e) / 2)
"""Restitutions as expressions in a parameter."""


@family(sample=(0, 1))
def restitutions_of_each_run(seed: int) -> None:
    """A ball above a floor and below a roof: the runs that `simulate` refuses are refused with its sentence, and no others."""
    rng = np.random.default_rng(seed)
    law = RESTITUTIONS[seed % len(RESTITUTIONS)]
    walls = [ap.Unilateral(y, "floor", 0.5 if seed % 3 else law), ap.Unilateral(3 - y, "roof", law if seed % 3 else 0.7)]
    ball = ap.System([y], y.d**2 / 2, g * y, constraints=walls, name="ball")
    values = rng.permutation([0.5, 1.5, -0.2, *rng.uniform(-0.5, 1.6, 4)]) if seed else np.array([0.5, 1.5, 0.2, -0.1])
    starts, speeds = rng.uniform(0.5, 2.5, len(values)), rng.uniform(-3, 3, len(values))
    if seed % 4 == 2:
        starts[0] = -0.1
    how: dict[str, Any] = {"step": 0.01} if seed % 2 else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ap.simulate_many(ball, {y: starts, y.d: speeds}, 1.0, {e: values, g: 9.81}, **how)
    for i, value in enumerate(values):
        try:
            alone = ap.simulate(ball, {y: starts[i], y.d: speeds[i]}, 1.0, {e: value, g: 9.81}, rtol=1e-10)
        except AppellError as error:
            assert found["status"][i] == Status.REFUSED and found["y"][i] == starts[i]
            assert str(found["message"].values[i])[:30] == str(error)[:30], (found["message"].values[i], error)
            continue
        assert found["status"][i] == Status.OK, (value, found["message"].values[i])
        np.testing.assert_allclose(found["y"][i], alone.final[y], rtol=1e-6, atol=1e-6)


def _falling(rng: np.random.Generator) -> tuple[ap.System, dict[Any, Any], dict[Any, Any], Any, Any]:
    """A ball that would start below a floor: (system, over, start), valid starts and final heights by closed form."""
    heights = np.sort(rng.uniform(-1, 1, int(rng.integers(5, 9))))
    ball = ap.System([y], y.d**2 / 2, g * y, constraints=[ap.Unilateral(y - L, "floor")], name="ball")
    over = {y: heights[:: int(rng.choice([-1, 1]))], L: np.array([-0.4, 0.3])}
    return ball, over, {y.d: 20.0}, lambda h, floor: h >= floor, lambda h, floor: h + 20 * 0.5 - 9.81 * 0.5**2 / 2


def _on_a_rod(rng: np.random.Generator) -> tuple[ap.System, dict[Any, Any], dict[Any, Any], Any, Any]:
    """A bead that must start on a vertical rod at x = L, and falls along it."""
    places = rng.permutation([0.0, 1.0, 2.0, *rng.uniform(-1, 3, 3)])
    bead = ap.System([x, y], (x.d**2 + y.d**2) / 2, g * y, constraints=[ap.Constraint(x - L, "rod")], name="bead")
    over = {L: np.array([5.0, 1.0, 2.0]), x: places}
    return bead, over, {y: 1.0}, lambda at, here: abs(at - here) < 1e-9, lambda at, here: 1 - 9.81 * 0.5**2 / 2


@family(sample=(0, 1))
def chunks_without_a_start(seed: int) -> None:
    """A sweep with chunks in which no run can begin: it goes on with the others, and is resumed as any other."""
    rng = np.random.default_rng(seed)
    system, over, start, valid, height = (_falling, _on_a_rod)[seed % 2](rng)
    names = [f"{name}_start" if name in (x, y) else str(name) for name in over]
    moved = next(name for name in over if name in (x, y))
    chunk = 1 + seed % 4
    with tempfile.TemporaryDirectory() as folder:
        ask = lambda: ap.sweep(system, over, start, 0.5, {g: 9.81}, store=f"{folder}/store", chunk=chunk)
        found, again = ask().dataset, ask().dataset
    assert found.drop_attrs().identical(again.drop_attrs())
    for index in product(*(range(len(values)) for values in over.values())):
        one = found.isel(dict(zip(names, index, strict=True)))
        at = {name: values[i] for (name, values), i in zip(over.items(), index, strict=True)}
        if valid(at[moved], at[L]):
            assert one.status == Status.OK
            np.testing.assert_allclose(one.y, height(at[moved], at[L]), rtol=1e-9)
        else:
            assert one.status == Status.REFUSED and str(one.message.values).startswith("the start")


@family(sample=(0,))
def options_in_any_order(seed: int) -> None:
    """A sweep that is asked for again with its options in another order, or with other threads, has nothing left to do."""
    rng = np.random.default_rng(seed)
    spring = ap.System([x], x.d**2 / 2, k * x**2 / 2, name="spring")
    options: dict[str, Any] = {"method": ("dopri5", "dop853", "rk4")[seed % 3], "since": 0.25, "max_steps": 100_000 + seed}
    options |= {"step": 0.01} if seed % 3 == 2 else {"rtol": 1e-8, "atol": 1e-10}
    options["keep"] = ({"top": ap.reduce.max(x)}, [0.5, 1.0], "final")[(seed // 3) % 3]
    made: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        def ask(given: dict[str, Any]) -> Any:
            made.clear()
            over = {k: np.array([1.0, 2.0, 5.0])}
            return ap.sweep(spring, over, {x: 1.0}, 1.0, store=f"{folder}/s", chunk=1, progress=made.append, **given).dataset

        first = ask(options)
        assert len(set(made)) == 3
        for threads in ({}, {"threads": 1}, {"threads": 2}):
            mixed = [*options.items(), *threads.items()]
            again = ask(dict([mixed[i] for i in rng.permutation(len(mixed))]))
            assert set(made) <= {3} and first.drop_attrs().identical(again.drop_attrs())
        try:
            ask({**options, "max_steps": 99_999})
        except AppellError as error:
            assert "another question" in str(error)
        else:
            raise AssertionError("a store of another question was taken")


STEPS = (tanh(x / k) / 2, atan(x / k) / pi, erf(x / k) / 2, x / sqrt(x**2 + k**2) / 2)
"""Potentials that rise by 1 over a distance k."""


@family(sample=(0,))
def fields_over_doubtful_motions(seed: int) -> None:
    """A particle that meets a step of its potential: the exponent of its passage in closed form, or none.

        x(T) = v₁ (T + x₀/v₀)    v₁ = √(v₀² − 2), or −v₀ if that is not real
    """
    rng = np.random.default_rng(seed)
    end, width = 4.0, (1e-7, 1e-9, 1e-12, 1e-3)[seed % 4]
    V = STEPS[(seed + seed // 4) % len(STEPS)]
    places, speeds = -rng.uniform(0.8, 1.2, 2), np.array([rng.uniform(0.5, 1.2), rng.uniform(1.6, 2.2)])
    step = ap.System([x], x.d**2 / 2, V, name="step")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        field = ap.lyapunov_field(step, {x: places, x.d: speeds}, {}, end, {k: width})
    assert field.ok == bool(np.isfinite(field.exponent).all())
    for (i, at), (j, v) in product(enumerate(places), enumerate(speeds)):
        after, slope = (np.sqrt(v**2 - 2), v / np.sqrt(v**2 - 2)) if v**2 > 2 else (-v, -1.0)
        Phi = [[after / v, slope * (end + at / v) - after * at / v**2], [0, slope]]
        expected = np.log(np.linalg.norm(Phi, 2)) / end
        if np.isfinite(field.exponent[i, j]):
            np.testing.assert_allclose(field.exponent[i, j], expected, atol=1e-3)


@family(sample=(0, 1, 2))
def laboratory_over_doubtful_motions(seed: int) -> None:
    """A forced oscillator below a step of its potential that is too high for it: what says ok has stayed below."""
    rng = np.random.default_rng(seed)
    place, width, omega = rng.uniform(0.15, 0.4), (1e-7, 1e-9, 1e-8, 1e-4)[(seed // 3) % 4], ap.parameters("omega")
    V = x**2 / 2 + STEPS[int(rng.integers(len(STEPS)))].subs(x, x - place)
    driven = ap.System([x], x.d**2 / 2, V, {x: -0.3 * x.d + 0.3 * cos(omega * ap.t)}, name="step")
    over = {omega: np.sort(rng.uniform(0.85, 1.1, 3))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if seed % 3 == 1:  # between the step and a lower turning point
            found = ap.frequency_response(driven, x, over, {}, {k: width}, skip=20)
            below = (found.mean < 0).all()
        else:
            how: dict[str, Any] = {"section": x.d, "direction": -1} if seed % 3 else {}
            found = ap.bifurcation_diagram(driven, over, {}, {k: width}, skip=20, keep=4, **how)
            below = (found[x] < place + 10 * width).all()
    assert below or not found.ok, found
    assert found.ok or any(word in found.message for word in ("energy", "still change", "harmonics")), found


@family(sample=(0,))
def basins_over_doubtful_motions(seed: int) -> None:
    """Two wells with a step between them that is too high for every start: each stays in its own, or the basin is not ok."""
    rng = np.random.default_rng(seed)
    width = (1e-7, 1e-6, 1e-5, 1e-7)[seed % 4]
    V = (x**2 - 1) ** 2 / 4 + (STEPS[(seed + seed // 4) % len(STEPS)] if seed % 2 else tanh(x / k) / 2)
    bowl = ap.System([x], x.d**2 / 2, V, {x: -rng.uniform(0.2, 0.4) * x.d}, name="bowl with a step")
    over = {x: np.linspace(-1.4, -0.6, 5), x.d: np.linspace(-1.0, 1.2, 5)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ap.basin(bowl, over, {}, {k: width}, period=2.0)
    if found.ok:
        assert len(found.attractors) == 1 and (found.attractors[0].points[:, 0] < 0).all(), found


@family(count=15, sample=(0, 1, 2))
def slopes_over_doubtful_motions(seed: int) -> None:
    """A particle above a step of its potential that is too high for it, alone or beside another body: derivatives, orbits and
    exponents of motions that have passed it are not ok, and say why."""
    rng = np.random.default_rng(seed)
    width, place, start = 1e-4 * rng.uniform(0.1, 1), rng.uniform(0.4, 0.6), rng.uniform(0.95, 1.1)
    beside = bool((seed // 5) % 2)
    step = 50 * (1 + tanh((x - place) / k)) / 2
    coordinates, begin = ([x, y], {x: start, y: 3.1}) if beside else ([x], {x: start})
    T = x.d**2 / 2 + (y.d**2 / 2 if beside else 0)
    steep = ap.System(coordinates, T, x**2 / 2 + step + ((y - 3) ** 2 / 2 if beside else 0), name="step")
    asked = [
        lambda: ap.variations(steep, begin, 20.0, {k: width}),
        lambda: ap.periodic_orbit(steep, guess=begin, period_guess=2 * np.pi, parameters={k: width}),
        lambda: ap.lyapunov(steep, begin, 40.0, {k: width}),
        lambda: ap.periodic_orbit(steep, guess=begin, period_guess=2 * np.pi, parameters={k: width}, segments=3),
        lambda: ap.variations(steep, begin, 12.0, {k: width}, times=[0.0, 6.0, 12.0]),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = ap.simulate(steep, begin, 20.0, {k: width})
        found = asked[seed % 5]()
    if motion[x].min() > 0:
        return
    assert not motion.ok and not found.ok and "energy" in found.message, str(found)


@family(sample=(0, 1))
def values_without_a_start(seed: int) -> None:
    """A diagram on a section over the place of a wall: values with the start behind it are marked, the first one, too."""
    rng = np.random.default_rng(seed)
    places = rng.permutation([0.5, 0.3, *rng.uniform(-0.9, 0.8, 4)]) if seed else np.array([0.5, -0.5, 0.3, -0.2])
    ball = ap.System([x], x.d**2 / 2, x**2 / 2, {}, [ap.Unilateral(x - L, "wall")], name="spring before a wall")
    found = ap.bifurcation_diagram(
        ball, {L: places}, {x: 0.2, x.d: 1.0}, section=x.d, direction=-1, skip=1, keep=3, follow=bool(seed % 2)
    )
    complete = np.isfinite(found[x]).all(axis=1)
    if not seed % 2:  # with follow a value begins where the one before it has ended, which may be behind its own wall
        np.testing.assert_array_equal(complete, places <= 0.2)
    np.testing.assert_allclose(found[x][complete], np.sqrt(1 + 0.2**2), rtol=1e-6)
    first = places[np.flatnonzero(~complete)[0]]
    assert not found.ok and f"L = {first:.6g}: the start violates 'wall'" in found.message, found
