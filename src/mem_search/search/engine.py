"""The search, on one screen: question → rankings → union → fusion → context → page.

``Engine.search`` is what HTTP, the command line and MCP all call with the same SearchQuery. It
knows the legs only by their contract and storage only to hydrate. Whatever goes wrong on the
way is said in the page's report; only a search that no leg can answer raises.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mem_search.contracts import Question, Ranking, Retriever
from mem_search.errors import MemSearchError, MissingField, Unavailable
from mem_search.model import (
    Hit,
    LegReport,
    Page,
    Result,
    SearchQuery,
    SearchReport,
    Snippet,
)
from mem_search.search import matching
from mem_search.search.context import Place, add_context
from mem_search.search.fusion import LegScores, fuse
from mem_search.storage.sqlite import places, records
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.stats import Corpus
from mem_search.text import words
from mem_search.text.snippets import snippet

DEPTH = 200
"""Candidates a leg brings into the union; 100 loses a point of recall on chats."""


LEG_SECONDS = 10.0
"""A leg that takes longer is left out: half an answer in time is worth more."""

VECTOR_DEPTH = 500
"""How far a search by meaning alone can be paged: its total counts what lies within."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one leg did: its ranking, or why it has none."""

    leg: Retriever
    ms: float
    ranking: Ranking | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class _Ranked:
    """All hits in order of relevance, as far as the page needs them, and how many there are."""

    hits: tuple[Hit, ...]
    counts: Mapping[str, int]
    legs: tuple[LegReport, ...] = ()
    notices: tuple[str, ...] = ()
    realised: str = "filter"
    words: tuple[str, ...] = field(default=())


class Engine:
    """Search over one store with a fixed set of legs."""

    def __init__(
        self,
        database: Database,
        legs: Sequence[Retriever],
        corpus: Callable[[], Awaitable[Corpus]],
    ) -> None:
        self._database = database
        self._legs = legs
        self._corpus = corpus

    async def search(self, query: SearchQuery) -> Page:
        """Answer one search. Raises MissingField when there is neither a question nor a filter."""
        started = time.perf_counter()
        if not query.text.strip() and not query.filters:
            raise MissingField("give a query, or at least one filter", field="query")
        ranked = await (self._rank(query) if query.text.strip() else self._browse(query))
        coverage = (await self._corpus()).coverage
        results = await self._hydrate(query, ranked)
        notices = list(ranked.notices)
        if coverage < 1 and query.text.strip() and query.mode != "keyword":
            notices.append(
                f"the vector index covers {coverage:.1%} of the store so far;"
                " keyword search covers all of it"
            )
        return Page(
            query=query,
            results=results,
            total=sum(ranked.counts.values()),
            counts=ranked.counts,
            report=SearchReport(
                requested=query.mode,
                realised=ranked.realised,  # type: ignore[arg-type]
                legs=ranked.legs,
                coverage=coverage,
                took_ms=_ms(started),
                notices=tuple(notices),
            ),
        )

    async def _browse(self, query: SearchQuery) -> _Ranked:
        """No question: everything that passes the filters, by date."""
        numbers, counts = await asyncio.gather(
            self._database.read(
                records.browse, query.filters, query.order, query.limit, query.offset
            ),
            self._database.read(records.counts, query.filters),
        )
        return _Ranked(hits=tuple(Hit(number, 0.0) for number in numbers), counts=counts)

    async def _rank(self, query: SearchQuery) -> _Ranked:
        question = Question(query.text, words.read(query.text), query.filters)
        legs = [leg for leg in self._legs if query.mode in ("hybrid", leg.name)]
        depth = VECTOR_DEPTH if query.mode == "vector" else DEPTH
        reach = depth if query.mode == "vector" else max(depth, query.offset + query.limit)
        answers = await asyncio.gather(*(_ask(leg, question, reach) for leg in legs))
        rankings = [answer.ranking for answer in answers if answer.ranking is not None]
        if not rankings:
            raise Unavailable("; ".join(f"{a.leg.name}: {a.error}" for a in answers))

        union = matching.union(rankings, depth)
        scores, places_of = await asyncio.gather(
            self._exact_scores(question, union, answers), self._places(list(union))
        )
        fused = fuse(
            {record: c.field for record, c in union.items()}, scores, foreign=question.foreign
        )
        context = add_context(fused, places_of)
        kinds = {record: candidate.kind for record, candidate in union.items()}
        hits = matching.order(
            Hit(
                number=record,
                score=fused[record] + sum(added.get(record, 0.0) for added in context.values()),
                scores=_breakdown(record, scores, fused, context),
                passage=candidate.passage,
            )
            for record, candidate in union.items()
            if matching.is_match(record, scores, rankings)
        )
        page = matching.tail(matching.represent(hits, kinds, query.limit), rankings)
        return _Ranked(
            hits=tuple(page[query.offset : query.offset + query.limit]),
            counts=matching.counts(hits, kinds, rankings),
            legs=tuple(_leg_report(answer) for answer in answers),
            notices=tuple(
                f"{answer.leg.name} search did not answer ({answer.error});"
                " results come from the other leg"
                for answer in answers
                if answer.ranking is None
            ),
            realised=query.mode if len(rankings) == len(legs) else rankings[0].name,
            words=question.words.all,
        )

    async def _exact_scores(
        self, question: Question, union: Mapping[int, object], answers: Sequence[_Answer]
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
                ranked=[candidate.record for candidate in ranking.candidates[:DEPTH]],
            )
            for (leg, ranking), extra in zip(given, unlisted, strict=True)
        }

    async def _places(self, numbers: Sequence[int]) -> dict[int, Place]:
        rows = await self._database.read(places.of_records, numbers)
        return {
            number: Place(kind, (project, session), position)
            for number, kind, project, session, position in rows
        }

    async def _hydrate(self, query: SearchQuery, ranked: _Ranked) -> tuple[Result, ...]:
        """Records and snippets of the page's hits; then, and only then, the asked order."""
        passages = [hit.passage for hit in ranked.hits if hit.passage is not None]
        found, spans = await asyncio.gather(
            self._database.read(records.fetch, [hit.number for hit in ranked.hits]),
            self._database.read(places.spans, passages),
        )
        results = []
        for hit in ranked.hits:
            record = found.get(hit.number)
            if record is None:  # deleted between ranking and hydration
                continue
            start, end, page = spans.get(hit.passage or 0, (0, len(record.text), None))
            cut = snippet(record.text, start, end, ranked.words)
            results.append(
                Result(record, hit.score, Snippet(cut.text, cut.start, cut.end, page), hit.scores)
            )
        if query.order != "relevance":
            results.sort(
                key=lambda result: (result.record.created_at, result.record.number),
                reverse=query.order == "date_desc",
            )
        return tuple(results)


async def _ask(leg: Retriever, question: Question, depth: int) -> _Answer:
    started = time.perf_counter()
    try:
        async with asyncio.timeout(LEG_SECONDS):
            ranking = await leg.rank(question, depth)
    except TimeoutError:
        return _Answer(leg, _ms(started), error=f"no answer within {LEG_SECONDS:.0f} s")
    except MemSearchError as error:
        return _Answer(leg, _ms(started), error=error.message)
    return _Answer(leg, _ms(started), ranking)


def _breakdown(
    record: int,
    scores: Mapping[str, LegScores],
    fused: Mapping[int, float],
    context: Mapping[str, Mapping[int, float]],
) -> dict[str, float]:
    raw = {name: leg.scores[record] for name, leg in scores.items() if record in leg.scores}
    added = {name: value for name, by in context.items() if (value := by.get(record, 0.0))}
    return {**raw, "fused": fused[record], **added}


def _leg_report(answer: _Answer) -> LegReport:
    if answer.ranking is None:
        return LegReport(answer.leg.name, "failed", ms=answer.ms, detail=answer.error)
    ranking = answer.ranking
    return LegReport(
        answer.leg.name, ranking.state, len(ranking.candidates), answer.ms, ranking.detail
    )


def _ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
