"""Typography and colours of all pictures, as in a paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle, islice, product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from appell.motion.record import Series

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette: distinguishable with every kind of colour vision, and in grey."""

DASHES = ("-", "--", "-.", ":")

STYLE: Mapping[str, Any] = {
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 10,
    "axes.labelsize": 10,
    "axes.titlesize": 10,
    "legend.fontsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-4, 5),
    "axes.unicode_minus": True,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.3,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "figure.dpi": 140,
    "pdf.fonttype": 42,  # text stays text in PDF: journals require it, and readers can search
    "ps.fonttype": 42,
    "svg.fonttype": "path",
}


@contextmanager
def style() -> Iterator[None]:
    """The typography of a paper for matplotlib, inside a `with` block."""
    import matplotlib

    with matplotlib.rc_context(dict(STYLE)):  # type: ignore[arg-type]
        yield


def curve_styles(count: int) -> list[tuple[str, str]]:
    """Colour and dashes for `count` curves: all colours solid first, then dashed."""
    return list(islice(((colour, dash) for dash, colour in cycle(product(DASHES, COLOURS))), count))


def typeset(curve: Series) -> str:
    """Its LaTeX if matplotlib can render it (environments, for example, it cannot), else its plain name."""
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(f"${curve.latex}$")
    except ValueError:
        return curve.name.replace("$", r"\$")
    return f"${curve.latex}$"


def axis_label(curve: Series) -> str:
    """The typeset name with its unit."""
    unit = "" if curve.units == "1" else f" ({curve.units})"
    return typeset(curve) + unit


__all__ = ["COLOURS", "DASHES", "STYLE", "axis_label", "curve_styles", "style", "typeset"]
