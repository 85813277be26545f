"""Requests of `ap.fit` that cannot be met end with a sentence that names the culprit."""

from __future__ import annotations

import numpy as np
import pytest
from tests.optimize.coverage import pendulum

import appell as ap

theta = ap.coordinates("theta")
m, l, g, c = ap.parameters("m l g c", positive=True)
TIMES = np.linspace(0.0, 5.0, 120)
VALUES = {m: 1.3, l: 0.8, g: 9.81, c: 0.07}


@pytest.fixture(scope="module")
def system():
    return pendulum()[0]


WRONG = [
    ({"unknown": ["lenght"]}, "lenght"),
    ({"unknown": []}, "names nothing"),
    ({"unknown": [l, l]}, "twice"),
    ({"parameters": {m: 1, g: 9.81, c: 0.1}}, "l needs a first guess"),
    ({"bounds": {l: (2, 3)}}, "outside its bounds"),
    ({"bounds": {g: (2, 3)}}, "not among the unknowns"),
    ({"bounds": {l: (3, 2)}}, "least < largest"),
    ({"data": {theta: [1.0, 2.0]}}, "no times"),
    ({"data": {"t": [0.0, 1.0]}}, "nothing measured"),
    ({"data": {"t": [0.0, 1.0], theta: [1.0, 2.0, 3.0]}}, "shape"),
    ({"data": {"t": [0.0, 0.0], theta: [1.0, 2.0]}}, "two samples"),
    ({"data": {"t": [-1.0, 1.0], theta: [1.0, 2.0]}}, "since"),
    ({"data": {"t": [0.0, 1.0], theta: [1.0, np.inf]}}, "infinite"),
    ({"data": {"t": [0.0, 1.0], "tehta": [1.0, 2.0]}}, "did you mean"),
    ({"data": {"t": [0.0, 1.0], theta: ["a", "b"]}}, "theta"),
    ({"data": 3}, "DataFrame"),
    ({"loss": "l1"}, "loss"),
    ({"noise": {theta: 0}}, "above zero"),
    ({"noise": {theta.d: 1}}, "not measured"),
    ({"held_out": 1.5}, "held_out"),
    ({"start": [{theta: 1.0}, {theta: 1.0}]}, "one for all"),
]


@pytest.mark.parametrize("change, message", WRONG)
def test_wrong_requests_name_the_culprit(system, change, message):
    asked = {"data": {"t": TIMES, theta: np.cos(TIMES)}, "unknown": [l], "start": {theta: 1.0}, "parameters": VALUES}
    with pytest.raises(ap.AppellError, match=message):
        ap.fit(system, **{**asked, **change})
