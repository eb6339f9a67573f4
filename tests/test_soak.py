"""A short soak, bounded by its steps: what a real worker acknowledged survives its faults."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.worker
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="it counts handles in /proc")
def test_a_short_soak_loses_and_leaks_nothing(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "soaking" / "main.py"), "--operations", "24",
         "--restarts", "3", "--json", str(report)],
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(report.read_text("utf-8"))
    assert found["acknowledged"] > 50
    assert found["starts"] == 5
    assert found["checks"] > 100
