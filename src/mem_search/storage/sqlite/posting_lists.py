"""The posting lists as of a revision: those of a file, and those of what was written since.

``record_changes`` says which records were written since a file was made. Their passages get lists
in memory, and what the file has of them counts no more. The lists of both can be written into a new
file.
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
from mem_search.storage.sqlite import indexed_words, posting_file
from mem_search.storage.sqlite.column_blocks import newest_write
from mem_search.storage.sqlite.passage_map import PassageMapCache
from mem_search.storage.sqlite.posting_file import NOTED, ROW, Segment, hashed

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
        lengths = indexed_words.lengths(connection, self.lengths, condition, (json.dumps(listed),))
        size = len(self.home)
        home = np.full(max(len(lengths), int(passages.max(initial=0)) + 1), _GONE, np.int8)
        owners = passage_map.up_to(connection, size - 1).records[:size]
        # The map may lack passages that were deleted before it was read, even the last ones.
        kept = np.flatnonzero((owners > 0) & ~np.isin(owners, records))
        home[kept] = self.home[kept]
        home[passages] = len(self.segments)
        newly = np.count_nonzero(home[:size]) - np.count_nonzero(self.home)
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as memory:
            indexed_words.index_apart(connection, records.tolist(), memory)
            added = posting_file.segment(indexed_words.pieces(memory, self.key))
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
            *indexed_words.sums(connection),
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
    noted = connection.execute("select value from meta where key = ?", (NOTED,)).fetchone()
    if noted is None or not file.exists():
        return None
    token, key = bytes.fromhex(noted[0])[:_KEY], bytes.fromhex(noted[0])[_KEY:]
    segment, lengths, revision = posting_file.opened(file, token)
    home = np.where(lengths > 0, 0, _GONE).astype(np.int8)
    return PostingLists((segment,), home, lengths, *indexed_words.sums(connection), revision, key)


def note(connection: sqlite3.Connection, noted: str) -> None:
    """From now on the file of which ``noted`` was told belongs to the store."""
    connection.execute("insert or replace into meta(key, value) values(?, ?)", (NOTED, noted))


def write_all(connection: sqlite3.Connection, file: Path, each: Each[posting_file.Piece]) -> str:
    """Write the lists of all that FTS5 has into ``file``, with hashes of a new key; what to note
    of it. Raises OSError.
    """
    key, pieces = secrets.token_bytes(_KEY), []
    with tempfile.TemporaryFile(dir=file.parent) as held:
        for words, sizes, rows in each(indexed_words.pieces(connection, key)):
            held.write(rows.tobytes())
            pieces.append((words, sizes, rows[:0]))
        held.flush()
        count = held.tell() // ROW.itemsize
        data = np.memmap(held, ROW, "r", shape=(count,)) if count else np.zeros(0, ROW)
        segment, lengths = posting_file.segment(pieces, data), indexed_words.all_lengths(connection)
        home, revision = np.zeros(len(lengths), np.int8), newest_write(connection)
        return PostingLists((segment,), home, lengths, 0, 1.0, revision, key).write(file, each)


def of_index(connection: sqlite3.Connection, terms: Sequence[str]) -> PostingLists:
    """The lists of ``terms`` alone, as FTS5 has them."""
    segment = posting_file.segment(indexed_words.pieces(connection, b"", terms))
    condition, listed = "where id in (select value from json_each(?))", segment.rows["passage"]
    lengths = indexed_words.lengths(
        connection, np.zeros(0, np.int32), condition, (json.dumps(listed.tolist()),)
    )
    sums, revision = indexed_words.sums(connection), newest_write(connection)
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
