"""Words on a server: queries over ``postings`` with their scores, counts of words, the vocabulary.

A query becomes a tree of phrases of terms. ``word_lists`` has the passages of each phrase, and
alternatives and scores are worked out with numpy (``rules.bm25``). How many records have each word,
as it is written, is kept with every change of a record. The sample is nobody's own text, so its
words do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model import SAMPLE
from mem_search.model.arrays import are_among, distinct
from mem_search.model.forgetting import words_of
from mem_search.model.rankings import Numbers, Values
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.word_lists import Phrase, PostingList, WordLists, among
from mem_search.storage.rules import bm25
from mem_search.storage.rules.terms import PIECE, terms_of
from mem_search.storage.sql.connection import ascii_lower
from mem_search.storage.sql.vocabulary import FILES, LAST, MAX_WORD_CHARS, Counted, Vocabulary
from mem_search.text.word_forms import folded
from mem_search.text.words import AllWords, WordPhrase, WordQuery, bigrams, indexed, is_cjk, is_hash

_AT_ONCE: Final = 1 << 20
"""Passage numbers whose scores are added up in one array: 8 MB."""

_PARTS: Final = bm25.COLUMNS.index("parts")
_NONE: Final = np.zeros(0, np.int64)


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
class Statistics:
    """How many passages the index has, and the mean of their lengths in terms."""

    passages: int
    mean_length: float


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
    parts: list[Tree] = []
    latin: list[str] = []

    def end_of_latin() -> None:
        if latin:
            parts.append(_latin(tuple(latin), phrase.prefix, column))
            latin.clear()

    for run in runs:
        if is_cjk(run):
            end_of_latin()
            # A character is indexed as the beginning of a pair, or alone at the end of a run.
            parts.append(Phrase(_terms(bigrams(run)), len(run) == 1, _PARTS))
        else:
            latin.append(run)
    end_of_latin()
    if len(parts) == 1:
        return parts[0]
    # Where scripts touch, only a phrase that stands alone may go on.
    return All(tuple(map(_whole, parts)))


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
    pieces = [piece for word in words for piece in PIECE.findall(indexed(word))]
    known = terms_of(pieces)
    return tuple(term for piece in pieces for term in known[piece])


def phrases_of(tree: Tree) -> Iterator[Phrase]:
    """The phrases of ``tree``."""
    if isinstance(tree, Phrase):
        yield tree
    else:
        for part in tree.of:
            yield from phrases_of(part)


def matching(tree: Tree, lists: dict[Phrase, PostingList]) -> Numbers:
    """The passages that match ``tree``, in order."""
    if isinstance(tree, Phrase):
        return lists[tree].passages.astype(np.int64)
    passages = [matching(part, lists) for part in tree.of]
    if isinstance(tree, All):
        return reduce(among, passages)
    return distinct(np.concatenate(passages))


def matched(connection: Connection, query: WordQuery, column: int | None = None) -> Numbers:
    """Every matching passage, in order, so that totals are exact."""
    tree = compiled(query, column)
    return matching(tree, WordLists().of(connection, phrases_of(tree), revision=0))


def statistics(connection: Connection) -> Statistics:
    """The statistics that are kept with every write."""
    passages, terms = connection.one("select indexed_passages, indexed_terms from stores")
    return Statistics(passages, max(1, terms) / max(1, passages))


def scored(
    tree: Tree, lists: dict[Phrase, PostingList], statistics: Statistics
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
    inside = are_among(every, matching(tree, lists))
    return every[inside], sums[inside]


def _added(passages: list[NDArray[np.integer]], scores: list[Values]) -> tuple[Numbers, Values]:
    """Each passage once, in order, and the sum of its scores, which all are above 0."""
    last = max(int(each[-1]) for each in passages if len(each)) if any(map(len, passages)) else -1
    numbers, sums = [_NONE], [np.zeros(0)]
    # In parts, so that what this takes does not grow with the store.
    for first in range(0, last + 1, _AT_ONCE):
        ends = [first, min(first + _AT_ONCE, last + 1)]
        # Of the type of the list: numpy would copy a long list to compare it with another type.
        parts = [slice(*np.searchsorted(each, np.array(ends, each.dtype))) for each in passages]
        of = np.concatenate([each[part] for each, part in zip(passages, parts, strict=True)])
        added = np.concatenate([each[part] for each, part in zip(scores, parts, strict=True)])
        some: Values = np.bincount(of.astype(np.int64) - first, added).astype(np.float64)
        places = np.flatnonzero(some)
        sums.append(some[places])
        numbers.append(places + first)
    return np.concatenate(numbers), np.concatenate(sums)


def unknown(
    connection: Connection, lists: WordLists, words: Sequence[str], revision: int
) -> list[str]:
    """The ``words``, in lower case, that no search can find in any form that it treats as equal."""
    phrases = {word: Phrase(_terms([folded(word)])) for word in words}
    several = lists.of(
        connection, (each for each in phrases.values() if len(each.terms) > 1), revision
    )
    single = {each.terms[0] for each in phrases.values() if len(each.terms) == 1}
    known = set(
        connection.column(
            "select t from unnest(%s::text[]) t where exists (select from postings"
            " where segment = any(array(select id from segments)) and term = t)",
            (sorted(single),),
        )
    )
    return [
        word
        for word, phrase in phrases.items()
        if not (len(several[phrase].passages) if phrase in several else known & {*phrase.terms})
    ]


_TITLE: Final = 100
"""Characters of a title that the index has."""


def of_record(source: str, title: str, body: str, people: str) -> set[str]:
    """The words that a record has in its title, its text and its names of people and files."""
    return set() if source == SAMPLE else words_of(f"{title} {body} {people}")


def of_stored(connection: Connection, numbers: Collection[int]) -> Counter[str]:
    """How many of these records have each word."""
    rows = connection.execute(
        "select r.source, r.title, r.body, coalesce(p.people, '') from records r"
        " left join passages p on p.record_id = r.id and p.ordinal = 0 where r.id = any(%s)",
        (list(numbers),),
    )
    return Counter(word for row in rows for word in of_record(*row))


def count(connection: Connection, changes: Mapping[str, int]) -> None:
    """Add ``changes`` to the counts."""
    changed = sorted((word, by) for word, by in changes.items() if by)
    if not changed:
        return
    words = [word for word, _ in changed]
    connection.execute(
        "insert into words(word, records) select * from unnest(%s::text[], %s::bigint[])"
        " on conflict(owner, word) do update set records = words.records + excluded.records",
        (words, [by for _, by in changed]),
    )
    if any(by < 0 for _, by in changed):
        connection.execute(
            "delete from words where word = any(%s::text[]) and records <= 0", (words,)
        )


def counts_of(connection: Connection, wanted: Iterable[str]) -> dict[str, int]:
    """Word → how many records have it, of those that any has."""
    rows = connection.execute(
        "select word, records from words where word = any(%s::text[])", (list(wanted),)
    )
    return dict(rows.fetchall())


class PostgresVocabulary(Vocabulary):
    """Text has the collation "C", and titles stand in lower case beside their own."""

    word, records, words = "word", "records", "words"

    def ending_with(self, endings: Sequence[str], limit: int) -> list[Counted]:
        # The index ``words_by_end`` has them reversed, so that each ending is a range of it.
        reversed_endings = [ending[::-1] for ending in endings]
        return self._rows(
            "select w.word, w.records from unnest(%s::text[]) e(beginning)"
            " cross join lateral (select word, records from words where reverse(word) > e.beginning"
            " and reverse(word) < e.beginning || %s and length(word) <= %s) w"
            " group by w.word, w.records order by 2 desc, 1 limit %s",
            (reversed_endings, LAST, MAX_WORD_CHARS, limit),
        )

    def _titles(self, prefix: str, limit: int) -> list[Counted]:
        begun = ascii_lower(prefix)
        return self._rows(
            "select min(title), count(*) from records where title != '' and source != %s"
            " and title_lower >= %s and title_lower < %s"
            " and starts_with(lower(title), %s) group by lower(title) order by lower(title)"
            " limit %s",
            (SAMPLE, begun[:_TITLE], begun[:_TITLE] + LAST, begun, limit),
        )

    def _files(self, prefix: str, limit: int) -> list[Counted]:
        told, begun = (
            ("value", prefix)
            if "/" in prefix
            else ("lower(regexp_replace(value, '^.*/', ''))", ascii_lower(prefix))
        )
        return self._rows(
            "select value, count(distinct record_id) from facets"
            f" where {FILES} and {told} >= %s and {told} < %s"
            " group by value order by 2 desc, 1 limit %s",
            (begun, begun + LAST, limit),
        )
