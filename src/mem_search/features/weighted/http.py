"""``/api/v2/search``: words, meaning and links, fused by the caller's weights, or meaning alone."""

from __future__ import annotations

from typing import Literal

from aiohttp import web

from mem_search.features.graph.http import created_at, edge_time
from mem_search.features.weighted.replies import (
    LEGS,
    CloudEdge,
    CloudNode,
    CloudStats,
    GraphContext,
    HybridData,
    HybridItem,
    HybridMetadata,
    HybridQuestion,
    HybridReply,
    HybridScores,
    HybridSearchMetadata,
    HybridStats,
    KnowledgeCloud,
    Meta,
    Tie,
    VectorData,
    VectorItem,
    VectorMetadata,
    VectorQuestion,
    VectorReply,
    VectorScores,
    VectorSearchMetadata,
    WeightedMode,
    Weights,
)
from mem_search.features.weighted.requests import RULES, HybridBody, VectorBody
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.model import Result, SearchPage
from mem_search.model import graph as model
from mem_search.model.graph import Relationship
from mem_search.renderers.schema import AnalyzedWords, Count, Share, Time, schema
from mem_search.search.citations import words_of
from mem_search.text.highlight import highlight

_DOCUMENTS = frozenset(
    kind for rule in RULES if rule.word in ("document_upload", "web_scrape") for kind in rule.kinds
)
TIES = 10
"""Relationships in one result, the strongest; ``relationship_count`` counts all."""

EDGES = 120
"""Edges in the knowledge cloud, the strongest; ``edge_total`` counts all among its nodes."""


async def hybrid(call: Call) -> web.StreamResponse:
    """Answer one hybrid search."""
    body = call.json_body(HybridBody)
    page = call.with_readings(await call.search(body.request(call.now)))
    analyzed = page.report.analyzed
    question = HybridQuestion(
        original=body.query,
        weights=Weights(bm25=body.bm25_weight, vector=body.vector_weight, graph=body.graph_weight),
        graph_expansion_enabled=body.enable_graph_expansion,
        warnings=analyzed.warnings,
        read_as=AnalyzedWords.of(analyzed),
    )
    metadata = HybridSearchMetadata(
        results_count=len(page.results),
        stats=_stats(page),
        knowledge_cloud=_cloud(page) if body.enable_graph_expansion else None,
        mode=WeightedMode.of(page.report),
    )
    data = HybridData(
        items=[_item(result, page) for result in page.results],
        query=body.query,
        analyzed_query=question,
        search_metadata=metadata,
    )
    return json_reply(HybridReply(data=data, meta=Meta.now()))


def _item(result: Result, page: SearchPage) -> HybridItem:
    record, scores = result.record, result.scores
    ties = page.graph.relationships.get(record.number, ()) if page.graph else None
    return HybridItem.of(
        result,
        score=result.score,
        score_breakdown=HybridScores(
            final_score=result.score,
            relevance=result.relevance,
            bm25_score=scores.get("keyword"),
            vector_score=scores.get("vector"),
            graph_score=scores.get("graph"),
            rank_bm25=scores.get("keyword.rank"),
            rank_vector=scores.get("vector.rank"),
            rank_graph=scores.get("graph.rank"),
        ),
        metadata=HybridMetadata.of(
            record,
            highlight=highlight(result.snippet.text, words_of(page.report.analyzed)),
            ties=None if ties is None else _context(ties),
        ),
    )


def _context(ties: tuple[Relationship, ...]) -> GraphContext:
    shown = [Tie.of(tie) for tie in ties[:TIES]]
    return GraphContext(relationships=shown, relationship_count=len(ties))


def _stats(page: SearchPage) -> HybridStats:
    ms = {LEGS[leg.name]: round(leg.ms) for leg in page.report.legs}
    count = {LEGS[leg.name]: leg.count for leg in page.report.legs}
    return HybridStats(
        search_time_ms=round(page.report.took_ms),
        bm25_time_ms=ms.get("bm25", 0),
        vector_time_ms=ms.get("vector", 0),
        graph_time_ms=ms.get("graph", 0),
        fusion_time_ms=round(page.report.stage_ms.get("fused", 0.0)),
        bm25_count=count.get("bm25", 0),
        vector_count=count.get("vector", 0),
        graph_count=count.get("graph", 0),
        final_count=len(page.results),
    )


def _cloud(page: SearchPage) -> KnowledgeCloud:
    """The graph around the results; empty where there were no links to follow."""
    cloud = page.graph.cloud if page.graph else model.KnowledgeCloud((), (), 0, 0)
    edges, created = cloud.edges[:EDGES], created_at(cloud)
    return KnowledgeCloud(
        nodes=[CloudNode.of(node) for node in cloud.nodes],
        edges=[CloudEdge.of(edge, created_at=edge_time(edge, created)) for edge in edges],
        stats=CloudStats(
            seed_count=cloud.seed_count,
            cloud_count=len(cloud.nodes) - cloud.seed_count,
            edge_count=len(edges),
            cloud_total=cloud.reached,
            edge_total=len(cloud.edges),
        ),
    )


async def by_meaning(call: Call) -> web.StreamResponse:
    """Answer one search by meaning. Raises Unavailable without a model."""
    body = call.json_body(VectorBody)
    request = body.request(call.now)
    page = call.with_readings(await call.search(request))
    analyzed = page.report.analyzed
    question = VectorQuestion(
        original=body.query,
        embedding_generated=bool(page.report.legs),
        filters_applied=bool(request.filters or analyzed.demanded),
        include_neighbors=body.include_neighbors,
        warnings=analyzed.warnings,
        read_as=AnalyzedWords.of(analyzed),
    )
    metadata = VectorSearchMetadata(
        results_count=len(page.results),
        max_results=body.limit,
        include_neighbors=body.include_neighbors,
        search_time_ms=round(page.report.took_ms),
        mode=WeightedMode.of(page.report),
    )
    data = VectorData(
        items=[_by_meaning(result) for result in page.results],
        query=body.query,
        analyzed_query=question,
        search_metadata=metadata,
    )
    return json_reply(VectorReply(data=data, meta=Meta.now()))


def _by_meaning(result: Result) -> VectorItem:
    # A query of filters alone has no similarity.
    similarity = result.scores.get("vector")
    return VectorItem.of(
        result,
        score=similarity or 0.0,
        score_breakdown=VectorScores(vector_similarity=similarity),
        metadata=VectorMetadata.of(result.record),
    )


@schema
class SearchableStats:
    """What can be searched. Documents are files, e-mails and web pages; all else is a memory.

    `embedding_coverage` is the share of records whose passages are all in the vector index.
    """

    total_memories: Count
    total_documents: Count
    total_relationships: Count
    embedding_coverage: Share
    last_indexed: Time | None


@schema
class SearchableStatsReply:
    """What can be searched."""

    status: Literal["success"] = "success"
    data: SearchableStats
    meta: Meta


async def searchable_stats(call: Call) -> web.StreamResponse:
    """Everything stored counts once: as a document (files, e-mails, web pages) or a memory."""
    counts = await call.runtime.store.statistics.searchable()
    documents = sum(count for kind, count in counts.records.items() if kind in _DOCUMENTS)
    return json_reply(
        SearchableStatsReply(
            data=SearchableStats(
                total_memories=sum(counts.records.values()) - documents,
                total_documents=documents,
                total_relationships=counts.relationships,
                embedding_coverage=counts.coverage,
                last_indexed=counts.last_at,
            ),
            meta=Meta.now(),
        )
    )


# fmt: off
ROUTES = (
    Route("POST", "/api/v2/search/hybrid", hybrid, "Search by words, meaning and links with your own weights", "weighted", body=HybridBody, response=HybridReply),
    Route("POST", "/api/v2/search/vector", by_meaning, "Search by meaning alone", "weighted", body=VectorBody, response=VectorReply),
    Route("GET", "/api/v2/search/stats", searchable_stats, "Count what can be searched", "weighted", response=SearchableStatsReply),
)
