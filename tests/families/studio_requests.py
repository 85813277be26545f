"""Requests of others to the studio: without its token, from other pages, with names that are not its own."""

from __future__ import annotations

from typing import Any

import pytest
from tests.families.family import family

EVIL = "http://evil.example"
OTHERS: tuple[tuple[str, dict[str, str]], ...] = (
    ("websocket", {"origin": EVIL}),  # the one that was seen: the token was enough, whoever sent it
    ("websocket", {"origin": "null"}), ("websocket", {}), ("websocket", {"origin": "https://127.0.0.1:8123"}),
    ("websocket", {"origin": "http://127.0.0.1:9999"}), ("websocket", {"origin": "file://"}),
    ("websocket", {"origin": "http://127.0.0.1:8123", "query": "token=other"}),
    ("websocket", {"origin": "http://127.0.0.1:8123", "host": "evil.example:8123"}),
    ("http", {"origin": EVIL}), ("http", {"query": ""}), ("http", {"query": "token="}), ("http", {"query": "token=%ff%fe"}),
    ("http", {"host": "evil.example:8123"}), ("http", {"host": ""}), ("http", {"query": "", "cookie": "appell-8123=other"}),
    ("http", {"query": "", "cookie": "\0;=;the-token"}), ("http", {"query": "&".join(["token=x"] * 500)}),
    ("http", {"query": "", "cookie": "appell-8123=the-token", "sec-fetch-site": "same-site"}),
    ("http", {"query": "", "cookie": "appell-8123=the-token", "sec-fetch-site": "cross-site"}),
)  # fmt: skip


@family(count=len(OTHERS), sample=(0,))
def others_are_not_let_in(seed: int) -> None:
    """Refused before the application hears of them; the answer says that nobody may frame it."""
    pytest.importorskip("nicegui")
    from tests.hostile.test_studio_guard import answer

    kind, given = OTHERS[seed]
    first: dict[str, Any] = answer(kind, **given)[0]
    if kind == "websocket":
        assert first == {"type": "websocket.close", "code": 1008}
    else:
        assert first["status"] == 403 and dict(first["headers"])[b"x-frame-options"] == b"DENY"
