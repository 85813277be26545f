"""`result.report`: the result of an analysis or an ensemble on one page: its figure, its values and the model."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from sympy import latex

from appell.disk.output_file import write
from appell.errors import AppellError
from appell.letters.displayed_equations import DisplayedEquations
from appell.model import System
from appell.report import model_page
from appell.report.html import caution, equation_block, missing, section, table
from appell.report.report import page_of, page_target, versions


def result_report(found: Any, path: Any, *, title: str | None = None, drawn_with: tuple[Any, ...] = ()) -> Path:
    """See `Reported.report`. found: anything with `ok`, `message`, `dataset` and `plot()`; drawn_with: arguments of `plot`."""
    target, dataset = page_target(path), found.dataset
    system = getattr(found, "system", None)
    heading = title or str(dataset.attrs.get("title", "")) or f"{type(found).__name__} of {dataset.attrs.get('system', '')}"
    facts = [(escape(str(key)), escape(str(value))) for key, value in dataset.attrs.items() if key not in ("title", "message")]
    parts = [
        section("Result", f"<p>{escape(str(found.message))}</p>" if found.ok else caution(str(found.message))),
        section("Equations", _equations(found)) if isinstance(found, DisplayedEquations) else "",
        section("Figure", _figure(found, drawn_with)),
        section("Values", table(_values(dataset), ("name", "over", "size", "range", "unit", "meaning"))),
        section("Model", model_page.model_html(system) if isinstance(system, System) else ""),
        section("Run", table([*facts, *versions()])),
    ]
    return write(target, page_of(heading, parts))


def _equations(result: DisplayedEquations) -> str:
    return equation_block([f"{latex(e.lhs)} &= {latex(e.rhs)}" for e in result.equations])


def _figure(result: Any, drawn_with: tuple[Any, ...]) -> str:
    memory = BytesIO()
    try:
        result.plot(*drawn_with).savefig(memory, format="svg")
    except (AppellError, NotImplementedError) as error:
        return missing(f"There is no figure: {error}")
    source = b64encode(memory.getvalue()).decode("ascii")
    return f'<p><img alt="figure" src="data:image/svg+xml;base64,{source}"></p>'


def _values(dataset: Any) -> list[tuple[str, ...]]:
    """One row for each variable: name, dimensions, shape, smallest and largest value, unit, meaning."""
    rows = []
    for name, variable in dataset.variables.items():
        values = variable.values
        finite = values[np.isfinite(values)] if values.dtype.kind in "iuf" and values.size else np.zeros(0)
        span = f"{finite.min():.6g} … {finite.max():.6g}" if finite.size else ""
        row = str(name), ", ".join(map(str, variable.dims)), " × ".join(map(str, variable.shape)), span
        texts = (str(variable.attrs.get(key, "")) for key in ("units", "long_name"))
        rows.append(tuple(map(escape, (*row, *texts))))
    return rows


__all__ = ["result_report"]
