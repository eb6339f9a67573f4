"""Which records an agent's situation calls for."""

from __future__ import annotations

from typing import Any

import pytest

from mem_search.features.context.service import DAY_MS, Situation, ranked, words_of
from mem_search.model import Kind, Record

NOW = 1_763_401_500_000
HERE = Situation(("harbour",), branch="tide", files=("src/lamp.py",))


def record(number: int, days: float = 1, kind: Kind = "observation", **metadata: Any) -> Record:
    at = int(NOW - days * DAY_MS)
    return Record(number, kind, "x", f"{number}", "t", "t", at, at, metadata=metadata)


def order(*records: Record, situation: Situation = HERE, **ranks: int) -> list[int]:
    found = {int(name[1:]): rank for name, rank in ranks.items()}
    return [each.record.number for each in ranked(records, situation, NOW, found)]


def test_the_newest_comes_first_where_nothing_else_speaks() -> None:
    assert order(record(1, 30), record(2, 0), record(3, 3)) == [2, 3, 1]


def test_files_at_hand_come_before_the_branch_and_that_before_other_work() -> None:
    assert order(
        record(1), record(2, branch="tide"), record(3, files_modified=["/repo/src/lamp.py"])
    ) == [3, 2, 1]


def test_a_file_that_was_changed_counts_more_than_one_that_was_read() -> None:
    assert order(record(1, files_read=["src/lamp.py"]), record(2, files_modified=["lamp.py"])) == [
        2, 1
    ]  # fmt: skip


def test_an_older_decision_comes_before_newer_lookups() -> None:
    assert order(record(1, 3), record(2, 5, type="decision")) == [2, 1]


def test_what_matches_the_prompt_comes_first_in_its_own_order() -> None:
    assert order(record(1, 0), record(2, 300), record(3, 300), n3=0, n2=1) == [3, 2, 1]


def test_reasons_are_named_the_heaviest_first() -> None:
    (found,) = ranked([record(1, 0, branch="tide", files_read=["lamp.py"])], HERE, NOW, {})
    assert found.reasons == ("recent", "file", "branch")
    assert found.score == pytest.approx(1 + 0.75 + 0.6)


def test_odd_metadata_is_no_reason() -> None:
    assert order(record(1, files_modified="src/lamp.py", type=["decision"], branch=7)) == [1]


def test_a_future_record_counts_as_new() -> None:
    assert ranked([record(1, -9)], HERE, NOW, {})[0].score == pytest.approx(1.0)


def test_a_prompt_is_only_words() -> None:
    assert words_of('Why does project:x NOT "fail" -- (see src/lamp.py)?') == (
        "why does project x not fail see src lamp py"
    )
    assert len(words_of("x" * 5_000)) == 1_000
