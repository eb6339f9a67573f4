"""The lists of words and phrases: which passages have one, how often, and how long they are.

The lists of single words are read whole. The places of a word are read only in the segments where
the other words of its phrase are. Lists are kept in memory while nothing is written, up to
``MAX_BYTES``.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model.arrays import are_among
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.postings import COLUMN_BITS, ENTRY, PLACE
from mem_search.storage.rules.bm25 import WEIGHTS
from mem_search.storage.sql.vocabulary import LAST

MAX_BYTES: Final = 64 << 20
"""Memory of the lists of phrases. A word in a third of a million passages takes 2.7 MB."""

_AT_ONCE: Final = 64
"""Segments whose places are in memory together."""

_LIST_BYTES: Final = 500
"""Of a list beside its arrays."""

_WEIGHTS: Final = np.array(WEIGHTS)
_PLACE_BITS: Final = 32
_NONE: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Terms next to each other, in one ``column`` if that is given; the last may go on."""

    terms: tuple[str, ...]
    prefix: bool = False
    column: int | None = None

    @property
    def is_word(self) -> bool:
        """Whether its passages are known without the places of its terms."""
        return len(self.terms) == 1 and self.column is None

    def words(self) -> Iterator[Phrase]:
        """Each of its terms alone."""
        last = len(self.terms) - 1
        for place, term in enumerate(self.terms):
            yield Phrase((term,), self.prefix and place == last)

    def listed(self) -> list[Phrase]:
        """The words whose lists are read before any places.

        A word that may go on stands for many terms, so its list is read only if it is alone.
        """
        words = list(self.words())
        return [word for word in words if not word.prefix] or words


@dataclass(frozen=True, slots=True)
class PostingList:
    """The passages with a phrase, in order; how often, weighted; how many terms they have.

    The columns are of the smallest types that hold their values.
    """

    passages: NDArray[np.integer]
    counts: NDArray[np.integer]
    lengths: NDArray[np.integer]

    def among(self, rows: NDArray[np.bool_]) -> PostingList:
        return PostingList(self.passages[rows], self.counts[rows], self.lengths[rows])

    @property
    def bytes(self) -> int:
        return self.passages.nbytes + self.counts.nbytes + self.lengths.nbytes + _LIST_BYTES


NOWHERE: Final = PostingList(_NONE, _NONE, _NONE)


@dataclass(slots=True)
class WordLists:
    """The lists of words and phrases that were asked for last, as of one revision of the store."""

    most_bytes: int = MAX_BYTES
    bytes: int = 0
    _revision: int = -1
    _known: OrderedDict[Phrase, PostingList] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(
        self, connection: Connection, phrases: Iterable[Phrase], revision: int
    ) -> dict[Phrase, PostingList]:
        """The passages of each of ``phrases`` that ``connection`` sees, as of ``revision``."""
        wanted = list(dict.fromkeys(phrases))
        known = self.known(wanted, revision)
        lacking = [phrase for phrase in wanted if phrase not in known]
        if not lacking:
            return known
        words = list(dict.fromkeys(word for phrase in lacking for word in phrase.listed()))
        lists = self.known(words, revision)
        if unread := [word for word in words if word not in lists]:
            read = read_words(connection, unread)
            self._keep(revision, read)
            lists |= read
        phrased = {
            phrase: _read_phrase(connection, phrase, lists)
            for phrase in lacking
            if not phrase.is_word
        }
        self._keep(revision, phrased)
        return known | {phrase: lists[phrase] for phrase in lacking if phrase.is_word} | phrased

    def known(self, phrases: Iterable[Phrase], revision: int) -> dict[Phrase, PostingList]:
        """Those of ``phrases`` that are in memory as of ``revision``; they are kept longer now."""
        with self._lock:
            if revision != self._revision:
                return {}
            lists = {phrase: self._known[phrase] for phrase in phrases if phrase in self._known}
            for phrase in lists:
                self._known.move_to_end(phrase)
            return lists

    def _keep(self, revision: int, read: dict[Phrase, PostingList]) -> None:
        with self._lock:
            if revision < self._revision:
                return  # a search that began later has read newer ones
            if revision > self._revision:
                self._known.clear()
                self._revision, self.bytes = revision, 0
            for phrase, holders in read.items():
                if phrase not in self._known:
                    self._known[phrase] = holders
                    self.bytes += holders.bytes
            while self.bytes > self.most_bytes:
                _, oldest = self._known.popitem(last=False)
                self.bytes -= oldest.bytes


def read_words(connection: Connection, words: Sequence[Phrase]) -> dict[Phrase, PostingList]:
    """The passages of each of ``words``, from the store."""
    exact = sorted({word.terms[0] for word in words if not word.prefix})
    # A row for each segment: the server takes longer to join long lists than to send them.
    statement = (
        "entries from postings where segment = any(array(select id from segments)) and"
        " {} order by segment, term"
    )
    lists: defaultdict[Phrase, list[bytes]] = defaultdict(list)
    if exact:
        each = statement.format("term = any(%s::text[])")
        for term, entries in connection.execute(f"select term, {each}", (exact,), binary=True):
            lists[Phrase((term,))].append(entries)
    every = statement.format("term >= %s and term < %s")
    for word in words:
        if word.prefix:
            (beginning,) = word.terms
            rows = connection.execute(
                f"select {every}", (beginning, beginning + LAST), binary=True
            ).fetchall()
            lists[word] = [entries for (entries,) in rows]
    return {word: _posting_list(lists[word]) for word in words}


def _posting_list(lists: Sequence[bytes]) -> PostingList:
    """Of a word: the lists of its terms as one."""
    if not lists:
        return NOWHERE
    entries = np.frombuffer(b"".join(lists), ENTRY)
    passages, lengths = (np.ascontiguousarray(entries[name]) for name in ("passage", "length"))
    if (passages[1:] > passages[:-1]).all():
        return PostingList(passages, _small(entries["count"]), lengths)
    order = np.argsort(passages, kind="stable")
    passages = passages[order]
    firsts = np.flatnonzero(np.append(True, passages[1:] != passages[:-1]))
    counts = np.add.reduceat(entries["count"][order].astype(np.int64), firsts)
    return PostingList(passages[firsts], _small(counts), lengths[order][firsts])


def _read_phrase(
    connection: Connection, phrase: Phrase, lists: dict[Phrase, PostingList]
) -> PostingList:
    """The passages of ``phrase``. ``lists`` has those of its ``listed`` words; their places are
    read from the store.
    """
    words = list(phrase.words())
    if not words:  # of an emoji alone: no text has it as a word
        return NOWHERE
    first, *_ = each = [lists[word] for word in phrase.listed()]
    rarest, *others = sorted((word.passages for word in each), key=len)
    shared = reduce(lambda some, other: some[are_among(some, other)], others, rarest)
    keys: dict[Phrase, NDArray[np.int64]] = {}
    # The last word comes first. If it may go on, its list is not known, and the others are read
    # only where it was found.
    for word in dict.fromkeys(reversed(words)):
        keys[word] = _read_keys(connection, word, shared)
        if word.prefix:
            shared = np.sort(keys[word] >> _PLACE_BITS, kind="stable")
    together = np.sort(keys[words[0]], kind="stable")
    for word in words[1:]:  # the place of the last term that was found
        together = among(together + 1, keys[word])
    columns = (together & ((1 << _PLACE_BITS) - 1)) >> COLUMN_BITS
    if phrase.column is not None:
        inside = columns == phrase.column
        together, columns = together[inside], columns[inside]
    with_it, rows = np.unique(together >> _PLACE_BITS, return_inverse=True)
    counts = np.bincount(rows, _WEIGHTS[columns], len(with_it)).astype(np.int64)
    lengths = first.lengths[np.searchsorted(first.passages, with_it)]
    return PostingList(with_it.astype(first.passages.dtype), _small(counts), lengths)


def _segments_of(connection: Connection, passages: NDArray[np.integer]) -> list[int]:
    """The segments that may have some of ``passages``, which are in order."""
    if not len(passages):
        return []
    rows = connection.execute("select id, first, last from segments order by id", binary=True)
    segments = np.array(rows.fetchall(), np.int64).reshape(-1, 3)
    begins = np.searchsorted(passages, segments[:, 1])
    ends = np.searchsorted(passages, segments[:, 2], side="right")
    ids: list[int] = segments[begins < ends, 0].tolist()
    return ids


def _read_keys(
    connection: Connection, word: Phrase, passages: NDArray[np.integer]
) -> NDArray[np.int64]:
    """For each place of ``word`` in ``passages``, ``passage << 32 | place``; in no order."""
    (term,) = word.terms
    is_word, values = "term = %s", [term]
    if word.prefix:
        is_word, values = "term >= %s and term < %s", [term, term + LAST]
    segments = _segments_of(connection, passages)
    keys = [_NONE]
    for first in range(0, len(segments), _AT_ONCE):
        rows = connection.execute(
            f"select entries, places from postings where segment = any(%s) and {is_word}"
            " order by segment, term",
            (segments[first : first + _AT_ONCE], *values),
            binary=True,
        ).fetchall()
        if rows:
            entries = np.frombuffer(b"".join([row[0] for row in rows]), ENTRY)
            places = np.frombuffer(b"".join([row[1] for row in rows]), PLACE)
            keys.append(_keys(entries, places, passages))
    return np.concatenate(keys)


def _keys(
    entries: NDArray[np.void], places: NDArray[np.uint32], passages: NDArray[np.integer]
) -> NDArray[np.int64]:
    """``passage << 32 | place`` for each of ``places`` whose entry is of one of ``passages``.

    Entry after entry, ``places`` has as many as its ``times`` says.
    """
    owners = np.ascontiguousarray(entries["passage"])
    inside = np.flatnonzero(are_among(owners, passages))
    times = entries["times"][inside].astype(np.int64)
    before = np.cumsum(entries["times"], dtype=np.int64)[inside] - times
    chosen = np.arange(times.sum()) + np.repeat(before - (np.cumsum(times) - times), times)
    holders = np.repeat(owners[inside].astype(np.int64), times)
    return np.asarray(holders << _PLACE_BITS | places[chosen])


def among(ordered: NDArray[np.int64], others: NDArray[np.integer]) -> NDArray[np.int64]:
    """Those of ``ordered`` that are among ``others``, which mostly are in order, too."""
    return ordered[are_among(ordered, np.sort(others, kind="stable"))]


def _small(counts: NDArray[np.integer]) -> NDArray[np.integer]:
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
