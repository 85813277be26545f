"""The page on the sources lists every test of a source, and none that fails."""

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "sources_data.py"


def test_every_test_of_a_source_is_listed_with_its_verdict():
    spec = spec_from_file_location("sources_data", SCRIPT)
    data = module_from_spec(spec)
    spec.loader.exec_module(data)
    kept = {row["test"]: row for row in json.loads(data.KEPT.read_text("utf-8"))["rows"]}
    assert set(kept) == {row["test"] for row in data.entries()}, "run `make sources`"
    assert {row["verdict"] for row in kept.values()} == {"holds"}
