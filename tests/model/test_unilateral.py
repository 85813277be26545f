"""What a person may write as a unilateral constraint, and what is refused with which words."""

import pickle

import pytest
from sympy import Rational, Symbol, acos, cos, exp, sin, sqrt

from appell.errors import ConstraintError, ModelError
from appell.jets import coordinates, parameters, t
from appell.model import Between, Constraint, System, Unilateral

x, y, other = coordinates("x y other")
m, R, e = parameters("m R e", positive=True)
T = m * (x.d**2 + y.d**2) / 2


def system(*constraints):
    return System([x, y], T, constraints=constraints)


def test_faces_in_order_and_bilateral_constraints_as_before():
    rod = Constraint(y - x**3, name="rod")
    thread = Unilateral(R - sqrt(x**2 + y**2), name="thread", restitution=e)
    stop = Between(-1, x, R, name="stop", restitution=Rational(1, 2))
    s = system(thread, rod, stop)
    assert s.constraints == (rod,) and s.residuals == (y - x**3,)
    assert [f.name for f in s.unilateral] == ["thread", "stop:lower", "stop:upper"]
    assert [f.function for f in s.unilateral] == [thread.function, x + 1, R - x]
    assert [f.restitution for f in s.unilateral] == [e, Rational(1, 2), Rational(1, 2)]
    assert [f.source for f in s.unilateral] == [thread, stop, stop]
    assert s.parameters == (R, e, m)


def test_faces_are_found_by_name_by_themselves_and_by_their_source():
    wall, stop = Unilateral(x, "wall"), Between(-1, y, 1, "stop")
    s = system(stop, wall)
    assert s.face("wall") == s.face(wall) == s.face(s.unilateral[2]) == 2
    assert s.faces(stop) == s.faces("stop") == (0, 1) and s.face("stop:upper") == 1
    with pytest.raises(ModelError, match="two faces; name 'stop:lower' or 'stop:upper'"):
        s.face(stop)
    with pytest.raises(ModelError, match=r"'ceiling' is not a unilateral constraint.*'wall'"):
        s.face("ceiling")


def test_a_single_constraint_an_inequality_and_a_replacement_are_understood():
    s = System([x, y], T, constraints=Unilateral(x >= R, name="wall"))
    assert s.unilateral[0].function == x - R
    assert Unilateral(x <= R).function == R - x
    assert s.replace(name="again").unilateral == s.unilateral
    assert s.replace(constraints=s.constraints).unilateral == ()
    assert pickle.loads(pickle.dumps(s.unilateral)) == s.unilateral


def test_an_inverse_of_a_chart_is_a_function_or_an_expression_in_a_symbol_of_its_own():
    z = Symbol("z")
    one = Unilateral(cos(x) - y, chart={x: lambda s: acos(s + y)}).chart
    two = Unilateral(cos(x) - y, chart={x: acos(z + y)}).chart
    assert one == two and one.coordinate == x  # type: ignore[union-attr]


REFUSED = [
    (lambda: Unilateral(x.d, "w"), "'w' contains x.d: .* restricts positions"),
    (lambda: Unilateral(R - 1, "w"), "'w' contains no coordinate"),
    (lambda: Unilateral(other - 1, "w"), "'w' contains other, but other is missing from coordinates="),
    (lambda: Unilateral(Symbol("k") * x - 1, "w"), "'w' contains the unknown symbol 'k'"),
    (lambda: Unilateral(x**2 + 1, "w"), "'w' is never reached"),
    (lambda: Unilateral(-exp(x) - 1, "w"), "'w' is never satisfied"),
    (lambda: Unilateral(sin(x) + 2, "w"), "'w' is never reached: f is positive at every state tried"),
    (lambda: Unilateral(sin(x * t) - 2, "w"), "'w' is never satisfied: f is negative at every state tried"),
    (lambda: Unilateral(x**2, "w"), "'w' has a vanishing gradient on f = 0"),
    (lambda: Unilateral((x - 1) ** 3, "w"), "'w' has a vanishing gradient on f = 0"),
    (lambda: Unilateral(1 - cos(x), "w"), "'w' has a vanishing gradient on f = 0"),
    (lambda: Unilateral(x**2 * (x - 1), "w"), "'w' has a vanishing gradient on f = 0"),
    (lambda: Between(-1, sin(x), R, "w"), "'w:lower' has a vanishing gradient"),
    (lambda: Unilateral(x, "w", 1.2), "restitution of unilateral constraint 'w' is 1.2; it must lie in"),
    (lambda: Unilateral(x, "w", -0.1), "must lie in"),
    (lambda: Unilateral(x, "w", float("nan")), "must lie in"),
    (lambda: Unilateral(x, "w", y), "contains y; it is a number"),
    (lambda: Between(1, x, 1, "w"), "'w': lower = 1 is not below upper = 1"),
    (lambda: Between(2, x, 1, "w"), "lower = 2 is not below upper = 1"),
    (lambda: Between(R, x, R - 1, "w"), "is not below"),
    (lambda: Between(0, R, 1, "w"), "'w' contains no coordinate"),
    (lambda: Unilateral(x, "w", chart=y), "names y, which f does not contain"),
    (lambda: Unilateral(x, "w", chart="x"), "must be a coordinate"),
    (lambda: Unilateral(x, "w", chart={x: lambda s: 1}), "does not contain s"),
    (lambda: Unilateral(x, "w", chart={x: lambda s: s * x}), "contains x itself"),
    (lambda: Unilateral("x", "w"), "must be a SymPy expression"),
    (lambda: Unilateral(x > R, "w"), "'w': .* leaves out the contact itself; write it with >="),
]


@pytest.mark.parametrize(("make", "words"), REFUSED)
def test_what_cannot_be_meant_is_refused(make, words):
    with pytest.raises(ModelError, match=words):
        system(make())


@pytest.mark.parametrize(
    "f", [x, R - x, x - 1000, y - R * sin(t), R * sin(y) + cos(x), x * y, 100 - x**2, exp(5 * x) - 1, sqrt(x**2 + y**2) - R]
)
def test_what_can_be_meant_is_accepted(f):
    assert system(Unilateral(f)).unilateral[0].function == f


def test_names_are_unique_over_all_constraints():
    with pytest.raises(ModelError, match="two constraints are called 'w'"):
        system(Constraint(x - y**3, name="w"), Unilateral(y, "w"))
    with pytest.raises(ModelError, match="two constraints are called 'w'"):
        system(Unilateral(x, "w"), Unilateral(y, "w"))
    with pytest.raises(ModelError, match="two constraints are called 'w:lower'"):
        system(Between(0, x, 1, "w"), Unilateral(y, "w:lower"))


def test_two_symbols_of_one_name_are_seen_through_a_face():
    with pytest.raises(ModelError, match="two different symbols are called 'R'"):
        System([x, y], T * R, constraints=[Unilateral(x - parameters("R"), "w")])


def test_an_error_names_its_class():
    with pytest.raises(ConstraintError):
        Unilateral(x.d)
