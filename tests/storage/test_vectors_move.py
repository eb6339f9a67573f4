"""The table of vectors takes little more than its bytes, in new stores and in older ones."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from old_stores import Old, store_before

from mem_search.model.statistics import StoreSize
from mem_search.storage.sqlite import vectors, vectors_move
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.forgetting import SqliteForgetting
from mem_search.storage.sqlite.store import SqliteStatistics
from mem_search.wiring import open_runtime
from patience import PATIENCE, becomes, comes_true
from runtimes import small
from unit_vectors import unit_vectors

STEP = "m025_vectors_by_rowid"
DIMENSIONS = 384
COUNT = 640
BATCH = 64


def used(connection: sqlite3.Connection) -> int:
    """Bytes of the pages that are in use."""
    (size,) = connection.execute(
        "select (page_count - freelist_count) * page_size"
        " from pragma_page_count, pragma_freelist_count, pragma_page_size"
    ).fetchone()
    return int(size)


def add_passages(connection: sqlite3.Connection) -> None:
    connection.execute(
        "insert or ignore into records(id, kind, source, source_id, created_at, updated_at,"
        " stored_at, content_hash, title, body) values(1, 'note', 's', '1', 0, 0, 0, x'00', '', '')"
    )
    connection.executemany(
        "insert or ignore into passages(id, record_id, kind, ordinal, field, start, end,"
        " content_hash, parts) values(?1, 1, 'note', ?1, 'content', 0, 0, x'00', '')",
        [(number,) for number in range(2, COUNT + 1)],
    )


def embed_newest_first(connection: sqlite3.Connection) -> int:
    """Store vectors as the indexer does; returns the number of the model."""
    model = vectors.model_id(connection, "space", "test", DIMENSIONS)
    rows = unit_vectors(COUNT, DIMENSIONS)
    for newest in range(COUNT, 0, -BATCH):
        passages = range(newest, max(0, newest - BATCH), -1)
        some = [2 * passage for passage in passages]
        vectors.save(connection, model, some, rows[[passage - 1 for passage in passages]])
    return model


def older(file: Path) -> Path:
    """A store of the version before, with ``COUNT`` vectors."""
    with store_before(STEP, [Old("note", "s", "1", "T", "text")]) as connection:
        add_passages(connection)
        embed_newest_first(connection)
        connection.execute("vacuum into ?", (str(file),))
    return file


def held(connection: sqlite3.Connection) -> dict[int, bytes]:
    return dict(connection.execute("select entry_id, vector from vectors order by entry_id"))


def tables(connection: sqlite3.Connection) -> str:
    rows = connection.execute("select sql from sqlite_master where name like '%vectors%'")
    return "\n".join(sql for (sql,) in rows if sql)


def passage_of(connection: sqlite3.Connection, passage: int) -> bytes:
    (blob,) = connection.execute(
        "select vector from vectors where entry_id = ?", (2 * passage,)
    ).fetchone()
    return bytes(blob)


def forget(connection: sqlite3.Connection, passage: int) -> None:
    connection.execute("delete from vectors where entry_id = ?", (2 * passage,))


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("mem-search.db*"))


async def at_once() -> None:
    """Nobody searches."""


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_move, "_AT_ONCE", 50)
    monkeypatch.setattr(vectors_move, "_PAUSE", 0)
    monkeypatch.setattr(vectors_move, "_BUSY_PAUSE", 0)


def test_vectors_that_are_stored_newest_first_take_little_more_than_their_bytes(
    connection: sqlite3.Connection,
) -> None:
    add_passages(connection)
    connection.execute("update records set source_id = '1'")
    before = used(connection)
    embed_newest_first(connection)
    assert used(connection) - before < 1.25 * COUNT * 2 * DIMENSIONS


async def test_an_older_store_is_moved_while_it_is_read_and_written(tmp_path: Path) -> None:
    database = await Database.open(older(tmp_path / "mem-search.db"))
    statistics = SqliteStatistics(database)
    expected = await database.read(held)
    assert len(expected) == COUNT
    said: list[str] = []

    async def meanwhile() -> None:
        said.append((await statistics.size()).detail)
        number = len(said)
        await database.write(forget, 3 * number)
        expected.pop(6 * number, None)
        again = unit_vectors(1, DIMENSIONS, seed=1)
        await database.write(vectors.save, 1, [2 * (COUNT - number)], again)
        expected.update(vectors.pack([2 * (COUNT - number)], again))
        assert await database.read(held) == dict(sorted(expected.items()))

    await vectors_move.move(database, meanwhile)
    assert any("copied to a smaller table: 4" in each for each in said)
    assert any("emptied" in each for each in said)
    assert await database.read(held) == dict(sorted(expected.items()))
    schema = await database.read(tables)
    assert "without rowid" not in schema
    assert "trigger" not in schema
    assert "vectors_" not in schema.replace("sqlite_autoindex_vectors_", "")
    size = await statistics.size()
    assert (size.free, size.detail) == (0, "")  # a small file is written anew
    await vectors_move.move(database, meanwhile)  # there is nothing to do
    await database.close()


async def test_free_pages_of_a_large_file_wait_for_the_next_purge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors_move, "_REWRITTEN", 0)
    database = await Database.open(older(tmp_path / "mem-search.db"))
    statistics = SqliteStatistics(database)
    await vectors_move.move(database, at_once)
    size = await statistics.size()
    assert size.free > 0
    await SqliteForgetting(database).rewrite_file()
    assert await statistics.size() == StoreSize(size.stored - size.free)
    await database.close()


@pytest.mark.parametrize("steps", [2, 17])
async def test_what_is_forgotten_during_the_move_leaves_no_bytes(
    tmp_path: Path, steps: int
) -> None:
    file = older(tmp_path / "mem-search.db")
    database = await Database.open(file)
    for _ in range(steps):
        assert await database.write(vectors_move._move_some)
    stage = await database.read(vectors_move._stage)
    assert stage == ("vectors_next" if steps == 2 else "vectors_before")
    early, late = [await database.read(passage_of, passage) for passage in (5, COUNT - 5)]
    for passage in (5, COUNT - 5):
        await database.write(forget, passage)
    await SqliteForgetting(database).rewrite_file()
    await database.close()
    content = everything(tmp_path)
    assert early not in content
    assert late not in content


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from mem_search.storage.sqlite import vectors_move
from mem_search.storage.sqlite.database import Database

async def main(left=int(sys.argv[2])):
    database = await Database.open(Path(sys.argv[1]))
    vectors_move._AT_ONCE = 50
    def step(connection):
        def at(left=[3]):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
        # Within the statements of a step, which has to be undone as a whole.
        connection.set_progress_handler(at, 20)
        return vectors_move._move_some(connection)
    for _ in range(left):
        if not await database.write(vectors_move._move_some):
            sys.exit(0)
    await database.write(step)
    sys.exit("a step was not interrupted")

asyncio.run(main())
"""


def test_a_move_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    file = older(tmp_path / "mem-search.db")
    with closing(sqlite3.connect(file)) as connection:
        expected = held(connection)
    for _ in range(COUNT):
        ended = subprocess.run(
            [sys.executable, "-c", KILLED, str(file), "4"], timeout=PATIENCE, check=False
        )
        with closing(sqlite3.connect(file)) as connection:
            assert held(connection) == expected
            assert connection.execute("pragma quick_check").fetchone() == ("ok",)
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL
    with closing(sqlite3.connect(file)) as connection:
        assert "vectors_" not in tables(connection)


async def test_without_room_for_a_copy_nothing_is_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database = await Database.open(older(tmp_path / "mem-search.db"))
    free = [10]
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free[0]))
    monkeypatch.setattr(vectors_move, "_RETRY_SECONDS", 0.01)
    moving = asyncio.create_task(vectors_move.move(database, at_once))
    await comes_true(lambda: "later: this needs" in caplog.text)
    assert (await SqliteStatistics(database).size()).detail.endswith("table: 0 % so far")
    free[0] = 10**9
    await moving
    assert (await SqliteStatistics(database).size()).detail == ""
    await database.close()


async def test_a_worker_moves_them_by_itself_until_stats_says_nothing_of_it(tmp_path: Path) -> None:
    settings = small(tmp_path / "home")
    settings.home.mkdir()
    older(settings.database)
    async with open_runtime(settings) as runtime:
        assert len(await runtime.store.indexing.entries(1)) == COUNT
        await becomes(runtime.store.statistics.size, lambda size: not size.detail)
        assert len(await runtime.store.indexing.entries(1)) == COUNT
    with closing(sqlite3.connect(settings.database)) as connection:
        assert "without rowid" not in tables(connection)
