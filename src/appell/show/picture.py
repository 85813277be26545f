"""A matplotlib figure that shows itself once in a notebook. Loads matplotlib: import it where something is drawn."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure that pyplot does not know: a notebook shows it as the value of its cell and nowhere else; none stays open."""

    def _repr_png_(self) -> bytes:
        memory = BytesIO()
        self.savefig(memory, format="png")
        return memory.getvalue()


__all__ = ["Picture"]
