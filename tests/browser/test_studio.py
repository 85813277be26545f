"""The studio in a real browser: guarded by its token, follows its sliders, survives bad values."""

import urllib.error
import urllib.request

import pytest
from benchmarks.studio import served

pytest.importorskip("nicegui")


@pytest.fixture(scope="module")
def address():
    with served("-m", "appell", "studio", "thread_pendulum", "--no-open") as found:
        yield found


def opened(page, address):
    for _ in range(60):  # the server is up a moment after it has said where
        try:
            page.goto(address)
            break
        except Exception:
            page.wait_for_timeout(500)
    page.wait_for_function("window.appell && appell.shown > 0", timeout=90_000)
    return page


def last_place(page):
    return page.evaluate("Array.from(appell.player.film.shapes.find((s) => s.kind === 'track').p.data.slice(-3))")


def move(page, name, value):
    slider = page.get_by_role("slider", name=name, exact=True)
    slider.evaluate(f"(e) => {{ e.value = {value}; e.dispatchEvent(new Event('input', {{bubbles: true}})); }}")


def test_sliders_errors_and_the_token(address, watched):
    seen = watched()
    page = opened(seen.page, address)
    before = last_place(page)
    page.get_by_role("slider", name="g", exact=True).focus()
    shown = page.evaluate("appell.shown")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"appell.shown > {shown}", timeout=60_000)
    assert last_place(page) != before  # the trajectory has followed
    page.wait_for_function("document.querySelectorAll('math').length > 3", timeout=90_000)

    shown = page.evaluate("appell.shown")
    move(page, "r at the start", 1.19)  # beyond the thread
    page.wait_for_function("document.querySelector('[role=alert]').innerText.length > 10", timeout=60_000)
    assert page.evaluate("appell.shown") == shown
    move(page, "r at the start", 0.5)
    page.wait_for_function(f"appell.shown > {shown}", timeout=60_000)  # it lives on
    page.wait_for_function("document.querySelector('[role=alert]').innerText === ''", timeout=60_000)
    assert seen.complaints == []

    page.get_by_role("button", name="Play", exact=True).click()  # dragged while it plays, and made narrow: nothing complains
    for k, value in enumerate((9.0, 8.0, 7.0)):
        shown = page.evaluate("appell.shown")
        move(page, "θ\u0307 at the start", value / 10)
        page.set_viewport_size({"width": 390 + 200 * k, "height": 800})
        page.wait_for_function(f"appell.shown > {shown}", timeout=60_000)
    page.wait_for_timeout(300)
    assert page.evaluate("appell.player.playing && appell.plots.every((plot) => plot.canvas.isConnected)")
    assert seen.complaints == []

    bare = address.split("?")[0]
    for wrong in (bare, f"{bare}?token=guess"):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(wrong, timeout=20)
    request = urllib.request.Request(address, headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request, timeout=20)


VIEW = """
import numpy as np
import appell as ap
link = {"mass": 1.0, "c": [0, 0, -0.5], "J": [0.4, 0.4, 0.01], "e": [0, 1, 0]}
if __name__ in ("__main__", "__mp_main__"):
    arm = ap.Chain([link])
    (q,) = arm.system().coordinates
    many = ap.simulate_many(arm, {q: [0.1, 0.8, 1.5]}, until=1.0, keep=np.linspace(0, 1, 20), backend="vm")
    arm.view(many, open=False)
"""


def test_a_robot_is_moved_by_hand_and_an_ensemble_plays(watched, tmp_path):
    script = tmp_path / "arm.py"
    script.write_text(VIEW)
    with served(str(script)) as here:
        seen = watched()
        page = opened(seen.page, here)
        places = "appell.player.film.shapes.filter((s) => s.kind === 'solid').map((s) => Array.from(s.q.data))"
        before, shown = page.evaluate(places), page.evaluate("appell.shown")
        joint = page.locator("input[type=range]").last.get_attribute("aria-label")
        move(page, joint, 1.0)
        page.wait_for_function(f"appell.shown > {shown}", timeout=60_000)
        after = page.evaluate(places)
        assert after != before and len(after) == len(before)
        page.get_by_role("button", name="Play all together").click()
        page.wait_for_function("appell.player.playing && appell.player.film.count > 100", timeout=60_000)
        assert len(page.evaluate(places)) > len(before)
        move(page, "run", 2)
        page.get_by_role("button", name="Play the motion").click()
        page.wait_for_function("appell.player.film.name.endsWith('run 2') && appell.player.playing", timeout=60_000)
        move(page, joint, 0.5)  # back in the hand
        page.wait_for_function("appell.player.film.count === 1", timeout=60_000)
        assert seen.complaints == []


FOLLOWED = """\
name = "pushed block"
coordinates = ["x"]
kinetic = "m*x'^2/2"
potential = "k*x^2/2"
[units]
x = "m"
[parameters]
m = "2 kg"
k = "8 N/m"
[prescribed]
F = "2*sin(3*t)"
[forces]
x = "F"
[start]
x = "0.2 m"
[run]
until = "5 s"
[[scene]]
kind = "box"
at = ["x", 0, 0]
sizes = [0.2, 0.2, 0.2]
"""


def test_a_model_file_is_followed_while_it_is_edited(watched, tmp_path):
    """Values, a mistake, which is named with its place while the page stays, and another model."""
    file = tmp_path / "block.toml"
    file.write_text(FOLLOWED, encoding="utf-8")
    with served("-m", "appell", "studio", str(file), "--no-open") as here:
        seen = watched()
        page = opened(seen.page, here)
        slider = lambda name: page.get_by_role("slider", name=name, exact=True)
        assert float(slider("k").input_value()) == 8.0
        page.wait_for_function("document.querySelectorAll('math').length > 3", timeout=90_000)

        shown = page.evaluate("appell.shown")
        file.write_text(FOLLOWED.replace("8 N/m", "18 N/m"), encoding="utf-8")
        page.wait_for_function(f"appell.shown > {shown}", timeout=90_000)
        assert float(slider("k").input_value()) == 18.0

        file.write_text(FOLLOWED.replace("k*x^2", "k*y^2"), encoding="utf-8")
        page.wait_for_function("document.querySelector('[role=alert]').innerText.includes('line 4')", timeout=90_000)
        told = page.inner_text("[role=alert]")
        assert "line 4, column 16: potential: unknown name 'y'" in told and slider("k").count() == 1

        shown = page.evaluate("appell.shown")
        other = FOLLOWED.replace("k*x^2/2", "k*x^2/2 + c*x^4").replace('k = "8 N/m"', 'k = "8 N/m"\nc = "3 N/m^3"')
        file.write_text(other, encoding="utf-8")
        page.wait_for_function(f"appell.shown > {shown}", timeout=90_000)
        page.wait_for_function("document.querySelector('[role=alert]').innerText === ''", timeout=60_000)
        assert slider("c").count() == 1
        assert seen.complaints == []
