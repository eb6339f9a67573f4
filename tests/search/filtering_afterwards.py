"""Retrievers that filter after they rank: what filtering inside a retriever must equal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chosen_store import filters
from mem_search.contracts import FeedbackScorer, Question, Retriever
from mem_search.model import Demand, Filters
from mem_search.model.rankings import Matches, Numbers, Ranking, Scores, Values
from mem_search.storage.sql import records
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.sqlite.database import Database


class Restricted:
    """A leg that ranks everything and drops afterwards what the demand does not allow."""

    scores_early = False
    space = ""

    def __init__(self, inner: Retriever, database: Database) -> None:
        self.name = inner.name
        self._inner = inner
        self._database = database

    async def reading(self, question: Question, depth: int) -> None:
        """Not by one read."""

    async def rank(self, question: Question, depth: int) -> Ranking:
        everything = await self._inner.rank(_undemanding(question), 10_000)
        allowed = await passing(self._database, question.filters.demand)
        return replace(
            everything,
            candidates=everything.candidates.taken(
                np.isin(everything.candidates.records, list(allowed))
            ),
            scores=Scores(
                everything.scores.records[np.isin(everything.scores.records, list(allowed))],
                everything.scores.scores[np.isin(everything.scores.records, list(allowed))],
            ),
            matched=only(everything.matched, allowed),
        )

    def score(
        self,
        snapshot: SearchSnapshot,
        question: Question,
        ranking: Ranking,
        wanted: Numbers,
    ) -> Values:
        return self._inner.score(snapshot, _undemanding(question), ranking, wanted)

    def feedback_scorer(
        self, snapshot: SearchSnapshot, question: Question, passages: Numbers
    ) -> FeedbackScorer | None:
        return self._inner.feedback_scorer(snapshot, _undemanding(question), passages)


def only(matches: Matches, allowed: set[int]) -> Matches:
    kept = np.isin(matches.records, list(allowed))
    return Matches(matches.records[kept], matches.scores[kept], matches.kinds[kept])


def _undemanding(question: Question) -> Question:
    return replace(question, filters=replace(question.filters, demand=None))


async def passing(database: Database, demand: Demand | None) -> set[int]:
    return set(
        await database.read(
            lambda c: records.browse(
                c, filters().where(c, Filters(demand=demand)), "date_asc", 10_000, 0
            )
        )
    )
