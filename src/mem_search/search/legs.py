"""Runs the legs, each within a time limit; one that fails or is slow is left out and named."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from mem_search.contracts import Question, Reading, Retriever
from mem_search.errors import MemSearchError, StorageError, StoreAway, StoreDamaged, Unavailable
from mem_search.model import LegReport
from mem_search.model.rankings import Ranking, Scores
from mem_search.platform import scale_timeout
from mem_search.search.ranking import ms, union
from mem_search.search.state import LegAnswer
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.store import SearchStore

LEG_SECONDS = 10.0
"""A leg that takes longer on a free machine is left out, so that the others answer in time."""

_MAX_LEG_SECONDS = 60.0


async def run_legs(
    store: SearchStore, legs: Sequence[Retriever], question: Question, depth: int
) -> list[LegAnswer]:
    """The answers of all legs, in their order.

    Where each needs but one read of the store, and waits for nothing, they share it: a change of
    thread costs as much as a small read. Else a leg that is still at work when another has answered
    scores what the other found in the meantime, so that little is left to score when it answers.
    """
    if len(legs) > 1 and (answers := await _read_together(store, legs, question, depth)):
        return answers
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


async def _read_together(
    store: SearchStore, legs: Sequence[Retriever], question: Question, depth: int
) -> list[LegAnswer]:
    """The answers of all legs by one read; none where one of them needs more, or the read fails."""
    try:
        async with asyncio.timeout(_limit()):
            readings = [(leg, await leg.reading(question, depth)) for leg in legs]
            if not all(reading for _, reading in readings):
                return []
            return await store.read(
                lambda snapshot: [_read(snapshot, leg, each) for leg, each in readings if each]
            )
    except (TimeoutError, MemSearchError):
        return []  # alone, a leg may answer that does not read what is damaged


def _read(snapshot: SearchSnapshot, leg: Retriever, reading: Reading) -> LegAnswer:
    started = time.perf_counter()
    return _answer(leg, reading(snapshot), started)


async def run_leg(leg: Retriever, question: Question, depth: int) -> LegAnswer:
    """The answer of one leg; a failure of the leg is part of the answer."""
    started, limit = time.perf_counter(), _limit()
    try:
        async with asyncio.timeout(limit):
            return _answer(leg, await leg.rank(question, depth), started)
    except (TimeoutError, MemSearchError) as error:
        known = error if isinstance(error, MemSearchError) else None
        why = known.message if known else f"no answer within {limit:.0f} s"
        report = LegReport(leg.name, "failed", ms=ms(started), detail=why)
        return LegAnswer(leg, report, error=known)


async def further(question: Question, answers: Sequence[LegAnswer], reach: int) -> list[Ranking]:
    """The rankings as deep as a page at ``reach`` needs them. Deeper candidates only follow the
    fused hits: the union, and with it every score, is the same for all pages of a search, so that
    pages are consistent.
    """
    given = [(a.leg, a.ranking) for a in answers if a.ranking is not None]
    return await asyncio.gather(
        *(leg.rank(question, reach) for leg, ranking in given if len(ranking.matched))
    )


def _answer(leg: Retriever, ranking: Ranking, started: float) -> LegAnswer:
    count = len(ranking.candidates)
    report = LegReport(leg.name, ranking.state, count, ms(started), ranking.detail)
    return LegAnswer(leg, report, ranking)


def _limit() -> float:
    return scale_timeout(LEG_SECONDS, most=_MAX_LEG_SECONDS)


def no_answer(answers: Sequence[LegAnswer]) -> Unavailable:
    """The error of a search that no leg answers, with the reason of each.

    It is that of the store where a leg could not read it: who meets it knows whether to wait.
    """
    reasons = "; ".join(f"{answer.leg.name}: {answer.report.detail}" for answer in answers)
    for answer in answers:
        for known in (StoreDamaged, StoreAway, StorageError):
            if isinstance(answer.error, known):
                return known(reasons)
    return Unavailable(reasons)


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
        if own.done() or not leg.scores_early:
            break
        if ranking is not None:
            records = union([ranking], depth).records
            try:
                scores = await store.read(leg.score, question, Ranking(leg.name), records)
            except MemSearchError:
                break  # the leg's own answer says why it cannot
            known |= dict(zip(records.tolist(), scores.tolist(), strict=True))
    return Scores.by_record(known)
