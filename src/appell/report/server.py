"""A page of our own on NiceGUI: on the loopback address only, for whoever has the token in its address."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from collections.abc import Callable
from html import escape
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from appell.errors import BackendUnavailable, ModelError
from appell.show.web import SCRIPTS, asset, three

HOST = "127.0.0.1"
WAIT = 0.05
"""Seconds between two redrawings while a slider is dragged."""


def framework() -> Any:
    """NiceGUI's `ui`, or the remedy."""
    try:
        from nicegui import ui
    except ImportError:
        raise BackendUnavailable("the studio needs NiceGUI: pip install 'appell[show]'") from None
    return ui


class Guard:
    """Lets through who comes with the token, in the address once and in a cookie from then on; HTTP and sockets alike."""

    def __init__(self, app: Any, token: str, port: int):
        self.app, self.token, self.port = app, token, port
        self.cookie = f"appell-{port}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        kept = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        here = headers.get("host", "") in {f"{name}:{self.port}" for name in (HOST, "localhost")}
        known = any(secrets.compare_digest(x.encode(), self.token.encode()) for x in (asked, kept.value if kept else ""))
        if not (here and known):
            await self._refuse(scope, send)
            return

        async def with_cookie(message: Any) -> None:
            if message["type"] == "http.response.start" and asked:
                line = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
                message = {**message, "headers": [*message["headers"], (b"set-cookie", line.encode("latin-1"))]}
            await send(message)

        await self.app(scope, receive, with_cookie)

    async def _refuse(self, scope: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        plain = [(b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": 403, "headers": plain})
        await send({"type": "http.response.body", "body": b"the address needs its token"})


def serve(build: Callable[[Any], None], *, port: int, open: bool, title: str) -> None:
    """Serves the page that `build(ui)` makes for each visitor, until it is interrupted; prints its address."""
    ui = framework()
    if not isinstance(port, int) or not 0 <= port < 65536:
        raise ModelError(f"port is a number below 65536 (0: any that is free), not {port!r}")
    port = port or _free_port()
    token = secrets.token_urlsafe(24)
    from nicegui import app

    app.add_middleware(Guard, token=token, port=port)

    def root() -> None:
        scripts = [asset("data.js"), three() or "", *(asset(f"{name}.js") for name in SCRIPTS[1:] if name != "page")]
        inline = "".join(f"<script>{text}</script>" for text in (*scripts, asset("studio.js")))
        ui.add_head_html(f"<style>{asset('page.css')}</style>{inline}")
        build(ui)

    address = f"http://{HOST}:{port}/?token={token}"
    print(f"{title}: {address}  (Ctrl-C ends it)", flush=True)
    if open:
        app.on_startup(lambda: webbrowser.open(address))
    quiet = {"show": False, "reload": False, "show_welcome_message": False}
    ui.run(root, host=HOST, port=port, title=title, dark=None, favicon="⚙", **quiet)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def slider(
    ui: Any, name: str, low: float, high: float, value: float, moved: Callable[[float], None], *, whole: bool = False
) -> None:
    """A labelled range of the browser's own, with its value; `moved` hears it while it is dragged. `whole`: integers."""
    with ui.row().classes("controls w-full no-wrap"):
        ui.label(name).classes("w-40")
        label = escape(name, quote=True)
        step = 1 if whole else (high - low) / 400
        look = f'type=range min={low!r} max={high!r} step={1 if whole else "any"} aria-label="{label}"'
        # not `value`, which every redrawing of the row would put back
        element = ui.element("input").props(f"{look} defaultValue={value!r}").classes("time")
        shown = ui.label(f"{value:.3g}").classes("clock")

        def heard(event: Any) -> None:
            shown.set_text(f"{float(event.args):.3g}")
            moved(float(event.args))

        element.on("input", heard, throttle=WAIT, js_handler="(e) => emit(e.target.value)")
        arrows = "(e) => { const k = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1}[e.key]; if (!k) return; "
        arrows += f"e.preventDefault(); const x = e.target; x.value = +x.value + k * {step!r}; "
        arrows += "x.dispatchEvent(new Event('input')); }"
        element.on("keydown", js_handler=arrows)


__all__ = ["framework", "serve", "slider"]
