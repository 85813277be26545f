"""Tables on the terminal, as JSON and as Markdown; what machine they come from."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

HERE = Path(__file__).parent
PACKAGES = ("appell", "casadi", "numpy", "scipy", "sympy", "heyoka")


@dataclass(frozen=True)
class Table:
    """A title, column heads, rows of text, remarks; `records` are the numbers behind it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    records: tuple[dict, ...] = field(default=(), repr=False)


def seconds(value: float) -> str:
    """A time with a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def ratio(value: float) -> str:
    """Two digits or more: 19.7 is not 20."""
    return f"{value:.2g} ×" if value < 10 else f"{value:.1f} ×" if value < 100 else f"{value:,.0f} ×"


def machine() -> dict[str, str]:
    """What the figures depend on; no names or folders of this machine."""
    found = {"CPU": _cpu(), "system": f"{platform.system()} {platform.machine()}", "Python": platform.python_version()}
    found["compiler"] = _compiler()
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else platform.processor() or platform.machine()


def _compiler() -> str:
    from appell.backends.compiler.build import reason_against_c, working_compiler

    return "none" if reason_against_c() else working_compiler().version.splitlines()[0]


def show(console: Console, table: Table) -> None:
    view = RichTable(title=table.title, title_justify="left", title_style="bold")
    for k, head in enumerate(table.columns):
        view.add_column(head, justify="left" if k == 0 else "right", overflow="fold")
    for row in table.rows:
        view.add_row(*row)
    console.print(view)
    for note in table.notes:
        console.print(f"  {note}", style="dim", highlight=False)
    console.print()


def write_json(name: str, tables: Sequence[Table], about: dict[str, str], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    today = date.today().isoformat()
    content = {"benchmark": name, "date": today, "machine": about, "tables": [asdict(table) for table in tables]}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def read_json(name: str, folder: Path) -> list[Table]:
    """The tables of the latest run of one benchmark; none where it has not been run."""
    path = folder / f"{name}.json"
    if not path.exists():
        return []
    tables = json.loads(path.read_text(encoding="utf-8"))["tables"]
    rows = lambda table: tuple(tuple(row) for row in table["rows"])
    return [Table(t["title"], tuple(t["columns"]), rows(t), tuple(t["notes"]), tuple(t["records"])) for t in tables]


def write_markdown(tables: Sequence[Table], about: dict[str, str], path: Path = HERE / "RESULTS.md") -> None:
    """The latest run of each benchmark as one page."""
    how = "Written by `make bench`: each table from one run, both sides of each ratio interleaved, least times."
    parts = ["# Benchmarks", how]
    parts.append("\n".join(f"- {key}: {value}" for key, value in about.items()))
    for table in tables:
        lines = [f"## {table.title}", "", _line(table.columns), _line(["---", *["---:"] * (len(table.columns) - 1)])]
        lines += [_line(row) for row in table.rows]
        parts.append("\n".join(lines))
        parts.append("\n".join(f"- {note}" for note in table.notes))
    path.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


__all__ = ["HERE", "Table", "machine", "ratio", "read_json", "seconds", "show", "write_json", "write_markdown"]
