"""A batch is stored whole with its cursor, or not at all, and without secrets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, cast

import pytest

import drafts
from mem_search.ingest.prepare import prepare
from mem_search.ingest.writer import IngestWriter
from mem_search.model import Batch, Filters, LedgerEntry, Link, Location
from mem_search.model.ingest import IngestCounts
from mem_search.storage.sql import records
from mem_search.storage.sql.ingest import Ingest
from mem_search.storage.sqlite.database import Connection
from mem_search.storage.sqlite.filters import FILTERS as SQL
from mem_search.storage.sqlite.store import SqliteStore
from patience import PATIENCE

HERE = Location("test", "/here")
SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR3uL6"


def all_text(connection: Connection) -> str:
    return repr(drafts.contents(connection))


async def test_what_became_of_each_draft_is_counted_and_written_down(store: SqliteStore) -> None:
    told: list[int] = []
    taking = IngestWriter(store.ingest, lambda: told.append(1))
    batch = Batch(
        drafts=(drafts.draft("a"), drafts.draft("b"), drafts.draft("bad", "", title="")),
        ledger=(LedgerEntry("file", "taken", records=2),),
        cursor={"at": 1},
    )
    assert await taking.take(HERE, batch) == IngestCounts(new=2, failed=1)
    assert await taking.take(HERE, batch) == IngestCounts(unchanged=2, failed=1)
    assert told == [1]
    assert await drafts.forget(store, 1) == 1
    changed = replace(
        batch, drafts=(drafts.draft("a"), drafts.draft("b", "other")), deletions=("x",)
    )
    assert await taking.take(HERE, changed) == IngestCounts(changed=1, forgotten=1)
    assert await taking.take(HERE, Batch(deletions=("b",))) == IngestCounts(deleted=1)
    ledger = {e.item: e for e in await store.ingest.ledger("test", "", 9, 0)}
    outcomes = {item: entry.outcome for item, entry in ledger.items()}
    assert outcomes == {
        "file": "taken", "bad": "failed", "a": "left", "b": "deleted", "x": "deleted",
    }  # fmt: skip
    assert "text" in ledger["bad"].reason


async def test_of_drafts_that_belong_together_only_those_that_were_taken_count(
    store: SqliteStore,
) -> None:
    taking = IngestWriter(store.ingest, lambda: None)
    batch = Batch(
        drafts=(drafts.draft("a"), drafts.draft("bad", "", title=""), drafts.draft("b")),
        places=("line 1", "line 2", "line 3"),
        item="lines 1-3",
    )

    async def told() -> dict[str, tuple[str, int]]:
        entries = await store.ingest.ledger("test", "", 9, 0)
        return {entry.item: (entry.outcome, entry.records) for entry in entries}

    await taking.take(HERE, batch)
    assert await told() == {"lines 1-3": ("taken", 2), "line 2": ("failed", 0)}
    await drafts.forget(store, 1)
    await taking.take(HERE, batch)
    assert await told() == {
        "lines 1-3": ("taken", 1), "line 1": ("left", 0), "line 2": ("failed", 0),
    }  # fmt: skip
    mended = replace(batch, drafts=(), places=(), item="", outdated=("line 2",))
    await taking.take(HERE, mended)
    assert set(await told()) == {"lines 1-3", "line 1"}
    only_bad = replace(batch, drafts=batch.drafts[1:2], places=("line 2",), outdated=("",))
    await taking.take(HERE, only_bad)
    assert await told() == {"line 2": ("failed", 0)}


async def test_a_deletion_is_withdrawn_when_the_item_comes_back(store: SqliteStore) -> None:
    taking = IngestWriter(store.ingest, lambda: None)
    await taking.take(HERE, Batch(drafts=(drafts.draft("a"), drafts.draft("b"))))
    why = LedgerEntry("a", "deleted", "has no text any more")
    await taking.take(HERE, Batch(deletions=("a", "b"), ledger=(why,)))
    told = {e.item: e.reason for e in await store.ingest.ledger("test", "", 9, 0)}
    assert told == {"a": "has no text any more", "b": "the source no longer has it"}
    await taking.take(HERE, Batch(drafts=(drafts.draft("a"),)))
    assert [e.item for e in await store.ingest.ledger("test", "", 9, 0)] == ["b"]


async def test_a_deletion_with_a_reason_is_one_entry(store: SqliteStore) -> None:
    taking = IngestWriter(store.ingest, lambda: None)
    await taking.take(HERE, Batch(drafts=(drafts.draft("/docs/in/a.txt"),)))
    why = LedgerEntry("in/a.txt", "deleted", "it is no longer there")
    await taking.take(HERE, Batch(deletions=("/docs/in/a.txt",), ledger=(why,)))
    assert [e.item for e in await store.ingest.ledger("test", "", 9, 0)] == ["in/a.txt"]


async def test_a_shared_record_stays_as_it_was_first_read(store: SqliteStore) -> None:
    taking = IngestWriter(store.ingest, lambda: None)

    def of(project: str, branch: str, text: str = "some words") -> Batch:
        metadata = {"branch": branch} if branch else {}
        said = drafts.draft("a", text, kind="observation", project=project, metadata=metadata)
        return Batch(drafts=(said,), shared=True)

    async def stored() -> tuple[str, str]:
        return await store.database.read(
            lambda c: c.execute(
                "select project, json_extract(data, '$.branch') from records"
            ).fetchone()
        )

    others = frozenset({"web"})
    await taking.take(HERE, of("web", ""))
    assert await taking.take(HERE, of("web", "topic")) == IngestCounts(
        changed=1
    )  # it had none before
    assert await taking.take(HERE, of("web", "main")) == IngestCounts(unchanged=1)
    clone = of("clone", "main")
    assert await taking.take(HERE, clone, others=others) == IngestCounts(unchanged=1)
    assert await stored() == ("web", "topic")
    changed = of("clone", "main", "other words")
    assert await taking.take(HERE, changed, others=others) == IngestCounts(changed=1)
    assert await stored() == ("web", "topic")
    assert await taking.take(HERE, of("moved", "main", "other words")) == IngestCounts(changed=1)
    assert await stored() == ("moved", "topic")


async def test_a_batch_that_cannot_be_stored_keeps_the_old_cursor(store: SqliteStore) -> None:
    taking = IngestWriter(store.ingest, lambda: None)
    await taking.take(HERE, Batch(drafts=(drafts.draft("a"),), cursor={"at": 1}))
    broken = Batch(drafts=(drafts.draft("b"),), cursor={"at": object()})
    with pytest.raises(TypeError):
        await taking.take(HERE, broken)
    assert await store.ingest.cursor(HERE) == {"at": 1}
    assert await store.database.read(
        lambda c: c.execute("select count(*) from records").fetchone()
    ) == (1,)


async def test_a_cancelled_job_reports_what_it_stored(store: SqliteStore) -> None:
    told, prepared = asyncio.Event(), asyncio.Event()

    class Watched:
        def store_batch(self, *args: Any, **named: Any) -> Coroutine[Any, Any, IngestCounts]:
            prepared.set()
            return store.ingest.store_batch(*args, **named)

    taking = IngestWriter(cast(Ingest, Watched()), told.set)
    task = asyncio.create_task(taking.take(HERE, Batch(drafts=(drafts.draft("a"),))))
    free = threading.Event()
    block = asyncio.create_task(store.database.write(lambda c: free.wait(PATIENCE)))
    await prepared.wait()
    await asyncio.sleep(0)  # the writing waits for the writer
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    free.set()
    await block
    await asyncio.wait_for(told.wait(), PATIENCE)
    assert await store.database.read(
        lambda c: records.browse(c, SQL.where(c, Filters()), "relevance", 9, 0)
    ) == [1]


@pytest.mark.parametrize(
    "place",
    [
        lambda s: {"text": f"the token is {s} here"},
        lambda s: {"title": f"token {s}"},
        lambda s: {"url": f"https://example.org/?token={s}"},
        lambda s: {"tags": (s,)},
        lambda s: {"metadata": {"deep": [{"er": f"token {s}"}]}},
        lambda s: {"links": (Link(f"https://example.org/?token={s}"),)},
    ],
)
async def test_a_secret_reaches_nothing(
    store: SqliteStore, place: Callable[[str], dict[str, object]]
) -> None:
    taking = IngestWriter(store.ingest, lambda: None)
    await taking.take(HERE, Batch(drafts=(drafts.draft("a", **place(SECRET)),)))
    assert SECRET not in await store.database.read(all_text)


def test_preparing_is_a_pure_function() -> None:
    each = drafts.draft("a", "some words " * 900, tags=("t",), metadata={"folder": "f"})
    assert prepare(each) == prepare(each)
    again = prepare(prepare(each).draft)
    assert (again.content_hash, again.hashes) == (prepare(each).content_hash, prepare(each).hashes)
