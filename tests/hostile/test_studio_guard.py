"""The studio's door: token, host and origin are asked of requests and sockets; no page may frame it."""

from __future__ import annotations

import asyncio
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("nicegui")

from appell.report.server import TokenGuard, policy, redirect

PORT, TOKEN = 8123, "the-token"
HERE = f"127.0.0.1:{PORT}"
OPENED = {"http": {"type": "http.response.start", "status": 200, "headers": []}, "websocket": {"type": "websocket.accept"}}


def answer(kind: str = "http", *, query: str = f"token={TOKEN}", **headers: str) -> list[dict[str, Any]]:
    """What the guard sends for a request or a socket with these headers; the application behind it answers 200."""
    sent: list[dict[str, Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send(OPENED[kind])

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    given = [(key.encode(), value.encode()) for key, value in {"host": HERE, **headers}.items()]
    scope = {"type": kind, "headers": given, "query_string": query.encode()}
    with ThreadPoolExecutor(1) as aside:  # a browser of other tests may have left an event loop running in this thread
        aside.submit(asyncio.run, TokenGuard(application, TOKEN, PORT)(scope, None, send)).result()
    return sent


def let_in(*given: Any, **more: Any) -> bool:
    first = answer(*given, **more)[0]
    return first.get("status") == 200 or first["type"] == "websocket.accept"


def test_a_request_needs_token_and_host():
    assert let_in() and let_in(query="", cookie=f"appell-{PORT}={TOKEN}")
    assert not let_in(query="") and not let_in(query="token=other") and not let_in(host="evil.example:8123")
    assert not let_in(query="", cookie="\0;=;" + TOKEN)


def test_a_socket_is_opened_for_pages_of_this_address_only():
    for own in (f"http://{HERE}", f"http://localhost:{PORT}"):
        assert let_in("websocket", origin=own)
    for other in ("http://evil.example", "null", f"https://{HERE}", "http://127.0.0.1:9999", "file://"):
        assert not let_in("websocket", origin=other)
        assert not let_in("http", origin=other)
    assert not let_in("websocket")  # every browser states it
    assert answer("websocket", origin="null")[0] == {"type": "websocket.close", "code": 1008}


def test_other_pages_of_this_machine_do_not_come_in_with_the_cookie():
    """Pages on another port are the same site for a browser, which then sends the cookie with what they load."""
    kept = {"query": "", "cookie": f"appell-{PORT}={TOKEN}"}
    for site in ("same-site", "cross-site", "odd"):
        assert not let_in(**kept, **{"sec-fetch-site": site})
        assert let_in(**{"sec-fetch-site": site})  # the file that leads here has the token in its address
    for site in ("none", "same-origin"):
        assert let_in(**kept, **{"sec-fetch-site": site})


def test_every_answer_says_what_may_load_and_that_nobody_may_frame_it():
    for first in (answer()[0], answer(query="")[0]):
        headers = dict(first["headers"])
        assert headers[b"x-frame-options"] == b"DENY" and headers[b"referrer-policy"] == b"no-referrer"
        assert b"frame-ancestors 'none'" in headers[b"content-security-policy"]
    assert "default-src 'self'" in policy(PORT)["content-security-policy"]


def test_the_token_is_in_a_private_file_and_on_no_command_line(tmp_path):
    door = redirect(f"http://{HERE}/?token={TOKEN}", tmp_path)
    assert TOKEN not in door.as_uri() and TOKEN in door.read_text()
    assert stat.S_IMODE(door.stat().st_mode) == 0o600
