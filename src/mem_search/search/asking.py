"""Asking the legs: every one within its time, and what became of it as a value.

A leg that fails or is slow is left out and named; that there is no leg at all is for the
caller to say.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mem_search.contracts import Question, Ranking, Retriever
from mem_search.errors import MemSearchError
from mem_search.model import LegReport
from mem_search.search import matching
from mem_search.search.fusion import LegScores

LEG_SECONDS = 10.0
"""A leg that takes longer is left out: half an answer in time is worth more."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one leg did: its ranking, or why it has none."""

    leg: Retriever
    ms: float
    ranking: Ranking | None = None
    error: str = ""
    early: Mapping[int, float] = field(default_factory=dict)
    """Scores of records that other legs found first."""

    @property
    def report(self) -> LegReport:
        if self.ranking is None:
            return LegReport(self.leg.name, "failed", ms=self.ms, detail=self.error)
        return LegReport(
            self.leg.name,
            self.ranking.state,
            len(self.ranking.candidates),
            self.ms,
            self.ranking.detail,
        )


async def ask(leg: Retriever, question: Question, depth: int) -> Answer:
    """The answer of one leg; it never raises for what the leg cannot do."""
    started = time.perf_counter()
    try:
        async with asyncio.timeout(LEG_SECONDS):
            ranking = await leg.rank(question, depth)
    except TimeoutError:
        return Answer(leg, ms(started), error=f"no answer within {LEG_SECONDS:.0f} s")
    except MemSearchError as error:
        return Answer(leg, ms(started), error=error.message)
    return Answer(leg, ms(started), ranking)


async def ask_all(legs: Sequence[Retriever], question: Question, depth: int) -> list[Answer]:
    """The answers of all legs, in their order.

    A leg that is still at work when another has answered scores what the other found, so that
    hardly anything is left to score when it answers itself.
    """
    asked = [asyncio.create_task(ask(leg, question, depth)) for leg in legs]
    early = [
        asyncio.create_task(
            _score_early(leg, question, own, [a for a in asked if a is not own], depth)
        )
        for leg, own in zip(legs, asked, strict=True)
    ]
    answers = await asyncio.gather(*asked)
    known = await asyncio.gather(*early)
    return [replace(answer, early=scores) for answer, scores in zip(answers, known, strict=True)]


async def _score_early(
    leg: Retriever,
    question: Question,
    own: asyncio.Task[Answer],
    others: Sequence[asyncio.Task[Answer]],
    depth: int,
) -> Mapping[int, float]:
    if not leg.scores_early:
        return {}
    known: dict[int, float] = {}
    for other in asyncio.as_completed(others):
        ranking = (await other).ranking
        if ranking is not None:
            done = own.result().ranking if own.done() else None
            records = [
                record
                for record in matching.union([ranking], depth)
                if done is None or record not in done.scores
            ]
            try:
                known |= await leg.score(question, Ranking(leg.name), records)
            except MemSearchError:
                return {}  # the leg's own answer says why it cannot
    return known


async def exact_scores(
    question: Question, union: Mapping[int, object], answers: Sequence[Answer], depth: int
) -> dict[str, LegScores]:
    """For each leg its score of every record of the union, also of those it did not list."""
    given = [(a.leg, a.ranking, a.early) for a in answers if a.ranking is not None]
    unlisted = await asyncio.gather(
        *(
            leg.score(
                question,
                ranking,
                [
                    record
                    for record in union
                    if record not in ranking.scores and record not in early
                ],
            )
            for leg, ranking, early in given
        )
    )
    return {
        leg.name: LegScores(
            scores={**early, **extra, **ranking.scores},
            ranked=[candidate.record for candidate in ranking.candidates[:depth]],
        )
        for (leg, ranking, early), extra in zip(given, unlisted, strict=True)
    }


def ms(started: float) -> float:
    """Milliseconds since ``started``, a reading of ``time.perf_counter``."""
    return round((time.perf_counter() - started) * 1000, 3)
