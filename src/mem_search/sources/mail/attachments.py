"""The files in messages: what the readers of file formats, and other sources, find in them.

A file is read in the processes with limits that read documents. One that holds many things, as an
archive, a calendar or a list of contacts does, is read by the source that would read it in a
folder. Whatever such a source says, its records belong to the message: their source and ids are
those of mail, so no message can change a record of anything else.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Final

from mem_search import sources
from mem_search.errors import SourceError
from mem_search.extractors.extraction import Extractions
from mem_search.extractors.refusal import Refused
from mem_search.model import Draft, Location
from mem_search.model.ingest import Extracted
from mem_search.patterns import pattern
from mem_search.sources.base import scratch_folder, unpacking
from mem_search.sources.mail.message import Attachment, Mail

_KEPT: Final = 500
"""Readings that are remembered: what is sent to many is read once."""

_OPENERS: Final = frozenset({"packed", "calendar", "contacts", "evernote"})
"""Sources that read files in messages. Those of agents do not: what strangers send is no memory."""

_KINDS: Final = frozenset({"file", "note", "email", "conversation", "report", "website"})
"""Kinds that a file in a message may hold; an archive may hold anything."""

_MAX_RECORDS: Final = 2_000
_MAX_CHARS: Final = 20_000_000
"""Characters of all records of one file."""
_MAX_SECONDS: Final = 120.0
"""Until the records that a file holds are read; what comes later is named."""
_MAX_DEPTH: Final = 2
"""Messages in archives in messages."""
_MAX_SAID: Final = 50
_SUFFIX: Final = pattern(r"\.[a-z0-9]{1,8}(?:\.[a-z0-9]{1,4})?\Z")

_ARCHIVES: Final = {b"PK\x03\x04": ".zip", b"7z\xbc\xaf": ".7z", b"\x1f\x8b": ".gz"}
"""How archives begin, which some programs send without a name."""

_depth: ContextVar[int] = ContextVar("attachments", default=0)


@dataclass(slots=True)
class Opened:
    """The records of a file that holds several, and what was left of it: (name, reason)."""

    drafts: list[Draft] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)

    def leave(self, name: str, reason: str) -> None:
        if len(self.left) < _MAX_SAID:
            self.left.append((name, reason))


Outcome = Extracted | Refused | Opened
Reading = tuple[list[Attachment], int, Future[Outcome]]
"""An attachment that is being read: the list and the place it stands in, and what it will give."""


class AttachmentReader:
    """Reads as many attachments at once as the machine has means for. Call ``close`` at the end."""

    def __init__(self) -> None:
        self._extractions = Extractions()
        self._threads = ThreadPoolExecutor(self._extractions.count, "read-attachments")
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._numbers = count()
        self._known: dict[tuple[str, str], Future[Outcome]] = {}
        self._depth = _depth.get()

    def begin(self, mail: Mail) -> list[Reading]:
        """Begin to read the attachments of ``mail`` and of the messages inside it.

        Their data goes to a file, so that messages that wait for their turn take little memory.
        """
        readings = []
        for place, attached in enumerate(mail.attachments):
            if attached.data:
                readings.append((mail.attachments, place, self._begun(attached)))
                mail.attachments[place] = replace(attached, data=b"")
        for inside in mail.messages:
            readings += self.begin(inside)
        return readings

    def end(self, readings: Sequence[Reading]) -> Iterator[tuple[str, str]]:
        """Wait for the ``readings`` and put the texts into their messages.

        Yields the name of each attachment, or of what is in one, that is not read, with the reason.
        """
        for attachments, place, reading in readings:
            attached, read = attachments[place], reading.result()
            name = attached.name or f"attachment {place + 1}"
            if isinstance(read, Opened):
                attachments[place] = replace(attached, inner=tuple(read.drafts))
                for inner, reason in read.left:
                    yield f"{name}:{inner}" if inner else name, reason
            elif isinstance(read, Refused):
                if not attached.is_told:
                    yield name, read.reason
            else:
                said = {**read.metadata, **({"heading": read.title} if read.title else {})}
                attachments[place] = replace(
                    attached, text=read.text, said=said, unread=read.unread
                )

    def close(self) -> None:
        """End the processes and remove what they read."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._extractions.close()  # whatever is still being read is not wanted any more
        self._threads.shutdown()
        if self._folder is not None:
            self._folder.cleanup()

    def _begun(self, attached: Attachment) -> Future[Outcome]:
        key = attached.digest, attached.name
        if key in self._known:
            return self._known[key]
        with unpacking():
            if self._folder is None:
                self._folder = scratch_folder()
            # Of a name only its end counts: it tells the format, and leads nowhere.
            end = _SUFFIX.search(attached.name.lower())
            begins = (kind for magic, kind in _ARCHIVES.items() if attached.data.startswith(magic))
            place = f"attachment-{next(self._numbers)}{end[0] if end else next(begins, '')}"
            path = Path(self._folder.name, place)
            path.write_bytes(attached.data)
        reading = self._threads.submit(self._outcome, path, attached)
        if len(self._known) < _KEPT:
            self._known[key] = reading
        return reading

    def _outcome(self, path: Path, attached: Attachment) -> Outcome:
        try:
            names = (each.name for each in sources.installed()
                     if each.name in _OPENERS and sources.recognises(each, path))  # fmt: skip
            if (by := next(names, "")) and self._depth < _MAX_DEPTH:
                _depth.set(self._depth + 1)
                return _opened(by, path, attached.name or path.name)
            if attached.is_told:
                return Refused("its text is in the message", empty=True)
            return self._extractions.read(path, attached.name)
        finally:
            path.unlink()


def _opened(by: str, path: Path, name: str) -> Opened:
    """What the source ``by`` finds in a file that is called ``name``."""
    opened, chars, until = Opened(), 0, time.monotonic() + _MAX_SECONDS
    began = int(time.time() * 1000) - 1000
    try:
        for batch in sources.by_name(by).read(Location(by, str(path), upload=name), {}):
            for entry in batch.ledger:
                if entry.outcome in ("left", "failed"):
                    inner = entry.item.removeprefix(name).lstrip(":/")
                    opened.leave(inner, entry.reason)
            for draft in batch.drafts:
                if draft.kind not in _KINDS:
                    opened.leave(draft.title or draft.source_id, f"a {draft.kind} in a mail is not"
                                " believed; add the file itself if it is yours")  # fmt: skip
                    continue
                chars += len(draft.text)
                if len(opened.drafts) >= _MAX_RECORDS or chars > _MAX_CHARS:
                    opened.leave("", f"it holds more than the {len(opened.drafts)} records that are"
                                " read of an attachment; save it and add it by itself")  # fmt: skip
                    return opened
                opened.drafts.append(_undated(draft, began))
            if time.monotonic() > until:
                opened.leave("", f"after {_MAX_SECONDS:.0f} seconds the rest of it was not read;"
                            " save it and add it by itself")  # fmt: skip
                return opened
    except SourceError as error:
        opened.leave("", str(error))
    return opened


def _undated(draft: Draft, began: int) -> Draft:
    """Without the time at which it was unpacked."""
    written = draft.updated_at
    is_ours = draft.created_at is not None and draft.created_at >= began
    if written is not None and written >= began:
        is_ours, written = is_ours or draft.created_at == draft.updated_at, None
    return replace(draft, updated_at=written, created_at=None if is_ours else draft.created_at)


def inner_draft(draft: Draft, within: str, sent: int | None) -> Draft:
    """A record of what is in the file ``within`` (its source id), as one of the message's."""
    place = draft.source_id
    if len(place) > _MAX_PLACE or not place.isprintable():
        place = hashlib.sha256(place.encode("utf-8", "replace")).hexdigest()[:32]
    return replace(
        draft,
        source="mail",
        source_id=f"{within}/{re.sub(r'[#]', '_', place)}",
        created_at=draft.created_at if draft.created_at is not None else sent,
        project="",
        session="",
        links=(),
        earlier=(),
        former=(),
        reading=None,
        place=None,
        metadata={**draft.metadata, "attached_to": within.partition("#")[0]},
    )


_MAX_PLACE: Final = 1_000
