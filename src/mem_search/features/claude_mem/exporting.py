"""The records that a search finds as rows of claude-mem's tables, as its export script reads them.

``GET /api/search?format=json&limit=999999`` is how that script gets everything, so the limit counts
the rows of a table and is not the size of a page. Only the kinds that claude-mem has are exported.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final

from aiohttp import web

from mem_search.features.claude_mem.rows import row_of
from mem_search.http.core.parameters import MAX_OFFSET
from mem_search.http.core.routing import Call
from mem_search.model import Record, SearchRequest
from mem_search.renderers.schema import dumped, to_values
from mem_search.search.pipeline import EVERYTHING

TABLES: Final = {
    "observation": "observations",
    "session_summary": "sessions",
    "user_prompt": "prompts",
}
"""Kind → the name of its rows in the reply."""
_AT_ONCE: Final = 200
_SAID: Final = "The rows are in observations, sessions and prompts; leave format out to read them."


async def rows(call: Call, request: SearchRequest, limit: int) -> web.StreamResponse:
    """Send at most ``limit`` rows of each kind, one by one, because there may be many.

    A question finds at most ``MAX_OFFSET`` records. Without one, or with ``*`` alone, all that
    pass the filters are sent, in the order in which they were stored.
    """
    wanted = request.filters.kinds or tuple(TABLES)
    kinds = tuple(kind for kind in TABLES if kind in wanted)
    request = replace(request, filters=replace(request.filters, kinds=kinds), fold=False)
    found: list[Record] | None = None
    if kinds and request.text.strip() not in ("", EVERYTHING):
        most = min(limit * len(kinds), MAX_OFFSET)
        page = await call.search(replace(request, limit=most, offset=0), current=True)
        found = [result.record for result in page.results]
    else:
        request = replace(
            request, filters=await call.runtime.search.service.pipeline.filters_of(request)
        )
    reply = web.StreamResponse(headers={"Content-Type": "application/json"})
    await reply.prepare(call.request)
    # The MCP server hands on what is in ``content`` alone.
    total, before = 0, f'{{"content": [{{"type": "text", "text": {dumped(_SAID)}}}], '
    for kind, name in TABLES.items():
        await reply.write(f"{before}{dumped(name)}: [".encode())
        count = 0
        if kind in kinds:
            async for record in _of_kind(call, request, kind, found):
                if count == limit:
                    break
                row = dumped(to_values(row_of(record)))
                await reply.write(f"{', ' if count else ''}{row}".encode("utf-8", "replace"))
                count += 1
        total += count
        before = "], "
    end = f'], "totalResults": {total}, "query": {dumped(request.text)}}}'
    await reply.write(end.encode("utf-8", "replace"))
    await reply.write_eof()
    return reply


async def _of_kind(
    call: Call, request: SearchRequest, kind: str, found: list[Record] | None
) -> AsyncIterator[Record]:
    """The records of ``kind`` among ``found``; all that pass the filters where it is None."""
    if found is not None:
        for record in found:
            if record.kind == kind:
                yield record
        return
    filters, after = replace(request.filters, kinds=(kind,)), 0
    while page := await call.runtime.store.records.export_page(filters, after, _AT_ONCE):
        for record, _ in page:
            yield record
        after = page[-1][0].number
