"""Asking the legs: every one within its time, and what became of it as a value.

A leg that fails or is slow is left out and named; that there is no leg at all is for the
caller to say.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mem_search.contracts import Question, Ranking, Retriever
from mem_search.errors import MemSearchError
from mem_search.model import LegReport
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


async def exact_scores(
    question: Question, union: Mapping[int, object], answers: Sequence[Answer], depth: int
) -> dict[str, LegScores]:
    """For each leg its score of every record of the union, also of those it did not list."""
    given = [(a.leg, a.ranking) for a in answers if a.ranking is not None]
    unlisted = await asyncio.gather(
        *(
            leg.score(question, ranking, [r for r in union if r not in ranking.scores])
            for leg, ranking in given
        )
    )
    return {
        leg.name: LegScores(
            scores=dict(extra) | dict(ranking.scores),
            ranked=[candidate.record for candidate in ranking.candidates[:depth]],
        )
        for (leg, ranking), extra in zip(given, unlisted, strict=True)
    }


def ms(started: float) -> float:
    """Milliseconds since ``started``, a reading of ``time.perf_counter``."""
    return round((time.perf_counter() - started) * 1000, 3)
