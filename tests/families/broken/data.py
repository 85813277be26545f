"""Breakages of what is kept, read and refused."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "checksums are not compared",
        "disk/sealed.py",
        '    return hashlib.sha256(data).hexdigest()',
        '    return "0" * 64',
        {
            "stores.damage_is_noticed_and_mended": (0, 1, 6),
        },
    ),
]
