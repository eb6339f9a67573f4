"""Storing, changing and removing records together with everything that depends on them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import drafts
from drafts import store
from mem_search.ingest.prepare import prepare
from mem_search.model import Draft, Filters, Link
from mem_search.storage.sql import records
from mem_search.storage.sql.indexing import waiting
from mem_search.storage.sqlite import words
from mem_search.storage.sqlite.database import Connection
from mem_search.storage.sqlite.filters import FILTERS as SQL
from mem_search.storage.sqlite.records import RecordWriter
from mem_search.text.words import WordPhrase

LONG = " ".join(f"sentence number {n} is here." for n in range(300))


def links(connection: Connection, number: int) -> tuple[Link, ...]:
    ((_, found),) = records.with_links(connection, [number])
    return found


def rows(connection: Connection, statement: str, *values: Any) -> list[Any]:
    return connection.execute(statement, values).fetchall()


def passage_ids(connection: Connection, number: int) -> list[int]:
    statement = "select id from passages where record_id = ? order by ordinal"
    return [row[0] for row in rows(connection, statement, number)]


def test_storing_again_changes_nothing(connection: Connection) -> None:
    first = store(connection, drafts.draft("a", tags=("x",), links=(Link("b"),)))
    before = drafts.contents(connection)
    again = store(connection, drafts.draft("a", tags=("x",), links=(Link("b"),)))
    assert [stored.outcome for stored in (*first, *again)] == ["new", "unchanged"]
    assert first[0].number == again[0].number
    assert drafts.contents(connection) == before


def test_a_changed_record_keeps_its_number_and_its_first_date(connection: Connection) -> None:
    (first,) = store(connection, drafts.draft("a", "old words", created_at=5))
    (second,) = store(connection, drafts.draft("a", "new words", metadata={"archived": True}))
    assert (second.number, second.outcome) == (first.number, "changed")
    record = records.fetch(connection, [first.number])[first.number]
    assert (record.text, record.created_at, record.archived) == ("new words", 5, True)


def test_the_same_id_of_two_sources_is_two_records(connection: Connection) -> None:
    one, other = store(connection, drafts.draft("a"), drafts.draft("a", source="other"))
    assert one.number != other.number


def test_a_number_is_never_reused(connection: Connection) -> None:
    (first,) = store(connection, drafts.draft("a"))
    assert RecordWriter(connection).remove([first.number, first.number, 999], forget=False) == 1
    (second,) = store(connection, drafts.draft("a"))
    assert second.outcome == "new"
    assert second.number > first.number


def test_what_was_forgotten_stays_forgotten(connection: Connection) -> None:
    (first,) = store(connection, drafts.draft("a", "old"))
    RecordWriter(connection).remove([first.number], forget=True)
    for text in ("old", "changed"):
        assert store(connection, drafts.draft("a", text))[0].outcome == "forgotten"
    assert rows(connection, "select * from records") == []
    assert store(connection, drafts.draft("a", source="other"))[0].outcome == "new"


def test_removing_takes_everything_derived_with_it(connection: Connection) -> None:
    (stored,) = store(
        connection,
        drafts.draft("a", LONG, tags=("x",), links=(Link("b"),), metadata={"folder": "f"}),
    )
    passages = passage_ids(connection, stored.number)
    RecordWriter(connection).remove([stored.number], forget=False)
    for table in ("records", "passages", "facets", "edges"):
        assert rows(connection, f"select * from {table}") == []
    assert waiting(connection, "delete", 100) == sorted(passages)
    assert rows(connection, "select distinct step from outbox") == [("delete",)]


def test_passages_that_stay_keep_their_ids_and_wait_for_nothing_new(connection: Connection) -> None:
    (stored,) = store(connection, drafts.draft("a", LONG))
    before = passage_ids(connection, stored.number)
    assert len(before) > 2
    connection.execute("delete from outbox")
    store(connection, drafts.draft("a", LONG + " One more sentence at the end."))
    after = passage_ids(connection, stored.number)
    new = [passage for passage in after if passage not in before]
    gone = [passage for passage in before if passage not in after]
    assert after[:3] == before[:3]
    assert len(new) in (1, 2)
    assert waiting(connection, "embed", 9) == new
    assert waiting(connection, "delete", 9) == gone


def test_a_change_beside_the_text_embeds_nothing_again(connection: Connection) -> None:
    (stored,) = store(connection, drafts.draft("a", LONG))
    before = passage_ids(connection, stored.number)
    connection.execute("delete from outbox")
    store(connection, drafts.draft("a", LONG, project="p", tags=("t",), created_at=1))
    assert passage_ids(connection, stored.number) == before
    assert rows(connection, "select * from outbox") == []


def test_a_changed_kind_is_changed_everywhere(connection: Connection) -> None:
    store(connection, drafts.draft("a", LONG))
    store(connection, drafts.draft("a", LONG, kind="memory"))
    kinds = rows(connection, "select distinct kind from passages")
    assert kinds == [("memory",)]
    assert records.counts(connection, SQL.where(connection, Filters())) == {"memory": 1}


def test_tags_facets_and_links_follow_the_record(connection: Connection) -> None:
    (stored,) = store(
        connection,
        drafts.draft("a", tags=("red", "green"), links=(Link("b", "cites"), Link("c")),
                     metadata={"folder": "inbox"}),
    )  # fmt: skip
    number = stored.number
    assert records.fetch(connection, [number])[number].tags == ("green", "red")
    assert links(connection, number) == (Link("b", "cites"), Link("c", "related"))
    assert ("folder", "inbox") in rows(connection, "select name, value from facets")
    store(connection, drafts.draft("a", tags=("blue",), links=(Link("d"),)))
    assert rows(connection, "select name, value from facets") == [("tag", "blue")]
    assert links(connection, number) == (Link("d", "related"),)


def test_positions_count_by_conversation_and_kind(connection: Connection) -> None:
    def turn(name: str, **fields: Any) -> int:
        (stored,) = store(connection, drafts.draft(name, name, **fields))
        return records.fetch(connection, [stored.number])[stored.number].position

    assert [turn(f"s{n}", session="s") for n in range(3)] == [1, 2, 3]
    assert turn("other kind", session="s", kind="user_prompt") == 1
    assert turn("other project", session="s", project="p") == 1
    assert turn("other session", session="t") == 1
    assert turn("alone") == 0
    # an update stays where it stands
    (stored,) = store(connection, drafts.draft("s1", "changed", session="s"))
    assert records.fetch(connection, [stored.number])[stored.number].position == 2


def test_a_record_that_moves_to_another_conversation_becomes_its_last(
    connection: Connection,
) -> None:
    store(connection, *(drafts.draft(f"s{n}", session="s") for n in range(3)))
    for session, expected in (("s", 4), ("", 0), ("t", 1)):
        (stored,) = store(connection, drafts.draft("mover", session=session))
        record = records.fetch(connection, [stored.number])[stored.number]
        assert (record.session, record.position) == (session, expected)


@given(st.text(max_size=3000), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_every_passage_is_a_span_of_its_record(text: str, times: int) -> None:
    connection = drafts.in_memory()
    item = prepare(drafts.draft("a", f"x{text} " * times))
    (stored,) = RecordWriter(connection).store([item])
    record = records.fetch(connection, [stored.number])[stored.number]
    assert record.text == item.draft.text
    spans = rows(
        connection,
        "select t.text, p.span_start, p.span_end from passages p join passage_texts t using(id)"
        " order by ordinal",
    )
    for shown, start, end in spans:
        assert shown == record.text[start:end]
    assert spans[0][1] == 0
    assert spans[-1][2] == len(record.text)
    assert all(later[1] <= earlier[2] for earlier, later in pairwise(spans))
    connection.close()


TEXTS = ("alpha beta", "beta gamma 検索エンジン", "parseJSON of Gamma", LONG, LONG + " delta", "")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["store", "store", "remove", "forget", "index"]),
        st.integers(0, 4),
        st.sampled_from(TEXTS),
        st.sampled_from(["", "first title", "second title"]),
        st.sampled_from(["", "s", "t"]),
    ),
    max_size=14,
)


@given(STEPS)
@settings(max_examples=50, deadline=None)
def test_after_any_history_the_store_equals_one_filled_at_once(
    steps: list[tuple[str, int, str, str, str]],
) -> None:
    connection = drafts.in_memory()
    kept: dict[str, Draft] = {}
    forgotten: set[str] = set()
    for action, which, text, title, session in steps:
        name = f"r{which}"
        match action:
            case "store":
                each = drafts.draft(
                    name, text or "empty", title=title, session=session, created_at=1
                )
                store(connection, each)
                if name not in forgotten:
                    kept[name] = each
            case "index":
                connection.execute("delete from outbox where step != 'delete'")
            case _:
                found = rows(connection, "select id from records where source_id = ?", name)
                RecordWriter(connection).remove(
                    [row[0] for row in found], forget=action == "forget"
                )
                if action == "forget" and name in kept:
                    forgotten.add(name)
                kept.pop(name, None)

    connection.execute("insert into passages_fts(passages_fts, rank) values('integrity-check', 1)")
    once = drafts.in_memory()
    store(once, *kept.values())
    for word in "alpha beta gamma delta first second sentence json 検索".split():
        assert _found(connection, word) == _found(once, word), word
    shape = (
        "select source_id, ordinal, span_start, span_end, p.parts, p.kind, p.content_hash"
        " from passages p join records r on r.id = record_id order by source_id, ordinal"
    )
    assert rows(connection, shape) == rows(once, shape)
    # what waits is there, or is to be deleted; nothing is both
    there = {row[0] for row in rows(connection, "select id from passages")}
    for passage, step in rows(connection, "select passage_id, step from outbox"):
        assert (passage in there) == (step != "delete")
    connection.close()
    once.close()


def _found(connection: Connection, word: str) -> dict[tuple[str, int], float]:
    places = {
        passage: (name, ordinal)
        for passage, name, ordinal in rows(
            connection,
            "select p.id, r.source_id, p.ordinal from passages p"
            " join records r on r.id = p.record_id",
        )
    }
    return {
        places[passage]: round(score, 9)
        for passage, score in zip(*words.scores(connection, WordPhrase((word,))), strict=True)
    }
