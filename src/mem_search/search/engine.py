"""The search, on one screen: question → rankings → union → fusion → context → page.

``Engine.search`` is what HTTP, the command line and MCP all call with the same SearchQuery. It
knows the legs only by their contract and storage only to hydrate. Whatever goes wrong on the
way is said in the page's report; only a search that no leg can answer raises.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mem_search.contracts import Question, Ranking, Retriever
from mem_search.errors import MissingField, Unavailable
from mem_search.model import (
    Hit,
    LegReport,
    Page,
    Result,
    SearchQuery,
    SearchReport,
)
from mem_search.search import matching
from mem_search.search.asking import Answer, ask_all, exact_scores, ms
from mem_search.search.context import Place, add_context
from mem_search.search.fusion import LegScores, explain, fuse
from mem_search.search.hydration import hydrate
from mem_search.search.questions import understand
from mem_search.storage.sqlite import places, records
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.stats import Corpus
from mem_search.text.query.fields import KindOf, plain_kind

DEPTH = 200
"""Candidates a leg brings into the union; 100 loses a point of recall on chats."""

VECTOR_DEPTH = 500
"""How far a search by meaning alone can be paged: its total counts what lies within."""


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
        kind_of: KindOf = plain_kind,
    ) -> None:
        self._database = database
        self._legs = legs
        self._corpus = corpus
        self._kind_of = kind_of

    async def search(self, query: SearchQuery) -> Page:
        """Answer one search. Raises MissingField when there is neither a question nor a filter."""
        started = time.perf_counter()
        if not query.text.strip() and not query.filters:
            raise MissingField("give a query, or at least one filter", field="query")
        question, analyzed = await understand(self._database, query, self._kind_of)
        is_asked = bool(question.text.strip())
        ranked = await (self._rank if is_asked else self._browse)(query, question)
        coverage = (await self._corpus()).coverage
        results = await self._hydrate(query, ranked)
        notices = list(ranked.notices)
        if coverage < 1 and is_asked and query.mode != "keyword":
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
                took_ms=ms(started),
                notices=tuple(notices),
                analyzed=analyzed,
            ),
        )

    async def _browse(self, query: SearchQuery, question: Question) -> _Ranked:
        """Nothing to look for: everything that passes the filters, by date."""
        numbers, counts = await asyncio.gather(
            self._database.read(
                records.browse, question.filters, query.order, query.limit, query.offset
            ),
            self._database.read(records.counts, question.filters),
        )
        return _Ranked(hits=tuple(Hit(number, 0.0) for number in numbers), counts=counts)

    async def _rank(self, query: SearchQuery, question: Question) -> _Ranked:
        legs = [leg for leg in self._legs if query.mode in ("hybrid", leg.name)]
        depth = VECTOR_DEPTH if query.mode == "vector" else DEPTH
        answers = await ask_all(legs, question, depth)
        rankings = [answer.ranking for answer in answers if answer.ranking is not None]
        if not rankings:
            raise Unavailable("; ".join(f"{a.leg.name}: {a.error}" for a in answers))

        union = matching.union(rankings, depth)
        scores, places_of = await asyncio.gather(
            exact_scores(question, union, answers, DEPTH), self._places(list(union))
        )
        fields = {record: candidate.field for record, candidate in union.items()}
        fused = fuse(fields, scores, foreign=question.foreign)
        context = add_context(fused, places_of)
        kinds = {record: candidate.kind for record, candidate in union.items()}
        floor = matching.floor(question.text, rankings)
        hits = matching.order(
            Hit(
                number=record,
                score=fused[record] + sum(added.get(record, 0.0) for added in context.values()),
                passage=candidate.passage,
            )
            for record, candidate in union.items()
            # What was deleted a moment ago may still be in the index, but stands nowhere.
            if record in places_of and matching.is_match(record, scores, rankings, floor)
        )
        page = matching.tail(
            matching.represent(hits, kinds, query.limit, scores),
            await self._further(question, answers, depth, query.offset + query.limit),
            query.offset + query.limit,
        )
        shown = [
            replace(hit, scores=_breakdown(hit.number, scores, fused, context))
            if hit.number in fused
            else hit
            for hit in page[query.offset : query.offset + query.limit]
        ]
        if query.explain:
            numbers = [hit.number for hit in shown]
            shown = _explained(shown, explain(fields, scores, numbers, foreign=question.foreign))
        return _Ranked(
            hits=tuple(shown),
            counts=matching.counts(hits, kinds, rankings),
            legs=tuple(answer.report for answer in answers),
            notices=tuple(
                f"{answer.leg.name} search did not answer ({answer.error});"
                " results come from the other leg"
                for answer in answers
                if answer.ranking is None
            ),
            realised=query.mode if len(rankings) == len(legs) else rankings[0].name,
            words=question.words.all,
        )

    async def _further(
        self, question: Question, answers: Sequence[Answer], depth: int, reach: int
    ) -> list[Ranking]:
        """The rankings as far as a page at ``reach`` needs them.

        Only what follows the fused hits comes from deeper down: the union, and with it every
        score, is the same for all pages of a search, so that they fit together.
        """
        given = [(a.leg, a.ranking) for a in answers if a.ranking is not None]
        if reach <= depth:
            return [ranking for _, ranking in given]
        return await asyncio.gather(
            *(leg.rank(question, reach) for leg, ranking in given if ranking.matched)
        )

    async def _places(self, numbers: Sequence[int]) -> dict[int, Place]:
        rows = await self._database.read(places.of_records, numbers)
        return {
            number: Place(kind, (project, session), position)
            for number, kind, project, session, position in rows
        }

    async def _hydrate(self, query: SearchQuery, ranked: _Ranked) -> tuple[Result, ...]:
        """Records and snippets of the page's hits; then, and only then, the asked order."""
        results = list(
            await hydrate(self._database, ranked.hits, ranked.words, length=query.snippet_length)
        )
        if query.order != "relevance":
            results.sort(
                key=lambda result: (result.record.created_at, result.record.number),
                reverse=query.order == "date_desc",
            )
        return tuple(results)


def _breakdown(
    record: int,
    scores: Mapping[str, LegScores],
    fused: Mapping[int, float],
    context: Mapping[str, Mapping[int, float]],
) -> dict[str, float]:
    raw = {name: leg.scores[record] for name, leg in scores.items() if record in leg.scores}
    added = {name: value for name, by in context.items() if (value := by.get(record, 0.0))}
    return {**raw, "fused": fused[record], **added}


def _explained(hits: Sequence[Hit], parts: Mapping[int, Mapping[str, float]]) -> list[Hit]:
    return [replace(hit, scores={**hit.scores, **parts.get(hit.number, {})}) for hit in hits]
