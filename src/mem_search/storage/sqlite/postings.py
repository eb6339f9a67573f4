"""Posting lists of the phrases that were asked for, in memory: which passages have them, how often.

FTS5 spends about two microseconds on each passage that has a word of a question. The words that
many passages have are those that many questions have, so each is read once and scored with numpy
afterwards. The scores are FTS5's own (``words.scores``), to the last place: BM25 is a sum over
phrases, so the score of one phrase tells how often a passage has it, given the passage's length.

A write to the store makes no list useless: ``record_changes`` says which records were written
since a list was read, and only their passages are read again.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import are_among
from mem_search.model.statistics import Corpus
from mem_search.storage.rules import bm25
from mem_search.storage.sqlite import column_blocks, words
from mem_search.storage.sqlite.column_blocks import Block
from mem_search.storage.sqlite.passage_map import PassageMapCache
from mem_search.text.word_forms import folded
from mem_search.text.words import AnyWords, WordPhrase, WordQuery, is_cjk

log = logging.getLogger(__name__)

MAX_BYTES: Final = 16 << 20
"""Memory of all lists. A word in half of 100,000 passages takes 250 kB."""

ENTRY_BYTES: Final = 700
"""Memory of a list beside its arrays."""

MAX_UNCACHED: Final = 8
"""A list of fewer passages is read again as quickly; names and numbers would fill the memory."""

_NEVER: Final = np.iinfo(np.int64).max
"""A number that no record has."""

LAYOUT: Final = np.dtype([("words", np.int32)])
"""A row of a stored block: the length of a passage in words."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The passages with a phrase, in order, and how often, weighted (``bm25.WEIGHTS``)."""

    passages: NDArray[np.int32]
    counts: NDArray[np.integer]
    revision: int
    bytes: int = field(init=False)
    """Its size in memory."""

    def __post_init__(self) -> None:
        size = self.passages.nbytes + self.counts.nbytes + ENTRY_BYTES
        object.__setattr__(self, "bytes", size)


@dataclass(frozen=True, slots=True)
class Statistics:
    """FTS5's, as of ``revision``: how many passages there are, and the mean of their lengths.

    ``lengths`` are by passage number, in words; those of deleted passages are left.
    """

    passages: int
    mean_length: float
    lengths: NDArray[np.int32]
    revision: int

    def scores(self, postings: Postings) -> words.Scores:
        """The part of BM25 that a phrase adds to the passages that have it."""
        weight, damping = self.factors(len(postings.passages), postings.passages)
        return bm25.scored(postings.counts, weight, damping)

    def factors(self, holders: int, passages: NDArray[np.integer]) -> tuple[float, words.Scores]:
        """``bm25.factors`` of a phrase that so many passages have, in ``passages``."""
        lengths = self.lengths[passages]
        return bm25.factors(self.passages, self.mean_length, holders, lengths)


class InexactError(Exception):
    """FTS5's scores are not what the statistics say."""


@dataclass(slots=True)
class PostingsCache:
    """The posting lists of one store; those asked for last are kept."""

    passage_map: PassageMapCache
    most_bytes: int = MAX_BYTES
    few: int = MAX_UNCACHED
    bytes: int = 0
    _lists: OrderedDict[WordPhrase, Postings] = field(default_factory=OrderedDict)
    _statistics: Statistics = field(
        default_factory=lambda: Statistics(0, 1.0, np.zeros(0, np.int32), -1)
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _exact: bool = True

    def scores(
        self,
        connection: sqlite3.Connection,
        query: WordQuery,
        corpus: Corpus,
        own: Corpus | None = None,
    ) -> tuple[words.Passages, words.Scores]:
        """Every passage that matches ``query``, with its score; in order of their numbers.

        With ``own`` only the passages of its kinds, with the scores that they would have in an
        index of nothing else.
        """
        phrases: list[WordPhrase] = []
        others: list[WordQuery] = []
        for part in bm25.phrases_of(query):
            (phrases if _is_one(part) else others).append(part)
        parts = query.of if isinstance(query, AnyWords) else (query,)
        is_any = all(isinstance(part, WordPhrase) for part in parts)
        statistics = None
        if phrases and self._exact and (is_any or own is not None):
            statistics = self.current(connection)
        if statistics is None:
            return words.scores(connection, query)
        try:
            changes = _Changes(connection)
            lists = [self._list(changes, phrase, statistics) for phrase in phrases]
        except InexactError as error:
            log.warning("posting lists are not used: %s", error)
            self._exact = False
            return words.scores(connection, query)
        if own is not None:
            lists = [self._of_kinds(connection, each, own) for each in lists]
            mean = statistics.mean_length * own.mean_length / corpus.mean_length
            statistics = replace(statistics, passages=own.size, mean_length=mean)
        passages: list[NDArray[np.integer]] = [each.passages for each in lists]
        scores = [statistics.scores(each) for each in lists]
        if others:
            more, their = words.scores(connection, AnyWords(tuple(others)))
            passages.append(more)
            scores.append(their)
        # Every score is above 0.
        sums = np.bincount(np.concatenate(passages), np.concatenate(scores))
        matching: words.Passages = np.flatnonzero(sums)
        if not is_any:
            every = words.matched(connection, query)
            matching = matching[are_among(matching, np.sort(every))]
        return matching, np.asarray(sums[matching], np.float64)

    def matched(self, connection: sqlite3.Connection, query: WordQuery) -> words.Passages:
        """Every passage that matches ``query``, in order; of one phrase from its list."""
        if isinstance(query, WordPhrase) and self._exact and _is_one(query):
            statistics, known = self.current(connection), self._lists.get(query)
            if statistics and known and known.revision == statistics.revision:
                return known.passages.astype(np.int64)
        return np.sort(words.matched(connection, query))

    def _list(self, changes: _Changes, phrase: WordPhrase, statistics: Statistics) -> Postings:
        """The list of ``phrase`` as of ``statistics``, read as far as it is not known."""
        known = self._lists.get(phrase)
        if known is not None and known.revision > statistics.revision:
            known = None  # a search that began later has read it
        if known is None or known.revision < statistics.revision:
            known = self._read(changes, phrase, known, statistics)
        if len(known.passages) < self.few and phrase not in self._lists:
            return known
        with self._lock:
            if (former := self._lists.pop(phrase, None)) is not None:
                self.bytes -= former.bytes
            kept = former if former and former.revision > known.revision else known
            self._lists[phrase] = kept
            self.bytes += kept.bytes
            while self.bytes > self.most_bytes:
                _, oldest = self._lists.popitem(last=False)
                self.bytes -= oldest.bytes
        return known

    def _of_kinds(
        self, connection: sqlite3.Connection, postings: Postings, own: Corpus
    ) -> Postings:
        """``postings`` in passages of the kinds of ``own``."""
        last = int(postings.passages.max(initial=0))
        kinds = self.passage_map.up_to(connection, last).kinds[postings.passages]
        inside = np.isin(kinds, KIND_CODES.among(own.passages))
        return replace(postings, passages=postings.passages[inside], counts=postings.counts[inside])

    def current(self, connection: sqlite3.Connection) -> Statistics | None:
        """The statistics of what ``connection`` sees; None where they are already newer."""
        (revision,) = connection.execute("select max(revision) from record_changes").fetchone()
        if self._statistics.revision < (revision or 0):
            with self._lock:
                self._statistics = _refreshed(connection, self._statistics, revision or 0)
        known = self._statistics
        return known if known.revision == (revision or 0) else None

    def _read(
        self,
        changes: _Changes,
        phrase: WordPhrase,
        known: Postings | None,
        statistics: Statistics,
    ) -> Postings:
        """The list of ``phrase``; ``known`` is an older one. Raises InexactError."""
        connection = changes.connection
        change = None if known is None else changes.since(known.revision)
        if known is None or change is None or len(change.passages) > len(known.passages):
            passages, scores = words.scores(connection, phrase)
            counts = _counts(passages, scores, len(passages), statistics)
        else:
            last = int(known.passages.max(initial=0))
            records = self.passage_map.up_to(connection, last).records
            # The map may lack passages that were deleted before it was read, even all.
            kept = known.passages < len(records)
            owners = records[known.passages[kept]]
            kept[kept] = (owners > 0) & ~change.has(owners)
            passages, scores = words.scores(connection, phrase, change.passages)
            counts = _counts(passages, scores, int(kept.sum()) + len(passages), statistics)
            passages = np.concatenate([known.passages[kept], passages])
            counts = np.concatenate([known.counts[kept], counts])
        order = np.argsort(passages, kind="stable")
        counts = counts[order].astype(np.min_scalar_type(int(counts.max(initial=0))))
        return Postings(passages[order].astype(np.int32), counts, statistics.revision)


def _is_one(phrase: WordPhrase) -> bool:
    """Whether ``phrase`` is one for FTS5, in all columns (``words.expression``)."""
    if "".join(phrase.words).isascii():
        return True
    return not any(map(is_cjk, phrase.words)) and phrase.words == (*map(folded, phrase.words),)


def _counts(
    passages: words.Passages, scores: words.Scores, holders: int, statistics: Statistics
) -> NDArray[np.int64]:
    """How often each passage has a phrase that gives it ``scores``. Raises InexactError."""
    weight, damping = statistics.factors(holders, passages)
    exact = scores * damping / ((bm25.K1 + 1) * weight - scores)
    counts = np.rint(exact)
    if len(counts) and not (off := np.abs(exact - counts).max()) < 0.01:
        raise InexactError(f"counts of {holders} passages are up to {off} off")
    return counts.astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Change:
    """What was written since a revision: the records, and the passages that they have now."""

    records: NDArray[np.int64]
    passages: NDArray[np.int64]

    def has(self, owners: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each of these records was written; quick where all that was written is new."""
        if owners.max(initial=0) < self.records.min(initial=_NEVER):
            return np.zeros(len(owners), np.bool_)
        return np.isin(owners, self.records)


@dataclass(frozen=True, slots=True)
class _Changes:
    """What was written up to a snapshot, read once for all phrases of a search."""

    connection: sqlite3.Connection
    _known: dict[int, _Change | None] = field(default_factory=dict)

    def since(self, revision: int) -> _Change | None:
        """What was written after ``revision``; None where older changes were pruned."""
        if revision not in self._known:
            self._known[revision] = _change(self.connection, revision)
        return self._known[revision]


def _change(connection: sqlite3.Connection, revision: int) -> _Change | None:
    """What was written after ``revision``; None where older changes were pruned."""
    (oldest,) = connection.execute("select min(revision) from record_changes").fetchone()
    if oldest is None or oldest > revision + 1:
        return None
    records, passages = connection.execute(
        "with changed as (select distinct record_id from record_changes where revision > ?)"
        " select (select json_group_array(record_id) from changed),"
        " (select json_group_array(id) from passages where record_id in changed)",
        (revision,),
    ).fetchone()
    return _Change(
        np.array(json.loads(records), np.int64), np.array(json.loads(passages), np.int64)
    )


def _refreshed(connection: sqlite3.Connection, known: Statistics, revision: int) -> Statistics:
    """``known`` with what was written up to ``revision``."""
    if known.revision >= revision:
        return known
    change = _change(connection, known.revision) if known.revision >= 0 else None
    if change is None:  # never read, or later changes were pruned
        known = _whole(connection, revision)
        change = _change(connection, known.revision)
    condition = "where id in (select value from json_each(?))"
    changed = json.dumps(change.passages.tolist() if change else ())
    lengths = _lengths(connection, known.lengths, condition, (changed,))
    # The number of passages, then the words of each column
    # (https://sqlite.org/fts5.html#fts5_data_structures).
    (block,) = connection.execute("select block from passages_fts_data where id = 1").fetchone()
    count, *totals = varints(block).tolist() or [0]  # an empty index has none
    return Statistics(count, max(1, sum(totals)) / max(1, count), lengths, revision)


def _lengths(
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
    lengths = np.zeros(max(len(known), int(passages.max(initial=-1)) + 1), np.int32)
    lengths[: len(known)] = known
    lengths[passages] = columns.sum(axis=1)
    return lengths


def _whole(connection: sqlite3.Connection, revision: int) -> Statistics:
    """All lengths, from stored blocks where there are any; not newer than ``revision``."""
    (last,) = connection.execute("select max(id) from passages_fts_docsize").fetchone()
    lengths = np.zeros((last or 0) + 1, np.int32)
    for part in column_blocks.parts(connection, "words", LAYOUT, len(lengths)):
        if isinstance(part, Block):
            lengths[part.span] = part.rows["words"]
        else:
            span = (part.start, part.stop)
            lengths = _lengths(connection, lengths, "where id >= ? and id < ?", span)
    since = column_blocks.revision(connection)
    return Statistics(0, 1.0, lengths, revision if since is None else since)


def block_of(statistics: Statistics, owned: NDArray[np.bool_], span: slice) -> Block:
    """The rows of ``span`` to be stored: those that are ``owned``, by a record that exists."""
    rows = np.zeros(span.stop - span.start, LAYOUT)
    rows["words"][owned] = statistics.lengths[span][owned]
    return Block(span.start, rows, {})


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
