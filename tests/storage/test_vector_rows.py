"""Rows for scoring: exact before and after they are read, without delaying others."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import drafts
from drafts import store
from mem_search.model.arrays import matvec
from mem_search.storage.sqlite import vectors
from mem_search.storage.sqlite.database import Connection, Database
from mem_search.storage.sqlite.vectors import VectorRows
from unit_vectors import unit_vectors

DIMENSIONS = 8
COUNT = 60
HALVED = (4, 5, 60)
"""Passages with a vector for each half."""
BARE = (10, 30)
"""Passages that have no vector yet."""


unit = partial(unit_vectors, dimensions=DIMENSIONS)


@pytest.fixture
def model(connection: Connection) -> int:
    """``COUNT`` passages, numbered from 1."""
    store(connection, *(drafts.draft(f"{n}", f"text {n}") for n in range(COUNT)))
    return embedded(connection)


def embedded(connection: Connection) -> int:
    model = vectors.model_id(connection, "space", "test", DIMENSIONS)
    passages = [row[0] for row in connection.execute("select id from passages order by id")]
    entries = [2 * passage for passage in passages if passage not in BARE]
    entries += [2 * passage + 1 for passage in HALVED]
    vectors.save(connection, model, entries, unit(len(entries)))
    return model


@pytest.fixture
def rows(model: int, tmp_path: Path) -> Iterator[VectorRows]:
    rows = VectorRows(tmp_path, model, DIMENSIONS)
    yield rows
    rows.close()


def test_a_row_has_the_same_product_in_every_matrix() -> None:
    for dimensions in (7, 100, 256, 384, 768):
        matrix, query = unit_vectors(600, dimensions), unit_vectors(601, dimensions)[600]
        whole = matvec(matrix, query)
        for first, count in ((0, 1), (3, 2), (5, 17), (88, 512)):
            part = matvec(matrix[first : first + count].copy(), query)
            assert part.tolist() == whole[first : first + count].tolist()


def expected(connection: Connection, query: vectors.Vectors) -> dict[int, float]:
    """passage → the cosine of its nearer half, by a plain loop."""
    best: dict[int, float] = {}
    for entry, blob in connection.execute("select entry_id, vector from vectors"):
        score = float(vectors.unpack([(entry, blob)], DIMENSIONS)[0] @ query[0])
        best[entry // 2] = max(score, best.get(entry // 2, -1.0))
    return best


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.integers(1, COUNT + 5), unique=True), min_size=1, max_size=4))
def test_cosines_are_exact_in_any_order_and_however_often(
    connection: Connection, model: int, tmp_path: Path, questions: list[list[int]]
) -> None:
    rows = VectorRows(tmp_path, model, DIMENSIONS)
    with pytest.MonkeyPatch.context() as patch, closing(rows):
        patch.setattr("mem_search.storage.sqlite.vectors._CHUNK", 7)
        patch.setattr("mem_search.storage.sqlite.vectors._MIN_ROWS", 5)
        for seed, asked in enumerate(questions):
            query = unit(1, seed=seed)
            known = expected(connection, query)
            found = rows.cosines(connection, query, np.array(asked, dtype=np.int64))
            wanted = [known.get(passage, np.nan) for passage in asked]
            assert found == pytest.approx(np.array(wanted), abs=1e-6, nan_ok=True)


@given(st.lists(st.integers(1, COUNT + 5), unique=True, min_size=1), st.sets(st.integers(1, COUNT)))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_vectors_are_those_of_the_store_wherever_they_come_from(
    connection: Connection, model: int, tmp_path: Path, asked: list[int], known: set[int]
) -> None:
    stored = connection.execute("select entry_id, vector from vectors").fetchall()
    passages = np.array(asked, dtype=np.int64)
    with closing(VectorRows(tmp_path, model, DIMENSIONS)) as rows:
        if known:
            rows.cosines(connection, unit(1), np.array(sorted(known)))
        places, found = rows.of_passages(connection, passages)
    told = sorted(zip(passages[places].tolist(), found.tolist(), strict=True))
    wanted = [
        (entry >> 1, vectors.unpack([(entry, blob)], DIMENSIONS)[0].tolist())
        for entry, blob in stored
        if entry >> 1 in asked
    ]
    assert told == sorted(wanted)


def test_a_vector_that_comes_later_is_found_later(connection: Connection, rows: VectorRows) -> None:
    asked = np.array([*BARE, 1])
    assert np.isnan(rows.cosines(connection, unit(1), asked)).tolist() == [True, True, False]
    vectors.save(connection, rows.model, [2 * BARE[0]], unit(1))
    found = rows.cosines(connection, unit(1), asked)
    assert np.isnan(found).tolist() == [False, True, False]
    assert found[0] == pytest.approx(1.0, abs=1e-3)


async def test_what_was_read_ahead_is_not_read_again(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mem_search.storage.sqlite.vectors._FILL", 9)
    await database.write(store, *(drafts.draft(f"{n}", f"text {n}") for n in range(COUNT)))
    model = await database.write(embedded)
    query, asked = unit(1), np.arange(1, COUNT + 1)
    known = await database.read(expected, query)
    with closing(VectorRows(tmp_path, model, DIMENSIONS)) as rows:
        await rows.fill(database)
        await database.write(lambda c: c.execute("delete from vectors"))
        found = await database.read(rows.cosines, query, asked)
    wanted = [known.get(passage, np.nan) for passage in asked.tolist()]
    assert found == pytest.approx(np.array(wanted), abs=1e-6, nan_ok=True)
    assert set(asked[np.isnan(found)].tolist()) == set(BARE)


def test_other_models_are_other_rows(connection: Connection, rows: VectorRows) -> None:
    asked = np.arange(1, COUNT + 1)
    rows.cosines(connection, unit(1), asked)
    other = vectors.model_id(connection, "other space", "test", DIMENSIONS)
    with closing(VectorRows(rows.folder, other, DIMENSIONS)) as theirs:
        assert np.isnan(theirs.cosines(connection, unit(1), asked)).all()


@pytest.mark.parametrize("fails", ["too large", "disk", "pwrite", "closed"])
def test_without_room_for_the_file_the_store_answers(
    connection: Connection,
    rows: VectorRows,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fails: str,
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    if fails == "too large":
        monkeypatch.setattr("mem_search.storage.sqlite.vectors._MAX_BYTES", 1000)
    elif fails == "disk":
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    rows.cosines(connection, unit(1), np.array([1, 2, 3]))
    if fails == "pwrite":
        monkeypatch.setattr(os, "pwrite", full)
    elif fails == "closed":
        rows.close()
    asked, query = np.arange(1, COUNT + 1), unit(1, seed=4)
    known = expected(connection, query)
    for _ in range(2):
        found = rows.cosines(connection, query, asked)
        wanted = [known.get(passage, np.nan) for passage in asked.tolist()]
        assert found == pytest.approx(np.array(wanted), abs=1e-6, nan_ok=True)
    assert ("from the store from now on" in caplog.text) == (fails != "closed")


def test_the_file_has_no_name(connection: Connection, rows: VectorRows) -> None:
    rows.cosines(connection, unit(1), np.arange(1, COUNT + 1))
    assert not [path for path in rows.folder.iterdir() if path.name.startswith("vectors")]


def test_vectors_that_are_stored_newest_first_take_little_more_than_their_bytes(
    connection: Connection,
) -> None:
    dimensions, count, batch = 384, 640, 64
    rows = np.zeros((batch, dimensions), np.float32)
    number = vectors.model_id(connection, "space", "test", dimensions)
    pages = "select (page_count - freelist_count) * page_size from pragma_page_count,"
    used = f"{pages} pragma_freelist_count, pragma_page_size"
    before = connection.count(used)
    for newest in range(count, 0, -batch):
        vectors.save(connection, number, [2 * (newest - each) for each in range(batch)], rows)
    assert connection.count(used) - before < 1.25 * count * 2 * dimensions
