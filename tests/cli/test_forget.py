"""Forgetting as a person does it: what is asked, what is said, what stays away, what is left."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from chosen_store import in_a_file
from homes import Home
from mem_search.features.forgetting.cli import receipt_lines

HARBOUR = {"kind": "note", "source_id": "quorvexel", "text": "the zylophantic harbour closes"}
GARDEN = {"kind": "note", "source_id": "garden", "text": "the garden needs water"}
LINES = "".join(f"{json.dumps(each)}\n" for each in (HARBOUR, GARDEN))


def test_a_receipt_claims_of_a_server_only_what_is_done_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receipt = {"id": "r", "purge": False, "removed": {"records": 1}, "pending": [],
               "begun_at": "2026-01-01T00:00:00Z", "copies": {"looked_at": None}}  # fmt: skip
    assert "its log and the vector index are written anew" in "".join(receipt_lines(receipt))
    monkeypatch.setenv("MEM_SEARCH_STORE", "postgresql://a@b/c")
    assert "the log and the backups of the server stay" in "".join(receipt_lines(receipt))


@pytest.fixture
def filled(mem: Home) -> Home:
    mem.ok("import", "jsonl", "-", given=LINES)
    return mem


@pytest.fixture
def other(mem: Home, tmp_path: Path) -> Iterator[Home]:
    other = mem.beside("other")
    yield other
    other.end()


def files_with(home: Home, word: bytes) -> list[str]:
    return [
        str(file.relative_to(home.path))
        for file in sorted(home.path.rglob("*"))
        if file.is_file() and word in file.read_bytes().lower()
    ]


def test_the_question_lists_the_saved_searches_that_go(filled: Home) -> None:
    filled.ok("saved", "add", "port", "zylophantic", "--inbox")
    filled.ok("saved", "add", "green", "garden", "--inbox")
    asked = filled.run("forget", "note:1")
    assert "saved search port names or quotes them and goes, too" in asked.stderr
    assert "green" not in asked.stderr
    assert "saved searches 1" in filled.ok("forget", "note:1", "--yes")
    assert "port" not in filled.ok("saved", "list")


def test_a_copy_in_the_home_is_named_and_one_elsewhere_is_not_looked_for(filled: Home) -> None:
    (filled.path / "all.jsonl").write_text(LINES)
    (filled.path / "green.jsonl").write_text(json.dumps(GARDEN))
    said = filled.ok("forget", "note:1", "--yes")
    assert "  still in all.jsonl; delete that file if you do not need it\n" in said
    assert "green" not in said
    assert files_with(filled, b"zylophantic") == ["all.jsonl"]
    (filled.path / "all.jsonl").unlink()
    filled.ok("worker", "stop")
    assert files_with(filled, b"zylophantic") == []


def test_what_was_forgotten_is_stored_again_only_on_request(filled: Home, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text(LINES)
    filled.ok("forget", "note:1", "--yes")
    for place, given in ((str(file), ""), ("-", LINES)):
        again = filled.ok("import", "jsonl", place, given=given)
        assert "1 skipped, forgotten before" in again
        assert filled.run("unified", "zylophantic").returncode == 1
    reason = filled.ok("ledger", "--item", "lines.jsonl")
    assert "mem-search import --even-forgotten FILE" in reason
    assert "1 new" in filled.ok("import", "--even-forgotten", str(file))
    assert "zylophantic" in filled.ok("unified", "zylophantic")
    filled.ok("forget", "--query", "zylophantic", "--yes")
    assert "1 new" in filled.ok("import", "--even-forgotten", "--source", "jsonl", "-", given=LINES)


def test_an_export_carries_the_refusal_into_another_store(filled: Home, other: Home) -> None:
    filled.ok("forget", "note:1", "--yes")
    exported = filled.ok("export")
    assert "quorvexel" not in exported
    assert "zylophantic" not in exported
    assert "forgotten" not in filled.ok("export", "--project", "nowhere")
    other.ok("import", "jsonl", "-", given=exported)
    assert "1 skipped, forgotten before" in other.ok("import", "jsonl", "-", given=LINES)
    assert other.run("unified", "zylophantic").returncode == 1
    assert exported in other.ok("export")  # and further
    assert "1 new" in other.ok("import", "--even-forgotten", "--source", "jsonl", "-", given=LINES)


@in_a_file("rows of an earlier version are in its pages")
def test_a_purge_removes_what_an_earlier_version_only_deleted(filled: Home) -> None:
    filled.run("unified", "brimstedt")  # logged: a word of a record that was deleted long ago
    filled.ok("search", "garden")
    filled.ok("worker", "stop")
    with closing(sqlite3.connect(filled.path / "mem-search.db")) as connection:
        connection.execute("pragma secure_delete = off")
        connection.execute("create table notes(text)")
        connection.executemany("insert into notes values(?)", [("the xantholymph",)] * 2000)
        connection.execute("drop table notes")
        connection.commit()
    assert files_with(filled, b"xantholymph") == ["mem-search.db"]
    assert filled.run("purge").returncode == 2  # it asks
    said = filled.ok("purge", "--yes")
    assert "searches in the log 1" in said
    assert "  done: the database, its log and the vector index are written anew" in said
    assert "  other files of the home were not looked through: its words are not known" in said
    assert said in filled.ok("forget", "--status")
    assert files_with(filled, b"xantholymph") == []
    filled.ok("worker", "stop")
    assert files_with(filled, b"xantholymph") == []
    assert files_with(filled, b"brimstedt") == []
    assert "water" in filled.ok("search", "garden")
