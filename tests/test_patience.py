"""No test has a limit of seconds of its own: a busy machine takes minutes for what takes one."""

from __future__ import annotations

import re
from pathlib import Path

_OWN_LIMIT = re.compile(r"(?:ready|timeout|wait|join)\([1-9]\d+(?:\.0)?\)|timeout=[1-9]\d+\b")
_SHORT_ON_PURPOSE = {"storage/test_chroma_access.py": "both ways to a server get the same"}
"""File → why its limits are part of what it tests."""


def test_every_test_waits_as_long_as_patience_says() -> None:
    here = Path(__file__).parent
    found = [
        f"{file.relative_to(here)}:{number}: {line.strip()}"
        for file in sorted(here.rglob("*.py"))
        if str(file.relative_to(here)) not in _SHORT_ON_PURPOSE and file != Path(__file__)
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if _OWN_LIMIT.search(line)
    ]
    assert found == []
