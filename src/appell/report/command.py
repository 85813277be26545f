"""The command `appell`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from appell.errors import AppellError


def main(arguments: Sequence[str] | None = None) -> int:
    """`appell studio [zoo name] [--port N] [--no-open]`."""
    parser = argparse.ArgumentParser(prog="appell", description="The dynamics of constrained mechanical systems.")
    commands = parser.add_subparsers(dest="command", required=True)
    studio = commands.add_parser("studio", help="a local page: sliders, equations, animation, curves")
    studio.add_argument("name", nargs="?", help="a system of the zoo, for example skate")
    studio.add_argument("--port", type=int, default=0, help="0 takes any that is free")
    studio.add_argument("--no-open", action="store_true", help="print the address only")
    given = parser.parse_args(arguments)
    from appell.report.desk import open_studio

    try:
        open_studio(given.name, port=given.port, open=not given.no_open)
    except AppellError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
