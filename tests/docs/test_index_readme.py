"""The README as a package index shows it: no broken picture, no dead link, with and without an address for files."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
markdown = pytest.importorskip("readme_renderer.markdown")

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
for_index = runpy.run_path(str(ROOT / "hatch_build.py"))["for_index"]


def pointed_at(text: str) -> tuple[list[str], list[str]]:
    """(pictures, links) of a page as an index renders it."""
    page = markdown.render(text)
    assert page, "an index would refuse this README"
    return re.findall(r'<img[^>]*src="([^"]*)"', page), re.findall(r'<a[^>]*href="([^"#]*)"', page)


def test_the_readme_itself_has_pictures_and_links_to_files():
    pictures, links = pointed_at(README)
    assert len(pictures) >= 3 and all((ROOT / path).is_file() for path in (*pictures, *links))


def test_without_an_address_nothing_is_broken_and_pictures_are_named():
    text = for_index(README)
    assert pointed_at(text) == ([], [])
    assert "docs/images/skate.png" in text and "benchmarks/RESULTS.md" in text


def test_with_an_address_pictures_and_links_lead_there():
    pictures, links = pointed_at(for_index(README, "https://example.org/appell/v1/"))
    assert len(pictures) >= 3
    for address in (*pictures, *links):
        assert address.startswith("https://example.org/appell/v1/"), address
        assert (ROOT / address.removeprefix("https://example.org/appell/v1/")).is_file()


def test_an_index_drops_pictures_without_an_address():
    """Why data: addresses are no way out."""
    assert pointed_at("![dot](data:image/png;base64,iVBORw0KGgo=)")[0] == []
