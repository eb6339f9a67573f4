"""The base class of sources that read whole files: exports, bookmarks, sessions of other agents.

A file that changed is read again from its start; the store recognises what it has already. Every
file of a folder for which ``recognises`` is true is read, and what is in a ZIP archive, too.
"""

from __future__ import annotations

import errno
import io
import json
import logging
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, BinaryIO, ClassVar, Final, cast

from mem_search.errors import SourceError, StorageError
from mem_search.model import Batch, Draft, LedgerEntry, Location
from mem_search.model.ingest import WholeSession
from mem_search.platform import expanded
from mem_search.regular_file import kind_of, open_regular_file
from mem_search.sources.base import KEPT, BaseSource, BatchBuilder
from mem_search.sources.exclusions import Exclusions, is_regular, walk
from mem_search.sources.growing import Growing, Rewritten, continued, keep_newest, stamp_of
from mem_search.text.file_names import as_text
from mem_search.text.json_reading import check_values, loads
from mem_search.text.shortening import one_line
from mem_search.zip_files import DAMAGED_ZIP, Archive, Member

log = logging.getLogger(__name__)

MAX_ITEM_CHARS: Final = 64 * 2**20
"""Characters of one item of a JSON array; a conversation of a year has about five million."""

MAX_FILE_BYTES: Final = 16 * 2**30
"""Bytes of one file, and of all members of an archive that are read. Only one item at a time is in
memory."""

MAX_MEMBER_BYTES: Final = 4 * 2**30
"""Bytes that one member of an archive may unpack to."""

MAX_NAMED_LINES: Final = 20
"""Lines of a file that cannot be read and have a ledger entry each; further ones are counted."""

_MAX_KIND: Final = 120
"""Characters of what names a kind of line that is not known; the file has written it."""

ZIP: Final = b"PK\x03\x04"
"""What an archive begins with."""

_PIECE: Final = 2**18
_SPACE: Final = " \t\r\n,"
_DONE: Final = -1
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file at ``path``, which a person calls ``name``. An upload comes from another machine.

    Of one that is only a copy, the agent has deleted the file. ``unread`` collects the lines that
    are not read: what is stored of the others does not tell of them. ``place`` is how far a file of
    lines was read before.
    """

    path: Path
    name: str
    is_upload: bool = False
    is_copy: bool = False
    unread: UnreadLines = field(default_factory=lambda: UnreadLines(), compare=False)
    place: Growing = field(default_factory=Growing, compare=False)


@dataclass(frozen=True, slots=True)
class NotHere:
    """A record that an earlier reading of a file gave, and that is now read from elsewhere."""

    source_id: str


@dataclass(slots=True)
class UnreadLines:
    """Lines of a file that are not read, each with its reason; ``at`` is the line at hand.

    Those that cannot be read are named one by one, up to a bound. Those of a form that is not known
    are named once for each kind, with the version of the ``program``. ``waiting`` is the number of
    the last line while it is still being written, else 0. ``unit`` is what they are to people,
    where the file is no file of lines.
    """

    unit: str = "line"
    program: str = ""
    at: int = 0
    waiting: int = 0
    named: list[tuple[int, str]] = field(default_factory=list)
    count: int = 0
    unknown: dict[str, list[int]] = field(default_factory=dict)
    """What is not known: the first line with it, and how many there are."""

    def add(self, number: int, reason: str) -> None:
        """Line ``number`` cannot be read."""
        self.count += 1
        if len(self.named) < MAX_NAMED_LINES:
            self.named.append((number, reason))

    def not_known(self, description: str) -> None:
        """The line at hand has something that may be the work, in a form that is not known."""
        description = one_line(as_text(description), _MAX_KIND)
        if description in self.unknown or len(self.unknown) < MAX_NAMED_LINES:
            self.unknown.setdefault(description, [self.at, 0])[1] += 1

    def entries(self, name: str) -> Iterator[LedgerEntry]:
        """What the ledger says of them."""
        for number, reason in self.named:
            yield LedgerEntry(f"{name}:{number}", "failed", f"{self.unit} {number} {reason}")
        if others := self.count - len(self.named):
            yield LedgerEntry(
                f"{name}:more", "failed", f"{others} more {self.unit}s cannot be read"
            )
        kinds: dict[int, list[str]] = {}
        for what, (number, count) in self.unknown.items():
            more = f", and {count - 1} more of it" * (count > 1)
            kinds.setdefault(number, []).append(f"{what}{more}")
        by = f" ({self.program})" * bool(self.program)
        for number, unknown in kinds.items():
            why = f"{self.unit} {number} is not understood: {'; '.join(unknown)}{by}"
            yield LedgerEntry(f"{name}:{number}", "failed", why)
        if number := self.waiting:
            why = f"line {number} is incomplete; it is read once it is complete"
            yield LedgerEntry(f"{name}:{number}", "left", why)


class WholeFiles(BaseSource):
    """``recognises`` says which files are read, ``drafts`` what is in one.

    The cursor has for each file its stamp and how many drafts of it are stored, -1 for all.
    Progress is in bytes. Records of a file that is gone stay: exports are moved and thrown away.
    A higher ``version`` has all files read again, because other drafts are made of them.
    """

    version: ClassVar[int] = 1

    @abstractmethod
    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry | WholeSession | NotHere]:
        """What is in the file, always in the same order; a ledger entry is what is not stored.

        Raises ValueError or OSError with the reason when the file is damaged.
        """

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        root = Path(expanded(location.path))
        is_known = cursor.get("version", 1) == self.version
        known: dict[str, list[Any]] = dict(cursor.get("files", {})) if is_known else {}
        kept = location.options.get(KEPT, "")
        refused: list[OSError] = []
        try:
            # What is no folder is opened as a file, which says what it is instead of one.
            is_one = not root.is_dir() and os.path.lexists(root)
            names = {root: root.name} if is_one else dict(self._below(root, refused.append))
            if kept:
                names |= self._below(Path(kept), is_copy=True)
            elif not root.exists():
                raise FileNotFoundError(f"{root} does not exist")
        except OSError as error:
            raise SourceError(f"cannot read {root}: {error}", field="path") from error
        stamps = {path: stamped for path in names if (stamped := stamp_of(path))}
        batch = BatchBuilder(total=sum(size for _, size in stamps.values()))
        done, before = 0, {*known}
        for fault in refused:
            item, why = as_text(fault.filename), f"it cannot be read: {fault.strerror}"
            if known.get(item, [""])[0] != why:
                known[item] = [why, _DONE]
                batch.fail(item, why)
        for path, (stamp, size) in stamps.items():
            item = location.upload or names[path]
            entry = known.get(item, ["", 0])
            awaited = entry[2].get("awaits", ()) if entry[2:] else ()
            if awaited and any(
                word in other.name
                for other in names
                if names[other] not in before
                for word in awaited
            ):
                entry = ["", 0]
            if entry[:2] != [stamp, _DONE]:
                is_copy = bool(kept) and path.is_relative_to(kept)
                file = WholeFile(path, item, bool(location.upload), is_copy)
                for known[item] in self._read(file, stamp, entry, batch):
                    if batch.is_full:
                        yield batch.build({"version": self.version, "files": dict(known)}, done)
                keep_newest(known)
            done += size
            if batch.is_full:
                yield batch.build({"version": self.version, "files": dict(known)}, done)
        if batch:
            yield batch.build({"version": self.version, "files": dict(known)}, done)

    def _below(
        self,
        root: Path,
        refuse: Callable[[OSError], None] = lambda _: None,
        *,
        is_copy: bool = False,
    ) -> Iterator[tuple[Path, str]]:
        """The files below a folder that are read, without what is hidden, excluded or a link, and
        their names there. A copy has only what was recognised.
        """
        excluded = Exclusions(root)
        for folder, folders, names in walk(root, refuse):
            folders[:] = sorted(
                name
                for name in folders
                if name[0] != "." and not excluded.has(Path(folder, name), is_folder=True)
            )
            for name in sorted(names):
                path = Path(folder, name)
                if not (name[0] != "." if is_copy else self.recognises(path)) or excluded.has(
                    path, is_folder=False
                ):
                    continue
                if is_regular(path):
                    yield path, str(path.relative_to(root))
                elif os.path.lexists(path):
                    kind = kind_of(path.lstat().st_mode)
                    why = f"it is {kind}, and only files are read"
                    refuse(OSError(errno.EINVAL, why, str(path.relative_to(root))))

    def _read(
        self, file: WholeFile, stamp: str, entry: list[Any], batch: BatchBuilder
    ) -> Iterator[list[Any]]:
        """Take what is new in the file; how far, as the cursor keeps it. ``entry`` is that of the
        last reading: a stamp, how many items were taken, and perhaps the place in it.
        """
        attempts = [(file, entry[1] if entry[0] == stamp else 0)]
        if entry[2:] and (place := continued(file.path, entry[2])):
            attempts.insert(0, (replace(file, place=place, unread=UnreadLines()), 0))
        for attempt, start in attempts:
            goes_on = attempt is not file
            with suppress(Rewritten):
                for count in self._file(attempt, start, batch):
                    left = [attempt.place.left] if count == _DONE and attempt.place.left else []
                    # Until its end is reached, the next reading goes on there again.
                    yield entry if goes_on and count != _DONE else [stamp, count, *left]
                return

    def _file(self, file: WholeFile, start: int, batch: BatchBuilder) -> Iterator[int]:
        """Take what is in the file after the first ``start`` items; how many, in the end -1."""
        item, noted = file.name, 0
        taken: dict[str, bool] = {}
        if goes_on := file.place.offset > 0:
            batch.outdate(f"{item}:{file.place.line + 1}")
        elif not start:
            batch.outdate(item)
        try:
            for count, output in enumerate(self.drafts(file), 1):
                if isinstance(output, Draft):
                    taken[output.source_id] = bool(file.place.left)
                noted += isinstance(output, LedgerEntry)
                if count <= start:
                    continue
                if isinstance(output, Draft):
                    batch.take(output, item)
                elif isinstance(output, WholeSession):
                    batch.finish(output)
                elif isinstance(output, NotHere):
                    batch.drop(output.source_id)
                    file.place.known.clear()
                else:
                    batch.note(output)
                yield count
        except (OSError, *DAMAGED_ZIP) as error:
            why = str(error)
            batch.fail(item, why if why.startswith("it ") else f"it cannot be read: {why}")
        except StorageError:
            raise  # a full disk is no fault of the file
        except RecursionError:
            batch.fail(item, "it cannot be read: it is nested too deeply")
        except Exception as error:  # a foreign file may hold anything anywhere
            if goes_on and isinstance(error, Rewritten):
                raise
            log.warning("%s: %r", item, error)
            batch.fail(item, f"it is not as expected ({type(error).__name__}: {error})")
        else:
            if records := file.place.count(taken):
                batch.note(LedgerEntry(item, "taken", records=records))
            elif not noted:
                batch.leave(item, "there is nothing in it that could be stored")
        yield _DONE


def head(path: Path, size: int = 2048) -> bytes:
    """The first bytes of a file; none when it cannot be read."""
    try:
        with open_regular_file(path) as file:
            return file.read(size)
    except OSError:
        return b""


class Export:
    """An export that is open: a file, or a ZIP archive of files, of which one is known at a time:
    an archive has as many names as whoever made it likes.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._archive = Archive(file) if file.read(len(ZIP)) == ZIP else None
        self.is_archive = self._archive is not None
        self._left = MAX_FILE_BYTES

    def members(self) -> Iterator[Member]:
        """The files in the archive, in its order; none of an export that is a file."""
        return self._archive.members() if self._archive is not None else iter(())

    @contextmanager
    def text(self, member: Member | None = None) -> Iterator[IO[str]]:
        """The text of the file, or of that member. Raises ValueError for a bomb."""
        if member is None:
            self._file.seek(0)
            opened: IO[bytes] = self._file
        else:
            if member.is_encrypted:
                raise ValueError(f"{member.name} is encrypted with a password")
            if member.size > MAX_MEMBER_BYTES:
                raise ValueError(f"{member.name} unpacks to {member.size / 2**30:.0f} GB")
            self._left -= member.size
            if self._left < 0:
                raise ValueError(f"its files unpack to more than {MAX_FILE_BYTES // 2**30} GB")
            opened = member.content()
        text = io.TextIOWrapper(cast("BinaryIO", opened), encoding="utf-8-sig", errors="replace")
        try:
            yield text
        finally:
            if member is None:
                text.detach()
            else:
                text.close()


@contextmanager
def opened(path: Path) -> Iterator[Export]:
    """The export at ``path``, opened once. Raises OSError, BadZipFile, ValueError."""
    with open_regular_file(path, max_bytes=MAX_FILE_BYTES, follow=False) as file:
        yield Export(file)


def whole(file: IO[str]) -> Any:
    """The JSON that is all of ``file``. Raises ValueError."""
    content = file.read(MAX_ITEM_CHARS + 1)
    if len(content) > MAX_ITEM_CHARS:
        raise ValueError(f"it has more than {MAX_ITEM_CHARS} characters")
    return loads(content)


def array_items(file: IO[str]) -> Iterator[Any]:
    """The items of a JSON array, one at a time: exports are larger than the memory that they need.

    An item that is not yet whole is tried again when the text has doubled, so the time is
    proportional to the length. Raises ValueError for what is no array or is cut off.
    """
    text, at, more = file.read(_PIECE), 0, _PIECE
    while text and text[at:].lstrip() == "":
        text = file.read(_PIECE)
    at = len(text) - len(text.lstrip())
    if text[at : at + 1] != "[":
        raise ValueError("it is not a JSON array")
    at += 1
    while True:
        while at < len(text) and text[at] in _SPACE:
            at += 1
        if text[at : at + 1] == "]":
            return
        check_values(text, at)
        try:
            if at >= len(text):
                raise ValueError
            item, end = _DECODER.raw_decode(text, at)
            if end == len(text):  # a number could go on
                raise ValueError
        except ValueError:
            piece = file.read(max(more, len(text) - at))
            if not piece:
                raise ValueError("it is damaged or cut off: the JSON array does not end") from None
            if len(text) - at > MAX_ITEM_CHARS:
                raise ValueError(f"an item is longer than {MAX_ITEM_CHARS} characters") from None
            text, at = text[at:] + piece, 0
        else:
            yield item
            at = end
