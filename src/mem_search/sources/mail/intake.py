"""What one reading of mail takes: drafts and ledger entries of each message, and of copies none."""

from __future__ import annotations

import logging
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from mem_search.errors import StorageError
from mem_search.model import LedgerEntry
from mem_search.sources.base import BatchBuilder
from mem_search.sources.mail.attachments import AttachmentReader, Reading
from mem_search.sources.mail.bodies import take_apart
from mem_search.sources.mail.drafts import content_digest, drafts_of, held_as, identity
from mem_search.sources.mail.listing import DELETED
from mem_search.sources.mail.message import MAX_TEXT_CHARS, Mail

log = logging.getLogger(__name__)

_AHEAD: Final = 16
"""Messages whose attachments are read before their turn: enough for the processes to be busy."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a message: the number of its records, and how its place names what it has
    (``drafts.held_as``), whether it was stored from here or from a copy before it. ``layout`` and
    ``unread`` are those of ``Mail``, with those of what is in it."""

    records: int = 0
    layout: int = 0
    unread: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


_MAX_QUOTED_CHARS: Final = 5_000
"""Characters of quotes of one message that are searched: a long thread is quoted in each answer."""

_MAX_LINES: Final = 1_000_000
"""Lines of messages that one reading remembers, by 4 bytes of each: 40 MB."""

At = TypeVar("At")
Message = tuple[At, str, Callable[[], Mail] | None]
"""Where a message is, what the ledger calls it, and what reads it; None where there is none."""


class Intake:
    """Puts messages into ``batch`` in their order. Call ``close`` at the end."""

    def __init__(self, batch: BatchBuilder) -> None:
        self._batch = batch
        self._said: dict[str, str] = {}
        """Id → what the message says, so that an id that is used twice loses no message."""
        self._taken: set[str] = set()
        self._attachments = AttachmentReader()
        self._copies = _OnlyCopies()

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
            if mail.is_deleted:
                return partial(self._leave, item, DELETED)
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
                self._batch.leave(f"{item}:{name}", reason)
            self._copies.find(mail)
            records = {draft.source_id: draft for draft in drafts_of(mail)}.values()
        except Exception as error:  # noqa: BLE001 - the same
            return self._fail(item, error)
        held = tuple(map(held_as, records))
        if is_copy:
            self._batch.leave(item, "a copy of a message that was read before it")
            return Taken(held=held)
        for draft in records:
            self._batch.take(draft, item)
        return Taken(len(records), _layout(mail), tuple(_unread(mail)), held)

    def _leave(self, item: str, reason: str) -> Taken:
        self._batch.leave(item, reason)
        return Taken()

    def _fail(self, item: str, error: Exception) -> Taken:
        if isinstance(error, ValueError):
            self._batch.fail(item, str(error))
        else:
            log.warning("%s: %r", item, error)
            self._batch.fail(item, f"the message is broken ({type(error).__name__}: {error})")
        return Taken()

    def note_span(self, place: str, first: int, last: int, taken: int, layout: int = 0) -> None:
        """One entry for many messages: a mailbox may have a hundred thousand."""
        if taken:
            item = f"{place}:{first}-{last}"
            self._batch.note(LedgerEntry(item, "taken", layout_said(layout), records=taken))

    def note_unread(self, item: str, taken: Taken) -> None:
        """What was not read of a message of many; it counts as a record elsewhere."""
        if taken.unread:
            self._batch.note(LedgerEntry(item, "taken", "; ".join(taken.unread)))

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


def layout_said(count: int) -> str:
    """Of parts that are no records, for the ledger; "" for none."""
    return f"{count} left out: logos, signatures and the like are no records" if count else ""


def _layout(mail: Mail) -> int:
    return mail.layout + sum(map(_layout, mail.messages))


def _unread(mail: Mail) -> Iterator[str]:
    """What was not read of a message, its files and the messages inside it."""
    yield from mail.unread
    for attached in mail.attachments:
        yield from (f"{attached.name}: {said}" for said in attached.unread)
    for inside in mail.messages:
        yield from _unread(inside)


class _OnlyCopies:
    """Finds quotes and signatures whose words stand nowhere else in their thread, as far as it was
    read: it remembers the lines of the messages of a reading."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def find(self, mail: Mail) -> None:
        """Set ``only_copy`` of ``mail``: what it quotes and signs that none before it said."""
        thread = next(iter([*mail.references, *mail.in_reply_to, mail.message_id]), "")
        reply = take_apart(mail.text[:MAX_TEXT_CHARS])
        for _ in self._new(thread, reply.own):
            pass
        lines = self._new(thread, f"{reply.quoted}\n{reply.signature}")
        mail.only_copy = "\n".join(lines)[:_MAX_QUOTED_CHARS]
        for inside in mail.messages:
            self.find(inside)

    def _new(self, thread: str, text: str) -> Iterator[str]:
        for line in text.split("\n"):
            said = " ".join(line.lstrip("> ").split())
            key = zlib.crc32(f"{thread}\0{said}".encode("utf-8", "replace"))
            if said and said != "--" and key not in self._seen:
                if len(self._seen) < _MAX_LINES:
                    self._seen.add(key)
                yield said
