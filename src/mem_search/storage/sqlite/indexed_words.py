"""What FTS5 has of the words of passages: each place of each word, lengths, and its own sums.

``posting_file`` makes lists of it. Of a few records an index of nothing else is made in memory,
because FTS5 finds the words of a passage only by reading all.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.storage.rules import bm25
from mem_search.storage.sql.passage_rows import Text
from mem_search.storage.sqlite.posting_file import MOST, ROW, Piece, hashed

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


def pieces(
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
    rows["count"] = np.minimum(np.add.reduceat(weights, starts), MOST)
    hashes = np.array([hashed(term, key) for term in terms], np.uint64)
    return hashes, np.bincount(owners[starts], minlength=len(terms)), rows


def _decoded(numbers: str) -> Iterator[NDArray[np.int64]]:
    start = 0
    while start < len(numbers):
        end = numbers.find(",", start + _BATCH)
        end = len(numbers) if end < 0 else end
        yield np.array(json.loads(f"[{numbers[start:end]}]"), np.int64)
        start = end + 1


def sums(connection: sqlite3.Connection) -> tuple[int, float]:
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
        known = lengths(connection, known, "where id >= ? and id < ?", (first, first + _SPAN))
    return known


def lengths(
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
