"""A local page served by NiceGUI: on the loopback address only, protected by a token in its address.

The token reaches the browser in a file that only this user can read, not on a command line, which every user of the machine can
read (as in Jupyter). Sockets are opened only for pages of this address, and no other page may frame it.
"""

from __future__ import annotations

import os
import secrets
import socket
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from html import escape
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs

from appell.errors import BackendUnavailable, ModelError
from appell.reading import shown
from appell.show.web import SCRIPTS, asset, three

HOST = "127.0.0.1"
WAIT = 0.05
"""Seconds between two updates while a slider is dragged."""


def framework() -> Any:
    """NiceGUI's `ui`; if it is missing, raises with the command to install it."""
    try:
        from nicegui import ui
    except ImportError:
        raise BackendUnavailable("the studio needs NiceGUI: pip install 'appell[show]'") from None
    return ui


def policy(port: int) -> dict[str, str]:
    """Headers of every response: what the page may load, and that it may not be framed.

    NiceGUI's pages are Vue templates compiled in the browser, which needs inline scripts and `eval`. All resources are local.
    """
    sockets = " ".join(f"ws://{name}:{port}" for name in (HOST, "localhost"))
    allowed = {
        "default-src": "'self'", "script-src": "'self' 'unsafe-inline' 'unsafe-eval'", "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:", "font-src": "'self' data:", "connect-src": f"'self' {sockets}", "object-src": "'none'",
        "base-uri": "'self'", "form-action": "'none'", "frame-ancestors": "'none'",
    }  # fmt: skip
    return {
        "content-security-policy": "; ".join(f"{key} {value}" for key, value in allowed.items()),
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
    }


class TokenGuard:
    """Admits requests with the token, first in the address and then in a cookie, for HTTP and sockets alike.

    Requests from pages of another origin are rejected even with the token, because sockets have no other protection.
    """

    def __init__(self, app: Any, token: str, port: int):
        self.app, self.token, self.port = app, token, port
        self.cookie = f"appell-{port}"
        self.hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
        self.headers = [(key.encode("latin-1"), value.encode("latin-1")) for key, value in policy(port).items()]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        in_address = self._has_token(scope)
        admitted = in_address or self._is_token(self._cookie_token(headers))
        if not (admitted and headers.get("host", "") in self.hosts and self._own_page(scope, headers)):
            await self._refuse(scope, send)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                line = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/".encode("latin-1")
                added = [*self.headers, *([(b"set-cookie", line)] if in_address else [])]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        await self.app(scope, receive, with_headers)

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self.token.encode())

    def _has_token(self, scope: Any) -> bool:
        """Whether the address contains the token."""
        return self._is_token(parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0])

    def _cookie_token(self, headers: dict[str, str]) -> str:
        """The token in the cookie."""
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return ""
        return morsel.value if morsel else ""

    def _own_page(self, scope: Any, headers: dict[str, str]) -> bool:
        """Whether the Origin, which a browser sends with every socket and every modifying request, is this server.

        A request without an Origin opens a page, which needs the token in its address if another page links to it, or loads a
        part of our own page: pages on other ports of this machine count as the same site, and would be sent the cookie.
        """
        origin = headers.get("origin")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not self._has_token(scope):
            return False
        if origin is None:
            return scope["type"] == "http"
        return origin in {f"http://{host}" for host in self.hosts}

    async def _refuse(self, scope: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = [(b"content-type", b"text/plain; charset=utf-8"), *self.headers]
        await send({"type": "http.response.start", "status": 403, "headers": headers})
        await send({"type": "http.response.body", "body": b"the address needs its token"})


def serve(build: Callable[[Any], None], *, port: int, open: bool, title: str) -> None:
    """Serves the page that `build(ui)` creates for each visitor, until interrupted; prints its address."""
    ui = framework()
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port < 65536:
        raise ModelError(f"port is a number below 65536 (0: any that is free), not {shown(port)}")
    port = port or _free_port()
    token = secrets.token_urlsafe(24)
    from nicegui import app

    app.add_middleware(TokenGuard, token=token, port=port)

    def root() -> None:
        scripts = [asset("data.js"), three() or "", *(asset(f"{name}.js") for name in SCRIPTS[1:] if name != "page")]
        inline = "".join(f"<script>{text}</script>" for text in (*scripts, asset("studio.js")))
        ui.add_head_html(f"<style>{asset('page.css')}</style>{inline}")
        build(ui)

    address = f"http://{HOST}:{port}/?token={token}"
    print(f"{title}: {address}  (Ctrl-C ends it)", flush=True)
    quiet = {"show": False, "reload": False, "show_welcome_message": False}
    with ExitStack() as until_the_end:
        if open:
            page = redirect(address, Path(until_the_end.enter_context(TemporaryDirectory(prefix="appell-"))))
            app.on_startup(lambda: webbrowser.open(page.as_uri()))
        ui.run(root, host=HOST, port=port, title=title, dark=None, favicon="⚙", **quiet)


def redirect(address: str, folder: Path) -> Path:
    """A page that redirects to the address, readable only by this user; its file name may appear on a command line."""
    page = folder / "open.html"
    target = escape(address, quote=True)
    head = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={target}">'
    with os.fdopen(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.write(f'{head}<a href="{target}">appell</a>')
    return page


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def slider(
    ui: Any, name: str, low: float, high: float, value: float, moved: Callable[[float], None], *, whole: bool = False
) -> None:
    """A labelled native range input with its value; `moved` is called while it is dragged. `whole`: integers."""
    with ui.row().classes("controls w-full no-wrap"):
        ui.label(name).classes("name")
        step = 1 if whole else (high - low) / 400
        attributes = f"type=range min={low!r} max={high!r} step={1 if whole else 'any'}"
        # not `value`, which every update of the row would reset
        element = ui.element("input").props(f"{attributes} defaultValue={value!r}").classes("time")
        element.props["aria-label"] = name  # set directly: a name from a file must not be parsed as properties
        reading = ui.label(f"{value:.3g}").classes("clock")

        def on_input(event: Any) -> None:
            reading.set_text(f"{float(event.args):.3g}")
            moved(float(event.args))

        element.on("input", on_input, throttle=WAIT, js_handler="(e) => emit(e.target.value)")
        arrows = "(e) => { const k = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1}[e.key]; if (!k) return; "
        arrows += f"e.preventDefault(); const x = e.target; x.value = +x.value + k * {step!r}; "
        arrows += "x.dispatchEvent(new Event('input')); }"
        element.on("keydown", js_handler=arrows)


__all__ = ["framework", "serve", "slider"]
