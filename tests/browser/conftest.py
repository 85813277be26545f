"""A real browser: Chromium from the machine, installed from packages where it is missing and we may."""

import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

import pytest

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--enable-unsafe-swiftshader",
]  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@lru_cache
def browser_path() -> str:
    """Where Chromium is; skips, with the reason, where it cannot be had."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": 600}
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "chromium"]):
            try:
                subprocess.run(command, env=environment, check=False, **quiet)
            except (OSError, subprocess.TimeoutExpired):
                break
        found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("there is no Chromium, and it could not be installed from packages")
    return found


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = browser_path()
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


class Watched:
    """A page with everything that it complained about and asked for."""

    def __init__(self, page):
        self.page, self.complaints, self.requests = page, [], []
        page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda r: self.requests.append(r.url))

    def open(self, path: Path):
        self.page.goto(path.resolve().as_uri())
        self.page.wait_for_function("window.appell && appell.ready", timeout=60_000)
        return self.page


@pytest.fixture
def watched(browser):
    """watched(dark=…, width=…) opens a page of its own."""
    contexts = []

    def make(*, dark=False, width=1200, height=900):
        scheme = "dark" if dark else "light"
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme))
        return Watched(contexts[-1].new_page())

    yield make
    for context in contexts:
        context.close()
