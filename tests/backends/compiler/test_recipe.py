"""Machine code found by the description of a function: no graph on the second run, and nothing believed that is damaged."""

from __future__ import annotations

import hashlib
import json

import casadi as ca
import numpy as np
import pytest

from appell.backends import clear_cache, compiled_before, in_c, recipe_for
from appell.backends.compiler import build as c_build
from appell.backends.compiler import cache, recipe
from appell.graph.fn import Fn, make_fn

KEY = cache.digest("a description")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("APPELL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Kitchen:
    """Makes B = t x yᵀ, c = sin t, and counts how often."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> Fn:
        self.made += 1
        t, x, y = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("y", 3)
        outputs = {"B": t * x @ y.T, "c": ca.sin(t), "none": (ca.SX(0, 1), (0,))}
        return make_fn("dish", {"t": t, "x": x, "y": y}, outputs)


def right(call) -> None:
    t, x, y = 0.4, np.array([1.0, 2.0]), np.array([3.0, -1.0, 0.5])
    B, c, none = call(t, x, y)
    np.testing.assert_allclose(B, t * np.outer(x, y), rtol=1e-15)
    np.testing.assert_allclose(c, np.sin(t), rtol=1e-15)
    assert none.shape == (0,)


def served(key: str = KEY) -> int:
    """How often the graph is made for one right answer, as in a new process."""
    kitchen = Kitchen()
    right(in_c(recipe_for(key, kitchen)))
    return kitchen.made


def notes(folder):
    return sorted(folder.glob("*.note"))


def test_the_second_time_no_graph_is_made_and_the_signature_is_the_same():
    first = recipe_for(KEY, Kitchen())
    right(in_c(first))
    kitchen = Kitchen()
    second = recipe_for(KEY, kitchen)
    right(in_c(second))
    assert kitchen.made == 0
    same = ("name", "inputs", "outputs", "operations")
    assert [getattr(second, x) for x in same] == [getattr(first, x) for x in same] == [getattr(first.graph, x) for x in same]
    assert [second.graph.digest for _ in range(2)] == [first.graph.digest] * 2 and kitchen.made == 1
    assert served(cache.digest("another description")) == 1


def test_large_batches_are_found_in_the_same_way():
    t, x = np.linspace(0, 1, 3000), np.ones((3000, 2))
    answers = []
    for made in (1, 0):
        kitchen = Kitchen()
        call = in_c(recipe_for(KEY, kitchen))
        answers.append(call.batch(t, x, [1.0, 2.0, 3.0]))
        single = call.batch(t, x, [1.0, 2.0, 3.0], dtype=np.float32)
        assert kitchen.made == made
        np.testing.assert_allclose(single[0], answers[-1][0], rtol=1e-6)
    for a, b in zip(*answers, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"", lambda data: data + b" "])
def test_damaged_notes_are_found_out_again(folder, damage):
    assert (served(), served()) == (1, 0)
    for path in notes(folder):
        path.write_bytes(damage(path.read_bytes()))
    assert (served(), served()) == (1, 0)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "7", '["dish", [], []]', '["dish", [["t"]], [], 3]', '["dish", [["t", 3]], [], 3]', "\\x00",
     '["dish", [["t", [-1]]], [], 3]', '["dish", [["not a name", []]], [], 3]', '["dish", [["t", []]], [], "many"]'],
)  # fmt: skip
def test_a_note_that_is_intact_and_says_nothing_is_found_out_again(folder, text):
    assert served() == 1
    for path in notes(folder):
        if path.name.startswith(KEY):
            path.unlink()
    (folder / f"{KEY}-{hashlib.sha256(text.encode()).hexdigest()}.note").write_text(text)
    assert (served(), served()) == (1, 0)
    assert len([path for path in notes(folder) if path.name.startswith(KEY)]) == 1  # the old one is gone


def test_a_missing_or_damaged_object_is_built_again(folder):
    assert served() == 1
    for lose in (lambda path: path.unlink(), lambda path: (path.unlink(), path.write_bytes(b"?"))):
        for path in folder.glob("*.so"):
            lose(path)
        assert (served(), served()) == (1, 0)


def test_a_note_of_another_text_leads_nowhere(folder):
    """The digest in a note names a text; machine code is taken by text, flags, compiler and CPU together."""
    assert served() == 1
    use = cache.digest(KEY, "one state")
    assert len(cache.recall(use) or "") == 64
    cache.remember(use, cache.digest("another text"))
    assert (served(), served()) == (1, 0)


def test_another_cpu_needs_its_own_code(monkeypatch):
    assert served() == 1
    monkeypatch.setattr(c_build, "_cpu", lambda: "another one")
    assert (served(), served()) == (1, 0)


def test_what_was_compiled_before_is_known_without_a_compiler():
    first = recipe_for(KEY, Kitchen())
    assert compiled_before(first) is None and compiled_before(first.graph) is None
    in_c(first)
    kitchen = Kitchen()
    found = compiled_before(recipe_for(KEY, kitchen))
    assert found is not None and kitchen.made == 0
    right(found)


def test_notes_are_private_replaced_pruned_and_cleared(folder):
    cache.remember(KEY, "first")
    cache.remember(KEY, "second")
    assert cache.recall(KEY) == "second" and len(notes(folder)) == 1
    assert cache.recall(cache.digest("nothing")) is None
    cache.prune(folder, limit=0)
    assert not notes(folder)
    cache.remember(KEY, "third")
    clear_cache()
    assert cache.recall(KEY) is None


def test_a_note_that_cannot_be_kept_is_no_error(monkeypatch):
    def full(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr(cache, "store", full)
    cache.remember(KEY, "text")
    assert cache.recall(KEY) is None


def test_the_generator_is_its_files(tmp_path, monkeypatch):
    package = tmp_path / "kitchen_package"
    (package / "inner").mkdir(parents=True)
    for name in ("__init__.py", "inner/__init__.py", "inner/text.c.in"):
        (package / name).write_text("")
    monkeypatch.syspath_prepend(tmp_path)

    def digest() -> str:
        recipe.generator.cache_clear()
        return recipe.generator("kitchen_package")

    first = digest()
    (package / "__pycache__").mkdir(exist_ok=True)
    (package / "__pycache__" / "x.pyc").write_bytes(b"1")
    assert digest() == first
    (package / "inner" / "text.c.in").write_text("x")
    second = digest()
    (package / "inner" / "text.c.in").rename(package / "inner" / "other.c.in")
    assert len({first, second, digest()}) == 3
    monkeypatch.setattr(recipe, "VERSION", "0")
    assert digest() not in (first, second)
    recipe.generator.cache_clear()


def test_a_compiler_that_worked_is_not_tried_again(folder, tmp_path, monkeypatch):
    """It is known by its file; another file is another compiler."""
    script, log = tmp_path / "mycc", tmp_path / "log"
    real = c_build.working_compiler().command[0]
    script.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {real} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("APPELL_CC", str(script))
    c_build._compiler.cache_clear()
    assert c_build.reason_against_c() is None and log.exists()
    log.unlink()
    c_build._compiler.cache_clear()
    assert c_build.reason_against_c() is None and not log.exists()
    script.write_text("#!/bin/sh\nexit 1\n")
    c_build._compiler.cache_clear()
    assert c_build.reason_against_c()
    for path in notes(folder):
        assert json.loads(path.read_text())[0].strip()
    c_build._compiler.cache_clear()
