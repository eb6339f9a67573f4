"""The tool ``fetch``: an id to the whole record, as OpenAI's deep research expects it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mem_search.mcp.documents import DOCUMENT, document
from mem_search.mcp.tool import Arguments, Asker, Json, Tool
from mem_search.model import Ref
from mem_search.search.timeline import open_record


class FetchArguments(Arguments):
    """The one argument that the contract knows."""

    id: Annotated[str, Field(max_length=100, description="Such as local:observation:42")]


async def fetch(asker: Asker, given: FetchArguments) -> Json:
    """The record with its whole canonical text."""
    ref = Ref.parse(given.id, field="id")
    record, _ = await open_record(asker.runtime.search.store, ref, "id")
    return document(record, asker)


FETCH = Tool(
    name="fetch",
    title="Open a record",
    description="The whole text of one record by an id from search, with where it comes from.",
    takes=FetchArguments,
    answers=DOCUMENT,
    handler=fetch,
)
