"""Moving a store to a PostgreSQL server and back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest

from drafts import draft, forget
from mem_search.daemon import moving
from mem_search.daemon.state import worker_lock
from mem_search.errors import Conflict, InputError, NotFound, StorageError
from mem_search.features.saved_searches.model import StoredPlan
from mem_search.features.saved_searches.sql import SavedSearchStore
from mem_search.features.webhooks.sql import DeliveryStore
from mem_search.model import Filters, Link
from mem_search.model.access import Token
from mem_search.model.requests import Scope
from mem_search.model.webhooks import Message
from mem_search.settings import Settings
from mem_search.storage.postgres.store import PostgresStore
from mem_search.storage.sql import moving as rules
from mem_search.storage.sqlite.store import SqliteStore
from mem_search.storage.store import Store
from mem_search.wiring import open_runtime
from postgres_server import address, server
from runtimes import fill


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        home=tmp_path / "home", port=0, embedder="hashing", chroma_url="off", follow=0,
        store_owner=uuid4().hex,
    )  # fmt: skip


def filled(settings: Settings) -> None:
    """A store that has something in almost every table, and a user with one of their own."""

    async def fill_it() -> None:
        async with open_runtime(settings) as runtime:
            await fill(
                runtime,
                *(draft(f"n{n}", f"lighthouse number {n} by the sea", title=f"Light {n}",
                        tags=("sea",), metadata={"author": "Ana Müller", "odd": ["\0", "\ud800"]})
                  for n in range(7)),
                draft("cites", "see https://example.org/a and n1", links=(Link("n1", "about"),)),
                draft("gone", "to be forgotten"),
            )  # fmt: skip
            store = runtime.store
            assert await forget(store, 9)
            await store.scopes.put(Scope("Sea", "tag:sea", 5))
            await store.tokens.add(Token("laptop", "", b"d" * 32, False, 1, None, None))
            await store.jobs.create("j1", "import", {"path": "/here", "odd": "\0"})
            await store.jobs.finish("j1", "failed", "torn", {})
            await store.ingest.count_tokens("enrich", "2026-01-01", 70)
            plan = StoredPlan({"search": {"query": "x"}})
            await store.part(SavedSearchStore).create("news", plan, 1)
            saved = await store.part(SavedSearchStore).get("news")
            assert saved is not None
            hashes = await store.records.content_hashes([1, 2])
            await store.part(SavedSearchStore).finish_run_and_notify(
                saved, list(hashes.items()), at=2, since=1,
                webhook=lambda *_: Message("msg", "e", "https://example.org", b"{}", 2),
                email=lambda *_: Message("mail", "e", "mailto:ada@example.org", b"{}", 2),
            )  # fmt: skip

    asyncio.run(fill_it())


async def told(store: Store) -> object:
    page, _ = await store.records.page(Filters(), "date_asc", 99, 0)
    return (
        page,
        await store.statistics.store_id(),
        await store.scopes.listed(),
        await store.tokens.all(),
        await store.part(SavedSearchStore).notifications("", 9, 0, unread=False),
        await store.part(DeliveryStore).fetch(["msg", "mail"]),
        await store.ingest.count_tokens("enrich", "2026-01-01", 0),
    )


def on_server(settings: Settings) -> Settings:
    return replace(settings, store=address())


def test_a_store_moves_to_a_server_and_back_with_everything_in_it(
    settings: Settings, tmp_path: Path
) -> None:
    filled(settings)
    user = replace(settings, home=settings.home / "users" / "ana")
    filled(user)
    before = {each.name: each.read_bytes() for each in settings.home.glob("mem-search.db")}
    moved = moving.move(settings, address())
    assert [(each.user, each.records, each.searches) for each in moved] == [
        ("", 8, 8), ("ana", 8, 8),
    ]  # fmt: skip
    assert {each.name: each.read_bytes() for each in settings.home.glob("mem-search.db")} == before

    async def there() -> tuple[object, object]:
        file = await SqliteStore.open(settings.database)
        server = await PostgresStore.open(address(), settings.store_owner, "home")
        try:
            old, new = await told(file), await told(server)
        finally:
            await file.close()
            await server.close()
        async with open_runtime(on_server(settings)) as runtime:
            await fill(runtime, draft("next", "a new one"))
            record = await runtime.store.records.named("test", "next")
            assert record is not None
            assert record.number == 10  # the number of what was forgotten is never used again
            assert len(await runtime.store.jobs.unfinished()) <= 1
            (job,) = await runtime.store.jobs.newest(9)
            assert (job.id, job.name) == ("j1", "import")
        return old, new

    old, new = asyncio.run(there())
    assert str(new) == str(old).replace("\\x00", "\ufffd").replace("\\ud800", "\ufffd")

    with pytest.raises(Conflict, match=r"move mem-search.db\* away"):
        moving.move(on_server(settings), moving.FILE)
    for each in (settings, user):
        for file in each.home.glob("mem-search.db*"):
            file.unlink()
    again = moving.move(on_server(settings), moving.FILE)
    assert [(each.user, each.records) for each in again] == [("", 9), ("ana", 8)]

    async def back() -> None:
        async with open_runtime(settings) as runtime:
            page, total = await runtime.store.records.page(Filters(), "date_asc", 99, 0)
            assert (total, page[-1][0].source_id) == (9, "next")
            await fill(runtime, draft("last", "the last one"))
            record = await runtime.store.records.named("test", "last")
            assert record is not None
            assert record.number == 11
            (blob,) = await runtime.store.scopes.listed()
            assert blob.name == "Sea"

    asyncio.run(back())


def test_a_server_plans_by_what_was_moved(settings: Settings) -> None:
    """A plan for tables that are thought empty makes a search take many times as long."""
    filled(settings)
    name = f"moved_{uuid4().hex[:8]}"
    moving.move(settings, server().create_database(name))
    known = server().query(
        "select tablename from pg_stats where schemaname = 'mem_search' group by 1", name
    )
    assert {"records", "passages", "postings", "facets"} <= set(known.split())
    server().query(f"drop database {name} with (force)")


def test_a_move_that_was_ended_goes_on_and_nobody_opens_half_a_store(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "PAGE", 2)
    monkeypatch.setattr("mem_search.storage.sql.moving.PAGE", 2)
    filled(settings)
    steps = 0

    def ended(doing: str, done: int, of: int) -> None:
        nonlocal steps
        steps += 1
        if steps == 3:  # in the middle of the records
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        moving.move(settings, address(), ended)

    async def half() -> None:
        async with open_runtime(on_server(settings)):
            raise AssertionError

    with pytest.raises(StorageError, match="that has not ended; run the same"):
        asyncio.run(half())
    (moved,) = moving.move(settings, address())
    assert moved.records == 8
    with pytest.raises(Conflict, match="choose another owner"):
        moving.move(settings, address())


def test_stores_that_differ_at_the_end_are_told(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(settings)
    add, numbers = rules.Digest.add, count()
    monkeypatch.setattr(
        rules.Digest, "add", lambda self, rows: add(self, [(*row, next(numbers)) for row in rows])
    )
    with pytest.raises(StorageError, match="the table records of the store has 8 rows"):
        moving.move(settings, address())


def test_what_cannot_be_moved_is_said(settings: Settings) -> None:
    with pytest.raises(NotFound, match="no store in"):
        moving.move(settings, address())
    with pytest.raises(InputError, match="the store is there already"):
        moving.move(settings, moving.FILE)
    with worker_lock(settings.home), pytest.raises(Conflict, match="mem-search worker stop"):
        moving.move(settings, address())
