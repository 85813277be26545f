"""The player of our pages against K3D's on the same film: 30 bodies, 600 frames, a trail; frames a second in Chromium.

Each page is one file and plays by its own loop, in a canvas of the same number of pixels, seen by the same camera. A frame
counts when the page draws by WebGL between two beats of the browser's clock, whoever asked for it. Our trail grows; K3D's is
there as a whole. K3D is taken as it comes, and without what it draws besides (grid, smooth edges). The report also moves the
cursors of its plots. The browser renders in software: compare ratios. Processor time a frame, of all processes of the browser,
depends least on what else the machine does.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import appell as ap
from appell.scene import Box, Trail
from appell.scene.film import Film, film
from appell.scene.shapes import Solid, Track
from appell.show.camera import Camera
from benchmarks.measure import Disagreement
from benchmarks.report import Table, ratio, seconds

BODIES, FRAMES, SECONDS = 30, 600, 10.0
CANVAS, NARROW, WIDE, HEIGHT = (609, 378), 650, 1200, 900
"""Pixels of every canvas, and of the windows in which they come out so."""
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-background-networking"]

COUNT = """
window.frames_drawn = 0;
let drawing = false;
for (const kind of [WebGLRenderingContext, WebGL2RenderingContext])
  for (const name of ["drawArrays", "drawElements", "drawArraysInstanced", "drawElementsInstanced"]) {
    const own = kind.prototype[name];
    if (own) kind.prototype[name] = function (...more) { drawing = true; return own.apply(this, more); };
  }
const beat = () => { if (drawing) window.frames_drawn++; drawing = false; requestAnimationFrame(beat); };
requestAnimationFrame(beat);
"""


@dataclass(frozen=True)
class Page:
    """A file, when it is ready, what plays it, and the width of its window in pixels."""

    file: Path
    ready: str
    play: str
    window: int


def tables(quick: bool) -> list[Table]:
    length, rounds = (0.5, 1) if quick else (6.0, 3)
    path = next((p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))), None)
    if path is None:
        return [Table("Players", ("player", "frames/s"), (), ("there is no Chromium",))]
    with TemporaryDirectory() as folder:
        pages = written(Path(folder))
        sizes = {name: page.file.stat().st_size for name, page in pages.items()}
        found = played(path, pages, length, rounds)
    best = {name: (max(rate for rate, _ in one), min(cpu for _, cpu in one)) for name, one in found.items()}
    rows = tuple(row(name, sizes[name], *best[name], *best["ours"]) for name in pages)
    notes = (f"{BODIES} bodies, {FRAMES} frames; best of {rounds} rounds of {length:g} s in turn",)
    columns = ("player", "file", "frames/s", "ours / theirs", "processor time a frame", "theirs / ours")
    records = tuple({"player": name, "frames/s": rate, "seconds": cpu} for name, (rate, cpu) in best.items())
    return [Table("Players of a film in space, Chromium, software rendering", columns, rows, notes, records)]


def row(name: str, size: int, rate: float, cpu: float, our_rate: float, our_cpu: float) -> tuple[str, ...]:
    return name, f"{size / 1e6:.2f} MB", f"{rate:.1f}", ratio(our_rate / rate), seconds(cpu), ratio(cpu / our_cpu)


def written(folder: Path) -> dict[str, Page]:
    """The pages to be played."""
    motion, scene = bodies()
    shown = film(scene, motion, frames=FRAMES)
    ready, play = "window.appell && appell.ready", "appell.player.play()"
    pages = {
        "ours": Page(motion.animate(folder / "ours.html", scene=scene), ready, play, NARROW),
        "ours, report with plots": Page(motion.report(folder / "report.html", scene=scene, forms=[]), ready, play, WIDE),
    }
    for name, look in {"K3D": {}, "K3D, bare": {"grid_visible": False, "antialias": 0}}.items():
        file = folder / f"k3d{len(pages)}.html"
        file.write_text(k3d_page(shown, look), encoding="utf-8")
        pages[name] = Page(file, "window.k3d", "k3d.setFps(120), k3d.startAutoPlay()", NARROW)
    return pages


def bodies() -> tuple[Any, ap.Scene]:
    """Boxes on springs that turn as they swing, with the trail of the last."""
    q = ap.coordinates(" ".join(f"q{k}" for k in range(BODIES)))
    kinetic = sum(s.d**2 for s in q) / 2
    potential = sum((a - b) ** 2 for a, b in pairwise(q)) * 20 + q[0] ** 2 / 2
    system = ap.System(list(q), kinetic, potential, name="boxes on springs")
    items = []
    for k, s in enumerate(q):
        place = [0.5 * (k % 6), 0.5 * (k // 6), s]
        items.append(Box(place, [0.3, 0.2, 0.15], turned=s))
    scene = ap.Scene(system, [*items, Trail([0.5 * 5, 0.5 * 4, q[-1]])])
    start = {s: float(np.sin(k)) for k, s in enumerate(q)}
    return ap.simulate(system, start, SECONDS), scene


def k3d_page(shown: Film, look: dict[str, Any]) -> str:
    """The same meshes in the same poses at the same times, as K3D's own snapshot."""
    import k3d

    camera = Camera.on(shown, CANVAS[0] / CANVAS[1])
    eye = camera.target + camera.distance * camera.axes[2]
    plot = k3d.plot(menu_visibility=False, fps=60, camera_auto_fit=False, camera_fov=float(np.degrees(camera.angle)), **look)
    plot.camera = [*eye, *camera.target, 0, 0, 1]
    for shape in shown.shapes:
        if isinstance(shape, Solid):
            matrices = np.tile(np.eye(4, dtype=np.float32), (len(shown), 1, 1))
            matrices[:, :3, :3], matrices[:, :3, 3] = shape.R, shape.p
            mesh = k3d.mesh(shape.mesh.vertices.astype(np.float32), shape.mesh.triangles.astype(np.uint32), flat_shading=True)
            mesh.model_matrix = {str(float(t)): m for t, m in zip(shown.t, matrices, strict=True)}
            plot += mesh
        elif isinstance(shape, Track):
            plot += k3d.line(shape.p.astype(np.float32), shader="simple")
    page = plot.get_snapshot(additional_js_code="window.k3d = K3DInstance;")
    return page.replace("width: 100%;\n            height: 100%;", f"width: {CANVAS[0]}px; height: {CANVAS[1]}px;", 1)


def played(path: str, pages: dict[str, Page], length: float, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Frames a second and processor seconds a frame of each page, round by round."""
    from playwright.sync_api import sync_playwright

    found: dict[str, list[tuple[float, float]]] = {name: [] for name in pages}
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        for _ in range(rounds):
            for name, page in pages.items():
                context = browser.new_context(viewport={"width": page.window, "height": HEIGHT})
                shown = context.new_page()
                shown.add_init_script(COUNT)
                shown.goto(page.file.as_uri())
                waited(shown, page.ready)
                size = shown.evaluate("(() => { const c = document.querySelector('canvas'); return [c.width, c.height]; })()")
                if np.abs(np.array(size) - CANVAS).max() > 2:
                    raise Disagreement(f"the canvas of {name} has {size} pixels, not {CANVAS}")
                shown.evaluate(f"void ({page.play})")
                found[name].append(measured(shown, length))
                context.close()
        browser.close()
    return found


def waited(page: Any, condition: str) -> None:
    """Asked from outside: the policy of our pages forbids them to evaluate text."""
    for _ in range(1200):
        if page.evaluate(f"Boolean({condition})"):
            return
        page.wait_for_timeout(50)
    raise TimeoutError(condition)


def measured(page: Any, length: float) -> tuple[float, float]:
    """(frames drawn a second by the clock of the page, processor seconds a frame), after the first half second."""
    after = lambda s: f"new Promise((done) => setTimeout(() => done([performance.now(), frames_drawn]), {1000 * s}))"
    t0, first = page.evaluate(after(0.5))
    spent = processor_seconds()
    t1, last = page.evaluate(after(length))
    return 1000 * (last - first) / (t1 - t0), (processor_seconds() - spent) / max(last - first, 1)


def processor_seconds() -> float:
    """Of all processes below this one that are alive: the browser's."""
    parents, ticks = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)], ticks[int(entry.name)] = int(fields[1]), int(fields[11]) + int(fields[12])

    def below(process: int) -> bool:
        while process in parents:
            process = parents[process]
            if process == os.getpid():
                return True
        return False

    return sum(count for process, count in ticks.items() if below(process)) / os.sysconf("SC_CLK_TCK")


__all__ = ["tables"]
