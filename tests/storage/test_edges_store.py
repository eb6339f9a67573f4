"""Edges in the store: resolved in any order of import, correct when an end changes."""

from __future__ import annotations

import itertools
import sqlite3
from typing import Any

import pytest

from drafts import draft, in_memory, store
from mem_search.model import Draft, Link
from mem_search.storage.sql.records import with_links
from mem_search.storage.sqlite.records import RecordWriter

SHA = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"


def edges(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """(source id, relation, source id of the target or None)."""
    return connection.execute(
        "select f.source_id, e.relation, t.source_id from edges e"
        " join records f on f.id = e.from_id left join records t on t.id = e.to_id order by e.id"
    ).fetchall()


def superseded(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return connection.execute(
        "select r.source_id, s.source_id from records r join records s on s.id = r.superseded_by"
    ).fetchall()


@pytest.mark.parametrize("first", ["target", "pointer"])
@pytest.mark.parametrize(
    ("pointer", "target"),
    [
        (draft("p", links=(Link("t"),)), draft("t")),
        (
            draft("p", links=(Link("https://example.org/a/"),)),
            draft("t", url="http://example.org/a#x"),
        ),
        (draft("p", "see https://example.org/a."), draft("t", url="https://www.example.org/a")),
        (draft("p", "since 0a1b2c3d"), draft("t", kind="observation", metadata={"commit": SHA})),
        (
            draft("p", f"at https://github.com/o/r/commit/{SHA}"),
            draft("t", metadata={"commit": SHA}),
        ),
        (draft("p", "as in [[a  TITLE]]"), draft("t", title="A title")),
        (
            draft("p", "as in [[deep work]]"),
            draft("t", kind="file", metadata={"path": "n/Deep Work.md"}),
        ),
        (draft("p", "#3", project="r"), draft("t", url="https://github.com/o/r/issues/3")),
        (
            draft("p", "in src/a.py", project="r"),
            draft("t", kind="file", project="r", metadata={"path": "src/a.py"}),
        ),
    ],
)
def test_an_edge_finds_its_target_whichever_comes_first(
    connection: sqlite3.Connection, pointer: Draft, target: Draft, first: str
) -> None:
    for each in (target, pointer) if first == "target" else (pointer, target):
        store(connection, each)
    assert [end for _, _, end in edges(connection)] == ["t"]


def test_a_ref_waits_for_the_record_of_that_number_and_kind(connection: sqlite3.Connection) -> None:
    store(connection, draft("a", "note:3 and email:2 and observation:3"), draft("b"))
    assert [end for _, _, end in edges(connection)] == [None, None, None]
    store(connection, draft("c"))
    assert [end for _, _, end in edges(connection)] == ["c", None, None]


def test_records_of_one_batch_find_each_other(connection: sqlite3.Connection) -> None:
    store(connection, draft("a", links=(Link("b"),)), draft("b", links=(Link("a"),)))
    assert edges(connection) == [("a", "related", "b"), ("b", "related", "a")]


def test_the_own_source_and_project_are_meant_before_others(connection: sqlite3.Connection) -> None:
    store(
        connection,
        draft("t", source="other", text="elsewhere"),
        draft("t"),
        draft("n1", title="Plan", project="one"),
        draft("n2", title="Plan", project="two"),
        draft("p", "[[Plan]]", project="two", links=(Link("t"),)),
    )
    found = connection.execute("select to_id from edges order by id").fetchall()
    assert found == [(2,), (4,)]


def test_the_own_source_is_meant_before_the_own_project(connection: sqlite3.Connection) -> None:
    store(
        connection,
        draft("t", source="other", project="two"),
        draft("t", project="one"),
        draft("p", project="two", links=(Link("t"),)),
    )
    assert connection.execute("select to_id from edges").fetchall() == [(2,)]


def test_a_changed_record_points_where_it_now_says(connection: sqlite3.Connection) -> None:
    store(connection, draft("a", "see [[One]]"), draft("b", title="One"), draft("c", title="Two"))
    store(connection, draft("a", "see [[Two]]"))
    assert edges(connection) == [("a", "mentions", "c")]
    store(connection, draft("c", title="Three"))
    assert edges(connection) == [("a", "mentions", None)]
    store(connection, draft("b", title="Two"))
    assert edges(connection) == [("a", "mentions", "b")]


def test_an_edge_waits_again_when_its_target_is_deleted(connection: sqlite3.Connection) -> None:
    store(connection, draft("a", links=(Link("b"),)), draft("b"))
    RecordWriter(connection).remove_by_source_id("test", ["b"])
    assert edges(connection) == [("a", "related", None)]
    store(connection, draft("b"))
    assert edges(connection) == [("a", "related", "b")]
    RecordWriter(connection).remove_by_source_id("test", ["a"])
    assert edges(connection) == []
    assert connection.execute("select count(*) from names").fetchone() == (1,)


def test_what_a_link_supersedes_is_marked_and_unmarked(connection: sqlite3.Connection) -> None:
    store(connection, draft("new", links=(Link("old", "supersedes"),)), draft("old"))
    assert superseded(connection) == [("old", "new")]
    store(connection, draft("old", "changed words"))
    assert superseded(connection) == [("old", "new")]
    store(connection, draft("new", links=(Link("old"),)))
    assert superseded(connection) == []


def test_a_text_supersedes_only_within_its_project(connection: sqlite3.Connection) -> None:
    store(connection, draft("a", project="one"), draft("b", project="two"))
    store(connection, draft("c", "supersedes note:1 and replaces note:2", project="two"))
    assert superseded(connection) == [("b", "c")]


def test_links_are_returned_unchanged_whatever_the_text_mentions(
    connection: sqlite3.Connection,
) -> None:
    given = (Link("https://Example.org/", "cites"), Link("x"))
    (stored,) = store(connection, draft("a", "see #1 and https://a.io/b", project="p", links=given))
    ((_, links),) = with_links(connection, [stored.number])
    assert links == given


def test_the_order_of_arrival_does_not_change_the_graph() -> None:
    drafts = [
        draft("a", "replaces note b, see [[C]]", links=(Link("b", "supersedes"),)),
        draft("b", "see https://example.org/c"),
        draft("c", "fixes 0a1b2c3", title="C", url="https://example.org/c"),
        draft("d", kind="observation", metadata={"commit": SHA}, links=(Link("a"),)),
    ]
    graphs = set()
    for order in itertools.permutations(drafts):
        connection = in_memory()
        for each in order:
            store(connection, each)
        graphs.add((frozenset(edges(connection)), frozenset(superseded(connection))))
        connection.close()
    assert len(graphs) == 1
    ((found, marked),) = graphs
    assert len(found) == 5
    assert all(end for _, _, end in found)
    assert marked == {("b", "a")}
