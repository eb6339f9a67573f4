"""Columns that are stored in blocks equal those that are read row by row, and forget what goes."""

from __future__ import annotations

import logging
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import drafts
from drafts import search_store, store
from mem_search.storage.sqlite import column_blocks
from mem_search.storage.sqlite.column_blocks import BLOCK
from mem_search.storage.sqlite.database import Connection, Database
from mem_search.storage.sqlite.passage_map import PassageMap
from mem_search.storage.sqlite.record_columns import LAYOUT, Columns
from mem_search.storage.sqlite.records import RecordWriter
from mem_search.storage.sqlite.snapshot import SqliteSearchStore
from mem_search.storage.sqlite.store import SqliteStore

ONE: Any = st.builds(
    drafts.draft,
    st.integers(0, 9).map(str),
    st.sampled_from(["some words", "other words that are more", "eine Zeile\n" * 300]),
    kind=st.sampled_from(["note", "memory", "user_prompt"]),
    title=st.sampled_from(["", "a title", "a longer title of the record"]),
    project=st.sampled_from(["", "p", "Ä"]),
    session=st.sampled_from(["", "s1", "s2"]),
    created_at=st.integers(0, 9),
    importance=st.none() | st.just(0.5),
)
STORED: Any = st.just("store the columns")
STEPS: Any = st.lists(STORED | st.lists(ONE, max_size=4) | st.integers(1, 12), max_size=8)


def skip_to(connection: Connection, number: int) -> None:
    """The next records and passages have numbers from ``number`` on, if they had smaller ones."""
    connection.execute(
        "update sqlite_sequence set seq = max(seq, ?) where name in ('records', 'passages')",
        (number - 1,),
    )


def remove(connection: Connection, number: int) -> None:
    RecordWriter(connection).remove([number], forget=True)


def read_all(connection: Connection, searching: SqliteSearchStore) -> tuple[Columns, PassageMap]:
    (last,) = connection.execute("select coalesce(max(id), 0) from passages").fetchone()
    return searching.records.current(connection), searching.passages.up_to(connection, last)


def by_row(connection: Connection, searching: SqliteSearchStore) -> tuple[Columns, PassageMap]:
    """The same in a store without blocks."""
    connection.execute("pragma query_only = off")
    connection.execute("delete from column_blocks")
    return read_all(connection, searching)  # the deletion is rolled back


async def stored(database: Database) -> SqliteSearchStore:
    searching = search_store(database)
    await database.read(read_all, searching)
    await searching.store_columns()
    return searching


async def compare(database: Database) -> None:
    """What a start reads from blocks with what it would read by row."""
    columns, passages = await database.read(read_all, search_store(database))
    fresh, fresh_passages = await database.read(by_row, search_store(database))
    exist = np.flatnonzero(columns.exist(np.arange(len(fresh.kinds))))
    assert exist.tolist() == np.flatnonzero(fresh.exist(np.arange(len(fresh.kinds)))).tolist()
    for column in fields(Columns):
        if isinstance(getattr(fresh, column.name), np.ndarray):
            ours, theirs = getattr(columns, column.name)[exist], getattr(fresh, column.name)[exist]
            if column.name in ("projects", "sessions", "sources"):
                names = {"projects": "project", "sessions": "session", "sources": "source"}
                name = names[column.name]
                assert columns.names[name].texts(ours) == fresh.names[name].texts(theirs)
            else:
                np.testing.assert_array_equal(ours, theirs)
    held = np.flatnonzero(fresh_passages.records)
    for column in fields(PassageMap):
        np.testing.assert_array_equal(
            getattr(passages, column.name)[held], getattr(fresh_passages, column.name)[held]
        )


@settings(max_examples=40)
@given(steps=STEPS, first=st.sampled_from([1, BLOCK - 2, 3 * BLOCK - 1]))
async def test_blocks_and_rows_say_the_same_after_any_writes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any], first: int
) -> None:
    database = await Database.open(tmp_path_factory.mktemp("store") / "mem-search.db")
    await database.write(store, drafts.draft("the first"))
    await database.write(skip_to, first)
    searching = search_store(database)
    for step in steps:
        if isinstance(step, str):
            await database.read(read_all, searching)
            await searching.store_columns()
        elif isinstance(step, int):
            await database.write(remove, step if step < 3 else first + step - 3)
        else:
            await database.write(lambda c, batch: store(c, *batch), step)
        await compare(database)
    await database.close()


async def test_a_start_reads_only_what_was_written_since(database: Database) -> None:
    await database.write(store, *(drafts.draft(f"{n}") for n in range(9)))
    await stored(database)
    await database.write(store, drafts.draft("3", "changed"), drafts.draft("new"))
    # Behind the columns' back, so that a row that is read again would show.
    await database.write(
        lambda c: c.executescript(
            "drop trigger record_changes_update; update records set position = 7"
        )
    )
    columns, _ = await database.read(read_all, search_store(database))
    assert np.flatnonzero(columns.positions == 7).tolist() == [4, 10]


async def test_only_blocks_with_changes_are_written_again(database: Database) -> None:
    await database.write(store, drafts.draft("a"))
    await database.write(skip_to, BLOCK + 5)
    await database.write(store, drafts.draft("b"))
    await database.write(skip_to, 2 * BLOCK + 5)
    await database.write(store, drafts.draft("c"))
    await stored(database)
    await database.write(
        lambda c: c.execute("create table written as select of, block from column_blocks where 0")
    )
    await database.write(
        lambda c: c.execute(
            "create trigger noted after insert on column_blocks begin"
            " insert into written values(new.of, new.block); end"
        )
    )
    await stored(database)
    written = lambda c: c.execute("select of, block from written order by 1, 2").fetchall()  # noqa: E731
    assert await database.read(written) == []
    await database.write(store, drafts.draft("a", "changed"))
    await stored(database)
    # The last ones, too: what is new would be there. The old passage of "a" was in block 0.
    expected = [(of, block) for of in ("passages", "records") for block in (0, 2)]
    assert await database.read(written) == expected


async def test_few_writes_are_left_to_the_next_start(database: Database) -> None:
    await database.write(store, drafts.draft("a"))
    searching = search_store(database)
    await database.read(read_all, searching)
    await searching.store_columns(least=2)
    assert await database.read(column_blocks.revision) is None
    await searching.store_columns()
    before = await database.read(column_blocks.revision)
    await database.write(store, drafts.draft("b"))
    await searching.store_columns(least=2)
    assert await database.read(column_blocks.revision) == before
    await database.write(store, drafts.draft("c"))
    await searching.store_columns(least=2)
    assert await database.read(column_blocks.writes_since) == 0


async def test_no_block_holds_what_was_deleted_or_renamed(database: Database) -> None:
    secret = ("Kestrel-project", "kestrel-session")
    await database.write(
        store,
        drafts.draft("a", project=secret[0], session=secret[1]),
        drafts.draft("b", project=secret[0], session=secret[1]),
        drafts.draft("c"),
    )
    searching = await stored(database)

    def contents(connection: Connection) -> bytes:
        rows = connection.execute("select of, content from column_blocks").fetchall()
        return b"".join(content for _, content in rows)

    assert secret[0].encode() in await database.read(contents)
    await database.write(remove, 1)
    assert secret[0].encode() not in await database.read(contents)
    await database.write(
        lambda c: c.execute("update records set project = 'other', session = '' where id = 2")
    )
    await searching.store_columns()  # by the worker that knows the old names
    kept = await database.read(contents)
    assert b"other" in kept
    assert secret[0].encode() not in kept
    assert secret[1].encode() not in kept
    await compare(database)


async def test_blocks_of_pruned_changes_are_not_used(database: Database) -> None:
    await database.write(store, *(drafts.draft(f"{n}") for n in range(9)))
    await stored(database)
    await database.write(store, drafts.draft("1", "changed", project="q"), drafts.draft("x"))
    await database.write(
        lambda c: c.execute(
            "delete from record_changes where revision < (select max(revision) from record_changes)"
        )
    )
    assert await database.read(column_blocks.revision) is None
    await compare(database)
    await stored(database)
    assert await database.read(column_blocks.revision) is not None
    await compare(database)


async def test_a_block_of_another_layout_is_not_used(database: Database) -> None:
    await database.write(store, drafts.draft("a", project="p"))
    await stored(database)
    other = np.zeros(2, np.dtype([("kinds", np.uint8)]))
    await database.write(
        column_blocks.put, "records", column_blocks.Block(0, other, {"kinds": ["note"]})
    )
    await compare(database)


async def test_a_store_that_no_search_has_read_gets_no_blocks(database: Database) -> None:
    await database.write(store, drafts.draft("a"))
    await search_store(database).store_columns()
    assert await database.read(lambda c: column_blocks.load(c, "records", np.dtype("u1"))) == {}


async def test_a_full_disk_is_logged_and_no_more(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    await database.write(store, *(drafts.draft(f"{n}") for n in range(300)))
    searching = search_store(database)
    await database.read(read_all, searching)
    await database.write(
        lambda c: c.execute(
            f"pragma max_page_count = {c.execute('pragma page_count').fetchone()[0]}"
        )
    )
    with caplog.at_level(logging.WARNING):
        await searching.store_columns()
    assert "disk is full" in caplog.text
    await compare(database)


@pytest.mark.parametrize("ending", ["rest", "close"])
async def test_a_store_that_rests_or_closes_has_its_columns_stored(
    tmp_path: Path, ending: str
) -> None:
    opened = await SqliteStore.open(tmp_path / "mem-search.db")
    await opened.database.write(store, drafts.draft("a", project="p"))
    if ending == "rest":  # after many writes
        await opened.database.write(
            lambda c: c.executemany(
                "update records set importance = ?", [(n / 2000,) for n in range(2000)]
            )
        )
    searching = opened.open_search(tmp_path, 1, 8, ())
    await opened.database.read(read_all, searching)
    await getattr(opened, ending)()
    again = await Database.open(tmp_path / "mem-search.db")
    stored_blocks = await again.read(column_blocks.load, "records", LAYOUT)
    assert stored_blocks[0].names["projects"] == ["", "p"]
    await again.close()
    if ending == "rest":
        await opened.close()
