"""The job that asks a language model about documents, when the setting ``enrich`` names one.

Documents are stored and found without it. A run asks about a few documents and ends, so that other
jobs come between; ``enrich_new`` queues the next one. A failure is a line of the ledger.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Self

from mem_search.errors import MemSearchError
from mem_search.jobs.queue import JobQueue, Report
from mem_search.metadata import enrichment
from mem_search.metadata.extraction import completed
from mem_search.model import Condition, Filters, LedgerEntry, Location, MetadataTest, Not, Record
from mem_search.model_endpoint import ChatEndpoint, Refused
from mem_search.records.registry import installed_kinds
from mem_search.settings import Settings
from mem_search.storage.ports import Store
from mem_search.text import token_count
from mem_search.text.redaction import redact, redacted_values
from mem_search.text.search_fields import FROM_MODEL

log = logging.getLogger(__name__)

NAME: Final = "enrich"
SOURCE: Final = "enrichment"
"""The source that lines of the ledger have."""

MOST: Final = 20
"""Documents of one run."""
_DAY_SECONDS: Final = 24 * 3600
_PAUSE: Final = 15.0
"""Seconds between two looks for new documents."""
_AFTER_FAILURE: Final = 600.0
"""Seconds before an endpoint that failed is asked again."""


class EnrichJob:
    """``per_minute`` requests and ``tokens`` a day (since the start of the worker) are its limits.

    ``stored`` is called after records changed.
    """

    name = NAME

    def __init__(
        self,
        store: Store,
        endpoint: ChatEndpoint | None,
        stored: Callable[[], None],
        *,
        per_minute: int,
        tokens: int,
    ) -> None:
        self._store = store
        self.endpoint = endpoint
        self._stored = stored
        self._seconds = 60.0 / per_minute
        self._most = tokens
        self._used, self._since = 0, time.monotonic()
        self._refused: set[int] = set()

    @classmethod
    def of(cls, settings: Settings, store: Store, stored: Callable[[], None]) -> Self:
        """The job with the model of the settings, if any. Raises InputError for the setting."""
        endpoint = None
        if settings.enrich:
            endpoint = ChatEndpoint(
                settings.enrich,
                enrichment.TASK,
                key=settings.enrich_key,
                seconds=settings.enrich_seconds,
            )
        limits = {"per_minute": settings.enrich_per_minute, "tokens": settings.enrich_tokens}
        return cls(store, endpoint, stored, **limits)

    @property
    def left(self) -> int:
        """Tokens that may be used today."""
        if time.monotonic() - self._since > _DAY_SECONDS:
            self._used, self._since = 0, time.monotonic()
        return self._most - self._used

    async def waiting(self) -> list[Record]:
        """Documents that no model was asked about, the newest first, at most ``MOST``."""
        kinds = tuple(kind.name for kind in installed_kinds() if kind.documents)
        asked = Condition(FROM_MODEL, (Filters(metadata=(MetadataTest((FROM_MODEL,), "has"),)),))
        filters = Filters(kinds=kinds, demand=Not(asked), without=tuple(self._refused))
        return await self._store.records.newest(filters, MOST)

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        """Ask about the documents that wait. Raises ModelUnavailable when nothing answers."""
        if self.endpoint is None:
            return {"enriched": 0, "refused": 0}
        found = await self.waiting()
        done = refused = 0
        for record in found:
            if self.left <= 0:
                await report(done, len(found), "the tokens of today are used up (enrich_tokens)")
                break
            started = time.monotonic()
            if await self._enrich(record, self.endpoint):
                done += 1
            else:
                refused += 1
            await report(done + refused, len(found), f"{done} document(s) enriched")
            await asyncio.sleep(max(0.0, self._seconds - (time.monotonic() - started)))
        return {"enriched": done, "refused": refused}

    async def _enrich(self, record: Record, endpoint: ChatEndpoint) -> bool:
        """Store what the model says of one document; False when it said nothing usable."""
        title = redact(record.title)[0]  # stored texts are redacted; these rules may be newer
        text = redact(record.text[: 2 * enrichment.MOST_TEXT])[0]
        question = enrichment.question(title, text)
        try:
            answer = await asyncio.to_thread(endpoint.ask, question)
            self._used += answer.tokens or token_count.count(question)
            said = enrichment.facts_in(answer.reply)
        except (Refused, ValueError) as error:
            reason = error.message if isinstance(error, MemSearchError) else str(error)
            self._refused.add(record.number)
            place = Location(SOURCE, endpoint.name)
            entry = LedgerEntry(str(record.ref), "failed", f"not enriched: {reason}")
            await self._store.ingest.note_items(place, [entry])
            return False
        kept = {**record.metadata, FROM_MODEL: redacted_values(said)}
        left = completed(kept, record.title, record.text, kind=record.kind).get(FROM_MODEL, {})
        if await self._store.ingest.note_from_model(record, {**left, "by": endpoint.name}):
            self._stored()
        return True


async def enrich_new(job: EnrichJob, jobs: JobQueue) -> None:
    """Queue the job whenever documents wait, until cancelled. Returns at once without a model."""
    pause = _PAUSE
    while job.endpoint is not None:
        await asyncio.sleep(pause)
        pause = _PAUSE
        try:
            recent = [state for state in await jobs.newest(10) if state.name == NAME]
            if any(state.state in ("queued", "running") for state in recent):
                continue
            if recent and recent[0].state == "failed":
                pause = _AFTER_FAILURE
            if job.left > 0 and await job.waiting():
                await jobs.submit(NAME, {})
        except MemSearchError as error:
            log.warning("cannot look for documents to enrich now: %s", error)
