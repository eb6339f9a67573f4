"""Word queries over ``postings``: which passages match, and their BM25 scores (``rules.bm25``).

A query becomes a tree of phrases of terms. The lists of all its terms are read by one statement,
and phrases, alternatives and scores are worked out with numpy. The lists of a phrase are kept in
memory while nothing is written, up to ``MOST_BYTES``.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model.rankings import Numbers, Values, are_among
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.postings import COLUMN_BITS, ENTRY, PLACE
from mem_search.storage.rules import bm25
from mem_search.storage.rules.terms import PIECE, terms_of
from mem_search.text.names import Name
from mem_search.text.words import (
    FOLDED,
    AllWords,
    WordPhrase,
    WordQuery,
    folded,
    is_cjk,
    is_hash,
    pairs,
)

MOST_BYTES: Final = 64 << 20
"""Memory of the lists of phrases. A word in a third of a million passages takes 2.7 MB."""

_AT_ONCE: Final = 1 << 20
"""Passage numbers whose scores are added up in one array: 8 MB."""

_LIST_BYTES: Final = 500
"""Of a list beside its arrays."""

LAST: Final = "\U0010ffff"
"""Sorts after everything that can follow a prefix."""

_PARTS: Final = bm25.COLUMNS.index("parts")
_WEIGHTS: Final = np.array(bm25.WEIGHTS)
_PLACE_BITS: Final = 32
_NONE: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Terms next to each other, in one ``column`` if that is given; the last may go on."""

    terms: tuple[str, ...]
    prefix: bool = False
    column: int | None = None


@dataclass(frozen=True, slots=True)
class All:
    """Each of its parts."""

    of: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """One of its parts; the more, the better."""

    of: tuple[Tree, ...]


Tree = Phrase | All | Any


@dataclass(frozen=True, slots=True)
class Holders:
    """The passages with a phrase, in order; how often, weighted; how many terms they have.

    The columns are of the smallest types that hold their values.
    """

    passages: NDArray[np.integer]
    counts: NDArray[np.integer]
    lengths: NDArray[np.integer]

    def among(self, rows: NDArray[np.bool_]) -> Holders:
        return Holders(self.passages[rows], self.counts[rows], self.lengths[rows])

    @property
    def bytes(self) -> int:
        return self.passages.nbytes + self.counts.nbytes + self.lengths.nbytes + _LIST_BYTES


@dataclass(frozen=True, slots=True)
class Statistics:
    """How many passages the index has, and the mean of their lengths in terms."""

    passages: int
    mean_length: float


@dataclass(slots=True)
class Lists:
    """The lists of phrases that were asked for last, as of one revision of the store."""

    most_bytes: int = MOST_BYTES
    bytes: int = 0
    _revision: int = -1
    _known: OrderedDict[Phrase, Holders] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(
        self, connection: Connection, phrases: Iterable[Phrase], revision: int
    ) -> dict[Phrase, Holders]:
        """The passages of each of ``phrases`` that ``connection`` sees, as of ``revision``."""
        wanted = list(dict.fromkeys(phrases))
        with self._lock:
            known = self._known if revision == self._revision else {}
            found = {phrase: known[phrase] for phrase in wanted if phrase in known}
        lacking = [phrase for phrase in wanted if phrase not in found]
        if lacking:
            read = read_lists(connection, lacking)
            found |= read
            self._keep(revision, read)
        return found

    def _keep(self, revision: int, read: dict[Phrase, Holders]) -> None:
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


def compiled(query: WordQuery, column: int | None = None) -> Tree:
    """``query`` over the terms of the index; only in ``column`` if that is given."""
    match query:
        case WordPhrase():
            return _phrase(query, column)
        case AllWords():
            return All(tuple(compiled(part, column) for part in query.of))
        case _:
            return Any(tuple(compiled(part, column) for part in query.of))


def _phrase(phrase: WordPhrase, column: int | None) -> Tree:
    """Words of one script form a phrase; where the script changes, both sides must match."""
    runs = phrase.words
    if len(runs) == 1 and is_hash(runs[0]):
        return Phrase(_terms(runs), prefix=True, column=column)
    found: list[Tree] = []
    latin: list[str] = []

    def end_of_latin() -> None:
        if latin:
            found.append(_latin(tuple(latin), phrase.prefix, column))
            latin.clear()

    for run in runs:
        if is_cjk(run):
            end_of_latin()
            # A character is indexed as the beginning of a pair, or alone at the end of a run.
            found.append(Phrase(_terms(pairs(run)), len(run) == 1, _PARTS))
        else:
            latin.append(run)
    end_of_latin()
    if len(found) == 1:
        return found[0]
    # Where scripts touch, only a phrase that stands alone may go on.
    return All(tuple(map(_whole, found)))


def _whole(part: Tree) -> Tree:
    """``part``, ended where it ends, unless it is of CJK."""
    if isinstance(part, Phrase) and part.column != _PARTS:
        return replace(part, prefix=False)
    return part


def _latin(words: tuple[str, ...], prefix: bool, column: int | None) -> Tree:
    as_written = Phrase(_terms(words), prefix, column)
    plain = tuple(map(folded, words))
    # The index has the word as it was written, and beside it without such letters.
    return (
        as_written if plain == words else Any((as_written, Phrase(_terms(plain), prefix, column)))
    )


def _terms(words: Sequence[str]) -> tuple[str, ...]:
    known = terms_of(piece for word in words for piece in PIECE.findall(word))
    return tuple(term for word in words for piece in PIECE.findall(word) for term in known[piece])


def phrases_of(tree: Tree) -> Iterator[Phrase]:
    """The phrases of ``tree``."""
    if isinstance(tree, Phrase):
        yield tree
    else:
        for part in tree.of:
            yield from phrases_of(part)


def matching(tree: Tree, lists: dict[Phrase, Holders]) -> Numbers:
    """The passages that match ``tree``, in order."""
    if isinstance(tree, Phrase):
        return lists[tree].passages.astype(np.int64)
    found = [matching(part, lists) for part in tree.of]
    if isinstance(tree, All):
        return reduce(_among, found)
    return np.unique(np.concatenate(found))


def matched(connection: Connection, query: WordQuery, column: int | None = None) -> Numbers:
    """Every matching passage, in order, so that totals are exact."""
    tree = compiled(query, column)
    return matching(tree, read_lists(connection, list(phrases_of(tree))))


def statistics(connection: Connection) -> Statistics:
    """The statistics that are kept with every write."""
    passages, terms = connection.one("select indexed_passages, indexed_terms from stores")
    return Statistics(passages, max(1, terms) / max(1, passages))


def scored(
    tree: Tree, lists: dict[Phrase, Holders], statistics: Statistics
) -> tuple[Numbers, Values]:
    """Every passage that matches ``tree``, in order, with its score."""
    passages: list[NDArray[np.integer]] = [_NONE]
    scores = [np.zeros(0)]
    for phrase in phrases_of(tree):
        holders = lists[phrase]
        weight, damping = bm25.factors(
            statistics.passages, statistics.mean_length, len(holders.passages), holders.lengths
        )
        passages.append(holders.passages)
        scores.append(bm25.scored(holders.counts, weight, damping))
    every, sums = _added(passages, scores)
    if isinstance(tree, Phrase) or (
        isinstance(tree, Any) and all(isinstance(part, Phrase) for part in tree.of)
    ):
        return every, sums
    inside = np.isin(every, matching(tree, lists))
    return every[inside], sums[inside]


def _added(passages: list[NDArray[np.integer]], scores: list[Values]) -> tuple[Numbers, Values]:
    """Each passage once, in order, and the sum of its scores, which all are above 0."""
    last = max(int(each[-1]) for each in passages if len(each)) if any(map(len, passages)) else -1
    found, sums = [_NONE], [np.zeros(0)]
    # In parts, so that what this takes does not grow with the store.
    for first in range(0, last + 1, _AT_ONCE):
        parts = [slice(*np.searchsorted(each, [first, first + _AT_ONCE])) for each in passages]
        of = np.concatenate([each[part] for each, part in zip(passages, parts, strict=True)])
        added = np.concatenate([each[part] for each, part in zip(scores, parts, strict=True)])
        some: Values = np.bincount(of.astype(np.int64) - first, added).astype(np.float64)
        places = np.flatnonzero(some)
        found.append((places + first).astype(np.int64))
        sums.append(some[places])
    return np.concatenate(found), np.concatenate(sums)


def unknown(connection: Connection, words: Sequence[str]) -> list[str]:
    """The ``words``, in lower case, that no search can find in any form that it treats as equal."""
    phrases = {word: Phrase(_terms([word.translate(FOLDED)])) for word in words}
    single = {phrase.terms[0] for phrase in phrases.values() if len(phrase.terms) == 1}
    known = set(
        connection.column(
            "select distinct term from postings where segment = any(array(select id from segments))"
            " and term = any(%s::text[])",
            (sorted(single),),
        )
    )
    several = [phrase for phrase in phrases.values() if len(phrase.terms) > 1]
    lists = read_lists(connection, several) if several else {}
    return [
        word
        for word, phrase in phrases.items()
        if not (len(lists[phrase].passages) if phrase in lists else known & {*phrase.terms})
    ]


def holding(connection: Connection, name: Name, passages: Numbers) -> tuple[Numbers, Values]:
    """Those of ``passages`` that have ``name``, in order, and how (``Name.held``)."""
    rows = connection.execute(
        "select p.id, r.title || chr(10)"
        " || substr(r.body, p.span_start + 1, p.span_end - p.span_start)"
        " || chr(10) || p.parts || chr(10) || p.people from passages p"
        " join records r on r.id = p.record_id where p.id = any(%s) and p.ordinal >= 0",
        (passages.tolist(),),
    )
    held = {passage: well for passage, text in rows if (well := name.held(text))}
    found = sorted(held)
    return np.array(found, np.int64), np.array([held[each] for each in found], np.float64)


def read_lists(connection: Connection, phrases: Sequence[Phrase]) -> dict[Phrase, Holders]:
    """The passages of each of ``phrases``, from the store."""
    exact = {t for each in phrases for t in (each.terms[:-1] if each.prefix else each.terms)}
    begun = {each.terms[-1] for each in phrases if each.prefix and each.terms}
    placed = any(not _is_plain(each) for each in phrases)
    places = "string_agg(places, ''::bytea order by segment)" if placed else "''::bytea"
    condition = "segment = any(array(select id from segments)) and"
    statement = (
        f"select term, string_agg(entries, ''::bytea order by segment), {places} from postings"
        f" where {condition} "
    )
    rows = connection.execute(
        f"{statement} term = any(%s::text[]) group by term", (sorted(exact),), binary=True
    ).fetchall()
    lists = {term: _List(entries, places) for term, entries, places in rows}
    beginnings: dict[str, list[_List]] = {}
    for beginning in begun:
        rows = connection.execute(
            f"{statement} term >= %s and term < %s group by term",
            (beginning, beginning + LAST),
            binary=True,
        ).fetchall()
        beginnings[beginning] = [_List(entries, places) for _, entries, places in rows]
    return {phrase: _holders(phrase, lists, beginnings) for phrase in phrases}


def _is_plain(phrase: Phrase) -> bool:
    """Whether its passages are known without the places of its terms."""
    return len(phrase.terms) == 1 and phrase.column is None


class _List:
    """The list of one term."""

    def __init__(self, entries: bytes, places: bytes) -> None:
        self.entries = np.frombuffer(entries, ENTRY)
        self._places = places

    def keys(self, passages: Numbers) -> NDArray[np.int64]:
        """For each place of the term in ``passages``, ``passage << 32 | place``, in no order."""
        entries, places = self.entries, np.frombuffer(self._places, PLACE)
        inside = are_among(entries["passage"], passages)
        if not inside.all():
            places = places[np.repeat(inside, entries["times"])]
            entries = entries[inside]
        owners = np.repeat(entries["passage"].astype(np.int64), entries["times"])
        return owners << _PLACE_BITS | places.astype(np.int64)


def _among(ordered: NDArray[np.int64], others: NDArray[np.integer]) -> NDArray[np.int64]:
    """Those of ``ordered`` that are among ``others``, which mostly are in order, too."""
    return ordered[are_among(ordered, np.sort(others, kind="stable"))]


def _holders(
    phrase: Phrase, lists: dict[str, _List], beginnings: dict[str, list[_List]]
) -> Holders:
    chosen: list[list[_List]] = []
    for place, term in enumerate(phrase.terms):
        is_prefix = phrase.prefix and place == len(phrase.terms) - 1
        found = beginnings[term] if is_prefix else [lists[term]] if term in lists else []
        if not found:
            chosen = []
            break
        chosen.append(found)
    if not chosen:
        return Holders(_NONE, _NONE, _NONE)
    entries = np.concatenate([each.entries for each in chosen[0]])
    order = np.argsort(entries["passage"], kind="stable")
    passages = entries["passage"][order]
    firsts = np.flatnonzero(np.append(True, passages[1:] != passages[:-1]))
    lengths = entries["length"][order][firsts]
    if _is_plain(phrase):
        counts = np.add.reduceat(entries["count"][order].astype(np.int64), firsts)
        return Holders(passages[firsts], _small(counts), lengths)
    shared = passages[firsts].astype(np.int64)
    for found in chosen[1:]:
        shared = _among(shared, np.concatenate([each.entries["passage"] for each in found]))
    keys = [np.concatenate([each.keys(shared) for each in found]) for found in chosen]
    together = np.sort(keys[0], kind="stable")
    for later in keys[1:]:  # the place of the last term that was found
        together = _among(together + 1, later)
    columns = (together & ((1 << _PLACE_BITS) - 1)) >> COLUMN_BITS
    if phrase.column is not None:
        inside = columns == phrase.column
        together, columns = together[inside], columns[inside]
    with_it, rows = np.unique(together >> _PLACE_BITS, return_inverse=True)
    counts = np.bincount(rows, _WEIGHTS[columns], len(with_it)).astype(np.int64)
    lengths = lengths[np.searchsorted(passages[firsts], with_it)]
    return Holders(with_it.astype(passages.dtype), _small(counts), lengths)


def _small(counts: NDArray[np.int64]) -> NDArray[np.integer]:
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
