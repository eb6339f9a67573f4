"""``POST /api/v1/search``, and ``/api/v1/mcp/search`` and ``fetch`` for agents over plain HTTP.

The MCP tools of the same names are in ``mem_search.mcp``; both write results by
``renderers.universal``.
"""

from __future__ import annotations

import time

from aiohttp import web

from mem_search.features.search_jobs import http as search_jobs
from mem_search.features.web_search.service import with_web
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.records import find
from mem_search.http.universal_requests import (
    McpFetchRequest,
    McpSearchRequest,
    UniversalSearchRequest,
)
from mem_search.renderers.universal import (
    ChosenSearchResponse,
    McpFetchResponse,
    McpSearchResponse,
    UniversalSearchResponse,
)
from mem_search.search.citations import citation
from mem_search.text.record_ids import RecordId


async def search(call: Call) -> web.StreamResponse:
    """Answer one universal search; a step of a research chain is stored."""
    body = call.json_body(UniversalSearchRequest)
    if body.background:
        call.check_may_change("a search in the background")
        return await search_jobs.submit(call, body)
    request = body.request(call.now)
    web_search = call.runtime.web_search(request.sources, call.caller)
    if request.is_research:
        call.check_may_change("deep research")
    page, step = await call.runtime.research.operations.search(request, call.surface)
    page, online = await with_web(web_search, page, call.caller)
    full = UniversalSearchResponse.of(call.with_readings(page), call.base, step, call.flags, online)
    return json_reply(ChosenSearchResponse.of_whole(full, body.fields) if body.fields else full)


SURFACE = "mcp"


async def agent_search(call: Call) -> web.StreamResponse:
    """Short results, best first, each with the id to fetch it by."""
    request = call.json_body(McpSearchRequest).request(call.now)
    page = await call.runtime.search.service.search(request, call.surface and SURFACE)
    return json_reply(McpSearchResponse.of(page, call.base, call.flags))


async def agent_fetch(call: Call) -> web.StreamResponse:
    """One whole record with its citation, as a step of a session where one is named.

    Raises NotFound naming ``id``, and what its place in the chain does not allow.
    """
    body, started = call.json_body(McpFetchRequest), time.perf_counter()
    if body.session_id or body.parent_operation_id:
        call.check_may_change("a step of deep research")
    record, _ = await find(call, RecordId.parse(body.id), "id")
    call.opened(record)
    step = None
    if body.session_id or body.parent_operation_id:
        step = await call.runtime.research.operations.fetched(
            record,
            session_id=body.session_id or "",
            parent_id=body.parent_operation_id or "",
            most=body.max_operations,
            started=started,
        )
    return json_reply(McpFetchResponse.of(record, citation(record), call.base, step))
