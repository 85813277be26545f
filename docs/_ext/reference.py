"""The reference: a page an object. `api.md` lists the objects, the pages are written from their docstrings before the build.

    ```{objects}
    appell.System: nq, nv, replace
    appell.simulate = appell.simulate.simulate.simulate
    ```

A line is the public name, where it cannot be found under that name ` = ` its home, and after a colon the members that are shown
(`*`: all that have a docstring).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

FOLDER = "reference"
DATA = {"appell.t": "Time, s: a SymPy symbol."}
"""What has no docstring of its own."""
LINE = re.compile(r"(?P<name>[\w.]+)(?: = (?P<home>[\w.]+))?(?:: (?P<members>.+))?")


@dataclass(frozen=True)
class Entry:
    """One object of the reference."""

    name: str
    home: str
    members: str | None

    @staticmethod
    def read(line: str) -> Entry:
        found = LINE.fullmatch(line.strip())
        if found is None:
            raise ValueError(f"api.md: '{line}' is not `name = home: members`")
        return Entry(found["name"], found["home"] or found["name"], found["members"])

    @property
    def thing(self) -> Any:
        """The object itself."""
        module, _, name = self.home.rpartition(".")
        return getattr(import_module(module), name)

    @property
    def directive(self) -> str:
        """The one of autodoc that shows it."""
        found = self.thing
        if inspect.ismodule(found):
            return "automodule"
        if inspect.isclass(found):
            return "autoexception" if issubclass(found, BaseException) else "autoclass"
        return "autofunction" if callable(found) else "autodata"

    @property
    def title(self) -> str:
        """As it is written in a program: `ap.System`."""
        return re.sub(r"^appell\.", "ap.", self.name)

    @property
    def page(self) -> str:
        return self.name if self.directive == "automodule" else self.title

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        text = DATA.get(self.name) or inspect.getdoc(self.thing) or ""
        first = " ".join(text.split("\n\n")[0].split())
        return re.split(r"(?<=[.:]) (?=[A-Z`])", first)[0].rstrip(":")

    def text(self) -> str:
        """Its page."""
        rule = "=" * len(self.title)
        lines = [rule, self.title, rule, "", f".. {self.directive}:: {self.home}"]
        if self.name in DATA:
            lines[-1:] = [f".. py:data:: {self.name}", "", f"   {DATA[self.name]}"]
        if self.members:
            lines.append("   :members:" + ("" if self.members == "*" else f" {self.members}"))
        return "\n".join([*lines, ""])


def entries(source: str) -> Iterator[Entry]:
    """All objects that `api.md` lists."""
    for block in re.findall(r"^```\{objects\}\n(.*?)^```$", source, re.MULTILINE | re.DOTALL):
        yield from (Entry.read(line) for line in block.splitlines() if line.strip())


class Objects(SphinxDirective):
    """A table of the objects, and the branch of the contents that has their pages."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        found = [Entry.read(line) for line in self.content if line.strip()]
        tree = ["```{toctree}", ":hidden:", "", *(f"{one.title} <{FOLDER}/{one.page}>" for one in found), "```", ""]
        rows = [f"| [`{one.title}`]({FOLDER}/{one.page}.rst) | {plain(one.summary)} |" for one in found]
        node = nodes.container()
        self.state.nested_parse(StringList([*tree, "| object | what it is |", "|---|---|", *rows]), self.content_offset, node)
        return node.children


def plain(text: str) -> str:
    """Prose in which only `code` is markup, for a cell of a table."""
    parts = re.split(r"(`[^`]+`)", text)
    marked = lambda part: re.sub(r"([\\*|_<>\[\]$])", r"\\\1", part)
    return "".join(part.replace("|", "\\|") if k % 2 else marked(part) for k, part in enumerate(parts))


def write(app: Any) -> None:
    """The pages; those that are as they were are not touched, so that nothing is read twice."""
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(exist_ok=True)
    wanted = {f"{one.page}.rst": one.text() for one in entries(Path(app.srcdir, "api.md").read_text("utf-8"))}
    for path in folder.glob("*.rst"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("objects", Objects)
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
