"""The house as CONTRIBUTING describes it is the house that stands."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
(LAYERS,) = (c for c in SETTINGS["tool"]["importlinter"]["contracts"] if c["type"] == "layers")


def rooms() -> set[str]:
    """What stands in the package: folders and modules."""
    source = ROOT / "src" / "appell"
    folders = {path.parent.name for path in source.glob("*/__init__.py")}
    return folders | {path.stem for path in source.glob("*.py") if not path.stem.startswith("__")}


def test_every_room_has_a_layer():
    assert {name for layer in LAYERS["layers"] for name in re.findall(r"\w+", layer)} == rooms() and LAYERS["exhaustive"]


def test_the_page_shows_the_layers_that_are_checked():
    drawn = "\n".join(f"    {layer}" for layer in LAYERS["layers"])
    assert f"\n\n{drawn}\n\n" in PAGE


def test_the_page_tells_what_lives_in_every_room():
    table = PAGE.partition("| room |")[2].partition("\n\n")[0]
    first = "".join(line.split("|")[1] for line in table.splitlines()[2:])
    assert set(re.findall(r"`(\w+)/?`", first)) == rooms()


def test_what_the_page_names_is_there():
    for path in re.findall(r"`((?:src|tests|docs)/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists(), path
