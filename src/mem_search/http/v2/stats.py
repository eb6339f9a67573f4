"""``GET /api/v2/search/stats``: what can be searched, in five numbers."""

from __future__ import annotations

from aiohttp import web

from mem_search.http.routing import Call
from mem_search.http.v2.envelope import success
from mem_search.http.v2.source_types import RULES
from mem_search.storage.sqlite.searchable import searchable
from mem_search.text import dates

_DOCUMENTS = frozenset(
    kind for rule in RULES if rule.word in ("document_upload", "web_scrape") for kind in rule.kinds
)


async def search_stats(call: Call) -> web.StreamResponse:
    """Everything stored counts once: as a document (files, e-mails, web pages) or a memory."""
    found = await call.runtime.database.read(searchable)
    documents = sum(count for kind, count in found.records.items() if kind in _DOCUMENTS)
    return success(
        {
            "total_memories": sum(found.records.values()) - documents,
            "total_documents": documents,
            "total_relationships": found.relationships,
            "embedding_coverage": found.coverage,
            "last_indexed": None if found.last_at is None else dates.iso(found.last_at),
        }
    )
