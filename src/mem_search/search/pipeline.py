"""The search pipeline on one screen: request → filters → question → legs → rank → hydrate → page.
It knows the legs only by their contract and the store only by its port. The page's report names
failures; a search raises only when no leg answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeVar

import numpy as np

from mem_search.contracts import Question, Retriever
from mem_search.errors import ModelUnavailable
from mem_search.model import (
    Filters,
    Hit,
    LegReport,
    Order,
    Ref,
    Result,
    SearchPage,
    SearchReport,
    SearchRequest,
    Snippet,
)
from mem_search.model.graph import KnowledgeGraph
from mem_search.model.rankings import PassageSpan, Ranking
from mem_search.model.results import NEAREST_SHOWN
from mem_search.records.registry import KindRegistry
from mem_search.rerankers import Reranking, is_reranked, texts_to_rerank, with_first_hits
from mem_search.retrievers import graph
from mem_search.search import respelling, word_parts
from mem_search.search.fusion_rrf import RRF_STAGES, WeightedRrf
from mem_search.search.legs import further, no_answer, run_legs
from mem_search.search.query_understanding import (
    SCRATCHPAD,
    UnderstoodRequest,
    filters_of,
    filters_read,
    from_what_it_names,
    selected_by,
    understand,
)
from mem_search.search.ranking import NOT_RANKED, LegResults, Ranked, count_facets, ms, rank
from mem_search.search.respelling import Respellings, respelled
from mem_search.search.sparse import LEG as SPARSE_LEG
from mem_search.search.sparse import sparse_question
from mem_search.search.stages import LEFT_OUT, STAGES
from mem_search.search.stages.ordering import in_field_order
from mem_search.search.stages.scoring import Z_SCORE_SUM
from mem_search.search.state import Expand, Fusion, SparseQuestion, Stage
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.store import SearchStore
from mem_search.text import highlight
from mem_search.text.outline import place_in
from mem_search.text.query.parse import is_plain
from mem_search.text.sparse import SparseModel
from mem_search.text.stems import stored_language

T = TypeVar("T")

DEPTH = 200
"""Candidates a leg brings into the union; 100 loses a point of recall on chats."""

NAMED_DEPTH = 50
"""Candidates that a leg brings from the times, kinds and people that a question names."""

VECTOR_DEPTH = 500
"""The deepest rank of a search by meaning alone; its total counts only these."""

_FOUND_BY: Final = {"keyword": "their words", "vector": "their meaning", "graph": "their links"}
"""Leg → what it finds records by, as a notice says it."""

MAX_CLOUD_RECORDS = 40
"""The most records beside the seeds in a knowledge cloud."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The results of the page, best first, and how they were ``ranked``."""

    results: tuple[Result, ...] = ()
    ranked: Ranked = NOT_RANKED
    legs: tuple[LegReport, ...] = ()
    realised: str = "filter"
    graph: KnowledgeGraph | None = None
    texts: Sequence[str] = ()
    """What a reranker reads of the first hits; there are no results yet then."""
    notice: str = ""
    respellings: Respellings = field(default_factory=dict)
    variants: Respellings = field(default_factory=dict)
    """What was looked for instead of words that no record has, and beside those that few have."""


class SearchPipeline:
    """Search over one store with a fixed set of legs.

    ``stages`` are those of the default fusion; ``expand`` is the walk of the graph leg; ``expect``
    is told what will probably be the question, before it is read.
    """

    def __init__(
        self,
        store: SearchStore,
        legs: Sequence[Retriever],
        kinds: KindRegistry,
        stages: Sequence[Stage] = STAGES,
        expand: Expand = graph.expand,
        reranking: Reranking | None = None,
        sparse: SparseModel | None = None,
        expect: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._reranking, self._sparse = reranking, sparse
        self._compares_sparse = False
        self._store, self._legs, self._kinds = store, legs, kinds
        self._stages, self._expand, self._expect = stages, expand, expect

    async def search(self, request: SearchRequest) -> SearchPage:
        """Answer one search.

        Raises MissingField when there is neither a question nor a filter, InputError for an
        unknown scope, Unavailable when no leg answers.
        """
        started = time.perf_counter()
        if request.mode != "keyword" and is_plain(request.text):
            self._expect(request.text)  # of words all count, and nearly all texts are words
        understood = await self._read(understand, request)
        query, question, analyzed = understood.request, understood.question, understood.analyzed
        if understood.is_ranked:
            outcome = await self._rank(understood)
        else:
            outcome = await self._store.read(_browse, query, question)
        ranked = outcome.ranked
        if not ranked.counts and (read := filters_read(analyzed)):
            # What a question names is a reading: where it leaves nothing, the words count.
            words = tuple(dict.fromkeys((*request.as_words, *(each.part for each in read))))
            page = await self.search(replace(request, as_words=words))
            if page.total or (page.results and not outcome.results):
                said = ", ".join(f"“{each.phrase}” ({each.filter})" for each in read)
                notice = f"nothing matches with {said} read as a filter; its words are looked for"
                report = replace(page.report, notices=(*page.report.notices, notice))
                return replace(page, request=request, report=report)
        if looked_for := {**outcome.variants, **outcome.respellings}:
            near = tuple((word, tuple(words)) for word, words in looked_for.items())
            analyzed = replace(analyzed, near=(*analyzed.near, *near))
        corpus = await self._store.corpus()
        since = corpus.waiting_since
        return SearchPage(
            request=request,
            results=outcome.results,
            total=sum(ranked.counts.values()),
            counts=ranked.counts,
            folded=ranked.folded,
            weaker=ranked.weaker,
            graph=outcome.graph,
            facets=ranked.facets,
            filters=question.filters,
            report=SearchReport(
                requested=query.mode,
                realised=outcome.realised,  # type: ignore[arg-type]
                legs=outcome.legs,
                coverage=corpus.coverage,
                index_age_s=0.0 if since is None else max(0.0, time.time() - since / 1000),
                took_ms=ms(started),
                stage_ms=ranked.stage_ms,
                notices=tuple(_notices(query, outcome, corpus.coverage)),
                analyzed=analyzed,
                answerable=ranked.is_answered,
                missing=ranked.missing,
            ),
        )

    async def selection(self, request: SearchRequest) -> Filters:
        """The filters that select every record with all words and fields of ``request``."""
        return await self._read(selected_by, request)

    async def filters_of(self, request: SearchRequest) -> Filters:
        """The filters of ``request`` with its scope, folder, domain and hidden scratchpad."""
        return await self._read(filters_of, request)

    async def _read(self, query: Callable[..., T], request: SearchRequest) -> T:
        scratchpad = await self._store.matching(SCRATCHPAD)
        return await self._store.read(query, request, self._kinds, scratchpad)

    async def _rank(self, understood: UnderstoodRequest) -> _Outcome:
        query, question = understood.request, understood.question
        respellings = understood.respellings
        if query.fusion is None:
            legs = [leg for leg in self._legs if query.mode in ("hybrid", leg.name)]
        else:  # all of them, where only the graph counts: it must start somewhere
            weights = query.fusion.weights
            legs = [leg for leg in self._legs if weights.get(leg.name)] or [*self._legs]
        depth = VECTOR_DEPTH if query.mode == "vector" else DEPTH
        sparse = sparse_question(self._sparse, query, question.text)
        # Only where the last search compared it: a store of commits and documents never does.
        encoding = asyncio.create_task(_encode(sparse if self._compares_sparse else None))
        answers = await run_legs(self._store, legs, question, depth)
        again = False
        for answer in answers:
            if answer.ranking is not None and (unknown := answer.ranking.unknown):
                others_match = len(answer.ranking.matched) > 0
                question, respellings = await self._store.read(
                    respelled, question, unknown, others_match=others_match
                )
                again = bool(respellings)
        if again:
            answers = await run_legs(self._store, legs, question, depth)
        rankings = [answer.ranking for answer in answers if answer.ranking is not None]
        if not rankings:
            raise no_answer(answers)
        traits = self._kinds.ranking
        reranks = self._reranking is not None and is_reranked(query, question)
        asked = with_first_hits(query) if reranks else query
        named: list[Ranking] = []
        if question.times or question.lifts:
            others = await run_legs(self._store, legs, from_what_it_names(question), NAMED_DEPTH)
            named = [each.ranking for each in others if each.ranking is not None]
        await encoding
        answered = LegResults(asked, question, answers, depth, traits, self._expand, named, sparse)
        fusion: Fusion = Z_SCORE_SUM
        stages = self._stages
        if query.fusion is not None:
            fusion, stages = WeightedRrf(query.fusion), RRF_STAGES
        outcome = await self._store.read(_ranked, answered, rankings, fusion, stages, reranks)
        if sparse is not None:
            self._compares_sparse = any(each.name == SPARSE_LEG for each in outcome.legs)
        reach = query.offset + query.limit + outcome.ranked.folded
        if reach > depth and outcome.ranked.beyond and query.order == "relevance":
            deeper = await further(question, answers, reach)
            outcome = await self._store.read(_ranked, answered, deeper, fusion, stages, reranks)
        if reranks:
            outcome = await self._reranked(query, question, outcome)
        return replace(
            outcome,
            legs=(*[answer.report for answer in answers], *outcome.legs),
            realised=query.mode if len(rankings) == len(legs) else rankings[0].name,
            respellings=respellings,
            variants=understood.variants,
        )

    async def _reranked(
        self, query: SearchRequest, question: Question, outcome: _Outcome
    ) -> _Outcome:
        if self._reranking is None:
            return outcome
        hits, notice = outcome.ranked.page, ""
        if len(outcome.texts) > 1:
            hits, notice = await self._reranking.order(question.text, hits, outcome.texts)
        page = hits[query.offset : query.offset + query.limit]
        results = await self._store.read(_hydrate, query, page, question.words.all)
        return replace(outcome, results=results, notice=notice)


async def _encode(question: SparseQuestion | None) -> None:
    """Make the vector of ``question`` in a thread while the legs search."""
    if question is not None:
        with suppress(ModelUnavailable):  # which is said where the vector is compared
            await asyncio.to_thread(question.vector)


def _browse(snapshot: SearchSnapshot, query: SearchRequest, question: Question) -> _Outcome:
    """A request of filters alone: all records that pass, by date, with score 0."""
    if query.fusion is not None and query.fusion.min_score > 0:
        return _Outcome()
    filters, sort = question.filters, query.sort
    order: Order = "date_asc" if query.order == "date_asc" else "date_desc"
    counts = snapshot.counts(filters)
    if query.limit_per_kind is None:
        numbers = snapshot.browse(filters, order, query.limit, query.offset, sort)
    else:
        kinds = (replace(filters, kinds=(kind,)) for kind in counts)
        first = [snapshot.browse(each, order, query.limit_per_kind, 0, sort) for each in kinds]
        together = np.array(list(chain.from_iterable(first)), np.int64)
        by_date = ("created_at", "number") if order == "date_asc" else ("-created_at", "-number")
        keys = [key for key in (*sort, *by_date) if key.removeprefix("-") != "score"]
        values = snapshot.sort_values(together, [key.removeprefix("-") for key in keys])
        rows = in_field_order(keys, values)
        numbers = together[rows].tolist()[query.offset : query.offset + query.limit]
    hits = [Hit(number, 0.0) for number in numbers]
    facets = count_facets(snapshot, query, snapshot.matching(filters)) if query.facets else {}
    ranked = replace(NOT_RANKED, counts=counts, facets=facets)
    return _Outcome(_hydrate(snapshot, query, hits, question.words.all), ranked)


def _ranked(
    snapshot: SearchSnapshot,
    answered: LegResults,
    further: Sequence[Ranking],
    fusion: Fusion,
    stages: Sequence[Stage],
    reranks: bool = False,
) -> _Outcome:
    """Everything after the legs, in one read: a switch between threads costs as much as a stage.

    With ``reranks`` it ends before the results, with the texts that a reranker reads.
    """
    ranked = rank(snapshot, answered, further, fusion, stages)
    picture = None
    if ranked.expansion is not None:
        numbers = [hit.number for hit in ranked.page]
        picture = KnowledgeGraph(
            graph.cloud(snapshot, ranked.expansion, MAX_CLOUD_RECORDS),
            snapshot.relationships(numbers, answered.question.filters),
        )
    words = answered.question.words.all
    return _Outcome(
        results=() if reranks else _hydrate(snapshot, answered.request, ranked.page, words),
        ranked=ranked,
        texts=texts_to_rerank(snapshot, ranked.page) if reranks else (),
        legs=ranked.reports,
        graph=picture,
    )


def _hydrate(
    snapshot: SearchSnapshot, request: SearchRequest, hits: Sequence[Hit], words: Sequence[str]
) -> tuple[Result, ...]:
    """The results of ``hits``; a record deleted since it was ranked is left out.

    Snippets are cut around ``words`` out of the passage that matched.
    """
    length = request.texts.snippet_length or highlight.SNIPPET_CHARS
    records = snapshot.records([hit.number for hit in hits])
    spans = snapshot.spans([hit.passage for hit in hits if hit.passage is not None])
    numbers = [hit.number for hit in hits]
    passages = snapshot.spans_of_records(numbers) if request.is_research else {}
    contexts = (
        snapshot.passage_contexts({hit.number: hit.passage for hit in hits}, request.neighbours)
        if request.neighbours is not None
        else {}
    )
    results = []
    for hit in hits:
        record = records.get(hit.number)
        if record is None:
            continue
        start, end, page, above = spans.get(hit.passage or 0, PassageSpan(0, len(record.text)))
        # The passage may have been deleted since it was ranked, and another may have its number.
        end = min(end, len(record.text))
        start = min(start, end)
        language = stored_language(record.metadata)
        cut = highlight.snippet(record.text, start, end, words, length=length, language=language)
        heading = ""
        if above or page is not None or "# " in record.text[start:end]:
            page, heading = place_in(record.text, (start, page, above), cut.start + length // 6)
        results.append(
            Result(
                record,
                hit.score,
                Snippet(cut.text, cut.start, cut.end, page, heading),
                hit.scores,
                tuple([Ref(record.kind, number) for number in hit.similar]),
                tuple(passages.get(hit.number, ())),
                contexts.get(hit.number),
                hit.relevance,
                hit.confidence,
            )
        )
    return tuple(results)


def _notices(query: SearchRequest, outcome: _Outcome, coverage: float) -> list[str]:
    """The notices of the reply."""
    legs, ranked = outcome.legs, outcome.ranked
    answered = [_FOUND_BY.get(leg.name, leg.name) for leg in legs if leg.state != "failed"]
    notices = [
        f"{leg.name} search did not answer ({leg.detail});"
        f" results are found by {' and '.join(answered)} alone"
        for leg in legs
        if leg.state == "failed"
    ]
    notices += [leg.detail for leg in legs if leg.detail.startswith(LEFT_OUT)]
    notices += [f"sparse scores are off: {leg.detail}" for leg in legs if leg.state == "off"]
    notices += [outcome.notice] if outcome.notice else []
    if not ranked.is_answered and outcome.results and not ranked.counts:
        said = " or ".join(f"“{word}”" for word in ranked.missing)
        mentions = f"mentions {said}" if said else "answers this question"
        notices.append(f"no record {mentions}{NEAREST_SHOWN}")
    elif outcome.respellings:
        notices.append(respelling.notice(outcome.respellings))
    if outcome.variants and outcome.results:
        notices.append(word_parts.notice(outcome.variants))
    if query.fusion is not None and not legs:
        notices.append("the request has only filters: newest first, without scores")
    if coverage < 1 and any(leg.name == "vector" for leg in legs):
        notices.append(
            f"{coverage:.1%} of the store is in the vector index so far;"
            " the words of all of it are searched"
        )
    return notices
