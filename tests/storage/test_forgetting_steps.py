"""What forgetting leaves behind, and the settings of SQLite that zero what is deleted."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from drafts import draft, forget, prepared
from growth import check_growth
from mem_search.features.saved_searches.model import StoredPlan
from mem_search.features.saved_searches.sql import SavedSearchStore
from mem_search.features.search_jobs.sql import SearchJobStore
from mem_search.model import Draft, Filters, Location
from mem_search.model.forgetting import Copies, Tombstone, Traces
from mem_search.model.ingest import IngestCounts
from mem_search.model.statistics import LoggedSearch
from mem_search.sources.jsonl.exchange import export_tombstone, parse_tombstone
from mem_search.storage.postgres.store import PostgresStore
from mem_search.storage.sqlite import words
from mem_search.storage.sqlite.store import SqliteStore
from postgres_server import address

HERE = Location("test", "/there")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "one" / "mem-search.db")
    yield store
    await store.close()


@pytest.fixture(params=["sqlite", "postgres"])
async def either(
    tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[SqliteStore | PostgresStore]:
    store = (
        await PostgresStore.open(address(), str(tmp_path))
        if request.param == "postgres"
        else await SqliteStore.open(tmp_path / "one" / "mem-search.db")
    )
    yield store
    await store.close()


async def take(store: SqliteStore | PostgresStore, *drafts: Draft, **batch: object) -> IngestCounts:
    return await store.ingest.store_batch(HERE, prepared(*drafts, **batch), followed=False)


async def test_tombstones_travel_and_refuse_elsewhere(store: SqliteStore, tmp_path: Path) -> None:
    await take(store, draft("secret-id"), draft("other"))
    await forget(store, 1)
    (tombstone,) = await store.forgetting.tombstones(None, 9)
    line = export_tombstone(tombstone)
    assert "secret-id" not in line
    assert parse_tombstone(line.encode() + b"\n") == tombstone
    assert parse_tombstone(b'{"kind": "note", "text": "forgotten"}') is None

    elsewhere = await SqliteStore.open(tmp_path / "two" / "mem-search.db")
    try:
        refused = await take(elsewhere, draft("secret-id"), draft("other"), tombstones=(tombstone,))
        assert refused == IngestCounts(new=1, forgotten=1)
        # Another kind may have the same id: the identity is source, id and kind.
        assert await take(elsewhere, draft("secret-id", kind="memory")) == IngestCounts(new=1)
        assert await elsewhere.forgetting.tombstones(None, 9) == [tombstone]
        again = await take(elsewhere, draft("secret-id"), even_forgotten=True)
        assert again == IngestCounts(new=1)
        assert await elsewhere.forgetting.tombstones(None, 9) == []
    finally:
        await elsewhere.close()


async def test_the_keys_that_are_taken_over_are_limited(store: SqliteStore) -> None:
    many = tuple(Tombstone(bytes([n]) * 32, bytes([n]) * 16, 1) for n in range(200))
    await take(store, tombstones=many)
    assert len(await store.forgetting.tombstones(None, 999)) == 99


async def test_what_is_deleted_is_zeroed(store: SqliteStore) -> None:
    assert await store.database.alone(lambda c: c.execute("pragma secure_delete").fetchone()) == (
        1,
    )


@pytest.mark.parametrize("most", [0, 1 << 40], ids=["file", "memory"])
async def test_a_database_of_any_size_is_written_anew(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("mem_search.storage.sqlite.records._IN_MEMORY", most)
    await take(store, draft("a", "the zylophantic harbour"), draft("b", "a harbour"))
    await forget(store, 1)
    await store.forgetting.merge_words()
    (receipt,) = await store.forgetting.receipts(unfinished=True)
    await store.forgetting.finish_step("copies", [receipt.id], {})
    await store.forgetting.remove_quotes(last=True)
    asked: list[str] = []
    await store.database.alone(lambda c: c.set_trace_callback(asked.append))
    await store.forgetting.rewrite_file()
    assert f"pragma temp_store = {'memory' if most else 'file'}" in asked
    await store.database.alone(lambda c: c.set_trace_callback(None))
    assert await store.database.read(lambda c: c.execute("pragma temp_store").fetchone()) == (2,)
    folder = Path(store.location).parent
    assert not [f for f in folder.iterdir() if b"zylophantic" in f.read_bytes()]
    assert len(await store.forgetting.matching(Filters(), 9)) == 1


async def test_an_older_sqlite_writes_an_index_anew_that_it_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "mem-search.db"
    store = await SqliteStore.open(path)
    await take(store, draft("a", "harbour lights", metadata={"author": "Ana Schmidt"}))
    await store.close()
    if sqlite3.sqlite_version_info < (3, 42):
        with closing(sqlite3.connect(path)) as connection:
            for table in words.FILLED_BY:
                connection.execute(f"update {table}_config set v = 5 where k = 'version'")
            connection.commit()
    store = await SqliteStore.open(path)
    try:
        matching = "select count(*) from passages_fts where passages_fts match 'harbour'"
        assert await store.database.read(lambda c: c.execute(matching).fetchone()) == (1,)
        known = "select term from known_words where term in ('lights', 'schmidt')"
        assert len(await store.database.read(lambda c: c.execute(known).fetchall())) == 2
    finally:
        await store.close()


async def test_only_words_that_no_record_has_give_one_away(store: SqliteStore) -> None:
    await take(store, draft("a", "the zylophantic harbour"), draft("b", "a harbour in the south"))
    asked = [
        LoggedSearch(1, query, "", "hybrid", 1, 1.0, "cli")
        for query in ("zylophantic", "harbour", "note:1", "getZylophanticHarbour")
    ]
    await store.search_log.add(asked)
    await forget(store, 1)
    left = await store.search_log.slow(9)
    assert [each.query for each in left] == ["harbour"]


async def test_the_saved_searches_that_go_are_known_before(store: SqliteStore) -> None:
    await take(
        store,
        draft("a", "the zylophantic harbour", tags=("xantholymph",)),
        draft("b", "a harbour in the south, xantho"),
    )
    asked = {
        "word": "zylophantic", "inside": "getZylophanticHarbour", "tag": "xantholymph",
        "ref": "note:1", "other": "harbour", "other ref": "note:2", "no record": "quorvexel",
    }  # fmt: skip
    for name, query in asked.items():
        plan = StoredPlan({"search": {"query": query}})
        await store.part(SavedSearchStore).create(name, plan, 1)
    going = ["inside", "ref", "tag", "word"]
    assert await store.forgetting.saved_searches_naming([1]) == going
    await forget(store, 1)
    left = {each.name for each in await store.part(SavedSearchStore).listed()}
    assert left == set(asked) - set(going)


async def test_what_is_looked_for_is_kept_until_each_receipt_has_looked(store: SqliteStore) -> None:
    await take(store, draft("a", "the zylophantic harbour"))
    receipt = await store.forgetting.begin([1])
    await store.forgetting.remove_some(receipt)
    await store.forgetting.remove_quotes(last=True)
    assert "zylophantic" in (await store.forgetting.traces()).words
    await store.forgetting.note_copies([receipt], Copies(3, ("all.jsonl",)))
    await store.forgetting.finish_step("copies", [receipt], {})
    await store.forgetting.remove_quotes(last=True)
    assert not (await store.forgetting.traces()).words
    found = await store.forgetting.receipt(receipt)
    assert found is not None
    assert found.copies == Copies(3, ("all.jsonl",))


async def test_a_purge_removes_searches_for_words_that_no_record_has(store: SqliteStore) -> None:
    await take(store, draft("b", "a harbour in the south"))
    asked = [
        LoggedSearch(1, query, "", "hybrid", 0, 1.0, "cli") for query in ("quorvexel", "harbour")
    ]
    await store.search_log.add(asked)
    receipt = await store.forgetting.begin_purge()
    await store.forgetting.remove_quotes(last=True)
    assert [each.query for each in await store.search_log.slow(9)] == ["harbour"]
    found = await store.forgetting.receipt(receipt)
    assert found is not None
    assert found.removed == {"searches in the log": 1}


async def test_a_search_beside_a_forgetting_sees_whole_records(store: SqliteStore) -> None:
    drafts = [draft(f"d{n}", f"harbour number {n}", title=f"Title {n}") for n in range(300)]
    await take(store, *drafts)
    receipt = await store.forgetting.begin(range(1, 301))

    def seen(connection: sqlite3.Connection) -> tuple[int, int, int]:
        counts = (
            connection.execute(statement).fetchone()[0]
            for statement in (
                "select count(*) from records",
                "select count(*) from passages",
                "select count(*) from passages_fts where passages_fts match 'harbour'",
            )
        )
        return tuple(counts)  # type: ignore[return-value]

    async def removing() -> None:
        while await store.forgetting.remove_some(receipt):
            pass

    task = asyncio.create_task(removing())
    while not task.done():
        records, passages, terms = await store.database.read(seen)
        assert records == passages == terms
        assert records % 100 == 0
    await task
    assert await store.forgetting.matching(Filters(), 9) == []


def test_traces_are_found_in_words_and_inside_longer_ones() -> None:
    traces = Traces(frozenset({"brimstedt", "port"}), frozenset({"note:7"}))
    assert traces.found_in(["see Brimstedt"])
    assert traces.found_in(["openBrimstedtGate"])
    assert traces.found_in(["local:note:7 says"])
    assert traces.found_in(["the port"])
    assert not traces.found_in(["an important note:77", "imports"])


def test_long_runs_of_letters_are_judged_in_linear_time() -> None:
    traces = Traces(frozenset(f"w{n:05}{'x' * (n % 40)}" for n in range(5000)), frozenset())

    def judge(text: str) -> None:
        assert not traces.found_in([text])

    check_growth(
        "found_in", judge, lambda length: "a" * length, (10_000, 100_000, 1_000_000), 30, 0.1
    )


async def test_words_of_our_own_take_no_search_with_them_and_words_of_the_caller_do(
    either: SqliteStore | PostgresStore,
) -> None:
    """Ours are modes, orders, kinds, sources and fields, and the time when somebody asked."""
    of_ours = (
        "basic keyword hybrid relevance deep_research kind note 2026 utc token text"
        " tag source observation search version"
    )
    await take(
        either,
        draft("general/2026-01-05", of_ours, metadata={"channel": "zylochannel", "status": "open"}),
        draft("b", "a harbour in the south", kind="memory"),
    )
    stored = {
        "version": 2, "asked_at": "2026-11-28T19:05:47+00:00", "zone": "UTC", "budget": "token:",
        "search": {"mode": "keyword", "order": "relevance", "research": {"mode": "basic"},
                   "filters": {"kinds": ["note"], "source": "test"}},
    }  # fmt: skip
    asked = {
        "fields": "harbour kind:memory -tag:old source:test channel:south",
        "word": "basic harbour",
        "value": "harbour channel:zylochannel",
    }
    for name, text in asked.items():
        request = {**stored, "search": {**stored["search"], "text": text}}  # type: ignore[dict-item]
        await either.part(SavedSearchStore).create(name, StoredPlan(request), 1)
        await either.part(SearchJobStore).create(
            name, request, surface="", webhook_url="", at=1, most=9
        )
    assert await either.forgetting.saved_searches_naming([1]) == ["value", "word"]
    await forget(either, 1)
    assert [each.name for each in await either.part(SavedSearchStore).listed()] == ["fields"]
    assert await either.part(SearchJobStore).unfinished() == ["fields"]
