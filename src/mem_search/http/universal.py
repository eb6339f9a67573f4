"""``POST /api/v1/mcp/search`` and ``fetch``: what research agents call, over plain HTTP.

The MCP tools of the same names are elsewhere; both write results by ``renderers.universal``.
"""

from __future__ import annotations

import time
from typing import Any

from aiohttp import web

from mem_search.http import search_jobs
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.records import find
from mem_search.http.schemas.universal_requests import (
    McpFetchRequest,
    McpSearchRequest,
    UniversalSearchRequest,
)
from mem_search.model import Ref
from mem_search.renderers.universal import document_json, found_json, universal_json
from mem_search.research.operations import told
from mem_search.search.universal import UniversalQuery


async def search(call: Call) -> web.StreamResponse:
    """Answer one universal search."""
    asked = call.sent(UniversalSearchRequest)
    if asked.background:
        return await search_jobs.submit(call, asked)
    return json_reply(call.flagged(await answer(call, asked.universal())))


async def answer(call: Call, query: UniversalQuery) -> dict[str, Any]:
    """The reply to one query as plain values; a step of a research chain is kept."""
    page = await call.runtime.research.operations.search(query, call.surface, asked_at=call.now)
    return universal_json(page, call.base)


SURFACE = "mcp"


async def agent_search(call: Call) -> web.StreamResponse:
    """Short results, best first, each with the id to fetch it by."""
    query = call.sent(McpSearchRequest).universal()
    page = await call.runtime.search.universal.search(query, SURFACE, asked_at=call.now)
    return json_reply(call.flagged(found_json(page, call.base)))


async def agent_fetch(call: Call) -> web.StreamResponse:
    """One whole record with its citation, as a step of a session where one is named.

    Raises NotFound naming ``id``, and what its place in the chain does not allow.
    """
    asked, started = call.sent(McpFetchRequest), time.perf_counter()
    record, _ = await find(call, Ref.parse(asked.id), "id")
    said = document_json(record, call.runtime.search.universal.citation(record), call.base)
    beside: dict[str, Any] = {"operations": None, "session_id": None}
    if asked.session_id or asked.parent_operation_id:
        beside = told(
            await call.runtime.research.operations.fetched(
                record,
                session_id=asked.session_id or "",
                parent_id=asked.parent_operation_id or "",
                most=asked.max_operations,
                started=started,
            )
        )
    return json_reply({**said, **beside})
