"""Bookmarks and exports of chats as records: whole drafts, and files as hostile as they come."""

import json
import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mem_search.contracts import Source
from mem_search.model import Draft, LedgerEntry, Link, Location
from mem_search.sources import by_name, for_path
from source_samples import SAMPLES, bookmarks, chatgpt, claude_ai, slack

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


def read(source: str, path: Path) -> tuple[list[Draft], list[LedgerEntry]]:
    batches = list(by_name(source).read(Location(source, str(path)), {}))
    drafts = [draft for batch in batches for draft in batch.drafts]
    return drafts, [entry for batch in batches for entry in batch.ledger]


def test_exported_bookmarks_are_pages_with_folder_tags_and_day(tmp_path: Path) -> None:
    (oil, pier), ledger = read("bookmarks", bookmarks(tmp_path))
    assert oil == Draft(
        kind="website",
        source="bookmarks",
        source_id="https://lamps.example/oil",
        text="Lamp oil\n\nWhere to buy it\n\nBookmark folder: Harbour\n\nhttps://lamps.example/oil",
        title="Lamp oil",
        created_at=1_700_000_000_000,
        url="https://lamps.example/oil",
        tags=("sea", "oil"),
        metadata={"folders": ["Harbour"]},
    )
    assert (pier.title, pier.url) == ("Pier & quay", "https://pier.example/?a=1&b=2")
    assert [(entry.outcome, entry.records) for entry in ledger] == [("left", 0), ("taken", 2)]
    assert "1 bookmark of no web page" in ledger[0].reason


def test_bookmarks_of_chrome(tmp_path: Path) -> None:
    page = {"type": "url", "name": "Lamp oil", "url": "https://lamps.example/", "date_added":
            "13344473600000000"}  # fmt: skip
    twice = {"type": "folder", "name": "Sea", "children": [{**page, "name": "Oil"}]}
    bar = {"type": "folder", "name": "Bookmarks bar", "children": [page, twice]}
    path = tmp_path / "Bookmarks"
    path.write_text(json.dumps({"roots": {"bookmark_bar": bar, "sync": 7}}))
    ((oil,), _) = read("bookmarks", path)
    assert (oil.title, oil.created_at) == ("Lamp oil", 1_700_000_000_000)
    assert oil.metadata == {"folders": ["Sea"]}
    assert for_path(path) == "bookmarks"


def test_bookmarks_of_firefox_are_read_from_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with closing(sqlite3.connect(path)) as store:
        store.execute("pragma journal_mode = wal")
        store.executescript(
            """
            create table moz_places(id integer primary key, url text, title text, description text);
            create table moz_bookmarks(id integer primary key, type integer, fk integer,
                parent integer, title text, dateAdded integer, guid text);
            insert into moz_places values(1, 'https://lamps.example/', 'Lamps', 'Oil and wicks');
            insert into moz_bookmarks values
                (1, 2, null, 0, '', 0, 'root________'), (2, 2, null, 1, 'menu', 0, 'menu________'),
                (3, 2, null, 1, 'tags', 0, 'tags________'), (4, 2, null, 3, 'sea', 0, 'x'),
                (5, 2, null, 2, 'Harbour', 0, 'y'),
                (6, 1, 1, 5, 'Lamp oil', 1700000000000000, 'z'), (7, 1, 1, 4, null, 9, 'w');
            """
        )
        before = sorted(each.name for each in tmp_path.iterdir())
        ((oil,), _) = read("bookmarks", path)  # while Firefox has it open
        assert sorted(each.name for each in tmp_path.iterdir()) == before
    assert (oil.title, oil.tags, oil.created_at) == ("Lamp oil", ("sea",), 1_700_000_000_000)
    assert oil.metadata == {"folders": ["Harbour"]}
    assert "Oil and wicks" in oil.text


def test_a_conversation_of_chatgpt_is_the_path_that_was_kept(tmp_path: Path) -> None:
    (talk, _), ledger = read("chatgpt", chatgpt(tmp_path))
    assert talk == Draft(
        kind="conversation",
        source="chatgpt",
        source_id="w1",
        text="You: How do I trim a wick?\n\nChatGPT: Cut it straight.",
        title="Wicks",
        created_at=1_700_000_000_500,
        updated_at=1_700_000_000_500,
        session="w1",
        url="https://chatgpt.com/c/w1",
        metadata={"platform": "chatgpt", "participants": ["You", "ChatGPT"], "turns": 2},
    )
    assert ("left", "the conversation is empty") in [(e.outcome, e.reason) for e in ledger]


def _tree(path: Path, current: str, **parents: str) -> Path:
    """A conversation of nodes with their parents; a name in capitals is a question."""
    nodes = {
        name: {
            "parent": parent,
            "message": {
                "author": {"role": "user" if name.isupper() else "assistant"},
                "content": {"content_type": "text", "parts": [f"says {name}"]},
            },
        }
        for name, parent in parents.items()
    }
    talk = {"title": "Wicks", "conversation_id": "w", "mapping": nodes, "current_node": current}
    path.write_text(json.dumps([talk]))
    return path


def test_another_branch_of_a_conversation_of_chatgpt_is_a_record_of_what_it_alone_says(
    tmp_path: Path,
) -> None:
    path = _tree(
        tmp_path / "conversations.json", "d",
        A="", b="A", c="A", C="c", d="C", D="c", e="D", f="D", x="y", y="x",
    )  # fmt: skip
    drafts, ledger = read("chatgpt", path)
    assert {draft.source_id: draft.text.replace("\n\n", ", ") for draft in drafts} == {
        "w": "You: says A, ChatGPT: says c, You: says C, ChatGPT: says d",
        "w/b": "You: says A, ChatGPT: says b",
        "w/D": "You: says D, ChatGPT: says e",
        "w/f": "You: says D, ChatGPT: says f",
        "w/y": "ChatGPT: says y, ChatGPT: says x",
    }
    assert {draft.session for draft in drafts} == {"w"}
    assert [draft.title for draft in drafts[:2]] == ["Wicks", "Wicks (another branch)"]
    assert [entry.records for entry in ledger] == [5]


def test_a_branch_of_chatgpt_in_which_nothing_is_said_is_no_record(tmp_path: Path) -> None:
    path = _tree(tmp_path / "conversations.json", "b", A="", b="A", c="A")
    path.write_text(path.read_text().replace("says c", " "))
    assert [draft.source_id for draft in read("chatgpt", path)[0]] == ["w"]


def test_a_conversation_of_claude_links_to_the_files_that_it_was_given(tmp_path: Path) -> None:
    (talk, log), _ = read("claude-ai", claude_ai(tmp_path))
    assert talk.text == "You: Read this log\n\nClaude: It went out."
    assert talk.links == (Link("u1#file-1", "attachment"),)
    assert (log.kind, log.title, log.text) == ("file", "log.txt", "The lamp went out.")


def test_the_archive_and_the_file_in_it_are_the_same_records(tmp_path: Path) -> None:
    for source, make in (("chatgpt", chatgpt), ("claude-ai", claude_ai)):
        path = make(tmp_path)
        packed = tmp_path / f"{source}.zip"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(path, "data/conversations.json")
        assert read(source, packed)[0] == read(source, path)[0]
        assert for_path(path) == for_path(packed) == source


def test_a_day_of_a_channel_is_a_conversation_with_names_and_links(tmp_path: Path) -> None:
    (day,), _ = read("slack", slack(tmp_path))
    assert day.text == (
        "Ada: @Ada see the lamps (https://lamps.example) & #pier\n\nrobot: Lamp is out"
    )
    assert (day.title, day.session) == ("#harbour, 2023-11-14", "slack:harbour")
    assert day.metadata["participants"] == ["Ada", "robot"]
    with zipfile.ZipFile(tmp_path / "slack.zip") as archive:
        archive.extractall(tmp_path / "export")
    assert read("slack", tmp_path / "export")[0] == [day]
    assert for_path(tmp_path / "export/harbour/2023-11-14.json") == "slack"


SHAPES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "chatgpt": ("conversations.json", lambda v: json.dumps([v, {"conversation_id": "x",
                "mapping": {"a": v, "b": {"message": v, "parent": v}}, "current_node": "b"}])),
    "claude-ai": ("conversations.json", lambda v: json.dumps([v, {"uuid": "u",
                  "chat_messages": [v, {"sender": v, "content": [v], "attachments": [v]}]}])),
    "slack": ("c/2026-01-01.json", lambda v: json.dumps([v, {"type": "message", "text": v,
              "ts": v, "files": [v], "subtype": v, "user": v}])),
    "bookmarks": ("Bookmarks", lambda v: json.dumps({"roots": {"a": v, "b": {"type": "url",
                  "url": "https://a.example", "name": v, "date_added": v, "children": v}}})),
}  # fmt: skip


@pytest.mark.parametrize("source", SHAPES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(value=JSON)
def test_odd_values_anywhere_are_no_crash(source: str, value: Any, tmp_path: Path) -> None:
    name, make = SHAPES[source]
    path = tmp_path / source / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(make(value))
    _, ledger = read(source, path)
    assert not [entry for entry in ledger if "not as expected" in entry.reason]


@pytest.mark.parametrize("name", ["bookmarks", "chatgpt", "claude-ai", "slack", "codex", "gemini"])
def test_half_a_file_is_named_and_nothing_else_happens(name: str, tmp_path: Path) -> None:
    sample = SAMPLES[name](tmp_path)
    path = sample if sample.is_file() else next(sample.rglob("*.json*"))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    source: Source = by_name(name)
    batches = list(source.read(Location(name, str(path)), {}))
    assert [entry for batch in batches for entry in batch.ledger]
