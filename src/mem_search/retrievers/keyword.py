"""The keyword leg: BM25 over passages, a record by its best passage.

Chat turns are scored with less length normalisation than FTS5's fixed k1 = 1.2, b = 0.75: a
short "yes, on Friday" is not a better answer for being short. The factor turns it into about
k1 = 0.9, b = 0.4 and is worth four points of nDCG on chats (docs/retrieval.md); on commits
and documents the same change costs as much, so it stays with chats.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from mem_search.contracts import Candidate, Question, Ranking
from mem_search.model import Filters
from mem_search.storage.sqlite import fulltext
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.fulltext import Match
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

    def __init__(self, database: Database, corpus: Callable[[], Awaitable[Corpus]]) -> None:
        self._database = database
        self._corpus = corpus

    async def rank(self, question: Question, depth: int) -> Ranking:
        expression = match_expression(question.words)
        if not expression:
            return Ranking(self.name, detail="no words to look for")
        rows, matched, corpus = await asyncio.gather(
            self._reaching(expression, question.filters, depth),
            self._database.read(fulltext.matched, expression, question.filters),
            self._corpus(),
        )
        head = rows[:ROWS]
        for kind in sorted(set(matched.values()) - {row.kind for row in head}):
            # A rare kind is not starved by a frequent one: it gets rows of its own.
            of_kind = [record for record, its in matched.items() if its == kind]
            head += await self._database.read(fulltext.among, expression, of_kind, RARE_ROWS)
        best = best_passages(corrected(head, corpus))
        scores = {candidate.record: candidate.score for candidate in best}
        # In the order of the rows, uncorrected: a deeper ranking goes on where this one ends.
        beyond: dict[int, Match] = {}
        for row in rows[ROWS:]:
            if row.record not in scores:
                beyond.setdefault(row.record, row)
        return Ranking(
            self.name,
            candidates=(*best, *map(_candidate, beyond.values())),
            scores=scores,
            otherwise=0.0 if len(scores) == len(matched) else min(scores.values(), default=0.0),
            matched=matched,
        )

    async def _reaching(self, expression: str, filters: Filters, depth: int) -> list[Match]:
        """Rows of at least ``depth`` records, if so many match: a record may have many rows."""
        limit = max(ROWS, 2 * depth)
        while True:
            rows = await self._rows(expression, filters, limit)
            if len(rows) < limit or len({row.record for row in rows}) >= depth:
                return rows
            limit *= 2

    async def _rows(self, expression: str, filters: Filters, limit: int) -> list[Match]:
        return await self._database.read(fulltext.search, expression, filters, limit)

    async def score(
        self, question: Question, ranking: Ranking, records: Sequence[int]
    ) -> Mapping[int, float]:
        """Known without looking: a match outside the rows scores at most the last of them."""
        return {
            record: ranking.otherwise if record in ranking.matched else 0.0 for record in records
        }


def corrected(rows: Sequence[Match], corpus: Corpus) -> list[Match]:
    """The rows with the length correction of chat turns applied."""
    mean_length = corpus.mean_length

    def factor(row: Match) -> float:
        relative = row.length / mean_length
        among_chats = row.length / corpus.lengths.get(row.kind, 1.0)
        return (1 + 1.2 * (0.25 + 0.75 * relative)) / (1 + 0.9 * (0.6 + 0.4 * among_chats))

    return [
        replace(row, score=row.score * factor(row)) if row.kind in CHAT_KINDS else row
        for row in rows
    ]


def best_passages(rows: Sequence[Match]) -> list[Candidate]:
    """One candidate a record, by its best passage; best first, ties by number."""
    best: dict[int, Match] = {}
    for row in rows:
        known = best.get(row.record)
        if known is None or row.score > known.score:
            best[row.record] = row
    return sorted(
        map(_candidate, best.values()),
        key=lambda candidate: (-candidate.score, candidate.record),
    )


def _candidate(row: Match) -> Candidate:
    return Candidate(row.record, row.kind, row.field, row.passage, row.score)
