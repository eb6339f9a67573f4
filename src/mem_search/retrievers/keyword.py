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
from mem_search.storage.sqlite.owners import Numbers, Owners, PassageOwners
from mem_search.storage.sqlite.stats import Corpus
from mem_search.text.words import match_expression

ROWS = 1000
"""Rows read beyond the candidates, so that the other legs' candidates have exact scores."""

RARE_ROWS = 20
RARE_SHARE = 0.05
"""A kind with a smaller share of the matching passages gets so many rows of its own."""

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
        rows, (passages, rare), corpus = await asyncio.gather(
            self._reaching(expression, question.filters, depth),
            self._matching(expression, question.filters),
            self._corpus(),
        )
        # Two reads may see two states of a store that grows; the owners must know both.
        newest = max((passage for passage, _ in rows), default=0)
        owners = await self._owners.up_to(max(newest, int(passages.max(initial=0))))
        matched = dict(
            zip(owners.records[passages].tolist(), owners.kind_names(passages), strict=True)
        )
        known = {passage for passage, _ in rows[:ROWS]}
        head = rows[:ROWS] + [row for row in rare if row[0] not in known]
        shown = owners.kinds[[passage for passage, _ in head]]
        missing = np.setdiff1d(owners.kinds[passages], shown)
        head += await self._of_kinds(expression, passages, owners, missing)
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

    async def _matching(self, expression: str, filters: Filters) -> tuple[Numbers, list[Match]]:
        """All passages that match, and the best of each kind that a frequent one might starve."""
        found = await self._database.read(fulltext.matched, expression, filters)
        passages = np.array(found, dtype=np.int64)
        if len(passages) <= ROWS:
            return passages, []
        owners = await self._owners.up_to(int(passages.max()))
        kinds, counts = np.unique(owners.kinds[passages], return_counts=True)
        rare = kinds[counts < RARE_SHARE * len(passages)]
        return passages, await self._of_kinds(expression, passages, owners, rare)

    async def _of_kinds(
        self, expression: str, passages: Numbers, owners: Owners, kinds: NDArray[np.uint8]
    ) -> list[Match]:
        found = await asyncio.gather(
            *(
                self._database.read(
                    fulltext.among,
                    expression,
                    passages[owners.kinds[passages] == kind].tolist(),
                    RARE_ROWS,
                )
                for kind in kinds
            )
        )
        return [row for rows in found for row in rows]

    async def _reaching(self, expression: str, filters: Filters, depth: int) -> list[Match]:
        """Rows of at least ``depth`` records, if so many match: a record may have many rows."""
        limit = max(ROWS, 2 * depth)
        while True:
            rows = await self._database.read(fulltext.search, expression, filters, limit)
            passages = np.array([passage for passage, _ in rows], dtype=np.int64)
            owners = await self._owners.up_to(int(passages.max(initial=0)))
            if len(rows) < limit or np.unique(owners.records[passages]).size >= depth:
                return rows
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
