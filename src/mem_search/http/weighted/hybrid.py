"""``POST /api/v2/search/hybrid``: words, meaning and links, fused by the caller's weights."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from mem_search.http.core.routing import Call
from mem_search.http.schemas.graph import created_at, edge_time
from mem_search.http.weighted import filters
from mem_search.http.weighted.replies import (
    LEGS,
    SNIPPET,
    ask,
    item,
    memory_type,
    mode,
    reading,
    success,
)
from mem_search.http.weighted.requests import HybridBody
from mem_search.model import DateRange
from mem_search.model.graph import Relationship
from mem_search.retrievers.graph import KnowledgeCloud
from mem_search.search.weights import Found, Share, Walk, WeightedPage, WeightedQuery
from mem_search.text import dates
from mem_search.text.highlight import highlight

METHOD = "hybrid"
TIES = 10
"""Relationships told of one result, the strongest; ``relationship_count`` counts all."""

EDGES = 120
"""Edges drawn in the knowledge cloud, the strongest; ``edge_total`` counts all among its nodes."""

_NOTHING = Share()


async def search(call: Call) -> web.StreamResponse:
    """Answer one hybrid search."""
    asked = call.sent(HybridBody)
    page = await ask(call, _query(asked))
    return success(
        {
            "items": [_item(found, page) for found in page.found],
            "query": asked.query,
            "analyzed_query": {
                "original": asked.query,
                "search_type": METHOD,
                "weights": {
                    "bm25": asked.bm25_weight,
                    "vector": asked.vector_weight,
                    "graph": asked.graph_weight,
                },
                "graph_expansion_enabled": asked.enable_graph_expansion,
                **reading(page),
            },
            "search_metadata": {
                "search_method": METHOD,
                "results_count": len(page.found),
                "stats": _stats(page),
                **_drawn(asked, page),
                "mode": mode(page),
            },
        }
    )


def _query(asked: HybridBody) -> WeightedQuery:
    weights = {
        "keyword": asked.bm25_weight,
        "vector": asked.vector_weight,
        "graph": asked.graph_weight,
    }
    walk = Walk(asked.graph_max_depth, asked.graph_seed_limit)
    return WeightedQuery(
        text=asked.query,
        filters=filters.read(
            memory_types=asked.memory_types or (),
            source_types=asked.source_types or (),
            tags=asked.tags,
            tags_all=asked.tags_all,
            tags_not=asked.tags_not,
            importance=asked.importance_threshold,
            created=DateRange(asked.start_date, asked.end_date),
        ),
        weights=weights,
        limit=asked.limit,
        k=asked.rrf_k,
        least=asked.min_score_threshold or 0.0,
        walk=walk if asked.enable_graph_expansion else None,
        reach=asked.include_neighbors,
        snippet=SNIPPET,
    )


def _item(found: Found, page: WeightedPage) -> Any:
    record, score = found.result.record, found.result.score
    shares = {said: found.shares.get(leg, _NOTHING) for leg, said in LEGS.items()}
    breakdown = {
        "final_score": score,
        **{f"{said}_score": share.score for said, share in shares.items()},
        **{f"rank_{said}": _rank(share) for said, share in shares.items()},
    }
    ties = page.graph.ties.get(record.number, ()) if page.graph else None
    metadata = {
        "memory_type": memory_type(record),
        "importance": record.importance,
        "highlight": highlight(found.result.snippet.text, page.words),
        "graph_context": None if ties is None else _context(ties),
    }
    return item(found, score, breakdown, metadata)


def _rank(share: Share) -> float | None:
    return None if share.rank is None else float(share.rank)


def _context(ties: tuple[Relationship, ...]) -> dict[str, Any]:
    return {
        "relationships": [
            {"to_id": str(tie.to), "type": tie.relation, "strength": round(tie.strength, 6)}
            for tie in ties[:TIES]
        ],
        "relationship_count": len(ties),
    }


def _stats(page: WeightedPage) -> dict[str, int]:
    """Milliseconds, rounded, and how many candidates each leg brought."""
    legs = {LEGS[leg.name]: leg for leg in page.legs}
    times = {f"{name}_time_ms": round(legs[name].ms) if name in legs else 0 for name in _NAMES}
    counts = {f"{name}_count": legs[name].count if name in legs else 0 for name in _NAMES}
    return {
        "search_time_ms": round(page.took_ms),
        **times,
        "fusion_time_ms": round(page.fusion_ms),
        **counts,
        "final_count": len(page.found),
    }


_NAMES = tuple(LEGS.values())


def _drawn(asked: HybridBody, page: WeightedPage) -> dict[str, Any]:
    """The picture, whenever links were to be followed: empty where there was nothing to follow."""
    if not asked.enable_graph_expansion:
        return {}
    cloud = page.graph.cloud if page.graph else KnowledgeCloud((), (), 0, 0)
    return {"knowledge_cloud": _cloud(cloud)}


def _cloud(cloud: KnowledgeCloud) -> dict[str, Any]:
    edges, created = cloud.edges[:EDGES], created_at(cloud)
    return {
        "nodes": [
            {
                "id": str(node.ref),
                "title": node.title,
                "created_at": dates.iso(node.created_at),
                "depth": node.depth,
                "score": node.score,
            }
            for node in cloud.nodes
        ],
        "edges": [
            {
                "from_id": str(edge.start),
                "to_id": str(edge.end),
                "type": edge.relation,
                "strength": round(edge.strength, 6),
                "origin": edge.origin,
                "created_at": dates.iso(edge_time(edge, created)),
            }
            for edge in edges
        ],
        "stats": {
            "seed_count": cloud.seed_count,
            "cloud_count": len(cloud.nodes) - cloud.seed_count,
            "edge_count": len(edges),
            "cloud_total": cloud.reached,
            "edge_total": len(cloud.edges),
        },
    }
