"""All records, or those that pass some filters, one a line: what an import reads."""

from __future__ import annotations

import logging

from aiohttp import web
from pydantic import Field

from mem_search.errors import MemSearchError
from mem_search.http.jobs import NDJSON
from mem_search.http.parameters import Narrowed, also
from mem_search.http.routing import Call
from mem_search.http.values import Kinds
from mem_search.sources.jsonl import export_line
from mem_search.storage.sqlite import whole
from mem_search.storage.sqlite.whole import Whole

log = logging.getLogger(__name__)

PAGE = 200


class ExportParameters(Narrowed):
    """Which records; all of them by default."""

    types: Kinds = Field(
        default=(), alias="kinds", description="Kinds of record", json_schema_extra=also("types")
    )


async def export(call: Call) -> web.StreamResponse:
    """Stream the records in the order they were stored."""
    asked = call.asked(ExportParameters)
    filters = asked.filters(asked.types)
    database = call.runtime.database
    # The first page before the first byte: what goes wrong at once is still a proper problem.
    page = await database.read(whole.export_page, filters, 0, PAGE)
    reply = web.StreamResponse(headers={"Content-Type": NDJSON})
    reply.headers["Content-Disposition"] = 'attachment; filename="mem-search.jsonl"'
    await reply.prepare(call.request)
    try:
        while page:
            await reply.write(_lines(page))
            page = await database.read(whole.export_page, filters, page[-1][0].number, PAGE)
        await reply.write_eof()
    except MemSearchError as error:
        # Too late for a problem: an answer cut off is how the reader learns of it.
        log.error("export ended early: %s", error.message)
        if call.request.transport is not None:
            call.request.transport.abort()
    except ConnectionResetError:
        log.info("export ended early: the reader has gone")
    return reply


def _lines(page: list[Whole]) -> bytes:
    return b"".join(
        export_line(record, links).encode("utf-8", "backslashreplace") + b"\n"
        for record, links in page
    )
