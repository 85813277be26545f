"""Criteria are written once: what Python decides is what compiled code decides, to the bit."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

from appell.backends.compiler.build import build, reason_against_c
from appell.backends.text.templates import template
from appell.loop.rank_criteria import RANK_CRITERIA, rank_criteria_text
from appell.modes.contact_thresholds import BOUNCE_HEIGHT_UNSEEN, FLIGHT_TIME_UNSEEN
from appell.nonsmooth.criteria import CRITERIA, criteria_text, flight_unseen, slow_rate


@pytest.mark.skipif(reason_against_c() is not None, reason="no C compiler")
@pytest.mark.parametrize("criteria, c", [(CRITERIA, criteria_text), (RANK_CRITERIA, rank_criteria_text)])
def test_c_and_python_are_twins(criteria, c):
    entry = "double value_of(int k, const double *x)"
    counts = [len(inspect.signature(function).parameters) for function in criteria.values()]
    given = [", ".join(f"x[{i}]" for i in range(n)) for n in counts]
    calls = "".join(f"case {k}: return {name}({given[k]});\n" for k, name in enumerate(criteria))
    text = f"#include <math.h>\n{c()}\n{entry}\n{{ switch (k) {{\n{calls}}} return NAN; }}"
    library = build(text, entry + ";", optimise="exact")
    rng = np.random.default_rng(1)
    for k, (name, function) in enumerate(criteria.items()):
        for _ in range(200):
            x = 10.0 ** rng.uniform(-8, 8, counts[k])
            found = library.lib.value_of(k, library.ffi.from_buffer("double[]", x))
            assert found == float(function(*x)), name


def test_a_flight_is_unseen_where_its_rate_is_slow():
    """Both speak of one flight: at ġ = √(2 BOUNCE_HEIGHT_UNSEEN |g̈| noise) it is as high as what counts,
    at FLIGHT_TIME_UNSEEN |g̈| spacing/2 as long."""
    rng = np.random.default_rng(2)
    for _ in range(100):
        pressing, noise, spacing = 10.0 ** rng.uniform(-6, 6, 3)
        rate = slow_rate(0.0, pressing, noise, spacing)
        assert not flight_unseen(1.01 * rate, pressing, noise, spacing)
        assert flight_unseen(0.99 * np.sqrt(2 * BOUNCE_HEIGHT_UNSEEN * pressing * noise), pressing, noise, spacing)
        assert flight_unseen(0.99 * FLIGHT_TIME_UNSEEN * spacing * pressing / 2, pressing, noise, spacing)
        assert not flight_unseen(rate, -pressing, noise, spacing)


@pytest.mark.parametrize("name", ["rank", "rank_pivoted", "rank_sparse"])
def test_the_rank_guard_in_c_has_no_number_of_its_own(name):
    """Its thresholds come from `rank_criteria`; a half makes a matrix symmetric, and 1e-300 keeps from dividing by zero."""
    code = re.sub(r"/\*.*?\*/", "", template(f"loop/{name}.c.in"), flags=re.S)
    assert set(re.findall(r"\b\d+(?:\.\d*(?:e-?\d+)?|e-?\d+)", code)) <= {"0.5", "1e-300"}
