"""`python -m tests.families [name …] [--share k/N]`: every member of the families named so, or of all."""

from __future__ import annotations

import sys
from functools import partial
from os import cpu_count

from tests.families.family import load_families, member
from tests.reference.sweeps import long_run, sweep


def main() -> int:
    parser = long_run(__doc__)
    parser.add_argument("names", nargs="*", help="beginnings of names; all families by default")
    given = parser.parse_args()
    if given.share.of == 1 and given.workers == 1:
        given.workers = cpu_count() or 1
    chosen = [one for name, one in sorted(load_families().items()) if not given.names or name.startswith(tuple(given.names))]
    members = [(one.name, seed) for one in chosen for seed in range(one.count)]
    print(f"{len(members)} members of {len(chosen)} families", flush=True)
    return sweep(partial(member, members=members), len(members), given)


if __name__ == "__main__":
    sys.exit(main())
