"""Every source through the same tests, each on a small sample of what it reads."""

import json
import os
import re
import sqlite3
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mem_search.contracts import Machine, Source
from mem_search.errors import InputError, SourceError
from mem_search.model import KINDS, Batch, Draft, Location
from mem_search.records import by_name as kind_by_name
from mem_search.sources import SOURCES, by_name


def claude_mem(folder: Path) -> Path:
    path = folder / "claude-mem.db"
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            """
            create table sdk_sessions(
                id integer primary key, content_session_id text, memory_session_id text,
                project text, platform_source text);
            create table observations(
                id integer primary key, memory_session_id text, project text, text text,
                type text, title text, subtitle text, facts text, narrative text,
                concepts text, files_read text, files_modified text, prompt_number integer,
                created_at_epoch integer);
            create table session_summaries(
                id integer primary key, memory_session_id text, project text, request text,
                learned text, created_at_epoch integer);
            insert into sdk_sessions values(1, 'c1', 'm1', 'harbour', 'claude');
            insert into observations(id, memory_session_id, project, type, title, narrative,
                    facts, created_at_epoch)
                values(1, 'm1', 'harbour', 'bugfix', 'Lamp', 'The lamp burns.', '["lit"]', 1000),
                      (2, 'm1', 'harbour', 'change', 'Pier', 'The pier is long.', '[]', 2000);
            insert into session_summaries values(1, 'm1', 'harbour', 'Light it', 'How', 3000);
            """
        )
    return path


def claude_code(folder: Path) -> Path:
    said = [
        ("user", {"role": "user", "content": "Fix the lamp in the harbour, please"}),
        (
            "assistant",
            {
                "id": "m1",
                "content": [
                    {
                        "type": "tool_use",
                        "id": "t1",
                        "name": "Edit",
                        "input": {"file_path": "/gone/harbour/lamp.py"},
                    }
                ],
            },
        ),
        (
            "user",
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}],
            },
        ),
        (
            "assistant",
            {"id": "m2", "content": [{"type": "text", "text": "The lamp burns again."}]},
        ),
    ]
    lines = [
        {
            "type": kind,
            "uuid": f"u{number}",
            "sessionId": "s1",
            "timestamp": f"2026-01-01T00:00:0{number}.000Z",
            "cwd": "/gone/harbour",
            "message": message,
        }
        for number, (kind, message) in enumerate(said)
    ]
    path = folder / "projects" / "-gone-harbour" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "projects"


def git(folder: Path) -> Path:
    person = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": "2026-03-01T10:00:00Z"}
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        **{f"GIT_{role}_{key}": v for role in ("AUTHOR", "COMMITTER") for key, v in person.items()},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }
    path = folder / "repository"
    path.mkdir()
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["commit", "-q", "--allow-empty", "-m", "fix: light the lamp"],
        ["commit", "-q", "--allow-empty", "-m", "feat: lengthen the pier"],
    ):
        subprocess.run(["git", *arguments], cwd=path, env=environment, check=True)
    return path


def jsonl(folder: Path) -> Path:
    path = folder / "records.jsonl"
    path.write_text("".join(json.dumps({"kind": kind, "text": "x"}) + "\n" for kind in KINDS))
    return path


SAMPLES: Mapping[str, Callable[[Path], Path]] = {
    "claude-mem": claude_mem,
    "claude-code": claude_code,
    "git": git,
    "jsonl": jsonl,
}


def read(source: Source, path: Path, cursor: Mapping[str, Any] | None = None) -> list[Batch]:
    return list(source.read(Location(source.name, str(path)), cursor or {}))


def drafts_of(batches: list[Batch]) -> list[Draft]:
    return [draft for batch in batches for draft in batch.drafts]


def snapshot(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return {str(file): file.read_bytes() for file in files if file.is_file()}


def test_names_are_unique_and_lead_to_their_source() -> None:
    assert len({source.name for source in SOURCES}) == len(SOURCES)
    assert all(by_name(source.name) is source for source in SOURCES)
    with pytest.raises(InputError, match="claude-mem, claude-code, git, jsonl"):
        by_name("telepathy")


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
class TestSource:
    def test_has_a_name_in_kebab_case(self, source: Source) -> None:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", source.name)
        assert source.follows in (True, False)

    def test_finds_nothing_on_an_empty_machine(self, source: Source, tmp_path: Path) -> None:
        assert list(source.discover(Machine(tmp_path, tmp_path, {}))) == []
        gone = tmp_path / "gone"
        assert list(source.discover(Machine(gone, gone, {}))) == []

    def test_says_that_a_missing_location_cannot_be_read(
        self, source: Source, tmp_path: Path
    ) -> None:
        with pytest.raises(SourceError, match="gone"):
            read(source, tmp_path / "gone")

    def test_gives_drafts_that_its_kinds_accept(self, source: Source, tmp_path: Path) -> None:
        drafts = drafts_of(read(source, SAMPLES[source.name](tmp_path)))
        assert drafts
        for draft in drafts:
            assert draft.source == source.name
            assert draft.source_id
            assert kind_by_name(draft.kind).compose(draft).text
        assert len({draft.source_id for draft in drafts}) == len(drafts)

    def test_gives_the_same_again_for_the_same(self, source: Source, tmp_path: Path) -> None:
        path = SAMPLES[source.name](tmp_path)
        assert drafts_of(read(source, path)) == drafts_of(read(source, path))

    def test_tells_with_every_batch_where_to_go_on(self, source: Source, tmp_path: Path) -> None:
        path = SAMPLES[source.name](tmp_path)
        batches = read(source, path)
        for position, batch in enumerate(batches, 1):
            assert batch.cursor
            assert 0 <= batch.done <= batch.total
            assert len(batch.drafts) < 1000
            # A cursor goes through JSON in the database.
            cursor = json.loads(json.dumps(batch.cursor))
            again = {draft.source_id for draft in drafts_of(read(source, path, cursor))}
            later = {draft.source_id for draft in drafts_of(batches[position:])}
            assert again == later

    def test_keeps_a_ledger_of_what_it_took(self, source: Source, tmp_path: Path) -> None:
        batches = read(source, SAMPLES[source.name](tmp_path))
        taken = [entry for batch in batches for entry in batch.ledger if entry.outcome == "taken"]
        counted_later = sum(len(batch.drafts) for batch in batches if batch.item)
        assert sum(entry.records for entry in taken) + counted_later == len(drafts_of(batches))
        assert all(len(batch.places) in (0, len(batch.drafts)) for batch in batches)

    def test_never_writes_to_what_it_reads(self, source: Source, tmp_path: Path) -> None:
        path = SAMPLES[source.name](tmp_path)
        before = snapshot(path)
        read(source, path)
        assert snapshot(path) == before
