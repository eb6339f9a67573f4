"""Ids of a source that two kinds share."""

from __future__ import annotations

from typing import Any

from drafts import draft
from mem_search.ingest.prepare import prepare
from mem_search.model import Draft
from mem_search.model.ingest import Stored
from mem_search.storage.rules.identities import with_own_ids
from mem_search.storage.sql.ingest import taken_ids
from mem_search.storage.sqlite.database import Connection
from mem_search.storage.sqlite.records import RecordWriter

KINDS: Any = ("observation", "user_prompt", "note")


def taken(connection: Connection, *drafts: Draft) -> list[Stored]:
    ready = [prepare(each) for each in drafts]
    return RecordWriter(connection).store(with_own_ids(ready, taken_ids(connection, ready)))


def same_id(words: str = "some words") -> list[Draft]:
    return [draft("5", f"{words} of the {kind}", kind=kind) for kind in KINDS]


def stored(connection: Connection) -> dict[str, str]:
    return dict(connection.execute("select kind, source_id from records").fetchall())


def test_records_of_different_kinds_with_the_same_id_are_all_kept(connection: Connection) -> None:
    done = taken(connection, *same_id())
    assert [each.outcome for each in done] == ["new"] * 3
    assert stored(connection) == {
        "observation": "5",
        "user_prompt": "5#user_prompt",
        "note": "5#note",
    }


def test_reading_them_again_in_any_order_finds_each_again(connection: Connection) -> None:
    first = taken(connection, *same_id())
    again = taken(connection, *reversed(same_id()))
    assert [each.outcome for each in again] == ["unchanged"] * 3
    assert [each.number for each in reversed(again)] == [each.number for each in first]
    changed = [taken(connection, each)[0] for each in same_id("other words")]
    assert [each.outcome for each in changed] == ["changed"] * 3
    assert [each.number for each in changed] == [each.number for each in first]


def test_one_that_is_forgotten_leaves_the_others(connection: Connection) -> None:
    first = taken(connection, *same_id())
    RecordWriter(connection).remove([first[0].number], forget=True)
    again = taken(connection, *same_id("other words"))
    assert [each.outcome for each in again] == ["forgotten", "changed", "changed"]


def test_an_id_of_one_kind_stays_as_it_is(connection: Connection) -> None:
    taken(connection, draft("5", "once"), draft("5", "twice"), draft("5", source="other"))
    assert connection.execute("select source, source_id, body from records").fetchall() == [
        ("test", "5", "twice"),
        ("other", "5", "some words"),
    ]


def test_what_has_the_id_of_something_else_does_not_replace_it(connection: Connection) -> None:
    first = draft("5", "the first letter", metadata={"content_id": "a"})
    other = draft("5", "the other letter", metadata={"content_id": "b"})
    better = draft("5", "the first letter, read better", metadata={"content_id": "a"})
    done = [taken(connection, each)[0].outcome for each in (first, other, better, other)]
    assert done == ["new", "new", "changed", "unchanged"]
    assert connection.execute("select source_id, body from records order by id").fetchall() == [
        ("5", "the first letter, read better"),
        ("5#b", "the other letter"),
    ]
