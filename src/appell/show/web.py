"""Self-contained pages: scripts, styles and numbers in one file, no network access, a strict content security policy.

three.js, for spatial films, is taken from an installed NiceGUI (the extra `[show]`) when a page is written; without it the page
draws on a plain canvas.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from appell.scene.film import Film
from appell.scene.shapes import Array, Dot, Mesh, Polyline, Shaft, Solid, TextLabel, Track
from appell.show.camera import Camera
from appell.show.packing import Packer, json_text

SCRIPTS = ("data", "film", "canvas", "space", "player", "plots", "page")


@lru_cache
def asset(name: str) -> str:
    """The text of a file of `show/page`."""
    return (resources.files("appell.show") / "page" / name).read_text("utf-8")


@lru_cache
def three() -> str | None:
    """three.js as a script that sets `appell.THREE`; None where NiceGUI is not installed."""
    spec = find_spec("nicegui")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / "elements" / "scene" / "dist" / "index.js"
    if not path.is_file():
        return None
    text = path.read_text("utf-8")
    exported = re.search(r"export\s*\{([^}]*)\}\s*;?\s*(?://#.*)?\s*$", text)
    names = {} if exported is None else dict(re.findall(r"(\w+) as (\w+)", exported[1]))
    internal = next((inside for inside, outside in names.items() if outside == "THREE"), None)
    if exported is None or internal is None or re.search(r"^\s*import[\s{]", text, re.MULTILINE):
        return None
    body = text[: exported.start()].replace("</script", "<\\/script")
    return f'(() => {{"use strict";\n{body}\nappell.THREE = {internal};\n}})();'


# -- films -------------------------------------------------------------------------------------------------------------


def describe(film: Film, packer: Packer) -> dict[str, Any]:
    """The film in the form read by `page/film.js`."""
    meshes: dict[int, int] = {}
    described: list[dict[str, Any]] = []
    shapes = []
    for shape in film.shapes:
        if isinstance(shape, Solid):
            if id(shape.mesh) not in meshes:
                meshes[id(shape.mesh)] = len(described)
                described.append(_mesh(shape.mesh, packer, flat=film.flat))
            shapes.append(_solid(shape, meshes[id(shape.mesh)], packer))
        else:
            shapes.append(_shape(shape, packer))
    camera = Camera.on(film, 1 / 0.62)
    return {
        "name": film.name, "t": packer.add(film.t), "flat": film.flat, "low": film.low.tolist(), "high": film.high.tolist(),
        "meshes": described, "shapes": shapes,
        "camera": {"target": camera.target.tolist(), "distance": camera.distance, "azimuth": camera.azimuth,
                   "elevation": camera.elevation, "angle": camera.angle},
    }  # fmt: skip


def describe_poses(film: Film, packer: Packer) -> list[dict[str, Any]]:
    """Shapes without meshes, in the order of `describe`."""
    return [_solid(s, 0, packer) if isinstance(s, Solid) else _shape(s, packer) for s in film.shapes]


def _mesh(mesh: Mesh, packer: Packer, *, flat: bool) -> dict[str, Any]:
    drawn = flat and bool(mesh.outlines)  # then the triangles are not needed
    vertices, triangles, edges = (a[:0] if drawn else a for a in (mesh.vertices, mesh.triangles, mesh.edges))
    outlines = [packer.add(o) for o in mesh.outlines] if flat else []
    return {
        "vertices": packer.add(vertices), "triangles": packer.add(triangles), "edges": packer.add(edges), "smooth": mesh.smooth,
        "closed": bool(mesh.outlines),
        "outlines": outlines, "marks": [packer.add(m) for m in mesh.marks] if flat else [],
    }  # fmt: skip


def _solid(shape: Solid, mesh: int, packer: Packer) -> dict[str, Any]:
    return {
        "kind": "solid", "name": shape.name, "mesh": mesh, "p": packer.add(shape.p), "q": packer.add(quaternions(shape.R)),
        "stretch": packer.add(shape.stretch), "colour": shape.colour, "opacity": shape.opacity,
    }  # fmt: skip


def _shape(shape: Polyline | Dot | Shaft | Track | TextLabel, packer: Packer) -> dict[str, Any]:
    if isinstance(shape, Polyline):
        line = {"width": shape.width, "dashed": shape.dashed, "fill": shape.fill, "cased": shape.cased}
        return {"kind": "line", "name": shape.name, "p": packer.add(shape.points), "colour": shape.colour, **line}
    if isinstance(shape, Dot):
        return {"kind": "dot", "name": shape.name, "p": packer.add(shape.p), "colour": shape.colour, "radius": shape.radius,
                "open": shape.open}  # fmt: skip
    if isinstance(shape, Shaft):
        return {"kind": "arrow", "name": shape.name, "p": packer.add(shape.p), "v": packer.add(shape.v), "colour": shape.colour}
    if isinstance(shape, Track):
        return {"kind": "track", "name": shape.name, "p": packer.add(shape.p), "colour": shape.colour}
    return {"kind": "words", "p": packer.add(shape.p), "text": shape.text, "colour": shape.colour}


def quaternions(R: Array) -> Array:
    """Unit quaternions (x, y, z, w) of rotations (k, 3, 3), with continuous sign from frame to frame, (k, 4)."""
    from scipy.spatial.transform import Rotation

    q = Rotation.from_matrix(R).as_quat()
    flips = np.cumprod(np.where((q[1:] * q[:-1]).sum(axis=1) < 0, -1.0, 1.0))
    return np.vstack([q[:1], q[1:] * flips[:, None]])


# -- pages -------------------------------------------------------------------------------------------------------------


def page(title: str, body: str, description: Any, packer: Packer, *, in_space: bool) -> str:
    """A whole document; `title` is plain text, `body` is HTML."""
    engine = three() if in_space else None
    scripts = [asset("data.js"), *([engine] if engine else []), *(asset(f"{name}.js") for name in SCRIPTS[1:])]
    data = json_text({"description": description, "numbers": packer.numbers()})
    style = asset("page.css")
    policy = "; ".join([
        "default-src 'none'", f"script-src {' '.join(map(_hash, scripts))}", f"style-src {_hash(style)}", "img-src data:",
        "base-uri 'none'", "form-action 'none'",
    ])  # fmt: skip
    return "\n".join([
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n<style>{style}</style>\n</head>',
        f'<body>\n{body}\n<script type="application/json" id="data">{data}</script>',
        *(f"<script>{script}</script>" for script in scripts),
        "</body>\n</html>\n",
    ])  # fmt: skip


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def player_page(film: Film, title: str) -> str:
    """A page with only the animation."""
    packer = Packer()
    notes = "".join(f'<p class="missing">{escape(note)}</p>' for note in film.notes)
    body = f'<main><h1>{escape(title)}</h1>\n<div id="film"></div>{notes}</main>'
    return page(title, body, {"film": describe(film, packer), "panels": []}, packer, in_space=not film.flat)


__all__: Sequence[str] = ("asset", "describe", "page", "player_page", "three")
