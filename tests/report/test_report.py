"""Reports as files: complete, escaped, small, strict; bad input leaves nothing behind."""

import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import sympy

import appell as ap
from appell import zoo
from appell.forms import Equations
from appell.report import report as module
from appell.scene import Point, Scene
from appell.show.packing import Packer, json_text


@pytest.fixture(scope="module")
def skate():
    example = zoo.skate()
    return example, ap.simulate(example.system, example.start, 2.0, example.parameters)


@pytest.fixture(scope="module")
def page(skate, tmp_path_factory):
    return skate[1].report(tmp_path_factory.mktemp("report") / "skate.html", forms=["lagrange", "chaplygin", "routh"])


def test_it_has_what_it_promises(page):
    text = page.read_text()
    for heading in ("Model", "Equations of motion", "Verification", "Diagnosis", "Parameters", "Run", "Phase portraits"):
        assert f"<h2>{heading}</h2>" in text
    assert "The forms agree" in text and "energy balance" in text and "blade" in text and "casadi" in text
    assert "does not apply to" in text  # routh, and why
    assert text.count("<math") > 20 and "\\begin{align*}" in text
    assert len(text.encode()) < 4_000_000


def test_nothing_is_fetched_and_the_policy_is_strict(page):
    text = page.read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy and "unsafe" not in policy and policy.count("'sha256-") > 5
    outside = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r'(src|href)="(?!data:)', outside) and not re.search(r"\sstyle=", outside)


def test_what_comes_from_users_is_escaped(tmp_path):
    x = ap.coordinates("x")
    evil = "</script><script>alert(1)</script><b>"
    system = ap.System([x], kinetic=x.d**2, constraints=[ap.Unilateral(x, name=f"wall {evil}")], name=evil)
    motion = ap.simulate(system, {x: 1.0, x.d: -1.0}, 2.0)
    text = motion.report(tmp_path / "e.html", title=evil, scene=Scene(system, [Point([x, 0], name=evil)])).read_text()
    assert "alert(1)</script>" not in text and "<b>" not in text
    assert json_text({"a": "</script>\u2028"}).isascii() and "<" not in json_text("</script>")


def test_a_motion_from_a_file_reports_what_it_has_and_says_what_it_has_not(skate, tmp_path):
    example, motion = skate
    loaded = ap.load(motion.save(tmp_path / "skate.nc"))
    text = loaded.report(tmp_path / "a.html").read_text()
    assert "no animation: the motion was loaded from a file" in text and "values but no equations" in text
    assert "energy balance" in text and "<h2>Parameters</h2>" in text and "Coordinates" in text
    text = loaded.report(tmp_path / "b.html", scene=Scene.of(example.system), forms=["lagrange"]).read_text()
    assert "drawn through its samples by straight lines" in text and "<h2>Equations of motion</h2>" in text


def test_a_large_film_is_thinned_and_says_so(skate, tmp_path, monkeypatch):
    _, motion = skate
    whole = motion.report(tmp_path / "whole.html", forms=[]).stat().st_size
    monkeypatch.setattr(module, "REPORT_BYTES", whole - 2000)
    path = motion.report(tmp_path / "small.html", forms=[])
    assert path.stat().st_size <= whole - 2000
    assert re.search(r"\d+ of \d+ frames, so that the page stays below", path.read_text())


def test_bad_input(skate, tmp_path):
    _, motion = skate
    with pytest.raises(ap.ModelError, match=r"end 'x\.pdf' with \.html"):
        motion.report(tmp_path / "x.pdf")
    with pytest.raises(FileNotFoundError, match="make it first"):
        motion.report(tmp_path / "no" / "x.html")
    with pytest.raises(ap.ModelError, match="takes the path of a file"):
        motion.report(None)
    with pytest.raises(ap.ModelError, match=r"scene= takes an ap\.Scene"):
        motion.report(tmp_path / "x.html", scene="skate")
    with pytest.raises(ap.ModelError, match="there is no form 'newton'"):
        motion.report(tmp_path / "x.html", forms=["newton"])
    assert not list(tmp_path.iterdir())


def test_numbers_survive_the_packing():
    rng = np.random.default_rng(0)
    packer = Packer()
    arrays = [rng.normal(size=(50, 3)), np.array([[1.0, np.nan, -0.0]]), np.zeros((0, 3))]
    places = [packer.add(a) for a in arrays]
    import base64
    import zlib

    planes = np.frombuffer(zlib.decompress(base64.b64decode(packer.numbers())), np.uint8).reshape(4, -1)
    words = np.ascontiguousarray(planes.T).view("<u4").ravel()
    for place, array in zip(places, arrays, strict=True):
        part = words[place["at"] : place["at"] + array.size].reshape(array.shape)
        back = np.cumsum(part, axis=0, dtype=np.uint32).view("<f4") if array.size else part.astype(float)
        np.testing.assert_array_equal(back, array.astype("f4"))


def test_equations_and_agreement_have_pages(skate, tmp_path):
    system = skate[0].system
    text = ap.forms.lagrange(system).report(tmp_path / "e.html").read_text()
    assert all(f"Equations, {style}" in text for style in ("plain", "simplified", "solved"))
    text = ap.agree(system, states=2, forms=["lagrange", "gauss"]).report(tmp_path / "a.html").read_text()
    assert "All forms that apply agree" in text and "gauss" in text


def test_every_form_can_be_reported_or_says_why_not():
    from appell.report.model_page import derived_forms, equation_text

    example = zoo.pendulum()
    for found in derived_forms(example.system, list(ap.forms.FORMS), None):
        assert len(found) > 20 if isinstance(found, str) else "<math" in equation_text(found)


def test_handouts(skate, tmp_path, monkeypatch):
    example, motion = skate
    path = ap.handout(example.system, tmp_path / "h.html", forms=["lagrange", "appell"], motion=motion, title="A & B")
    text = path.read_text()
    assert "A &amp; B" in text and "<math" in text and 'id="film"' in text
    path = ap.handout(example.system, tmp_path / "h.tex", forms=["lagrange", "routh"], motion=motion)
    text = path.read_text()
    assert "\\begin{align*}" in text and "h-motion.pdf" in text and (tmp_path / "h-motion.pdf").read_bytes()[:4] == b"%PDF"
    assert text.count("{") == text.count("}") and "does not apply" in text
    monkeypatch.chdir(tmp_path)
    assert ap.handout(example.system).name == "skate.html"
    with pytest.raises(ap.ModelError, match=r"\.html or \.tex"):
        ap.handout(example.system, tmp_path / "h.pdf")
    with pytest.raises(ap.ModelError, match="takes a System or a Tree"):
        ap.handout(motion)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs a TeX engine (Debian: texlive-latex-base)")
def test_a_tex_engine_sets_a_handout_within_its_margins(skate, tmp_path, monkeypatch):
    """Wide equations are drawn together, those too long for a page are left out and named, no letter is lost."""
    example, motion = skate
    wide, longest = (" + ".join(rf"\frac{{a_{{{k}}} \dot{{x}}^{{2}}}}{{1 + y}}" for k in range(n)) for n in (18, 900))
    lines = [f"f &= {wide}", f"{wide} &= g", rf"&\quad {{}} - {wide}", f"{longest} &= 0"]
    monkeypatch.setattr(Equations, "latex", lambda self, style: " \\\\\n".join(lines))
    title = "Bahn №1: q̇ = γ · x_1² – |Ω| 100 % «Ж» {a} Poincaré"
    path = ap.handout(example.system, tmp_path / "a b_c.tex", forms=["lagrange", "routh"], motion=motion, title=title)
    run = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", path.name]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, [line for line in done.stdout.splitlines() if line.startswith("!")]
    log = path.with_suffix(".log").read_text(errors="replace")
    assert [w for w in map(float, re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)) if w > 1] == []
    text = path.read_text()
    assert text.count("too long for a page") == 1 and text.count(r"\[\fit{") == 2
    assert "[U+0416]" in text and r"$\dot{q} = \gamma \cdot x_{1}^{2}$" in text


def test_every_result_writes_a_page(tmp_path):
    """Message, figure, values and model of ensembles, sections, equilibria and linearizations."""
    x, k = ap.coordinates("x"), ap.parameters("k", positive=True)
    system = ap.System([x], x.d**2 / 2, k * x**2 / 2, forces={x: -x.d / 10}, name="sp<ring")
    found = {
        "many": ap.simulate_many(system, {x: [1.0, 2.0]}, 1.0, {k: 1.0}),
        "section": ap.poincare(system, x.d, {x: 1.0}, 9.0, {k: 1.0}, count=9),
        "equilibria": ap.equilibria(system, {k: 1.0}, within={x: (-1, 1)}, attempts=2),
        "linearization": ap.linearize(system, at={x: 0}, parameters={k: 1.0}),
    }
    h, w, small = ap.parameters("h w epsilon", positive=True)
    forced = {x: small * (sympy.cos(w * ap.t) - h * x.d)}
    slow = ap.averaged(ap.System([x], x.d**2 / 2, k * x**2 / 2, forces=forced, name="sp<ring"), [small], resonance=(1, 1))
    text = slow.report(tmp_path / "slow.html", {k: 1.0, h: 0.1, w: 1.0, small: 0.01}, title="A <title>").read_text()
    assert "<math" in text and "data:image/svg+xml;base64," in text and "sp<ring" not in text and "r_rate" in text
    assert "There is no figure" in slow.report(tmp_path / "slow.html").read_text()
    for name, result in found.items():
        text = result.report(tmp_path / f"{name}.html", title="A <title>").read_text()
        assert "A &lt;title&gt;" in text and "sp<ring" not in text and "data:image/svg+xml;base64," in text
        assert ('class="doubt"' in text) != bool(result.ok) and str(next(iter(result.dataset.data_vars))) in text
    with pytest.raises(ap.ModelError, match=r"end 'page' with \.html"):
        found["many"].report(tmp_path / "page")


def test_notebook_displays(skate):
    example, motion = skate
    tree = zoo.differential_drive().system.tree
    assert "left" in tree._repr_html_() and "<table>" in tree._repr_html_()
    assert "<iframe srcdoc=" in motion.animate()._repr_html_()
    for shown in (motion, ap.diagnose(example.system), ap.agree(example.system, states=2, forms=["lagrange"])):
        assert "<table" in shown._repr_html_()


def test_a_robot_is_posed_by_its_joints():
    import json

    from appell.report.view import pose_text, robot_text
    from appell.scene.film import film
    from appell.show.web import describe_poses

    tree = zoo.differential_drive().system.tree
    scene = Scene(tree)
    q = np.array(tree.neutral)
    whole, moved = (json.loads(make(scene, q)) for make in (robot_text, pose_text))
    assert len(whole["description"]["film"]["shapes"]) == len(moved["description"]["shapes"])
    assert len(moved["numbers"]) < len(whole["numbers"])
    example = zoo.four_bar_urdf()
    shown = film(Scene(example.system), ap.simulate(example.system, example.start, 0.1), frames=3)
    assert [s["kind"] for s in describe_poses(shown, Packer())]


def test_friction_is_part_of_the_model(tmp_path):
    """Its bound stands in reports and handouts of systems that have it."""
    from appell.report.model_page import model_html

    system = zoo.ladder().system
    assert len(system.frictions) == 2
    text = model_html(system)
    assert text.count("dry friction against the slip") == 2
    sheet = ap.handout(system, tmp_path / "ladder.tex", forms=[]).read_text()
    assert all(rf"|\lambda_{{\mathrm{{{fr.name}}}}}| \leq" in sheet for fr in system.frictions)


def test_a_progress_bar_in_a_notebook_needs_no_widgets(monkeypatch):
    """A line of HTML, shown once and written anew; by hand in a kernel it looks so, too."""
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html)

    def display(html, display_id):
        shown.append(html)
        return Handle()

    kernel = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: kernel))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=display))
    example = zoo.pendulum()
    ap.simulate(example.system, example.start, 1.0, example.parameters, progress=True, backend="vm")
    assert 'value="0.0000"' in shown[0] and 'value="1.0000"' in shown[-1] and all("<progress" in line for line in shown)


def test_a_handout_states_forces_given_functions_and_the_start(tmp_path):
    x, c, f = ap.coordinates("x"), ap.parameters("c"), ap.prescribed("f")
    driven = ap.System([x], x.d**2 / 2, (x - f) ** 2 / 2, {x: -c * x.d}, name="driven")
    motion = ap.simulate(driven, {x: 0.25}, 1.0, {c: 0.1, f: sympy.sin(2 * ap.t)}, backend="vm")
    page = ap.handout(driven, tmp_path / "driven.html", motion=motion).read_text()
    sheet = ap.handout(driven, tmp_path / "driven.tex", motion=motion).read_text()
    for text in (page, sheet):
        assert r"Q_{\dot{x}} &amp;= - c \dot{x}" in text or r"Q_{\dot{x}} &= - c \dot{x}" in text
        assert r"\sin{\left(2 t \right)}" in text and "0.25" in text
    assert page.count('id="panel-') == page.count("against time")  # every curve that is described has its place
