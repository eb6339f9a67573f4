"""The search log, written after the reply: no search waits for it or fails because of it.

Entries wait in memory for the writer and are stored a batch at a time, redacted. A worker that
dies loses the last of them, which is fine for what the log is for.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from mem_search.errors import StorageError
from mem_search.model import SearchPage, SearchRequest
from mem_search.model.statistics import LoggedSearch
from mem_search.storage.ports import SearchLogStore
from mem_search.text.dates import now_ms
from mem_search.text.redaction import redact

log = logging.getLogger(__name__)

MOST_WAITING = 1_000
"""Entries kept for a writer that is busy; further ones are not noted."""

PAUSE = 2.0
"""Seconds until searches are stored; reading the log stores them at once."""

LONGEST_QUERY = 500
"""Characters; a longer text is a pasted page, which nobody searches for again."""


class SearchLog:
    """Notes searches when ``on``. ``run`` until cancelled; ``flush`` stores what waits."""

    def __init__(self, store: SearchLogStore, *, on: bool = True) -> None:
        self._store = store
        self.on = on
        self._waiting: deque[LoggedSearch] = deque()
        self._work = asyncio.Event()
        self._writing = asyncio.Lock()

    def note(self, page: SearchPage, surface: str) -> None:
        """Log a search from its reply; later pages and searches without a query are not logged."""
        request = page.request
        if not self.on or request.offset or not request.text.strip():
            return
        if len(self._waiting) >= MOST_WAITING:
            return
        self._waiting.append(
            LoggedSearch(
                now_ms(),
                request.text,
                digest(request),
                _mode(request),
                # A fusion of ranks has no total: it fuses the best of each leg.
                page.total if request.fusion is None else len(page.results),
                page.report.took_ms,
                surface,
            )
        )
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
            entries = list(self._waiting)
            self._waiting.clear()
            if not entries:
                return
            try:
                await self._store.add(await asyncio.to_thread(_clean, entries))
            except StorageError as error:
                log.warning("%d searches are not in the log: %s", len(entries), error)

    async def forget(self) -> int:
        """Empty the log; returns how many searches are forgotten."""
        await self.flush()
        return await self._store.clear()


def _mode(request: SearchRequest) -> str:
    """The name of the only leg, or of the fusion."""
    if request.fusion is None:
        return request.mode
    legs = [name for name, weight in request.fusion.weights.items() if weight]
    return legs[0] if len(legs) == 1 else "weighted"


def digest(request: SearchRequest) -> str:
    """A digest that is equal for equal filters; "" for none."""
    narrowed = (request.scope, request.folder, request.domain)
    if not request.filters and not any(narrowed):
        return ""
    filters = repr((request.filters, *narrowed)).encode("utf-8", "replace")
    return hashlib.blake2b(filters, digest_size=8).hexdigest()


def _clean(entries: Sequence[LoggedSearch]) -> list[LoggedSearch]:
    """One line each, without secrets; redacted before it is cut, so that none is cut in half."""
    return [
        replace(entry, query=_storable(" ".join(redact(entry.query)[0].split())[:LONGEST_QUERY]))
        for entry in entries
    ]


def _storable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()
