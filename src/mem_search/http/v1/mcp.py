"""``POST /api/v1/mcp/search`` and ``fetch``: what research agents call, over plain HTTP.

The MCP tools of the same names are elsewhere; both write results by ``renderers.universal``.
"""

from __future__ import annotations

import time
from typing import Any

from aiohttp import web

from mem_search.http.records import find
from mem_search.http.replies import json_reply
from mem_search.http.routing import Call
from mem_search.http.v1.models import McpFetchRequest, McpSearchRequest
from mem_search.model import Ref
from mem_search.renderers.universal import document_json, found_json
from mem_search.research.operations import told

SURFACE = "mcp"


async def search(call: Call) -> web.StreamResponse:
    """Short results, best first, each with the id to fetch it by."""
    query = call.sent(McpSearchRequest).universal()
    page = await call.runtime.universal.search(query, SURFACE, asked_at=call.now)
    return json_reply(call.flagged(found_json(page, call.base)))


async def fetch(call: Call) -> web.StreamResponse:
    """One whole record with its citation, as a step of a session where one is named.

    Raises NotFound naming ``id``, and what its place in the chain does not allow.
    """
    asked, started = call.sent(McpFetchRequest), time.perf_counter()
    record, _ = await find(call, Ref.parse(asked.id), "id")
    said = document_json(record, call.runtime.universal.citation(record), call.base)
    beside: dict[str, Any] = {"operations": None, "session_id": None}
    if asked.session_id or asked.parent_operation_id:
        beside = told(
            await call.runtime.research.fetched(
                record,
                session_id=asked.session_id or "",
                parent_id=asked.parent_operation_id or "",
                most=asked.max_operations,
                started=started,
            )
        )
    return json_reply({**said, **beside})
