"""How long the studio takes to show its first picture, and to follow a slider, in Chromium with software rendering.

The start is from the command to the first film in a browser that is open, by wall clock; a drag from the event of the slider
to the new film and curves. Both are the shortest or the median of several, on a machine that should do nothing else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from benchmarks.player import ARGUMENTS
from benchmarks.report import Table

SYSTEMS = ("thread_pendulum", "skate", "heavy_top")
DRAGS = 12
MOVED = """(e, share) => new Promise((done) => {
  const before = appell.shown, begin = performance.now();
  e.value = +e.min + (+e.max - +e.min)*share;
  e.dispatchEvent(new Event("input", {bubbles: true}));
  const look = () => appell.shown > before ? done(performance.now() - begin) : setTimeout(look, 1);
  look();
})"""


def tables(quick: bool) -> list[Table]:
    path = next((p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))), None)
    columns = ("system", "first picture", "drag, median", "drag, longest")
    if path is None:
        return [Table("Studio", columns, (), ("there is no Chromium",))]
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        found = {name: _measured(browser.new_page(), name, 1 if quick else 3) for name in SYSTEMS[: 1 if quick else None]}
        browser.close()
    shown = lambda start, drags: (f"{start:.2f} s", f"{median(drags):.0f} ms", f"{max(drags):.0f} ms")
    rows = tuple((name, *shown(*one)) for name, one in found.items())
    records = tuple({"system": name, "start": start, "drags": drags} for name, (start, drags) in found.items())
    return [Table("Studio: from the command to the first picture, from a slider to the next one", columns, rows, (), records)]


def _measured(page: Any, name: str, starts: int) -> tuple[float, list[float]]:
    """(seconds of the shortest start, milliseconds of the drags after the last)."""
    times, drags = [], []
    for _ in range(starts):
        begin = time.perf_counter()
        with served("-m", "appell", "studio", name, "--no-open") as address:
            _opened(page, address)
            times.append(time.perf_counter() - begin)
            slider = page.get_by_role("slider", name="until", exact=True)
            drags = []
            for k in range(DRAGS):
                drags.append(slider.evaluate(MOVED, 0.3 + 0.02 * k))
                page.wait_for_timeout(150)
    return min(times), drags


def _opened(page: Any, address: str) -> None:
    from playwright.sync_api import Error

    while True:
        try:
            page.goto(address)
            break
        except Error:  # the server is up a moment after it has said where
            time.sleep(0.02)
    page.wait_for_function("window.appell && appell.shown > 0", timeout=90_000)


@contextmanager
def served(*command: str) -> Iterator[str]:
    """The address that a Python command serves on a free port."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "NICEGUI"))}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed library has its bytecode
    environment = {**kept, "PYTHONUNBUFFERED": "1"}  # NiceGUI behaves otherwise where it believes itself under test
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)
        assert found, line
        yield found[0]
    finally:
        process.terminate()
        process.wait(20)
