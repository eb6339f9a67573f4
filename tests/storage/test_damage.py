"""A store that lost a part is told from a new one, and nothing of it is touched."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import drafts
from drafts import store
from mem_search.errors import StoreDamaged
from mem_search.storage.sqlite import mark
from mem_search.storage.sqlite.database import Database

SOURCE = Path(__file__).parents[2] / "src"

WRITER = """
import asyncio, os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import drafts
from drafts import store
from mem_search.storage.sqlite.database import Database


async def main():
    database = await Database.open(Path(sys.argv[1]))
    for name in "abc":
        await database.write(store, drafts.draft(name))
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def closed(path: Path, *names: str) -> None:
    database = await Database.open(path)
    for name in names:
        await database.write(store, drafts.draft(name))
    await database.close()


def killed(path: Path) -> None:
    """A store with three records in its log, whose writer was killed."""
    done = subprocess.run(
        [sys.executable, "-c", WRITER, str(path), str(Path(__file__).parents[1])],
        env={**os.environ, "PYTHONPATH": str(SOURCE)}, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    assert path.with_name(f"{path.name}-wal").stat().st_size


async def count(path: Path) -> int:
    database = await Database.open(path)
    try:
        return int(
            await database.read(lambda c: c.execute("select count(*) from records").fetchone()[0])
        )
    finally:
        await database.close()


async def test_a_killed_writer_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "mem-search.db"
    await asyncio.to_thread(killed, path)
    assert await count(path) == 3
    assert await count(path) == 3


def missing(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def truncated(path: Path) -> None:
    os.truncate(path, 3 * 4096)


def half_a_page(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1000)


def without_log(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


def flipped_log(path: Path) -> None:
    log = path.with_name(f"{path.name}-wal")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 0xFF
    log.write_bytes(content)


@pytest.mark.parametrize("damage", [missing, emptied, truncated, half_a_page])
async def test_a_store_that_lost_a_part_is_not_opened_and_not_touched(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "mem-search.db"
    await closed(path, "a", "b")
    damage(path)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(StoreDamaged, match=r"mem-search doctor.*mem-search restore.*start anew"):
        await Database.open(path)
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("damage", [without_log, flipped_log, emptied])
async def test_a_lost_log_is_not_taken_for_the_end_of_the_store(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "mem-search.db"
    await asyncio.to_thread(killed, path)
    damage(path)
    log = path.with_name(f"{path.name}-wal")
    before = (path.read_bytes(), log.read_bytes() if log.exists() else b"")
    with pytest.raises(StoreDamaged):
        await Database.open(path)
    assert (path.read_bytes(), log.read_bytes() if log.exists() else b"") == before


async def test_the_named_command_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "a home" / "mem-search.db"
    await closed(path, "a")
    (path.parent / "chroma" / "data").mkdir(parents=True)
    (path.parent / "chroma" / "data" / "chroma.sqlite3").write_bytes(b"rows")
    path.write_bytes(b"")
    with pytest.raises(StoreDamaged) as told:
        await Database.open(path)
    command = str(told.value).partition("worker stop; ")[2]
    await asyncio.to_thread(subprocess.run, ["/bin/sh", "-c", command], check=True)
    assert await count(path) == 0
    assert (path.parent / "aside" / "mem-search.db").exists()


async def test_one_can_go_on_with_an_older_copy(tmp_path: Path) -> None:
    path, copy = tmp_path / "mem-search.db", tmp_path / "copy"
    await closed(path, "a")
    shutil.copy(path, copy)
    await closed(path, "b")
    shutil.copy(copy, path)
    with pytest.raises(StoreDamaged, match="older copy") as told:
        await Database.open(path)
    command = str(told.value).partition("what is left: ")[2]
    await asyncio.to_thread(subprocess.run, ["/bin/sh", "-c", command], check=True)
    assert await count(path) == 1


async def test_after_a_loss_of_power_only_what_reached_the_disk_is_demanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mem-search.db"
    await asyncio.to_thread(killed, path)
    without_log(path)
    monkeypatch.setattr(mark, "boot", lambda: "another run of this machine")
    assert await count(path) == 0


async def test_a_vector_index_without_its_store_is_reported(tmp_path: Path) -> None:
    (tmp_path / "chroma" / "data").mkdir(parents=True)
    (tmp_path / "chroma" / "data" / "chroma.sqlite3").write_bytes(b"rows")
    with pytest.raises(StoreDamaged, match="vector index"):
        await Database.open(tmp_path / "mem-search.db")


@pytest.mark.parametrize("content", [b"", b"garbage\n", bytes(512)])
async def test_a_damaged_mark_does_not_matter_to_a_whole_store(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "mem-search.db"
    await closed(path, "a")
    mark.mark_of(path).write_bytes(content)
    assert await count(path) == 1


async def test_what_changes_nothing_is_no_commit(tmp_path: Path) -> None:
    path = tmp_path / "mem-search.db"
    database = await Database.open(path)
    before = database.version()
    await database.write(lambda c: c.execute("delete from records where id = 77"))
    assert database.version() == before
    await database.write(store, drafts.draft("a"))
    assert database.version() != before
    await database.close()


@pytest.mark.parametrize("raised", [TypeError, IndexError, sqlite3.OperationalError])
async def test_a_bug_is_no_damage_and_damage_no_bug(
    tmp_path: Path, raised: type[Exception]
) -> None:
    path = tmp_path / "mem-search.db"
    await closed(path, "a")

    def fails(_: sqlite3.Connection) -> None:
        raise raised("as a bug would")

    database = await Database.open(path)
    with pytest.raises(raised):
        await database.read(fails)
    await database.close()
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute(
            "select rootpage from sqlite_master where name = 'passages'"
        ).fetchone()
    content = bytearray(path.read_bytes())
    content[(root - 1) * 4096 : root * 4096] = bytes(4096)
    path.write_bytes(content)
    database = await Database.open(path)
    with pytest.raises(StoreDamaged):
        await database.read(fails)
    await database.close()
