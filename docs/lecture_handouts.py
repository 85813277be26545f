"""The lecture of `docs/lecture.md`: its notebook, executed, and its handouts as pages, LaTeX and PDF.

    python docs/lecture_handouts.py [FOLDER]        (make lecture; out/lecture)

The cells of the page write the handouts themselves. PDFs are made where a LaTeX is installed: tectonic, lualatex or pdflatex.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENGINES = {"tectonic": [], "lualatex": ["-interaction=nonstopmode", "-halt-on-error"],
           "pdflatex": ["-interaction=nonstopmode", "-halt-on-error"]}  # fmt: skip


def notebook(folder: Path) -> Path:
    """The page as a notebook, executed in the folder, where its cells leave the handouts."""
    import nbformat
    from nbclient import NotebookClient

    sys.path.insert(0, str(HERE / "_ext"))
    from notebooks import readable

    made = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    text = (HERE / "lecture.md").read_text(encoding="utf-8").split("---\n", 2)[2]
    for k, part in enumerate(CELL.split(text)):
        new = nbformat.v4.new_code_cell if k % 2 else nbformat.v4.new_markdown_cell
        made.cells.append(new(part.strip()))
    made = readable(made)
    NotebookClient(made, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    target = folder / "lecture.ipynb"
    nbformat.write(made, target)
    return target


def engine() -> list[str] | None:
    """A command that makes PDF of LaTeX, or None."""
    return next(([path, *options] for name, options in ENGINES.items() if (path := shutil.which(name))), None)


def compiled(source: Path) -> Path | None:
    """The PDF of a handout; None where no LaTeX is installed."""
    command = engine()
    if command is None:
        return None
    run = subprocess.run([*command, source.name], cwd=source.parent, capture_output=True, text=True, errors="replace")
    if run.returncode:
        raise RuntimeError(f"{command[0]} failed on {source.name}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    for ending in (".aux", ".log", ".out"):
        source.with_suffix(ending).unlink(missing_ok=True)
    return source.with_suffix(".pdf")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    print(notebook(folder))
    for source in sorted(folder.glob("*.tex")):
        print(compiled(source) or f"{source}: no LaTeX is installed, so no PDF")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "out" / "lecture")
