"""`python -m tests.families.broken [name …]`: all breakages, or those guarded by families whose names begin so.

It ends with status 1 where a family notices none of its breakages.
"""

from __future__ import annotations

import sys

from tests.families.broken.breakage import breakages


def main(names: tuple[str, ...]) -> int:
    noticed: dict[str, int] = {}
    for one in breakages():
        chosen = [name for name in one.guards if not names or name.startswith(names)]
        if not chosen:
            continue
        if not one.fits:
            print(f"{one.what}: does not fit {one.file} any more", flush=True)
            continue
        with one.copy() as source:
            for name in chosen:
                trial = one.tried(source, name)
                noticed[name] = noticed.get(name, 0) + trial.noticed
                print(f"{one.what} | {trial}", *trial.said.splitlines(), sep="\n    ", flush=True)
    blind = sorted(name for name, count in noticed.items() if not count)
    print(f"{len(noticed):,} families tried, {len(blind)} noticed nothing", *blind, sep="\n    ")
    return int(bool(blind))


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
