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

import numpy as np
from numpy.typing import NDArray

from mem_search.contracts import Candidate, Question, Ranking, Retriever
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
from mem_search.search.context import Places, add_context
from mem_search.search.fusion import LegScores, explain, fuse
from mem_search.search.hydration import hydrate
from mem_search.search.questions import understand
from mem_search.storage.sqlite import records
from mem_search.storage.sqlite.columns import Columns, RecordColumns
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
        columns: RecordColumns,
        kind_of: KindOf = plain_kind,
    ) -> None:
        self._database = database
        self._legs = legs
        self._corpus = corpus
        self._columns = columns
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

        columns = await self._columns.fresh()
        union = _alive(matching.union(rankings, depth), columns)
        scores = await exact_scores(question, union, answers, DEPTH)
        fields = {record: candidate.field for record, candidate in union.items()}
        kinds = {record: candidate.kind for record, candidate in union.items()}
        fused = fuse(fields, scores, foreign=question.foreign)
        base = np.fromiter(fused.values(), np.float64)
        context = add_context(base, _places(columns, list(union)))
        total = dict(zip(union, sum(context.values(), base).tolist(), strict=True))
        matches = matching.matches(union, scores, rankings, matching.floor(question.text, rankings))
        hits = matching.order(
            Hit(record, total[record], passage=union[record].passage) for record in matches
        )
        page = matching.tail(
            matching.represent(hits, kinds, query.limit, scores),
            await self._further(question, answers, depth, query.offset + query.limit),
            query.offset + query.limit,
        )
        shown = [
            hit._replace(scores=_breakdown(hit.number, scores, fused, context))
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
            *(leg.rank(question, reach) for leg, ranking in given if len(ranking.matched))
        )

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


def _alive(union: dict[int, Candidate], columns: Columns) -> dict[int, Candidate]:
    """Without what was deleted a moment ago: it may still be in the index."""
    numbers = np.fromiter(union, np.int64)
    alive = columns.exist(numbers)
    if alive.all():
        return union
    return {number: union[number] for number in numbers[alive].tolist()}


def _places(columns: Columns, records: Sequence[int]) -> Places:
    numbers = np.array(records, dtype=np.int64)
    return Places(
        columns.kinds[numbers], columns.conversations(numbers), columns.positions[numbers]
    )


def _breakdown(
    record: int,
    scores: Mapping[str, LegScores],
    fused: Mapping[int, float],
    context: Mapping[str, NDArray[np.float64]],
) -> dict[str, float]:
    place = list(fused).index(record)
    raw = {name: leg.scores[record] for name, leg in scores.items() if record in leg.scores}
    added = {name: float(by[place]) for name, by in context.items() if by[place]}
    return {**raw, "fused": fused[record], **added}


def _explained(hits: Sequence[Hit], parts: Mapping[int, Mapping[str, float]]) -> list[Hit]:
    return [hit._replace(scores={**hit.scores, **parts.get(hit.number, {})}) for hit in hits]
