"""The tool ``get_records``: several records at once, within a number of tokens."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from mem_search.mcp.argument_types import BUDGET, STRING, Budget, described, listed, split
from mem_search.mcp.documents import DOCUMENT, document
from mem_search.mcp.tool import Arguments, Asker, Json, Tool
from mem_search.model import Ref
from mem_search.renderers.token_budget import fit_texts

MOST = 50


class GetRecordsArguments(Arguments):
    """Which records, and how much room there is for them."""

    ids: Annotated[
        tuple[Annotated[str, Field(max_length=100)], ...],
        Field(min_length=1, max_length=MOST, description="Such as local:observation:42"),
        BeforeValidator(split),
    ]
    max_tokens: Budget = BUDGET


async def get_records(asker: Asker, given: GetRecordsArguments) -> Json:
    """The records in the order asked for; long ones may be cut, the last ones left out."""
    refs = list(dict.fromkeys(Ref.parse(text, field="ids") for text in given.ids))
    numbers = [ref.number for ref in refs]
    found = await asker.runtime.search.store.read(lambda snapshot: snapshot.records(numbers))
    known = {record.ref: record for record in found.values()}
    said = [document(known[ref], asker) for ref in refs if ref in known]
    fitted = fit_texts(said, "text", given.max_tokens)
    reply: Json = {
        "records": fitted.items,
        "missing": [f"local:{ref}" for ref in refs if ref not in known],
        "cut": [said[place]["id"] for place in fitted.cut],
        "left_out": [item["id"] for item in said[len(fitted.items) :]],
    }
    if reply["cut"] or reply["left_out"]:
        reply["note"] = (
            f"cut to fit max_tokens={given.max_tokens};"
            " ask for fewer ids or more tokens, or fetch one whole"
        )
    return reply


GET_RECORDS = Tool(
    name="get_records",
    title="Open several records",
    description="Several records by their ids, cut to max_tokens. Open only what titles justify.",
    takes=GetRecordsArguments,
    answers=described(
        records=listed(DOCUMENT),
        missing=listed(STRING),
        cut=listed(STRING),
        left_out=listed(STRING),
    ),
    handler=get_records,
)
