"""Above all others: pages that put model, equations, verification, plots and animation together."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from appell.spelling import checked_keywords


@checked_keywords()
def handout(
    system: Any,
    path: Any = None,
    *,
    forms: Iterable[Any] = ("lagrange",),
    motion: Any = None,
    scene: Any = None,
    title: str | None = None,
) -> Path:
    """Writes a sheet for teaching: the model, its equations in the chosen forms and, with a motion, animation and curves.

    Parameters
    ----------
    system: the system (or tree).
    path: ends with .html for a page or .tex for LaTeX (pdflatex, lualatex; a PDF of the curves is written beside it).
        By default the name of the system with .html, in the working folder.
    forms: names of forms, or `Equations`.
    motion: a motion of the system.
    scene: what to draw of it; by default the scene of the system.
    title: by default the name of the system.
    """
    from appell.report.sheet import write_handout

    return write_handout(system, path, forms=forms, motion=motion, scene=scene, title=title)


def studio(model: Any = None, *, port: int = 0, open: bool = True) -> None:
    """A page in the browser to play with a system: sliders, equations, animation, curves, exports. Runs until interrupted.

    Parameters
    ----------
    model: a `System`, a `Tree`, an `Example`, the name of one of the zoo, or the path of a model file (.toml), which is read
        again whenever it changes; by default the zoo to choose from.
    port: 0 takes any that is free. The page is on the loopback address, and its address carries a token.
    open: whether to open the browser.
    """
    from appell.report.studio_page import open_studio

    open_studio(model, port=port, open=open)


__all__ = ["handout", "studio"]
