"""One result as an item of ``/api/v2/search``, and what both searches tell in the same words."""

from __future__ import annotations

from typing import Any

from aiohttp import web

import mem_search
from mem_search.http.core.problems import REQUEST_ID
from mem_search.http.core.replies import json_reply
from mem_search.http.schemas.weighted import Meta
from mem_search.http.weighted.filters import word_for
from mem_search.model import Record, Result, SearchPage
from mem_search.renderers.schema import to_values
from mem_search.renderers.schemas import AnalyzedWords, SnippetSpan
from mem_search.text import dates
from mem_search.text.dates import now_ms


def meta() -> Meta:
    """Which request is answered, when and by which version."""
    return Meta(
        request_id=REQUEST_ID.get(),
        timestamp=now_ms(),
        version=mem_search.__version__,
    )


def success(data: dict[str, Any]) -> web.Response:
    """``data`` as a reply; what went wrong is told by problem details instead."""
    return json_reply({"status": "success", "data": data, "meta": to_values(meta())})


LEGS = {"keyword": "bm25", "vector": "vector", "graph": "graph"}
"""What the contract calls each leg."""


def item(result: Result, score: float, breakdown: dict[str, Any], metadata: dict[str, Any]) -> Any:
    """An item: the record whole, where it matched, and with what stands around that."""
    record, snippet, place = result.record, result.snippet, result.context
    assert place is not None  # the bodies always ask for neighbours
    return {
        "id": str(record.ref),
        "number": record.number,
        "kind": record.kind,
        "title": record.title,
        "content": record.text,
        "snippet": snippet.text,
        "snippet_span": to_values(SnippetSpan.of(snippet)),
        "score": score,
        "score_breakdown": breakdown,
        "metadata": metadata,
        "source_type": source_type(record),
        "source": record.source,
        "project": record.project,
        "session": record.session,
        "url": record.url,
        "created_at": dates.iso(record.created_at),
        "updated_at": dates.iso(record.updated_at),
        "tags": list(record.tags),
        "superseded_by": None if record.superseded_by is None else str(record.superseded_by),
        "supersedes": [str(ref) for ref in record.supersedes],
        "content_with_context": record.text[place.start : place.end],
        "chunk_index": place.ordinal,
        "total_chunks": place.count,
    }


def memory_type(record: Record) -> str:
    """The type that its metadata names (fact, insight, …), else its kind."""
    named = record.metadata.get("type")
    return named if isinstance(named, str) and named else record.kind


def source_type(record: Record) -> str:
    """How the record came to be stored, in the contract's words."""
    return word_for(record.kind, record.source)


def mode(page: SearchPage) -> dict[str, Any]:
    """Which legs took part, which of them answered, and what the reply lacks."""
    report = page.report
    return {
        "requested": [LEGS[leg.name] for leg in report.legs],
        "realised": [LEGS[leg.name] for leg in report.legs if leg.state != "failed"],
        "legs": [
            {
                "name": LEGS[leg.name],
                "state": leg.state,
                "count": leg.count,
                "ms": leg.ms,
                "detail": leg.detail,
            }
            for leg in report.legs
        ],
        "coverage": report.coverage,
        "index_age_s": round(report.index_age_s, 3),
        "notices": list(report.notices),
    }


def reading(page: SearchPage) -> dict[str, Any]:
    """How the text of the question was read, and what in it was not taken as it is written."""
    analyzed = page.report.analyzed
    return {"warnings": list(analyzed.warnings), "read_as": to_values(AnalyzedWords.of(analyzed))}
