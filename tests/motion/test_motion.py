"""A motion is read, verified, refined, stored and loaded. Its states are closed forms here, so that no integrator is
needed, and the run behind it solves the saddle point by `numpy.linalg.solve`."""

from types import SimpleNamespace

import numpy as np
import pytest
import sympy
import xarray as xr
from sympy import cos, sin, sqrt

import appell as ap
from appell.backends import AppellWarning
from appell.errors import BackendUnavailable, ModelError, SingularConfiguration, Status
from appell.jets import coordinates, parameters, speeds
from appell.jets import t as time
from appell.model import Constraint, System
from appell.model.attitudes import Quaternion
from appell.model.bodies import RigidBody
from appell.motion import storage
from appell.motion.loaded_motion import LoadedMotion
from appell.motion.motion import Motion, State
from appell.normal_form import normal_form
from appell.zoo.skate import skate

ROUNDING = 1e-12  # closed forms of size 10 to 100 at 2e-16 each


class PlainRun:
    """What `Motion` asks of a run, by the shortest route that shares nothing with the compiled one."""

    schedule = None  # of measured records

    def __init__(self, system, values):
        self.system, self.parameters = system, dict(values)
        self.p = np.array([values[s] for s in system.parameters])
        self.policies = SimpleNamespace(redundant=())
        self.form = normal_form(system)

    def acceleration(self, t, q, v):
        if np.ndim(q) == 2:
            pairs = [self.acceleration(*state) for state in zip(t, q, v, strict=True)]
            return np.array([a for a, _ in pairs]), np.array([lam for _, lam in pairs])
        b = self.form.select("M", "h", "Q", "A", "a0", "W")(t, q, v, self.p)
        m = len(b["a0"])
        K = np.block([[b["M"], -b["W"]], [b["A"], np.zeros((m, m))]])
        try:
            x = np.linalg.solve(K, np.concatenate([b["Q"] - b["h"], -b["a0"]]))
        except np.linalg.LinAlgError:
            raise SingularConfiguration("singular", time=t) from None
        return x[: self.system.nv], x[self.system.nv :]

    def evaluate(self, t, q, v, names):
        fn = self.form.select(*names)
        rows = [fn(*state, self.p) for state in zip(t, q, v, strict=True)]
        return {name: np.array([row[name] for row in rows]) for name in names}

    def values(self, expr, t, q, v):
        s = self.system
        a = self.acceleration(t, q, v)[0]
        fn = sympy.lambdify([time, *s.coordinates, *s.velocities, *s.accelerations, *s.parameters], expr)
        return fn(t, *q.T, *v.T, *a.T, *self.p)


# -- the skate: φ = t, π̇ = g cos φ + γ, everything known ---------------------------------------------------------------

G, GAMMA = 9.81, 1 - 9.81


def skate_state(t):
    phi, speed = t, G * np.cos(t) + GAMMA
    x = G * phi / 2 + (GAMMA + G * np.cos(phi) / 2) * np.sin(phi)
    y = -(GAMMA + G * np.cos(phi) / 2) * np.cos(phi) + GAMMA + G / 2
    q = np.stack([x, y, phi], axis=-1)
    v = np.stack([speed * np.cos(phi), speed * np.sin(phi), np.ones_like(t)], axis=-1)
    return q, v, np.zeros_like(t)


def skate_motion(t=None, sampler=skate_state, **options):
    example = skate()
    t = np.linspace(0, 10, 41) if t is None else t
    q, v, work = skate_state(t)
    statistics = {"steps": 40, "rejected": 2, "evaluations": 500, "largest_defect": 3e-9}
    options = {"statistics": statistics, "method": "exact", "tolerances": {"rtol": 1e-9}, **options}
    return Motion(
        run=PlainRun(example.system, example.parameters), t=t, q=q, v=v, work=work, sampler=sampler, **options
    )  # fmt: skip


@pytest.fixture
def motion():
    return skate_motion()


def test_values_by_symbol_name_and_expression(motion):
    x, y, phi = motion.system.coordinates
    g = next(p for p in motion.parameters if str(p) == "g")
    q, v, _ = skate_state(motion.t)
    speed = G * np.cos(motion.t) + GAMMA
    np.testing.assert_array_equal(motion[x], q[:, 0])
    np.testing.assert_array_equal(motion["y.d"], v[:, 1])
    np.testing.assert_array_equal(motion[x, phi.d], np.stack([q[:, 0], v[:, 2]], axis=1))
    np.testing.assert_allclose(motion[sqrt(x.d**2 + y.d**2)], np.abs(speed), atol=ROUNDING)
    np.testing.assert_allclose(motion[x.dd], -G * np.sin(motion.t) * np.cos(motion.t) - speed * np.sin(motion.t), atol=1e-11)
    np.testing.assert_allclose(motion[2 * g * time], 2 * G * motion.t)
    np.testing.assert_array_equal(motion[sympy.Integer(3)], np.full(41, 3.0))
    np.testing.assert_array_equal(motion[time], motion.t)
    assert len(motion) == 41


def test_reaction_is_the_closed_form_by_object_and_name(motion):
    lam = -2 * (2 * G * np.cos(motion.t) + GAMMA)
    blade = motion.system.constraints[0]
    np.testing.assert_allclose(motion.reaction(blade), lam, atol=1e-11)
    np.testing.assert_array_equal(motion.reaction("blade"), motion.multipliers[:, 0])
    with pytest.raises(ModelError, match="not a constraint of skate; it has: 'blade'"):
        motion.reaction("wheel")


def test_energy_balance_and_residual_of_an_exact_motion_vanish(motion):
    np.testing.assert_allclose(motion.energy, 1.25, atol=1e-11)
    assert np.abs(motion.balance).max() < 1e-11
    assert np.abs(motion.energy_error).max() < ROUNDING
    assert motion.residual.shape == (41,) and motion.residual.max() < ROUNDING
    assert motion.drift.position == 0.0 and motion.drift.velocity < ROUNDING and motion.drift.before == 3e-9


def test_a_state_off_the_constraint_is_seen(motion):
    v = motion.v.copy()
    v[7] += [0, 1e-5, 0]  # the blade slips by 1e-5 cos φ
    off = Motion(run=motion.run, t=motion.t, q=motion.q, v=v, work=motion.work)
    slip = 1e-5 * abs(np.cos(motion.t[7]))
    assert off.residual[7] == pytest.approx(slip, rel=1e-6) and off.drift.velocity == pytest.approx(slip, rel=1e-6)
    assert np.argmax(np.abs(off.balance)) == 7


def test_unknown_symbols_are_named_with_what_was_meant(motion):
    z, c, other = coordinates("z"), parameters("c"), sympy.Symbol("x")
    for key in (z, z.d, motion.system.coordinates[0] + z, c, other):
        with pytest.raises(ModelError, match=r"skate has no '(z|z\.d|c|x)'"):
            motion[key]
    with pytest.raises(ModelError, match=r"did you mean phi\.d"):
        motion["phi_d"]
    for key in (0, slice(3), 2.0):
        with pytest.raises(ModelError, match="read by symbols"):
            motion[key]


def test_other_times_in_any_order(motion):
    times = np.array([7.3, 0.1, 10.0, 0.1])
    there = motion.at(times)
    np.testing.assert_array_equal(there.t, times)
    np.testing.assert_array_equal(there.q, skate_state(times)[0])
    assert np.abs(there.balance).max() < 1e-11
    assert motion.at(3.0).q.shape == (1, 3)
    for bad in (-0.1, 10.1, np.nan):
        with pytest.raises(ModelError, match="outside the run from 0 to 10 s"):
            motion.at([1.0, bad])
    with pytest.raises(ModelError, match="times="):
        skate_motion(sampler=None).at(1.0)


def test_the_sampler_is_asked_in_the_order_of_the_run():
    asked = []
    backwards = skate_motion(np.linspace(5, 0, 6), sampler=lambda t: asked.append(t) or skate_state(t))
    times = np.array([1.0, 4.0, 2.0])
    np.testing.assert_array_equal(backwards.at(times).q, skate_state(times)[0])
    np.testing.assert_array_equal(asked[0], [4.0, 2.0, 1.0])


def test_release_finds_both_sign_changes_of_a_coarse_interval():
    first = np.arccos(-GAMMA / (2 * G))
    expected = [first, 2 * np.pi - first, 2 * np.pi + first]
    np.testing.assert_allclose(skate_motion().release("blade"), expected, atol=1e-10)
    coarse = skate_motion(np.array([0.0, 2 * np.pi, 10.0]))  # Λ < 0 at both ends of the first interval
    np.testing.assert_allclose(coarse.release("blade"), expected, atol=1e-10)


def test_release_reads_no_sign_out_of_rounding():
    x, y = coordinates("x y")
    system = System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=[Constraint(y, name="floor"), Constraint(x, name="w")])
    t = np.linspace(0, 1, 5)
    zeros = lambda t: (np.zeros((len(t), 2)), np.zeros((len(t), 2)), np.zeros(len(t)))
    q, v, work = zeros(t)
    motion = Motion(run=PlainRun(system, {}), t=t, q=q, v=v, work=work, sampler=zeros)
    noise = lambda t, q, v: (np.zeros((len(t), 2)), np.stack([1e-16 * np.cos(50 * t), np.ones_like(t)], axis=1))
    motion.run.acceleration = noise
    assert motion.release("floor").shape == (0,)


def test_final_state_and_immutability(motion):
    x, y, phi = motion.system.coordinates
    assert motion.final == dict(zip((x, y, phi, x.d, y.d, phi.d), (*motion.q[-1], *motion.v[-1]), strict=True))
    with pytest.raises(ValueError, match="read-only"):
        motion.q[0] = 1
    values = motion[x]
    values[:] = 7  # a copy
    assert motion[x][0] == 0
    with pytest.raises(ModelError, match=r"q of shape \(3, 3\)"):
        Motion(run=motion.run, t=np.zeros(3), q=np.zeros((3, 2)), v=np.zeros((3, 3)), work=np.zeros(3))


def test_verification_says_how_a_run_ended(motion):
    text = str(motion.verify())
    for part in ("finished", "41, t = 0 … 10 s", "40 steps", "energy balance", "3.0e-09 before projection"):
        assert part in text
    failed = skate_motion(status=Status.SINGULAR, message="singular at t = 10")
    assert not failed.ok and motion.ok
    assert "singular at t = 10" in str(failed) and "SINGULAR" in repr(failed) and "skate" in failed._repr_html_()
    with pytest.raises(ModelError, match="ended with SINGULAR"):
        failed.at(11.0)


# -- energy --------------------------------------------------------------------------------------------------------------


def drag_motion(t, work_share=1.0, lift=0.0, origin=None):
    """m v̇ = −c v with m = 2, c = 1, v(0) = 3; the drag's work is T − T(0)."""
    x, (m, c) = coordinates("x"), parameters("m c", positive=True)
    system = System([x], kinetic=m * x.d**2 / 2, potential=lift + 0 * x, forces={x: -c * x.d}, name="drag")

    def state(t):
        v = 3 * np.exp(-t / 2)
        return (6 - 2 * v)[:, None], v[:, None], work_share * (v**2 - 9)

    q, v, work = state(t)
    run = PlainRun(system, {m: 2.0, c: 1.0})
    return Motion(run=run, t=t, q=q, v=v, work=work, origin=origin, sampler=state)


def test_work_enters_the_balance():
    t = np.linspace(0, 4, 9)
    assert np.abs(drag_motion(t).balance).max() < ROUNDING
    assert np.abs(drag_motion(t, work_share=0.9).balance).max() > 0.5
    assert drag_motion(t).multipliers.shape == (9, 0) and drag_motion(t).residual.max() == 0


def test_the_balance_starts_where_the_run_did():
    later = np.linspace(1, 4, 7)
    begin = State(0.0, np.zeros(1), np.array([3.0]))
    assert np.abs(drag_motion(later, origin=begin).balance).max() < ROUNDING
    assert np.abs(drag_motion(later).balance).max() > 1  # without the origin the first second is missing
    assert np.abs(drag_motion(np.linspace(0, 4, 9)).at([3.0, 2.5]).balance).max() < ROUNDING


def test_energy_scale_is_free_of_the_constant_in_V():
    t = np.linspace(0, 4, 9)
    assert drag_motion(t, lift=100.0).energy_scale == pytest.approx(drag_motion(t).energy_scale, rel=1e-12)


def test_balance_is_of_H_not_of_T_plus_V():
    """A bead on a rod that turns with Ω = 1: T = ½(ẋ² + x²), x = cosh t, H = ½(ẋ² − x²) = −½."""
    x = coordinates("x")
    t = np.linspace(0, 2, 5)
    run = PlainRun(System([x], kinetic=(x.d**2 + x**2) / 2), {})
    bead = Motion(run=run, t=t, q=np.cosh(t)[:, None], v=np.sinh(t)[:, None], work=np.zeros(5))
    assert np.ptp(bead.energy) > 10 and np.abs(bead.balance).max() < ROUNDING


# -- speeds, quaternions, failures -----------------------------------------------------------------------------------------


def spinning_ball(stretch=1.0):
    ball = Quaternion("ball")
    body = RigidBody(1, sympy.diag(1, 1, 1), [0, 0, 0], orientation=ball)
    system = System([ball], bodies=[body], name="ball")
    t = np.linspace(0, 1, 4)
    zero = np.zeros_like(t)
    order = {"x": zero, "y": zero, "z": np.sin(t), "w": np.cos(t)}  # ω = 2 about z
    q = stretch * np.stack([order[str(c)[-1]] for c in system.coordinates], axis=1)
    v = np.tile([0.0, 0.0, 2.0], (4, 1))
    return Motion(run=PlainRun(system, {}), t=t, q=q, v=v, work=zero)


def test_rates_of_coordinates_with_their_own_kinematics():
    motion = spinning_ball()
    z = next(c for c in motion.system.coordinates if str(c) == "ball_z")
    np.testing.assert_allclose(motion[z.d], np.cos(motion.t), atol=ROUNDING)
    np.testing.assert_allclose(motion[z.dd], -np.sin(motion.t), atol=ROUNDING)
    np.testing.assert_array_equal(motion[motion.system.velocities[2]], np.full(4, 2.0))
    with pytest.raises(ModelError, match="ball has no 'u'"):
        motion[speeds("u")]


def test_a_quaternion_that_is_not_unit_is_drift():
    assert spinning_ball().drift.position < ROUNDING
    assert spinning_ball(1.001).drift.position == pytest.approx(2.001e-3)


def test_a_singular_sample_is_announced_and_spares_the_others():
    x, y = coordinates("x y")
    system = System([x, y], kinetic=(x.d**2 + y.d**2) / 2, constraints=[Constraint(x**2 - y**2, name="cross")], name="cross")
    s = np.array([1.0, 0.5, 0.0])
    motion = Motion(
        run=PlainRun(system, {}), t=np.arange(3.0), q=np.stack([s, s], axis=1), v=-np.ones((3, 2)), work=np.zeros(3)
    )
    with pytest.warns(AppellWarning, match=r"1 of 3 samples, first at t = 2 s"):
        lam = motion.reaction("cross")
    np.testing.assert_allclose(lam[:2], 0, atol=ROUNDING)
    assert np.isnan(lam[2])


def test_pseudo_velocities_are_read_by_name():
    x, y, phi = skate().system.coordinates
    motion = skate_motion(pseudo={"pi": x.d * cos(phi) + y.d * sin(phi), "omega": phi.d})
    np.testing.assert_allclose(motion["pi"], G * np.cos(motion.t) + GAMMA, atol=ROUNDING)
    assert motion.dataset["pi"].attrs["latex"] == r"\pi"


# -- storage -------------------------------------------------------------------------------------------------------------


def test_dataset_says_what_everything_is(motion):
    ds = motion.dataset
    assert ds["t"].attrs["units"] == "s" and ds["energy"].attrs["units"] == "J"
    assert ds["x_d"].attrs["symbol"] == "x.d" and ds["x_d"].attrs["latex"] == r"\dot{x}"
    assert ds["reaction_blade"].attrs["constraint"] == "blade"
    np.testing.assert_array_equal(ds["reaction_blade"], motion.reaction("blade"))
    assert ds.attrs["parameters"] == '{"l": 1.0, "g": 9.81}' and ds.attrs["tolerances"] == '{"rtol": 1e-09}'
    assert ds.attrs["status"] == "OK" and ds.attrs["method"] == "exact"


def test_names_that_would_collide_are_kept_apart():
    x, x_d, energy = coordinates("x x_d energy")
    rows = [Constraint(x - x_d, name="a/b"), Constraint(energy, name="a b")]
    system = System([x, x_d, energy], kinetic=x.d**2 + x_d.d**2 + energy.d**2, constraints=rows)
    t = np.arange(3.0)
    q = np.stack([t, t, 0 * t], axis=1)
    motion = Motion(run=PlainRun(system, {}), t=t, q=q, v=np.tile([1.0, 1.0, 0.0], (3, 1)), work=0 * t)
    loaded = LoadedMotion(motion.dataset)
    for s in (x, x.d, x_d, energy, energy.d, x_d.dd):
        np.testing.assert_array_equal(loaded[s], motion[s])
    np.testing.assert_array_equal(loaded.energy, motion.energy)
    np.testing.assert_array_equal(loaded.multipliers, motion.multipliers)


@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_what_is_saved_is_loaded(motion, tmp_path, suffix):
    if suffix == "zarr":
        pytest.importorskip("zarr")
    path = motion.save(tmp_path / f"skate.{suffix}")
    motion.save(path)  # over itself
    assert [p.name for p in tmp_path.iterdir()] == [f"skate.{suffix}"]
    loaded = storage.load(path)
    for s in motion.symbols:
        np.testing.assert_array_equal(loaded[s], motion[s])
        np.testing.assert_array_equal(loaded[str(s)], motion[s])
    np.testing.assert_array_equal(loaded.reaction(motion.system.constraints[0]), motion.reaction("blade"))
    np.testing.assert_array_equal(loaded.energy_error, motion.energy_error)
    np.testing.assert_array_equal(loaded.residual, motion.residual)
    assert loaded.final == motion.final and loaded.drift == motion.drift and str(loaded) == str(motion)
    assert loaded.coordinate_names == ("x", "y", "phi") and loaded.parameters == {"l": 1.0, "g": 9.81}
    with pytest.raises(ModelError, match="expressions need the system"):
        loaded[motion.system.coordinates[0] ** 2]


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_a_failed_save_leaves_the_old_file(motion, tmp_path, suffix, monkeypatch):
    path = motion.save(tmp_path / f"skate{suffix}")

    def fail(dataset, draft, engine):
        draft.write_bytes(b"half")
        raise OSError("disc full")

    broken = storage.Format(**{**storage.FORMATS[suffix].__dict__, "write": fail})
    monkeypatch.setitem(storage.FORMATS, suffix, broken)
    with pytest.raises(OSError, match="disc full"):
        motion.save(path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    np.testing.assert_array_equal(storage.load(path).t, motion.t)


def test_files_that_cannot_be_are_refused(motion, tmp_path, monkeypatch):
    with pytest.raises(ModelError, match=r"use \.nc or \.zarr"):
        motion.save(tmp_path / "skate.csv")
    with pytest.raises(FileNotFoundError, match="make it first"):
        motion.save(tmp_path / "no" / "skate.nc")
    (tmp_path / "mine.zarr").mkdir()
    with pytest.raises(ModelError, match="not a Zarr store"):
        motion.save(tmp_path / "mine.zarr")
    (tmp_path / "text.nc").write_text("no NetCDF")
    with pytest.raises(ModelError, match="cannot be read"):
        storage.load(tmp_path / "text.nc")
    xr.Dataset({"a": ("t", np.zeros(2))}).to_netcdf(tmp_path / "other.nc")
    with pytest.raises(ModelError, match=r"not written by motion\.save"):
        storage.load(tmp_path / "other.nc")
    monkeypatch.setattr(storage.util, "find_spec", lambda name: None)
    with pytest.raises(BackendUnavailable, match=r"appell\[distributed\]"):
        motion.save(tmp_path / "skate.zarr")


def test_the_reaction_of_a_wall_is_not_the_coordinate_of_its_name(tmp_path):
    """A joint and its limits are called alike: plots, reports and files keep both apart."""
    height, g = ap.coordinates("height"), 9.81
    ball = ap.System([height], height.d**2 / 2, g * height, constraints=[ap.Unilateral(height, name="height", restitution=0)])
    motion = ap.simulate(ball, {height: 0.1}, 1.0, backend="vm")
    (key,) = motion.reaction_keys
    assert motion.series(key).values[-1] == pytest.approx(g) and motion.series("height").values[-1] == 0
    assert motion.plot("reactions").axes[0].lines[0].get_ydata()[-1] == pytest.approx(g)
    again = ap.load(motion.save(tmp_path / "ball.nc"))
    assert again.reaction("height")[-1] == pytest.approx(g) and again.series(key).values[-1] == pytest.approx(g)
