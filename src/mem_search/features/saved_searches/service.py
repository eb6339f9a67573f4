"""Saved searches: run by hand or on a schedule, each run reports the new matches.

A match is new if its record was stored or changed after the search was saved. It is reported
once, also across restarts, and again only after it has changed. A run stores its matches, its
notification and the webhook message in one transaction.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mem_search.background import Scheduler
from mem_search.errors import Conflict, InputError, MemSearchError, NotFound, StorageError
from mem_search.features.saved_searches.model import Match, SavedSearch, StoredPlan
from mem_search.features.saved_searches.sql import MakeMessage, SavedSearchStore
from mem_search.features.webhooks.service import MAILTO, Deliveries, new_message
from mem_search.model import (
    DateRange,
    Record,
    ResearchPlacement,
    ResultTexts,
    SearchPage,
    SearchRequest,
)
from mem_search.outgoing import RefusedReceiver
from mem_search.renderers.universal import id_of
from mem_search.search.service import UNLOGGED, SearchService
from mem_search.search.stored_requests import dump, load, redacted_text
from mem_search.storage.store import Store
from mem_search.text import dates, secret_rules
from mem_search.text.dates import now_ms
from mem_search.text.schedules import next_run

log = logging.getLogger(__name__)

EVENT = "saved_search.matched"
MAX_FOUND = 10_000
"""The depth of a ranking; of more new matches in one run, the best are reported."""

OVERLAP_MS = 60_000
"""A record gets its time shortly before it is visible, so runs look back this much further."""

_PAGE = 100
_RETRY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to search, when (``text.schedules``), where to report, and what it is for."""

    request: SearchRequest
    schedule: str = ""
    inbox: bool = True
    webhook_url: str | None = None
    email: str | None = None
    description: str = ""

    def stored(self) -> StoredPlan:
        """The plan with its request and description as plain values."""
        described = {"description": self.description} if self.description else {}
        request = {**dump(self.request), **described}
        receivers = self.webhook_url or "", self.email or ""
        return StoredPlan(request, self.schedule, self.inbox, *receivers)


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run; ``notification`` is its number, None without new matches."""

    saved: SavedSearch
    matches: tuple[Match, ...]
    notification: int | None = None


class SavedSearches:
    """The saved searches of one store; ``run`` executes scheduled ones."""

    def __init__(
        self,
        store: Store,
        service: SearchService,
        deliveries: Deliveries,
    ) -> None:
        self.store = store.part(SavedSearchStore)
        self._records = store.records
        self._service = service
        self._deliveries = deliveries
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._scheduler = Scheduler("saved searches", self._run_due, retry=_RETRY_SECONDS)

    async def create(self, name: str, plan: Plan) -> SavedSearch:
        """Save a search. Raises Conflict when the name is in use, and what ``check`` raises."""
        await self._check(plan)
        if not await self.store.create(name, plan.stored(), now_ms()):
            raise Conflict(f"there is a saved search {name!r} already", field="name")
        self.wake()
        return await self.get(name)

    async def change(self, name: str, plan: Plan) -> SavedSearch:
        """Replace a saved search. Raises NotFound, and what ``check`` raises."""
        await self._check(plan)
        await self.store.change(name, plan.stored(), now_ms())
        self.wake()
        return await self.get(name)

    async def get(self, name: str) -> SavedSearch:
        """One saved search. Raises NotFound."""
        saved = await self.store.get(name)
        if saved is None:
            raise NotFound(
                f"no saved search {name[:60]!r};"
                " `mem-search saved list` and GET /api/v1/saved-searches list them"
            )
        return saved

    async def listed(self) -> list[SavedSearch]:
        """All saved searches by name."""
        return await self.store.listed()

    async def remove(self, name: str) -> None:
        """Delete it with its notifications. Raises NotFound."""
        saved = await self.get(name)
        await self.store.remove(saved.name)

    async def search(self, saved: SavedSearch, surface: str) -> SearchPage:
        """All results of the search, new or not."""
        return await self._service.search(_now_again(load(saved.request)), surface, current=True)

    async def run_now(self, name: str) -> Run:
        """Run it and report new matches. Raises NotFound, and what a search raises."""
        saved = await self.get(name)
        async with self._locks[saved.name]:
            return await self._run(await self.get(name))

    def wake(self) -> None:
        """Call this after a schedule has changed."""
        self._scheduler.wake()

    async def run(self) -> None:
        """Run searches when they are due, until cancelled."""
        await self._scheduler.run()

    async def _run_due(self) -> int | None:
        """Run every search that is due; returns when the next one is."""
        now = now_ms()
        for saved in await self.store.listed():  # a clock that was ahead must hold none
            try:
                following = next_run(saved.schedule, now) if saved.next_at else None
            except InputError as error:  # another program has changed the row
                await self.store.note_failure(saved, now, error.message)
                continue
            if saved.next_at and following and saved.next_at > following:
                await self.store.set_next(saved.name, following)
        for name in await self.store.due(now_ms()):
            try:
                await self.run_now(name)
            except NotFound:  # removed a moment ago
                continue
            except StorageError:
                raise
            except MemSearchError as error:
                log.warning("saved search %s failed: %s", name, error)
                saved = await self.get(name)
                await self.store.note_failure(saved, now_ms(), error.message)
            except Exception as error:
                # One search that cannot be read must not end all others.
                log.exception("saved search %s failed", name)
                saved = await self.get(name)
                why = f"internal error: {type(error).__name__}; save the search again"
                await self.store.note_failure(saved, now_ms(), why)
        return await self.store.next_at()

    async def _check(self, plan: Plan) -> None:
        """Run it once, to report errors now. Raises RefusedReceiver, and what a search raises."""
        if plan.webhook_url is not None:
            self._deliveries.check(plan.webhook_url)
        if plan.email is not None:
            try:
                self._deliveries.check(MAILTO + plan.email)
            except RefusedReceiver as error:
                error.field = "email"
                raise
        await self._service.search(replace(plan.request, limit=1, offset=0), UNLOGGED)

    async def _run(self, saved: SavedSearch) -> Run:
        await secret_rules.ready()  # for the message
        started = now_ms()
        numbers, is_complete = await self._matching_numbers(saved)
        hashes = await self._records.content_hashes(numbers)

        def message_to(url: str) -> MakeMessage | None:
            if not url:
                return None
            return lambda matches, named: new_message(
                EVENT, url, started, _data(saved, matches, named)
            )

        matches, number = await self.store.finish_run_and_notify(
            saved,
            [(number, hashes[number]) for number in numbers if number in hashes],
            at=started,
            # The next run repeats an incomplete one.
            since=max(saved.since, started - OVERLAP_MS) if is_complete else saved.since,
            webhook=message_to(saved.webhook_url),
            email=message_to(saved.email and MAILTO + saved.email),
        )
        self._deliveries.wake()
        return Run(saved, matches, number)

    async def _matching_numbers(self, saved: SavedSearch) -> tuple[list[int], bool]:
        """The matching records stored since the last run, best first, and whether that is all."""
        request = _now_again(load(saved.request))
        request = replace(
            request,
            filters=replace(request.filters, stored=DateRange(saved.since)),
            research=ResearchPlacement(),
            texts=ResultTexts(snippets=False),
            limit=_PAGE,
            offset=0,
        )
        numbers: dict[int, None] = {}
        is_complete = True
        while True:
            page = await self._service.search(request, UNLOGGED, current=True)
            numbers |= dict.fromkeys(result.record.number for result in page.relevant)
            is_complete = is_complete and _is_complete(page)
            request = replace(request, offset=request.offset + _PAGE)
            if request.offset >= min(page.total, MAX_FOUND) or not page.results:
                return list(numbers), is_complete


def _is_complete(page: SearchPage) -> bool:
    """Whether the search covered all records: one without a vector may still match by meaning."""
    covered = page.request.mode == "keyword" or page.report.coverage == 1
    return covered and all(leg.state != "failed" for leg in page.report.legs)


def _now_again(request: SearchRequest) -> SearchRequest:
    """The request as of now, in its time zone: ``since:yesterday`` is the day before each run."""
    assert request.asked_at is not None
    return replace(request, asked_at=datetime.now(request.asked_at.tzinfo))


def _data(
    saved: SavedSearch, matches: Sequence[Match], named: Mapping[int, Record]
) -> dict[str, Any]:
    """The webhook message: which records match, without their content."""
    sent = [(match, named[match.number]) for match in matches if match.number in named]
    return {
        "saved_search": saved.name,
        "query": redacted_text(saved.request),
        "count": len(matches),
        "matches": [
            {
                "id": id_of(record),
                "content_type": record.kind,
                "title": record.title,
                "url": record.url or None,
                "created_at": dates.iso(record.created_at),
                "changed": match.changed,
            }
            for match, record in sent
        ],
    }
