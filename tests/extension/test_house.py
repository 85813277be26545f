"""The house as CONTRIBUTING describes it is the house that stands."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from appell.delegates import offered
from appell.former_names import MODULES

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


def test_no_rooms_read_each_other():
    """Nothing is excepted from the layers, and no two rooms are allowed to import one another."""
    assert not any(":" in layer for layer in LAYERS["layers"]) and "ignore_imports" not in LAYERS


def test_every_method_that_a_room_above_carries_out_is_there():
    """Each delegate is a function of a room, and some class below asks for it by its name."""
    import_module("appell.optimize")  # it offers methods of plans when it is loaded
    texts = (path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    asked = {name for text in texts for name in re.findall(r'delegate\("([\w.]+)"\)', text)}
    assert asked == set(offered()) | {"Motion.plot"}
    for place in offered().values():
        module, _, name = place.partition(":")
        tree = ast.parse((ROOT / "src" / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, place


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
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "linalg" in text else ():
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


SOURCE = ROOT / "src" / "appell"

TWICE = {"Frame", "Spring"}
"""Public both of a scene and of a model or tree; `ap.scene.` stands before the former."""

LATE = 1
"""Imports of own modules inside functions: a painter that loads matplotlib. The number may only become smaller."""


@cache
def modules() -> list[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(SOURCE.rglob("*.py"))]


def test_names_of_modules_that_have_moved_are_refused_with_the_new_one():
    """No old name is one that stands, every new one does, and an import says it, however it is written."""
    there = lambda name: (SOURCE / (name.replace(".", "/") + ".py")).exists() or (SOURCE / name.replace(".", "/")).is_dir()
    assert not [old for old in MODULES if there(old)] and not [new for new in MODULES.values() if not there(new)]
    for text in ("import appell.simulate.run", "from appell.simulate import run", "from appell.simulate.run import Run"):
        with pytest.raises(ModuleNotFoundError, match=r"appell.simulate.run is now appell.compiled.run"):
            exec(text)
    with pytest.raises(ModuleNotFoundError, match=r"appell.friction is now appell.nonsmooth.friction"):
        exec("import appell.friction.decide")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'appell.nowhere'"):
        exec("import appell.nowhere")


def repeated(names: list[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


def test_a_file_name_and_a_class_name_stand_for_one_thing():
    assert repeated([path.stem for path in SOURCE.rglob("*.py") if path.stem != "__init__"]) == set()
    classes = [name for path, _ in modules() for name in re.findall(r"^ *class (\w+)[(:\[]", path.read_text("utf-8"), re.M)]
    assert repeated(classes) == TWICE


def values_of(tree: ast.Module) -> list[tuple[str, ast.expr]]:
    """Constants of a module with the expressions that they are."""
    found: list[tuple[str, ast.expr]] = []
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(target, ast.Name) and value is not None:
            found.append((target.id, value))
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            found += [(ast.unparse(name), entry) for name, entry in zip(target.elts, value.elts, strict=True)]
    return [(name, value) for name, value in found if name.isupper()]


def number(value: ast.expr) -> object:
    """The number that is written, as 2**20 is; the text of anything else."""
    plain = ast.Constant | ast.BinOp | ast.UnaryOp | ast.Tuple | ast.operator | ast.unaryop | ast.Load
    text = ast.unparse(value)
    return eval(text) if all(isinstance(node, plain) for node in ast.walk(value)) else text


def test_a_constant_of_one_name_has_one_value():
    """Where one of them is a number: TINY as 10, 1e-12 and 1e-140 tells nobody what is bounded."""
    found: dict[str, set[object]] = {}
    for _, tree in modules():
        for name, value in values_of(tree):
            found.setdefault(name, set()).add(number(value))
    numeric = lambda x: isinstance(x, int | float)
    is_number = lambda x: numeric(x) or (isinstance(x, tuple) and bool(x) and all(map(numeric, x)))
    several = {name for name, values in found.items() if len(values) > 1 and any(map(is_number, values))}
    assert not several, f"say what they bound: {sorted(several)}"


def late_imports(tree: ast.Module) -> set[int]:
    """Lines on which a function imports one of our own modules."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = [node for function in functions for node in ast.walk(function)]
    ours = lambda name: (name or "").partition(".")[0] == "appell"
    return {
        node.lineno
        for node in inside
        if (isinstance(node, ast.ImportFrom) and ours(node.module))
        or (isinstance(node, ast.Import) and any(ours(alias.name) for alias in node.names))
    }


def test_late_imports_do_not_become_more():
    """They hide cycles; for heavy packages of others they are right."""
    indented = re.compile(r"^[ \t]+(?:from|import) appell\b", re.M)  # walking through all trees takes long
    trees = (tree for path, tree in modules() if indented.search(path.read_text(encoding="utf-8")))
    assert sum(len(late_imports(tree)) for tree in trees) <= LATE
