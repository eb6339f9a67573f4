"""Cited pages and records as plain values for JSON: the shapes of ``/api/v1`` and of OpenAI.

Keys of the contract are always there, null where there is nothing to say; ours beside them are
``url``, ``snippet_span`` and ``search``. Ids are ``local:kind:number``, which every route that
takes a ref takes too. ``base`` is where the worker is reached (``http://127.0.0.1:37777``):
what has no address of its own gets a permalink there, or a relative one without ``base``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from mem_search.model import Citation, Record, SearchPage
from mem_search.renderers.json import report_json
from mem_search.search.citations import Annotation, CitedResult, Span, cite
from mem_search.text import dates

SOURCE = "local"
NO_STEP: Final[Mapping[str, Any]] = MappingProxyType({"operations": None, "session_id": None})
"""What a reply says of its research step where it is none (``research.operations.step_of``)."""


def universal_json(
    page: SearchPage, base: str = "", step: Mapping[str, Any] = NO_STEP
) -> dict[str, Any]:
    """``UniversalSearchResponse`` of ``/api/v1``; ``step`` is what it says of its research step."""
    return {
        "items": [item_json(item, base) for item in cite(page)],
        "total_count": page.total,
        "counts_by_type": dict(page.counts),
        "query": page.request.text,
        "execution_time_ms": page.report.took_ms,
        **step,
        "job_id": None,
        "limit": page.request.limit,
        "offset": page.request.offset,
        "search": report_json(page.report),
    }


def item_json(item: CitedResult, base: str = "") -> dict[str, Any]:
    """``SearchResultItem`` of ``/api/v1``."""
    record, snippet, noted = item.record, item.snippet, item.annotations
    return {
        "id": id_of(record),
        "content_type": record.kind,
        "source": SOURCE,
        "title": item.citation.source_title,
        "url": url_of(record, base),
        "snippet": snippet.text if snippet else None,
        "snippet_span": span_json(snippet) if snippet else None,
        "relevance_score": item.relevance,
        "created_at": dates.iso(record.created_at),
        "updated_at": dates.iso(record.updated_at),
        "last_opened_at": _time(item.citation.accessed_at),
        "citation": citation_json(item.citation),
        "metadata": metadata_json(record),
        "match_fields": list(item.match_fields),
        "full_content": item.full_content,
        "annotations": None if noted is None else [_annotation(each) for each in noted],
    }


def found_json(page: SearchPage, base: str = "") -> dict[str, Any]:
    """``MCPSearchResponse`` of ``/api/v1``; each result has OpenAI's ``id title url text`` too."""
    return {
        "results": [_found(item, base) for item in cite(page)],
        "total_count": page.total,
        "counts_by_type": dict(page.counts),
        "search": report_json(page.report),
    }


def document_json(record: Record, citation: Citation, base: str = "") -> dict[str, Any]:
    """``MCPFetchResponse`` of ``/api/v1`` and OpenAI's document in one: ``text`` is ``content``.

    Spans of search results are of this text.
    """
    return {
        "id": id_of(record),
        "title": citation.source_title,
        "url": url_of(record, base),
        "text": record.text,
        "content": record.text,
        "source": SOURCE,
        "content_type": record.kind,
        "citation": citation_json(citation),
        "metadata": metadata_json(record),
    }


def citation_json(citation: Citation) -> dict[str, Any]:
    """``CitationMetadata`` of ``/api/v1``."""
    return {
        "source_id": f"{SOURCE}:{citation.source_id}",
        "source_type": citation.source_type,
        "source_title": citation.source_title,
        "url": citation.url or None,
        "author": citation.author or None,
        "published_date": _time(citation.published_at),
        "created_date": _time(citation.created_at),
        "last_accessed": _time(citation.accessed_at),
        "folder": citation.folder or None,
        "domain": citation.domain or None,
    }


def metadata_json(record: Record) -> dict[str, Any]:
    """What the record's kind and source say of it, and of what every record has what is set."""
    common = {
        "project": record.project,
        "session": record.session,
        "source": record.source,
        "tags": list(record.tags),
        "importance": record.importance,
        "superseded_by": record.superseded_by and f"{SOURCE}:{record.superseded_by}",
        "supersedes": [f"{SOURCE}:{ref}" for ref in record.supersedes],
    }
    told = {name: value for name, value in common.items() if value not in ("", [], None)}
    return {**record.metadata, **told, "archived": record.archived}


def span_json(span: Span) -> dict[str, Any]:
    """Enough to prove it: ``text[start:end]`` of the record hashes to this."""
    page = {} if span.page is None else {"page": span.page}
    return {"start": span.start, "end": span.end, "sha256": span.sha256, **page}


def id_of(record: Record) -> str:
    """``local:note:7``."""
    return f"{SOURCE}:{record.ref}"


def url_of(record: Record, base: str = "") -> str:
    """The record's own address, where it has one on the web; else its permalink here."""
    if record.url.lower().startswith(("https://", "http://")):
        return record.url
    return f"{base}/v/{record.ref}"


def _found(item: CitedResult, base: str) -> dict[str, Any]:
    text = item.snippet.text if item.snippet else ""
    return {
        "id": id_of(item.record),
        "title": item.citation.source_title,
        "url": url_of(item.record, base),
        "text": text,
        "snippet": text,
        "snippet_span": span_json(item.snippet) if item.snippet else None,
        "relevance_score": item.relevance,
        "source": SOURCE,
        "content_type": item.record.kind,
    }


def _annotation(noted: Annotation) -> dict[str, Any]:
    cited = noted.span
    return {
        "text": cited.text,
        "start_index": cited.start,
        "end_index": cited.end,
        "source_id": f"{SOURCE}:{noted.source_id}",
        "highlight": noted.highlight or None,
        "sha256": cited.sha256,
        **({} if cited.page is None else {"page": cited.page}),
    }


def _time(at: int | None) -> str | None:
    return None if at is None else dates.iso(at)
