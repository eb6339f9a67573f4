"""Columns of passages from blocks say what the table says, however few blocks are kept."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from drafts import draft, prepared
from mem_search.model import Filters, Location
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import Numbers, PassageColumns
from mem_search.storage.postgres import search_store
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.search_store import PassageBlocks
from mem_search.storage.postgres.store import PostgresStore
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.store import SearchStore
from mem_search.text.words import any_of
from mem_search.text.words import read as read_words
from postgres_server import address

HERE = Location("test", "/there")
BLOCK, FEW = 16, 2
CODE = """\
import sys

def light(lighthouse, number={0}):
    if number:
        return lighthouse[number]
    sys.exit(number)
"""
BEYOND = 500
"""A number that no passage has."""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_store, "BLOCK", BLOCK)
    monkeypatch.setattr(search_store, "MAX_READ_ALONE", FEW)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[PostgresStore]:
    opened = await PostgresStore.open(address(), str(tmp_path))
    yield opened
    await opened.close()


async def add(store: PostgresStore, *names: int) -> None:
    """A record for each of ``names``: some with several passages, some with source code."""
    drafts = [
        draft(str(name), CODE.format(name), kind="file")
        if name % 4 == 0
        else draft(
            str(name),
            f"number {name}" + " lighthouse keeper" * (300 if name % 7 == 0 else 1),
            kind="memory" if name % 3 else "note",
        )
        for name in names
    ]
    await store.ingest.store_batch(HERE, prepared(*drafts), followed=False)


def by_row(connection: Connection, passages: Numbers) -> list[tuple[int, str, bool, int]]:
    rows = {
        number: tuple(row)
        for number, *row in connection.execute(
            "select id, record_id, kind, field = 'code', span_end - span_start from passages"
        )
    }
    return [rows.get(number, (0, "", False, 0)) for number in passages.tolist()]


def said(columns: PassageColumns) -> list[tuple[int, str, bool, int]]:
    return [
        (record, KIND_CODES.name(kind) if record else "", is_code, length)
        for record, kind, is_code, length in zip(
            columns.records.tolist(),
            columns.kinds.tolist(),
            columns.code.tolist(),
            columns.lengths.tolist(),
            strict=True,
        )
    ]


@pytest.mark.parametrize("most", [1, 2, 99])
async def test_columns_are_those_of_the_table(store: PostgresStore, most: int) -> None:
    chance = random.Random(most)
    blocks = PassageBlocks(most)
    seen: set[bool] = set()

    def look(connection: Connection) -> None:
        last = connection.count("select passages from stores")
        for _ in range(20):
            size = chance.choice([0, 1, FEW, 10, last])
            numbers = chance.sample([*range(1, last + 1), *range(BEYOND, BEYOND + 9)], size)
            passages = np.array(numbers, np.int64)
            expected = by_row(connection, passages)
            assert said(blocks.of(connection, passages)) == expected
            known = blocks.known(passages)
            assert known is None or said(known) == expected
            assert len(blocks) <= most
        everything = said(blocks.of(connection, np.arange(1, last + 1)))
        seen.update(is_code for record, _, is_code, _ in everything if record)

    for first in (0, 20, 21, 50):
        await add(store, *range(first, first + chance.choice([1, 20])))
        await store.database.read(look)
    assert seen == {True, False}


async def test_all_passages_are_read_a_block_at_a_time(store: PostgresStore) -> None:
    await add(store, *range(40))

    def read(connection: Connection, blocks: PassageBlocks) -> None:
        last = connection.count("select passages from stores")
        columns = list(blocks.all(connection, last))
        assert max(map(len, columns)) == BLOCK
        numbers = np.concatenate([each.passages for each in columns])
        assert numbers.tolist() == list(range(last + 1))
        rows = [row for each in columns for row in said(each)]
        assert rows == by_row(connection, numbers)

    for most in (1, 99):
        await store.database.read(read, PassageBlocks(most))


async def test_a_few_passages_do_not_drive_out_a_block(store: PostgresStore) -> None:
    await add(store, *range(40))
    blocks = PassageBlocks(1)
    first, second = np.arange(1, BLOCK), np.arange(BLOCK, 2 * BLOCK)
    await store.database.read(blocks.of, first)
    await store.database.read(blocks.of, second[:FEW])
    assert blocks.known(first) is not None
    await store.database.read(blocks.of, second)
    assert blocks.known(first) is None
    assert blocks.known(second) is not None


async def test_searches_find_the_same_with_little_room(
    store: PostgresStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(store, *range(60))
    filters = Filters(kinds=("memory",))

    async def found(search: SearchStore) -> list[list[int]]:
        def read(snapshot: SearchSnapshot) -> list[list[int]]:
            query = any_of(read_words("lighthouse number 7"))
            candidates, matches = snapshot.word_matches(query, filters, 50)
            return [
                candidates.records.tolist(),
                candidates.kinds.tolist(),
                matches.records.tolist(),
                snapshot.passages_within(filters).tolist(),
                snapshot.records_with_words(query).tolist(),
            ]

        return await search.read(read)

    expected = await found(store.open_search(tmp_path, 1, 8, ()))
    monkeypatch.setattr(search_store, "MAX_BLOCKS", 1)
    again = await PostgresStore.open(address(), str(tmp_path))
    assert await found(again.open_search(tmp_path, 1, 8, ())) == expected
    assert all(expected)
    await again.close()
