"""Mail files: what format a file has, and the messages of an mbox file with their places.

An mbox file separates messages by lines ``From ADDRESS DATE`` (RFC 4155). Programs write them in
many ways, some without date or address, and not all mark such lines inside a message. So what
follows decides: a head of a message. ``>From`` at the start of a line is unmarked.
MMDF has a line of four control characters before and after each message.
"""

from __future__ import annotations

import codecs
import io
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, BinaryIO, Final, Literal, cast

from mem_search.extractors.refusal import is_binary_format
from mem_search.patterns import pattern
from mem_search.sources.mail.message import MAX_LINES, MAX_MESSAGE_BYTES
from mem_search.sources.mail.tnef import is_tnef

Format = Literal["message", "mbox", "outlook", "apple", "tnef"]

_SEPARATOR: Final = pattern(rb"From [^\n]{0,300}?\b\d{1,2}:\d\d[^\n]{0,60}?\b\d{4}\b")
_MMDF: Final = b"\1\1\1\1"
_SEPARATED: Final = pattern(rb"\n\r?\nFrom(?: [^\n]{0,300})?\r?\n")
_MARKED: Final = pattern(rb"^>(>{0,100}From )", re.MULTILINE)
_HEADER: Final = pattern(
    rb"^(?:from|to|subject|date|message-id|received|return-path|mime-version|reply-to|delivered-to"
    rb"|content-type|x-[a-z-]{1,40}):",
    re.IGNORECASE | re.MULTILINE,
)
_FIELD: Final = pattern(rb"[!-9;-~]{1,80}:")
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OF_MAIL: Final = pattern(rb"^(?:from|sender|return-path):", re.IGNORECASE | re.MULTILINE)
_OF_TRANSPORT: Final = pattern(rb"^(?:date|message-id|received):", re.IGNORECASE | re.MULTILINE)
_BOXES: Final = ("mbox", "mbx", "mbs")
_MESSAGES: Final = ("", "txt", "eml", "emlx", "msg", *_BOXES)
"""Ends of names of mail; of others, as in ``INBOX.Sent``, the head has to be that of mail."""

_LOOKED_AT: Final = 16_384
_AFTER: Final = 8_192
"""Bytes after a separator in which the head of its message shows itself."""
_MAX_LINE_BYTES: Final = 1024 * 1024
_CHECKED: Final = 4_096


def format_of(name: str, head: bytes) -> Format | None:
    """The format of a file called ``name`` that begins with ``head``; None if it is no mail."""
    suffix = name.lower().rpartition(".")[2] if "." in name else ""
    if head.startswith(_OLE):
        return "outlook" if suffix in ("msg", "oft") else None
    if is_tnef(head):
        return "tnef"
    head = head if b"\n" in head else head.replace(b"\r", b"\n")
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")[:_LOOKED_AT]
    first, _, rest = head.partition(b"\n")
    least = 1 if _SEPARATOR.match(first) else 2
    if _is_from(first) and (suffix in _BOXES or begins_message(rest, least)):
        return "mbox"
    if suffix == "emlx" and head.partition(b"\n")[0].strip().isdigit():
        return "apple"
    if suffix == "eml":
        return None if is_binary_format(head) or head.startswith(b"%PDF-") else "message"
    top = head.partition(b"\n\n")[0].partition(b"\r\n\r\n")[0]
    if b"\0" not in head and _FIELD.match(head) and len(_HEADER.findall(top)) >= 2:
        is_mail = _OF_MAIL.search(top) and _OF_TRANSPORT.search(top)
        if suffix in _BOXES or any(
            begins_message(head[match.end() :]) for match in _SEPARATED.finditer(head)
        ):
            return "mbox" if suffix in _MESSAGES or is_mail else None
        if suffix in _MESSAGES or is_mail:
            return "message"
    return None


def begins_message(data: bytes, least: int = 2) -> bool:
    """Whether ``data`` begins as the head of a message does, with so many usual fields."""
    top = data[:_AFTER].replace(b"\r\n", b"\n")
    if top.startswith(b">From "):  # some programs put the line before it into the head
        top = top.partition(b"\n")[2]
    top = top.partition(b"\n\n")[0]
    return bool(_FIELD.match(top)) and len(_HEADER.findall(top)) >= least


@dataclass(frozen=True, slots=True)
class Place:
    """How far an mbox file was read: ``offset`` in bytes after ``messages`` messages, the last of
    which begins at ``last``. ``check`` is a checksum of bytes before ``offset``; ``size`` and
    ``modified`` (ns) are those of the file when it was read."""

    offset: int = 0
    messages: int = 0
    last: int = 0
    check: int = 0
    size: int = -1
    modified: int = 0

    @classmethod
    def of(cls, stored: object) -> Place:
        """The place that a cursor has; the start for anything else."""
        if isinstance(stored, Mapping):
            known: dict[str, Any] = {
                name: value
                for name, value in stored.items()
                if name in cls.__slots__ and isinstance(value, int)
            }
            return cls(**known)
        return cls()

    def stored(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message of an mbox file: its bytes, None if it is too large, and the place after it."""

    data: bytes | None
    after: Place


def continued(file: BinaryIO, place: Place, size: int) -> Place:
    """Where to go on in a file that was read up to ``place``: there if messages were appended, at
    its last message if that one grew, at the start if the file is another one."""
    if not place.messages or size < place.offset or _check(file, place.offset) != place.check:
        return Place()
    file.seek(place.offset)
    if size == place.offset or _separates(file, file.readline(_LOOKED_AT), is_apart=True):
        return place
    return Place(place.last, place.messages - 1, place.last)


def messages_of(file: BinaryIO, start: Place) -> Iterator[StoredMessage]:
    """The messages after ``start``. Memory is bounded by the largest message."""
    begun = at = start.offset
    number = start.messages
    lines: list[bytes] = []
    size = 0
    file.seek(at)
    at_start = is_apart = True
    is_bare = False
    while line := file.readline(_MAX_LINE_BYTES):
        end = at + len(line)
        line = line if at else line.removeprefix(codecs.BOM_UTF8)
        if at_start and (at == 0 or _separates(file, line, is_apart=is_apart)) and _is_from(line):
            if at > begun and (size or not is_bare):
                number += 1
                yield _stored_message(file, lines, size, Place(at, number, begun))
                file.seek(end)
            begun, lines, size, is_bare = at, [], 0, line.startswith(_MMDF)
        else:
            size += len(line)
            lines.append(line)
            if len(lines) > MAX_LINES:
                size = MAX_MESSAGE_BYTES + 1
            if size > MAX_MESSAGE_BYTES:
                lines.clear()
        at = end
        at_start, is_apart = line.endswith(b"\n"), not line.strip()
    if at > begun and (size or not is_bare):
        yield _stored_message(file, lines, size, Place(at, number + 1, begun))


class _LinesOfOldMacs(io.RawIOBase):
    """A file whose lines end with a carriage return, with those of today, byte by byte."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # called by io
        data = self._file.read(len(buffer)).replace(b"\r", b"\n")
        buffer[: len(data)] = data
        return len(data)


def with_lines(file: BinaryIO, head: bytes) -> BinaryIO:
    """``file``, which begins with ``head``, with ends of lines that mail has."""
    is_old = b"\r" in head and b"\n" not in head
    return cast("BinaryIO", io.BufferedReader(_LinesOfOldMacs(file))) if is_old else file


def _is_from(line: bytes) -> bool:
    return line.startswith(b"From ") or line.strip() in (b"From", _MMDF)


def _separates(file: BinaryIO, line: bytes, *, is_apart: bool) -> bool:
    """Whether ``line``, which was read last, separates two messages.

    With the time of day and the year it does, unless text goes on after it. Without them the line
    before it is empty (``is_apart``), and the head of a message follows.
    """
    if not _is_from(line):
        return False
    if line.startswith(_MMDF):
        return True
    is_dated = _SEPARATOR.match(line) is not None
    if not (is_dated or is_apart):
        return False
    at = file.tell()
    after = file.read(_AFTER)
    file.seek(at)
    if is_dated and is_apart and not after[:2].strip():
        return True  # a message without a head
    return begins_message(after, 1 if is_dated else 2)


def _stored_message(file: BinaryIO, lines: list[bytes], size: int, after: Place) -> StoredMessage:
    data = None if size > MAX_MESSAGE_BYTES else _MARKED.sub(rb"\1", b"".join(lines))
    return StoredMessage(data, replace(after, check=_check(file, after.offset)))


def _check(file: BinaryIO, offset: int) -> int:
    start = max(0, offset - _CHECKED)
    file.seek(start)
    return zlib.crc32(file.read(offset - start))
