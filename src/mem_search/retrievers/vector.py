"""The vector leg: nearest passages by meaning, a record by its best passage.

The index is asked without a filter and its hits are grouped by kind afterwards; a filter is
applied to more hits than needed, the more the fewer records it lets pass. Where that cannot
fill the ranking (few records pass, a kind is rare, the index is away) the stored vectors are
scored exactly instead, so that no filter ever loses a match.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, Future
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mem_search.contracts import Embedder, FeedbackScorer, Question, VectorIndex, Vectors
from mem_search.errors import IndexUnavailable
from mem_search.model import Filters
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import Numbers, Ranking, Values
from mem_search.model.statistics import Corpus
from mem_search.retrievers.exact_scan import LEG, Scan, ranking
from mem_search.storage.sqlite import outbox, passage_spans
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.passage_map import BestPassages, PassageMapCache
from mem_search.storage.sqlite.record_columns import RecordColumns
from mem_search.storage.sqlite.vector_rows import VectorRows

REMEMBERED = 64
"""Questions whose vectors are kept."""


class QuestionVectors:
    """Blocking and thread-safe; whoever asks for a question that is being embedded waits."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._recent: dict[str, Future[Vectors]] = {}
        self._lock = threading.Lock()

    def vector(self, text: str) -> Vectors:
        """Shape (1, dimensions). Raises ModelUnavailable."""
        with self._lock:
            known = self._recent.get(text)
            if known is None:
                own = self._recent[text] = Future()
                while len(self._recent) > REMEMBERED:
                    del self._recent[next(iter(self._recent))]
        if known is not None:
            return known.result()
        try:
            own.set_result(self._embedder.embed([text]))
        except BaseException as error:
            own.set_exception(error)
            with self._lock:
                self._recent.pop(text, None)
            raise
        return own.result()


OVERFETCH = 2
"""Entries asked of the index for each record wanted: passages and halves share records."""

MOST_FETCHED = 3000
"""Entries asked of the index at most; a filter that needs more is answered by a scan."""

FEW = 1500
"""So few passages are scored exactly in less time than the index takes for anything."""

CHEAP = 1000
"""Entries that the index returns about as fast as those of an unfiltered search."""

SCAN_LIMIT = 50_000
"""Up to so many passages are scored exactly as fast as the index returns more than CHEAP."""

MOST_UNINDEXED = 5000
"""Passages with a vector that the index has not got yet: so many are scored beside it."""

RARE = 500
"""A kind with no more passages than this is scanned when the index returned none of it."""


class VectorRetriever:
    """Cosine similarity in the space of one embedding model.

    ``scans`` is for a store that is to have no index: every answer is exact, and none degraded.
    """

    name = LEG
    scores_early = True

    def __init__(
        self,
        database: Database,
        index: VectorIndex,
        embedder: Embedder,
        rows: VectorRows,
        executor: Executor,
        corpus: Callable[[], Awaitable[Corpus]],
        owners: PassageMapCache,
        columns: RecordColumns,
        *,
        scans: bool = False,
    ) -> None:
        self._scans = scans
        self._database = database
        self._owners = owners
        self._index = index
        self._rows = rows
        self._executor = executor
        self._corpus = corpus
        self._scan = Scan(database, rows, owners, columns)
        self._questions = QuestionVectors(embedder)

    async def rank(self, question: Question, depth: int) -> Ranking:
        text, filters = question.text, question.filters
        if question.exact or self._scans:
            passages = await self._scan.passages(filters)
            return await self._scan.among(await self._vector(text), passages, depth)
        if filters:
            return await self._filtered(text, filters, depth)
        return await self._unfiltered(text, depth)

    def score(
        self,
        connection: sqlite3.Connection,
        question: Question,
        ranking: Ranking,
        records: Numbers,
    ) -> Values:
        """Exact, from the stored vectors; a record that has none yet has no score."""
        owners, passages = passage_spans.of_records(connection, records)
        query = self._questions.vector(question.text)
        cosines = self._rows.cosines(connection, query, passages)
        order = np.argsort(records)
        at = order[np.searchsorted(records, owners, sorter=order)]
        return _nearest(len(records), at, cosines)

    def feedback_scorer(
        self, connection: sqlite3.Connection, question: Question, passages: Numbers
    ) -> FeedbackScorer:
        """Moves the question halfway to the mean of the answers' nearer halves.

        The scorer returns None when no answer has a vector yet.
        """
        query = self._questions.vector(question.text)
        of, vectors = self._rows.of_passages(connection, passages)

        def scores(answers: NDArray[np.intp]) -> tuple[Values, Values] | None:
            cosines = vectors @ query[0]
            near = [
                vectors[halves[np.argmax(cosines[halves])]]
                for answer in answers
                if len(halves := np.flatnonzero(of == answer))
            ]
            if not near:
                return None
            moved = vectors @ unit(query + unit(np.mean(near, axis=0)))[0]
            count = len(passages)
            return _nearest(count, of, cosines), _nearest(count, of, moved)

        return scores

    async def _unfiltered(self, text: str, depth: int) -> Ranking:
        away = False
        try:
            found = await self._near(text, OVERFETCH * depth)
        except IndexUnavailable:
            away = True
        else:
            # Long records, by their many passages, crowd others out of what the index returned.
            if len(found.records) >= depth or (await self._corpus()).size > SCAN_LIMIT:
                return await self._with_rare(text, found, Filters(), depth)
        passages = await self._scan.passages(Filters())
        return await self._scan.among(await self._vector(text), passages, depth, away=away)

    async def _filtered(self, text: str, filters: Filters, depth: int) -> Ranking:
        passages = await self._scan.passages(filters)
        size = (await self._corpus()).size
        wanted = OVERFETCH * depth * size // max(1, len(passages))
        few = FEW if wanted <= CHEAP else SCAN_LIMIT
        away = False
        if len(passages) > few and wanted <= MOST_FETCHED:
            try:
                found = await self._near(text, wanted, passages)
            except IndexUnavailable:
                away = True
            else:
                if len(found.records) >= depth:
                    return await self._with_rare(text, found, filters, depth)
        return await self._scan.among(await self._vector(text), passages, depth, away=away)

    async def _near(self, text: str, k: int, passing: Numbers | None = None) -> BestPassages:
        """The nearest ``k`` of the index, and exactly what is not in it yet.

        Raises IndexUnavailable when it is away or empty, or when too much is not in it.
        """
        found = await self._from_index(text, k, passing)
        if not (await self._corpus()).waiting:
            return found
        numbers = await self._database.read(outbox.waiting, "index", MOST_UNINDEXED + 1)
        if len(numbers) > MOST_UNINDEXED:
            raise IndexUnavailable("the index has not got enough of the store yet")
        late = np.array(numbers, dtype=np.int64)
        if passing is not None:
            late = late[np.isin(late, passing)]
        more, scores = await self._scan.cosines(await self._vector(text), late)
        owners = await self._owners.up_to(int(more.max(initial=0)))
        return owners.best(
            np.concatenate([found.passages, more]), np.concatenate([found.scores, scores])
        )

    async def _from_index(self, text: str, k: int, passing: Numbers | None = None) -> BestPassages:
        """The nearest among ``passing``. Raises IndexUnavailable."""
        entries = await self._index.query(partial(self._questions.vector, text), k)
        if not entries:
            raise IndexUnavailable("the index is empty")
        numbers, scores = zip(*entries, strict=True)
        passages = np.array(numbers, dtype=np.int64) >> 1
        near = np.array(scores, dtype=np.float64)
        if passing is not None:
            inside = np.isin(passages, passing)
            passages, near = passages[inside], near[inside]
        owners = await self._owners.up_to(int(passages.max(initial=0)))
        return owners.best(passages, near)

    async def _with_rare(
        self, text: str, found: BestPassages, filters: Filters, depth: int
    ) -> Ranking:
        """What was found, and the nearest of rare kinds: a frequent one hides them."""
        owners = await self._owners.up_to(int(found.passages.max(initial=0)))
        shown = set(owners.kinds[found.passages].tolist())
        sizes = (await self._corpus()).passages
        rare = [
            code
            for kind in filters.kinds or sizes
            if 0 < sizes.get(kind, 0) <= RARE and (code := KIND_CODES.code(kind)) not in shown
        ]
        if rare:
            passages = await self._scan.passages(filters)
            owners = await self._owners.up_to(int(passages.max(initial=0)))
            hidden = passages[np.isin(owners.kinds[passages], rare)]
            more, scores = await self._scan.cosines(await self._vector(text), hidden)
            found = owners.best(
                np.concatenate([found.passages, more]), np.concatenate([found.scores, scores])
            )
        return ranking(found, owners, depth)

    async def _vector(self, text: str) -> Vectors:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._questions.vector, text)


def _nearest(count: int, of: NDArray[np.intp], cosines: Values | Vectors) -> Values:
    """For each of ``count`` the highest of its cosines, the n-th of which is that of ``of[n]``."""
    best = np.full(count, np.nan)
    np.fmax.at(best, of, cosines)
    return best


def unit(vectors: Vectors) -> Vectors:
    """Of length one; opposite ones, whose mean is nothing, stay nothing."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = vectors / np.maximum(lengths, 1e-12)
    return scaled
