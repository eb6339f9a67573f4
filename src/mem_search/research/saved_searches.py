"""Saved searches: run when told to or by the clock, telling what is new since the last time.

New is a record that was stored or changed after the search was saved and that it finds now; it
is told once as it is, over restarts too, and again only when it changes. What a run finds, what
it tells and the message to its webhook are one transaction.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from mem_search.errors import Conflict, InputError, MemSearchError, NotFound, StorageError
from mem_search.model import (
    DateRange,
    Record,
    ResearchPlacement,
    ResultTexts,
    SearchPage,
    SearchRequest,
)
from mem_search.model.saved_searches import Match, Message, SavedSearch
from mem_search.renderers.universal import id_of
from mem_search.research.requests import dump, load, redacted_text
from mem_search.scheduler import Scheduler
from mem_search.search.service import NOBODY, SearchService
from mem_search.storage.ports import RecordStore, SavedSearchStore
from mem_search.text import dates
from mem_search.text.dates import now_ms
from mem_search.webhooks.deliveries import Deliveries, new_message

SHORTEST: Final = 60
LONGEST: Final = 366 * 86_400
_UNITS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_WORDS: Final = {"hourly": 3_600, "daily": 86_400, "weekly": 604_800}
_WRITTEN: Final = re.compile(r"([0-9]{1,9})\s?([smhdw])")


def seconds(text: str) -> int:
    """The interval in seconds. Raises InputError naming ``every``."""
    word = text.strip().lower()
    match = _WRITTEN.fullmatch(word)
    found = _WORDS.get(word) or (int(match[1]) * _UNITS[match[2]] if match else 0)
    if not SHORTEST <= found <= LONGEST:
        raise InputError(
            f"{text[:40]!r} is no interval from a minute to a year; write 15m, 1h, 2d or 1w",
            field="every",
        )
    return found


def written(interval: int) -> str:
    """The shortest way to write it: ``seconds(written(n)) == n``."""
    unit = next(name for name, size in _UNITS.items() if interval % size == 0)
    return f"{interval // _UNITS[unit]}{unit}"


log = logging.getLogger(__name__)

EVENT = "saved_search.matched"
MOST_FOUND = 10_000
"""As deep as a ranking goes: of more new matches than that at once, the best are told."""

OVERLAP_MS = 60_000
"""A record gets its time a moment before it can be seen: every run looks this much further back."""

_PAGE = 100
_RETRY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to ask, how often (seconds), and whom to tell."""

    request: SearchRequest
    every: int | None = None
    inbox: bool = True
    webhook_url: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """What a run told: ``notification`` is its number, None when there was nothing new."""

    saved: SavedSearch
    matches: tuple[Match, ...]
    notification: int | None = None


class SavedSearches:
    """The saved searches of one store. ``run`` until cancelled."""

    def __init__(
        self,
        store: SavedSearchStore,
        records: RecordStore,
        service: SearchService,
        deliveries: Deliveries,
    ) -> None:
        self._store = store
        self._records = records
        self._service = service
        self._deliveries = deliveries
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._scheduler = Scheduler("saved searches", self._run_due, retry=_RETRY_SECONDS)

    async def create(self, name: str, plan: Plan) -> SavedSearch:
        """Raises Conflict when the name is taken, and what ``check`` raises."""
        await self._check(plan)
        if not await self._store.create(name, dump(plan.request), **_values(plan), at=now_ms()):
            raise Conflict(f"there is a saved search {name!r} already", field="name")
        self.wake()
        return await self.get(name)

    async def change(self, name: str, plan: Plan) -> SavedSearch:
        """Raises NotFound, and what ``check`` raises."""
        await self._check(plan)
        await self._store.change(name, dump(plan.request), **_values(plan), at=now_ms())
        self.wake()
        return await self.get(name)

    async def get(self, name: str) -> SavedSearch:
        """Raises NotFound."""
        found = await self._store.get(name)
        if found is None:
            raise NotFound(
                f"no saved search {name[:60]!r};"
                " `mem-search saved list` and GET /api/v1/saved-searches list them"
            )
        return found

    async def listed(self) -> list[SavedSearch]:
        """All of them by name."""
        return await self._store.listed()

    async def remove(self, name: str) -> None:
        """Forget it with what it told. Raises NotFound."""
        saved = await self.get(name)
        await self._store.remove(saved.name)

    async def ask(self, saved: SavedSearch, surface: str) -> SearchPage:
        """Its question as it stands, with everything that it finds."""
        return await self._service.search(_now_again(load(saved.request)), surface)

    async def look(self, name: str) -> Run:
        """Run it now and tell what is new. Raises NotFound, and what a search raises."""
        saved = await self.get(name)
        async with self._locks[saved.name]:
            return await self._look(await self.get(name))

    def wake(self) -> None:
        """Schedules have changed."""
        self._scheduler.wake()

    async def run(self) -> None:
        """Run what is due, then wait for what comes due or is added, until cancelled."""
        await self._scheduler.run()

    async def _run_due(self) -> int | None:
        """Run all that is due; when the next one is."""
        for name in await self._store.due(now_ms()):
            try:
                await self.look(name)
            except NotFound:  # removed a moment ago
                continue
            except StorageError:
                raise
            except MemSearchError as error:
                log.warning("saved search %s failed: %s", name, error)
                saved = await self.get(name)
                await self._store.note_failure(saved, now_ms(), error.message)
        return await self._store.next_at()

    async def _check(self, plan: Plan) -> None:
        """Raises RefusedReceiver, and what the question itself raises: better now than at night."""
        if plan.webhook_url is not None:
            self._deliveries.check(plan.webhook_url)
        await self._service.search(replace(plan.request, limit=1, offset=0), NOBODY)

    async def _look(self, saved: SavedSearch) -> Run:
        started = now_ms()
        found, is_whole = await self._found(saved)
        hashes = await self._records.content_hashes(found)

        def message(matches: Sequence[Match], named: Mapping[int, Record]) -> Message:
            return new_message(EVENT, saved.webhook_url, started, _data(saved, matches, named))

        matches, number = await self._store.finish_run_and_notify(
            saved,
            [(number, hashes[number]) for number in found if number in hashes],
            at=started,
            # What could not be looked at in full is looked at again by the next run.
            since=max(saved.since, started - OVERLAP_MS) if is_whole else saved.since,
            message=message if saved.webhook_url else None,
        )
        self._deliveries.wake()
        return Run(saved, matches, number)

    async def _found(self, saved: SavedSearch) -> tuple[list[int], bool]:
        """The records stored since that it finds, best first; whether nothing stood in the way."""
        request = _now_again(load(saved.request))
        request = replace(
            request,
            filters=replace(request.filters, stored=DateRange(saved.since)),
            research=ResearchPlacement(),
            texts=ResultTexts(snippets=False),
            limit=_PAGE,
            offset=0,
        )
        found: dict[int, None] = {}
        is_whole = True
        while True:
            page = await self._service.search(request, NOBODY)
            found |= dict.fromkeys(result.record.number for result in page.results)
            is_whole = is_whole and _is_whole(page)
            request = replace(request, offset=request.offset + _PAGE)
            if request.offset >= min(page.total, MOST_FOUND) or not page.results:
                return list(found), is_whole


def _is_whole(page: SearchPage) -> bool:
    """Whether everything was looked at: what has no vector yet may still match by meaning."""
    covered = page.request.mode == "keyword" or page.report.coverage == 1
    return covered and all(leg.state != "failed" for leg in page.report.legs)


def _now_again(request: SearchRequest) -> SearchRequest:
    """The request as of now, in its time zone: ``since:yesterday`` is the day before each run."""
    assert request.asked_at is not None
    return replace(request, asked_at=datetime.now(request.asked_at.tzinfo))


def _values(plan: Plan) -> dict[str, Any]:
    return {"every_seconds": plan.every, "inbox": plan.inbox, "webhook_url": plan.webhook_url or ""}


def _data(
    saved: SavedSearch, matches: Sequence[Match], named: Mapping[int, Record]
) -> dict[str, Any]:
    """What the webhook is told: which records, by name; not what is in them."""
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
