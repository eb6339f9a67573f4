"""One session over which a source stumbles is reported, and the others are stored."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent_sessions import opencode
from claude_code_script import Script
from mem_search.model import Draft, Location
from mem_search.projects import Project
from mem_search.sources import claude_code
from mem_search.sources.agent_work.drafts import DraftBuilder
from mem_search.sources.agent_work.events import Line
from mem_search.sources.claude_code import ClaudeCode
from mem_search.sources.opencode import OpenCode
from mem_search.sources.slack import Slack


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


@pytest.mark.worker
def test_a_defect_in_one_session_of_opencode_is_a_line_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = opencode(tmp_path)
    with closing(sqlite3.connect(path)) as store, store:
        for name in ("bad", "good"):
            store.execute(
                f"insert into session values('{name}', null, '/x', cast(x'ff41' as text), 0)"
            )
            store.execute(
                f"insert into message values('m{name}', '{name}', 1, '{{\"role\": \"user\"}}')"
            )
            part = json.dumps(
                {"type": "text", "text": f"Why does the {name} tide table start at noon?"}
            )
            store.execute(
                "insert into part values(?, ?, ?, 1, ?)", (f"p{name}", f"m{name}", name, part)
            )
    feed = DraftBuilder.feed

    def feed_but_bad(self: DraftBuilder, line: Line) -> Iterator[Draft]:
        if line.session == "bad":
            raise KeyError("surprise")
        return feed(self, line)

    monkeypatch.setattr(DraftBuilder, "feed", feed_but_bad)
    batches = list(OpenCode().read(Location("opencode", str(path)), {}))
    assert {draft.session for batch in batches for draft in batch.drafts} == {"ses_1", "good"}
    failed = [each for batch in batches for each in batch.ledger if each.outcome == "failed"]
    assert [(each.item, each.reason) for each in failed] == [
        ("bad", "it is not as expected (KeyError: 'surprise')")
    ]


def test_a_day_of_slack_that_is_no_json_fails_alone(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    said = [{"type": "message", "user": "U1", "ts": "1700000000.1", "text": "The tide is high"}]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("users.json", json.dumps([{"id": "U1", "real_name": "Ann"}]))
        archive.writestr("channels.json", "[]")
        archive.writestr("pier/2026-01-01.json", "[{")
        archive.writestr("pier/2026-01-02.json", json.dumps(said))
    batches = list(Slack().read(Location("slack", str(path)), {}))
    assert [draft.source_id for batch in batches for draft in batch.drafts] == ["pier/2026-01-02"]
    failed = [each for batch in batches for each in batch.ledger if each.outcome == "failed"]
    assert [each.item for each in failed] == ["export.zip:pier/2026-01-01.json"]
