"""Chains as they are given."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Symbol
from tests.tree.chains import posed, random_chain
from tests.tree.test_system_long import calls

import appell as ap
from appell.tree import ChainLink

FIELDS = {"mass": 1.0, "c": [0, 0, -0.25], "J": [0.1, 0.1, 0.01], "r": [0, 0, -0.5], "e": [0, 1, 0]}


def test_a_link_may_be_the_mapping_of_its_fields():
    q = np.array([0.3, -0.2])
    given, made = ap.Chain([FIELDS, FIELDS]), ap.Chain([ChainLink(**FIELDS)] * 2)
    assert np.array_equal(given.mass_matrix(q), made.mass_matrix(q))


@pytest.mark.parametrize(
    ("link", "message"),
    [({"mass": 1.0}, "link 2 .* no c, J"), ({**FIELDS, "q": 1}, "link 2 .* unknown q"), (3, "link 2 .* not 3")],
)
def test_what_is_no_link_is_refused_by_its_number(link, message):
    with pytest.raises(ap.ModelError, match=message):
        ap.Chain([FIELDS, link])


@pytest.mark.parametrize("parallel", [False, True])
def test_the_work_of_printing_equations_grows_with_the_links(parallel: bool):
    """Twice the links, about twice the calls, though the sums that are printed grow with the square."""
    shown = {K: random_chain(K, parallel=parallel, base="fixed", seed=1) for K in (4, 8, 16)}
    count = {K: calls(lambda chain=chain: str(chain.equations())) for K, chain in shown.items()}  # 4: what is done once
    assert count[16] < 2.6 * count[8]


def test_a_chain_in_angles_is_written_when_it_is_asked_for():
    """(3.14) and (5.2) in angles have the cube of the length in terms, and are not printed beyond three bodies."""
    shown = random_chain(12, parallel=True, base="fixed", seed=1).equations()
    assert "(3.14)" in str(shown) and shown.numbers == ("3.14", "5.1", "5.2", "5.3")
    assert not {"short", "equations", "simplified"} & set(vars(shown))
    assert len(shown.short) == 24 and len(shown.equations) == 12 and len(shown.simplified) == 24


def test_nothing_that_moves_has_no_equations():
    with pytest.raises(ap.ModelError, match="nothing moves in table"):
        ap.Tree([ap.tree.Joint("top", "fixed")], name="table").equations()


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_long_sums_hold(parallel: bool, base: str):
    """Equations of ten bodies, whose sums are added by halves, at the accelerations of the recursive algorithm: the two sides
    differ by rounding of the largest quantity in them."""
    p = posed(random_chain(10, parallel=parallel, base=base, seed=4), 5)
    shown = p.tree.equations()
    known = {Symbol(name, real=True): x for name, x in p.values.items()}
    for item in shown.definitions:
        known[item.left] = item.right.xreplace(known)
    size = max(abs(float(item.right.xreplace(known))) for item in shown.definitions)
    for item in (*shown.equations, *shown.simplified):
        assert abs(float((item.left - item.right).xreplace(known))) < 1e-13 * size
