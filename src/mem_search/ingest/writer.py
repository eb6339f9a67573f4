"""Stores what a source read: each batch with its cursor in one transaction, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

from mem_search.errors import InputError
from mem_search.ingest.prepare import prepare
from mem_search.model import Batch, Draft, LedgerEntry, Location
from mem_search.model.ingest import IngestCounts, PreparedBatch, PreparedDraft
from mem_search.storage.ports import IngestStore


class IngestWriter:
    """Writes records to the store.

    ``stored`` is called after each batch that changed the store. ``give_way`` is called in a
    thread before each draft is prepared, and may block for a moment.
    """

    def __init__(
        self,
        ingest: IngestStore,
        stored: Callable[[], None],
        give_way: Callable[[], None] = lambda: None,
    ) -> None:
        self._ingest = ingest
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
        """Store one batch. When this returns, the batch is durable and searchable by keyword.

        ``others`` are the projects of other locations, for a batch that is ``shared``.
        """
        if batch.shared:
            known = await self._ingest.first_read(batch.drafts)
            batch = replace(batch, drafts=tuple(_kept(d, known, others) for d in batch.drafts))
        prepared = await asyncio.to_thread(_prepare_all, batch, self._give_way)
        writing = asyncio.ensure_future(
            self._ingest.store_batch(location, prepared, followed=followed)
        )
        try:
            taken = await asyncio.shield(writing)
        except asyncio.CancelledError:
            # The transaction continues in its thread; its records have to be indexed too.
            writing.add_done_callback(self._tell)
            raise
        if taken.new or taken.changed or taken.deleted:
            self._stored()
        return taken

    def _tell(self, writing: asyncio.Future[IngestCounts]) -> None:
        if not writing.cancelled() and writing.exception() is None:
            self._stored()


def _kept(
    draft: Draft, known: Mapping[tuple[str, str], tuple[str, str]], others: frozenset[str]
) -> Draft:
    """The draft as its record was first read."""
    project, branch = known.get((draft.source, draft.source_id), ("", ""))
    if project in others:
        draft = replace(draft, project=project)
    return replace(draft, metadata={**draft.metadata, "branch": branch}) if branch else draft


def _prepare_all(batch: Batch, give_way: Callable[[], None]) -> PreparedBatch:
    drafts: list[PreparedDraft] = []
    items: list[str] = []
    failures: list[LedgerEntry] = []
    names = batch.places or [draft.source_id for draft in batch.drafts]
    for draft, name in zip(batch.drafts, names, strict=True):
        give_way()
        try:
            drafts.append(prepare(draft))
        except InputError as error:
            reason = f"{error.field}: {error.message}" if error.field else error.message
            failures.append(LedgerEntry(name, "failed", reason))
        else:
            items.append(name)
    return PreparedBatch(batch, tuple(drafts), tuple(items), tuple(failures))
