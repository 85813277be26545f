"""The pages say what the library does: their Python runs, and every public name is documented."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import matplotlib
import pytest

import appell as ap

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

PYTHON = re.compile(r"^```(?:python|\{code-cell\} ipython3)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TEXT = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"^:\w+:.*\n", re.MULTILINE)


def blocks(page: Path) -> list[str]:
    """The Python of a page, block by block, without the options of its cells."""
    return [OPTION.sub("", block) for block in PYTHON.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/tutorial.md"])
def test_every_block_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    """One after another in one namespace, in a folder of their own, as a reader would type them.

    Equations that a page says they print are printed; numbers of a run may differ in their last digits.
    """
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    code = blocks(ROOT / page)
    assert code, f"{page} has no Python block"
    names: dict = {"display": lambda *_: None}
    for k, block in enumerate(code):
        exec(compile(block, f"{page}, block {k + 1}", "exec"), names)
    assert names["motion"].ok
    said = "".join(TEXT.findall((ROOT / page).read_text(encoding="utf-8")))
    equations = [line for line in said.splitlines() if " = " in line and line.startswith("  ")]
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert not equations or equations == printed


@pytest.mark.parametrize("page", sorted(str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md")))
def test_every_block_compiles(page):
    """One that does not ends with SyntaxError, which names the page and the block."""
    for k, block in enumerate(blocks(DOCS / page)):
        assert compile(block, f"{page}, block {k + 1}", "exec").co_filename.startswith(page)


def test_every_public_name_is_documented():
    api = (DOCS / "api.md").read_text(encoding="utf-8")
    documented = {name.rsplit(".", 1)[-1] for name in re.findall(r"^(appell\.[\w.]+)", api, re.MULTILINE)}
    assert not set(ap.__all__) - documented, "missing from docs/api.md"


def test_every_form_has_a_page():
    for name in ap.forms.FORMS:
        page = DOCS / "forms" / f"{name}.md"
        assert page.exists() and f"appell.forms.{name}" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ap.__all__)
def test_every_public_name_has_a_docstring(name):
    thing = getattr(ap, name)
    own = thing.__doc__ if inspect.isclass(thing) or inspect.ismodule(thing) else inspect.getdoc(thing)
    assert own and len(own) > 10


def test_public_methods_have_docstrings():
    for kind in (ap.System, ap.Run, ap.Motion, ap.forms.Equations):
        for name, member in inspect.getmembers(kind, inspect.isfunction):
            assert name.startswith("_") or inspect.getdoc(member), f"{kind.__name__}.{name} has no docstring"


def test_tests_named_in_the_errata_exist():
    named = set(re.findall(r"`(test_\w+)`", (DOCS / "errata.md").read_text(encoding="utf-8")))
    defined = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        defined |= set(re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert named and not named - defined


def test_links_between_pages_lead_somewhere():
    for page in DOCS.rglob("*.md"):
        for target in re.findall(r"\]\(([\w./]+\.md)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_object_of_the_reference_is_there():
    """A line of api.md whose home has moved would break the build of the documentation."""
    blocks = re.findall(r"```\{objects\}\n(.*?)```", (DOCS / "api.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = [line.partition(":")[0].partition(" = ") for block in blocks for line in block.strip().splitlines()]
    assert len(lines) > 100
    for name, _, home in lines:
        module, _, last = (home or name).strip().rpartition(".")
        assert hasattr(import_module(module), last), f"{name}: there is no {last} in {module}"


def test_the_version_is_the_same_everywhere():
    """It is stated in appell/version.py; what people copy from has to follow."""
    from appell.version import __version__

    stated = re.compile(r"(?:appell-|^version: |version\s+= \{)(\d+\.\d+\.\d+)", re.MULTILINE)
    copied = ("README.md", "docs/install.md", "docs/citing.md", "CITATION.cff")
    found = {name: set(stated.findall((ROOT / name).read_text(encoding="utf-8"))) for name in copied}
    assert all(versions == {__version__} for versions in found.values()), found
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
