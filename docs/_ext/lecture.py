"""The handouts of the lecture, beside its page: written by the cells of `lecture.md`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def write(app: Any, failure: Exception | None) -> None:
    """Executes the lecture in a folder of the build, where its cells leave the handouts."""
    if failure is not None or app.builder.format != "html":
        return
    sys.path.insert(0, str(Path(app.srcdir)))
    from lecture_handouts import main

    main(Path(app.outdir) / "lecture")


def setup(app: Any) -> dict[str, Any]:
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
