"""The keyword leg: BM25 over passages, a record by its best passage.

Chat turns are scored with less length normalisation than FTS5's fixed k1 = 1.2, b = 0.75: a
short "yes, on Friday" is not a better answer for being short. The factor turns it into about
k1 = 0.9, b = 0.4 and is worth four points of nDCG on chats (docs/retrieval.md); on commits
and documents the same change costs as much, so it stays with chats.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mem_search.contracts import Question, Ranking
from mem_search.model import KINDS, Filters
from mem_search.storage.sqlite import fulltext
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.fulltext import Match
from mem_search.storage.sqlite.owners import Owners, PassageOwners
from mem_search.storage.sqlite.stats import Corpus
from mem_search.text.words import match_expression

ROWS = 1000
"""Rows read beyond the candidates, so that the other legs' candidates have exact scores."""

RARE_ROWS = 20
"""Rows for each kind that matches but is not among the first ``ROWS``."""

CHAT_KINDS = frozenset({"user_prompt", "conversation"})


class KeywordRetriever:
    """FTS5's BM25 with the corpus' own statistics."""

    name = "keyword"
    scores_early = False

    def __init__(
        self,
        database: Database,
        corpus: Callable[[], Awaitable[Corpus]],
        owners: PassageOwners,
    ) -> None:
        self._database = database
        self._corpus = corpus
        self._owners = owners

    async def rank(self, question: Question, depth: int) -> Ranking:
        expression = match_expression(question.words)
        if not expression:
            return Ranking(self.name, detail="no words to look for")
        (rows, owners), found, corpus = await asyncio.gather(
            self._reaching(expression, question.filters, depth),
            self._database.read(fulltext.matched, expression, question.filters),
            self._corpus(),
        )
        passages = np.array(found, dtype=np.int64)
        owners = await self._owners.up_to(int(passages.max(initial=0)))
        matched = dict(
            zip(owners.records[passages].tolist(), owners.kind_names(passages), strict=True)
        )
        head = rows[:ROWS]
        shown = set(owners.kinds[[passage for passage, _ in head]].tolist())
        for kind in sorted(set(owners.kinds[passages].tolist()) - shown):
            # A rare kind is not starved by a frequent one: it gets rows of its own.
            of_kind = passages[owners.kinds[passages] == kind].tolist()
            head += await self._database.read(fulltext.among, expression, of_kind, RARE_ROWS)
        best = owners.candidates(*corrected(head, owners, corpus))
        scores = {candidate.record: candidate.score for candidate in best}
        # In the order of the rows, uncorrected: a deeper ranking goes on where this one ends.
        beyond = [
            candidate
            for candidate in owners.candidates(*_columns(rows[ROWS:]))
            if candidate.record not in scores
        ]
        return Ranking(
            self.name,
            candidates=(*best, *beyond),
            scores=scores,
            otherwise=0.0 if len(scores) == len(matched) else min(scores.values(), default=0.0),
            matched=matched,
        )

    async def _reaching(
        self, expression: str, filters: Filters, depth: int
    ) -> tuple[list[Match], Owners]:
        """Rows of at least ``depth`` records, if so many match: a record may have many rows."""
        limit = max(ROWS, 2 * depth)
        while True:
            rows = await self._database.read(fulltext.search, expression, filters, limit)
            passages = np.array([passage for passage, _ in rows], dtype=np.int64)
            owners = await self._owners.up_to(int(passages.max(initial=0)))
            if len(rows) < limit or np.unique(owners.records[passages]).size >= depth:
                return rows, owners
            limit *= 2

    async def score(
        self, question: Question, ranking: Ranking, records: Sequence[int]
    ) -> Mapping[int, float]:
        """Known without looking: a match outside the rows scores at most the last of them."""
        return {
            record: ranking.otherwise if record in ranking.matched else 0.0 for record in records
        }


_Columns = tuple[NDArray[np.int64], NDArray[np.float64]]


def _columns(rows: Sequence[Match]) -> _Columns:
    passages = np.array([passage for passage, _ in rows], dtype=np.int64)
    return passages, np.array([score for _, score in rows], dtype=np.float64)


def corrected(rows: Sequence[Match], owners: Owners, corpus: Corpus) -> _Columns:
    """Passages and scores of the rows, with the length correction of chat turns applied."""
    passages, scores = _columns(rows)
    kinds = owners.kinds[passages]
    lengths = owners.lengths[passages].astype(np.float64)
    relative = lengths / corpus.mean_length
    for kind in CHAT_KINDS:
        of_kind = kinds == KINDS.index(kind)
        among_chats = lengths / corpus.lengths.get(kind, 1.0)
        factor = (1 + 1.2 * (0.25 + 0.75 * relative)) / (1 + 0.9 * (0.6 + 0.4 * among_chats))
        scores = np.where(of_kind, scores * factor, scores)
    return passages, scores
