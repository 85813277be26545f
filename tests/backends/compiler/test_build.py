"""Compiler and cache: hits, damage, races, privacy, and life without a compiler."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
import warnings

import pytest

from appell.backends import AppellWarning, build, choose_backend, clear_cache, notice, reason_against_c
from appell.backends.compiler import cache
from appell.errors import BackendUnavailable

SOURCE = "double twice(double x) { return 2.0*x; }\n"
DECLARATION = "double twice(double);"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("APPELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(notice, "_heard", set())
    return tmp_path / "cache"


def objects(folder):
    return sorted(folder.glob("*.so"))


def test_second_build_is_a_hit_and_other_flags_are_another_object(folder):
    first, second = build(SOURCE, DECLARATION), build(SOURCE, DECLARATION)
    assert not first.cached and first.compile_seconds > 0 and second.cached and second.compile_seconds == 0
    assert first.path == second.path and second.lib.twice(4.0) == 8.0
    assert build(SOURCE, DECLARATION, optimise="exact").path != first.path
    assert build(SOURCE + "\n", DECLARATION).path != first.path


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: data[:-1] + b"?"]
)
def test_a_damaged_entry_is_rebuilt_without_a_word(folder, damage):
    path = build(SOURCE, DECLARATION).path
    data = path.read_bytes()
    path.unlink()  # a new file: this process still has the old one mapped
    path.write_bytes(damage(data))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = build(SOURCE, DECLARATION)
    assert not again.cached and again.lib.twice(1.0) == 2.0
    assert build(SOURCE, DECLARATION).cached


def test_an_intact_entry_that_is_no_library_is_rebuilt(folder):
    """The checksum guards against damage, not against a file that was never loadable."""
    path = build(SOURCE, DECLARATION).path
    path.unlink()
    text = b"not a library"
    key = path.stem.split("-")[0]
    (path.parent / f"{key}-{hashlib.sha256(text).hexdigest()}.so").write_bytes(text)
    again = build(SOURCE, DECLARATION)
    assert not again.cached and again.lib.twice(1.0) == 2.0


CHILD = """
import sys
from appell.backends import build
source = "".join(f"double f{k}(double x) {{ return x*x + {k}.0; }}" for k in range(300))
print("ready", flush=True)
sys.stdin.readline()
library = build(source, "double f7(double);")
print(library.cached, library.lib.f7(3.0), flush=True)
"""


def test_two_processes_building_at_once_are_both_right(folder):
    build(SOURCE, DECLARATION)  # the probe is out of the way
    before = len(objects(folder))
    children = [
        subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for child in children:
        assert child.stdout and child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin
        child.stdin.write("go\n")
        child.stdin.flush()
    answers = [child.communicate(timeout=120)[0].split() for child in children]
    assert [value for _, value in answers] == ["16.0"] * 2
    assert [cached for cached, _ in answers].count("False") >= 1
    assert len(objects(folder)) > before and not list(folder.glob(".building-*"))


def test_the_folder_is_private(folder):
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    build(SOURCE, DECLARATION)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and objects(folder)


def test_a_folder_others_can_write_to_is_not_used(folder):
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(AppellWarning, match="written by other users"):
        library = build(SOURCE, DECLARATION)
    assert library.lib.twice(1.0) == 2.0
    assert not objects(folder) and stat.S_IMODE(library.path.parent.stat().st_mode) == 0o700


def test_a_folder_of_another_user_is_not_used(folder, monkeypatch):
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.warns(AppellWarning, match="another user"):
        assert cache.cache_folder() != folder


def test_a_folder_that_cannot_be_made_falls_back(folder, monkeypatch, tmp_path):
    """A file in the way, as a read-only home would be."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("APPELL_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(AppellWarning, match="cannot be used"):
        first = build(SOURCE, DECLARATION)
    assert first.lib.twice(1.0) == 2.0
    assert build(SOURCE, DECLARATION).cached  # within the process


def test_xdg_cache_home_is_honoured(folder, monkeypatch, tmp_path):
    monkeypatch.delenv("APPELL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert build(SOURCE, DECLARATION).path.parent == tmp_path / "xdg" / "appell"


def test_clear_and_prune_drop_the_longest_unused(folder):
    paths = [build(SOURCE + f"// {k}\n", DECLARATION).path for k in range(3)]
    for age, path in zip((30, 10, 20), paths, strict=True):
        os.utime(path, (1e9 - age, 1e9 - age))
    assert build(SOURCE + "// 0\n", DECLARATION).cached  # now the most recent
    others = [path for path in objects(folder) if path not in paths]
    for path in others:
        path.unlink()
    cache.prune(folder, limit=2 * paths[0].stat().st_size)
    assert set(objects(folder)) == {paths[0], paths[1]}
    clear_cache()
    assert not objects(folder)


def test_a_missing_compiler_is_told_once_and_by_name_refused(folder, monkeypatch):
    monkeypatch.setenv("APPELL_CC", "/nonexistent/cc")
    assert "/nonexistent/cc" in (reason_against_c() or "")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert [choose_backend("auto").name for _ in range(3)] == ["vm"] * 3
    assert [item.category for item in heard] == [AppellWarning]
    assert "/nonexistent/cc" in str(heard[0].message)
    with pytest.raises(BackendUnavailable, match=r"/nonexistent/cc.*install gcc or clang"):
        choose_backend("c")
    with pytest.raises(BackendUnavailable, match="install gcc or clang"):
        build(SOURCE, DECLARATION)


@pytest.mark.parametrize(
    "script",
    ["#!/bin/sh\necho broken >&2\nexit 1\n", "#!/bin/sh\nexit 0\n", "#!/bin/sh\necho junk > object.so\n", "junk"],
    ids=["fails", "does nothing", "writes junk", "does not run"],
)
def test_a_broken_compiler_is_no_compiler(folder, monkeypatch, tmp_path, script):
    broken = tmp_path / "brokencc"
    broken.write_text(script)
    broken.chmod(0o755)
    monkeypatch.setenv("APPELL_CC", str(broken))
    monkeypatch.chdir(tmp_path)  # what the script writes stays out of the checkout
    with pytest.raises(BackendUnavailable):
        choose_backend("c")
    assert choose_backend("vm").name == "vm"
    assert not objects(folder)


def test_with_a_compiler_auto_is_c(folder):
    assert reason_against_c() is None
    assert choose_backend("auto").name == choose_backend("c").name == "c"
    with pytest.raises(BackendUnavailable, match=r"'fortran'.*auto, c, vm"):
        choose_backend("fortran")


def test_text_that_does_not_compile_says_what_the_compiler_said(folder):
    with pytest.raises(BackendUnavailable, match="error"):
        build("double twice(double x) { return y; }", DECLARATION)


def test_text_that_compiles_and_does_not_load_is_our_error_too(folder):
    with pytest.raises(BackendUnavailable, match="nowhere"):
        build("double nowhere(double); double twice(double x) { return nowhere(x); }", DECLARATION)


def test_time_loops_may_be_compiled_quickly(folder, monkeypatch):
    paths = set()
    for asked in ("quick", "full"):
        monkeypatch.setenv("APPELL_COMPILE", asked)
        library = build(SOURCE, DECLARATION, optimise="loop")
        assert library.lib.twice(4.0) == 8.0 and library.contracts
        paths.add(library.path)
    assert len(paths) == 2


def test_an_unknown_way_to_compile_is_named(folder, monkeypatch):
    monkeypatch.setenv("APPELL_COMPILE", "fastest")
    with pytest.raises(BackendUnavailable, match="APPELL_COMPILE is quick or full, not 'fastest'"):
        build(SOURCE, DECLARATION)
