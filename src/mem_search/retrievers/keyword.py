"""The keyword leg: BM25 over passages, a record by its best passage.

Chat turns are scored with less length normalisation than FTS5's fixed k1 = 1.2, b = 0.75: a
short "yes, on Friday" is not a better answer for being short. The factor turns it into about
k1 = 0.9, b = 0.4 and is worth four points of nDCG on chats (docs/retrieval.md); on commits
and documents the same change costs as much, so it stays with chats.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Collection

import numpy as np

from mem_search.contracts import Question
from mem_search.model import Filters, Kind
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import Matches, Numbers, Ranking, Values
from mem_search.model.statistics import Corpus
from mem_search.storage.sqlite import fulltext
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.filter_masks import passes
from mem_search.storage.sqlite.fulltext import Passages, Scores
from mem_search.storage.sqlite.passage_map import PassageMap, PassageMapCache
from mem_search.storage.sqlite.record_columns import Columns, RecordColumns
from mem_search.text.words import WordQuery, any_of

FEW = 0.3
"""A filter that leaves a smaller share of the matching passages spares the others their BM25."""


class KeywordRetriever:
    """FTS5's BM25 with the corpus' own statistics; ``chats`` are the kinds of chat turns."""

    name = "keyword"
    scores_early = False

    def __init__(
        self,
        database: Database,
        corpus: Callable[[], Awaitable[Corpus]],
        owners: PassageMapCache,
        columns: RecordColumns,
        chats: Collection[Kind],
    ) -> None:
        self._database = database
        self._corpus = corpus
        self._owners = owners
        self._columns = columns
        self._chats = chats

    async def rank(self, question: Question, depth: int) -> Ranking:
        query = any_of(question.words)
        if query is None:
            return Ranking(self.name, detail="no words to look for")
        corpus, columns = await self._corpus(), await self._columns.fresh()
        return await self._database.read(
            self._rank, query, question.filters, depth, corpus, columns
        )

    def _rank(
        self,
        connection: sqlite3.Connection,
        query: WordQuery,
        filters: Filters,
        depth: int,
        corpus: Corpus,
        columns: Columns,
    ) -> Ranking:
        """All of it in one read: a turn between threads costs as much as a statement."""
        if filters:
            passages, scores = self._within(connection, query, filters, columns)
        else:
            passages, scores = fulltext.scores(connection, query)
        owners = self._owners.within(connection, int(passages.max(initial=0)))
        best = owners.best(passages, corrected(passages, scores, owners, corpus, self._chats))
        return Ranking(
            self.name,
            candidates=owners.candidates(best, depth),
            matched=Matches(best.records, best.scores, owners.kinds[best.passages]),
        )

    def _within(
        self, connection: sqlite3.Connection, query: WordQuery, filters: Filters, columns: Columns
    ) -> tuple[Passages, Scores]:
        """Matching passages of the records that pass the filters, with their scores."""
        matched = fulltext.matched(connection, query)
        owners = self._owners.within(connection, int(matched.max(initial=0)))
        mask = passes(connection, columns, filters, owners.records[matched])
        if mask.sum() < FEW * len(matched):
            return fulltext.among(connection, query, matched[mask])
        passages, scores = fulltext.scores(connection, query)
        # One snapshot: the same passages, in the same order.
        return passages[mask], scores[mask]

    def score(
        self,
        connection: sqlite3.Connection,
        question: Question,
        ranking: Ranking,
        records: Numbers,
    ) -> Values:
        """Known without looking: what does not match scores nothing."""
        return np.nan_to_num(ranking.matched.of(records), copy=False)

    def feedback_scorer(
        self, connection: sqlite3.Connection, question: Question, passages: Numbers
    ) -> None:
        """None: words are matched as they are."""


def corrected(
    passages: Passages,
    scores: Scores,
    owners: PassageMap,
    corpus: Corpus,
    chats: Collection[Kind],
) -> Scores:
    """Scores of the passages; the length correction is applied to those of the kinds ``chats``."""
    kinds = owners.kinds[passages]
    corrected = scores
    for kind in chats:
        rows = np.flatnonzero(kinds == KIND_CODES.code(kind))
        if len(rows):
            lengths = owners.lengths[passages[rows]]
            relative, among = lengths / corpus.mean_length, lengths / corpus.lengths.get(kind, 1.0)
            factor = (1 + 1.2 * (0.25 + 0.75 * relative)) / (1 + 0.9 * (0.6 + 0.4 * among))
            corrected = corrected.copy()
            corrected[rows] *= factor
    return corrected
