"""Which stored records came from a path: a mailbox, a folder that is followed, a repository.

A record does not name the file that it came from. So what was read there is read once more, from
its start, and nothing is stored; records with the identities that it gives are those. A transcript
that its agent has deleted is read from the copy of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from mem_search import sources
from mem_search.errors import MemSearchError, SourceError
from mem_search.jobs.kept_transcripts import KeptTranscripts
from mem_search.jobs.reader import STILL_SECONDS, read_batches
from mem_search.model import Draft, Location, Record
from mem_search.model.forgetting import Identity, Tombstone
from mem_search.model.records import CONTENT_ID
from mem_search.sources.base import KEPT
from mem_search.storage.redacted import clean
from mem_search.storage.rules.identities import KEY_BYTES, digest
from mem_search.storage.store import Store
from mem_search.text.redaction import Redaction
from mem_search.waiting import Steps

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
        raise SourceError(f"nothing came of it for {STILL_SECONDS:g} s") from None
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
    found = []
    for number, record in held.items():
        contents = wanted.get(digest(_KEY, *_identity(record)), set())
        content = record.metadata.get(CONTENT_ID)
        if content is None or not contents or content in contents or None in contents:
            found.append(number)
    return found
