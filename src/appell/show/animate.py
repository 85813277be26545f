"""A motion as a moving picture: .html (one page with a player), .gif, .webp, .mp4; or a player in a notebook."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appell.disk.output_file import write
from appell.errors import BackendUnavailable, ModelError
from appell.reading import path_of
from appell.scene import Scene
from appell.scene.film import Film, film
from appell.show.web import player_page

SIZE = (720, 540)
"""Width and height of a picture, pixels."""
FPS = {".gif": 25.0, ".webp": 30.0, ".mp4": 30.0}
"""File format → frames per second."""


def scene_of(motion: Any, scene: Any) -> Scene:
    """The given scene, or that of the system; raises for a motion without a system."""
    if scene is not None:
        if not isinstance(scene, Scene):
            raise ModelError(f"scene= takes an ap.Scene, not {type(scene).__name__}: ap.Scene(system, [items])")
        return scene
    system = getattr(motion, "system", None)
    if system is None:
        raise ModelError("a motion loaded from a file has no system: give scene=ap.Scene(system, …)")
    return Scene.of(system)


def animate(motion: Any, path: str | os.PathLike[str] | None = None, *, scene: Any = None, fps: float | None = None) -> Any:
    """See `Motion.animate`."""
    chosen = scene_of(motion, scene)
    if path is None:
        return Player(film(chosen, motion, fps=fps), motion.name)
    target = path_of(path, "motion.animate")
    suffix = target.suffix.lower()
    if suffix not in WRITERS:
        raise ModelError(f"'{target.name}' does not say what to write; end it with {', '.join(WRITERS)}")
    content = WRITERS[suffix](film(chosen, motion, fps=fps or FPS.get(suffix)), fps or FPS.get(suffix, 0.0), motion.name)
    return write(target, content)


@dataclass(frozen=True, eq=False)
class Player:
    """An animation for a notebook: a self-contained page in a frame, without network access."""

    film: Film
    title: str

    def _repr_html_(self) -> str:
        text = escape(player_page(self.film, self.title), quote=True)
        title = f"Animation of {escape(self.title)}"
        return f'<iframe srcdoc="{text}" width="100%" height="640" frameborder="0" title="{title}"></iframe>'

    def __repr__(self) -> str:
        return f"<Player of {self.title}: {len(self.film)} frames; a notebook shows it, motion.animate('x.html') writes it>"


# -- files -------------------------------------------------------------------------------------------------------------


def _frames(film_shown: Film) -> Iterator[NDArray[np.uint8]]:
    from appell.show.painter import Painter

    painter = Painter(film_shown, *SIZE)
    return (painter.frame(k) for k in range(len(film_shown)))


def _html(shown: Film, fps: float, title: str) -> str:
    return player_page(shown, title)


def _gif(shown: Film, fps: float, title: str) -> bytes:
    """A GIF by Pillow; in this format times between frames are multiples of 10 ms."""
    from PIL import Image

    options: dict[str, Any] = {"colors": 128, "method": Image.Quantize.MEDIANCUT, "dither": Image.Dither.NONE}
    frames = [Image.fromarray(picture).quantize(**options) for picture in _frames(shown)]
    memory = BytesIO()
    duration = max(20, 10 * round(100 / fps))
    frames[0].save(memory, "GIF", save_all=True, append_images=frames[1:], duration=duration, loop=0)
    return memory.getvalue()


def _webp(shown: Film, fps: float, title: str) -> bytes:
    from PIL import Image

    frames = [Image.fromarray(picture) for picture in _frames(shown)]
    memory = BytesIO()
    options: dict[str, Any] = {"duration": round(1000 / fps), "loop": 0, "quality": 80, "method": 2}
    frames[0].save(memory, "WEBP", save_all=True, append_images=frames[1:], **options)
    return memory.getvalue()


def _mp4(shown: Film, fps: float, title: str) -> bytes:
    try:
        import imageio_ffmpeg
    except ImportError:
        remedy = "pip install 'appell[show]'; .gif, .webp and .html need nothing more"
        raise BackendUnavailable(f"mp4 needs imageio-ffmpeg: {remedy}") from None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        options: dict[str, Any] = {"fps": fps, "codec": "libx264", "quality": 7, "macro_block_size": 2}
        output = imageio_ffmpeg.write_frames(str(path), SIZE, **options)
        output.send(None)
        for picture in _frames(shown):
            output.send(np.ascontiguousarray(picture))
        output.close()
        return path.read_bytes()


WRITERS: dict[str, Callable[[Film, float, str], bytes | str]] = {".html": _html, ".gif": _gif, ".webp": _webp, ".mp4": _mp4}

__all__ = ["Player", "animate", "scene_of"]
