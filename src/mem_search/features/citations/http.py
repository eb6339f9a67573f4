"""Citations of records by their refs, in a style or as a file for reference programs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import zip_longest
from typing import Annotated, Literal

from aiohttp import web
from pydantic import BeforeValidator, Field

from mem_search.errors import InputError, NotFound
from mem_search.features.citations import formats, reference_files
from mem_search.features.citations.formats import BY_NAME, FORMATS
from mem_search.http.core.parameter_types import IdOfRecord, TimeZone, Zone, split
from mem_search.http.core.parameters import Body, TimeZoneParameters, also
from mem_search.http.core.replies import TEXT
from mem_search.http.core.routing import Call, Route
from mem_search.http.records import MAX_RECORDS
from mem_search.model import Record, Ref
from mem_search.records.registry import installed_kinds
from mem_search.search.opening import open_records
from mem_search.text.record_ids import RecordId

Style = Annotated[
    Literal["apa", "mla", "chicago", "bibtex", "ris", "csl-json"],
    Field(description="How to cite; the first three are for people to read"),
]
Form = Annotated[
    Literal["text", "html"], Field(description="Plain text, or HTML of apa, mla and chicago")
]
_REFS = Field(min_length=1, max_length=MAX_RECORDS, description="Refs of records: note:1,website:2")
CONTENT_TYPES = tuple(dict.fromkeys((*(known.content_type for known in FORMATS), "text/html")))
# The fragment is escaped. The policy is a second defence: nothing in it can run.
_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"


class CitationParameters(TimeZoneParameters):
    """Which records to cite, and in which style."""

    refs: Annotated[
        tuple[IdOfRecord, ...], BeforeValidator(split, json_schema_input_type=str), _REFS
    ] = Field(json_schema_extra=also("ref"))
    style: Style = "apa"
    format: Form = "text"


class CitationsBody(Body):
    """The same as a body, for more refs than fit into a URL."""

    refs: Annotated[list[IdOfRecord], _REFS]
    style: Style = "apa"
    format: Form = "text"
    tz: TimeZone = Field(default=None, description="IANA time zone for days")


async def cite(call: Call) -> web.StreamResponse:
    """Cite the records whose refs are in the URL."""
    return await _cited(call, call.parameters(CitationParameters))


async def cite_body(call: Call) -> web.StreamResponse:
    """Cite the records whose refs are in the body."""
    return await _cited(call, call.json_body(CitationsBody))


async def _cited(call: Call, params: CitationParameters | CitationsBody) -> web.Response:
    if params.format == "html" and params.style not in formats.STYLES:
        known = ", ".join(formats.STYLES)
        raise InputError(f"only {known} are written as HTML, {params.style} is not", field="format")
    records = await _records(call, params.refs)
    if len(records) == 1 and call.surface == "cli":  # a page shows a citation unasked
        call.runtime.search.service.log.note_chosen(records[0], call.surface)
    items = items_of(call, records, params.tz)
    if params.format == "html":
        fragment = await asyncio.to_thread(formats.as_html, items, params.style)
        return file_reply(fragment, "text/html", headers={"Content-Security-Policy": _POLICY})
    form = BY_NAME[params.style]
    return file_reply(await asyncio.to_thread(form.write, items), form.content_type)


def items_of(
    call: Call, records: Sequence[Record], tz: Zone | None, pages: Sequence[int | None] = ()
) -> list[reference_files.Item]:
    """Each record as an item of CSL-JSON, with dates in the time zone of the caller; ``pages`` are
    those on which they were found."""
    zone = call.display(tz).tz
    return [
        reference_files.item(installed_kinds().get(record.kind).citation(record), record, zone, on)
        for record, on in zip_longest(records, pages)
    ]


def file_reply(
    text: str, content_type: str, *, headers: dict[str, str] | None = None
) -> web.Response:
    """``text`` as it is, in UTF-8."""
    return web.Response(
        body=text.encode("utf-8", "replace"),
        content_type=content_type,
        charset="utf-8",
        headers=headers,
    )


async def _records(call: Call, refs: Sequence[str]) -> list[Record]:
    """In the order of ``refs``. Raises NotFound naming all missing ones, InputError for no ref."""
    ids = list(map(RecordId.parse, refs))
    opened, missing = await open_records(call.runtime.search.store, ids)
    for called in missing:
        if called.kind:
            installed_kinds().check(Ref(called.kind, called.number), "refs")
    if missing:
        raise NotFound(f"there is no record {', '.join(map(str, missing))}", field="refs")
    return [record for record, _ in opened]


# fmt: off
ROUTES = (
    Route("GET", "/api/citations", cite, "Cite records, in a style or as a file", "citations", CitationParameters, content_type=TEXT, other_types=CONTENT_TYPES, errors=(404,)),
    Route("POST", "/api/citations", cite_body, "Cite records, in a style or as a file", "citations", body=CitationsBody, content_type=TEXT, other_types=CONTENT_TYPES, errors=(404,)),
)
