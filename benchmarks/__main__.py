"""`python -m benchmarks [names…] [--quick] [--results FOLDER]`."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from rich.console import Console

from benchmarks.report import HERE, Table, machine, read_json, show, write_json, write_markdown

NAMES = (
    "start", "derive", "acceleration", "trajectory", "disc", "trees", "forms", "impacts",
    "bounds", "contact", "lab", "ensembles", "friction", "fourbars", "player", "studio", "stiff", "optimize",
    "gallery",
)


def main(arguments: list[str] | None = None) -> list[Table]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ratios against peers, from one run.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats: to see that everything works")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder of the JSON files")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; choose of {', '.join(NAMES)}")
    console, about = Console(width=140), machine()
    console.print(", ".join(f"{key} {value}" for key, value in about.items()), style="dim", highlight=False)
    done: list[Table] = []
    for name in options.names or NAMES:
        tables = importlib.import_module(f"benchmarks.{name}").tables(options.quick)
        for table in tables:
            show(console, table)
        write_json(name, tables, about, options.results)
        done += tables
    if not options.quick and options.results == HERE / "results":
        write_markdown([table for name in NAMES for table in read_json(name, options.results)], about)
    return done


if __name__ == "__main__":
    main()
