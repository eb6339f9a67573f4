"""The leg by meaning: it ranks passages, and a record by its best one.

In a small store all vectors are compared, which is exact and takes less time than any index; now
and then the index is asked beside, to see whether it finds as much (ADR 0051). In a larger one the
index is asked without a filter and its hits are grouped by kind afterwards; a filter is applied to
more hits than needed, the more the fewer records pass it. Where that cannot fill the ranking all
that pass are compared, so that no filter loses a match; its cost grows with them (ADR 0051).
"""

from __future__ import annotations

import asyncio
import math
import threading
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.contracts import Embedder, FeedbackScorer, Question, Reading, Vectors
from mem_search.errors import IndexUnavailable, StorageError
from mem_search.model import Filters
from mem_search.model.arrays import matvec
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import BestPassages, Numbers, Ranking, Scores, Values
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.store import SearchStore
from mem_search.storage.vector_index import VectorIndex
from mem_search.text.word_forms import seen

LEG: Final = "vector"
STARTING: Final = "the index is starting; until then, words alone find records"
AWAY: Final = "the index is down or incomplete; all vectors are compared instead"
DAMAGED: Final = "{} passages are missing in the index or wrong there; they are being repaired"

MAX_KEPT_QUESTIONS = 64
"""Questions whose vectors are kept."""


class QuestionVectors:
    """The vectors of recent questions. Thread-safe; a question is embedded once at a time."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._recent: dict[str, Future[Vectors]] = {}
        self._lock = threading.Lock()

    def known(self, text: str) -> Vectors | None:
        """The vector of ``text``, if it is there: then no thread need be asked."""
        recent = self._recent.get(text)
        is_there = recent is not None and recent.done() and recent.exception() is None
        return recent.result() if recent is not None and is_there else None

    def vector(self, text: str) -> Vectors:
        """Shape (1, dimensions). Raises ModelUnavailable."""
        with self._lock:
            known = self._recent.get(text)
            if known is None:
                own = self._recent[text] = Future()
                while len(self._recent) > MAX_KEPT_QUESTIONS:
                    del self._recent[next(iter(self._recent))]
        if known is not None:
            return known.result()
        try:
            own.set_result(self._embedder.embed([seen(text)]))
        except BaseException as error:
            own.set_exception(error)
            with self._lock:
                self._recent.pop(text, None)
            raise
        return own.result()


OVERFETCH = 2
"""Entries asked of the index at most for each record wanted: passages and halves share records."""

SPARE = 1.15
"""Entries asked first, as a multiple of those that so many records have in the store on average."""

ASKED_BESIDE = 16
"""Of so many questions that the stored vectors answer, the index is asked one as well."""

_COMPARED = 10
"""Nearest entries that are compared; five times as many are asked for: the index is approximate."""

_NEARER = 0.05
"""By so much may the last of these be nearer than that of the index: a graph misses some."""

MAX_CHEAP_SCAN = 1500
"""Passages that an exact scan scores in less time than the index takes for any query."""

CHEAP_ENTRIES = 1000
"""Entries that the index returns about as fast as those of a search without filters."""

MAX_SCAN = 50_000
"""Passages that are scored exactly as fast as the index returns more than CHEAP_ENTRIES."""

MAX_AT_START = 200_000
"""While the index starts, a search of up to so many passages waits for it, or compares them."""

_START_SECONDS = 2.0
"""How long a search waits for an index that starts, where comparing takes as long."""

MAX_UNINDEXED = 5000
"""Most passages missing from the index that are scored exactly in addition to it."""

MAX_RARE_KIND = 500
"""A kind with no more passages than this is scanned when the index returned none of it."""


class VectorRetriever:
    """Cosine similarity in the space of one embedding model.

    ``scans`` is for a store without an index: every answer is exact, and none is degraded.
    """

    name = LEG

    def __init__(
        self,
        store: SearchStore,
        index: VectorIndex,
        embedder: Embedder,
        executor: Executor,
        *,
        scans: bool = False,
    ) -> None:
        self._store, self._index = store, index
        self._executor, self._scans = executor, scans
        self._questions = QuestionVectors(embedder)
        self.space = embedder.fingerprint
        self.scores_early = True
        self._compared = 0
        self._beside: asyncio.Task[None] | None = None

    def expect(self, text: str) -> None:
        """Begin with the vector of ``text``; a failure comes again where it is wanted."""
        self._executor.submit(self._questions.vector, text)

    async def rank(self, question: Question, depth: int) -> Ranking:
        """See ``Retriever``. Raises ModelUnavailable."""
        if (comparison := await self._comparison(question, depth)) is not None:
            return await self._store.read(comparison)
        if question.filters:
            ranking = await self._filtered(question.text, question.filters, depth)
        else:
            ranking = await self._unfiltered(question.text, depth)
        return self._with_damage(ranking)

    async def reading(self, question: Question, depth: int) -> Reading | None:
        """See ``Retriever``: None where the index is asked, or the question has no vector yet."""
        known = self._questions.known(question.text)
        return None if known is None else await self._comparison(question, depth)

    async def _comparison(self, question: Question, depth: int) -> Reading | None:
        is_exact = question.exact or self._scans
        size = (await self._store.corpus()).size
        is_small = size <= self._index.min_passages and self._index.state == "ready"
        # What all vectors are compared for has the scores of what the other legs find.
        self.scores_early = not is_small
        if not (is_exact or is_small):
            return None
        vector = await self._vector(question.text)
        if is_exact:
            return lambda snapshot: _scan(snapshot, vector, question.filters, depth)
        if not question.filters:
            self._ask_beside(vector)
        return lambda snapshot: self._with_damage(_scan(snapshot, vector, question.filters, depth))

    def _with_damage(self, ranking: Ranking) -> Ranking:
        if (damage := self._index.damage) and ranking.state == "ok":
            return replace(ranking, state="degraded", detail=DAMAGED.format(damage))
        return ranking

    def score(
        self, snapshot: SearchSnapshot, question: Question, ranking: Ranking, records: Numbers
    ) -> Values:
        """Exact, from the stored vectors; NaN for a record that has none yet."""
        return snapshot.record_cosines(self._questions.vector(question.text), records)

    def feedback_scorer(
        self, snapshot: SearchSnapshot, question: Question, passages: Numbers
    ) -> FeedbackScorer:
        """Moves the question halfway to the mean of the answers' nearer halves."""
        query = self._questions.vector(question.text)
        of, vectors = snapshot.passage_vectors(passages)

        def scores(answers: NDArray[np.intp]) -> tuple[Values, Values] | None:
            cosines = matvec(vectors, query[0])
            near = [
                vectors[halves[np.argmax(cosines[halves])]]
                for answer in answers
                if len(halves := np.flatnonzero(of == answer))
            ]
            if not near:
                return None
            moved = matvec(vectors, unit(query + unit(np.mean(near, axis=0)))[0])
            return _nearest(len(passages), of, cosines), _nearest(len(passages), of, moved)

        return scores

    def _ask_beside(self, vector: Vectors) -> None:
        """Ask the index one of ``ASKED_BESIDE`` questions, the first one too; nobody waits."""
        self._compared += 1
        if self._compared % ASKED_BESIDE == 1 and (self._beside is None or self._beside.done()):
            self._beside = asyncio.create_task(self._compare(vector))

    async def _compare(self, vector: Vectors) -> None:
        try:
            entries = await self._index.query(vector, 5 * _COMPARED)
            exact = await self._store.read(_scan, vector, Filters(), _COMPARED)
        except (IndexUnavailable, StorageError):
            return  # which the index and the store say themselves
        nearest = exact.candidates.scores
        scores = sorted((score for _, score in entries), reverse=True)[: len(nearest)]
        if len(nearest) and not (await self._store.corpus()).waiting:
            is_less = len(scores) < len(nearest) or scores[-1] < nearest[-1] - _NEARER
            self._index.is_doubted |= is_less

    async def _unfiltered(self, text: str, depth: int) -> Ranking:
        await self._started((await self._store.corpus()).size)
        away, most = False, OVERFETCH * depth
        try:
            wanted = await self._entries_of(depth)
            nearest = await self._near(text, wanted)
            # Long records, by their many passages, crowd others out of what the index returned.
            if len(nearest.records) < depth and wanted < most:
                nearest = await self._near(text, most)
        except IndexUnavailable:
            away = self._index.state != "starting"  # which is no fault
        else:
            if len(nearest.records) >= depth or (await self._store.corpus()).size > MAX_SCAN:
                return await self._with_rare(text, nearest, Filters(), depth)
        vector = await self._vector(text)
        return await self._store.read(_scan, vector, Filters(), depth, away=away)

    async def _started(self, passages: int) -> None:
        """Wait for an index that starts, unless comparing takes less. Raises IndexUnavailable."""
        if self._index.state != "starting" or passages <= MAX_SCAN:
            return
        if passages > MAX_AT_START:
            raise IndexUnavailable(STARTING)
        with suppress(IndexUnavailable):
            await self._index.ready(_START_SECONDS)

    async def _entries_of(self, records: int) -> int:
        """How many entries to ask for, to get so many records: it depends on nothing but the store,
        so that all pages of a search rank the same candidates.
        """
        most = OVERFETCH * records
        corpus = await self._store.corpus()
        if corpus.size <= most:
            return most
        return min(most, math.ceil(SPARE * corpus.entries_per_record * records))

    async def _filtered(self, text: str, filters: Filters, depth: int) -> Ranking:
        passages = await self._store.read(lambda snapshot: snapshot.passages_within(filters))
        size = (await self._store.corpus()).size
        wanted = OVERFETCH * depth * size // max(1, len(passages))
        few = MAX_CHEAP_SCAN if wanted <= CHEAP_ENTRIES else MAX_SCAN
        await self._started(len(passages))
        away = False
        if len(passages) > few and wanted <= self._index.most:
            try:
                nearest = await self._near(text, wanted, passages)
            except IndexUnavailable:
                away = self._index.state != "starting"  # which is no fault
            else:
                if len(nearest.records) >= depth:
                    return await self._with_rare(text, nearest, filters, depth)
        vector = await self._vector(text)
        return await self._store.read(_scan, vector, passages, depth, away=away)

    async def _near(self, text: str, k: int, within: Numbers | None = None) -> BestPassages:
        """The nearest ``k`` of the index, and exactly what is not in it yet.

        Raises IndexUnavailable when it is away or empty, or when too much is not in it.
        """
        nearest = await self._from_index(text, k, within)
        if not (await self._store.corpus()).waiting:
            return nearest
        vector = await self._vector(text)
        late = await self._store.read(_late, vector, within)
        if late is None:
            raise IndexUnavailable("the index has not got enough of the store yet")
        return await self._joined(nearest, *late)

    async def _from_index(self, text: str, k: int, within: Numbers | None = None) -> BestPassages:
        """The nearest ``k`` of the index, those ``within``. Raises IndexUnavailable."""
        entries = await self._index.query(partial(self._questions.vector, text), k)
        if not entries:
            raise IndexUnavailable("the index is empty")
        numbers, scores = zip(*entries, strict=True)
        passages = np.array(numbers, np.int64) >> 1
        near = np.array(scores, dtype=np.float64)
        if within is not None:
            inside = np.isin(passages, within)
            passages, near = passages[inside], near[inside]
        return (await self._store.passage_columns(passages)).best(near)

    async def _with_rare(
        self, text: str, nearest: BestPassages, filters: Filters, depth: int
    ) -> Ranking:
        """What was found, and the nearest of rare kinds: a frequent kind hides them."""
        shown = set(nearest.kinds.tolist())
        sizes = (await self._store.corpus()).passages
        rare = [
            code
            for kind in filters.kinds or sizes
            if 0 < sizes.get(kind, 0) <= MAX_RARE_KIND
            and (code := KIND_CODES.code(kind)) not in shown
        ]
        if rare:
            vector = await self._vector(text)
            nearest = await self._joined(
                nearest, *await self._store.read(_of_kinds, vector, filters, rare)
            )
        return Ranking(LEG, nearest.candidates(depth), Scores(nearest.records, nearest.scores))

    async def _joined(
        self, nearest: BestPassages, passages: Numbers, cosines: Values
    ) -> BestPassages:
        """``nearest`` with further passages."""
        passages = np.concatenate([nearest.passages, passages])
        scores = np.concatenate([nearest.scores, cosines])
        return (await self._store.passage_columns(passages)).best(scores)

    async def _vector(self, text: str) -> Vectors:
        known = self._questions.known(text)
        if known is not None:
            return known
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._questions.vector, text)


def _scan(
    snapshot: SearchSnapshot,
    vector: Vectors,
    within: Filters | Numbers,
    depth: int,
    *,
    away: bool = False,
) -> Ranking:
    """The best ``within`` filters or passages, exactly; ``away``: an index should have answered."""
    passages = snapshot.passages_within(within) if isinstance(within, Filters) else within
    passages, cosines = _cosines(snapshot, vector, passages)
    best = snapshot.passage_columns(passages).best(cosines)
    return Ranking(
        LEG,
        best.candidates(depth),
        Scores(best.records, best.scores),
        state="degraded" if away else "ok",
        detail=AWAY if away else "exact",
    )


def _cosines(
    snapshot: SearchSnapshot, vector: Vectors, passages: Numbers
) -> tuple[Numbers, Values]:
    """Those of ``passages`` that have a vector, and their cosines."""
    cosines = snapshot.passage_cosines(vector, passages)
    scored = ~np.isnan(cosines)
    return passages[scored], cosines[scored]


def _late(
    snapshot: SearchSnapshot, vector: Vectors, within: Numbers | None
) -> tuple[Numbers, Values] | None:
    """The cosines of what the index has not got yet; None when that is too much."""
    late = snapshot.unindexed_passages(MAX_UNINDEXED + 1)
    if len(late) > MAX_UNINDEXED:
        return None
    return _cosines(snapshot, vector, late if within is None else late[np.isin(late, within)])


def _of_kinds(
    snapshot: SearchSnapshot, vector: Vectors, filters: Filters, kinds: list[int]
) -> tuple[Numbers, Values]:
    """The cosines of the passages within ``filters`` whose kind has one of these codes."""
    passages = snapshot.passages_within(filters)
    columns = snapshot.passage_columns(passages)
    return _cosines(snapshot, vector, passages[np.isin(columns.kinds, kinds)])


def _nearest(count: int, of: NDArray[np.intp], cosines: Values | Vectors) -> Values:
    """For each of ``count`` rows its highest cosine; the n-th cosine is one of row ``of[n]``."""
    best = np.full(count, np.nan)
    np.fmax.at(best, of, cosines)
    return best


def unit(vectors: Vectors) -> Vectors:
    """``vectors`` scaled to length one; those of length zero stay zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = vectors / np.maximum(lengths, 1e-12)
    return scaled
