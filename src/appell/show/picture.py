"""A matplotlib figure for `plt.show()` and for notebooks, where it is shown once. Loads matplotlib: import it where something
is drawn."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from appell.show.style import style


class Picture(Figure):
    """A figure in the typography of a paper, on screen and in files.

    It is registered with pyplot, so that `plt.show()` opens it, except in a notebook with inline pictures: there the figure is
    the value of its cell, and pyplot would show it a second time.
    """

    def _repr_png_(self) -> bytes | None:
        if matplotlib.is_interactive() and self._is_registered:
            return None  # its window or widget shows it already
        memory = BytesIO()
        self.savefig(memory, format="png")
        return memory.getvalue()

    @property
    def _is_registered(self) -> bool:
        """Whether the figure is registered with pyplot."""
        return getattr(self.canvas, "manager", None) is not None

    def savefig(self, fname: Any, **options: Any) -> None:
        """Writes the picture; the file extension determines the format (.pdf, .svg, .pgf and .eps are vectors)."""
        with style():
            super().savefig(fname, **options)

    def show(self, warn: bool = True) -> None:
        """Shows the figure: in its window, or in the notebook."""
        if self._is_registered:
            super().show(warn=warn)
        elif _inline():
            from IPython.display import display  # type: ignore[import-not-found] # present in a notebook

            display(self)


def picture(size: tuple[float, float]) -> Picture:
    """An empty picture of this size, inches."""
    if _inline():
        return Picture(figsize=size, layout="constrained")
    from matplotlib import pyplot

    figure = pyplot.figure(FigureClass=Picture, figsize=size, layout="constrained")
    assert isinstance(figure, Picture)
    return figure


def _inline() -> bool:
    """Whether pictures are shown inline in a notebook."""
    return "inline" in matplotlib.get_backend().lower()


__all__ = ["Picture", "picture"]
