"""Appell's form on the zoo, on the hard cases of its kinematics, and on bad input."""

from __future__ import annotations

import pytest
import sympy
from benchmarks.page_problems import PROBLEMS
from sympy import cos, sin
from tests.forms.judging import disagreement, zero

from appell import zoo
from appell.errors import FormNotApplicable, ModelError
from appell.forms import FORMS, appell
from appell.forms.engine.pseudo import PseudoVelocities, suggest
from appell.jets import coordinates, parameters, t
from appell.model import Constraint, Particle, System

x, y, z = coordinates("x y z")
k = parameters("k", positive=True)
NAMES = [name for name in zoo.ALL if name not in ("constant_acceleration", "heavy_top_quaternion")]
AFFINE = [
    Constraint((1 + y**2) * x.d + t * z.d - x * cos(t), name="affine"),  # rheonomic, with a free term
]
KINETIC = (2 + sin(y * t)) * x.d**2 / 2 + y.d**2 + (1 + x**2) * z.d**2 / 2 + x.d * y.d * cos(z) / 3 + t * y * z.d


def rheonomic(constraints=AFFINE, **given) -> System:
    return System([x, y, z], KINETIC, potential=k * x * y, forces={z: -z.d}, constraints=constraints, **given)


@pytest.mark.parametrize("name", NAMES)
def test_three_versions_agree_with_the_judge(name):
    example = zoo.ALL[name]()
    chosen = suggest(example.system)
    for options in ({}, {"pseudo": example.pseudo or chosen}, {"independent": list(chosen.values())}):
        assert disagreement(appell(example.system, **options), example.parameters) < 1e-9, options


@pytest.mark.parametrize(
    "pseudo",
    [
        {"u": y.d + x * z.d + t * y, "w": (2 + cos(x)) * z.d + 1 + t**2},  # free terms and time
        {"u": y.d + y.d**3, "w": z.d},  # nonlinear: only the Jacobian is explicit
    ],
)
def test_free_terms_time_and_nonlinear_pseudo_velocities(pseudo):
    assert disagreement(appell(rheonomic(), pseudo=pseudo), {k: 0.7}) < 1e-10


def test_lost_free_term_is_seen():
    """The judge sees a free term that is dropped: π̇ = ẏ + t y and π̇ = ẏ are different definitions of π̈."""
    form = appell(rheonomic(), pseudo={"u": y.d + t * y, "w": z.d})
    u = form.objects["pseudo"].speeds[0]
    assert zero(form.definitions[u] - y.d - t * y)
    assert form.objects["pseudo"].second[0] - y.dd - t * y.d - y == 0


def test_pseudo_accelerations_for_a_second_order_constraint():
    system = rheonomic([Constraint((2 + x) * x.dd + y * z.dd + y.d**2 - k, name="second")])
    form = appell(system, pseudo={"u": z.dd + x.d * x.dd, "w": y.dd + t})
    assert form.objects["pseudo"].speeds == ()
    assert disagreement(form, {k: 0.7}) < 1e-10
    with pytest.raises(ModelError, match="linear"):
        appell(system, pseudo={"u": z.dd**3, "w": y.dd})
    with pytest.raises(ModelError, match="mixed"):
        appell(system, pseudo={"u": z.dd, "w": y.d})


def test_redundant_rows_share_the_reaction():
    """Twice the same row: the accelerations are those of one, and Λ is the shortest."""
    blade = AFFINE[0].residual
    doubled = rheonomic([Constraint(blade, name="one"), Constraint(2 * blade, name="two")])
    for options in ({}, {"independent": [y, z]}, {"pseudo": {"u": y.d, "w": z.d + t * y}}):
        assert disagreement(appell(doubled, **options), {k: 0.7}) < 1e-9


def test_own_reaction_direction_needs_multipliers():
    servo = Constraint(x.d - y.d, name="servo", reaction={z: 1, x: 1})
    system = rheonomic([servo])
    assert disagreement(appell(system), {k: 0.7}) < 1e-10
    with pytest.raises(FormNotApplicable, match=r"'servo' has a reaction direction"):
        appell(system, independent=[y, z])


def test_nothing_moves_where_constraints_fix_everything():
    system = System([x], x.d**2 / 2, forces={x: k}, constraints=[Constraint(x - sin(t), name="given motion")])
    form = appell(system, pseudo={})
    assert form.equations == () and disagreement(form, {k: 0.7}) < 1e-12


def test_bad_pseudo_velocities_are_named():
    example = zoo.skate()
    x, y, phi = example.system.coordinates
    with pytest.raises(FormNotApplicable, match=r"'v'.*constraint 'blade'.*dependent"):
        appell(example.system, pseudo={"u": phi.d, "v": 3 * phi.d + x.d * sin(phi) - y.d * cos(phi)})
    with pytest.raises(FormNotApplicable, match="not both"):
        appell(example.system, pseudo=example.pseudo, independent=[x, phi])
    with pytest.raises(ModelError, match="already taken"):
        appell(example.system, pseudo={"l": x.d, "w": phi.d})
    with pytest.raises(ModelError, match="contains no velocity"):
        appell(example.system, pseudo={"u": x, "w": phi.d})
    with pytest.raises(ModelError, match="not a symbol of"):
        appell(example.system, pseudo={"u": coordinates("s").d, "w": phi.d})
    with pytest.raises(ModelError, match="which is not a coordinate"):
        appell(example.system, independent=[coordinates("s"), phi])


def test_provenance_says_where_S_comes_from():
    assert "Tsenov" in appell(zoo.skate().system).provenance
    assert "bodies" in appell(zoo.euler_body().system).provenance
    both = System([x], kinetic=x.d**2, bodies=[Particle(1, [x])])
    assert "apart" in appell(both).provenance
    assert zero(appell(both).S - sympy.Rational(3, 2) * x.dd**2)


def test_suggested_velocities_are_well_conditioned():
    """The skate: ẋ and ẏ are not both taken, and φ̇ always is."""
    chosen = suggest(zoo.skate().system)
    assert "pi_phi" in chosen and len(chosen) == 2
    pseudo = PseudoVelocities.of(zoo.snakeboard().system, suggest(zoo.snakeboard().system))
    assert pseudo.n == 3


def test_s_is_as_short_as_the_equations():
    """S of Chaplygin's ball was 8,051 characters beside equations of 939."""
    system = PROBLEMS["Chaplygin's ball"]().system
    form = FORMS["appell"]
    equations = form(system, pseudo=form.default(system.symbolic(), "pseudo"))
    assert len(str(equations.S)) < 1200 < len(str(equations.objects["S"]))
    at = {s: 0.3 + 0.07 * k for k, s in enumerate(sorted(equations.objects["S"].free_symbols, key=str))}
    unit = [s for s in at if str(s) in ("q_w", "q_x", "q_y", "q_z")]
    size = sum(at[s] ** 2 for s in unit) ** 0.5
    at |= {s: at[s] / size for s in unit}
    long, short = (float(sympy.N(e.xreplace(at))) for e in (equations.objects["S"], equations.S))
    assert abs(long - short) < 1e-12 * abs(long)
