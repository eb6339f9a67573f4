"""The tool ``get_records``: several records at once, within a token budget."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from mem_search.mcp.argument_types import BUDGET, Budget, split
from mem_search.mcp.documents import Document
from mem_search.mcp.tool import Arguments, Tool, ToolContext
from mem_search.renderers.schema import Absent, schema
from mem_search.renderers.token_budget import fit_texts
from mem_search.search.opening import open_records
from mem_search.text.record_ids import RecordId

MAX_RECORDS = 50


class GetRecordsArguments(Arguments):
    """The ids of the records, and the token budget of the reply."""

    ids: Annotated[
        tuple[Annotated[str, Field(max_length=100)], ...],
        Field(
            min_length=1, max_length=MAX_RECORDS, description="Such as local:observation:42 or #42"
        ),
        BeforeValidator(split),
    ]
    max_tokens: Budget = BUDGET


@schema
class Documents:
    """Records in the requested order, and the ids of those that are missing or not whole."""

    records: list[Document]
    missing: list[str]
    cut: list[str]
    left_out: list[str]
    note: Absent[str] = None


async def get_records(context: ToolContext, arguments: GetRecordsArguments) -> Documents:
    """The records in the requested order; long ones may be cut, the last ones left out."""
    ids = [RecordId.parse(text, field="ids") for text in arguments.ids]
    found, missing = await open_records(context.runtime.search.store, ids)
    documents = [Document.of(record, context) for record, _ in found]
    fitted = fit_texts(documents, "text", arguments.max_tokens)
    reply = Documents(
        records=fitted.items,
        missing=[f"local:{each}" if each.kind else str(each) for each in missing],
        cut=[documents[place].id for place in fitted.cut],
        left_out=[document.id for document in documents[len(fitted.items) :]],
    )
    if reply.cut or reply.left_out:
        reply.note = (
            f"cut to fit max_tokens={arguments.max_tokens};"
            " ask for fewer ids or more tokens, or fetch one whole"
        )
    return reply


GET_RECORDS = Tool(
    name="get_records",
    title="Open several records",
    description="Several records by their ids, cut to max_tokens. Open only what titles justify.",
    arguments=GetRecordsArguments,
    reply=Documents,
    handler=get_records,
)
