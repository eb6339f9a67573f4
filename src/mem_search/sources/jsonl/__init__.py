"""The source ``jsonl``: a file in the exchange format of mem-search, one record a line.

``exchange`` reads and writes the format, ``lines`` reads lines of a plain or gzipped file. A line
that cannot be used becomes a failed ledger entry and the rest is read. Reading the same file twice
gives the same records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mem_search.contracts import FileFormat
from mem_search.errors import InputError, SourceError
from mem_search.model import Batch, Draft, Location
from mem_search.records.registry import installed_kinds
from mem_search.sources.base import BaseSource, BatchBuilder
from mem_search.sources.jsonl.exchange import (
    NAME,
    ExchangeRecord,
    export_line,
    export_tombstone,
    parse_line,
    parse_tombstone,
)
from mem_search.sources.jsonl.lines import MAX_LINE_BYTES, LineReader, open_lines
from mem_search.text.json_reading import open_path

__all__ = ["ExchangeRecord", "Jsonl", "export_line", "export_tombstone", "parse_line"]


class Jsonl(BaseSource):
    """Reads what ``export_line`` writes. A location is the path of a file, gzipped or not.

    The cursor is that of ``lines.LineReader``. Progress is in bytes of the file. When nothing is
    new, a reading yields nothing.
    """

    name = NAME
    file_format = FileFormat(
        (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
        ("application/x-ndjson", "application/jsonl"),
    )

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        path = Path(location.path).expanduser()
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
    found = BatchBuilder(total=path.stat().st_size)
    first = reader.number + 1
    start = cursor = reader.cursor()

    def batch() -> Batch:
        # The last line of an earlier reading may have been incomplete and have failed.
        found.outdate("" if first == 1 else _item(first))
        return found.build(cursor, reader.done(), item=f"lines {first}-{cursor['line']}")

    for line in reader:
        item = _item(reader.number)
        try:
            if line is None:
                raise ValueError(_too_long(reader.cut_off))
            if later := repeated.get(reader.number):
                reason = f"{_item(later)} has the same source_id; the last such line counts"
                found.leave(item, reason)
            elif tombstone := parse_tombstone(line):
                found.refuse(tombstone)
            elif line.strip():
                found.take(_identified(parse_line(line), seen), item)
        except ValueError as error:
            found.fail(item, str(error))
            if line is not None and not line.endswith(b"\n"):
                break  # perhaps it is still being written: the next reading starts here
        cursor = reader.cursor()
        if found.is_full:
            yield batch()
            first, start = reader.number + 1, cursor
    if reader.broken:
        found.fail(_item(reader.number + 1), reader.broken)
    if found or cursor != start:
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
