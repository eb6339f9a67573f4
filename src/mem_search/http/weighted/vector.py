"""``POST /api/v2/search/vector``: by meaning alone."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from mem_search.http.core.routing import Call
from mem_search.http.weighted.replies import (
    item,
    memory_type,
    mode,
    reading,
    source_type,
    success,
)
from mem_search.http.weighted.requests import VectorBody
from mem_search.model import Result
from mem_search.text import dates

METHOD = "vector_similarity"


async def search(call: Call) -> web.StreamResponse:
    """Answer one search by meaning. Raises Unavailable while there is no model to read it."""
    asked = call.json_body(VectorBody)
    request = asked.request(call.now)
    page = await call.search(request)
    return success(
        {
            "items": [_item(result) for result in page.results],
            "query": asked.query,
            "analyzed_query": {
                "original": asked.query,
                "embedding_generated": bool(page.report.legs),
                "filters_applied": bool(request.filters or page.report.analyzed.demanded),
                "search_type": METHOD,
                "include_neighbors": asked.include_neighbors,
                **reading(page),
            },
            "search_metadata": {
                "search_method": METHOD,
                "results_count": len(page.results),
                "max_results": asked.limit,
                "include_neighbors": asked.include_neighbors,
                "search_time_ms": round(page.report.took_ms),
                "mode": mode(page),
            },
        }
    )


def _item(result: Result) -> Any:
    record = result.record
    # A question that only filters is answered without any similarity.
    similarity = result.scores.get("vector")
    metadata = {
        "memory_type": memory_type(record),
        "importance": record.importance,
        "confidence": _number(record.metadata.get("confidence")),
        "source_type": source_type(record),
        "user_id": _text(record.metadata.get("user_id")),
        "created_at": dates.iso(record.created_at),
        "updated_at": dates.iso(record.updated_at),
    }
    return item(result, similarity or 0.0, {"vector_similarity": similarity}, metadata)


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None  # type: ignore[return-value]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
