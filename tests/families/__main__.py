"""`python -m tests.families [name …]`: every member of the families named so, or of all; exit code 1 if one fails."""

from __future__ import annotations

import sys
import traceback
from concurrent.futures import ProcessPoolExecutor
from os import cpu_count

from tests.families.family import load_families


def try_member(name: str, seed: int) -> str:
    """The traceback of a member that fails, or nothing."""
    try:
        load_families()[name].check(seed)
    except Exception:
        return traceback.format_exc()
    return ""


def main(prefixes: list[str]) -> int:
    chosen = [one for name, one in sorted(load_families().items()) if not prefixes or name.startswith(tuple(prefixes))]
    failed = 0
    with ProcessPoolExecutor(cpu_count()) as pool:
        results = {one.name: [pool.submit(try_member, one.name, seed) for seed in range(one.count)] for one in chosen}
        for name, futures in results.items():
            reasons = [(seed, future.result()) for seed, future in enumerate(futures)]
            broken = [(seed, reason) for seed, reason in reasons if reason]
            failed += len(broken)
            print(f"{name}: {len(reasons) - len(broken)} of {len(reasons)}", flush=True)
            for seed, reason in broken:
                print(f"  member {seed}:\n{reason}")
    print(f"{sum(one.count for one in chosen)} members of {len(chosen)} families, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
