"""Ordinary code, prose and logs keep their lines (``scripts/evaluate secrets``)."""

from __future__ import annotations

import pytest
from ordinary_text import LINES, corpus, findings

MAX_FINDINGS = LINES // 2000


@pytest.mark.worker
def test_at_most_one_line_of_two_thousand_is_taken_for_a_secret() -> None:
    texts = corpus()
    found = findings(texts)

    assert sum(text.count("\n") + 1 for _, text in texts) == LINES
    assert len(found) <= MAX_FINDINGS, found


def test_what_is_found_is_listed_with_its_line() -> None:
    line = 'password = "' + "hunter2" * 2 + '"'

    assert findings([("a.py:1", f"x = 1\n{line}\n")]) == [
        ("a.py:1", "password", 'password = "[redacted:password]"')
    ]
