"""The vector leg: nearest passages by meaning, a record by its best passage.

The index is asked without a filter and its hits are grouped by kind afterwards; filters are
applied in SQLite to more hits than needed. Where that cannot fill the ranking (selective
filters, a kind that is rare, an index that is away) the stored vectors are scored exactly
instead, so that no filter ever loses a match.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace

import numpy as np

from mem_search.contracts import Candidate, Embedder, Question, Ranking, VectorIndex, Vectors
from mem_search.errors import IndexUnavailable, MemSearchError
from mem_search.model import KINDS, Filters
from mem_search.storage.sqlite import vectors
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.owners import PassageOwners
from mem_search.storage.sqlite.stats import Corpus
from mem_search.storage.sqlite.vectors import Scored

OVERFETCH = 2
"""Entries asked of the index for each record wanted: passages and halves share records."""

FILTERED_FETCH = 1000
"""Entries asked for when a filter will drop some of them."""

SCAN_LIMIT = 25_000
"""Up to so many passages an exact scan is as fast as the index, and exact."""

REMEMBERED = 64
"""Questions whose vectors are kept."""

RARE = 500
"""A kind with no more passages than this is scanned when the index returned none of it."""


class VectorRetriever:
    """Cosine similarity in the space of one embedding model."""

    name = "vector"
    scores_early = True

    def __init__(
        self,
        database: Database,
        index: VectorIndex,
        embedder: Embedder,
        model: int,
        executor: Executor,
        corpus: Callable[[], Awaitable[Corpus]],
        owners: PassageOwners,
    ) -> None:
        self._database = database
        self._owners = owners
        self._index = index
        self._embedder = embedder
        self._model = model
        self._executor = executor
        self._corpus = corpus
        self._recent: dict[str, asyncio.Future[Vectors]] = {}

    async def rank(self, question: Question, depth: int) -> Ranking:
        query = await self._embed(question.text)
        filters = question.filters
        ranking = await (self._filtered if filters else self._unfiltered)(query, filters, depth)
        return await self._with_rare_kinds(query, ranking, filters, depth)

    async def score(
        self, question: Question, ranking: Ranking, records: Sequence[int]
    ) -> Mapping[int, float]:
        """Exact, from the stored vectors; a record that has none yet is left out."""
        if not records:
            return {}
        query = await self._embed(question.text)
        dimensions = self._embedder.dimensions
        owners, _, rows = await self._database.read(
            vectors.of_records, self._model, dimensions, records
        )
        best: dict[int, float] = {}
        for record, score in zip(owners, (rows @ query[0]).tolist(), strict=True):
            best[record] = max(score, best.get(record, -1.0))
        return best

    async def _filtered(self, query: Vectors, filters: Filters, depth: int) -> Ranking:
        passing = await self._database.read(vectors.count_passages, filters, SCAN_LIMIT + 1)
        if passing > SCAN_LIMIT:
            ranking = await self._from_index(query, FILTERED_FETCH, filters)
            if ranking is not None and len(ranking.candidates) >= depth:
                return ranking
        return await self._scan(query, filters, depth, state="ok", detail="exact")

    async def _unfiltered(self, query: Vectors, filters: Filters, depth: int) -> Ranking:
        ranking = await self._from_index(query, OVERFETCH * depth, filters)
        corpus = await self._corpus()
        why = ""
        if ranking is None:
            why = "index away: exact scan"
        elif corpus.waiting and corpus.size <= SCAN_LIMIT:
            why = "index filling: exact scan"
        if why:
            return await self._scan(query, filters, depth, state="degraded", detail=why)
        assert ranking is not None
        if len(ranking.candidates) < depth and corpus.size <= SCAN_LIMIT:
            # Long records, by their many passages, crowd others out of what the index returned.
            return await self._scan(query, filters, depth, state="ok", detail="exact")
        return ranking

    async def _with_rare_kinds(
        self, query: Vectors, ranking: Ranking, filters: Filters, depth: int
    ) -> Ranking:
        """A rare kind of which nothing was near enough is scanned: a frequent one hides it."""
        if len(ranking.candidates) < depth:
            return ranking
        found = {candidate.kind for candidate in ranking.candidates}
        passages = (await self._corpus()).passages
        rare = tuple(
            kind
            for kind in filters.kinds or KINDS
            if kind not in found and 0 < passages.get(kind, 0) <= RARE
        )
        if not rare:
            return ranking
        extra = await self._database.read(
            vectors.scan, self._model, query, replace(filters, kinds=rare), depth
        )
        rows = [*_rows(ranking), *extra]
        return _ranking(rows, state=ranking.state, detail=ranking.detail)

    async def _from_index(self, query: Vectors, k: int, filters: Filters) -> Ranking | None:
        """None when the index is away or has nothing at all."""
        try:
            entries = await self._index.query(query, k)
        except IndexUnavailable:
            return None
        if not entries:
            return None
        best: dict[int, float] = {}
        for entry, score in entries:
            best[entry >> 1] = max(score, best.get(entry >> 1, -1.0))
        if filters:
            passing = await self._database.read(vectors.passing, best, filters)
            best = {passage: score for passage, score in best.items() if passage in passing}
        passages = np.array(list(best), dtype=np.int64)
        owners = await self._owners.up_to(int(passages.max(initial=0)))
        return _ranked(owners.candidates(passages, np.array(list(best.values()))))

    async def _scan(
        self, query: Vectors, filters: Filters, depth: int, *, state: str, detail: str
    ) -> Ranking:
        rows = await self._database.read(vectors.scan, self._model, query, filters, depth)
        return _ranking(rows, state=state, detail=detail)

    async def _embed(self, text: str) -> Vectors:
        # One question is ranked and then scored, and often asked again for the next page.
        vector = self._recent.get(text)
        if vector is None:
            vector = asyncio.ensure_future(
                asyncio.get_running_loop().run_in_executor(
                    self._executor, self._embedder.embed, [text]
                )
            )
            self._recent[text] = vector
            while len(self._recent) > REMEMBERED:
                self._recent.pop(next(iter(self._recent)), None)
        try:
            # Shielded: a search that gives up must not take the vector from another one.
            return await asyncio.shield(vector)
        except MemSearchError:
            self._recent.pop(text, None)
            raise


def _ranking(rows: Iterable[Scored], *, state: str = "ok", detail: str = "") -> Ranking:
    best: dict[int, Candidate] = {}
    for passage, record, kind, field, score in rows:
        known = best.get(record)
        if known is None or score > known.score:
            best[record] = Candidate(record, kind, field, passage, score)
    candidates = sorted(best.values(), key=lambda c: (-c.score, c.record))
    return _ranked(candidates, state=state, detail=detail)


def _ranked(candidates: Sequence[Candidate], *, state: str = "ok", detail: str = "") -> Ranking:
    return Ranking(
        VectorRetriever.name,
        candidates=tuple(candidates),
        scores={candidate.record: candidate.score for candidate in candidates},
        state="degraded" if state == "degraded" else "ok",
        detail=detail,
    )


def _rows(ranking: Ranking) -> list[Scored]:
    return [(c.passage, c.record, c.kind, c.field, c.score) for c in ranking.candidates]
