"""The record columns in memory equal the store, after any write."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import drafts
from drafts import store
from mem_search.model import (
    AllOf,
    AnyOf,
    Condition,
    DateRange,
    Filters,
    Link,
    MetadataTest,
    Not,
    Term,
)
from mem_search.storage.sql import records
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.database import Connection, Database
from mem_search.storage.sqlite.filters import FILTERS as SQL
from mem_search.storage.sqlite.filters import MetadataColumns
from mem_search.storage.sqlite.record_columns import RecordColumnsCache, mask_of, passes
from mem_search.storage.sqlite.records import RecordWriter

DAY = 1_704_067_200_000
WHOLE_DAY = (DAY, DAY + 86_399_999)
"""2024-01-01 in milliseconds."""

FILTERS = [
    Filters(),
    Filters(kinds=("note",)),
    Filters(kinds=("email", "memory")),
    Filters(project="P"),
    Filters(project="Ä"),
    Filters(project="nowhere"),
    Filters(session="s1"),
    Filters(source="test"),
    Filters(source="other"),
    Filters(created=DateRange(3, 7)),
    Filters(created=DateRange(end=4), kinds=("note", "memory")),
    Filters(updated=DateRange(start=5)),
    Filters(importance=0.5),
    Filters(archived=True),
    Filters(archived=False, project="p"),
    Filters(superseded=True),
    Filters(superseded=False, kinds=("note",)),
    Filters(tags=("red",)),
    Filters(tags=("red",), kinds=("note",)),
    Filters(without=(2, 5, 99)),
    Filters(without=(1,), tags=("red",)),
    Filters(demand=Not(Condition("project:p", (Filters(project="p"),)))),
    Filters(tags=("blue", "nothing")),
    Filters(kinds=("nothing",)),  # type: ignore[arg-type]
    Filters(types=("bugfix",)),
    Filters(facets=(("tag", "RED"), ("tag", "blue"))),
    Filters(any_facets=(("tag", "blue"), ("author", "x"))),
    Filters(files=("a.py",)),
    Filters(without=(1, 2, 99)),
    Filters(metadata=(MetadataTest(("byline", "creator"), "contains", "ann"),)),
    Filters(metadata=(MetadataTest(("byline",), "contains", '%_"'),), project="p"),
    Filters(metadata=(MetadataTest(("amount",), "is", "12", (12.0, 12.0)),)),
    Filters(metadata=(MetadataTest(("amount",), "is", "1*"),)),
    Filters(metadata=(MetadataTest(("amount",), ">=", "x", (0.1 + 0.2, 0.1 + 0.2)),)),
    Filters(metadata=(MetadataTest(("amount",), "<", "x", (-1.0, -1.0)),)),
    Filters(metadata=(MetadataTest(("paid",), "is", "true"), MetadataTest(("amount",), "has"))),
    Filters(metadata=(MetadataTest(("tag", "paid"), "has"),)),
    Filters(metadata=(MetadataTest(("of.due",), ">", "x", WHOLE_DAY, WHOLE_DAY),)),
    Filters(metadata=(MetadataTest(("of.due",), "is", "x", WHOLE_DAY, WHOLE_DAY),)),
    Filters(demand=Term(("words",))),
    Filters(demand=AnyOf((Term(("nowhere",)), Condition("tag:red", (Filters(tags=("red",)),))))),
    Filters(
        demand=AllOf((Term(("some", "words")), Not(Condition("x", (Filters(tags=("blue",)),))))),
        kinds=("note", "memory"),
    ),
]
ONE: Any = st.builds(
    drafts.draft,
    st.integers(0, 9).map(str),
    kind=st.sampled_from(["note", "memory", "user_prompt"]),
    project=st.sampled_from(["", "p", "P", "q", "ä", "Ä"]),
    session=st.sampled_from(["", "s1", "s2"]),
    created_at=st.integers(0, 9),
    updated_at=st.none() | st.integers(0, 9),
    importance=st.none() | st.sampled_from([0.0, 0.3, 0.5, 0.7]),
    tags=st.sampled_from([(), ("red",), ("Red", "blue")]),
    metadata=st.sampled_from(
        [
            {},
            {"archived": True, "amount": 0.1 + 0.2, "byline": "Ann Lee <ann@example.org>"},
            {"byline": ["Bob", "ANN"], "amount": 12, "paid": True, "of": {"due": "2025-10-03"}},
            {
                "amount": "12",
                "paid": None,
                "of": {"due": ["2024-01-01", 7]},
                "byline": {"x": "Ann"},
            },
            {"paid": False, "amount": -(10**17), "tag": "red", "byline": '50%_"\\ é'},
        ]
    ),
    links=st.lists(
        st.builds(
            Link, st.integers(0, 9).map(str), st.sampled_from(["supersedes", "superseded_by"])
        ),
        max_size=2,
        unique=True,
    ).map(tuple),
)
STEPS: Any = st.lists(st.lists(ONE, max_size=5) | st.integers(1, 12), max_size=6)


def remove(connection: Connection, number: int) -> None:
    RecordWriter(connection).remove([number], forget=False)


def compare(connection: Connection, columns: RecordColumnsCache) -> None:
    """What ``columns`` let pass, in both orders and by kind, with what statements do."""
    now = columns.current(connection)
    asked = np.arange(30).repeat(2)
    for filters in FILTERS:
        expected = records.browse(connection, SQL.where(connection, filters), "date_asc", 99, 0)
        mask = passes(connection, now, filters, asked)
        assert set(asked[mask].tolist()) == {number for number in expected if number < 30}
        found = np.flatnonzero(mask_of(connection, now, filters))
        assert now.by_date(found, "date_asc").tolist() == expected
        newest = records.browse(connection, SQL.where(connection, filters), "date_desc", 99, 0)
        assert now.by_date(found, "date_desc").tolist() == newest
        assert now.counts(found) == records.counts(connection, SQL.where(connection, filters))


@settings(max_examples=15)
@given(steps=STEPS)
async def test_columns_and_statements_let_the_same_records_pass(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    # A new store for each example, or a failure could not be shown again.
    database = await Database.open(tmp_path_factory.mktemp("store") / "mem-search.db")
    columns = RecordColumnsCache()
    for step in steps:
        if isinstance(step, int):
            await database.write(remove, step)
        else:
            await database.write(lambda c, batch: store(c, *batch), step)
        await database.read(compare, columns)
    await database.close()


async def test_what_was_rolled_back_is_no_change(database: Database) -> None:
    columns = RecordColumnsCache()
    before = await database.read(columns.current)

    def fail(connection: Connection) -> None:
        store(connection, drafts.draft("a"))
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await database.write(fail)
    assert await database.read(columns.current) is before
    assert len(before.kinds) == 1


async def test_columns_that_a_search_began_with_stay_as_they_are(database: Database) -> None:
    columns = RecordColumnsCache()
    await database.write(store, drafts.draft("a", project="p"))
    before = await database.read(columns.current)
    await database.write(store, drafts.draft("a", "changed", project="q"))
    after = await database.read(columns.current)
    assert before.projects[1] != after.projects[1]
    assert await database.read(columns.current) is after


async def test_a_change_of_the_columns_calls_on_change(database: Database) -> None:
    heard: list[None] = []
    columns = RecordColumnsCache(lambda: heard.append(None))
    await database.read(columns.current)
    await database.read(columns.current)
    assert len(heard) == 1
    await database.write(store, drafts.draft("a"))
    await database.read(columns.current)
    assert len(heard) == 2


async def test_what_another_process_writes_is_in_the_next_columns(database: Database) -> None:
    columns = RecordColumnsCache()
    await database.write(store, drafts.draft("a", project="p"), drafts.draft("b"))
    before = await database.read(columns.current)
    version = database.version()
    assert database.version() == version
    script = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("update records set project = 'q' where id = 1")
connection.execute("delete from records where id = 2")
connection.commit()
"""
    await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", script, str(database.path)], check=True
    )
    assert database.version() != version
    after = await database.read(columns.current)
    assert after.projects[1] != before.projects[1]
    assert after.exist(np.arange(3)).tolist() == [False, True, False]


async def test_changes_that_were_pruned_are_all_read_again(database: Database) -> None:
    columns = RecordColumnsCache()
    await database.read(columns.current)
    await database.write(store, *(drafts.draft(f"{n}") for n in range(9)))
    await database.write(lambda c: c.execute("delete from record_changes where revision < 9"))
    now = await database.read(columns.current)
    assert now.exist(np.arange(10)).tolist() == [False, *[True] * 9]


async def test_revisions_grow_and_old_ones_are_pruned(database: Database) -> None:
    await database.write(store, drafts.draft("a"))

    def touch(connection: Connection) -> None:
        for _ in range(41_000):
            connection.execute("update records set archived = 0 where id = 1")

    await database.write(touch)
    first, last = await database.read(
        lambda c: c.execute("select min(revision), max(revision) from record_changes").fetchone()
    )
    assert last >= 41_000
    assert last - first <= 21_000


async def test_a_filter_of_an_older_read_is_not_kept_for_newer_columns(database: Database) -> None:
    columns = RecordColumnsCache()
    red = Filters(tags=("red",))
    await database.write(store, drafts.draft("a"))

    def older(connection: Connection) -> list[int]:
        connection.execute("select 1 from records").fetchone()  # the snapshot begins
        writing = sqlite3.connect(database.path, factory=SqliteConnection)
        store(writing, drafts.draft("a", "changed", tags=("red",)))
        writing.commit()
        reading = sqlite3.connect(database.path, factory=SqliteConnection)
        assert columns.current(reading).revision > 1
        reading.close()
        writing.close()
        return np.flatnonzero(mask_of(connection, columns.current(connection), red)).tolist()

    assert await database.read(older) == []

    def newer(connection: Connection) -> list[int]:
        return np.flatnonzero(mask_of(connection, columns.current(connection), red)).tolist()

    assert await database.read(newer) == [1]


async def test_fields_of_metadata_are_read_once_and_then_what_changed(database: Database) -> None:
    columns = RecordColumnsCache()
    asked = Filters(metadata=(MetadataTest(("byline",), "contains", "ann"),))

    async def found() -> list[int]:
        now = await database.read(columns.current)
        return np.flatnonzero(await database.read(mask_of, now, asked)).tolist()

    await database.write(
        store, *(drafts.draft(f"{n}", metadata={"byline": "Ann"}) for n in range(3))
    )
    assert await found() == [1, 2, 3]
    # Behind its back, so that only a second reading of all records would see it.
    await database.write(
        lambda c: c.executescript(
            "drop trigger record_changes_update; update records set data = '{}' where id = 1"
        )
    )
    await database.write(store, drafts.draft("new", metadata={"byline": "Joanna"}))
    await database.write(remove, 2)
    assert await found() == [1, 3, 4]


async def test_the_fields_asked_for_last_are_kept(database: Database) -> None:
    await database.write(store, drafts.draft("a", metadata={"one": "x" * 500, "two": "y" * 500}))
    columns = MetadataColumns(most_bytes=1_000)
    for name in ("one", "two", "two"):
        test = MetadataTest((name,), "has")
        assert (await database.read(columns.passing, test)).tolist() == [1]
    assert list(columns._known) == ["two"]
