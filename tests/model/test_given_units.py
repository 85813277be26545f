"""Quantities of pint, and records of pandas and xarray: numbers in SI at the edge, units in what comes out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pint
import pytest
import xarray as xr

import appell as ap

Q_ = pint.UnitRegistry().Quantity
x = ap.coordinates("x")
m, k = ap.parameters("m k", positive=True)
SPRING = ap.System([x], m * x.d**2 / 2, k * x**2 / 2)
VALUES = {m: Q_(500, "g"), k: Q_(2, "N/mm")}


def test_many_runs_and_sweeps_take_quantities(tmp_path):
    plain = ap.simulate_many(SPRING, {x: [0.01, 0.02]}, 0.1, {m: 0.5, k: 2000.0})
    given = ap.simulate_many(SPRING, {x: Q_(np.array([10.0, 20.0]), "mm")}, Q_(100, "ms"), VALUES)
    np.testing.assert_allclose(given["x"], plain["x"], rtol=1e-13)
    assert given.dataset["x"].attrs["units"] == "m" and given.dataset["x_d"].attrs["units"] == "m/s"
    assert plain.dataset["x"].attrs["units"] == "SI"
    over = {m: Q_(np.array([500.0, 700.0]), "g")}
    swept = ap.sweep(SPRING, over, {x: 0.01}, Q_(100, "ms"), {k: 2000.0}, store=tmp_path / "s", threads=1)
    np.testing.assert_allclose(swept["x"][0], plain["x"][0], rtol=1e-13)
    assert swept.dataset["m"].attrs["units"] == "kg"


def test_compiled_runs_take_quantities():
    assert ap.compile(SPRING, VALUES, backend="vm").acceleration(0.0, [0.01], [0.0])[0] == pytest.approx([-40.0])
    with pytest.raises(ap.ModelError, match="do not fit"):
        ap.simulate_many(SPRING, {x: Q_(1, "m")}, 1.0, {m: Q_(1, "m"), k: Q_(1, "N/m")})


def test_records_of_pandas_and_xarray_with_units():
    times = np.linspace(0, 1, 6)
    values = np.sin(times)
    wanted = ap.sampled(times, values)
    assert ap.sampled(pd.Series(values, index=times)) == wanted
    axis = ("time", times * 1000, {"units": "ms"})
    array = xr.DataArray(values * 1000, {"time": axis}, ["time"], attrs={"units": "mm"})
    near = ap.sampled(array)
    at = lambda record: next(float(one.record.samples[1][3]) for one in record.free_symbols if hasattr(one, "record"))
    assert at(near) == pytest.approx(at(wanted), rel=1e-14)
    assert at(ap.sampled(Q_(times * 1000, "ms"), Q_(values * 100, "cm"))) == pytest.approx(at(wanted), rel=1e-14)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([0, 1],), "takes times and values"),
        ((Q_(np.array([0.0, 1.0]), "m"), [0, 1]), "not a unit of time"),
        ((xr.DataArray([0.0, 1.0], {"s": ("s", [0.0, 1.0], {"units": "m"})}, ["s"]),), "not a unit of time"),
        ((xr.DataArray([0.0, 1.0], {"s": ("s", [0.0, 1.0])}, ["s"], attrs={"units": "__import__('os')"}),), "not a unit"),
        ((xr.DataArray([0.0, 1.0], {"s": ("s", [0.0, 1.0])}, ["s"], attrs={"units": 3}),), "is a text"),
    ],
)
def test_records_that_are_none(given, message):
    with pytest.raises(ap.ModelError, match=message):
        ap.sampled(*given)
