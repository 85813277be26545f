"""Requests that cannot be meant are refused at once, by the name of the argument; a sample of `make fuzz-api`."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest
from tests.hostile.fuzz_api import chosen, fuzz
from tests.hostile.models import VALUES, oscillator, run
from tests.hostile.targets import targets
from tests.hostile.values import OddFloat, OddText

import appell as ap
from appell.errors import AppellError, ModelError
from appell.reading import shown

x = ap.coordinates("x")
ENDLESS = np.broadcast_to(1.0, (10**12,))
MILLION = np.ones(10**6)


@pytest.mark.parametrize(
    "value",
    ["1.0", b"1", True, 1j, np.complex128(2), np.timedelta64(1, "s"), np.datetime64("2020"), None, [1.0, 2.0],
     10**400, Decimal("1e400"), OddFloat(RuntimeError), OddFloat("1"), float("nan"), object()],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_start_a_parameter_and_a_tolerance_refuse_the_same(value):
    with pytest.raises(ModelError, match="start value of x"):
        ap.simulate(oscillator(), {x: value}, 1.0, VALUES)
    with pytest.raises(ModelError, match="parameter 'k'"):
        ap.simulate(oscillator(), {x: 1.0}, 1.0, {**VALUES, "k": value})
    with pytest.raises(ModelError, match="rtol="):
        ap.simulate(oscillator(), {x: 1.0}, 1.0, VALUES, rtol=value)
    with pytest.raises(ModelError, match="until="):
        ap.simulate(oscillator(), {x: 1.0}, value, VALUES)


def test_a_relative_tolerance_is_a_share():
    for rtol in (1, 10, 1e9, 0, -1):
        for ask in (ap.simulate, ap.simulate_many):
            with pytest.raises(ModelError, match="rtol="):
                ask(oscillator(), {x: 1.0}, 1.0, VALUES, rtol=rtol)


SIZES = {
    "names": lambda: ap.coordinates("q1:99999999"),
    "names of names": lambda: ap.parameters("a:z0:9:9:9"),
    "starts": lambda: ap.simulate_many(oscillator(), {x: ENDLESS}, 1.0, VALUES, step=0.1),
    "parameters": lambda: ap.simulate_many(oscillator(), {x: 1.0}, 1.0, {**VALUES, "k": ENDLESS}, step=0.1),
    "combinations": lambda: ap.simulate_many(oscillator(), {x: MILLION, x.d: MILLION}, 1.0, VALUES, product=True),
    "outer": lambda: ap.outer({"x": MILLION}, {"y": MILLION}),
    "times": lambda: ap.simulate(oscillator(), {x: 1.0}, 1.0, VALUES, times=ENDLESS),
    "basin": lambda: ap.basin(oscillator(), {"x": MILLION, "x.d": MILLION}, {}, VALUES, period=1.0),
    "diagram": lambda: ap.bifurcation_diagram(oscillator(), {"k": ENDLESS}, {x: 1.0}, {"m": 1.0, "c": 1.0}, period=1.0),
    "inertia": lambda: ap.RigidBody(1, ENDLESS, [x], 0),
    "axis": lambda: ap.tree.place(ENDLESS),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_beyond_memory_are_refused_with_the_size(name):
    with pytest.raises(ModelError, match=r"\d{7,}|\d+ × \d+|stands for"):
        SIZES[name]()


@pytest.mark.parametrize(
    "ask", [lambda n: ap.simulate(oscillator(), {x: 1.0}, 1.0, VALUES, times=n), lambda n: x ^ n, lambda n: x.diff(ap.t, n)]
)
def test_whole_numbers_of_thousands_of_digits_are_refused_by_their_length(ask):
    """Python refuses to print them, and a derivative for each of them would fill the memory."""
    with pytest.raises(ModelError, match="a whole number of about 5001 digits"):
        ask(10**5000)


def test_a_sweep_of_a_million_million_runs_is_refused(tmp_path):
    with pytest.raises(ModelError, match="1000000 × 1000000 = 1000000000000 runs"):
        ap.sweep(oscillator(), {"k": MILLION, "x": MILLION}, {}, 1.0, {"m": 1.0, "c": 1.0}, store=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_values_in_messages_are_short_whatever_they_are():
    many = (
        np.zeros(10**6),
        "x" * 10**6,
        10**5000,
        list(range(10**5)),
        OddText(),
        {k: k for k in range(1000)},
        [np.zeros(99)] * 99,
    )
    for value in many:
        assert len(shown(value)) <= 110
    with pytest.raises(AppellError) as caught:
        ap.Tree([ap.tree.Joint("x" * 10**6)]).frame("y" * 10**6)
    assert len(str(caught.value)) < 4000


def test_the_modules_of_simulate_can_be_imported_by_name():
    for before in ("", "import appell; appell.simulate; "):
        code = f"{before}import appell.simulate.methods as m, appell; assert m.register and callable(appell.simulate)"
        subprocess.run([sys.executable, "-c", code], check=True)


def test_a_table_has_one_row_a_sample_with_impacts_too(tmp_path):
    example = ap.zoo.bouncing_ball()
    motion = ap.simulate(example.system, example.start, 3.0, example.parameters)
    assert len(motion.impacts) > 1
    table = np.loadtxt(motion.to_csv(tmp_path / "m.csv"), delimiter=",", skiprows=1)
    names = (tmp_path / "m.csv").read_text().splitlines()[0].split(",")
    assert table.shape == (len(motion.t), len(names)) and names[:3] == ["t", "z", "z_d"]
    np.testing.assert_array_equal(table[:, 0], motion.t)
    np.testing.assert_array_equal(table[:, 1], motion["z"])
    motion.save(tmp_path / "m.nc")
    assert ap.load(tmp_path / "m.nc").to_csv(tmp_path / "n.csv").read_text() == (tmp_path / "m.csv").read_text()
    pytest.importorskip("pandas")
    frame = motion.to_pandas()
    assert frame.index.name == "t" and len(frame) == len(motion.t)


OF_A_RUN = {
    "simulate": lambda p: ap.simulate(run(), {x: 1.0}, 0.1, p),
    "simulate_many": lambda p: ap.simulate_many(run(), {x: 1.0}, 0.1, p),
    "variations": lambda p: ap.variations(run(), {x: 1.0}, 0.1, p),
    "poincare": lambda p: ap.poincare(run(), x.d, {x: 1.0}, parameters=p),
    "lyapunov": lambda p: ap.lyapunov(run(), {x: 1.0}, 2.0, p),
    "periodic_orbit": lambda p: ap.periodic_orbit(run(), guess={x: 1.0}, parameters=p),
}


@pytest.mark.parametrize("name", OF_A_RUN)
def test_other_parameters_of_a_compiled_run_are_refused(name):
    """They were not looked at, and the answer was that of the old ones."""
    with pytest.raises(ModelError, match="compiled with its parameters"):
        OF_A_RUN[name]({**VALUES, "k": 9.0})


def test_more_fixed_steps_than_a_run_may_make_are_refused_with_their_number():
    for until in (1e12, -1e300):
        for ask in (ap.simulate, ap.simulate_many):
            with pytest.raises(ModelError, match=r"e\+\d+ steps of 0.01 s lie between .* max_steps= allows 10000000"):
                ask(run(), {x: 1.0}, until, step=0.01)
    assert ap.simulate(run(), {x: 1.0}, 0.1, step=0.01, max_steps=10).ok


def test_matrices_that_overflow_are_an_error_of_ours():
    with np.errstate(all="ignore"):
        assert ap.equilibrium(oscillator(), {x: 5e-324}, VALUES)[x] == pytest.approx(0, abs=1e-300)
        with pytest.raises(AppellError, match="choose units"):
            ap.equilibrium(oscillator(), {x: 5e-324}, {**VALUES, "k": 1e300})


def test_what_the_fuzzer_damages_works_undamaged():
    """Else every call would be refused, whatever it contains."""
    refused = ("from_sympy", "from_urdf")
    for name in [name for name, one in targets().items() if one.weight >= 1 and name not in refused]:
        targets()[name].call(**targets()[name].arguments)


def test_a_sample_of_hostile_calls():
    tally = fuzz(0, 400)
    assert tally.made == 400 and tally.wrong == {}


def test_a_call_is_a_function_of_its_number():
    assert [chosen(n)[0] + chosen(n)[3] for n in range(50)] == [chosen(n)[0] + chosen(n)[3] for n in range(50)]
