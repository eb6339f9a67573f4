"""The source `mail`: messages in `.eml` and `.msg` files, mbox files and Maildir folders.

``mailboxes`` tells formats apart and cuts mbox files, ``message`` and ``outlook`` read a message,
``headers`` and ``bodies`` its words, ``drafts`` makes the records, and ``intake`` takes them.
A location may also be a mailbox on a server (``imap``, ``accounts``).
Each message becomes an e-mail; its attachments become files, and the messages inside it e-mails,
which it links to. A message that cannot be read is named in the ledger, and the others go on.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from mem_search import extractors
from mem_search.contracts import FileFormat
from mem_search.errors import SourceError
from mem_search.model import Batch, LedgerEntry, Location
from mem_search.platform import expanded
from mem_search.regular_file import open_regular_file
from mem_search.sources.base import BaseSource, BatchBuilder
from mem_search.sources.mail import imap
from mem_search.sources.mail.accounts import SCHEMES, Account
from mem_search.sources.mail.drafts import NAME
from mem_search.sources.mail.holdings import MARK, Holdings, mark_of
from mem_search.sources.mail.intake import Intake, Message, layout_said
from mem_search.sources.mail.listing import (
    INDEX,
    SUFFIXES,
    File,
    Listing,
    files_at,
    is_in_maildir,
    walk,
)
from mem_search.sources.mail.mailboxes import (
    Format,
    Place,
    continued,
    format_of,
    messages_of,
    with_lines,
)
from mem_search.sources.mail.message import MAX_MESSAGE_BYTES, TOO_LARGE, Mail, read_message
from mem_search.sources.mail.outlook import read_outlook
from mem_search.sources.whole_files import head

_HEAD: Final = 32_768
_MORK: Final = b"// <!-- <mdb:mork"
"""What an index of Thunderbird begins with."""
_OTHER: Final = "its name says that it is mail, but it is something else; name it as what it is"
_NO_MAIL: Final = "no mail: it is no .eml or .msg file, mbox file or message"
_POLLED: Final = 60.0
"""Seconds between two looks into a mailbox on a server."""

MAX_FILE_BYTES: Final = 256 * 2**30
"""Bytes of a file of mail; a mailbox of many years has tens of gigabytes."""

_SETTLED: Final = 1.0
"""Seconds. A file that changed later than that ago may still be written: half a message would be
another message with the same id."""

_GONE: Final = "it is no longer there; a message that another place has, too, stays"


class MailFiles(BaseSource):
    """Reads a file, all mail files below a folder, or a mailbox on a server (``imap``).

    What a file is, its content says.

    ``source_id`` is the message id, so a message that lies in several files is one record. A file
    with one message that is gone, or has another one now, releases it (``Holdings``); what leaves
    an mbox file or a Maildir stays stored.

    The cursor has what ``Holdings`` keeps, ``boxes``, the ``Place`` in each mbox file, and
    ``files``, the marks of the other files one after the other. While a folder is read, ``at`` is
    the last file and ``since`` (ns) when the reading began: a file before ``at`` that changed since
    then is read again.
    """

    name = NAME
    follows = True
    schemes = SCHEMES
    file_format = FileFormat(
        SUFFIXES,
        ("message/rfc822", "application/mbox", "application/vnd.ms-outlook"),
    )

    def recognises(self, path: Path) -> bool:
        suffix = path.suffix.lower()
        if suffix in SUFFIXES or is_in_maildir(path):
            return True
        if suffix == INDEX:
            return head(path, len(_MORK)) == _MORK
        if _is_document(path):
            return False
        return format_of(path.name, head(path, _HEAD)) is not None

    def locate(self, path: str) -> Location:
        """Raises InputError for a URL that names no mailbox."""
        return Location(NAME, Account.parse(path).url if "://" in path else path)

    def pause(self, location: Location) -> float:
        return _POLLED if "://" in location.path else 0.0

    def to_watch(self, location: Location) -> list[Path]:
        root = Path(location.path)
        if "://" in location.path:
            return []
        if not root.is_dir():
            return [root.parent] if root.parent.is_dir() else []
        try:
            return sorted(Path(folder) for folder, _ in walk(root, lambda _: None, {}))
        except OSError:
            return []  # reading it says so

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        """Messages that are new or changed; nothing when none are.

        Raises SourceError when the location is missing or cannot be listed, opened or reached.
        """
        if "://" in location.path:
            yield from imap.read(location, cursor)
            return
        root = Path(expanded(location.path))
        try:
            listed = files_at(root, location.upload)
        except OSError as error:
            is_gone = isinstance(error, FileNotFoundError) and root.parent.is_dir()
            if not (is_gone and root.name in Holdings(cursor).files()):
                raise SourceError(f"cannot read {root}: {error.strerror}", field="path") from error
            listed = Listing([])  # a single file that was deleted
        yield from _Reading(listed, cursor).batches()

    def having(self, cursor: Mapping[str, Any], ids: Collection[str]) -> Collection[str]:
        return Holdings(cursor).having(ids)


@dataclass(frozen=True, slots=True)
class _Step:
    """A message of ``file``, after which ``done`` bytes of the location are read.

    ``after`` is the place after it in an mbox file; ``is_last`` says that the file ends there.
    """

    file: File
    done: int
    after: Place | None = None
    is_last: bool = False


class _Reading:
    """One reading of the files of a location. Progress is in bytes."""

    def __init__(self, listed: Listing, cursor: Mapping[str, Any]) -> None:
        self._listed = listed
        self._files = listed.files
        self._left = {name: (why, mark_of(name, why)) for name, why in listed.left.items()}
        self._before = cursor
        self._cursor = cursor
        self._held = Holdings(cursor)
        self._batch = BatchBuilder(total=sum(file.size for file in listed.files))
        self._marks = str(cursor.get("files", ""))
        self._known = {self._marks[at : at + MARK] for at in range(0, len(self._marks), MARK)}
        self._boxes: dict[str, Any] = dict(cursor.get("boxes", {}))
        self._at = str(cursor.get("at", ""))
        self._since = int(cursor.get("since", 0)) or time.time_ns()
        self._unsettled: set[str] = set()
        self._intake = Intake(self._batch)

    def batches(self) -> Iterator[Batch]:
        with closing(self._intake):
            yield from self._batches()

    def _batches(self) -> Iterator[Batch]:
        first = last = count = layout = 0
        for step, taken in self._intake.in_turn(self._messages()):
            name, place = step.file.name, step.after
            is_full = self._batch.is_full
            if place is not None:
                first, last, count = first or place.messages, place.messages, count + taken.records
                layout += taken.layout
                self._intake.note_unread(f"{name}:{place.messages}", taken)
                self._boxes[name] = place.stored()
                self._held.add_to_box(taken.held, name)
            elif step.file.in_maildir:
                self._held.add_to_box(taken.held)
            elif not step.is_last:
                self._held.set_file(name, taken.held)
            if place is None and taken.records:
                said = "; ".join(filter(None, [*taken.unread, layout_said(taken.layout)]))
                self._batch.note(LedgerEntry(name, "taken", said, taken.records))
            if is_full or step.is_last:
                self._intake.note_span(name, first, last, count, layout)
                first = count = layout = 0
            if is_full:
                at = {"at": max(self._at, name), "since": self._since, **self._held.stored()}
                yield self._batch.build(
                    {"boxes": dict(self._boxes), "files": self._marks, **at}, step.done
                )
        self._let_go()
        for name, (why, mark) in self._left.items():
            if mark not in self._known:
                self._batch.leave(name, why)
        marks = {file.mark for file in self._files if file.name not in self._unsettled}
        marks.update(mark for _, mark in self._left.values())
        names = {file.name for file in self._files}
        boxes = {name: place for name, place in self._boxes.items() if name in names}
        self._held.keep_boxes(boxes.keys())
        self._batch.release(*self._held.release())
        cursor = {"boxes": boxes, "files": "".join(sorted(marks)), **self._held.stored()}
        if self._batch or cursor != self._before:
            yield self._batch.build(cursor, self._batch.total)

    def _let_go(self) -> None:
        """Note the files that are gone; what they had is loose then."""
        for name in self._listed.is_gone(self._held.files()):
            self._held.set_file(name, ())
            self._batch.outdate(name)
            self._batch.note(LedgerEntry(name, "deleted", _GONE))

    def _is_read(self, file: File) -> bool:
        if file.name in self._boxes:
            place = Place.of(self._boxes[file.name])
            return (place.size, place.modified) == (file.size, file.modified)
        return file.mark in self._known or (file.name <= self._at and file.changed < self._since)

    def _is_settled(self, file: File) -> bool:
        """Whether nobody writes the file now; a following reading has it otherwise."""
        wait = _SETTLED - (time.time_ns() - file.changed) / 1e9
        if not self._cursor or not 0 < wait <= _SETTLED:
            return True  # it is old, or a person added it just now
        time.sleep(wait)
        try:
            now = file.path.stat()
            settled = (now.st_size, now.st_mtime_ns) == (file.size, file.modified)
        except OSError:  # gone, or moved within a Maildir
            settled = False
        if not settled:
            self._unsettled.add(file.name)
        return settled

    def _messages(self) -> Iterator[Message[_Step]]:
        """The messages that are new in the files; a step without a reader where one ends."""
        done = 0
        for file in self._files:
            if not self._is_read(file) and self._is_settled(file):
                try:
                    yield from self._read(file, done)
                except OSError as error:
                    self._batch.fail(file.name, f"cannot be read: {error.strerror or error}")
                    yield _Step(file, done + file.size, is_last=True), "", None
            done += file.size

    def _read(self, file: File, done: int) -> Iterator[Message[_Step]]:
        with open_regular_file(file.path, max_bytes=MAX_FILE_BYTES, follow=False) as opened:
            begins = opened.read(_HEAD)
            lines = with_lines(opened, begins)
            read = None
            is_other = not begins.strip() or _is_document(file.path)
            match None if is_other else format_of(file.path.name, begins):
                case "mbox":
                    yield from self._read_box(file, lines, done)
                    return
                case None if begins.strip() and file.path.suffix.lower() in SUFFIXES:
                    self._batch.fail(file.name, _OTHER)
                case None if file.is_named:
                    why = _NO_MAIL if begins.strip() else "the file is empty"
                    self._batch.leave(file.name, why)
                case None:
                    pass  # another source may read it, and say what became of it
                case form:
                    self._batch.outdate(file.name)
                    read = partial(_read_file, lines, form)
            # It is read before the file is closed: whoever takes a step reads its message first.
            yield _Step(file, done + file.size), file.name, read

    def _read_box(self, file: File, opened: BinaryIO, done: int) -> Iterator[Message[_Step]]:
        start = continued(opened, Place.of(self._boxes.get(file.name)), file.size)
        if not start.messages:
            self._batch.outdate(file.name)
            self._held.empty_box(file.name)
        for message in messages_of(opened, start):
            start = message.after
            item = f"{file.name}:{start.messages}"
            read = partial(_read_part, message.data)
            yield _Step(file, done + start.offset, start), item, read
        end = replace(start, size=file.size, modified=file.modified)
        yield _Step(file, done + file.size, end, is_last=True), "", None


def _is_document(path: Path) -> bool:
    """Whether another source reads it: a page that Chrome saved (``.mhtml``) has a head of mail."""
    return path.suffix.lower() in extractors.SUFFIXES and path.suffix.lower() != ".txt"


def _read_file(opened: BinaryIO, form: Format) -> Mail:
    if opened.seek(0, os.SEEK_END) > MAX_MESSAGE_BYTES:
        raise ValueError(TOO_LARGE)
    opened.seek(0)
    data = opened.read()
    if form == "outlook":
        return read_outlook(data)
    if form == "tnef":  # without the message that it came in
        head = b"Subject: winmail.dat\nContent-Type: application/ms-tnef\n"
        return read_message(
            head + b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(data)
        )
    if form == "apple":  # the length of the message, the message, then properties of the program
        length, _, data = data.lstrip().partition(b"\n")
        data = data[: int(length)]
    return read_message(data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n"))


def _read_part(data: bytes | None) -> Mail:
    if data is None:
        raise ValueError(TOO_LARGE)
    return read_message(data)
