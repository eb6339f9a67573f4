"""The contract of a store (``storage/store.py``), the same for every store.

A store is opened by a function in ``STORES``; nothing below knows which one it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from drafts import draft, forget, prepared
from mem_search.errors import Conflict
from mem_search.features.archives.model import Archive
from mem_search.features.archives.sql import ArchiveStore
from mem_search.features.research.sql import ResearchStore
from mem_search.features.saved_searches.model import Match, SavedSearch, StoredPlan
from mem_search.features.saved_searches.sql import SavedSearchStore
from mem_search.features.search_jobs.sql import SearchJobStore
from mem_search.features.webhooks.sql import DeliveryStore
from mem_search.model import Draft, Filters, LedgerEntry, Link, Location, MetadataTest, Record, Ref
from mem_search.model.forgetting import Tombstone
from mem_search.model.graph import Edge, ExportedGraph, GraphPart
from mem_search.model.ingest import IngestCounts
from mem_search.model.jobs import JobStatus
from mem_search.model.records import SUMMARY
from mem_search.model.requests import Scope
from mem_search.model.results import IndexState, Operation, OperationFilter, StoredResult
from mem_search.model.statistics import LoggedSearch, ProjectTotals
from mem_search.model.webhooks import Message
from mem_search.storage.postgres.store import PostgresStore
from mem_search.storage.rules.identities import digest
from mem_search.storage.sqlite.store import SqliteStore
from mem_search.storage.store import Store
from mem_search.text.dates import now_ms
from postgres_server import address

HERE = Location("test", "/repo", "repo", {"branch": "main"})


async def sqlite(folder: Path) -> Store:
    return await SqliteStore.open(folder / "mem-search.db")


async def postgres(folder: Path) -> Store:
    # Each test is another user of one server, so a statement that forgets the user fails here.
    # No user can open this store before it has all parts; the tests of those skip it.
    return cast(Store, await PostgresStore.open(address(), str(folder)))


STORES: dict[str, Callable[[Path], Awaitable[Store]]] = {"sqlite": sqlite, "postgres": postgres}
"""name → opens the store of a folder, a new one where there is none."""


@pytest.fixture(params=STORES)
def opens(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Awaitable[Store]]:
    """Opens the same store again, as the next worker does."""
    return lambda: STORES[request.param](tmp_path)


@pytest.fixture
async def store(opens: Callable[[], Awaitable[Store]]) -> AsyncIterator[Store]:
    store = await opens()
    yield store
    await store.close()


async def fill(store: Store, *drafts: Draft, **batch: Any) -> IngestCounts:
    return await store.ingest.store_batch(HERE, prepared(*drafts, **batch), followed=True)


async def numbers(store: Store) -> dict[str, int]:
    """source id → number."""
    page, _ = await store.records.page(Filters(), "date_asc", 1000, 0)
    return {record.source_id: record.number for record, _ in page}


async def ledger(store: Store) -> dict[str, tuple[str, str]]:
    return {e.item: (e.outcome, e.reason) for e in await store.ingest.ledger("", "", 99, 0)}


class TestBatches:
    async def test_a_batch_and_its_cursor_are_kept_together(self, store: Store) -> None:
        assert await store.ingest.cursor(HERE) == {}
        assert await fill(store, draft("a"), draft("b"), cursor={"at": [1, "x"]}) == IngestCounts(2)
        assert await store.ingest.cursor(HERE) == {"at": [1, "x"]}
        assert await fill(store, draft("a"), draft("b", "other"), cursor={"at": 2}) == IngestCounts(
            changed=1, unchanged=1
        )
        assert await store.ingest.cursor(HERE) == {"at": 2}
        assert await store.ingest.cursor(Location("test", "/other")) == {}

    async def test_a_batch_that_fails_leaves_nothing(self, store: Store) -> None:
        await fill(store, draft("a"), cursor={"at": 1})
        before = await store.statistics.totals(), await store.records.revision()
        broken = prepared(draft("b"), cursor={"at": object()}, deletions=("a",), item="all")
        with pytest.raises(TypeError):
            await store.ingest.store_batch(HERE, broken, followed=True)
        assert (await store.statistics.totals(), await store.records.revision()) == before
        assert await store.ingest.cursor(HERE) == {"at": 1}
        assert await ledger(store) == {}

    async def test_what_a_model_said_is_taken_back_of_the_named_kinds(self, store: Store) -> None:
        await fill(store, draft("a", kind="observation"), draft("b", kind="file"), draft("c"))
        known = await numbers(store)
        records = await store.records.fetch([*known.values()])
        for name in ("a", "b"):
            assert await store.ingest.note_from_model(records[known[name]], {"by": "small@host"})
        assert await store.ingest.take_back(["observation", "note"]) == 1
        after = await store.records.fetch([*known.values()])
        assert after[known["a"]] == records[known["a"]]
        assert after[known["b"]].metadata["from_model"] == {"by": "small@host"}
        assert await store.ingest.take_back(["observation", "note"]) == 0

    async def test_a_field_in_letters_beyond_ascii_is_found_after_a_model_said_something(
        self, store: Store
    ) -> None:
        given = {"größe": "XL", "pays": "été"}
        await fill(store, draft("a", metadata=given), draft("b"))
        filters = [
            Filters(metadata=(MetadataTest((name,), "contains", value),))
            for name, value in given.items()
        ]
        for said in ({}, {"ort": "Köln"}):
            (record,) = await store.records.newest(filters[0], 9)
            assert await store.records.newest(filters[1], 9) == [record]
            assert await store.ingest.note_from_model(record, said)
        (record,) = await store.records.newest(filters[0], 9)
        assert record.metadata == {**given, "from_model": {"ort": "Köln"}}

    async def test_tokens_are_counted_by_task_and_day(
        self, opens: Callable[[], Awaitable[Store]]
    ) -> None:
        store = await opens()
        assert await store.ingest.count_tokens("enrich", "2026-01-01", 0) == 0
        assert await store.ingest.count_tokens("enrich", "2026-01-01", 70) == 70
        await store.close()
        store = await opens()
        assert await store.ingest.count_tokens("enrich", "2026-01-01", 5) == 75
        assert await store.ingest.count_tokens("compress", "2026-01-01", 1) == 1
        assert await store.ingest.count_tokens("enrich", "2026-01-02", 0) == 0
        assert await store.ingest.count_tokens("enrich", "2026-01-02", 2) == 2
        await store.close()

    async def test_what_was_forgotten_is_refused_and_the_ledger_says_so(self, store: Store) -> None:
        await fill(store, draft("a"), draft("b"))
        known = await numbers(store)
        assert await forget(store, known["a"], known["a"], 999) == 1
        assert await fill(store, draft("a"), draft("b")) == IngestCounts(unchanged=1, forgotten=1)
        assert await numbers(store) == {"b": known["b"]}
        outcome, reason = (await ledger(store))["a"]
        today = datetime.now(UTC).date().isoformat()
        assert (outcome, reason.split(";")[0]) == ("left", f"forgotten on {today}")

    async def test_a_job_counts_its_batches_until_it_is_done(self, store: Store) -> None:
        elsewhere = Location("notes", "/elsewhere")
        await store.jobs.create("j", "sync", {"n": 1})
        assert await store.jobs.claim(["sync"])
        for name in ("a", "b"):
            await store.ingest.store_batch(HERE, prepared(draft(name)), followed=True, job="j")
        await fill(store, draft("c"))  # by no job
        assert await store.ingest.counted(HERE, "j") == IngestCounts(new=2)
        assert await store.ingest.counted(elsewhere, "j") == IngestCounts()
        assert await store.ingest.counted(HERE, "unknown") == IngestCounts()
        await store.jobs.finish("j", "set_aside", "died", {"item": "x"})
        assert (state := await store.jobs.get("j")) is not None
        assert state.result["item"] == "x"
        await store.jobs.queue_again("j", {"n": 2})
        assert await store.ingest.counted(HERE, "j") == IngestCounts(new=2)
        assert (state := await store.jobs.get("j")) is not None
        assert state.result.keys() == {"so_far"}
        await store.jobs.finish("j", "done", "", {"n": 3})
        assert (state := await store.jobs.get("j")) is not None
        assert state.result == {"n": 3}
        await store.jobs.queue_again("j", {})
        assert (state := await store.jobs.get("j")) is not None
        assert state.result == {}

    async def test_what_was_released_is_found_by_its_id_and_its_content(self, store: Store) -> None:
        said = {"content_id": "c1"}
        await fill(store, draft("a", metadata=said), draft("b", metadata=said), draft("c#1"))
        assert await fill(store, released=("a#c2", "b#c1", "#c1", "x#c1")) == IngestCounts(
            deleted=1
        )
        assert await fill(store, released=("c#1",)) == IngestCounts(deleted=1)
        assert set(await numbers(store)) == {"a"}
        assert "b#c1" not in await ledger(store)  # its file has an entry

    async def test_what_the_source_deleted_may_come_back(self, store: Store) -> None:
        await fill(store, draft("a"), draft("b"))
        why = LedgerEntry("b", "deleted", "has no text any more")
        assert await fill(store, deletions=("a", "b", "c"), ledger=(why,)) == IngestCounts(
            deleted=2
        )
        gone = ("deleted", "the source no longer has it")
        assert await ledger(store) == {"a": gone, "b": ("deleted", why.reason), "c": gone}
        assert await fill(store, draft("a")) == IngestCounts(new=1)
        assert set(await ledger(store)) == {"b", "c"}

    async def test_records_of_two_kinds_never_share_an_id(self, store: Store) -> None:
        await fill(store, draft("5", kind="observation"))
        await fill(store, draft("5", kind="user_prompt"), draft("5", kind="observation"))
        assert set(await numbers(store)) == {"5", "5#user_prompt"}

    async def test_the_project_and_branch_of_the_first_reading_are_known(
        self, store: Store
    ) -> None:
        first = draft("a", project="web", metadata={"branch": "main"})
        await fill(store, first)
        assert await store.ingest.first_read([first, draft("b")]) == {
            ("test", "a"): ("web", "main")
        }

    async def test_the_observations_of_sessions_are_listed_with_their_times(
        self, store: Store
    ) -> None:
        seen = {"kind": "observation", "created_at": 5}
        await fill(
            store,
            draft("a", session="s", **seen),
            draft("b", session="t", **seen),
            draft("c", session="s", kind="user_prompt"),
            draft("d", session="u", **seen),
        )
        listed = await store.ingest.observations_of("test", ["s", "t", "none"])
        assert sorted((each.session, each.source_id, each.created_at) for each in listed) == [
            ("s", "a", 5), ("t", "b", 5)
        ]  # fmt: skip
        assert await store.ingest.observations_of("other", ["s"]) == []


class TestLedger:
    async def test_the_newest_entry_of_an_item_counts(self, store: Store) -> None:
        torn, left = LedgerEntry("a", "failed", "torn"), LedgerEntry("b%", "left")
        await fill(store, ledger=(torn, left))
        await fill(store, ledger=(LedgerEntry("a", "taken", records=2),))
        assert await store.ingest.ledger_counts() == [("test", "left", 1), ("test", "taken", 1)]
        (entry,) = await store.ingest.ledger("test", "a", 9, 0)
        assert (entry.outcome, entry.records, entry.reason) == ("taken", 2, "")
        assert [e.item for e in await store.ingest.ledger("", "%", 9, 0)] == ["b%"]
        assert await store.ingest.ledger("jsonl", "", 9, 0) == []
        assert len(await store.ingest.ledger("", "", 1, 1)) == 1

    async def test_drafts_that_belong_together_are_counted_as_they_are_stored(
        self, store: Store
    ) -> None:
        await fill(store, draft("a"), draft("b"), item="lines 1-2")
        (entry,) = await store.ingest.ledger("", "", 9, 0)
        assert (entry.item, entry.outcome, entry.records) == ("lines 1-2", "taken", 2)

    async def test_an_outdated_item_is_dropped_with_all_that_lies_in_it(self, store: Store) -> None:
        items = ["a", "a:1", "a:20", "a.b", "a;", "ab", "b", "A", "a/c:1"]
        entries = tuple(LedgerEntry(item, "left") for item in items)
        elsewhere = Location("test", "/elsewhere")
        await fill(store, ledger=entries)
        await store.ingest.store_batch(elsewhere, prepared(ledger=entries), followed=False)

        async def left() -> list[str]:
            found = await store.ingest.ledger("", "", 99, 0)
            return sorted(entry.item for entry in found if entry.location == HERE.path)

        await fill(store, outdated=("a", "no such"))
        assert await left() == sorted(["a.b", "a;", "ab", "b", "A", "a/c:1"])
        await fill(store, outdated=("",))
        assert await left() == []
        assert len(await store.ingest.ledger("", "", 99, 0)) == len(items)


class TestLocations:
    async def test_a_location_once_followed_stays_followed(self, store: Store) -> None:
        await fill(store, cursor={"at": 1})
        await store.ingest.store_batch(HERE, prepared(cursor={"at": 2}), followed=False)
        (known,) = await store.ingest.locations()
        assert (known.location, known.followed, known.error) == (HERE, True, "")

    async def test_an_error_keeps_the_cursor_until_reading_succeeds(self, store: Store) -> None:
        await fill(store, cursor={"at": 1})
        await store.ingest.note_error(HERE, "gone", followed=True)
        assert await store.ingest.cursor(HERE) == {"at": 1}
        assert [known.error for known in await store.ingest.locations()] == ["gone"]
        await store.ingest.note_unchanged(HERE, followed=True)
        assert [known.error for known in await store.ingest.locations()] == [""]

    async def test_a_failure_alone_keeps_no_location_that_is_not_followed(
        self, store: Store
    ) -> None:
        await store.ingest.note_error(HERE, "a slip", followed=False)
        assert await store.ingest.locations() == []
        await store.ingest.note_error(HERE, "locked", followed=True)
        await store.ingest.note_error(HERE, "gone", followed=False)
        (known,) = await store.ingest.locations()
        assert (known.followed, known.error) == (True, "gone")
        assert await store.ingest.drop_location(HERE)
        assert not await store.ingest.drop_location(HERE)


class TestRecords:
    async def test_records_page_by_date_with_their_links(self, store: Store) -> None:
        drafts = [draft(f"{n}", created_at=n // 2) for n in range(6)]
        drafts[2] = draft("2", created_at=1, links=(Link("https://a.example/", "cites"),))
        await fill(store, *drafts)
        order = [await self._number(store, f"{n}") for n in range(6)]
        page, total = await store.records.page(Filters(), "date_desc", 2, 1)
        assert ([record.number for record, _ in page], total) == (order[::-1][1:3], 6)
        ((record, links),) = await store.records.with_links([999, order[2]])
        assert (record.source_id, links) == ("2", (Link("https://a.example/", "cites"),))
        assert [r.number for r in await store.records.newest(Filters(), 2)] == order[::-1][:2]
        exported = await store.records.export_page(Filters(), order[1], 2)
        assert [record.number for record, _ in exported] == order[2:4]
        assert await store.records.fetch([]) == {}

    @staticmethod
    async def _number(store: Store, source_id: str) -> int:
        return (await numbers(store))[source_id]

    async def test_filters_hold_for_every_listing(self, store: Store) -> None:
        await fill(store, draft("a", project="web"), draft("b", project="api"))
        only = Filters(project="web")
        page, total = await store.records.page(only, "relevance", 9, 0)
        assert ([record.source_id for record, _ in page], total) == (["a"], 1)
        assert [r.source_id for r in await store.records.newest(only, 9)] == ["a"]
        assert [r.source_id for r, _ in await store.records.export_page(only, 0, 9)] == ["a"]

    async def test_projects_come_newest_first(self, store: Store) -> None:
        await fill(
            store,
            draft("a", project="old", created_at=1),
            draft("b", project="new", created_at=9),
            draft("c", project="old", created_at=2),
            draft("d"),
        )
        projects = [ProjectTotals("new", 1, 9), ProjectTotals("old", 2, 2)]
        assert await store.records.projects() == projects

    async def test_the_newest_sessions_come_with_their_own_observations(self, store: Store) -> None:
        def of(kind: str, source_id: str, at: int, session: str) -> Draft:
            return draft(source_id, kind=kind, project="web", session=session, created_at=at)

        await fill(
            store,
            of("session_summary", "s1", 5, "one"),
            of("session_summary", "s2", 9, "two"),
            of("observation", "o1", 4, "one"),
            of("observation", "o2", 8, "two"),
            of("observation", "o3", 7, "two"),
        )
        sessions, observations = await store.records.recent_sessions(Filters(project="web"), 1, 9)
        assert [r.source_id for r in sessions] == ["s2"]
        assert [r.source_id for r in observations] == ["o2", "o3"]

    async def test_hash_and_revision_tell_what_changed(self, store: Store) -> None:
        await fill(store, draft("a"), draft("b"))
        known = await numbers(store)
        before = await store.records.content_hashes([*known.values(), 999])
        revision = await store.records.revision()
        assert set(before) == set(known.values())
        await fill(store, draft("a", "changed"), draft("b"))
        after = await store.records.content_hashes(list(known.values()))
        assert {n for n in before if before[n] != after[n]} == {known["a"]}
        assert await store.records.revision() > revision


class TestIndexing:
    async def test_the_summary_of_a_record_is_embedded_and_only_its_text_has_words(
        self, store: Store
    ) -> None:
        text = "# Lamps\n\n" + "The keeper fills the lamp with oil. " * 115
        await fill(store, draft("a", text, title="T", metadata={"description": "Of lighthouses"}))
        number = (await numbers(store))["a"]
        passages = await store.records.passages(number)
        assert [(each.ordinal, each.field) for each in passages] == [
            (SUMMARY, "summary"), (0, "content"), (1, "content"), (2, "content"),
        ]  # fmt: skip
        assert [each.above for each in passages] == ["Of lighthouses", "", "# Lamps", "# Lamps"]
        waiting = {each.above: each for each in await store.indexing.to_embed(9)}
        assert (waiting["Of lighthouses"].title, waiting["Of lighthouses"].text) == ("T", "")
        model = await store.indexing.model_number("space", "test", 2)
        entry = waiting["Of lighthouses"].passage
        row = np.array([[1, 0]], dtype=np.float32)
        await store.indexing.store_vectors(model, [entry], [2 * entry], row)
        assert await store.records.embedded(number, "space") == {SUMMARY}
        assert await store.records.embedded(number, "other") == set()
        corpus = await store.statistics.corpus()
        assert (corpus.passages, corpus.waiting, corpus.coverage) == ({"note": 3}, 4, 0)
        # The same again, and without what was said about it.
        await fill(store, draft("a", text, title="T", metadata={"description": "Of lighthouses"}))
        assert await store.records.passages(number) == passages
        await fill(store, draft("a", text, title="T"))
        fields = [each.field for each in await store.records.passages(number)]
        assert fields == ["summary", "content", "content", "content"]
        assert await store.records.embedded(number, "space") == set()

    async def test_a_passage_is_embedded_then_indexed_and_acknowledged(self, store: Store) -> None:
        outbox = store.indexing
        model = await outbox.model_number("space", "test", 2)
        assert await outbox.model_number("space", "test", 2) == model
        assert await outbox.model_number("other", "test", 2) != model
        await fill(store, draft("a"), draft("b"))
        newest, oldest = await outbox.to_embed(9)
        assert newest.passage > oldest.passage
        assert await outbox.to_embed(1) == [newest]
        rows = np.array([[1, 0], [0, 1]], dtype=np.float32)
        entries = [2 * newest.passage, 2 * newest.passage + 1]
        await outbox.store_vectors(model, [newest.passage], entries, rows)
        assert await outbox.outbox_counts() == {"embed": 1, "index": 1}
        assert await outbox.many_wait("index", 1)
        assert not await outbox.many_wait("index", 2)
        assert not await outbox.many_wait("delete", 1)
        assert await outbox.waiting("index", 9) == [newest.passage]
        found, vectors = await outbox.vectors(model, 2, [newest.passage])
        assert [entry.entry for entry in found] == entries
        assert vectors.tolist() == rows.tolist()
        (halves,) = (await outbox.vectors_of_equal_content(model, [newest.digest])).values()
        assert {half: row.tolist() for half, row in halves.items()} == {0: [1, 0], 1: [0, 1]}
        assert await outbox.settled_entries(model) == set()
        await outbox.acknowledge("index", [newest.passage])
        assert await outbox.settled_entries(model) == await outbox.entries(model) == set(entries)
        assert await outbox.outbox_counts() == {"embed": 1}

    async def test_a_deletion_wins_over_a_vector_that_comes_late(self, store: Store) -> None:
        outbox = store.indexing
        model = await outbox.model_number("space", "test", 2)
        await fill(store, draft("a"))
        (waiting,) = await outbox.to_embed(9)
        await fill(store, deletions=("a",))
        row = np.array([[1, 0]], dtype=np.float32)
        await outbox.store_vectors(model, [waiting.passage], [2 * waiting.passage], row)
        assert await outbox.entries(model) == set()
        assert await outbox.outbox_counts() == {"delete": 1}
        await outbox.acknowledge("index", [waiting.passage])
        assert await outbox.waiting("delete", 9) == [waiting.passage]
        await outbox.acknowledge("delete", [waiting.passage])
        assert await outbox.outbox_counts() == {}

    async def test_a_vector_of_a_passage_that_does_not_exist_is_not_kept(
        self, store: Store
    ) -> None:
        model = await store.indexing.model_number("space", "test", 1)
        one = np.ones((1, 1), dtype=np.float32)
        await store.indexing.store_vectors(model, [9999], [2 * 9999], one)
        assert await store.indexing.entries(model) == set()
        assert await store.indexing.outbox_counts() == {}

    async def test_a_new_model_queues_what_it_has_not_read(self, store: Store) -> None:
        outbox = store.indexing
        first = await outbox.model_number("first", "test", 1)
        await fill(store, draft("a"))
        (waiting,) = await outbox.to_embed(9)
        one = np.ones((1, 1), dtype=np.float32)
        await outbox.store_vectors(first, [waiting.passage], [2 * waiting.passage], one)
        await outbox.acknowledge("index", [waiting.passage])
        last = waiting.passage
        assert await outbox.queue_without_vector(first, 0, 9) == (last, 0)
        second = await outbox.model_number("second", "test", 1)
        assert await outbox.queue_without_vector(second, last, 9) == (None, 0)
        assert await outbox.queue_without_vector(second, 0, 9) == (last, 1)
        await outbox.queue("index", [waiting.passage])
        assert await outbox.outbox_counts() == {"embed": 1}

    async def test_missing_vectors_are_looked_for_some_passages_at_a_time(
        self, store: Store
    ) -> None:
        outbox = store.indexing
        first = await outbox.model_number("first", "test", 1)
        await fill(store, draft("a"), draft("b"), draft("c"))
        passages = sorted(item.passage for item in await outbox.to_embed(9))
        await outbox.store_vectors(
            first, passages, [2 * each for each in passages], np.ones((3, 1), dtype=np.float32)
        )
        await outbox.acknowledge("index", passages)
        second = await outbox.model_number("second", "test", 1)
        assert await outbox.queue_without_vector(second, 0, 2) == (passages[1], 2)
        assert await outbox.outbox_counts() == {"embed": 2}
        assert await outbox.queue_without_vector(second, passages[1], 2) == (passages[2], 1)
        assert await outbox.queue_without_vector(second, passages[2], 2) == (None, 0)
        assert await outbox.outbox_counts() == {"embed": 3}

    async def test_a_space_is_filled_beside_another_and_dropped(self, store: Store) -> None:
        outbox = store.indexing
        first = await outbox.model_number("first", "one", 1)
        await fill(store, draft("a"), draft("b"), draft("c"))
        waiting = await outbox.without_vector(first, 0, 9)
        passages = [item.passage for item in waiting]
        assert [item.text for item in waiting] == [
            item.text for item in reversed(await outbox.to_embed(9))
        ]
        assert [item.passage for item in await outbox.without_vector(first, passages[0], 1)] == [
            passages[1]
        ]
        ones = np.ones((3, 1), dtype=np.float32)
        await outbox.store_vectors(first, passages, [2 * p for p in passages], ones)
        second = await outbox.model_number("second", "two", 1)
        assert await outbox.count_without_vector(second) == 3
        await outbox.add_vectors(second, [2 * passages[0], 2 * passages[0] + 1, 2 * 9999], ones)
        assert await outbox.entries(second) == {2 * passages[0], 2 * passages[0] + 1}
        assert await outbox.count_without_vector(second) == 2
        assert await outbox.outbox_counts() == {"index": 3}
        assert [space.name for space in await outbox.other_spaces(first)] == ["two"]
        last, deleted = await outbox.drop_vectors(first, -1, 2)
        assert (last, deleted) == (2 * passages[0], 1)
        last, deleted = await outbox.drop_vectors(first, last, 9)
        assert (last, deleted) == (2 * passages[2], 2)
        assert await outbox.other_spaces(second) != []
        assert await outbox.drop_vectors(first, last, 9) == (None, 0)
        assert await outbox.other_spaces(second) == []
        assert await outbox.entries(second) == {2 * passages[0], 2 * passages[0] + 1}

    async def test_the_chosen_embedder_counts_until_the_setting_changes(self, store: Store) -> None:
        outbox = store.indexing
        assert await outbox.chosen_embedder("bundled") == "bundled"
        await outbox.choose_embedder("hashing", "bundled")
        assert await outbox.chosen_embedder("bundled") == "hashing"
        assert await outbox.chosen_embedder("fastembed") == "fastembed"


class TestJobs:
    async def test_a_job_reports_and_ends(self, store: Store) -> None:
        await store.jobs.create("a", "sync", {"path": "/x"})
        assert (await self._job(store, "a")).state == "queued"
        claimed = await store.jobs.claim(["sync"])
        assert claimed is not None
        assert (claimed.id, claimed.state) == ("a", "running")
        assert await store.jobs.report_progress("a", 1, 2, "half way")
        running = await self._job(store, "a")
        assert (running.state, running.done, running.total) == ("running", 1, 2)
        await store.jobs.finish("a", "done", "", {"new": 3})
        done = await self._job(store, "a")
        assert (done.state, done.result, done.params) == ("done", {"new": 3}, {"path": "/x"})
        assert not await store.jobs.report_progress("a", 2, 2, "too late")
        await store.jobs.finish("a", "failed", "a job ends once", {})
        assert await self._job(store, "a") == done
        assert await store.jobs.unfinished() == []
        assert await store.jobs.get("b") is None
        assert done.ended_at is not None
        assert await store.jobs.expire(done.ended_at) == 0
        assert await store.jobs.expire(done.ended_at + 1) == 1

    @staticmethod
    async def _job(store: Store, job: str) -> Any:
        found = await store.jobs.get(job)
        assert found is not None
        return found

    async def test_what_a_crash_interrupted_is_unfinished_for_the_next_worker(
        self, opens: Callable[[], Awaitable[Store]]
    ) -> None:
        first = await opens()
        for job in ("a", "b", "c"):
            await first.jobs.create(job, "sync", {})
        assert await first.jobs.claim(["sync"]) is not None
        await first.jobs.finish("c", "failed", "torn", {})
        await first.close()
        second = await opens()
        unfinished = await second.jobs.unfinished()
        assert [(each.id, each.state) for each in unfinished] == [("a", "running"), ("b", "queued")]
        assert unfinished == await second.jobs.unfinished(here=True)
        assert {each.id for each in await second.jobs.newest(9)} == {"a", "b", "c"}
        again = await second.jobs.claim(["sync", "import"])
        assert again is not None
        assert again.id == "a"
        after = await second.jobs.claim(["sync"], left=["a"])
        assert after is not None
        assert after.id == "b"
        assert await second.jobs.claim(["import"]) is None
        await second.close()

    async def test_an_ended_job_expires_and_one_that_was_set_aside_stays(
        self, store: Store
    ) -> None:
        for job, state in (("done", "done"), ("aside", "set_aside")):
            await store.jobs.create(job, "import", {})
            await store.jobs.finish(job, cast(JobStatus, state), "", {})
        await store.jobs.create("waits", "import", {})
        assert await store.jobs.expire(now_ms() + 60_000) == 1
        assert {job.id for job in await store.jobs.newest(9)} == {"aside", "waits"}

    async def test_a_job_that_was_set_aside_is_claimed_once_more_and_keeps_its_parameters(
        self, opens: Callable[[], Awaitable[Store]]
    ) -> None:
        store = await opens()
        for job in ("a", "b", "failed"):
            await store.jobs.create(job, "import", {"path": f"/{job}", "left_out": [["x"]]})
        for job in ("a", "b"):
            assert await store.jobs.claim(["import"]) is not None
            await store.jobs.finish(job, "set_aside", "ended twice", {"item": "line 3"})
        await store.jobs.finish("failed", "failed", "torn", {})
        assert await store.jobs.claim(["import"]) is None
        assert await store.jobs.claim_aside(["sync"]) is None
        again = await store.jobs.claim_aside(["import"])
        assert again is not None
        assert (again.id, again.state, again.result, again.message) == ("a", "running", {}, "")
        assert (again.params["path"], again.params["left_out"]) == ("/a", [["x"]])
        assert (again.done, again.total, again.ended_at) == (0, 0, None)
        assert await store.jobs.report_progress("a", 1, 2, "half way")
        await store.close()

        after = await opens()
        assert [each.id for each in await after.jobs.unfinished(here=True)] == ["a"]
        dead = await after.jobs.claim(["import"])
        assert dead is not None
        assert dead.id == "a"
        await after.jobs.finish("a", "set_aside", "ended twice", {"item": "line 3"})
        second = await after.jobs.claim_aside(["import"])
        assert second is not None
        assert second.id == "b"
        await after.jobs.finish("b", "done", "", {})
        assert await after.jobs.claim_aside(["import"]) is None
        assert (await self._job(after, "a")).state == "set_aside"
        await after.close()


MESSAGE = Message("msg_1", "search_job.completed", "https://example.org/", b"{}", 7)


async def search_job(store: Store, job: str, most: int = 0) -> bool:
    return await store.part(SearchJobStore).create(
        job, {"query": "x"}, surface="http", webhook_url="", at=1, most=most
    )


class TestSearchJobs:
    async def test_ending_a_job_queues_its_message_in_the_same_step(self, store: Store) -> None:
        assert await search_job(store, "a")
        claimed = await store.part(SearchJobStore).claim(2)
        assert claimed is not None
        assert (claimed.id, claimed.status, claimed.started_at) == ("a", "running", 2)
        assert await store.part(SearchJobStore).claim(3, running=["a"]) is None
        await store.part(SearchJobStore).report_progress("a", "searching", 1, 2)
        assert await store.part(SearchJobStore).finish_and_notify(
            "a", "completed", 7, result="{}", message=MESSAGE
        )
        job = await store.part(SearchJobStore).get("a", 0)
        assert job is not None
        assert (job.status, job.result, job.done, job.delivery_id) == (
            "completed",
            "{}",
            2,
            "msg_1",
        )
        assert await store.part(DeliveryStore).due(7) == [("msg_1", "https://example.org/")]

    async def test_a_result_with_a_record_that_was_forgotten_meanwhile_is_not_stored(
        self, store: Store
    ) -> None:
        await fill(store, draft("a"), draft("b"))
        known = await numbers(store)
        assert await search_job(store, "job")
        await forget(store, known["a"])
        with pytest.raises(Conflict, match="forgotten"):
            await store.part(SearchJobStore).finish_and_notify(
                "job", "completed", 7, result="{}", records=list(known.values())
            )
        job = await store.part(SearchJobStore).get("job", 0)
        assert job is not None
        assert (job.status, job.result) == ("pending", None)
        assert await store.part(SearchJobStore).finish_and_notify(
            "job", "completed", 7, result="{}", records=[known["b"]]
        )

    async def test_what_is_selected_is_in_one_order(self, store: Store) -> None:
        days = (1, 2, 2, 2, 0)
        await fill(store, *(draft(f"{at}", created_at=day) for at, day in enumerate(days)))
        known = await numbers(store)
        selected = await store.forgetting.matching(Filters(kinds=("note",)), 9)
        assert selected == [known[name] for name in ("3", "2", "1", "0", "4")]

    async def test_a_store_is_told_what_another_has_forgotten(self, store: Store) -> None:
        await fill(store, draft("a"), draft("b"))
        known = await numbers(store)
        key = b"k" * 32
        theirs = [Tombstone(key, digest(key, "test", "a", ""), 5)]
        assert await store.forgetting.refused(theirs) == [known["a"]]
        assert await store.forgetting.refused([]) == []
        asked = [("test", "a", "note"), ("test", "b", "note")]
        assert await store.forgetting.forgotten(asked) == set()
        await store.forgetting.refuse(theirs)
        assert await store.forgetting.forgotten(asked) == {("test", "a", "note")}

    async def test_a_job_ends_once_and_notifies_once(self, store: Store) -> None:
        await search_job(store, "a")
        assert await store.part(SearchJobStore).finish_and_notify("a", "cancelled", 3)
        assert await store.part(SearchJobStore).claim(4) is None
        assert not await store.part(SearchJobStore).finish_and_notify(
            "a", "completed", 5, message=MESSAGE
        )
        job = await store.part(SearchJobStore).get("a", 0)
        assert job is not None
        assert (job.status, job.completed_at) == ("cancelled", 3)
        assert await store.part(DeliveryStore).due(99) == []

    async def test_only_so_many_may_be_unfinished(self, store: Store) -> None:
        assert await search_job(store, "a", most=1)
        assert not await search_job(store, "b", most=1)
        assert await store.part(SearchJobStore).unfinished() == ["a"]
        await store.part(SearchJobStore).finish_and_notify("a", "failed", 2, error="no")
        assert await search_job(store, "b", most=1)

    async def test_an_ended_job_expires(self, store: Store) -> None:
        for job in ("a", "b"):
            await search_job(store, job)
        await store.part(SearchJobStore).finish_and_notify("a", "completed", 5, result="{}")
        assert await store.part(SearchJobStore).get("a", 5) is None
        page, total = await store.part(SearchJobStore).newest(4, "", 9, 0)
        assert ([(job.id, job.result) for job in page], total) == ([("b", None), ("a", None)], 2)
        assert [
            job.id for job in (await store.part(SearchJobStore).newest(4, "completed", 9, 0))[0]
        ] == ["a"]
        assert await store.part(SearchJobStore).expire(5) == 1
        await store.part(SearchJobStore).delete("b")
        assert await store.part(SearchJobStore).newest(0, "", 9, 0) == ([], 0)


def operation(name: str, parent: str | None = None, session: str = "s", at: int = 1) -> Operation:
    state = IndexState(1, 2, 0, "space", "1.0")
    return Operation(
        id=name, session_id=session, parent_id=parent, type="refine" if parent else "search",
        query=f"query {name}", content_types=("note",), request={"search": {"query": name}},
        results=(StoredResult("note:1", "ff", 0.5),), total_count=1, took_ms=2.5, index_state=state,
        created_at=at,
    )  # fmt: skip


class TestResearch:
    async def test_operations_are_kept_whole_and_form_chains(self, store: Store) -> None:
        chain = [operation("a"), operation("b", "a"), operation("c", "b", at=3)]
        for each in chain:
            await store.part(ResearchStore).add(each)
        assert await store.part(ResearchStore).get("b") == chain[1]
        assert await store.part(ResearchStore).get("x") is None
        assert await store.part(ResearchStore).chain_length("c") == 3
        assert await store.part(ResearchStore).of_session("s") == chain
        assert await store.part(ResearchStore).newest(OperationFilter(), 1, 1) == ([chain[1]], 3)
        early = OperationFilter(type="search", until=1)
        assert await store.part(ResearchStore).newest(early, 9, 0) == ([chain[0]], 1)

    async def test_the_same_operation_again_takes_the_place_of_an_interrupted_one(
        self, store: Store
    ) -> None:
        await store.part(ResearchStore).add(operation("a"))
        await store.part(ResearchStore).add(operation("a", at=9))
        assert [each.created_at for each in await store.part(ResearchStore).of_session("s")] == [9]

    async def test_a_session_is_summed_up_and_forgotten(self, store: Store) -> None:
        for each in (operation("a"), operation("z", session="t"), operation("b", "a", at=5)):
            await store.part(ResearchStore).add(each)
        (first, second), total = await store.part(ResearchStore).sessions(9, 0)
        assert (first.id, first.operations, first.first_query, first.last_at) == (
            "s", 2, "query a", 5,
        )  # fmt: skip
        assert (second.id, total) == ("t", 2)
        assert await store.part(ResearchStore).forget_session("s") == 2
        assert await store.part(ResearchStore).forget_session("s") == 0
        assert await store.part(ResearchStore).of_session("s") == []


def plan(request: Mapping[str, Any], **changed: Any) -> StoredPlan:
    return replace(StoredPlan(request, "1m", webhook_url="https://x.example/"), **changed)


async def saved_search(store: Store, **changed: Any) -> SavedSearch:
    wanted = plan({"search": {"query": "x"}}, **changed)
    assert await store.part(SavedSearchStore).create("news", wanted, 1000)
    found = await store.part(SavedSearchStore).get("news")
    assert found is not None
    return found


async def run(
    store: Store, saved: SavedSearch, **values: Any
) -> tuple[tuple[Match, ...], int | None]:
    hashes = await store.records.content_hashes(list((await numbers(store)).values()))
    return await store.part(SavedSearchStore).finish_run_and_notify(
        saved, list(hashes.items()), at=2000, since=1500, **values
    )


class TestSavedSearches:
    async def test_a_run_reports_what_is_new_once(self, store: Store) -> None:
        await fill(store, draft("old"))
        saved = await saved_search(store)
        assert not await store.part(SavedSearchStore).create("news", plan({}), 1)
        await fill(store, draft("old", "changed"), draft("new"))
        known = await numbers(store)
        seen: list[list[str]] = []

        def message(matches: Sequence[Match], records: Mapping[int, Record]) -> Message:
            seen.append(sorted(records[match.number].source_id for match in matches))
            return MESSAGE

        matches, notification = await run(store, saved, webhook=message)
        assert {m.number: m.changed for m in matches} == {known["old"]: True, known["new"]: False}
        assert seen == [["new", "old"]]
        assert await store.part(DeliveryStore).due(99) == [("msg_1", "https://example.org/")]
        (told,), total = await store.part(SavedSearchStore).notifications("news", 9, 0, unread=True)
        assert (told.id, told.count, told.delivery_id, total) == (notification, 2, "msg_1", 1)
        assert await run(store, saved, webhook=message) == ((), None)
        await fill(store, draft("new", "changed as well"))
        assert [m.number for m in (await run(store, saved))[0]] == [known["new"]]

    async def test_a_message_that_cannot_be_made_undoes_the_run(self, store: Store) -> None:
        saved = await saved_search(store)
        await fill(store, draft("a"))

        def message(matches: Sequence[Match], records: Mapping[int, Record]) -> Message:
            raise KeyError("a bug")

        with pytest.raises(KeyError):
            await run(store, saved, webhook=message)
        again = await store.part(SavedSearchStore).get("news")
        assert again == saved
        assert await store.part(SavedSearchStore).notifications("", 9, 0, unread=False) == ([], 0)
        assert len((await run(store, saved))[0]) == 1

    async def test_the_next_run_is_a_whole_interval_later(self, store: Store) -> None:
        saved = await saved_search(store)
        assert await store.part(SavedSearchStore).next_at() == saved.next_at == 61_000
        assert await store.part(SavedSearchStore).due(60_999) == []
        assert await store.part(SavedSearchStore).due(61_000) == ["news"]
        await store.part(SavedSearchStore).note_failure(saved, 61_000, "no such scope")
        failed = await store.part(SavedSearchStore).get("NEWS")
        assert failed is not None
        assert (failed.error, failed.next_at, failed.since) == ("no such scope", 121_000, 1000)
        await run(store, failed)
        after = await store.part(SavedSearchStore).get("news")
        assert after is not None
        assert (after.error, after.next_at, after.since) == ("", 62_000, 1500)

    async def test_another_query_looks_from_now_on(self, store: Store) -> None:
        await saved_search(store)
        same = {"search": {"query": "x"}}
        assert await store.part(SavedSearchStore).change("news", plan(same), 5000)
        assert [s.since for s in await store.part(SavedSearchStore).listed()] == [1000]
        other = {"search": {"query": "y"}}
        assert await store.part(SavedSearchStore).change("news", plan(other, schedule=""), 6000)
        (changed,) = await store.part(SavedSearchStore).listed()
        assert (changed.since, changed.request, changed.next_at) == (6000, other, None)
        assert not await store.part(SavedSearchStore).change("other", plan(other), 1)

    async def test_a_notification_is_read_and_dismissed(self, store: Store) -> None:
        saved = await saved_search(store)
        await fill(store, draft("a"), draft("b"))
        _, number = await run(store, saved)
        assert number is not None
        read = await store.part(SavedSearchStore).mark_read(number, 5)
        assert read is not None
        assert (read.read_at, [match.changed for match in read.matches]) == (5, [False, False])
        assert (await store.part(SavedSearchStore).mark_read(number, 9)) == read
        assert (await store.part(SavedSearchStore).notifications("", 9, 0, unread=True))[1] == 0
        await forget(store, read.matches[0].number)
        ((left,), _) = await store.part(SavedSearchStore).notifications("", 9, 0, unread=False)
        assert left.matches == read.matches[1:]
        assert await store.part(SavedSearchStore).dismiss(number)
        assert not await store.part(SavedSearchStore).dismiss(number)
        assert await store.part(SavedSearchStore).mark_read(number, 5) is None
        assert (await run(store, saved))[1] is None
        assert await store.part(SavedSearchStore).remove("news")
        assert not await store.part(SavedSearchStore).remove("news")


class TestDeliveries:
    async def test_a_message_is_tried_again_until_it_ends(self, store: Store) -> None:
        await search_job(store, "a")
        await store.part(SearchJobStore).finish_and_notify("a", "completed", 7, message=MESSAGE)
        assert await store.part(DeliveryStore).next_at(6) == 7
        await store.part(DeliveryStore).retry_later("msg_1", status=500, error="busy", again_at=50)
        assert await store.part(DeliveryStore).due(49) == []
        assert await store.part(DeliveryStore).next_at(7) == 50
        await store.part(DeliveryStore).finish("msg_1", "delivered", status=200, error="", at=60)
        found = await store.part(DeliveryStore).fetch(["msg_1", "msg_2"])
        assert set(found) == {"msg_1"}
        assert (found["msg_1"].state, found["msg_1"].attempts, found["msg_1"].body) == (
            "delivered", 2, b"{}",
        )  # fmt: skip
        assert await store.part(DeliveryStore).next_at(0) is None
        assert await store.part(DeliveryStore).expire(60) == 0
        assert await store.part(DeliveryStore).expire(61) == 1
        assert await store.part(DeliveryStore).fetch([]) == {}


class TestScopes:
    async def test_a_scope_keeps_its_first_spelling_and_time(self, store: Store) -> None:
        assert await store.scopes.put(Scope("Work", "tag:a", 1)) == Scope("Work", "tag:a", 1)
        changed = await store.scopes.put(Scope("work", "tag:b", 2))
        assert changed == await store.scopes.get("WORK") == Scope("Work", "tag:b", 1)
        await store.scopes.put(Scope("art", "tag:c", 3))
        assert [scope.name for scope in await store.scopes.listed()] == ["art", "Work"]
        assert await store.scopes.remove("work")
        assert not await store.scopes.remove("work")

    async def test_names_that_become_the_same_when_redacted_leave_one_row(
        self, store: Store
    ) -> None:
        for number, name in enumerate(("Key", "one secret", "two secret", "other")):
            await store.scopes.put(Scope(name, f"tag:{number}", number))
            await store.part(ArchiveStore).put(Archive(name))
        await store.part(ArchiveStore).put(Archive("key"))

        def clean(text: str) -> str:
            return "key" if "secret" in text else text

        assert await store.redacting.redact_texts(clean, str) == 4
        assert [scope.name for scope in await store.scopes.listed()] == ["key", "other"]
        assert {archive.name for archive in await store.part(ArchiveStore).listed()} == {
            "Key", "key", "other",
        }  # fmt: skip


def logged(query: str, at: int = 1, **values: Any) -> LoggedSearch:
    said = {"filters": "", "mode": "hybrid", "total": 1, "took_ms": 1.0, "surface": "http"}
    return LoggedSearch(at, query, **{**said, **values})


class TestSearchLog:
    async def test_popular_counts_queries_in_any_case(self, store: Store) -> None:
        await store.search_log.add(
            [logged("Auth", 1), logged("auth", 2, total=7), logged("jwt", 3)]
        )
        first, second = await store.search_log.popular(5)
        assert (first.query, first.times, first.last_at, first.total) == ("auth", 2, 2, 7)
        assert second.query == "jwt"
        assert [each.query for each in await store.search_log.popular(1, 3)] == ["jwt"]

    async def test_a_query_is_without_results_until_it_finds_something(self, store: Store) -> None:
        await store.search_log.add(
            [logged("a", 1, total=0), logged("b", 2, total=0), logged("a", 3)]
        )
        assert [each.query for each in await store.search_log.without_results(5)] == ["b"]
        await store.search_log.add([logged("b", 4, filters="f")])
        assert await store.search_log.without_results(5) == []

    async def test_the_slowest_come_first(self, store: Store) -> None:
        await store.search_log.add([logged("a", took_ms=1), logged("b", took_ms=9)])
        assert await store.search_log.slow(1) == [logged("b", took_ms=9)]

    async def test_only_the_newest_ten_thousand_are_kept(self, store: Store) -> None:
        await store.search_log.add([logged(f"q{n}", n) for n in range(10_000)])
        await store.search_log.add([logged("one", 20_000), logged("more", 20_000)])
        kept = {each.query for each in await store.search_log.slow(20_000)}
        assert len(kept) == 10_000
        assert {"one", "more", "q2"} <= kept
        assert not {"q0", "q1"} & kept

    async def test_clearing_leaves_nothing(self, store: Store) -> None:
        await store.search_log.add([logged("a"), logged("b")])
        assert await store.search_log.clear() == 2
        assert await store.search_log.popular(5) == []


class TestStatistics:
    async def test_counts_follow_what_is_stored_and_indexed(self, store: Store) -> None:
        empty = await store.statistics.totals()
        assert (empty.records, empty.passages, empty.coverage) == ({}, 0, 1.0)
        assert await store.statistics.last_indexed() is None
        corpus = await store.statistics.corpus()
        assert (corpus.size, corpus.coverage, corpus.mean_length) == (0, 1, 1)
        await fill(store, draft("a", created_at=5), draft("b", kind="memory", created_at=9))
        found = await store.statistics.totals()
        assert (found.records, found.first_at, found.last_at) == ({"note": 1, "memory": 1}, 5, 9)
        assert (found.passages, found.embedded, found.indexed) == (2, 0, 0)
        corpus = await store.statistics.corpus()
        assert (corpus.passages, corpus.waiting) == ({"note": 1, "memory": 1}, 2)
        assert corpus.mean_length == len("some words")
        assert (await store.statistics.searchable()).complete == 0
        waiting = [each.passage for each in await store.indexing.to_embed(9)]
        model = await store.indexing.model_number("space", "test", 1)
        rows = np.ones((2, 1), dtype=np.float32)
        await store.indexing.store_vectors(model, waiting, [2 * p for p in waiting], rows)
        assert (await store.statistics.totals()).embedded == 2
        await store.indexing.acknowledge("index", waiting)
        assert (await store.statistics.totals()).indexed == 2
        assert (await store.statistics.searchable()).coverage == 1.0
        assert await store.statistics.last_indexed() is not None

    async def test_the_store_says_who_and_where_it_is(
        self, opens: Callable[[], Awaitable[Store]]
    ) -> None:
        first = await opens()
        named, where = await first.statistics.store_id(), first.location
        size = await first.statistics.size()
        assert size.stored > size.free >= 0
        await first.close()
        second = await opens()
        assert (await second.statistics.store_id(), second.location) == (named, where)
        await second.close()

    async def test_what_is_planned_is_due_until_it_has_ended(self, store: Store) -> None:
        async def due() -> bool:
            return await store.statistics.has_due_work()

        assert not await due()
        await store.jobs.create("j", "sync", {})
        assert await due()
        await store.jobs.finish("j", "done", "", {})
        assert not await due()
        await search_job(store, "s")
        assert await due()
        await store.part(SearchJobStore).finish_and_notify("s", "completed", 7, message=MESSAGE)
        assert await due()
        await store.part(DeliveryStore).finish("msg_1", "failed", status=410, error="", at=8)
        assert not await due()
        saved = await saved_search(store)
        assert saved.next_at is not None
        assert await due()
        await store.part(SavedSearchStore).change("news", plan({}, schedule=""), 1)
        assert not await due()


REPORT = """Rents rose. [1] Wages [did not](https://a.org/wages).

[1] https://www.a.org/rents/ - Rents
"""


class TestArchives:
    async def test_an_archive_keeps_its_runs_when_its_folders_change(self, store: Store) -> None:
        await store.part(ArchiveStore).put(Archive("b", "/r", "/p", "0 3 * * *", True, 9))
        await store.part(ArchiveStore).put(Archive("a"))
        await store.part(ArchiveStore).note_run("b", 5, {"documents": 3})
        await store.part(ArchiveStore).put(Archive("b", "/other"))
        (first, second) = await store.part(ArchiveStore).listed()
        assert first == Archive("a")
        assert second == Archive("b", "/other", indexed_at=5, statistics={"documents": 3})
        await store.part(ArchiveStore).set_next("a", 7)
        changed = await store.part(ArchiveStore).get("a")
        assert changed is not None
        assert changed.next_at == 7
        assert await store.part(ArchiveStore).remove("a")
        assert not await store.part(ArchiveStore).remove("a")
        assert await store.part(ArchiveStore).get("a") is None

    async def test_citations_are_read_from_both_ends_with_their_contexts(
        self, store: Store
    ) -> None:
        page = draft("p", "Rents.", kind="website", url="http://m.a.org/rents#now")
        await fill(store, draft("r", REPORT, kind="report", title="On rents", project="a"))
        report = (await numbers(store))["r"]
        first, second = await store.part(ArchiveStore).references([report], 10)
        assert (first.target, first.cited, first.confidence) == (
            "https://www.a.org/rents/",
            None,
            1,
        )
        assert [(place.form, place.context) for place in first.places] == [
            ("marker", "Rents rose. [1]"),
            ("entry", "[1] https://www.a.org/rents/ - Rents"),
        ]
        place = second.places[0]
        assert REPORT[place.start : place.end] == "[did not](https://a.org/wages)"
        assert await store.part(ArchiveStore).references([report], 1) == [first]
        assert await store.part(ArchiveStore).citation_counts("a") == (2, 0)
        await fill(store, page)
        stored = (await numbers(store))["p"]
        assert await store.part(ArchiveStore).citation_counts("a") == (2, 1)
        (cited,) = await store.part(ArchiveStore).citations([stored], 10)
        assert (cited.citing, cited.cited) == (Ref("report", report), Ref("website", stored))
        assert await store.part(ArchiveStore).page(["url:a.org/rents"], 9) == ([stored], [cited])
        assert (await store.part(ArchiveStore).page(["url:a.org/wages"], 9))[0] == []
        await fill(store, deletions=("p",))
        assert await store.part(ArchiveStore).citation_counts("a") == (2, 0)
        await fill(store, deletions=("r",))
        assert await store.part(ArchiveStore).references([report], 10) == []

    async def test_citations_are_counted(self, store: Store) -> None:
        await fill(
            store,
            draft("r", REPORT, kind="report", title="On rents", project="a"),
            draft("s", "See https://a.org/wages for more.", kind="report", project="b"),
            draft("p", "Rents.", kind="website", title="Rents", url="https://a.org/rents"),
        )
        known = await numbers(store)
        report = await store.part(ArchiveStore).citation_report(project="a")
        assert (report.documents, report.citing, report.citations) == (1, 1, 2)
        assert (report.pages, report.stored, report.places) == (2, 1, 3)
        assert [(each.ref, each.count) for each in report.hubs] == [(Ref("report", known["r"]), 2)]
        whole = await store.part(ArchiveStore).citation_report()
        assert [(each.url, each.count) for each in whole.dead_ends] == [("https://a.org/wages", 2)]
        own = await store.part(ArchiveStore).citation_report(number=known["r"])
        assert [each.ref.number for each in own.coupled] == [known["s"]]


async def test_reads_and_writes_may_run_at_once(store: Store) -> None:
    await asyncio.gather(
        *(fill(store, draft(f"{n}")) for n in range(8)),
        *(store.statistics.totals() for _ in range(8)),
    )
    assert len(await numbers(store)) == 8


async def test_the_graph_is_exported_as_of_one_moment(store: Store) -> None:
    cited = [Link(f"https://example.org/{name}", "cites") for name in ("a", "b")]
    await fill(
        store,
        draft("r1", kind="report", title="One", links=(*cited, Link("r2", "follows"))),
        draft("r2", kind="report", title="", text="Two\nlines", links=(cited[0],), project="else"),
        draft("w", kind="website", title="A", url="https://www.example.org/a#part"),
        draft("alone", title="Nothing leads here"),
    )
    one, two, page = "report:1", "report:2", "website:3"

    async def export(**part: Any) -> tuple[Any, Any, int]:
        def read(graph: ExportedGraph) -> tuple[Any, Any, int]:
            nodes, edges = list(graph.nodes), list(graph.edges)
            assert (len(nodes), len(edges)) == (graph.node_count, graph.edge_count)
            shown = [(node.id, node.title, node.degree) for node in nodes]
            return shown, {edge[:3] for edge in edges}, graph.left_out

        return await store.graph.export(GraphPart(**part), read)

    every = {
        (one, page, "cites"), (one, "url:example.org/b", "cites"), (one, two, "follows"),
        (two, page, "cites"),
    }  # fmt: skip
    leaf = ("url:example.org/b", "https://example.org/b", 1)
    nodes = [(one, "One", 3), (two, "Two lines", 2), (page, "A", 2), leaf]
    assert await export() == (nodes, every, 0)
    assert (await export(relations=("follows",)))[1] == {(one, two, "follows")}
    assert (await export(filters=Filters(project="else")))[0] == []
    kinds = Filters(kinds=("report",))
    assert (await export(filters=kinds))[1] == {
        (one, "url:example.org/b", "cites"), (one, two, "follows"),
    }  # fmt: skip
    assert await export(most=3) == (nodes[:3], every - {(one, leaf[0], "cites")}, 1)
    around = await export(records=(2, 4), derived=(Edge(4, 2, "same_file", 0.1, "derived"),))
    assert around[1] == {("note:4", two, "same_file")}
    assert [node[0] for node in around[0]] == [two, "note:4"]
    assert [node[0] for node in (await export(records=(4,)))[0]] == ["note:4"]
    assert (await export(records=(1,), most=1))[0] == [(one, "One", 1)]
