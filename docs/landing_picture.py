"""The moving picture of README and the landing page: `python docs/landing_picture.py` writes docs/images/moving.webp."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import appell as ap
from appell.scene.film import film
from appell.show.painter import Painter

SHOWN = ("stewart_platform", "heavy_top", "four_bar", "double_pendulum_with_wall")
SECONDS, FRAMES, FINER = 4.0, 60, 6  # FINER: points of a trail between two frames
WIDTH, HEIGHT = 330, 200
HERE = Path(__file__).parent / "images" / "moving.webp"


def main() -> None:
    """Four systems of the zoo, two by two."""
    from PIL import Image

    sheets = [Image.new("RGB", (2 * WIDTH, 2 * HEIGHT)) for _ in range(FRAMES)]
    for n, name in enumerate(SHOWN):
        example = getattr(ap.zoo, name)()
        motion = ap.simulate(example.system, example.start, SECONDS, example.parameters)
        shown = film(ap.Scene.of(example.system), motion, frames=FRAMES * FINER)
        painter = Painter(shown, 2 * WIDTH, 2 * HEIGHT, clock=False)
        for k, sheet in enumerate(sheets):
            picture = Image.fromarray(painter.frame(k * FINER)).convert("RGB").resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
            sheet.paste(picture, (n % 2 * WIDTH, n // 2 * HEIGHT))
    memory = BytesIO()
    pause = round(1000 * SECONDS / FRAMES)
    sheets[0].save(memory, "WEBP", save_all=True, append_images=sheets[1:], duration=pause, loop=0, quality=75, method=6)
    HERE.write_bytes(memory.getvalue())


if __name__ == "__main__":
    main()
