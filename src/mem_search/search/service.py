"""The search service: every surface, research chain and saved search calls it.

The pipeline is a function of the store and the request. The service adds spelling suggestions and
the search log. Rate limits are counted for each route, before a request gets here
(``http.access.authentication``).

The log is written after the answer: no search waits for it, and none fails with it. Entries wait
in memory and are stored a batch at a time, redacted; a worker that dies loses the last of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import time
import unicodedata
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from mem_search.errors import StorageError
from mem_search.model import Record, SearchPage, SearchRequest
from mem_search.model.statistics import Click, LoggedSearch
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.suggestions import (
    Suggestions,
    has_suspect_values,
    names_project,
    several_projects,
    unknown_values,
)
from mem_search.search.translation import Translation
from mem_search.storage.sql.search_log import StoredSearchLog
from mem_search.text.dates import now_ms
from mem_search.text.redaction import redact

log = logging.getLogger(__name__)

MAX_WAITING = 1_000
"""Entries kept for a writer that is busy; further ones are not noted."""

PAUSE = 2.0
"""Seconds until searches are stored; reading the log stores them at once."""

MAX_QUERY_CHARS = 500
"""Characters; a longer text is a pasted page, which nobody searches for again."""


class SearchLog:
    """Notes searches, and which records are opened, when ``on``.

    ``run`` until cancelled; ``flush`` stores what waits.
    """

    def __init__(self, store: StoredSearchLog, *, on: bool = True, clicks: bool = False) -> None:
        self._store = store
        self.on = on
        self.notes_clicks = on and clicks
        self._shown: dict[int, tuple[str, int]] = {}
        self._clicks: list[Click] = []
        self._waiting: deque[LoggedSearch] = deque()
        self._opened: dict[int, tuple[int, int]] = {}
        self._work = asyncio.Event()
        self._writing = asyncio.Lock()

    def note(self, page: SearchPage, surface: str) -> None:
        """Log the question of a search from its reply, without the fields in it.

        Later pages and searches by filters alone are not logged.
        """
        request, analyzed = page.request, page.report.analyzed
        question = request.text if analyzed.question is None else analyzed.question
        if not self.on or request.offset or not question.strip():
            return
        if self.notes_clicks and surface in CHOOSING and _is_plain(page):
            for result in page.results:  # of one record the latest question counts
                self._shown.pop(result.record.number, None)
                self._shown[result.record.number] = question, now_ms()
            for number in list(self._shown)[:-MAX_WAITING]:
                del self._shown[number]
        if len(self._waiting) >= MAX_WAITING:
            return
        mode, total = str(request.mode), page.total
        if request.fusion is not None:  # it has no total: it fuses the best of each leg
            legs = [name for name, weight in request.fusion.weights.items() if weight]
            mode, total = legs[0] if len(legs) == 1 else "weighted", len(page.results)
        took_ms = page.report.took_ms
        self._waiting.append(
            LoggedSearch(now_ms(), question, digest(page), mode, total, took_ms, surface)
        )
        self._work.set()

    def note_opened(self, records: Iterable[Record], surface: str) -> None:
        """Note that somebody opened records, unless ``surface`` is UNLOGGED."""
        if not self.on or surface == UNLOGGED or len(self._opened) >= MAX_WAITING:
            return
        records = list(records)
        if len(records) == 1:  # several at once are no choice
            self.note_chosen(records[0], surface)
        for record in records:
            _, times = self._opened.get(record.number, (0, 0))
            self._opened[record.number] = now_ms(), times + 1
            self._work.set()

    def note_chosen(self, record: Record, surface: str) -> None:
        """Note a click if a search of the last minutes showed the record, opened or copied from."""
        if not self.notes_clicks or surface not in CHOOSING or len(self._clicks) >= MAX_WAITING:
            return
        question, shown_at = self._shown.pop(record.number, ("", 0))
        if question and 0 <= now_ms() - shown_at <= CHOICE_MS:
            self._clicks.append(Click(now_ms(), question, record.number))
            self._work.set()

    async def run(self) -> None:
        """Store what is noted until cancelled."""
        while True:
            await self._work.wait()
            # Store several at once, and not while a reply is written.
            await asyncio.sleep(PAUSE)
            await self.flush()

    async def flush(self) -> None:
        """Store what waits; what cannot be stored is dropped, and the reason logged."""
        async with self._writing:  # a reader of the log also waits for the entries being written
            self._work.clear()
            entries, opened = list(self._waiting), self._opened
            self._waiting.clear()
            clicks, self._opened, self._clicks = self._clicks, {}, []
            try:
                if entries:
                    await self._store.add(await asyncio.to_thread(_clean, entries))
                if opened:
                    await self._store.opened(opened)
                if clicks:
                    await self._store.add_clicks(await asyncio.to_thread(_clean_clicks, clicks))
            except StorageError as error:
                log.warning("%d searches and %d openings are not in the log: %s",
                            len(entries), len(opened), error)  # fmt: skip

    async def forget(self) -> int:
        """Empty the log; returns how many searches are forgotten."""
        await self.flush()
        self._shown.clear()
        return await self._store.clear()


def digest(page: SearchPage) -> str:
    """A digest that is equal for equal filters, also those written in the query; "" for none."""
    request, analyzed = page.request, page.report.analyzed
    narrowed = (request.scope, request.folder, request.domain, *sorted(request.where.items()))
    # Without fields in the query its operators are part of the question.
    written = () if analyzed.question is None else (analyzed.demanded,)
    if not request.filters and not any(narrowed) and not written:
        return ""
    filters = repr((request.filters, *narrowed, *written)).encode("utf-8", "replace")
    return hashlib.blake2b(filters, digest_size=8).hexdigest()


def _clean(entries: Sequence[LoggedSearch]) -> list[LoggedSearch]:
    """One line each, without secrets; redacted before it is cut, so that none is cut in half."""
    return [
        replace(entry, query=_storable(_plain(redact(entry.query)[0])[:MAX_QUERY_CHARS]))
        for entry in entries
    ]


def _clean_clicks(clicks: Sequence[Click]) -> list[Click]:
    """Those whose question has no secret; such a one could not be asked again."""
    return [
        replace(click, query=_storable(_plain(click.query)[:MAX_QUERY_CHARS]))
        for click in clicks
        if not redact(click.query)[1]
    ]


def _is_plain(page: SearchPage) -> bool:
    """Whether it is a question alone, ranked as usual: what one can learn from."""
    request = page.request
    usual = request.order == "relevance" and request.mode == "hybrid" and request.fusion is None
    return usual and not request.is_research and digest(page) == ""


def _plain(text: str) -> str:
    """One line in composed letters: what looks the same is the same question."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _storable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


CHOOSING: Final = ("http", "cli")
"""Surfaces on which a person chooses; what agents fetch over MCP is no choice of the person."""

CHOICE_MS: Final = 10 * 60 * 1000
"""So long after a search, opening what it showed is a choice among its results."""

MAX_FEW_RESULTS: Final = 3
"""Up to so many results an unknown word of the question may be the reason."""

UNLOGGED = ""
"""The surface of searches that nobody typed, such as a replay: they are not logged."""


_ASKED_SECONDS: Final = 1.0
"""So long after a search, another one may follow."""

_WAY_SECONDS: Final = 0.2
"""So long an import gives way: the next search reads what was stored, and answers."""

UNTOLD: Final = 5.0
"""Seconds that a replica may be behind without a notice; the report has them in any case."""

_BEHIND: Final = "a replica of the store answered: what was stored in the last {} s may be missing"
_ALONE: Final = (
    "the server of the store does not answer; a replica did, and what was stored in the last {} s"
    " may be missing"
)


class SearchService:
    """One pipeline with its log and suggestions."""

    def __init__(
        self,
        pipeline: SearchPipeline,
        suggestions: Suggestions,
        log: SearchLog,
        translation: Translation | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.translation = translation
        self.suggestions = suggestions
        self.log = log
        self._asked_at = -_ASKED_SECONDS

    async def give_way(self) -> None:
        """Wait a fifth of a second if there was a search in the last second.

        An import calls this after each large batch. The next search brings the caches up to date,
        and reading the next batch meanwhile would hold the interpreter's lock.
        """
        if time.monotonic() < self._asked_at + _ASKED_SECONDS:
            await asyncio.sleep(_WAY_SECONDS)

    async def search(
        self, request: SearchRequest, surface: str, *, current: bool = False
    ) -> SearchPage:
        """Run one search for ``surface``: http, cli, mcp, or UNLOGGED.

        A replica of the store may answer it, and the report says so, unless it has to be
        ``current``. Raises MissingField when there is neither a query nor a filter, InputError for
        an unknown scope, Unavailable when no leg of the search answers.
        """
        self._asked_at = time.monotonic()
        with self.suggestions.store.view(current=current) as view:
            page = await self._search(request, surface)
        if view.stale_s is None and not view.notices:
            return page
        notices = (*page.report.notices, *view.notices)
        if view.stale_s is not None and (view.alone or view.stale_s > UNTOLD):
            told = _ALONE if view.alone else _BEHIND
            notices = (*notices, told.format(math.ceil(view.stale_s)))
        return replace(page, report=replace(page.report, stale_s=view.stale_s, notices=notices))

    async def _search(self, request: SearchRequest, surface: str) -> SearchPage:
        notice = ""
        if self.translation is not None:
            request, notice = await self.translation.applied(request)
        page = await self.pipeline.search(request)
        if notice:
            report = replace(page.report, notices=(*page.report.notices, notice))
            page = replace(page, report=report)
        if surface != UNLOGGED:
            self.log.note(page, surface)
        by_words = [leg.count for leg in page.report.legs if leg.name == "keyword"]
        if not page.total and page.report.analyzed.alone and not request.offset:
            page = await self._with_words_alone(page)
        if page.filters and not request.offset:
            page = await self._with_unknown_values(page)
            if names_project(page.filters):
                notices = await self.suggestions.store.read(several_projects, page.filters)
                report = replace(page.report, notices=(*page.report.notices, *notices))
                page = replace(page, report=report)
        found_little = page.total <= MAX_FEW_RESULTS or by_words == [0] or page.report.analyzed.near
        if found_little and request.text.strip() and not request.offset:
            return await self.suggestions.spelled(page)
        return page

    async def _with_words_alone(self, page: SearchPage) -> SearchPage:
        """A page of an expression that finds nothing, with what its words alone find."""
        report = page.report
        text = report.analyzed.alone
        others = await self.pipeline.search(replace(page.request, text=text, limit=1))
        if not others.total:
            return page
        notice = f"no record matches {report.analyzed.demanded}; {text} finds {others.total}"
        report = replace(
            report, notices=(*report.notices, notice), suggestions=(text, *report.suggestions)
        )
        return replace(page, report=report)

    async def _with_unknown_values(self, page: SearchPage) -> SearchPage:
        """The page with a notice for each value of its filters that no record has."""
        filters = page.filters
        if not has_suspect_values(page, filters):
            return page
        notices = await self.suggestions.store.read(unknown_values, filters)
        report = replace(page.report, notices=(*page.report.notices, *notices))
        return replace(page, report=report)

    async def check(self, request: SearchRequest) -> None:
        """Check the filters of ``request``; raises what ``search`` raises for them."""
        await self.pipeline.filters_of(request)
