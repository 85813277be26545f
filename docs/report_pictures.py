"""Draws `docs/images/report_*.png`, reports of six systems in Chromium: `python -m docs.report_pictures`, extra [dev]."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.robots import ROBOTS

import appell as ap

IMAGES = Path(__file__).parent / "images"
WINDOW = {"width": 1280, "height": 800}
FLAGS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]
ZOO = ("skate", "rolling_disc", "thread_pendulum", "four_bar", "stewart_platform")


def motions() -> dict[str, Any]:
    """The motions by the names of their pictures."""
    found = {}
    for name in ZOO:
        example = {**ap.zoo.ALL, **ap.zoo.ROBOTS}[name]()
        found[name] = ap.simulate(example.system, example.start, example.until, example.parameters)
    arm = ap.Tree.from_urdf(ROBOTS[0].path)
    lift, elbow = arm.joint("shoulder_lift_joint"), arm.joint("elbow_joint")
    found["ur5"] = ap.simulate(arm, {lift: -1.0, elbow: 0.6}, 2.0)
    return found


def main() -> None:
    from playwright.sync_api import sync_playwright

    path = next(p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name)))
    with sync_playwright() as driver, TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        for name, motion in motions().items():
            page = browser.new_page(viewport=WINDOW)
            page.goto(motion.report(Path(folder) / f"{name}.html").as_uri())
            while not page.evaluate("Boolean(window.appell && appell.ready)"):
                page.wait_for_timeout(50)
            page.evaluate("{ const { film } = appell.player; appell.player.seek(0.4 * film.begin + 0.6 * film.end); }")
            page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            page.screenshot(path=str(IMAGES / f"report_{name}.png"))
            page.close()
            print(f"report_{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
