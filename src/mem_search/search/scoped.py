"""A store as a token that is limited to a scope sees it: no record outside exists.

What is not listed here is refused, so that a new method, table or feature shows such a token
nothing until somebody says how it is narrowed. Words and names of the store are those of all
records: they are completed only where a record inside has them, and correct no spelling. Scores use
the statistics of the whole store, as every filtered search does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import tzinfo
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast

import numpy as np

from mem_search.errors import Forbidden
from mem_search.model import AllOf, Demand, FacetCounts, FacetName, Filters, Record, SearchRequest
from mem_search.model.arrays import are_among, distinct
from mem_search.model.graph import GraphLabel
from mem_search.model.rankings import Numbers
from mem_search.model.records import RecordWithLinks
from mem_search.search.service import SearchService
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.sql.vocabulary import Names
from mem_search.storage.store import SearchStore, View
from mem_search.text.record_ids import RecordId
from mem_search.text.words import WordQuery, known_word

P = ParamSpec("P")
T = TypeVar("T")

_FILTERED: Final = {
    "word_matches": 1, "exact_matches": 1, "passages_within": 0, "successors": 1, "matching": 0,
    "matches_any": 0, "browse": 0, "around": 3, "counts": 0, "walk": 2, "relationships": 1,
}  # fmt: skip
"""Method of a snapshot → the place of its filters."""

_OF_FOUND: Final = frozenset({
    "record_cosines", "passage_cosines", "passage_vectors", "sparse_vectors", "unindexed_passages",
    "passage_columns", "corpus", "columns", "first_by_date", "near_duplicate_sketches",
    "sort_values", "spans", "spans_of_records", "passage_contexts", "first_passages",
})  # fmt: skip
"""Those that compute with what others have found: numbers and places, no words."""

_EMPTY: Final[Mapping[str, Callable[[], Any]]] = {
    "similar_words": list, "words_ending_with": list, "values_of": list, "unknown_words": list,
    "logged_queries": list, "logged_beginnings": list, "scopes": list,
}  # fmt: skip
"""Words, values, questions and filters of the whole store, for which there is no narrower list."""

_RECORDS_FILTERED: Final = {"page": 0, "newest": 0, "recent_sessions": 0, "export_page": 0}


class Scope:
    """What a token may see: ``demand`` is that of the scope ``name``; ``inside`` its records."""

    def __init__(self, name: str, demand: Demand, inside: Sequence[int]) -> None:
        self.name, self.demand = name, demand
        self.inside = np.array(sorted(inside), np.int64)

    def narrowed(self, filters: Filters) -> Filters:
        """``filters`` within the scope."""
        if filters.demand is None:
            return replace(filters, demand=self.demand)
        if self._demanded(filters.demand):
            return filters
        return replace(filters, demand=AllOf((filters.demand, self.demand)))

    def _demanded(self, demand: Demand) -> bool:
        if isinstance(demand, AllOf):
            return any(map(self._demanded, demand.of))
        return demand is self.demand

    def among(self, numbers: Iterable[int]) -> list[int]:
        """Those of ``numbers`` that are inside, in their order."""
        given = np.array([*numbers], np.int64)
        return cast(list[int], given[are_among(given, self.inside)].tolist()) if len(given) else []

    def call(self, method: Callable[..., T], place: int) -> Callable[..., T]:
        """``method`` with the filters at ``place``, or under their name, narrowed."""

        def call(*args: Any, **named: Any) -> T:
            if "filters" in named:
                named["filters"] = self.narrowed(named["filters"])
            else:
                args = (*args[:place], self.narrowed(args[place]), *args[place + 1 :])
            return method(*args, **named)

        return call

    def shown(self, record: Record) -> Record:
        """``record`` without the refs of others outside."""
        newer = record.superseded_by
        kept = set(self.among([ref.number for ref in (*record.supersedes, *filter(None, [newer]))]))
        return replace(
            record,
            superseded_by=newer if newer is not None and newer.number in kept else None,
            supersedes=tuple(ref for ref in record.supersedes if ref.number in kept),
        )

    def refused(self, name: str) -> Forbidden:
        """The error for what is not narrowed."""
        return Forbidden(
            f"this token is limited to the scope {self.name}, and {name} tells of other records,"
            " too; ask with a token without a scope"
        )


class ScopedSnapshot:
    """``SearchSnapshot`` within a scope."""

    def __init__(self, snapshot: SearchSnapshot, scope: Scope) -> None:
        self._snapshot, self._scope = snapshot, scope

    def __getattr__(self, name: str) -> Any:
        if name in _EMPTY:
            return lambda *_args, **_named: _EMPTY[name]()
        if name in _OF_FOUND:
            return getattr(self._snapshot, name)
        if name in _FILTERED:
            return self._scope.call(getattr(self._snapshot, name), _FILTERED[name])
        raise self._scope.refused(name)

    def records_with_words(self, query: WordQuery) -> Numbers:
        numbers = self._snapshot.records_with_words(query)
        return numbers[are_among(numbers, self._scope.inside)]

    def passages_with(self, words: Sequence[str]) -> list[Numbers]:
        return [self._inside(passages) for passages in self._snapshot.passages_with(words)]

    def holders_of(self, words: Sequence[str], most: int) -> list[int]:
        return [min(most, len(passages)) for passages in self.passages_with(words)]

    def _inside(self, passages: Numbers) -> Numbers:
        owners = self._snapshot.passage_columns(passages).records
        return passages[are_among(owners, self._scope.inside)]

    def expand_words(self, wild: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """A prefix stands for itself; what would name other words finds nothing."""
        return {each: (each,) for each in wild if each.endswith("*") and "*" not in each[:-1]}

    def words_beginning_with(self, prefix: str, limit: int) -> list[tuple[str, int]]:
        words = [word for word, _ in self._snapshot.words_beginning_with(prefix, limit)]
        counted = [(word, len(self.records_with_words(known_word(word)))) for word in words]
        return [each for each in counted if each[1]]

    def names_beginning_with(self, names: Names, prefix: str, limit: int) -> list[tuple[str, int]]:
        within = {
            "tag": lambda name: Filters(tags=(name,)),
            "project": lambda name: Filters(project=name),
            "file": lambda name: Filters(files=(name,)),
        }.get(names)
        if within is None:  # a title is no filter
            return []
        matching = self._snapshot.names_beginning_with(names, prefix, limit)
        counted = [(name, sum(self.counts(within(name)).values())) for name, _ in matching]
        return [each for each in counted if each[1]]

    def records(self, numbers: Sequence[int]) -> dict[int, Record]:
        records = self._snapshot.records(self._scope.among(numbers))
        return {number: self._scope.shown(record) for number, record in records.items()}

    def records_called(self, ids: Sequence[RecordId]) -> list[list[int]]:
        return [self._scope.among(numbers) for numbers in self._snapshot.records_called(ids)]

    def records_with_links(self, numbers: Sequence[int]) -> list[RecordWithLinks]:
        linked = self._snapshot.records_with_links(self._scope.among(numbers))
        return [(self._scope.shown(record), links) for record, links in linked]

    def labels(self, numbers: Collection[int]) -> dict[int, GraphLabel]:
        return self._snapshot.labels(self._scope.among(numbers))

    def facet_counts(
        self, records: Numbers, names: Sequence[FacetName], most: int, zone: tzinfo
    ) -> dict[FacetName, FacetCounts]:
        inside = distinct(records[are_among(records, self._scope.inside)])
        return self._snapshot.facet_counts(inside, names, most, zone)


class ScopedSearchStore:
    """``SearchStore`` within a scope."""

    def __init__(self, store: SearchStore, scope: Scope) -> None:
        self._store, self._scope = store, scope
        self.corpus, self.revision = store.corpus, store.revision
        self.passage_columns = store.passage_columns

    def view(self, *, current: bool = False) -> AbstractContextManager[View]:
        return self._store.view(current=current)

    async def read(
        self, query: Callable[Concatenate[SearchSnapshot, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        def narrowed(snapshot: SearchSnapshot) -> T:
            return query(
                cast(SearchSnapshot, ScopedSnapshot(snapshot, self._scope)), *args, **kwargs
            )

        return await self._store.read(narrowed)

    async def matching(self, filters: Filters) -> tuple[int, ...]:
        return await self._store.matching(self._scope.narrowed(filters))

    def __getattr__(self, name: str) -> Any:
        raise self._scope.refused(name)


class ScopedRecords:
    """``storage.sql.records.Records`` within a scope."""

    def __init__(self, records: Any, scope: Scope) -> None:
        self._records, self._scope = records, scope

    def __getattr__(self, name: str) -> Any:
        if name in _RECORDS_FILTERED:
            narrowed = self._scope.call(getattr(self._records, name), _RECORDS_FILTERED[name])
            return lambda *args, **named: self._shown(narrowed(*args, **named))
        raise self._scope.refused(name)

    async def _shown(self, value: Any) -> Any:
        return self._each(await value)

    def _each(self, value: Any) -> Any:
        if isinstance(value, Record):
            return self._scope.shown(value)
        if type(value) in (list, tuple):
            return type(value)(map(self._each, value))
        return value

    async def fetch(self, numbers: Sequence[int]) -> dict[int, Record]:
        records = await self._records.fetch(self._scope.among(numbers))
        return {number: self._scope.shown(record) for number, record in records.items()}

    async def with_links(self, numbers: Sequence[int]) -> list[RecordWithLinks]:
        linked = await self._records.with_links(self._scope.among(numbers))
        return cast(list[RecordWithLinks], self._each(linked))


class ScopedGraph:
    """``storage.sql.graph.GraphExport`` within a scope."""

    def __init__(self, graph: Any, scope: Scope) -> None:
        self._graph, self._scope = graph, scope

    async def export(self, part: Any, write: Callable[..., T]) -> T:
        chosen = None if part.records is None else tuple(self._scope.among(part.records))
        part = replace(part, filters=self._scope.narrowed(part.filters), records=chosen)
        return cast(T, await self._graph.export(part, write))


class NoTombstones:
    """Of ``StoredForgetting``: what was forgotten belongs to a copy of everything."""

    async def tombstones(self, *_after: object) -> list[object]:
        return []


class ScopedStore:
    """``storage.store.Store`` within a scope: its records and their graph, and nothing else."""

    def __init__(self, store: Any, scope: Scope) -> None:
        self._scope = scope
        self.records = ScopedRecords(store.records, scope)
        self.graph = ScopedGraph(store.graph, scope)
        self.forgetting = NoTombstones()

    def __getattr__(self, name: str) -> Any:
        raise self._scope.refused(name)


class ScopedService(SearchService):
    """Searches within a scope; none of them is logged."""

    scope: Scope

    async def search(self, request: SearchRequest, surface: str, *, current: bool = False) -> Any:
        narrowed = replace(request, filters=self.scope.narrowed(request.filters))
        return await super().search(narrowed, surface, current=current)

    async def check(self, request: SearchRequest) -> None:
        await super().check(replace(request, filters=self.scope.narrowed(request.filters)))
