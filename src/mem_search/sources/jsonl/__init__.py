"""The source ``jsonl``: a file in the exchange format of mem-search, one record a line.

``exchange`` reads and writes the format of a line, the file may be gzipped. A line
that cannot be used becomes a failed ledger entry and the rest is read. Reading the same file twice
gives the same records.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mem_search.contracts import FileFormat
from mem_search.errors import InputError, SourceError
from mem_search.model import Batch, Draft, Location
from mem_search.platform import expanded
from mem_search.records.registry import installed_kinds
from mem_search.regular_file import open_regular_file
from mem_search.sources.base import BaseSource, BatchBuilder
from mem_search.sources.jsonl.exchange import (
    NAME,
    ExchangeRecord,
    export_line,
    export_tombstone,
    parse_line,
    parse_tombstone,
)
from mem_search.text.json_reading import open_path

# The lines of a plain or gzipped file, with a position to which a later reading can return.
#
# A digest of all bytes before the position identifies it, not inode or time: a file that was edited
# is noticed even when the editor kept both, and one that was moved or copied is not read again.

MAX_FILE_BYTES = 64 * 2**30
"""Bytes of a file, and what it may unpack to."""

MAX_LINE_BYTES = 32 * 1024 * 1024
"""Bytes. A longer line is not a record and is not read into memory."""

_GZIP_MAGIC = b"\x1f\x8b"


class LineReader:
    """Iterates over lines as bytes; ``None`` stands for a line that is too long.

    ``cut_off`` is then the beginning of that line. When the file cannot be read any further,
    iteration ends and ``broken`` says why.
    """

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._rewind()

    def _rewind(self) -> None:
        self._raw.seek(0)
        packed = self._raw.read(2) == _GZIP_MAGIC
        self._raw.seek(0)
        self._file: IO[bytes] | gzip.GzipFile = (
            gzip.GzipFile(fileobj=self._raw) if packed else self._raw
        )
        self.broken = ""
        self.cut_off = b""
        self.number = 0
        self._offset = 0
        self._digest = hashlib.sha256()

    def __iter__(self) -> Iterator[bytes | None]:
        while line := self._next():
            self.number += 1
            if line.endswith(b"\n") or len(line) < MAX_LINE_BYTES:
                yield line
            else:
                self.cut_off = line
                while line and not line.endswith(b"\n"):
                    line = self._next()
                yield None
                self.cut_off = b""

    def _next(self) -> bytes:
        try:
            line = self._file.readline(MAX_LINE_BYTES)
        except (OSError, EOFError, zlib.error) as error:  # gzip raises all three
            self.broken = getattr(error, "strerror", None) or str(error)
            return b""
        self._offset += len(line)
        if self._offset > MAX_FILE_BYTES:
            self.broken = f"it unpacks to more than {MAX_FILE_BYTES // 2**30} GB"
            return b""
        self._digest.update(line)
        return line

    def cursor(self) -> dict[str, Any]:
        """The position: ``offset`` in unpacked bytes, ``line``, ``digest`` of the bytes before."""
        return {
            "offset": self._offset,
            "line": self.number,
            "digest": self._digest.hexdigest(),
        }

    def skip_to(self, cursor: Mapping[str, Any]) -> Iterator[bytes]:
        """The lines before ``cursor``. Reading then continues there, or at the start if the file
        is not the one that the cursor is from."""
        offset = cursor.get("offset", 0)
        if not offset:
            return
        for line in self:
            if line is not None:
                yield line
            if self._offset >= offset:
                break
        if self.cursor()["digest"] != cursor.get("digest"):
            self._rewind()

    def done(self) -> int:
        """Bytes of the file that have been read, as they are on disk."""
        return self._raw.tell()


@contextmanager
def open_lines(path: Path) -> Iterator[LineReader]:
    """Raises SourceError when ``path`` cannot be opened."""
    try:
        raw = open_regular_file(path, max_bytes=MAX_FILE_BYTES)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}", field="path") from error
    with raw:
        yield LineReader(raw)


__all__ = ["ExchangeRecord", "Jsonl", "export_line", "export_tombstone", "parse_line"]


class Jsonl(BaseSource):
    """Reads what ``export_line`` writes. A location is the path of a file, gzipped or not.

    The cursor is that of ``lines.LineReader``. Progress is in bytes of the file. When nothing is
    new, a reading yields nothing.
    """

    name = NAME
    looks_in = "what you name: mem-search import jsonl FILE"
    file_format = FileFormat(
        (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
        ("application/x-ndjson", "application/jsonl"),
    )

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        path = Path(expanded(location.path))
        with open_lines(path) as reader:
            repeated = _repeated_records(reader)
        with open_lines(path) as reader:
            seen: Counter[str] = Counter()
            for line in reader.skip_to(cursor):
                _count(line, seen)
            if not reader.number:
                seen.clear()
            yield from _batches(reader, seen, repeated, path)


def _batches(
    reader: LineReader, seen: Counter[str], repeated: Mapping[int, int], path: Path
) -> Iterator[Batch]:
    builder = BatchBuilder(total=path.stat().st_size)
    first = reader.number + 1
    start = cursor = reader.cursor()

    def batch() -> Batch:
        # The last line of an earlier reading may have been incomplete and have failed.
        builder.outdate("" if first == 1 else _item(first))
        return builder.build(cursor, reader.done(), item=f"lines {first}-{cursor['line']}")

    for line in reader:
        item = _item(reader.number)
        try:
            if line is None:
                raise ValueError(_too_long(reader.cut_off))
            if later := repeated.get(reader.number):
                reason = f"{_item(later)} has the same source_id; the last such line counts"
                builder.leave(item, reason)
            elif tombstone := parse_tombstone(line):
                builder.refuse(tombstone)
            elif line.strip():
                builder.take(_identified(parse_line(line), seen), item)
        except ValueError as error:
            builder.fail(item, str(error))
            if line is not None and not line.endswith(b"\n"):
                break  # perhaps it is still being written: the next reading starts here
        cursor = reader.cursor()
        if builder.is_full:
            yield batch()
            first, start = reader.number + 1, cursor
    if reader.broken:
        builder.fail(_item(reader.number + 1), reader.broken)
    if builder or cursor != start:
        yield batch()
    if reader.broken:
        stored = f"; the {reader.number} lines before are read" if reader.number else ""
        raise SourceError(f"cannot read {path}: {reader.broken}{stored}", field="path")


def _too_long(beginning: bytes) -> str:
    """Why a line is refused, with the field that takes it over the limit."""
    path = open_path(beginning.decode("utf-8", "replace"))
    field = f"{'.'.join(path)}: " if path else ""
    return f"{field}the line is longer than {MAX_LINE_BYTES // 2**20} MiB, the most for one record"


def _item(number: int) -> str:
    """The ledger's name of a line."""
    return f"line {number}"


def _identified(record: ExchangeRecord, seen: Counter[str]) -> Draft:
    """The draft of ``record``. Without an id, the hash of its content and a count identify it."""
    if record.source_id:
        return record.draft(record.source_id)
    content = record.content_id()
    seen[content] += 1
    repeated = f"#{seen[content]}" if seen[content] > 1 else ""
    return record.draft(content + repeated)


def _repeated_records(lines: Iterable[bytes | None]) -> dict[int, int]:
    """Number of a line → number of the last line with the same record, if that is a later one.

    Only the last one is stored. Otherwise reading the file again would change the record to its
    first version and then back.
    """
    last: dict[int, int] = {}
    later: dict[int, int] = {}
    for number, line in enumerate(lines, 1):
        try:
            record = parse_line(line or b"")
        except ValueError:  # reported when the line is read
            continue
        if not record.source_id:
            continue
        key = hash((record.source, record.source_id, record.kind))
        if key not in last:
            last[key] = number
        elif _is_usable(record):
            later[last[key]] = number
            last[key] = number
    for number in sorted(later, reverse=True):  # of lines after it, the last one is known by now
        later[number] = later.get(later[number], later[number])
    return later


def _is_usable(record: ExchangeRecord) -> bool:
    """Whether its kind accepts it; otherwise an earlier line still counts."""
    try:
        installed_kinds().require(record.kind).compose(record.draft(record.source_id))
    except InputError:
        return False
    return True


def _count(line: bytes, seen: Counter[str]) -> None:
    try:
        record = parse_line(line)
    except ValueError:  # the ledger has had it since it was first read
        return
    if not record.source_id:
        seen[record.content_id()] += 1
