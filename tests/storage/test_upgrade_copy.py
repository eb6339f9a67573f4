"""A store of an older version is copied before its schema changes, and only then."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from made_migrations import older, register

from chosen_store import in_a_file
from mem_search.errors import StorageError
from mem_search.storage import archive
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.migrations import missing
from mem_search.wiring import open_runtime
from runtimes import small


def copies(home: Path) -> list[Path]:
    return sorted(home.glob(archive.UPGRADE_COPIES))


async def opened(file: Path) -> None:
    await (await Database.open(file)).close()


async def test_an_older_store_is_copied_once_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = await older(tmp_path / "mem-search.db")
    register(monkeypatch)
    await opened(file)
    (copy,) = copies(tmp_path)
    assert copy.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(copy)) as before:
        assert missing(before) == ["m001_made"]
        assert before.execute("select body from records").fetchall() == [("harbour lights",)]
    with closing(sqlite3.connect(file)) as after:
        assert missing(after) == []
        assert after.execute("select body, made from records").fetchall() == [
            ("harbour lights", "made")
        ]
    await opened(file)
    assert copies(tmp_path) == [copy]


async def test_a_new_store_needs_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    file = tmp_path / "mem-search.db"
    await opened(file)
    assert copies(tmp_path) == []
    with closing(sqlite3.connect(file)) as new:
        assert new.execute("select made from records").fetchall() == []


async def test_the_two_newest_copies_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in (1, 2, 3):
        (tmp_path / f"before-upgrade-2026010{day}T000000Z.db").write_bytes(b"")
    file = await older(tmp_path / "mem-search.db")
    register(monkeypatch)
    await opened(file)
    kept = [file.name for file in copies(tmp_path)]
    assert len(kept) == 2
    assert kept[0] == "before-upgrade-20260103T000000Z.db"


async def test_without_room_for_the_copy_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = await older(tmp_path / "mem-search.db")
    register(monkeypatch)
    before = file.read_bytes()
    full = os.statvfs_result((4096, 4096, 10, 10, 0, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    with pytest.raises(StorageError, match="free some space"):
        await opened(file)
    assert file.read_bytes() == before
    assert copies(tmp_path) == []


@in_a_file("copies of it")
async def test_forgetting_deletes_the_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = small(tmp_path)
    await older(settings.database, "zylophantic lights")
    register(monkeypatch)
    async with open_runtime(settings, background=False) as runtime:
        assert copies(tmp_path)
        receipt = await runtime.ingest.forgetting.forget([1])
        await runtime.ingest.forgetting.work()
        done = await runtime.ingest.forgetting.receipt(receipt.id)
    assert done.removed["upgrade_copies"] == 1
    assert done.copies.still_in == ()
    assert copies(tmp_path) == []
