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
ROOM = 195.0
"""Width of a row of a formula on a card in points at 10 pt: longer formulas are broken at signs, so that nothing scrolls."""
SIGN = 16.0
"""Width of a relation with its spaces (pt)."""
ROWS = 8
"""Rows of an energy or a constraint on the front of a card; longer ones are shown with the model."""


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
    title = inspect.getdoc(make).split("\n\n")[0]
    size = f'width="{SIZE[0]}" height="{SIZE[1]}"'
    picture = f'<img loading="lazy" {size} src="gallery/{name}.webp" alt="{escape(example.name)} in motion">'
    words = " ".join(title.split())
    return (
        f'<figure id="{name}"><a href="gallery/{name}.html">{picture}</a><figcaption><strong>{escape(example.name)}</strong> '
        f"<code>ap.zoo.{name}()</code><p>{escape(words)}</p>"
        + stated(example.system)
        + equations(example.system, written=name not in ap.zoo.LARGE)
        + f"<p><small>{escape(example.reference)}</small></p></figcaption></figure>"
    )


def stated(system: Any) -> str:
    """The energies, forces and constraints as mathematics, as far as they fit on a card."""
    from appell.letters import latex
    from appell.model import System
    from appell.report.model_page import force_rows, friction_latex

    if type(system) is not System:  # a robot: its energies are evaluated by recursion
        return ""
    said: list[tuple[Any, str, Any]] = [("T", "=", system.kinetic)]
    said += [("V", "=", system.potential)] if system.potential != 0 else []
    said += [(left, "=", Q) for left, Q in force_rows(system)]
    said += [(latex(s.d), "=", system.rates[s]) for s in system.states]
    said += [(f, "=", 0) for f in system.residuals]
    said += [(face.function, r"\geq", 0) for face in system.unilateral]
    blocks = [broken(*one) for one in said]
    blocks += [[friction_latex(friction)] for friction in system.frictions]
    return "".join(shown(rows) for rows in blocks if len(rows) <= ROWS)


def broken(left: Any, relation: str, right: Any) -> list[str]:
    """LaTeX of a relation in rows that fit a card; a side that is text is not broken."""
    from sympy import sympify

    from appell.letters import MeasuredLatex
    from appell.letters.formula_rows import filled
    from appell.typeset import width

    first = [left] if isinstance(left, str) else filled(MeasuredLatex.of(sympify(left)), ROOM)[1]
    value = MeasuredLatex.of(sympify(right))
    beside = filled(value, max(ROOM - SIGN - width(first[-1]), 0.0))[1]
    if width(first[-1]) + SIGN + width(beside[0]) <= ROOM:
        return [*first[:-1], f"{first[-1]} {relation} {beside[0]}", *beside[1:]]
    below = filled(value, ROOM - SIGN)[1]
    return [*first, f"{relation} {below[0]}", *below[1:]]


def shown(rows: list[str]) -> str:
    """Rows of one formula; those after the first are indented."""
    from appell.report.html import formula

    return "".join(formula(row if k == 0 else rf"\quad {row}") for k, row in enumerate(rows))


def equations(system: Any, *, written: bool) -> str:
    """Lagrange's equations, or the model as it is stated where they do not apply, do not fit a card, or are not wanted."""
    import appell as ap
    from appell.report import model_page

    try:
        lagrange = ap.forms.lagrange(system) if written else None
    except (ap.FormNotApplicable, ap.ModelError):
        lagrange = None
    if lagrange is None or len(lagrange.latex("simplified")) > LONGEST:
        model = re.sub(r"<p><button.*?</details>", "", model_page.model_html(system), flags=re.DOTALL)  # buttons of the report
        return f"<details><summary>Model</summary>{model}</details>"
    lines = "".join(shown(broken(one.lhs, "=", one.rhs)) for one in lagrange.equations)
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
