"""Taking in what a source read: each batch is stored with its cursor, or not at all."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from mem_search.errors import InputError
from mem_search.ingest.prepare import prepare
from mem_search.model import Batch, Draft, LedgerEntry, Location
from mem_search.model.ingest import PreparedDraft
from mem_search.storage.sqlite import identities, ingest_state, records
from mem_search.storage.sqlite.database import Connection, Database


@dataclass(frozen=True, slots=True)
class IngestCounts:
    """How many drafts of a batch were new, changed, unchanged, forgotten, failed or deleted."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    forgotten: int = 0
    failed: int = 0
    deleted: int = 0

    def __add__(self, other: IngestCounts) -> IngestCounts:
        return IngestCounts(
            self.new + other.new,
            self.changed + other.changed,
            self.unchanged + other.unchanged,
            self.forgotten + other.forgotten,
            self.failed + other.failed,
            self.deleted + other.deleted,
        )


class IngestWriter:
    """The only way into the store.

    ``stored`` is called after each batch that changed it, ``give_way`` in a thread before each
    record that is made ready: it may block for a moment.
    """

    def __init__(
        self,
        database: Database,
        stored: Callable[[], None],
        give_way: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._stored = stored
        self._give_way = give_way

    async def take(
        self,
        location: Location,
        batch: Batch,
        *,
        followed: bool = False,
        others: frozenset[str] = frozenset(),
    ) -> IngestCounts:
        """Store one batch. When this returns, it is durable and searchable by keyword.

        ``others`` are the projects of other locations, for a batch that is ``shared``.
        """
        if batch.shared:
            known = await self._database.read(identities.first_read, batch.drafts)
            batch = replace(batch, drafts=tuple(_kept(d, known, others) for d in batch.drafts))
        ready = await asyncio.to_thread(_prepare_all, batch, self._give_way)
        writing = asyncio.ensure_future(
            self._database.write(_write, location, batch, ready, followed)
        )
        try:
            taken = await asyncio.shield(writing)
        except asyncio.CancelledError:
            # The transaction goes on in its thread; what it stores has to be indexed too.
            writing.add_done_callback(self._tell)
            raise
        if taken.new or taken.changed or taken.deleted:
            self._stored()
        return taken

    def _tell(self, writing: asyncio.Future[IngestCounts]) -> None:
        if not writing.cancelled() and writing.exception() is None:
            self._stored()

    async def forget(self, numbers: list[int]) -> int:
        """Delete records for good; a source that offers them again is refused."""
        removed = await self._database.write(records.remove, numbers, forget=True)
        if removed:
            self._stored()
        return removed


def _kept(
    draft: Draft, known: Mapping[tuple[str, str], tuple[str, str]], others: frozenset[str]
) -> Draft:
    """The draft as its record was first read."""
    project, branch = known.get((draft.source, draft.source_id), ("", ""))
    if project in others:
        draft = replace(draft, project=project)
    return replace(draft, metadata={**draft.metadata, "branch": branch}) if branch else draft


@dataclass(frozen=True, slots=True)
class _Ready:
    """What can be stored of a batch, what the ledger calls each, and what cannot."""

    prepared: list[PreparedDraft]
    places: list[str]
    failures: list[LedgerEntry]


def _prepare_all(batch: Batch, give_way: Callable[[], None]) -> _Ready:
    ready = _Ready([], [], [])
    places = batch.places or [draft.source_id for draft in batch.drafts]
    for draft, place in zip(batch.drafts, places, strict=True):
        give_way()
        try:
            ready.prepared.append(prepare(draft))
        except InputError as error:
            reason = f"{error.field}: {error.message}" if error.field else error.message
            ready.failures.append(LedgerEntry(place, "failed", reason))
        else:
            ready.places.append(place)
    return ready


def _write(
    connection: Connection, location: Location, batch: Batch, ready: _Ready, followed: bool
) -> IngestCounts:
    offered = identities.settle(connection, ready.prepared)
    stored = records.store(connection, offered)
    outcomes = Counter(item.outcome for item in stored)
    refused = [
        LedgerEntry(place, "left", "it was deleted here before and is not stored again")
        for place, done in zip(ready.places, stored, strict=True)
        if done.outcome == "forgotten"
    ]
    back = [
        item.draft.source_id
        for item, done in zip(offered, stored, strict=True)
        if done.outcome == "new"
    ]
    taken = len(stored) - len(refused)
    together = [LedgerEntry(batch.item, "taken", records=taken)] if batch.item and taken else []
    deleted = records.remove_by_source_id(connection, location.source, batch.deletions)
    gone = [LedgerEntry(item, "deleted", "the source no longer has it") for item in batch.deletions]
    ingest_state.strike(connection, location, [*batch.outdated, *back])
    # The source may know better why something is gone.
    ingest_state.note(
        connection, location, [*gone, *together, *batch.ledger, *ready.failures, *refused]
    )
    ingest_state.save_cursor(connection, location, batch.cursor, followed=followed)
    return IngestCounts(
        new=outcomes["new"],
        changed=outcomes["changed"],
        unchanged=outcomes["unchanged"],
        forgotten=outcomes["forgotten"],
        failed=sum(entry.outcome == "failed" for entry in (*ready.failures, *batch.ledger)),
        deleted=deleted,
    )
