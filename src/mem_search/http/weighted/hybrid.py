"""``POST /api/v2/search/hybrid``: words, meaning and links, fused by the caller's weights."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from mem_search.http.core.routing import Call
from mem_search.http.schemas.graph import created_at, edge_time
from mem_search.http.weighted.replies import (
    LEGS,
    item,
    memory_type,
    mode,
    reading,
    success,
)
from mem_search.http.weighted.requests import HybridBody
from mem_search.model import Result, SearchPage
from mem_search.model.graph import KnowledgeCloud, Relationship
from mem_search.search.citations import words_of
from mem_search.text import dates
from mem_search.text.highlight import highlight

METHOD = "hybrid"
TIES = 10
"""Relationships told of one result, the strongest; ``relationship_count`` counts all."""

EDGES = 120
"""Edges drawn in the knowledge cloud, the strongest; ``edge_total`` counts all among its nodes."""


async def search(call: Call) -> web.StreamResponse:
    """Answer one hybrid search."""
    asked = call.json_body(HybridBody)
    page = await call.search(asked.request(call.now))
    return success(
        {
            "items": [_item(result, page) for result in page.results],
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
                "results_count": len(page.results),
                "stats": _stats(page),
                **_drawn(asked, page),
                "mode": mode(page),
            },
        }
    )


def _item(result: Result, page: SearchPage) -> Any:
    record, scores = result.record, result.scores
    breakdown = {
        "final_score": result.score,
        **{f"{name}_score": scores.get(leg) for leg, name in LEGS.items()},
        **{f"rank_{name}": scores.get(f"{leg}.rank") for leg, name in LEGS.items()},
    }
    ties = page.graph.relationships.get(record.number, ()) if page.graph else None
    metadata = {
        "memory_type": memory_type(record),
        "importance": record.importance,
        "highlight": highlight(result.snippet.text, words_of(page.report.analyzed)),
        "graph_context": None if ties is None else _context(ties),
    }
    return item(result, result.score, breakdown, metadata)


def _context(ties: tuple[Relationship, ...]) -> dict[str, Any]:
    return {
        "relationships": [
            {"to_id": str(tie.to), "type": tie.relation, "strength": round(tie.strength, 6)}
            for tie in ties[:TIES]
        ],
        "relationship_count": len(ties),
    }


def _stats(page: SearchPage) -> dict[str, int]:
    """Milliseconds, rounded, and how many candidates each leg brought."""
    legs = {LEGS[leg.name]: leg for leg in page.report.legs}
    times = {f"{name}_time_ms": round(legs[name].ms) if name in legs else 0 for name in _NAMES}
    counts = {f"{name}_count": legs[name].count if name in legs else 0 for name in _NAMES}
    return {
        "search_time_ms": round(page.report.took_ms),
        **times,
        "fusion_time_ms": round(page.report.stage_ms.get("fused", 0.0)),
        **counts,
        "final_count": len(page.results),
    }


_NAMES = tuple(LEGS.values())


def _drawn(asked: HybridBody, page: SearchPage) -> dict[str, Any]:
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
