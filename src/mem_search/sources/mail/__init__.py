"""The source `mail`: messages in `.eml` and `.msg` files, mbox files and Maildir folders.

``mailboxes`` tells formats apart and cuts mbox files, ``message`` and ``outlook`` read a message,
``headers`` and ``bodies`` its words, ``drafts`` makes the records, and ``intake`` takes them.
A location may also be a mailbox on a server (``imap``, ``accounts``).
Each message becomes an e-mail; its attachments become files, and the messages inside it e-mails,
which it links to. A message that cannot be read is named in the ledger, and the others go on.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat
from mem_search.errors import SourceError
from mem_search.model import Batch, LedgerEntry, Location
from mem_search.sources.base import BaseSource, BatchBuilder
from mem_search.sources.exclusions import IGNORE_FILE, Exclusions
from mem_search.sources.mail import imap
from mem_search.sources.mail.accounts import SCHEMES, Account
from mem_search.sources.mail.drafts import NAME
from mem_search.sources.mail.intake import Intake, Message
from mem_search.sources.mail.mailboxes import Format, Place, continued, format_of, messages_of
from mem_search.sources.mail.message import LARGEST, TOO_LARGE, Mail, read_message
from mem_search.sources.mail.outlook import read_outlook

_HEAD: Final = 32_768
_OTHER: Final = "its name says that it is mail, but it is something else; name it as what it is"
_NO_MAIL: Final = "no mail: it is no .eml or .msg file, mbox file or message"
_SUFFIXES: Final = (".eml", ".mbox", ".msg", ".emlx", ".mbx")
_MAILDIR: Final = frozenset({"cur", "new"})
_POLLED: Final = 60.0
"""Seconds between two looks into a mailbox on a server."""

_SETTLED: Final = 1.0
"""Seconds. A file that changed later than that ago may still be written: half a message would be
another message with the same id."""

_MARK: Final = 12
"""Characters of a file's mark: 48 bits, so a hundred thousand files are told apart."""


class MailFiles(BaseSource):
    """Reads a file, all mail files below a folder, or a mailbox on a server (``imap``).

    What a file is, its content says.

    ``source_id`` is the message id, so a message that lies in several files is one record. A file
    that is gone deletes no record.

    The cursor has ``boxes``, the ``Place`` in each mbox file, and ``files``, the marks of the other
    files one after the other. While a folder is read, ``at`` is the last file and ``since`` (ns)
    when the reading began: a file before ``at`` that changed since then is read again.
    """

    name = NAME
    follows = True
    schemes = SCHEMES
    file_format = FileFormat(
        _SUFFIXES,
        ("message/rfc822", "application/mbox", "application/vnd.ms-outlook"),
    )

    def recognises(self, path: Path) -> bool:
        suffix = path.suffix.lower()
        if suffix in _SUFFIXES or _is_in_maildir(path):
            return True
        if suffix not in ("", ".txt"):
            return False
        with path.open("rb") as opened:
            return format_of(path.name, opened.read(_HEAD)) is not None

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
            return sorted(Path(folder) for folder, _ in _walk(root, lambda _: None, {}))
        except OSError:
            return []  # reading it says so

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        """Messages that are new or changed; nothing when none are.

        Raises SourceError when the location is missing or cannot be listed, opened or reached.
        """
        if "://" in location.path:
            yield from imap.read(location, cursor)
            return
        root = Path(location.path).expanduser()
        try:
            files, left = _files(root, location.upload)
        except OSError as error:
            raise SourceError(f"cannot read {root}: {error.strerror}", field="path") from error
        yield from _Reading(files, left, cursor).batches()


@dataclass(frozen=True, slots=True)
class _File:
    """A file and its ``name`` in the ledger. ``mark`` changes with its content, but not when a
    Maildir message is moved from ``new`` to ``cur`` or gets flags."""

    name: str
    path: Path
    size: int
    modified: int
    changed: int
    mark: str
    is_named: bool
    """Whether a person named it, or its own name says that it is mail."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A message of ``file``, after which ``done`` bytes of the location are read.

    ``after`` is the place after it in an mbox file; ``is_last`` says that the file ends there.
    """

    file: _File
    done: int
    after: Place | None = None
    is_last: bool = False


class _Reading:
    """One reading of the files of a location. Progress is in bytes."""

    def __init__(
        self, files: list[_File], left: Mapping[str, str], cursor: Mapping[str, Any]
    ) -> None:
        self._files = files
        self._left = {name: (why, _digest(name, why)) for name, why in left.items()}
        self._cursor = cursor
        self._found = BatchBuilder(total=sum(file.size for file in files))
        self._marks = str(cursor.get("files", ""))
        self._known = {self._marks[at : at + _MARK] for at in range(0, len(self._marks), _MARK)}
        self._boxes: dict[str, Any] = dict(cursor.get("boxes", {}))
        self._at = str(cursor.get("at", ""))
        self._since = int(cursor.get("since", 0)) or time.time_ns()
        self._unsettled: set[str] = set()
        self._intake = Intake(self._found)

    def batches(self) -> Iterator[Batch]:
        with closing(self._intake):
            yield from self._batches()

    def _batches(self) -> Iterator[Batch]:
        first = last = taken = 0
        for step, records in self._intake.in_turn(self._messages()):
            name, place = step.file.name, step.after
            is_full = self._found.is_full
            if place is not None:
                first, last, taken = first or place.messages, place.messages, taken + records
                self._boxes[name] = place.stored()
            elif records:
                self._found.note(LedgerEntry(name, "taken", records=records))
            if is_full or step.is_last:
                self._intake.note_span(name, first, last, taken)
                first = taken = 0
            if is_full:
                at = {"at": max(self._at, name), "since": self._since}
                yield self._found.build(
                    {"boxes": dict(self._boxes), "files": self._marks, **at}, step.done
                )
        for name, (why, mark) in self._left.items():
            if mark not in self._known:
                self._found.leave(name, why)
        marks = {file.mark for file in self._files if file.name not in self._unsettled}
        marks.update(mark for _, mark in self._left.values())
        names = {file.name for file in self._files}
        boxes = {name: place for name, place in self._boxes.items() if name in names}
        cursor = {"boxes": boxes, "files": "".join(sorted(marks))}
        if self._found or cursor != self._cursor:
            yield self._found.build(cursor, self._found.total)

    def _is_read(self, file: _File) -> bool:
        if file.name in self._boxes:
            place = Place.of(self._boxes[file.name])
            return (place.size, place.modified) == (file.size, file.modified)
        return file.mark in self._known or (file.name <= self._at and file.changed < self._since)

    def _is_settled(self, file: _File) -> bool:
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
                    self._found.fail(file.name, f"cannot be read: {error.strerror or error}")
                    yield _Step(file, done + file.size, is_last=True), "", None
            done += file.size

    def _read(self, file: _File, done: int) -> Iterator[Message[_Step]]:
        with file.path.open("rb") as opened:
            head = opened.read(_HEAD)
        read = None
        match format_of(file.path.name, head) if head.strip() else None:
            case "mbox":
                yield from self._read_box(file, done)
                return
            case None if head.strip() and file.path.suffix.lower() in _SUFFIXES:
                self._found.fail(file.name, _OTHER)
            case None if file.is_named:
                self._found.leave(file.name, _NO_MAIL if head.strip() else "the file is empty")
            case None:
                pass  # another source may read it, and say what became of it
            case form:
                self._found.outdate(file.name)
                read = partial(_read_file, file, form)
        yield _Step(file, done + file.size), file.name, read

    def _read_box(self, file: _File, done: int) -> Iterator[Message[_Step]]:
        with file.path.open("rb") as opened:
            start = continued(opened, Place.of(self._boxes.get(file.name)), file.size)
            if not start.messages:
                self._found.outdate(file.name)
            for message in messages_of(opened, start):
                start = message.after
                item = f"{file.name}:{start.messages}"
                read = partial(_read_part, message.data)
                yield _Step(file, done + start.offset, start), item, read
        end = replace(start, size=file.size, modified=file.modified)
        yield _Step(file, done + file.size, end, is_last=True), "", None


def _read_file(file: _File, form: Format) -> Mail:
    if form == "outlook":
        return read_outlook(file.path)
    if file.size > LARGEST:
        raise ValueError(TOO_LARGE)
    data = file.path.read_bytes()
    if form == "apple":  # the length of the message, the message, then properties of the program
        length, _, data = data.lstrip().partition(b"\n")
        data = data[: int(length)]
    return read_message(data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n"))


def _read_part(data: bytes | None) -> Mail:
    if data is None:
        raise ValueError(TOO_LARGE)
    return read_message(data)


def _files(root: Path, upload: str) -> tuple[list[_File], dict[str, str]]:
    """The files at ``root``, sorted by name, and why other paths are left. Raises OSError."""
    if stat.S_ISREG(root.stat().st_mode):
        return [_file(upload or root.name, root, is_named=True)], {}
    if not root.is_dir():
        raise OSError(errno.EINVAL, "it is neither a file nor a folder")
    files: list[_File] = []
    left: dict[str, str] = {}

    def name_of(path: str | Path) -> str:
        return Path(path).relative_to(root).as_posix().encode("utf-8", "replace").decode()

    def refuse(error: OSError) -> None:
        if Path(error.filename) == root:
            raise error
        left[name_of(error.filename)] = f"cannot be listed: {error.strerror}"

    for folder, names in _walk(root, refuse, left):
        for name in names:
            path = Path(folder, name)
            try:
                if path.is_symlink():
                    left[name_of(path)] = "a symbolic link; only the file it points to is read"
                elif name.startswith(".") or not path.is_file():
                    left[name_of(path)] = "hidden, or no regular file"
                else:
                    is_named = path.suffix.lower() in _SUFFIXES or _is_in_maildir(path)
                    files.append(_file(name_of(path), path, is_named=is_named))
            except OSError as error:  # gone, or moved within a Maildir: the next reading has it
                left[name_of(path)] = f"cannot be read: {error.strerror}"
    return sorted(files, key=lambda file: file.name), left


def _walk(
    root: Path, refuse: Callable[[OSError], None], left: dict[str, str]
) -> Iterator[tuple[str, list[str]]]:
    """The folders that are read, with the names of their files; ``left`` gets what is excluded.

    Raises OSError for an ignore file that cannot be read.
    """
    excluded = Exclusions(root)

    def is_read(path: Path, end: str = "") -> bool:
        # A name that is no text is no reason: a mail is not called by it.
        item = path.relative_to(root).as_posix().encode("utf-8", "replace").decode()
        if why := excluded.why(f"{item}{end}"):
            left[item] = why
        return not why

    for folder, folders, names in os.walk(root, onerror=refuse):
        if {"cur", "new"} <= set(folders):  # of a Maildir: what lies in tmp is being delivered
            folders[:] = [name for name in folders if name != "tmp"]
        folders[:] = [n for n in folders if n[0] != "." or Path(folder, n, "cur").is_dir()]
        folders[:] = [name for name in folders if is_read(Path(folder, name), "/")]
        yield folder, [n for n in names if n != IGNORE_FILE and is_read(Path(folder, n))]


def _is_in_maildir(path: Path) -> bool:
    return path.parent.name in _MAILDIR and (path.parent.parent / "tmp").is_dir()


def _file(name: str, path: Path, *, is_named: bool) -> _File:
    status = path.stat()
    key = name
    if path.parent.name in _MAILDIR:
        key = f"{name.rpartition('/')[0].rpartition('/')[0]}/{path.name.partition(':2,')[0]}"
    mark = _digest(key, str(status.st_size), str(status.st_mtime_ns))
    times = status.st_mtime_ns, status.st_ctime_ns
    return _File(name, path, status.st_size, *times, mark, is_named)


def _digest(*said: str) -> str:
    data = "\0".join(said).encode("utf-8", "replace")
    return hashlib.blake2b(data, digest_size=_MARK // 2).hexdigest()
