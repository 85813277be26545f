"""Faults below a store: a sample of `make fuzz-store`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("zarr", reason="zarr is not installed: pip install 'appell[distributed]'")
pytestmark = [pytest.mark.compiler, pytest.mark.skipif(sys.platform != "linux", reason="the shim is for Linux")]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler for the shim")
def test_faults_kills_and_power_cuts_leave_a_store_that_resumes():
    command = [sys.executable, "-m", "tests.ensembles.fuzz_store", "--every", "101", "--flips", "2", "--kills", "1"]
    found = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "power cut: right" in found.stdout and ", 0 wrong" in found.stdout
