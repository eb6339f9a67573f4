"""Stores what a source read: each batch with its cursor in one transaction, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from mem_search.errors import InputError
from mem_search.ingest.prepare import redacted
from mem_search.ingest.prepare_process import PrepareProcess
from mem_search.model import Batch, Draft, LedgerEntry, Location
from mem_search.model.ingest import (
    IngestCounts,
    PreparedBatch,
    PreparedDraft,
    StoredLocation,
    WholeSession,
)
from mem_search.patterns import pattern
from mem_search.storage.redacted import clean, stored_location, with_names
from mem_search.storage.rules.summaries import SUMMARY, KnownSummary, joined
from mem_search.storage.sql.ingest import Ingest
from mem_search.text import secret_rules
from mem_search.text.redaction import Redaction, redact

_FIELD = pattern(r"([a-z_]+)(?:\.[^\s:]+)*")

STALE = "the rules of this version make other steps of its session"
LEFT_OUT = "the worker ended twice while it read this, so it is left out"


class IngestWriter:
    """Writes records to the store.

    ``stored`` is called after each batch that changed the store. ``redaction`` is that of names
    and ids, which must be known before drafts are compared with what is stored.
    """

    def __init__(
        self,
        ingest: Ingest,
        stored: Callable[[], None],
        preparing: PrepareProcess | None = None,
        redaction: Redaction | None = None,
    ) -> None:
        self._ingest = ingest
        self._stored = stored
        self._preparing = preparing or PrepareProcess()
        self._redaction = redaction or Redaction(b"")
        self.changing = asyncio.Lock()
        """Held by whoever reads a record in order to write it again."""
        self._joining = asyncio.Lock()
        """Held while summaries are joined with what is stored of them, until they are stored."""

    async def named(self, location: Location) -> StoredLocation:
        """``location`` as the store knows it; made once for all questions about it."""
        if isinstance(location, StoredLocation):
            return location
        await secret_rules.ready()
        return await asyncio.to_thread(stored_location, location, self._redaction)

    async def cursor(self, location: Location, stored: StoredLocation) -> Mapping[str, Any]:
        """The stored cursor, with the names that things have at ``location``."""
        cursor = await self._ingest.cursor(stored)
        return await asyncio.to_thread(with_names, cursor, Path(location.path), self._redaction)

    async def take(
        self,
        location: Location,
        batch: Batch,
        *,
        followed: bool = False,
        others: frozenset[str] = frozenset(),
        left_out: Collection[str] = (),
        at: Callable[[str], None] = lambda _: None,
        job: str = "",
    ) -> IngestCounts:
        """Store one batch. When this returns, the batch is durable and searchable by keyword.

        ``others`` are the projects of other locations, for a batch that is ``shared``. Items that
        are ``left_out`` are not prepared. ``at`` is told each item before it is prepared, and then
        "", when the batch is stored. ``job`` is the one that reads, which counts it.
        """
        # Ids of all lines of a session are compared only: the store never gets them.
        whole, batch = batch.whole, replace(batch, whole=())
        batch = await asyncio.to_thread(clean, batch, self._redaction)
        batch = replace(batch, drafts=await self._placed(batch.drafts))
        if batch.shared:
            known = await self._ingest.first_read(batch.drafts)
            batch = replace(batch, drafts=tuple(_kept(d, known, others) for d in batch.drafts))
        if whole:
            batch = await self._without_stale(location.source, batch, whole)
        async with self._joining if any(map(_is_of_files, batch.drafts)) else nullcontext():
            batch = await self._joined(batch)
            prepared = await self._prepared(batch, left_out, at)
            at("")
            writing = asyncio.ensure_future(
                self._ingest.store_batch(location, prepared, followed=followed, job=job)
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

    async def store_one(
        self, draft: Draft, *, replace: bool = False, even_forgotten: bool = False
    ) -> int:
        """Store a record that no source reads; returns its number.

        Raises InputError naming the field that cannot be stored, and Conflict for a record that is
        known and other (unless ``replace``) or was forgotten (unless ``even_forgotten``).
        """
        (draft,) = (await asyncio.to_thread(clean, Batch(drafts=(draft,)), self._redaction)).drafts
        (prepared,) = await self._preparing.prepare([draft])
        if isinstance(prepared, str):
            named = _FIELD.match(prepared)  # ``prepare.outcome`` begins with the field
            is_field = named is not None and named[1] in Draft.__dataclass_fields__
            raise InputError(prepared, field=named[0] if named and is_field else "text")
        stored = await self._ingest.store_one(
            prepared, replace=replace, even_forgotten=even_forgotten
        )
        if stored.outcome != "unchanged":
            self._stored()
        return stored.number

    async def _placed(self, drafts: Sequence[Draft]) -> tuple[Draft, ...]:
        """The drafts with the projects that the store has for their places."""
        places = list(dict.fromkeys(draft.place for draft in drafts if draft.place is not None))
        if not places:
            return tuple(drafts)
        projects = dict(zip(places, await self._ingest.projects_at(places), strict=True))
        return tuple(
            draft
            if draft.place is None
            else replace(
                draft,
                project=projects[draft.place].name,
                project_id=projects[draft.place].number,
                place=None,
            )
            for draft in drafts
        )

    async def _joined(self, batch: Batch) -> Batch:
        """The batch with summaries that say what all files of their sessions do."""
        drafts = [*batch.drafts]
        places = [place for place, draft in enumerate(drafts) if _is_of_files(draft)]
        if not places:
            return batch
        known = await self._ingest.summaries_of([drafts[place] for place in places])
        for place in places:
            # What is kept of the parts is not redacted with the record.
            draft = await asyncio.to_thread(redacted, drafts[place])
            key = draft.source, draft.source_id
            before = known.get(key) or KnownSummary.of(draft)
            drafts[place], known[key] = joined(draft, before)
        return replace(batch, drafts=tuple(drafts))

    async def _without_stale(
        self, source: str, batch: Batch, whole: Sequence[WholeSession]
    ) -> Batch:
        """The batch, which deletes observations that earlier rules made of these sessions."""
        sessions = [each.session for each in whole]
        stored: dict[str, list[tuple[str, int, object]]] = {}
        for known in await self._ingest.observations_of(source, sessions):
            made = known.source_id, known.updated_at, known.reading.get("rules")
            stored.setdefault(known.session, []).append(made)
        renamed = {former for draft in batch.drafts for former in draft.former}
        stale = [
            source_id
            for each in whole
            for source_id in each.stale(stored.get(each.session, ()))
            if source_id not in renamed
        ]
        return replace(
            batch,
            deletions=(*batch.deletions, *stale),
            ledger=(*batch.ledger, *(LedgerEntry(each, "deleted", STALE) for each in stale)),
        )

    async def _prepared(
        self, batch: Batch, left_out: Collection[str], at: Callable[[str], None]
    ) -> PreparedBatch:
        named = [*zip(batch.drafts, batch.places or _ids(batch.drafts), strict=True)]
        failures: list[LedgerEntry] = []
        if left_out:
            kept = [(draft, name) for draft, name in named if redact(name)[0] not in left_out]
            gone = {name for _, name in named} - {name for _, name in kept}
            failures = [LedgerEntry(name, "failed", LEFT_OUT) for name in sorted(gone)]
            named = kept
        outcomes = await self._preparing.prepare(
            [draft for draft, _ in named], lambda place: at(named[place][1])
        )
        drafts: list[PreparedDraft] = []
        items: list[str] = []
        for (_, name), outcome in zip(named, outcomes, strict=True):
            if isinstance(outcome, str):
                failures.append(LedgerEntry(name, "failed", outcome))
            else:
                drafts.append(outcome)
                items.append(name)
        return PreparedBatch(batch, tuple(drafts), tuple(items), tuple(failures))

    def _tell(self, writing: asyncio.Future[IngestCounts]) -> None:
        if not writing.cancelled() and writing.exception() is None:
            self._stored()


def _kept(
    draft: Draft, known: Mapping[tuple[str, str], tuple[str, str]], others: frozenset[str]
) -> Draft:
    """The draft as its record was first read."""
    project, branch = known.get((draft.source, draft.source_id), ("", ""))
    if project in others:
        draft = replace(draft, project=project, project_id=0)
    return replace(draft, metadata={**draft.metadata, "branch": branch}) if branch else draft


def _is_of_files(draft: Draft) -> bool:
    """Whether it is the summary of a session that an agent writes files of."""
    return draft.kind == SUMMARY and draft.reading is not None


def _ids(drafts: Sequence[Draft]) -> list[str]:
    return [draft.source_id for draft in drafts]
