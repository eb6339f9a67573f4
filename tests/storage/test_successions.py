"""Which record supersedes which: both directions, any order, and after a link is deleted."""

from __future__ import annotations

import itertools
import random
import sqlite3
from contextlib import closing
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drafts import draft, in_memory, store
from mem_search.model import Draft, Filters, Link, Ref
from mem_search.storage.sql import edges, records
from mem_search.storage.sqlite.filters import passing
from mem_search.storage.sqlite.records import RecordWriter


def superseded(connection: sqlite3.Connection) -> dict[str, str]:
    """source id → source id of its successor."""
    return dict(
        connection.execute(
            "select r.source_id, s.source_id from records r"
            " join records s on s.id = r.superseded_by"
        ).fetchall()
    )


def chains(
    connection: sqlite3.Connection, numbers: list[int], filters: Filters
) -> dict[int, tuple[int, ...]]:
    return edges.chains(connection, numbers, partial(passing, connection, filters=filters))


def newer(source_id: str, *old: str, **fields: object) -> Draft:
    return draft(source_id, links=tuple(Link(o, "supersedes") for o in old), **fields)


def older(source_id: str, *new: str, **fields: object) -> Draft:
    return draft(source_id, links=tuple(Link(n, "superseded_by") for n in new), **fields)


@pytest.mark.parametrize(
    "relation", ["supersedes", "replaces", "superseded_by", "superseded-by", "Replaced by"]
)
@pytest.mark.parametrize("first", ["old", "new"])
def test_a_link_marks_the_old_record_whichever_says_so_and_whichever_comes_first(
    connection: sqlite3.Connection, relation: str, first: str
) -> None:
    forward = relation in ("supersedes", "replaces")
    old = draft("old", links=() if forward else (Link("new", relation),))
    new = draft("new", links=(Link("old", relation),) if forward else ())
    for each in (old, new) if first == "old" else (new, old):
        store(connection, each)
    assert superseded(connection) == {"old": "new"}


def test_other_relations_mark_nothing(connection: sqlite3.Connection) -> None:
    links = tuple(Link("a", relation) for relation in ("follows", "duplicates", "fixes", "related"))
    store(connection, draft("a"), draft("b", links=links))
    assert superseded(connection) == {}


def test_a_text_says_it_both_ways_within_its_project(connection: sqlite3.Connection) -> None:
    store(
        connection,
        draft("1", "superseded by note:2", project="one"),
        draft("2", "the new one, replaces note:3", project="one"),
        draft("3", project="one"),
        draft("4", "replaced by note:2", project="two"),
        draft("5", "superseded by note:2"),
    )
    assert superseded(connection) == {"1": "2", "3": "2"}


def test_a_chain_is_a_step_each(connection: sqlite3.Connection) -> None:
    store(connection, newer("c", "b"), newer("b", "a"), draft("a"), draft("x"))
    assert superseded(connection) == {"a": "b", "b": "c"}
    numbers = {"c": 1, "b": 2, "a": 3}
    assert chains(connection, [1, 2, 3, 4], Filters()) == {3: (2, 1), 2: (1,)}
    stored = records.fetch(connection, [1, 2, 3])
    assert stored[numbers["b"]].superseded_by == Ref("note", 1)
    assert stored[numbers["b"]].supersedes == (Ref("note", 3),)
    assert stored[numbers["c"]].superseded_by is None


def test_a_filtered_chain_does_not_pass_through_what_is_filtered_out(
    connection: sqlite3.Connection,
) -> None:
    store(connection, draft("a", tags=("x",)), newer("b", "a"), newer("c", "b", tags=("x",)))
    assert chains(connection, [1, 3], Filters(tags=("x",))) == {}
    assert chains(connection, [1], Filters()) == {1: (2, 3)}


def test_a_given_link_counts_more_than_a_text_and_the_newest_more_than_others(
    connection: sqlite3.Connection,
) -> None:
    store(connection, draft("old", project="p"), newer("n1", "old", created_at=10))
    store(connection, draft("t", "replaces note:1", project="p", created_at=99))
    assert superseded(connection) == {"old": "n1"}
    store(connection, newer("n3", "old", created_at=30), newer("n2", "old", created_at=20))
    assert superseded(connection) == {"old": "n3"}
    RecordWriter(connection).remove_by_source_id("test", ["n3"])
    assert superseded(connection) == {"old": "n2"}
    RecordWriter(connection).remove_by_source_id("test", ["n2", "n1"])
    assert superseded(connection) == {"old": "t"}
    store(connection, draft("t", "no longer says so", project="p"))
    assert superseded(connection) == {}


def test_a_mark_goes_with_the_link_or_the_successor_and_comes_back_with_them(
    connection: sqlite3.Connection,
) -> None:
    store(connection, older("a", "b"), draft("b"))
    store(connection, draft("b", "changed words"))
    assert superseded(connection) == {"a": "b"}
    RecordWriter(connection).remove_by_source_id("test", ["b"])
    assert superseded(connection) == {}
    store(connection, draft("b"))
    assert superseded(connection) == {"a": "b"}
    store(connection, draft("a"))
    assert superseded(connection) == {}


def test_in_a_circle_the_newest_is_current(connection: sqlite3.Connection) -> None:
    store(
        connection,
        newer("a", "c", created_at=5),
        newer("b", "a", created_at=9),
        newer("c", "b", created_at=7),
    )
    assert superseded(connection) == {"a": "b", "c": "a"}
    store(connection, draft("c", created_at=7))
    assert superseded(connection) == {"a": "b", "c": "a"}
    store(connection, draft("a", created_at=5), newer("c", "b", created_at=7))
    assert superseded(connection) == {"a": "b", "b": "c"}
    RecordWriter(connection).remove_by_source_id("test", ["b"])
    assert superseded(connection) == {}


CLAIMS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()).filter(lambda c: c[0] != c[1]),
    max_size=8,
)


@given(CLAIMS, st.lists(st.integers(0, 3), min_size=6, max_size=6), st.randoms())
@settings(deadline=None, max_examples=60)
def test_the_order_of_arrival_and_what_was_there_before_make_no_difference(
    claims: list[tuple[int, int, bool]], dates: list[int], order: random.Random
) -> None:
    """Number ties are broken by when a record was stored, so dates are all different here."""
    drafts = [
        draft(
            f"r{n}",
            created_at=dates[n] * 10 + n,
            links=tuple(
                Link(f"r{old}", "supersedes") if forward else Link(f"r{old}", "superseded_by")
                for start, old, forward in dict.fromkeys(claims)
                if start == n
            ),
        )
        for n in range(6)
    ]
    with closing(in_memory()) as plain, closing(in_memory()) as other:
        store(plain, *drafts)
        expected = superseded(plain)
        for start in expected:
            seen = [start]
            while (at := expected.get(seen[-1])) is not None:
                assert at not in seen, "a circle was left"
                seen.append(at)
        order.shuffle(drafts)
        for each in drafts:
            store(other, each)
        gone = order.sample(range(6), 3)
        RecordWriter(other).remove_by_source_id("test", [drafts[n].source_id for n in gone])
        store(other, *(draft(drafts[n].source_id, "in between") for n in gone))
        for n in gone:
            store(other, drafts[n])
        assert superseded(other) == expected


def test_a_record_goes_without_a_look_at_all_others(connection: sqlite3.Connection) -> None:
    plan = connection.execute(
        "explain query plan select id from records where superseded_by = 1"
    ).fetchall()
    assert "records_by_successor" in str(plan)


def test_every_arrangement_of_a_small_family_ends_alike() -> None:
    family = [
        newer("c", "b", created_at=3),
        older("a", "b", created_at=1),
        draft("b", created_at=2),
    ]
    found = set()
    for order in itertools.permutations(family):
        with closing(in_memory()) as connection:
            for each in order:
                store(connection, each)
            found.add(tuple(sorted(superseded(connection).items())))
    assert found == {(("a", "b"), ("b", "c"))}
