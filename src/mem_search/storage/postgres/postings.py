"""The index of words: for each term the passages that have it, how often and where.

What one transaction stores is a segment: a row for each of its terms. Segments are merged as their
number grows, so a term has few rows. A passage that goes is taken out of the rows at once, so the
statistics of a term are exact, and nothing is left of what was forgotten.

A row has ``entries`` (``ENTRY``) and ``places``: for each time that an entry counts, the column and
the place of the term in it (``place >> COLUMN_BITS`` is the column).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, count
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mem_search.storage.postgres.connection import Connection
from mem_search.storage.rules.bm25 import COLUMNS, WEIGHTS
from mem_search.storage.rules.terms import PIECE, terms_of

ENTRY: Final = np.dtype([("passage", "<u4"), ("count", "<u2"), ("length", "<u2"), ("times", "<u2")])
"""A passage that has the term: how often, weighted (``bm25.WEIGHTS``); the terms that it has in
all; how many places it has."""

PLACE: Final = np.dtype("<u4")
COLUMN_BITS: Final = 24
_MAX_COUNT: Final = 0xFFFF

_TOGETHER: Final = 16
"""Segments of a level that are merged into one of the next."""

_MAX_SEGMENT_PASSAGES: Final = 4096
"""Passages of a segment. A passage that goes rewrites its rows in one: some hundred kilobytes."""

_LAST_LEVEL: Final = 3
"""Segments of this level are not merged any more."""


class PassageText(NamedTuple):
    """A passage as the index of words has it: its number, and the text of each of ``COLUMNS``."""

    passage: int
    columns: tuple[str, str, str, str]


class _Built(NamedTuple):
    terms: list[str]
    entries: list[bytes]
    places: list[bytes]
    total: int
    """The terms of all passages, one that a passage has twice counted twice."""


def write(connection: Connection, texts: Iterable[PassageText]) -> None:
    """Add passages, which the index does not have."""
    ordered = sorted(texts)
    if not ordered:
        return
    built = _built(ordered)
    (segment,) = connection.one("select coalesce(max(id), 0) + 1 from segments")
    connection.execute(
        "insert into segments(id, passages, first, last) values(%s, %s, %s, %s)",
        (segment, len(ordered), ordered[0].passage, ordered[-1].passage),
    )
    connection.execute(
        "insert into postings(segment, term, entries, places)"
        " select %s, * from unnest(%s::text[], %b::bytea[], %b::bytea[])",
        (segment, built.terms, built.entries, built.places),
    )
    _count(connection, len(ordered), built.total)
    _merge(connection)


def remove(connection: Connection, texts: Iterable[PassageText]) -> None:
    """Take passages out of the index. ``texts`` are as they were added."""
    gone = sorted(texts)
    if not gone:
        return
    pieces = {piece for _, columns in gone for text in columns for piece in PIECE.findall(text)}
    known = terms_of(pieces)
    numbers = np.array([each.passage for each in gone], np.int64)
    rows = connection.execute(
        "select p.segment, p.term, p.entries, p.places from postings p"
        " where p.segment = any(array(select s.id from segments s where exists"
        " (select 1 from unnest(%s::bigint[]) g(id) where g.id between s.first and s.last)))"
        " and p.term = any(%s::text[])",
        (numbers.tolist(), sorted({term for piece in pieces for term in known[piece]})),
        binary=True,
    ).fetchall()
    less: list[tuple[int, str, bytes, bytes]] = []
    removed: dict[int, set[int]] = defaultdict(set)
    for segment, term, raw, places in rows:
        entries = np.frombuffer(raw, ENTRY)
        stay = ~np.isin(entries["passage"], numbers)
        if stay.all():
            continue
        removed[segment].update(entries["passage"][~stay].tolist())
        kept = np.frombuffer(places, PLACE)[np.repeat(stay, entries["times"])]
        less.append((segment, term, entries[stay].tobytes(), kept.tobytes()))
    _rewrite(connection, less)
    connection.many(
        "update segments set passages = passages - %s where id = %s",
        [(len(passages), segment) for segment, passages in removed.items()],
    )
    connection.execute("delete from segments where passages <= 0")
    total = sum(
        len(known[piece]) for each in gone for text in each.columns for piece in PIECE.findall(text)
    )
    _count(connection, -len(gone), -total)


def _rewrite(connection: Connection, less: Sequence[tuple[int, str, bytes, bytes]]) -> None:
    """Write rows (segment, term, entries, places) that have lost some; an empty one goes."""
    if not less:
        return
    connection.execute(
        "with less as (select * from unnest(%s::bigint[], %s::text[], %b::bytea[], %b::bytea[])"
        " l(segment, term, entries, places)), none as (delete from postings p using less l"
        " where p.segment = l.segment and p.term = l.term and l.entries = '')"
        " update postings p set entries = l.entries, places = l.places from less l"
        " where p.segment = l.segment and p.term = l.term and l.entries != ''",
        [list(column) for column in zip(*less, strict=True)],
    )


def texts_of(
    connection: Connection, column: Literal["id", "record_id"], numbers: Collection[int]
) -> list[PassageText]:
    """The passages with such numbers, as the index has them. A summary is not in it."""
    rows = connection.execute(
        "select p.id, r.title, substr(r.body, p.span_start + 1, p.span_end - p.span_start),"
        " p.parts, p.people from passages p join records r on r.id = p.record_id"
        f" where p.{column} = any(%s) and p.ordinal >= 0",
        (list(numbers),),
    )
    return [PassageText(row[0], row[1:]) for row in rows]


def _built(texts: Sequence[PassageText]) -> _Built:
    """The rows of a segment of ``texts``, which are in order."""
    pieces = [[PIECE.findall(text) for text in columns] for _, columns in texts]
    known = terms_of(set(chain.from_iterable(chain.from_iterable(pieces))))
    # Numbers in the order in which terms are met, so that the loop over terms runs in C.
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    ids: list[int] = []
    sizes: list[int] = []
    for columns in pieces:
        for column in columns:
            before = len(ids)
            terms = chain.from_iterable(map(known.__getitem__, column))
            ids.extend(map(numbers.__getitem__, terms))
            sizes.append(len(ids) - before)
    if not ids:
        return _Built([], [], [], 0)
    by_column = np.array(sizes, np.int64).reshape(-1, len(COLUMNS))
    lengths = by_column.sum(axis=1)
    owners = np.repeat(np.arange(len(texts)), lengths)
    every = np.array(sizes, np.int64)
    begins = np.repeat(np.cumsum(every) - every, every)
    columns_of = np.repeat(np.tile(np.arange(len(COLUMNS)), len(texts)), sizes)
    places = (columns_of << COLUMN_BITS | np.arange(len(ids)) - begins).astype(PLACE)
    of = np.array(ids, np.int64)
    order = np.argsort(of, kind="stable")
    of, owners, places, columns_of = of[order], owners[order], places[order], columns_of[order]
    starts = np.flatnonzero(_differs(of) | _differs(owners))
    times = np.diff(np.append(starts, len(of)))
    entries = np.zeros(len(starts), ENTRY)
    entries["passage"] = np.array([each.passage for each in texts])[owners[starts]]
    entries["count"] = np.minimum(
        np.add.reduceat(np.array(WEIGHTS)[columns_of], starts), _MAX_COUNT
    )
    entries["length"] = np.minimum(lengths[owners[starts]], _MAX_COUNT)
    # More places than can be counted are left out: the passage says one word and nothing else.
    entries["times"] = np.minimum(times, _MAX_COUNT)
    if int(times.max()) > _MAX_COUNT:
        rank = np.arange(len(of)) - np.repeat(starts, times)
        places = places[rank < _MAX_COUNT]
    ends_of_entries = np.flatnonzero(np.append(_differs(of[starts])[1:], True)) + 1
    ends_of_places = np.cumsum(entries["times"].astype(np.int64))[ends_of_entries - 1]
    return _Built(
        list(numbers),
        _sliced(entries.tobytes(), ends_of_entries * ENTRY.itemsize),
        _sliced(places.tobytes(), ends_of_places * PLACE.itemsize),
        len(ids),
    )


def _differs(ordered: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a value differs from the one before it; the first does."""
    differs = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=differs[1:])
    return differs


def _sliced(data: bytes, ends: NDArray[np.int64]) -> list[bytes]:
    slices, start = [], 0
    for end in ends.tolist():
        slices.append(data[start:end])
        start = end
    return slices


def _count(connection: Connection, passages: int, terms: int) -> None:
    connection.execute(
        "update stores set indexed_passages = indexed_passages + %s,"
        " indexed_terms = indexed_terms + %s",
        (passages, terms),
    )


def _merge(connection: Connection) -> None:
    """Merge the segments of each level that has many."""
    for level in range(_LAST_LEVEL):
        rows: list[tuple[int, int]] = connection.execute(
            "select id, passages from segments where level = %s order by id", (level,)
        ).fetchall()
        if len(rows) < _TOGETHER:
            return
        run: list[int] = []
        size = 0
        for segment, passages in [*rows, (0, _MAX_SEGMENT_PASSAGES)]:
            if run and size + passages > _MAX_SEGMENT_PASSAGES:
                _join(connection, run, level + 1)
                run, size = [], 0
            run.append(segment)
            size += passages


def _join(connection: Connection, segments: list[int], level: int) -> None:
    """Make one of ``segments``."""
    if len(segments) == 1:
        connection.execute("update segments set level = %s where id = %s", (level, segments[0]))
        return
    (new,) = connection.one("select max(id) + 1 from segments")
    connection.execute(
        "with old as (delete from postings where segment = any(%s)"
        " returning segment, term, entries, places)"
        " insert into postings(segment, term, entries, places)"
        " select %s, term, string_agg(entries, ''::bytea order by segment),"
        " string_agg(places, ''::bytea order by segment) from old group by term",
        (segments, new),
    )
    connection.execute(
        "with old as (delete from segments where id = any(%s) returning passages, first, last)"
        " insert into segments(id, level, passages, first, last)"
        " select %s, %s, sum(passages), min(first), max(last) from old",
        (segments, new, level),
    )
