"""What `import appell` loads, and that nothing is missing for it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import appell as ap

ROOT = Path(__file__).parents[1]
HEAVY = "casadi scipy xarray pandas matplotlib cffi rich h5netcdf sympy.physics.mechanics IPython".split()


def fresh(code: str) -> str:
    """What a new interpreter prints."""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_heavy_packages_wait_until_they_are_used():
    code = f"import json, sys, appell; print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    assert json.loads(fresh(code)) == []


def test_a_model_needs_the_graph_and_no_picture():
    code = f"""
import json, sys
import appell as ap
x = ap.coordinates("x")
ap.System([x], x.d**2/2, x**2/2)
print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))
"""
    assert set(json.loads(fresh(code))) <= {"casadi", "scipy"}


@pytest.mark.parametrize("first", ["ap.simulate", "ap.compile", "ap.consistent", "ap.load", "ap.Motion", "ap.simulate.__doc__"])
def test_the_function_simulate_is_never_its_own_folder(first):
    code = f"""
import appell as ap
{first}
import appell.compiled.run
from appell.simulate.start import consistent
assert callable(ap.simulate) and callable(ap.compile) and ap.simulate.__name__ == "simulate", ap.simulate
assert ap.simulate is ap.simulate and ap.tree.Tree is ap.Tree
"""
    fresh(code)


def test_every_public_name_is_there():
    assert set(ap.__all__) <= set(dir(ap))
    for name in ap.__all__:
        assert getattr(ap, name) is getattr(ap, name)
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        ap.simulat  # type: ignore  # noqa: B018


def test_editors_are_told_the_same_names_as_users():
    tree = ast.parse(Path(ap.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    told = {(node.module, alias.name) for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert told == {(module, name) for module, names in ap.LATER.items() for name in names.split()}


def test_what_is_required_is_imported_somewhere():
    """Names of packages and of what they install differ in none of them."""
    indirect = {"h5py", "h5netcdf"}  # what xarray and h5netcdf write files with
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    stated = re.findall(r'^    "([\w-]+)', pyproject.partition("dependencies = [")[2].partition("]")[0], re.MULTILINE)
    assert set(stated) >= {"numpy", "scipy", "sympy", "casadi"}
    for name in set(stated) - indirect:
        assert re.search(rf"^\s*(from|import) {name}\b", sources, re.MULTILINE), f"{name} is required and not imported"
