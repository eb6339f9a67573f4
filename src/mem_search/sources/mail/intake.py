"""What one reading of mail takes: drafts and ledger entries of each message, and of copies none."""

from __future__ import annotations

import logging
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final, TypeVar

from mem_search.errors import StorageError
from mem_search.extractors.extraction import Extractions
from mem_search.extractors.refusal import Refused
from mem_search.model import LedgerEntry
from mem_search.model.ingest import Extracted
from mem_search.sources.base import BatchBuilder, scratch_folder, unpacking
from mem_search.sources.mail.drafts import content_digest, drafts_of, held_as, identity
from mem_search.sources.mail.message import Attachment, Mail

# Attachments that are no text: what the readers of file formats find in them.
#
# They run in the processes with limits that read documents, which start with the first attachment.

_KEPT: Final = 500
"""Readings that are remembered: what is sent to many is read once."""

Reading = tuple[list[Attachment], int, Future[Extracted | Refused]]
"""An attachment that is being read: the list and the place it stands in, and what it will give."""


class AttachmentReader:
    """Reads as many attachments at once as the machine has means for. Call ``close`` at the end."""

    def __init__(self) -> None:
        self._extractions = Extractions()
        self._threads = ThreadPoolExecutor(self._extractions.count, "read-attachments")
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._numbers = count()
        self._known: dict[str, Future[Extracted | Refused]] = {}

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

        Yields the name of each attachment that gives no text, with the reason.
        """
        for attachments, place, reading in readings:
            attached, found = attachments[place], reading.result()
            if isinstance(found, Refused):
                yield attached.name or f"attachment {place + 1}", found.reason
            else:
                said = {**found.metadata, **({"heading": found.title} if found.title else {})}
                attachments[place] = replace(attached, text=found.text, said=said)

    def close(self) -> None:
        """End the processes and remove what they read."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._extractions.close()  # whatever is still being read is not wanted any more
        self._threads.shutdown()
        if self._folder is not None:
            self._folder.cleanup()

    def _begun(self, attached: Attachment) -> Future[Extracted | Refused]:
        if attached.digest in self._known:
            return self._known[attached.digest]
        with unpacking():
            if self._folder is None:
                self._folder = scratch_folder()
            path = Path(self._folder.name, f"attachment-{next(self._numbers)}")
            path.write_bytes(attached.data)
        reading = self._threads.submit(self._found, path, attached.name)
        if len(self._known) < _KEPT:
            self._known[attached.digest] = reading
        return reading

    def _found(self, path: Path, name: str) -> Extracted | Refused:
        try:
            return self._extractions.read(path, name)
        finally:
            path.unlink()


log = logging.getLogger(__name__)

_AHEAD: Final = 16
"""Messages whose attachments are read before their turn: enough for the processes to be busy."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a message: the number of its records, and how its place names what it has
    (``drafts.held_as``), whether it was stored from here or from a copy before it."""

    records: int = 0
    held: tuple[str, ...] = ()


At = TypeVar("At")
Message = tuple[At, str, Callable[[], Mail] | None]
"""Where a message is, what the ledger calls it, and what reads it; None where there is none."""


class Intake:
    """Puts messages into ``found`` in their order. Call ``close`` at the end."""

    def __init__(self, found: BatchBuilder) -> None:
        self._found = found
        self._said: dict[str, str] = {}
        """Id → what the message says, so that an id that is used twice loses no message."""
        self._taken: set[str] = set()
        self._attachments = AttachmentReader()

    def close(self) -> None:
        self._attachments.close()

    def in_turn(self, messages: Iterable[Message[At]]) -> Iterator[tuple[At, Taken]]:
        """Take each message in its turn, while the attachments of the next ones are being read.

        A message that gives no record is named in the ledger with the reason. Yields where each
        message is, as the caller knows it, and what became of it.
        """
        ahead: deque[tuple[At, Callable[[], Taken]]] = deque()
        for at, item, read in messages:
            ahead.append((at, self._begun(item, read) if read else Taken))
            if len(ahead) > _AHEAD:
                first, ended = ahead.popleft()
                yield first, ended()
        for at, ended in ahead:
            yield at, ended()

    def _begun(self, item: str, read: Callable[[], Mail]) -> Callable[[], Taken]:
        """Read a message up to its attachments; what is returned takes it."""
        try:
            mail = read()
            is_copy = self._distinguish(mail)
            readings = [] if is_copy else self._attachments.begin(mail)
        except StorageError:
            raise  # a full disk is no fault of the message
        except Exception as error:  # noqa: BLE001 - a broken message may trip the parser anywhere
            return partial(self._fail, item, error)
        return partial(self._take, item, mail, readings, is_copy=is_copy)

    def _take(self, item: str, mail: Mail, readings: Sequence[Reading], *, is_copy: bool) -> Taken:
        try:
            for name, reason in self._attachments.end(readings):
                self._found.leave(f"{item}:{name}", reason)
            records = {draft.source_id: draft for draft in drafts_of(mail)}.values()
        except Exception as error:  # noqa: BLE001 - the same
            return self._fail(item, error)
        held = tuple(map(held_as, records))
        if is_copy:
            self._found.leave(item, "a copy of a message that was read before it")
            return Taken(held=held)
        for draft in records:
            self._found.take(draft, item)
        return Taken(len(records), held)

    def _fail(self, item: str, error: Exception) -> Taken:
        if isinstance(error, ValueError):
            self._found.fail(item, str(error))
        else:
            log.warning("%s: %r", item, error)
            self._found.fail(item, f"the message is broken ({type(error).__name__}: {error})")
        return Taken()

    def note_span(self, place: str, first: int, last: int, taken: int) -> None:
        """One entry for many messages: a mailbox may have a hundred thousand."""
        if taken:
            self._found.note(LedgerEntry(f"{place}:{first}-{last}", "taken", records=taken))

    def _distinguish(self, mail: Mail) -> bool:
        """Whether the same message was read before. Another message with its id gets another id."""
        for inside in mail.messages:
            self._distinguish(inside)
        said = content_digest(mail)
        own = identity(mail)
        if self._said.setdefault(own, said) == said:
            is_copy = own in self._taken
            self._taken.add(own)
            return is_copy
        mail.message_id = f"{own}#{said}"
        is_copy = mail.message_id in self._taken
        self._taken.add(mail.message_id)
        return is_copy
