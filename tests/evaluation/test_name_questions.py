"""``scripts/evaluate DIR/names``: which names are asked for, and what counts as right."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import names
import pytest


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A commit, a turn and two observations in the places of the shared data."""
    commits = tmp_path / "retrieval" / "commits-ripgrep"
    commits.mkdir(parents=True)
    commit = {"id": "c1", "title": "14.0.0", "text": "Release 14.0.0, with read_file", "date": None}
    (commits / "corpus.jsonl").write_text(json.dumps(commit) + "\n", "utf-8")
    turns = tmp_path / "transcripts"
    turns.mkdir()
    turn = {"type": "user", "uuid": "t1", "message": {"content": "why does it read_file?"}}
    (turns / "one.jsonl").write_text(f"not JSON\n[]\n{json.dumps(turn)}\n", "utf-8")
    (tmp_path / "claude-mem").mkdir()
    with closing(sqlite3.connect(tmp_path / "claude-mem" / "sample.db")) as store, store:
        store.execute("create table observations(id, title, narrative, facts, created_at)")
        rows = [
            (7, "Version", "Moved to 4.0.0", "[]", "2026-01-01"),
            (8, "Cut", "Kept <private>read_file, and more", "[]", "2026-01-02"),
        ]
        store.executemany("insert into observations values(?, ?, ?, ?, ?)", rows)
    return tmp_path


def test_a_name_is_held_as_it_is_stored_and_not_by_another_number(shared: Path) -> None:
    data = names.read(shared)
    held = {query.text: set(query.relevant) for query in data.queries}
    assert held["4.0.0"] == {"cm-7"}
    assert held["14.0.0"] == {"commit-c1"}
    assert held["read_file"] == {"commit-c1", "turn-t1"}


class Answers:
    """A system with fixed answers."""

    def __init__(self, found: dict[str, list[str]]) -> None:
        self.found = found

    async def search(self, text: str, project: str) -> list[str]:
        return self.found.get(text, [])

    def close(self) -> None:
        """Does nothing."""


def test_first_and_all_are_shares_of_the_names(shared: Path) -> None:
    data = names.read(shared)
    right = {query.text: list(query.relevant) for query in data.queries}
    partly = right | {"read_file": ["turn-t1", "cm-8", "commit-c1"], "4.0.0": ["commit-c1", "cm-7"]}
    systems = {"right": Answers(right), "partly": Answers(partly), "nothing": Answers({})}
    figures = asyncio.run(names.measure(systems, data))
    count = len(data.queries)
    assert figures["right"] == {"first": 1.0, "all": 1.0}
    assert figures["partly"] == {"first": (count - 1) / count, "all": (count - 2) / count}
    assert figures["nothing"] == {"first": 0.0, "all": 0.0}


def test_the_record_with_the_number_that_is_asked_for_may_lead(shared: Path) -> None:
    data = names.read(shared)
    query = names.Query("n0", "#4", "", {"turn-t1": 1.0})
    only = names.Dataset("names", data.documents, [query], ())
    own = data.documents[3]["source_id"]
    figures = asyncio.run(names.measure({"ours": Answers({"#4": [own, "turn-t1"]})}, only))
    assert figures["ours"] == {"first": 1.0, "all": 1.0}
