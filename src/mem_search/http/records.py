"""Records by their number or ref: open one, open several, list them, show one as a page.

The page ``/v/{ref}`` is the URL of a record that has no web address: plain HTML without scripts.
Text of a record is never markup and loads nothing from outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from html import escape
from typing import Annotated, Any, Self

from aiohttp import web
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from mem_search.http.core.parameter_types import IdOfRecord, Platform
from mem_search.http.core.parameters import Body, ListParameters, RecordParameters, budget
from mem_search.http.core.reading import number_in_path
from mem_search.http.core.replies import (
    HTML,
    JSON,
    TEXT,
    TextReply,
    html_page,
    json_reply,
    prefers,
    screen_of,
    style_policy,
    text_reply,
)
from mem_search.http.core.routing import Call, Handler
from mem_search.model import Citation, Filters, Kind, Order, Record
from mem_search.model.records import RecordWithLinks
from mem_search.records.base import people
from mem_search.records.registry import installed_kinds
from mem_search.renderers import DisplayOptions, render_record
from mem_search.renderers.record_json import WholeRecord, title_of
from mem_search.renderers.safe_text import harmless
from mem_search.renderers.schema import Absent, Count, Time, schema
from mem_search.renderers.terminal import opened
from mem_search.renderers.token_budget import first_that_fit, fitted_text, record_within
from mem_search.retrievers import graph
from mem_search.search.citations import citation as citation_of
from mem_search.search.opening import open_record, open_records
from mem_search.text.platforms import platform_named
from mem_search.text.record_ids import RecordId
from mem_search.validation import as_meant, invalid_value

MAX_RECORDS = 200
_MAX_NUMBER = 10**18
_MAX_THREAD_MESSAGES = 30
"""Messages of a thread that are listed under one of them."""


@schema
class RecordText(TextReply):
    """A record as text."""

    ref: str


@schema
class ThreadMessage:
    """A message of the thread of a mail."""

    ref: str
    title: str
    sender: str
    created_at: Time

    @classmethod
    def of(cls, record: Record) -> Self:
        sender = ", ".join(people(record.metadata.get("from")))
        return cls(
            ref=str(record.ref), title=title_of(record), sender=sender, created_at=record.created_at
        )


@schema
class OpenedRecord(WholeRecord):
    """A record that is opened alone. A mail has its `thread`, oldest message first and with itself,
    if others are in it; with `max_tokens` only where it fits.
    """

    thread: Absent[list[ThreadMessage]] = None


@schema
class Records:
    """The records with these refs. `left_out` are refs that do not fit into `max_tokens`."""

    records: list[WholeRecord]
    missing: list[str]
    left_out: list[str]
    tokens_used: Count


@schema
class RecordList:
    """One page of records, newest first. `note` says how to go on when it was cut."""

    items: list[WholeRecord]
    has_more: Annotated[bool, Field(serialization_alias="hasMore")]
    offset: Count
    limit: Count
    total: Count
    tokens_used: Count
    note: Absent[str] = None


def _numbers(value: Any) -> Any:
    """``[1, 2]``, ``"1,2"`` or ``"[1, 2]"``."""
    if isinstance(value, str):
        return [word for word in value.strip().strip("[]").replace(" ", "").split(",") if word]
    if isinstance(value, list) and any(isinstance(item, bool) for item in value):
        raise invalid_value("has true or false among the numbers")
    return value


class NumbersBody(BaseModel):
    """Records to open at once, by their numbers."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    ids: Annotated[
        list[Annotated[int, Field(ge=0, lt=_MAX_NUMBER)]],
        BeforeValidator(_numbers, json_schema_input_type=list[int] | str),
        Field(max_length=MAX_RECORDS),
    ]
    order: Order | None = Field(default=None, alias="orderBy")
    limit: int | None = Field(default=None, ge=1, le=MAX_RECORDS)
    project: str | None = None
    platform: Platform | None = Field(
        default=None,
        alias="platformSource",
        validation_alias=AliasChoices("platformSource", "platform_source"),
    )

    @model_validator(mode="before")
    @classmethod
    def _as_meant(cls, sent: Any) -> Any:
        return as_meant(cls, sent)


class RefsBody(Body):
    """Records to open at once, by their refs."""

    refs: list[IdOfRecord] = Field(max_length=MAX_RECORDS)
    max_tokens: int | None = budget()


def open_kind(kind: Kind) -> Handler:
    """The handler that opens the record of ``kind`` with the number in the path."""

    async def answer(call: Call) -> web.StreamResponse:
        return await _opened(call, await find(call, RecordId(number_in_path(call.request), kind)))

    return answer


async def open_ref(call: Call) -> web.StreamResponse:
    """Open the record that the id in the path names."""
    return await _opened(call, await find(call, id_in_path(call)))


async def batch_numbers(call: Call) -> web.StreamResponse:
    """Return records as a bare array, in the order of the request or by date.

    Numbers are unique over all kinds, and searches list records of all kinds.
    """
    body = call.json_body(NumbersBody)
    known = await call.runtime.store.records.with_links(list(dict.fromkeys(body.ids)))
    taken = [
        item
        for item in known
        if (not body.project or item[0].project.lower() == body.project.lower())
        and (
            not body.platform
            or platform_named(str(item[0].metadata.get("platform", ""))) == body.platform
        )
    ]
    if body.order in ("date_asc", "date_desc"):
        taken.sort(
            key=lambda item: (item[0].created_at, item[0].number),
            reverse=body.order == "date_desc",
        )
    call.opened(*(record for record, _ in taken[: body.limit]))
    records = [WholeRecord.of(*item) for item in taken[: body.limit]]
    return json_reply(records, kind=list[WholeRecord])


async def batch_refs(call: Call) -> web.StreamResponse:
    """Return the records of these refs, and the refs that have no record."""
    body = call.json_body(RefsBody)
    records, missing = await open_records(
        call.runtime.search.store, list(map(RecordId.parse, body.refs))
    )
    whole = [WholeRecord.of(*each) for each in records]
    kept, tokens = first_that_fit(whole, body.max_tokens)
    call.opened(*(record for record, _ in records[:kept]))
    return json_reply(
        Records(
            records=whole[:kept],
            missing=list(map(str, missing)),
            left_out=[each.ref for each in whole[kept:]],
            tokens_used=tokens,
        )
    )


def list_kind(kind: Kind) -> Handler:
    """The handler that lists records of ``kind``, newest first, in pages."""

    async def listed(call: Call) -> web.StreamResponse:
        params = call.parameters(ListParameters)
        filters = Filters(kinds=(kind,), project=params.project, facets=params.facets())
        items, total = await call.runtime.store.records.page(
            filters, "date_desc", params.limit, params.offset
        )
        whole = [WholeRecord.of(*item) for item in items]
        kept, tokens = first_that_fit(whole, params.max_tokens)
        following = params.offset + kept
        reply = RecordList(
            items=whole[:kept],
            has_more=following < total and bool(items),
            offset=params.offset,
            limit=params.limit,
            total=total,
            tokens_used=tokens,
        )
        if kept < len(whole):
            reply.note = f"cut to max_tokens={params.max_tokens}; next: offset={following}"
        return json_reply(reply)

    return listed


def id_in_path(call: Call) -> RecordId:
    """The id of a record in the path. Raises InputError naming ``ref``."""
    return RecordId.parse(call.request.match_info["ref"])


async def find(call: Call, called: RecordId, field: str = "ref") -> RecordWithLinks:
    """The record with its links, from the caller's store. Raises as ``open_record``."""
    return await open_record(call.runtime.search.store, called, field)


async def _opened(call: Call, record_with_links: RecordWithLinks) -> web.StreamResponse:
    params = call.parameters(RecordParameters)
    record, links = record_with_links
    call.opened(record)
    wants_text = prefers(call.request, TEXT)
    thread = await thread_of(call, record)
    if params.format == "json" and not wants_text:
        whole = OpenedRecord.of(record, links)
        messages = [ThreadMessage.of(each) for each in thread] if len(thread) > 1 else None
        shown = record_within(replace(whole, thread=messages), params.max_tokens)
        if messages and not (isinstance(shown, OpenedRecord) and shown.cut is None):
            shown = record_within(whole, params.max_tokens)
        return json_reply(shown)
    display, screen = call.display(params.tz), screen_of(call.request)
    if screen is not None and params.max_tokens is None:
        return text_reply(call.request, opened(record, display, screen, links, thread), tokens=0)
    text = render_record(record, display, links, thread)
    if params.max_tokens is not None:
        step = f"open it whole: mem-search get {record.ref} (HTTP: /api/records/{record.ref})"
        text = fitted_text(text, params.max_tokens, step)
    return text_reply(call.request, text, partial(RecordText, ref=str(record.ref)))


async def thread_of(call: Call, record: Record) -> list[Record]:
    """The thread of a mail, in its order: what names the same first message, and all answers."""
    if not installed_kinds().get(record.kind).threaded:
        return []
    store = call.runtime.search.store
    answers = await store.read(
        graph.related, record.number, depth=5, limit=_MAX_THREAD_MESSAGES, relations=("replies_to",)
    )
    numbers = [node.ref.number for node in answers.nodes]
    messages = await store.read(lambda snapshot: snapshot.records(numbers))
    if record.session:
        named = Filters(kinds=(record.kind,), session=record.session)
        page, _ = await call.runtime.store.records.page(named, "date_asc", _MAX_THREAD_MESSAGES, 0)
        messages |= {each.number: each for each, _ in page}
    return sorted(messages.values(), key=lambda each: (each.created_at, each.number))


_STYLE = """
body { font: 16px/1.6 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem;
  color: #1f2328; background: #fff }
h1 { font-size: 1.4rem; line-height: 1.3 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; font-size: .9rem }
dt { color: #59636e }
dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap }
pre { font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; border-top: 1px solid #d0d7de;
  padding-top: 1rem }
a { color: inherit }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117 }
  pre { border-color: #3d444d }
  dt { color: #9198a1 }
}
"""
POLICY = style_policy(_STYLE)


async def show(call: Call) -> web.StreamResponse:
    """The page of one record; JSON where ``Accept`` prefers it to HTML."""
    record, links = await find(call, id_in_path(call))
    call.opened(record)
    if prefers(call.request, JSON, HTML):
        return json_reply(WholeRecord.of(record, links))
    return web.Response(
        text=render(record, citation_of(record), call.display()),
        content_type=HTML,
        headers={"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"},
    )


def render(record: Record, citation: Citation, display: DisplayOptions) -> str:
    """The page of ``record``."""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{shown}</dd>" for name, shown in
                   _fields(record, citation, display))  # fmt: skip
    title = harmless(citation.source_title)
    body = (
        f"<h1>{escape(title)}</h1>\n<dl>{rows}</dl>\n<pre>{escape(harmless(record.text))}</pre>\n"
    )
    return html_page(title, _STYLE, body)


def _fields(
    record: Record, citation: Citation, display: DisplayOptions
) -> Iterator[tuple[str, str]]:
    """(label, HTML) of each known detail."""
    kind = installed_kinds().get(record.kind)
    yield kind.label, f'<a href="/api/records/{record.ref}">{record.ref}</a>'
    pairs = [
        ("Date", display.full_date(record.created_at)),
        ("By", citation.author),
        (
            "Published",
            citation.published_month
            if citation.published_at is None
            else display.day(citation.published_at),
        ),
        ("Project", record.project),
        ("Session", record.session),
        ("Tags", ", ".join(record.tags)),
        *kind.detail(record),
    ]
    for name, value in pairs:
        if value and not (name == "Author" and citation.author):
            yield harmless(name), escape(harmless(value))
    if record.url.lower().startswith(("https://", "http://")):
        address = escape(harmless(record.url))
        yield "URL", f'<a href="{address}" rel="noreferrer noopener">{address}</a>'
    elif record.url:
        yield "URL", escape(harmless(record.url))
