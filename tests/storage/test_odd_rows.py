"""A damaged row of what runs by itself keeps nothing else from running, and is told."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from mem_search.errors import Conflict
from mem_search.features.archives.sql import ArchiveStore
from mem_search.features.saved_searches.sql import SavedSearchStore
from mem_search.features.search_jobs.sql import SearchJobStore
from mem_search.features.webhooks.sql import DeliveryStore
from mem_search.model.access import HOUR, Policy
from mem_search.storage.sqlite import odd_rows
from mem_search.text.dates import now_ms
from mem_search.wiring import open_runtime
from runtimes import small

YEAR = 365 * 86_400_000
VALUES = (None, "words", "{", "[]", b"\xff\x00", 3.5, -1, 2**62, "")
ROWS = {
    "jobs": "insert into jobs values('j1', 'sync', '{}', 'queued', 0, 0, '', '{}', 1, null, null)",
    "saved_searches": "insert into saved_searches values"
    "(1, 's', '{}', 1, '', 1, 1, 0, null, 1, '', '1h', '')",
    "webhook_deliveries": "insert into webhook_deliveries values"
    "('w', 'e', 'https://example.org', x'00', 'pending', 0, 1, null, '', 1, null)",
    "cursors": "insert into cursors values('files', '/there', '', '{}', '{}', 0, 1, '')",
    "tokens": "insert into tokens values('t', 'ann', zeroblob(32), 0, 1, null, null, '', '')",
    "login_links": "insert into login_links values(zeroblob(32), 1)",
    "login_keys": "insert into login_keys values(zeroblob(32))",
    "granted_requests": "insert into granted_requests values('b', 'p', 1, 1)",
    "scopes": "insert into scopes values('s', 'kind:note', 1)",
    "archives": "insert into archives values('a', '/r', '', '0 3 * * *', 0, 1, null, '{}')",
    "search_jobs": "insert into search_jobs values"
    "(1, 'sj', 'pending', '{}', 'http', '', null, '', 0, 0, null, '', 1, null, null)",
    "search_operations": "insert into search_operations values"
    "(1, 'o', 's', null, 'search', 'q', 'hybrid', '[]', '{}', 0, '[]', 0, 1.0, '{}', '{}', 1)",
    "ledger": "insert into ledger values('files', '/there', 'x', 'taken', '', 1, 1)",
    "search_log": "insert into search_log values(1, 1, 'q', '{}', 'hybrid', 1, 1.0, 'http')",
    "forget_receipts": "insert into forget_receipts values('r', 0, '{}', '[]', '', 1, 2, '{}')",
}


async def made(home: Path) -> Path:
    async with open_runtime(small(home, store=""), background=False):
        pass
    return home / "mem-search.db"


@pytest.mark.parametrize("table", ROWS)
async def test_no_value_of_a_row_keeps_the_worker_from_starting_and_listing(
    tmp_path: Path, table: str
) -> None:
    database = await made(tmp_path / "home")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("pragma foreign_keys = off")
        connection.execute(ROWS[table])
        columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
        whole = connection.execute(f"select * from {table}").fetchone()
        connection.execute(f"delete from {table}")
        number = 1
        for place in range(len(columns)):
            for value in VALUES:
                row = list(whole)
                row[place] = value
                for other, key in enumerate(columns):  # rows of their own
                    if key in ("id", "seq", "name", "item", "digest", "key", "location") and (
                        other != place
                    ):
                        number += 1
                        row[other] = {
                            int: number, str: f"k{number}", bytes: number.to_bytes(32, "big"),
                        }[type(whole[other])]  # fmt: skip
                marks = ", ".join("?" * len(row))
                with suppress(sqlite3.IntegrityError):  # what SQLite itself refuses
                    connection.execute(f"insert or ignore into {table} values({marks})", row)
        (count,) = connection.execute(f"select count(*) from {table}").fetchone()
    assert count >= len(columns)
    async with open_runtime(small(tmp_path / "home", store="")) as runtime:
        store = runtime.store
        await runtime.ingest.jobs.newest(1000)
        await store.part(SavedSearchStore).listed()
        await store.tokens.all()
        await store.scopes.listed()
        await store.part(ArchiveStore).listed()
        await store.ingest.locations()
        await store.ingest.ledger("", "", 500, 0)
        await store.logins.sessions()
        await store.part(SearchJobStore).newest(0, "", 500, 0)
        await store.search_log.slow(500)
        await store.limits.take("b", Policy("p", 5, HOUR))
        await store.forgetting.receipts()
        assert not await store.database.read(odd_rows.any_odd)
    if table == "tokens":
        with closing(sqlite3.connect(database)) as connection:
            rows = connection.execute("select read_only from tokens where expires_at is null")
            assert all(row[0] in (0, 1, -1, 2**62, 3) for row in rows)


async def test_a_damaged_job_is_set_aside_with_the_reason_and_cannot_be_retried(
    tmp_path: Path,
) -> None:
    database = await made(tmp_path / "home")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(ROWS["jobs"])
        connection.execute("update jobs set params = '{', created_at = 'yesterday'")
    async with open_runtime(small(tmp_path / "home", store="")) as runtime:
        (job,) = await runtime.ingest.jobs.newest(10)
        assert job.state == "set_aside"
        assert "damaged" in job.message
        with pytest.raises(Conflict, match="damaged"):
            await runtime.ingest.jobs.retry(job.id)
        new = await runtime.ingest.jobs.submit("sync", {"source": "files"})
        assert new


async def test_a_row_that_nothing_puts_right_is_told_until_something_is_forgotten(
    tmp_path: Path,
) -> None:
    database = await made(tmp_path / "home")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(ROWS["saved_searches"].replace("'{}'", "'Kestrel {'"))
    async with open_runtime(small(tmp_path / "home", store="")) as runtime:
        assert await runtime.store.odd_rows() == [
            "a row of saved_searches: request is not what is written there; it is set aside"
        ]
        await runtime.store.forgetting.begin([])
        assert await runtime.store.odd_rows() == []
    assert b"Kestrel" not in database.read_bytes()


async def test_times_of_a_clock_that_was_ahead_hold_nothing(tmp_path: Path) -> None:
    database, late = await made(tmp_path / "home"), now_ms() + YEAR
    with closing(sqlite3.connect(database)) as connection, connection:
        for table in ("jobs", "saved_searches", "webhook_deliveries", "tokens", "cursors"):
            connection.execute(ROWS[table])
        connection.execute("update jobs set created_at = ?", (late,))
        connection.execute("update saved_searches set since = ?", (late,))
        connection.execute("update webhook_deliveries set next_at = ?", (late,))
        connection.execute(
            "update tokens set created_at = ?, expires_at = ?, last_used_at = ?",
            (late, late + 5000, late),
        )
        for _ in range(9):
            connection.execute("insert into granted_requests values('b', 'p', ?, 1)", (late,))
        connection.execute("insert into login_links values(x'00', ?)", (late // 1000,))
    async with open_runtime(small(tmp_path / "home", store=""), background=False) as runtime:
        store, now = runtime.store, now_ms()
        assert (await store.limits.take("b", Policy("p", 5, HOUR))).granted
        assert await store.part(SavedSearchStore).due(now) == ["s"]
        assert [each for each, _ in await store.part(DeliveryStore).due(now)] == ["w"]
        (job,) = await store.jobs.newest(10)
        assert job.created_at <= now
        (token,) = await store.tokens.all()
        assert token.expires_at is not None
        assert token.expires_at <= now + 5000
        assert not await store.logins.take_link(b"\x00", now // 1000)


async def test_a_clock_that_is_a_year_back_deletes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await made(tmp_path / "home")
    with closing(sqlite3.connect(database)) as connection, connection:
        for table in ("saved_searches", "tokens", "scopes", "cursors", "search_jobs", "ledger"):
            connection.execute(ROWS[table])
        connection.execute("update search_jobs set status = 'completed', completed_at = ?",
                           (now_ms(),))  # fmt: skip
        connection.execute("update tokens set created_at = :now, expires_at = :now + 99999999999",
                           {"now": now_ms()})  # fmt: skip
    with closing(sqlite3.connect(database)) as connection, connection:
        odd_rows_now = odd_rows.now_ms
        monkeypatch.setattr(odd_rows, "now_ms", lambda: odd_rows_now() - YEAR)
        odd_rows.put_right(connection)
        monkeypatch.undo()
        odd_rows.put_right(connection)
        for table in ("saved_searches", "tokens", "scopes", "cursors", "search_jobs", "ledger"):
            assert connection.execute(f"select count(*) from {table}").fetchone() == (1,), table
        (completed,) = connection.execute("select completed_at from search_jobs").fetchone()
        assert completed > now_ms() - YEAR // 2
