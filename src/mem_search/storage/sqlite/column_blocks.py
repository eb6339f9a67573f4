"""Arrays by record or passage number, stored in blocks, so that a start reads them at once.

A search looks up columns of all records and passages in memory. Reading 454,000 records and their
passages row by row took 3.3 to 4.4 s, reading the same from blocks .12 to .36 s. A block is
derived data: it is true at the revision of the blocks, what was written since is read again, and
an absent block is read row by row, and so is one that is not what was written: each has a checksum
of its content and its place. Triggers (``m024_column_blocks``) delete the block of a record
or passage that is deleted, and of a record whose project, session or source changes: no block
holds a name that was forgotten.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from mem_search.model.kind_codes import KIND_CODES, MAX_CODES, Codes

log = logging.getLogger(__name__)

Of = Literal["records", "passages"]

BLOCK: Final = 1 << 14
"""Numbers of one block; the triggers have it, too."""

_REVISION: Final = "column_blocks_revision"

_CHECKSUM: Final = 9
"""Bytes of a checksum before the content of a block."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of the numbers from ``first`` on; ``names`` are the strings that some columns number."""

    first: int
    rows: NDArray[Any]
    names: Mapping[str, list[str]]

    @property
    def span(self) -> slice:
        return slice(self.first, self.first + len(self.rows))


def revision(connection: sqlite3.Connection) -> int | None:
    """The revision at which all blocks are true; None where later changes were pruned, or where it
    is none that this store has reached.
    """
    row = connection.execute("select value from meta where key = ?", (_REVISION,)).fetchone()
    if row is None or not str(row[0]).isascii() or not str(row[0]).isdecimal():
        return None
    stored = int(row[0])
    return stored if oldest_write(connection) - 1 <= stored <= newest_write(connection) else None


def writes_since(connection: sqlite3.Connection) -> int:
    """How often records were written since the revision of the blocks; ever, if it has none."""
    return newest_write(connection) - (revision(connection) or 0)


def load(connection: sqlite3.Connection, of: Of, layout: np.dtype[Any]) -> dict[int, Block]:
    """The blocks of ``layout`` by their place; others were written by another version, or are
    damaged, which is logged.
    """
    rows = connection.execute(
        "select block, content from column_blocks where of = ? order by block", (of,)
    )
    blocks = ((place, _decoded(of, place, content, layout)) for place, content in rows)
    return {place: block for place, block in blocks if block is not None}


def damaged_blocks(connection: sqlite3.Connection) -> list[int]:
    """The rows of blocks that are not what was written."""
    rows = connection.execute("select rowid, of, block, content from column_blocks")
    return [row for row, of, place, content in rows if _body(of, place, content) is None]


def drop_broken(connection: sqlite3.Connection) -> None:
    """Delete the damaged blocks: what they held is read row by row, and stored again at a rest."""
    rows = [(row,) for row in damaged_blocks(connection)]
    connection.executemany("delete from column_blocks where rowid = ?", rows)


def parts(
    connection: sqlite3.Connection, of: Of, layout: np.dtype[Any], size: int
) -> Iterator[Block | slice]:
    """All numbers below ``size`` in order: blocks that are true, and the spans that none has."""
    blocks = {} if revision(connection) is None else load(connection, of, layout)
    for first in range(0, size, BLOCK):
        end = min(first + BLOCK, size)
        if block := blocks.pop(first // BLOCK, None):  # a used block need not stay in memory
            rows = block.rows[: end - first]
            yield replace(block, rows=rows)
            first += len(rows)
        if first < end:
            yield slice(first, end)


def put(connection: sqlite3.Connection, of: Of, block: Block) -> None:
    """Store ``block``, whose rows are as of the snapshot of ``connection``."""
    head = json.dumps({"layout": str(block.rows.dtype.descr), "names": block.names})
    place, body = block.first // BLOCK, head.encode() + b"\n" + block.rows.tobytes()
    connection.execute(
        "insert or replace into column_blocks(of, block, content) values(?, ?, ?)",
        (of, place, _checksum(of, place, body) + body),
    )


def absent(connection: sqlite3.Connection, of: Of, size: int) -> Iterator[slice]:
    """The spans of blocks below the number ``size`` that are not stored."""
    stored = {
        place
        for (place,) in connection.execute("select block from column_blocks where of = ?", (of,))
    }
    for first in range(0, size, BLOCK):
        if first // BLOCK not in stored:
            yield slice(first, min(size, first + BLOCK))


def drop_outdated(connection: sqlite3.Connection) -> None:
    """Delete the blocks that are not true any more; those that stay are true of this snapshot."""
    connection.execute("delete from column_blocks where substr(content, 1, 1) = cast('{' as blob)")
    current, usable = newest_write(connection), revision(connection)
    if usable == current:
        return
    if usable is None:
        connection.execute("delete from column_blocks")
    else:
        # The last ones may have room for what is new.
        connection.execute(
            "delete from column_blocks where (of, block) in"
            " (select of, max(block) from column_blocks group by of)"
        )
        connection.execute(
            "with changed as (select distinct record_id from record_changes where revision > ?)"
            " delete from column_blocks where of = 'records' and block in"
            "  (select record_id / ? from changed)",
            (usable, BLOCK),
        )
    connection.execute(
        "insert or replace into meta(key, value) values(?, ?)", (_REVISION, str(current))
    )


def kinds_by_name(codes: Codes) -> tuple[list[str], Codes]:
    """The names of ``codes``, and each as its place among them: codes are those of a process.

    "" is the name of the code of no record.
    """
    distinct, places = np.unique(codes, return_inverse=True)
    names = [KIND_CODES.name(code) if code != MAX_CODES else "" for code in distinct.tolist()]
    return names, places.astype(np.uint8)


def kinds_by_code(names: Sequence[str], places: Codes) -> Codes:
    """The codes in this process of kinds that are stored as places among ``names``."""
    codes = [KIND_CODES.code(name) if name else MAX_CODES for name in names]
    return np.array(codes, np.uint8)[places]


def newest_write(connection: sqlite3.Connection) -> int:
    """The revision of the newest write of a record."""
    (current,) = connection.execute("select max(revision) from record_changes").fetchone()
    return current or 0


def oldest_write(connection: sqlite3.Connection) -> int:
    """The revision of the oldest write that is known. Asked for both in one statement, SQLite reads
    the whole table.
    """
    (oldest,) = connection.execute("select min(revision) from record_changes").fetchone()
    return oldest or 0


def _checksum(of: Of, place: int, body: bytes) -> bytes:
    """Eight signs and a blank; a block in the place of another one is damage, too."""
    return b"%08x " % zlib.crc32(body, zlib.crc32(f"{of} {place}".encode()))


def _body(of: Of, place: int, content: object) -> bytes | None:
    """What was stored, without its checksum; None where it is something else."""
    if not isinstance(content, bytes):
        return None
    body = content[_CHECKSUM:]
    return body if content[:_CHECKSUM] == _checksum(of, place, body) else None


def _decoded(of: Of, place: int, content: object, layout: np.dtype[Any]) -> Block | None:
    body = _body(of, place, content)
    if body is None:
        log.warning("a stored block (%s %s) is damaged: its rows are read anew", of, place)
        return None
    end = body.index(b"\n")
    head = json.loads(body[:end])
    if head["layout"] != str(layout.descr):
        return None
    return Block(place * BLOCK, np.frombuffer(body, layout, offset=end + 1), head["names"])
