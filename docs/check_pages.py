"""Opens every built page in Chromium, as wide as a desk and as a phone: `python docs/check_pages.py out/docs`.

A page must not scroll sideways, complain on the console, or ask anything of the network; its links must lead to files, its code
must have buttons that copy it, and an executed page must offer its notebook. Ends with status 1 and a list where one does not.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

WIDTHS = (1440, 390)
FLAGS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]
LOOK = """() => ({
  width: document.documentElement.scrollWidth, room: document.documentElement.clientWidth,
  wide: [...document.querySelectorAll("article *, main *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
    .map((e) => e.tagName + "." + e.className).slice(0, 4),
  links: [...document.querySelectorAll("a[href]")].map((a) => a.href).filter((h) => h.startsWith("file:")),
  code: document.querySelectorAll("div.highlight").length, buttons: document.querySelectorAll("button.copy-code").length,
  cells: document.querySelectorAll("div.cell").length,
})"""


def faults(page: Any, file: Path) -> list[str]:
    """What is wrong with a page, in words."""
    found: list[str] = []
    page.on("console", lambda m: found.append(f"console: {m.text}") if m.type == "error" else None)
    page.on("pageerror", lambda error: found.append(f"script: {error}"))
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else found.append(f"asks for {r.url}"))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(file.resolve().as_uri(), wait_until="load")
        seen = page.evaluate(LOOK)
        if seen["width"] > seen["room"]:
            found.append(f"scrolls sideways by {seen['width'] - seen['room']} px at {width} px: {seen['wide']}")
    if seen["code"] != seen["buttons"]:
        found.append(f"{seen['code']} pieces of code, {seen['buttons']} buttons that copy")
    missing = {link for link in seen["links"] if not target(link).exists()}
    found += [f"links to {link}, which is not there" for link in sorted(missing)]
    notebooks = [link for link in seen["links"] if link.endswith(".ipynb")]
    if seen["cells"] and not notebooks:
        found.append("executes cells and offers no notebook")
    empty = [link for link in notebooks if link not in missing and not json.loads(target(link).read_text())["cells"]]
    found += [f"{link} has no cells" for link in empty]
    return list(dict.fromkeys(found))


def target(link: str) -> Path:
    from urllib.parse import unquote, urlsplit

    return Path(unquote(urlsplit(link).path))


def main(folder: str) -> int:
    from playwright.sync_api import sync_playwright

    pages = sorted(path for path in Path(folder).rglob("*.html") if "_static" not in path.parts)
    browser_path = next(p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name)))
    bad = 0
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=FLAGS)
        for file in pages:
            context = browser.new_context()
            wrong = faults(context.new_page(), file)
            context.close()
            bad += bool(wrong)
            for one in wrong:
                print(f"{file.relative_to(folder)}: {one}")
    print(f"{len(pages)} pages, {bad} with faults")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
