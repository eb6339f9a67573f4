"""The tool ``fetch``: an id to the whole record, as OpenAI's deep research expects it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mem_search.mcp.documents import Document
from mem_search.mcp.tool import Arguments, Tool, ToolContext
from mem_search.search.opening import open_record
from mem_search.text.record_ids import RecordId


class FetchArguments(Arguments):
    """The only argument of the contract."""

    id: Annotated[str, Field(max_length=100, description="Such as local:observation:42 or #42")]


async def fetch(context: ToolContext, arguments: FetchArguments) -> Document:
    """The record with its whole canonical text."""
    called = RecordId.parse(arguments.id, field="id")
    record, _ = await open_record(context.runtime.search.store, called, "id")
    return Document.of(record, context)


FETCH = Tool(
    name="fetch",
    title="Open a record",
    description="The whole text of one record by an id from search, with where it comes from.",
    arguments=FetchArguments,
    reply=Document,
    handler=fetch,
    structured=True,
)
