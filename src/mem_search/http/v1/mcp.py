"""``POST /api/v1/mcp/search`` and ``fetch``: what research agents call, over plain HTTP.

The MCP tools of the same names are elsewhere; both write results by ``renderers.universal``.
"""

from __future__ import annotations

from aiohttp import web

from mem_search.http.records import find
from mem_search.http.replies import json_reply
from mem_search.http.routing import Call
from mem_search.http.v1.models import McpFetchRequest, McpSearchRequest
from mem_search.model import Ref
from mem_search.renderers.universal import document_json, found_json

SURFACE = "mcp"


async def search(call: Call) -> web.StreamResponse:
    """Short results, best first, each with the id to fetch it by."""
    query = call.sent(McpSearchRequest).universal()
    page = await call.runtime.universal.search(query, SURFACE, asked_at=call.now)
    return json_reply(found_json(page, call.base))


async def fetch(call: Call) -> web.StreamResponse:
    """One whole record with its citation. Raises NotFound naming ``id``."""
    record, _ = await find(call, Ref.parse(call.sent(McpFetchRequest).id), "id")
    return json_reply(document_json(record, call.runtime.universal.citation(record), call.base))
