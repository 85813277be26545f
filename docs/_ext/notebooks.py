"""Every page whose cells are executed can be downloaded as a notebook, with what it printed and drew."""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import relpath
from typing import Any

import nbformat

FOLDER = "notebooks"
SPHINX_ONLY = re.compile(r"^(`{3,}|:{3,})\{[\w-]+\}.*?^\1$\n?", re.MULTILINE | re.DOTALL)
"""Directives: a notebook shows text, formulas and pictures."""
LINK = re.compile(r"\[([^\]]+)\]\([\w./]+\.md(?:#[\w-]+)?\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\([\w./]+\)")
KEPT = """\
Some cells read numbers that are kept beside the documentation. Set where its sources are before they run:

    import os
    os.environ["APPELL_DOCS"] = "appell/docs"
"""


def executed(app: Any, page: str) -> Path:
    """Where the notebook of a page is put by what executes it."""
    return Path(app.outdir).parent / "jupyter_execute" / f"{page}.ipynb"


def offer(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """A link above the page."""
    if executed(app, page).exists() and "body" in context:
        address = relpath(f"{FOLDER}/{page}.ipynb", str(Path(page).parent))
        link = f'<p class="notebook"><a href="{address}" download>Download as a notebook</a></p>'
        context["body"] = link + context["body"]


def write(app: Any, failure: Exception | None) -> None:
    """The notebooks, beside the pages."""
    if failure is not None or app.builder.format != "html":
        return
    for page in app.env.found_docs:
        if executed(app, page).exists():
            target = Path(app.outdir, FOLDER, f"{page}.ipynb")
            target.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(readable(nbformat.read(executed(app, page), as_version=4)), target)


def readable(notebook: Any) -> Any:
    """The notebook without what only Sphinx understands."""
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = PICTURE.sub(r"*\1*", LINK.sub(r"\1", SPHINX_ONLY.sub("", cell.source))).strip()
        if cell.source:
            cells.append(cell)
    if any("APPELL_DOCS" in cell.source for cell in cells):
        cells.insert(1, nbformat.v4.new_markdown_cell(KEPT))
    notebook.cells = cells
    nbformat.validator.normalize(notebook)
    return notebook


def setup(app: Any) -> dict[str, Any]:
    app.connect("html-page-context", offer)
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
