"""The posting lists as of a revision: those of a file, and those of what was written since.

``record_changes`` says which records were written since a file was made. Their passages get lists
in memory, and what the file has of them counts no more. The lists of both can be written into a new
file. They are made of what FTS5 has: of a few records by an index of nothing else in memory,
because FTS5 finds the words of a passage only by reading all.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from mem_search.model.rankings import Numbers, Values
from mem_search.storage.rules import bm25
from mem_search.storage.sql.passage_rows import Text
from mem_search.storage.sqlite import posting_file
from mem_search.storage.sqlite.column_blocks import newest_write
from mem_search.storage.sqlite.passage_map import PassageMapCache
from mem_search.storage.sqlite.posting_file import MAX_COUNT, META_KEY, ROW, Piece, Segment, hashed

T = TypeVar("T")

_KEY: Final = 16
"""Bytes of the token of a file, and of the key of its hashes."""

_GONE: Final = -1

PostingList = tuple[Numbers, NDArray[np.uint16]]
"""The passages with a word, in order of their segments, and how often, weighted."""

Each = Callable[[Iterable[T]], Iterator[T]]
"""Passes on what it gets, or raises to end the work."""


@dataclass(frozen=True, slots=True)
class PostingLists:
    """The lists of what a store has at ``revision``, with the sums of FTS5.

    ``home`` has for each passage the place in ``segments`` that has its words, the first of which
    is the file, and ``_GONE`` where none has. ``lengths`` are in words. ``changed`` counts the
    passages that the file does not have as they are, or has no more.
    """

    segments: tuple[Segment, ...]
    home: NDArray[np.int8]
    lengths: NDArray[np.int32]
    passages: int
    mean_length: float
    revision: int
    key: bytes
    changed: int = 0

    def of(self, term: str) -> PostingList:
        """Raises ListsDamaged."""
        word = hashed(term, self.key)
        parts = [each.of(word) for each in self.segments]
        if len(parts) > 1:
            parts = [rows[self.home[rows["passage"]] == at] for at, rows in enumerate(parts)]
        rows = np.concatenate(parts)
        return rows["passage"].astype(np.int64), rows["count"]

    def count(self, term: str) -> int:
        """How many passages have it. Raises ListsDamaged."""
        word = hashed(term, self.key)
        parts = [each.of(word) for each in self.segments]
        if len(parts) == 1:
            return len(parts[0])
        own = (self.home[rows["passage"]] == at for at, rows in enumerate(parts))
        return sum(map(int, map(np.count_nonzero, own)))

    def scores(self, postings: PostingList) -> Values:
        """The part of BM25 that a word adds to the passages that have it."""
        passages, counts = postings
        weight, damping = bm25.factors(
            self.passages, self.mean_length, len(passages), self.lengths[passages]
        )
        return bm25.scored(counts, weight, damping)

    def followed(
        self, connection: sqlite3.Connection, passage_map: PassageMapCache, most: int
    ) -> PostingLists | None:
        """The lists of what ``connection`` sees; None where more than ``most`` records or passages
        were written since, or where that is not known any more. Raises ListsDamaged.
        """
        change = _change(connection, self.revision, most)
        if change is None:
            return None
        records, passages = change
        condition, listed = "where id in (select value from json_each(?))", passages.tolist()
        lengths = indexed_lengths(connection, self.lengths, condition, (json.dumps(listed),))
        size = len(self.home)
        home = np.full(max(len(lengths), int(passages.max(initial=0)) + 1), _GONE, np.int8)
        owners = passage_map.up_to(connection, size - 1).records[:size]
        # The map may lack passages that were deleted before it was read, even the last ones.
        kept = np.flatnonzero((owners > 0) & ~np.isin(owners, records))
        home[kept] = self.home[kept]
        home[passages] = len(self.segments)
        newly = np.count_nonzero(home[:size]) - np.count_nonzero(self.home)
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as memory:
            index_apart(connection, records.tolist(), memory)
            added = posting_file.segment(indexed_pieces(memory, self.key))
        segments = [*self.segments, added]
        # Each is more than twice as large as the next, so that there are few.
        while len(segments) > 2 and len(segments[-2].rows) <= 2 * len(segments[-1].rows):
            place = len(segments) - 2
            both = [*enumerate(segments)][place:]
            segments[place:] = [posting_file.segment(posting_file.merged(both, home))]
            home[home > place] = place
        return PostingLists(
            tuple(segments),
            home,
            lengths,
            *indexed_sums(connection),
            newest_write(connection),
            self.key,
            self.changed + int(newly + np.count_nonzero(passages >= size)),
        )

    def write(self, file: Path, each: Each[posting_file.Piece]) -> str:
        """Write all into ``file``; what to note of it. Raises ListsDamaged or OSError."""
        token = secrets.token_bytes(_KEY)
        lengths = np.zeros(len(self.home), "<i4")
        lengths[: len(self.lengths)] = self.lengths
        lengths[self.home == _GONE] = 0
        pieces = posting_file.merged([*enumerate(self.segments)], self.home)
        posting_file.write(file, token, self.revision, each(pieces), lengths)
        return (token + self.key).hex()


def opened(connection: sqlite3.Connection, file: Path) -> PostingLists | None:
    """The lists of ``file``; None without one that was noted. Raises ListsDamaged or OSError."""
    noted = connection.execute("select value from meta where key = ?", (META_KEY,)).fetchone()
    if noted is None or not file.exists():
        return None
    token, key = bytes.fromhex(noted[0])[:_KEY], bytes.fromhex(noted[0])[_KEY:]
    segment, lengths, revision = posting_file.opened(file, token)
    home = np.where(lengths > 0, 0, _GONE).astype(np.int8)
    return PostingLists((segment,), home, lengths, *indexed_sums(connection), revision, key)


def note(connection: sqlite3.Connection, noted: str) -> None:
    """From now on the file of which ``noted`` was told belongs to the store."""
    connection.execute("insert or replace into meta(key, value) values(?, ?)", (META_KEY, noted))


def write_all(connection: sqlite3.Connection, file: Path, each: Each[posting_file.Piece]) -> str:
    """Write the lists of all that FTS5 has into ``file``, with hashes of a new key; what to note
    of it. Raises OSError.
    """
    key, pieces = secrets.token_bytes(_KEY), []
    with tempfile.TemporaryFile(dir=file.parent) as held:
        for words, sizes, rows in each(indexed_pieces(connection, key)):
            held.write(rows.tobytes())
            pieces.append((words, sizes, rows[:0]))
        held.flush()
        count = held.tell() // ROW.itemsize
        data = np.memmap(held, ROW, "r", shape=(count,)) if count else np.zeros(0, ROW)
        segment, lengths = posting_file.segment(pieces, data), all_lengths(connection)
        home, revision = np.zeros(len(lengths), np.int8), newest_write(connection)
        return PostingLists((segment,), home, lengths, 0, 1.0, revision, key).write(file, each)


def of_index(connection: sqlite3.Connection, terms: Sequence[str]) -> PostingLists:
    """The lists of ``terms`` alone, as FTS5 has them."""
    segment = posting_file.segment(indexed_pieces(connection, b"", terms))
    condition, listed = "where id in (select value from json_each(?))", segment.rows["passage"]
    lengths = indexed_lengths(
        connection, np.zeros(0, np.int32), condition, (json.dumps(listed.tolist()),)
    )
    sums, revision = indexed_sums(connection), newest_write(connection)
    return PostingLists((segment,), np.zeros(len(lengths), np.int8), lengths, *sums, revision, b"")


def _change(
    connection: sqlite3.Connection, revision: int, most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """The records that were written after ``revision``, and the passages that they have now; None
    where either are more than ``most``, or older changes were pruned.
    """
    if newest_write(connection) - revision > most:
        return None
    (oldest,) = connection.execute("select min(revision) from record_changes").fetchone()
    if oldest is None or oldest > revision + 1:
        return None
    records, passages = connection.execute(
        "with changed as (select distinct record_id from record_changes where revision > ?)"
        " select (select json_group_array(record_id) from changed),"
        " (select json_group_array(id) from passages where record_id in changed)",
        (revision,),
    ).fetchone()
    numbers = np.array(json.loads(passages), np.int64)
    return None if len(numbers) > most else (np.array(json.loads(records), np.int64), numbers)


_SHIFT: Final = 16
"""Above the weights of a column."""

_BATCH: Final = 1 << 18
"""Characters that are decoded at once: some milliseconds, in which no other thread runs."""

_SPAN: Final = 1 << 14
"""Passages whose lengths are read at once."""

_WEIGHTS: Final = " ".join(
    f"when '{column}' then {weight}"
    for column, weight in zip(bm25.COLUMNS, bm25.WEIGHTS, strict=True)
)


def texts(connection: sqlite3.Connection, records: Iterable[int]) -> Iterator[Text]:
    """What the index has of these records. The text of each is read once: SQLite reads all of a
    long one for each passage cut from it.
    """
    for number in records:
        rows = connection.execute("select title, body from records where id = ?", (number,))
        for title, body in rows.fetchall():
            for passage, start, end, parts, people in connection.execute(
                "select id, span_start, span_end, parts, people from passages"
                " where record_id = ? and ordinal >= 0",
                (number,),
            ):
                yield Text(passage, title, body[start:end], parts, people)


def index_apart(
    connection: sqlite3.Connection, records: Iterable[int], apart: sqlite3.Connection
) -> None:
    """Make an index of these records alone, in the empty database ``apart``."""
    (made,) = connection.execute(
        "select sql from sqlite_master where name = 'passages_fts'"
    ).fetchone()
    apart.execute(made)
    columns = ", ".join(("rowid", *bm25.COLUMNS))
    marks = ", ".join("?" * (1 + len(bm25.COLUMNS)))
    apart.execute("begin")
    apart.executemany(
        f"insert into passages_fts({columns}) values({marks})", texts(connection, records)
    )
    apart.execute("commit")


def indexed_pieces(
    connection: sqlite3.Connection, key: bytes, asked: Sequence[str] | None = None
) -> Iterator[Piece]:
    """The lists of the index of ``connection``, some words at a time, in no order of hashes; of all
    words, or of those that are ``asked`` for.
    """
    (readonly,) = connection.execute("pragma query_only").fetchone()
    connection.execute("pragma query_only = off")  # for a temporary table
    connection.execute(
        "create virtual table if not exists temp.instances"
        " using fts5vocab(main, passages_fts, instance)"
    )
    connection.execute(f"pragma query_only = {readonly}")
    condition = "" if asked is None else "where term in (select value from json_each(?))"
    values = () if asked is None else (json.dumps(asked, ensure_ascii=False),)
    terms: list[str] = []
    place_lists: list[str] = []
    size = 0
    for term, places in connection.execute(
        f"select term, group_concat(doc * {_SHIFT} + case col {_WEIGHTS} end)"
        f" from temp.instances {condition} group by term",
        values,
    ):
        terms.append(term)
        place_lists.append(places)
        size += len(places)
        if size > _BATCH:
            yield _piece(terms, place_lists, key)
            terms, place_lists, size = [], [], 0
    if terms:
        yield _piece(terms, place_lists, key)


def _piece(terms: Sequence[str], place_lists: Sequence[str], key: bytes) -> Piece:
    """The lists of ``terms``; each of ``place_lists`` has a number for every place of its term."""
    numbers = np.concatenate([*_decoded(",".join(place_lists))])
    passages, weights = numbers // _SHIFT, numbers % _SHIFT
    owners = np.repeat(np.arange(len(terms)), [each.count(",") + 1 for each in place_lists])
    first = np.ones(len(numbers), np.bool_)
    first[1:] = (np.diff(owners) != 0) | (np.diff(passages) != 0)
    starts = np.flatnonzero(first)
    rows = np.empty(len(starts), ROW)
    rows["passage"] = passages[starts]
    rows["count"] = np.minimum(np.add.reduceat(weights, starts), MAX_COUNT)
    hashes = np.array([hashed(term, key) for term in terms], np.uint64)
    return hashes, np.bincount(owners[starts], minlength=len(terms)), rows


def _decoded(numbers: str) -> Iterator[NDArray[np.int64]]:
    start = 0
    while start < len(numbers):
        end = numbers.find(",", start + _BATCH)
        end = len(numbers) if end < 0 else end
        yield np.array(json.loads(f"[{numbers[start:end]}]"), np.int64)
        start = end + 1


def indexed_sums(connection: sqlite3.Connection) -> tuple[int, float]:
    """How many passages FTS5 has, and the mean of their lengths in words."""
    # The number of passages, then the words of each column
    # (https://sqlite.org/fts5.html#fts5_data_structures).
    (block,) = connection.execute("select block from passages_fts_data where id = 1").fetchone()
    count, *totals = varints(block).tolist() or [0]  # an empty index has none
    return count, max(1, sum(totals)) / max(1, count)


def all_lengths(connection: sqlite3.Connection) -> NDArray[np.int32]:
    """The lengths of all passages, by number, in words."""
    (last,) = connection.execute("select max(id) from passages_fts_docsize").fetchone()
    known = np.zeros((last or 0) + 1, np.int32)
    for first in range(0, len(known), _SPAN):
        known = indexed_lengths(
            connection, known, "where id >= ? and id < ?", (first, first + _SPAN)
        )
    return known


def indexed_lengths(
    connection: sqlite3.Connection,
    known: NDArray[np.int32],
    condition: str,
    values: Sequence[str | int],
) -> NDArray[np.int32]:
    """A copy of ``known`` with the lengths of the passages that meet ``condition``."""
    ids, sizes = connection.execute(
        "select json_group_array(id), group_concat(hex(sz), '')"
        f" from (select id, sz from passages_fts_docsize {condition})",
        values,
    ).fetchone()
    passages = np.array(json.loads(ids), np.int64)
    columns = varints(bytes.fromhex(sizes or "")).reshape(-1, len(bm25.WEIGHTS))
    by_passage = np.zeros(max(len(known), int(passages.max(initial=-1)) + 1), np.int32)
    by_passage[: len(known)] = known
    by_passage[passages] = columns.sum(axis=1)
    return by_passage


def varints(data: bytes) -> NDArray[np.int64]:
    """The numbers in ``data``, seven bits a byte, the highest first; the last byte is below 128
    (https://sqlite.org/fileformat2.html#varint). Numbers of up to eight bytes.
    """
    octets = np.frombuffer(data, np.uint8).astype(np.int64)
    ends = np.flatnonzero(octets < 128)
    starts = np.concatenate([[0], ends[:-1] + 1])
    values = octets[ends]
    for back in range(1, int((ends - starts).max(initial=0)) + 1):
        longer = ends - back >= starts
        values[longer] += (octets[ends[longer] - back] & 127) << (7 * back)
    return values
