"""``POST /api/v2/search/vector``: by meaning alone."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from mem_search.http.core.routing import Call
from mem_search.http.weighted import filters
from mem_search.http.weighted.replies import (
    SNIPPET,
    ask,
    item,
    memory_type,
    mode,
    reading,
    source_type,
    success,
)
from mem_search.http.weighted.requests import VectorBody, VectorFilters
from mem_search.search.weights import Found, WeightedQuery
from mem_search.text import dates

METHOD = "vector_similarity"


async def search(call: Call) -> web.StreamResponse:
    """Answer one search by meaning. Raises Unavailable while there is no model to read it."""
    asked = call.sent(VectorBody)
    query = _query(asked)
    page = await ask(call, query)
    return success(
        {
            "items": [_item(found) for found in page.found],
            "query": asked.query,
            "analyzed_query": {
                "original": asked.query,
                "embedding_generated": bool(page.legs),
                "filters_applied": bool(query.filters or page.analyzed.demanded),
                "search_type": METHOD,
                "include_neighbors": asked.include_neighbors,
                **reading(page),
            },
            "search_metadata": {
                "search_method": METHOD,
                "results_count": len(page.found),
                "max_results": asked.limit,
                "include_neighbors": asked.include_neighbors,
                "search_time_ms": round(page.took_ms),
                "mode": mode(page),
            },
        }
    )


def _query(asked: VectorBody) -> WeightedQuery:
    narrowed = asked.filters or VectorFilters()
    return WeightedQuery(
        text=asked.query,
        filters=filters.read(
            memory_types=narrowed.memory_types or (),
            tags=asked.tags,
            tags_all=asked.tags_all,
            tags_not=asked.tags_not,
            importance=narrowed.min_importance,
            user=narrowed.user_id or "",
        ),
        weights={"vector": 1.0},
        limit=asked.limit,
        reach=asked.include_neighbors,
        snippet=SNIPPET,
    )


def _item(found: Found) -> Any:
    record = found.result.record
    # A question that only filters is answered without any similarity.
    similarity = found.shares["vector"].score if "vector" in found.shares else None
    metadata = {
        "memory_type": memory_type(record),
        "importance": record.importance,
        "confidence": _number(record.metadata.get("confidence")),
        "source_type": source_type(record),
        "user_id": _text(record.metadata.get("user_id")),
        "created_at": dates.iso(record.created_at),
        "updated_at": dates.iso(record.updated_at),
    }
    return item(found, similarity or 0.0, {"vector_similarity": similarity}, metadata)


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None  # type: ignore[return-value]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
