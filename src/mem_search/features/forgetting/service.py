"""Forgetting records: at once for whoever searches, then step by step out of every file.

``forget`` removes the records and their quotes. ``run`` does what takes longer: it merges the index
of words, rewrites the database, and rewrites the vector index. What is pending is in the receipt
and in the store, so a worker that was killed continues at its next start.

``records_below`` finds the records that came from a path: a mailbox, a folder, a repository. A
record does not name the file that it came from. So what was read there is read once more, from its
start, and nothing is stored; records with the identities that it gives are those. A transcript that
its agent has deleted is read from the copy of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from mem_search import sources
from mem_search.errors import MemSearchError, NotFound, SourceError
from mem_search.ingest import copies, spool
from mem_search.ingest.indexer import RETRY_SECONDS, Indexer
from mem_search.jobs.kept_transcripts import KeptTranscripts
from mem_search.jobs.reader import STILL_SECONDS, read_batches
from mem_search.model import Draft, Location, Record
from mem_search.model.forgetting import ForgetStep, Identity, Receipt, Tombstone, Traces
from mem_search.model.records import CONTENT_ID
from mem_search.sources.base import KEPT
from mem_search.storage.archive import UPGRADE_COPIES
from mem_search.storage.redacted import clean
from mem_search.storage.rules.identities import KEY_BYTES, digest
from mem_search.storage.sql.forgetting import StoredForgetting
from mem_search.storage.store import Store
from mem_search.text.redaction import Redaction
from mem_search.waiting import Steps

log = logging.getLogger(__name__)

AT_ONCE: Final = 1_000
"""Records that are removed before the reply; the rest of more goes in the background."""


Beside = Callable[[Collection[str], Traces | None], Awaitable[int]]


class Forgetting:
    """Forgets records of one store. ``run`` until cancelled.

    ``home`` is looked through for other files that hold them. ``flush`` stores what is noted in
    memory and may quote a record. ``changed`` is called after records were removed. ``beside``
    removes transcripts of sessions, and whatever of them has a word; it returns how many.
    ``in_file``: the store is a file of the home.
    """

    def __init__(
        self,
        store: StoredForgetting,
        indexer: Indexer,
        home: Path,
        spool_dir: Path,
        flush: Callable[[], Awaitable[None]],
        changed: Callable[[], None],
        beside: Beside,
        *,
        in_file: bool = True,
    ) -> None:
        self._in_file = in_file
        self._store = store
        self._indexer = indexer
        self._home = home
        self._spool = spool_dir
        self._flush = flush
        self._changed = changed
        self._beside = beside
        self._work = asyncio.Event()

    async def forget(self, numbers: Sequence[int]) -> Receipt:
        """Forget these records. The receipt says what is removed and what is pending."""
        # First: once the records are gone, nothing tells which sessions they were of.
        await self._beside(await self._store.sessions(numbers), None)
        receipt = await self._store.begin(numbers)
        taken = 0
        try:
            while taken < AT_ONCE and (some := await self._store.remove_some(receipt)):
                taken += some
            await self._remove_quotes()
            if taken < AT_ONCE:
                await self._store.finish_step("records", [receipt], {})
        finally:
            self._changed()
            self._work.set()
        return await self.receipt(receipt)

    async def purge(self) -> Receipt:
        """Clean up after all earlier deletions."""
        receipt = await self._store.begin_purge()
        self._work.set()
        return await self.receipt(receipt)

    async def receipt(self, receipt: str) -> Receipt:
        """Raises NotFound."""
        stored = await self._store.receipt(receipt)
        if stored is None:
            raise NotFound(f"no receipt {receipt[:60]!r}; GET /api/forget lists the last ones")
        return await self._as_now(stored)

    async def receipts(self) -> list[Receipt]:
        """Receipts, the newest first."""
        return [await self._as_now(each) for each in await self._store.receipts()]

    async def _as_now(self, receipt: Receipt) -> Receipt:
        seen = await asyncio.to_thread(copies.recheck_copies, self._home, receipt.copies)
        return replace(receipt, copies=seen)

    async def run(self) -> None:
        """Do the pending steps until cancelled; what fails is tried again."""
        while True:
            self._work.clear()
            pause: float | None = None
            try:
                await self.work()
            except MemSearchError as error:
                log.warning("forgetting is waiting: %s", error)
                await self._note_waiting(error.message)
                pause = RETRY_SECONDS
            try:
                async with asyncio.timeout(pause):
                    await self._work.wait()
            except TimeoutError:
                continue

    async def work(self) -> None:
        """Do all pending steps. Raises what stops them."""
        while receipts := await self._store.receipts(unfinished=True):
            for step, do in self._steps():
                pending = [each.id for each in receipts if step in each.pending]
                if pending:
                    await self._store.finish_step(step, pending, await do())

    def _steps(self) -> list[tuple[ForgetStep, Callable[[], Awaitable[Mapping[str, int]]]]]:
        return [
            ("records", self._remove_records),
            ("uploads", self._remove_files),
            ("words", self._merge_words),
            ("copies", self._look_for_copies),
            ("quotes", self._remove_last_quotes),
            ("file", self._rewrite_file),
            ("vectors", self._remove_vectors),
            ("index", self._rewrite_index),
        ]

    async def _remove_records(self) -> Mapping[str, int]:
        while await self._store.remove_some():
            self._changed()
        return {}

    async def _remove_quotes(self) -> None:
        uploads = await self._remove_uploads()  # whose names are in the jobs that may go
        await self._flush()
        await self._store.remove_quotes(uploads=uploads["uploads"])

    async def _remove_uploads(self) -> Mapping[str, int]:
        names, traces = await self._store.read_uploads(), await self._store.traces()
        return {"uploads": await asyncio.to_thread(_discarded, self._spool, names, traces)}

    async def _remove_files(self) -> Mapping[str, int]:
        removed = dict(await self._remove_uploads())
        removed["transcripts"] = await self._beside((), await self._store.traces())
        if copies_before := await asyncio.to_thread(_without_copies, self._home):
            removed["upgrade_copies"] = copies_before
        return removed

    async def _merge_words(self) -> Mapping[str, int]:
        await self._remove_quotes()
        await self._store.merge_words()
        return {}

    async def _look_for_copies(self) -> Mapping[str, int]:
        # Before the words are gone, which are known only until the last quotes are removed.
        traces = await self._store.traces()
        if traces.words:
            copies_left = await asyncio.to_thread(
                copies.find_copies, self._home, traces, in_file=self._in_file
            )
            waiting = await self._store.receipts(unfinished=True)
            asked = [each.id for each in waiting if "copies" in each.pending]
            await self._store.note_copies(asked, copies_left)
        return {}

    async def _remove_last_quotes(self) -> Mapping[str, int]:
        # Searches that were under way when the records went have ended by now.
        await self._flush()
        await self._store.remove_quotes(last=True)
        return {}

    async def _rewrite_file(self) -> Mapping[str, int]:
        await self._store.rewrite_file()
        return {}

    async def _remove_vectors(self) -> Mapping[str, int]:
        await self._indexer.remove_deleted()
        return {}

    async def _rewrite_index(self) -> Mapping[str, int]:
        await self._indexer.rewrite()
        return {}

    async def _note_waiting(self, reason: str) -> None:
        try:
            await self._store.note_waiting(reason)
        except MemSearchError as error:
            log.warning("why forgetting waits could not be stored: %s", error)


def _without_copies(home: Path) -> int:
    """Remove what the store was before an upgrade, which holds what was forgotten since."""
    files = list(home.glob(UPGRADE_COPIES))
    for file in files:
        file.unlink(missing_ok=True)
    return len(files)


def _discarded(folder: Path, names: Sequence[str], traces: Traces) -> int:
    """Remove those of these uploads that hold what was forgotten; returns how many.

    One goes by its name, too. So does one that cannot be read to its end, and a file of another
    form than text: they may hold it.
    """
    if not (traces.words or traces.refs or traces.names):
        return 0
    discarded = [
        name
        for name in names
        if traces.found_in([Path(name).name])
        or not copies.is_text(folder / name)
        or copies.holds(folder / name, traces) is not False
    ]
    for name in discarded:
        spool.discard(folder, name)
    return len(discarded)


_KEY: Final = bytes(KEY_BYTES)
"""The identities are compared and not kept, so their key is no secret."""


@dataclass(frozen=True, slots=True)
class Below:
    """The numbers of the records, and what could not be read, with the reason."""

    numbers: frozenset[int] = frozenset()
    unread: tuple[str, ...] = ()


async def records_below(
    path: str, store: Store, redaction: Redaction, kept: KeptTranscripts | None = None
) -> Below:
    """The records that came from ``path`` or from what lies below it, as far as it is there."""
    wanted: dict[bytes, set[object]] = {}
    unread: list[str] = []
    for known in await store.ingest.locations():
        if (location := _within(known.location, path)) is None:
            continue
        try:
            gone = await asyncio.to_thread(kept.unpack, location) if kept else None
            with gone or nullcontext("") as copies:
                options = {**location.options, KEPT: copies} if copies else location.options
                await _collect(replace(location, options=options), wanted, redaction)
        except MemSearchError as error:
            unread.append(f"{location.source} {location.path}: {error.message}")
    if not wanted:
        return Below(unread=tuple(unread))
    refused = [Tombstone(_KEY, each, 0) for each in wanted]
    return Below(
        frozenset(await _same(await store.forgetting.refused(refused), wanted, store)),
        tuple(unread),
    )


def _within(location: Location, path: str) -> Location | None:
    """What of a location lies at or below ``path``."""
    if "://" in location.path or not Path(path).is_absolute():
        return None
    whole, wanted = Path(location.path), Path(path)
    if whole.is_relative_to(wanted):
        return location
    # A source that takes the whole for each of its parts, as git does, has nothing of a part.
    source = sources.by_name(location.source)
    if wanted.is_relative_to(whole) and source.locate(str(wanted)).path == str(wanted):
        return replace(location, path=str(wanted))
    return None


async def _collect(
    location: Location, wanted: dict[bytes, set[object]], redaction: Redaction
) -> None:
    """Add the identities that the location gives, with the contents that tell equal ids apart.

    Raises SourceError.
    """
    start = partial(read_batches, sources.by_name(location.source), location, location, {})
    steps = Steps(start, f"look for records of {location.source}")
    try:
        while (batch := await steps.next(STILL_SECONDS)) is not None:
            cleaned = await asyncio.to_thread(clean, replace(batch, whole=()), redaction)
            for draft in cleaned.drafts:
                content = draft.metadata.get(CONTENT_ID)
                for each in _digests(draft, content):
                    wanted.setdefault(each, set()).add(content)
    except TimeoutError:
        raise SourceError(f"nothing happened for {STILL_SECONDS:g} s") from None
    finally:
        steps.end()


def _digests(draft: Draft, content: object) -> list[bytes]:
    names = [draft.source_id, *([f"{draft.source_id}#{content}"] if content else [])]
    return [digest(_KEY, draft.source, name, draft.kind) for name in names]


def _identity(record: Record) -> Identity:
    return record.source, record.source_id, record.kind


async def _same(
    numbers: Sequence[int], wanted: dict[bytes, set[object]], store: Store
) -> list[int]:
    """Those of ``numbers`` that have the content which was read, where an id is used twice."""
    held = await store.records.fetch(numbers)
    same = []
    for number, record in held.items():
        contents = wanted.get(digest(_KEY, *_identity(record)), set())
        content = record.metadata.get(CONTENT_ID)
        if content is None or not contents or content in contents or None in contents:
            same.append(number)
    return same
