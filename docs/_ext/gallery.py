"""The directive `zoo-gallery`: every system of the zoo, drawn and simulated when the documentation is built."""

from __future__ import annotations

import inspect
import re
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

SECONDS, FRAMES, SIZE = 4.0, 40, (320, 240)
FINER = 25
"""Points of a trail between two frames: it is drawn smooth."""
FIRST = """rolling_disc stewart_platform double_pendulum_with_wall tippe_top woodpecker_toy wheeled_leg heavy_top snakeboard
four_bar compass_gait rolling_ball_on_turntable n_pendulum hopping_leg differential_drive rattleback thread_pendulum""".split()
"""The gallery begins with these; the others follow by name."""
LONGEST = 6_000
"""Characters of LaTeX on a card."""


class Gallery(Directive):
    """One figure a system: a small animation, its docstring, its equations, its reference, a link to its player."""

    def run(self) -> list[Any]:
        import appell as ap

        app = self.state.document.settings.env.app
        folder = Path(app.outdir) / "gallery"
        folder.mkdir(parents=True, exist_ok=True)
        every = {**ap.zoo.ALL, **ap.zoo.ROBOTS, **ap.zoo.FRICTION, **ap.zoo.WALKERS, **ap.zoo.LARGE}
        cards = [card(name, every[name], folder) for name in dict.fromkeys([*FIRST, *sorted(every)])]
        return [nodes.raw("", f'<div class="gallery">{"".join(cards)}</div>', format="html")]


def card(name: str, make: Any, folder: Path) -> str:
    import appell as ap
    from appell.scene.film import film

    example = make()
    motion = ap.simulate(example.system, example.start, min(example.until, SECONDS), example.parameters)
    scene = ap.Scene.of(example.system)
    motion.animate(folder / f"{name}.html", scene=scene)
    (folder / f"{name}.webp").write_bytes(moving(film(scene, motion, frames=FRAMES * FINER), motion.t[-1] - motion.t[0]))
    title, *rest = inspect.getdoc(make).split("\n\n")
    formulas = "\n".join(block for block in rest if block.startswith("    "))
    size = f'width="{SIZE[0]}" height="{SIZE[1]}"'
    picture = f'<img loading="lazy" {size} src="gallery/{name}.webp" alt="{escape(example.name)} in motion">'
    words = " ".join(title.split())
    return (
        f'<figure id="{name}"><a href="gallery/{name}.html">{picture}</a><figcaption><strong>{escape(example.name)}</strong> '
        f"<code>ap.zoo.{name}()</code><p>{escape(words)}</p>"
        + (f"<pre>{escape(inspect.cleandoc(formulas))}</pre>" if formulas else "")
        + equations(example.system, written=name not in ap.zoo.LARGE)
        + f"<p><small>{escape(example.reference)}</small></p></figcaption></figure>"
    )


def equations(system: Any, *, written: bool) -> str:
    """Lagrange's equations, or the model as it is stated where they do not apply, do not fit a card, or are not wanted."""
    import appell as ap
    from appell.report import model_page
    from appell.report.html import formula, split_lines

    try:
        source = ap.forms.lagrange(system).latex("simplified") if written else ""
    except (ap.FormNotApplicable, ap.ModelError):
        source = ""
    if not source or len(source) > LONGEST:
        stated = re.sub(r"<p><button.*?</details>", "", model_page.stated(system), flags=re.DOTALL)  # buttons of the report
        return f"<details><summary>Model</summary>{stated}</details>"
    lines = "".join(formula(line.replace("&", "")) for line in split_lines(source))
    return f"<details><summary>Lagrange's equations</summary>{lines}</details>"


def moving(film: Any, seconds: float) -> bytes:
    """A small animated WebP that plays in the time of the motion."""
    from PIL import Image

    from appell.show.painter import Painter

    painter = Painter(film, 2 * SIZE[0], 2 * SIZE[1], clock=False)
    frames = [Image.fromarray(painter.frame(k)).resize(SIZE, Image.Resampling.LANCZOS) for k in range(0, len(film), FINER)]
    memory = BytesIO()
    pause = max(20, round(1000 * seconds / len(frames)))
    frames[0].save(memory, "WEBP", save_all=True, append_images=frames[1:], duration=pause, loop=0)
    return memory.getvalue()


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("zoo-gallery", Gallery)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
