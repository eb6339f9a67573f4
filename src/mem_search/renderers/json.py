"""Results and records as plain values that ``json.dumps`` takes: the contract of scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from mem_search.model import Analyzed, Link, Record, Result, SearchPage, SearchReport, Snippet
from mem_search.renderers.safe_text import cut
from mem_search.text import dates

_TITLE_LENGTH = 100


def to_json(page: SearchPage) -> dict[str, Any]:
    """A page: its results in order, the true total, and how the search was done."""
    return {
        "query": page.request.text,
        "results": [_result(result) for result in page.results],
        "total": page.total,
        "counts_by_type": dict(page.counts),
        "folded": page.folded,
        "limit": page.request.limit,
        "offset": page.request.offset,
        "order": page.request.order,
        "search": report_json(page.report),
    }


def record_json(record: Record, links: Sequence[Link] = ()) -> dict[str, Any]:
    """A whole record with its canonical text."""
    return {
        **_named(record),
        "source_id": record.source_id,
        "position": record.position,
        "text": record.text,
        "links": [asdict(link) for link in links],
    }


def _result(result: Result) -> dict[str, Any]:
    snippet = result.snippet
    return {
        **_named(result.record),
        "snippet": snippet.text,
        "snippet_span": snippet_span(snippet),
        "score": result.score,
        "scores": dict(result.scores),
        "similar": [str(ref) for ref in result.similar],
    }


def snippet_span(snippet: Snippet) -> dict[str, Any]:
    """Enough to prove the citation: ``text[start:end]`` of the record hashes to this."""
    return {
        "start": snippet.start,
        "end": snippet.end,
        "sha256": sha256(snippet.text.encode()).hexdigest(),
    }


def _named(record: Record) -> dict[str, Any]:
    return {
        "ref": str(record.ref),
        "kind": record.kind,
        "number": record.number,
        "title": record.title or cut(record.text[:1000], _TITLE_LENGTH),
        "created_at": dates.iso(record.created_at),
        "updated_at": dates.iso(record.updated_at),
        "project": record.project,
        "source": record.source,
        "session": record.session,
        "url": record.url,
        "tags": list(record.tags),
        "importance": record.importance,
        "archived": record.archived,
        "superseded_by": None if record.superseded_by is None else str(record.superseded_by),
        "supersedes": [str(ref) for ref in record.supersedes],
        "metadata": dict(record.metadata),
    }


def report_json(report: SearchReport) -> dict[str, Any]:
    """How the search was really done."""
    return {
        "requested": report.requested,
        "realised": report.realised,
        "legs": [asdict(leg) for leg in report.legs],
        "coverage": report.coverage,
        "index_age_s": round(report.index_age_s, 3),
        "took_ms": report.took_ms,
        "notices": list(report.notices),
        "suggestions": list(report.suggestions),
        "analyzed": analyzed_json(report.analyzed),
    }


def analyzed_json(analyzed: Analyzed) -> dict[str, Any]:
    """How the text of the query was read."""
    return {
        "text": analyzed.text,
        "words": list(analyzed.words),
        "phrases": list(analyzed.phrases),
        "demanded": analyzed.demanded,
        "filters": list(analyzed.filters),
        "excluded": list(analyzed.excluded),
        "near": {word: list(others) for word, others in analyzed.near},
        "dates": [
            {
                "phrase": found.phrase,
                "start": None if found.range.start is None else dates.iso(found.range.start),
                "end": None if found.range.end is None else dates.iso(found.range.end),
            }
            for found in analyzed.dates
        ],
        "warnings": list(analyzed.warnings),
    }
