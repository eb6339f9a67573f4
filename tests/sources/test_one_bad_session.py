"""One session over which a source stumbles is reported, and the others are stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_code_script import Script
from mem_search.model import Draft, Location
from mem_search.projects import Project
from mem_search.sources import claude_code
from mem_search.sources.agent_work.drafts import DraftBuilder
from mem_search.sources.agent_work.events import Line
from mem_search.sources.claude_code import ClaudeCode


def test_a_session_without_a_project_from_git_has_the_name_of_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(directory: str) -> Project:
        raise ValueError("embedded null byte")

    monkeypatch.setattr(claude_code, "identify", fails)
    script = Script().asks("Why does the tide table start at noon?")
    script.write(tmp_path / "project" / f"{script.session}.jsonl")
    batches = list(ClaudeCode().read(Location("claude-code", str(tmp_path)), {}))
    (draft, *_) = [draft for batch in batches for draft in batch.drafts]
    assert draft.project
    assert "is not known; it has its name" in caplog.text
    assert len(caplog.records) == 1, "a directory is reported once in a reading"


def test_a_defect_in_one_session_is_a_line_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a", "b", "c"):
        script = Script(session=name).asks(f"Why does the tide table of {name} start at noon?")
        script.write(tmp_path / "project" / f"{name}.jsonl")
    feed = DraftBuilder.feed

    def feed_but_b(self: DraftBuilder, line: Line) -> Iterator[Draft]:
        if line.session == "b":
            raise KeyError("surprise")
        return feed(self, line)

    monkeypatch.setattr(DraftBuilder, "feed", feed_but_b)
    batches = list(ClaudeCode().read(Location("claude-code", str(tmp_path)), {}))
    assert {draft.session for batch in batches for draft in batch.drafts} == {"a", "c"}
    failed = [each for batch in batches for each in batch.ledger if each.outcome == "failed"]
    assert [(each.item, each.reason) for each in failed] == [
        ("project/b.jsonl", "is not as expected (KeyError: 'surprise')")
    ]
    assert "is not read" in caplog.text
