"""The house as CONTRIBUTING describes it is the house that stands."""

from __future__ import annotations

import ast
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


DECISIVE = {"lstsq", "svd", "svdvals", "pinv", "pinvh", "matrix_rank", "null_space", "orth"}
"""Functions of NumPy and SciPy that decide a rank, each with a tolerance of its own."""


def decisive_calls(path: Path) -> list[str]:
    """Where a file reaches past `appell.rows` for one of them."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in DECISIVE and ast.unparse(node.value).endswith("linalg"):
            found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("linalg"):
            found += [f"{path.relative_to(ROOT)}:{node.lineno}: {a.name}" for a in node.names if a.name in DECISIVE]
    return found


def test_ranks_are_decided_in_one_room():
    """A rank, a kernel or a least-squares step is asked of `appell.rows`, whose tolerances have names and reasons."""
    rows = ROOT / "src" / "appell" / "rows"
    assert [call for path in rows.rglob("*.py") for call in decisive_calls(path)]  # the search finds what it looks for
    elsewhere = (path for path in (ROOT / "src").rglob("*.py") if rows not in path.parents)
    assert not [call for path in elsewhere for call in decisive_calls(path)]


def test_every_tolerance_of_rows_says_what_it_bounds():
    text = (ROOT / "src" / "appell" / "rows" / "tolerances.py").read_text(encoding="utf-8")
    body = ast.parse(text).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign) and (name := ast.unparse(node.targets[0])) != "EPSILON":
            assert isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant), f"{name} gives no reason"


def test_the_fast_tier_visits_every_room():
    """Every room is named in the headings of `quick.txt`, above files that exist."""
    text = (ROOT / "tests" / "quick.txt").read_text(encoding="utf-8")
    paths = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert paths and all((ROOT / path).exists() for path in paths)
    told = set(re.findall(r"\w+", "".join(line for line in text.splitlines() if line.startswith("#"))))
    folders = {path.parent.name for path in (ROOT / "src" / "appell").glob("*/__init__.py")}
    assert folders - told <= {"letters"}  # letters are printed by every test of a page
