"""Running the legs of one search: each within a time limit, with its answer as a value.

A leg that fails or is slow is left out and named in the report; the caller raises when no leg
answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mem_search.contracts import Question, Retriever
from mem_search.errors import MemSearchError, StorageError, Unavailable
from mem_search.machine_load import scale_timeout
from mem_search.model import LegReport
from mem_search.model.rankings import NO_CANDIDATES, NONE_KNOWN, Candidates, Ranking, Scores
from mem_search.search.state import LegScores
from mem_search.storage.ports.search import SearchSnapshot, SearchStore

LEG_SECONDS = 10.0
"""A leg that takes longer on a free machine is left out, so that the others answer in time."""

_MAX_LEG_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class LegAnswer:
    """The answer of one leg: its ranking, or in the report why it has none."""

    leg: Retriever
    report: LegReport
    ranking: Ranking | None = None
    early: Scores = NONE_KNOWN
    """The leg's scores of records that other legs found first."""
    error: MemSearchError | None = None


def union(rankings: Sequence[Ranking], depth: int) -> Candidates:
    """The best ``depth`` candidates of every leg, and a tenth as many of each rarer kind.

    Each record appears once, with the passage of the first leg that lists it.
    """
    found = NO_CANDIDATES
    for ranking in rankings:
        best = ranking.candidates
        if len(best) > depth:
            chosen = np.arange(len(best)) < depth
            for kind in np.unique(best.kinds[depth:]):
                chosen[np.flatnonzero(best.kinds == kind)[: depth // 10]] = True
            best = best.taken(chosen)
        found = found.joined(best)
    return found


async def run_leg(leg: Retriever, question: Question, depth: int) -> LegAnswer:
    """The answer of one leg; a failure of the leg is part of the answer."""
    started = time.perf_counter()
    limit = scale_timeout(LEG_SECONDS, most=_MAX_LEG_SECONDS)
    try:
        async with asyncio.timeout(limit):
            found = await leg.rank(question, depth)
    except (TimeoutError, MemSearchError) as error:
        known = error if isinstance(error, MemSearchError) else None
        why = known.message if known else f"no answer within {limit:.0f} s"
        report = LegReport(leg.name, "failed", ms=ms(started), detail=why)
        return LegAnswer(leg, report, error=known)
    count = len(found.candidates)
    report = LegReport(leg.name, found.state, count, ms(started), found.detail)
    return LegAnswer(leg, report, found)


async def run_legs(
    store: SearchStore, legs: Sequence[Retriever], question: Question, depth: int
) -> list[LegAnswer]:
    """The answers of all legs, in their order.

    A leg that is still at work when another has answered scores what the other found in the
    meantime, so that little is left to score when it answers itself.
    """
    running = [asyncio.create_task(run_leg(leg, question, depth)) for leg in legs]
    early = {
        own: asyncio.create_task(
            _score_early(store, leg, question, own, [a for a in running if a is not own], depth)
        )
        for leg, own in zip(legs, running, strict=True)
        if leg.scores_early and len(legs) > 1
    }
    return [
        replace(await own, early=await early[own]) if own in early else await own for own in running
    ]


def no_answer(answers: Sequence[LegAnswer]) -> Unavailable:
    """The error of a search that no leg answers, with the reason of each.

    It is that of the store where a leg could not read it: who meets it knows whether to wait.
    """
    reasons = "; ".join(f"{answer.leg.name}: {answer.report.detail}" for answer in answers)
    of_store = [each.error for each in answers if isinstance(each.error, StorageError)]
    return type(of_store[0])(reasons) if of_store else Unavailable(reasons)


async def _score_early(
    store: SearchStore,
    leg: Retriever,
    question: Question,
    own: asyncio.Task[LegAnswer],
    others: Sequence[asyncio.Task[LegAnswer]],
    depth: int,
) -> Scores:
    """The scores by ``leg`` of the other legs' candidates; none once it has answered itself."""
    known: dict[int, float] = {}
    for other in others:
        ranking = (await other).ranking
        if own.done():
            break
        if ranking is not None:
            records = union([ranking], depth).records
            try:
                scores = await store.read(leg.score, question, Ranking(leg.name), records)
            except MemSearchError:
                break  # the leg's own answer says why it cannot
            known |= dict(zip(records.tolist(), scores.tolist(), strict=True))
    return Scores.by_record(known)


def exact_scores(
    snapshot: SearchSnapshot,
    question: Question,
    candidates: Candidates,
    answers: Sequence[LegAnswer],
    depth: int,
) -> dict[str, LegScores]:
    """For each leg its exact score of every record of the union, listed or not."""
    found = {}
    for answer in answers:
        if (ranking := answer.ranking) is None:
            continue
        scores = ranking.scores.of(candidates.records)
        unlisted = np.isnan(scores)
        if unlisted.any():
            scores[unlisted] = answer.early.of(candidates.records[unlisted])
            unlisted = np.isnan(scores)
        if unlisted.any():
            missing = candidates.records[unlisted]
            scores[unlisted] = answer.leg.score(snapshot, question, ranking, missing)
        ranks = ranking.candidates.ranks_of(candidates.records)
        found[answer.leg.name] = LegScores(scores, np.where(ranks <= depth, ranks, 0))
    return found


def ms(started: float) -> float:
    """Milliseconds since ``started``, a reading of ``time.perf_counter``."""
    return round((time.perf_counter() - started) * 1000, 3)
