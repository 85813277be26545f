"""A sample of `make fuzz-files`."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.fuzz_files import KINDS, damaged, fuzz, whole


def test_what_is_damaged_is_whole_before():
    for name, read in KINDS.items():
        read(whole() / name)


def test_a_sample_of_damaged_files():
    made, wrong = fuzz(0, 100)
    assert made == 100 and wrong == {}


def test_a_file_is_a_function_of_its_number(tmp_path: Path):
    contents = []
    for _ in range(2):
        names = [damaged(n, tmp_path) for n in range(5, 15)]
        contents.append([(name, path.read_bytes() if path.is_file() else b"") for name, path in names[-1:]])
    assert contents[0] == contents[1]
