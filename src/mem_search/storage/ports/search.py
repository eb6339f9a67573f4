"""The search port: one consistent snapshot of the store, and a way to read it.

The methods of a snapshot block. They run in one reading thread of the store, on one consistent
view, so that a search crosses threads once for many questions. Columns are numpy arrays: a search
looks at thousands of passages to show twenty records. Record and passage numbers are positive;
times are milliseconds since 1970; a cosine lies in -1..1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import tzinfo
from typing import Concatenate, Literal, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from mem_search.model import FacetCounts, FacetName, Filters, Kind, Order, Record
from mem_search.model.graph import GraphLabel, GraphWalk, Relationship
from mem_search.model.rankings import (
    Candidates,
    Matches,
    Numbers,
    PassageColumns,
    PassageContext,
    PassageSpan,
    RecordColumns,
    Values,
    Vectors,
)
from mem_search.model.records import RecordWithLinks
from mem_search.model.requests import Scope
from mem_search.model.statistics import AskedQuery, Corpus
from mem_search.text.identifiers import Name
from mem_search.text.record_ids import RecordId
from mem_search.text.sketch import Sketches
from mem_search.text.words import WordQuery

P = ParamSpec("P")
T = TypeVar("T")

Names = Literal["title", "project", "tag", "file"]
"""The sorts of names that can be completed."""

Counted = tuple[str, int]
"""A word or name, and how many records have it."""


class SearchSnapshot(Protocol):
    """One consistent view of the store. Use it only inside ``SearchStore.read``."""

    # Words

    def word_matches(
        self,
        query: WordQuery,
        filters: Filters,
        depth: int,
        guessed: WordQuery | None = None,
        forms: Sequence[Sequence[str]] = (),
    ) -> tuple[Candidates, Matches]:
        """Records within ``filters`` with a passage that matches, scored by BM25.

        A record has the score of its best passage. The statistics are those of the whole store,
        whatever the filters, except that kinds of long texts alone are scored as in a store of
        their own; the parameters, the weight of titles and the length correction of
        chat turns are the store's. The candidates are the best ``depth`` records, and the best
        ``depth // 10`` of each kind that has fewer among them; the matches are all records.
        What ``guessed``, a part of ``query``, adds to a score counts a quarter. ``forms``, words of
        ``query`` as ``known_word`` reads them, count as one word where they stand together.
        """
        ...

    def records_with_words(self, query: WordQuery) -> Numbers:
        """The records with a passage that matches, in order."""
        ...

    def exact_matches(self, name: Name, filters: Filters, most: int) -> Candidates:
        """Records within ``filters`` that have ``name`` as it is written, whole ones first.

        The score is 2 for the whole name and 1 inside a longer one (``Name.held``), the passage is
        one that has it. None when more than ``most`` records have it, or when too many passages
        to read have its words in a row: then the name says little.
        """
        ...

    def expand_words(self, wild: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """For each of ``wild`` the words of the store that it stands for.

        ``auth*`` is a prefix, ``auht~`` a misspelling, ``*oriz*`` and ``au*tion`` are wildcards; a
        result may itself end in ``*``.
        """
        ...

    def unknown_words(self, words: Sequence[str]) -> list[str]:
        """Those of ``words`` (lower case) that no passage has in any form."""
        ...

    def holders_of(self, words: Sequence[str], most: int) -> list[int]:
        """For each of ``words``, as ``known_word`` reads them, how many passages have it in any
        form; ``most`` for more.
        """
        ...

    def passages_with(self, words: Sequence[str]) -> list[Numbers]:
        """For each of ``words`` (lower case) the passages that have it in any form, in order."""
        ...

    def similar_words(self, word: str) -> list[Counted]:
        """Words of the store from which ``word`` may be a misspelling, unranked."""
        ...

    def words_beginning_with(self, prefix: str, limit: int) -> list[Counted]:
        """Longer words that begin with ``prefix`` (lower case), most frequent first."""
        ...

    def words_ending_with(self, endings: Sequence[str], limit: int) -> list[Counted]:
        """Longer words that end with one of ``endings`` (lower case), the most frequent first."""
        ...

    def names_beginning_with(self, names: Names, prefix: str, limit: int) -> list[Counted]:
        """Titles, projects, tags or files that begin with ``prefix``, in either case."""
        ...

    def values_of(self, field: str, most: int = ...) -> list[str]:
        """At most a thousand values of ``project``, ``source`` or a facet, in order."""
        ...

    # Vectors

    def record_cosines(self, vector: Vectors, records: Numbers) -> Values:
        """For each record the cosine of its nearest passage to ``vector``, shape (1, dimensions).

        NaN for a record without a vector.
        """
        ...

    def passage_cosines(self, vector: Vectors, passages: Numbers) -> Values:
        """The same for passages."""
        ...

    def passage_vectors(self, passages: Numbers) -> tuple[NDArray[np.intp], Vectors]:
        """The vectors of ``passages``, shape (n, dimensions), and for each its row in ``passages``.

        A long passage has two vectors, one that was not embedded yet has none.
        """
        ...

    def sparse_vectors(self, passages: Numbers) -> dict[int, bytes]:
        """Passage → its sparse vector (``text.sparse``), for those that have one."""
        ...

    def passages_within(self, filters: Filters) -> Numbers:
        """All passages of the records within ``filters``, in order."""
        ...

    def unindexed_passages(self, limit: int) -> Numbers:
        """Passages with a vector that is not in the vector index yet, at most ``limit``."""
        ...

    def passage_columns(self, passages: Numbers) -> PassageColumns:
        """The ranking columns of ``passages``, one row each."""
        ...

    # Records

    def corpus(self) -> Corpus:
        """The corpus statistics, at most some seconds old."""
        ...

    def columns(self, records: Numbers) -> RecordColumns:
        """The ranking columns of ``records``, one row each."""
        ...

    def first_by_date(self, records: Numbers, order: Order, limit: int) -> tuple[Numbers, Numbers]:
        """The first ``limit`` of ``records`` by date, of equal dates by number, and their dates.

        Those that do not exist are left out. ``order`` is a date order.
        """
        ...

    def near_duplicate_sketches(self, records: Numbers) -> tuple[Sequence[int], Sketches]:
        """Those of ``records`` that may be near-duplicates of each other, with their sketches."""
        ...

    def successors(self, records: Numbers, filters: Filters) -> Mapping[int, tuple[int, ...]]:
        """Superseded record of ``records`` → its successors within ``filters``, nearest first."""
        ...

    def matching(self, filters: Filters) -> Numbers:
        """The numbers of all records within ``filters``, in order."""
        ...

    def matches_any(self, filters: Filters) -> bool:
        """Whether any record is within ``filters``."""
        ...

    def browse(
        self, filters: Filters, order: Order, limit: int, offset: int, sort: Sequence[str] = ()
    ) -> list[int]:
        """The records within ``filters`` by the fields of ``sort`` (``SearchRequest``), then by
        date. The order "relevance" means newest first; a score does not sort.
        """
        ...

    def sort_values(self, numbers: Numbers, names: Sequence[str]) -> dict[str, Numbers]:
        """Field of ``names`` → for each of ``numbers`` a number that sorts as its value does.

        -1 where a record has no value. ASCII letters sort without regard to their case. A score
        is no stored field and has no numbers.
        """
        ...

    def around(
        self, place: tuple[int, int], before: int, after: int, filters: Filters
    ) -> tuple[list[int], list[int]]:
        """The records just before and just after ``(created_at, number)``, both oldest first."""
        ...

    def counts(self, filters: Filters) -> dict[str, int]:
        """How many records are within ``filters``, by kind."""
        ...

    def facet_counts(
        self, records: Numbers, names: Sequence[FacetName], most: int, zone: tzinfo
    ) -> dict[FacetName, FacetCounts]:
        """Facet of ``names`` → its ``most`` frequent values among ``records``, which exist.

        A filter by a value finds exactly the records that are counted. ``month`` is
        ``2026-11`` in ``zone``.
        """
        ...

    def records(self, numbers: Sequence[int]) -> dict[int, Record]:
        """Number → record, for those that exist."""
        ...

    def records_called(self, ids: Sequence[RecordId]) -> list[list[int]]:
        """For each of ``ids`` the records that it means; several stores may have an alias."""
        ...

    def records_with_links(self, numbers: Sequence[int]) -> list[RecordWithLinks]:
        """The records that exist, in the order of ``numbers``, with the links they came with."""
        ...

    def scopes(self) -> list[Scope]:
        """All saved filters, by name."""
        ...

    def logged_queries(self, words: Sequence[str], limit: int) -> list[AskedQuery]:
        """Queries of the log that found something and contain one of ``words``.

        The most frequent first; only recent queries are looked at.
        """
        ...

    def logged_beginnings(self, prefix: str, limit: int) -> list[AskedQuery]:
        """Queries of the log that found something and begin with ``prefix``, in either case."""
        ...

    # Passages

    def spans(self, passages: Sequence[int]) -> dict[int, PassageSpan]:
        """Passage → where it stands in its record, for those that exist."""
        ...

    def spans_of_records(self, numbers: Sequence[int]) -> dict[int, list[PassageSpan]]:
        """Record → its passages in order."""
        ...

    def passage_contexts(
        self, passages: Mapping[int, int | None], reach: int
    ) -> dict[int, PassageContext]:
        """Record → its passage with ``reach`` neighbours on either side.

        ``passages`` is record → passage; None, or a passage that is gone, means the first one.
        """
        ...

    # Graph

    def walk(
        self,
        seeds: Collection[int],
        depth: int,
        filters: Filters,
        relations: Collection[str] = (),
    ) -> GraphWalk:
        """The records within ``depth`` (1 to 5) steps of ``seeds``, and the edges among them.

        Only through records within ``filters``, and over ``relations`` where any are given.
        """
        ...

    def first_passages(self, records: Sequence[int]) -> dict[int, tuple[int, Kind, str]]:
        """Record → (its first passage, its kind, the passage's field), for those that have one."""
        ...

    def labels(self, numbers: Collection[int]) -> dict[int, GraphLabel]:
        """Number → the fields of the record in a knowledge cloud."""
        ...

    def relationships(
        self, numbers: Sequence[int], filters: Filters
    ) -> dict[int, tuple[Relationship, ...]]:
        """Number → what the record is related to within ``filters``, strongest first."""
        ...


@dataclass(slots=True)
class View:
    """What one search reads, and how old that may be.

    ``stale_s``: a replica has answered, which may lack what was stored in the last so many seconds;
    None where the store itself has. ``alone``: it was asked although it is too far behind, because
    the store does not answer. ``notices`` are what else a caller should know, such as that nothing
    can be stored.
    """

    stale_s: float | None = None
    alone: bool = False
    notices: tuple[str, ...] = ()


class SearchStore(Protocol):
    """A store as searches see it."""

    def view(self, *, current: bool = False) -> AbstractContextManager[View]:
        """Inside is one search: a replica may answer it, as far as it has what this worker wrote.

        What is read outside, or in a view that has to be ``current``, is what the store itself has.
        Within a view the store never goes back in time.
        """
        ...

    async def read(
        self,
        query: Callable[Concatenate[SearchSnapshot, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run ``query(snapshot, …)`` in a reading thread. Raises StorageError."""
        ...

    async def corpus(self) -> Corpus:
        """The corpus statistics, at most some seconds old; mostly from memory."""
        ...

    async def passage_columns(self, passages: Numbers) -> PassageColumns:
        """As ``SearchSnapshot.passage_columns``; mostly from memory."""
        ...

    async def revision(self) -> int:
        """A number that grows with every change of a record; from memory while none is written."""
        ...

    def changed(self) -> None:
        """Note that the store has changed, so that the corpus statistics are counted again."""
        ...

    async def fill_caches(self) -> None:
        """Read ahead in small steps what later searches need."""
        ...

    def close(self) -> None:
        """Free the cache of vectors. A search that still runs reads them from the store."""
        ...

    async def matching(self, filters: Filters) -> tuple[int, ...]:
        """As ``SearchSnapshot.matching``; from memory while nothing is written."""
        ...
