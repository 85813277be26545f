"""Pictures: what is on them, checked on the artists; the plot sees a record of values and nothing of mechanics."""

import pickle
import warnings

import matplotlib
import numpy as np
import pytest

import appell as ap
from appell.errors import ModelError, Status
from appell.motion.impact_data import Impact
from appell.motion.record import QUANTITIES, Drift, Record, Series, reaction_latex
from appell.show.gaps_and_contacts import contact_intervals
from appell.show.style import COLOURS

matplotlib.use("Agg")
import matplotlib.pyplot as plt


class Waves(Record):
    """A record of x = cos t, y = sin t with two reactions; refinable as a motion is."""

    name, method, message, status = "waves", "exact", "", Status.OK
    statistics, redundant, drift = {}, (), Drift(0.0, 0.0, None)
    coordinate_names, velocity_names, reaction_names = ("x", "y"), ("x.d", "y.d"), ("left", "right")
    energy_scale = 2.0

    def __init__(self, t, residual=None, refinable=True):
        self.t, self.refinable = np.asarray(t, dtype=float), refinable
        self.residual = np.zeros(len(self.t)) if residual is None else np.asarray(residual)
        self.balance = 1e-9 * self.t

    def fine(self, points):
        return Waves(np.linspace(self.t[0], self.t[-1], points + 1)) if self.refinable and len(self.t) > 1 else self

    def series(self, key):
        t = self.t
        table = {
            "x": np.cos(t), "y": np.sin(t), "x.d": -np.sin(t), "y.d": np.cos(t), "left": t, "right": -t,
            "energy": 5 + 1e-13 * np.cos(40 * t), "energy_error": self.energy_error, "residual": self.residual,
            "cases": t, "one": 0 * t + 1,
        }  # fmt: skip
        if key not in table:
            raise ModelError(f"waves has no '{key}'")
        latex = {"cases": r"\begin{cases} t \end{cases}", "x.d": r"\dot{x}", "y.d": r"\dot{y}"}.get(key, key)
        label, units, meaning = QUANTITIES.get(key, (latex, "SI", key))
        return Series(key, label, units, meaning, table[key])


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture
def waves():
    return Waves(np.linspace(0, 6, 13), residual=[0, *np.logspace(-16, -12, 12)])


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_the_default_is_four_panels_over_one_time(waves):
    panels = waves.plot().axes
    assert len(panels) == 4
    assert legend(panels[0]) == ["$x$", "$y$"] and legend(panels[1]) == ["$left$", "$right$"]
    assert [p.get_yscale() for p in panels] == ["linear", "linear", "log", "log"]
    assert {p.get_xlim() for p in panels} == {(0.0, 6.0)}
    assert panels[3].get_xlabel() == "$t$ (s)" and panels[0].get_xlabel() == ""
    assert panels[0].get_ylabel() == "coordinates (SI)" and panels[0].get_title(loc="left") == "waves"


def test_curves_are_smooth_and_diagnostics_are_of_the_samples(waves):
    panels = waves.plot().axes
    t, x = panels[0].lines[0].get_data()
    assert len(t) > 1000
    np.testing.assert_allclose(x, np.cos(t))
    t, error = panels[2].lines[0].get_data()
    np.testing.assert_array_equal(t, waves.t[1:])  # the exact zero at t = 0 has no place on a logarithmic scale
    np.testing.assert_allclose(error, 0.5e-9 * t)
    low, high = panels[3].get_ylim()
    assert low < 1e-16 and high > 1e-12


def test_panels_without_anything_to_say():
    quiet = Waves(np.linspace(0, 1, 5))
    quiet.balance = np.zeros(5)
    panel = quiet.plot("energy_error").axes[0]
    assert [text.get_text() for text in panel.texts] == ["zero at every sample"]
    quiet.reaction_names = ()
    assert len(quiet.plot().axes) == 2  # no reactions, no residual
    with pytest.raises(ModelError, match="nothing to draw: waves has no reactions"):
        quiet.plot("reactions")
    Waves([2.0]).plot()  # one sample is a motion too


def test_what_is_named_is_drawn(waves):
    panels = waves.plot("x", ["x.d", "y.d"], "y", "energy").axes
    assert [len(p.lines) for p in panels] == [2, 2, 1]
    assert legend(panels[0]) == ["$x$", "$y$"] and panels[1].get_ylabel() == r"$\dot{x}$, $\dot{y}$ (SI)"
    assert panels[2].get_ylabel() == "$T + V$ (J)" and panels[2].get_legend() is None
    with pytest.raises(ModelError, match="no 'z'"):
        waves.plot("z")


def test_rounding_of_a_constant_is_not_magnified(waves):
    low, high = waves.plot("energy").axes[0].get_ylim()
    assert low < 4.9 and high > 5.1


def test_latex_that_matplotlib_cannot_set_is_written_plainly(waves):
    figure = waves.plot("cases", "x")
    figure.canvas.draw()
    assert legend(figure.axes[0]) == ["cases", "$x$"]


def test_many_curves_stay_distinct_and_their_legend_outside(waves):
    figure = waves.plot(["x", "y", "left", "right", "x.d", "y.d", "one", "cases", "energy"])
    panel = figure.axes[0]
    figure.canvas.draw()
    assert len({(line.get_color(), line.get_linestyle()) for line in panel.lines}) == 9
    assert panel.get_legend().get_window_extent().x0 >= panel.get_window_extent().x1


def test_given_axes_are_used(waves):
    figure, places = plt.subplots(2)
    assert waves.plot("x", axes=places[1]) is figure
    assert not places[0].lines and len(places[1].lines) == 1
    with pytest.raises(ModelError, match="2 axes, but 4 panels"):
        waves.plot(axes=places)
    assert waves.plot_path("x", "y", axes=places[0]) is figure and len(places[0].lines) == 3


def test_a_path_has_equal_scales_and_marked_ends(waves):
    panel = waves.plot_path("x", "y").axes[0]
    curve, start, end = panel.lines
    x, y = curve.get_data()
    np.testing.assert_allclose(np.hypot(x, y), 1)
    assert panel.get_aspect() == 1.0
    assert (start.get_xydata()[0] == (x[0], y[0])).all() and (end.get_xydata()[0] == (x[-1], y[-1])).all()
    assert start.get_markerfacecolor() == "white" != end.get_markerfacecolor()


def test_the_style_of_the_user_is_left_alone_and_a_failure_is_in_the_title(waves):
    before = dict(matplotlib.rcParams)
    waves.status = Status.STEP_TOO_SMALL
    figure = waves.plot()
    assert dict(matplotlib.rcParams) == before
    assert figure.axes[0].get_title(loc="left") == "waves (stopped: step too small)"


def test_pyplot_shows_a_picture(waves):
    """`plt.show()` opens what `motion.plot()` made, and `.show()` does not raise."""
    figure = waves.plot("x")
    assert plt.gcf() is figure and plt.fignum_exists(figure.number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Agg cannot open a window, and says so
        figure.show()
        plt.show()
    assert pickle.loads(pickle.dumps(figure)).axes[0].get_xlabel() == figure.axes[0].get_xlabel()


def test_a_notebook_shows_a_figure_once(waves, monkeypatch):
    """As the value of its cell: pyplot, which would show it again at the end of the cell, does not know it."""
    monkeypatch.setattr(matplotlib, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    for figure in (waves.plot("x"), waves.plot_path("x", "y")):
        assert figure._repr_png_().startswith(b"\x89PNG")
        assert pickle.loads(pickle.dumps(figure)).axes[0].get_xlabel() == figure.axes[0].get_xlabel()
    assert plt.get_fignums() == []


def test_a_window_is_not_repeated_below_its_cell(waves):
    with plt.ion():
        assert waves.plot("x")._repr_png_() is None


def test_vectors_for_papers(waves, tmp_path):
    waves.plot("x", "y").savefig(tmp_path / "waves.pdf")
    assert b"/Subtype /Type0" in (tmp_path / "waves.pdf").read_bytes()  # TrueType letters, not drawings of them
    waves.plot("x").savefig(tmp_path / "waves.svg")
    assert "<svg" in (tmp_path / "waves.svg").read_text()


def test_one_quantity_against_another(waves):
    figure = waves.plot("x.d", against="x")
    curve, start, end = figure.axes[0].lines
    x, v = curve.get_data()
    np.testing.assert_allclose(x**2 + v**2, 1)
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("$x$ (SI)", r"$\dot{x}$ (SI)")
    assert start.get_markerfacecolor() == "white" != end.get_markerfacecolor()
    with pytest.raises(ModelError, match="say what is drawn against x"):
        waves.plot(against="x")
    assert len(waves.plot_phase().axes) == 2 and len(waves.plot_phase("y").axes) == 1


def test_motions_are_compared(waves):
    other = Waves(np.linspace(0, 9, 13))
    panel = waves.plot("x", compare=other).axes[0]
    assert [line.get_color() for line in panel.lines] == list(COLOURS[:2]) and panel.get_xlim() == (0, 9)
    assert legend(panel) == ["waves 1", "waves 2"]
    panel = waves.plot("x", "y", compare={"longer": other}).axes[0]
    colours = [line.get_color() for line in panel.lines]
    assert colours[:2] == colours[2:] and [line.get_linestyle() for line in panel.lines] == ["-", "-", "--", "--"]
    assert legend(panel)[2:] == ["$x$, longer", "$y$, longer"]
    assert len(waves.plot_path("x", "y", compare=[other]).axes[0].lines) == 6
    with pytest.raises(ModelError, match="compare= takes motions"):
        waves.plot("x", compare=["x"])


def test_a_motion_is_compared_with_data_from_elsewhere(waves):
    """Columns by name; what the data have not is not drawn, and the colours are those of the motion."""
    t = np.linspace(waves.t[0], waves.t[-1], 15)
    data = {"t": t[::-1], "x": np.cos(t)[::-1], "x_d": -np.sin(t)[::-1]}
    lines = waves.plot("x", "x.d", "y", compare={"measured": data}).axes[0].lines
    assert len(lines) == 5 and lines[3].get_color() == lines[0].get_color()
    assert lines[3].get_xdata() == pytest.approx(t) and lines[3].get_ydata() == pytest.approx(np.cos(t))
    assert len(waves.plot("x", compare=data).axes[0].lines) == 2
    with pytest.raises(ModelError, match=r"'x' of 'short' must be numbers of shape \(15,\)"):
        waves.plot("x", compare={"short": {"t": t, "x": t[:3]}})


def test_contact_is_a_band_and_an_impact_a_tick(waves):
    waves.impacts = (Impact(1.0, "floor", -1, 1, 2, "impact"), Impact(2.0, "floor", -1, 0, 1, "landing"),
                     Impact(4.0, "floor", 0, 0, 0, "leaving"))  # fmt: skip
    assert contact_intervals(waves) == [(2.0, 4.0)]
    panel = waves.plot("x").axes[0]
    assert [(p.get_x(), p.get_x() + p.get_width()) for p in panel.patches] == [(2.0, 4.0)]
    assert list(panel.lines[1].get_xdata()) == [1.0]
    waves.impacts = waves.impacts[2:]  # it was in contact from the beginning
    assert contact_intervals(waves) == [(0.0, 4.0)]
    waves.contacts = ((0.0, (0,)), (3.0, (0, 1)), (5.0, ()))
    assert contact_intervals(waves) == [(0.0, 3.0), (3.0, 5.0)]


def test_a_joint_its_rate_and_its_torque_share_a_colour_in_the_order_of_the_model():
    phi1, phi2 = ap.coordinates("phi1 phi2")
    b, a = ap.parameters("b a")  # the torque of the first joint comes last in the alphabet
    system = ap.System([phi1, phi2], kinetic=(phi1.d**2 + phi2.d**2) / 2, forces={phi1: b, phi2: a}, name="two joints")
    motion = ap.simulate(system, {phi1: 1.0}, until=0.3, control=lambda t, q, v: {a: 1.0, b: 2.0}, rate=10.0)
    assert motion.input_names == ("b", "a")
    panels = motion.plot("coordinates", "velocities", "inputs").axes
    colours = [[line.get_color() for line in panel.lines] for panel in panels]
    assert colours == [list(COLOURS[:2])] * 3
    only = motion.plot([phi2], [phi2.d], [a]).axes
    assert [panel.lines[0].get_color() for panel in only] == [COLOURS[1]] * 3


def test_inputs_are_stairs_without_slopes(waves):
    waves.input_names = ("left", "right")
    panel = waves.plot("inputs").axes[0]
    assert [line.get_drawstyle() for line in panel.lines] == ["steps-post"] * 2 and legend(panel) == ["$left$", "$right$"]
    assert len(waves.plot().axes) == 5


@pytest.mark.parametrize("name", ["blade", "rolling x", "left_wheel", "no-slip", "x**2 + y**2 - l**2", "{$\\frac", "ß"])
def test_every_name_of_a_constraint_can_be_typeset(name):
    figure, axes = plt.subplots()
    axes.set_title(f"${reaction_latex(name, 2)}$")
    figure.canvas.draw()
