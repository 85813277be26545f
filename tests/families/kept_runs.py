"""Runs kept in a folder: another run is never taken for the one that was kept, damage is noticed and made again."""

from __future__ import annotations

import json
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from tests.families.family import family
from tests.families.stores import cut, empty, fill, flip, lose, replace_by_pipe

import appell as ap
from appell.disk.sealed import seal
from appell.loop import in_c
from appell.simulate.loop import keeping

x = ap.coordinates("x")
SWING = ap.System([x], x.d**2 / 2, -sympy.cos(x), {x: sympy.sin(ap.t) / 10}, name="swing")
HOW: tuple[dict[str, Any], ...] = (
    {"backend": "vm"}, {"backend": "vm", "method": "dop853", "step": 0.05}, {"backend": "vm", "method": "dopri5", "rtol": 1e-6},
)  # fmt: skip


@contextmanager
def often() -> Iterator[None]:
    """Pieces are written as often as the loop can."""
    usual = keeping.SECONDS_BETWEEN_WRITINGS, keeping.STEPS_OF_LEG
    keeping.SECONDS_BETWEEN_WRITINGS, keeping.STEPS_OF_LEG = -1.0, 50
    try:
        yield
    finally:
        keeping.SECONDS_BETWEEN_WRITINGS, keeping.STEPS_OF_LEG = usual


def kept(folder: Path, **how: Any) -> Any:
    """A run of some hundred steps in several pieces."""
    with often(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ap.AppellWarning)
        return ap.simulate(SWING, {x: 1.0}, 120.0, keep=(folder, 3), **(how or HOW[0]))


def link_elsewhere(file: Path, rng: np.random.Generator) -> None:
    away = file.parent.parent / "away"
    file.rename(away)
    file.symlink_to(away)


def swap(file: Path, rng: np.random.Generator) -> None:
    """Two pieces of one kind change places."""
    others = sorted(p for p in file.parent.glob(f"*{file.suffix}") if p.name != file.name)
    other = others[int(rng.integers(len(others)))]
    one, two = file.read_bytes(), other.read_bytes()
    file.write_bytes(two), other.write_bytes(one)


DAMAGES = (flip, lose, cut, empty, fill, replace_by_pipe, link_elsewhere, swap)


@family(count=36, sample=(0, 7))
def damage_is_noticed_and_made_again(seed: int) -> None:
    """Whatever happens to one file of a kept run, the run called again is the undamaged one."""
    rng, how = np.random.default_rng(seed), HOW[seed % len(HOW)]
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "run"
        clean = kept(folder, **how)
        files = sorted(p for p in folder.iterdir() if p.name != "lock")
        assert len(files) >= 4, "too few pieces to say anything"
        damage = flip if seed == 0 else DAMAGES[seed % len(DAMAGES)]
        damage(files[int(rng.integers(len(files)))], rng)
        found = kept(folder, **how)
        again = kept(folder, **how)
        for one in (found, again):
            assert one.ok and one.t[0] == 0 and (np.diff(one.t) > 0).all()
            assert np.array_equal(one.t, clean.t) and np.array_equal(one.q, clean.q) and np.array_equal(one.v, clean.v)


@family(count=12, sample=(0,))
def interrupts_anywhere_lose_nothing(seed: int) -> None:
    """Ctrl-C at any instruction of the loop in Python, again and again: the run that goes on is the undisturbed one."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("there are no timers here")
    rng, how = np.random.default_rng(seed), HOW[seed % len(HOW)]
    with tempfile.TemporaryDirectory() as top:
        clean, folder = kept(Path(top) / "clean", **how), Path(top) / "run"
        for tries in range(1000):  # on a busy machine a piece takes longer than that: the time grows
            before = signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(0.02, 0.3)) * (1 + tries / 20))
            try:
                found = kept(folder, **how)
                break
            except KeyboardInterrupt:
                continue
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
        assert np.array_equal(found.t, clean.t) and np.array_equal(found.q, clean.q) and np.array_equal(found.v, clean.v)


y, h = ap.coordinates("y h")
charge = ap.states("s")
FLOOR = ap.Unilateral(h, name="floor", restitution=sympy.Rational(9, 10))
SOFT = ap.Unilateral(h, name="floor", restitution=sympy.Rational(1, 2))
FREE = {"coordinates": [x, h], "kinetic": (x.d**2 + h.d**2) / 2, "potential": 10 * h}
EVENTFUL: tuple[tuple[ap.System, dict[Any, float], float, dict[str, Any]], ...] = (
    (ap.System(**FREE, constraints=[FLOOR]), {h: 1.0, x.d: 1.0}, 12.0, {}),
    (ap.System(**FREE, forces={x: 5 * sympy.sin(ap.t) - x}, constraints=[
        SOFT, ap.Friction(x.d, normal=SOFT, coefficient=0.3, static=0.4, name="rub")]), {h: 1.0, x.d: 1.0}, 30.0, {}),
    (ap.System([x], x.d**2 / 2, x**2 / 2, {x: charge}, rates={charge: 1},
               constraints=[ap.Reset(1 - charge, {charge: 0, x.d: x.d / 2}, name="fire")]), {x: 1.0}, 30.0, {}),
    (SWING.replace(constraints=[ap.Between(-0.5, x, 0.7, restitution=1, name="box")]), {x.d: 1.0}, 60.0,
     {"stop": ap.falling(x.d * x - 40)}),
    (ap.System([x], x.d**2 / 2, x**2 / 2, {x: sympy.Piecewise((0, sympy.Mod(ap.t, 3) < 1), (1, True)) / 10}), {x: 1.0}, 60.0,
     {}),
    (ap.System([x], x.d**2 / 2, forces={x: -sympy.sign(x) + sympy.sin(ap.t) / 5}), {x: 1.0}, 60.0, {}),
    (SWING, {x: 1.0}, 300.0, {"stop": {"late": ap.t - 250.125, "never": x - 10}}),
    (ap.System([x, y], (x.d**2 + y.d**2) / 2, x**2 + x * y / 3 + y**2, constraints=[
        ap.Friction(x.d - 0.3, limit=0.4, name="belt"), ap.Friction(y.d, limit=0.1, name="rail")]),
     {x: 0.2, y: 1.0}, 40.0, {}),
    (ap.System(**FREE, constraints=[ap.Unilateral(h, name="floor", restitution=1)]), {h: 1.0, x.d: 1.0}, -40.0, {}),
    (ap.System(**FREE, forces={h: charge}, rates={charge: -charge + x.d}, constraints=[FLOOR]), {h: 1.0}, 12.0,
     {"stop": ap.rising(x + charge - 3)}),
    (ap.System([x, y], (x.d**2 + y.d**2) / 2, 10 * y, constraints=[x**2 + y**2 - 1, ap.Unilateral(x + 0.4, restitution=0.8)]),
     {y: -1.0, x.d: 2.0}, 20.0, {}),
    (ap.System(**FREE, forces={x: -1000 * x.d}, constraints=[SOFT]), {h: 1.0, x.d: 1.0}, 4.0,
     {"method": "radau", "rtol": 1e-6}),
)  # fmt: skip


class Interrupted(Exception):
    pass


def same(one: Any, other: Any) -> bool:
    """Whether two motions are one to the last bit: states, events, modes, notes."""
    rows = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("t", "q", "v", "work", "events"))
    return rows and (one.modes, one.notes, one.message, one.status) == (other.modes, other.notes, other.message, other.status)


@family(count=len(EVENTFUL), sample=(4,))
def motions_with_events_go_on_bit_by_bit(seed: int) -> None:
    """Walls, friction, resets, breaks, sides and stops, interrupted again and again; and near the run that is not kept."""
    rng, (system, start, until, how) = np.random.default_rng(seed), EVENTFUL[seed]
    how = {"backend": ("vm", "auto")[seed in (0, 1, 3, 7)], **how}

    def run(**more: Any) -> Any:
        with often(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ap.AppellWarning)
            return ap.simulate(system, start, until, **how, **more)

    plain, thin = run(), run(keep=3)
    with tempfile.TemporaryDirectory() as top:
        clean, folder = run(keep=(Path(top) / "clean", 3)), Path(top) / "run"
        for share in sorted(rng.uniform(0, 1, 3)):

            def interrupt(t: float, end: float = share * until) -> None:
                if abs(t) > abs(end):
                    raise Interrupted

            with suppress(Interrupted):
                run(keep=(folder, 3), progress=interrupt)
        found, again = run(keep=(folder, 3)), run(keep=(folder, 3))
    assert same(found, clean) and same(again, clean)
    some = until * rng.uniform(0, 0.5, 5)
    for one in (thin, clean):
        assert one.ok and one.status == plain.status and len(one.impacts) == len(plain.impacts) and len(one.t) < len(plain.t)
        assert np.abs(one.q[-1] - plain.q[-1]).max() < 1e-5 and np.abs(one.at(some).q - plain.at(some).q).max() < 1e-5


LOOKED_AT: dict[str, Any] = {
    "top": ap.reduce.max(x), "pull": ap.reduce.min(x.dd), "work": ap.reduce.integral(x.d**2), "mean": ap.reduce.mean(x * x.d),
    "turns": ap.reduce.crossings(x.d), "end": ap.reduce.final(x), "blows": ap.reduce.impacts(),
    "drift": ap.reduce.energy_error(), "first": ap.reduce.first_crossing(x - 0.3),
}  # fmt: skip


@family(count=len(EVENTFUL), sample=(1,))
def reductions_are_those_of_an_ensemble_of_one(seed: int) -> None:
    """Beside walls, friction, resets and stops, in legs, interrupted or not: what `simulate_many` says of the same run."""
    rng, (system, start, until, how) = np.random.default_rng(seed), EVENTFUL[seed]

    def run(keep: Any, **more: Any) -> Any:
        with often(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ap.AppellWarning)
            return ap.simulate(system, start, until, keep=keep, **how, **more)

    clean, method = run(LOOKED_AT), how.get("method", "dop853")
    starts = {s: np.array([value]) for s, value in start.items()}
    one = ap.simulate_many(system, starts, until, keep=LOOKED_AT, **{"rtol": 1e-9, **how, "method": method})
    for name, value in clean.reduced.items():
        other = float(np.asarray(one[name])[0])
        near = 1e-12 if name == "drift" else 1e-5
        assert np.isnan(value) == np.isnan(other) and not abs(value - other) > near * (1 + abs(other)), (name, value, other)
    with tempfile.TemporaryDirectory() as top:
        for share in sorted(rng.uniform(0, 1, 3)):

            def interrupt(t: float, end: float = share * until) -> None:
                if abs(t) > abs(end):
                    raise Interrupted

            with suppress(Interrupted):
                run((Path(top) / "run", LOOKED_AT), progress=interrupt)
        found = run((Path(top) / "run", LOOKED_AT))
    assert list(map(float.hex, found.reduced.values())) == list(map(float.hex, clean.reduced.values()))


ROD = ap.System([x, y], (x.d**2 + y.d**2) / 2, 9.81 * y, {x: -50 * x.d}, [x**2 + y**2 - 1])
CALLS: tuple[tuple[ap.System, dict[Any, float], float, dict[str, Any]], ...] = (
    (ROD, {y: -1.0, x.d: 3.0}, 10.0, {"method": "radau", "rtol": 1e-9}),
    (ROD, {y: -1.0, x.d: 3.0}, 10.0, {"method": "taylor"}),
    (ROD, {y: -1.0, x.d: 3.0}, 10.0, {"method": "dopri5", "rtol": 1e-8}),
    (SWING, {x: 1.0}, 60.0, {"method": "radau", "rtol": 1e-8}),
    *((system, start, until, {"method": method, **how})
      for system, start, until, how in (EVENTFUL[0], EVENTFUL[3])
      for method in ("dop853", "radau", "taylor")),
    *((*EVENTFUL[10][:3], {"method": method}) for method in ("dop853", "radau")),
    (EVENTFUL[1][0], EVENTFUL[1][1], 10.0, {"method": "radau", "rtol": 1e-7}),
)  # fmt: skip


@family(count=len(CALLS), sample=(0,))
def calls_into_compiled_code_change_no_step(seed: int) -> None:
    """How many steps one call into C makes depends on the machine's speed; the motion does not."""
    system, start, until, how = CALLS[seed]
    motions, usual = [], (in_c.FIRST_TRIALS, in_c.TRIALS_GROWTH)
    try:
        for first, growth in ((10**7, 16), (37, 1), (3, 1)):
            in_c.FIRST_TRIALS, in_c.TRIALS_GROWTH = first, growth
            motions.append(ap.simulate(system, start, until, **how))
    finally:
        in_c.FIRST_TRIALS, in_c.TRIALS_GROWTH = usual
    assert all(same(one, motions[0]) for one in motions[1:])


FORGED: tuple[dict[str, Any], ...] = (
    {"t": "nan"}, {"rows": 10**15}, {"rows": -1}, {"z": ["0x1p+0"]}, {"z": "text"}, {"statistics": {}}, {"statistics": [1]},
    {"notes": [["text", {"time": "soon", "kind": [], "constraints": None}]]}, {"notes": 7}, {"status": 99}, {"next_step": {}},
    {"number": 1e400}, {"checksum": ["x"]}, {"count": "__import__('os').getpid()"}, {"t": "0x1p+99999"}, {"implicit": None},
    {"before": [[]]}, {"sigma": True}, {"events": 3}, {"course": {}},
    {"course": {"modes": [["0x0p+0", ["import"], [], [], []]]}},
)  # fmt: skip


@family(count=len(FORGED), sample=(0,))
def forged_pieces_are_not_believed(seed: int) -> None:
    """A foreign state, sealed as ours are, with an entry that no run has written: refused, or the run is made again."""
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "run"
        clean = kept(folder)
        file = folder / "state-000000.json"
        file.write_text(seal({**json.loads(file.read_text(encoding="utf-8")), **FORGED[seed]}), encoding="utf-8")
        found = kept(folder)
        assert np.array_equal(found.t, clean.t) and np.array_equal(found.q, clean.q)
