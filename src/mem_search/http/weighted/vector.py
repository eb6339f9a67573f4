"""``POST /api/v2/search/vector``: by meaning alone."""

from __future__ import annotations

from aiohttp import web

from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.schemas.weighted import (
    Meta,
    VectorData,
    VectorItem,
    VectorMetadata,
    VectorQuestion,
    VectorReply,
    VectorScores,
    VectorSearchMetadata,
    WeightedMode,
    memory_type,
)
from mem_search.http.weighted.filters import word_for
from mem_search.http.weighted.requests import VectorBody
from mem_search.model import Result
from mem_search.renderers.schema import AnalyzedWords


async def search(call: Call) -> web.StreamResponse:
    """Answer one search by meaning. Raises Unavailable without a model."""
    body = call.json_body(VectorBody)
    request = body.request(call.now)
    page = await call.search(request)
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
        items=[_item(result) for result in page.results],
        query=body.query,
        analyzed_query=question,
        search_metadata=metadata,
    )
    return json_reply(VectorReply(data=data, meta=Meta.now()))


def _item(result: Result) -> VectorItem:
    record = result.record
    # A query of filters alone has no similarity.
    similarity = result.scores.get("vector")
    confidence, user = record.metadata.get("confidence"), record.metadata.get("user_id")
    is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    return VectorItem.of(
        result,
        score=similarity or 0.0,
        score_breakdown=VectorScores(vector_similarity=similarity),
        metadata=VectorMetadata(
            memory_type=memory_type(record),
            importance=record.importance,
            confidence=confidence if is_number else None,
            source_type=word_for(record.kind, record.source),
            user_id=user if isinstance(user, str) else None,
            created_at=record.created_at,
            updated_at=record.updated_at,
        ),
    )
