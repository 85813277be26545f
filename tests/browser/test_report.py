"""Reports in a real browser: they open from disk, move, stop, are read by machines, and pixels are where the motion says."""

from dataclasses import replace
from io import BytesIO
from time import monotonic

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from sympy import cos, sin

import appell as ap
from appell import zoo
from appell.scene import Disc, Point, Scene

EVERY = {**zoo.ALL, **zoo.ROBOTS}
MARKS = ("#ff0000", "#00ff00", "#0000ff", "#ffff00", "#00ffff", "#ff8000", "#80ff00")
BODY = "#ff00ff"
NO_WEBGL = """{ const own = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
  return kind.startsWith("webgl") ? null : own.call(this, kind, ...more); }; }"""


def motion_of(name, until=2.0):
    example = EVERY[name]()
    return example, ap.simulate(example.system, example.start, until, example.parameters)


@pytest.fixture(scope="module")
def skate(tmp_path_factory):
    _, motion = motion_of("skate")
    path = motion.report(tmp_path_factory.mktemp("skate") / "skate.html", forms=["appell"], title="Skate <b>&amp; co</b>")
    return motion, path


def until(page, expression, seconds=30):
    """Waits for something to become true (asked from outside: the page's policy forbids it to evaluate text)."""
    deadline = monotonic() + seconds
    while not page.evaluate(expression):
        assert monotonic() < deadline, f"{expression} did not become true in {seconds} s"
        page.wait_for_timeout(20)


def drawn(page):
    """Waits until what was asked for is on the screen: two frames, however long a busy machine takes for them."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def pose(page):
    """What is drawn, as one number."""
    return hash(page.locator("#film canvas").screenshot())


def test_it_opens_moves_and_stops(skate, watched):
    _, path = skate
    seen = watched()
    page = seen.open(path)
    page.get_by_label("Speed").select_option("0.1")  # slow enough not to end before a busy machine presses Pause
    page.get_by_role("button", name="Play").click()
    until(page, "appell.player.time > 0")
    page.get_by_role("button", name="Pause").click()
    stopped = page.evaluate("appell.player.time")
    assert 0 < stopped <= 2
    drawn(page)
    first = pose(page)
    page.wait_for_timeout(300)
    assert page.evaluate("appell.player.time") == stopped and pose(page) == first
    page.get_by_role("slider", name="Time").fill("1.5")
    drawn(page)
    assert page.evaluate("appell.player.time") == pytest.approx(1.5, abs=1e-3) and pose(page) != first
    assert page.evaluate("appell.plots[0].now") == pytest.approx(1.5, abs=1e-3)  # one cursor
    assert seen.complaints == [] and all(url.startswith(("file:", "data:", "blob:")) for url in seen.requests)
    assert page.title() == "Skate <b>&amp; co</b>" and page.locator("h1").inner_text() == "Skate <b>&amp; co</b>"


def test_machines_and_keyboards_can_use_it(skate, watched):
    _, path = skate
    page = watched().open(path)
    assert page.locator("math").count() > 10
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    roles = [node.get("role", {}).get("value") for node in nodes if not node.get("ignored")]
    assert roles.count("MathMLMath") > 10 and "slider" in roles and "button" in roles
    page.locator("#film canvas").focus()
    page.keyboard.press("End")
    drawn(page)
    assert page.evaluate("appell.player.time") == pytest.approx(2, abs=1e-6)
    page.keyboard.press("Home")
    page.get_by_label("Speed").select_option("0.1")
    page.locator("#film canvas").focus()
    page.keyboard.press(" ")
    until(page, "appell.player.playing && appell.player.time > 0")
    page.keyboard.press(" ")
    page.get_by_label("Trail").uncheck()
    assert page.evaluate("appell.player.trail") is False
    page.get_by_label("Speed").select_option("2")
    assert page.evaluate("appell.player.speed") == 2
    assert "\\begin{align*}" in page.locator("pre").first.text_content()
    page.evaluate("""{ const button = document.querySelector("button.copy");
        new MutationObserver(() => { window.said ??= button.textContent; }).observe(button, {childList: true}); }""")
    page.locator("button.copy").first.click()
    until(page, "window.said === 'Copied'")  # it says so for a moment only


@pytest.mark.parametrize("width", [390, 1440])
def test_dark_and_light_on_a_phone_and_a_desk(skate, watched, width):
    _, path = skate
    papers = []
    for dark in (False, True):
        page = watched(dark=dark, width=width).open(path)
        drawn(page)
        papers.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        corner = "[...appell.player.canvas.getContext('2d').getImageData(3, 3, 1, 1).data].slice(0, 3)"
        assert page.evaluate(corner) == ([20, 24, 30] if dark else [255, 255, 255])
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert papers[0] != papers[1]


def pixels(picture, colour):
    """Which pixels of a picture have a colour; solids in space are shaded, so it is known by its hue."""
    rgb = picture.astype(float)
    wanted = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)], dtype=float)
    bright = rgb.max(axis=2)
    hue = rgb / np.maximum(bright, 1)[..., None]
    return (bright > 60) & (np.abs(hue - wanted / wanted.max()).max(axis=2) < 0.15) & (np.ptp(rgb, axis=2) > 60)


def centroid(picture, colour):
    """Where a colour is in a picture, pixels."""
    rows, columns = np.nonzero(pixels(picture, colour))
    assert len(rows) > 8, f"{colour} is not in the picture"
    return np.array([columns.mean() + 0.5, rows.mean() + 0.5])


def projection(world, pixels):
    """The camera matrix (3, 4) through which the marks are seen (direct linear transform)."""
    rows = []
    for (x, y, z), (u, v) in zip(world, pixels, strict=True):
        p = [x, y, z, 1]
        rows += [[*p, 0, 0, 0, 0, *(-u * np.array(p))], [0, 0, 0, 0, *p, *(-v * np.array(p))]]
    return np.linalg.svd(np.array(rows))[2][-1].reshape(3, 4)


@pytest.mark.parametrize("painter", ["WebGL", "canvas"])
@pytest.mark.parametrize("name", ["pendulum", "stewart_platform"])
def test_pixels_are_true(name, painter, watched, tmp_path):
    """Marks at known places tell how the page projects; the body is found where the motion says."""
    from PIL import Image

    example, motion = motion_of(name, 1.0)
    system = example.system
    (angle, *_) = system.coordinates
    place = [sin(angle), -cos(angle)] if name == "pendulum" else "platform"
    if name == "pendulum":
        marks = np.array([[-1, -1.2, 0], [1, -1.2, 0], [-1, 0.2, 0]])
    else:
        marks = np.array([[0, 0, 0], [3, 0, 0.2], [0, -2, 0.1], [3, -2, 0.5], [1.5, 0.5, 2], [0.3, -2.5, 1.5], [2.7, 0.6, 1.3]])
        marks = 0.6 * marks
    items = [Point(p if name != "pendulum" else p[:2], 0.06, colour=c) for p, c in zip(marks.tolist(), MARKS, strict=False)]
    scene = Scene(system, [*items, Point(place, 0.06, colour=BODY)])
    page = watched().page
    if painter == "canvas":
        page.add_init_script(NO_WEBGL)
    page.goto(motion.animate(tmp_path / "x.html", scene=scene).as_uri())
    page.wait_for_function("window.appell && appell.ready")
    for time in (0.35, 0.8):
        page.evaluate(f"appell.player.seek({time})")
        drawn(page)
        picture = np.asarray(Image.open(BytesIO(page.locator("#film canvas").screenshot())).convert("RGB"))
        seen = [centroid(picture, colour) for colour in MARKS[: len(marks)]]
        q = motion.at(time).q[0]
        at = [np.sin(q[0]), -np.cos(q[0]), 0] if name == "pendulum" else system.tree.placement("platform", q)[1]
        if name == "pendulum":
            across, up = seen[1] - seen[0], seen[2] - seen[0]
            expected = seen[0] + across * (at[0] + 1) / 2 + up * (at[1] + 1.2) / 1.4
        else:
            u, v, w = projection(marks, seen) @ [*at, 1]
            expected = np.array([u / w, v / w])
        assert np.linalg.norm(centroid(picture, BODY) - expected) < 3.0


@pytest.mark.parametrize("painter", ["WebGL", "canvas"])
def test_a_disc_is_drawn_as_it_stands(painter, watched, tmp_path):
    """The rim of the rolling disc, projected as the marks are, frames its pixels: place, attitude, radius are the motion's."""
    from PIL import Image

    example, motion = motion_of("rolling_disc", 1.0)
    (disc,) = (item for item in Scene.of(example.system).items if isinstance(item, Disc))
    marks = np.array([[-1, 1, 0], [4, 2, 0.2], [-1, -2, 0.1], [1, -3, 0.2], [1.5, 0.5, 2.2], [-1, -2.5, 1.5], [3.5, 1.6, 1.8]])
    items = [Point(p, 0.06, colour=c) for p, c in zip(marks.tolist(), MARKS, strict=True)]
    scene = Scene(example.system, [*items, replace(disc, colour=BODY, spokes=0, thickness=0.002)])
    page = watched().page
    if painter == "canvas":
        page.add_init_script(NO_WEBGL)
    page.goto(motion.animate(tmp_path / "x.html", scene=scene).as_uri())
    page.wait_for_function("window.appell && appell.ready")
    for time in (0.3, 0.75):
        page.evaluate(f"appell.player.seek({time})")
        drawn(page)
        picture = np.asarray(Image.open(BytesIO(page.locator("#film canvas").screenshot())).convert("RGB"))
        camera = projection(marks, [centroid(picture, colour) for colour in MARKS])
        x, y, z, psi, theta, phi = motion.at(time).q[0]
        turns = Rotation.from_euler("ZXY", [psi, theta, phi]).as_matrix()  # heading, leaning, spinning
        angle = np.linspace(0, 2 * np.pi, 200)
        radius = float(next(value for p, value in example.parameters.items() if str(p) == "r"))
        rim = [x, y, z] + radius * np.stack([np.sin(angle), 0 * angle, np.cos(angle)], axis=1) @ turns.T
        u, v, w = camera @ np.column_stack([rim, np.ones(len(rim))]).T
        rows, columns = np.nonzero(pixels(picture, BODY))
        seen = [columns.min(), columns.max() + 1, rows.min(), rows.max() + 1]
        assert seen == pytest.approx([(u / w).min(), (u / w).max(), (v / w).min(), (v / w).max()], abs=3.5)


def test_without_webgl_a_canvas_serves(watched, tmp_path):
    _, motion = motion_of("rolling_disc", 0.5)
    seen = watched()
    seen.page.add_init_script(NO_WEBGL)
    page = seen.open(motion.animate(tmp_path / "x.html"))
    assert page.evaluate("appell.player.painter instanceof appell.CanvasPainter")
    first = pose(page)
    page.evaluate("appell.player.seek(0.4)")
    drawn(page)
    assert pose(page) != first


def test_every_kind_of_page_opens_without_a_complaint(watched, tmp_path):
    """Handout, agreement and equations, on a desk and on a phone, light and dark; none is wider than its window."""
    example, motion = motion_of("thread_pendulum", 1.0)
    pages = [
        ap.handout(example.system, tmp_path / "handout.html", motion=motion),
        ap.agree(example.system, states=2).report(tmp_path / "agreement.html"),
        ap.forms.lagrange(example.system).report(tmp_path / "equations.html"),
    ]
    for path in pages:
        for width, dark in ((1440, False), (390, True)):
            seen = watched(dark=dark, width=width)
            page = seen.open(path)
            drawn(page)
            assert seen.complaints == [] and page.evaluate("document.documentElement.scrollWidth") <= width
